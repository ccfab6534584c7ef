"""The command design."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import replnet

from replnet.laws import law


def design(*more):
    """The command for four replicas and Poisson updates and pulls, unless `more` says otherwise."""
    usual = ("--updates", "exponential(rate=1)", "--replicas", 4, "--pulls", "exponential")
    return replnet("design", *usual, "--precision", 0.05, "--workers", 0, *more)


def test_a_design_is_printed_and_its_best_network_written(tmp_path):
    run = design(
        "--replicas", 12, "--target", "freshness >= 0.5", "--limit", 8, "--format", "json", "-o", tmp_path / "best.yaml"
    )
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["rows"][0]["fits"]
    assert found["rows"][0]["busiest"] <= 8
    predicted = replnet("predict", tmp_path / "best.yaml", "--format", "json")
    assert json.loads(predicted.stdout)["rows"][-1]["predicted"] == found["rows"][0]["predicted"]


@pytest.mark.slow
def test_what_nothing_keeps_to_is_said():
    run = design("--target", "lag <= 0.3", "--limit", 0.1)
    assert run.returncode == 1
    assert "nothing keeps to the limit: some node answers" in run.stderr
    assert run.stdout.splitlines()[0].split()[:3] == ["architecture", "pulls", "rates"]


def test_recorded_dates_are_counted_in_their_unit(tmp_path):
    hours = np.cumsum(np.random.default_rng(1).exponential(2.0, 400)) * 3600
    (tmp_path / "dates.csv").write_text("\n".join(f"{1.7e9 + t:.0f}" for t in hours))
    updates, rates = f"trace(file={tmp_path / 'dates.csv'}", {}
    for text, unit in ((f"{updates})", "second"), (f"{updates}, unit=h)", "hour")):
        how = ("--updates", text, "--replicas", 2, "-o", tmp_path / "best.yaml")
        run = design(*how, "--target", "freshness >= 0.5")
        assert f"requests of all nodes and clients per {unit};" in run.stdout, run.stderr
        best = json.loads(replnet("predict", tmp_path / "best.yaml", "--format", "json").stdout)
        rates[unit] = law(best["network"]["downloads"]).rate
    assert rates["hour"] == pytest.approx(3600 * rates["second"], rel=0.01)  # each rounded up to four digits

"""The command design."""

from __future__ import annotations

import json

import pytest
from command_line import replnet


def test_a_design_is_printed_and_its_best_network_written(tmp_path):
    run = replnet(
        "design", "--updates", "exponential(rate=1)", "--replicas", 12, "--target", "freshness >= 0.5", "--limit", 8,
        "--pulls", "exponential", "--precision", 0.05, "--workers", 0, "--format", "json", "-o", tmp_path / "best.yaml",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert found["rows"][0]["fits"]
    assert found["rows"][0]["busiest"] <= 8
    predicted = replnet("predict", tmp_path / "best.yaml", "--format", "json")
    assert json.loads(predicted.stdout)["rows"][-1]["predicted"] == found["rows"][0]["predicted"]


def test_what_nothing_keeps_to_is_said():
    run = replnet(
        "design", "--updates", "exponential(rate=1)", "--replicas", 4, "--target", "lag <= 0.3", "--limit", 0.1,
        "--pulls", "constant", "--precision", 0.05, "--workers", 0,
    )  # fmt: skip
    assert run.returncode == 1
    assert "nothing keeps to the limit: some node answers" in run.stderr
    assert run.stdout.splitlines()[0].split()[:3] == ["architecture", "pulls", "rates"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--target", "freshness >= 2"], "--target: 'freshness >= 2' never holds"),
        (["--target", "freshness > 0.5", "--updates", "nope"], "--updates: nope"),
        (["--target", "freshness > 0.5", "--pulls", "nope"], "--pulls: nope"),
        (["--target", "freshness > 0.5", "--replicas", 0], "--replicas"),
        (["--target", "freshness > 0.5", "--limit", 0], "--limit"),
    ],
)
def test_stupid_inputs_are_named(more, said):
    run = replnet("design", "--updates", "exponential(rate=1)", "--replicas", 4, *more)
    assert run.returncode == 2
    assert said in run.stderr
    assert "Traceback" not in run.stderr

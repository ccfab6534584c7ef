"""--explain: every word of a table, and how its numbers came about."""

from __future__ import annotations

import json

import pytest
from command_line import SMALL, replnet


def test_what_a_run_rests_on():
    done = replnet("run", "cascade", "-s", "depth=2", "--horizon", "5000", "--measure", "lag", "--explain")
    said = done.stderr.splitlines()
    for begin in (
        "  freshness: share of time", "  lag: units of time", "  exact: ", "  95 % interval: ", "  z: ",
        "  level 2 freshness: exact, P2P eq. 28 (", "  sampled: ", "  engine array, seed 1: 32 independent",
        "  verdict: Of 4 rows the one farthest off differs if chance is that far off less than once in 400 times",
    ):  # fmt: skip
        assert any(line.startswith(begin) for line in said), begin
    assert not any(line.startswith("  approximation: ") for line in said)  # is not in the table


def test_only_what_is_predicted():
    done = replnet("predict", "load", "--explain", "--format", "json")
    assert json.loads(done.stdout)["rows"]
    assert "clients freshness: nothing is predicted (no formula: answers that wait in line)" in done.stderr
    assert "How the measurements" not in done.stderr
    assert "z: " not in done.stderr


def test_a_sweep_says_which_formulas_it_is_held_against(tmp_path):
    (tmp_path / "small.yaml").write_text(SMALL)
    done = replnet("sweep", tmp_path / "small.yaml", "--workers", "0", "--explain")
    assert "  exact, P2P eq. 8: 2 rows" in done.stderr
    assert "  contradicts: " in done.stderr
    assert "  conditional: the probability of no update" in done.stderr
    assert "until half-widths of 0.01, from seed 1" in done.stderr


@pytest.mark.parametrize(
    ("fields", "begin"),
    [
        ({}, "each stationary from its begin; a"),
        ({"start": "fresh"}, "each from a begin at which all copies have just been brought up to date; a"),
        (
            {"faults": [{"crash": "level 1", "at": 3, "lasts": 1}]},
            "each stationary from its begin, but for the faults at set times; a",
        ),
    ],
)
def test_how_replications_begin(fields, begin, tmp_path):
    law = "exponential(rate=1)"
    (tmp_path / "net.yaml").write_text(json.dumps({"kind": "single", "updates": law, "downloads": law, **fields}))
    done = replnet("run", tmp_path / "net.yaml", "--horizon", "3200", "--workers", "0", "--explain")
    assert f"  engine array, seed 1: 32 independent replications of 100 units of time, {begin} value" in done.stderr


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            ("single", "--target", "freshness >= 0.9"),
            (
                "  searched by formula: between a value that meets freshness >= 0.9 and one that does not",
                "closed in on, to 1e-06 of itself; it is the smallest, as less of it does not meet the target",
                "next to it at 8.1 and 9.9, each time from seed 1",
            ),
        ),
        (
            ("cascade", "--target", "lag <= 2", "--vary", "depth", "-s", "branching=1"),
            (
                "How depth = 4 came about:",
                "to a whole number; it is the largest, as more of it does not meet the target",
                "next to it at 3 and 5, each time from seed 1",
                "  lag: units of time",
            ),
        ),
    ],
)
def test_how_a_size_came_about(asked, words):
    done = replnet("size", *asked, "--precision", "0.02", "--workers", "0", "--explain", "--format", "json")
    assert json.loads(done.stdout)["how"] == "by formula"
    assert "  exact: " in done.stderr
    assert "four times longer" not in done.stderr
    for said in words:
        assert said in done.stderr

"""--explain: every word of a table, and how its numbers came about."""

from __future__ import annotations

import json

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

"""Ages after a fresh start or a scheduled fault: where there is a formula, and what says why there is none."""

from __future__ import annotations

import math

import pytest

import replnet as rn

E1, E2 = "exponential(rate=1)", "exponential(rate=2)"


def predicted(network, *metrics):
    return {(row.group, row.metric): row for row in rn.predict(network, measure=metrics).rows}


def test_each_level_of_a_cascade_comes_down_from_freshness_by_itself():
    """E[exp(-min(X, t))] with X of rate 2 on the first level, and larger below."""
    found = predicted(rn.cascade(depth=2, start="fresh", updates=E1, downloads=E2), "freshness at 0.5")
    one = 2 / 3 + math.exp(-1.5) / 3
    assert found["level 1", "freshness at 0.5"].predicted == pytest.approx(one, rel=1e-7)
    assert one < 1
    assert found["level 2", "freshness at 0.5"].predicted < one
    assert "since a begin" in found["level 1", "freshness"].note


def test_a_cluster_that_joins_has_copies_when_data_have_come():
    crash = {"crash": "replicas", "at": 1, "lasts": 1}
    network = rn.cooperative(replicas=5, peers=1, updates=E1, downloads=E1, polls=E2, faults=[crash])
    found = predicted(network, "availability at 1.5", "availability at 3", "freshness at 0.5", "freshness at 60")
    steady = rn.predict(rn.cooperative(replicas=5, peers=1, updates=E1, downloads=E1, polls=E2)).rows[0].predicted
    assert found["cluster", "availability at 1.5"].predicted == 0
    older = predicted(rn.cooperative(replicas=5, peers=1, updates=E1, downloads=E1, polls=E2), "older(1)")
    assert found["cluster", "availability at 3"].predicted == pytest.approx(
        1 - older["cluster", "older(1)"].predicted, rel=1e-9
    )
    for time in (0.5, 60):
        assert found["cluster", f"freshness at {time}"].predicted == pytest.approx(steady, rel=1e-9)


def test_only_those_below_a_fault_are_disturbed():
    network = rn.cascade(depth=2, updates=E1, downloads=E2, faults=[{"crash": "level 2", "at": 1, "lasts": 1}])
    found = predicted(network, "availability at 1.5", "freshness at 2.5")
    assert found["level 1", "availability at 1.5"].predicted == 1
    assert found["level 1", "freshness at 2.5"].predicted == pytest.approx(2 / 3, rel=1e-9)
    assert found["level 2", "availability at 1.5"].predicted == 0
    assert 4 / 9 < found["level 2", "freshness at 2.5"].predicted < 2 / 3


@pytest.mark.parametrize(
    ("faults", "why"),
    [
        ([{"crash": "level 1", "at": 1, "lasts": 1}], "copies that come from replicas which crash on a schedule"),
        ([{"crash": "level 2", "at": 1, "lasts": 1, "copy": "kept"}], "copies that are kept through a crash"),
        ([{"crash": "source", "at": 1, "lasts": 1}], "sources that crash on a schedule"),
        (
            [{"cut": ["level 1", "level 2"], "at": 1, "lasts": 1}],
            "cuts, except those of exponential downloads from a source",
        ),
        (
            [{"crash": "level 2", "at": 1, "lasts": 1}, {"cut": ["source", "level 1"], "at": 2}],
            "several scheduled faults",
        ),
    ],
)
def test_where_there_is_no_formula_the_row_says_why(faults, why):
    network = rn.cascade(depth=2, updates=E1, downloads=E2, faults=faults)
    assert why in predicted(network, "freshness at 3")["level 2", "freshness at 3"].note


def test_what_a_begin_that_is_not_stationary_does_to_means():
    network = rn.single(start="fresh", updates=E1, downloads=E2)
    assert predicted(network, "lag")["level 1", "lag"].predicted is None


def test_a_time_past_the_end_is_refused():
    network = rn.single(updates=E1, downloads=E2)
    with pytest.raises(ValueError, match="freshness at 5 is past the end of a replication, 1"):
        rn.emulate(network, horizon=32.0, measure=["freshness at 5"])


def test_spells_are_refused_where_copies_end_by_crashes():
    network = rn.single(updates=E1, downloads=E2, faults=[{"crash": "replicas", "up": E1, "down": E1}])
    with pytest.raises(ValueError, match="fresh_spell is not measured where copies also end by crashes"):
        rn.emulate(network, measure=["fresh_spell"])


def test_clients_have_no_rows_at_a_time():
    network = rn.redundant(replicas=3, ask=2, updates=E1, downloads=E2, queries=E1)
    assert ("clients", "freshness at 1") not in predicted(network, "freshness at 1")

"""Ages after a fresh start or a scheduled fault: what is predicted, and what cannot be asked."""

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
    about = {"replicas": 5, "peers": 1, "updates": E1, "downloads": E1, "polls": E2}
    asked = ("availability at 1.5", "availability at 3", "freshness at 0.5", "freshness at 60")
    found = predicted(rn.cooperative(**about, faults=[crash]), *asked)
    steady = predicted(rn.cooperative(**about), "older(1)")
    fresh, older = (steady["cluster", metric].predicted for metric in ("freshness", "older(1)"))
    assert [found["cluster", metric].predicted for metric in asked] == pytest.approx(
        [0, 1 - older, fresh, fresh], rel=1e-9
    )


def test_only_those_below_a_fault_are_disturbed():
    network = rn.cascade(depth=2, updates=E1, downloads=E2, faults=[{"crash": "level 2", "at": 1, "lasts": 1}])
    found = predicted(network, "availability at 1.5", "freshness at 2.5")
    assert found["level 1", "availability at 1.5"].predicted == 1
    assert found["level 1", "freshness at 2.5"].predicted == pytest.approx(2 / 3, rel=1e-9)
    assert found["level 2", "availability at 1.5"].predicted == 0
    assert 4 / 9 < found["level 2", "freshness at 2.5"].predicted < 2 / 3


@pytest.mark.parametrize(
    ("metric", "faults", "message"),
    [
        ("freshness at 5", [], "freshness at 5 is past the end of a replication, 1"),
        (
            "fresh_spell",
            [{"crash": "replicas", "up": E1, "down": E1}],
            "fresh_spell is not measured where copies also end by crashes",
        ),
    ],
)
def test_what_cannot_be_measured_is_refused(metric, faults, message):
    with pytest.raises(ValueError, match=message):
        rn.emulate(rn.single(updates=E1, downloads=E2, faults=faults), horizon=32.0, measure=[metric])


def test_clients_have_no_rows_at_a_time():
    network = rn.redundant(replicas=3, ask=2, updates=E1, downloads=E2, queries=E1)
    assert ("clients", "freshness at 1") not in predicted(network, "freshness at 1")

"""Networks of many sources emulated: alike by both engines, beside their formulas, and what a run of them promises."""

from __future__ import annotations

import pandas as pd
import pytest
from rows import assert_same_rows

import replnet as rn
from replnet.engines.array import array

FALSE_ALARM = 1e-6  # chance that one comparison fails correct code, by Student's law

MANY = {"rates": [1, 2, 0.5], "weights": [1, 3, 2], "budget": 5}
SEVERAL = MANY | {"replicas": 3, "ask": 2}
TIER = {"kind": "aggregate", **MANY}
QUERIES = {"queries": "exponential(rate=2)"}
TREE = {"kind": "cascade", "depth": 1, "branching": 2, "downloads": "exponential(rate=3)"}
CLUSTER = {"kind": "cooperative", "replicas": 3, "peers": 1, "downloads": "exponential(rate=2)",
           "polls": "exponential(rate=3)"}  # fmt: skip
CHURN = {"crash": "replicas", "up": "exponential(mean=5)", "down": "exponential(mean=1)", "copy": "empty"}
NETWORKS = {
    "random order": rn.aggregate(**MANY, order="random"),
    "starved": rn.aggregate(rates=[1, 9], budget=1, allocate="freshness", queries="exponential(rate=3)"),
    "seen at any time": rn.aggregate(**SEVERAL),
    "queries": rn.aggregate(**SEVERAL, **QUERIES),
    "queries of independent replicas": rn.aggregate(**SEVERAL, **QUERIES, share="independently", downloads="gamma(2)"),
    "delay": rn.aggregate(**MANY, **QUERIES, order="carousel", delay=0.1),
    "bandwidth": rn.aggregate(**SEVERAL, **QUERIES, bandwidth=6, queue=2),
    "losses": rn.aggregate(**MANY, **QUERIES, order="purely random", faults=[{"lose": 0.2}]),
    "crashes": rn.aggregate(**SEVERAL, faults=[CHURN]),
    "tree below": rn.compose(tiers=[TIER, TREE], clients=QUERIES),
    "cluster below": rn.compose(tiers=[{**TIER, "order": "fixed"}, CLUSTER], delay=0.05),
    "everything below": rn.compose(tiers=[TIER, CLUSTER, TREE], clients=QUERIES, bandwidth=40, faults=[{"lose": 0.1}]),
}
ASKED = ("staleness_age", "missing_updates", "update_penalty(x)")


@pytest.mark.parametrize("estimator", ["sampled", "conditional"])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_both_engines_fill_the_same_table(network, estimator, tmp_path):
    how = {"seed": 3, "horizon": 60, "replications": 4, "estimator": estimator, "confirm": False}
    how |= {"measure": ASKED if estimator == "sampled" else ()}
    logs = [tmp_path / f"{engine}.parquet" for engine in ("array", "step")]
    ours, theirs = (rn.emulate(network, log.stem, **how, trace=log) for log in logs)
    assert (ours.events, ours.queries) == (theirs.events, theirs.queries)
    assert_same_rows(ours.rows, theirs.rows)
    columns = ["replication", "at", "event", "node", "peer", "source", "left"]
    mine, other = (pd.read_parquet(log).astype({"event": str}).sort_values(columns)[columns] for log in logs)
    pd.testing.assert_frame_equal(mine.reset_index(drop=True), other.reset_index(drop=True), rtol=1e-12)
    # Without a log several replications may run side by side.
    assert_same_rows(rn.emulate(network, **how).rows, ours.rows)


@pytest.mark.parametrize("estimator", ["sampled", "conditional"])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_a_table_does_not_depend_on_the_size_of_windows(network, estimator, monkeypatch):
    how = {"seed": 3, "horizon": 1500, "replications": 1, "estimator": estimator, "confirm": False}
    whole = rn.emulate(network, **how)
    for name in ("WINDOW", "MOST_EVENTS", "INSTANTS_PER_ROW"):  # no more than a few thousand events at a time
        monkeypatch.setattr(array, name, 8)
    assert_same_rows(rn.emulate(network, **how).rows, whole.rows)


@pytest.mark.parametrize("estimator", ["sampled", "conditional"])
@pytest.mark.parametrize("name", ["queries", "queries of independent replicas", "tree below", "starved"])
def test_clients_and_tiers_below_are_as_predicted(name, estimator):
    """One seed in a hundred fails right code; an error of 0.04 is seen."""
    result = rn.emulate(NETWORKS[name], seed=1, horizon=2e4, replications=60, estimator=estimator, confirm=False)
    rows = [row for row in result.rows if row.metric == "freshness"]
    assert "clients" in {row.group for row in rows}
    for row in rows:
        assert row.ci_high - row.ci_low <= 0.04, row
        assert row.verdict == "agree", row


def test_what_is_infinite_or_too_rare_has_no_interval():
    unheeded = rn.aggregate(rates=[0, 1, 9], weights=[1, 2, 0], budget=1, allocate="freshness")
    rows = rn.emulate(unheeded, horizon=2e3, measure=["missing_updates"]).rows
    assert all(row.metric != "missing_updates" or row.measured is not None for row in rows)  # its weight is 0
    starved = rn.aggregate(rates=[1, 9], budget=1, order="fixed", allocate="freshness")
    row = next(r for r in rn.emulate(starved, horizon=2e3, measure=["lag"]).rows if r.metric == "lag")
    assert (row.measured, row.predicted) == (None, None)
    assert "never downloaded" in row.note
    rare = rn.aggregate(sources=15, updates="exponential(rate=3)", budget=15)
    row = next(r for r in rn.emulate(rare, horizon=300).rows if r.metric == "all_fresh")
    assert row.ci_low is None
    assert row.note.startswith("no interval: too rare, seen in ")
    heavy = rn.aggregate(sources=50, updates="exponential(rate=1)", budget=50, downloads="pareto(alpha=1.4)")
    row = rn.emulate(heavy, horizon=300).rows[0]
    assert row.note == "no interval: infinite variance of pareto(alpha=1.4, rate=1)"
    locked = rn.aggregate(sources=50, updates="constant(rate=1)", budget=100)
    assert rn.emulate(locked, horizon=300).rows[0].note.startswith("phase-lock: ")

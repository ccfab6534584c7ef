"""Copies of many sources, measured beside predicted: orders, allocations, shares, clients, and tiers below them."""

from __future__ import annotations

import pytest
from scipy.special import stdtrit

import replnet as rn
from replnet.engines.plan import plan

pytestmark = pytest.mark.verification

FALSE_ALARM = 1e-6  # chance that one comparison fails correct code, by Student's law
EVENTS = 1.2e6

AGGREGATES = {
    "fixed": {"rates": [1, 2, 3, 4, 5], "budget": 5, "order": "fixed", "allocate": "age"},
    "random": {"sources": 50, "rates": "gamma(shape=2, mean=1)", "budget": 50, "order": "random"},
    "own frequencies": {"sources": 50, "rates": "gamma(shape=2, mean=1)", "budget": 50, "order": "random",
                        "allocate": "proportional"},
    "purely random": {"sources": 50, "rates": "gamma(shape=2, mean=1)", "budget": 50, "order": "purely random",
                      "allocate": "algorithm1"},
    "carousel": {"sources": 200, "rates": "uniform(low=0, high=1)", "weights": "pareto(alpha=2, rate=1)", "budget": 40,
                 "order": "carousel", "allocate": "algorithm2"},
    "gamma": {"sources": 100, "rates": "gamma(shape=2, mean=1)", "updates": "gamma(shape=3, rate=1)", "budget": 80,
              "downloads": "uniform(low=0, high=1)", "weights": "exponential(rate=1)"},
    "in turns": {"updates": ["exponential(rate=1)", "gamma(shape=2, rate=3)"], "allocate": [2, 4], "replicas": 4,
                 "ask": 2},
    "independently": {"rates": [1, 2], "budget": 6, "replicas": 3, "ask": 2, "share": "independently",
                      "downloads": "gamma(shape=2)"},
    "starved": {"rates": [0, 1, 9], "weights": [1, 2, 0], "budget": 1, "allocate": "freshness"},
    "queries": {"rates": [1, 2], "weights": [1, 3], "budget": 6, "replicas": 3, "ask": 2, "share": "independently",
                "downloads": "gamma(shape=2)", "queries": "exponential(rate=4)"},
    "queries in turns": {"rates": [1, 2], "budget": 6, "replicas": 3, "ask": 2, "queries": "constant(rate=4)"},
}  # fmt: skip
MANY = {"kind": "aggregate", "rates": [1, 2], "weights": [1, 3], "budget": 4}
TREE = {"kind": "cascade", "depth": 1, "branching": 2, "downloads": "exponential(rate=3)"}
TIERS = {
    "tree": rn.compose(tiers=[MANY, TREE], clients={"queries": "exponential(rate=2)"}),
    "chain": rn.compose(
        tiers=[
            {**MANY, "downloads": "gamma(shape=2)", "updates": "gamma(shape=2, rate=1)"},
            {"kind": "single", "downloads": "uniform(low=0, high=0.5)"},
            {"kind": "single", "downloads": "constant(rate=3)"},
        ]
    ),
}
NETWORKS = {name: rn.aggregate(**data) for name, data in AGGREGATES.items()} | TIERS
ASKED = (
    "staleness_age", "missing_updates", "lag", "currency(0.3)", "change_age", "information_age", "update_penalty(x)",
)  # fmt: skip


@pytest.mark.parametrize("estimator", ["sampled", "conditional"])
@pytest.mark.parametrize("name", NETWORKS)
def test_measured_is_predicted(name, estimator):
    """All rows with a formula, by Student's law of 60 replications: right code fails with chance 1e-6 a row.

    Intervals are within 0.02 of shares, within 5 % of other metrics.
    """
    network, asked = NETWORKS[name], ASKED if estimator == "sampled" else ()
    result = rn.emulate(
        network, seed=3, horizon=EVENTS / plan(network).event_rate, replications=60, estimator=estimator, confirm=False,
        measure=asked,
    )  # fmt: skip
    compared = 0
    for row, estimate in zip(result.rows, result.estimates, strict=False):
        if row.predicted is None or not estimate.error > 0:
            continue
        allowed = estimate.error * stdtrit(59, 1 - FALSE_ALARM / 2)
        assert abs(estimate.value - row.predicted) <= allowed + (row.accuracy or 0.0) + 1e-9, (row.group, row.metric)
        if row.metric not in ("any_fresh", "all_fresh"):
            assert allowed <= max(0.02, 0.05 * row.predicted), (row.group, row.metric)
        compared += 1
    assert compared >= (2 if asked else 1)
    assert result.events + result.queries == pytest.approx(EVENTS, rel=0.05)

"""The second simulator against what can be computed by hand.

FALSE_ALARM: what is right lies beyond 6.2 standard errors of 32 replications in one of a million runs (Student).
The last number of a case is the smallest error that is seen for sure.
"""

from __future__ import annotations

import pytest
from any_network import METRICS
from independent import simulated

import replnet as rn

pytestmark = pytest.mark.verification

E1 = "exponential(rate=1)"
SIGMAS, REPLICATIONS, LENGTH = 6.2, 32, 500.0
PULLS = {"updates": E1, "downloads": E1}
CONTACTS = {
    "s": {"updates": E1},
    "a": {"downloads": E1, "polls": E1, "select": "recent", "pool": "ab", "group": "a"},
    "b": {"downloads": E1, "group": "b"},
}
HALF = {"crash": "replicas", "up": "exponential(mean=2)", "down": "exponential(mean=2)"}

CASES = {
    # rate of downloads / (rate of downloads + rate of updates), P2P eq. 8; level by level its powers
    "fresh": (rn.cascade(depth=2, **PULLS), "level 2", "freshness", 0.25, 0.06),
    "late": (rn.single(**PULLS), "level 1", "missing_updates", 1.0, 0.4),
    # An M/D/1 line without room to wait takes 1 / (1 + 1 / 3) of the pulls.
    "full": (rn.single(bandwidth=3, queue=1, **PULLS), "level 1", "service_rate", 2.25, 0.07),
    # Pollaczek and Khinchine at a load of 0.4: 0.4 / (2 * 10 * 0.6)
    "wait": (
        rn.single(bandwidth=10, clients={"queries": "exponential(rate=3)"}, **PULLS),
        "clients", "queueing_delay", 0.4 / 12, 0.008,
    ),
    # Up half of the time, and after an outage without a copy until a pull: (1/2) / (1/2 + 1) of that.
    "down": (rn.single(faults=[HALF], **PULLS), "level 1", "availability", 0.5 * 2 / 3, 0.1),
    # P(a fresh) = (1 + P(only b fresh)) / 2, and P(only b fresh) = (1/3) / 3.
    "recent": (
        rn.Network.from_data({
            "kind": "graph", "nodes": CONTACTS, "links": ["s -> a", "s -> b"], "pools": {"ab": ["a", "b"]},
        }),
        "a", "freshness", 5 / 9, 0.06,
    ),
    # A round of two at rates 1: an age is uniform in (0, 1), and 1 - exp(-1) of it is fresh.
    "rounds": (
        rn.aggregate(rates=[1, 1], budget=2, order="fixed"), "copies", "freshness", 0.632, 0.03,
    ),
    # So many of 1 - 0.3 that a pull and its reply both arrive: 0.49 / 1.49.
    "lost": (rn.single(faults=[{"lose": 0.3}], **PULLS), "level 1", "freshness", 0.49 / 1.49, 0.07),
    # A reply is as old as its way when it comes: exp(-0.5) / 2.
    "slow": (rn.single(delay=0.5, **PULLS), "level 1", "freshness", 0.6065 / 2, 0.05),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_can_be_computed_is_what_is_simulated(case):
    network, group, metric, right, resolution = CASES[case]
    metrics = [metric] if metric in METRICS else []
    value, error = simulated(network, metrics, LENGTH, REPLICATIONS, seed=1)[group, metric]
    assert 2 * SIGMAS * error < resolution
    assert abs(value - right) < SIGMAS * error

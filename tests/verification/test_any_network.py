"""The networks held against the second simulator combine whatever may be combined, two at a time. All exact."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import pytest
from any_network import ALLOCATIONS, LAWS, ORDERS, PROCESSES, features, fixed_networks, pairs

import replnet as rn

pytestmark = pytest.mark.verification

NETWORKS = 300
KINDS = ("single", "cascade", "cooperative", "redundant", "aggregate", "graph", "compose")
LINKS = {"several sources", "forest", "several parents", "cycle", "ask some", "delay per link"}
MANY = {"several sources", "several parents"}  # of aggregates, too
DELAYS = {"delay constant", "delay law", "delay per link"}
FAULTS = {
    "lose", "cut at random", "cut on schedule", "crash at random", "crash on schedule", "copy kept", "copy empty",
}  # fmt: skip
LOAD = {"bandwidth", "charge issued", "charge both", "short queue"}
SELECT = {"select random", "select recent"}
TIERS = {"under each", "under spread"}
AGGREGATE = {f"order {order}" for order in ORDERS} | {f"allocate {how}" for how in ALLOCATIONS}
AGGREGATE |= {"share turns", "share independently"}
SHAPES = {"one source", "several sources", "forest"}
FEATURES = {*KINDS, *LINKS, *DELAYS, *FAULTS, *LOAD, *SELECT, *TIERS, *AGGREGATE, *SHAPES, *LAWS, *PROCESSES, "clients"}
FEATURES -= {"erlang", "shuffled"}  # spelled as the gamma law and the lattice that they are
# What never meets, and why.
REFUSED = [
    (set(KINDS), set(KINDS), "a network is of one kind"),
    (SHAPES, SHAPES, "its sources are one, meet or do not meet"),
    (DELAYS, DELAYS, "one delay for all messages, or one per link"),
    ({"charge issued"}, {"charge both"}, "one of the two"),
    (AGGREGATE, {*KINDS} - {"aggregate", "compose"}, "only aggregates have orders, allocations and shares"),
    (TIERS, {*KINDS} - {"compose"}, "only compose has tiers"),
    (LINKS - MANY, {*KINDS, *TIERS, *AGGREGATE} - {"graph"}, "only graphs name their links"),
    (MANY, {*KINDS} - {"graph", "aggregate", "compose"}, "one source only"),
    (SELECT, {"single", "cascade", "redundant", "aggregate"}, "without polls"),
    ({"aggregate", *AGGREGATE}, {"one source", "forest"}, "all replicas of an aggregate download from all sources"),
    ({f"order {order}" for order in ORDERS}, {f"order {order}" for order in ORDERS}, "one order"),
    ({f"allocate {how}" for how in ALLOCATIONS}, {f"allocate {how}" for how in ALLOCATIONS}, "one allocation"),
    ({"share turns"}, {"share independently"}, "one of the two"),
    ({"share turns", "share independently"}, {f"order {order}" for order in ORDERS} - {"order independent"},
     "several replicas share an independent order only"),
]  # fmt: skip


@cache
def networks() -> list[rn.Network]:
    return fixed_networks(NETWORKS)


def refused(pair: tuple[str, str]) -> bool:
    a, b = pair
    return any((a in one and b in other) or (b in one and a in other) for one, other, _ in REFUSED)


def test_every_feature_occurs():
    assert frozenset().union(*map(features, networks())) == FEATURES


def test_every_pair_that_may_occur_does():
    seen = set().union(*map(pairs, networks()))
    every = set(combinations(sorted(FEATURES), 2))
    assert sorted(pair for pair in every - seen if not refused(pair)) == []
    assert sorted(pair for pair in seen if refused(pair)) == []

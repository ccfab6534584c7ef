"""The networks held against the second simulator combine whatever may be combined, two at a time. All exact."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import pytest
from any_network import ALLOCATIONS, LAWS, ORDERS, PROCESSES, features, fixed_networks, pairs
from hypothesis import given, settings
from networks import anything

import replnet as rn

NETWORKS = 300
KINDS = ("single", "cascade", "cooperative", "redundant", "aggregate", "graph", "compose")
LINKS = {"several sources", "forest", "several parents", "cycle", "ask some", "delay per link"}
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
    (AGGREGATE, {*KINDS} - {"aggregate"}, "only aggregates have orders, allocations and shares"),
    (TIERS, {*KINDS} - {"compose"}, "only compose has tiers"),
    (LINKS, {*KINDS} - {"graph", "aggregate"}, "only graphs name their links"),
    (LINKS, TIERS, "only graphs name their links"),
    (SELECT, {"single", "cascade", "redundant"}, "without polls"),
    ({"aggregate", *AGGREGATE}, {*LINKS, *DELAYS, *FAULTS, *LOAD, *SELECT, *TIERS, "clients", "one source", "forest"}
     - {"several sources"}, "an aggregate has sources and replicas, and nothing between them"),
    ({"aggregate", *AGGREGATE}, {*PROCESSES}, "an aggregate takes independent intervals only"),
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


@settings(max_examples=30, deadline=None, derandomize=True)
@given(network=anything())
def test_plain_data_give_the_same_network_again(network):
    again = rn.Network.from_data(network.data())
    assert again.data() == network.data()
    assert features(again) == features(network)


E1 = "exponential(rate=1)"
PLAIN = {
    "single": {"updates": E1, "downloads": E1},
    "aggregate": {"rates": [1, 2], "budget": 3},
}


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("single", "links", ["a -> b"]),
        ("single", "polls", E1),
        ("single", "order", "fixed"),
        ("single", "tiers", []),
        ("aggregate", "delay", 0.1),
        ("aggregate", "bandwidth", 3),
        ("aggregate", "faults", [{"lose": 0.1}]),
        ("aggregate", "clients", {"queries": E1}),
        ("aggregate", "polls", E1),
        ("aggregate", "updates", "alternating(values=[1, 3])"),
        ("aggregate", "downloads", "diurnal(rate=1, swing=0.5, period=3)"),
    ],
)
def test_what_is_refused_is(kind, field, value):
    with pytest.raises(ValueError, match=field):
        rn.Network.from_data({"kind": kind, **PLAIN[kind], field: value})

"""Formulas composed along a graph, and the rows that say why there is none."""

from __future__ import annotations

import math
import random
from functools import cached_property
from importlib import import_module

import networkx as nx
import numpy as np
import pytest
from any_network import drawn_network

import replnet as rn
from replnet.predictions import formulas
from replnet.predictions.pull_graph import PullGraph

E1, E2 = "exponential(rate=1)", "exponential(rate=2)"
CLUSTER = {"replicas": 4, "peers": 2, "updates": E1, "downloads": E1, "polls": E1}


def predicted(network: rn.Network) -> dict[str, float | None]:
    return {row.group: row.predicted for row in rn.predict(network).rows if row.metric == "freshness"}


def note(network: rn.Network, group: str) -> str:
    return next(row.note for row in rn.predict(network).rows if row.group == group)


def drawn(links: str, **nodes: dict) -> rn.Network:
    """A graph of replicas named in `links`, which download at rate 1 unless `nodes` says otherwise."""
    graph = nx.DiGraph()
    for pair in links.split():
        a, b = pair.split(">")
        graph.add_edge(a, b, kind="download")
    for name in graph:
        source = {"role": "source", "updates": E1} if name.startswith("s") else {"downloads": E1}
        graph.nodes[name].update(source | {"group": name} | nodes.get(name, {}))
        if source.get("role"):
            del graph.nodes[name]["group"]
    return rn.graph(graph)


C1 = "constant(period=1)"
TWO_LEAVES = {"branching": 2, "clients": {"ask": 2, "queries": E1}}
BY_HAND = {
    "a chain of exponentials is a power": (rn.cascade(depth=3, updates=E1, downloads=E1), "level 3", 1 / 8),
    # X = A + min(A, A): the minimum of two exponential ages is exponential at twice the rate.
    "upstreams that share nothing": (drawn("s>a s>b a>c b>c"), "c", 1 / 2 * 2 / 3),
    "a source among the upstreams": (drawn("s>a s>c a>c"), "c", 1 / 2),
    "several sources": (drawn("s1>a s2>a", s2={"updates": "exponential(rate=3)"}), "a", (1 / 2 + 1 / 4) / 2),
    "delays add up": (rn.cascade(depth=2, updates=E1, downloads=E1, delay=0.1), "level 2", math.exp(-0.2) / 4),
    # d hears of a by the first of b and c that downloads: the freshest is as old as a is then.
    "a shared path": (drawn("s>a a>b a>c b>d c>d"), "d", 1 / 2 * 2 / 3 * 1 / 2),
    "nothing reaches it": (drawn("s>a b>c"), "c", 0),
    # Two of four leaves: below one node, X = A_1 + min of two; below two, the min of two sums, so that the second
    # is 1 - integral of e^-x (e^-x (1 + x))^2.
    "leaves near or far": (
        rn.cascade(depth=2, updates=E1, downloads=E1, **TWO_LEAVES), "clients",
        (1 / 2 * 2 / 3 + 2 * (1 - (1 / 3 + 2 / 9 + 2 / 27))) / 3,
    ),
    # Asking all m replicas sees the first that has it: m downloads superposed.
    "all of a cluster": (
        rn.cooperative(replicas=4, peers=1, updates=E1, downloads=E1, polls=E2, clients={"ask": 4, "queries": E1}),
        "clients", 4 / 5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_worked_out_by_hand(case):
    network, group, value = BY_HAND[case]
    assert predicted(network)[group] == pytest.approx(value)


def test_a_cluster_below_an_upstream_is_a_sum():
    alone = predicted(rn.cooperative(replicas=5, peers=2, updates=E1, downloads=E1, polls=E2))["cluster"]
    tiers = [
        {"kind": "single", "downloads": E2},
        {"kind": "cooperative", "replicas": 5, "peers": 2, "downloads": E1, "polls": E2},
    ]
    assert predicted(rn.compose(updates=E1, tiers=tiers))["tier 2"] == pytest.approx(alone * 2 / 3)


def test_a_client_of_one_replica_sees_the_mean_of_all():
    clients = {"level": 2, "queries": E1}
    found = predicted(rn.cascade(depth=2, branching=2, updates=E1, downloads=E1, clients=clients))
    assert found["clients"] == pytest.approx(found["level 2"])


def test_what_replicas_share_of_their_path_is_shared():
    alone = predicted(drawn("s>b s>c b>d c>d", b={"downloads": C1}, c={"downloads": C1}))["d"]
    shared = predicted(drawn("s>a a>b a>c b>d c>d", b={"downloads": C1}, c={"downloads": C1}))["d"]
    assert shared == pytest.approx(alone / 2)


def test_clients_of_several_clusters_below_one_replica():
    """Two members of one cluster of three, or one of each of two, all relative to the replica above."""
    tiers = [
        {"kind": "cascade", "depth": 1, "branching": 2, "downloads": C1},
        {"kind": "cooperative", "replicas": 2, "peers": 1, "downloads": E1, "polls": E2, "under": "each"},
    ]
    one = predicted(rn.compose(updates=E1, tiers=tiers, clients={"ask": 4, "queries": E1}))["clients"]
    about = {name: {"downloads": law} for name, law in (("a", C1), ("b", C1), ("c", E2), ("d", E2))}
    all_of_both = predicted(drawn("s>a s>b a>c b>d c>e d>e", **about, e={"downloads": "exponential(rate=1e9)"}))["e"]
    assert one == pytest.approx(all_of_both, abs=1e-6)


@pytest.mark.parametrize(
    ("network", "group", "words"),
    [
        (drawn("s>a s>b a>c b>c a>d b>d c>e d>e", a={"downloads": C1}), "e", "share part of their"),
        (drawn("s>a s>b a>p b>q a>r b>u p>c q>c r>d u>d c>e d>e", a={"downloads": C1}), "e", "share part of their"),
        (rn.cascade(depth=1, updates=E1, downloads=E1, delay="exponential(mean=0.1)"), "level 1", "drawn from a law"),
        (rn.cooperative(**CLUSTER | {"polls": "constant(period=1)"}, delay=0.1), "cluster", "polls that take time"),
        (rn.cooperative(**CLUSTER, select="recent"), "cluster", "recent"),
        (rn.load("overlay", ["polls=constant(rate=2)"]), "level 1", "polls along links at intervals"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_where_there_is_no_formula_the_row_says_why(network, group, words):
    assert predicted(network)[group] is None
    assert note(network, group).startswith("no formula: ")
    assert words in note(network, group)


def test_upstreams_of_a_replica_without_a_formula_leave_none_below():
    assert predicted(drawn("s>a a>b b>a b>e", a={"ask": 1}, b={"downloads": "constant(period=1)"}))["e"] is None


def test_long_chains_do_not_exhaust_the_stack():
    found = predicted(rn.cascade(depth=1000, updates="exponential(rate=1)", downloads="exponential(rate=1000)"))
    assert found["level 1000"] == pytest.approx((1000 / 1001) ** 1000)


@pytest.mark.parametrize(
    ("network", "group", "rate"),
    [
        (rn.cooperative(**CLUSTER, bandwidth=20), "cluster", 4 * (20 - 1 - 2 * 1)),
        (rn.redundant(replicas=9, ask=3, updates=E1, downloads=E2, queries=E1, bandwidth=30), "level 1", 9 * 28 / 3),
    ],
    ids=["eq. 30", "eq. 34"],
)  # fmt: skip
def test_service_rate(network, group, rate):
    rows = {(row.group, row.metric): row for row in rn.predict(network).rows}
    assert rows[group, "service_rate"].predicted == pytest.approx(rate)


def test_an_overloaded_source_is_said():
    network = rn.cooperative(replicas=10, peers=1, updates=E1, downloads=E1, polls=E2, bandwidth=5)
    rows = {(row.group, row.metric): row for row in rn.predict(network).rows}
    assert "source is asked 10 times" in rows["cluster", "service_rate"].note
    assert rows["source", "rejected"].predicted == 0.5
    assert rows["cluster", "freshness"].predicted is None


class OneByOne(PullGraph):
    """Every node is a kind by itself."""

    @cached_property
    def kinds(self):
        return np.arange(self.topology.size)


@pytest.mark.parametrize("number", range(60))
def test_nodes_of_one_kind_have_the_same_formulas(number, monkeypatch):
    """On networks that no one chose, what is said kind by kind is what is said node by node."""
    net = drawn_network(random.Random(f"kinds {number}").choice)
    by_kind = formulas(net.topology)
    monkeypatch.setattr(import_module("replnet.predictions.formulas"), "PullGraph", OneByOne)
    assert formulas(net.topology) == by_kind


@pytest.mark.parametrize(
    ("trouble", "kinds"),
    [
        ({"faults": [{"lose": 0.1}]}, 3),
        ({"bandwidth": 40}, 3),
        ({"faults": [{"lose": 0.1, "between": ["1", "level 2"]}]}, 2 + 2 + 2),
        ({"faults": [{"crash": "level 3", "up": E1, "down": E2}]}, 3),
        ({"faults": [{"crash": "2", "up": E1, "down": E2}]}, 2 + 2 + 2),
        ({"faults": [{"cut": ["1.1", "level 3"], "at": 5, "lasts": 1}]}, 1 + 2 + 2),
    ],
)
def test_whom_the_same_may_befall_are_of_one_kind(trouble, kinds, monkeypatch):
    tree = rn.cascade(depth=3, branching=3, updates=E1, downloads=E2, **trouble)
    assert np.unique(PullGraph(tree.topology).kinds).size == 1 + kinds
    by_kind = formulas(tree.topology)
    monkeypatch.setattr(import_module("replnet.predictions.formulas"), "PullGraph", OneByOne)
    one_by_one = formulas(tree.topology)
    assert by_kind.keys() == one_by_one.keys()
    for key, found in by_kind.items():
        assert found.value == pytest.approx(one_by_one[key].value, rel=1e-12, nan_ok=True)
        assert found.note == one_by_one[key].note


def test_there_are_few_kinds_in_large_trees_and_clusters():
    tree = rn.cascade(depth=3, branching=5, updates="exponential(rate=1)", downloads="exponential(rate=2)")
    assert np.unique(PullGraph(tree.topology).kinds).size == 1 + 3
    cluster = rn.load("cooperative", ["replicas=50"])
    assert np.unique(PullGraph(cluster.topology).kinds).size == 1 + 1


def test_what_is_being_predicted_is_told():
    said: list[str] = []
    net = rn.cascade(depth=2, updates=E1, downloads=E1, clients={"queries": E1})
    rn.predict(net, measure=["lag"], tell=said.append)
    groups = ("level 1", "level 2", "clients")
    words = [f"predicting {metric} of {group}" for metric in ("freshness", "lag") for group in groups]
    assert said == words
    said.clear()
    rn.emulate(net, horizon=100, replications=2, measure=["lag"], progress=lambda done, now: said.append(now))
    assert said[: len(words)] == words
    assert len(said) > len(words)

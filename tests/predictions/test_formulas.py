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
from loaded import cluster, redundant

import replnet as rn
from replnet.ages.queueing import NEVER
from replnet.predictions import formulas
from replnet.predictions.pull_graph import PullGraph

E1, E2, C1 = "exponential(rate=1)", "exponential(rate=2)", "constant(period=1)"
POISSON = dict.fromkeys(("updates", "downloads", "polls"), E1)
CLUSTER = {"replicas": 4, "peers": 2, **POISSON}


def rows_of(network, *metrics):
    return {(row.group, row.metric): row for row in rn.predict(network, measure=metrics).rows}


def freshness(network) -> dict[str, float | None]:
    return {group: row.predicted for (group, metric), row in rows_of(network).items() if metric == "freshness"}


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


ROUND = {
    "s": {"role": "source", "updates": E2}, "p": {"downloads": E1}, "q": {"downloads": E2}, "r": {"downloads": E2},
    "u": {"downloads": E2}, "t": {"downloads": "constant(rate=1)"},
}  # fmt: skip
COME_BACK = rn.graph(
    nodes=ROUND | {"r": {"downloads": E2, "ask": 1}}, delay=0.02,
    links=["s -> p", "q -> p", "t -> q", "p -> r", "u -> r", "r -> t"],
)  # fmt: skip
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
    # Round by `t`, whose downloads are constant, copies come back to the one that has fresher ones each time.
    "who asks the source each time is in no cycle": (
        rn.graph(nodes=ROUND, links=["s -> p", "q -> p", "t -> q", "u -> r", "p -> u", "r -> t"], delay=0.02),
        "level 5", math.exp(-2 * 0.02 * 5) / 24 * (1 - math.exp(-2)) / 2,  # P2P eq. 27, 6
    ),
    "first of those who come back": (COME_BACK, "level 1", math.exp(-2 * 0.02) / 3),
    "a client of one replica": (
        rn.cascade(depth=2, branching=2, updates=E1, downloads=E1, clients={"level": 2, "queries": E1}),
        "clients", 1 / 4,
    ),
    "a long chain does not exhaust the stack": (
        rn.cascade(depth=1000, updates=E1, downloads="exponential(rate=1000)"), "level 1000", (1000 / 1001) ** 1000,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BY_HAND)
def test_worked_out_by_hand(case):
    network, group, value = BY_HAND[case]
    assert freshness(network)[group] == pytest.approx(value)


def test_a_cluster_below_an_upstream_is_a_sum():
    cluster = {"replicas": 5, "peers": 2, "downloads": E1, "polls": E2}
    tiers = [{"kind": "single", "downloads": E2}, {"kind": "cooperative", **cluster}]
    alone = freshness(rn.cooperative(updates=E1, **cluster))["cluster"]
    assert freshness(rn.compose(updates=E1, tiers=tiers))["tier 2"] == pytest.approx(alone * 2 / 3)


def test_what_replicas_share_of_their_path_is_shared():
    alone = freshness(drawn("s>b s>c b>d c>d", b={"downloads": C1}, c={"downloads": C1}))["d"]
    shared = freshness(drawn("s>a a>b a>c b>d c>d", b={"downloads": C1}, c={"downloads": C1}))["d"]
    assert shared == pytest.approx(alone / 2)


def test_clients_of_several_clusters_below_one_replica():
    """Two members of one cluster of three, or one of each of two, all relative to the replica above."""
    tiers = [
        {"kind": "cascade", "depth": 1, "branching": 2, "downloads": C1},
        {"kind": "cooperative", "replicas": 2, "peers": 1, "downloads": E1, "polls": E2, "under": "each"},
    ]
    one = freshness(rn.compose(updates=E1, tiers=tiers, clients={"ask": 4, "queries": E1}))["clients"]
    about = {name: {"downloads": law} for name, law in (("a", C1), ("b", C1), ("c", E2), ("d", E2))}
    all_of_both = freshness(drawn("s>a s>b a>c b>d c>e d>e", **about, e={"downloads": "exponential(rate=1e9)"}))["e"]
    assert one == pytest.approx(all_of_both, abs=1e-6)


# A client may ask two whose copies came by the same way, so no bound keeps one of them from never coming.
SAME_WAY = rn.graph(
    nodes={
        "s": {"role": "source", "updates": "exponential(rate=0.5)"}, "p": {"downloads": E1},
        **{name: {"downloads": E2} for name in "qrt"}, "c": {"queries": E1, "ask": 2},
    },
    links=["t -> p", "s -> p", "r -> q", "s -> r", "p -> r", "p -> t", *(f"{name} -> c" for name in "pqrt")],
    delay=0.02,
)  # fmt: skip
OUTAGE = {"at": 1, "lasts": 1}
CHURN = {"up": "exponential(mean=5)", "down": "exponential(mean=2)"}
GRAPHS = {
    "share part of their": drawn("s>a s>b a>c b>c a>d b>d c>e d>e", a={"downloads": C1}),
    " part of their": drawn("s>a s>b a>p b>q a>r b>u p>c q>c r>d u>d c>e d>e", a={"downloads": C1}),
    "no formula": drawn("s>a a>b b>a b>e", a={"ask": 1}, b={"downloads": C1}),
}


def late(*faults):
    return rn.cascade(depth=2, updates=E1, downloads=E2, faults=list(faults)), "level 2", "freshness at 3"


def both_ways(**changes):
    return rn.cooperative(**{"replicas": 10, "two_way": True, **POISSON, **changes}), "cluster", "freshness"


def poll_along_links(*faults):
    """One replica that downloads, and one after another who poll their neighbours."""
    nodes = {f"r{i}": {"polls": E1, "peers": 1} for i in range(4)}
    links = ["s -> r0", *(f"r{i} -- r{i + 1}" for i in range(3))]
    nodes |= {"s": {"updates": E1}, "r0": nodes["r0"] | {"downloads": E2}}
    return rn.graph(nodes=nodes, links=links, faults=list(faults))


# The network, the group and the metric, and what the note says.
NO_FORMULA = [
    *((network, "e", "freshness", words) for words, network in GRAPHS.items()),
    (rn.cascade(depth=1, updates=E1, downloads=E1, delay="exponential(mean=0.1)"), "level 1", "freshness",
     "drawn from a law"),
    (rn.cooperative(**CLUSTER | {"polls": C1}, delay=0.1), "cluster", "freshness", "polls that take time"),
    (rn.cooperative(**CLUSTER, select="recent"), "cluster", "freshness", "recent"),
    (rn.load("overlay", ["polls=constant(rate=2)"]), "level 1", "freshness", "polls along links at intervals"),
    (COME_BACK, "level 2", "freshness", "no formula: "),
    (rn.load("mesh", ["delay=5"]), "level 1", "freshness", "no formula: "),
    *((SAME_WAY, "clients", metric, "no formula: no bound is known")
      for metric in ("staleness_quantile(0.95)", "lag", "information_age")),
    (*both_ways(peers=2), "of one random peer at exponential intervals"),
    (*both_ways(polls=C1), "of one random peer at exponential intervals"),
    (*both_ways(delay=0.1), "polls that take time"),
    (*both_ways(faults=[{"lose": 0.1}]), "delays or faults"),
    (*both_ways(faults=[{"crash": "replica 1", "at": 1, "copy": "empty"}]),
     "nodes that crash where polls go both ways"),
    (*late({"crash": "level 1", **OUTAGE}), "copies that come from replicas which crash on a schedule"),
    (*late({"crash": "level 2", "copy": "kept", **OUTAGE}), "copies that are kept through a crash"),
    (*late({"crash": "source", **OUTAGE}), "sources that crash on a schedule"),
    (*late({"cut": ["level 1", "level 2"], **OUTAGE}), "cuts, except those of exponential downloads from a source"),
    (*late({"crash": "level 2", **OUTAGE}, {"cut": ["source", "level 1"], "at": 2}), "several scheduled faults"),
    (rn.single(start="fresh", updates=E1, downloads=E2), "level 1", "lag", "since a begin"),
    (rn.aggregate(rates=[1, 2], budget=5, replicas=3, ask=2, faults=[{"crash": "replicas", **CHURN}]), "clients",
     "availability", "some of which are missing at times"),
    # It begins with a thousand messages in line, which all leave when nobody asks any more.
    (redundant(60, replicas=1, ask=1, faults=[{"cut": ["clients", "replicas"], "at": 7.0}]), "level 1", "service_rate",
     "no formula: "),
    (redundant(100), "clients", "queueing_delay", "lines that overflow now and then"),
    (poll_along_links({"lose": 0.1, "between": ["r1", "r2"]}), "level 1", "freshness", "messages that get lost"),
    (poll_along_links({"cut": ["r1", "r2"], "at": 1}), "level 1", "freshness", "messages that are cut off for a time"),
    # They come in swarms.
    (cluster(replicas=4, polls=E1, peers=2, select="recent", charge="both",
             clients={"ask": 1, "queries": "exponential(rate=20)"}),
     "clients", "queueing_delay", "poll recent contacts"),
    (rn.aggregate(rates=[1, 9], budget=1, order="fixed", allocate="freshness"), "copies", "lag",
     "lag is infinite: 1 of 2 sources change and are never downloaded"),
    (rn.aggregate(sources=50, updates="gamma(shape=2, rate=1)", budget=9, order="random"), "copies", "freshness",
     "no formula: random orders under changes that are not Poisson"),
    (rn.cooperative(replicas=50, peers=1, **POISSON | {"polls": "gamma(shape=1e-3, rate=1)"}), "cluster", "freshness",
     "magnitudes"),
    (rn.single(updates="pareto(alpha=1.001, rate=1)", downloads="pareto(alpha=1.001, rate=1)"), "level 1", "freshness",
     "no formula: ages that may exceed"),
]  # fmt: skip


@pytest.mark.parametrize(("network", "group", "metric", "words"), NO_FORMULA, ids=[words for *_, words in NO_FORMULA])
def test_where_there_is_no_formula_the_row_says_why(network, group, metric, words):
    row = rows_of(
        network, *([] if metric in ("freshness", "service_rate", "queueing_delay", "availability") else [metric])
    )[group, metric]
    assert row.predicted is None
    assert words in row.note


@pytest.mark.parametrize(
    ("copy", "fresh", "there"), [("empty", 1.2 / 2.2, 5 / 7 / 1.2), ("kept", 1 / (2 + 0.2 / 1.5), 5 / 7)]
)
def test_replicas_that_crash(copy, fresh, there):
    """A copy that is lost does not count until the next download; one that is kept may be an old one."""
    rows = rows_of(rn.single(updates=E1, downloads=E1, faults=[{"crash": "replicas", "copy": copy, **CHURN}]))
    assert rows["level 1", "freshness"].predicted == pytest.approx(fresh)
    assert rows["level 1", "availability"].predicted == pytest.approx(there)


@pytest.mark.parametrize(
    ("fault", "least"),
    [({"lose": 0.1}, 4), ({"lose": 0.1, "between": ["r1", "r2"]}, 0), ({"cut": ["r1", "r2"], "at": 1}, 0)],
)
def test_how_many_pulls_there_are_is_told_without_a_look_at_each(fault, least):
    """And is 0 where only that look could tell."""
    assert PullGraph(poll_along_links(fault).topology).least_distinct_pulls(0) == least


def test_a_line_overflows_where_its_growth_says_so():
    """Of single messages at half load, exp(-1.2564 K): the root of exp(t) - 1 = 2 t."""
    places = -math.log(NEVER) / 1.2564 + 1
    for queue, predicted in ((math.floor(places), None), (math.ceil(places), 0)):
        network = rn.single(updates=E1, downloads=E1, bandwidth=2, queue=queue)
        assert rows_of(network)["level 1", "rejected"].predicted == predicted


@pytest.mark.parametrize(
    ("network", "group", "rate"),
    [
        (rn.cooperative(**CLUSTER, bandwidth=20), "cluster", 4 * (20 - 1 - 2 * 1)),
        (rn.redundant(replicas=9, ask=3, updates=E1, downloads=E2, queries=E1, bandwidth=30), "level 1", 9 * 28 / 3),
    ],
    ids=["eq. 30", "eq. 34"],
)  # fmt: skip
def test_service_rate(network, group, rate):
    assert rows_of(network)[group, "service_rate"].predicted == pytest.approx(rate)


def test_an_overloaded_source_is_said():
    network = rn.cooperative(replicas=10, peers=1, updates=E1, downloads=E1, polls=E2, bandwidth=5)
    rows = rows_of(network)
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
        ({"faults": [{"lose": 0.1, "between": ["1", "level 2"]}]}, 2 + 2 + 2),
        ({"faults": [{"crash": "2", "up": E1, "down": E2}], "bandwidth": 40}, 2 + 2 + 2),
        ({"faults": [{"cut": ["1.1", "level 3"], "at": 5, "lasts": 1}]}, 1 + 2 + 2),
        ({"faults": [{"crash": "level 3", "up": E1, "down": E2}]}, 3),
    ],
)
def test_whom_the_same_may_befall_are_of_one_kind(trouble, kinds):
    tree = rn.cascade(depth=3, branching=3, updates=E1, downloads=E2, **trouble)
    assert np.unique(PullGraph(tree.topology).kinds).size == 1 + kinds


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

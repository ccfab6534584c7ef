"""Poisson pulls along links, read from networks: against emulation, and why there is none for others."""

from __future__ import annotations

import numpy as np
import pytest

import replnet as rn
from replnet.ages.overlays import spreading
from replnet.ages.prediction import NoFormulaError
from replnet.predictions import overlay
from replnet.predictions.overlay import Overlay, _kinds
from replnet.predictions.pull_graph import PullGraph


def path(faults=(), **more):
    nodes = {"source": {"role": "source", "updates": "exponential(rate=1)"}, **{f"r{i}": more for i in range(4)}}
    links = [{"from": "source", "to": "r0"}, *(
        {"from": f"r{i}", "to": f"r{j}", "kind": "peer"} for i in range(4) for j in (i - 1, i + 1) if 0 <= j < 4
    )]  # fmt: skip
    nodes["r0"] = {**more, "downloads": "exponential(rate=2)"}
    return rn.graph(nodes=nodes, links=links, faults=list(faults))


E1, E2, E4 = ({"downloads": f"exponential(rate={rate})"} for rate in (1, 2, 4))
ROUND = {
    "the freshest of several goes round": (
        {"p": E4, "q": {**E4, "ask": 1}, "r": E4},
        ["q -> p", "r -> p", "p -> q", "s -> q", "r -> q", "p -> r"],
    ),
    "downloads go round": ({"p": E2, "q": E2}, ["s -> p", "p -> q", "q -> p"]),
    "one of two upstreams is asked": (
        {"p": E2, "q": E2, "r": {**E2, "ask": 1}},
        ["s -> p", "s -> q", "p -> r", "q -> r"],
    ),
    "one of several is in a cycle that nothing reaches": (
        {"p": E4, "q": E4, "lost": E1, "found": E1},
        ["q -> p", "lost -> p", "lost -> found", "found -> lost", "s -> q"],
    ),
    "a client asks some of those who poll along links": (
        {"p": E4, "q": {**E4, "polls": "exponential(rate=1)", "peers": 1}, "r": E4},
        ["s -> p", "s -> q", "s -> r", {"from": "p", "to": "q", "kind": "peer"},
         {"from": "r", "to": "q", "kind": "peer"}, "p -> c", "q -> c", "r -> c"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ROUND)
def test_copies_that_go_round_are_predicted_as_they_are_measured(case):
    replicas, links = ROUND[case]
    nodes = {"s": {"role": "source", "updates": "exponential(rate=1)"}, **replicas}
    if any("-> c" in str(link) for link in links):
        nodes["c"] = {"queries": "exponential(rate=3)", "ask": 2}
    found = rn.emulate(
        rn.graph(nodes=nodes, links=links), horizon=2e4, seed=1, measure=["staleness", "missing_updates"]
    )
    for row in found.rows:
        assert row.predicted is not None or row.note.endswith("no formula: there are no copies"), row
        assert row.verdict != "differ", row
        assert row.metric != "freshness" or (row.kind, row.verdict) == ("exact", "agree") or "lost" in replicas, row


def test_who_asks_the_source_each_time_is_in_no_cycle():
    """Round by `t`, whose downloads are constant, copies come back to the one that has fresher ones each time."""
    nodes = {"s": {"role": "source", "updates": "exponential(rate=2)"}, "p": E1, "q": E2, "r": E2, "u": E2}
    nodes["t"] = {"downloads": "constant(rate=1)"}
    links = ["s -> p", "q -> p", "t -> q", "u -> r", "p -> u", "r -> t"]
    found = {row.group: row for row in rn.predict(rn.graph(nodes=nodes, links=links, delay=0.02)).rows}
    hop, constant = np.exp(-2 * 0.02), (1 - np.exp(-2)) / 2  # P2P eq. 27, 6
    rates = {"level 1": 1 / 3, "level 2": 1 / 2, "level 3": 1 / 2, "level 4": constant, "level 5": 1 / 2}
    expected = 1.0
    for level, own in rates.items():
        expected *= hop * own
        assert found[level].predicted == pytest.approx(expected), level


def test_no_copy_may_come_by_poisson_pulls_alone():
    """All that asks the source also asks one that depends on `t`, whose downloads are constant."""
    nodes = {
        "s": {"role": "source", "updates": "exponential(rate=2)"},
        "p": E1,
        "q": E2,
        "r": {**E2, "ask": 1},
        "u": E2,
    }
    nodes["t"] = {"downloads": "constant(rate=1)"}
    links = ["s -> p", "q -> p", "t -> q", "p -> r", "u -> r", "r -> t"]
    rows = {row.group: row for row in rn.predict(rn.graph(nodes=nodes, links=links, delay=0.02)).rows}
    assert rows["level 1"].predicted == pytest.approx(np.exp(-2 * 0.02) / 3)
    assert rows["level 2"].note.startswith("no formula: ")


def test_a_quantile_beyond_all_bounds_is_none():
    """A client may ask two whose copies came by the same way, so no bound keeps one of them from never coming."""
    nodes = {"s": {"role": "source", "updates": "exponential(rate=0.5)"}, "p": E1, "q": E2, "r": E2, "t": E2}
    nodes["c"] = {"queries": "exponential(rate=1)", "ask": 2}
    links = ["t -> p", "s -> p", "r -> q", "s -> r", "p -> r", "p -> t", *(f"{name} -> c" for name in "pqrt")]
    network = rn.graph(nodes=nodes, links=links, delay=0.02)
    names = ["staleness_quantile(0.95)", "lag", "information_age"]
    rows = [row for row in rn.predict(network, measure=names).rows if row.group == "clients" and row.metric in names]
    assert [row.note for row in rows] == ["no formula: no bound is known"] * 3
    assert [row.predicted for row in rows] == [None] * 3


@pytest.mark.parametrize("updates", ["constant(period=1)", "pareto(alpha=3, rate=1)"])
def test_updates_may_have_any_law(updates):
    network = rn.load("overlay", [f"nodes.source.updates={updates}"])
    found = rn.emulate(network, horizon=20_000.0, seed=3)
    for row in found.rows:
        assert row.kind == "approximation"
        assert row.verdict == "agree"
        assert abs(row.measured - row.predicted) < 0.01


def test_copies_that_all_come_by_way_of_other_pulls_have_no_formula():
    rows = rn.predict(rn.load("mesh", ["delay=5"])).rows
    assert [(row.group, row.predicted) for row in rows] == [("level 1", None), ("level 2", None)]
    assert all(row.note.startswith("no formula: ") for row in rows)


@pytest.mark.parametrize("clustered", [True, False])
def test_polls_both_ways_reach_those_who_ask_nobody(clustered):
    """`a` downloads and polls, and `b` has what that hands over; in a pool, `c` polls besides."""
    about = {"polls": "exponential(rate=2)"}
    nodes = {
        "s": {"role": "source", "updates": "exponential(rate=1)"},
        "a": {"downloads": "exponential(rate=1)", **about}, "b": {"role": "replica"}, "c": about,
    }  # fmt: skip
    links = ["s -> a", *([] if clustered else ["a -- b"])]
    pools = {"all": ["a", "b", "c"]} if clustered else None
    if clustered:
        nodes |= {name: {**nodes[name], "pool": "all"} for name in ("a", "c")}
    else:
        nodes["a"] |= {"peers": 1}
        nodes["b"] |= {"polls": "exponential(rate=1e-9)"}
        del nodes["c"]
    network = rn.graph(nodes=nodes, links=links, pools=pools, two_way=True)
    for row in rn.emulate(network, horizon=2e5, seed=4).rows:
        assert (row.kind, row.verdict) == ("exact", "agree"), row


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"peers": 2}, "of one random peer at exponential intervals"),
        ({"polls": "constant(rate=1)"}, "of one random peer at exponential intervals"),
        ({"delay": 0.1}, "polls that take time"),
        ({"faults": [{"lose": 0.1}]}, "delays or faults"),
        ({"faults": [{"crash": "replica 1", "at": 1, "copy": "empty"}]}, "nodes that crash where polls go both ways"),
    ],
)
def test_some_polls_both_ways_have_no_formula(changes, why):
    poisson = dict.fromkeys(("updates", "downloads", "polls"), "exponential(rate=1)")
    (row, *_) = rn.predict(rn.cooperative(**{"replicas": 10, "two_way": True, **poisson, **changes})).rows
    assert row.predicted is None
    assert why in row.note


def cluster_with_guests():
    laws = {"downloads": "exponential(rate=1)", "polls": "exponential(rate=2)"}
    nodes = {f"r{i}": {"pool": "p", **laws} for i in range(6)} | {f"g{i}": {**laws, "peers": 2} for i in range(4)}
    pools = {"p": [f"r{i}" for i in range(6)]}
    links = ["s -> *", *({"from": f"r{j}", "to": f"g{i}", "kind": "peer"} for i in range(4) for j in range(2))]
    return rn.graph(nodes={"s": {"updates": "exponential(rate=1)"}, **nodes}, links=links, pools=pools)


@pytest.mark.parametrize(
    ("network", "least"),
    [
        (lambda: rn.load("overlay"), 2),
        (lambda: path(polls="exponential(rate=3)", peers=1), 3),
        (cluster_with_guests, 1),
        (lambda: rn.load("cooperative"), 1),
        (lambda: rn.load("overlay", ["faults=[{lose: 0.1}]", "bandwidth=1000"]), 2),
        (lambda: path([{"lose": 0.1}], polls="exponential(rate=3)", peers=1), 3),
        (lambda: path([{"lose": 0.1, "between": ["r1", "r2"]}], polls="exponential(rate=3)", peers=1), 0),
        (lambda: path([{"cut": ["r1", "r2"], "at": 1}], polls="exponential(rate=3)", peers=1), 0),
    ],
)
def test_contacts_are_at_least_as_many_as_are_counted_beforehand(network, least):
    graph = PullGraph(network().topology)
    assert graph.least_distinct_pulls(0) >= least
    copies, found = Overlay(graph, 0), {}
    for i in range(graph.topology.size):
        try:
            found[i] = copies._pulls_of(i)
        except NoFormulaError:
            return
    kinds = _kinds(found)
    assert graph.least_distinct_pulls(0) <= sum(len(one.kinds) for every in kinds.pulls for one in every)


def test_too_many_contacts_are_told_without_a_look_at_each(monkeypatch):
    monkeypatch.setattr(overlay, "MOST_MESSAGES", 1)
    monkeypatch.setattr(overlay, "MOST_LISTS", 1)
    monkeypatch.setattr(overlay, "_kinds", lambda *_: pytest.fail("looked at all nodes"))
    (row,) = rn.predict("overlay").rows
    assert row.note.startswith("no formula: more than 60,000 contacts of nodes that are unlike one another")


@pytest.mark.parametrize("network", ["overlay", path(polls="exponential(rate=3)", peers=1)], ids=["overlay", "path"])
def test_ways_of_too_many_contacts_have_no_formula(network, monkeypatch):
    """That is the reason also where nodes have nobody to download from."""
    monkeypatch.setattr(spreading, "MOST_LOOKS", 3)
    monkeypatch.setattr(overlay, "MOST_LISTS", 1)
    assert all("one after another" in row.note for row in rn.predict(network).rows)


def test_where_trees_are_too_large_ways_bound_the_ages(monkeypatch):
    """The bounds are wider, so wide that they are no prediction, and hold."""
    monkeypatch.setattr(overlay, "MOST_LISTS", 1)
    (by_trees,) = rn.predict("overlay").rows
    monkeypatch.setattr(spreading, "MOST_BRANCHES", 3)
    (by_ways,) = rn.predict("overlay").rows
    assert by_ways.predicted is None
    low, high = map(
        float, by_ways.note.removeprefix("no prediction: freshness is only known to lie between ").split(" and ")
    )
    assert (low + high) / 2 == pytest.approx(by_trees.predicted, abs=1e-3)
    assert by_trees.accuracy < (high - low) / 2 < by_trees.predicted
    measured = rn.emulate("overlay", horizon=1e4).rows[0].measured
    assert low < measured < by_trees.predicted

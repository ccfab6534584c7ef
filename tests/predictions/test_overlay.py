"""Poisson pulls along links, read from networks: against emulation, and where they are too many."""

from __future__ import annotations

import pytest

import replnet as rn
from replnet.ages.overlays import spreading
from replnet.predictions import overlay


def with_ends(replicas, links):
    """Some replicas with the source and, where links lead to one, the client."""
    client = {"c": {"queries": "exponential(rate=3)", "ask": 2}} if any("-> c" in str(link) for link in links) else {}
    return {"s": {"role": "source", "updates": "exponential(rate=1)"}, **replicas, **client}


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


# What `a` has it hands over to `b`, who in a pool asks nobody; there `c` polls besides.
BOTH_WAYS = {
    "s": {"role": "source", "updates": "exponential(rate=1)"},
    "a": {**E1, "polls": "exponential(rate=2)"},
    "b": {"role": "replica"},
}
NETWORKS = {name: rn.graph(nodes=with_ends(*of), links=of[1]) for name, of in ROUND.items()} | {
    "polls both ways in a pool": rn.graph(
        nodes=BOTH_WAYS | {"a": BOTH_WAYS["a"] | {"pool": "all"}, "c": {"polls": "exponential(rate=2)", "pool": "all"}},
        links=["s -> a"], pools={"all": ["a", "b", "c"]}, two_way=True,
    ),
    "polls both ways along links": rn.graph(
        nodes=BOTH_WAYS | {"a": BOTH_WAYS["a"] | {"peers": 1}, "b": {"polls": "exponential(rate=0.5)"}},
        links=["s -> a", "a -- b"], two_way=True,
    ),
    "constant updates": rn.load("overlay", ["nodes.source.updates=constant(period=1)"]),
}  # fmt: skip


@pytest.mark.parametrize("name", NETWORKS)
def test_copies_that_go_round_are_predicted_as_they_are_measured(name):
    found = rn.emulate(NETWORKS[name], horizon=2e4, seed=1, measure=["staleness", "missing_updates"])
    for row in found.rows:
        assert row.predicted is not None or row.note.endswith("no formula: there are no copies"), row
        assert row.verdict != "differ", row
        if row.metric == "freshness" and row.predicted:
            assert (row.kind, row.verdict) == ("approximation" if "updates" in name else "exact", "agree"), row


def test_too_many_contacts_are_told_without_a_look_at_each(monkeypatch):
    monkeypatch.setattr(overlay, "MOST_MESSAGES", 1)
    monkeypatch.setattr(overlay, "MOST_LISTS", 1)
    monkeypatch.setattr(overlay, "_kinds", lambda *_: pytest.fail("looked at all nodes"))
    (row,) = rn.predict("overlay").rows
    assert row.note.startswith("no formula: more than 60,000 contacts of nodes that are unlike one another")


def test_ways_of_too_many_contacts_have_no_formula(monkeypatch):
    monkeypatch.setattr(spreading, "MOST_LOOKS", 3)
    monkeypatch.setattr(overlay, "MOST_LISTS", 1)
    assert all("one after another" in row.note for row in rn.predict("overlay").rows)


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

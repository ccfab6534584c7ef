"""`array` and `step` walk the same path, copy by copy, and `array` the same one however it is cut."""

from __future__ import annotations

from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from independent import reachable
from networks import NAMED, anything, networks, of_several_sources, plain, troubled, two_way
from paths import assert_agree, assert_same, logged, task, walks

import replnet as rn
from replnet.engines import start
from replnet.engines.array import array, pulls
from replnet.engines.nodes import step
from replnet.engines.plan import plan
from replnet.processes import renewal
from replnet.processes.renewal import Renewals

E1 = "exponential(rate=1)"
ASKED = ("staleness", "lag", "missing_updates", "currency(0.4)", "age_quantile(0.3)")


BRIEF = {"MOST_PULLS_IN_DOUBT": 2000, "MOST_WHEN_STRICT": 5000}  # pulls of a past that proves nothing


def check(network, seed, sampled, asked, brief=BRIEF):
    """With metrics, the sampled estimator follows the copies; without, it counts what is fresh."""
    of = task(network, seed, 8.0, sampled, ASKED if asked == "metrics" and sampled else ())
    assume(walks(of.plan) and not (asked == "log" and of.plan.has_two_way_polls))
    with patch.multiple(start, **brief):
        if asked == "log":
            (ours, path), (theirs, other) = (logged(engine, of) for engine in (array, step))
            assert path.counts == other.counts
            assert ours == theirs
        else:
            assert_agree(of, replication=seed % 3)


ANY = {"seed": st.integers(0, 2**32), "sampled": st.booleans(), "asked": st.sampled_from(["", "metrics", "log"])}
FAMILIES = {
    "any": networks() | networks("aggregate", "starved", "tiers of many"),
    "forests of several sources": networks("forest"),
    "answers without copies of some sources": of_several_sources(),
    "things go wrong": troubled(),
    "things go wrong with aggregates": troubled("aggregate", "starved", "tiers of many"),
    "polls both ways": plain(two_way(networks("cluster", "tiers", "graph"))),
}


@pytest.mark.parametrize("family", FAMILIES)
@settings(max_examples=50, deadline=None, derandomize=True)
@given(data=st.data(), **ANY)
def test_the_engines_agree(family, data, seed, sampled, asked):
    check(data.draw(FAMILIES[family]), seed, sampled, asked)


@pytest.mark.slow
@settings(max_examples=4000, deadline=None)
@given(network=networks() | troubled() | troubled("aggregate", "starved", "tiers of many"), **ANY)
def test_they_agree_on_many_networks(network, seed, sampled, asked):
    check(network, seed, sampled, asked, {})


LASTING = (
    "fresh_spell", "stale_spell", "fresh_spell_beyond(0.4)", "stale_spell_beyond(0.3)", "fresh_residual(0.3)",
    "fresh_residual(2)", "older(0.7)", "age_quantile(0.9)", "staleness_quantile(0.5)", "freshness at 0",
    "freshness at 1.5", "availability at 3", "missing_updates at 7.9",
)  # fmt: skip


@settings(max_examples=40)
@given(networks("redundant") | networks(), st.integers(0, 1000), st.booleans())
def test_they_agree_on_how_long_copies_last_and_from_a_fresh_start(network, seed, fresh):
    data = network.data() | ({"start": "fresh"} if fresh else {})
    network = rn.Network.from_data(data)
    assume(walks(plan(network)))
    assert_agree(task(network, seed, 8.0, measure=LASTING))


CLUSTERS = networks("cluster")
TINY = (
    {"PULLS_PER_SORT": 0, "ROWS_PER_BLOCK": 3, "COPIES_BEYOND_CACHE": 2},
    {"PULLS_PER_PART": 4, "PARTS_PER_PASS": 2},
    {"INSTANTS_PER_BLOCK_ROW": 5},
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(network=plain(CLUSTERS) | plain(two_way(CLUSTERS)) | networks(), **ANY)
def test_they_agree_where_rows_come_in_lots(network, seed, sampled, asked):
    """As they do in large networks."""
    sizes, cut, often = TINY
    with patch.multiple(array, **sizes), patch.multiple(pulls, **cut), patch.multiple(renewal, **often):
        check(network, seed, sampled, asked)


def test_a_path_in_lots_is_the_same_to_the_last_bit(monkeypatch):
    """Many slices of many lots, some of which are drawn again for bursts."""
    network = rn.cooperative(
        replicas=40, peers=2, updates=E1, downloads="hyperexponential(weights=[0.98, 0.02], rates=[60, 0.03])",
        polls="pareto(alpha=1.2, rate=2)",
    )  # fmt: skip
    lots, seen = array._Batch._pass_blocks, []
    monkeypatch.setattr(array._Batch, "_pass_blocks", lambda run, *asked: seen.append(1) or lots(run, *asked))
    for of in (task(network, 5, 200.0, sampled, asked) for sampled, asked in ((True, ()), (False, ()), (True, ASKED))):
        whole = array.run_path(of)
        assert not seen
        with (
            patch.multiple(array, PULLS_PER_SORT=0, ROWS_PER_BLOCK=7, WINDOW=64, COPIES_BEYOND_CACHE=0),
            patch.multiple(pulls, PULLS_PER_PART=32, PARTS_PER_PASS=3),
        ):
            parts = array.run_path(of)
        assert_same(of, whole, parts)
        assert of.questions or whole.shares == parts.shares
        assert len(seen) > 3
        seen.clear()


def test_an_instant_far_off_is_not_waited_for(monkeypatch):
    """Nobody's instants are made up to the first query, which comes after a hundred million updates or so."""
    made, window = [], Renewals.window

    def counted(*asked):
        made.append(1)
        assert len(made) < 100
        return window(*asked)

    monkeypatch.setattr(Renewals, "window", counted)
    often, rare = rn.exponential(rate=1), {"level": "last", "queries": "constant(period=1e9)"}
    assert_agree(task(rn.cascade(depth=1, updates=often, downloads=often, clients=rare), 1, 8.0, False))


def test_another_node_disturbs_no_one():
    """A replica more at the end of a tree leaves the others' copies as they were."""
    graph = nx.DiGraph()
    graph.add_node("source", updates="exponential(rate=1)")
    for name in ("a", "b"):
        graph.add_node(name, downloads="pareto(alpha=3, rate=1)")
        graph.add_edge("source", name)
    small = array.run_path(task(rn.graph(graph), 1, 50.0, False))
    graph.add_node("c", downloads="exponential(rate=1)")
    graph.add_edge("b", "c")
    large = array.run_path(task(rn.graph(graph), 1, 50.0, False))
    assert np.array_equal(small.copies[0, 1:3], large.copies[0, 1:3])


def test_sampled_and_conditional_see_the_same_copies():
    """What is fresh to one, by the instant it goes stale, left after the last update to the other."""
    for seed in range(10):
        stale, left = (
            array.run_path(task(NAMED["tree"], seed, 20.0, sampled)).copies[0, 1:] for sampled in (True, False)
        )
        order = np.argsort(left)
        assert (np.diff(stale[order]) >= 0).all()
        assert (stale >= left).all()


def sources_heard(compiled):
    """By node the sources that it can hear of."""
    found = {name: set() for name in compiled.names}
    for i, row in zip(compiled.reachable_sources.owners, compiled.reachable_sources.members, strict=True):
        found[compiled.names[i]].add(compiled.names[compiled.sources[row]])
    return found


RS = [f"r{i}" for i in range(40)]
# Many sources are looked for by another search: each of 40 replicas has one of its own, and one hears of all.
FORTY = rn.graph(
    nodes={f"s{i}": {"updates": E1} for i in range(40)} | {name: {"downloads": E1} for name in ("all", *RS)},
    links=[f"s{i} -> r{i}" for i in range(40)] + [f"{name} -> all" for name in RS],
)


# b polls recent contacts, who share its upstream, which nobody does; what a polls is handed over to c.
APART = rn.graph(
    nodes={
        "s": {"updates": E1}, "q": {"updates": E1}, "a": {"downloads": E1},
        "b": {"downloads": E1, "polls": E1, "select": "recent", "pool": "all"},
    },
    links=["s -> a", "q -> b"], pools={"all": ["a", "b"]},
)  # fmt: skip
HANDED_OVER = rn.graph(
    nodes={"s": {"updates": E1}, "q": {"updates": E1}, "a": {"downloads": E1, "polls": E1}, "c": {"downloads": E1}},
    links=["s -> a", "q -> c", {"from": "c", "to": "a", "kind": "peer"}], two_way=True,
)  # fmt: skip


@settings(max_examples=60)
@example(FORTY)
@example(APART)
@example(HANDED_OVER)
@given(anything() | two_way(networks("cluster", "tiers", "graph")))
def test_who_hears_of_what_is_what_asking_connects(network):
    """Also by polls of recent contacts, who have the same upstream, and by polls that go both ways."""
    heard, asked = sources_heard(plan(network)), reachable(network.graph)
    assert all(heard[name] == {*asked[name]} for name in (*network.replicas, *network.clients))


def test_how_much_longer_intervals_are_than_their_laws_say():
    """Of every process, updates and pulls: those of source 2 are twice as long, and of source 3 nothing is pulled."""
    compiled = plan(rn.aggregate(rates=[1, 0.5, 1], allocate=[1.0, 4.0, 0.0], replicas=2, updates=E1))
    processes = np.arange(compiled.processes.node.size)
    scale = [1, 2, 1, *[1, 0.25, np.inf] * 2]  # replicas that take turns share a clock
    assert compiled.interval_scale(processes).tolist() == scale


def test_the_array_engine_says_which_engine_takes_delay_laws():
    network = rn.cascade(
        depth=2, updates="exponential(rate=1)", downloads="exponential(rate=1)", delay="exponential(mean=0.1)"
    )
    of = task(network, 1, 20.0)
    with pytest.raises(ValueError, match=r"delay: .*step"):
        array.run_path(of)
    fresh, whole = step.run_path(of).shares["level 2", "freshness"]
    assert 0 <= fresh <= whole

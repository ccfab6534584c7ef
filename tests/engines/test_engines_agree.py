"""`array` and `step` walk the same path, copy by copy."""

from __future__ import annotations

import math
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import NAMED, forests, networks, troubled

import replnet as rn
from replnet.engines import array, step
from replnet.engines.path import Path
from replnet.engines.plan import Plan, plan
from replnet.engines.start import depths, patience
from replnet.laws.processes.renewal import Renewals
from replnet.study import behind

# Integrals over a path add the same terms in different orders.
ROUNDING = 1e-9
E1 = "exponential(rate=1)"


def both(compiled: Plan, seed: int, horizon: float, sampled: bool, replication: int = 0) -> tuple[Path, Path]:
    return (
        array.run_path(compiled, seed, replication, horizon, sampled),
        step.run_path(compiled, seed, replication, horizon, sampled),
    )


def assert_same(compiled: Plan, ours: Path, theirs: Path, sampled: bool) -> None:
    assert ours.counts == theirs.counts
    assert ours.depth == theirs.depth
    assert ours.unproven == theirs.unproven
    assert np.array_equal(ours.answers, theirs.answers)
    assert np.allclose(ours.fresh, theirs.fresh, rtol=0, atol=ROUNDING, equal_nan=True)
    assert np.allclose(ours.good, theirs.good, rtol=0, atol=ROUNDING * max(ours.answers.max(initial=1), 1))
    assert ours.shares.keys() == theirs.shares.keys()
    for key, (amount, whole) in theirs.shares.items():
        assert np.allclose(ours.shares[key], (amount, whole), rtol=1e-9, atol=ROUNDING), key
    if not sampled:
        replicas = np.array([role == "replica" for role in compiled.roles])
        assert np.array_equal(ours.copies[:, replicas], theirs.copies[:, replicas])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(network=networks(), seed=st.integers(0, 2**32), sampled=st.booleans())
def test_they_agree_on_any_network(network, seed, sampled):
    compiled = plan(network)
    assert_same(compiled, *both(compiled, seed, 8.0, sampled), sampled)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(network=forests(), seed=st.integers(0, 2**32), sampled=st.booleans())
def test_they_agree_on_forests_of_several_sources(network, seed, sampled):
    compiled = plan(network)
    assert_same(compiled, *both(compiled, seed, 8.0, sampled), sampled)


@pytest.mark.parametrize("estimator", ["sampled", "conditional"])
@pytest.mark.parametrize("count", [2, 5])
def test_pairs_side_by_side_are_as_fresh_as_one(count, estimator):
    graph = nx.DiGraph()
    for i in range(count):
        graph.add_node(f"s{i}", role="source", updates="exponential(rate=1)")
        graph.add_node(f"r{i}", role="replica", downloads="exponential(rate=1)")
        graph.add_edge(f"s{i}", f"r{i}", kind="download")
    (row,) = rn.emulate(rn.graph(graph), seed=1, horizon=20_000, estimator=estimator).rows
    assert row.predicted == pytest.approx(0.5)
    assert row.verdict == "agree"
    assert abs(row.measured - 0.5) < 0.02


@settings(max_examples=100, deadline=None, derandomize=True)
@given(network=troubled(), seed=st.integers(0, 2**32), sampled=st.booleans())
def test_they_agree_when_things_go_wrong(network, seed, sampled):
    compiled = plan(network)
    assert_same(compiled, *both(compiled, seed, 8.0, sampled), sampled)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(network=troubled(), seed=st.integers(0, 2**32), sampled=st.booleans())
def test_they_agree_when_many_things_go_wrong(network, seed, sampled):
    compiled = plan(network)
    assert_same(compiled, *both(compiled, seed, 8.0, sampled), sampled)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(network=networks(), seed=st.integers(0, 2**32), sampled=st.booleans())
def test_they_agree_on_many_networks(network, seed, sampled):
    compiled = plan(network)
    assert_same(compiled, *both(compiled, seed, 8.0, sampled), sampled)


FEW = {
    "single": rn.single(updates="pareto(alpha=3, rate=2)", downloads="constant(rate=3)"),
    "heavy": rn.single(updates="pareto(alpha=1.4, rate=1)", downloads="pareto(alpha=1.4, rate=1)"),
    **NAMED,
}


@pytest.mark.parametrize("sampled", [True, False], ids=["sampled", "conditional"])
@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_they_agree_over_many_seeds(network, sampled):
    compiled = plan(network)
    for seed in range(20):
        assert_same(compiled, *both(compiled, seed, 20.0, sampled, replication=seed % 3), sampled)


def test_a_path_does_not_depend_on_the_size_of_windows(monkeypatch):
    compiled = plan(NAMED["cluster"])
    whole = array.run_path(compiled, 1, 0, 200.0, False)
    monkeypatch.setattr(array, "WINDOW", 32)
    parts = array.run_path(compiled, 1, 0, 200.0, False)
    assert np.array_equal(whole.copies, parts.copies)
    assert whole.counts == parts.counts
    assert np.allclose(whole.fresh, parts.fresh, rtol=0, atol=ROUNDING)


def test_an_instant_far_off_is_not_waited_for(monkeypatch):
    """Nobody's instants are made up to the first query, which comes after a hundred million updates or so."""
    made, window = [], Renewals.window

    def counted(*asked):
        made.append(1)
        assert len(made) < 100
        return window(*asked)

    monkeypatch.setattr(Renewals, "window", counted)
    often, rare = rn.exponential(rate=1), {"level": "last", "queries": "constant(period=1e9)"}
    compiled = plan(rn.cascade(depth=1, updates=often, downloads=often, clients=rare))
    assert_same(compiled, *both(compiled, 1, 8.0, False), False)


def test_another_node_disturbs_no_one():
    """A replica more at the end of a tree leaves the others' copies as they were."""
    graph = nx.DiGraph()
    graph.add_node("source", updates="exponential(rate=1)")
    for name in ("a", "b"):
        graph.add_node(name, downloads="pareto(alpha=3, rate=1)")
        graph.add_edge("source", name)
    small = array.run_path(plan(rn.graph(graph)), 1, 0, 50.0, False)
    graph.add_node("c", downloads="exponential(rate=1)")
    graph.add_edge("b", "c")
    large = array.run_path(plan(rn.graph(graph)), 1, 0, 50.0, False)
    assert np.array_equal(small.copies[0, 1:3], large.copies[0, 1:3])


def test_sampled_and_conditional_see_the_same_copies():
    """What is fresh to one, by the instant it goes stale, left after the last update to the other."""
    compiled = plan(NAMED["tree"])
    for seed in range(10):
        stale = array.run_path(compiled, seed, 0, 20.0, True).copies[0, 1:]
        left = array.run_path(compiled, seed, 0, 20.0, False).copies[0, 1:]
        order = np.argsort(left)
        assert (np.diff(stale[order]) >= 0).all()
        assert (stale >= left).all()


def test_a_disconnected_replica_is_never_fresh():
    graph = nx.DiGraph()
    graph.add_node("source", updates="exponential(rate=1)")
    graph.add_node("alone", downloads="exponential(rate=1)")
    compiled = plan(rn.graph(graph))
    for sampled in (True, False):
        ours, theirs = both(compiled, 1, 20.0, sampled)
        assert ours.fresh.tolist() == theirs.fresh.tolist() == [0.0]


def test_contacts_of_another_upstream_are_never_heard_of():
    """b polls recent contacts, which share its upstream: of the pool that is nobody, so that nothing is waited for."""
    polls = {"downloads": E1, "polls": E1, "select": "recent", "pool": "all"}
    data = {"nodes": {"s": {"updates": E1}, "q": {"updates": E1}, "a": {"downloads": E1}, "b": polls}}
    data |= {"kind": "graph", "links": ["s -> a", "q -> b"], "pools": {"all": ["a", "b"]}}
    compiled = plan(rn.Network.from_data(data))
    assert compiled.names == ("s", "q", "a", "b")
    assert compiled.reached.tolist() == [[False, False, True, False], [False, False, False, True]]
    for sampled in (True, False):
        ours, theirs = both(compiled, 1, 20.0, sampled)
        assert_same(compiled, ours, theirs, sampled)
        assert (ours.unproven, ours.depth < 100) == (0, True)


def test_contacts_of_one_upstream_pass_on_what_they_hear_elsewhere():
    """c downloads from s as a and b do, and polls d, which has copies of q."""
    recent = {"downloads": E1, "polls": E1, "select": "recent", "pool": "all"}
    nodes = {"s": {"updates": E1}, "q": {"updates": E1}, "d": {"downloads": E1}, "b": recent}
    nodes |= {"c": {"downloads": E1, "polls": E1}}
    links = ["s -> b", "s -> c", "q -> d", {"from": "d", "to": "c", "kind": "peer"}]
    network = rn.Network.from_data({"kind": "graph", "nodes": nodes, "links": links, "pools": {"all": ["b", "c"]}})
    compiled = plan(network)
    heard = {
        compiled.names[i] for i in np.flatnonzero(compiled.reached[compiled.sources.index(compiled.names.index("q"))])
    }
    assert heard == {"b", "c", "d"}
    assert_same(compiled, *both(compiled, 1, 20.0, True), True)


@pytest.mark.parametrize("queue", [1, 2])
def test_what_never_comes_is_not_waited_for(queue):
    """Of two pulls at once the second finds no room in a queue of 1."""
    data = {"kind": "graph", "bandwidth": 2, "queue": queue, "links": ["s -> a", "q -> a"]}
    data["nodes"] = {"s": {"updates": E1}, "q": {"updates": E1}, "a": {"downloads": E1}}
    compiled = plan(rn.Network.from_data(data))
    assert list(depths(compiled, 0.5, 0.0, False))[-1] * compiled.asking < 1e4
    assert list(depths(compiled, 9e3, 0.0, True))[-1] == 9e3  # an update that long ago does come
    ours, theirs = both(compiled, 1, 20.0, False)
    assert_same(compiled, ours, theirs, False)
    assert ours.unproven == (queue == 1)
    for engine in ("array", "step"):
        *_, deepest = behind.looks(compiled, replace(ours, depth=1.0, unproven=0), 20.0, engine)
        assert deepest * compiled.asking < 1e4


@pytest.mark.parametrize(
    ("about", "times"),
    [
        ({"downloads": E1}, 1),
        ({"downloads": "pareto(alpha=1.8, rate=1)"}, 1e3),  # 1e-4 ** (-1 / 0.8) against -log(1e-4)
        ({"downloads": E1, "faults": [{"lose": 0.9}]}, 50),
        (
            {"downloads": E1, "faults": [{"crash": "replicas", "up": E1, "down": "exponential(mean=50)"}]},
            51**2,
        ),
        ({"downloads": [E1] * 5}, 4.9),
    ],
)
def test_a_past_is_as_deep_as_what_comes_at_last_may_need(about, times):
    """Slow pulls, losses, long outages and long chains each have the time that they take."""
    base, kind = rn.single(updates=E1, downloads=E1, bandwidth=100), rn.single
    if isinstance(about["downloads"], list):
        kind, about = rn.cascade, {**about, "depth": 5}
    network = kind(updates=E1, bandwidth=100, **about)
    assert patience(plan(network)) >= times * patience(plan(base))


def test_nothing_ends_the_wait_for_what_comes_for_sure():
    assert patience(plan(rn.single(updates=E1, downloads=E1))) == math.inf


def test_the_array_engine_says_which_engine_takes_delay_laws():
    network = rn.cascade(
        depth=2, updates="exponential(rate=1)", downloads="exponential(rate=1)", delay="exponential(mean=0.1)"
    )
    with pytest.raises(ValueError, match=r"delay: .*step"):
        array.run_path(plan(network), 1, 0, 1.0, True)
    assert 0 <= step.run_path(plan(network), 1, 0, 20.0, True).fresh[1] <= 1

"""The log of a path: the same rows by both engines, and one for every event."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from networks import networks, troubled
from paths import ABSENT, assert_agree, rows, task

import replnet as rn
from replnet.engines.array import array
from replnet.engines.log import EVENTS, FAILED, START, Columns
from replnet.engines.nodes import step
from replnet.engines.path import Path
from replnet.engines.plan import plan
from replnet.engines.start import look_back_further

TREE = rn.cascade(depth=2, branching=3, updates="exponential(rate=2)", downloads="pareto(alpha=3, rate=2)", delay=0.05)
CLUSTER = rn.cooperative(
    replicas=4, peers=2, updates="exponential(rate=1)", downloads="constant(rate=1)", polls="exponential(rate=2)",
    clients={"ask": 2, "queries": "exponential(rate=3)"},
)  # fmt: skip
LINES = rn.Network.from_data(CLUSTER.data() | {"bandwidth": 4.0, "queue": 2, "faults": [{"lose": 0.2}]})
MOST = 1e5  # pulls that `step` is to walk through before time zero


def logged(engine, network: rn.Network, seed: int, horizon: float) -> tuple[list[Columns], Path]:
    log = list[Columns]()
    return log, engine.run_path(task(network, seed, horizon, keep=lambda _: log.append))


def both(network: rn.Network, seed: int, horizon: float = 8.0) -> tuple[list[tuple[float, ...]], ...]:
    """The rows of either engine, from one path."""
    ours, path = logged(array, network, seed, horizon)
    if path.depth * plan(network).pull_rate > MOST:
        reject()
    return rows(ours), rows(logged(step, network, seed, horizon)[0])


def assert_same(network: rn.Network, seed: int) -> None:
    ours, theirs = both(network, seed)
    assert ours == theirs


@settings(max_examples=40, deadline=None, derandomize=True)
@given(network=networks(), seed=st.integers(0, 2**32))
def test_the_engines_write_the_same_rows_of_any_network(network, seed):
    assert_same(network, seed)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(network=troubled(), seed=st.integers(0, 2**32))
def test_they_write_the_same_rows_when_things_go_wrong(network, seed):
    assert_same(network, seed)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(network=networks() | troubled(), seed=st.integers(0, 2**32))
def test_they_write_the_same_rows_of_many_networks(network, seed):
    assert_same(network, seed)


def test_they_do_where_two_sources_share_a_line_and_messages_get_lost():
    """A lost pull is paid for, whichever source it is about."""
    graph = nx.DiGraph(queue=1, faults=[{"lose": 0.5}])
    for source in "ab":
        graph.add_node(source, role="source", updates="exponential(rate=1)")
    graph.add_node("replica", downloads="exponential(rate=2)", bandwidth=3.0)
    graph.add_node("client", role="client", queries="exponential(rate=2)")
    graph.add_edges_from([("a", "replica"), ("b", "replica")], kind="download")
    graph.add_edge("replica", "client", kind="query")
    for seed in range(10):
        assert_same(rn.graph(graph), seed)
        assert_agree(task(rn.graph(graph), seed, 20.0))


def test_rows_do_not_depend_on_the_size_of_windows(monkeypatch):
    whole = rows(logged(array, CLUSTER, 1, 600.0)[0])
    for name in ("WINDOW", "MOST_EVENTS", "INSTANTS_PER_ROW"):  # no more than a few thousand events at a time
        monkeypatch.setattr(array, name, 8)
    assert rows(logged(array, CLUSTER, 1, 600.0)[0]) == whole


def test_there_is_a_row_for_every_event():
    found, path = logged(array, CLUSTER, 1, 100.0)
    events = np.bincount(np.concatenate([some.event for some in found]), minlength=len(EVENTS)).tolist()
    updates, downloads, polls, queries = path.counts
    pulls = downloads + 2 * polls + 2 * queries
    assert dict(zip(EVENTS, events, strict=True)) == {
        "update": updates, "download": downloads, "poll": 2 * polls, "query": 2 * queries, "failed": 0,
        "reply": pulls, "answer": queries, "start": 5, "offer": 0,
    }  # fmt: skip


def test_pulls_that_fail_ask_nobody_and_bring_nothing():
    ours, theirs = both(LINES, 1, 40.0)
    assert ours == theirs
    failed = [row for row in ours if row[1] == FAILED]
    assert len(failed) > 10
    assert {row[3:] for row in failed} == {(-1, ABSENT, -1)}


def test_it_is_known_when_copies_left_unless_the_path_depends_on_where_it_began():
    fast = {"updates": "exponential(rate=20)"}  # so that every copy is stale for sure soon after the start
    for data, known in ((TREE.data() | fast, True), (TREE.data() | fast | {"bandwidth": 50.0}, False)):
        ours, theirs = both(rn.Network.from_data(data), 1, 100.0)
        assert ours == theirs
        left = np.array([row[4] for row in ours if row[1] == START])
        assert bool((left > -1e99).all()) == known


def test_how_far_a_recording_looks_back():
    assert list(look_back_further(plan(TREE), 3.0, 25.0, "array", False)) == [3.0, 6.0, 12.0, 24.0]
    assert list(look_back_further(plan(TREE), 3.0, 2.0, "array", False)) == [3.0]
    assert list(look_back_further(plan(LINES), 3.0, 25.0, "array", False)) == [3.0]

"""The compiled loops behind staleness against plain twins: equal to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import replnet as rn
from replnet.engines.stretch_kernels import stretches
from replnet.measure.staleness_kernels import add_up, missed, places

NOTHING = -np.inf
instants = st.lists(st.integers(0, 12).map(float), max_size=20)


@settings(deadline=None)  # the first call compiles
@given(instants, instants, st.booleans())
def test_places_are_those_of_a_search(updates, at, right):
    updates, at = np.sort(updates), np.array(at)
    found = np.empty(at.size, np.int64)
    places(updates, at, right, found)
    assert found.tolist() == np.searchsorted(updates, at, side="right" if right else "left").tolist()


@pytest.mark.parametrize("size", [1000, 5000])
def test_places_far_apart(size):
    rng = np.random.default_rng(size)
    updates, at = np.sort(rng.random(size)), rng.random(300)
    found = np.empty(at.size, np.int64)
    places(updates, at, True, found)
    assert found.tolist() == np.searchsorted(updates, at, side="right").tolist()


@settings(deadline=None)
@given(instants.filter(bool), st.data())
def test_every_missed_update_is_there_once(updates, data):
    updates = np.sort(updates)
    cuts = data.draw(st.lists(st.lists(st.integers(0, updates.size), min_size=3, max_size=3).map(sorted), max_size=8))
    first, before, upto = np.array(cuts, np.int64).reshape(-1, 3).T.copy()
    begin, end = np.arange(first.size) + 20.0, np.arange(first.size) + 30.0
    late, early = np.empty(int((upto - first).sum())), np.empty(int((before - first).sum()))
    missed(begin, end, updates, first, before, upto, late, early)
    assert late.tolist() == [end[q] - updates[x] for q in range(first.size) for x in range(first[q], upto[q])]
    assert early.tolist() == [begin[q] - updates[x] for q in range(first.size) for x in range(first[q], before[q])]
    total = np.ones(first.size)
    add_up(late, upto - first, -1.0, total)
    assert total.tolist() == [1 - sum(end[q] - updates[first[q] : upto[q]]) for q in range(first.size)]


def plainly(events: list[tuple[float, int, int, float | tuple[bool, bool]]], nodes: int) -> list[tuple[float, ...]]:
    """Node by node, and one event at a time."""
    found = []
    for i in range(nodes):
        since, held, up = 0.0, NOTHING, True
        for at, _, node, what in events:
            if node != i:
                continue
            if isinstance(what, tuple):
                down, empties = what
                now, there = NOTHING if down and empties else held, not down
            else:
                now, there = max(held, what), up
            if (now, there) != (held, up):
                if up and held > NOTHING and since < at:
                    found.append((since, at, float(i), held))
                since, held, up = at, now, there
    return sorted(found)


turn = st.tuples(st.integers(0, 9).map(float), st.just(0), st.integers(0, 2), st.tuples(st.booleans(), st.booleans()))
reply = st.tuples(st.integers(0, 9).map(float), st.just(1), st.integers(0, 2), st.integers(-3, 8).map(float))


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(turn, reply), max_size=30))
def test_stretches_end_where_something_changes(events):
    events.sort(key=lambda event: event[:2])
    turns, brought = ([event for event in events if event[1] == kind] for kind in (0, 1))
    columns = np.array([(at, node, left) for at, _, node, left in brought]).reshape(-1, 3).T
    told = np.array([(at, node, *what) for at, _, node, what in turns], dtype=float).reshape(-1, 4).T
    found = np.empty(len(events)), np.empty(len(events)), np.empty(len(events), np.int64), np.empty(len(events))
    n = stretches(
        (columns[0].copy(), columns[1].astype(np.int64), columns[2].copy()),
        (told[0].copy(), told[1].astype(np.int64), told[2] == 1, told[3] == 1),
        np.zeros(3), np.full(3, NOTHING), np.ones(3, np.bool_), NOTHING, found,
    )  # fmt: skip
    assert sorted(zip(*(column[:n].tolist() for column in found), strict=True)) == plainly(events, 3)


NETWORKS = {
    "single": rn.single(updates="pareto(alpha=3, rate=2)", downloads="constant(rate=1)"),
    "cascade": rn.cascade(
        depth=3, branching=2, updates="exponential(rate=2)", downloads="pareto(alpha=3, rate=2)"
    ),
    "cluster": rn.cooperative(
        replicas=7, peers=2, updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="exponential(rate=3)",
    ),
    "two sources": rn.graph(
        nodes={
            "a": {"role": "source", "updates": "exponential(rate=1)"},
            "b": {"role": "source", "updates": "exponential(rate=2)"},
            "p": {"role": "replica", "downloads": "exponential(rate=2)"},
            "q": {"role": "replica", "downloads": "exponential(rate=1)"},
        },
        links=["a -> p", "b -> p", "b -> q", "p -> q"],
    ),
}  # fmt: skip

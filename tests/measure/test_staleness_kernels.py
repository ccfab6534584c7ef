"""The compiled loops behind staleness against plain twins: equal to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.measure.staleness_kernels import add_costs, find_places, missed_ages

instants = st.lists(st.integers(0, 12).map(float), max_size=20)


@settings(deadline=None)  # the first call compiles
@given(
    st.lists(instants, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 12)), max_size=20),
    st.booleans(),
)
def test_places_are_those_of_a_search(rows, asked, right):
    """Each in its own row, however these follow one another."""
    points = np.concatenate([np.empty(0), *map(np.sort, rows)])
    begin = np.append(0, np.cumsum([len(row) for row in rows]))
    row = np.array([at % len(rows) for at, _ in asked], np.int64)
    instants = np.array([instant for _, instant in asked], float)
    found = np.empty(row.size, np.int64)
    find_places(points, begin, row, instants, right, found)
    side = "right" if right else "left"
    wanted = [begin[r] + np.searchsorted(np.sort(rows[r]), at, side=side) for r, at in zip(row, instants, strict=True)]
    assert found.tolist() == wanted


@settings(deadline=None)
@given(instants.filter(bool), st.data())
def test_every_missed_update_is_there_once(updates, data):
    updates = np.sort(updates)
    cuts = data.draw(st.lists(st.lists(st.integers(0, updates.size), min_size=3, max_size=3).map(sorted), max_size=8))
    first, before, upto = np.array(cuts, np.int64).reshape(-1, 3).T.copy()
    begin, end = np.arange(first.size) + 20.0, np.arange(first.size) + 30.0
    late, early = np.empty(int((upto - first).sum())), np.empty(int((before - first).sum()))
    missed_ages(begin, end, updates, first, before, upto, late, early)
    assert late.tolist() == [end[q] - updates[x] for q in range(first.size) for x in range(first[q], upto[q])]
    assert early.tolist() == [begin[q] - updates[x] for q in range(first.size) for x in range(first[q], before[q])]
    total = np.ones(first.size)
    add_costs(late, upto - first, -1.0, total)
    assert total.tolist() == [1 - sum(end[q] - updates[first[q] : upto[q]]) for q in range(first.size)]

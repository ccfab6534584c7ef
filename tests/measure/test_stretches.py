"""How long copies stay fresh or stale, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.measure.metrics import metric
from replnet.measure.stale_spells import StaleSpells
from replnet.measure.stretches import MANY_INSTANTS, Stretches, Updates

UPDATES = Updates.of(np.array([1.0, 2.0, 5.0]))


def stretches(*rows):
    begin, end, left = np.array(rows, float).T
    return Stretches(np.zeros(len(rows), np.int64), begin, end, left, UPDATES)


# A copy from 0.5 that is fresh until 1, one from 2.5 taken at 3, which is replaced by one from 4 at 4 and lasts to 5.
PATH = stretches((0.5, 3.0, 0.5), (3.0, 4.0, 2.5), (4.0, 6.0, 4.0))


@pytest.mark.parametrize(
    ("name", "costs", "wholes"),
    [
        ("fresh_spell", [0.5, 1.0, 1.0], [1, 0, 1]),
        ("stale_spell", [2.0, 0.0, 1.0], [1, 0, 1]),
        # A long spell is counted in the stretch in which it has long to go.
        ("fresh_spell_beyond(0.4)", [1, 0, 1], [1, 0, 1]),
        ("fresh_spell_beyond(1.5)", [0, 1, 0], [1, 0, 1]),
        ("fresh_spell_beyond(2.5)", [0, 0, 0], [1, 0, 1]),
        ("fresh_residual(0.25)", [0.25, 1.0, 0.75], [0.5, 1.0, 1.0]),
        ("fresh_residual(1.5)", [0.0, 0.5, 0.0], [0.5, 1.0, 1.0]),
    ],
)
def test_the_costs_of_stretches(name, costs, wholes):
    question = metric(name).question
    assert PATH.cost(question).tolist() == costs
    assert PATH.whole(question.over).tolist() == wholes


def test_a_stale_spell_goes_on_over_stale_copies():
    """One of two holders from 1 to 4, over a copy from 1.5, and from 5 on; the other from 2 to 3 and from 5 to 6."""
    one = stretches((0.5, 3.0, 0.5), (3.0, 4.0, 1.5), (4.0, 9.0, 4.0))
    other = stretches((1.2, 3.0, 1.2), (3.0, 6.0, 3.0), (6.0, 9.0, 6.0))
    rows, lengths = [*np.repeat([7, 4], 3)], {0.5: [2, 2], 1.0: [2, 0], 2.9: [2, 0], 3.0: [1, 0], 4.0: [0, 0]}
    everyone = [
        np.concatenate([getattr(path, name) for path in (one, other)]) for name in ("begin", "end", "departure")
    ]
    for least, expected in lengths.items():
        for parts in ([range(6)], [[0, 3], [1, 4, 5], [2]], [[0], [1], [2], [3], [4], [5]], [[3, 0, 4, 5, 1], [2]]):
            spells, found = StaleSpells(least), np.zeros(2)
            for part in parts:
                some = stretches(*zip(*(column[list(part)] for column in everyone), strict=True))
                holders = np.array(rows)[list(part)]
                found += spells.count(holders, (holders == 4).astype(int), some, 2)
            assert found.tolist() == expected, (least, parts)


@pytest.mark.parametrize(("at", "there", "fresh"), [(0.0, 0, 0), (0.5, 1, 1), (1.0, 1, 0), (4.0, 1, 1), (6.0, 0, 0)])
def test_the_copy_at_a_time(at, there, fresh):
    seen, which = PATH.answers_at(at)
    assert which.sum() == there
    assert (there - seen.stale.sum()) == fresh


@pytest.mark.parametrize("including", [False, True])
def test_updates_are_found_alike_by_numpy_and_by_the_kernel(including):
    """The kernel finds those of many instants at once, NumPy those of a few; some instants are those of updates."""
    rng = np.random.default_rng(5)
    updates = Updates.of(np.sort(rng.integers(0, 5_000, 3_000) / 10))
    instants = rng.integers(-100, 5_100, MANY_INSTANTS) / 10
    row, half = np.zeros(instants.size, np.int64), instants.size // 2
    at_once = updates.index_after(row, instants, including)
    halves = [updates.index_after(row[:half], part, including) for part in (instants[:half], instants[half:])]
    assert np.array_equal(at_once, np.concatenate(halves))

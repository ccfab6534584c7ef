"""Clocks that are locked while both run, and those whose phases move through a whole period."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.histories.locked_clocks import clock, phase_lock


def lock(updates, downloads):
    first, second = clock(np.asarray(updates)), clock(np.asarray(downloads))
    return None if first is None or second is None else phase_lock(first, second)


def test_a_clock_is_found_whatever_beats_are_missing():
    beats = np.array([0, 1, 2, 5, 6, 9, 12, 13])
    kept = clock(3 + 7 * beats.astype(float))
    assert kept is not None
    assert kept.period == pytest.approx(7)
    assert kept.beats.tolist() == beats.tolist()
    assert clock(np.random.default_rng(1).uniform(0, 100, 80).cumsum()) is None


@pytest.mark.parametrize(("difference", "locked"), [(0.0, True), (0.0009, True), (0.009, True), (0.0195, False)])
def test_clocks_are_locked_where_beats_times_their_difference_is_below_a_period(difference, locked):
    """Over 60 beats 1.95 % is more than a whole one, and 0.9 % is half of it."""
    found = lock(np.arange(61.0), 0.3 + (1 + difference) * np.arange(-1, 60))
    assert (found is not None) == locked
    if found is not None:
        assert found.span == pytest.approx(1, abs=0.01)
        assert found.moved == pytest.approx(60 * difference, rel=0.05)


def test_beats_of_a_simple_ratio_are_locked_too():
    """Beats of 2 and 3 meet the same phases after every 1; those that come again too soon are not felt."""
    found = lock(np.arange(0.0, 3000, 2), np.arange(0.5, 3000, 3))
    assert found is not None
    assert found.span == pytest.approx(1)
    assert lock(np.arange(0.0, 3000, 2), np.arange(0.5, 3000, 3.003)) is None  # 3 beats of 2 move by 0.003, 500 times
    assert lock(np.arange(0.0, 3000, 1), np.arange(0.5, 3000, 21 / 22)) is None


def test_jitter_leaves_clocks_locked_and_wandering_frees_them():
    """Jitter around even beats does not move the mean phase; errors that add up move it by ten periods."""
    rng = np.random.default_rng(1)
    even = np.arange(2000.0)
    jittering = lock(even + rng.normal(0, 0.05, even.size), even + 0.4 + rng.normal(0, 0.05, even.size))
    assert jittering is not None
    assert jittering.moved < 0.5
    assert lock(even, np.cumsum(rng.normal(1, 0.1, even.size))) is None

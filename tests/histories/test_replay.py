"""What a replica had, event by event, and what its two histories have to do with one another."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import programs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.histories.replay import (
    LEVELS,
    age_dependence,
    age_quantiles,
    age_shares,
    conditional_age_shares,
    count_empty_intervals,
    replay,
    statistics_of_turns,
    time_average_gap,
    waits,
)

# Whole seconds, so that a walk second by second is exact.
histories = st.lists(st.integers(0, 60), min_size=1, max_size=12).map(lambda times: np.array(sorted(times), float))


def walk(updates, downloads, start, end):
    """Staleness, its age and missing updates second by second, looking at every event each time."""
    sums = np.zeros(3)
    for t in range(int(start), int(end)):
        copied = max(d for d in downloads if d <= t)
        missed = [u for u in updates if copied < u <= t]
        sums += bool(missed), t + 0.5 - min(missed) if missed else 0, len(missed)
    return sums.tolist()


@settings(max_examples=300)
@given(histories, histories, st.lists(st.integers(1, 20), min_size=2, max_size=4))
def test_replay_is_a_walk_second_by_second(updates, downloads, steps):
    edges = downloads[0] + np.cumsum(steps)
    walked = [walk(updates, downloads, *span) for span in pairwise(edges)]
    assert np.transpose(replay(updates, downloads, edges)).tolist() == walked


def test_an_audit_does_not_wait_for_the_compiler():
    script = """
import sys, numpy as np, replnet as rn
rn.audit(*np.random.default_rng(1).exponential(size=(2, 100)).cumsum(axis=1))
print("numba" in sys.modules)
"""
    assert programs.run([sys.executable, "-c", script], check=True).stdout == "False\n"


@given(histories, histories, st.integers(1, 40))
def test_ages_together_are_a_walk_second_by_second(u, d, length):
    start = max(u[0], d[0])
    end = start + length
    x, y = np.array([1.0, 3, 9, np.inf]), np.array([2.0, 5, np.inf])
    walked = np.zeros((4, 3))
    for t in np.arange(start, end):
        ages = t - max(d[d <= t]), t - max(u[u <= t])
        walked += (ages[0] < x)[:, None] & (ages[1] < y)
    assert age_shares(u, d, start, end, x, y) == pytest.approx(walked / length, abs=1e-12)
    quantiles = age_quantiles(d, start, end)
    assert age_shares(u, d, start, end, quantiles, y)[:, -1] == pytest.approx(LEVELS)


@given(histories, histories)
def test_waits_are_looked_up_one_by_one(u, d):
    end = float(max(d[-1], 1))
    expected = [min(d[d >= update]) - update for update in u if (d >= update).any()]
    assert waits(u, d, 0.0, end).tolist() == expected
    empty = sum(not any(a < update <= b for update in u) for a, b in pairwise(d))
    assert count_empty_intervals(u, d, 0.0, end) == empty


def test_phase_lock_is_dependence():
    """Constant updates, downloads just before each: always stale, ages tied, and updates see old downloads."""
    u = np.arange(1.0, 400)
    history = u, u - 0.02, 1.0, 399.0
    assert age_dependence(*history) > 0.15
    assert time_average_gap(*history) == pytest.approx(0.9)
    # Turning a lattice against itself keeps its lock, so the turns are no surprise: why beats are looked for.
    _, others = statistics_of_turns(age_dependence, *history, np.random.default_rng(12))
    assert others.min() > 0.05


def test_downloads_that_follow_updates_are_seen():
    """A download a while after every third update: ages depend, and downloads find young updates.

    Poisson updates see the time average of downloads all the same, as these look back, never ahead (PASTA).
    """
    rng = np.random.default_rng(13)
    u = np.cumsum(rng.exponential(1, 900))
    d = np.sort(u[::3] + rng.uniform(0, 0.2, 300))

    def swapped(updates, downloads, start, end):
        return time_average_gap(downloads, updates, start, end)

    for statistic in (age_dependence, swapped):
        seen, others = statistics_of_turns(statistic, u, d, d[0], u[-1], rng)
        assert seen > others.max()
    seen, others = statistics_of_turns(time_average_gap, u, d, d[0], u[-1], rng)
    assert others.min() < seen < others.max()


def test_conditional_ages_are_shares():
    rng = np.random.default_rng(14)
    u, d = np.cumsum(rng.exponential(1, 20_000)), np.cumsum(rng.exponential(1, 20_000))
    shares, x = conditional_age_shares(u, d, max(u[0], d[0]), min(u[-1], d[-1]))
    assert shares.shape == (5, 6)
    assert x == pytest.approx(-np.log1p(-LEVELS), rel=0.1)
    # Independent ages: each class sees the levels; 20,000 intervals leave errors of about 0.01.
    assert np.abs(shares - LEVELS[:, None]).max() < 0.06

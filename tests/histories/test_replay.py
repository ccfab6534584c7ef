"""What a replica had, event by event, and what its two histories have to do with one another."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

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
from replnet.testing import FALSE_ALARM

ALARM = 0.05  # level at which tests of chance are counted


def staleness(updates, downloads, start, end):
    """The share of the window in which the copy was stale."""
    return replay(updates, downloads, start, end)[0] / (end - start)


def renewal(rng: np.random.Generator, intervals) -> np.ndarray:
    return np.cumsum(intervals) + rng.uniform(0, 1)


# What a replica had: whole seconds, so that a walk second by second is exact.
seconds = st.lists(st.integers(0, 60), min_size=1, max_size=12)


def naive(updates, downloads, start, end):
    """Staleness, lag and missing updates second by second, looking at every event each time."""
    stale = lag = missing = 0.0
    for t in range(start, end):
        copied = max(d for d in downloads if d <= t)
        missed = [u for u in updates if copied < u <= t]
        stale += bool(missed)
        missing += len(missed)
        lag += t + 0.5 - min(missed) if missed else 0
    return stale, lag, missing


@settings(deadline=None, max_examples=300)
@given(seconds, seconds, st.integers(0, 40), st.integers(1, 40))
def test_replay_is_a_walk_second_by_second(updates, downloads, wait, length):
    start = min(downloads) + wait
    u, d = np.sort(np.array(updates, float)), np.sort(np.array(downloads, float))
    assert replay(u, d, start, start + length) == naive(updates, downloads, start, start + length)


@settings(deadline=None)
@given(seconds, seconds, st.integers(1, 20), st.integers(1, 20))
def test_windows_add_up(updates, downloads, first, second):
    u, d = np.sort(np.array(updates, float)), np.sort(np.array(downloads, float))
    start = d[0]
    parts = [replay(u, d, start, start + first), replay(u, d, start + first, start + first + second)]
    whole = replay(u, d, start, start + first + second)
    assert list(whole) == [sum(pieces) for pieces in zip(*parts, strict=True)]


@settings(deadline=None)
@given(seconds, seconds, st.integers(1, 40))
def test_ages_together_are_a_walk_second_by_second(updates, downloads, length):
    u, d = np.sort(np.array(updates, float)), np.sort(np.array(downloads, float))
    start = max(u[0], d[0])
    x, y = np.array([1.0, 3, 9, np.inf]), np.array([2.0, 5, np.inf])
    walked = np.zeros((4, 3))
    for t in np.arange(start, start + length):
        ages = t - max(d[d <= t]), t - max(u[u <= t])
        walked += (ages[0] < x)[:, None] & (ages[1] < y)
    assert age_shares(u, d, start, start + length, x, y) == pytest.approx(walked / length, abs=1e-12)


@settings(deadline=None)
@given(seconds, seconds)
def test_waits_are_looked_up_one_by_one(updates, downloads):
    u, d = np.sort(np.array(updates, float)), np.sort(np.array(downloads, float))
    end = float(max(d[-1], 1))
    expected = [min(d[d >= one]) - one for one in u if (d >= one).any()]
    assert waits(u, d, 0.0, end).tolist() == expected
    assert count_empty_intervals(u, d, 0.0, end) == sum(not any(a < one <= b for one in u) for a, b in pairwise(d))


def test_missing_updates_are_rate_times_wait():
    """Little's law, exact where the window begins and ends with a download."""
    rng = np.random.default_rng(9)
    d = np.sort(rng.uniform(0, 100, 30))
    u = np.sort(rng.uniform(d[0], d[-1], 200))
    assert replay(u, d, d[0], d[-1])[2] == pytest.approx(waits(u, d, d[0], d[-1]).sum(), rel=1e-12)


def test_quantiles_of_ages():
    """Updates every 10: the age is even on (0, 10)."""
    u = np.arange(0.0, 1001, 10)
    assert age_quantiles(u, 0.0, 1000.0) == pytest.approx(10 * LEVELS, abs=1e-9)


def test_turning_loses_only_what_one_history_has_to_do_with_the_other():
    """Over all turns, staleness is what independent ages of the same laws give (Staleness eq. 36).

    Even turns of 199 random ones miss that by 5 standard errors once in 1e6; these are 0.003.
    """
    rng = np.random.default_rng(10)
    u, d = renewal(rng, rng.pareto(2.5, 3000)), renewal(rng, rng.exponential(1, 2000))
    start, end = max(u[0], d[0]), min(u[-1], d[-1])
    _, others = statistics_of_turns(staleness, u, d, start, end, rng)
    gaps_u, gaps_d = (np.diff(x[(x >= start) & (x < end)]) for x in (u, d))
    y = np.linspace(0, 60, 60_001)[:-1] + 0.0005  # middles of cells of 0.001
    update_age = np.array([np.maximum(gaps_u - at, 0).sum() for at in y[::10]]) / gaps_u.sum()
    download_tail = np.array([(gaps_d > at).mean() for at in y[::10]]) / gaps_d.mean()
    expected = float(((1 - update_age) * download_tail).sum() * 0.01)
    assert others.std() / math.sqrt(others.size) < 0.001
    assert others.mean() == pytest.approx(expected, abs=0.008)


@pytest.mark.parametrize("statistic", [age_dependence, time_average_gap])
def test_independent_histories_seldom_look_dependent(statistic):
    """30 pairs of renewal processes: alarms at 5 % stay within chance."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(30):
        u, d = renewal(rng, rng.pareto(2.5, 120)), renewal(rng, rng.gamma(3, 0.3, 90))
        seen, others = statistics_of_turns(statistic, u, d, max(u[0], d[0]), min(u[-1], d[-1]), rng)
        alarms += (np.count_nonzero(others >= seen) + 1) / 200 < ALARM
    assert alarms <= binom.isf(FALSE_ALARM, 30, ALARM)


def test_phase_lock_is_dependence():
    """Constant updates, downloads just before each: always stale, ages tied, and updates see old downloads."""
    rng = np.random.default_rng(12)
    u = np.arange(1.0, 400)
    d = u - 0.02
    start, end = 1.0, 399.0
    assert staleness(u, d, start, end) == pytest.approx(0.98)
    assert age_dependence(u, d, start, end) > 0.15
    assert time_average_gap(u, d, start, end) == pytest.approx(0.9)
    # Turning a lattice against itself keeps its lock, so the turns are no surprise: why beats are looked for.
    _, others = statistics_of_turns(age_dependence, u, d, start, end, rng)
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

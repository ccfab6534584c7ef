"""Recorded histories: what their intervals have in common, and what a replica had, event by event."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, spearmanr

from replnet.histories.history import (
    DAY,
    History,
    beat,
    correlated,
    correlation,
    decay,
    drift,
    hourly,
    ranks,
    resolution,
    rhythm,
    tail,
)
from replnet.histories.replay import (
    LEVELS,
    age_quantiles,
    age_shares,
    conditional,
    dependence,
    empty,
    not_asta,
    replay,
    staleness,
    turned,
    waits,
)
from replnet.testing import FALSE_ALARM

ALARM = 0.05  # level at which tests of chance are counted


def most(runs: int) -> int:
    """Alarms at ALARM in so many sound runs that only FALSE_ALARM of correct code exceeds."""
    return int(binom.isf(FALSE_ALARM, runs, ALARM))


def renewal(rng: np.random.Generator, intervals) -> np.ndarray:
    return np.cumsum(intervals) + rng.uniform(0, 1)


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([1.0, math.nan, 2.0], "event 2 is at nan"),
        ([1.0, math.inf], "event 2 is at inf"),
        ([1.0, 3.0, 2.0], "event 3 is earlier"),
        ([1.0], "at 1 instant"),
        ([], "at 0 instant"),
        ([5.0, 5.0, 5.0], "at 1 instant"),
        ([[1.0, 2.0]], "not a plain list"),
        (["a", "b"], "not a plain list"),
    ],
)
def test_a_history_says_what_is_wrong_with_it(times, words):
    with pytest.raises(ValueError, match=words) as said:
        History(np.array(times), "edits.csv")
    assert str(said.value).startswith("edits.csv: ")


def test_a_history_counts_instants_and_cannot_be_changed():
    history = History(np.array([0, 1, 1, 4]))
    assert history.intervals.tolist() == [1, 3]
    assert history.rate == 2 / 4
    assert not history.dated
    assert History(np.array([1.7e9, 1.8e9])).dated
    with pytest.raises(ValueError, match="read-only"):
        history.times[0] = 3


def test_correlation_is_the_sum_that_defines_it():
    y = np.random.default_rng(1).exponential(size=37)
    c = y - y.mean()
    plain = [c[:-h] @ c[h:] / (c @ c) for h in range(1, 9)]
    assert correlation(y, 8) == pytest.approx(plain, abs=1e-14)
    assert correlation(np.ones(9), 3).tolist() == [0, 0, 0]


def test_ranks_share_ties():
    y = np.random.default_rng(2).integers(0, 6, 40).astype(float)
    other = np.arange(40.0)
    assert np.corrcoef(ranks(y), other)[0, 1] == pytest.approx(spearmanr(y, other).statistic, abs=1e-12)
    assert ranks(np.array([3.0, 1, 3])).tolist() == [2.5, 1, 2.5]


def test_a_power_of_the_lag_is_found():
    assert decay(0.4 * np.arange(1.0, 101) ** -0.37, 10**6) == pytest.approx(0.37, abs=1e-12)
    assert math.isnan(decay(np.zeros(50), 100))


def test_heavy_tails_alone_are_not_correlation_nor_drift():
    """Over 200 records of independent Pareto(1.2) intervals, alarms at 5 % stay within chance."""
    rng = np.random.default_rng(3)
    records = [rng.pareto(1.2, 400) for _ in range(200)]
    assert sum(correlated(x)[1] < ALARM for x in records) <= most(200)
    assert sum(drift(x)[1] < ALARM for x in records) <= most(200)


def test_short_memory_is_correlation_but_not_drift():
    """Moving averages over 3 intervals: no drift beyond chance, correlation always (it is 2/3 of a deviation)."""
    rng = np.random.default_rng(4)
    records = []
    for _ in range(100):
        x = rng.exponential(size=2002)
        records.append(x[2:] + x[1:-1] + x[:-2])
    assert sum(drift(x)[1] < ALARM for x in records) <= most(100)
    assert all(correlated(x)[1] < 1e-9 for x in records)


def test_drift_is_seen():
    """A rate that grows fourfold over the record: 1,000 intervals show it with p below 1e-9."""
    x = np.random.default_rng(5).exponential(size=1000) * np.linspace(4, 1, 1000)
    ratio, chance = drift(x)
    assert chance < 1e-9
    assert 2 < ratio < 6
    assert math.isnan(drift(x[:10])[1])
    assert drift(np.ones(300)) == (1, 1)


def test_alternating_intervals_are_correlated():
    rho, chance = correlated(np.tile([1.0, 2.0], 100))
    assert rho < -0.9
    assert chance < 1e-9
    assert correlated(np.ones(50)) == (0, 1)


def bursts(rng: np.random.Generator, starts: np.ndarray) -> np.ndarray:
    """Ten events within minutes of every start."""
    return np.sort((starts[:, None] + rng.uniform(0, 600, (starts.size, 10))).ravel())


def test_bursts_have_no_rhythm_of_the_day():
    """50 records of bursts at any hour: alarms at 5 % stay within chance, where a chi-squared test always alarms."""
    rng = np.random.default_rng(6)
    records = [bursts(rng, rng.uniform(0, 60 * DAY, 80)) for _ in range(50)]
    assert sum(rhythm(x, rng)[1] < ALARM for x in records) <= most(50)


def test_office_hours_are_a_rhythm():
    rng = np.random.default_rng(7)
    times = np.sort(rng.integers(0, 200, 600) * DAY + rng.uniform(9, 17, 600) * 3600)
    peak, chance = rhythm(times, rng)
    assert chance == 1 / 200
    assert peak > 2
    assert hourly(times)[:9].sum() == hourly(times)[17:].sum() == 0
    assert hourly(times).sum() == 600


def test_a_beat_is_found_through_jitter():
    rng = np.random.default_rng(8)
    daily = DAY * rng.integers(1, 4, 300) + rng.normal(0, 600, 300)
    found = beat(daily)
    assert found is not None
    assert found.period == DAY
    assert found.jitter == pytest.approx(600, rel=0.2)  # 5 standard errors of 300 deviations
    assert beat(rng.exponential(DAY, 300)) is None
    odd = beat(np.full(20, 7.31))
    assert odd is not None
    assert odd.period == pytest.approx(7.31)
    assert odd.jitter < 1e-6


def test_the_tail_is_the_share_beyond():
    x, beyond = tail(np.array([3.0, 1, 1, 2]))
    assert x.tolist() == [1, 2, 3]
    assert beyond.tolist() == [0.5, 0.25, 0]


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
    path = replay(u, d, start, start + length)
    assert (path.stale, path.lag, path.missing) == naive(updates, downloads, start, start + length)
    assert staleness(u, d, start, start + length) == path.stale / length


@settings(deadline=None)
@given(seconds, seconds, st.integers(1, 20), st.integers(1, 20))
def test_windows_add_up(updates, downloads, first, second):
    u, d = np.sort(np.array(updates, float)), np.sort(np.array(downloads, float))
    start = d[0]
    parts = [replay(u, d, start, start + first), replay(u, d, start + first, start + first + second)]
    whole = replay(u, d, start, start + first + second)
    for name in ("stale", "lag", "missing"):
        assert getattr(whole, name) == sum(getattr(part, name) for part in parts)


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
    assert empty(u, d, 0.0, end) == sum(not any(a < one <= b for one in u) for a, b in pairwise(d))


def test_missing_updates_are_rate_times_wait():
    """Little's law, exact where the window begins and ends with a download."""
    rng = np.random.default_rng(9)
    d = np.sort(rng.uniform(0, 100, 30))
    u = np.sort(rng.uniform(d[0], d[-1], 200))
    assert replay(u, d, d[0], d[-1]).missing == pytest.approx(waits(u, d, d[0], d[-1]).sum(), rel=1e-12)


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
    _, others = turned(staleness, u, d, start, end, rng)
    gaps_u, gaps_d = (np.diff(x[(x >= start) & (x < end)]) for x in (u, d))
    y = np.linspace(0, 60, 60_001)[:-1] + 0.0005  # middles of cells of 0.001
    update_age = np.array([np.maximum(gaps_u - at, 0).sum() for at in y[::10]]) / gaps_u.sum()
    download_tail = np.array([(gaps_d > at).mean() for at in y[::10]]) / gaps_d.mean()
    expected = float(((1 - update_age) * download_tail).sum() * 0.01)
    assert others.std() / math.sqrt(others.size) < 0.001
    assert others.mean() == pytest.approx(expected, abs=0.008)


@pytest.mark.parametrize("statistic", [dependence, not_asta])
def test_independent_histories_seldom_look_dependent(statistic):
    """40 pairs of renewal processes: alarms at 5 % stay within chance."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(40):
        u, d = renewal(rng, rng.pareto(2.5, 200)), renewal(rng, rng.gamma(3, 0.3, 150))
        seen, others = turned(statistic, u, d, max(u[0], d[0]), min(u[-1], d[-1]), rng)
        alarms += (np.count_nonzero(others >= seen) + 1) / 200 < ALARM
    assert alarms <= most(40)


def test_phase_lock_is_dependence():
    """Constant updates, downloads just before each: always stale, ages tied, and updates see old downloads."""
    rng = np.random.default_rng(12)
    u = np.arange(1.0, 400)
    d = u - 0.02
    start, end = 1.0, 399.0
    assert replay(u, d, start, end).stale / (end - start) == pytest.approx(0.98)
    assert dependence(u, d, start, end) > 0.15
    assert not_asta(u, d, start, end) == pytest.approx(0.9)
    # Turning a lattice against itself keeps its lock, so the turns are no surprise: why beats are looked for.
    _, others = turned(dependence, u, d, start, end, rng)
    assert others.min() > 0.05


def test_downloads_that_follow_updates_are_seen():
    """A download a while after every third update: ages depend, and downloads find young updates.

    Poisson updates see the time average of downloads all the same, as these look back, never ahead (PASTA).
    """
    rng = np.random.default_rng(13)
    u = np.cumsum(rng.exponential(1, 900))
    d = np.sort(u[::3] + rng.uniform(0, 0.2, 300))

    def swapped(updates, downloads, start, end):
        return not_asta(downloads, updates, start, end)

    for statistic in (dependence, swapped):
        seen, others = turned(statistic, u, d, d[0], u[-1], rng)
        assert seen > others.max()
    seen, others = turned(not_asta, u, d, d[0], u[-1], rng)
    assert others.min() < seen < others.max()


def test_conditional_ages_are_shares():
    rng = np.random.default_rng(14)
    u, d = np.cumsum(rng.exponential(1, 20_000)), np.cumsum(rng.exponential(1, 20_000))
    shares, x = conditional(u, d, max(u[0], d[0]), min(u[-1], d[-1]))
    assert shares.shape == (5, 6)
    assert x == pytest.approx(-np.log1p(-LEVELS), rel=0.1)
    # Independent ages: each class sees the levels; 20,000 intervals leave errors of about 0.01.
    assert np.abs(shares - LEVELS[:, None]).max() < 0.06


@pytest.mark.parametrize(
    ("times", "step"),
    [
        (np.round(0.3 + 0.4 * np.arange(2000), 1), 0.1),
        (np.arange(100) * 7.0, 1.0),
        (1_699_999_980 + 300.0 * np.arange(100), 60.0),
        (np.floor(1.7e9 / DAY) * DAY + DAY * np.arange(100), DAY),
        (np.round(1.7e9 + np.sqrt(2) * np.arange(100), 3), 0.001),
        (np.pi * np.arange(1, 100), 2 * np.spacing(99 * np.pi)),
    ],
)
def test_the_resolution_of_a_record(times, step):
    assert resolution(times) == pytest.approx(step, rel=1e-12)


@pytest.mark.parametrize("period", [0.05, 1 / 3, 0.37, 0.4, 1.23456])
@pytest.mark.parametrize("digits", [1, 3, 15])
def test_rounding_alone_is_neither_correlation_nor_drift(period, digits):
    """Of 1,000 constant intervals; told by ranks of what is written, both were certain."""
    times = np.unique(np.round(0.3 + period * np.arange(1000), digits))
    step = resolution(times)
    assert correlated(np.diff(times), step) == (0, 1)
    assert drift(np.diff(times), step)[1] == 1


def written(seed, spread, by=0.0):
    """1,000 intervals around 10 that grow by `by` over the record, written with one decimal."""
    x = 10 + spread * np.random.default_rng(seed).standard_normal(1000) + np.linspace(0, by, 1000)
    times = np.round(np.cumsum(x), 1)
    return np.diff(times), resolution(times)


def test_drift_is_seen_through_rounding():
    """By 3 steps of the record at a jitter of 2, found in each of 40 records; by none, as often as ALARM says."""
    assert all(drift(*written(seed, 0.2, 0.3))[1] < 0.01 for seed in range(40))
    assert sum(drift(*written(seed, 0.2))[1] < ALARM for seed in range(200)) <= most(200)
    assert sum(correlated(*written(seed, 0.5))[1] < ALARM for seed in range(200)) <= most(200)

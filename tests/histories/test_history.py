"""Recorded histories: what is wrong with them, what their intervals have in common, and locked clocks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, spearmanr

from replnet.histories.history import (
    DAY,
    History,
    beat,
    correlation,
    decay,
    drift,
    hourly,
    rank_correlation,
    ranks,
    resolution,
    rhythm,
    tail,
)
from replnet.histories.locked_clocks import clock, phase_lock
from replnet.testing import FALSE_ALARM

ALARM = 0.05  # level at which tests of chance are counted


def alarms_by_chance(chances: list[float]) -> bool:
    """Whether so many chances below ALARM come in sound runs, but for FALSE_ALARM."""
    return sum(chance < ALARM for chance in chances) <= binom.isf(FALSE_ALARM, len(chances), ALARM)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([1.0, math.nan, 2.0], "event 2 is at nan"),
        ([1.0, 3.0, 2.0], "event 3 is earlier"),
        ([], "at 0 instant"),
        ([[1.0, 2.0]], "not a plain list"),
        (["a", "b"], "not a plain list"),
    ],
)
def test_a_history_says_what_is_wrong_with_it(times, message):
    with pytest.raises(ValueError, match=rf"^edits\.csv: .*{message}"):
        History(np.array(times), "edits.csv")


def test_a_history_counts_instants_and_cannot_be_changed():
    history = History(np.array([0, 1, 1, 4]))
    assert history.intervals.tolist() == [1, 3]
    assert history.rate == 2 / 4
    assert not history.dated
    assert History(np.array([1.7e9, 1.8e9])).dated
    with pytest.raises(ValueError, match="read-only"):
        history.times[0] = 3


def test_sums_and_ranks_are_those_that_define_them():
    y = np.random.default_rng(1).exponential(size=37)
    c = y - y.mean()
    assert correlation(y, 8) == pytest.approx([c[:-h] @ c[h:] / (c @ c) for h in range(1, 9)], abs=1e-14)
    assert correlation(np.ones(9), 3).tolist() == [0, 0, 0]
    whole, other = np.floor(4 * y), np.arange(37.0)
    assert np.corrcoef(ranks(whole), other)[0, 1] == pytest.approx(spearmanr(whole, other).statistic, abs=1e-12)
    assert ranks(np.array([3.0, 1, 3])).tolist() == [2.5, 1, 2.5]
    values, beyond = tail(np.array([3.0, 1, 1, 2]))
    assert values.tolist() == [1, 2, 3]
    assert beyond.tolist() == [0.5, 0.25, 0]


def test_a_power_of_the_lag_is_found():
    assert decay(0.4 * np.arange(1.0, 101) ** -0.37, 10**6) == pytest.approx(0.37, abs=1e-12)
    assert math.isnan(decay(np.zeros(50), 100))


def test_heavy_tails_alone_are_not_correlation_nor_drift():
    """Over 200 records of independent Pareto(1.2) intervals, alarms at 5 % stay within chance."""
    rng = np.random.default_rng(3)
    records = [rng.pareto(1.2, 400) for _ in range(200)]
    assert alarms_by_chance([rank_correlation(x)[1] for x in records])
    assert alarms_by_chance([drift(x)[1] for x in records])


def test_short_memory_is_correlation_but_not_drift():
    """Moving averages over 3 intervals: no drift beyond chance, correlation always (it is 2/3 of a deviation)."""
    rng = np.random.default_rng(4)
    records = [np.convolve(rng.exponential(size=2002), np.ones(3), "valid") for _ in range(100)]
    assert alarms_by_chance([drift(x)[1] for x in records])
    assert all(rank_correlation(x)[1] < 1e-9 for x in records)
    rho, chance = rank_correlation(np.tile([1.0, 2.0], 100))
    assert rho < -0.9
    assert chance < 1e-9
    assert rank_correlation(np.ones(50)) == (0, 1)


def test_drift_is_seen():
    """A rate that grows fourfold over the record: 1,000 intervals show it with p below 1e-9."""
    x = np.random.default_rng(5).exponential(size=1000) * np.linspace(4, 1, 1000)
    ratio, chance = drift(x)
    assert chance < 1e-9
    assert 2 < ratio < 6
    assert math.isnan(drift(x[:10])[1])
    assert drift(np.ones(300)) == (1, 1)


def test_bursts_have_no_rhythm_of_the_day():
    """50 records of bursts, ten events within minutes: alarms stay within chance, where chi-squared always alarms."""
    rng = np.random.default_rng(6)
    starts = [rng.uniform(0, 60 * DAY, (80, 1)) for _ in range(50)]
    records = [np.sort((start + rng.uniform(0, 600, (80, 10))).ravel()) for start in starts]
    assert alarms_by_chance([rhythm(times, rng)[1] for times in records])


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
    daily = beat(DAY * rng.integers(1, 4, 300) + rng.normal(0, 600, 300))
    # 5 standard errors of 300 deviations.
    assert daily == {"period": DAY, "jitter": pytest.approx(600, rel=0.2)}
    assert beat(rng.exponential(DAY, 300)) is None
    assert beat(np.full(20, 7.31)) == {"period": pytest.approx(7.31), "jitter": pytest.approx(0, abs=1e-6)}


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
    assert rank_correlation(np.diff(times), step) == (0, 1)
    assert drift(np.diff(times), step)[1] == 1


def test_drift_is_seen_through_rounding():
    """By 3 steps of the record at a jitter of 2, found in each of 40 records; by none, as often as ALARM says."""

    def written(seed, spread, growth=0.0):
        """1,000 intervals around 10 that grow by so much over the record, written with one decimal."""
        x = 10 + spread * np.random.default_rng(seed).standard_normal(1000) + np.linspace(0, growth, 1000)
        times = np.round(np.cumsum(x), 1)
        return np.diff(times), resolution(times)

    assert all(drift(*written(seed, 0.2, 0.3))[1] < 0.01 for seed in range(40))
    records = [written(seed, 0.3) for seed in range(200)]
    assert alarms_by_chance([drift(*record)[1] for record in records])
    assert alarms_by_chance([rank_correlation(*record)[1] for record in records])


# Clocks that are locked while both run, and those whose phases move through a whole period.


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

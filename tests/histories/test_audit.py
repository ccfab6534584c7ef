"""Audits of replicas that are made here, so that it is known which assumption fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from recorded import history, pair
from scipy.stats import binom

from replnet.ages.information_age import direct
from replnet.ages.penalties import missing_updates, source_penalty, staleness
from replnet.histories.audit import audit, batch_estimate, measures, ranges_if_independent, window
from replnet.histories.conclusion import NEAR
from replnet.histories.history import History
from replnet.histories.replay import replay, statistics_of_turns
from replnet.laws import Empirical, Exponential, Gamma, Pareto
from replnet.measure.estimate import ratio
from replnet.testing import FALSE_ALARM

UPDATES, DOWNLOADS = Exponential(rate=1), Exponential(rate=0.7)


def of_recorded_changes(updates, polls):
    """An audit by the polls that found a change."""
    seen = np.searchsorted(updates.times, polls.times, side="right")
    return audit(updates, History(polls.times[np.diff(seen, prepend=0) > 0], "downloads.csv"))


def test_sound_replicas_seldom_fail():
    """Each of 10 checks at 1 % over 12 replicas: so many failures of 120 come by chance once in 1e6."""
    audits = [audit(*pair(seed, UPDATES, DOWNLOADS, 200)) for seed in range(12)]
    checks = [check for result in audits for check in result.checks]
    assert len(checks) == 120
    assert sum(check.holds is False for check in checks) <= binom.isf(FALSE_ALARM, 120, 0.01)


def test_intervals_cover_what_independent_processes_have():
    """150 paths: intervals of every metric, where there is one, cover the exact value.

    As often as 94 % would but for once in 1e6; a coverage of 75 % would be seen nearly always.
    """
    copy = direct(DOWNLOADS)
    exact = {
        "staleness": staleness(copy, UPDATES).value,
        "staleness_age": source_penalty(copy, UPDATES, "x").value,
        "missing_updates": missing_updates(copy, UPDATES).value,
    }
    inside: dict[str, list[bool]] = {metric: [] for metric in exact}
    for seed in range(150):
        u, d = pair(seed, UPDATES, DOWNLOADS, 2000)
        estimates = measures(u.times, d.times, *window(u, d, None, None), "")
        for metric, value in exact.items():
            if not estimates[metric].doubt:
                inside[metric].append(estimates[metric].low <= value <= estimates[metric].high)
    for covered in inside.values():
        assert len(covered) > 130
        assert sum(covered) >= binom.ppf(FALSE_ALARM, len(covered), 0.94)


def test_errors_allow_for_batches_that_are_like_their_neighbours():
    x = np.random.default_rng(1).standard_normal(33)
    lengths = np.ones(32)
    alike, unlike = ((x[1:] + sign * 0.3 * x[:-1]) for sign in (1, -1))
    assert batch_estimate(alike, lengths, "").error > 1.05 * ratio(alike, lengths).error
    assert batch_estimate(unlike, lengths, "").error == ratio(unlike, lengths).error
    assert "batches are correlated by 0.9" in batch_estimate(np.cumsum(lengths), lengths, "").doubt


def test_renewal_laws_say_what_happens():
    """Pareto(3) updates against even downloads: 8,000 updates bring the measured within its interval of the laws."""
    result = audit(*pair(3, Pareto(3, rate=1), Gamma(4, rate=0.5), 8000))
    for metric in ("staleness", "missing_updates"):
        estimate = result.measured[metric]
        off = (estimate.value - result.predicted[metric]["renewal laws"]) / estimate.error
        assert abs(off) < 5  # once in 5e5 under Student's law with 31 degrees of freedom
    assert result.predicted["staleness"]["Poisson"] > result.measured["staleness"].high
    assert result.conclusion.startswith("ages are independent: the renewal laws are justified (0.1 to 0.8 % off); the ")
    assert "Poisson formula is justified for lag and missing_updates (0.8 to 0.9 % off), not for" in result.conclusion


def test_polls_that_found_nothing_are_missed():
    """Constant polls kept only when they found a change: the recorded laws are wrong, the waits are right."""
    updates = history(np.random.default_rng(4), Pareto(3, rate=0.3), 8000, "updates.csv")
    polls = History(np.arange(0.37, 8000, 1.0), "downloads.csv")
    result = of_recorded_changes(updates, polls)
    check = result.check("downloads: recorded even if nothing changed")
    assert check.holds is False
    assert check.seen.startswith(f"0 of {result.downloads - 1} intervals")
    assert result.conclusion.startswith("polls that found nothing are missing: the renewal laws are not justified (")
    words = "unseen polls, if they come independently of the updates, are justified (0.0 to 0.6 % off)"
    assert words in result.conclusion
    exact = result.measured["staleness"].value
    # 2,400 updates leave about 0.008.
    assert result.predicted["staleness"]["unseen polls"] == pytest.approx(exact, abs=0.02)
    assert result.predicted["staleness"]["renewal laws"] > exact + 0.15
    # Nothing is lost of what the replica had.
    whole = audit(updates, polls, result.start, result.end).measured
    assert whole["staleness"].value == pytest.approx(exact, rel=1e-12)
    assert whole["staleness_age"].value == pytest.approx(result.measured["staleness_age"].value, rel=1e-9)
    # Polls every 1: their mean wait is a half, so the bound is met.
    assert 2 * result.wait == pytest.approx(1, abs=0.03)


@pytest.mark.parametrize("jitter", [0.0, 600.0])
def test_a_daily_release_and_a_daily_pull_are_locked(jitter):
    """Their beats differ by 0.09 % over 62 days: the phase moves by 0.06 of a day, and only one was seen."""
    releases = 1.7e9 + 86_400.0 * np.arange(63) + np.random.default_rng(1).uniform(0, jitter, 63)
    result = audit(releases, 1.7e9 + 4000 - 86_400 + 86_477.76 * np.arange(64))
    assert result.measured["staleness"].value < 0.1
    assert result.predicted["staleness"]["renewal laws"] == pytest.approx(0.5, abs=0.01)
    check = result.check("no phase-lock")
    assert check.holds is False
    assert "phases move by 0.056 of" in check.seen or jitter
    assert result.conclusion.startswith("clocks are locked")
    assert "no formula is justified, only what was measured" in result.conclusion
    low, high = result.by_chance["staleness"]
    assert low < 0.1
    assert high > 0.85


def test_a_few_polls_that_are_missing_move_no_answer_far():
    """A fleet's record lacks 8 % of its 5,600 pulls, which found nothing, as the test says, and at little cost."""
    rng = np.random.default_rng(1)
    updates, pulls = history(rng, Exponential(rate=1), 15_000), history(rng, Exponential(rate=0.4), 15_000)
    seen = np.searchsorted(updates.times, pulls.times, side="right")
    missing = (np.diff(seen, prepend=0) == 0) & (rng.random(seen.size) < 0.3)
    result = audit(updates, History(pulls.times[~missing], "downloads.csv"))
    assert result.check("downloads: recorded even if nothing changed").holds is False
    words = "polls that found nothing are missing, which moves no answer far: the renewal laws are justified ("
    assert result.conclusion.startswith(words)
    assert " % of such polls are missing" in result.check("downloads: recorded even if nothing changed").seen
    assert "; to predict staleness, take the " in result.conclusion


def test_what_lies_far_from_what_was_measured_is_not_justified():
    """40 updates and 30 downloads show nothing by their chances, and are far apart in what they say all the same."""
    rng, short = np.random.default_rng(3), 0
    for _ in range(10):
        pulls = np.sort(rng.uniform(0, 90, 30))
        result = audit(np.sort(rng.uniform(0, 90, 40)), pulls)
        sizes = [abs(comparison.off) for comparison in result.comparisons("renewal laws")]
        assert ("renewal laws are justified (" in result.conclusion) == (max(sizes) <= NEAR)
        assert ("renewal laws are not justified (" in result.conclusion) == (min(sizes) > NEAR)
        short += "too short to tell" in result.conclusion
    assert short


def test_turned_downloads_have_what_the_laws_say():
    """On a circle ages of turned downloads are independent of the updates, so that the mean is that of the laws."""

    class EvenTurns:
        def uniform(self, low, high, size):
            return low + (np.arange(size) + 0.5) * (high - low) / size

    rng = np.random.default_rng(2)
    u, d = np.sort(rng.uniform(0, 30, 25)), np.sort(rng.uniform(0, 30, 12))
    around = [Empirical(np.diff(np.append(times, times[0] + 30))) for times in (u, d)]

    def means(updates, downloads, start, end):
        return list(replay(updates, downloads, np.array([start, end])).means(end - start).values())

    _, others = statistics_of_turns(means, u, d, 0.0, 30.0, EvenTurns())
    assert others[:, 0].mean() == pytest.approx(staleness(direct(around[1]), around[0]).value, abs=1e-3)
    assert others[:, 2].mean() == pytest.approx(missing_updates(direct(around[1]), around[0]).value, abs=5e-3)


def test_chance_moves_independent_histories_as_far_as_is_told():
    """95 % of 200 pairs are in the range, fewer than 86 % but once in 1e6; half of the pairs drift."""
    inside = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        u, d = (record.times for record in pair(seed, UPDATES, DOWNLOADS, 150))
        if seed % 2:
            d = np.sort(rng.uniform(0, 750, d.size))
            u = np.where(u < 75, u, 75 + 9 * (u - 75))
        start, end = max(u[0], d[0]), min(u[-1], d[-1])
        low, high = ranges_if_independent(u, d, start, end, rng)["staleness"]
        inside.append(low <= replay(u, d, np.array([start, end])).means(end - start)["staleness"] <= high)
    assert sum(inside) >= binom.ppf(FALSE_ALARM, 200, 0.95)


def test_a_replica_that_is_never_stale():
    """Each update is brought at once: nothing is stale, and a lag is no number."""
    updates = np.sort(np.random.default_rng(1).uniform(0, 100, 60))
    result = audit(updates, updates)
    assert result.measured["staleness"].value == 0
    assert "renewal laws are not justified" in result.conclusion
    metrics = {comparison.metric for comparison in result.comparisons("renewal laws")}
    assert metrics == {"staleness", "staleness_age", "missing_updates"}


def test_decimals_of_constant_downloads_are_no_drift():
    updates = History(np.cumsum(np.random.default_rng(1).exponential(size=800)), "updates.csv")
    result = audit(updates, History(np.round(0.3 + 0.4 * np.arange(2000), 1), "downloads.csv"))
    assert all(check.holds for check in result.checks)
    assert "; the Poisson formula is justified (" in result.conclusion


def test_drift_of_both_is_dependence_and_is_said():
    """Both run ten times slower in the second half: correlated ages, though each half is sound."""
    records = (record.times for record in pair(6, UPDATES, DOWNLOADS, 3000))
    updates, downloads = (np.where(times < 1500, times, 1500 + 10 * (times - 1500)) for times in records)
    result = audit(updates, downloads)
    assert result.check("updates: no drift").holds is False
    assert result.check("ages independent").holds is False
    assert "updates and downloads drift" in result.conclusion
    for since, until in ((None, 1500.0), (1500.0, None)):
        half = audit(updates, downloads, since, until)
        assert half.check("ages independent").holds
        assert half.check("updates: no drift").holds


def test_no_interval_where_none_can_be_trusted():
    few = audit(*pair(8, Exponential(rate=1), Exponential(rate=0.1), 300)).measured["staleness"]
    assert "too few for 32 batches" in few.doubt
    assert math.isnan(few.low)
    heavy = audit(*pair(9, Pareto(1.2, scale=1), Exponential(rate=0.2), 20_000))
    assert "infinite variance of the intervals between updates" in heavy.measured["staleness"].doubt
    unclear = audit(*pair(9, Pareto(2, rate=1), Exponential(rate=1), 1000))
    assert any("cannot be excluded" in note and "cover much less" in note for note in unclear.notes)


@pytest.mark.parametrize(
    ("since", "until", "message"),
    [
        (-5.0, None, "since: -5 is before the first event"),
        (None, 0.0, r"downloads\.csv: the histories share no time"),
        (50.0, 50.0, "share no time"),
        (None, math.nan, "share no time"),
        (None, math.inf, "share no time"),
        (95.0, None, "events while both histories run"),
    ],
)
def test_windows_that_make_no_sense(since, until, message):
    with pytest.raises(ValueError, match=message):
        audit(*pair(1, Exponential(rate=1), Exponential(rate=1), 100), since, until)

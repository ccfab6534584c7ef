"""Audits of replicas that are made here, so that it is known which assumption fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from recorded import history, pair
from scipy.stats import binom

from replnet.ages.information_age import direct
from replnet.ages.penalties import missing_updates, source_penalty, staleness
from replnet.histories.audit import audit, measures, ranges_if_independent, window
from replnet.histories.conclusion import NEAR
from replnet.histories.history import History
from replnet.histories.replay import replay, statistics_of_turns
from replnet.laws import Empirical, Exponential, Pareto
from replnet.testing import FALSE_ALARM


def recorded_if_changed(updates, polls):
    """The polls that found a change."""
    found = np.searchsorted(updates.times, polls.times, side="right")
    return History(polls.times[np.diff(found, prepend=0) > 0], "downloads.csv")


def predicted(found, metric, model):
    return found.predicted[metric][model]


def measured(found, metric):
    return found.measured[metric]


def test_a_sound_replica_passes_every_check():
    found = audit(*pair(1, Exponential(rate=1), Exponential(rate=0.7), 3000))
    assert all(one.holds for one in found.checks)
    assert found.conclusion.startswith("ages are independent: the renewal laws are justified (")
    assert "; the Poisson formula is justified (" in found.conclusion


def test_sound_replicas_seldom_fail():
    """Each of 10 checks at 1 % over 12 replicas: so many failures of 120 come by chance once in 1e6."""
    failed = total = 0
    for seed in range(12):
        checks = audit(*pair(seed, Exponential(rate=1), Exponential(rate=0.7), 200)).checks
        failed += sum(one.holds is False for one in checks)
        total += len(checks)
    assert total == 120
    assert failed <= binom.isf(FALSE_ALARM, total, 0.01)


def test_intervals_cover_what_independent_processes_have():
    """150 paths: intervals of every metric, where there is one, cover the exact value.

    As often as 94 % would but for once in 1e6; a coverage of 75 % would be seen nearly always.
    """
    updates, downloads = Exponential(rate=1), Exponential(rate=0.7)
    copy = direct(downloads)
    exact = {
        "staleness": staleness(copy, updates).value,
        "staleness_age": source_penalty(copy, updates, "x").value,
        "missing_updates": missing_updates(copy, updates).value,
    }
    inside: dict[str, list[bool]] = {metric: [] for metric in exact}
    for seed in range(150):
        u, d = pair(seed, updates, downloads, 2000)
        start, end = window(u, d, None, None)
        for metric, estimate in measures(u.times, d.times, start, end, "").items():
            if metric in exact and not estimate.doubt:
                inside[metric].append(estimate.low <= exact[metric] <= estimate.high)
    for found in inside.values():
        assert len(found) > 130
        assert sum(found) >= binom.ppf(FALSE_ALARM, len(found), 0.94)


def test_renewal_laws_say_what_happens():
    """Pareto(3) updates against even downloads: 8,000 updates bring the measured within its interval of the laws."""
    from replnet.laws import Gamma

    found = audit(*pair(3, Pareto(3, rate=1), Gamma(4, rate=0.5), 8000))
    for metric in ("staleness", "missing_updates"):
        estimate = measured(found, metric)
        off = (estimate.value - predicted(found, metric, "renewal laws")) / estimate.error
        assert abs(off) < 5  # once in 5e5 under Student's law with 31 degrees of freedom
    assert predicted(found, "staleness", "Poisson") > measured(found, "staleness").high
    assert found.conclusion.startswith("ages are independent: the renewal laws are justified (0.1 to 0.8 % off); the ")
    assert "Poisson formula is justified for lag and missing_updates (0.8 to 0.9 % off), not for" in found.conclusion


def test_polls_that_found_nothing_are_missed():
    """Constant polls kept only when they found a change: the recorded laws are wrong, the waits are right."""
    rng = np.random.default_rng(4)
    updates = history(rng, Pareto(3, rate=0.3), 8000, "updates.csv")
    polls = History(np.arange(0.37, 8000, 1.0), "downloads.csv")
    found = audit(updates, recorded_if_changed(updates, polls))
    check = found.check("downloads: recorded even if nothing changed")
    assert check.holds is False
    assert check.seen.startswith(f"0 of {found.downloads - 1} intervals")
    assert found.conclusion.startswith("polls that found nothing are missing: the renewal laws are not justified (")
    assert (
        "unseen polls, if they come independently of the updates, are justified (0.0 to 0.6 % off)" in found.conclusion
    )
    exact = measured(found, "staleness").value
    # 2,400 updates leave about 0.008.
    assert predicted(found, "staleness", "unseen polls") == pytest.approx(exact, abs=0.02)
    assert predicted(found, "staleness", "renewal laws") > exact + 0.15
    # Nothing is lost of what the replica had.
    whole = audit(updates, polls, found.start, found.end)
    assert measured(whole, "staleness").value == pytest.approx(exact, rel=1e-12)
    assert measured(whole, "staleness_age").value == pytest.approx(measured(found, "staleness_age").value, rel=1e-9)
    later = audit(updates, recorded_if_changed(updates, polls), since=3600.0)
    assert later.check(check.assumption).seen.startswith(f"0 of {later.downloads - 1} intervals")
    # Polls every 1: their mean wait is a half, so the bound is met.
    assert 2 * found.wait == pytest.approx(1, abs=0.03)


def test_phase_lock_is_named():
    updates = History(np.arange(0.0, 3000, 2), "updates.csv")
    found = audit(updates, History(np.arange(0.5, 3000, 3), "downloads.csv"))
    assert found.check("no phase-lock").holds is False
    assert "no formula is justified" in found.conclusion
    other = audit(updates, History(np.cumsum(np.random.default_rng(5).uniform(1, 5, 900)), "downloads.csv"))
    assert other.check("no phase-lock").holds
    assert other.check("ages independent").holds


def test_a_daily_release_and_a_daily_pull_are_locked():
    """Their beats differ by 0.09 % over 62 days: the phase moves by 0.06 of a day, and only one was seen."""
    updates = 1.7e9 + 86_400.0 * np.arange(63)
    pulls = 1.7e9 + 4000 - 86_400 + 86_477.76 * np.arange(64)
    for jitter in (0.0, 600.0):
        releases = updates + np.random.default_rng(1).uniform(0, jitter, updates.size)
        found = audit(releases, pulls)
        assert measured(found, "staleness").value < 0.1
        assert predicted(found, "staleness", "renewal laws") == pytest.approx(0.5, abs=0.01)
        check = found.check("no phase-lock")
        assert check.holds is False
        assert "phases move by 0.056 of" in check.seen or jitter
        assert found.conclusion.startswith("clocks are locked")
        assert "no formula is justified, only what was measured" in found.conclusion
        low, high = found.by_chance["staleness"]
        assert (low < 0.1) & (high > 0.85)


def test_a_few_polls_that_are_missing_move_no_answer_far():
    """A fleet's record lacks 8 % of its 5,600 pulls, which found nothing, as the test says, and at little cost."""
    rng = np.random.default_rng(1)
    updates, pulls = history(rng, Exponential(rate=1), 15_000), history(rng, Exponential(rate=0.4), 15_000)
    seen = np.searchsorted(updates.times, pulls.times, side="right")
    missing = (np.diff(seen, prepend=0) == 0) & (rng.random(seen.size) < 0.3)
    found = audit(updates, History(pulls.times[~missing], "downloads.csv"))
    assert found.check("downloads: recorded even if nothing changed").holds is False
    assert abs(found.predicted["staleness"]["renewal laws"] / measured(found, "staleness").value - 1) < 0.03
    assert found.conclusion.startswith("polls that found nothing are missing, which moves no answer far: the renewal ")
    assert "renewal laws are justified (" in found.conclusion


def test_what_lies_far_from_what_was_measured_is_not_justified():
    """40 updates and 30 downloads show nothing by their chances, and are far apart in what they say all the same."""
    rng, seen = np.random.default_rng(3), 0
    for _ in range(10):
        pulls = np.sort(rng.uniform(0, 90, 30))
        found = audit(np.sort(rng.uniform(0, 90, 40)), pulls)
        sizes = [abs(one.off) for one in found.comparisons("renewal laws")]
        assert ("renewal laws are justified (" in found.conclusion) == (max(sizes) <= NEAR)
        assert ("renewal laws are not justified (" in found.conclusion) == (min(sizes) > NEAR)
        seen += "too short to tell" in found.conclusion
    assert seen


def test_turned_downloads_have_what_the_laws_say():
    """On a circle ages of turned downloads are independent of the updates, so that the mean is that of the laws."""

    class EvenTurns:
        def uniform(self, low, high, size):
            return low + (np.arange(size) + 0.5) * (high - low) / size

    rng = np.random.default_rng(2)
    u, d = np.sort(rng.uniform(0, 30, 25)), np.sort(rng.uniform(0, 30, 12))
    around = [Empirical(np.diff(np.append(times, times[0] + 30))) for times in (u, d)]
    _, sums = statistics_of_turns(lambda *histories: np.array(replay(*histories)), u, d, 0.0, 30.0, EvenTurns())
    assert sums[:, 0].mean() / 30 == pytest.approx(staleness(direct(around[1]), around[0]).value, abs=1e-3)
    assert sums[:, 2].mean() / 30 == pytest.approx(missing_updates(direct(around[1]), around[0]).value, abs=5e-3)


def test_chance_moves_independent_histories_as_far_as_is_told():
    """95 % of 200 pairs are in the range, fewer than 86 % but once in 1e6; and so they are where both drift."""
    for stretch in (1.0, 5.0):
        inside = []
        for seed in range(200):
            rng = np.random.default_rng(seed)
            u, d = (one.times for one in pair(seed, Exponential(rate=1), Exponential(rate=0.7), 150))
            d = np.sort(rng.uniform(0, 150 * stretch, d.size)) if stretch > 1 else d
            u = np.where(u < 75, u, 75 + (2 * stretch - 1) * (u - 75))
            start, end = max(u[0], d[0]), min(u[-1], d[-1])
            low, high = ranges_if_independent(u, d, start, end, rng)["staleness"]
            inside.append(low <= replay(u, d, start, end)[0] / (end - start) <= high)
        assert sum(inside) >= binom.ppf(FALSE_ALARM, 200, 0.95)


def test_a_replica_that_is_never_stale():
    """Each update is brought at once: nothing is stale, and a lag is no number."""
    updates = np.sort(np.random.default_rng(1).uniform(0, 100, 60))
    found = audit(updates, updates)
    assert measured(found, "staleness").value == 0
    assert "renewal laws are not justified" in found.conclusion
    assert {one.metric for one in found.comparisons("renewal laws")} == {
        "staleness",
        "staleness_age",
        "missing_updates",
    }


def test_decimals_of_constant_downloads_are_no_drift():
    updates = History(np.cumsum(np.random.default_rng(1).exponential(size=800)), "updates.csv")
    found = audit(updates, History(np.round(0.3 + 0.4 * np.arange(2000), 1), "downloads.csv"))
    assert all(one.holds for one in found.checks)


def test_drift_of_both_is_dependence_and_is_said():
    """Both run ten times slower in the second half: correlated ages, though each half is sound."""
    rng = np.random.default_rng(6)

    def slowing(law):
        times = history(rng, law, 3000).times
        return np.where(times < 1500, times, 1500 + 10 * (times - 1500))

    updates, downloads = History(slowing(Exponential(rate=1)), "u"), History(slowing(Exponential(rate=0.7)), "d")
    found = audit(updates, downloads)
    assert found.check("updates: no drift").holds is False
    assert found.check("ages independent").holds is False
    assert "updates and downloads drift" in found.conclusion
    for since, until in ((None, 1500.0), (1500.0, None)):
        half = audit(updates, downloads, since, until)
        assert half.check("ages independent").holds
        assert half.check("updates: no drift").holds


def test_correlated_intervals_alone_leave_the_laws_right():
    """Alternating short and long intervals, as often as not: ages are what the laws say (Staleness Def. 4)."""
    rng = np.random.default_rng(7)
    updates = History(np.cumsum(np.tile([0.2, 3.0], 3000) * rng.uniform(0.9, 1.1, 6000)), "u")
    found = audit(updates, history(rng, Exponential(rate=0.5), updates.end, "d"))
    assert found.check("updates: intervals independent").holds is False
    assert found.check("ages independent").holds
    estimate = measured(found, "staleness")
    assert abs(estimate.value - predicted(found, "staleness", "renewal laws")) < 5 * estimate.error


def test_no_interval_where_none_can_be_trusted():
    few = audit(*pair(8, Exponential(rate=1), Exponential(rate=0.1), 300))
    assert "too few for 32 batches" in measured(few, "staleness").doubt
    assert math.isnan(measured(few, "staleness").low)
    heavy = audit(*pair(9, Pareto(1.2, scale=1), Exponential(rate=0.2), 20_000))
    assert "infinite variance of the intervals between updates" in measured(heavy, "staleness").doubt
    unclear = audit(*pair(9, Pareto(2, rate=1), Exponential(rate=1), 1000))
    assert any("cannot be excluded" in note and "cover much less" in note for note in unclear.notes)


@pytest.mark.parametrize(
    ("since", "until", "words"),
    [
        (-5.0, None, "since: -5 is before the first event"),
        (None, 0.0, "share no time"),
        (50.0, 50.0, "share no time"),
        (None, math.nan, "share no time"),
        (None, math.inf, "share no time"),
        (95.0, None, "events while both histories run"),
    ],
)
def test_windows_that_make_no_sense(since, until, words):
    with pytest.raises(ValueError, match=words):
        audit(*pair(1, Exponential(rate=1), Exponential(rate=1), 100), since, until)


def test_histories_of_different_times():
    old, new = pair(1, Exponential(rate=1), Exponential(rate=1), 100)
    with pytest.raises(ValueError, match=r"downloads\.csv: the histories share no time"):
        audit(old, History(new.times + 1000, new.name))

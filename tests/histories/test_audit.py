"""Audits of replicas that are made here, so that it is known which assumption fails."""

from __future__ import annotations

import math

import numpy as np
import pytest
from recorded import history, pair
from scipy.stats import binom

from replnet.ages.information_age import direct
from replnet.ages.penalties import missing_updates, source_penalty, staleness
from replnet.histories.audit import audit, measures, window
from replnet.histories.history import History
from replnet.laws import Exponential, Pareto
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
    assert "Poisson formula" in found.conclusion
    assert found.conclusion.endswith("and so is the Poisson formula")


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
    assert "renewal laws are justified, the Poisson formula is not" in found.conclusion


def test_polls_that_found_nothing_are_missed():
    """Constant polls kept only when they found a change: the recorded laws are wrong, the waits are right."""
    rng = np.random.default_rng(4)
    updates = history(rng, Pareto(3, rate=0.3), 8000, "updates.csv")
    polls = History(np.arange(0.37, 8000, 1.0), "downloads.csv")
    found = audit(updates, recorded_if_changed(updates, polls))
    check = found.check("downloads: recorded even if nothing changed")
    assert check.holds is False
    assert check.seen.startswith(f"0 of {found.downloads - 1} intervals")
    assert "not recorded" in found.conclusion
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

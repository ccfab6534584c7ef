"""Audits of replicas that are made here, so that it is known which assumption fails; and the price of Poisson."""

from __future__ import annotations

import csv
import json
import math
from io import StringIO

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from replnet.ages.information_age import direct
from replnet.ages.penalties import missing_updates, source_penalty, staleness
from replnet.cli.traces import audit as audit_command
from replnet.cli.traces import trace as trace_command
from replnet.histories.audit import audit, measures, window
from replnet.histories.history import History
from replnet.histories.trace_fit import PHASES, curve, fit_trace, needs, replays
from replnet.laws import Constant, Empirical, Exponential, Pareto
from replnet.testing import FALSE_ALARM


def history(rng, law, span, name="history"):
    gaps = np.asarray(law.draw(rng.standard_exponential(int(1.5 * span * law.rate) + 50)))
    times = np.cumsum(gaps)
    return History(times[times < span], name)


def pair(seed, updates, downloads, span):
    rng = np.random.default_rng(seed)
    return history(rng, updates, span, "updates.csv"), history(rng, downloads, span, "downloads.csv")


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
        "lag": source_penalty(copy, updates, "x").value,
        "missing updates": missing_updates(copy, updates).value,
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
    for metric in ("staleness", "missing updates"):
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
    assert measured(whole, "lag").value == pytest.approx(measured(found, "lag").value, rel=1e-9)
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


# What the Poisson formula costs.


@settings(deadline=None, max_examples=15)
@given(st.lists(st.integers(1, 8), min_size=3, max_size=8), st.integers(1, 4))
def test_replays_are_walks_second_by_second(gaps, period):
    """Downloads every 16 * period seconds, so that phases are whole seconds."""
    times = np.cumsum([0, *gaps]) * 16
    updates, step = History(times, "u"), PHASES * period
    for phase, share in enumerate(replays(updates, 1 / step)):
        stale = 0
        for t in range(times[0], times[-1]):
            last = t - (t - times[0] - phase * period) % step
            stale += any(last < u <= t for u in times)
        assert share == pytest.approx(stale / (times[-1] - times[0]), abs=1e-12)


def test_the_mean_over_phases_is_the_empirical_law():
    """But for the ends of the record: 3,000 intervals, 16 phases."""
    updates = history(np.random.default_rng(10), Pareto(1.4, rate=1), 3000)
    for point in curve(updates):
        assert point["low"] <= point["measured"] <= point["high"]
        assert point["measured"] == pytest.approx(point["empirical"], abs=0.02)
        downloads, law = Constant(rate=point["rate"]), Empirical(updates.intervals)
        assert point["empirical"] == pytest.approx(staleness(direct(downloads), law).value, abs=1e-9)
        ratio = point["rate"] / updates.rate
        assert point["poisson"] == pytest.approx(1 - ratio * -math.expm1(-1 / ratio), abs=1e-9)


def test_bursty_updates_need_less_than_poisson_says():
    updates = history(np.random.default_rng(11), Pareto(1.4, rate=1), 5000)
    found, law = needs(updates), Empirical(updates.intervals)
    for need in found:
        target, downloads = need["target"], Constant(rate=need["empirical"])
        assert 1 - direct(downloads).freshness(law).value == pytest.approx(target, abs=1e-9)
        assert replays(updates, need["measured"]).mean() == pytest.approx(target, abs=2e-3)
        assert need["measured"] == pytest.approx(need["empirical"], rel=0.1)
    wasted = {need["target"]: need["waste"] for need in found}
    assert wasted[0.2] > 1.2
    assert wasted[0.9] > wasted[0.5] > wasted[0.2]


def test_regular_updates_need_more_than_poisson_says():
    """Constant updates at rate 1: staleness is 1 / (2 T) for T < 1, so 0.2 needs a rate of 2.5; Poisson says 2.15."""
    found = needs(History(np.arange(1000.0), "u"), [0.2])[0]
    assert found["empirical"] == pytest.approx(2.5, rel=1e-6)
    assert found["poisson"] == pytest.approx(2.1545, rel=1e-3)
    assert found["waste"] < 1


@pytest.mark.parametrize("target", [0.0, 1.0, -1.0, math.nan])
def test_targets_are_shares(target):
    with pytest.raises(ValueError, match="target"):
        needs(History(np.arange(100.0), "u"), [target])


# The commands.


def written(path, times):
    path.write_text("timestamp\n" + "".join(f"{t:.0f}\n" for t in times))
    return str(path)


@pytest.fixture
def files(tmp_path):
    u, d = pair(12, Exponential(mean=5000), Exponential(mean=9000), 1.3e6)
    paths = [written(tmp_path / name, np.floor(h.times) + 1.7e9) for name, h in (("u.csv", u), ("d.csv", d))]
    return tmp_path, *paths


def ran(command, *arguments):
    done = CliRunner().invoke(command, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_an_audit_in_every_form(files):
    _, u, d = files
    both = ("--updates", u, "--downloads", d)
    text = ran(audit_command, *both)
    for words in ("staleness", "renewal laws", "unseen polls", "Poisson", "ages independent", "2023-11", "days"):
        assert words in text
    data = json.loads(ran(audit_command, *both, "--format", "json"))
    assert [row["metric"] for row in data["rows"]] == ["staleness", "lag", "lag while stale", "missing updates"]
    assert {"window", "checks", "notes", "conclusion", "download_age_given_update_age"} <= set(data)
    rows = list(csv.DictReader(StringIO(ran(audit_command, *both, "--format", "csv"))))
    assert float(rows[0]["measured"]) == data["rows"][0]["measured"]
    late = json.loads(ran(audit_command, *both, "--since", "2023-11-17T00:00:00Z", "--format", "json"))
    assert late["window"]["start"] == 1_700_179_200


def test_a_fit_in_every_form_and_picture(files):
    folder, u, _ = files
    text = ran(trace_command, "fit", u, "--target", "0.2", "-o", folder / "a.svg")
    for words in ("exponential(mean=", "AIC", "tail:", "empirical law", "times as many"):
        assert words in text
    assert (folder / "a.svg").read_text().count("<svg") == 1
    data = json.loads(ran(trace_command, "fit", u, "--format", "json"))
    assert data["needs"][1]["target"] == 0.2
    assert {one["family"] for one in data["fits"]} >= {"exponential", "weibull"}
    rows = list(csv.DictReader(StringIO(ran(trace_command, "fit", u, "--format", "csv"))))
    assert [float(row["rate"]) for row in rows] == [one["rate"] for one in data["staleness"]]


def test_pictures_are_the_same_twice(files):
    from replnet.report.trace_plots import draw

    folder, _, _ = files
    from replnet.histories.trace_import import recorded

    found = fit_trace(recorded(folder / "u.csv"))
    for name in ("a.svg", "b.svg", "a.png"):
        draw(found, folder / name)
    assert (folder / "a.svg").read_bytes() == (folder / "b.svg").read_bytes()
    undated = fit_trace(History(found.history.times[:60] - found.history.start, "u"))
    assert undated.hours is None
    draw(undated, folder / "c.png")
    for bad, words in ((folder / "a.gif", "no kind of picture"), (folder / "no" / "a.png", "cannot be written")):
        with pytest.raises(ValueError, match=words):
            draw(found, bad)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "a.csv has 0 events (2 or more)"),
        ("timestamp\n17\n", "a.csv has 1 event (2 or more)"),
        ("timestamp\n17\n19\n18\n", "a.csv:4: earlier than the event before it"),
        ("timestamp\n17\nnan\n18\n", "a.csv:3: 'nan' is not a time"),
        ("timestamp\n17\nhello\n", "a.csv:3: 'hello' is not a time"),
        ("timestamp\n17\n17\n17\n", "a.csv: events at 1 instant"),
        ("1\n2\n3\n4\n", "a.csv: intervals: 3 are too few to fit"),
        ("\n".join(map(str, range(50))), "constant(period=1)"),
    ],
)
def test_bad_files_are_named(tmp_path, content, said):
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"\S") as error:
        ran(trace_command, "fit", path)
    assert said in str(error.value)


def test_an_audit_names_the_file_too(tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    good.write_text("\n".join(map(str, range(50))))
    for content, said in (("1\n2\nnan\n", "bad.csv:3: 'nan'"), ("0\n25\n49\n", "bad.csv: 3 events while both run")):
        bad.write_text(content)
        for options in (("--updates", good, "--downloads", bad), ("--updates", bad, "--downloads", good)):
            with pytest.raises(ValueError, match=r"\S") as error:
                ran(audit_command, *options)
            assert said.replace("both run", "both histories run") in str(error.value)


def test_files_that_are_not_there(files):
    folder, u, d = files
    for options in (("--updates", folder / "no.csv", "--downloads", d), ("--updates", u, "--downloads", folder)):
        with pytest.raises(ValueError, match=r"does not exist|is a directory"):
            ran(audit_command, *options)
    with pytest.raises(ValueError, match="--since: 'soon' is not a time"):
        ran(audit_command, "--updates", u, "--downloads", d, "--since", "soon")

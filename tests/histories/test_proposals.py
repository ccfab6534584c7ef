"""Proposals: what is proposed from a record, carried out in the time after the record, and how it is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from made_histories import MadeHistory, pulled

import replnet as rn
from replnet.histories.proposals import PullTimes, emulate_schedule, read_target, replica_record

DAY, HOUR, MINUTE = 86_400.0, 3600.0, 60.0
START = 1.75e9 // DAY * DAY
RECORDED, AFTERWARDS = 60, 60  # days


def releases(kind, rng):
    """Return the instants of updates, while the record runs and afterwards: daily about 13:20, or at random."""
    days = np.arange(RECORDED + AFTERWARDS)
    if kind == "daily":
        return START + days * DAY + 13 * HOUR + 20 * MINUTE + rng.normal(0, MINUTE, days.size)
    return START + np.sort(rng.random(4 * days.size)) * days.size * DAY


def pulls(kind, rng):
    """Return the instants of a replica's pulls while the record runs."""
    end = RECORDED * DAY
    if kind == "early":  # 25 minutes before the daily release
        return START + np.arange(RECORDED) * DAY + 12 * HOUR + 55 * MINUTE + rng.normal(0, MINUTE, RECORDED)
    if kind == "random":
        gaps = rng.exponential(5 * HOUR, 1000)
        return START + np.cumsum(gaps)[np.cumsum(gaps) < end]
    times = START + np.arange(0, end, 20 * MINUTE)
    return times[(times < START + 20 * DAY) | (times > START + 33 * DAY)] if kind == "outage" else times[::18]


def observed(updates, downloads, gap=10 * MINUTE):
    """Return what visits every `gap` see of a replica with these downloads while the record runs, observed."""
    history = MadeHistory(updates.tolist(), {"mirror": pulled(history_of(updates), "source", downloads.tolist())})
    times = np.arange(START + DAY, START + RECORDED * DAY, gap)
    return rn.observe(history.visited((t, node) for t in times.tolist() for node in ("source", "mirror")))


def history_of(updates):
    return MadeHistory(updates.tolist(), {})


@pytest.mark.parametrize(("of_source", "of_replica", "target"), [
    ("daily", "early", "freshness >= 0.95"), ("daily", "six hours", "freshness >= 0.95"),
    ("daily", "random", "lag <= 25min"), ("random", "six hours", "freshness >= 0.9"),
    ("random", "random", "staleness_age <= 10min"), ("random", "six hours", "missing_updates <= 0.2"),
])  # fmt: skip
def test_what_is_proposed_meets_the_target_in_the_time_after_the_record(of_source, of_replica, target):
    rng = np.random.default_rng(len(of_source + of_replica + target))
    updates, downloads = releases(of_source, rng), pulls(of_replica, rng)
    observation = observed(updates, downloads)
    proposals = rn.propose(observation, target)
    assert proposals.missed == ("mirror",)
    (proposal,) = proposals.found
    goal = proposals.target
    begin, end = START + (RECORDED + 1) * DAY, START + (RECORDED + AFTERWARDS) * DAY
    schedule = proposal.schedule
    assert schedule is not None
    assert goal.margin(proposal.expected.value) >= 0
    phases = [0.0] if schedule.anchor is not None else np.arange(8) / 8 * schedule.interval
    values = []
    for phase in phases:
        history = history_of(updates)
        history.copies["mirror"] = pulled(history, "source", schedule.instants(START, end, phase).tolist())
        truth = history.truth(begin, end)
        truth["mirror", "lag"] = truth["mirror", "staleness_age"] / (1 - truth["mirror", "freshness"])
        values.append(truth["mirror", goal.metric])
    # Visits see updates late by up to their gap, which counts as staleness; what is proposed is on the safe side.
    assert goal.margin(float(np.mean(values))) > -0.1 * goal.bound
    assert len(schedule.cron.split()) == 5


def test_a_source_that_follows_a_clock_is_pulled_as_seldom_as_it_changes():
    rng = np.random.default_rng(2)
    (proposal,) = rn.propose(observed(releases("daily", rng), pulls("early", rng)), 0.95).found
    assert proposal.schedule.interval == DAY
    assert proposal.requests == "1 a day"
    minute, hour = map(int, proposal.schedule.cron.split()[:2])
    assert 13 * 60 + 20 < 60 * hour + minute < 15 * 60
    assert "(so far daily, at 12:5" in proposal.change


def test_a_replica_that_was_down_is_to_be_mended_and_not_to_pull_otherwise():
    rng = np.random.default_rng(3)
    (proposal,) = rn.propose(observed(releases("daily", rng), pulls("outage", rng)), 0.95).found
    assert proposal.change.startswith("mend what stops it")
    assert proposal.schedule is None
    assert proposal.meets


def test_pulls_at_any_times_are_emulated_with_the_recorded_updates_and_agree():
    rng = np.random.default_rng(4)
    observation = observed(releases("random", rng), pulls("six hours", rng))
    (proposal,) = rn.propose(observation, "freshness >= 0.93").found
    assert proposal.schedule.anchor is None
    goal, replica = read_target("freshness >= 0.93"), replica_record(observation, "mirror")
    row = emulate_schedule(replica, proposal.schedule, goal, proposal.expected.value)
    assert row.verdict == "agree"
    assert row.estimate.value == proposal.emulated.value
    assert abs(row.estimate.value - proposal.expected.value) < 4 * proposal.expected.error + 0.005


def test_clients_ask_several_where_that_suffices_and_nothing_is_proposed_where_nothing_is_missed():
    rng = np.random.default_rng(5)
    updates = releases("random", rng)
    history = history_of(updates)
    for name in "abc":
        history.copies[name] = pulled(history, "source", pulls("random", rng).tolist())
    times = np.arange(START + DAY, START + RECORDED * DAY, 20 * MINUTE)
    observation = rn.observe(history.visited((t, node) for t in times.tolist() for node in ("source", *"abc")))
    freshness = {row["group"]: row["measured"] for row in observation.rows if row["metric"] == "freshness"}
    between = (freshness["a"] + freshness["clients who ask 2"]) / 2
    *_, last = rn.propose(observation, between, check=False).found
    assert (last.group, last.requests) == ("clients", "2 a query")
    assert last.expected.value > between
    nothing = rn.propose(observation, 0.01)
    assert nothing.missed == ()
    assert nothing.found == ()
    assert nothing.table.empty
    far = rn.propose(observation, "staleness_age <= 0.01s", check=False).found[0]
    assert not far.meets
    assert far.change.startswith("nothing tried suffices")


def test_times_that_are_no_dates_have_no_lines_of_cron():
    rng = np.random.default_rng(6)
    rows = [(t, "source", t // 10) for t in range(2000)]
    rows += [(t, "mirror", (t - t % 9) // 10) for t in range(2000)]
    observation = rn.observe(pd.DataFrame(rows, columns=["time", "node", "version"]).sample(frac=1, random_state=rng))
    (row,) = rn.propose(observation, "missing_updates <= 0.3", check=False).rows
    assert row["cron"] == ""
    assert "per unit of time" in row["requests"]
    assert row["interval"] in (1.0, 2.0, 5.0, 10.0)


@pytest.mark.parametrize(("schedule", "words", "cron", "timer"), [
    (PullTimes(DAY, START + 14 * HOUR + 5 * MINUTE), "daily, at 14:05 UTC", "5 14 * * *",
     "OnCalendar=*-*-* 14:05:00 UTC"),
    (PullTimes(6 * HOUR, 5 * MINUTE + 20), "every 6 h, at 00:05, 06:05, 12:05 and 18:05 UTC", "5 0,6,12,18 * * *",
     "OnCalendar=*-*-* 00,06,12,18:05:00 UTC"),
    (PullTimes(HOUR, -10 * MINUTE), "every 1 h, one of them at 00:50 UTC", "50 * * * *",
     "OnCalendar=*-*-* *:50:00 UTC"),
    (PullTimes(20 * MINUTE), "every 20 min", "*/20 * * * *", "OnCalendar=*-*-* *:00,20,40:00 UTC"),
    (PullTimes(MINUTE, 30.0), "every 1 min, one of them at 00:00 UTC", "* * * * *", "OnCalendar=*-*-* *:"),
    (PullTimes(3 * MINUTE, 90.0), "every 3 min, one of them at 00:02 UTC", "2-59/3 * * * *", "OnCalendar=*-*-* *:02"),
    (PullTimes(5.0), "every 5 s", "", "OnCalendar=*-*-* *:*:0/5"), (PullTimes(1000.0), "every 17 min", "", ""),
])  # fmt: skip
def test_schedules_are_said_in_words_and_in_lines_to_copy(schedule, words, cron, timer):
    assert (schedule.words(), schedule.cron) == (words, cron)
    assert schedule.timer.startswith(timer)
    assert bool(schedule.timer) == bool(timer)


@pytest.mark.parametrize(
    "target", ["freshness >= 2", "older(5) <= 0.1", "mirror: freshness >= 0.5", "freshness <= 0.9", "lag <= fast", None]
)
def test_targets_that_a_record_cannot_tell_are_refused(target):
    observation = observed(releases("daily", np.random.default_rng(2)), pulls("early", np.random.default_rng(2)))
    with pytest.raises(rn.InputError, match=r"target|lag|freshness"):
        rn.propose(observation, target)


def test_a_replica_that_is_never_stale_has_no_lag_and_one_without_a_source_no_freshness():
    rows = [(t, node, t // 10) for t in range(600) for node in ("source", "mirror")]
    fresh = rn.observe(pd.DataFrame(rows, columns=["time", "node", "version"]))
    assert rn.propose(fresh, "lag <= 5").missed == ()
    ages = rn.observe(pd.DataFrame([(t, "mirror", t - 5) for t in range(60)], columns=["time", "node", "left"]))
    with pytest.raises(rn.InputError, match="nobody recorded the source, so freshness is unknown"):
        rn.propose(ages, 0.9)

"""Why replicas were stale: sentences for fleets whose replicas are stale for a known reason."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from made_fleets import made_fleet
from made_histories import MadeHistory, pulled

from replnet.histories.observing import LATENCY, observe
from replnet.watch import Visit, VisitLog

DAY, HOUR, MINUTE = 86_400.0, 3600.0, 60.0
START = 1.75e9 // DAY * DAY
DAYS = 40
EVENTS = np.random.default_rng(8)
DAILY = np.arange(START - 5 * DAY + 14 * HOUR, START + DAYS * DAY, DAY)
AT_RANDOM = START - 5 * DAY + np.cumsum(EVENTS.exponential(4 * HOUR, 260))
IN_BURSTS = START - 5 * DAY + np.cumsum(np.tile([*[MINUTE] * 9, 12 * HOUR], 88))


def every(length, first=0.0, until=DAYS * DAY):
    return np.arange(START - 5 * DAY + first, START + until, length)


def seen(updates, pulls, gap=15 * MINUTE, delay=0.0):
    """The visits, every `gap`, of a source with these updates and of replicas: name, upstream and pulls of each."""
    history = MadeHistory([t for t in updates.tolist() if t < START + DAYS * DAY], {})
    for name, (upstream, instants) in pulls.items():
        times, versions = pulled(history, upstream, instants.tolist())
        history.copies[name] = ([START - 9 * DAY, *(t + delay for t in times[1:])], versions)
    nodes = ["source", *pulls]
    rounds = np.arange(START, START + DAYS * DAY, gap)
    return history.visited((t + i, node) for t in rounds.tolist() for i, node in enumerate(nodes))


CUT = np.append(every(20 * MINUTE, 0, 10 * DAY), every(20 * MINUTE, 18 * DAY))  # three days without a pull
SELDOM = START - 5 * DAY + np.cumsum(EVENTS.exponential(9 * HOUR, 120))
FLEETS = {
    "phase": (
        seen(DAILY, {"m": ("source", every(DAY, 13 * HOUR + 35 * MINUTE))}, 5 * MINUTE),
        "pulls 25 min before the release",
        "Its pull runs 25 min before the release that comes every 24 h; 1 h after it would be fresh 96 %.",
    ),
    "drift": (
        seen(DAILY, {"m": ("source", every(DAY + 2 * MINUTE, 16 * HOUR))}, 5 * MINUTE),
        "pulls 2.8 h after the release",
        "The two drift, so that the pull passes the release in 634 days.",
    ),
    "dead": (
        seen(AT_RANDOM, {"m": ("source", every(HOUR, 0, 10 * DAY))}),
        "dead since 2025-06-24",
        "Nothing has come since 2025-06-24 22:52, for 30 days.",
    ),
    "outage": (
        seen(AT_RANDOM, {"m": ("source", CUT)}),
        "no pull for 2.5 days from 2025-06-25",
        "No pull came through from 2025-06-25 12:07 to 2025-06-27 23:52, where it usually pulls about every",
    ),
    "upstream": (
        seen(AT_RANDOM, {"up": ("source", SELDOM), "m": ("up", every(HOUR))}),
        "pulls from up",
        "It pulls from up and not from the source: for 96 % of its stale time up was stale as well.",
    ),
    "delay": (
        seen(AT_RANDOM, {"m": ("source", every(10 * MINUTE))}, 5 * MINUTE, delay=3 * HOUR),
        "updates take 3 h to arrive",
        "No update arrives in less than 3 h, however often it pulls.",
    ),
    "interval": (
        seen(AT_RANDOM, {"m": ("source", every(8 * HOUR))}),
        "pulls about every 7.6 h",
        "An update waits 3.8 h for its pull, as if it pulled every 7.6 h; the source changes every 4.4 h.",
    ),
    "bursts": (
        seen(IN_BURSTS, {"m": ("source", every(3.1 * HOUR))}, 3 * MINUTE),
        "pulls about every 3",
        "The source changes in bursts, which leaves it 62 % less stale than updates at random would.",
    ),
    "visits": (
        seen(AT_RANDOM, {"m": ("source", every(20 * MINUTE))}, 2 * HOUR),
        "visited too seldom to tell",
        "Visited every 2 h, too seldom to tell: freshness lies between 0.64 and 1; visit every 30 min.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", FLEETS)
def test_a_reason_is_told_in_words(kind):
    visits, brief, words = FLEETS[kind]
    reasons = observe(visits).reasons["m"]
    assert brief in reasons[0].brief
    assert words in " ".join(reason.words for reason in reasons)


def test_a_name_with_two_servers_goes_back():
    """One is always fresh, and the other has stopped: they are asked in turn."""
    rows = [(t, "source", t // 20) for t in range(400)] + [(t, "m", t // 20 if t % 2 else 3) for t in range(60, 400)]
    reason = observe(pd.DataFrame(sorted(rows), columns=["time", "node", "version"])).reasons["m"][0]
    assert (reason.kind, reason.brief) == ("back", "goes back to older versions")
    assert reason.words.startswith("159 visits found an older version than one before: several servers may answer")


def test_a_record_of_changes_knows_no_delays():
    """Of hourly pulls at half past, and daily releases: the pull itself is half an hour late."""
    rows = [(t, "source") for t in range(0, 60 * 24, 24)] + [(t + 0.5, "m") for t in range(60 * 24)]
    (reason,) = observe(pd.DataFrame(sorted(rows), columns=["time", "node"])).reasons["m"]
    assert (reason.kind, reason.brief) == ("interval", "pulls about every 1")


def test_shares_add_up_and_dates_are_those_of_the_outage():
    reasons = observe(FLEETS["outage"][0]).reasons["m"]
    assert sum(reason.share for reason in reasons if reason.kind != "bursts") == pytest.approx(1)
    first = reasons[0]
    assert first.since == pytest.approx(START + 10 * DAY, abs=13 * HOUR)
    assert first.until == pytest.approx(START + 13 * DAY, abs=HOUR + 15 * MINUTE)


def test_visits_that_failed_are_counted_in_all_outages(tmp_path):
    twice = CUT[(CUT < START + 25 * DAY) | (CUT > START + 28 * DAY)]
    visits = seen(AT_RANDOM, {"m": ("source", twice)})
    visits = visits[visits["time"] % (4 * HOUR) < MINUTE]
    away = (visits["node"] == "m") & (
        visits["time"].between(START + 11 * DAY, START + 12 * DAY)
        | visits["time"].between(START + 26 * DAY, START + 26.5 * DAY)
    )
    with VisitLog(tmp_path / "seen.sqlite") as log:
        for (time, node, version), failed in zip(visits.itertuples(index=False), away, strict=True):
            fault = "no connection" if failed else None
            log.add(Visit(time, node, None if failed else str(version), None, None, 0.1, fault))
    result = observe(tmp_path / "seen.sqlite")
    assert result.notes[-1] == (
        "m: 9 visits of 240 failed, at the longest all from 2025-06-25 20:00 to 2025-06-27 00:00: no connection"
    )
    assert "9 visits failed in that time." in " ".join(reason.words for reason in result.reasons["m"])


def test_a_replica_that_never_gets_anything_is_dead():
    rows = [(t, node, t // 10 if node == "source" else 0) for t in range(100) for node in ("source", "m")]
    (reason,) = observe(pd.DataFrame(rows, columns=["time", "node", "version"])).reasons["m"]
    assert (reason.kind, reason.words) == ("dead", "Nothing has come at all, of 9 updates.")


def test_latency_is_from_the_first_sight_anywhere_to_the_last():
    """Updates are seen at 10, 20, ...; a has each 2 later, b 5 later, and both are visited every unit."""
    rows = [(t, "source", t // 10) for t in range(200)]
    rows += [(t + 0.5, name, (t - late) // 10) for t in range(200) for name, late in (("a", 2), ("b", 5))]
    result = observe(pd.DataFrame(sorted(rows), columns=["time", "node", "version"]))
    latency = {
        row["group"]: (row["measured"], row["least"], row["most"]) for row in result.rows if row["metric"] == LATENCY
    }
    assert latency == {"a": (2.5, 1.5, 3.5), "b": (5.5, 4.5, 6.5), "all replicas": (5.5, 4.5, 6.5)}
    assert [result.count_within(limit) for limit in (2, 3, 6)] == [0, 1, 2]


def test_the_worst_comes_first_in_made_fleets():
    """Of 40 that are made: bounds hold the truth, and the reason that was put in is named first."""
    right = Counter[bool]()
    for number in range(40):
        fleet = made_fleet(number, 0.04)
        result = observe(fleet.visits)
        truth = fleet.history.truth(result.start, result.end)
        fresh = [result.rows_of(name)["freshness"]["measured"] for name in result.replicas]
        assert fresh == sorted(fresh)
        for row in result.rows:
            most = math.inf if row["most"] is None else row["most"]
            if row["metric"] != LATENCY:
                assert row["least"] - 1e-9 <= truth[row["group"], row["metric"]] <= most + 1e-9, (number, row)
        right.update(result.reasons[name][0].kind == kind for name, kind in fleet.reasons.items())
    assert right[True] >= 0.9 * right.total()


@pytest.mark.parametrize("columns", [["time", "node", "version"], ["time", "node"]])
def test_a_replica_that_is_not_seen_any_more_cuts_nothing_off(columns):
    step = 1 if "version" in columns else 10
    rows = [(t, "source", t // 10) for t in range(0, 400, step)] + [(t, "m", t // 10) for t in range(400)]
    rows += [(t, "lost", t // 10) for t in range(100)]
    result = observe(pd.DataFrame(sorted(rows), columns=["time", "node", "version"])[columns])
    assert result.replicas[0] == "lost"
    assert result.visits["lost"] == sum(node == "lost" and t >= result.start for t, node, _ in rows)
    assert result.end == max(t for t, node, _ in rows if node == "source")
    assert result.notes == ("not seen any more before the end, and taken to have kept what it had: lost",)
    reason = result.reasons["lost"][0]
    assert (reason.kind, reason.brief, reason.since) == ("dead", "not seen since 99", 99)
    assert result.rows_of("m")["freshness"]["measured"] > 0.9


@pytest.mark.parametrize(("in_vain", "kinds"), [(True, {"outage"}), (False, set())])
def test_where_nobody_visited_there_is_no_outage_and_where_visits_failed_there_is(in_vain, kinds):
    """A replica that pulls all the time, but for 40 units in which it does not answer, or is not visited."""
    rows = []
    for t in np.arange(0.0, 200, 0.1).round(1):
        rows.append((t, "source", int(t), None))
        if not 80 <= t < 120:
            rows.append((t, "mirror", int(t - t % 0.2), None))
        elif in_vain:
            rows.append((t, "mirror", None, "no connection"))
    result = observe(pd.DataFrame(rows, columns=["time", "node", "version", "fault"]))
    assert {reason.kind for reason in result.reasons["mirror"]} & {"outage", "dead"} == kinds

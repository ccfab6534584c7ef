"""A source and its replicas from visits, beside what the log of the same path says."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from made_histories import VERSIONS, made_history

import replnet as rn
from replnet.histories.observing import observe
from replnet.histories.visits import visits_of

HORIZON = 400.0
METRICS = ("freshness", "staleness_age", "missing_updates")


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """One long path of a cluster: the updates, and by replica when a copy came and when it had left the source."""
    file = tmp_path_factory.mktemp("log") / "events.parquet"
    rn.emulate(rn.load("cooperative", ["replicas=3"]), engine="step", horizon=HORIZON, replications=1, trace=file)
    events = pd.read_parquet(file)
    updates = np.sort(events[events["event"] == "update"]["at"].to_numpy())
    copies = events[events["left"].notna() & events["event"].isin(["start", "reply"])]
    held = {}
    for name in sorted(name for name in copies["node"].astype(str).unique() if name.startswith("replica")):
        mine = copies[copies["node"].astype(str) == name].sort_values("at", kind="stable")
        held[name] = (mine["at"].to_numpy(), np.maximum.accumulate(mine["left"].to_numpy()))
    return updates, held


def version(updates, held, node, t):
    """How many updates it had at t: one by one, with nothing of what is tested."""
    if node == "source":
        return sum(u <= t for u in updates)
    times, left = held[node]
    copy = max((one for at, one in zip(times, left, strict=True) if at <= t), default=-np.inf)
    return sum(u <= copy for u in updates)


def truth(updates, held, node, start, end):
    """By metric, over a fine grid of instants between events."""
    times, _ = held[node]
    cuts = np.unique(np.concatenate([[start, end], updates, times]))
    cuts = cuts[(cuts >= start) & (cuts <= end)]
    sums = dict.fromkeys(METRICS, 0.0)
    for a, b in pairwise(cuts):
        has, there = (version(updates, held, one, (a + b) / 2) for one in (node, "source"))
        if has < there:
            sums["staleness_age"] += (b - a) * ((a + b) / 2 - updates[has])
            sums["missing_updates"] += (b - a) * (there - has)
        else:
            sums["freshness"] += b - a
    return {name: one / (end - start) for name, one in sums.items()}


@pytest.fixture(scope="module")
def visited(log):
    """Visits at instants that have nothing to do with anything, to some node or other."""
    rng = np.random.default_rng(3)
    nodes = ["source", *log[1]]
    times = np.sort(rng.uniform(1, HORIZON, 4000))
    rows = [(t, node, version(*log, node, t)) for t, node in zip(times, rng.choice(nodes, times.size), strict=True)]
    return pd.DataFrame(rows, columns=["time", "node", "version"])


def test_the_truth_lies_between(log, visited):
    found = observe(visited)
    assert found.notes == ()
    rows = found.table.set_index(["group", "metric"])
    for node in log[1]:
        for metric, value in truth(*log, node, found.start, found.end).items():
            row = rows.loc[node, metric]
            assert row["least"] <= value <= row["most"]
            assert row["least"] <= row["measured"] <= row["most"]


def test_a_record_of_changes_is_exact(log):
    """Of copies that are brought from the source itself, as a change without a version takes what the source has."""
    updates, _ = log
    rng = np.random.default_rng(5)
    pulls = {name: np.sort(rng.uniform(0, HORIZON, n)) for name, n in (("a", 900), ("b", 300))}
    rows = [(t, "source") for t in updates] + [(t, name) for name, times in pulls.items() for t in times]
    found = observe(pd.DataFrame(rows, columns=["time", "node"]).sample(frac=1, random_state=1))
    held = {name: (times, times) for name, times in pulls.items()}
    for name in pulls:
        exact = truth(updates, held, name, found.start, found.end)
        rows = found.table[found.table["group"] == name].set_index("metric")
        for metric in METRICS:
            for column in ("measured", "least", "most"):
                assert rows.loc[metric, column] == pytest.approx(exact[metric], rel=1e-9)
        audited = rn.audit(updates, pulls[name], found.start, found.end).measured
        assert rows.loc["lag", "measured"] == pytest.approx(audited["lag"].value)
        assert rows.loc["freshness", "predicted"] == pytest.approx(exact["freshness"], abs=0.06)


def test_clients_who_ask_several(log):
    """Of two replicas that are never fresh together, a client who asks both always gets something fresh."""
    rows = [(0.0, "source", 0), (0.0, "a", 0), (0.0, "b", 0)]
    for t in range(1, 201):
        rows += [(float(t), "source", t), (float(t), "ab"[t % 2], t)]
    rows += [(201.0, one, 200) for one in ("source", "a", "b")]
    table = observe(pd.DataFrame(rows, columns=["time", "node", "version"])).table.set_index(["group", "metric"])
    assert table.loc[("a", "freshness"), "measured"] == pytest.approx(101 / 201)
    assert table.loc[("clients who ask 2", "freshness"), "measured"] == pytest.approx(1)
    assert table.loc[("clients who ask 2", "freshness"), "predicted"] == pytest.approx(
        1 - 100 / 201 * 99 / 201 * 1, abs=0.01
    )


@pytest.mark.parametrize("form", ["number", "text", "date"])
def test_versions_and_times_are_written_in_several_ways(visited, form, tmp_path):
    exact = observe(visited)
    other = visited.copy()
    if form == "text":
        other["version"] = [f"etag-{(7919 * int(v)) % 10007:x}" for v in other["version"]]
    elif form == "date":
        other["time"] = pd.to_datetime(1.7e9 + other["time"], unit="s", utc=True)
    other.rename(columns={"node": "server"}).to_csv(tmp_path / "seen.csv", index=False)
    found = observe(tmp_path / "seen.csv")
    assert found.dated == (form == "date")
    rows = [(a, b) for a, b in zip(found.found, exact.found, strict=True) if a.metric != "lag"]
    for a, b in rows:
        # Of versions that two nodes had at once, the visits do not always tell which was first.
        assert a.estimate.value == pytest.approx(b.estimate.value, rel=0.01 if form == "text" else 1e-4)


@pytest.mark.parametrize("kind", VERSIONS)
def test_bounds_hold_the_truth_of_every_history(kind):
    """Of 50 that are made, whoever is asked; where there is no upper bound, it is said why, and nothing is doubted."""
    unbounded, undated, replicas = set(), 0, 0
    for number in range(VERSIONS.index(kind), 200, len(VERSIONS)):
        made = made_history(number)
        found = observe(made.visits)
        assert all("are left out" in note for note in found.notes)
        truth = made.truth(found.start, found.end)
        for row in found.rows:
            least, most = row["least"], math.inf if row["most"] is None else row["most"]
            assert least - 1e-9 <= truth[row["group"], row["metric"]] <= most + 1e-9, (number, row)
            assert row["measured"] is None or least - 1e-9 <= row["measured"] <= most + 1e-9, (number, row)
            assert ("no upper bound" in row["note"]) == (most == math.inf), (number, row)
            unbounded |= {row["metric"]} if most == math.inf else set()
            replicas += row["metric"] == "staleness_age"
            undated += row["metric"] == "staleness_age" and most == math.inf
    countless = {"missing_updates"} if kind in ("texts", "decimals") else set()
    assert unbounded - {"staleness_age"} == {"lag"} | countless
    # What replicas had at first is left out, unless that is half of the record.
    assert 20 * undated < replicas


def test_bounds_close_on_the_truth_as_visits_come_more_often():
    rng, width = np.random.default_rng(1), []
    updates, pulls = np.arange(1.0, 200, 3), np.arange(0.5, 200, 2)
    for visits in (100, 1000, 10_000):
        rows = []
        for t, node in zip(np.sort(rng.uniform(1, 200, visits)), rng.choice(["source", "m"], visits), strict=True):
            at = t if node == "source" else pulls[pulls <= t][-1]
            rows.append((t, node, f"v{np.count_nonzero(updates <= at)}"))
        row = observe(pd.DataFrame(rows, columns=["time", "node", "version"])).rows[0]
        width.append(row["most"] - row["least"])
    assert width[0] > 2 * width[1] > 10 * width[2]


def behind(first):
    """A mirror that was first seen with OLD, and from `first` on with what the source has."""
    rows = [(0, "source", "a"), (0, "m", "OLD")]
    for i in range(40):
        rows += [(10 * i + 10, "source", f"v{i}"), (10 * i + 19, "source", f"v{i}")]
        rows += [(10 * i + 10.5, "m", f"v{i}" if i >= first else "OLD")]
    return observe(pd.DataFrame(rows, columns=["time", "node", "version"]))


def test_a_mirror_that_was_behind_at_its_first_visit():
    """Nobody knows how long OLD was out of date: that is left out, and the rest is known."""
    found = behind(first=0)
    assert found.notes == (
        "the first 10.5 are left out, until every replica had a version that the source was seen with",
    )
    table = found.table.set_index("metric")
    # It certainly had what the source had for 8.5 of 10 units; the source may have changed a unit before it was seen.
    assert table.loc["freshness", "least"] == pytest.approx(8.5 / 10)
    assert table.loc["staleness_age", "most"] == pytest.approx(1.5**2 / 2 / 10)


def test_a_mirror_that_was_behind_for_half_of_the_record():
    table = behind(first=30).table.set_index("metric")
    assert np.isnan(table.loc["staleness_age", "most"])
    assert "nobody saw when the source replaced the version that it had at first" in table.loc["staleness_age", "note"]


@pytest.mark.parametrize("form", ["number", "text"])
@pytest.mark.parametrize("skew", [-3.0, 3.0])
def test_clocks_that_differ_are_noted(visited, form, skew):
    """Of a replica that is visited by an early clock, or by one as late that the others are early."""
    other = visited.copy()
    other.loc[other["node"] != "source" if skew < 0 else other["node"] == "source", "time"] += skew
    if form == "text":
        other["version"] = [f"etag-{(7919 * int(v)) % 10007:x}" for v in other["version"]]
    (note,) = observe(other).notes
    assert "came to a replica while the source was still seen without: clocks differ" in note


def test_nodes_that_go_back_are_noted(visited):
    other = visited.copy()
    other.loc[other.index[other["node"] == "replica 1"][400], "version"] = 3
    (note,) = observe(other).notes
    assert note.startswith("1 visit found an older version than the one before")


def test_names_that_look_like_numbers_are_in_the_order_of_the_source():
    """After 1.9 the source has 1.10, which no number says."""
    rows = [(0.0, "source", "1.8"), (0.5, "m", "1.8")]
    for t, version in enumerate(["1.9", "1.10", "1.11"], 1):
        rows += [(10.0 * t, "source", version), (10.0 * t + 2, "m", version), (10.0 * t + 9, "source", version)]
    rows += [(40.0, "m", "1.11")]
    found = observe(pd.DataFrame(rows, columns=["time", "node", "version"]))
    assert found.notes == ()
    assert found.rows[0]["measured"] == pytest.approx(1 - 3 * 2 / 38.5)


def test_numbers_that_floats_do_not_tell_apart_are_other_versions():
    rows = [(t, node, str(2**60 + int(t / 10))) for t in range(60) for node in ("source", "m")]
    assert observe(pd.DataFrame(rows, columns=["time", "node", "version"])).changes == 5


def test_versions_that_the_source_was_never_seen_with_lie_between_others():
    """The source has A, C, F; B and D come after A at a replica, E at one that was seen with nothing before."""
    times = np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 8])
    nodes = np.array(["source", "m", "m", "source", "n", "n", "m", "source", "m"])
    order = visits_of(times, nodes, list("AABCEEDFF"), "source").order
    codes = {text: code for code, text in enumerate("ABCEDF")}
    low, high = ({text: values[code] for text, code in codes.items()} for values in (order.low, order.high))
    assert low == {"A": 0, "B": 0.5, "C": 1, "D": 0.5, "E": -0.5, "F": 2}
    assert high == {"A": 0, "B": 0.5, "C": 1, "D": 1.5, "E": 1.5, "F": 2}
    assert sorted("ABCEDF", key=lambda text: order.ranks[codes[text]]) == list("ABCEDF")


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (lambda t: t.drop(columns="node"), "record: has no column node"),
        (lambda t: t.drop(columns="time"), "record: has no column time"),
        (lambda t: t[t["node"] == "source"], "record: has no replica"),
        (lambda t: t.replace("source", "master"), "source: 'source' is no node of record"),
        (lambda t: t.assign(version=0), "the source did not change"),
        (lambda t: t.assign(version=[None, *t["version"][1:]]), "row 1 lacks version"),
        (lambda t: t.assign(time=["soon", *t["time"][1:]]), "row 1: 'soon' is not a time"),
        (lambda t: pd.concat([t[t["node"] == "source"], t[t["node"] != "source"].assign(time=t["time"] + 9e3)]),
         "never seen at the same time"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(visited, change, wrong):
    with pytest.raises(ValueError, match=wrong):
        observe(change(visited))

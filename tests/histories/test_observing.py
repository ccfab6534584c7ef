"""A source and its replicas from visits, beside what the log of the same path says."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import replnet as rn
from replnet.histories.observing import observe

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


def test_clocks_that_differ_are_noted(visited):
    early = visited.copy()
    early.loc[early["node"] == "replica 1", "time"] -= 3
    (note,) = observe(early).notes
    assert note.endswith("were at a replica while the source was still seen without: clocks differ")


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

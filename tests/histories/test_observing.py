"""A source and its replicas from visits, beside what histories that are made say of the same time."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from made_histories import VERSIONS, MadeHistory, made_history, pulled

import replnet as rn
from replnet.histories.observing import LATENCY, observe
from replnet.histories.visits import visits_of

HORIZON = 200.0


def seen(rows):
    return observe(pd.DataFrame(rows, columns=["time", "node", "version"]))


@pytest.fixture(scope="module")
def cluster():
    """Three replicas, pulling at rates 4, 1 and 0.4 from a source that changes at rate 1."""
    rng = np.random.default_rng(5)
    history = MadeHistory(np.sort(rng.uniform(0, HORIZON, int(HORIZON))).tolist(), {})
    pulls = {name: np.sort(rng.uniform(0, HORIZON, n)) for name, n in (("a", 800), ("b", 200), ("c", 80))}
    for name, times in pulls.items():
        history.copies[name] = pulled(history, "source", times)
    return history, pulls


@pytest.fixture(scope="module")
def visited(cluster):
    """Visits at instants that have nothing to do with anything, to some node or other."""
    rng = np.random.default_rng(3)
    times = np.sort(rng.uniform(1, HORIZON, 2000))
    return cluster[0].visited(zip(times, rng.choice(["source", "a", "b", "c"], times.size), strict=True))


def test_a_record_of_changes_is_exact(cluster):
    history, pulls = cluster
    rows = [(t, "source") for t in history.updates] + [(t, name) for name, times in pulls.items() for t in times]
    result = observe(pd.DataFrame(rows, columns=["time", "node"]).sample(frac=1, random_state=1))
    exact = history.truth(result.start, result.end)
    predicted = {(row["group"], row["metric"]): row["predicted"] for row in result.rows}
    for row in result.rows:
        if row["metric"] == LATENCY:
            continue
        value = exact.pop((row["group"], row["metric"]))
        assert [row[column] for column in ("measured", "least", "most")] == pytest.approx(
            [value] * 3, rel=1e-9, abs=1e-9
        )
    assert not exact
    stale = {name: 1 - history.truth(result.start, result.end)[name, "freshness"] for name in pulls}
    for name, times in pulls.items():
        audited = rn.audit(history.updates, times, result.start, result.end).measured
        assert audited["staleness"].value == pytest.approx(stale[name])
        assert predicted[name, "freshness"] == pytest.approx(1 - stale[name], abs=0.06)
    for ask in (2, 3):
        together = np.mean([math.prod(chosen) for chosen in combinations(stale.values(), ask)])
        assert predicted[f"clients who ask {ask}", "freshness"] == pytest.approx(1 - together)


def test_a_record_may_be_a_file_of_dates_and_servers(visited, tmp_path):
    exact, dates = observe(visited), pd.to_datetime(1.7e9 + visited["time"], unit="s", utc=True)
    visited.assign(time=dates).rename(columns={"node": "server"}).to_csv(tmp_path / "seen.csv", index=False)
    result = observe(tmp_path / "seen.csv")
    assert result.dated
    for a, b in zip(result.found, exact.found, strict=True):
        assert a.estimate.value == pytest.approx(b.estimate.value, rel=1e-3)


@pytest.mark.parametrize("kind", VERSIONS)
def test_bounds_hold_the_truth_of_every_history(kind):
    """Of 30 that are made, whoever is asked; where there is no upper bound, it is said why, and nothing is doubted."""
    unbounded, undated, replicas = set(), 0, 0
    for number in range(VERSIONS.index(kind), 120, len(VERSIONS)):
        history, visits = made_history(number)
        result = observe(visits)
        assert all("are left out" in note for note in result.notes)
        truth = history.truth(result.start, result.end)
        for row in result.rows:
            if row["metric"] == LATENCY:
                continue
            least, most = row["least"] - 1e-9, math.inf if row["most"] is None else row["most"] + 1e-9
            assert least <= truth[row["group"], row["metric"]] <= most, (number, row)
            assert row["measured"] is None or least <= row["measured"] <= most, (number, row)
            assert ("no upper bound" in row["note"]) == (most == math.inf), (number, row)
            unbounded |= {row["metric"]} if most == math.inf else set()
            replicas += row["metric"] == "staleness_age"
            undated += row["metric"] == "staleness_age" and most == math.inf
    countless = {"missing_updates"} if kind in ("texts", "decimals") else set()
    assert unbounded - {"staleness_age", "staleness_quantile(0.5)", "staleness_quantile(0.95)"} == {"lag"} | countless
    # What replicas had at first is left out, unless that is half of the record.
    assert 20 * undated < replicas


def test_bounds_close_on_the_truth_as_visits_come_more_often():
    rng, width = np.random.default_rng(1), []
    history = MadeHistory(np.arange(1.0, 200, 3).tolist(), {})
    history.copies["m"] = pulled(history, "source", np.arange(0.5, 200, 2))
    for visits in (100, 1000, 10_000):
        times, nodes = np.sort(rng.uniform(1, 200, visits)), rng.choice(["source", "m"], visits)
        names = [f"v{version}" for version in range(100)]
        row = observe(history.visited(zip(times, nodes, strict=True), names)).rows[0]
        width.append(row["most"] - row["least"])
    assert width[0] > 2 * width[1] > 10 * width[2]


def behind(first):
    """The table of a mirror that was first seen with OLD, and from `first` on with what the source has; the notes."""
    rows = [(0, "source", "a"), (0, "m", "OLD")]
    for i in range(40):
        rows += [(10 * i + 10, "source", f"v{i}"), (10 * i + 19, "source", f"v{i}")]
        rows += [(10 * i + 10.5, "m", f"v{i}" if i >= first else "OLD")]
    result = seen(rows)
    return result.table.set_index("metric"), result.notes


def test_a_mirror_that_was_behind_at_its_first_visit():
    """Nobody knows how long OLD was out of date: that is left out, unless it is half of the record."""
    table, notes = behind(first=0)
    words = "the first 10.5 are left out, until every replica had a version that the source was seen with"
    assert notes == (words,)
    # It certainly had what the source had for 8.5 of 10 units; the source may have changed a unit before it was seen.
    assert table.loc["freshness", "least"] == pytest.approx(8.5 / 10)
    assert table.loc["staleness_age", "most"] == pytest.approx(1.5**2 / 2 / 10)
    table, notes = behind(first=30)
    assert notes == ()
    assert np.isnan(table.loc["staleness_age", "most"])
    assert "nobody saw when the source replaced the version that it had at first" in table.loc["staleness_age", "note"]


@pytest.mark.parametrize("form", ["number", "text"])
@pytest.mark.parametrize("skew", [-3.0, 3.0])
def test_clocks_that_differ_are_noted(visited, form, skew):
    """Of a replica that is visited by an early clock, or by one as late that the others are early."""
    other = visited.copy()
    other.loc[other["node"] != "source" if skew < 0 else other["node"] == "source", "time"] += skew
    if form == "text":
        other["version"] = [f"etag-{version}" for version in other["version"]]
    (note,) = observe(other).notes
    assert "came to a replica while the source was still seen without: clocks differ" in note


def test_nodes_that_go_back_are_noted(visited):
    other = visited.copy()
    other.loc[other.index[other["node"] == "a"][200], "version"] = 3
    assert observe(other).notes[-1].startswith("a: 1 visit found an older version than the one before")


def test_a_replica_that_was_behind_in_the_instant_of_the_first_visits():
    """Version 4 was out of date when it was first seen, as the source was seen with 5 in the same instant."""
    rows = [(0, "m", 4), (0, "source", 5), (5, "source", 6), (8, "source", 7), (30, "m", 7)]
    assert seen([*rows, (40, "m", 7), (40, "source", 7)]).rows[0]["measured"] == 10 / 40


def test_names_that_look_like_numbers_are_in_the_order_of_the_source():
    """After 1.9 the source has 1.10, which no number says."""
    rows = [(0.0, "source", "1.8"), (0.5, "m", "1.8")]
    for t, version in enumerate(["1.9", "1.10", "1.11"], 1):
        rows += [(10.0 * t, "source", version), (10.0 * t + 2, "m", version), (10.0 * t + 9, "source", version)]
    result = seen([*rows, (40.0, "m", "1.11")])
    assert result.notes == ()
    assert result.rows[0]["measured"] == pytest.approx(1 - 3 * 2 / 38.5)


def test_numbers_that_floats_do_not_tell_apart_are_other_versions():
    assert seen([(t, node, str(2**60 + int(t / 10))) for t in range(60) for node in ("source", "m")]).changes == 5


def test_versions_that_the_source_was_never_seen_with_lie_between_others():
    """The source has A, C, F; B and D come after A at a replica, E at one that was seen with nothing before."""
    nodes = np.array(["source", "m", "m", "source", "n", "n", "m", "source", "m"])
    order = visits_of(np.arange(9.0), nodes, list("AABCEEDFF"), "source").order
    codes = {text: code for code, text in enumerate("ABCEDF")}
    low, high = ({text: values[code] for text, code in codes.items()} for values in (order.low, order.high))
    assert low == {"A": 0, "B": 0.5, "C": 1, "D": 0.5, "E": -0.5, "F": 2}
    assert high == {"A": 0, "B": 0.5, "C": 1, "D": 1.5, "E": 1.5, "F": 2}
    assert sorted("ABCEDF", key=lambda text: order.ranks[codes[text]]) == list("ABCEDF")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="node"), "record: has no column node"),
        (lambda t: t[t["node"] == "source"], "record: has no replica"),
        (lambda t: t.replace("source", "master"), "source: 'source' is no node of record"),
        (lambda t: t.assign(version=0), "the source did not change"),
        (lambda t: t.assign(version=[None, *t["version"][1:]]), "row 1, column version is empty"),
        (lambda t: t.assign(time=["soon", *t["time"][1:]]), "row 1: 'soon' is not a time"),
        (lambda t: t.assign(time=t["time"] + 9e3 * (t["node"] != "source")), "never seen at the same time"),
    ],
)
def test_what_cannot_be_is_named(visited, change, message):
    with pytest.raises(ValueError, match=message):
        observe(change(visited))


def test_records_that_are_none_are_refused_and_nodes_may_be_numbers():
    for record in (3, None, [3]):
        for read in (observe, rn.change_rates):
            with pytest.raises(rn.InputError, match=r"record: .* is no record of visits \(a file, or a DataFrame\)"):
                read(record)
    rows = [(t, node, t // 10) for t in range(60) for node in (0, 1)]
    assert observe(pd.DataFrame(rows, columns=["time", "node", "version"]), 0).replicas == ["1"]

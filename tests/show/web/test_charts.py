"""Rows, networks and what goes wrong as charts and tables, and the pages of a sweep as plain data."""

from __future__ import annotations

import json

import numpy as np
import pytest
from command_line import SMALL

import replnet as rn
from replnet.lab.sweeps.finished import FAILURES
from replnet.network import document_of
from replnet.show.web import answers, network_chart, outage_bands, series
from replnet.show.web.answers import NetworkQuestion
from replnet.show.web.controls import controls
from replnet.show.web.field_curve import Variant, field_chart, left_out
from replnet.show.web.network_chart import NetworkChart
from replnet.show.web.node_spans import NodeSpans
from replnet.show.web.outage_bands import Band, describe_bands, planned_bands, planned_outages
from replnet.show.web.sweep_view import cell_view, directory_stamp, matching_rows, sweep_view
from replnet.store import durable


def named(options: dict, name: str) -> list[dict]:
    return [one for one in options["series"] if one.get("name") == name]


def test_groups_are_predicted_and_measured():
    rows = [row.data() for row in rn.emulate("cascade", horizon=2000.0).rows]
    drawn = series.by_group(rows)
    assert drawn["xAxis"]["data"] == ["level 1", "level 2", "level 3", "level 4"]
    assert named(drawn, "predicted")[0]["data"] == pytest.approx([0.5, 0.25, 0.125, 0.0625])
    dots, whiskers = named(drawn, "measured")
    assert dots["data"][0] == [0, rows[0]["measured"]]
    assert whiskers["data"][0] == [0, rows[0]["ci_low"], rows[0]["ci_high"]]
    json.dumps(drawn, allow_nan=False)


def test_time_has_a_line_per_level_and_one_for_now():
    drawn = series.over_time([0.5, 1.5], {"level 1": [1.0, float("nan")]}, {"level 1": 0.5}, 1.0)
    assert [line["data"] for line in named(drawn, "level 1")] == [[(0.5, 1.0), (1.5, None)], [[0, 0.5], [1.5, 0.5]]]
    assert drawn["series"][-1]["data"] == [[1.0, 0.0], [1.0, 1.0]]  # now
    drawn = series.pace([1.0, 2.0], [10.0, float("nan")], [0.1, 0.2])
    messages, late = named(drawn, "messages per unit of time") + named(drawn, "mean lateness of wakes")
    assert [line["data"] for line in (messages, late)] == [[(1.0, 10.0), (2.0, None)], [(1.0, 0.1), (2.0, 0.2)]]
    assert (messages.get("yAxisIndex", 0), late["yAxisIndex"], len(drawn["yAxis"])) == (0, 1, 2)
    drawn = series.queues([1.0, 2.0], {"cluster": ([1.0, 2.5], [3.0, 9.0])})
    mean, longest = named(drawn, "cluster, mean") + named(drawn, "cluster, longest")
    assert [line["data"] for line in (mean, longest)] == [[(1.0, 1.0), (2.0, 2.5)], [(1.0, 3.0), (2.0, 9.0)]]
    assert mean["lineStyle"]["type"] != longest["lineStyle"]["type"]


def test_intervals_are_bands_beside_their_curves():
    drawn = series.over_time([1.0, 2.0], {"a": [0.5, 0.25]}, {}, None, half_widths={"a": [float("nan"), 0.125]})
    curve, low, height = named(drawn, "a")
    assert (low["data"], height["data"]) == ([[1.0, None], [2.0, 0.125]], [[1.0, None], [2.0, 0.25]])
    assert low["stack"] == height["stack"]
    assert "areaStyle" in height
    assert "stack" not in curve
    assert drawn["yAxis"]["scale"]


def test_a_metric_over_a_field_has_its_point_on_the_curve():
    (field,) = [one for one in controls(document_of("cascade"), {}) if one.key == "downloads.rate"]
    rows = [row.data() for row in rn.emulate("cascade", horizon=2000.0).rows]
    questions = [NetworkQuestion("cascade", overrides, 0.9) for overrides in ((), ("updates.rate=1",))]
    (now, kept) = answers.curve_rows(questions, field.key, [1, 2, "none"])["answer"]
    assert [(value, groups.get("level 2")) for value, groups in now] == [
        (1, pytest.approx(1 / 9)), (2, pytest.approx(1 / 4)), ("none", None)
    ]  # fmt: skip
    assert kept[0][1]["level 1"] == pytest.approx(1 / 2)
    drawn = field_chart(field, "freshness", Variant(rows, now[:2], field.number), Variant(rows, kept[:2], 1.0))
    curve, point, dots, whisker = named(drawn, "level 2")
    assert curve["data"] == [[1, pytest.approx(1 / 9)], [2, pytest.approx(1 / 4)]]
    assert point["data"] == [[2.0, pytest.approx(1 / 4)]]
    assert (dots["data"], whisker["data"]) == (
        [[2.0, rows[1]["measured"]]], [[2.0, rows[1]["ci_low"], rows[1]["ci_high"]]]
    )  # fmt: skip
    dashed, other = named(drawn, "level 2, kept")
    assert (dashed["lineStyle"]["type"], other["data"][0][0]) == ("dashed", 1.0)
    assert (drawn["xAxis"]["type"], drawn["xAxis"]["name"]) == ("log", "rate of downloads")
    many = Variant([{"group": str(i), "metric": "lag", "predicted": 1.0, "measured": None} for i in range(9)], (), None)
    assert left_out("lag", many) == "The first 8 of 9 groups are drawn."
    json.dumps(drawn, allow_nan=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("sweep")
    file = place / "small.yaml"
    file.write_text(SMALL)
    rn.sweep(file, place / "run", workers=0)
    return place / "run"


def test_a_sweep_that_is_done(folder):
    shown = sweep_view(folder)
    assert (shown["error"], shown["share"], shown["count"]) == ("", 1.0, 2)
    assert shown["claims"] == ["✓ more downloads are better"]
    assert [row["rate"] for row in shown["table"].records] == [1, 2]
    ((title, drawn),) = shown["charts"]
    assert title == ""
    assert drawn["xAxis"]["name"] == "rate"
    printed = [one["data"] for one in drawn["series"] if one.get("symbolSize") == 15]
    assert printed == [[[1.0, 0.5], [2.0, 0.7]]]
    json.dumps(shown["table"].records + shown["charts"], allow_nan=False)


@pytest.mark.parametrize(
    ("words", "rates"),
    [
        ("", [1, 2]), ("LEVEL", [1, 2]), ("'level 1'", [1, 2]), ("rate=2", [2]), ("rate=2 contradicts", [2]),
        ("group=level", []), ("0.7", [2]), ("'level", [1, 2]), ("x=1", []),
    ],
)  # fmt: skip
def test_rows_are_filtered_by_words(folder, words, rates):
    shown = sweep_view(folder)
    table, links = matching_rows(shown["table"], shown["links"], words)
    assert [row["rate"] for row in table.records] == rates
    assert len(links) == len(rates)


def test_a_cell_of_a_sweep(folder):
    key = sweep_view(folder)["links"][1].partition("=")[2]
    shown = cell_view((folder, key))
    assert shown["title"].endswith("rate = 2")
    assert shown["subject"]["network"]["downloads"] == "exponential(rate=2)"
    assert shown["table"].records[0]["predicted"] == pytest.approx(0.66667)
    assert "there is no cell" in cell_view((folder, "x"))["error"]


def test_a_sweep_with_a_cell_that_failed(folder, tmp_path):
    for file in folder.iterdir():
        if file.name in ("header.json", "lock"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    before = directory_stamp(tmp_path)
    key = rn.open(tmp_path).cells[0].key
    (tmp_path / FAILURES).write_bytes(durable.seal({"failures": {key: "out of memory"}}, "failures"))
    assert directory_stamp(tmp_path) != before
    shown = sweep_view(tmp_path)
    assert (shown["failed"], shown["share"], shown["charts"]) == (1, 0.0, [])
    assert (shown["words"], shown["claims"]) == (
        ["0 of 2 cells are finished; 1 failed: out of memory"],
        ["? more downloads are better"],
    )
    assert shown["table"].records[0]["verdict"] == "✗ failed"
    assert shown["table"].records[0]["note"] == "out of memory"


def test_what_is_no_sweep(tmp_path):
    assert "not the directory of a run" in sweep_view(tmp_path)["error"]
    assert directory_stamp(tmp_path / "none") == []


def test_bands_are_the_darker_the_more_is_out_of_order():
    bands = [Band(1.0, 2.0, "nodes down", 0.5), Band(2.0, 3.0, "nodes down", 1.0), Band(5.0, 6.0, "the driver")]
    areas = series.bands_series(bands)["markArea"]["data"]
    assert [(a["xAxis"], b["xAxis"]) for a, b in areas] == [(1.0, 2.0), (2.0, 3.0), (5.0, 6.0)]
    weak, strong, whole = (a["itemStyle"]["opacity"] for a, _ in areas)
    assert weak < strong == whole


# Networks as charts: nodes by shape and colour, of many nodes bars.


def nodes(drawn: dict) -> dict[str, dict]:
    (found,) = [one for one in drawn["series"] if one.get("id") == "nodes"]
    return {one["id"]: one for one in found["data"]}


def test_states_of_nodes_differ_in_shape():
    network = rn.load("graph")
    held, fresh, waiting = np.zeros((3, network.size), np.int64)
    for name, copies in {"hub-eu": (1, 1, 0), "hub-us": (2, 1, 3), "paris": (2, 0, 0)}.items():
        held[network.topology.number[name]], fresh[network.topology.number[name]], line = copies
        waiting[network.topology.number[name]] = line
    made = NetworkChart(network)
    drawn = nodes(made.by_state(held, fresh, {}, waiting.tolist()))
    picked = [drawn[name]["symbol"] for name in ("news", "hub-eu", "hub-us", "paris")]
    assert picked == ["rect", "circle", "diamond", "triangle"]
    words = {one["name"] for one in drawn.values()}
    assert {"news: source", "hub-eu: fresh", "rome: no copy", "paris: 0 of 2 copies fresh"} <= words
    assert "hub-us: 1 of 2 copies fresh, 3 messages in line" in words
    assert [one["symbol"] for one in made.nodes_data(held, fresh)] == [one["symbol"] for one in drawn.values()]


def test_nodes_are_shaped_by_how_fresh_their_group_is():
    made = NetworkChart(rn.load("cascade", ["depth=3", "branching=2"]))
    drawn = made.by_share({"level 1": 0.7, "level 2": 0.5}, {})
    symbols = {one["name"].partition(": ")[2]: one["symbol"] for one in nodes(drawn).values()}
    assert symbols == {
        "source": "rect", "level 1, 0.700 fresh": "circle", "level 2, 0.500 fresh": "diamond", "level 3": "circle",
    }  # fmt: skip
    json.dumps(drawn, allow_nan=False)


def test_many_nodes_are_a_bar_for_each_group(monkeypatch):
    monkeypatch.setattr(network_chart, "MOST_NODES", 6)
    network = rn.load("cascade", ["depth=2", "branching=2"])
    made = NetworkChart(network)
    held, fresh = np.array([0, 1, 1, 1, 1, 1, 0]), np.array([0, 1, 1, 1, 0, 0, 0])
    drawn = made.by_state(held, fresh, {"level 1": 0.5})
    bars, marks = drawn["series"]
    assert drawn["yAxis"]["data"] == ["level 1 (2)", "level 2 (4)"]
    assert bars["data"] == made.nodes_data(held, fresh) == [1.0, 0.333]
    assert marks["data"] == [[0.5, 0], [None, 1]]
    assert made.by_share({"level 2": 0.25}, {})["series"][0]["data"] == [None, 0.25]


# Bands of what was planned to go wrong, and stretches of nodes with some of them taken out.


E1 = "exponential(rate=1)"


def bands(faults: list[dict], end: float = 40.0) -> list[Band]:
    network = rn.cascade(depth=1, branching=4, updates=E1, downloads=E1, faults=faults)
    return planned_bands(network, planned_outages(network, 1, 0, end), end)


def test_a_schedule_is_seen_where_it_is():
    found = bands([{"crash": "1", "at": 10, "lasts": 5}, {"crash": "2", "at": 12, "lasts": 2}])
    assert found == [Band(10, 12, "1, 2 down", 0.5), Band(12, 14, "1, 2 down", 1.0), Band(14, 15, "1, 2 down", 0.5)]
    assert bands([{"cut": ["source", ["1", "3"]], "at": 30}]) == [Band(30, 40, "cut between source and 1, 3")]
    assert bands([{"lose": 0.1}]) == []


def test_bands_in_words():
    found = [Band(1, 2, "a down", 0.5), Band(2, 3, "a down", 1.0), Band(4, 5, "b"), Band(6, 7, "b")]
    assert describe_bands(found) == "Bands: a down from 1 to 3; b 2 times. The darker, the more."
    assert describe_bands([]) == ""


def test_where_more_changes_what_is_shorter_than_a_bin_is_weak(monkeypatch):
    monkeypatch.setattr(outage_bands, "TIME_BINS", 3)
    found = bands([{"crash": "1", "at": 10, "lasts": 1}, {"crash": "2", "at": 30, "lasts": 10}], 60.0)
    assert found == [Band(0, 20, "1, 2 down", 0.025), Band(20, 40, "1, 2 down", 0.25)]


def test_a_node_that_goes_down_again_and_again_is_down_for_its_share():
    found = bands([{"crash": "level 1", "up": "constant(period=3)", "down": "constant(period=1)"}], 400.0)
    assert {band.label for band in found} == {"nodes down"}
    assert sum((band.end - band.begin) * band.share for band in found) / 400 == pytest.approx(1 / 4, abs=0.01)


def test_spans_without_others_of_their_node():
    spans = NodeSpans(np.array([0, 1, 1]), np.array([0.0, 0.0, 5.0]), np.array([9.0, 5.0, 6.0]))
    left = spans.minus(NodeSpans(np.array([1, 1]), np.array([4.0, 1.0]), np.array([5.5, 2.0])))
    rows = sorted(zip(left.node.tolist(), left.begin.tolist(), left.end.tolist(), strict=True))
    assert rows == [(0, 0.0, 9.0), (1, 0.0, 1.0), (1, 2.0, 4.0), (1, 5.5, 6.0)]

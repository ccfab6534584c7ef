"""Rows as charts and tables, and the pages of a sweep as plain data."""

from __future__ import annotations

import json

import pytest
from command_line import SMALL

import replnet as rn
from replnet.lab.sweeps.finished import FAILURES
from replnet.show.web import series
from replnet.show.web.outage_bands import Band
from replnet.show.web.sweep_view import cell_view, directory_stamp, sweep_view
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

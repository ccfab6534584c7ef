"""Networks as charts: nodes by shape and colour, of many nodes bars."""

from __future__ import annotations

import json

import numpy as np

import replnet as rn
from replnet.show.web import network_chart
from replnet.show.web.network_chart import NetworkChart


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

"""Bands of what was planned to go wrong, and stretches of nodes with some of them taken out."""

from __future__ import annotations

import numpy as np
import pytest

import replnet as rn
from replnet.show.web import outage_bands
from replnet.show.web.node_spans import NodeSpans
from replnet.show.web.outage_bands import Band, describe_bands, planned_bands, planned_outages

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

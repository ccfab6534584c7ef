"""From a target to a network."""

from __future__ import annotations

import math
from collections import Counter

import pytest

import replnet as rn
from replnet.study.sweeps import designing
from replnet.study.sweeps.designing import Needs, architectures, design
from replnet.text.errors import FieldError


@pytest.fixture(scope="module")
def found():
    return design("exponential(rate=1)", 30, "freshness >= 0.8", limit=50, queries=60, precision=0.02, workers=0)


def test_rates_are_the_least_that_will_do(found):
    needs = Needs("exponential(rate=1)", 30, 60.0, 50.0)
    for one in found.candidates:
        if one.pulls != "exponential":
            continue  # where formulas are exact and fast
        assert one.predicted >= 0.8
        build, ratios = architectures(needs)[one.architecture]
        rate = one.built.rates.get("downloads", one.built.rates.get("replicas"))
        ratio = min(ratios, key=lambda r: abs(build(needs, rn.law("exponential(rate=1)"), rate, r).messages
                                              - one.built.messages))  # fmt: skip
        less = build(needs, rn.law("exponential(rate=1)"), 0.99 * rate, ratio)
        assert rn.predict(rn.Network.from_data(less.data)).about("freshness", less.group)[0].predicted < 0.8


def test_messages_are_those_of_the_network(found):
    """Counted from the nodes of its graph."""
    for one in found.candidates:
        graph, total, heard = one.network.graph, 0.0, Counter()
        for name, node in graph.nodes(data=True):
            total += node["downloads"].rate if "downloads" in node else 0
            total += node["polls"].rate * node["peers"] if "polls" in node else 0
            above = [up for up, _, kind in graph.in_edges(name, data="kind") if kind == "download"]
            for up in above:
                heard[up] += node["downloads"].rate / len(above)
        queries = one.built.messages - total
        asked = int(one.architecture[-1]) if one.architecture.startswith("clients") else 1
        assert queries == pytest.approx(60 * asked)
        assert heard["source"] == pytest.approx(one.built.answers["source"])
        assert max(heard.values()) <= one.built.busiest * (1 + 1e-9) or one.architecture.endswith("tiers above")


def test_those_within_the_limit_come_first_and_the_best_are_measured(found):
    fits = [one.fits for one in found.candidates]
    assert fits == sorted(fits, reverse=True)
    assert all(one.built.busiest <= 50 for one in found.candidates if one.fits)
    messages = [one.built.messages for one in found.candidates if one.fits]
    assert messages == sorted(messages)
    assert [bool(one.result) for one in found.candidates[:4]] == [True, True, True, False]
    assert {one.result.verdict for one in found.candidates[:3]} <= {"agree", "unresolved"}
    assert found.table["architecture"][0] == found.best.architecture


def test_without_a_limit_all_ask_the_source():
    found = design("exponential(rate=1)", 10, 0.5, pulls=["exponential(rate=1)"], precision=0.05, workers=0)
    assert (found.best.architecture, found.best.built.rates) == (
        "all ask the source",
        {"replicas": pytest.approx(1, rel=4e-3)},
    )


@pytest.mark.parametrize("rate", [1.0, 3.14159, 99999.0, 1.2345e-7, 123456.0])
def test_rates_are_rounded_up(rate):
    rounded = designing._rounded(rate)
    assert rate <= rounded * (1 + 1e-15)
    assert rounded / rate - 1 < 1.001e-3
    assert float(f"{rounded:.4g}") == pytest.approx(rounded, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"target": "freshness >= 1.2"}, "target: .*never holds"),
        ({"target": "level 1: freshness >= 0.5"}, "target: .*not about what clients get"),
        ({"target": "service_rate >= 5"}, "target: .*not about what clients get"),
        ({"target": "download_rate >= 5"}, "target: nothing will match"),
        ({"limit": 0}, "limit: 0 is no number"),
        ({"queries": -1.0}, "queries: -1.0 is no number"),
        ({"queries": math.nan}, "queries: nan is no number"),
        ({"replicas": 0}, "replicas: 0 is no number of replicas"),
        ({"updates": "exponential(rate=0)"}, "updates: exponential.*rate: 0 is not above 0"),
        ({"pulls": ["foo(rate=1)"]}, "pulls: foo.*unknown family"),
    ],
)
def test_what_cannot_be_is_named(given, wrong):
    usual = {"updates": "exponential(rate=1)", "replicas": 5, "target": "freshness >= 0.5"}
    with pytest.raises(FieldError, match=wrong):
        design(**usual | given)

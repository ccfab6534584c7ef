"""Aggregates as they are specified: many sources, and replicas that share a budget of downloads."""

from __future__ import annotations

import math

import numpy as np
import pytest

import replnet as rn


def refused(**fields) -> str:
    with pytest.raises(rn.InputError) as caught:
        rn.aggregate(**fields)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "sources: missing (how many there are, or lists of rates, weights or updates)"),
        ({}, "updates: missing (the law of the times between updates, or rates)"),
        ({}, "budget: missing (downloads per unit of time, all sources together)"),
        ({"rates": [1, -2, "x"], "budget": 1}, "rates[2]: -2 is not a finite number of 0 or more"),
        ({"rates": [1, -2, "x"], "budget": 1}, "rates[3]: 'x' is not a number"),
        ({"rates": [], "budget": 1}, "rates: [] is not a list of numbers"),
        ({"rates": [1, 2], "sources": 3, "budget": 1}, "rates: has 2 entries for 3 of sources (one per source)"),
        ({"rates": [1, 2], "weights": [1], "budget": 1}, "weights: has 1 entries for 2 of rates"),
        ({"rates": [1, 2], "weights": [0, 0], "budget": 1}, "weights: are all 0"),
        ({"rates": [1, 2], "budget": -1}, "budget: -1 is not a finite number of 0 or more"),
        ({"rates": [1, 2], "budget": math.nan}, "budget: nan is not a finite number"),
        ({"rates": [1, 2], "allocate": [1, 2], "budget": 4}, "budget: 4 is not the sum of the rates in allocate, 3"),
        ({"rates": [1, 2], "allocate": "freshnes", "budget": 4}, "did you mean freshness?"),
        ({"rates": [1, 2], "order": "sorted", "budget": 4}, "order: 'sorted' is unknown here (independent, fixed"),
        ({"rates": [1, 2], "ordr": "fixed", "budget": 4}, "ordr: unknown field (did you mean order?)"),
        ({"rates": [1, 2], "delay": -1, "budget": 4}, "delay: -1 is not a finite time of 0 or more"),
        ({"rates": [1, 2], "budget": 4, "ask": 2}, "ask: 2 is more than replicas = 1"),
        ({"rates": [1, 2], "budget": 4, "replicas": 2, "order": "fixed"}, "replicas: 2 cannot share a fixed order"),
        ({"rates": [1, 2], "budget": 4, "downloads": "exponential", "order": "fixed"}, "downloads: follow from order"),
        ({"rates": [1, 2], "budget": 4, "downloads": "expnential"}, "downloads: unknown family 'expnential'"),
        ({"rates": [1, 2], "budget": 4, "updates": ["constant(rate=1)"] * 2}, "rates: are given, and the list"),
        ({"rates": [1, 2], "budget": 4, "allocate": "age", "downloads": "gamma(shape=2)"}, "allocate: the best rates"),
        ({"rates": [1, 2], "budget": 4, "allocate": "age", "order": "random", "weights": [1, 2]}, "equal weights"),
        ({"sources": 10**9, "rates": "exponential(rate=1)", "budget": 4}, "sources: 1000000000 is out of range"),
    ],
)
def test_stupid_inputs(fields, says):
    assert says in refused(**fields)


def test_networks_come_back_from_their_data():
    for net in (
        rn.aggregate(sources=9, rates="gamma(shape=2, mean=1)", weights="pareto(alpha=3, rate=1)", budget=5),
        rn.aggregate(updates=["constant(rate=1)", "gamma(shape=2, rate=3)"], allocate=[1, 0.5]),
        rn.aggregate(rates=np.array([0, 1.5]), budget=2, downloads="pareto(alpha=3)", replicas=3, ask=2),
        rn.aggregate(
            rates=[1, 2], budget=3, delay=0.1, bandwidth=4, queries="exponential(rate=1)", faults=[{"lose": 0.1}]
        ),
        rn.load("aggregate"),
    ):
        assert rn.Network.from_data(net.data()) == net
        assert net.size == len(net.graph)
        assert net.describe().startswith("aggregate: ")

"""What a specification may say of any network: it comes back from its data, and is described."""

from __future__ import annotations

import numpy as np
import pytest
from any_network import features
from hypothesis import given, settings
from networks import anything

import replnet as rn
from replnet.network.sources import frequencies, sources_of

E1 = "exponential(rate=1)"


@settings(max_examples=30, deadline=None)
@given(network=anything())
def test_plain_data_give_the_same_network_again(network):
    again = rn.Network.from_data(network.data())
    assert again.data() == network.data()
    assert features(again) == features(network)


def test_sources_of_laws():
    """Rates are quantiles; weights too, in an order of their own."""
    law = "uniform(low=0, high=1)"
    network = rn.aggregate(sources=100, rates=law, weights=law, budget=1)
    assert rn.Network.from_data(network.data()) == network
    assert network.size == len(network.graph)
    sources = sources_of(network.spec)
    quantiles = (np.arange(100) + 0.5) / 100
    assert sources.rates == pytest.approx(quantiles, abs=1e-15)
    assert np.sort(sources.weights) == pytest.approx(quantiles / quantiles.sum(), abs=1e-15)
    # |correlation| of a random order exceeds 0.4 with chance 4e-5; this one is fixed.
    assert abs(np.corrcoef(sources.rates, sources.weights)[0, 1]) < 0.4
    histogram = sources_of(rn.aggregate(sources=10, rates="lattice(values=[1, 7], weights=[3, 2])", budget=1).spec)
    assert histogram.rates.tolist() == [1] * 6 + [7] * 4
    listed = rn.aggregate(rates=[1, 2], allocate=[1, 0.5]).spec
    assert frequencies(listed, sources_of(listed)).tolist() == [1, 0.5]


def test_weights_of_which_none_counts_are_refused():
    network = rn.aggregate(rates=[1, 2, 3], budget=3, weights="gamma(shape=1e-9, rate=1)")
    with pytest.raises(ValueError, match=r"weights: add up to 0 \(a law, or a list with a number above 0\)"):
        rn.predict(network)


def test_a_description_says_what_goes_wrong():
    faults = [
        {"crash": "level 1", "copy": "kept", "up": "exponential(mean=5)", "down": "exponential(mean=2)"},
        {"cut": ["source", ["1", "2"]], "at": 3, "lasts": 2},
        {"lose": 0.01},
        {"lose": 0.01, "between": ["1", ["2", "3", "4", "5", "6", "7"]]},
        {"crash": "1", "at": 3},
    ]
    description = rn.cascade(depth=1, branching=10, updates=E1, downloads=E1, faults=faults).describe()
    assert "  level 1 crash, up exponential(mean=5), down exponential(mean=2); copies kept\n" in description
    assert "  cut between source and 1, 2, at 3 for 2\n" in description
    assert "  0.01 of all messages get lost\n" in description
    assert "  0.01 of all messages between 1 and 2, 3, 4, 5, 6 and 1 more get lost\n" in description
    assert "  1 crash, at 3 for ever; copies empty\n" in description

"""The sources of an aggregate as arrays."""

from __future__ import annotations

import numpy as np
import pytest

import replnet as rn
from replnet.network.sources import sources_of


def test_sources_of_laws():
    """Rates are quantiles; weights too, in an order of their own."""
    of = sources_of(
        rn.aggregate(sources=100, rates="uniform(low=0, high=1)", weights="uniform(low=0, high=1)", budget=1).spec
    )
    wanted = (np.arange(100) + 0.5) / 100
    assert of.rates == pytest.approx(wanted, abs=1e-15)
    assert np.sort(of.weights) == pytest.approx(wanted / wanted.sum(), abs=1e-15)
    # |correlation| of a random order exceeds 0.4 with chance 4e-5; this one is fixed.
    assert abs(np.corrcoef(of.rates, of.weights)[0, 1]) < 0.4
    histogram = sources_of(rn.aggregate(sources=10, rates="lattice(values=[1, 7], weights=[3, 2])", budget=1).spec)
    assert histogram.rates.tolist() == [1] * 6 + [7] * 4


def test_weights_of_which_none_counts_are_refused():
    net = rn.aggregate(rates=[1, 2, 3], budget=3, weights="gamma(shape=1e-9, rate=1)")
    with pytest.raises(ValueError, match=r"weights: add up to 0 \(a law, or a list with a number above 0\)"):
        rn.predict(net)

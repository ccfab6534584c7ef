"""Mean, largest and quantiles of many values."""

from __future__ import annotations

import numpy as np

from replnet.live.quantiles import Spread


def test_a_spread_knows_its_quantiles_to_one_percent():
    values = np.random.default_rng(1).exponential(size=10_000)
    whole, half = Spread(), Spread()
    for i, value in enumerate(values.tolist()):
        (whole if i % 2 else half).add(value)
    whole.merge(half)
    assert whole.count == values.size
    assert whole.largest == values.max()
    assert np.isclose(whole.mean, values.mean())
    for p in (0.01, 0.5, 0.99):
        assert np.isclose(whole.quantile(p), np.quantile(values, p, method="inverted_cdf"), rtol=0.0101)


def test_zeros_are_values_too():
    spread = Spread()
    for value in (0.0, 0.0, -1e-9, 2.0):
        spread.add(value)
    assert (spread.mean, spread.quantile(0.5), spread.largest) == (0.5, 0.0, 2.0)
    assert np.isclose(spread.quantile(0.99), 2.0, rtol=0.01)
    assert Spread().quantile(0.5) == Spread().mean == 0.0

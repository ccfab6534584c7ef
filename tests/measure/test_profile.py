"""The law of an age along a path against sums over its stretches one by one."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.measure.profile import EDGES, PLACES, cumulative_curve, curve_quantile, grid_places, pseudo_values

RNG = np.random.default_rng(5)


def profiled(low, high):
    number, total = np.zeros((2, PLACES))
    for ages, sign in ((low, 1.0), (high, -1.0)):
        np.add.at(number, grid_places(ages), sign)
        np.add.at(total, grid_places(ages), sign * ages)
    return cumulative_curve(number, total, lasting=True)


def test_at_the_edges_the_time_within_an_age_is_exact():
    low = RNG.exponential(1.0, 500) * RNG.integers(0, 2, 500)
    high = low + RNG.pareto(2.0, 500)
    curve = profiled(low, high)
    for at in range(0, PLACES, 37):
        within = np.maximum(EDGES[at] - low, 0) - np.maximum(EDGES[at] - high, 0)
        assert curve[at] == pytest.approx(within.sum(), rel=1e-9, abs=1e-9)


def test_answers_are_counted():
    ages = RNG.exponential(1.0, 1000)
    number = np.bincount(grid_places(ages), minlength=PLACES).astype(float)
    curve = cumulative_curve(number, np.zeros(PLACES), lasting=False)
    assert curve.tolist() == [(ages <= edge).sum() for edge in EDGES]


def test_quantiles_lie_between_edges():
    high = RNG.exponential(1.0, 2000)
    curve, whole = profiled(np.zeros(2000), high), float(high.sum())
    for level in (0.1, 0.5, 0.9, 0.99):
        value = curve_quantile(curve, whole, level)
        assert np.minimum(value, high).sum() == pytest.approx(level * whole, rel=1e-4)


def test_what_is_up_to_date_often_enough_has_a_quantile_of_zero():
    curve = np.full(PLACES, 3.0)
    assert curve_quantile(curve, 4.0, 0.75) == 0
    assert curve_quantile(curve, 4.0, 0.76) == np.inf


def test_pseudo_values_have_the_quantile_as_mean_and_its_error_as_that_of_a_mean():
    """Of 4,000 answers in each of 400 replications the standard error of the median is 1 / sqrt(n)."""
    ages = RNG.exponential(1.0, (400, 4000))
    curves = np.array([
        cumulative_curve(np.bincount(grid_places(one), minlength=PLACES).astype(float), np.zeros(PLACES), lasting=False)
        for one in ages
    ])  # fmt: skip
    found = pseudo_values(curves, np.full(400, 4000.0), 0.5)
    assert found.mean() == pytest.approx(np.median(ages), rel=1e-4)
    # The spread of 400 values is off by 3.5 % at one standard deviation.
    assert found.std() == pytest.approx(1 / np.sqrt(4000), rel=0.2)

"""Ages some time after something has happened, against closed forms of Poisson downloads."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.ages.information_age import direct
from replnet.ages.penalties import older, since_first_missed
from replnet.ages.transients import SinceCut, SinceEmpty, SinceFresh
from replnet.laws import Exponential, Pareto

DOWNLOADS, UPDATES = Exponential(rate=2), Exponential(rate=1)
COPY = direct(DOWNLOADS)
TIMES = [1e-6, 0.3, 1.0, 4.0, 50.0]


@pytest.mark.parametrize("t", TIMES)
def test_after_a_fresh_start(t):
    """E[exp(-min(X, t))] with X of rate 2, and E[A] of min(X, t), whose density is a point at t as well."""
    age = SinceFresh(COPY, t)
    assert age.freshness(UPDATES).value == pytest.approx(2 / 3 + np.exp(-3 * t) / 3, rel=1e-8)
    cost = lambda x: x - 1 + np.exp(-x)  # noqa: E731
    x = np.linspace(0, t, 200_001)
    mean = np.trapezoid(2 * np.exp(-2 * x) * cost(x), x) + np.exp(-2 * t) * cost(t)
    assert since_first_missed(age, UPDATES).value == pytest.approx(mean, rel=1e-6, abs=1e-13)


@pytest.mark.parametrize("t", TIMES[1:])
def test_after_an_empty_start(t):
    age = SinceEmpty(COPY, t)
    assert age.present == pytest.approx(1 - np.exp(-2 * t), rel=1e-12)
    expected = 2 / 3 * (1 - np.exp(-3 * t)) / (1 - np.exp(-2 * t))
    assert age.freshness(UPDATES).value == pytest.approx(expected, rel=1e-8)
    assert older(age, t).value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(("began", "ended"), [(1.0, -1.0), (1.0, 0.0), (1.5, 0.5)])
def test_after_a_cut(began, ended):
    """The freshness is that of what came since the cut, and of what came before it."""
    over, lasted = max(ended, 0.0), began - max(ended, 0.0)
    expected = 2 / 3 * (1 - np.exp(-3 * over)) + np.exp(-3 * over) * np.exp(-lasted) * 2 / 3
    age = SinceCut(DOWNLOADS, began, ended)
    assert age.freshness(UPDATES).value == pytest.approx(expected, rel=1e-8)


def test_long_ago_nothing_is_left_of_it():
    heavy = direct(Pareto(alpha=3, rate=2))
    for age in (SinceFresh(heavy, 1e6), SinceEmpty(heavy, 1e6)):
        assert age.freshness(UPDATES).value == pytest.approx(heavy.freshness(UPDATES).value, rel=1e-6)

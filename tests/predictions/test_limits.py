"""Laws at the edge of what floats hold: right numbers or a named error, no warning (an error here), no endless run."""

from __future__ import annotations

import numpy as np
import pytest
from renewals import renewals

import replnet as rn
from replnet.laws import FieldError, law
from replnet.laws.law import OLDEST

RIGHT = "exponential(rate=1)"
EXTREME = [
    "pareto(alpha=1.001, rate=1)",
    "pareto(alpha=1.00001, rate=1)",
    "pareto(alpha=1e9, rate=1)",
    "weibull(shape=0.05, rate=1)",
    "weibull(shape=1e9, rate=1)",
    "lognormal(sigma=8, rate=1)",
    "gamma(shape=1e-3, rate=1)",
    "gamma(shape=1e9, rate=1)",
    "hyperexponential(weights=[1, 1e-12], rates=[1e6, 1e-9])",
    "hyperexponential(weights=[1, 1], rates=[1e50, 1e-50])",
    "empirical(intervals=[1, 1, 0.5, 0.5, 1e12])",
    "constant(rate=1e-90)",
]


@pytest.mark.parametrize("text", EXTREME)
@pytest.mark.parametrize("role", ["updates", "downloads"])
def test_extreme_laws_are_predicted_and_run(text, role):
    net = rn.single(**{"updates": RIGHT, "downloads": RIGHT, role: text})
    (row,) = rn.emulate(net, horizon=200, confirm=False).rows
    assert 0 <= row.predicted <= 1
    assert 0 <= row.measured <= 1


def test_ages_beyond_floats_are_the_oldest():
    of = renewals([law("pareto(alpha=1.0001, rate=1)")], 1000)
    assert np.isfinite(of.next_instants()).all()
    assert of.age.max() == OLDEST
    # P(A > OLDEST) = 0.932: within six standard deviations.
    assert np.mean(of.age == OLDEST) == pytest.approx(0.932, abs=6 * 0.008)


def test_a_past_of_too_many_events_is_refused():
    of = renewals([law("pareto(alpha=3, rate=1)")], 10)
    with pytest.raises(FieldError, match=r"pareto\(alpha=3, rate=1\) had 1e\+301 events in 1e\+300 units of time"):
        of.past(OLDEST)


def test_ages_that_floats_cannot_order_are_refused():
    heavy = "pareto(alpha=1.001, rate=1)"
    with pytest.raises(FieldError, match=r"both beyond 1e.300"):
        rn.emulate(rn.single(updates=heavy, downloads=heavy), horizon=100)


def test_steep_powers_keep_their_digits():
    steep, limit = law("pareto(alpha=1e9, rate=1)"), law("exponential(rate=1)")
    x = np.linspace(0, 20, 100)
    assert steep.tail(x) == pytest.approx(limit.tail(x), rel=1e-6)
    assert np.all(np.diff(steep.tail(np.linspace(1, 1 + 1e-9, 100))) <= 0)


ALIKE = ["lognormal(sigma=14, rate=1)", "weibull(shape=0.026, rate=1)", "weibull(shape=1e9, rate=1)"]
ALIKE += ["pareto(alpha=1.03, rate=1)", "gamma(shape=1e-9, rate=1)"]


@pytest.mark.parametrize("text", ALIKE)
def test_of_two_alike_either_comes_first(text):
    (row,) = rn.predict(rn.single(updates=text, downloads=text)).rows
    assert row.predicted == pytest.approx(0.5, abs=1e-9)


def test_an_almost_constant_law_is_read_as_one():
    steep, limit = law("weibull(shape=1e9, rate=1)"), law("constant(rate=1)")
    x = np.linspace(0, 0.999, 50)
    assert steep.integrated_tail(x) == pytest.approx(limit.integrated_tail(x), rel=1e-12)
    assert steep.excess(x) == pytest.approx(limit.excess(x), abs=1e-8)


def test_events_that_floats_do_not_tell_apart_are_refused():
    """Of a gamma law of shape 1e-4 a thousand intervals in turn may be nothing beside the time: no end was seen."""
    of = renewals([law("gamma(shape=1e-4, rate=1)")], 200)
    with pytest.raises(
        FieldError, match=r"gamma\(shape=0.0001, rate=1\) has .* or more events at time .*, too close together"
    ):
        [of.window(1e4) for _ in range(10**6)]

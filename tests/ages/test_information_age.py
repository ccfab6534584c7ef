"""Information ages of single hops, cascades and redundant copies against closed forms and brute force."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_of_intervals import FAMILIES, laws

from replnet.ages.information_age import best_of, direct, never, pull, quadrature, with_delay
from replnet.ages.prediction import Basis, Prediction, joint_basis
from replnet.laws import Constant, Empirical, Exponential, Hyperexponential, Law, Pareto

# Panels resolve tails to 1e-11 and (3) is cut where 1e-10 is left.
TOLERANCE = 1e-9


def cascade(*levels: Law):
    copy = direct(levels[0])
    for law in levels[1:]:
        copy = pull(copy, law)
    return copy


def irwin_hall_tail(x: float, n: int) -> float:
    """P(U_1 + ... + U_n > x) of uniforms on (0, 1)."""
    terms = ((-1) ** k * math.comb(n, k) * (x - k) ** n for k in range(int(x) + 1))
    return 1 - math.fsum(terms) / math.factorial(n)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("other", FAMILIES)
def test_cascades_agree_with_products_of_transforms(family, other):
    """P2P eq. 29 against the general route."""
    copy = cascade(family(2.0), other(1.3), Constant(rate=3))
    assert quadrature(copy, Exponential(rate=0.7)) == pytest.approx(copy.laplace(0.7), abs=TOLERANCE)


@pytest.mark.parametrize("depth", [2, 12])
def test_deep_cascades_of_constants_are_sums_of_uniforms(depth):
    copy = cascade(*[Constant(period=1)] * depth)
    x = np.linspace(0.05, depth, 40)
    # The alternating sum loses digits with depth: its largest term is depth**depth / depth!.
    lost = 1e-15 * depth**depth / math.factorial(depth)
    expected = [irwin_hall_tail(float(at), depth) for at in x]
    assert copy.tail(x) == pytest.approx(expected, abs=TOLERANCE + lost)
    assert quadrature(copy, Exponential(rate=1)) == pytest.approx((1 - math.exp(-1)) ** depth, abs=TOLERANCE)


@pytest.mark.parametrize("alpha", [1.4, 3.0])
def test_heavy_tails_at_depth_two_against_brute_force(alpha):
    """The double integral of P2P eq. 28, by Gauss-Legendre in logarithms of both ages."""
    downloads, updates = Pareto(alpha, rate=2), Pareto(alpha, rate=1)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    # Ages by the inverse of their tail, substituted as q = 1 / (1 + exp(s)) so that both ends are resolved.
    s, w = 40 * nodes, 40 * weights
    share = w * np.exp(-np.logaddexp(s, 0) - np.logaddexp(-s, 0))
    age = downloads.age.isf(np.exp(-np.logaddexp(s, 0)))
    value = share @ (updates.rate * updates.excess(age[:, None] + age)) @ share
    assert quadrature(cascade(downloads, downloads), updates) == pytest.approx(value, abs=TOLERANCE)


@settings(max_examples=25)
@given(st.lists(laws, min_size=3, max_size=3), laws)
def test_the_order_of_a_cascade_does_not_matter(levels, updates):
    values = [quadrature(cascade(*order), updates) for order in itertools.permutations(levels)]
    assert np.ptp(values) <= 2 * TOLERANCE


BEST = best_of([direct(Constant(rate=1)), direct(Constant(rate=1.7)), direct(Exponential(rate=1))])
SUM = pull(BEST, best_of([direct(Pareto(3, rate=2))] * 3))
RECORD = Empirical(np.exp(2 * np.sin(np.arange(3000.0))))  # many atoms, which are grouped
FAR_APART = Hyperexponential(weights=[0.5, 0.5], rates=[1e4, 1e-2])


@pytest.mark.parametrize(
    ("copy", "mu", "close"),
    [
        (SUM, 2, TOLERANCE),
        (pull(with_delay(SUM, 0.3), Constant(rate=3)), 2, TOLERANCE),
        (cascade(Exponential(rate=3), RECORD), 2, 1e-6),
        (cascade(FAR_APART, Constant(rate=1e3)), 1, TOLERANCE),
    ],
)
def test_other_compositions_agree_with_products_of_transforms(copy, mu, close):
    assert quadrature(copy, Exponential(rate=mu)) == pytest.approx(copy.laplace(mu), abs=close)


def test_a_delay_shifts_an_age():
    late = pull(with_delay(SUM, 0.3), Constant(rate=3)).laplace(2)
    assert late == pytest.approx(math.exp(-0.6) * pull(SUM, Constant(rate=3)).laplace(2), abs=TOLERANCE)


def test_what_nothing_reaches_is_never_fresh():
    assert pull(never(), Exponential(rate=1)).freshness(Exponential(rate=1)).value == 0
    assert best_of([never(), SUM]) is SUM
    assert best_of([never()]).freshness(Constant(rate=1)).value == 0


def test_predictions_say_what_they_rest_on():
    exact = Basis("exact", "P2P eq. 8", "a")
    weak = Basis("approximation", "P2P eq. 28; other", "a; b", 0.01)
    both = joint_basis([exact, weak])
    assert both == Basis("approximation", "P2P eq. 28; other", "a; b", 0.01)
    assert Prediction.of(0.5, weak).accuracy == pytest.approx(0.005)
    level = cascade(Exponential(rate=1), Exponential(rate=1)).freshness(Exponential(rate=1))
    assert (level.kind, level.source, level.accuracy) == ("exact", "P2P eq. 28", 0.0)
    assert best_of([direct(Constant(rate=1))] * 2).basis.source == "P2P eq. 8; P2P VII-A"

"""Exponents of arrivals and of service, against transforms known by heart."""

from __future__ import annotations

import math

import pytest

import replnet as rn
from replnet.ages.queueing import arrival_exponent, service_exponent, theta_needed


def test_poisson_arrivals_grow_as_they_do():
    assert arrival_exponent(rn.law("exponential(rate=3)"), 0.5, 2, 0.1) == pytest.approx(3 * 0.5 * math.expm1(0.2))


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_other_arrivals_grow_by_their_transform_or_a_little_more(share):
    """(b / (b + g))^2 = 1 / (1 + more), and exp(-g) = 1 / (1 + more)."""
    more = share * math.expm1(0.1)
    gamma, right = arrival_exponent(rn.law("gamma(shape=2, rate=1)"), share, 1, 0.1), 2 * (math.sqrt(1 + more) - 1)
    assert right <= gamma <= 1.01 * right
    constant, right = arrival_exponent(rn.law("constant(rate=1)"), share, 1, 0.1), math.log1p(more)
    assert right <= constant <= 1.01 * right


def test_what_has_no_bound_grows_without_one():
    assert arrival_exponent(rn.law("diurnal(rate=1, swing=0.8, period=300)"), 1.0, 1, 0.1) == math.inf
    assert service_exponent(rn.law("diurnal(rate=1, swing=0.8, period=300)"), 1.0, 1, 0.1) == 0
    assert theta_needed(2, 2) == math.inf

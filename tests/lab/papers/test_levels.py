"""Rates of levels that keep a cascade fresh, and what they cost (P2P V-D)."""

from __future__ import annotations

import math
from functools import partial

import pytest
from paper import values

from replnet.text.errors import InputError

rates_of = partial(values, "level-rates")


def test_the_rule_of_the_paper():
    """rates mu ((i + 1)^rho - 1); with rho = 2 the product of 1 - (i + 1)^-2 is (n + 2) / (2 (n + 1))."""
    for levels in (1, 3, 40):
        found = rates_of(updates=3, levels=levels, growth=2)
        assert found["last level", "rate"] == pytest.approx(3 * ((levels + 1) ** 2 - 1), rel=1e-8)
        assert found["last level", "freshness"] == pytest.approx((levels + 2) / (2 * (levels + 1)), rel=1e-12)
        assert found["any depth", "freshness"] == pytest.approx(0.5, rel=1e-12)
        assert found["slow on top", "source_load"] == pytest.approx(3 * 3, rel=1e-8)


def test_products_over_all_levels():
    """Of 1 - k^-3 it is cosh(pi sqrt(3) / 2) / (3 pi); where the growth is 1 or less it vanishes."""
    known = math.cosh(math.pi * math.sqrt(3) / 2) / (3 * math.pi)
    assert rates_of(updates=1, levels=2, growth=3)["any depth", "freshness"] == pytest.approx(known, rel=1e-12)
    for growth in (0.5, 1):
        assert rates_of(updates=1, levels=2, growth=growth)["any depth", "freshness"] == 0
    assert rates_of(updates=1, levels=9, growth=1)["last level", "freshness"] == pytest.approx(1 / 10, rel=1e-12)


@pytest.mark.parametrize(("growth", "target"), [(1.2, 0.5), (2, 0.9), (2, 0.3), (1.05, 0.5)])
def test_a_target_is_kept_at_any_depth(growth, target):
    depths = [rates_of(updates=2, levels=n, growth=growth, target=target) for n in (1, 5, 60)]
    kept = [found["last level", "freshness"] for found in depths]
    assert kept[0] > kept[1] > kept[2] > target
    assert [found["any depth", "freshness"] for found in depths] == pytest.approx([target] * 3, rel=1e-12)


def test_what_rates_cost():
    """Two levels of rates 3 and 8 below a source with two replicas each: of 6 replicas 2 are on the first level."""
    found = rates_of(updates=1, levels=2, growth=2, branching=2)
    even = rates_of(updates=1, levels=2, growth=2)["equal rates", "source_load"]
    assert found["slow on top", "source_load"] == pytest.approx(6, rel=1e-8)
    assert found["fast on top", "source_load"] == pytest.approx(16, rel=1e-8)
    assert found["slow on top", "replica_rate"] == pytest.approx((2 * 3 + 4 * 8) / 6, rel=1e-8)
    assert found["fast on top", "replica_rate"] == pytest.approx((2 * 8 + 4 * 3) / 6, rel=1e-8)
    assert found["equal rates", "source_load"] == pytest.approx(2 * even, rel=1e-12)
    assert (even / (even + 1)) ** 2 == pytest.approx(found["last level", "freshness"], rel=1e-8)


def test_no_rule_keeps_a_target_without_growth():
    with pytest.raises(InputError, match=r"growth: 1 leaves no freshness at great depth \(a number above 1"):
        rates_of(updates=1, levels=2, growth=1, target=0.5)

"""How long copies stay stale: closed forms, and what has none."""

from __future__ import annotations

import numpy as np
import pytest

import replnet as rn
from replnet.ages import fresh_spells as spells
from replnet.ages.information_age import direct, pull
from replnet.ages.prediction import NoFormulaError


def beyond(updates: str, downloads: str, y: float) -> float:
    copy, law = direct(rn.law(downloads)), rn.law(updates)
    return spells.stale_spell_rate(copy, law, y).value / spells.stale_rate(copy, law).value


@pytest.mark.parametrize("updates", ["exponential(rate=1)", "pareto(alpha=3, rate=2)", "constant(rate=1)"])
def test_poisson_downloads_forget_how_long_a_copy_has_been_stale(updates):
    for y in (0.0, 0.4, 3.0):
        assert beyond(updates, "exponential(rate=2)", y) == pytest.approx(np.exp(-2 * y), rel=1e-9)


def test_between_constant_downloads_a_copy_stays_stale_from_the_first_poisson_update_on():
    for y in (0.0, 0.2, 0.49):
        expected = (1 - np.exp(-3 * (0.5 - y))) / (1 - np.exp(-3 * 0.5))
        assert beyond("exponential(rate=3)", "constant(period=0.5)", y) == pytest.approx(expected, rel=1e-9)
    assert beyond("exponential(rate=3)", "constant(period=0.5)", 0.6) == 0


def test_the_mean_is_that_of_the_off_duration():
    """The integral of P(W > y) is E[W] of (4)."""
    copy, law = direct(rn.law("uniform(low=0, high=2)")), rn.law("gamma(shape=2, rate=1)")
    y, weights = np.polynomial.legendre.leggauss(40)
    turns = spells.stale_rate(copy, law).value
    mean = sum(w * spells.stale_spell_rate(copy, law, 1 + at).value / turns for at, w in zip(y, weights, strict=True))
    assert mean == pytest.approx((1 - copy.freshness(law).value) / turns, rel=1e-9)


def test_copies_of_copies_have_no_formula():
    law = rn.law("exponential(rate=1)")
    with pytest.raises(NoFormulaError, match="do not come directly from a source"):
        spells.stale_spell_rate(pull(direct(law), law), law, 1.0)

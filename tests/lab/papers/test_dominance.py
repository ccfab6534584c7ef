"""Laws in second order: ages, lags and freshness in their order, and where there is none (P2P IV, Staleness V)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_of_intervals import FAMILIES, laws
from paper import values

from replnet.ages.information_age import direct
from replnet.ages.penalties import currency
from replnet.lab.named_formulas import compute
from replnet.lab.papers.dominance import age_lead, lag_lead
from replnet.laws import Constant, Exponential, Uniform, law
from replnet.text.errors import InputError

ROUNDING = 1e-12  # of chances, and of the means of the laws
TOLERANCE = 1e-9
ONE, SAME = Exponential(rate=1), Constant(rate=1)
UNIFORM, ERLANG = Uniform(low=0, high=2), law("erlang(stages=2, rate=1)")  # neither is larger


def test_highest_and_lowest_inside():
    """J(x) = x - 1 + exp(-x) of a constant and an exponential up to 1, and exp(-x) from there on.

    J of uniform(0, 2) and Erlang(2): x - x^2/4 - 1 + (1 + x) exp(-2 x) up to 2.
    """
    assert age_lead(SAME, ONE) == pytest.approx((0, math.exp(-1)), abs=ROUNDING)
    assert age_lead(ONE, ONE) == (0, 0)
    x = np.linspace(0, 2, 400_001)
    j = x - x**2 / 4 - 1 + (1 + x) * np.exp(-2 * x)
    assert age_lead(UNIFORM, ERLANG) == pytest.approx((j.min(), j.max()), abs=1e-10)


@pytest.mark.parametrize(
    "pairs",
    [
        ((SAME, ONE), (ONE, ONE)),
        # Uniform intervals may be better by all measures, or staler, though no order holds.
        ((UNIFORM, ERLANG), (ONE, ONE)),
        ((UNIFORM, ERLANG), (Exponential(rate=5), Exponential(rate=5))),
        # Under exponential downloads lags are exponential, whatever the order of the updates.
        ((ONE, ONE), (ERLANG, UNIFORM)),
    ],
)
def test_lags_are_farthest_apart_where_currencies_are(pairs):
    """As seen at steps of 0.01, of which the largest lead is missed by a half: by about 1e-5."""
    first, second = zip(*pairs, strict=True)
    lead = [
        currency(direct(first[0]), first[1], t).value - currency(direct(second[0]), second[1], t).value
        for t in np.linspace(0, 4, 401)
    ]
    lead.append(0.0)  # at last
    lowest, highest = lag_lead(*pairs)
    assert (lowest, highest) == pytest.approx((min(lead), max(lead)), abs=5e-5)
    assert lowest <= min(lead) + TOLERANCE
    assert highest >= max(lead) - TOLERANCE


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(laws, laws, st.sampled_from(FAMILIES))
def test_lags_are_in_the_order_of_the_laws(first, other, family):
    """P2P Theorem 2, Staleness Theorem 8 in the direction that holds; a constant is larger than all (Lemma 3)."""
    constant = Constant(period=first.mean)
    for second in (family(first.rate), constant):
        lowest, highest = age_lead(first, second)
        for pairs in (((first, second), (other, other)), ((other, other), (second, first))):
            least, most = lag_lead(*pairs)
            assert lowest < -ROUNDING or least >= -TOLERANCE
            assert highest > ROUNDING or most <= TOLERANCE
    assert age_lead(constant, first)[0] >= -ROUNDING


def test_the_formula_by_name():
    one = "exponential(rate=1)"
    found = values("second-order", larger="constant(rate=1)", smaller=one, other=one)
    gain = -math.expm1(-1) - 0.5
    assert found["as downloads", "freshness_gain"] == pytest.approx(gain, abs=TOLERANCE)
    # As updates: G_U uniform on (0, 1), of which an exponential age is exceeded with chance exp(-1) by constant ones.
    assert found["as updates", "freshness_gain"] == pytest.approx(0.5 - math.exp(-1), abs=TOLERANCE)
    assert found["as downloads", "lowest_lead"] == pytest.approx(0, abs=TOLERANCE)
    with pytest.raises(InputError, match=r"smaller: a mean of 0\.5 beside one of 1 \(laws of the same rate\)"):
        compute("second-order", larger="constant(rate=1)", smaller="constant(rate=2)", other="constant(rate=1)")

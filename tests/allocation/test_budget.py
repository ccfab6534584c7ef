"""One solver for all budgets: what it spends, and on what where rates jump."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.allocation import allocate, rates_by
from replnet.allocation.budget import at_price, best_rates, inverse_gain, log_gain, spend
from replnet.allocation.orders import FIXED, ORDERS
from replnet.lab.papers.staleness import cost
from replnet.laws import Constant, Exponential
from replnet.text import FieldError


def test_a_jump_is_filled():
    """At t = 1 the first begins to take everything between 0 and 2: it gets what is left over."""
    rates, t = spend(3.0, lambda t: np.array([2.0 if t >= 1 else 0.0, np.exp(t) / np.e * 2]))
    assert t == pytest.approx(1, abs=1e-12)
    assert rates == pytest.approx([1, 2], rel=1e-12)


def test_what_nobody_can_use_is_shared_in_proportion():
    rates, _ = spend(8.0, lambda t: np.array([1.0, 3.0]) * (1 - np.exp(-max(t, 0.0))), farthest=100.0)
    assert rates == pytest.approx([2, 6])


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("goal", ["freshness", "age"])
def test_gains_are_inverted_over_all_magnitudes(name, goal):
    log_r = np.linspace(-160.0, 160.0, 2001)
    found = inverse_gain(ORDERS[name], goal)(log_gain(ORDERS[name], goal, log_r))
    assert np.abs(found - log_r).max() < 1e-12


@settings(max_examples=30)
@given(
    st.lists(st.tuples(st.floats(0.01, 100), st.floats(0.01, 100)), min_size=1, max_size=9),
    st.floats(1e-3, 1e3),
    st.sampled_from(list(ORDERS)),
    st.sampled_from(["freshness", "age"]),
)
def test_best_rates_have_one_price(sources, budget, name, goal):
    worth, changes = np.array(sources).T
    found = best_rates(ORDERS[name], goal, worth, changes, budget)
    assert found.rates.sum() == pytest.approx(budget, rel=1e-12)
    again = at_price(ORDERS[name], goal, worth, changes, found.price)
    # Of what is almost given up the price says no more: it has lost the digits that tell rates apart.
    given_up = found.price * changes / worth > 1 - 1e-9 if goal == "freshness" else again <= 1e-6 * budget
    sure = ~given_up
    assert found.rates[sure] == pytest.approx(again[sure], rel=1e-6)


def test_small_budgets_are_said_by_logarithms():
    """A billionth of the change rate: the price is exp(-10^9) below its largest."""
    assert best_rates(FIXED, "freshness", np.ones(2), np.array([1.0, 2.0]), 1e-9).rates == pytest.approx([1e-9, 0])


def test_a_source_that_gains_evenly_gets_what_is_left_over():
    """Updates at constant intervals of 1/2 gain the same from one download more up to 2 per unit of time.

    Scaling all rates to the budget instead would leave this mean staleness 0.03 higher.
    """
    updates, queries = [Constant(rate=2), Exponential(rate=0.5)], [1.0, 1.0]
    best = allocate(updates, queries, 1.5, "1", "source").rates
    assert 0 < best[0] < 2
    left = cost(best.tolist(), updates, queries, "1", "source")
    others = [cost([rate, 1.5 - rate], updates, queries, "1", "source") for rate in np.linspace(0, 1.5, 301).tolist()]
    assert left <= min(others) + 1e-12


def test_a_policy_that_is_none():
    shapes = [(Exponential(rate=1.0), np.arange(2))]
    with pytest.raises(FieldError, match=r"policy: 'freshnes' is unknown \(did you mean freshness\?\)"):
        rates_by("freshnes", shapes, np.ones(2), np.ones(2), 1.0, "constant")

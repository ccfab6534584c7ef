"""Optimal crawling: the algorithms against another solver, against their optimality conditions, and the paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper import values

from replnet.allocation import (
    POLICIES,
    Pages,
    optimal_fixed_rates,
    optimal_random_rates,
    optimal_shares,
    optimal_slot_shares,
)
from replnet.allocation.orders import purely_random
from replnet.lab.papers.crawl import fixed_freshness, order_freshness, random_freshness, slotted_freshness
from replnet.text.errors import FieldError


@dataclass(frozen=True)
class Gain:
    """Freshness of a page at rate p, and its derivative in p; d is how often the page changes."""

    fresh: Callable
    slope: Callable


RANDOM = Gain(lambda p, d: p / (p + d), lambda p, d: d / (p + d) ** 2)
DISCRETE = Gain(lambda p, d: p / (p + d - p * d), lambda p, d: d / (p + d - p * d) ** 2)
FIXED = Gain(lambda p, d: p / d * -np.expm1(-d / p), lambda p, d: -np.expm1(-d / p) / d - np.exp(-d / p) / p)
OPTIMA = {  # with what its rates are worth, by ours and page by page
    "algorithm 2": (optimal_random_rates, random_freshness, RANDOM),
    "fixed intervals": (optimal_fixed_rates, fixed_freshness, FIXED),
    "algorithm 1": (lambda pages, _: optimal_shares(pages), slotted_freshness, DISCRETE),
}
KINDS = ("plain", "ties", "equal ratios", "zero weights", "zero changes", "heavy", "one page", "tiny", "huge", "apart")


def case(number: int) -> tuple[Pages, float]:
    """Return the pages and the budget of one of 200 random inputs, with what the algorithms could stumble over."""
    rng, kind = np.random.default_rng(number), KINDS[number % len(KINDS)]
    n = 1 if kind == "one page" else round(10 ** rng.uniform(math.log10(2), 3))
    u, d = rng.random(n) + 1e-3, rng.random(n) + 1e-3
    budget = n * 10 ** rng.uniform(-2, 2)
    match kind:
        case "ties":
            u, d = rng.integers(1, 4, n).astype(float), rng.integers(1, 4, n).astype(float)
        case "equal ratios":
            u = 3 * d
        case "zero weights":
            u[rng.random(n) < 0.5] = 0
            u[0] = 1
        case "zero changes":
            d[rng.random(n) < 0.5] = 0
        case "heavy":
            u = rng.zipf(2.0, n).astype(float)
        case "tiny":
            budget = 1e-7
        case "huge":
            budget = 1e7 * n
        case "apart":
            u, d = 10 ** rng.uniform(-4, 4, n), 10 ** rng.uniform(-2, 2, n)
    return Pages(u, d), budget


@pytest.mark.parametrize("name", OPTIMA)
def test_nothing_is_more_than_1e_12_better(name):
    """A concave function lies below its tangent, so no rates of total R are better by more than
    R max(slopes) - rates @ slopes."""
    optimum, freshness, gain = OPTIMA[name]
    for number in range(200):
        pages, budget = case(number)
        if name == "algorithm 1":  # of pages that change with a chance in each of its slots
            pages, budget = Pages(pages.utilities, pages.changes / (1.01 * pages.changes.max() or 1)), 1.0
        rates = optimum(pages, budget).rates
        gaining = (pages.utilities > 0) & (pages.changes > 0)
        assert rates.sum() == pytest.approx(budget if gaining.any() else 0, rel=1e-12)
        assert not rates[~gaining].any()
        u, d, p = pages.utilities[gaining], pages.changes[gaining], np.maximum(rates[gaining], 1e-300)
        fresh = pages.utilities[pages.changes == 0].sum() + u @ gain.fresh(p, d)
        assert freshness(pages, rates) == pytest.approx(fresh / pages.utilities.sum(), rel=1e-12)
        slopes = u * gain.slope(np.maximum(p, 1e-300 * d), d)
        assert budget * slopes.max(initial=0) - p @ slopes <= 1e-12 * u.sum()


@pytest.mark.parametrize("gain", [RANDOM, DISCRETE, FIXED])
def test_slopes_are_derivatives(gain):
    p, d, step = np.geomspace(0.1, 10, 20), np.linspace(0.1, 1, 20), 1e-6
    assert gain.slope(p, d) == pytest.approx((gain.fresh(p + step, d) - gain.fresh(p - step, d)) / 2 / step, rel=1e-6)


@pytest.mark.parametrize("name", OPTIMA)
@pytest.mark.parametrize("budget", [0.5, 50.0])
def test_pages_below_one_threshold_and_no_others_are_not_refreshed(name, budget):
    """Ratios are compared as fractions, without rounding."""
    rng = np.random.default_rng(2)
    pages = Pages(rng.random(1000), rng.random(1000))
    found = OPTIMA[name][0](pages, budget)
    ratios = [Fraction(u) / Fraction(d) for u, d in zip(pages.utilities.tolist(), pages.changes.tolist(), strict=True)]
    never = [ratio for ratio, rate in zip(ratios, found.rates, strict=True) if rate == 0]
    ever = [ratio for ratio, rate in zip(ratios, found.rates, strict=True) if rate > 0]
    assert len(never) > 10
    assert len(ever) > 10
    assert max(never) <= found.price < min(ever)


def test_an_uneven_order_is_worth_the_mean_over_its_intervals():
    """Page 0 at intervals of 1 and 3 slots, round the end; page 1 likewise, page 2 never."""
    pages = Pages([1.0, 0.0, 1.0], [1.0, 1.0, 1.0])
    expected = (2 - math.exp(-1) - math.exp(-3)) / 4 / 2
    assert order_freshness(pages, [1, 0, 0, 1], 1.0) == pytest.approx(expected, rel=1e-14)


def decayed_freshness(pages: Pages, p: np.ndarray) -> float:
    """(5) by utility."""
    u, d, q = pages.utilities, pages.changes, -np.expm1(-pages.changes)
    return float(u @ (q / d * p / (p + q - p * q))) / float(u.sum())


def test_decay_in_discrete_time_is_not_what_algorithm_2_optimises():
    """Remark 4 has it that Algorithm 2 finds that optimum. With few pages it loses up to some per cent."""
    pages = Pages([10.0, 1.0], [3.0, 0.1])
    right, said = optimal_slot_shares(pages).rates, optimal_random_rates(pages, 1.0).rates
    best = max(decayed_freshness(pages, np.array([share, 1 - share])) for share in np.linspace(0, 1, 2001))
    assert decayed_freshness(pages, right) == pytest.approx(best, abs=1e-7)
    assert decayed_freshness(pages, right) > best - 1e-15
    assert decayed_freshness(pages, said) < decayed_freshness(pages, right) * 0.999


def test_decay_is_the_sum_over_ages():
    """(5) of the module: the age is a geometric number of slots and part of one."""
    d, p = 0.7, 0.3
    whole_slots = sum(p * (1 - p) ** j * math.exp(-d * j) for j in range(200))
    part = -math.expm1(-d) / d
    assert decayed_freshness(Pages([2.0], [d]), np.array([p])) == pytest.approx(whole_slots * part, rel=1e-14)
    assert purely_random(p).freshness(d, p) == pytest.approx(whole_slots * part, rel=1e-14)


positive = st.floats(1e-3, 1e3)


@given(pages=st.lists(st.tuples(positive, positive), min_size=1, max_size=20), budget=st.floats(1e-6, 1e6))
@settings(max_examples=60, deadline=None)
def test_no_policy_is_above_an_optimum(pages, budget):
    both = Pages(*np.transpose(pages))
    for policy in POLICIES.values():
        rates = policy(both, budget)
        assert rates.sum() == pytest.approx(budget, rel=1e-9)
        for optimum, freshness, _ in list(OPTIMA.values())[:2]:
            assert freshness(both, rates) <= freshness(both, optimum(both, budget).rates) + 1e-12


def test_freshness_at_the_ends_of_the_scale():
    pages = Pages([1.0, 1.0], [1e-30, 1e30])
    assert random_freshness(pages, [1, 1]) == fixed_freshness(pages, [1, 1]) == 0.5
    assert random_freshness(pages, [0, 0]) == fixed_freshness(pages, [0, 0]) == 0
    assert fixed_freshness(Pages([1.0], [1e-9]), [1.0]) == pytest.approx(1 - 5e-10, rel=1e-15)


def test_a_page_that_changes_in_every_slot():
    """Its freshness is p: it is worth refreshing until the others gain more from a slot."""
    pages = Pages([1.0, 2.0], [1.0, 0.5])
    share = optimal_shares(pages).rates
    # The other one's slope u d / (p + d - p d)^2 = 1 / (p / 2 + 1 / 2)^2 is 1 at p = 1: it gets everything.
    assert share == pytest.approx([0, 1], abs=1e-12)
    # At u = 1 its slope 0.5 / (p / 2 + 1 / 2)^2 is 1 where p = sqrt(2) - 1.
    share = optimal_shares(Pages([1.0, 1.0], [1.0, 0.5])).rates
    assert share == pytest.approx([2 - math.sqrt(2), math.sqrt(2) - 1], rel=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Pages([1, -1], [1, 1]), "utilities[2]: -1 is out of range"),
        (lambda: Pages([1, 1], [1, math.nan]), "changes[2]: nan is out of range"),
        (lambda: Pages([1, 1], [math.inf, 1]), "changes[1]: inf is out of range"),
        (lambda: Pages([1, 1], [1]), "changes: 1 numbers for 2 pages"),
        (lambda: Pages([], []), "utilities: not a plain list of numbers"),
        (lambda: Pages(["a"], [1]), "utilities: not a plain list of numbers"),
        (lambda: Pages([0, 0], [1, 1]), "utilities: all are 0"),
        (lambda: optimal_random_rates(Pages([1], [1]), 0), "budget: 0 is not above 0"),
        (lambda: optimal_fixed_rates(Pages([1], [1]), -1.0), "budget: -1.0 is not above 0"),
        (lambda: POLICIES["uniform"](Pages([1], [1]), math.nan), "budget: nan is not finite"),
        (lambda: random_freshness(Pages([1], [1]), [1, 2]), "rates: 2 numbers for 1 pages"),
        (lambda: optimal_shares(Pages([1], [1.5])), "changes[1]: 1.5 is above 1"),
        (lambda: order_freshness(Pages([1], [1]), [0, 1], 1.0), "order: names pages 0 to 1"),
        (lambda: order_freshness(Pages([1], [1]), [0.5], 1.0), "order: not a plain list of pages"),
    ],
)
def test_errors_name_the_field(make, words):
    with pytest.raises(FieldError) as caught:
        make()
    assert str(caught.value).startswith(words)


def test_the_objective_of_problem_1_is_where_its_recursion_ends():
    """Fresh after a slot: refreshed in it, or fresh before and not changed in it (the paper's x_t)."""
    chances, shares, fresh = np.array([0.9, 0.5, 0.05]), np.array([3, 2, 1]) / 6, np.zeros(3)
    found = values("crawl-slots", rates=chances.tolist(), weights=[3, 2, 1])
    for _ in range(2000):
        fresh = (1 - shares) * (1 - chances) * fresh + shares
    assert found["utility proportional", "freshness"] == pytest.approx(float(fresh @ shares), rel=1e-12)

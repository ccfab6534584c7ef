"""Sync: freshness and age by order and by allocation, every printed value by the equations, theorems as properties.

What the paper prints is compared with the precision of the print: 0.63 is anything from 0.625 to 0.635.
Where its own equations say something else, the equations' value is asserted, and the printed one denied.
"""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paper import values
from scipy.integrate import quad
from scipy.special import hyp1f1

from replnet.ages.information_age import direct
from replnet.allocation import optimal
from replnet.allocation.orders import FIXED, PURELY_RANDOM, RANDOM, purely_random, random_order
from replnet.allocation.orders import ORDERS as BY_NAME
from replnet.lab.named_formulas import arguments
from replnet.lab.papers.sync import (
    age,
    benefit,
    best_division,
    fresh_at,
    freshness,
    gamma_proportional_age,
    gamma_uniform_age,
    gamma_uniform_freshness,
    largest_ratio,
    mean_interval,
    proportional,
    proportional_average,
    uniform_average,
)
from replnet.laws import Constant, Exponential, FieldError, Gamma, Lattice, Lognormal, Pareto, Uniform, windowed
from replnet.text.errors import InputError

ORDERS = tuple(BY_NAME.values())
FINITE = {
    **{random_order(n): n for n in (1, 2, 50)},
    **{purely_random(share): share for share in (1.0, 0.5, 0.05)},
}
RATIOS = (1e-9, 1e-4, 0.03, 0.2499999, 0.25, 0.3, 1.0, 3.0, 40.0, 1e4)
ratios = st.floats(-6, 4).map(lambda x: 10.0**x)
some_order = st.sampled_from((*ORDERS, *FINITE))
# Ties, rates that differ by six orders of magnitude, and zero.
some_positive = st.one_of(st.just(1.0), st.floats(-3, 3).map(lambda x: 10.0**x))
some_rates = st.lists(st.one_of(st.just(0.0), some_positive), min_size=1)


def intervals(order) -> tuple[np.ndarray, np.ndarray]:
    """W as points and weights, from its definition: the equations of `orders` (1) to (3), not its formulas."""
    x, w = np.polynomial.legendre.leggauss(60)
    if order == FIXED or (FINITE.get(order) == 1.0 and "share" in order.name):
        return np.ones(1), np.ones(1)
    if order == RANDOM:
        low = (x + 1) / 2
        return np.concatenate([low, 2 - low]), np.concatenate([w * low, w * low]) / 2
    if "random order" in order.name:
        n = FINITE[order]
        step = np.arange(-n + 1, n)
        return 1 + step / n, (n - np.abs(step)) / n**2
    share = FINITE[order]
    tries = np.arange(1, math.ceil(80 / -math.log1p(-share)))
    return tries * share, share * (1 - share) ** (tries - 1.0)


def of_intervals(order, r) -> tuple[float, float]:
    """Return freshness and age: expected fresh time and aged time of an interval W, over its mean of 1 (Sync eq. 3).

    t after a synchronisation the copy is fresh with chance exp(-r t); if not, that instant adds to the age at
    all that follow, so the aged time is the integral of (1 - exp(-r t)) (W - t).
    """
    w, chance = intervals(order)
    return chance @ (w * hyp1f1(1, 2, -r * w)), chance @ (r * w**3 / 6 * hyp1f1(1, 4, -r * w))


@pytest.mark.parametrize("order", [FIXED, RANDOM, *FINITE], ids=str)
@pytest.mark.parametrize("r", RATIOS)
def test_freshness_and_age_are_those_of_the_interval(order, r):
    fresh, aged = of_intervals(order, r)
    assert order.freshness_at(r) == pytest.approx(fresh, rel=1e-11)
    assert order.age_at(r) == pytest.approx(aged, rel=1e-10)


@pytest.mark.parametrize("order", [*ORDERS, *FINITE], ids=str)
def test_limits(order):
    assert (order.freshness_at(0.0), order.age_at(0.0)) == (1.0, 0.0)
    # Never changes; never synchronised; neither.
    np.testing.assert_array_equal(order.freshness([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]), [1, 0, 1])
    np.testing.assert_array_equal(order.age([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]), [0, np.inf, 0])
    assert order.freshness_at(1e200) == pytest.approx(0, abs=1e-100)
    # The age by then is that of the interval: E[W^2] / 2.
    assert order.age_at(1e200) == pytest.approx(order.moments[2])


@settings(max_examples=60, deadline=None)
@given(some_order, ratios)
def test_gains_are_derivatives(order, r):
    """dF/df = K / lambda and -dA/df = J / lambda^2, by central differences of second order at rate 1."""
    f, step = 1 / r, 1e-4 / r
    fresh = (order.freshness(1.0, f + step) - order.freshness(1.0, f - step)) / (2 * step)
    age = (order.age(1.0, f - step) - order.age(1.0, f + step)) / (2 * step)
    # Differences lose what they divide by: rounding of values of size 1 (freshness) and r (age), over the step.
    assert order.freshness_gain(r) == pytest.approx(fresh, rel=1e-6, abs=1e-15 / step)
    assert order.age_gain(r) == pytest.approx(age, rel=1e-6, abs=1e-15 * float(order.age(1.0, f)) / step)


@settings(max_examples=60, deadline=None)
@given(ratios, st.integers(1, 200))
def test_orders_from_best_to_worst(r, n):
    """Fixed before random before purely random; and random ones the better the fewer elements there are."""
    for ranked in (
        (FIXED, random_order(n), random_order(n + 1), RANDOM, PURELY_RANDOM),
        (FIXED, purely_random(1 / n), purely_random(1 / (n + 1)), PURELY_RANDOM),
    ):
        for better, worse in pairwise(ranked):
            assert better.freshness_at(r) >= worse.freshness_at(r) - 1e-14
            assert better.age_at(r) <= worse.age_at(r) + 1e-14


def test_ratio_for_a_freshness():
    for name, order in BY_NAME.items():
        for target in (1e-6, 0.3, 0.8, 0.999999):
            assert order.freshness_at(largest_ratio(target, name)) == pytest.approx(target, rel=1e-9)


def gamma_by_quadrature(r: float, delta: float) -> tuple[float, float]:
    """E[exp(-L u)] of a gamma law is a power; freshness and age are its integrals over u in [0, 1]."""
    s = delta**2
    edges = np.unique([0, *np.geomspace(1e-12, 1, 60)])
    x, g = np.polynomial.legendre.leggauss(40)
    u = edges[:-1, None] + np.diff(edges)[:, None] * (x + 1) / 2
    weight = np.diff(edges)[:, None] * g / 2
    power = -np.log1p(u * r * s) / s if s > 0 else -u * r
    return float((np.exp(power) * weight).sum()), float((-np.expm1(power) * (1 - u) * weight).sum())


@pytest.mark.parametrize("delta", [0, 1e-5, 0.3, *np.sqrt([0.5, 0.5 + 1e-9]), 0.85, 0.87, 1 - 1e-9, 1, 1 + 1e-7, 3, 30])
def test_table_3_everywhere(delta):
    """At delta = 1 and delta^2 = 1/2, where the printed formulas are 0 / 0, and around; the age from 1 on is another.

    There the printed age of the proportional policy is negative, and the integral of 1 / lambda diverges.
    """
    for r in (0, 1e-8, 1e-3, 0.1, 0.39, 0.41, 1, 3, 30, 1e4):
        fresh, aged = gamma_by_quadrature(r, delta)
        assert gamma_uniform_freshness(r, delta) == pytest.approx(fresh, rel=1e-10)
        assert gamma_uniform_age(r, delta) == pytest.approx(aged, rel=1e-10)
        assert delta < 1 or gamma_proportional_age(r, delta) == (math.inf if r else 0)


@pytest.mark.parametrize("delta", [0.3, 0.9, 1.0, 2.0])
def test_table_3_is_the_average_over_a_gamma_law(delta):
    law, f = Gamma(shape=1 / delta**2, mean=2.0), 3.0
    average, share = uniform_average(law, f), proportional_average(law, f)
    assert average.freshness == pytest.approx(gamma_uniform_freshness(2 / f, delta), rel=1e-12)
    assert average.age == pytest.approx(gamma_uniform_age(2 / f, delta) / f, rel=1e-12)
    assert share.freshness == FIXED.freshness_at(2 / f)
    assert share.age == pytest.approx(gamma_proportional_age(2 / f, delta) / f, rel=1e-11)


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_averages_over_other_laws(order):
    values, chances = np.array([1.0, 2.0, 3.0]), np.array([0.5, 0.3, 0.2])
    lattice = uniform_average(Lattice(values=[1, 2, 3], weights=[0.5, 0.3, 0.2]), 2.0, order)
    assert lattice.freshness == pytest.approx(chances @ order.freshness(values, 2.0), rel=1e-12)
    assert lattice.age == pytest.approx(chances @ order.age(values, 2.0), rel=1e-12)
    flat = uniform_average(Uniform(1.0, 3.0), 2.0, order)
    assert flat.freshness == pytest.approx(quad(lambda x: order.freshness(x, 2.0) / 2, 1, 3)[0], rel=1e-12)
    assert flat.age == pytest.approx(quad(lambda x: order.age(x, 2.0) / 2, 1, 3)[0], rel=1e-12)
    same = uniform_average(Constant(rate=0.5), 2.0, order)  # every rate is 2
    assert same == pytest.approx((order.freshness_at(1.0), order.age_at(1.0) / 2), rel=1e-12)


def test_mean_interval_between_changes_is_infinite_where_slow_elements_are_common():
    for law in (Exponential(rate=1.0), Gamma(shape=1, mean=2.0), Gamma(shape=0.4, mean=1.0), Uniform(0.0, 1.0)):
        assert mean_interval(law) == math.inf
        assert proportional_average(law, 1.0).age == math.inf
    assert mean_interval(Pareto(3.0, rate=1.0)) == math.inf
    assert mean_interval(Uniform(1.0, 3.0)) == pytest.approx(math.log(3) / 2, rel=1e-12)
    assert mean_interval(Lognormal(1.0, mean=1.0)) == pytest.approx(math.e, rel=1e-12)
    assert mean_interval(Gamma(shape=1.1, mean=1.0)) == pytest.approx(11, rel=1e-10)


@pytest.mark.parametrize("parts", [(9, 1), (1, 1, 4), (2, 3, 5)])
def test_no_other_division_is_better(parts):
    for budget in range(9):
        others = (pair for pair in product(range(budget + 1), repeat=len(parts)) if sum(pair) == budget)
        assert benefit(parts, best_division(parts, budget)) == max(benefit(parts, other) for other in others)


def gains(rates: np.ndarray, f: np.ndarray, order, goal: str) -> np.ndarray:
    """Marginal gain of every element that changes; at no frequency it is the supremum."""
    rates, f = rates[rates > 0], f[rates > 0]
    r = np.divide(rates, f, out=np.full(f.shape, np.inf), where=f > 0)
    if goal == "freshness":
        return np.where(f > 0, order.freshness_gain(np.where(f > 0, r, 1.0)), 1.0) / rates
    return np.where(f > 0, order.age_gain(np.where(f > 0, r, 1.0)) / rates**2, np.inf)


@settings(max_examples=150, deadline=None)
@given(
    some_rates,
    st.one_of(st.floats(-6, 6), st.sampled_from([-75.0, -30.0, 30.0, 75.0])),
    some_order,
    st.sampled_from(["freshness", "age"]),
)
def test_optimal_meets_the_conditions_that_make_it_so(rates, log_budget, order, goal):
    """Budget spent; equal gains where something is spent, none larger where nothing is: exact for concave gains."""
    budget, rates = 10.0**log_budget, np.array(rates)
    best = optimal(rates, budget, order, goal)
    if max(rates) == 0:
        assert not best.any()
        return
    assert best.mean() == pytest.approx(budget, rel=1e-13)
    assert (best[rates == 0] == 0).all()
    gain = gains(rates, best, order, goal)
    active = best[rates > 0] > 0
    level = gain[active].max()
    # 1 - K cancels below r = 1 and J next to its series: four digits of sixteen.
    np.testing.assert_allclose(gain[active], level, rtol=1e-12)
    assert (gain[~active] <= level * (1 + 1e-12)).all()
    if goal == "age":
        assert active.all()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(some_positive, st.floats(0.01, 10)), min_size=1), st.floats(-3, 3), st.sampled_from(ORDERS))
def test_uniform_never_below_proportional_and_optimal_never_below_either(bars, log_budget, order):
    """Sync Thm 3 and 4, for weights as well, and every order."""
    (rates, weights), budget = np.array(bars).T, 10.0**log_budget
    even, share = np.full(rates.shape, budget), proportional(rates, budget, weights)
    fresh, young = (optimal(rates, budget, order, goal, weights) for goal in ("freshness", "age"))
    rounding = 1 + 1e-12
    worst, middle, best = (freshness(rates, one, order, weights) for one in (share, even, fresh))
    assert worst <= middle * rounding <= best * rounding**2
    best, middle, worst = (age(rates, one, order, weights) for one in (young, even, share))
    assert best <= middle * rounding <= worst * rounding**2
    for one in (even, share, fresh, young):
        assert np.average(one, weights=weights) == pytest.approx(budget, rel=1e-12)


def test_elements_that_never_change_break_theorems_3_and_4():
    """Under the proportional policy they cost nothing and stay fresh: what no limit of slow elements does."""
    for slow, better in ((0.0, True), (1e-9, False)):
        rates = np.array([slow, 1.0])
        share, even = proportional(rates, 1.0), np.ones(2)
        assert (freshness(rates, share) > freshness(rates, even)) == better
        assert (age(rates, share) < age(rates, even)) == better


def test_weights_stand_for_copies():
    few, weights, many = np.array([1.0, 4.0]), np.array([2.0, 3.0]), np.array([1.0, 1.0, 4.0, 4.0, 4.0])
    one, each = optimal(few, 2.0, weights=weights), optimal(many, 2.0)
    np.testing.assert_allclose(one, each[[0, 2]], rtol=1e-12)
    assert freshness(few, one, weights=weights) == pytest.approx(freshness(many, each), rel=1e-14)


def test_without_a_budget_only_what_never_changes_is_fresh():
    rates = np.array([1.0, 1.0, 2.0, 0.0])
    assert freshness(rates, optimal(rates, 0.0)) == 0.25
    assert age(rates, optimal(rates, 0.0, goal="age")) == math.inf


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: optimal(np.ones(1), -1.0), "frequency: -1"),
        (lambda: optimal(np.ones(1), math.inf), "frequency: inf"),
        (lambda: optimal(np.ones(1), 1e-90, goal="age"), "frequency: 1e-90 is out of range"),
        (lambda: optimal(np.ones(1), 1.0, goal="lag"), "goal: 'lag'"),
        (lambda: FIXED.freshness(-1.0, 1.0), "rate, frequency"),
        (lambda: random_order(0), "elements: 0"),
        (lambda: purely_random(1.5), "share: 1.5"),
        (lambda: gamma_uniform_age(1.0, -1.0), "spread"),
        (lambda: uniform_average(Uniform(1.0, 3.0), 0.0), "frequency"),
    ],
)
def test_errors_name_the_field(make, says):
    with pytest.raises(FieldError, match=says):
        make()


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("allocation", {"frequency": 1, "rates": []}, "rates: shape"),
        ("allocation", {"frequency": 1, "rates": [1.0, -2.0]}, r"rates\[2\]: -2"),
        ("allocation", {"frequency": 1, "rates": [1.0, 2.0], "weights": [1.0]}, "weights: 1 for 2"),
        ("allocation", {"frequency": 1, "rates": [1.0, 2.0], "weights": [1.0, -1.0]}, r"weights\[2\]: -1"),
        ("allocation", {"frequency": -1, "rates": [1.0]}, "frequency: -1"),
        ("largest-ratio", {"freshness": 1.0}, "freshness"),
        ("window", {"changes": 1, "synchronisations": 1, "window": 1, "share": 0.5}, r"share: 0\.5 in all of the day"),
    ],
)
def test_formulas_refuse_what_cannot_be(name, given, says):
    with pytest.raises(InputError, match=says):
        arguments({"name": name, **given})


DAYS = [(1.0, 1.0, 0.25, 1.0), (0.4, 2.5, 0.1, 0.7), (3.0, 0.3, 0.5, 0.9), (1.3, 0.75, 0.6, 0.2), (2.0, 4.0, 1.0, 1.0)]


@pytest.mark.parametrize(("changes", "often", "window", "share"), DAYS)
def test_freshness_at_a_time_of_the_day_by_walking_back(changes, often, window, share):
    """From the events of 2,000 elements at even phases over the days before, none of which is older than that."""
    phase = (np.arange(2000) + 0.5) / 2000
    u = (np.arange(-60, 8) + phase[:, None]) / often
    day, v = np.floor(u), u % 1
    late = window + (v - share) * (1 - window) / (1 - share) if share < 1 else window
    times = day + np.where(v < share, v * window / share, late)
    for time in (0.0, 0.07, 0.3, 0.55, 0.99):
        age = time - np.where(times <= time, times, -np.inf).max(axis=1)
        assert fresh_at(time, changes, often, window, share) == pytest.approx(np.exp(-changes * age).mean(), abs=2e-3)


@pytest.mark.parametrize(("changes", "often", "window", "share"), DAYS)
def test_the_mean_over_the_day_is_that_of_the_intervals(changes, often, window, share):
    of = values("window", changes=changes, synchronisations=often, window=window, share=share)
    found = {group: value for (group, _), value in of.items()}
    downloads = windowed(window, 1.0, share, rate=often)
    assert found["whole day"] == pytest.approx(direct(downloads).freshness(Exponential(rate=changes)).value, rel=1e-10)
    if window < 1:
        whole = window * found["in the window"] + (1 - window) * found["outside"]
        assert found["whole day"] == pytest.approx(whole, rel=1e-14)

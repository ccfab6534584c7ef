"""Staleness: many sources and many replicas, and budgets shared among sources."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.ages.information_age import direct
from replnet.ages.penalties import staleness
from replnet.allocation import allocate
from replnet.lab.named_formulas import compute
from replnet.lab.papers.staleness import (
    all_fresh,
    any_fresh,
    budget_for,
    cost,
    extra_bandwidth,
    in_turns,
    independently,
    penalty_of,
    query,
)
from replnet.laws import Constant, Exponential, Gamma, Pareto, Uniform

random_cases = settings(max_examples=25, deadline=None, derandomize=True)
rates = st.lists(st.floats(0.05, 20), min_size=2, max_size=6)
SOURCES = [Exponential(rate=0.3), Pareto(3, rate=2), Gamma(2, rate=5), Constant(rate=0.8), Uniform(low=0.1, high=1)]
QUERIES = [0.3, 0.1, 0.25, 0.05, 0.3]


def constants(rate):
    return Constant(rate=rate)


def penalty_left(found, updates, q, w, kind="update"):
    return cost(found.rates.tolist(), updates, q, w, kind)


def starved(found):
    return np.flatnonzero(np.equal(found.rates, 0)).tolist()


def test_fresh_sources_together():
    stale = [staleness(direct(Constant(rate=rate)), Exponential(rate=2)) for rate in (1.0, 2.0, 5.0)]
    p = np.array([one.value for one in stale])
    assert any_fresh(stale).value == pytest.approx(1 - p.prod(), rel=1e-14)
    assert all_fresh(stale).value == pytest.approx((1 - p).prod(), rel=1e-14)
    assert ("VI-C" in all_fresh(stale).source, all_fresh(stale).kind) == (True, "exact")


@random_cases
@given(rates, st.floats(0.1, 50), st.data())
def test_the_square_root_law_is_the_optimum(mu, budget, data):
    """Eq. 71 and 72 against the general solution, in rates, penalty and price."""
    q = data.draw(st.lists(st.floats(0.01, 1), min_size=len(mu), max_size=len(mu)))
    updates, roots = [Exponential(rate=rate) for rate in mu], np.sqrt(np.multiply(mu, q))
    found, left = allocate(updates, q, budget, "1"), roots.sum() ** 2 / (2 * budget)
    assert found.rates == pytest.approx(budget * roots / roots.sum(), rel=1e-9)
    assert penalty_left(found, updates, q, "1") == pytest.approx(left, rel=1e-12)
    assert found.price == pytest.approx(left / budget, rel=1e-9)
    # Eq. 73 is eq. 72 with equal shares.
    even = penalty_left(allocate(updates, [1 / len(mu)] * len(mu), budget, "1"), updates, [1 / len(mu)] * len(mu), "1")
    assert budget_for(even, float(np.sqrt(mu).mean()), len(mu)) == pytest.approx(budget, rel=1e-9)


MEASURES = ["1", "x", "log(1+x)", "threshold(0.8)", "min(x, 1)"]


@pytest.mark.parametrize("budget", [0.4, 4.0, 40.0])
@pytest.mark.parametrize(
    ("kind", "w"), [*itertools.product(["source", "update"], MEASURES), ("update", "exp(-x)"), ("update", "1/(1+x)")]
)
def test_rates_have_one_price(kind, w, budget):
    """Costs are convex in each rate: none is better if no rate saves more than the price, or costs less to lower."""
    found, h = allocate(SOURCES, QUERIES, budget, w, kind), 1e-5 * budget
    assert sum(found.rates) == pytest.approx(budget, rel=1e-12)
    least = penalty_left(found, SOURCES, QUERIES, w, kind)
    for step in np.eye(5) * h:
        more = cost((found.rates + step).tolist(), SOURCES, QUERIES, w, kind)
        assert (least - more) / h <= found.price * (1 + 1e-4) + 1e-9
        if found.rates @ step > 0:
            less = cost((found.rates - step).tolist(), SOURCES, QUERIES, w, kind)
            assert (less - least) / h >= found.price * (1 - 1e-4) - 1e-9


@random_cases
@given(rates, st.floats(1e-3, 30), st.sampled_from(["1", "x", "log(1+x)", "1/(1+x)", "threshold(1)"]))
def test_the_update_penalty_starves_nobody(mu, budget, w):
    """Theorem 12, in the order of mu where w is above 0."""
    found = allocate([Exponential(rate=rate) for rate in mu], [1.0] * len(mu), budget, w)
    assert not starved(found)
    ordered = [rate for _, rate in sorted(zip(mu, found.rates, strict=True))]
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(ordered))


def test_who_is_starved():
    """By Theorem 12 nobody under the update penalty, but with w = exp(-x) m(infinity) = q mu is small for slow ones."""
    updates = [Exponential(rate=rate) for rate in (1, 2, 3, 4, 5)]
    assert starved(allocate(updates, [1.0] * 5, 1.0, "exp(-x)")) == [0, 1]
    # Under the source penalty m(infinity) = q E[A_U] for w = 1, which is small for fast ones, and infinite for w = x.
    assert starved(allocate(updates, [0.2] * 5, 5.0, "1", "source")) == [4]
    assert starved(allocate(updates, [0.2] * 5, 5.0, "x", "source")) == []
    # Nor does an update age without a mean starve anybody.
    heavy = [Pareto(1.5, rate=rate) for rate in (1, 2, 3, 4, 5)]
    assert starved(allocate(heavy, [0.2] * 5, 0.5, "1", "source")) == []


def test_budgets_at_the_ends():
    updates = [Exponential(rate=1), Constant(rate=3)]
    nothing = allocate(updates, [1, 1], 0.0, "1", "source")
    assert nothing.rates.tolist() == [0, 0]
    assert penalty_left(nothing, updates, [1, 1], "1", "source") == 2
    assert nothing.price == pytest.approx(1)  # E[A_U] of the exponential
    assert penalty_left(allocate(updates, [1, 1], 0.0, "x"), updates, [1, 1], "x") == math.inf
    assert penalty_left(allocate(updates, [0, 0], 3.0, "x"), updates, [0, 0], "x") == 0
    one = allocate(updates, [0, 1], 3.0, "x")
    assert one.rates == pytest.approx([0, 3])
    huge = allocate(updates, [1, 1], 1e9, "1")
    assert penalty_left(huge, updates, [1, 1], "1") == pytest.approx((1 + math.sqrt(3)) ** 2 / 2e9, rel=1e-9)


@pytest.mark.parametrize("m", [1, 2, 3, 10, 100])
def test_what_independence_costs_in_closed_form(m):
    """Of m constants with free phases X is the least of m uniforms: E[X^n] are Beta functions."""
    updates = Exponential(rate=2)
    missing = extra_bandwidth(replicas=m, rate=2.0, updates=updates, weight="1").value
    assert missing == pytest.approx(2 * m / (m + 1) - 1, abs=1e-8)
    combined = extra_bandwidth(replicas=m, rate=2.0, updates=updates, weight="x").value
    assert combined == pytest.approx(math.sqrt(6 * m**2 / ((m + 1) * (m + 2))) - 1, abs=1e-8)


@pytest.mark.parametrize("kind", ["source", "update"])
@pytest.mark.parametrize("w", ["1", "x", "1/(1+x)"])
def test_independent_replicas_tend_to_poisson(kind, w):
    updates = Pareto(3, rate=2)
    if (kind, w) == ("source", "1/(1+x)"):
        return  # not a measure: no order to tend in
    given = {"rate": 3.0, "updates": updates, "weight": w, "penalty": kind}
    extra = [extra_bandwidth(replicas=m, **given).value for m in (1, 2, 8, 64)]
    limit = extra_bandwidth(replicas="many", **given)
    assert extra[0] == pytest.approx(0, abs=1e-8)
    assert all(a < b < limit.value for a, b in itertools.pairwise(extra))
    assert extra[3] == pytest.approx(limit.value, rel=0.05)
    assert limit.kind == "limit"


def test_penalties_of_replicas_that_share_a_budget():
    updates = Gamma(shape=2, rate=2)
    centrally, apart = in_turns(3.0), independently(constants, 3.0, 5)
    assert penalty_of("update", apart, updates, "1").value == pytest.approx(2 * 5 / (6 * 3.0), rel=1e-9)
    assert penalty_of("source", centrally, updates, "1").value < penalty_of("source", apart, updates, "1").value


def test_queries_for_several_sources():
    """Poisson replicas: the superposition of j has the sum of their rates."""
    updates = [Exponential(rate=1), Exponential(rate=3)]
    rows = [[Exponential(rate=a), Exponential(rate=b)] for a, b in ((1, 2), (2, 1), (4, 4))]
    for ask in (1, 2, 3):
        chances = [
            1 - math.prod(mu / (mu + sum(rows[i][s].rate for i in chosen)) for s, mu in enumerate((1, 3)))
            for chosen in itertools.combinations(range(3), ask)
        ]
        found = query(updates, rows, ask)
        assert found.value == pytest.approx(float(np.mean(chances)), abs=1e-9)
        assert "VI-E" in found.source
    alike = query([Constant(rate=1)] * 3, [[Constant(rate=2)] * 3] * 40, 7)
    stale = staleness(independently(constants, 14.0, 7), Constant(rate=1)).value
    assert alike.value == pytest.approx(1 - stale**3, abs=1e-12)


TWO, SIZES = [Exponential(rate=1)] * 2, {"name": "independent-replicas", "replicas": 2, "updates": "constant(rate=1)"}
REFUSED = [
    (lambda: allocate(TWO, [0.5], 1.0, "1"), "2, one per source"),
    (lambda: allocate(TWO, [0.5, -0.5], 1.0, "1"), "negative"),
    (lambda: allocate(TWO, [0.5, 0.5], -1.0, "1"), "budget"),
    (lambda: allocate(TWO, [0.5, 0.5], 1.0, "1/(1+x)", "source"), "several minima"),
    (lambda: allocate(TWO, [0.5, 0.5], 1.0, "1", "both"), "source or update"),
    (lambda: query(TWO, [TWO], 4), "ask"),
    (lambda: query(TWO, [TWO[:1]], 1), "one per source"),
    (lambda: compute("crawl-rate", sources=1, rate=1, spread=0.5, missing=1, page=1), "spread: "),
    (lambda: compute(**SIZES | {"replicas": 0}, weight="x"), "replicas"),
    (lambda: compute(**SIZES, weight="y"), "weight: "),
    (lambda: compute(**SIZES, weight=True), "weight: "),
    (
        lambda: extra_bandwidth(replicas=1, downloads="pareto(alpha=1.5)", updates=TWO[0], weight="1"),
        "1 in turns",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()

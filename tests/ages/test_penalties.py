"""Weights, and penalties of any information age against closed forms, other integrals and plain sampling."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_of_intervals import FAMILIES, laws
from scipy.integrate import quad

from replnet.ages.clusters.cluster import cluster
from replnet.ages.information_age import best_of, direct, never, pull, with_delay
from replnet.ages.penalties import (
    currency,
    data_age,
    expected_cost,
    lag_tail,
    missing_updates,
    since_first_missed,
    since_last_change,
    source_penalty,
    staleness,
    update_penalty,
)
from replnet.ages.weights import threshold, weight
from replnet.lab.papers.dominance import age_lead
from replnet.laws import Constant, Empirical, Exponential, Gamma, Lattice, Lognormal, Pareto

CLOSE = 1e-9  # relative: panels keep 1e-11 of a tail
# With finite penalties by all weights below.
LIGHT = [lambda rate: Pareto(3.5, rate=rate), *(family for family in FAMILIES if type(family(1.0)) is not Pareto)]
MEASURES = ["1", "x", "x^1.5", "log(1+x)", "threshold(0.4)", "min(x, 1)"]
DECAYING = ["1/(1+x)", "exp(-x)", "x < 0.5"]
random_cases = settings(max_examples=40)


@pytest.mark.parametrize("updates", FAMILIES)
@pytest.mark.parametrize("downloads", FAMILIES)
def test_staleness_is_what_freshness_leaves(downloads, updates):
    """Eq. 36 by its own integral, and P2P eq. 8 by another."""
    copy, law = direct(downloads(1.3)), updates(2.0)
    assert staleness(copy, law).value == pytest.approx(1 - copy.freshness(law).value, abs=1e-9)


@pytest.mark.parametrize("lam", [0.5, 2.0, 30.0])
def test_poisson_updates_have_the_closed_forms_of_the_papers(lam):
    """Eq. 47 and 48."""
    mu, poisson = 2.0, Exponential(rate=2)
    eq47 = 1 / (2 * lam) - 1 / mu - lam * math.expm1(-mu / lam) / mu**2
    assert since_first_missed(direct(Constant(rate=lam)), poisson).value == pytest.approx(eq47, rel=1e-8)
    memoryless = since_first_missed(direct(Exponential(rate=lam)), poisson).value
    assert memoryless == pytest.approx(mu / (lam * (lam + mu)), rel=CLOSE)


@pytest.mark.parametrize("downloads", LIGHT)
@pytest.mark.parametrize("w", ["1", "x", "1/(1+x)", "min(x, 1)"])
def test_both_sides_of_equation_50(downloads, w):
    """mu E[w2(A_D)] by our panels against lambda mu E[w3(D)] = lambda mu integral of w2 (1 - F_D) by QUADPACK."""
    law, updates, w = downloads(1.3), Pareto(3, rate=2), weight(w)
    # In t = log x, where every tail of these ends or is a power.
    cuts = sorted({-40.0, 0.0, 150.0, *np.log(law.breaks)})

    def inner(t):
        return float(math.exp(t) * w.integral(math.exp(t)) * law.tail(math.exp(t)))

    parts = [quad(inner, a, b, epsabs=1e-13, limit=500)[0] for a, b in itertools.pairwise(cuts)]
    expected = 2 * law.rate * math.fsum(parts)
    assert update_penalty(direct(law), updates, w).value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("w", ["x", "1/(1+x)", "log(1+x)", "x^0.5"])
def test_sums_over_values_agree_with_quadrature(w):
    """Equation (2) of the module, against its general integral on a law that is almost the same."""
    values = np.array([0.2, 0.7, 1.9])
    downloads, updates = Lattice(values.tolist(), [1, 2, 1]), Gamma(shape=2, rate=3)
    summed = source_penalty(direct(downloads), updates, w).value
    # Beside a copy so old that it is never the freshest, the same age goes the general way.
    slow = with_delay(direct(Constant(period=1.0)), 1e3)
    assert source_penalty(best_of([direct(downloads), slow]), updates, w).value == pytest.approx(summed, rel=1e-7)


@pytest.mark.parametrize("w", ["x", "1/(1+x)"])
def test_two_long_records_are_taken_in_groups(w):
    stream = np.random.default_rng(73)
    downloads, updates = (Empirical(stream.pareto(1.4, 3000)) for _ in range(2))
    grouped = source_penalty(direct(downloads), updates, w)
    values, weights = downloads.values, downloads.weights / downloads.total
    # Points by the hundred stay below what is grouped.
    exact = np.concatenate([expected_cost(updates, weight(w), part, 2) for part in np.array_split(values, 30)])
    exact = downloads.rate * float(weights @ exact)
    assert 0 < abs(grouped.value - exact) <= grouped.accuracy <= 2e-5 * exact


@random_cases
@given(laws, laws, st.sampled_from(FAMILIES), st.sampled_from(MEASURES + DECAYING))
def test_penalties_follow_second_order_dominance(first, other, family, w):
    """Theorems 8 and 9: larger downloads cost less, larger updates more; of decaying weights only missed updates do."""
    second = family(first.rate)
    lowest, highest = (abs(lead) > 1e-12 for lead in age_lead(first, second))  # but for rounding
    if lowest and highest:
        return
    if lowest:
        first, second = second, first
    for penalty in (update_penalty,) if w in DECAYING else (source_penalty, update_penalty):
        larger, smaller = (penalty(direct(law), other, w).value for law in (first, second))
        assert larger <= smaller * (1 + 1e-8) + 1e-12
    if w in DECAYING:
        return
    larger, smaller = (source_penalty(direct(other), law, w).value for law in (first, second))
    assert larger >= smaller * (1 - 1e-8) - 1e-12


@random_cases
@given(laws, laws, st.floats(0, 3), st.floats(0.01, 2))
def test_currency_grows_from_freshness_to_one(downloads, updates, lag, more):
    copy = direct(downloads)
    fresh, near, far = (currency(copy, updates, at).value for at in (0.0, lag, lag + more))
    assert fresh == pytest.approx(1 - staleness(copy, updates).value, abs=1e-12)
    assert fresh - 1e-9 <= near <= far + 1e-9 <= 1 + 2e-9
    late = source_penalty(copy, updates, threshold(lag)).value
    assert near == pytest.approx(1 - late, abs=1e-12)
    assert near == pytest.approx(1 - lag_tail(copy, updates, lag) * (1 - fresh), abs=1e-12)


def test_means_of_composed_ages():
    """E[M] = mu E[X], and E[X] is known."""
    updates = Constant(rate=2)
    chain = pull(pull(direct(Pareto(3, rate=2)), Pareto(3, rate=2)), Exponential(rate=4))
    assert missing_updates(chain, updates).value == pytest.approx(2 * (1 + 1 + 0.25), rel=1e-8)
    # The age of Pareto 1.4 has the tail (1 + x / 0.2)^-0.4 and no mean; the smallest of three has.
    best = best_of([direct(Pareto(1.4, rate=2))] * 3)
    assert missing_updates(best, updates).value == pytest.approx(2 * 0.2 / 0.2, rel=1e-6)
    assert data_age(with_delay(direct(Constant(rate=2)), 0.5)).value == pytest.approx(0.75, rel=CLOSE)
    assert data_age(direct(Exponential(rate=4))).value == pytest.approx(0.25, rel=CLOSE)
    # All of a cluster of Poisson laws: each stage of the birth chain weighted by those that lack it.
    m, lam, nu = 4, 1.0, 3.0
    stages = [(m - j) / m / ((m - j) * (lam + nu * j / (m - 1))) for j in range(m)]
    group = cluster(m, Exponential(rate=lam), Exponential(rate=nu))
    assert missing_updates(group, updates).value == pytest.approx(2 * sum(stages), rel=1e-8)


def test_sums_of_exponential_ages_in_closed_form():
    """Hypoexponential X, exponential updates: every penalty is a sum of exponentials."""
    a, b, mu = 2.0, 1.0, 3.0
    copy, updates = pull(direct(Exponential(rate=a)), Exponential(rate=b)), Exponential(rate=mu)
    # K of eq. 41 for one exponential of rate r is mu / (mu + r) exp(-r tau).
    share = {a: b / (b - a) * mu / (mu + a), b: a / (a - b) * mu / (mu + b)}
    late = sum(part * math.exp(-rate * 0.7) for rate, part in share.items())
    assert currency(copy, updates, 0.7).value == pytest.approx(1 - late, abs=1e-10)
    mean = sum(part / rate for rate, part in share.items())
    assert since_first_missed(copy, updates).value == pytest.approx(mean, rel=1e-9)


def test_the_age_by_the_last_change():
    """E[A_U; X > A_U] with both exponential: mu / (mu + lambda)^2."""
    copy, updates = direct(Exponential(rate=1.5)), Exponential(rate=2.5)
    assert since_last_change(copy, updates).value == pytest.approx(2.5 / 16, rel=CLOSE)
    assert since_last_change(never(), updates).value == pytest.approx(0.4)
    assert since_first_missed(copy, updates).value > since_last_change(copy, updates).value


@pytest.mark.parametrize(
    ("downloads", "w", "source", "update"),
    [
        (Pareto(2.0001, rate=1), "1", True, True),
        (Pareto(2, rate=1), "x", False, False),
        (Pareto(3, rate=1), "x", True, False),
        (Pareto(3.01, rate=1), "x", True, True),
        (Pareto(1.4, rate=1), "log(1+x)", True, False),
        (Pareto(1.4, rate=1), "1/(1+x)", True, True),
        (Pareto(1.4, rate=1), "x^0.4", False, False),
        (Lognormal(sigma=2, rate=1), "x^3", True, True),
        (Exponential(rate=1), "exp(x)", False, False),
        (Constant(rate=1), "exp(x)", True, True),
    ],
)
def test_penalties_exist_where_the_paper_says(downloads, w, source, update):
    """Definition 5: E[w(A_D)] for the source penalty, E[w2(A_D)] for the update penalty."""
    updates, copy = Gamma(shape=2, rate=1), direct(downloads)
    for prediction, exists in ((source_penalty(copy, updates, w), source), (update_penalty(copy, updates, w), update)):
        assert math.isfinite(prediction.value) == exists
        assert ("infinite because" in prediction.assumes) != exists
        assert math.isfinite(prediction.accuracy)


def test_existence_of_composed_ages_is_that_of_the_heaviest():
    updates, heavy = Exponential(rate=1), direct(Pareto(1.8, rate=1))
    assert missing_updates(pull(heavy, Constant(rate=1)), updates).value == math.inf
    assert missing_updates(with_delay(heavy, 1), updates).value == math.inf
    assert missing_updates(best_of([heavy, heavy]), updates).value < math.inf
    assert missing_updates(best_of([direct(Pareto(1.5, rate=1))] * 2), updates).value == math.inf
    assert missing_updates(cluster(5, Exponential(rate=1), Exponential(rate=1)), updates).value < math.inf


def test_what_nothing_reaches():
    updates = Exponential(rate=2)
    assert staleness(never(), updates).value == 1
    assert currency(never(), updates, 5.0).value == 0
    assert missing_updates(never(), updates).value == math.inf
    assert source_penalty(never(), updates, "x").value == math.inf
    assert source_penalty(never(), updates, "1/(1+x)").value == 0
    assert data_age(never()).value == math.inf
    assert "nothing reaches" in missing_updates(never(), updates).assumes


def test_predictions_say_what_they_rest_on():
    found = source_penalty(pull(direct(Exponential(rate=1)), Exponential(rate=1)), Exponential(rate=1), "x")
    assert found.kind == "exact"
    assert found.source == "P2P eq. 28; Staleness eq. 42"
    assert "update age independent" in found.assumes
    rough = staleness(cluster(10, Pareto(3, rate=1), Pareto(3, rate=4)), Exponential(rate=1))
    assert rough.kind == "approximation"
    assert 0 < rough.accuracy < 0.02
    with pytest.raises(ValueError, match="negative"):
        currency(direct(Exponential(rate=1)), Exponential(rate=1), -1.0)

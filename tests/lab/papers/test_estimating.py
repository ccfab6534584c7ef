"""How well change rates are known, and what an allocation by estimates loses: by other sums, and emulated."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from paper import values
from scipy.integrate import quad

import replnet as rn
from replnet.allocation import optimal
from replnet.lab.papers.estimating import (
    BY_COUNT,
    LAST_MODIFIED,
    count_estimate_moments,
    time_estimate_moments,
    visit_chances,
)


@pytest.mark.parametrize(("r", "n"), [(0.05, 1), (0.3, 2), (1.0, 7), (5.0, 3)])
def test_estimates_by_count_over_all_that_visits_may_see(r, n):
    q = -math.expm1(-r)
    for name, estimate in BY_COUNT.items():
        ways = [(math.prod(q if one else 1 - q for one in way), sum(way)) for way in product((0, 1), repeat=n)]
        mean = sum(chance * float(estimate(np.array(float(x)), n)) for chance, x in ways)
        square = sum(chance * float(estimate(np.array(float(x)), n)) ** 2 for chance, x in ways)
        assert count_estimate_moments(name, r, n) == pytest.approx((mean, math.sqrt(square - mean**2)), rel=1e-9)


@pytest.mark.parametrize("name", LAST_MODIFIED)
def test_last_dates_of_three_visits_by_quadrature(name):
    """E[(c / T)^n] over how many visits k see a change, each a time before: u is the sum of k such times."""
    r, never = 1.5, math.exp(-1.5)
    density = {1: lambda u: 1.0 * (u < 1), 2: lambda u: min(u, 2 - u)}
    density[3] = lambda u: u * u / 2 if u < 1 else (-2 * u * u + 6 * u - 3) / 2 if u < 2 else (3 - u) ** 2 / 2
    given = LAST_MODIFIED[name](np.arange(4.0), 3)

    def moment(power):
        return sum(
            math.comb(3, k) * never ** (3 - k) * r**k * given[k] ** power
            * quad(lambda u, k=k: math.exp(-r * u) * density[k](u) / (u + 3 - k) ** power, 0, k,
                   points=list(range(1, k)) or None, epsabs=1e-13)[0]
            for k in (1, 2, 3)
        )  # fmt: skip

    error = math.sqrt(moment(2) - moment(1) ** 2)
    assert time_estimate_moments(name, r, 3) == pytest.approx((moment(1), error), rel=1e-10)


def test_what_has_no_mean_is_infinite():
    assert time_estimate_moments("last modified", 1.0, 1) == (math.inf, math.inf)
    assert time_estimate_moments("last modified, bias-reduced", 1.0, 1) == (0, 0)
    assert time_estimate_moments("last modified", 1.0, 2)[1] == math.inf


def test_with_many_visits_all_but_one_are_right():
    found = values("rate-estimators", ratio=0.7, visits=4000)
    assert found["changes seen", "bias"] == pytest.approx(-math.expm1(-0.7) / 0.7 - 1, rel=1e-9)
    for name in ("bias-reduced", *LAST_MODIFIED):
        assert found[name, "bias"] == pytest.approx(0, abs=3e-4)
    # By Fisher's information of a visit: exp(r) - 1 and, of dates, 1 - exp(-r), over r^2.
    assert found["bias-reduced", "standard_error"] == pytest.approx(math.sqrt(math.expm1(0.7) / 4000) / 0.7, rel=1e-3)
    error = 1 / math.sqrt(-math.expm1(-0.7) * 4000)
    assert found["last modified", "standard_error"] == pytest.approx(error, rel=1e-3)


def test_what_is_believed_never_to_change_is_lost():
    """One visit of elements that all change alike: who was seen to change gets all, and the others stay stale."""
    found = values("estimated-allocation", rates=[1], frequency=1, visits=1)
    share = -math.expm1(-1)
    assert found["changes seen", "freshness"] == pytest.approx(share * -math.expm1(-share) / share)
    assert found["known rates", "freshness"] == found["uniform", "freshness"] == pytest.approx(share)
    assert found["known rates", "loss"] == 0


def test_with_very_many_visits_nothing_is_lost():
    few, many = (values("estimated-allocation", rates=[0.1, 1, 10], frequency=1, visits=n) for n in (10, 3000))
    for name in ("bias-reduced", "half a change more"):
        assert 0 < many[name, "loss"] < 2e-3 < few[name, "loss"]
    # Changes seen put rates closer together than they are, however often one looks.
    assert many["changes seen", "loss"] > 5e-3


def test_an_allocation_by_estimates_emulated():
    """Every kind of element, by its rate and the changes seen, is a source that counts as much as there are of it."""
    rates, visits, frequency = np.array([0.2, 1.0, 4.0]), 5, 1.0
    share = visit_chances(rates / frequency, visits) / rates.size
    estimates = BY_COUNT["half a change more"](np.arange(visits + 1.0), visits)
    given = optimal(estimates, frequency, weights=share.sum(axis=0))
    made = rn.aggregate(
        rates=np.repeat(rates, visits + 1), weights=share.ravel(), allocate=np.tile(given, rates.size).tolist()
    )
    row = next(row for row in rn.emulate(made, seed=3, precision=0.001).rows if row.metric == "freshness")
    expected = values("estimated-allocation", rates=[0.2, 1, 4], frequency=1, visits=visits)
    assert row.verdict == "agree"
    assert row.predicted == pytest.approx(expected["half a change more", "freshness"], rel=1e-12)
    assert row.predicted < expected["known rates", "freshness"]

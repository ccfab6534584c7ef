"""Clusters of very many replicas: the renewal equation against closed forms and plain marching."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from replnet.ages.clusters.renewal_limit import MOST_BENDS, bends, poisson_limit, solve_limit
from replnet.laws import Constant, Exponential, Lattice, Pareto

ONE = Exponential(rate=1)


@pytest.mark.parametrize("peers", [1, 3])
@pytest.mark.parametrize(("lam", "nu"), [(1.0, 4.0), (0.04, 3.0), (5.0, 0.1)])
def test_limit_against_the_logistic_curve(peers, lam, nu):
    curve = solve_limit(Exponential(rate=lam), Exponential(rate=nu), peers, 20.0)
    x = np.linspace(0, 19, 300)
    assert curve(x) == pytest.approx(poisson_limit(lam, nu, peers, x), abs=1e-9)


@pytest.mark.parametrize("downloads", [Constant(rate=1), Pareto(3, rate=1)])
def test_limit_with_poisson_polls_against_its_differential_equation(downloads):
    """Phi' = -nu Phi (1 - H), H = G Phi."""

    def flow(x, phi):
        return -4 * phi * (1 - downloads.rate * downloads.excess(x) * phi)

    solved = solve_ivp(flow, (0, 0.9), [1.0], method="DOP853", rtol=1e-12, atol=1e-13)
    expected = downloads.rate * float(downloads.excess(0.9)) * solved.y[0, -1]
    assert float(solve_limit(downloads, Exponential(rate=4), 1, 2.0)(0.9)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("polls", [Constant(period=0.25), Lattice(values=[0.25, 0.5], weights=[1, 3])])
def test_limit_with_lattice_polls_against_plain_marching(polls):
    """(1) of `renewal_limit` with sums over atoms on a grid aligned to the span, and Richardson's step."""

    def plain(steps: int) -> float:
        h = 0.25 / steps
        x = np.arange(6 * steps + 1) * h
        alone = np.exp(-x)
        values, weights = np.array(polls.breaks), -np.diff(np.asarray(polls.tail(np.array(polls.breaks))), prepend=1.0)
        shifts = np.rint(values / h).astype(int)
        tail, passed = np.asarray(polls.tail(x)), np.zeros_like(x)
        k, m, big, lost = np.ones_like(x), np.ones_like(x), np.ones_like(x), 0.0
        for i in range(1, len(x)):
            k[i] = tail[i] + sum(w * m[i - s] for s, w in zip(shifts, weights, strict=True) if s <= i)
            # Trapezoid of (3), implicit in the last point.
            before = lost + polls.rate * h / 2 * passed[i - 1]
            step = polls.rate * h / 2 * k[i]
            big[i] = (1 - before - step) / (1 - step * alone[i])
            passed[i] = k[i] * (1 - alone[i] * big[i])
            lost = before + polls.rate * h / 2 * passed[i]
            m[i] = alone[i] * big[i] * k[i]
        return float(alone[4 * steps] * big[4 * steps])

    coarse, fine = plain(400), plain(800)
    expected = fine + (fine - coarse) / 3
    assert float(solve_limit(ONE, polls, 1, 2.0)(1.0)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alpha", [1.4, 3.0])
def test_limit_with_heavy_tails_ends_where_all_have_it(alpha):
    """(3) of `renewal_limit` at infinity: everyone is polled at last."""
    curve = solve_limit(Exponential(rate=0.1), Pareto(alpha, rate=2), 1, 400.0)
    tails = curve(np.array([1.0, 10.0, 100.0, 399.0]))
    assert np.all(np.diff(tails) < 0)
    assert 0 <= tails[-1] < 1e-12


@pytest.mark.parametrize("first", [[], [10.125, 10.25, 30.0], [0.375, 40.0]])
@pytest.mark.parametrize("steps", [[1.0], [0.375, 7.0], [15.0]])
def test_bends_are_all_sums_below_the_horizon(first, steps):
    """The 24 least of the bends of downloads with any number of poll intervals after them."""
    sums = {0.0, *first}
    while len(more := {a + b for a in sums for b in [0.0, *steps] if a + b < 15}) > len(sums & more):
        sums = more
    downloads, polls = (Lattice(points) if points else ONE for points in (first, steps))
    assert bends(downloads, polls, 15.0) == pytest.approx(sorted(more)[:MOST_BENDS])

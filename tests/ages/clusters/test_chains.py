"""Clusters with Poisson polls: the chains against each other, matrices and small cases by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm

from replnet.ages.clusters.chains import Chain, DownloadChain
from replnet.ages.clusters.cluster import cluster, cluster_limit
from replnet.ages.information_age import quadrature
from replnet.laws import Constant, Exponential

ONE = Exponential(rate=1)


@pytest.mark.parametrize(("replicas", "peers", "ask"), [(2, 1, 1), (7, 1, 3), (7, 6, 1), (40, 3, 2)])
def test_chain_tail_against_the_matrix_exponential(replicas, peers, ask):
    copy = Chain(replicas, Exponential(rate=0.4), Exponential(rate=3.0), peers, ask)
    generator = np.diag(np.append(-copy.rates, 0.0)) + np.diag(copy.rates, 1)
    for x in (0.01, 0.3, 1.0, 4.0):
        expected = float(expm(generator * x)[0] @ copy.chance_missed)
        assert float(copy.tail(x)) == pytest.approx(expected, abs=1e-10)
        # Fifteen terms of Euler summation are good to 1e-8.
        assert copy.by_inversion(np.array([x]))[0] == pytest.approx(expected, abs=1e-8)


@settings(max_examples=25)
@given(st.integers(2, 60), st.floats(0.05, 5), st.floats(0.05, 20), st.floats(0.1, 5), st.data())
def test_chain_with_any_updates_agrees_with_the_product(replicas, lam, nu, mu, data):
    peers = data.draw(st.integers(1, replicas - 1))
    ask = data.draw(st.integers(1, replicas))
    copy = Chain(replicas, Exponential(rate=lam), Exponential(rate=nu), peers, ask)
    value = copy.laplace(mu)
    assert 0 <= value <= 1
    assert quadrature(copy, Exponential(rate=mu)) == pytest.approx(value, abs=1e-9)


def test_chain_of_very_unequal_rates_is_inverted():
    copy = Chain(100, Exponential(rate=1e-5), Exponential(rate=4.0), 1)
    assert quadrature(copy, Exponential(rate=1e-3)) == pytest.approx(copy.laplace(1e-3), abs=1e-7)


def test_large_chains_are_quick_and_near_the_limit():
    limit = cluster_limit(ONE, Exponential(rate=4)).freshness(ONE).value
    gaps = [limit - cluster(m, ONE, Exponential(rate=4)).freshness(ONE).value for m in (1000, 10_000, 100_000)]
    # The gap is of order 1/m.
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.05)
    assert gaps[1] / gaps[2] == pytest.approx(10, rel=0.05)
    general = cluster(1000, ONE, Exponential(rate=4))
    assert quadrature(general, ONE) == pytest.approx(limit - gaps[0], abs=1e-9)


@pytest.mark.parametrize(("replicas", "peers", "ask"), [(3, 1, 1), (20, 4, 2)])
def test_download_hazards_agree_with_the_poisson_chain(replicas, peers, ask):
    hazards = DownloadChain(replicas, ONE, Exponential(rate=4), peers, ask)
    chain = Chain(replicas, Exponential(rate=1.0), Exponential(rate=4.0), peers, ask)
    x = np.geomspace(0.01, 5, 20)
    assert hazards.tail(x) == pytest.approx(chain.tail(x), abs=1e-8)


def test_two_replicas_with_constant_downloads_by_hand():
    """Downloads every 1, polls of the other at rate nu: by the instants of both downloads."""
    nu, x = 2.0, 0.6
    # P(X > x) for one: not downloaded by x, and no poll after the other's download at y < x.
    expected = (1 - x) * ((1 - x) + (1 - math.exp(-nu * x)) / nu)
    copy = cluster(2, Constant(period=1), Exponential(rate=nu))
    assert copy.basis.kind == "exact"
    assert float(copy.tail(x)) == pytest.approx(expected, abs=1e-8)

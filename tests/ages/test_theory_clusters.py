"""Clusters: the chains against each other and against matrices, the limit against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.ages.chains import Chain, DownloadChain, birth_rates
from replnet.ages.cluster import all_superposed, cluster, crowd
from replnet.ages.information_age import best_of, direct, pull, quadrature
from replnet.ages.renewal_limit import marched, poisson_limit
from replnet.ages.sampled_paths import RESOLVED
from replnet.laws import Constant, Exponential, FieldError, Gamma, Lattice, Pareto, Uniform

ONE = Exponential(rate=1)


def test_known_cluster():
    assert cluster(10, ONE, Exponential(rate=4)).freshness(ONE).value == pytest.approx(0.680002, abs=5e-7)


def test_two_replicas_by_hand():
    # Rates 2 lambda and lambda + nu: the first of the two, then the second.
    lam, nu, mu = 1.5, 0.7, 2.0
    first = 2 * lam / (2 * lam + mu)
    expected = first * (1 + (lam + nu) / (lam + nu + mu)) / 2
    copy = cluster(2, Exponential(rate=lam), Exponential(rate=nu))
    assert copy.freshness(Exponential(rate=mu)).value == pytest.approx(expected, abs=1e-14)


def test_peers_are_distinct_others():
    # With j of 4 others having it, 2 of 4 miss all of them with chance C(4-j, 2) / C(4, 2).
    rates = birth_rates(5, 0.0, 1.0, 2)
    missed = [math.comb(4 - j, 2) / 6 for j in range(5)]
    assert rates == pytest.approx([(5 - j) * (1 - missed[j]) for j in range(5)], abs=1e-14)


@pytest.mark.parametrize(("replicas", "peers", "ask"), [(2, 1, 1), (7, 1, 3), (7, 6, 1), (40, 3, 2)])
def test_chain_tail_against_the_matrix_exponential(replicas, peers, ask):
    from scipy.linalg import expm

    copy = Chain(replicas, Exponential(rate=0.4), Exponential(rate=3.0), peers, ask)
    generator = np.diag(np.append(-copy.rates, 0.0)) + np.diag(copy.rates, 1)
    for x in (0.01, 0.3, 1.0, 4.0):
        expected = float(expm(generator * x)[0] @ copy.lacking)
        assert float(copy.tail(x)) == pytest.approx(expected, abs=1e-10)
        # Fifteen terms of Euler summation are good to 1e-8.
        assert copy.by_inversion(np.array([x]))[0] == pytest.approx(expected, abs=1e-8)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 60),
    st.floats(0.05, 5),
    st.floats(0.05, 20),
    st.floats(0.1, 5),
    st.data(),
)
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
    limit = crowd(ONE, Exponential(rate=4)).freshness(ONE).value
    gaps = [limit - cluster(m, ONE, Exponential(rate=4)).freshness(ONE).value for m in (1000, 10_000, 100_000)]
    # The gap is of order 1/m.
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.05)
    assert gaps[1] / gaps[2] == pytest.approx(10, rel=0.05)
    general = cluster(1000, ONE, Exponential(rate=4))
    assert quadrature(general, ONE) == pytest.approx(limit - gaps[0], abs=1e-9)


@pytest.mark.parametrize("downloads", [ONE, Constant(rate=1), Pareto(3, rate=1)])
def test_without_polls_a_cluster_is_a_single_hop(downloads):
    single = direct(downloads).freshness(Pareto(3, rate=2)).value
    for copy in (cluster(10, downloads, None), cluster(10, downloads, Constant(rate=5), peers=0)):
        assert copy.freshness(Pareto(3, rate=2)).value == single
    rare = cluster(10, downloads, Exponential(rate=1e-9))
    assert rare.freshness(Pareto(3, rate=2)).value == pytest.approx(single, abs=1e-7)


@pytest.mark.parametrize("downloads", [ONE, Constant(rate=1), Pareto(3, rate=1), Uniform(low=0.5, high=1.5)])
def test_frequent_polls_superpose_all_downloads(downloads):
    """P2P Thm 6, from below."""
    limit = all_superposed(downloads, 10).freshness(ONE).value
    gaps = [limit - cluster(10, downloads, Exponential(rate=nu)).freshness(ONE).value for nu in (1e2, 1e3, 1e4)]
    assert gaps[0] > gaps[1] > gaps[2] > 0
    # Of order 1/nu: it takes a few polls for data to get around.
    assert gaps[2] < gaps[1] / 8


def test_printed_limit_of_frequent_polls():
    """P2P VI-C: 0.91."""
    assert all_superposed(ONE, 10).freshness(ONE).value == pytest.approx(10 / 11, abs=1e-12)


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


def test_two_replicas_with_pareto_downloads_by_hand():
    from scipy.integrate import quad

    nu, x, age = 2.0, 1.7, Pareto(2, scale=1)
    polled = quad(lambda y: 2 * (1 + y) ** -3 * math.exp(-nu * (x - y)), 0, x, epsabs=1e-13)[0]
    expected = float(age.tail(x)) * (float(age.tail(x)) + polled)
    copy = cluster(2, Pareto(3, scale=1), Exponential(rate=nu))
    assert float(copy.tail(x)) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("peers", [1, 3])
@pytest.mark.parametrize(("lam", "nu"), [(1.0, 4.0), (0.04, 3.0), (5.0, 0.1)])
def test_limit_against_the_logistic_curve(peers, lam, nu):
    curve = marched(Exponential(rate=lam), Exponential(rate=nu), peers, 20.0)
    x = np.linspace(0, 19, 300)
    assert curve(x) == pytest.approx(poisson_limit(lam, nu, peers, x), abs=1e-9)


@pytest.mark.parametrize("downloads", [Constant(rate=1), Pareto(3, rate=1)])
def test_limit_with_poisson_polls_against_its_differential_equation(downloads):
    """Phi' = -nu Phi (1 - H), H = G Phi."""
    from scipy.integrate import solve_ivp

    def flow(x, phi):
        return -4 * phi * (1 - downloads.rate * downloads.excess(x) * phi)

    solved = solve_ivp(flow, (0, 0.9), [1.0], method="DOP853", rtol=1e-12, atol=1e-13)
    expected = downloads.rate * float(downloads.excess(0.9)) * solved.y[0, -1]
    assert float(marched(downloads, Exponential(rate=4), 1, 2.0)(0.9)) == pytest.approx(expected, abs=1e-9)


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
    assert float(marched(ONE, polls, 1, 2.0)(1.0)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("alpha", [1.4, 3.0])
def test_limit_with_heavy_tails_ends_where_all_have_it(alpha):
    """(3) of `renewal_limit` at infinity: everyone is polled at last."""
    curve = marched(Exponential(rate=0.1), Pareto(alpha, rate=2), 1, 400.0)
    tails = curve(np.array([1.0, 10.0, 100.0, 399.0]))
    assert np.all(np.diff(tails) < 0)
    assert 0 <= tails[-1] < 1e-12


def test_few_replicas_are_between_alone_and_many():
    for polls in (Constant(rate=4), Pareto(3, rate=4), Gamma(shape=2, rate=4)):
        alone = direct(ONE).freshness(ONE).value
        values = [cluster(m, ONE, polls).freshness(ONE) for m in (2, 10, 100)]
        limit = crowd(ONE, polls).freshness(ONE)
        assert [alone, *(one.value for one in values), limit.value] == sorted(
            [alone, *(one.value for one in values), limit.value]
        )
        assert [one.kind for one in values] == ["exact", "approximation", "approximation"]
        assert limit.kind == "limit"


# Freshness under exponential updates of rate 1, emulated event by event with code of its own, 400 to 2000 stationary
# runs each: replicas, downloads, polls, peers, mean and standard error.
EMULATED = [
    (3, Exponential(rate=1), Constant(rate=4), 1, 0.66629, 0.00014),
    (10, Exponential(rate=1), Constant(rate=4), 1, 0.70649, 0.00010),
    (10, Constant(rate=1), Constant(rate=4), 1, 0.73063, 0.00018),
    (10, Pareto(3, rate=1), Pareto(3, rate=4), 1, 0.64779, 0.00022),
    (10, Exponential(rate=1), Pareto(1.4, rate=4), 1, 0.62114, 0.00053),
    (10, Constant(rate=1), Exponential(rate=16), 1, 0.81576, 0.00027),
    (30, Constant(rate=1), Constant(rate=4), 2, 0.78466, 0.00007),
]


@pytest.mark.parametrize(("replicas", "downloads", "polls", "peers", "measured", "error"), EMULATED)
def test_clusters_against_emulation(replicas, downloads, polls, peers, measured, error):
    predicted = cluster(replicas, downloads, polls, peers).freshness(ONE)
    # Five standard errors are a false alarm of 6e-7; the formula may be off by the accuracy it states.
    assert abs(predicted.value - measured) <= predicted.accuracy + 5 * error


@pytest.mark.parametrize("polls", [Exponential(rate=4), Constant(rate=4)])
def test_a_cluster_under_an_upstream_copy(polls):
    """Tiers of a cascade: the sum of ages, in either order, against the product of transforms."""
    tier = cluster(10, ONE, polls)
    copy = pull(direct(Constant(rate=3)), tier)
    assert copy.basis.kind == tier.basis.kind
    product = direct(Constant(rate=3)).laplace(1) * tier.laplace(1)
    assert quadrature(copy, ONE) == pytest.approx(product, abs=1e-7)
    two = pull(tier, tier)
    # Sampled curves are resolved as far as their sampling error is worth.
    close = 1e-7 if tier.basis.kind == "exact" else RESOLVED
    assert quadrature(two, ONE) == pytest.approx(tier.laplace(1) ** 2, abs=close)


def test_asking_several_replicas_of_a_cluster():
    one, two, ten = (cluster(10, ONE, Exponential(rate=4), ask=ask).freshness(ONE).value for ask in (1, 2, 10))
    assert one < two < ten
    # All ten: fresh as soon as anyone is.
    assert ten == pytest.approx(10 / 11, abs=1e-12)
    # Copies of a cluster are alike, so two of them are worth less than two independent ones.
    independent = best_of([cluster(10, ONE, Exponential(rate=4))] * 2).freshness(ONE).value
    assert two < independent


def test_shapes_that_cannot_be():
    with pytest.raises(FieldError, match="peers: 10 of 10 replicas"):
        cluster(10, ONE, ONE, peers=10)
    with pytest.raises(FieldError, match="replicas"):
        cluster(0, ONE, ONE)
    with pytest.raises(FieldError, match="ask"):
        cluster(10, ONE, ONE, ask=11)
    with pytest.raises(FieldError, match="no formula for recent selection"):
        cluster(10, ONE, ONE, select="recent")

"""P2P: laws of downloads, how long copies stay fresh, and the rates and sizes that meet a target."""

from __future__ import annotations

import math

import numpy as np
import pytest
from all_sets import by_all_sets
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_of_intervals import laws
from paper import FAMILIES
from scipy.integrate import quad

import replnet as rn
from replnet.ages.clusters.cluster import cluster
from replnet.ages.information_age import direct, pull
from replnet.ages.overlays.contacts import NodePull
from replnet.ages.roots import UnreachableError, rate_for
from replnet.lab.papers.p2p import (
    download_rate,
    freshness_gain,
    mean_on_duration,
    non_cooperative,
    on_duration_tail,
    on_residual_tail,
    peak,
    poll_rate,
    redundant,
    redundant_freshness,
    residual,
)
from replnet.laws import Constant, Exponential, Pareto

TOLERANCE = 1e-9
ONE = Exponential(rate=1)


@settings(max_examples=40, deadline=None)
@given(laws, laws)
def test_constant_downloads_are_best(downloads, updates):
    """P2P Thm 3."""
    best, own = (direct(law).freshness(updates).value for law in (Constant(period=downloads.mean), downloads))
    assert 0 <= own <= 1
    assert best >= own - TOLERANCE
    assert freshness_gain(updates, downloads) == pytest.approx(best - own, abs=TOLERANCE)


def test_residual_of_exponential_updates_keeps_its_law():
    """P2P eq. 18, and eq. 19 with E[V] = 1/mu."""
    copy, updates, y = direct(Pareto(3, rate=1)), Exponential(rate=2), np.array([0.0, 0.3, 2.0])
    assert [on_residual_tail(copy, updates, at) for at in y.tolist()] == pytest.approx(np.exp(-2 * y), abs=TOLERANCE)
    assert [on_duration_tail(copy, updates, at) for at in y.tolist()] == pytest.approx(np.exp(-2 * y), abs=TOLERANCE)
    assert mean_on_duration(copy, updates).value == pytest.approx(0.5, abs=TOLERANCE)


def test_residual_against_quadrature_of_equation_27():
    downloads, updates = Exponential(rate=2), Pareto(3, scale=1)
    for y in (0.0, 0.5, 3.0):
        value = quad(lambda a, y=y: 2 * math.exp(-2 * a) * (1 + a + y) ** -2, 0, np.inf, epsabs=1e-12)[0]
        assert residual(direct(downloads), updates, y) == pytest.approx(value, abs=TOLERANCE)
    on = mean_on_duration(direct(downloads), updates).value
    density = quad(lambda a: 2 * math.exp(-2 * a) * 2 * (1 + a) ** -3, 0, np.inf, epsabs=1e-12)[0]
    assert on == pytest.approx(direct(downloads).freshness(updates).value / density, abs=1e-8)


def test_redundant_poisson_copies_are_one_poisson_copy():
    updates = Pareto(3, rate=2)
    expected = direct(Exponential(rate=3.5)).freshness(updates).value
    assert redundant_freshness(updates, Exponential(rate=0.5), 7).value == pytest.approx(expected, abs=TOLERANCE)


@given(st.floats(0.05, 0.95), st.floats(0.1, 10))
def test_rates_and_service_without_cooperation(target, mu):
    """P2P eq. 31-32."""
    size = non_cooperative(1000, target, Exponential(rate=mu), "exponential")
    assert size.downloads == pytest.approx(mu * target / (1 - target), rel=1e-8)
    assert size.service_rate == pytest.approx(1000**2 * (1 - target) / (mu * target) - 1000, rel=1e-7)
    assert size.replicas * size.downloads == pytest.approx(1000)


@settings(max_examples=20, deadline=None)
@given(st.floats(0.1, 0.9), st.sampled_from(list(FAMILIES.values())), st.sampled_from([ONE, Pareto(3, rate=2)]))
def test_the_rate_that_meets_a_target_meets_it(target, family, updates):
    rate = download_rate(target, updates, family)
    assert direct(family(rate)).freshness(updates).value == pytest.approx(target, abs=1e-9)


def test_targets_out_of_reach_say_so():
    exponential = FAMILIES["exponential"]

    def second_level(rate):
        return pull(direct(ONE), exponential(rate)).freshness(ONE).value

    assert second_level(rate_for(0.4, second_level)) == pytest.approx(0.4, abs=1e-9)
    with pytest.raises(UnreachableError, match=r"freshness 0\.6 cannot be met: rate .* reaches 0\.5"):
        rate_for(0.6, second_level)
    with pytest.raises(UnreachableError, match=r"infinitely fast polls reach 0\.909091"):
        poll_rate(0.92, 10, ONE, ONE, exponential)
    with pytest.raises(UnreachableError, match="above the bandwidth"):
        non_cooperative(1, 0.9, ONE, "exponential")
    with pytest.raises(ValueError, match="above 0 and below 1"):
        rate_for(1.0, second_level)
    assert poll_rate(0.5, 10, ONE, ONE, exponential) == 0


@pytest.mark.parametrize("polls", ["exponential", "constant"])
def test_the_poll_rate_that_meets_a_target(polls):
    nu = poll_rate(0.6, 2, ONE, ONE, FAMILIES[polls])
    assert cluster(2, ONE, FAMILIES[polls](nu)).freshness(ONE).value == pytest.approx(0.6, abs=1e-8)


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("replicas", [2, 5])
def test_polls_that_go_both_ways_count_twice(replicas, both):
    """P2P VI-C: whoever lacks a copy meets whoever has it twice as often."""
    everyone = frozenset(range(replicas))
    contacts = {i: [NodePull(1.3 * (1 + both), everyone)] for i in everyone}
    network = rn.cooperative(
        replicas=replicas, two_way=both, updates=ONE, downloads="exponential(rate=0.7)", polls="exponential(rate=1.3)"
    )
    (row,) = rn.predict(network).rows
    fresh = by_all_sets([0.7] * replicas, contacts, 1.0)[frozenset({0})]
    assert (row.kind, row.predicted) == ("exact", pytest.approx(fresh, abs=1e-10))


def test_redundancy_without_the_poisson_limit():
    """Twenty constant processes are still more regular than a Poisson one, so they need a little less."""
    exact, limit = (redundant(1000, 0.5, ONE, "constant", 20, poisson=one).replicas for one in (False, True))
    assert limit < exact < limit * 1.05


@given(st.integers(1, 5000), st.integers(1, 50), st.floats(0.5, 3))
def test_peak_of_a_hill(top, start, steep):
    found = peak(lambda m: -(abs(m - top) ** steep), start)
    assert found == max(top, start)

"""Clusters of few replicas: sampled paths against exact formulas, within the error that they state."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.ages.clusters.chains import Chain
from replnet.ages.clusters.cluster import cluster
from replnet.ages.clusters.sampled_paths import SampledCluster
from replnet.ages.information_age import quadrature
from replnet.laws import Constant, Empirical, Exponential, Uniform, Weibull, law

ONE = Exponential(rate=1)
RECORDED = Empirical(np.random.default_rng(1).lognormal(0, 1.5, 5000))
WILD = [
    "hyperexponential([0.9, 0.1], [15, 0.365853])",
    "weibull(0.3, rate=1)",
    "pareto(1.4, rate=2)",
    "gamma(0.1, rate=1)",
    "lognormal(2.5, rate=1)",
    "constant(rate=2)",
    "lattice([0.1, 5], [0.9, 0.1])",
]


@pytest.mark.parametrize("polls", [RECORDED, *map(law, WILD)], ids=lambda law: type(law).__name__)
@pytest.mark.parametrize(("downloads", "replicas"), [(Exponential(rate=0.1), 3), (Constant(rate=1), 12)])
def test_sampled_paths_where_the_first_poll_reaches_all(downloads, polls, replicas):
    exact = cluster(replicas, downloads, polls, replicas - 1).freshness(ONE)
    sampled = SampledCluster(replicas, downloads, polls, replicas - 1, 1).freshness(ONE)
    assert exact.kind == "exact"
    assert sampled.accuracy <= 0.002
    assert abs(sampled.value - exact.value) <= sampled.accuracy


def test_recorded_polls_of_several_asked_are_sampled():
    assert isinstance(cluster(4, Constant(rate=1), RECORDED, 3, ask=2), SampledCluster)


@pytest.mark.parametrize("downloads", [0.05, 1.0])
@pytest.mark.parametrize(("replicas", "peers", "ask"), [(3, 1, 1), (10, 1, 1), (10, 3, 2), (40, 1, 1)])
def test_sampled_paths_of_poisson_polls(replicas, peers, ask, downloads):
    polls = Exponential(rate=3)
    exact = Chain(replicas, Exponential(rate=downloads), Exponential(rate=3.0), peers, ask)
    sampled = SampledCluster(replicas, Exponential(rate=downloads), polls, peers, ask)
    for updates in (ONE, Exponential(rate=0.1), Exponential(rate=20)):
        found = sampled.freshness(updates)
        assert found.accuracy <= 0.01 * found.value
        assert abs(found.value - exact.laplace(updates.rate)) <= found.accuracy
    other = Uniform(low=2, high=4)
    assert sampled.freshness(other).value == pytest.approx(quadrature(exact, other), abs=0.005)


@pytest.mark.parametrize("downloads", [1e-2, 1e-4, 1e-6])
def test_sampled_paths_with_rare_downloads(downloads):
    """Where what counts is a small part of a download interval."""
    exact = Chain(40, Exponential(rate=downloads), Exponential(rate=10.0), 1).laplace(1)
    found = SampledCluster(40, Exponential(rate=downloads), Exponential(rate=10), 1).freshness(ONE)
    assert abs(found.value - exact) <= found.accuracy


def test_freshness_moves_smoothly_with_the_rate():
    """So that a rate can be found that meets a target: the paths are those of the same points."""
    rates = 2 * 1.0005 ** np.arange(6)
    found = [cluster(6, Exponential(rate=0.3), Weibull(0.5, rate=rate)).freshness(ONE).value for rate in rates]
    assert np.all(np.diff(found) > 0)

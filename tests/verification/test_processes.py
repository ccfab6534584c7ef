"""Processes whose intervals depend on one another, in networks: measured beside predicted."""

from __future__ import annotations

import numpy as np
import pytest
from laws_of_intervals import DEPENDENT as TEXTS
from paths import task

import replnet as rn
from replnet.engines.array import array
from replnet.testing import assert_mean

pytestmark = pytest.mark.verification


MIXED = {
    "bursts": rn.single(updates=TEXTS[5], downloads=TEXTS[0]),
    "day": rn.single(updates=TEXTS[7], downloads="correlated(law=gamma(shape=2, rate=1), rho=0.8)"),
    "window": rn.single(updates=TEXTS[5], downloads=TEXTS[11]),
    "levels": rn.cascade(depth=3, updates=TEXTS[2], downloads=[TEXTS[4], TEXTS[9], TEXTS[8]]),
    "clients": rn.redundant(
        replicas=5, ask=2, updates="longrange(law=weibull(shape=0.6, rate=1), hurst=0.7)", downloads=TEXTS[3],
        queries=TEXTS[5],
    ),
    "cluster": rn.cooperative(
        replicas=5, updates=TEXTS[5], downloads="exponential(rate=1)", polls="exponential(rate=2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("estimator", ["sampled", "conditional"])
@pytest.mark.parametrize("network", MIXED.values(), ids=MIXED)
def test_measured_agrees_with_predicted(network: rn.Network, estimator: str) -> None:
    """Fails right code with chance 0.01 times that of a second, four times longer run; sees an error of 0.02."""
    result = rn.emulate(network, seed=5, horizon=3e5, estimator=estimator, replications=64)
    assert result.verdict == "agree"
    for row in result.rows:
        assert row.ci_high - row.ci_low < 0.02


def test_what_else_is_measured_agrees_too() -> None:
    network = rn.single(updates=TEXTS[5], downloads=TEXTS[0])
    asked = ["staleness", "staleness_age", "missing_updates", "lag", "source_penalty(x^2)", "update_penalty(x)"]
    result = rn.emulate(network, seed=5, horizon=2e5, replications=64, measure=asked)
    assert len(result.rows) == 1 + len(asked)
    assert {row.verdict for row in result.rows} == {"agree"}


def test_freshness_has_no_drift_from_the_start() -> None:
    """Over half a unit of time from zero, as over all time; sees an error of 0.06."""
    network = rn.cascade(depth=2, updates=TEXTS[5], downloads=[TEXTS[2], TEXTS[0]])
    run, together = array.make_runner(task(network, 9, 0.5))
    paths = [path for first in range(0, 3000, together) for path in run(range(first, min(first + together, 3000)))]
    for row in rn.predict(network).rows:
        fresh = [path.shares[row.group, "freshness"] for path in paths]
        assert_mean(np.array([amount / whole for amount, whole in fresh]), row.predicted, resolution=0.12)

"""Staleness beyond fresh or not, measured beside predicted."""

from __future__ import annotations

import pytest
from replay import NAMES
from scipy.special import stdtrit

import replnet as rn

pytestmark = pytest.mark.verification

PARETO, CONSTANT = "pareto(alpha=3, rate=2)", "constant(rate=2)"
PLAIN = rn.single(updates="exponential(rate=2)", downloads="exponential(rate=2)")
FIGURES = ("staleness", "currency(0.4)", "source_penalty(x)", "missing_updates", "update_penalty(1/(1+x))")
EVERY = (*NAMES, "update_penalty(min(x, 1))")
CHURN = {"crash": "level 1", "up": "exponential(mean=5)", "down": "exponential(mean=1)", "copy": "empty"}
CASES = {
    "Fig. 4 to 8 (a)": (rn.single(updates=PARETO, downloads=CONSTANT), FIGURES),
    "Fig. 4 to 8 (b)": (rn.single(updates=CONSTANT, downloads=PARETO), FIGURES),
    "eq. 48": (PLAIN, EVERY),
    "late replies": (rn.single(updates=PARETO, downloads="gamma(shape=2, rate=2)", delay=0.1), EVERY),
    "cascade": (
        rn.cascade(depth=3, branching=2, updates="uniform(low=0.1, high=0.9)", downloads="weibull(shape=0.8, rate=2)"),
        EVERY,
    ),
    "cluster": (
        rn.cooperative(
            replicas=5, updates="exponential(rate=1)", downloads="exponential(rate=1)", polls="exponential(rate=4)",
            clients={"ask": 2, "queries": "exponential(rate=3)"},
        ),
        EVERY,
    ),
    "best of two": (
        rn.redundant(
            replicas=3, ask=2, updates="gamma(shape=2, rate=1)", downloads="uniform(low=0.5, high=1.5)",
            queries="exponential(rate=4)",
        ),
        EVERY,
    ),
    "churn": (rn.single(updates="exponential(rate=1)", downloads="exponential(rate=2)", faults=[CHURN]), EVERY),
}  # fmt: skip
FALSE_ALARM = 1e-6  # of one row, as far as Student's law holds, which it does nearly with so many replications
RESOLVED = 0.15  # of its value: the smallest error that every row would show


@pytest.mark.parametrize(("network", "names"), CASES.values(), ids=CASES)
def test_what_is_measured_is_what_is_predicted(network, names):
    result = rn.emulate(network, seed=5, horizon=8e4, replications=256, measure=names, confirm=False)
    assert {row.metric for row in result.rows} >= set(names)
    for row, estimate in zip(result.rows, result.estimates, strict=True):
        if row.metric not in names:
            continue
        if estimate.doubt:
            assert "(b)" in next(name for name, case in CASES.items() if case[0] is network)
            assert "infinite variance" in row.note
            continue
        allowed = -float(stdtrit(estimate.replications - 1, FALSE_ALARM / 2)) * estimate.error
        assert 2 * allowed <= RESOLVED * estimate.value, row
        assert abs(estimate.value - row.predicted) <= allowed + (row.accuracy or 0.0) + 1e-12, row

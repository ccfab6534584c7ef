"""Emulated beside predicted: every topology, both estimators, and what a run promises."""

from __future__ import annotations

import json

import pytest
from interrupts import ending

import replnet as rn
from replnet.engines.array import array

NETWORKS = {
    "single": rn.single(updates="pareto(alpha=3, rate=2)", downloads="constant(rate=3)"),
    "cascade": rn.cascade(
        depth=3, branching=2, updates="weibull(shape=0.6, rate=2)",
        downloads=["constant(rate=2)", "exponential(rate=3)", "gamma(shape=3, rate=2)"],
    ),
    "cluster": rn.cooperative(
        replicas=10, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="exponential(rate=4)",
    ),
    "redundant": rn.redundant(
        replicas=10, ask=3, updates="exponential(rate=1)", downloads="constant(rate=1)", queries="exponential(rate=20)"
    ),
    "tiers": rn.compose(
        updates="exponential(rate=1)",
        tiers=[
            {"kind": "cascade", "depth": 1, "branching": 2, "downloads": "constant(rate=2)"},
            {"kind": "cooperative", "replicas": 3, "peers": 1, "downloads": "exponential(rate=2)",
             "polls": "exponential(rate=3)"},
        ],
    ),
    "phases": rn.single(updates="constant(rate=2)", downloads="constant(rate=2)"),
}  # fmt: skip


@pytest.mark.parametrize("estimator", ["sampled", "conditional"])
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_measured_agrees_with_predicted(network, estimator):
    """Fails right code with chance 0.01 times that of a second, four times longer run (the seed is fixed).

    The intervals see an error of 0.05, but where phases are locked.
    """
    rate = sum(1 for _ in network.graph) * 4
    result = rn.emulate(network, seed=7, horizon=2e5 / rate, estimator=estimator, replications=64)
    assert result.verdict == "agree" or "phase-lock" in result.rows[0].note
    assert result.verdict != "differ"
    for row in result.rows:
        assert row.predicted is not None
        if "phase-lock" not in row.note:
            assert row.ci_high - row.ci_low < 0.05


def test_the_same_seed_gives_the_same_numbers_by_any_engine():
    result, other = (rn.emulate(NETWORKS["cluster"], engine, seed=3, horizon=640) for engine in ("array", "step"))
    assert result.rows[0].measured == pytest.approx(other.rows[0].measured, abs=1e-9)
    assert result.events == other.events
    assert result.rows == rn.emulate(NETWORKS["cluster"], seed=3, horizon=640).rows
    assert result.rows[0].measured != rn.emulate(NETWORKS["cluster"], seed=4, horizon=640).rows[0].measured
    assert list(result.table)[:8] == [
        "group", "metric", "measured", "ci_low", "ci_high", "predicted", "z", "verdict"
    ]  # fmt: skip


def test_precision_is_reached_by_more_replications():
    coarse = rn.emulate(NETWORKS["cluster"], seed=1, horizon=3200)
    fine = rn.emulate(NETWORKS["cluster"], seed=1, horizon=3200, precision=0.002)
    assert coarse.rows[0].ci_high - coarse.rows[0].ci_low > 0.004
    assert fine.rows[0].ci_high - fine.rows[0].ci_low <= 0.004
    assert fine.replications > coarse.replications == 32


@pytest.mark.parametrize("rates", [(100, 1), (1, 100)])
def test_what_is_rare_is_measured_more_precisely_than_asked(rates):
    """Freshness of 1 or 99 %: a half-width of 0.1 would be reached at once, and says nothing."""
    network = rn.single(updates=f"exponential(rate={rates[0]})", downloads=f"exponential(rate={rates[1]})")
    found = rn.emulate(network, seed=1, horizon=320, precision=0.1, confirm=False)
    (estimate,) = found.estimates
    assert estimate.half_width <= 0.05 * min(estimate.value, 1 - estimate.value)
    assert found.replications > 32
    assert found.events < 1e7


def test_what_is_too_rare_ends_no_later_than_a_run_of_the_usual_length():
    network = rn.single(updates="exponential(rate=1)", downloads="exponential(rate=1)", delay=20)
    found = rn.emulate(network, "step", seed=1, horizon=320, precision=0.1, confirm=False)
    assert (found.events <= 2.2e5, found.incomplete) == (True, "")


def test_a_difference_is_looked_at_again(monkeypatch):
    """A wrong prediction still differs after four times as many replications; nothing is shown before."""
    from replnet.run import emulate as module

    right = module.formulas

    def wrong(*of):
        return {key: type(f)(f.value + 0.1, f.kind, f.source) for key, f in right(*of).items()}

    monkeypatch.setattr(module, "formulas", wrong)
    result = rn.emulate(NETWORKS["cluster"], seed=1, horizon=3200)
    assert result.verdict == "differ"
    assert result.replications == 128


def test_an_interrupted_run_keeps_what_it_has(monkeypatch):
    monkeypatch.setattr(array, "PULLS_PER_SORT", 1)  # one at a time
    result = rn.emulate(
        NETWORKS["cluster"], horizon=640, replications=64, progress=ending("replication 41 ")[1], workers=0
    )
    assert result.incomplete == "interrupted after 40 replications"
    assert result.replications == 40
    assert result.rows[0].ci_low is not None


def test_heavy_tails_get_a_mean_but_no_interval():
    """Unless the estimator never draws an update, so that their variance does not matter to it."""
    network = rn.single(updates="pareto(alpha=1.4, rate=1)", downloads="constant(rate=1)")
    (row,) = rn.emulate(network, horizon=1e4).rows
    assert (row.measured is None, row.ci_low, row.verdict) == (False, None, "unresolved")
    assert "infinite variance" in row.note
    assert "estimator: conditional has an interval" in row.note
    assert rn.emulate(network, horizon=1e4, estimator="conditional").verdict == "agree"
    slow = rn.single(updates="pareto(alpha=1.4, rate=1)", downloads="pareto(alpha=1.4, rate=1)")
    assert all("conditional" not in row.note for row in rn.emulate(slow, horizon=1e3).rows)  # nor has it one


def test_a_result_carries_where_it_comes_from():
    result = rn.emulate(NETWORKS["single"], seed=5, horizon=1e3)
    data = json.loads(result.to_json())
    assert data["provenance"]["seed"] == 5
    assert data["provenance"]["replnet"] == rn.__version__
    assert data["network"]["updates"] == "pareto(alpha=3, rate=2)"
    assert data["rows"][0]["metric"] == "freshness"
    assert "<table" in result._repr_html_()
    assert result.events > 0
    assert result.seconds > 0

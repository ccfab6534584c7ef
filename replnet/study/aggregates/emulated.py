"""Predict and emulate networks of many sources."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replnet.measure.metrics import Metric, metrics
from replnet.measure.row import Row
from replnet.network.network import Network
from replnet.predictions.many_sources import expected
from replnet.study.aggregates.found import Found
from replnet.study.aggregates.paths import Path, path
from replnet.study.aggregates.system import System
from replnet.study.provenance import provenance
from replnet.study.replications import EVENTS, Replications, shared_out
from replnet.study.result import Predicted

LONGEST = 1e7  # events of a replication, which is what Ctrl-C can lose


def predict_aggregate(network: Network, measure: Iterable[str] = ()) -> Predicted:
    """What the formulas say."""
    found = expected(System.of(network), metrics(measure))
    rows = tuple(Row.of(key, formula) for key, formula in found.items())
    return Predicted(network.data(), rows, provenance(network.data()))


def require_array(engine: str, estimator: str, trace: object) -> None:
    """What an aggregate can be asked for."""
    if engine != "array":
        raise ValueError(f"engine: many sources are emulated by array, and not by {engine} (engine: array)")
    if estimator != "sampled":
        raise ValueError("estimator: many sources are measured against the updates that happened (estimator: sampled)")
    if trace is not None:
        raise ValueError("trace: events of an aggregate are not written (a network of another kind)")


def replicated(
    network: Network,
    asked: Sequence[Metric],
    seed: int,
    horizon: float | None,
    replications: int | None,
    resolution: float,
) -> Replications[Path]:
    """What `emulate` runs."""
    system = System.of(network)
    formulas, rate = expected(system, asked), max(system.rate, 1e-300)
    if horizon is None:
        horizon = EVENTS["array"] / rate / system.looks
    first, length = shared_out(horizon, replications, rate, LONGEST)

    def run(some: range) -> list[Path]:
        return [path(system, asked, seed, one, length) for one in some]

    def judge(paths: Sequence[Path]) -> Found:
        return Found(system, formulas, asked, paths, resolution)

    return Replications(first, length, rate * length, run, judge, lambda one: (one.events, 0))

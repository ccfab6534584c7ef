"""Predict and emulate networks of many sources."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

from replnet.experiment.aggregates.expected import expected
from replnet.experiment.aggregates.found import Found
from replnet.experiment.aggregates.paths import Path, path
from replnet.experiment.aggregates.system import System
from replnet.experiment.metrics import Metric, metrics
from replnet.experiment.provenance import provenance
from replnet.experiment.replications import Progress, Replications
from replnet.experiment.result import Emulated, Predicted
from replnet.network.network import Network

EVENTS = 1e7  # of a run whose length nobody asked for
LONGEST = 1e7  # events of a replication, which is what Ctrl-C can lose
REPLICATIONS = 32
PILOT = 1e5  # events after which a run that has a precision to reach looks at it


def predict_aggregate(network: Network, measure: Iterable[str] = ()) -> Predicted:
    """What the formulas say."""
    found = expected(System.of(network), metrics(measure))
    rows = tuple(formula.row(*key) for key, formula in found.items())
    return Predicted(network.data(), rows, provenance(network.data()))


def pilot(network: Network) -> float:
    """A horizon after which there is an interval to go by."""
    return PILOT / max(float(System.of(network).rate), 1e-300)


def require_array(engine: str, estimator: str, trace: object) -> None:
    """What an aggregate can be asked for."""
    if engine != "array":
        raise ValueError(f"engine: many sources are emulated by array, and not by {engine} (engine: array)")
    if estimator != "sampled":
        raise ValueError("estimator: many sources are measured against the updates that happened (estimator: sampled)")
    if trace is not None:
        raise ValueError("trace: events of an aggregate are not written (a network of another kind)")


def emulate_aggregate(
    network: Network,
    asked: Sequence[Metric],
    seed: int,
    horizon: float | None,
    precision: float | None,
    replications: int | None,
    resolution: float,
    confirm: bool | None,
    progress: Progress | None,
) -> Emulated:
    """As `emulate` says."""
    begun = time.perf_counter()
    system = System.of(network)
    rate = max(system.rate, 1e-300)
    if horizon is None:
        horizon = EVENTS / rate / system.looks
    if replications is None:
        replications = max(REPLICATIONS, math.ceil(horizon * rate / LONGEST))
    length, formulas = horizon / replications, expected(system, asked)

    def run(some: range) -> list[Path]:
        return [path(system, asked, seed, one, length) for one in some]

    def judge(paths: Sequence[Path]) -> Found:
        return Found(system, formulas, asked, paths, resolution)

    made = Replications(run, judge, rate * length, progress=progress)
    made.all(replications, precision, confirm)
    found = judge(made.paths)
    return Emulated(
        network=network.data(),
        rows=tuple(found.rows()) if made.paths else (),
        provenance=provenance(network.data(), seed=seed, engine="array"),
        seed=seed,
        horizon=length * len(made.paths),
        replications=len(made.paths),
        events=sum(one.events for one in made.paths),
        seconds=time.perf_counter() - begun,
        incomplete=made.incomplete,
        estimates=tuple(found.estimates) if made.paths else (),
    )

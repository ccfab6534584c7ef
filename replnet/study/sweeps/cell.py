"""One cell: its network emulated beside its formulas, as a record of plain data.

A record depends on the cell alone: on no clock, machine or other cell. Streams of
chance are named by seed and node, and the seed is that of all cells, so cells
share their random numbers: curves over an axis are smooth, and differences of
cells are more precise than the intervals of each suggest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from replnet.engines.plan import UPDATES, plan
from replnet.measure.estimate import Estimate
from replnet.measure.row import Row
from replnet.network.network import Network
from replnet.papers.formula import compute
from replnet.study.aggregates.system import System
from replnet.study.emulate import emulate, suited
from replnet.study.experiment.cells import Cell, Settings
from replnet.study.replications import EVENTS, INTERRUPTED, REPLICATIONS
from replnet.study.result import Emulated

PILOT = {"array": 1e5, "step": 5e3}  # events after which a run that has a precision to reach looks at it
# What a replication lasts at least, as the past of its start costs half as much: mean intervals of the updates (of an
# aggregate, of the updates and downloads of a source), or with the conditional estimator mean times between the pulls
# of the replica that pulls least.
SPELLS = 20.0
QUIETS = 16.0
CENTURY = 100.0  # records of that many replicas are about as dear as all else in a cell

Record = dict[str, Any]


@final
@dataclass(frozen=True)
class Job:
    """A cell to run; `longer` if it differed from its prediction, to see whether it still does."""

    key: str
    cell: Cell
    longer: bool = False


def run(job: Job) -> Record:
    """The record of a cell. Raises KeyboardInterrupt where emulate would return half a run."""
    cell = job.cell
    if cell.optimise is not None:
        from replnet.study.sweeps.optimise import solve

        return solve(cell.optimise, cell.settings, job.longer)
    if cell.formula is not None:
        return {"rows": predicted(cell), "events": 0, "incomplete": ""}
    network = Network.from_data(cell.network)
    result = emulated(network, cell.settings, job.longer)
    return {
        "rows": [row.record() for row in result.rows],
        "events": result.events,
        "incomplete": result.incomplete,
    }


def emulated(network: Network, settings: Settings, longer: bool = False) -> Emulated:
    """By the settings of a cell; never longer of its own accord, as cells are judged together."""
    engine = settings.engine or suited(network)
    horizon = settings.horizon
    if horizon is None and settings.precision is not None:
        horizon = pilot(network, settings)
    result = emulate(
        network,
        engine,
        seed=settings.seed,
        horizon=horizon,
        precision=settings.precision,
        estimator=settings.estimator,
        replications=settings.replications,
        resolution=settings.resolution,
        confirm=longer,
        measure=settings.measure,
    )
    if result.incomplete.startswith(INTERRUPTED):
        raise KeyboardInterrupt
    return result


def pilot(network: Network, settings: Settings) -> float:
    """A horizon after which there is an interval to go by, and each replication was longer than its start."""
    engine = settings.engine or suited(network)
    if network.kind == "aggregate":
        system = System.of(network)
        events = min(max(PILOT[engine], REPLICATIONS * SPELLS * system.size), EVENTS[engine])
        return events / max(system.rate, 1e-300)
    compiled = plan(network)
    if settings.estimator == "conditional":
        least = QUIETS * compiled.quiet
    else:
        least = SPELLS * max(p.law.mean for p in compiled.processes if p.purpose == UPDATES)
    return max(PILOT[engine] / compiled.rate, least * REPLICATIONS)


def predicted(cell: Cell) -> list[Record]:
    """The rows of a cell without emulation."""
    if cell.optimise is not None:
        from replnet.study.sweeps.optimise import predict_size

        return predict_size(cell.optimise)
    if cell.formula is not None:
        return [Row.of((group, metric), value).record() for group, metric, value in compute(**cell.formula)]
    from replnet.predictions.predict import predict

    return [row.record() for row in predict(Network.from_data(cell.network), cell.settings.measure).rows]


def measured(estimate: Estimate | None) -> Record:
    """The columns of a measured value; NaN, which JSON lacks, is None."""
    if estimate is None:
        names = ("measured", "error", "skew", "replications", "ci_low", "ci_high")
        return {**dict.fromkeys(names), "doubt": ""}
    numbers = {"measured": estimate.value, "error": estimate.error, "skew": estimate.skew}
    interval = {"ci_low": estimate.low, "ci_high": estimate.high}
    known = {name: value if math.isfinite(value) else None for name, value in (numbers | interval).items()}
    return {**known, "replications": estimate.replications, "doubt": estimate.doubt}


def size(cell: Cell) -> float:
    """Roughly what a cell costs beside other cells, from its data alone: who is largest begins first."""
    settings = cell.settings
    if cell.formula is not None:
        return 0.0
    if cell.optimise is not None:
        return 100.0 * _nodes(cell.optimise) / (settings.precision or 0.001)
    work = _nodes(cell.network) * (1 + _number(cell.network, "peers", 0))
    if settings.precision is not None:
        return (work + CENTURY) / settings.precision**2
    return (work + CENTURY) * (settings.horizon or EVENTS["array"] / (work + CENTURY))


def _nodes(data: Mapping[str, Any]) -> float:
    """Replicas of a network, or of a system."""
    tiers = data.get("tiers", ())
    if tiers:
        return sum(_nodes(tier) for tier in tiers)
    branching, depth = _number(data, "branching", 1), int(_number(data, "depth", 1))
    tree = sum(min(branching, 1e6) ** min(level, 20) for level in range(1, min(depth, 20) + 1))
    return _number(data, "sources", 1) * _number(data, "replicas", 1) * tree + len(data.get("nodes", ()))


def _number(data: Mapping[str, Any], name: str, otherwise: float) -> float:
    value = data.get(name)
    return float(value) if isinstance(value, int | float) else otherwise

"""Emulate a network: replications until the horizon or the precision is reached, then one table."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from replnet.ages.prediction import Prediction
from replnet.engines.path import Path
from replnet.engines.plan import Plan, plan
from replnet.engines.start import require_order
from replnet.measure.estimate import FEWEST
from replnet.measure.metrics import Metric, metrics
from replnet.measure.verdict import RESOLUTION
from replnet.network.network import Network
from replnet.predictions.predict import formulas, require_by
from replnet.study.dependence import depends
from replnet.study.findings import Findings
from replnet.study.provenance import provenance
from replnet.study.replications import EVENTS, Progress, Replications, shared_out
from replnet.study.result import Emulated

if TYPE_CHECKING:
    from replnet.study.behind import Follow
    from replnet.study.event_log import Again, EventLog, File

LONGEST = {"array": 2e7, "step": 5e4}  # events of a replication: about a second, which is what Ctrl-C can lose
ESTIMATORS = ("sampled", "conditional")

Runner = Callable[[range], list[Path]]


def suited(network: Network) -> str:
    """The fastest engine that takes the network."""
    if network.kind == "aggregate":
        return "array"
    compiled = plan(network)
    odd = compiled.constant_delay is None or (compiled.recent and bool(compiled.faults))
    return "step" if odd else "array"


def emulate(
    network: Network,
    engine: str = "array",
    *,
    seed: int = 1,
    horizon: float | None = None,
    precision: float | None = None,
    estimator: str = "sampled",
    replications: int | None = None,
    resolution: float = RESOLUTION,
    confirm: bool | None = None,
    progress: Progress | None = None,
    trace: File | None = None,
    measure: Iterable[str] = (),
    by: str | None = None,
) -> Emulated:
    """Run the network and compare it with its predictions.

    `horizon` units of time are shared out among the replications, 32 of them or
    more if they would take long. With `precision`, replications are added until every interval of freshness
    has a half-width of at most that, and a smaller one where freshness is near 0 or 1 (replications.py).
    Rows that differ from their prediction are run four times longer before they are called so, or always
    or never if `confirm` says so. Ctrl-C ends the run with what there is.
    `trace` names a Parquet file for all that happens. `measure` names metrics of staleness beyond fresh or not
    that are measured as well (metrics.py), against the updates that happened, so by the estimator `sampled`.
    With `by="source"` groups that can hear of several sources have a row of each besides (those of an aggregate
    are there anyway).
    """
    from replnet.study.event_log import event_log

    _check(engine, seed, horizon, precision, estimator, replications, resolution)
    require_by(by)
    asked = metrics(measure)
    if asked and estimator != "sampled":
        raise ValueError(f"measure: {asked[0].name} is measured against the updates that happened (estimator: sampled)")
    made: Replications[Any]
    begun = time.perf_counter()
    if network.kind == "aggregate":
        from replnet.study.aggregates.emulated import replicated, require_array

        require_array(engine, estimator, trace)
        made = replicated(network, asked, seed, horizon, replications, resolution)
        made.all(precision, confirm, progress)
    else:
        with event_log(trace, network, seed, engine) as log:
            sampled = estimator == "sampled"
            wanted = asked, by == "source", log
            made = _replicated(plan(network), engine, seed, horizon, replications, resolution, sampled, *wanted)
            made.all(precision, confirm, progress)
    found, (events, queries) = made.found, made.counts
    return Emulated(
        network=network.data(),
        rows=tuple(found.rows()) if made.paths else (),
        provenance=provenance(network.data(), seed=seed, engine=engine),
        engine=engine,
        estimator=estimator,
        seed=seed,
        horizon=made.length * len(made.paths),
        replications=len(made.paths),
        events=events,
        queries=queries,
        seconds=time.perf_counter() - begun,
        incomplete=made.incomplete,
    )


def _check(
    engine: str,
    seed: int,
    horizon: float | None,
    precision: float | None,
    estimator: str,
    replications: int | None,
    resolution: float,
) -> None:
    if engine not in EVENTS:
        raise ValueError(f"engine: {engine!r} is not an engine ({' or '.join(EVENTS)})")
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimator: {estimator!r} is not an estimator ({' or '.join(ESTIMATORS)})")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed: {seed!r} is not a whole number of 0 or more (such as 1)")
    whole = isinstance(replications, int) and not isinstance(replications, bool)
    if replications is not None and not (whole and replications > 0):
        right = f"a whole number above 0, {FEWEST} or more for intervals"
        raise ValueError(f"replications: {replications!r} is not a number of replications ({right})")
    for name, value in (("horizon", horizon), ("precision", precision), ("resolution", resolution)):
        if value is not None and not (
            isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
        ):
            raise ValueError(f"{name}: {value!r} is not a number above 0")


def _replicated(
    compiled: Plan,
    engine: str,
    seed: int,
    horizon: float | None,
    replications: int | None,
    resolution: float,
    sampled: bool,
    asked: tuple[Metric, ...],
    by_source: bool,
    log: EventLog | None,
) -> Replications[Path]:
    if horizon is None:
        horizon = _round(EVENTS[engine] / max(compiled.rate, 1e-300))
    first, length = shared_out(horizon, replications, compiled.rate, LONGEST[engine])
    expected = formulas(compiled, asked, by_source)
    run = _Run(compiled, engine, seed, length, sampled, resolution, expected, asked, by_source, log)
    events, plenty = compiled.rate * length, EVENTS[engine]
    return Replications(first, length, events, run.paths, run.found, _counted, plenty, run.room)


def _counted(path: Path) -> tuple[int, int]:
    updates, downloads, polls, queries = path.counts
    return updates + downloads + polls, queries


def _round(x: float) -> float:
    """To two significant digits, for a horizon that reads well."""
    digits = 10.0 ** (math.floor(math.log10(x)) - 1)
    return float(f"{round(x / digits) * digits:.6g}")


def _runner(compiled: Plan, engine: str, seed: int, length: float, sampled: bool) -> tuple[Runner, int]:
    """What runs some replications, and how many of them at most at a time."""
    require_order(compiled)
    if engine == "array":
        from replnet.engines import array

        return array.runner(compiled, seed, length, sampled)
    from replnet.engines import step

    return lambda some: [step.run_path(compiled, seed, one, length, sampled) for one in some], 1


@dataclass
class _Run:
    """How replications are made, and what they amount to."""

    plan: Plan
    engine: str
    seed: int
    length: float
    sampled: bool
    resolution: float
    formulas: dict[tuple[str, str], Prediction]
    asked: tuple[Metric, ...] = ()
    by_source: bool = False
    log: EventLog | None = None

    def __post_init__(self) -> None:
        self._make, self.room = _runner(self.plan, self.engine, self.seed, self.length, self.sampled)

    @cached_property
    def _again(self) -> Again:
        from replnet.study.event_log import again

        return again(self.plan, self.engine, self.seed, self.length)

    @cached_property
    def _follow(self) -> Follow:
        from replnet.study.behind import following

        questions = {one.name: one.question for one in self.asked}
        return following(self.plan, self.engine, self.seed, self.length, questions)

    def paths(self, some: range) -> list[Path]:
        return [self._complete(*both) for both in zip(some, self._make(some), strict=True)]

    def _complete(self, replication: int, path: Path) -> Path:
        """With what else is asked for."""
        if self.asked:
            path = self._follow(replication, path)
        if self.by_source:
            path = replace(path, shares=path.shares | path.of_sources)
        if self.log:
            self._again(replication, path, self.log.keep(replication))
        return path

    def found(self, paths: Sequence[Path]) -> Findings:
        about = (self.plan, self.formulas, paths, self.sampled, self.resolution)
        return Findings(*about, asked=self.asked, depends=self._depends)

    @cached_property
    def _depends(self) -> dict[str, str]:
        """By group; what is averaged over updates does not depend on how they meet downloads."""
        predicted = {group for (group, _), formula in self.formulas.items() if formula.known}
        rows = self.plan.rows.items() if self.sampled else ()
        return {name: depends(self.plan, g, self.seed, row) for name, (g, row) in rows if name in predicted}

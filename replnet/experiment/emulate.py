"""Emulate a network: replications until the horizon or the precision is reached, then one table."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from replnet.engines.path import Path
from replnet.engines.plan import Plan, plan
from replnet.experiment.findings import Findings
from replnet.experiment.formula import Formula
from replnet.experiment.metrics import Metric, metrics
from replnet.experiment.predict import formulas
from replnet.experiment.provenance import provenance
from replnet.experiment.result import Emulated
from replnet.measure.estimate import FEWEST
from replnet.measure.verdict import RESOLUTION
from replnet.network.network import Network

if TYPE_CHECKING:
    from replnet.experiment.behind import Follow
    from replnet.experiment.event_log import Again, EventLog, File

REPLICATIONS = 32
EVENTS = {"array": 1e7, "step": 2e5}  # of a run whose length nobody asked for
LONGEST = {"array": 2e7, "step": 5e4}  # events of a replication: about a second, which is what Ctrl-C can lose
LONGER = 4  # times the replications of a run whose rows differ
INTERRUPTED = "interrupted"  # how `incomplete` begins after Ctrl-C
MOST_EVENTS = 1e11  # where a search for a precision gives up
ESTIMATORS = ("sampled", "conditional")

Runner = Callable[[range], list[Path]]
Progress = Callable[[float, str], None]
"""Called with the share that is done and a word about it."""


def suited(network: Network) -> str:
    """The fastest engine that takes the network."""
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
) -> Emulated:
    """Run the network and compare it with its predictions.

    `horizon` units of time are shared out among the replications, 32 of them or
    more if they would take long. With `precision`, replications are added until every interval of freshness has a
    half-width of at most that. Rows that differ from their prediction are run four times longer
    before they are called so, or always or never if `confirm` says so. Ctrl-C ends the run with what there is.
    `trace` names a Parquet file for all that happens. `measure` names metrics of staleness beyond fresh or not
    that are measured as well (metrics.py), against the updates that happened, so by the estimator `sampled`.
    """
    from replnet.experiment.event_log import event_log

    _check(engine, seed, horizon, precision, estimator, replications, resolution)
    asked = metrics(measure)
    if asked and estimator != "sampled":
        raise ValueError(f"measure: {asked[0].name} is measured against the updates that happened (estimator: sampled)")
    begun = time.perf_counter()
    compiled = plan(network)
    if horizon is None:
        horizon = _round(EVENTS[engine] / max(compiled.rate, 1e-300))
    if replications is None:
        replications = max(REPLICATIONS, math.ceil(horizon * compiled.rate / LONGEST[engine]))
    run = _Replications(
        compiled,
        engine,
        seed,
        horizon / replications,
        estimator == "sampled",
        resolution,
        formulas(compiled, asked),
        progress,
        asked,
    )
    with event_log(trace, network, seed, engine) as run.log:
        run.all(replications, precision, confirm)
    return Emulated(
        network=network.data(),
        rows=tuple(run.found.rows()) if run.paths else (),
        provenance=provenance(network.data(), seed=seed, engine=engine),
        engine=engine,
        estimator=estimator,
        seed=seed,
        horizon=run.length * len(run.paths),
        replications=len(run.paths),
        events=sum(sum(path.counts[:3]) for path in run.paths),
        queries=sum(path.counts[3] for path in run.paths),
        seconds=time.perf_counter() - begun,
        incomplete=run.incomplete,
        estimates=tuple(run.found.estimates) if run.paths else (),
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


def _round(x: float) -> float:
    """To two significant digits, for a horizon that reads well."""
    digits = 10.0 ** (math.floor(math.log10(x)) - 1)
    return float(f"{round(x / digits) * digits:.6g}")


def _runner(compiled: Plan, engine: str, seed: int, length: float, sampled: bool) -> tuple[Runner, int]:
    """What runs some replications, and how many of them at most at a time."""
    if engine == "array":
        from replnet.engines import abreast, array
        from replnet.engines.program import Program

        program = Program(compiled, sampled)
        if abreast.suits(program):
            return lambda some: abreast.run_paths(program, seed, some, length), abreast.room(program, length)
        return lambda some: [array.run_path(program, seed, one, length) for one in some], 1
    from replnet.engines import step

    return lambda some: [step.run_path(compiled, seed, one, length, sampled) for one in some], 1


@dataclass
class _Replications:
    """Paths so far, and what they amount to."""

    plan: Plan
    engine: str
    seed: int
    length: float
    sampled: bool
    resolution: float
    formulas: dict[tuple[str, str], Formula]
    progress: Progress | None
    asked: tuple[Metric, ...] = ()
    paths: list[Path] = field(default_factory=list)
    incomplete: str = ""
    log: EventLog | None = None

    def __post_init__(self) -> None:
        self._run, self._room = _runner(self.plan, self.engine, self.seed, self.length, self.sampled)

    @cached_property
    def _again(self) -> Again:
        from replnet.experiment.event_log import again

        return again(self.plan, self.engine, self.seed, self.length)

    @cached_property
    def _follow(self) -> Follow:
        from replnet.experiment.behind import following

        questions = {one.name: one.question for one in self.asked}
        return following(self.plan, self.engine, self.seed, self.length, questions)

    def all(self, replications: int, precision: float | None, confirm: bool | None) -> None:
        """What `emulate` says."""
        try:
            self.until(replications)
            if precision is not None:
                self.reach(precision)
            if confirm or (confirm is None and "differ" in self.found.words):
                self.until(LONGER * len(self.paths))
        except KeyboardInterrupt:
            self.incomplete = f"{INTERRUPTED} after {len(self.paths)} replications"

    def until(self, replications: int) -> None:
        while len(self.paths) < replications:
            if self.progress:
                words = f"replication {len(self.paths) + 1} of {replications}"
                first = "" if self.paths else " (the very first run compiles the kernels)"
                self.progress(len(self.paths) / replications, words + first)
            some = range(len(self.paths), min(len(self.paths) + self._room, replications))
            for replication, path in zip(some, self._run(some), strict=True):
                self.paths.append(self._complete(replication, path))

    def _complete(self, replication: int, path: Path) -> Path:
        """With what else is asked for."""
        if self.asked:
            path = self._follow(replication, path)
        if self.log:
            self._again(replication, path, self.log.keep(replication))
        return path

    def reach(self, precision: float) -> None:
        """Add replications until every interval that there is has at most this half-width."""
        if len(self.paths) < FEWEST:
            self.until(FEWEST)
        most = int(MOST_EVENTS / max(self.plan.rate * self.length, 1))
        while (widest := self.found.widest) > precision:
            if len(self.paths) >= most:
                self.incomplete = (
                    f"precision {precision:g} not reached: half-width {widest:.2g} after {MOST_EVENTS:g} events"
                )
                return
            # The half-width falls with the root of their number; a little more saves another round.
            need = math.ceil(len(self.paths) * 1.05 * (widest / precision) ** 2)
            self.until(min(need, 16 * len(self.paths), most))

    @property
    def found(self) -> Findings:
        return Findings(self.plan, self.formulas, self.paths, self.sampled, self.resolution, asked=self.asked)

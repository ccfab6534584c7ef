"""Emulate a network: replications until the horizon or the precision is reached, then one table."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from replnet.engines.path import Path
from replnet.engines.plan import Plan, plan
from replnet.experiment.doubts import behind, heavy, locked
from replnet.experiment.formula import Formula
from replnet.experiment.predict import formulas
from replnet.experiment.provenance import provenance
from replnet.experiment.result import Emulated, Row
from replnet.measure.estimate import FEWEST, Estimate, ratio
from replnet.measure.verdict import RESOLUTION, Cell, verdicts
from replnet.network.network import Network

REPLICATIONS = 32
EVENTS = {"array": 1e7, "step": 2e5}  # of a run whose length nobody asked for
LONGEST = {"array": 2e7, "step": 5e4}  # events of a replication: about a second, which is what Ctrl-C can lose
MOST_EVENTS = 1e11  # where a search for a precision gives up
ESTIMATORS = ("sampled", "conditional")
SHARES = (
    "freshness",
    "availability",
    "answered",
    "rejected",
)  # whose intervals are judged as they are; others relatively

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
    progress: Progress | None = None,
) -> Emulated:
    """Run the network and compare it with its predictions.

    `horizon` units of time are shared out among the replications, 32 of them or
    more if they would take long. With `precision`, replications are added until every interval of freshness has a
    half-width of at most that. Rows that differ from their prediction are run four times longer
    before they are called so. Ctrl-C ends the run with what there is.
    """
    _check(engine, seed, horizon, precision, estimator, replications, resolution)
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
        formulas(network, compiled),
        progress,
    )
    try:
        run.until(replications)
        if precision is not None:
            run.reach(precision)
        if "differ" in run.words():
            run.until(4 * len(run.paths))
    except KeyboardInterrupt:
        run.incomplete = f"interrupted after {len(run.paths)} replications"
    return Emulated(
        network=network.data(),
        rows=tuple(run.rows()),
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


def _runner(compiled: Plan, engine: str, seed: int, length: float, sampled: bool) -> Callable[[int], Path]:
    if engine == "array":
        from replnet.engines import array
        from replnet.engines.program import Program

        program = Program(compiled, sampled)
        return lambda replication: array.run_path(program, seed, replication, length)
    from replnet.engines import step

    return lambda replication: step.run_path(compiled, seed, replication, length, sampled)


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
    paths: list[Path] = field(default_factory=list)
    incomplete: str = ""

    def __post_init__(self) -> None:
        self._run = _runner(self.plan, self.engine, self.seed, self.length, self.sampled)
        self._behind = {group: behind(self.plan, g) for g, group in enumerate(self.plan.groups)}

    def until(self, replications: int) -> None:
        while len(self.paths) < replications:
            if self.progress:
                words = f"replication {len(self.paths) + 1} of {replications}"
                first = "" if self.paths else " (the very first run compiles the kernels)"
                self.progress(len(self.paths) / replications, words + first)
            self.paths.append(self._run(len(self.paths)))

    def reach(self, precision: float) -> None:
        """Add replications until every interval that there is has at most this half-width."""
        if len(self.paths) < FEWEST:
            self.until(FEWEST)
        most = int(MOST_EVENTS / max(self.plan.rate * self.length, 1))
        while (widest := self._widest()) > precision:
            if len(self.paths) >= most:
                self.incomplete = (
                    f"precision {precision:g} not reached: half-width {widest:.2g} after {MOST_EVENTS:g} events"
                )
                return
            # The half-width falls with the root of their number; a little more saves another round.
            need = math.ceil(len(self.paths) * 1.05 * (widest / precision) ** 2)
            self.until(min(need, 16 * len(self.paths), most))

    def _widest(self) -> float:
        """Half-width of freshness, of the groups that have an interval."""
        found = [e for (_, metric), e in zip(self.keys, self.estimates(), strict=True) if metric == "freshness"]
        return max((e.half_width for e in found if not e.doubt), default=0.0)

    @property
    def keys(self) -> list[tuple[str, str]]:
        """(group, metric) of all that is measured, group by group."""
        groups, more = self.plan.groups, self.paths[0].shares
        others = [name for name, _ in more if name not in groups]
        return [
            key
            for name in dict.fromkeys((*groups, *others))
            for key in ([(name, "freshness")] if name in groups else []) + [k for k in more if k[0] == name]
        ]

    def estimates(self) -> list[Estimate]:
        """In the order of `keys`."""
        return [self._estimate(*key) for key in self.keys]

    def _estimate(self, group: str, metric: str) -> Estimate:
        doubt = self._doubt(group)
        if metric != "freshness":
            shares = np.array([path.shares[group, metric] for path in self.paths])
            return ratio(shares[:, 0], shares[:, 1], doubt=doubt)
        g = self.plan.groups.index(group)
        if self.plan.copies[g]:
            # Freshness is that of the copies that there were.
            held = np.array([path.shares.get((group, "availability"), (1.0, 1.0))[0] for path in self.paths])
            return ratio(np.array([path.fresh[g] for path in self.paths]) * held, held, doubt=doubt)
        answers = np.array([float(path.answers[g]) for path in self.paths])
        return ratio(np.array([float(path.good[g]) for path in self.paths]), answers, doubt=doubt)

    def _doubt(self, group: str) -> str:
        behind = self._behind.get(group)
        return heavy(behind, self.sampled) if behind else ""

    def words(self) -> list[str]:
        return verdicts(self._cells(), self.resolution) if self.paths else []

    def _cells(self) -> list[Cell]:
        found = [self.formulas.get(key) for key in self.keys]
        return [
            Cell(
                estimate, f.value if f else None, f.accuracy if f else 0.0, 1.0 if key[1] in SHARES else estimate.value
            )
            for key, estimate, f in zip(self.keys, self.estimates(), found, strict=True)
        ]

    def rows(self) -> list[Row]:
        if not self.paths:
            return []
        cells = self._cells()
        words = verdicts(cells, self.resolution)
        rows = [self._row(*key, cell, word) for key, cell, word in zip(self.keys, cells, words, strict=True)]
        measured = {(row.group, row.metric) for row in rows}
        rows += [f.row(*key) for key, f in self.formulas.items() if key not in measured]
        return rows

    def _row(self, group: str, metric: str, cell: Cell, word: str) -> Row:
        estimate, formula = cell.estimate, self.formulas.get((group, metric))
        notes = [estimate.doubt]
        if metric == "freshness":
            notes += [self._unproven(), locked(self._behind[group], self.sampled, len(self.paths))]
        notes.append(formula.note if formula else "")
        return Row(
            group=group,
            metric=metric,
            measured=estimate.value,
            ci_low=estimate.low,
            ci_high=estimate.high,
            predicted=cell.predicted,
            z=cell.z,
            verdict=word,
            **(formula.about if formula else {}),
            note="; ".join(dict.fromkeys(note for note in notes if note)),
        )

    def _unproven(self) -> str:
        doubtful = [path for path in self.paths if path.unproven]
        if not doubtful:
            return ""
        most, depth = max(path.unproven for path in doubtful), doubtful[0].depth
        return f"start not proven in {len(doubtful)} replications (up to {most} copies, back to t = -{depth:.3g})"

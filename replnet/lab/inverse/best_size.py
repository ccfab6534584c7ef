"""The best size of a system: by formula, measured where the formula puts it; by emulation where there is none.

    r <- r + (target - p(r)) / p'(r)                                                               (2)

finds by emulation the rate r at which the measured freshness p is the target. The slope is a difference of two
emulations with the same random numbers; the standard error of r is that of p over the slope, and the errors of all
that follows from r, (1) of `system`, are its error times their own slopes. Where there is a formula, the measured
values are those of the size m that the formula calls best.

Rows are in the group of the system, and beside it in the group `independent` for its replicas without polls or
redundant queries.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, final

from replnet.ages import Prediction, UnreachableError, bisect_edge
from replnet.ages.clusters import NO_RECENT, cluster
from replnet.deadline import sharing_reasonable_time, within_reason
from replnet.lab.experiment import RunOutput, Subject, emulate_whole
from replnet.lab.inverse.system import NO_CLUSTER, Optimise, Size
from replnet.lab.papers import cooperative, non_cooperative, peak, redundant
from replnet.laws import at_rate
from replnet.measure import NO_PREDICTION, Estimate, Row
from replnet.network import Network
from replnet.run import Settings
from replnet.text import Document, validate

BY_REPLICAS = "P2P eq. 30"
SOURCES = {"independent": "P2P eq. 31-33", "redundant": "P2P eq. 34"}
SYSTEM_GROUPS = ("clients", "cluster", "level 1")  # the first that a network has, has the freshness of the system
PRECISION = 0.001  # half-width of freshness, where none is asked for
COARSE_FACTOR = 4.0  # factor of the half-width while sizes are compared
GLANCE_PRECISION = 0.005  # half-width of a glance
SLOPE_RATIO = 1.05  # ratio of the rates between which a slope is taken, and r
CLOSE_STEP = 0.01  # relative step of (2) after which the next would be smaller than any interval
LARGEST_STEP = 3.0  # largest factor of a rate in a step of (2)
MOST_STEPS = 40
SEARCH_RUNS = 24  # emulations of a search: of two systems, about four steps of (2) with three rates each
AS_GOOD_AS_BEST = 0.99  # of the best service rate: sizes that reach it are as good as the best

V = TypeVar("V", Prediction, Estimate)


@final
class BestSize(Subject):
    """A system of replicas that meets a target, and whose best size, which serves most queries, is sought.

    Its rows are those of `solve`: by formula, and beside that by emulation if it is run.
    """

    section = words = "optimise"
    kinds: ClassVar = {None: Optimise}

    @classmethod
    def from_document(cls, document: Document) -> Subject:
        return cls(validate(Optimise, document.data, document).model_dump(mode="json", exclude_none=True))

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return {"$defs": {"Optimise": Optimise.model_json_schema()}, "$ref": "#/$defs/Optimise"}

    @property
    def groups(self) -> set[str]:
        return {"independent", self.data["system"]}

    def predict(self, settings: Settings) -> list[Row]:
        return solve(self.system)

    def run(self, settings: Settings, longer: bool) -> RunOutput:
        emulator = Emulator(settings, longer)
        with sharing_reasonable_time(SEARCH_RUNS), within_reason():
            rows = solve(self.system, emulator)
        return rows, emulator.events, emulator.incomplete

    def cost(self, settings: Settings) -> float:
        return 100.0 * float(self.data.get("replicas", 1)) / (settings.precision or PRECISION)

    def glance(self, settings: Settings) -> tuple[float, float]:
        begun = time.perf_counter()
        _, events, _ = self.run(replace(settings, precision=GLANCE_PRECISION, horizon=None), False)
        more = max((GLANCE_PRECISION / (settings.precision or PRECISION)) ** 2, 1.0)
        return more * events, more * (time.perf_counter() - begun)

    @property
    def system(self) -> Optimise:
        return Optimise.model_validate(self.data)


@final
@dataclass(frozen=True)
class Solution(Generic[V]):
    """A system of some size at the slowest rate that meets its target, predicted or measured.

    The rate is that of the polls of each replica in a cluster, and else of the downloads of all replicas that a query
    asks. `freshness` is that at this rate, or at the predicted rate if it was measured there. `size` has the replicas
    of a cluster and the peers that each poll asks. `note` is to stand beside the service rate.
    """

    rate: V
    freshness: V  # at that rate, or at the predicted rate if it was measured there
    size: Size = NO_CLUSTER
    note: str = ""

    def derive(self, amount: Callable[[float], float]) -> V:
        """Return an amount that follows from the rate, as a prediction or an estimate like the rate itself.

        The function `amount` computes it from a rate. Its standard error, or its accuracy if it is predicted, is that
        of the rate times the slope of the function.
        """
        rate, value = self.rate, amount(self.rate.value)
        if isinstance(rate, Prediction):
            return replace(rate, value=value, accuracy=abs(amount(rate.value + rate.accuracy) - value))
        step = 1e-6 * rate.value
        slope = (amount(rate.value + step) - amount(rate.value - step)) / (2 * step) if step else 0.0
        return replace(
            rate, value=value, error=abs(slope) * rate.error, skew=math.copysign(rate.skew, rate.skew * slope)
        )


def solve(system: Optimise, emulator: Emulator | None = None) -> list[Row]:
    """Return the rows of a system in its best size, of its gains, and of the system without polls or redundant queries.

    They are predicted, and measured too if there is an `emulator`. A system that cannot reach its target has one row,
    which says why.
    """
    try:
        plain, best = _solve_by_formula(system)
    except UnreachableError as error:
        return [_unreachable_row(system, error)]
    independent = system.independent
    measured = emulator.measure(independent, plain) if emulator else None
    rows = list(_system_rows(independent, plain, measured))
    if system.system == "independent" or not (best or emulator):
        return rows
    try:
        measured_best = (
            None if emulator is None else emulator.measure(system, best) if best else emulator.search(system)
        )
    except UnreachableError as error:
        return [_unreachable_row(system, error), *rows]
    return [
        *_system_rows(system, best, measured_best),
        *_gain_rows(system, (plain, best), (measured, measured_best)),
        *rows,
    ]


# ---- By formula

PredictedSolution = Solution[Prediction]
MeasuredSolution = Solution[Estimate]


def _solve_by_formula(system: Optimise) -> tuple[PredictedSolution, PredictedSolution | None]:
    """Return the predicted solutions of the replicas without polls or redundant queries, and of the system itself.

    The second is None if the system is independent, or if there is no formula for it. Raises UnreachableError if the
    target cannot be reached.
    """
    requirements = (system.bandwidth, system.target, system.updates, system.downloads)
    plain = non_cooperative(*requirements)
    independent = _solution_at(system, plain.downloads, SOURCES["independent"])
    if system.system == "redundant":
        poisson, ask = system.superposition == "poisson", system.ask or 1
        rate, source = (
            redundant(*requirements, ask, poisson=poisson).downloads * ask,
            SOURCES["redundant"] + (", 35" if poisson else ""),
        )
        return independent, _solution_at(system, rate, source, "limit" if poisson else "exact")
    if system.system == "cooperative" and system.select != "recent":
        return independent, _predict_best_cluster(system, plain.replicas)
    return independent, None


def _solution_at(system: Optimise, rate: float, source: str, kind: str = "exact") -> PredictedSolution:
    """Return the predicted solution at `rate`, which a formula gives.

    `source` names the formula, and `kind` says what it is: exact, or a limit.
    """
    return Solution(Prediction(rate, kind, source), Prediction(system.target, kind, source))


def _predict_best_cluster(system: Optimise, plain_replicas: float) -> PredictedSolution:
    """Return the cluster that serves most by P2P eq. 30, of the sizes that the system allows, at its slowest polls.

    Its note says which numbers of replicas serve at least 99 % as much, if the number is sought. `plain_replicas` is
    the best number of replicas without polls. Raises UnreachableError if no size reaches the target.
    """
    assert system.polls is not None
    polls, downloads = partial(at_rate, system.polls), partial(at_rate, system.downloads)

    def meet(size: Size, rates: list[float]) -> PredictedSolution:
        """Return a cluster of this size at its slowest rate of polls; the search begins at the last of `rates`."""
        requirements = (system.bandwidth, system.target, size[0], system.updates, downloads, polls, size[1])
        solution = cooperative(*requirements, start=rates[-1] or None if rates else None)
        return Solution(Prediction(solution.polls), Prediction(system.target), size)

    best, _, value = _find_best(system, plain_replicas, meet)
    replicas, peers = best.size

    def freshness(rate: float) -> Prediction:
        return cluster(replicas, downloads(system.bandwidth / replicas), polls(rate), peers).freshness(system.updates)

    lowest = max(best.rate.value, 1e-9)
    basis, slope = freshness(lowest), math.inf
    if basis.accuracy and best.rate.value:
        above, below = lowest * SLOPE_RATIO, lowest / SLOPE_RATIO
        slope = (freshness(above).value - freshness(below).value) / (above - below)
    note = ""
    if "replicas" in system.over:
        low, high = system.over["replicas"]
        enough = AS_GOOD_AS_BEST * value(best.size)
        ends = max(low, peers + 1), high
        note = _near_words(*(_edge(replicas, end, lambda m: value((m, peers)) >= enough) for end in ends))
    source = f"{BY_REPLICAS}; {basis.source}"
    rate = Prediction(best.rate.value, basis.kind, source, accuracy=basis.accuracy / slope)
    return replace(best, rate=rate, freshness=replace(basis, value=system.target, source=source), note=note)


def _edge(inside: int, end: int, fine: Callable[[int], bool]) -> int:
    """Return the whole number farthest from `inside`, towards `end` and at most that far, for which `fine` holds.

    It holds at `inside`, and fails beyond some number if at all. The steps grow until it fails, and then the interval
    is halved.
    """
    outside, step = inside, 1 if end > inside else -1
    while outside != end and fine(outside):
        inside, outside, step = outside, (min if step > 0 else max)(outside + step, end), 2 * step
    return outside if fine(outside) else bisect_edge(inside, outside, fine)


# ---- By emulation


@final
class Emulator:
    """An emulator that measures the freshness of systems of replicas, and finds sizes and rates that meet a target.

    It runs by the settings of an experiment's cell; if `longer`, runs that are not coarse are four times as long.
    `events` counts the events of all runs, and `incomplete` says why one of them is not complete; it is empty if all
    are.
    """

    def __init__(self, settings: Settings, longer: bool) -> None:
        free = settings.precision is None and settings.horizon is None
        self._settings = replace(settings, precision=PRECISION) if free else settings
        self._longer = longer
        self.events, self.incomplete = 0, ""

    def measure(self, system: Optimise, predicted: PredictedSolution) -> MeasuredSolution:
        """Measure the freshness at the predicted rate, and find by emulation the rate at which the target is met.

        The solution has both. Raises UnreachableError if no rate meets the target. If the predicted rate is 0, as a
        cluster needs no polls, only its freshness is measured.
        """
        if not predicted.rate.value:
            return self._without_polls(system, predicted.size)
        first = self._freshness(system.network(predicted.rate.value, predicted.size))
        return replace(self._find_rate(system, predicted.rate.value, predicted.size, first), freshness=first)

    def search(self, system: Optimise) -> MeasuredSolution:
        """Find by emulation the best size of a cluster without a formula, and its slowest rate of polls.

        The note of the solution says which sizes are about as good. Raises UnreachableError if no size reaches the
        target.
        """

        def meet(size: Size, rates: list[float]) -> MeasuredSolution:
            """Return a cluster of this size at its slowest rate of polls, measured coarsely.

            The search begins at the last of `rates` that is not 0.
            """
            idle = self._without_polls(system, size, coarse=True)
            if idle.freshness.value >= system.target:
                return idle
            start = next(filter(None, reversed(rates)), system.updates.rate)
            return self._find_rate(system, start, size, coarse=True)

        plain = non_cooperative(system.bandwidth, system.target, system.updates, system.downloads)
        best, solutions, value = _find_best(system, plain.replicas, meet)
        tried = [
            size[0]
            for size in solutions
            if size[1] == best.size[1] and value(size) >= AS_GOOD_AS_BEST * value(best.size)
        ]
        words = _near_words(min(tried), max(tried))
        if best.rate.value:
            best = self._find_rate(system, best.rate.value, best.size)
        return replace(best, note=f"{words}, of {len(solutions)} sizes emulated" if words else "")

    def _freshness(self, network: Network, coarse: bool = False) -> Estimate:
        """Emulate a network and return its measured freshness; with `coarse` to four times the half-width, if one is
        set.

        The freshness is that of the clients, the cluster or the one replica. The events of the run are added to
        `events`.
        """
        settings = self._settings
        if coarse and settings.precision is not None:
            settings = replace(settings, precision=COARSE_FACTOR * settings.precision)
        result = emulate_whole(network, settings, self._longer and not coarse)
        self.events += result.events
        self.incomplete = self.incomplete or result.incomplete
        by_group = {row.group: row.estimate for row in result.rows if row.metric == "freshness" and row.estimate}
        return next(by_group[group] for group in SYSTEM_GROUPS if group in by_group)

    def _without_polls(self, system: Optimise, size: Size, coarse: bool = False) -> MeasuredSolution:
        """Return a cluster of this size with hardly any polls: its measured freshness, and a rate of 0.

        With `coarse` it is measured less precisely.
        """
        freshness = self._freshness(system.network(1e-9 * system.updates.rate, size), coarse)
        return Solution(replace(freshness, value=0.0, error=0.0), freshness, size)

    def _find_rate(
        self, system: Optimise, rate: float, size: Size, first: Estimate | None = None, coarse: bool = False
    ) -> MeasuredSolution:
        """Find by Newton's method the rate at which the measured freshness is the target; return a solution with both.

        The search begins at `rate`, and `first` is the freshness there if that has been measured; with `coarse` the
        runs are less precise. Raises UnreachableError if no rate meets the target.
        """

        def freshness_at(rate: float) -> Estimate:
            """Return the measured freshness of the system at a rate."""
            return self._freshness(system.network(rate, size), coarse)

        fastest = LARGEST_STEP * system.bandwidth / max(size[1], 1)
        for _ in range(MOST_STEPS):
            freshness, first = first or freshness_at(rate), None
            above, below = freshness_at(rate * SLOPE_RATIO).value, freshness_at(rate / SLOPE_RATIO).value
            slope = max((above - below) / (rate * SLOPE_RATIO - rate / SLOPE_RATIO), 0.0)
            missing = system.target - freshness.value
            if slope and abs(missing) <= CLOSE_STEP * rate * slope:
                root = replace(
                    freshness, value=rate + missing / slope, error=freshness.error / slope, skew=-freshness.skew
                )
                return Solution(root, freshness, size)
            step = missing / slope if slope else math.copysign(math.inf, missing)
            rate = min(max(rate + step, rate / LARGEST_STEP), rate * LARGEST_STEP)
            if rate > fastest and system.system == "cooperative":
                break
        raise UnreachableError(
            f"freshness {system.target:g} is not met at rate {rate:.4g}: {freshness.value:.4g} is measured"
        )


# ---- The size of a cluster

SolveSize = Callable[[Size, list[float]], Solution[V]]
"""A function that solves a cluster of a size, given the rates of the clusters that were solved before."""


def _find_best(
    system: Optimise, plain_replicas: float, meet: SolveSize[V]
) -> tuple[Solution[V], dict[Size, Solution[V]], Callable[[Size], float]]:
    """Find the cluster that serves most; `meet` solves a size, given the rates of the sizes solved before.

    Returns the cluster, all solutions by size, and a function that returns the service rate of a size. `plain_replicas`
    is the best number of replicas without polls. Raises UnreachableError if no size reaches the target.
    """
    solutions: dict[Size, Solution[V]] = {}

    def value(size: Size) -> float:
        """Return the service rate of a size; minus infinity if it cannot reach the target."""
        try:
            if size not in solutions:
                solutions[size] = meet(size, [solution.rate.value for solution in solutions.values()])
        except UnreachableError:
            return -math.inf
        return system.service(solutions[size].rate.value, size)

    size = find_best_size(system, plain_replicas, value)
    if size not in solutions:
        meet(size, [])  # raises UnreachableError, with the reason
    return solutions[size], solutions, value


def find_best_size(system: Optimise, replicas: float, value: Callable[[Size], float]) -> Size:
    """Return the size (m, k), replicas and peers per poll, of the highest `value`, within the bounds of the system.

    The value rises with m up to the best size without polls, `replicas` (P2P VI-D), where the search for m begins.
    """
    many = system.over.get("replicas", (system.replicas, system.replicas))
    few = system.over.get("peers", (system.peers, system.peers))
    best: tuple[float, Size] = (-math.inf, (many[1], few[0]))
    for peers in range(few[0], min(few[1], many[1] - 1) + 1):
        low = max(many[0], peers + 1)
        start = min(max(int(replicas), low), many[1])

        def at(size: int, peers: int = peers) -> float:
            """Return the value of a number of replicas; minus infinity beyond the bounds."""
            return value((size, peers)) if size <= many[1] else -math.inf

        size = peak(at, start) if start < many[1] else start
        best = max(best, (at(size), (size, peers)), key=lambda pair: pair[0])
    return best[1]


def _near_words(low: int, high: int) -> str:
    """Return a text that says that `low` to `high` replicas are about as good as the best; empty for a single size."""
    return f"within 1 % of the best for {low} to {high} replicas" if low < high else ""


# ---- Rows


def _unreachable_row(system: Optimise, why: Exception) -> Row:
    """Return the row of a system that cannot reach its target, which says why."""
    return Row(system.system, "service_rate", note=str(why))


def _system_rows(
    system: Optimise, predicted: PredictedSolution | None, measured: MeasuredSolution | None
) -> Iterator[Row]:
    """Yield the rows of one system by metric: predicted, measured, or both beside one another.

    Of `predicted` and `measured` one may be None.
    """
    either = predicted or measured
    assert either is not None
    note = (predicted.note if predicted else "") or (measured.note if measured else "")
    for metric, of in system.amounts(either.size).items():
        values = predicted and predicted.derive(of), measured and measured.derive(of)
        yield _amount_row(system, metric, *values, note if metric == "service_rate" else "")
    if system.system == "cooperative":
        replicas, peers = either.size
        chosen = {"replicas": replicas, "downloads": system.bandwidth / replicas, "peers": peers}
        for metric, value in chosen.items():
            yield _size_row(system, metric, float(value), predicted)
    yield _amount_row(system, "freshness", predicted and predicted.freshness, measured and measured.freshness)


def _amount_row(
    system: Optimise, metric: str, prediction: Prediction | None, estimate: Estimate | None, note: str = ""
) -> Row:
    """Return the row of one metric of a system, with its prediction and its estimate, of which either may be None.

    It notes doubts about the estimate, the text `note`, and that there is no formula if there is no prediction.
    """
    notes = [estimate.doubt if estimate else "", note, "" if prediction else NO_RECENT.removesuffix("; measure it")]
    return Row(system.system, metric, prediction or NO_PREDICTION, estimate, "; ".join(filter(None, notes)))


def _size_row(system: Optimise, metric: str, value: float, predicted: PredictedSolution | None) -> Row:
    """Return the row of a part of the best size, such as the number of peers, which is chosen and not measured.

    `value` is shown as predicted if there is a predicted solution, and else as an estimate without an interval.
    """
    if predicted:
        return Row(system.system, metric, Prediction(value, predicted.rate.kind, BY_REPLICAS))
    return Row(system.system, metric, estimate=Estimate(value, math.nan, 0), note="the best that was emulated")


def _gain_rows(
    system: Optimise,
    predicted: tuple[PredictedSolution, PredictedSolution | None],
    measured: tuple[MeasuredSolution | None, MeasuredSolution | None],
) -> Iterator[Row]:
    """Yield the rows of the gain in service rate and in replicas: the ratio to those of the plain system.

    The plain system has no polls or redundant queries. Both pairs begin with its solution; the other one is that of
    `system`, whose gain is sought. A solution that does not exist is None.
    """
    either = predicted[1] or measured[1]
    assert either is not None
    amounts, plain_amounts = system.amounts(either.size), system.independent.amounts()
    for name in ("service_rate", "replicas"):
        amount, plain_amount = amounts.get(name, lambda rate: float(either.size[0])), plain_amounts[name]
        prediction, estimate = None, None
        if predicted[1]:
            prediction = _ratio(predicted[1].derive(amount), predicted[0].derive(plain_amount))
        if measured[1] and measured[0]:
            estimate = _ratio(measured[1].derive(amount), measured[0].derive(plain_amount))
        yield _amount_row(system, f"{name}_gain", prediction, estimate)


def _ratio(a: V, b: V) -> V:
    """Return the ratio a / b of two predictions, of which b is exact, or of two estimates, as if independent."""
    value = a.value / b.value
    if isinstance(a, Prediction):
        return replace(a, value=value, accuracy=a.accuracy / b.value)
    error = abs(value) * math.hypot(a.error / a.value, b.error / b.value) if a.value else 0.0
    return replace(a, value=value, error=error, replications=min(a.replications, b.replications), skew=0.0)

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

from replnet.ages.clusters.cluster import NO_RECENT, cluster
from replnet.ages.prediction import Prediction
from replnet.ages.roots import UnreachableError, narrowed
from replnet.laws.text import at_rate
from replnet.measure.estimate import Estimate
from replnet.measure.row import NOTHING, Row
from replnet.network.network import Network
from replnet.papers.p2p import cooperative, non_cooperative, peak, redundant
from replnet.study.experiment.subjects import Ran, Settings, Subject, emulated
from replnet.study.experiment.system import ALONE, Optimise, Size
from replnet.text.documents import Document
from replnet.text.validation import checked

BY_REPLICAS = "P2P eq. 30"
SOURCES = {"independent": "P2P eq. 31-33", "redundant": "P2P eq. 34"}
GROUPS = ("clients", "cluster", "level 1")  # of a network: the first that is there has the freshness of the system
PRECISION = 0.001  # half-width of freshness, where none is asked for
COARSE = 4.0  # times that, while sizes are compared
BRIEF = 0.005  # half-width of a glance
APART = 1.05  # ratio of the rates between which a slope is taken, and r
CLOSE = 0.01  # relative step of (2) after which the next would be smaller than any interval
LARGEST_STEP = 3.0  # factor of a rate
MOST_STEPS = 40
NEAR = 0.99  # of the best service rate: sizes that reach it are as good as the best

V = TypeVar("V", Prediction, Estimate)


@final
class BestSize(Subject):
    """A system of replicas that meets a target, and what of its size is sought."""

    section = words = "optimise"
    kinds: ClassVar = {None: Optimise}

    @classmethod
    def checked(cls, document: Document) -> Subject:
        return cls(checked(Optimise, document.data, document).model_dump(mode="json", exclude_none=True))

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return {"$defs": {"Optimise": Optimise.model_json_schema()}, "$ref": "#/$defs/Optimise"}

    @property
    def groups(self) -> set[str]:
        return {"independent", self.data["system"]}

    def predict(self, settings: Settings) -> list[Row]:
        return solve(self.system)

    def run(self, settings: Settings, longer: bool) -> Ran:
        emulator = Emulator(settings, longer)
        return solve(self.system, emulator), emulator.events, emulator.incomplete

    def cost(self, settings: Settings) -> float:
        return 100.0 * float(self.data.get("replicas", 1)) / (settings.precision or PRECISION)

    def glance(self, settings: Settings) -> tuple[float, float]:
        begun = time.perf_counter()
        _, events, _ = self.run(replace(settings, precision=BRIEF, horizon=None), False)
        more = max((BRIEF / (settings.precision or PRECISION)) ** 2, 1.0)
        return more * events, more * (time.perf_counter() - begun)

    @property
    def system(self) -> Optimise:
        return Optimise.model_validate(self.data)


@final
@dataclass(frozen=True)
class Found(Generic[V]):
    """A system of a size, at the slowest rate that meets its target: predicted, or measured."""

    rate: V
    freshness: V  # at that rate, or at the one where it was looked for
    size: Size = ALONE
    note: str = ""

    def derived(self, of: Callable[[float], float]) -> V:
        """`of` the rate, with its error, by the slope of `of`, or its accuracy."""
        rate, value = self.rate, of(self.rate.value)
        if isinstance(rate, Prediction):
            return replace(rate, value=value, accuracy=abs(of(rate.value + rate.accuracy) - value))
        step = 1e-6 * rate.value
        slope = (of(rate.value + step) - of(rate.value - step)) / (2 * step) if step else 0.0
        return replace(
            rate, value=value, error=abs(slope) * rate.error, skew=math.copysign(rate.skew, rate.skew * slope)
        )


def solve(system: Optimise, emulator: Emulator | None = None) -> list[Row]:
    """The rows of a system: predicted, and measured if there is what emulates."""
    try:
        plain, best = _by_formula(system)
    except UnreachableError as error:
        return [_silent(system, error)]
    alone = system.alone
    measured = emulator.measure(alone, plain) if emulator else None
    rows = list(_rows(alone, plain, measured))
    if system.system == "independent" or not (best or emulator):
        return rows
    try:
        found = None if emulator is None else emulator.measure(system, best) if best else emulator.search(system)
    except UnreachableError as error:
        return [_silent(system, error), *rows]
    return [*_rows(system, best, found), *_gains(system, (plain, best), (measured, found)), *rows]


# ---- By formula

Predicted = Found[Prediction]
Measured = Found[Estimate]


def _by_formula(system: Optimise) -> tuple[Predicted, Predicted | None]:
    """Its replicas without polls or redundant queries, and the system where there is a formula for it."""
    given = (system.bandwidth, system.target, system.updates, system.downloads)
    plain = non_cooperative(*given)
    alone = _exactly(system, plain.downloads, SOURCES["independent"])
    if system.system == "redundant":
        poisson, ask = system.superposition == "poisson", system.ask or 1
        rate, source = (
            redundant(*given, ask, poisson=poisson).downloads * ask,
            SOURCES["redundant"] + (", 35" if poisson else ""),
        )
        return alone, _exactly(system, rate, source, "limit" if poisson else "exact")
    if system.system == "cooperative" and system.select != "recent":
        return alone, _best_cluster(system, plain.replicas)
    return alone, None


def _exactly(system: Optimise, rate: float, source: str, kind: str = "exact") -> Predicted:
    return Found(Prediction(rate, kind, source), Prediction(system.target, kind, source))


def _best_cluster(system: Optimise, most: float) -> Predicted:
    """By P2P eq. 30, over the sizes that are allowed."""
    assert system.polls is not None
    polls, downloads = partial(at_rate, system.polls), partial(at_rate, system.downloads)

    def meet(size: Size, rates: list[float]) -> Predicted:
        given = (system.bandwidth, system.target, size[0], system.updates, downloads, polls, size[1])
        found = cooperative(*given, start=rates[-1] or None if rates else None)
        return Found(Prediction(found.polls), Prediction(system.target), size)

    best, _, value = _best(system, most, meet)
    replicas, peers = best.size

    def freshness(rate: float) -> Prediction:
        return cluster(replicas, downloads(system.bandwidth / replicas), polls(rate), peers).freshness(system.updates)

    lowest = max(best.rate.value, 1e-9)
    basis, slope = freshness(lowest), math.inf
    if basis.accuracy and best.rate.value:
        above, below = lowest * APART, lowest / APART
        slope = (freshness(above).value - freshness(below).value) / (above - below)
    note = ""
    if "replicas" in system.over:
        low, high = system.over["replicas"]
        enough = NEAR * value(best.size)
        ends = max(low, peers + 1), high
        note = _near_words(*(_edge(replicas, end, lambda m: value((m, peers)) >= enough) for end in ends))
    source = f"{BY_REPLICAS}; {basis.source}"
    rate = Prediction(best.rate.value, basis.kind, source, accuracy=basis.accuracy / slope)
    return replace(best, rate=rate, freshness=replace(basis, value=system.target, source=source), note=note)


def _edge(inside: int, end: int, fine: Callable[[int], bool]) -> int:
    """The last number that is fine, on the way to an end."""
    outside, step = inside, 1 if end > inside else -1
    while outside != end and fine(outside):
        inside, outside, step = outside, (min if step > 0 else max)(outside + step, end), 2 * step
    return outside if fine(outside) else narrowed(inside, outside, fine)


# ---- By emulation


@final
class Emulator:
    """Emulates systems by the settings of a cell, and counts what it ran."""

    def __init__(self, settings: Settings, longer: bool) -> None:
        free = settings.precision is None and settings.horizon is None
        self._settings = replace(settings, precision=PRECISION) if free else settings
        self._longer = longer
        self.events, self.incomplete = 0, ""

    def measure(self, system: Optimise, known: Predicted) -> Measured:
        """(2), from the rate that a formula gives; without polls the freshness alone."""
        if not known.rate.value:
            return self._idle(system, known.size)
        first = self._freshness(system.network(known.rate.value, known.size))
        return replace(self._root(system, known.rate.value, known.size, first), freshness=first)

    def search(self, system: Optimise) -> Measured:
        """The best size where there is no formula."""

        def meet(size: Size, rates: list[float]) -> Measured:
            idle = self._idle(system, size, coarse=True)
            if idle.freshness.value >= system.target:
                return idle
            start = next(filter(None, reversed(rates)), system.updates.rate)
            return self._root(system, start, size, coarse=True)

        plain = non_cooperative(system.bandwidth, system.target, system.updates, system.downloads)
        best, known, value = _best(system, plain.replicas, meet)
        tried = [size[0] for size in known if size[1] == best.size[1] and value(size) >= NEAR * value(best.size)]
        words = _near_words(min(tried), max(tried))
        if best.rate.value:
            best = self._root(system, best.rate.value, best.size)
        return replace(best, note=f"{words}, of {len(known)} sizes emulated" if words else "")

    def _freshness(self, network: Network, coarse: bool = False) -> Estimate:
        settings = self._settings
        if coarse and settings.precision is not None:
            settings = replace(settings, precision=COARSE * settings.precision)
        result = emulated(network, settings, self._longer and not coarse)
        self.events += result.events
        self.incomplete = self.incomplete or result.incomplete
        by_group = {row.group: row.estimate for row in result.rows if row.metric == "freshness" and row.estimate}
        return next(by_group[group] for group in GROUPS if group in by_group)

    def _idle(self, system: Optimise, size: Size, coarse: bool = False) -> Measured:
        """As good as without polls."""
        here = self._freshness(system.network(1e-9 * system.updates.rate, size), coarse)
        return Found(replace(here, value=0.0, error=0.0), here, size)

    def _root(
        self, system: Optimise, rate: float, size: Size, first: Estimate | None = None, coarse: bool = False
    ) -> Measured:
        """(2), from `rate`, where the freshness may be known."""

        def at(rate: float) -> Estimate:
            return self._freshness(system.network(rate, size), coarse)

        most = LARGEST_STEP * system.bandwidth / max(size[1], 1)
        for _ in range(MOST_STEPS):
            here, first = first or at(rate), None
            above, below = at(rate * APART).value, at(rate / APART).value
            slope = max((above - below) / (rate * APART - rate / APART), 0.0)
            wanted = system.target - here.value
            if slope and abs(wanted) <= CLOSE * rate * slope:
                found = replace(here, value=rate + wanted / slope, error=here.error / slope, skew=-here.skew)
                return Found(found, here, size)
            step = wanted / slope if slope else math.copysign(math.inf, wanted)
            rate = min(max(rate + step, rate / LARGEST_STEP), rate * LARGEST_STEP)
            if rate > most and system.system == "cooperative":
                break
        raise UnreachableError(
            f"freshness {system.target:g} is not met at rate {rate:.4g}: {here.value:.4g} is measured"
        )


# ---- The size of a cluster

Meet = Callable[[Size, list[float]], Found[V]]
"""Finds the rate of a cluster, given the rates of those that were looked at before."""


def _best(
    system: Optimise, most: float, meet: Meet[V]
) -> tuple[Found[V], dict[Size, Found[V]], Callable[[Size], float]]:
    """The cluster that serves most, all that were looked at by their sizes, and what a size serves."""
    known: dict[Size, Found[V]] = {}

    def value(size: Size) -> float:
        try:
            if size not in known:
                known[size] = meet(size, [found.rate.value for found in known.values()])
        except UnreachableError:
            return -math.inf
        return system.service(known[size].rate.value, size)

    size = search(system, most, value)
    if size not in known:
        meet(size, [])  # says why
    return known[size], known, value


def search(system: Optimise, replicas: float, value: Callable[[Size], float]) -> Size:
    """(m, k) of the highest value; it rises with m up to the size of a system without polls, `replicas` (P2P VI-D)."""
    many = system.over.get("replicas", (system.replicas, system.replicas))
    few = system.over.get("peers", (system.peers, system.peers))
    best: tuple[float, Size] = (-math.inf, (many[1], few[0]))
    for peers in range(few[0], min(few[1], many[1] - 1) + 1):
        low = max(many[0], peers + 1)
        start = min(max(int(replicas), low), many[1])

        def at(size: int, peers: int = peers) -> float:
            return value((size, peers)) if size <= many[1] else -math.inf

        size = peak(at, start) if start < many[1] else start
        best = max(best, (at(size), (size, peers)), key=lambda found: found[0])
    return best[1]


def _near_words(low: int, high: int) -> str:
    return f"within 1 % of the best for {low} to {high} replicas" if low < high else ""


# ---- Rows


def _silent(system: Optimise, why: Exception) -> Row:
    return Row(system.system, "service_rate", note=str(why))


def _rows(system: Optimise, known: Predicted | None, found: Measured | None) -> Iterator[Row]:
    """Of one system: predicted, measured or both."""
    either = known or found
    assert either is not None
    note = (known.note if known else "") or (found.note if found else "")
    for metric, of in system.amounts(either.size).items():
        both = known and known.derived(of), found and found.derived(of)
        yield _row(system, metric, *both, note if metric == "service_rate" else "")
    if system.system == "cooperative":
        replicas, peers = either.size
        chosen = {"replicas": replicas, "downloads": system.bandwidth / replicas, "peers": peers}
        for metric, value in chosen.items():
            yield _chosen(system, metric, float(value), known)
    yield _row(system, "freshness", known and known.freshness, found and found.freshness)


def _row(
    system: Optimise, metric: str, prediction: Prediction | None, estimate: Estimate | None, note: str = ""
) -> Row:
    notes = [estimate.doubt if estimate else "", note, "" if prediction else NO_RECENT.removesuffix("; measure it")]
    return Row(system.system, metric, prediction or NOTHING, estimate, "; ".join(filter(None, notes)))


def _chosen(system: Optimise, metric: str, value: float, known: Predicted | None) -> Row:
    """What is no measurement: the best size, by formula or by search."""
    if known:
        return Row(system.system, metric, Prediction(value, known.rate.kind, BY_REPLICAS))
    return Row(system.system, metric, estimate=Estimate(value, math.nan, 0), note="the best that was emulated")


def _gains(
    system: Optimise, known: tuple[Predicted, Predicted | None], found: tuple[Measured | None, Measured | None]
) -> Iterator[Row]:
    """Over the system without polls or redundant queries, which is the first of each."""
    best, measured = known[1], found[1]
    either = best or measured
    assert either is not None
    mine, theirs = system.amounts(either.size), system.alone.amounts()
    for amount, base in theirs.items():
        if amount == "downloads":
            continue
        of = mine.get(amount, lambda rate: float(either.size[0]))
        prediction, estimate = None, None
        if best:
            one, whole = best.derived(of), base(known[0].rate.value)
            prediction = replace(one, value=one.value / whole, accuracy=one.accuracy / whole)
        if measured and found[0]:
            estimate = _ratio(measured.derived(of), found[0].derived(base))
        yield _row(system, f"{amount}_gain", prediction, estimate)


def _ratio(a: Estimate, b: Estimate) -> Estimate:
    """Of two measured values, as if they were independent."""
    value = a.value / b.value
    error = abs(value) * math.hypot(a.error / a.value, b.error / b.value) if a.value else 0.0
    return replace(a, value=value, error=error, replications=min(a.replications, b.replications), skew=0.0)

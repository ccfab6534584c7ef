"""The best size of a system: by formula, measured where the formula puts it; by emulation where there is none.

A system of m replicas has bandwidth B at each of them and at the source, and
must meet a target freshness. What is left serves clients (P2P VI-D, VII-B):

    independent    R = B^2 / r - B                       r: rate of the downloads of each
    redundant      R = B^2 / r - B / k                   r: of the k asked together
    cooperative    R = m (B - B / m - k r)               r: rate of the polls                      (1)

so a system is known once r is, the slowest rate that meets the target. By
emulation r is the root of the measured freshness p, found by Newton's steps

    r <- r + (target - p(r)) / p'(r),                                                              (2)

whose slope is a difference of two emulations with the same random numbers. The
standard error of r is that of p over the slope, and that of R follows from (1).
Where there is a formula, (2) starts from its r, and the measured values are
those of the size m that the formula calls best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

from replnet.experiment.cell import Record, emulated, measured
from replnet.experiment.spec_cells import Settings
from replnet.experiment.spec_optimise import at_rate, family_of
from replnet.laws import Law, law
from replnet.measure.estimate import Estimate
from replnet.network.network import Network
from replnet.theory.cluster import NO_RECENT, cluster
from replnet.theory.inverse import UnreachableError
from replnet.theory.prediction import Prediction
from replnet.theory.service import Size, cooperative, non_cooperative, peak, redundant_gain, service_rate

PRECISION = 0.001  # half-width of freshness, where none is asked for
COARSE = 4.0  # times that, while sizes are compared
APART = 1.05  # ratio of the rates between which a slope is taken, and r
CLOSE = 0.01  # relative step of (2) after which the next would be smaller than any interval
LARGEST_STEP = 3.0  # factor of a rate
MOST_STEPS = 40
OFTEN = 4.0  # queries per update or download, whichever is more frequent
NEAR = 0.99  # of the best service rate: sizes that reach it are as good as the best
BY_REPLICAS = "P2P eq. 30"
SOURCES = {"independent": "P2P eq. 31-33", "redundant": "P2P eq. 34"}


@final
@dataclass(frozen=True)
class System:
    """What is given."""

    kind: str  # cooperative, redundant or independent
    target: float
    bandwidth: float
    updates: str
    downloads: str  # a family
    polls: str | None = None  # a family
    select: str = "random"
    ask: int = 1
    superposition: str = "exact"

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> System:
        fields = ("target", "bandwidth", "updates", "downloads", "polls", "select", "ask", "superposition")
        return cls(plan["system"], **{name: plan[name] for name in fields if name in plan})

    @property
    def law(self) -> Law:
        return law(self.updates)

    def service(self, rate: float, replicas: int = 0, peers: int = 0) -> float:
        """(1)."""
        if self.kind == "cooperative":
            return service_rate(self.bandwidth, replicas, self.bandwidth / replicas, rate, peers)
        return self.bandwidth**2 / rate - self.bandwidth / self.ask

    def network(self, rate: float, replicas: int = 0, peers: int = 0) -> Network:
        """That which has the freshness of this system."""
        updates = {"updates": self.updates}
        if self.kind == "cooperative":
            assert self.polls is not None
            laws = {"downloads": at_rate(self.downloads, self.bandwidth / replicas), "polls": at_rate(self.polls, rate)}
            shape = {"kind": "cooperative", "replicas": replicas, "peers": peers, "select": self.select}
            return Network.from_data({**shape, **updates, **laws})
        if self.kind == "redundant" and self.superposition == "exact":
            queries = f"exponential(rate={OFTEN * max(self.law.rate, rate)!r})"
            shape = {"kind": "redundant", "replicas": self.ask, "ask": self.ask, "queries": queries}
            return Network.from_data({**shape, **updates, "downloads": at_rate(self.downloads, rate / self.ask)})
        # As many rare downloads together are Poisson ones, one replica stands for those that are asked.
        family = "exponential" if self.kind == "redundant" else self.downloads
        return Network.from_data({"kind": "single", **updates, "downloads": at_rate(family, rate)})


@final
@dataclass(frozen=True)
class Choice:
    """A system of a certain size: its rate r of (1), by formula or measured."""

    rate: float
    replicas: int = 0  # of a cooperative system
    peers: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self.replicas, self.peers


def solve(plan: Mapping[str, Any], settings: Settings, longer: bool = False) -> Record:
    """The record of a system: predicted, and measured."""
    system = System.of(plan)
    try:
        known = _predicted(system, plan)
    except UnreachableError as error:
        return {"rows": [_silent(system.kind, str(error))], "events": 0, "incomplete": ""}
    alone = replace(system, kind="independent", ask=1)
    emulator = Emulator(settings, longer)
    plain = emulator.measure(alone, known.plain.choice)
    rows = list(_rows(alone, known.plain, plain))
    if system.kind != "independent":
        try:
            best = emulator.measure(system, known.best.choice) if known.best else emulator.search(system, plan)
            rows = [*_rows(system, known.best, best), *_gains(system, known, best, plain), *rows]
        except UnreachableError as error:
            rows = [_silent(system.kind, str(error)), *rows]
    return {"rows": rows, "events": emulator.events, "incomplete": emulator.incomplete}


def predict_size(plan: Mapping[str, Any]) -> list[Record]:
    """The rows of a system by formula alone."""
    system = System.of(plan)
    try:
        known = _predicted(system, plan)
    except UnreachableError as error:
        return [_silent(system.kind, str(error))]
    rows = list(_rows(replace(system, kind="independent", ask=1), known.plain, None))
    if known.best is not None:
        rows = [*_rows(system, known.best, None), *_gains(system, known, None, None), *rows]
    return rows


# ---- By formula


@final
@dataclass(frozen=True)
class Known:
    """A size that a formula calls best, and how far that can be trusted."""

    choice: Choice
    basis: Prediction
    slope: float = math.inf  # of freshness by rate
    note: str = ""

    @property
    def doubt(self) -> float:
        """Of the rate, for an accuracy of freshness."""
        return self.basis.accuracy / self.slope


@final
@dataclass(frozen=True)
class Both:
    """A system, where there is a formula for it, and its replicas without polls or redundant queries."""

    plain: Known
    best: Known | None


def _predicted(system: System, plan: Mapping[str, Any]) -> Both:
    downloads = family_of(system.downloads)
    plain = non_cooperative(system.bandwidth, system.target, system.law, downloads)
    alone = Known(Choice(plain.downloads), _exact(system.target, SOURCES["independent"]))
    if system.kind == "redundant":
        poisson = system.superposition == "poisson"
        gain = redundant_gain(system.bandwidth, system.target, system.law, downloads, system.ask, poisson=poisson)
        source = SOURCES["redundant"] + (", 35" if poisson else "")
        basis = replace(_exact(system.target, source), kind="limit" if poisson else "exact")
        return Both(alone, Known(Choice(gain.redundant.downloads * system.ask), basis))
    if system.kind == "cooperative" and system.select == "random":
        return Both(alone, _best_cluster(system, plan, plain))
    return Both(alone, None)


def _exact(target: float, source: str) -> Prediction:
    return Prediction(target, "exact", source, "")


def _best_cluster(system: System, plan: Mapping[str, Any], plain: Size) -> Known:
    """By P2P eq. 30, over the sizes that are allowed."""
    found: dict[tuple[int, int], Size] = {}
    last: list[float | None] = [None]  # the latest poll rate: that of other sizes is near
    assert system.polls is not None
    polls, downloads, updates = family_of(system.polls), family_of(system.downloads), system.law

    def value(replicas: int, peers: int) -> float:
        size = found.get((replicas, peers))
        if size is None:
            given = (system.bandwidth, system.target, replicas, updates, downloads, polls, peers)
            try:
                size = cooperative(*given, start=last[0])
            except UnreachableError:
                return -math.inf
            found[replicas, peers], last[0] = size, size.polls or None
        return size.service_rate

    replicas, peers = _search(plan, plain.replicas, value)
    if (replicas, peers) not in found:
        cooperative(system.bandwidth, system.target, replicas, updates, downloads, polls, peers)  # says why
    best = found[replicas, peers]
    lowest = max(best.polls, 1e-9)

    def freshness(rate: float) -> Prediction:
        return cluster(replicas, downloads(best.downloads), polls(rate), peers).freshness(updates)

    basis = freshness(lowest)
    slope = math.inf
    if basis.accuracy:
        above, below = lowest * APART, lowest / APART
        slope = (freshness(above).value - freshness(below).value) / (above - below)
    note = ""
    if "replicas" in plan["over"]:
        low, high = plan["over"]["replicas"]
        near = _near(replicas, max(low, peers + 1), high, lambda m: value(m, peers) >= NEAR * best.service_rate)
        note = _near_words(*near)
    return Known(Choice(best.polls, replicas, peers), replace(basis, value=system.target), slope, note)


def _search(
    plan: Mapping[str, Any], replicas: float, value: Callable[[int, int], float], *, step: int = 1
) -> tuple[int, int]:
    """(m, k) of the highest value; it rises with m up to the size of a system without polls, `replicas` (P2P VI-D)."""
    many = plan["over"].get("replicas", (plan.get("replicas"),) * 2)
    few = plan["over"].get("peers", (plan.get("peers"),) * 2)
    best: tuple[float, tuple[int, int]] = (-math.inf, (many[1], few[0]))
    for peers in range(few[0], min(few[1], many[1] - 1) + 1):
        low = max(many[0], peers + 1)
        start = min(max(int(replicas), low), many[1])

        def at(size: int, peers: int = peers) -> float:
            return value(size, peers) if size <= many[1] else -math.inf

        size = peak(at, start) if start < many[1] else start
        best = max(best, (at(size), (size, peers)), key=lambda found: found[0])
    return best[1]


def _near(best: int, low: int, high: int, fine: Callable[[int], bool]) -> tuple[int, int]:
    """The range around the best size in which all are fine."""
    return _edge(best, low, fine), _edge(best, high, fine)


def _edge(inside: int, end: int, fine: Callable[[int], bool]) -> int:
    outside, way = inside, 1 if end > inside else -1
    step = 1
    while outside != end and fine(outside):
        inside, outside = outside, (min if way > 0 else max)(outside + way * step, end)
        step *= 2
    if fine(outside):
        return outside
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if fine(middle) else (inside, middle)
    return inside


def _near_words(low: int, high: int) -> str:
    return f"within 1 % of the best for {low} to {high} replicas" if low < high else ""


# ---- By emulation


@final
@dataclass(frozen=True)
class Found:
    """A system as emulated: r of (1), and the freshness at the rate where it was looked for."""

    choice: Choice
    rate: Estimate
    freshness: Estimate
    note: str = ""

    def derived(self, of: Callable[[float], float]) -> Estimate:
        """`of` the rate, with its error by the slope of `of`."""
        step = 1e-6 * self.rate.value
        slope = (of(self.rate.value + step) - of(self.rate.value - step)) / (2 * step) if step else 0.0
        return replace(self.rate, value=of(self.rate.value), error=abs(slope) * self.rate.error)


@final
class Emulator:
    """Runs systems; counts what it ran."""

    def __init__(self, settings: Settings, longer: bool) -> None:
        free = settings.precision is None and settings.horizon is None
        self._settings = replace(settings, precision=PRECISION) if free else settings
        self._longer = longer
        self.events, self.incomplete = 0, ""

    def freshness(self, network: Network, coarse: bool = False) -> Estimate:
        settings = self._settings
        if coarse and settings.precision is not None:
            settings = replace(settings, precision=COARSE * settings.precision)
        result = emulated(network, settings, self._longer and not coarse)
        self.events += result.events
        self.incomplete = self.incomplete or result.incomplete
        by_group = {row.group: i for i, row in enumerate(result.rows) if row.metric == "freshness"}
        return result.estimates[next(by_group[group] for group in GROUPS if group in by_group)]

    def measure(self, system: System, choice: Choice) -> Found:
        """(2), from the rate that a formula gives; without polls the freshness alone."""
        shape = choice.shape
        if not choice.rate:
            rate = 1e-9 * system.law.rate
            here = self.freshness(system.network(rate, *shape))
            return Found(choice, replace(here, value=0.0, error=0.0), here)
        first = self.freshness(system.network(choice.rate, *shape))
        return replace(self._root(system, choice.rate, shape, first), freshness=first)

    def search(self, system: System, plan: Mapping[str, Any]) -> Found:
        """The best size where there is no formula."""
        known: dict[tuple[int, int], Found] = {}
        last = [system.law.rate]

        def value(replicas: int, peers: int) -> float:
            if (replicas, peers) not in known:
                try:
                    known[replicas, peers] = found = self._meet(system, replicas, peers, last[0])
                except UnreachableError:
                    return -math.inf
                last[0] = found.rate.value or last[0]
            return system.service(known[replicas, peers].rate.value, replicas, peers)

        plain = non_cooperative(system.bandwidth, system.target, system.law, family_of(system.downloads))
        best = _search(plan, plain.replicas, value)
        if best not in known:
            self._meet(system, *best, last[0])  # says why
        tried = [m for m, k in known if k == best[1] and value(m, k) >= NEAR * value(*best)]
        words = _near_words(min(tried), max(tried))
        found = known[best] if known[best].rate.value == 0 else self._root(system, known[best].rate.value, best)
        return replace(found, note=f"{words}, of {len(known)} sizes emulated" if words else "")

    def _meet(self, system: System, replicas: int, peers: int, start: float) -> Found:
        idle = self.freshness(system.network(1e-9 * system.law.rate, replicas, peers), coarse=True)
        if idle.value >= system.target:
            return Found(Choice(0.0, replicas, peers), replace(idle, value=0.0, error=0.0), idle)
        return self._root(system, start, (replicas, peers), coarse=True)

    def _root(
        self,
        system: System,
        start: float,
        shape: tuple[int, int],
        first: Estimate | None = None,
        *,
        coarse: bool = False,
    ) -> Found:
        """(2)."""

        def at(rate: float) -> Estimate:
            return self.freshness(system.network(rate, *shape), coarse)

        rate, most = start, LARGEST_STEP * system.bandwidth / max(shape[1], 1)
        for _ in range(MOST_STEPS):
            here, first = first or at(rate), None
            above, below = at(rate * APART).value, at(rate / APART).value
            slope = max((above - below) / (rate * APART - rate / APART), 0.0)
            wanted = system.target - here.value
            if slope and abs(wanted) <= CLOSE * rate * slope:
                found = replace(here, value=rate + wanted / slope, error=here.error / slope)
                return Found(Choice(found.value, *shape), found, here)
            step = wanted / slope if slope else math.copysign(math.inf, wanted)
            rate = min(max(rate + step, rate / LARGEST_STEP), rate * LARGEST_STEP)
            if rate > most and system.kind == "cooperative":
                break
        raise UnreachableError(
            f"freshness {system.target:g} is not met at rate {rate:.4g}: {here.value:.4g} is measured"
        )


GROUPS = ("clients", "cluster", "level 1")  # the first that is there has the freshness of the system


# ---- Rows


def _silent(group: str, why: str) -> Record:
    about = {"predicted": None, "kind": "", "source": "", "accuracy": None, "note": why}
    return {"group": group, "metric": "service_rate", **measured(None), **about}


def _rows(system: System, known: Known | None, found: Found | None) -> Iterator[Record]:
    """Of one system: predicted, measured or both."""
    choice = known.choice if known else found.choice if found else None
    assert choice is not None
    shape = choice.shape
    note = (known.note if known else "") or (found.note if found else "")
    by_rate: dict[str, Callable[[float], float]] = {"service_rate": lambda rate: system.service(rate, *shape)}
    if system.kind == "cooperative":
        by_rate |= {"polls": lambda rate: rate}
    else:
        by_rate |= {"replicas": lambda rate: system.ask * system.bandwidth / rate}
        by_rate |= {"downloads": lambda rate: rate / system.ask}
    for metric, of in by_rate.items():
        estimate = found.derived(of) if found else None
        yield _row(system, known, metric, of, estimate, note if metric == "service_rate" else "")
    if system.kind == "cooperative":
        fixed = {"replicas": shape[0], "downloads": system.bandwidth / shape[0], "peers": shape[1]}
        for metric, value in fixed.items():
            yield _chosen(system, known, metric, float(value))
    estimate = found.freshness if found else None
    yield _row(system, known, "freshness", lambda rate: system.target, estimate, "")


def _row(
    system: System, known: Known | None, metric: str, of: Callable[[float], float], estimate: Estimate | None, note: str
) -> Record:
    doubt = estimate.doubt if estimate else ""
    about: Record = {"predicted": None, "kind": "", "source": "", "accuracy": None}
    if known is None:
        note = "; ".join(filter(None, (note, NO_RECENT.removesuffix("; measure it"))))
    else:
        rate, basis = known.choice.rate, known.basis
        reach = known.basis.accuracy if metric == "freshness" else abs(of(rate + known.doubt) - of(rate))
        source = basis.source if system.kind != "cooperative" else f"{BY_REPLICAS}; {basis.source}"
        about = {"predicted": of(rate), "kind": basis.kind, "source": source, "accuracy": reach or None}
    said = "; ".join(filter(None, (doubt, note)))
    return {"group": system.kind, "metric": metric, **measured(estimate), **about, "note": said}


def _chosen(system: System, known: Known | None, metric: str, value: float) -> Record:
    """What is no measurement: the best size, by formula or by search."""
    about: Record = {"predicted": None, "kind": "", "source": "", "accuracy": None, "note": ""}
    row = {"group": system.kind, "metric": metric, **measured(None), **about}
    if known is None:
        return {**row, "measured": value, "note": "the best that was emulated"}
    return {**row, "predicted": value, "kind": known.basis.kind, "source": BY_REPLICAS}


def _gains(system: System, known: Both, best: Found | None, plain: Found | None) -> Iterator[Record]:
    """Over the system without polls or redundant queries."""
    alone = replace(system, kind="independent", ask=1)
    choice = known.best.choice if known.best else best.choice if best else None
    assert choice is not None

    def sizes(of: System) -> dict[str, Callable[[float], float]]:
        replicas = float(choice.replicas) if of.kind == "cooperative" else 0.0
        count: Callable[[float], float] = lambda rate: replicas or of.ask * of.bandwidth / rate  # noqa: E731
        return {"service_rate_gain": lambda rate: of.service(rate, *choice.shape), "replicas_gain": count}

    for metric, mine in sizes(system).items():
        theirs = sizes(alone)[metric]
        estimate = _ratio(best.derived(mine), plain.derived(theirs)) if best and plain else None
        row = _row(system, known.best, metric, lambda rate: 0.0, estimate, "")
        if known.best:
            base = theirs(known.plain.choice.rate)
            rate = known.best.choice.rate
            reach = abs(mine(rate + known.best.doubt) - mine(rate)) / base
            row |= {"predicted": mine(rate) / base, "accuracy": reach or None}
        yield row


def _ratio(a: Estimate, b: Estimate) -> Estimate:
    """Of two measured values, as if they were independent."""
    value = a.value / b.value
    error = abs(value) * math.hypot(a.error / a.value, b.error / b.value) if a.value else 0.0
    return replace(a, value=value, error=error, replications=min(a.replications, b.replications))

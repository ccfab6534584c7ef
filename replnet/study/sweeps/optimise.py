"""The best size of a system: by formula, measured where the formula puts it; by emulation where there is none.

A system of m replicas has bandwidth B at each of them and at the source, and
must meet a target freshness. What is left serves clients (P2P VI-D, VII-B):

    independent    R = B^2 / r - B                       r: rate of the downloads of each
    redundant      R = B^2 / r - B / k                   r: of the k asked together
    cooperative    R = m (B - B / m - k r)               r: rate of the polls                      (1)

so a system is known once r is, the slowest rate that meets the target. Emulation
finds r too (`systems`), and with it the error of R by (1). Where there is a
formula, the measured values are those of the size m that the formula calls best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

from replnet.ages.cluster import NO_RECENT, cluster
from replnet.ages.prediction import Prediction
from replnet.ages.roots import UnreachableError
from replnet.laws.fields import family_of
from replnet.measure.estimate import Estimate
from replnet.papers.p2p import Size, cooperative, non_cooperative, redundant
from replnet.study.experiment.cells import Settings
from replnet.study.sweeps.cell import Record, measured
from replnet.study.sweeps.systems import APART, NEAR, Choice, Emulator, Found, System, near_words, search

BY_REPLICAS = "P2P eq. 30"
SOURCES = {"independent": "P2P eq. 31-33", "redundant": "P2P eq. 34"}


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
    plain = non_cooperative(system.bandwidth, system.target, system.law, system.downloads)
    alone = Known(Choice(plain.downloads), _exact(system.target, SOURCES["independent"]))
    if system.kind == "redundant":
        poisson = system.superposition == "poisson"
        size = redundant(system.bandwidth, system.target, system.law, system.downloads, system.ask, poisson=poisson)
        source = SOURCES["redundant"] + (", 35" if poisson else "")
        basis = replace(_exact(system.target, source), kind="limit" if poisson else "exact")
        return Both(alone, Known(Choice(size.downloads * system.ask), basis))
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

    replicas, peers = search(plan, plain.replicas, value)
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
        note = near_words(*near)
    return Known(Choice(best.polls, replicas, peers), replace(basis, value=system.target), slope, note)


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
    return replace(a, value=value, error=error, replications=min(a.replications, b.replications), skew=0.0)

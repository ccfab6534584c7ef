"""Synchronisation policies really executed: schedules of (time, element), and what copies make of them.

A database of N elements is synchronised one element at a time (Sync 3, App. B):

    fixed order     rounds over all elements, always in the same order
    random order    rounds over all elements, each in a new random order
    purely random   whatever is drawn, afresh every time

`rounds` runs the first two for elements that are alike, one slot of the round per
element. Elements with frequencies f_i of their own have no common round: under
`intervals` element i comes every 1 / f_i in fixed order, and once at a random point
of every 1 / f_i in random order. `picks` draws element i with chance in proportion
to f_i at equal steps of 1 / sum f.

A schedule begins before time zero, far enough back that every element that is ever
synchronised has been, and phases are drawn at random: so it is stationary from zero
on, exactly. `upkeep` lets the elements change and measures the copies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import numpy.typing as npt

from replnet.laws.check import FieldError
from replnet.laws.streams import CHOICES, GOLDEN, PURPOSES, START, Streams, Words, mix, name_words, seed_words, streams

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Order = Literal["fixed", "random", "purely random"]
ORDERS: tuple[Order, ...] = ("fixed", "random", "purely random")

MOST = 1 << 26  # instants of a schedule


@final
@dataclass(frozen=True, eq=False)
class Schedule:
    """Which of `count` elements is synchronised when, in order of time; from before zero up to `horizon`."""

    times: Floats
    elements: Ints
    count: int
    horizon: float

    def __post_init__(self) -> None:
        _require("horizon", self.horizon)
        if self.times.shape != self.elements.shape:
            raise FieldError("elements", f"{self.elements.size} for {self.times.size} times", "one element per time")
        if (np.diff(self.times) < 0).any():
            raise FieldError("times", "not in order", "times that never decrease")
        if self.elements.size and not 0 <= self.elements.min() <= self.elements.max() < self.count:
            raise FieldError("elements", "an element that is not there", f"numbers from 0 to {self.count - 1}")


def schedule(order: Order, frequencies: Floats, horizon: float, seed: int, replication: int = 0) -> Schedule:
    """The schedule of a policy: its order, and how often it synchronises every element."""
    frequencies = np.asarray(frequencies, dtype=float)
    if order not in ORDERS:
        raise FieldError("order", f"{order!r} is not known", "fixed, random or purely random")
    if order == "purely random":
        return picks(frequencies, horizon, seed, replication)
    if frequencies.size and frequencies.min() == frequencies.max() > 0:
        period = 1 / float(frequencies[0])
        return rounds(frequencies.size, period, horizon, seed, replication, shuffled=order == "random")
    return intervals(frequencies, horizon, seed, replication, scattered=order == "random")


def rounds(
    count: int, period: float, horizon: float, seed: int, replication: int = 0, *, shuffled: bool = False
) -> Schedule:
    """All elements once per `period`, in slots of equal length (Sync Alg. B.1; `shuffled`: B.2)."""
    _require("period", period)
    _require("horizon", horizon)
    phase = _phase(seed, replication)
    # The round before the one that time zero falls in has every element once.
    _require_room((horizon / period + 2) * count)
    turns = np.arange(-1, math.ceil(horizon / period + phase))
    slots = np.arange(count)
    order = np.broadcast_to(slots, (turns.size, count))
    if shuffled:
        order = np.argsort(_words(_choices(seed, replication, CHOICES), turns[:, None] * count + slots), axis=1)
    times: Floats = np.asarray(((turns[:, None] - phase + slots / count) * period).ravel(), dtype=np.float64)
    kept = int(np.searchsorted(times, horizon))
    return Schedule(times[:kept], np.ascontiguousarray(order, dtype=np.int64).ravel()[:kept], count, horizon)


def picks(frequencies: Floats, horizon: float, seed: int, replication: int = 0) -> Schedule:
    """At equal steps an element drawn afresh, with chance in proportion to its frequency (Sync Alg. B.3)."""
    frequencies = _checked(frequencies, horizon)
    total = float(frequencies.sum())
    phase = _phase(seed, replication)
    # A rounding of the sum must not leave room above the last element that is ever drawn.
    up_to = np.cumsum(frequencies) / total
    up_to[np.flatnonzero(frequencies)[-1] :] = 1.0

    def drawn(first: int, last: int) -> Ints:
        _require_room(last - first)
        u = uniforms(_choices(seed, replication, CHOICES), np.arange(first, last))
        return np.searchsorted(up_to, u)

    past: list[Ints] = []
    back, unseen = 0, frequencies > 0
    while unseen.any():
        more = max(back, 4 * frequencies.size)
        past.append(drawn(-back - more, -back))
        unseen[past[-1]] = False
        back += more
    coming = drawn(0, math.ceil(horizon * total + phase))
    times: Floats = np.asarray((np.arange(-back, coming.size) - phase) / total, dtype=np.float64)
    # Step 0 is at -phase, before zero, so it counts as coming and as known alike.
    kept = int(np.searchsorted(times, horizon))
    return Schedule(times[:kept], np.concatenate([*past[::-1], coming])[:kept], frequencies.size, horizon)


def intervals(
    frequencies: Floats, horizon: float, seed: int, replication: int = 0, *, scattered: bool = False
) -> Schedule:
    """Every element at its own interval, with its own phase; `scattered`: at a random point of every interval."""
    frequencies = _checked(frequencies, horizon)
    visited = np.flatnonzero(frequencies)
    who, often = element_names(frequencies.size)[visited], frequencies[visited]
    purpose = np.full(visited.size, PURPOSES["downloads"])
    run = seed_words(seed, replication)
    phase = uniforms(streams(run, who, purpose, START), np.zeros(visited.size, np.int64))
    # Whole intervals before zero: a scattered instant may fall behind zero in the one that zero is in.
    first = -2 if scattered else -1
    number = np.ceil(horizon * often - phase).astype(np.int64) - first + 1
    turn = first + ranks(number)
    point = np.repeat(phase, number) + turn
    if scattered:
        key, gamma = streams(run, who, purpose, CHOICES)
        point += uniforms(Streams(np.repeat(key, number), np.repeat(gamma, number)), turn)
    times = point / np.repeat(often, number)
    order = np.argsort(times, kind="stable")
    order = order[: int(np.searchsorted(times[order], horizon))]
    return Schedule(times[order], np.repeat(visited, number)[order], frequencies.size, horizon)


def _phase(seed: int, replication: int) -> float:
    """Where in a round, or a step, time zero falls."""
    return float(uniforms(_choices(seed, replication, START), np.zeros(1, np.int64))[0])


def element_names(count: int) -> Words:
    """A word per element."""
    return mix(name_words(["element"]) + np.arange(count, dtype=np.uint64) * GOLDEN)


def _choices(seed: int, replication: int, part: int) -> Streams:
    """The stream of the schedule as a whole."""
    purpose = np.array([PURPOSES["downloads"]])
    return streams(seed_words(seed, replication), name_words(["schedule"]), purpose, part)


def _words(of: Streams, n: Ints) -> Words:
    """The n-th words (streams.py, eq. 1), n of any sign."""
    return mix(of.key + (n + 1).astype(np.uint64) * of.gamma)


def uniforms(of: Streams, n: Ints) -> Floats:
    """The n-th words as numbers in (0, 1]."""
    return np.asarray(((_words(of, n) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53)


def ranks(number: Ints) -> Ints:
    """0, 1, ..., number[0] - 1, 0, 1, ..., number[1] - 1, and so on."""
    ends = np.cumsum(number)
    return np.arange(int(number.sum())) - np.repeat(ends - number, number)


def _checked(frequencies: Floats, horizon: float) -> Floats:
    _require("horizon", horizon)
    frequencies = np.asarray(frequencies, dtype=float)
    if frequencies.ndim != 1 or not ((frequencies >= 0) & np.isfinite(frequencies)).all():
        raise FieldError("frequencies", "a number below 0, or none", "a list of finite numbers, 0 or more")
    if not frequencies.any():
        raise FieldError("frequencies", "nothing is ever synchronised", "at least one above 0")
    _require_room(horizon * float(frequencies.sum()))
    return frequencies


def _require(field: str, value: float) -> None:
    if not 0 < value < math.inf:
        raise FieldError(field, f"{value!r} is not above 0", "a finite number above 0")


def _require_room(instants: float) -> None:
    if instants > MOST:
        raise FieldError("horizon, frequencies", f"{instants:.3g} synchronisations", f"a schedule of at most {MOST:,}")

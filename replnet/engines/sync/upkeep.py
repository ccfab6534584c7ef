"""What becomes of the copies of a database under a schedule, measured along the path.

Changes of an element are a renewal process, in equilibrium at the element's last
synchronisation before time zero, which knows nothing of them; so freshness and age
are stationary from zero on. An element that changes and is never synchronised is never
fresh, and of infinite age; one that never changes is always fresh.

Changes come from the streams of (seed, replication) and element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from replnet.engines.sync.kernels import watch
from replnet.engines.sync.schedules import Floats, Ints, Schedule, element_names, ranks, uniforms
from replnet.laws.base import Law
from replnet.laws.check import FieldError
from replnet.laws.families import Exponential
from replnet.laws.renewal import draw
from replnet.laws.streams import FUTURE, PURPOSES, START, Streams, Words, exponentials, seed_words, streams

BLOCK = 1 << 20  # changes generated at once
POISSON = Exponential(rate=1.0)


@final
@dataclass(frozen=True, eq=False)
class Upkeep:
    """What one path made of every element: the share of the time it was fresh, and its mean age."""

    fresh: Floats
    age: Floats
    changes: Ints  # in [0, horizon), of elements that are synchronised
    synchronisations: int  # in [0, horizon)


def execute(of: Schedule, rates: Floats, seed: int, replication: int = 0, changes: Law = POISSON) -> Upkeep:
    """Let elements change at `rates`, at intervals of the shape of `changes`, and measure every copy."""
    rates = np.asarray(rates, dtype=float)
    if rates.shape != (of.count,):
        raise FieldError("rates", f"{rates.size} for {of.count} elements", "one rate per element")
    if not ((rates >= 0) & np.isfinite(rates)).all():
        raise FieldError("rates", "a rate that is negative or not finite", "rates of 0 or more")
    who, times = _by_element(of, rates)
    watched, first, number = np.unique(who, return_index=True, return_counts=True)
    expected = np.cumsum(rates[watched] * (of.horizon - times[first]))
    blocks = np.append(np.searchsorted(expected, np.arange(0.0, expected.max(initial=0.0), BLOCK)), watched.size)
    fresh, age = np.where(rates > 0, 0.0, 1.0), np.where(rates > 0, math.inf, 0.0)
    count = np.zeros(of.count, np.int64)
    run, names = seed_words(seed, replication), element_names(of.count)
    for low, high in pairwise(blocks):
        if low < high:
            block, syncs = watched[low:high], times[first[low] : first[high - 1] + number[high - 1]]
            unit = 1 / (rates[block] * changes.mean)
            fresh[block], age[block], count[block] = _watched(
                of.horizon, syncs, np.cumsum(number[low:high]), unit, changes, run, names[block]
            )
    return Upkeep(fresh, age, count, int(of.times.size - np.searchsorted(of.times, 0.0)))


def _by_element(of: Schedule, rates: Floats) -> tuple[Ints, Floats]:
    """The schedule element by element, each from its last synchronisation until zero on, if it changes at all."""
    order = np.argsort(of.elements, kind="stable")
    who, times = of.elements[order], of.times[order]
    number, known = np.bincount(who, minlength=of.count), np.bincount(who[times <= 0], minlength=of.count)
    unknown = np.flatnonzero((number > 0) & (known == 0))
    if unknown.size:
        wrong = f"element {unknown[0]} is not synchronised before time zero"
        raise FieldError("schedule", wrong, "a schedule that begins early enough for every element to have been")
    kept = (ranks(number) >= (known - 1)[who]) & (rates[who] > 0)
    return who[kept], times[kept]


def _watched(
    horizon: float, syncs: Floats, ends: Ints, unit: Floats, law: Law, run: Words, names: Words
) -> tuple[Floats, Floats, Ints]:
    """Freshness, age and changes of elements, of which i is synchronised at syncs[.. : ends[i]].

    They change at intervals of `law` times `unit`.
    """
    purpose = np.full(names.size, PURPOSES["updates"])
    start, future = streams(run, names, purpose, START), streams(run, names, purpose, FUTURE)
    before = np.asarray(law.age.draw(exponentials(start, 0)), dtype=float)
    residual = np.maximum(law.covering(before, exponentials(start, 1)) - before, 0.0) * unit
    likely = (horizon - syncs[np.append(0, ends[:-1])]) / (unit * law.mean)
    number = np.ceil(likely + 6 * np.sqrt(likely) + 8).astype(np.int64)
    fresh, age = np.empty(names.size), np.empty(names.size)
    count, short = np.empty(names.size, np.int64), np.ones(names.size, np.bool_)
    while short.any():
        words = Streams(np.repeat(future.key, number), np.repeat(future.gamma, number))
        waits = draw(law, uniforms(words, ranks(number))) * np.repeat(unit, number)
        watch(horizon, syncs, ends, residual, waits, np.cumsum(number), fresh, age, count, short)
        # The same words again, and more of them, for those whose intervals came out short.
        number = np.where(short, 2 * number, number)
    return fresh, age, count

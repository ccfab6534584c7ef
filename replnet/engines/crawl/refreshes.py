"""When every page is refreshed, and the processes of many pages as arrays.

    Renewing    every page by itself, at intervals of a law stretched to its rate
    Round       one page a slot in a given order, round and round; the phase is uniform
    Draws       one page a slot, drawn anew by its share; the phase is uniform

All are in equilibrium at time zero, the age of the last refresh included. Before time zero the
draws of different pages are independent here, where in truth no two fall into one slot; each page by
itself has the law it should, so no mean is moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.laws.base import Law
from replnet.laws.check import SMALLEST, FieldError, positive
from replnet.laws.compiled import fill
from replnet.laws.renewal import draw
from replnet.laws.streams import (
    CHOICES,
    FUTURE,
    GOLDEN,
    PURPOSES,
    START,
    Streams,
    Words,
    exponentials,
    mix,
    streams,
)

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHUNK = 1 << 20  # instants that are drawn at a time
BLOCK = 4096  # intervals of one page that are drawn at a time


@final
@dataclass(frozen=True, slots=True, eq=False)
class Renewing:
    """Intervals of `law`, stretched so that page i is refreshed at rates[i]."""

    law: Law
    rates: Floats

    def check(self, size: int) -> None:
        numbers("refreshes.rates", self.rates, size)

    def listed(self, run: Words, horizon: float, size: int) -> Listed:
        age, who, when = np.empty(size), [], []
        for pages in chunks(self.rates, horizon):
            of_chunk = renewals(self.law, self.rates[pages], run, pages, PURPOSES["downloads"], horizon)
            inside = of_chunk.rows < horizon
            age[pages] = of_chunk.age
            who.append(np.repeat(pages, inside.sum(axis=1)))
            when.append(of_chunk.rows[inside])
        return by_page(age, np.concatenate(who), np.concatenate(when))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """order[j % order.size] is refreshed at the end of slot j."""

    order: Ints
    slot: float

    def check(self, size: int) -> None:
        positive("refreshes.slot", self.slot)
        order = self.order
        plain = order.ndim == 1 and order.dtype.kind in "iu" and order.size > 0
        if not plain or order.min() < 0 or order.max() >= size:
            raise FieldError("refreshes.order", "not a list of pages", f"numbers of pages from 0 to {size - 1}")

    def listed(self, run: Words, horizon: float, size: int) -> Listed:
        phase, place = uniforms(choices(run), 0, 2)
        when = _ends_of_slots(self.slot, float(phase), horizon)
        turns = self.order.size
        # The whole part of a phase that is uniform over the round, of which `phase` is the rest.
        start = min(int(place * turns), turns - 1)
        ago = np.full(size, np.inf)
        # Of several turns of a page the latest before `start` is written last.
        ago[np.roll(self.order, -start)] = np.arange(turns - 1, -1, -1)
        return by_page((ago + phase) * self.slot, self.order[(start + np.arange(when.size)) % turns], when)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """At the end of every slot one page is refreshed, page i with probability shares[i]; these add up to 1."""

    shares: Floats
    slot: float

    def check(self, size: int) -> None:
        positive("refreshes.slot", self.slot)
        total = float(numbers("refreshes.shares", self.shares, size).sum())
        if abs(total - 1) > 1e-9:
            raise FieldError("refreshes.shares", f"they add up to {total:g}", "probabilities that add up to 1")

    def listed(self, run: Words, horizon: float, size: int) -> Listed:
        chance = choices(run)
        phase = float(uniforms(chance, 0, 1)[0])
        when = _ends_of_slots(self.slot, phase, horizon)
        upto = np.cumsum(self.shares)
        who = np.searchsorted(upto / upto[-1], uniforms(chance, 1, when.size))
        with np.errstate(divide="ignore", invalid="ignore"):
            ago = np.floor(np.log(uniforms(chance, 2, size)) / np.log1p(-self.shares))
        ago[self.shares == 0] = np.inf
        return by_page((ago + phase) * self.slot, who, when)


@dataclass(frozen=True)
class Listed:
    """The age of every page's last refresh, and its refreshes: instants[begin[i] : begin[i + 1]]."""

    age: Floats
    begin: Ints
    instants: Floats

    def of(self, pages: Ints) -> Listed:
        """Of these pages only, in their order."""
        sizes = self.begin[pages + 1] - self.begin[pages]
        begin = np.concatenate([[0], np.cumsum(sizes)])
        at = np.repeat(self.begin[pages] - begin[:-1], sizes) + np.arange(begin[-1])
        return Listed(self.age[pages], begin, self.instants[at])


def by_page(age: Floats, who: Ints, when: Floats) -> Listed:
    """From refreshes of which every page's are in order."""
    sizes = np.bincount(who, minlength=age.size)
    return Listed(age, np.concatenate([[0], np.cumsum(sizes)]), when[np.argsort(who, kind="stable")])


@dataclass(frozen=True)
class Processes:
    """Of some pages: the age of the last event at time zero, and a row of coming instants, beyond the horizon."""

    age: Floats
    rows: Floats


def chunks(rates: Floats, horizon: float) -> Iterator[Ints]:
    """All pages, in lots that make for rows of some `CHUNK` instants with little waste."""
    pages = np.argsort(rates, kind="stable")
    ascending, begin = rates[pages], 0
    while begin < pages.size:
        width = max(horizon * ascending[begin], 8.0)
        alike = int(np.searchsorted(ascending, 2 * width / horizon, side="right"))
        end = max(min(begin + int(CHUNK / (2 * width)), alike), begin + 1)
        yield pages[begin:end]
        begin = end


def renewals(law: Law, rates: Floats, run: Words, pages: Ints, purpose: int, horizon: float) -> Processes:
    """Stationary renewal processes; a page of rate 0 has its last and its next event infinitely far away."""
    names, purposes = mix((pages + 1).astype(np.uint64) * GOLDEN), np.full(pages.size, purpose)
    start, future = (streams(run, names, purposes, part) for part in (START, FUTURE))
    # In units in which the law is as it stands, until the end.
    age = np.asarray(law.age.draw(exponentials(start, 0)), dtype=float)
    residual = np.maximum(law.covering(age, exponentials(start, 1)) - age, SMALLEST)
    stretch = np.divide(law.rate, rates, out=np.full(rates.size, np.inf), where=rates > 0)
    until = horizon * rates * law.mean
    times, used = residual[:, None], np.zeros(pages.size, np.int64)
    while (times[:, -1] <= until).any():
        missing = float((until - times[:, -1]).max()) * law.rate
        more = np.empty((pages.size, int(min(missing + 2 * missing**0.5 + 8, BLOCK))))
        fill(future.key, future.gamma, used, np.arange(pages.size), more)
        more = draw(law, more)
        more[:, 0] += times[:, -1]
        times = np.hstack([times, np.cumsum(more, axis=1)])
    return Processes(np.where(rates > 0, age * stretch, np.inf), times * stretch[:, None])


def choices(run: Words) -> Streams:
    """Chance that belongs to the crawler and to no page."""
    return streams(run, np.zeros(1, np.uint64), np.array([PURPOSES["downloads"]]), CHOICES)


def uniforms(of: Streams, part: int, n: int) -> Floats:
    """n uniforms of one stream; different parts share none of them."""
    out = np.empty((1, n))
    fill(of.key, of.gamma, np.array([part << 40]), np.zeros(1, np.int64), out)
    return np.asarray(out[0])


def numbers(field: str, values: npt.ArrayLike, size: int | None = None) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not (np.isfinite(array) & (array >= 0)).all():
        raise FieldError(field, "not a list of numbers that are 0 or positive", "one number per page")
    if size is not None and array.size != size:
        raise FieldError(field, f"{array.size} numbers for {size} pages", "one number per page")
    return array


def _ends_of_slots(slot: float, phase: float, horizon: float) -> Floats:
    """Those in [0, horizon), if at time zero a share `phase` of a slot has passed."""
    ends = (np.arange(int(horizon / slot) + 2) + 1 - phase) * slot
    return np.asarray(ends[ends < horizon], np.float64)

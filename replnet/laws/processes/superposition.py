"""The union of independent processes: many users, many authors, many feeds.

With rates r_i, R their sum, tails F_i of intervals and G_i of ages, the age is the
least of the ages and an interval begins with an event of one of them,

    G(x) = product of G_i(x),                                                       (1)
    F(x) = sum over i of (r_i / R) F_i(x) product over j != i of G_j(x).            (2)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, final

import numpy as np

from replnet.laws.guarded import admitted
from replnet.laws.inversion import solved
from replnet.laws.law import Array, Law
from replnet.laws.numeric import Age, excess_integral
from replnet.laws.processes.order import Chance, Floats, Flow, Ints, Order, Ordered, Walk
from replnet.text.errors import FieldError, finite, sequence

if TYPE_CHECKING:
    from replnet.laws.processes.renewal import Renewals, Window

MOST = 10_000
APART = 8  # purposes have numbers below; those of a member are its own, so that its streams are
WINDOW = 1 << 11  # instants to draw at once


@final
@dataclass(frozen=True)
class Union(Order):
    """Laws, each with how many processes follow it."""

    members: tuple[tuple[Law, int], ...]

    def __str__(self) -> str:
        if len(self.members) == 1:
            ((law, count),) = self.members
            return f"superposition(law={law}, count={count})"
        return f"superposition(laws=[{', '.join(str(law) for law, count in self.members for _ in range(count))}])"

    @cached_property
    def marginal(self) -> UnionGap:
        return UnionGap(self)

    def flow(self, chance: Chance) -> Flow:
        from replnet.laws.processes.renewal import Renewals

        rows, size = chance.names.size, sum(count for _, count in self.members)
        which = np.repeat(np.arange(len(self.members)), [count for _, count in self.members])
        own = (chance.purpose[:, None] + APART * (np.arange(size) + 1)).ravel()
        laws = [law for law, _ in self.members]
        all_of = Renewals(laws, np.tile(which, rows), chance.run, np.repeat(chance.names, size), own, WINDOW)
        return Flow.outwards(rows, _Onwards(all_of, rows), lambda: _Back(all_of, rows))


def _merged(window: Window, rows: int) -> list[Floats]:
    """The instants of every process's members, in order."""
    number = window.last - window.first
    ends = np.cumsum(number)
    at = np.repeat(window.offset + window.first - (ends - number), number) + np.arange(window.total)
    points = window.points[at]
    owner = np.repeat(np.arange(number.size) // (number.size // rows), number)
    order = np.lexsort((points, owner))
    return np.split(points[order], np.cumsum(np.bincount(owner, minlength=rows))[:-1])


@final
class _Onwards(Walk):
    """Waits between coming instants of the members."""

    def __init__(self, members: Renewals, rows: int) -> None:
        self._members = members
        self._coming, self._last = [np.empty(0)] * rows, np.zeros(rows)

    def next(self, rows: Ints, block: int) -> Floats:
        while any(self._coming[p].size < block for p in rows):
            more = _merged(self._members.window(), self._last.size)
            self._coming = [np.concatenate(pair) for pair in zip(self._coming, more, strict=True)]
        waits = np.empty((rows.size, block))
        for q, p in enumerate(rows):
            waits[q] = np.diff(self._coming[p][:block], prepend=self._last[p])
            self._last[p], self._coming[p] = self._coming[p][block - 1], self._coming[p][block:]
        return waits


@final
class _Back(Walk):
    """Waits between past instants of the members, latest first."""

    def __init__(self, members: Renewals, rows: int) -> None:
        self._members, self._depth = members, members.length / 64
        self._instants, self._given = [np.zeros(1)] * rows, np.zeros(rows, np.int64)

    def next(self, rows: Ints, block: int) -> Floats:
        waits = np.empty((rows.size, block))
        while any(self._instants[p].size <= self._given[p] + block for p in rows):
            self._depth *= 2
            past = _merged(self._members.past(self._depth), self._given.size)
            self._instants = [np.append(0.0, points[::-1]) for points in past]
        for q, p in enumerate(rows):
            first = self._given[p]
            waits[q] = -np.diff(self._instants[p][first : first + block + 1])
        self._given[rows] += block
        return waits


@final
@dataclass(frozen=True, repr=False)
class UnionGap(Law):
    """The intervals of a union, each as likely as any other."""

    of: Union

    def __str__(self) -> str:
        return f"shuffled({self.of})"

    @property
    def mean(self) -> float:
        return 1 / math.fsum(count * law.rate for law, count in self.of.members)

    @property
    def second_moment(self) -> float:
        return 2 * float(excess_integral(self).beyond(0.0))

    def _without(self, x: Array, but: int) -> Array:
        """The log of the product of (2) without one process of the law number `but`; of (1) where that is none."""
        total = np.zeros(np.shape(x))
        for place, (law, count) in enumerate(self.of.members):
            if count > (place == but):
                with np.errstate(divide="ignore"):
                    total = total - (count - (place == but)) * law.age.hazard(x)
        return total

    def _begun(self, x: Array) -> list[tuple[float, Array]]:
        """By law, the share of intervals that begin with it, and the log of their tail; (2)."""
        return [
            (count * law.rate * self.mean, self._without(x, place) - law.hazard(x))
            for place, (law, count) in enumerate(self.of.members)
        ]

    def tail(self, x: Array) -> Array:
        return sum(share * np.exp(log) for share, log in self._begun(x))

    def cdf(self, x: Array) -> Array:
        return sum(share * -np.expm1(log) for share, log in self._begun(x))

    def excess(self, x: Array) -> Array:
        return self.mean * np.exp(self._without(x, -1))

    def integrated_tail(self, x: Array) -> Array:
        return self.mean * -np.expm1(self._without(x, -1))

    def solve(self, e: Array) -> Array:
        return solved(self, e, around=self.mean, end=self._end)

    @cached_property
    def _end(self) -> float:
        return min(float(law.isf(0.0)) for law, _ in self.of.members)

    def draw(self, e: Array) -> Array:
        from replnet.laws.draw_tables import interpolated

        return interpolated(self, e)

    @property
    def age(self) -> Law:
        return Age(self)

    @property
    def breaks(self) -> tuple[float, ...]:
        edges = {edge for law, _ in self.of.members for edge in (*law.breaks, float(law.isf(0.0)))}
        return tuple(sorted(edge for edge in edges if edge < self._end))


def superposition(laws: Sequence[Law] | None = None, *, law: Law | None = None, count: int | None = None) -> Ordered:
    """The union of independent processes, of listed laws or so many of one."""
    if (laws is None) == (law is None):
        raise FieldError("laws", "missing" if laws is None else "given together with law", "laws, or law and count")
    if laws is not None and count is not None:
        raise FieldError("count", "given together with laws", "law and count")
    given = sequence("laws", laws) if laws is not None else [law] * _count(count)
    if not 2 <= len(given) <= MOST:
        raise FieldError("laws", f"{len(given)} of them", f"2 to {MOST:,}")
    members: dict[Law, int] = {}
    for place, one in enumerate(given):
        for part, times in _parts(f"laws[{place}]" if laws is not None else "law", one):
            members[part] = members.get(part, 0) + times
    return Ordered(Union(tuple(members.items())))


def _count(count: object) -> int:
    number = finite("count", count)
    if not 2 <= number <= MOST or number != int(number):
        raise FieldError("count", f"{count!r} is not a number of processes", f"a whole number from 2 to {MOST:,}")
    return int(number)


def _parts(field: str, law: object) -> tuple[tuple[Law, int], ...]:
    """A law, or what a union consists of: a union of unions is one."""
    law = admitted(field, law)
    law.require_finite_mean()
    return law.order.members if isinstance(law, Ordered) and isinstance(law.order, Union) else ((law, 1),)

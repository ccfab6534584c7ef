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

from replnet.laws.law import Array, Floats, Ints, Law, family
from replnet.laws.numeric import Numerical
from replnet.laws.processes.order import Flow, Ordered, Walk
from replnet.laws.processes.streams import Chance
from replnet.laws.text import law_of
from replnet.text.errors import FieldError, finite, sequence

if TYPE_CHECKING:
    from replnet.laws.processes.renewal import Renewals, Window

MOST = 10_000
APART = 8  # purposes have numbers below; those of a member are its own, so that its streams are
WINDOW = 1 << 11  # instants to draw at once


@final
@dataclass(frozen=True, repr=False)
class UnionGap(Numerical):
    """The intervals of a union, each as likely as any other."""

    members: tuple[tuple[Law, int], ...]  # laws, each with how many processes follow it

    def __str__(self) -> str:
        return f"shuffled({_text(self)})"

    @cached_property
    def end(self) -> float:
        return min(float(law.isf(0.0)) for law, _ in self.members)

    @property
    def mean(self) -> float:
        return 1 / math.fsum(count * law.rate for law, count in self.members)

    def _without(self, x: Array, but: int) -> Array:
        """The log of the product of (2) without one process of the law number `but`; of (1) where that is none."""
        total = np.zeros(np.shape(x))
        for place, (law, count) in enumerate(self.members):
            if count > (place == but):
                with np.errstate(divide="ignore"):
                    total = total - (count - (place == but)) * law.age.hazard(x)
        return total

    def _begun(self, x: Array) -> list[tuple[float, Array]]:
        """By law, the share of intervals that begin with it, and the log of their tail; (2)."""
        return [
            (count * law.rate * self.mean, self._without(x, place) - law.hazard(x))
            for place, (law, count) in enumerate(self.members)
        ]

    def tail(self, x: Array) -> Array:
        return sum(share * np.exp(log) for share, log in self._begun(x))

    def cdf(self, x: Array) -> Array:
        return sum(share * -np.expm1(log) for share, log in self._begun(x))

    def excess(self, x: Array) -> Array:
        return self.mean * np.exp(self._without(x, -1))

    def integrated_tail(self, x: Array) -> Array:
        return self.mean * -np.expm1(self._without(x, -1))

    @property
    def breaks(self) -> tuple[float, ...]:
        edges = {edge for law, _ in self.members for edge in (*law.breaks, float(law.isf(0.0)))}
        return tuple(sorted(edge for edge in edges if edge < self.end))


def _text(gap: UnionGap) -> str:
    if len(gap.members) == 1:
        ((law, count),) = gap.members
        return f"superposition(law={law}, count={count})"
    return f"superposition(laws=[{', '.join(str(law) for law, count in gap.members for _ in range(count))}])"


@final
@dataclass(frozen=True, repr=False)
class Union(Ordered):
    """All events of many processes."""

    marginal: UnionGap

    def flow(self, chance: Chance) -> Flow:
        from replnet.laws.processes.renewal import Renewals

        laws, counts = zip(*self.marginal.members, strict=True)
        rows, size = chance.names.size, sum(counts)
        which = np.tile(np.repeat(np.arange(len(laws)), counts), rows)
        own = (chance.purpose[:, None] + APART * (np.arange(size) + 1)).ravel()
        members = Renewals(laws, which, chance.run, np.repeat(chance.names, size), own, WINDOW)
        return Flow.outwards(rows, _walk_ahead(members, rows), lambda: _walk_back(members, rows))


def _instants(window: Window, rows: int) -> tuple[Ints, Floats]:
    """Whose member every instant of a window is, and when."""
    number = window.last - window.first
    ends = np.cumsum(number)
    at = np.repeat(window.offset + window.first - (ends - number), number) + np.arange(window.total)
    return np.repeat(np.arange(number.size) // (number.size // rows), number), window.points[at]


def _walk_ahead(members: Renewals, rows: int) -> Walk:
    """Waits between coming instants of the members."""
    owner, points, last = np.empty(0, np.int64), np.empty(0), np.zeros(rows)
    begin, end = np.zeros(rows, np.int64), np.zeros(rows, np.int64)

    def walk(some: Ints, block: int) -> Floats:
        nonlocal owner, points
        while (end[some] - begin[some] < block).any():
            left, (more, later) = np.arange(owner.size) >= begin[owner], _instants(members.window(), rows)
            owner, points = np.append(owner[left], more), np.append(points[left], later)
            order = np.lexsort((points, owner))
            owner, points = owner[order], points[order]
            number = np.bincount(owner, minlength=rows)
            end[:] = np.cumsum(number)
            begin[:] = end - number
        coming = points[begin[some, None] + np.arange(block)]
        waits = np.diff(coming, axis=1, prepend=last[some, None])
        last[some], begin[some] = coming[:, -1], begin[some] + block
        return np.asarray(waits)

    return walk


def _walk_back(members: Renewals, rows: int) -> Walk:
    """Waits between past instants of the members, latest first."""
    depth, points = members.length / 64, np.zeros(1)
    given, count, end = np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64)

    def walk(some: Ints, block: int) -> Floats:
        nonlocal depth, points
        while (count[some] < given[some] + block).any():
            depth *= 2
            owner, points = _instants(members.past(depth), rows)
            points = points[np.lexsort((points, owner))]
            count[:] = np.bincount(owner, minlength=rows)
            end[:] = np.cumsum(count)
        which = given[some, None] + np.arange(block + 1)  # from 1 for the latest; 0 is time zero
        past = np.where(which > 0, points.take(end[some, None] - which, mode="clip"), 0.0)
        given[some] += block
        return np.asarray(past[:, :-1] - past[:, 1:])

    return walk


@family("superposition(law=pareto(alpha=3, rate=2), count=20)")
def superposition(laws: Sequence[object] | None = None, *, law: object = None, count: int | None = None) -> Ordered:
    """The union of independent processes, of listed laws or so many of one.

    >>> rn.superposition(law=rn.pareto(alpha=3, rate=2), count=20).rate
    40.0
    """
    if (laws is None) == (law is None):
        raise FieldError("laws", "missing" if laws is None else "given together with law", "laws, or law and count")
    if laws is not None and count is not None:
        raise FieldError("count", "given together with laws", "law and count")
    given = sequence("laws", laws) if laws is not None else [law] * _count(count)
    if not 2 <= len(given) <= MOST:
        raise FieldError("laws", f"{len(given)} of them", f"2 to {MOST:,}")
    members: dict[Law, int] = {}
    for place, one in enumerate(given):
        part = law_of(f"laws[{place}]" if laws is not None else "law", one)
        part.require_finite_mean()
        # A union of unions is one.
        for each, times in part.marginal.members if isinstance(part, Union) else ((part, 1),):
            members[each] = members.get(each, 0) + times
    gap = UnionGap(tuple(members.items()))
    return Union(gap, _text(gap))


def _count(count: object) -> int:
    number = finite("count", count)
    if not 2 <= number <= MOST or number != int(number):
        raise FieldError("count", f"{count!r} is not a number of processes", f"a whole number from 2 to {MOST:,}")
    return int(number)

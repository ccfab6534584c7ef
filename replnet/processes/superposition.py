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

from replnet.laws import Array, Floats, Ints, Law, Numerical, family, law_of
from replnet.processes.order import IntervalGenerator, Ordered, StationaryProcesses
from replnet.processes.streams import ProcessStreams
from replnet.text import FieldError, field_name, finite, sequence

if TYPE_CHECKING:
    from replnet.processes.renewal import Renewals, Window

MOST_MEMBERS = 10_000
PURPOSES_APART = 8  # purposes have lower numbers; members get purposes, and so streams, of their own
WINDOW_INSTANTS = 1 << 11  # to draw at once


@final
@dataclass(frozen=True, repr=False)
class UnionGap(Numerical):
    """The law of the intervals of a union of independent processes, each interval as likely as any other.

    `members` has their laws, each once, with how many of the processes follow it.
    """

    members: tuple[tuple[Law, int], ...]  # laws, each with how many processes follow it

    def __str__(self) -> str:
        return f"shuffled({_union_text(self)})"

    @property
    def unit(self) -> str | None:
        """The unit of the first member that has one; None if no member has."""
        return next((law.unit for law, _ in self.members if law.unit is not None), None)

    def counted_in(self, unit: str) -> UnionGap:
        return UnionGap(tuple((law.counted_in(unit), count) for law, count in self.members))

    @cached_property
    def end(self) -> float:
        """The largest interval: the least among the ends of the members' supports; infinite if no member has an end."""
        return min(float(law.isf(0.0)) for law, _ in self.members)

    @property
    def mean(self) -> float:
        return 1 / math.fsum(count * law.rate for law, count in self.members)

    def _log_age_tails(self, x: Array, left_out: int) -> Array:
        """Return the log of the chance that the ages of all members exceed x, without one that follows law `left_out`.

        `left_out` is a place in `members`, or -1 to leave out none.
        """
        total = np.zeros(np.shape(x))
        for place, (law, count) in enumerate(self.members):
            if count > (place == left_out):
                with np.errstate(divide="ignore"):
                    total = total - (count - (place == left_out)) * law.age.hazard(x)
        return total

    def _shares_and_tails(self, x: Array) -> list[tuple[float, Array]]:
        """Return, for each law, the share of intervals that begin with its events, and the log of their tail at x."""
        return [
            (count * law.rate * self.mean, self._log_age_tails(x, place) - law.hazard(x))
            for place, (law, count) in enumerate(self.members)
        ]

    def tail(self, x: Array) -> Array:
        return sum(share * np.exp(log) for share, log in self._shares_and_tails(x))

    def cdf(self, x: Array) -> Array:
        return sum(share * -np.expm1(log) for share, log in self._shares_and_tails(x))

    def excess(self, x: Array) -> Array:
        return self.mean * np.exp(self._log_age_tails(x, -1))

    def integrated_tail(self, x: Array) -> Array:
        return self.mean * -np.expm1(self._log_age_tails(x, -1))

    @property
    def breaks(self) -> tuple[float, ...]:
        edges = {edge for law, _ in self.members for edge in (*law.breaks, float(law.isf(0.0)))}
        return tuple(sorted(edge for edge in edges if edge < self.end))


def _union_text(gap: UnionGap) -> str:
    """Return the text of the union with these intervals, such as "superposition(law=..., count=2)"."""
    if len(gap.members) == 1:
        ((law, count),) = gap.members
        return f"superposition(law={law}, count={count})"
    return f"superposition(laws=[{', '.join(str(law) for law, count in gap.members for _ in range(count))}])"


@final
@dataclass(frozen=True, repr=False)
class Union(Ordered):
    """A process that has all events of many independent processes."""

    marginal: UnionGap

    def counted_in(self, unit: str) -> Union:
        gap = self.marginal.counted_in(unit)
        return Union(gap, _union_text(gap))

    def start_processes(self, processes: ProcessStreams) -> StationaryProcesses:
        """Start one union for each of `processes`, all of whose members have streams of their own."""
        from replnet.processes.renewal import Renewals

        laws, counts = zip(*self.marginal.members, strict=True)
        rows, size = processes.names.size, sum(counts)
        which = np.tile(np.repeat(np.arange(len(laws)), counts), rows)
        purposes = (processes.purpose[:, None] + PURPOSES_APART * (np.arange(size) + 1)).ravel()
        members = Renewals(laws, which, processes.run, np.repeat(processes.names, size), purposes, WINDOW_INSTANTS)
        return StationaryProcesses.from_time_zero(
            rows, _forward_generator(members, rows), lambda: _backward_generator(members, rows)
        )


def _instants(window: Window, rows: int) -> tuple[Ints, Floats]:
    """Return the number of the union that every instant of a window belongs to, and the instants, in the same order.

    `rows` is the number of unions. The window has their members, of which each union has as many, one after another.
    """
    number = window.last - window.first
    ends = np.cumsum(number)
    places = np.repeat(window.offset + window.first - (ends - number), number) + np.arange(window.total)
    return np.repeat(np.arange(number.size) // (number.size // rows), number), window.points[places]


def _forward_generator(members: Renewals, rows: int) -> IntervalGenerator:
    """Return a generator of the waits between coming instants of unions, of which there are `rows`.

    `members` has the members of each union, as many for each, one after another; their windows are used up.
    """
    owner, points, last = np.empty(0, np.int64), np.empty(0), np.zeros(rows)
    begin, end = np.zeros(rows, np.int64), np.zeros(rows, np.int64)

    def generate(chosen: Ints, count: int) -> Floats:
        nonlocal owner, points
        while (end[chosen] - begin[chosen] < count).any():
            remains, (new_owner, new_points) = np.arange(owner.size) >= begin[owner], _instants(members.window(), rows)
            owner, points = np.append(owner[remains], new_owner), np.append(points[remains], new_points)
            order = np.lexsort((points, owner))
            owner, points = owner[order], points[order]
            number = np.bincount(owner, minlength=rows)
            end[:] = np.cumsum(number)
            begin[:] = end - number
        coming = points[begin[chosen, None] + np.arange(count)]
        waits = np.diff(coming, axis=1, prepend=last[chosen, None])
        last[chosen], begin[chosen] = coming[:, -1], begin[chosen] + count
        return np.asarray(waits)

    return generate


def _backward_generator(members: Renewals, rows: int) -> IntervalGenerator:
    """Return a generator of the waits between past instants of unions, latest first, of which there are `rows`.

    `members` has the members of each union, as many for each, one after another.
    """
    depth, points = members.length / 64, np.zeros(1)
    instants_used, instants_known, end = np.zeros(rows, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.int64)

    def generate(chosen: Ints, count: int) -> Floats:
        nonlocal depth, points
        while (instants_known[chosen] < instants_used[chosen] + count).any():
            depth *= 2
            owner, points = _instants(members.past(depth), rows)
            points = points[np.lexsort((points, owner))]
            instants_known[:] = np.bincount(owner, minlength=rows)
            end[:] = np.cumsum(instants_known)
        numbers_back = instants_used[chosen, None] + np.arange(count + 1)  # from 1 for the latest; 0 is time zero
        past = np.where(numbers_back > 0, points.take(end[chosen, None] - numbers_back, mode="clip"), 0.0)
        instants_used[chosen] += count
        return np.asarray(past[:, :-1] - past[:, 1:])

    return generate


@family("superposition(law=pareto(alpha=3, rate=2), count=20)")
def superposition(laws: Sequence[object] | None = None, *, law: object = None, count: int | None = None) -> Ordered:
    """Return the union of independent processes: one for each law in `laws`, or `count` processes of one law.

    Raises a FieldError unless there are 2 to 10,000 of them, given in one of these ways, with finite mean intervals.

    >>> rn.superposition(law=rn.pareto(alpha=3, rate=2), count=20).rate
    40.0
    """
    if (laws is None) == (law is None):
        raise FieldError("laws", "missing" if laws is None else "given together with law", "laws, or law and count")
    if laws is not None and count is not None:
        raise FieldError("count", "given together with laws", "law and count")
    parts = sequence("laws", laws) if laws is not None else [law] * _count(count)
    if not 2 <= len(parts) <= MOST_MEMBERS:
        raise FieldError("laws", f"{len(parts)} processes", f"2 to {MOST_MEMBERS:,}")
    members: dict[Law, int] = {}
    unit = None
    for place, part in enumerate(parts):
        member = law_of(field_name(("laws", place)) if laws is not None else "law", part)
        member.require_finite_mean()
        unit = unit or member.unit
        member = member.counted_in(unit) if unit else member
        # A union of unions is one.
        for member_law, number in member.marginal.members if isinstance(member, Union) else ((member, 1),):
            members[member_law] = members.get(member_law, 0) + number
    gap = UnionGap(tuple(members.items()))
    return Union(gap, _union_text(gap))


def _count(count: object) -> int:
    """Return the number of processes; raise a FieldError unless it is a whole number from 2 to 10,000."""
    number = finite("count", count)
    if not 2 <= number <= MOST_MEMBERS or number != int(number):
        raise FieldError(
            "count", f"{count!r} is not a number of processes", f"a whole number from 2 to {MOST_MEMBERS:,}"
        )
    return int(number)

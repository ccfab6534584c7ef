"""Intervals that follow one another as they are listed, over and over: a pattern, or a recorded history.

Time zero falls anywhere in the list, each point of its length as likely. So an
interval covers it in proportion to its length, as (1) of ordered.py says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.laws.discrete import Lattice
from replnet.laws.law import Law
from replnet.laws.processes.order import Chance, Floats, Flow, Ints, Order, Ordered, Walk
from replnet.text.errors import FieldError, many
from replnet.text.grammar import listed


@final
@dataclass(frozen=True, slots=True, eq=False)
class Cycle(Order):
    """`intervals` in this order, without end; `law` is that of one of them."""

    intervals: Floats
    law: Law
    text: str

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cycle) and np.array_equal(self.intervals, other.intervals)

    def __hash__(self) -> int:
        return hash((Cycle, self.intervals.size, self.law))

    @property
    def marginal(self) -> Law:
        return self.law

    def flow(self, chance: Chance) -> Flow:
        ends = np.cumsum(self.intervals)
        point = np.exp(-chance.starts(0)) * ends[-1]
        at = np.minimum(np.searchsorted(ends, point, side="right"), ends.size - 1)
        age = np.clip(point - (ends[at] - self.intervals[at]), 0.0, self.intervals[at])
        back = self.intervals[::-1]
        ahead = _Round(self.intervals, at + 1)
        return Flow(age, self.intervals[at] - age, ahead, lambda: _Round(back, ends.size - at))


@final
class _Round(Walk):
    """Round and round the list, every process from its place."""

    def __init__(self, intervals: Floats, place: Ints) -> None:
        self._intervals, self._place = intervals, place % intervals.size

    def next(self, rows: Ints, block: int) -> Floats:
        number = self._place[rows, None] + np.arange(block + 1)
        number %= self._intervals.size
        self._place[rows] = number[:, -1]
        return np.asarray(self._intervals[number[:, :-1]])


def alternating(values: Sequence[float]) -> Ordered:
    """The listed intervals in turn, over and over."""
    values = many("values", values)
    if len(values) < 2:
        raise FieldError("values", "a single interval", "two or more in turn, or constant(period=...)")
    return Ordered(Cycle(np.array(values), Lattice(values), f"alternating(values={listed(values)})"))

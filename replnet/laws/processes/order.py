"""Processes whose intervals depend on one another: a law of the intervals, and the order in which they come.

A stationary process of points looks at its events as follows. Seen from an event,
intervals have a law X (Palm's); seen from time zero, the interval that covers it is
x with weight x, and zero falls anywhere in it, so that

    P(age > a, residual > b) = rate * E[(X - a - b)+]                        (1)

whatever the intervals before and after. Hence a formula that needs ages alone needs
the law of X alone, and an `Ordered` process is a `Law`: that one. What differs is how
it is drawn: as an interval around zero by (1), and from it outwards, as its order has it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.laws.guarded import admitted
from replnet.laws.law import Array, Law
from replnet.laws.processes.streams import START, Streams, Words, exponentials, streams
from replnet.text.errors import FieldError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Chance(NamedTuple):
    """Where many processes have their chance from: the streams of their names."""

    run: Words
    names: Words
    purpose: Ints

    def streams(self, part: int) -> Streams:
        return streams(self.run, self.names, self.purpose, part)

    def starts(self, n: int) -> Floats:
        """The n-th standard exponential of every process's start."""
        return exponentials(self.streams(START), n)


class Walk(ABC):
    """Many processes on their way from time zero, forwards or backwards."""

    @abstractmethod
    def next(self, rows: Ints, block: int) -> Floats:
        """The next intervals of these processes, a row each; the same ones in blocks of any size."""


@dataclass(frozen=True, eq=False)
class Flow:
    """Many processes in equilibrium."""

    age: Floats
    residual: Floats
    ahead: Walk  # from the end of the residual on
    behind: Callable[[], Walk]  # from the begin of the age back; a new one every time

    @classmethod
    def outwards(cls, count: int, ahead: Walk, behind: Callable[[], Walk]) -> Flow:
        """Of walks that set out from time zero itself, so that what they first come to are residual and age."""
        everyone = np.arange(count)

        def beyond() -> Walk:
            walk = behind()
            walk.next(everyone, 1)
            return walk

        residual = ahead.next(everyone, 1)[:, 0]
        return cls(behind().next(everyone, 1)[:, 0], residual, ahead, beyond)


class Order(ABC):
    """Which intervals come after which."""

    @property
    @abstractmethod
    def marginal(self) -> Law:
        """The law of an interval as events see it."""

    @abstractmethod
    def flow(self, chance: Chance) -> Flow:
        """Processes of this order."""


@final
@dataclass(frozen=True, slots=True, repr=False)
class Ordered(Law):
    """The law of the intervals of a process that is not renewal; everything about one interval, or one age, is its."""

    order: Order

    def __str__(self) -> str:
        return str(self.order)

    @property
    def mean(self) -> float:
        return self.order.marginal.mean

    @property
    def second_moment(self) -> float:
        return self.order.marginal.second_moment

    def tail(self, x: Array) -> Array:
        return self.order.marginal.tail(x)

    def cdf(self, x: Array) -> Array:
        return self.order.marginal.cdf(x)

    def isf(self, q: Array) -> Array:
        return self.order.marginal.isf(q)

    def excess(self, x: Array) -> Array:
        return self.order.marginal.excess(x)

    def integrated_tail(self, x: Array) -> Array:
        return self.order.marginal.integrated_tail(x)

    def hazard(self, x: Array) -> Array:
        return self.order.marginal.hazard(x)

    def solve(self, e: Array) -> Array:
        return self.order.marginal.solve(e)

    def draw(self, e: Array) -> Array:
        return self.order.marginal.draw(e)

    def covering(self, age: Array, e: Array) -> Array:
        return self.order.marginal.covering(age, e)

    @property
    def age(self) -> Law:
        return self.order.marginal.age

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.order.marginal.breaks

    @property
    def span(self) -> float | None:
        return self.order.marginal.span


def shuffled(law: Law) -> Law:
    """The law of a process's intervals, for a renewal process that has the same ones in no order."""
    law = admitted("law", law, "shuffled(alternating(values=[1, 3]))")
    return law.order.marginal if isinstance(law, Ordered) else law


def independent(field: str, law: object) -> Law:
    """`law`, if it says all about a process: that its intervals are independent, and of finite mean."""
    law = admitted(field, law)
    if isinstance(law, Ordered):
        raise FieldError(field, f"the intervals of {law} are not independent", f"shuffled({law}), or another law")
    law.require_finite_mean()
    return law

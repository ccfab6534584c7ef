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

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from replnet.laws.law import Floats, Ints, Law, family
from replnet.laws.processes.streams import Chance, Streams
from replnet.laws.text import law_of
from replnet.text.errors import FieldError

Walk = Callable[[Ints, int], Floats]
"""Many processes on their way from time zero, forwards or backwards: given some of them and a number, that many of the
next intervals of each, a row each; the same ones in blocks of any size."""


@final
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
            walk(everyone, 1)
            return walk

        residual = ahead(everyone, 1)[:, 0]
        return cls(behind()(everyone, 1)[:, 0], residual, ahead, beyond)


def kernel_walk(kernel: Callable[..., None], of: Streams, *arguments: Any) -> Walk:
    """A walk by a compiled loop, which takes streams, how many words each has given so far, the rows to walk on, these
    arguments, and an array for the intervals."""
    used = np.zeros(of.key.size, np.int64)

    def walk(rows: Ints, block: int) -> Floats:
        found = np.empty((rows.size, block))
        kernel(of.key, of.gamma, used, rows, *arguments, found)
        return found

    return walk


def _marginal(name: str) -> Any:
    """The member of this name that the law of an interval has."""
    return property(lambda self: getattr(self.marginal, name))


@dataclass(frozen=True, repr=False)
class Ordered(Law):
    """A process that is not renewal, as the law of its intervals.

    Everything about one interval, or one age, is that of `marginal`, the law of an interval as events see it.
    """

    marginal: Law
    text: str

    def __str__(self) -> str:
        return self.text

    @abstractmethod
    def flow(self, chance: Chance) -> Flow:
        """Processes of this order."""

    mean = _marginal("mean")
    second_moment = _marginal("second_moment")
    age = _marginal("age")
    breaks = _marginal("breaks")
    span = _marginal("span")
    tail = _marginal("tail")
    cdf = _marginal("cdf")
    hazard = _marginal("hazard")
    excess = _marginal("excess")
    integrated_tail = _marginal("integrated_tail")
    isf = _marginal("isf")
    solve = _marginal("solve")
    draw = _marginal("draw")
    covering = _marginal("covering")


@family("shuffled(alternating(values=[1, 3]))")
def shuffled(law: object) -> Law:
    """The law of a process's intervals, for a renewal process that has the same ones in no order.

    >>> rn.shuffled(rn.alternating(values=[1, 3])).mean
    2.0
    """
    found = law_of("law", law)
    return found.marginal if isinstance(found, Ordered) else found


def independent(field: str, law: object) -> Law:
    """`law`, if it says all about a process: that its intervals are independent, and of finite mean."""
    found = law_of(field, law)
    if isinstance(found, Ordered):
        raise FieldError(field, f"the intervals of {found} are not independent", f"shuffled({found}), or another law")
    found.require_finite_mean()
    return found

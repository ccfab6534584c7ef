"""Processes whose intervals depend on one another: a law of the intervals, and the order in which they come.

A stationary process of points looks at its events as follows. Seen from an event,
intervals have a law X (Palm's); seen from time zero, the interval that covers it is
x with weight x, and zero falls anywhere in it, so that

    P(age > a, residual > b) = rate * E[(X - a - b)+]                        (1)

whatever the intervals before and after. Hence a formula that needs ages alone needs
the law of X alone, and an `Ordered` process is a `Law`: that one. What differs is how
it is drawn: as an interval around zero by (1), and from it outwards, in the order that it has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np

from replnet.laws import Floats, Ints, Law, family, law_of
from replnet.processes.streams import ProcessStreams, Streams
from replnet.text import FieldError

IntervalGenerator = Callable[[Ints, int], Floats]
"""A function that generates the intervals of many processes, forwards or backwards from time zero.

Given the numbers of some processes and a count, it returns so many next intervals of each, one row per process. The
intervals do not depend on how many are taken at once.
"""


@final
@dataclass(frozen=True, eq=False)
class StationaryProcesses:
    """Stationary processes: their ages and residuals at time zero, and generators of the intervals before and after.

    The residual is the time from zero to the next event. `forwards` generates the intervals from there on, and every
    call of `start_backwards` returns a new generator of those before the age, latest first.
    """

    age: Floats
    residual: Floats
    forwards: IntervalGenerator  # from the end of the residual on
    start_backwards: Callable[[], IntervalGenerator]  # from the begin of the age back; a new one at every call

    @classmethod
    def from_time_zero(
        cls, count: int, forwards: IntervalGenerator, start_backwards: Callable[[], IntervalGenerator]
    ) -> StationaryProcesses:
        """Build `count` processes from generators that begin at time zero: the first intervals are residual and age.

        `start_backwards` returns a new generator of the past, from its begin, at every call.
        """
        rows = np.arange(count)

        def start_past_age() -> IntervalGenerator:
            generate = start_backwards()
            generate(rows, 1)
            return generate

        residual = forwards(rows, 1)[:, 0]
        return cls(start_backwards()(rows, 1)[:, 0], residual, forwards, start_past_age)


def compiled_generator(kernel: Callable[..., None], streams: Streams, *arguments: Any) -> IntervalGenerator:
    """Return a generator that runs `kernel`, a compiled loop, on a stream per process.

    The kernel gets keys and gammas of the streams, the number of words taken from each so far (which it advances), the
    rows to generate for, `arguments`, and an array with a line per row to fill with intervals.
    """
    words_used = np.zeros(streams.key.size, np.int64)

    def generate(rows: Ints, count: int) -> Floats:
        intervals = np.empty((rows.size, count))
        kernel(streams.key, streams.gamma, words_used, rows, *arguments, intervals)
        return intervals

    return generate


def _marginal(name: str) -> Any:
    """Return a property that reads the member `name` of `marginal`, the law of an interval."""
    return property(lambda self: getattr(self.marginal, name))


@dataclass(frozen=True, repr=False)
class Ordered(Law):
    """A process that is not renewal, as the law of its intervals.

    Everything about one interval, or one age, is that of `marginal`, the law of an interval as events see it; `text` is
    what a user writes for the process.
    """

    marginal: Law
    text: str

    def __str__(self) -> str:
        return self.text

    @abstractmethod
    def start_processes(self, processes: ProcessStreams) -> StationaryProcesses:
        """Start one stationary process with intervals in this order for each of `processes`, from its streams.

        They are independent of one another, and numbered in the order of `processes`.
        """

    def counted_in(self, unit: str) -> Self:
        """Return the same process with time in `unit`, in its text as well."""
        marginal = self.marginal.counted_in(unit)
        # The text of an interval's law is part of this one's, but perhaps for its bracket.
        return replace(self, marginal=marginal, text=self.text.replace(str(self.marginal)[:-1], str(marginal)[:-1]))

    unit = _marginal("unit")
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
    """Return the law of the intervals of `law`, for a renewal process that has the same intervals in random order.

    A law of independent intervals is returned as it is.

    >>> rn.shuffled(rn.alternating(values=[1, 3])).mean
    2.0
    """
    process = law_of("law", law)
    return process.marginal if isinstance(process, Ordered) else process


def independent_law(field: str, law: object) -> Law:
    """Return the law that `law`, a law or its text, describes, if its intervals are independent.

    Raise a FieldError, which names `field`, if they are not, or if they have no finite mean.
    """
    interval_law = law_of(field, law)
    if isinstance(interval_law, Ordered):
        raise FieldError(
            field, f"the intervals of {interval_law} are not independent", f"shuffled({interval_law}), or another law"
        )
    interval_law.require_finite_mean()
    return interval_law

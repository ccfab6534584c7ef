"""The processes of many sources as arrays, each from its own named streams.

A source is known by its number; a process of it in equilibrium at time zero by the age
of its last event and a row of coming ones, or of those before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.laws.law import Law
from replnet.laws.processes.kernels import fill
from replnet.laws.processes.renewal import draw
from replnet.laws.processes.streams import (
    CHOICES,
    FUTURE,
    GOLDEN,
    PAST,
    PURPOSES,
    START,
    Streams,
    Words,
    exponentials,
    mix,
    streams,
)
from replnet.text.errors import SMALLEST, FieldError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CHUNK = 1 << 20  # instants that are drawn at a time
BLOCK = 4096  # intervals of one source that are drawn at a time


@final
@dataclass(frozen=True, slots=True, eq=False)
class Processes:
    """Of some sources: the age of the last event at time zero, and a row of coming instants, beyond the horizon."""

    age: Floats
    rows: Floats


def chunks(rates: Floats, horizon: float) -> Iterator[Ints]:
    """All sources, in lots that make for rows of some `CHUNK` instants with little waste."""
    order = np.argsort(rates, kind="stable")
    ascending, begin = rates[order], 0
    while begin < order.size:
        width = max(horizon * ascending[begin], 8.0)
        alike = int(np.searchsorted(ascending, 2 * width / horizon, side="right"))
        end = max(min(begin + int(CHUNK / (2 * width)), alike), begin + 1)
        yield order[begin:end]
        begin = end


def named(of: Ints, replica: int = 0) -> Words:
    """A word per source, or per copy of it in one of several replicas."""
    words = mix((of + 1).astype(np.uint64) * GOLDEN)
    return mix(words + np.full(1, replica, np.uint64) * GOLDEN) if replica else words


def renewals(law: Law, rates: Floats, run: Words, names: Words, purpose: str, horizon: float) -> Processes:
    """Stationary renewal processes; what has rate 0 has its last and its next event infinitely far away."""
    start, future = (streams(run, names, _all(purpose, names), part) for part in (START, FUTURE))
    # In units in which the law is as it stands, until the end.
    age, interval = law.around_zero(exponentials(start, 0), exponentials(start, 1))
    residual = np.maximum(interval - age, SMALLEST)
    stretch = _stretch(law, rates)
    rows = _extended(law, residual[:, None], future, horizon * rates * law.mean)
    return Processes(np.where(rates > 0, age * stretch, np.inf), rows * stretch[:, None])


def before(
    law: Law, rates: Floats, run: Words, names: Words, purpose: str, age: Floats, depth: Floats, fewest: int = 1
) -> Floats:
    """The ages of the events of `renewals` at time zero, from the last one on, back to beyond `depth` of each.

    At least the `fewest` last ones; infinite for what has rate 0.
    """
    past, moving = streams(run, names, _all(purpose, names), PAST), rates > 0
    stretch = np.where(moving, _stretch(law, rates), 1.0)
    until = np.where(moving, depth * rates * law.mean, 0.0)
    rows = _extended(law, (np.where(moving, age, 1.0) / stretch)[:, None], past, until, fewest)
    return np.where(moving[:, None], rows * stretch[:, None], np.inf)


def _extended(law: Law, first: Floats, of: Streams, until: Floats, fewest: int = 1) -> Floats:
    """Rows of sums of intervals, each from its first number to beyond `until`."""
    rows, used = first, np.zeros(first.shape[0], np.int64)
    everyone = np.arange(first.shape[0])
    while (rows[:, -1] <= until).any() or rows.shape[1] < fewest:
        missing = max(float((until - rows[:, -1]).max()) * law.rate, 0.0)
        more = np.empty((everyone.size, int(min(missing + 2 * missing**0.5 + 8, BLOCK))))
        fill(of.key, of.gamma, used, everyone, more)
        more = draw(law, more)
        more[:, 0] += rows[:, -1]
        rows = np.hstack([rows, np.cumsum(more, axis=1)])
    return rows


def _stretch(law: Law, rates: Floats) -> Floats:
    """How much longer intervals are than those of the law."""
    return np.asarray(np.divide(law.rate, rates, out=np.full(rates.size, np.inf), where=rates > 0))


def _all(purpose: str, names: Words) -> Ints:
    return np.full(names.size, PURPOSES[purpose])


def choices(run: Words, part: int = CHOICES) -> Streams:
    """Chance that belongs to the schedule and to no source."""
    return streams(run, np.zeros(1, np.uint64), np.array([PURPOSES["downloads"]]), part)


def numbers(field: str, values: npt.ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not (np.isfinite(array) & (array >= 0)).all():
        raise FieldError(field, "not a list of numbers that are 0 or positive", "one number per source")
    return array


def ranks(number: Ints) -> Ints:
    """0, 1, ..., number[0] - 1, 0, 1, ..., number[1] - 1, and so on."""
    ends = np.cumsum(number)
    return np.arange(int(number.sum())) - np.repeat(ends - number, number)

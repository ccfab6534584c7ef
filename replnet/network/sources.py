"""The sources of an aggregate as arrays: how often each changes, in what shape, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.laws import Exponential, Law
from replnet.laws.columns import dealt, listed
from replnet.network.aggregate import POISSON, Aggregate

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Source i changes at the intervals of shapes[which[i]], stretched to rates[i]; weights add up to 1."""

    shapes: tuple[Law, ...]
    which: Ints
    rates: Floats
    weights: Floats

    @property
    def size(self) -> int:
        return self.rates.size

    @property
    def poisson(self) -> bool:
        return all(isinstance(shape, Exponential) for shape in self.shapes)

    def members(self) -> list[tuple[Law, Ints]]:
        """Every shape, with the sources that have it."""
        if len(self.shapes) == 1:
            return [(self.shapes[0], np.arange(self.size))]
        order = np.argsort(self.which, kind="stable")
        ends = np.cumsum(np.bincount(self.which, minlength=len(self.shapes)))
        return list(zip(self.shapes, np.split(order, ends[:-1]), strict=True))


def sources(spec: Aggregate) -> Sources:
    """Those that a specification means."""
    # What is exponential differs in its rate alone.
    alike = [POISSON if isinstance(law, Exponential) else law for law in spec.updates]
    place = {shape: i for i, shape in enumerate(dict.fromkeys(alike))}
    which = np.array([place[shape] for shape in alike], np.int64)
    count = spec.count
    rates = np.array([law.rate for law in spec.updates]) if spec.rates is None else listed(spec.rates, count)
    return Sources(
        tuple(place),
        np.broadcast_to(which, (count,)) if which.size == 1 else which,
        np.ascontiguousarray(np.broadcast_to(rates, (count,))),
        dealt(np.ones(count) if spec.weights is None else spec.weights, count),
    )

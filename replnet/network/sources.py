"""The sources of an aggregate as arrays: how often each changes, in what shape, and what it counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.laws import Exponential, FieldError, Law
from replnet.laws.processes.streams import GOLDEN, mix, name_words
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
    rates = np.array([law.rate for law in spec.updates]) if spec.rates is None else _listed(spec.rates, count)
    weights = np.ones(count) if spec.weights is None else _listed(spec.weights, count)
    if isinstance(spec.weights, Law):
        weights = weights[_shuffled(count)]
    if not 0 < weights.sum() < np.inf:
        raise FieldError("weights", f"add up to {weights.sum():g}", "a law, or a list, of which some count")
    return Sources(
        tuple(place),
        np.broadcast_to(which, (count,)) if which.size == 1 else which,
        np.ascontiguousarray(np.broadcast_to(rates, (count,))),
        weights / weights.sum(),
    )


def _listed(given: Law | Sequence[float], count: int) -> Floats:
    if isinstance(given, Law):
        return np.asarray(given.quantile((np.arange(count) + 0.5) / count), dtype=float)
    return np.array(given, dtype=float)


def _shuffled(count: int) -> Ints:
    """An order that is the same for everybody, as it belongs to the network and not to a run of it."""
    words = mix(name_words(["weights"]) + np.arange(count, dtype=np.uint64) * GOLDEN)
    return np.argsort(words, kind="stable")

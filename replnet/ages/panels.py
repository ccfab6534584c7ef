"""Where to put panels: the jumps, bends and scales of laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from replnet.ages.curve import clean_edges, fit
from replnet.laws.discrete import Discrete, Lattice
from replnet.laws.families import Constant
from replnet.laws.law import Array, Law

QUANTILES = np.array([0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-7, 1e-10, 1e-14])  # upper ones
FEW = 64  # breaks that are all worth a panel of their own in a convolution
GROUPS = 1024  # atoms that stand for those of a law with more
COARSE = 48  # atoms where each costs a panel of a slow solution
STRETCH = 1.5  # marks closer than this factor say the same


def thinned(points: Iterable[float]) -> tuple[float, ...]:
    """At most 2 FEW of the points, evenly chosen; neighbours by rounding count once."""
    kept = np.unique(np.asarray([*points], dtype=float))
    kept = kept[kept > 0]
    kept = kept[np.diff(kept, prepend=0.0) > 1e-12 * kept]
    if len(kept) > 2 * FEW:
        kept = kept[np.linspace(0, len(kept) - 1, 2 * FEW).round().astype(int)]
    return tuple(kept.tolist())


def soft_marks(law: Law) -> tuple[float, ...]:
    """Some quantiles of the law: its scales."""
    points = np.asarray(law.isf(QUANTILES), dtype=float)
    return tuple(np.unique(points[(points > 0) & np.isfinite(points)]).tolist())


def spread_out(marks: Sequence[float], horizon: float) -> list[float]:
    """Marks at least a factor STRETCH and at most 4 apart, up to the horizon: no scale between them is missed."""
    kept: list[float] = []
    for point in [*sorted(marks), horizon]:
        while kept and kept[-1] * 4 < min(point, horizon):
            kept.append(kept[-1] * 3)
        if not kept or point > STRETCH * kept[-1]:
            kept.append(point)
    return kept


class Scales(NamedTuple):
    """Where a tail jumps or bends, and points that tell its scales."""

    breaks: tuple[float, ...] = ()
    marks: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, law: Law) -> Scales:
        return cls(thinned(law.breaks), soft_marks(law))

    def edges(self, horizon: float) -> Array:
        """Panels from which a fit may start."""
        return clean_edges([*self.breaks, *spread_out(self.marks, horizon)], horizon)


def jumps(law: Law) -> Array:
    """All points where the law's tail jumps or bends, however many."""
    return law.values if isinstance(law, Discrete) else np.asarray(law.breaks, dtype=float)


def resolving_edges(law: Law, horizon: float) -> Array:
    """Panels on which the law's tail is a polynomial."""
    points = jumps(law)
    edges = clean_edges([*points, *spread_out(soft_marks(law), horizon)], horizon)
    return edges if isinstance(law, Discrete) or len(points) > FEW else fit(law.tail, edges).edges


@final
@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The values and weights of a law that takes finitely many values."""

    values: Array
    weights: Array

    def differences(self, whole: Callable[[Array], Array], x: Array) -> Array:
        """Sum over the values d of weight_d (whole(x) - whole(x - d)), `whole` being 0 at 0."""
        total = whole(x)
        for start in range(0, len(x), 256):
            part = slice(start, start + 256)
            total[part] -= whole(np.maximum(x[part, None] - self.values, 0.0)) @ self.weights
        return total

    def grouped(self, groups: int) -> Atoms:
        """Neighbours replaced by their mean, which keeps the law's mean.

        A group misplaces the integral of the tail by up to weight times width, so those are made alike.
        """
        if len(self.values) <= groups:
            return self
        measure = np.cumsum(np.sqrt(self.weights * np.diff(self.values, prepend=0.0)))
        group = np.minimum(measure / measure[-1] * groups, groups - 1).astype(int)
        _, group = np.unique(group, return_inverse=True)
        weights = np.bincount(group, self.weights)
        return Atoms(np.bincount(group, self.weights * self.values) / weights, weights)


def values_of(law: Law) -> Atoms | None:
    """The values that a law takes and their chances, if it takes finitely many."""
    if isinstance(law, Constant):
        return Atoms(np.array([law.period]), np.array([1.0]))
    return Atoms(law.values, law.weights / law.total) if isinstance(law, Discrete) else None


def atoms_of(law: Law) -> Atoms | None:
    """The atoms of a law of more than FEW values, in groups if they are very many; else None."""
    atoms = values_of(law)
    return atoms.grouped(GROUPS) if atoms and len(atoms.values) > FEW else None


def coarse(law: Law) -> Law:
    """The law itself, or one of a few values in the place of very many."""
    atoms = atoms_of(law)
    if atoms is None:
        return law
    few = atoms.grouped(COARSE)
    return Lattice(few.values.tolist(), few.weights.tolist())

"""Where to put panels: the jumps, bends and scales of laws."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np

from replnet.ages.curve import clean_edges
from replnet.laws import Array, Constant, Discrete, Lattice, Law, fit_curve

QUANTILES = np.array([0.9, 0.5, 0.1, 1e-2, 1e-4, 1e-7, 1e-10, 1e-14])  # upper ones
FEW = 64  # at most so many breaks are all worth a panel of their own in a convolution
GROUPS = 1024  # groups of atoms that stand for those of a law with more atoms
COARSE = 48  # the same where each atom costs a panel of a slow solution
STRETCH = 1.5  # of marks closer than this factor one is left out


def thin_out(points: Iterable[float]) -> tuple[float, ...]:
    """Return the points above 0 in ascending order, but at most 128 of them, evenly chosen by their rank.

    Points that differ by rounding count once.
    """
    result = np.unique(np.asarray([*points], dtype=float))
    result = result[result > 0]
    result = result[np.diff(result, prepend=0.0) > 1e-12 * result]
    if len(result) > 2 * FEW:
        result = result[np.linspace(0, len(result) - 1, 2 * FEW).round().astype(int)]
    return tuple(result.tolist())


def soft_marks(law: Law) -> tuple[float, ...]:
    """Return up to 8 upper quantiles of the law, ascending, finite and above 0: the scales on which its tail falls."""
    points = np.asarray(law.isf(QUANTILES), dtype=float)
    return tuple(np.unique(points[(points > 0) & np.isfinite(points)]).tolist())


def spread_out(marks: Sequence[float], horizon: float) -> list[float]:
    """Return ascending points, taken from `marks` and `horizon`, each over 1.5 and at most some 4 times the last.

    Of marks that are closer together the first is kept, and the horizon is left out if it is close to, or below, the
    last. Points are added in wider gaps below the horizon, so that no scale is missed.
    """
    result: list[float] = []
    for point in [*sorted(marks), horizon]:
        while result and result[-1] * 4 < min(point, horizon):
            result.append(result[-1] * 3)
        if not result or point > STRETCH * result[-1]:
            result.append(point)
    return result


class Scales(NamedTuple):
    """The points where a tail jumps or bends (`breaks`), and points that mark its scales (`marks`)."""

    breaks: tuple[float, ...] = ()
    marks: tuple[float, ...] = (1.0,)

    @classmethod
    def of(cls, law: Law) -> Scales:
        """Return the scales of a law's tail: up to 128 points where it jumps or bends, and quantiles as marks."""
        return cls(thin_out(law.breaks), soft_marks(law))

    @classmethod
    def of_smallest(cls, scales: Sequence[Scales], count: int) -> Scales:
        """Return the scales of the tail of the smallest of `count` independent numbers.

        Their own tails have these `scales`, each of which is given once for all numbers that share it.
        """
        marks = [min(each.marks) / count for each in scales] + [point for each in scales for point in each.marks]
        return cls(thin_out(point for each in scales for point in each.breaks), tuple(marks))

    def edges(self, horizon: float) -> Array:
        """Return ascending edges of panels on [0, horizon], 0 and `horizon` included, from which a fit may start.

        They are the breaks below the horizon, and points on all scales from the first mark on.
        """
        return clean_edges([*self.breaks, *spread_out(self.marks, horizon)], horizon)


def jumps(law: Law) -> Array:
    """Return all points where the law's tail jumps or bends, however many, ascending: the values of a discrete law."""
    return law.values if isinstance(law, Discrete) else np.asarray(law.breaks, dtype=float)


def resolving_edges(law: Law, horizon: float) -> Array:
    """Return edges of panels on [0, horizon] on each of which the law's tail is a polynomial, up to rounding.

    Of a continuous law with more than 64 bends, panels just end at these bends and at marks of its scales.
    """
    points = jumps(law)
    edges = clean_edges([*points, *spread_out(soft_marks(law), horizon)], horizon)
    return edges if isinstance(law, Discrete) or len(points) > FEW else fit_curve(law.tail, edges).edges


@final
@dataclass(frozen=True, slots=True, eq=False)
class Atoms:
    """The values that a law takes, if these are finitely many, and their weights, which add up to 1."""

    values: Array
    weights: Array

    def differences(self, whole: Callable[[Array], Array], x: Array) -> Array:
        """Return, at every x of an array, the sum over the values d of weight_d (whole(x) - whole(x - d)).

        The function `whole` is taken as 0 below 0, and must be 0 at 0.
        """
        total = whole(x)
        for start in range(0, len(x), 256):
            part = slice(start, start + 256)
            total[part] -= whole(np.maximum(x[part, None] - self.values, 0.0)) @ self.weights
        return total

    def in_groups(self, groups: int) -> Atoms:
        """Return at most `groups` atoms, each the mean of neighbouring ones, so that the law's mean stays.

        A group misplaces the integral of the tail by up to weight times width, so groups are made alike in that.
        """
        if len(self.values) <= groups:
            return self
        measure = np.cumsum(np.sqrt(self.weights * np.diff(self.values, prepend=0.0)))
        group = np.minimum(measure / measure[-1] * groups, groups - 1).astype(int)
        _, group = np.unique(group, return_inverse=True)
        weights = np.bincount(group, self.weights)
        return Atoms(np.bincount(group, self.weights * self.values) / weights, weights)


def values_of(law: Law) -> Atoms | None:
    """Return the values that a law takes and their chances, or None if it takes infinitely many."""
    if isinstance(law, Constant):
        return Atoms(np.array([law.period]), np.array([1.0]))
    return Atoms(law.values, law.weights / law.total) if isinstance(law, Discrete) else None


def atoms_of(law: Law) -> Atoms | None:
    """Return the values and chances of a law that takes more than 64 values; None for any other law.

    If there are more than 1,024, neighbouring ones are taken as one.
    """
    atoms = values_of(law)
    return atoms.in_groups(GROUPS) if atoms and len(atoms.values) > FEW else None


def with_few_values(law: Law) -> Law:
    """Return a law like this one that takes at most 48 values, if it takes more than 64; else the law itself."""
    atoms = atoms_of(law)
    if atoms is None:
        return law
    few = atoms.in_groups(COARSE)
    return Lattice(few.values.tolist(), few.weights.tolist())

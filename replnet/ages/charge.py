"""What a copy of age x is expected to cost, whatever made it that old.

    source penalty    v(x) = E[w(x - A_U); A_U < x] = integral over y in (0, x) of g_U(y) w(x - y) dy      (1)
    update penalty    mu w2(x)                                                                            (2)

g_U = mu (1 - F_U) being the density of the update age. The same with w2 in the
place of w is the integral of v. Where U takes many values, as a record does, (1)
is a sum, by parts:

    v(x) = mu (w2(x) - E[w2((x - U)+)])                                                                   (3)
"""

from __future__ import annotations

import numpy as np

from replnet.ages.curve import GAUSS_NODES, GAUSS_WEIGHTS
from replnet.ages.panels import FEW, GROUPS, Atoms, resolving_edges
from replnet.ages.weights import Weight
from replnet.laws.discrete import Discrete
from replnet.laws.families import Constant
from replnet.laws.law import Array, Law

BLOCK = 20_000  # panels at once
MOST_TERMS = 1 << 20  # of (3); where there are more, values are taken in groups
COARSE = 1e-5  # what groups may cost, as a share: 5e-6 was the most seen in records of 40,000 intervals


def values_of(law: Law) -> Atoms | None:
    """The values that a law takes and their chances, if it takes finitely many."""
    if isinstance(law, Constant):
        return Atoms(np.array([law.period]), np.array([1.0]))
    return Atoms(law.values, law.weights / law.total) if isinstance(law, Discrete) else None


def too_many(updates: Law, points: int) -> bool:
    """Whether the charge at so many points takes groups of values."""
    atoms = values_of(updates)
    return atoms is not None and len(atoms.values) > FEW and points * len(atoms.values) > MOST_TERMS


def charge(updates: Law, weight: Weight, x: Array, order: int = 1) -> Array:
    """v of (1) at every point of an array, or with order 2 its integral."""
    x = np.asarray(x, dtype=float)
    atoms = values_of(updates)
    return (
        _summed(updates, atoms, weight, x, order)
        if atoms and len(atoms.values) > FEW
        else _integrated(updates, weight, x, order)
    )


def _summed(updates: Law, atoms: Atoms, weight: Weight, x: Array, order: int) -> Array:
    """(3)."""
    if too_many(updates, x.size):
        atoms = atoms.grouped(GROUPS)
    whole = weight.order(order + 1)
    return updates.rate * atoms.differences(whole, x)


def _integrated(updates: Law, weight: Weight, x: Array, order: int) -> Array:
    """(1) on panels from both sides: those of the update age, and mirrored those of the weight."""
    w, upto = weight.order(order), float(x.max(initial=0.0))
    if not upto > 0:
        return np.zeros_like(x)
    own, mirrored = resolving_edges(updates, upto), weight.edges(upto, min(upto, updates.mean))
    total = np.zeros(x.size)
    step = max(1, BLOCK // (own.size + mirrored.size + 2))
    for start in range(0, x.size, step):
        part = slice(start, start + step)
        at = x[part, None]
        cuts = np.concatenate([np.broadcast_to(own, (at.size, own.size)), at - mirrored, at], axis=1)
        cuts = np.sort(np.clip(cuts, 0.0, at), axis=1)
        row, column = np.nonzero(np.diff(cuts, axis=1) > 1e-14 * cuts[:, 1:])
        low, width = cuts[row, column], cuts[row, column + 1] - cuts[row, column]
        y = low[:, None] + width[:, None] * GAUSS_NODES
        inner = (updates.tail(y) * w(at[row] - y)) @ GAUSS_WEIGHTS
        total[part] = np.bincount(row, inner * width, minlength=at.size)
    return updates.rate * total

"""Which law of intervals keeps copies fresher at the same rate (P2P IV).

X is larger than Y in second order iff the integral of its tail from 0 to x is
at least that of Y for every x (P2P Definition 1). At equal means larger
download intervals in this order are fresher, smaller update intervals are
(Theorem 2), and a constant is larger than everything (Lemma 3, Theorem 3).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from replnet.ages.information_age import direct
from replnet.ages.panels import soft_marks
from replnet.ages.prediction import Basis, Prediction
from replnet.laws.families import Constant
from replnet.laws.law import Law

Order = Literal["first", "second", "neither", "equal"]

# Integrated tails in units of the mean: each is a handful of operations from exact.
ROUNDING = 1e-12
POINTS = 400
THEOREM_3 = Basis("exact", "P2P Thm 3", "renewal updates and downloads, independent and stationary")


def dominates(first: Law, second: Law) -> Order:
    """Which of two laws of the same mean is larger in second order (P2P Definition 1).

    Compared on a grid of points that has all breaks, up to rounding.
    """
    mean = first.mean
    if abs(second.mean - mean) > ROUNDING * mean:
        raise ValueError(f"{first} and {second} have different means, {mean:g} and {second.mean:g}: not comparable")
    marks = np.array([*soft_marks(first), *soft_marks(second), *first.breaks, *second.breaks])
    grid = np.geomspace(marks.min() / 100, marks.max() * 2, POINTS)
    x = np.concatenate([marks, grid])
    # Integrated tails differ by minus what the excesses do.
    ahead = (np.asarray(second.excess(x)) - np.asarray(first.excess(x))) / mean
    above, below = bool((ahead > ROUNDING).any()), bool((ahead < -ROUNDING).any())
    if above:
        return "neither" if below else "first"
    return "second" if below else "equal"


def best_constant(downloads: Law) -> Constant:
    """The freshest download strategy of the same rate, whatever the updates (P2P Thm 3)."""
    return Constant(period=downloads.mean)


def freshness_gain(downloads: Law, updates: Law) -> Prediction:
    """What constant intervals of the same rate would add to freshness, never negative (P2P Thm 3)."""
    best = direct(best_constant(downloads)).freshness(updates).value
    # Where there is nothing to gain the difference is rounding of either sign.
    return Prediction.of(max(best - direct(downloads).freshness(updates).value, 0.0), THEOREM_3)

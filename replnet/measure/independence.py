"""Whether the ages of two processes depend on one another along a path (Staleness IV-A, eq. 30).

Given n instants of one path with ages a_i of the one and b_i of the other, cut the a_i
into BANDS bands of equal size, and look at the b_i below each of BANDS - 1 levels, which
are their quantiles: P(b < x | a in a band) against P(b < x), cell by cell. If the ages are
independent, and those of one process at the n instants as good as drawn anew each time,
any pairing of a's and b's is as likely as any other, so that with s = n / BANDS

    instants in a band and below level k    hypergeometric: s of n, of which k s are marked     (1)

exactly, whatever the laws. The p-values of all cells are judged together by Holm: the
smallest, times the number of cells, is at least as large as a uniform number      (2)

Cells are sensitive to a shift of P(b < x | a in a band) by 4.1 standard deviations of (1),
at most 0.13 with 4,096 instants and false alarms in one path of a hundred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.laws.law import Floats

BANDS = 16


@final
@dataclass(frozen=True)
class Dependence:
    """By how much P(b < x | a in a band) is off at most, and the chance of what was seen if ages are independent."""

    largest: float
    chance: float


def dependence(a: Floats, b: Floats) -> Dependence:
    """(2), over ages of two processes at the same instants of a path, many intervals apart."""
    size = a.size // BANDS
    assert size > 0, f"{a.size} instants for {BANDS} bands"
    n = size * BANDS
    below = np.zeros((BANDS, BANDS), np.int64)
    np.add.at(below, (_place(a[:n]) // size, _place(b[:n]) // size), 1)
    seen = np.cumsum(below, axis=1)[:, :-1]
    marked = size * np.arange(1, BANDS)
    largest = float(np.abs(seen / size - marked / n).max())
    chances = [_two_sided(n, int(of), size)[column] for of, column in zip(marked, seen.T, strict=True)]
    return Dependence(largest, min(float(np.min(chances)) * seen.size, 1.0))


def _place(values: Floats) -> npt.NDArray[np.int64]:
    """The rank of each, from 0."""
    found = np.empty(values.size, np.int64)
    found[np.argsort(values, kind="stable")] = np.arange(values.size)
    return found


def _two_sided(n: int, marked: int, size: int) -> Floats:
    """By how many of `size` drawn from `n` are marked: twice the smaller tail of (1)."""
    from scipy.special import gammaln

    def choose(whole: int, part: Floats) -> Floats:
        return np.asarray(gammaln(whole + 1) - gammaln(part + 1) - gammaln(whole - part + 1))

    x = np.arange(size + 1.0)
    possible = (x <= marked) & (size - x <= n - marked)
    chance = np.zeros(x.size)
    own = x[possible]
    chance[possible] = np.exp(choose(marked, own) + choose(n - marked, size - own) - choose(n, np.full(1, float(size))))
    lower, upper = np.cumsum(chance), np.cumsum(chance[::-1])[::-1]
    return np.asarray(np.minimum(2 * np.minimum(lower, upper), 1.0))

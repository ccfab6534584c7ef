"""Whether the ages of two processes depend on one another along a path (Staleness IV-A, eq. 30).

Given n instants of one path with ages a_i of one process and b_i of the other, cut the a_i
into BANDS bands of equal size, and count the b_i below each of BANDS - 1 levels, which
are their quantiles: P(b < x | a in a band) against P(b < x), cell by cell. If the ages are
independent, and those of one process at the n instants are as good as independent draws,
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

from replnet.laws import Floats

BANDS = 16


@final
@dataclass(frozen=True)
class Dependence:
    """The result of a test whether the ages a and b of two processes depend on one another.

    The instants are cut into BANDS bands of equally many by the age a. `largest` is the largest absolute difference,
    from 0 to 1, of P(b < x | a in a band) from P(b < x), over all bands and over BANDS - 1 quantiles x of b. `chance`
    is the p-value of the test: a bound, from 0 to 1, of the chance that independent ages show a difference as unlikely
    in any of these cells.
    """

    largest: float
    chance: float


def dependence(a: Floats, b: Floats) -> Dependence:
    """Test whether the ages of two processes, `a` and `b`, depend on one another along a path; return the result.

    Both arrays have the ages at the same instants of the path, which are many intervals apart: at least BANDS of them,
    or AssertionError is raised. The p-value holds whatever the laws are; instants past the last multiple of BANDS are
    left out.
    """
    size = a.size // BANDS
    assert size > 0, f"{a.size} instants for {BANDS} bands"
    n = size * BANDS
    below = np.zeros((BANDS, BANDS), np.int64)
    np.add.at(below, (_ranks(a[:n]) // size, _ranks(b[:n]) // size), 1)
    seen = np.cumsum(below, axis=1)[:, :-1]
    marked = size * np.arange(1, BANDS)
    largest = float(np.abs(seen / size - marked / n).max())
    chances = [_two_sided_p_values(n, int(m), size)[column] for m, column in zip(marked, seen.T, strict=True)]
    return Dependence(largest, min(float(np.min(chances)) * seen.size, 1.0))


def _ranks(values: Floats) -> npt.NDArray[np.int64]:
    """Return the rank of each value among them, from 0 for the least; of equal ones the earlier ranks lower."""
    ranks = np.empty(values.size, np.int64)
    ranks[np.argsort(values, kind="stable")] = np.arange(values.size)
    return ranks


def _two_sided_p_values(n: int, marked: int, size: int) -> Floats:
    """Return an array of p-values: for x = 0 to `size`, that of x marked ones among `size` drawn from `n`.

    Of these `n`, `marked` are marked, and draws are without replacement (the hypergeometric law). A p-value is twice
    the smaller tail, 1 at most.
    """
    from scipy.special import gammaln

    def choose(whole: int, part: Floats) -> Floats:
        """Return the logarithms of the binomial coefficients of `whole` over every `part`."""
        return np.asarray(gammaln(whole + 1) - gammaln(part + 1) - gammaln(whole - part + 1))

    x = np.arange(size + 1.0)
    possible = (x <= marked) & (size - x <= n - marked)
    chance = np.zeros(x.size)
    y = x[possible]
    chance[possible] = np.exp(choose(marked, y) + choose(n - marked, size - y) - choose(n, np.full(1, float(size))))
    lower, upper = np.cumsum(chance), np.cumsum(chance[::-1])[::-1]
    return np.asarray(np.minimum(2 * np.minimum(lower, upper), 1.0))

"""Intervals whose limiting law says nothing of their ages (Staleness III).

A process is age-measurable if the shares of its intervals converge to a law F (eq. 5) and their
mean to the mean of F (eq. 6). Then, and only then, does the age at a random time have the law of eq. 9 (Theorem
1), and the mean of w of it that of eq. 27 if that of w2(X) converges as well (eq. 26, Theorem 2). The
examples of the paper have intervals

    X_i = factor i^growth  with chance  i^-rarity,  else 1                     eq. 23, 28 (1)

so that the law F is a constant, 1, whatever these are. Eq. 23 has rarity = growth = 1/2 and
factor = 1. Its mean tends to 2: half of all time is spent in long intervals, of which F says nothing. Eq. 28
has rarity = 1 and factor = 7, and a mean that tends to 1; but

    mean of X_i^2 / 2 over i <= n    tends to 1/2 + 49/2 D,    D = sum of u_k over a Poisson
                                     process on (0, 1) with intensity du / u   (2)

in law and to no number: D has Dickman's law, of mean 1 and variance 1/2. So the sum of eq. 26 for
w = x is 25 on average, with a standard deviation of 17.3, and does not stay between 25 and 30 as the paper
says. Such processes are not stationary, and no law here makes them: the formula has their means over paths.
"""

from __future__ import annotations

import math

import numpy as np

from replnet.ages import Basis
from replnet.lab.named_formulas import NotNegative, Positive, Values, formula
from replnet.network import Count
from replnet.text import FieldError

LONGEST = 160.0  # logarithm of the longest interval whose fourth power is a float
GROWING = Basis("exact", "Staleness eq. 5, 6, 26", "intervals independent of one another")


def _require_long_intervals(intervals: int, growth: float, factor: float = 1.0, **_: object) -> None:
    """Raise FieldError if the long intervals of a formula would be shorter than 1, or too long for floats.

    The i-th is factor i^growth long if it is long, and `intervals` is the last i.
    """
    if factor < 1:
        raise FieldError("factor", f"{factor:g} makes rare intervals shorter", "1 or more")
    if math.log(factor) + growth * math.log(intervals) > LONGEST:
        raise FieldError("growth", f"{growth:g} makes intervals longer than numbers go", "a smaller number")


@formula(
    "growing-intervals",
    GROWING,
    groups=("path", "limiting law"),
    metrics=("interval", "beyond_one", "half_square", "half_square_deviation"),
    check=_require_long_intervals,
)
def growing_intervals(intervals: Count, rarity: Positive, growth: NotNegative, factor: Positive = 1.0) -> Values:
    """Means over the first intervals of a path, and those of the law to which their shares converge (eq. 5, 6).

    Intervals of (1): the mean over paths of their mean (eq. 6), the share of that which is time beyond the first 1 of
    an interval, and the mean over paths of the mean of X^2 / 2 (eq. 26 with w = x), with its standard deviation.

    intervals: n, of how many
    rarity: interval i is long with chance i^-rarity
    growth: and is then factor i^growth long, else 1
    factor: how long the first is, 1 or more
    """
    i = np.arange(1.0, intervals + 1)
    chance, long = i**-rarity, factor * i**growth
    excess, squares = long - 1, long**2 - 1
    total = intervals + float(chance @ excess)
    yield "path", "interval", total / intervals
    yield "path", "beyond_one", float(chance @ excess) / total
    yield "path", "half_square", (1 + float(chance @ squares) / intervals) / 2
    variance = float((chance * (1 - chance)) @ squares**2) / (2 * intervals) ** 2
    yield "path", "half_square_deviation", math.sqrt(variance)
    limits = {"interval": 1.0, "beyond_one": 0.0, "half_square": 0.5, "half_square_deviation": 0.0}
    yield from (("limiting law", name, value) for name, value in limits.items())

"""Means of independent replications, with an interval where one can be trusted.

Replication r yields an amount y_r out of a whole w_r (fresh time out of copy
time, fresh answers out of answers). The estimate is the ratio of the sums,

    v = sum y_r / sum w_r,   se^2 = sum (y_r - v w_r)^2 / (R - 1) / (R mean(w)^2),   (1)

and T = (v - truth) / se follows Student's law with R - 1 degrees of freedom, if the
residuals are symmetric. Where they have a skewness g, as what is rarely large has, T is
skewed the other way, and misses would all lie on one side. With a = g / sqrt(R) (Hall 1992),

    s(T) = ((1 + a T / 3)^3 - 1) / a + a / 6                                      (2)

does follow it; its inverse gives an interval that reaches further to the side of the tail.
Replications start stationary, so their length brings no bias. What breaks (1)
is a law without a second moment: the rare replication that a huge interval
covers is what the others never show, and se comes out too small.

Where two engines walk the same paths, (1) is taken of the differences of

    v + (y_r - v w_r) / mean(w),                                                  (3)

whose mean is v and whose scatter is that of (1): an interval for v - v', and a
narrow one however much the paths themselves scatter. Where only their deviations
d_r = (y_r - v w_r) / mean(w) are kept, and replications are n and n',

    se^2(v - v') = se^2 + se'^2 - 2 rho se se' min(n, n') / sqrt(n n'),   rho of the d_r and d'_r,   (4)

which is the same where n = n' and none is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from replnet.laws.law import Floats

NOTHING_SEEN = "nothing to measure: no answer and no copy when it was looked at"
KEPT = 64  # deviations; what two runs have in common shows in as many
FEWEST = 30  # replications under an interval; fewer leave Student's law too sensitive to skewness


@dataclass(frozen=True)
class Estimate:
    """A measured value; `error` is its standard error, NaN where `doubt` says why there is none.

    What was chosen because of measurements rather than measured itself has no replications either.
    `skew` is the skewness of what replications add to it, and `deviations` what the first ones do.
    """

    value: float
    error: float
    replications: int
    confidence: float = 0.95
    doubt: str = ""
    skew: float = 0.0
    deviations: Sequence[float] = field(default=(), repr=False, compare=False)

    @property
    def half_width(self) -> float:
        return (self.high - self.low) / 2

    @property
    def low(self) -> float:
        return self.value - self.error * self._deviation((1 + self.confidence) / 2)

    @property
    def high(self) -> float:
        return self.value - self.error * self._deviation((1 - self.confidence) / 2)

    def chance(self, off: float) -> float:
        """Of a value that is off by so much, to either side."""
        from scipy.special import stdtr

        a, t = self._tilt, off / self.error
        if a:
            t = ((1 + a * t / 3) ** 3 - 1) / a + a / 6
        return float(2 * stdtr(self.replications - 1, -abs(t)))

    def _deviation(self, share: float) -> float:
        """The quantile of T, by (2)."""
        from scipy.special import cbrt, stdtrit

        a, t = self._tilt, float(stdtrit(self.replications - 1, share))
        return float(3 / a * (cbrt(1 + a * (t - a / 6)) - 1)) if a else t

    @property
    def _tilt(self) -> float:
        """a of (2); so small a one changes nothing but the rounding."""
        a = self.skew / math.sqrt(self.replications) if self.skew else 0.0
        return a if abs(a) > 1e-6 else 0.0


def ratio(amounts: Floats, wholes: Floats, confidence: float = 0.95, doubt: str = "") -> Estimate:
    """(1), over replications."""
    n, whole = amounts.size, float(wholes.sum())
    if whole == 0:
        return Estimate(
            math.nan,
            math.nan,
            n,
            confidence,
            doubt or NOTHING_SEEN,
        )
    value = math.fsum(amounts) / whole
    if n < FEWEST:
        return Estimate(value, math.nan, n, confidence, doubt or f"fewer than {FEWEST} replications")
    residual = amounts - value * wholes
    spread = math.sqrt(float(residual @ residual) / (n - 1))
    skew = float((residual**3).mean()) / spread**3 * n**2 / ((n - 1) * (n - 2)) if spread > 0 else 0.0
    error = spread / math.sqrt(n) / (whole / n)
    deviations = () if doubt else tuple((residual[:KEPT] / (whole / n)).tolist())
    return Estimate(value, math.nan if doubt else error, n, confidence, doubt, skew, deviations)


def difference(ours: tuple[Floats, Floats], theirs: tuple[Floats, Floats], doubt: str = "") -> Estimate:
    """By how much the ratio of ours, amounts and wholes, is above theirs over the same replications."""
    gaps = _linear(*ours) - _linear(*theirs)
    return ratio(gaps, np.ones(gaps.size), doubt=doubt)


def apart(ours: Estimate, theirs: Estimate, paired: bool) -> Estimate:
    """By how much ours is above theirs; by (4) where they are of `paired` replications, which share random numbers."""
    common = min(ours.replications, theirs.replications)
    squared = ours.error**2 + theirs.error**2
    if paired and ours.deviations and theirs.deviations:
        weight = common / math.sqrt(ours.replications * theirs.replications)
        squared -= 2 * weight * _correlation(ours.deviations, theirs.deviations) * ours.error * theirs.error
    error = math.sqrt(max(squared, 0.0)) if not math.isnan(squared) else math.nan
    return Estimate(ours.value - theirs.value, error, common, doubt=ours.doubt or theirs.doubt)


def _correlation(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Of as many as both have, whose mean is nothing."""
    n = min(len(ours), len(theirs))
    a, b = np.array(ours[:n]), np.array(theirs[:n])
    norm = math.sqrt(float(a @ a) * float(b @ b))
    return min(max(float(a @ b) / norm, -1.0), 1.0) if norm else 0.0


def _linear(amounts: Floats, wholes: Floats) -> Floats:
    """(3)"""
    with np.errstate(invalid="ignore", divide="ignore"):
        value = amounts.sum() / wholes.sum()
        return np.asarray(value + (amounts - value * wholes) / wholes.mean())

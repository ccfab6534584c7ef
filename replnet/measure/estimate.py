"""Means of independent replications, with an interval where one can be trusted.

Replication r yields an amount y_r out of a whole w_r (fresh time out of copy
time, fresh answers out of answers). The estimate is the ratio of the sums,

    v = sum y_r / sum w_r,   se^2 = sum (y_r - v w_r)^2 / (R - 1) / (R mean(w)^2),   (1)

and T = (v - truth) / se follows Student's law with R - 1 degrees of freedom, if the
residuals are symmetric. If they have a skewness g, as sums of rare large values do, T is
skewed the other way, and misses would all lie on one side. With a = g / sqrt(R) (Hall 1992),

    s(T) = ((1 + a T / 3)^3 - 1) / a + a / 6                                      (2)

does follow it; its inverse gives an interval that reaches further to the side of the tail. To the other side it
reaches less far, which is right if the values themselves are bounded there. But a g of more than two standard errors
(sqrt(6 / R) for symmetric values) may also come from a heavy tail (a Pareto law with alpha = 3 has no third moment),
of which the sample happens to show more on one side than on the other; so in that case the interval reaches at least
as far as Student's to either side. Of intervals for sums of Pareto(3) values, 95.0 to 95.2 % then cover the mean
instead of 93.8 to 94.3 %, and for Student's law with 5 degrees of freedom 94.9 instead of 93.7 %.
Replications start stationary, so their length brings no bias. What breaks (1)
is a law without a second moment: the other replications never show what the rare
one with a huge interval does, and se comes out too small.

Where two engines run the same paths, (1) is applied to the differences of

    v + (y_r - v w_r) / mean(w),                                                  (3)

whose mean is v and whose scatter is that of (1): an interval for v - v', and a
narrow one however much the paths themselves scatter. Where only the deviations
d_r = (y_r - v w_r) / mean(w) are stored, and there are n and n' replications,

    se^2(v - v') = se^2 + se'^2 - 2 rho se se' min(n, n') / sqrt(n n'),   rho of the d_r and d'_r,   (4)

which is the same if n = n' and all deviations are stored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from replnet.laws import Floats
from replnet.text import equal_fields

NOTHING_TO_MEASURE = "nothing to measure: no answer and no copy when it was looked at"
SUMMED_BY_ONE_THREAD = 8192  # values; BLAS shares out more than 10,000 among threads
DEVIATIONS_STORED = 64  # so many are enough to show how two runs are correlated
LEAST_SKEWNESS = 2.0  # standard errors, from which on a skewness is not taken for chance
FEWEST_REPLICATIONS = 30  # for an interval; with fewer, Student's law is too sensitive to skewness


@dataclass(frozen=True)
class Estimate:
    """A measured value with its standard error `error`, which is NaN if there is no interval; `doubt` then says why.

    Its interval covers the true value with a chance of `confidence`. `replications` is their number, 0 if the value was
    chosen because of measurements and not measured itself. `skew` is the skewness of the deviations of the
    replications. `deviations` has by how much each of the first DEVIATIONS_STORED replications is off the value, in its
    unit, so that they average to about 0; it is empty if there is no interval.
    """

    value: float
    error: float
    replications: int
    confidence: float = 0.95
    doubt: str = ""
    skew: float = 0.0
    deviations: Sequence[float] = field(default=(), repr=False, compare=False)

    def __eq__(self, other: object) -> bool:
        return equal_fields(self, other)

    @property
    def half_width(self) -> float:
        """Half of the width of the interval, in the unit of the value; NaN if it has none."""
        return (self.high - self.low) / 2

    @property
    def low(self) -> float:
        """The lower end of the interval, in the unit of the value; NaN if it has none."""
        return self.value - self.error * self._deviation((1 + self.confidence) / 2)

    @property
    def high(self) -> float:
        """The upper end of the interval, in the unit of the value; NaN if it has none."""
        return self.value - self.error * self._deviation((1 - self.confidence) / 2)

    def chance(self, off: float) -> float:
        """Return the chance, of 0 to 1, that a measured value is at least so far off the true one, to either side.

        `off` is measured minus true, in the unit of the value; its sign matters if the deviations are skewed. The error
        must be above 0.
        """
        from scipy.special import stdtr

        a, t = self._tilt, off / self.error
        if a:
            tilted = ((1 + a * t / 3) ** 3 - 1) / a + a / 6
            t = min(abs(tilted), abs(t)) if self._has_skewness else tilted
        return float(2 * stdtr(self.replications - 1, -abs(t)))

    def _deviation(self, share: float) -> float:
        """Return the quantile, at a probability `share` of 0 to 1, of (measured - true value) / standard error.

        That ratio follows Student's law, corrected for the skewness of the deviations. Below one half it is negative.
        """
        from scipy.special import cbrt, stdtrit

        a, t = self._tilt, float(stdtrit(self.replications - 1, share))
        if not a:
            return t
        tilted = float(3 / a * (cbrt(1 + a * (t - a / 6)) - 1))
        return max(tilted, t, key=abs) if self._has_skewness else tilted

    @property
    def _has_skewness(self) -> bool:
        """Whether the skewness is beyond chance: above LEAST_SKEWNESS standard errors of that of symmetric values."""
        return abs(self.skew) > LEAST_SKEWNESS * math.sqrt(6 / self.replications)

    @property
    def _tilt(self) -> float:
        """The skewness divided by the root of the number of replications; 0 if that is at most a millionth."""
        a = self.skew / math.sqrt(self.replications) if self.skew else 0.0
        return a if abs(a) > 1e-6 else 0.0


def ratio(amounts: Floats, wholes: Floats, confidence: float = 0.95, doubt: str = "") -> Estimate:
    """Return the estimate of the sum of `amounts` over the sum of `wholes`, arrays with an element per replication.

    It has an interval of this `confidence`, unless a `doubt` says in words why not, there are fewer than
    FEWEST_REPLICATIONS, or the wholes are all 0. Without an interval the error is NaN, and the estimate's `doubt` is
    the given one or names the reason; if the wholes are all 0, the value is NaN too.
    """
    n, whole = amounts.size, float(wholes.sum())
    if whole == 0:
        return Estimate(
            math.nan,
            math.nan,
            n,
            confidence,
            doubt or NOTHING_TO_MEASURE,
        )
    value = math.fsum(amounts) / whole
    if n < FEWEST_REPLICATIONS:
        return Estimate(value, math.nan, n, confidence, doubt or f"fewer than {FEWEST_REPLICATIONS} replications")
    residual = amounts - value * wholes
    spread = math.sqrt(_sum_of_squares(residual) / (n - 1))
    skew = float((residual**3).mean()) / spread**3 * n**2 / ((n - 1) * (n - 2)) if spread > 0 else 0.0
    error = spread / math.sqrt(n) / (whole / n)
    deviations = () if doubt else tuple((residual[:DEVIATIONS_STORED] / (whole / n)).tolist())
    return Estimate(value, math.nan if doubt else error, n, confidence, doubt, skew, deviations)


def _sum_of_squares(values: Floats) -> float:
    """Return the sum of the squares, the same to the last bit whatever the number of threads that BLAS may use."""
    blocks = (values[begin : begin + SUMMED_BY_ONE_THREAD] for begin in range(0, values.size, SUMMED_BY_ONE_THREAD))
    return math.fsum(float(block @ block) for block in blocks)


def paired_difference(ours: tuple[Floats, Floats], theirs: tuple[Floats, Floats], doubt: str = "") -> Estimate:
    """Return the estimate of our ratio minus theirs, over the same replications with the same random numbers.

    `ours` and `theirs` are (amounts, wholes), arrays with an element per replication; a ratio is that of their sums.
    The error is that of the differences within replications. There is no interval if a `doubt` says why, or if there
    are fewer than FEWEST_REPLICATIONS.
    """
    gaps = _linear(*ours) - _linear(*theirs)
    return ratio(gaps, np.ones(gaps.size), doubt=doubt)


def estimate_difference(ours: Estimate, theirs: Estimate, paired: bool) -> Estimate:
    """Return the estimate of our value minus theirs, without an interval if one of the two has none.

    With `paired` the replications of both share their random numbers, so that the correlation of their deviations, as
    far as these are stored, makes the error smaller.
    """
    common = min(ours.replications, theirs.replications)
    squared = ours.error**2 + theirs.error**2
    if paired and ours.deviations and theirs.deviations:
        weight = common / math.sqrt(ours.replications * theirs.replications)
        squared -= 2 * weight * _correlation(ours.deviations, theirs.deviations) * ours.error * theirs.error
    error = math.sqrt(max(squared, 0.0)) if not math.isnan(squared) else math.nan
    return Estimate(ours.value - theirs.value, error, common, doubt=ours.doubt or theirs.doubt)


def _correlation(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the correlation of two series of deviations, whose means are 0, as far as the shorter one goes.

    It is 0 if one of them has no scatter.
    """
    n = min(len(ours), len(theirs))
    a, b = np.array(ours[:n]), np.array(theirs[:n])
    norm = math.sqrt(float(a @ a) * float(b @ b))
    return min(max(float(a @ b) / norm, -1.0), 1.0) if norm else 0.0


def _linear(amounts: Floats, wholes: Floats) -> Floats:
    """Return a number per replication: their mean is the ratio of the sums, and their scatter gives its error.

    The ratio is the sum of `amounts` over the sum of `wholes`, both with an element per replication. If the wholes are
    all 0, the numbers are NaN.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        value = amounts.sum() / wholes.sum()
        return np.asarray(value + (amounts - value * wholes) / wholes.mean())

"""Laws fitted to recorded intervals by maximum likelihood, how good the fits are, and how heavy the tail is.

With n intervals x of mean m, in units of m where that matters, L the logarithm of the
likelihood and k the number of parameters,

    exponential        rate 1 / m
    gamma              log shape - psi(shape) = log m - mean log x                                       (1)
    weibull            sum x^k log x / sum x^k - 1 / k = mean log x                                      (2)
    lognormal          mean and deviation of log x
    pareto             alpha = n / sum log(1 + x / s), the s of the largest L                            (3)
    hyperexponential   expectation and maximisation in turns, with 2 and with 3 phases                   (4)

They are compared by AIC = 2 k - 2 L. (3) has no maximum where the tail is no heavier
than exponential: L then grows with s for ever, and the law is left out. Zeros are: an
interval between two events of one instant has no likelihood under a continuous law.

The Kolmogorov distance is the largest between the fitted and the empirical F. The
parameters came from the same data, so its law is found by fitting again to samples
of the fitted law, of the same size; this takes the intervals as independent        (5)

Where P(X > x) falls as a power x^-alpha in the end, what intervals have beyond a high
threshold follows

    P(X - x0 > y | X > x0) = (1 + y / s)^-alpha,                                                      (6)

the Pareto law of this package, whatever the law below x0 (Pickands 1975); alpha grows
without bound where the tail is exponential or lighter. x0 is the upper decile, and
alpha the likeliest. Its interval is taken over samples put together from blocks of
consecutive intervals, so that correlation over less than a block is felt      (7)

A lognormal tail looks like a power for a long way. It is fitted beyond x0 as well, and
compared by Vuong's z, normal where both are as good, above zero for the power (8)

The mean is infinite for alpha <= 1, the variance for alpha <= 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from replnet.laws import Exponential, Floats, Gamma, Hyperexponential, Law, Lognormal, Pareto, Weibull
from replnet.text import FieldError

FEWEST_INTERVALS = 10  # to fit a law to
SAMPLES = 99  # of (5)
SURPRISING_CHANCE = 1e-6  # a chance below which a distance needs no sampling
VISIBLE_STEP = 1e-3  # of the mean: a step of the record below which is nothing to a distribution
DENSITY_ROUNDS = 5  # rounds that make a drawn record as dense as the one it is compared with
CONSTANT_SPREAD = 1e-6  # relative: intervals that differ by less are constant
FLAT_GAP = 1e-10  # of (1), below which logarithms have no digits left
LARGEST_SCALE = 1e4  # means: a scale of (3) beyond which the law is exponential
LIKELIHOOD_TOLERANCE, MOST_ROUNDS = 1e-10, 3000  # of (4): growth of L per interval, and steps
LEAST_RATE_RATIO = 1.05  # ratio of rates below which two phases are one
LEAST_GAIN = 1e-3  # of L over that of an exponential, below which phases are not worth having

TAIL_SHARE = 0.1  # of the intervals, beyond the threshold
FEWEST_BEYOND = 20  # intervals beyond it
RESAMPLES = 199
CONFIDENCE = 0.95
CLEAR_DEVIATIONS = 2.0  # standard deviations of (8)
SCALE_GRID = np.geomspace(1e-4, 1e4, 80)  # of mean excess / s; below it the tail is exponential
LEAST_SCALE = 0.01  # of the threshold: an s below it is the jitter of intervals that pile up there, not a tail
LIGHT_ALPHA = 1e3  # an alpha that is as good as infinite


class NoFitError(ValueError):
    """An error that says why no law of a family is the likeliest: the likelihood has no maximum in it."""


@final
@dataclass(frozen=True)
class Fit:
    """The `law` of one `family` that is likeliest for some intervals, and how well it fits them.

    It has the logarithm of the likelihood and the AIC (smaller is better), the Kolmogorov `distance` between the
    distribution functions of law and intervals, 0 to 1, and the p-value of that distance; None if it was not computed.
    """

    family: str
    law: Law
    log_likelihood: float
    aic: float
    distance: float  # Kolmogorov's, between fitted and empirical F
    p_value: float | None = None  # (5), where it was asked for


@final
@dataclass(frozen=True, eq=False)
class Sample:
    """Intervals as distinct `values` in ascending order with their `counts`, and the `step` in which they are written.

    Intervals are multiples of `step`, which is 0 if they may be any numbers.
    """

    values: Floats
    counts: Floats
    step: float = 0.0  # of the record, of which intervals are multiples

    @classmethod
    def of(cls, intervals: Floats, step: float = 0.0) -> Sample:
        """Return the sample of intervals; raise FieldError unless they are 10 or more, above 0, finite, and differ.

        They are rounded to multiples of `step`, the step in which the record is written, unless that is tiny or 0.
        """
        intervals = np.asarray(intervals, dtype=float)
        if step and step > VISIBLE_STEP * intervals.mean():
            intervals = np.rint(intervals / step) * step  # as differences of decimals, they differ by rounding
        values, counts = np.unique(intervals, return_counts=True)
        if counts.sum() < FEWEST_INTERVALS:
            wrong = f"{int(counts.sum())} are too few to fit a law to"
            raise FieldError("intervals", wrong, f"{FEWEST_INTERVALS} or more")
        if not (np.isfinite(values).all() and values[0] > 0):
            right = "leave out those between events of one instant"
            raise FieldError("intervals", "not all are finite and above 0", right)
        if values[-1] - values[0] <= CONSTANT_SPREAD * values[-1]:
            right = f"fit nothing; that is constant(period={values[0]:g})"
            raise FieldError("intervals", f"all are {values[0]:g}", right)
        return cls(values, counts.astype(float), step)

    @property
    def coarse(self) -> bool:
        """Whether the step in which the record is written shows in the distribution, above a thousandth of the mean."""
        return self.step > VISIBLE_STEP * self.mean

    @property
    def n(self) -> float:
        """The number of intervals."""
        return float(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean interval."""
        return self.average(self.values)

    def average(self, function_values: Floats) -> float:
        """Return the mean of a function over all intervals, given its value at each distinct interval, ascending."""
        return float(self.counts @ function_values) / self.n

    def like(self, law: Law, rng: np.random.Generator) -> Sample:
        """Return a sample of about as many intervals, drawn from `law` by `rng`, and in the same step as this record.

        Raise FieldError if no law can be fitted to what was drawn.
        """
        drawn = np.asarray(law.draw(rng.standard_exponential(int(self.n))))
        if not self.coarse:
            return Sample.of(drawn)
        # An event that is written as the instant before it is none, so more and shorter intervals are drawn.
        for _ in range(DENSITY_ROUNDS):
            gaps = np.diff(np.unique(np.rint(np.cumsum(drawn) / self.step))) * self.step
            more = max(int(self.n) - gaps.size, 0)
            scale = self.mean / gaps.mean() * drawn.mean()
            drawn = np.append(drawn, np.asarray(law.draw(rng.standard_exponential(more))) * drawn.mean() / law.mean)
            drawn *= scale / drawn.mean()
        return Sample.of(gaps, self.step)


def fit_laws(intervals: Floats) -> tuple[list[Fit], dict[str, str]]:
    """Fit every family to intervals above zero; return the fits, lowest AIC first, and why other families have none.

    The reasons are texts by family. Raise FieldError if the intervals are fewer than 10, not all above 0 and finite,
    or all the same.
    """
    sample, fits, left_out = Sample.of(intervals), [], {}
    for family in FAMILIES:
        try:
            fits.append(fit_family(family, sample))
        except NoFitError as error:
            left_out[family] = str(error)
    return sorted(fits, key=lambda fit: fit.aic), left_out


def fit_family(family: str, sample: Sample) -> Fit:
    """Return the fit of the likeliest law of `family`, a key of FAMILIES, without a p-value.

    Raise NoFitError if there is none.
    """
    estimate, parameters = FAMILIES[family]
    law = estimate(sample)
    likelihood = float(sample.counts @ log_density(law, sample.values))
    return Fit(family, law, likelihood, 2 * parameters - 2 * likelihood, distance(law, sample))


def distance(law: Law, sample: Sample) -> float:
    """Return the Kolmogorov distance between a law and a sample, the largest between their distribution functions.

    The sample's function jumps, so both sides of every jump count, unless the record itself is in steps.
    """
    upto = np.cumsum(sample.counts) / sample.n
    if sample.coarse:
        return float(np.abs(law.cdf(sample.values + sample.step / 2) - upto).max())
    fitted = np.asarray(law.cdf(sample.values))
    return float(max((upto - fitted).max(), (fitted - upto + sample.counts / sample.n).max()))


def p_value(fit: Fit, sample: Sample, rng: np.random.Generator) -> float:
    """Return the p-value of a fit, from 0.01 to 1: the share of samples of the fitted law that fit no better, (5).

    `sample` is what was fitted; up to 99 others of its size are drawn by `rng`, and the same family is fitted to each.
    A sample counts if its Kolmogorov distance is as large. Drawing ends once 10 count, as the share is then clearly not
    small (Besag and Clifford 1991), and 0.01 is returned at once where even half the distance would be a surprise
    (Dvoretzky, Kiefer and Wolfowitz).
    """
    # Of the distance, what the steps of the record make is no surprise.
    low, high = np.maximum(sample.values - sample.step, 0.0), sample.values + sample.step
    steps = float(np.max(fit.law.cdf(high) - fit.law.cdf(low))) if sample.coarse else 0.0
    if 2 * math.exp(-sample.n * max(fit.distance - steps, 0.0) ** 2 / 2) < SURPRISING_CHANCE:
        return 1 / (SAMPLES + 1)
    farther_samples = 0
    for drawn in range(1, SAMPLES + 1):
        resample = sample.like(fit.law, rng)
        try:
            other = fit_family(fit.family, resample)
        except NoFitError:
            # At the edge of its family; the nearest law there is the exponential.
            other = fit_family("exponential", resample)
        farther_samples += other.distance >= fit.distance
        if farther_samples == 10:
            return farther_samples / drawn
    return (farther_samples + 1) / (SAMPLES + 1)


def log_density(law: Law, x: Floats) -> Floats:
    """Return the log of a law's density at every x of an array, all above 0; the law is of a family in FAMILIES."""
    from scipy.special import gammaln, logsumexp

    if isinstance(law, Exponential):
        return -math.log(law.scale) - x / law.scale
    if isinstance(law, Pareto):
        return math.log(law.alpha / law.scale) - (law.alpha + 1) * np.log1p(x / law.scale)
    if isinstance(law, Weibull):
        z = np.log(x / law.scale)
        return math.log(law.shape / law.scale) + (law.shape - 1) * z - np.exp(law.shape * z)
    if isinstance(law, Gamma):
        z = x / law.scale
        return np.asarray((law.shape - 1) * np.log(z) - z - gammaln(law.shape) - math.log(law.scale))
    if isinstance(law, Lognormal):
        z = np.log(x / law.scale) / law.sigma
        return -np.log(x * law.sigma * math.sqrt(2 * math.pi)) - z**2 / 2
    assert isinstance(law, Hyperexponential), law
    weights, rates = np.array(law.weights), np.array(law.rates)
    return np.asarray(logsumexp(-x[:, None] * rates, axis=1, b=weights / weights.sum() * rates))


def _exponential(sample: Sample) -> Law:
    """Return the likeliest exponential law of a sample, that with its mean."""
    return Exponential(mean=sample.mean)


def _lognormal(sample: Sample) -> Law:
    """Return the likeliest lognormal law of a sample, by mean and deviation of the logarithms of intervals."""
    logs = np.log(sample.values)
    centre = sample.average(logs)
    return Lognormal(math.sqrt(sample.average((logs - centre) ** 2)), scale=math.exp(centre))


def _gamma(sample: Sample) -> Law:
    """Return the likeliest gamma law (1), with the mean of the sample; raise NoFitError if intervals hardly differ."""
    from scipy.optimize import brentq
    from scipy.special import digamma

    gap = math.log(sample.mean) - sample.average(np.log(sample.values))
    if gap < FLAT_GAP:
        raise NoFitError("all but a few intervals are the same")
    # log k - psi(k) falls from infinity, between 1 / 2k and 1 / k.
    shape = brentq(lambda k: math.log(k) - float(digamma(k)) - gap, 0.4 / gap, 1.1 / gap, xtol=1e-14 / gap, rtol=1e-13)
    return Gamma(shape, mean=sample.mean)


def _weibull(sample: Sample) -> Law:
    """Return the likeliest Weibull law (2), with the shape at which the derivative of the likelihood is zero."""
    from scipy.optimize import brentq

    logs = np.log(sample.values / sample.values[-1])
    centre = sample.average(logs)

    def off(k: float) -> float:
        powers = sample.counts * np.exp(k * logs)
        return float(powers @ logs / powers.sum()) - 1 / k - centre

    low, high = 1.0, 1.0
    while off(low) > 0:
        low /= 2
    while off(high) < 0:
        high *= 2
    shape = brentq(off, low, high, rtol=1e-13) if low < high else low
    return Weibull(shape, scale=float(sample.values[-1]) * sample.average(np.exp(shape * logs)) ** (1 / shape))


def _pareto(sample: Sample) -> Law:
    """Return the likeliest Pareto law (3); raise NoFitError if the tail is no heavier than exponential.

    The scale is searched on a grid and then between neighbours of the best, as the likelihood may have two maxima.
    """
    from scipy.optimize import minimize_scalar

    def profile(log_scale: float) -> tuple[float, float]:
        """Return the likeliest exponent at a scale, given as a logarithm, and the log-likelihood there with a minus."""
        scale = math.exp(log_scale)
        inner = sample.average(np.log1p(sample.values / scale))
        alpha = 1 / inner
        return alpha, -sample.n * (math.log(alpha / scale) - (alpha + 1) * inner)

    grid = np.linspace(math.log(float(sample.values[0]) / 10), math.log(sample.mean * LARGEST_SCALE), 200)
    place = int(np.argmin([profile(s)[1] for s in grid]))
    if place == grid.size - 1:
        raise NoFitError("the tail is no heavier than exponential")
    between = (grid[max(place - 1, 0)], grid[place + 1])
    best = minimize_scalar(lambda s: profile(s)[1], bounds=between, method="bounded", options={"xatol": 1e-10})
    return Pareto(profile(best.x)[0], scale=math.exp(best.x))


def _hyperexponential(sample: Sample, phases: int) -> Law:
    """Return the likeliest mixture of exponentials, of which there are `phases`; raise NoFitError if fewer would do.

    It is reached by expectation and maximisation in turns (4), from rates that follow quantiles of the intervals.
    """
    x, share = sample.values / sample.mean, sample.counts / sample.n
    upto = np.cumsum(share)
    starts = np.interp((np.arange(phases) + 0.5) / phases, upto, np.log(x))
    rates, weights = np.exp(-starts), np.full(phases, 1 / phases)
    last_likelihood = -math.inf
    for _ in range(MOST_ROUNDS):
        parts = weights * rates * np.exp(-x[:, None] * rates)
        density = np.maximum(parts.sum(axis=1), 1e-300)
        likelihood = float(share @ np.log(density))
        if likelihood - last_likelihood < LIKELIHOOD_TOLERANCE:
            break
        last_likelihood = likelihood
        shares_of_phases = parts * (share / density)[:, None]
        weights = np.maximum(shares_of_phases.sum(axis=0), 1e-300)
        rates = weights / np.maximum(shares_of_phases.T @ x, 1e-300)
    order = np.argsort(-rates)
    rates, weights = rates[order], weights[order]
    # In units of the mean, an exponential has -1 per interval.
    if (
        weights.min() < 1 / sample.n
        or (rates[:-1] / rates[1:]).min() < LEAST_RATE_RATIO
        or sample.n * (last_likelihood + 1) < LEAST_GAIN
    ):
        raise NoFitError(f"{phases} phases are too many: two are the same, or one holds no interval")
    return Hyperexponential(weights.tolist(), (rates / sample.mean).tolist())


FAMILIES: dict[str, tuple[Callable[[Sample], Law], int]] = {
    "exponential": (_exponential, 1),
    "gamma": (_gamma, 2),
    "weibull": (_weibull, 2),
    "lognormal": (_lognormal, 2),
    "pareto": (_pareto, 2),
    "hyperexponential 2": (partial(_hyperexponential, phases=2), 3),
    "hyperexponential 3": (partial(_hyperexponential, phases=3), 5),
}


# The tail


@final
@dataclass(frozen=True)
class Tail:
    """The tail of intervals: beyond `start`, the share that exceeds x falls as x^-`alpha`, if as a power at all.

    `alpha` is infinite if the tail is no heavier than exponential, and `low` and `high` are its 95 % interval. `points`
    is how many intervals lie beyond `start`, `power_against_lognormal` by how many deviations a power tail is likelier
    than a lognormal one, and `verdict` says in words whether mean and variance are finite.
    """

    alpha: float  # infinite where the tail is no heavier than exponential
    low: float  # of the interval (7) for alpha
    high: float
    start: float
    points: int  # intervals beyond it
    power_against_lognormal: float  # z of (8)
    verdict: str  # what the index says about moments


def tail_index(intervals: Floats, rng: np.random.Generator) -> Tail | None:
    """Return the tail of intervals, which are in the order in which they came, fitted beyond their upper decile.

    The 95 % interval of its index alpha is taken over blocks of intervals drawn anew by `rng`, (7). None if fewer than
    20 intervals lie beyond the decile, or if they pile up at it as those of a clock do.
    """
    n = intervals.size
    if int(n * TAIL_SHARE) < FEWEST_BEYOND:
        return None
    start, beyond = _excesses(intervals)
    if beyond.size < FEWEST_BEYOND:
        return None
    alpha, scale = _likeliest_tail(beyond)
    if scale < LEAST_SCALE * start:
        return None
    block = math.ceil(n ** (1 / 3))
    starts = rng.integers(0, n - block + 1, size=(RESAMPLES, math.ceil(n / block)))
    places = (starts[:, :, None] + np.arange(block)).reshape(RESAMPLES, -1)[:, :n]
    resampled_alphas = [_likeliest_tail(_excesses(intervals[row])[1])[0] for row in places]
    low, high = np.quantile(resampled_alphas, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="nearest")
    power = _against_lognormal_tail(start, beyond, alpha, scale)
    return Tail(alpha, float(low), float(high), start, beyond.size, power, _verdict(low, high, power))


def _verdict(low: float, high: float, power: float) -> str:
    """Return, as text, what the tail says about moments: whether mean and variance are finite.

    `low` and `high` bound the tail index, and `power` is by how many deviations a power tail is likelier than a
    lognormal one.
    """
    if low > 2:
        return "finite variance"
    if power < -CLEAR_DEVIATIONS:
        return "a lognormal tail is likelier than a power: all moments are finite, the variance is large"
    if high <= 1:
        claim = "infinite mean"
    elif high <= 2:
        claim = "infinite variance" + (", and an infinite mean cannot be excluded" if low <= 1 else "")
    else:
        claim = f"an infinite {'mean' if low <= 1 else 'variance'} cannot be excluded"
    return claim if power > CLEAR_DEVIATIONS else f"{claim}, unless the tail is lognormal, which fits as well"


def _excesses(intervals: Floats) -> tuple[float, Floats]:
    """Return the threshold where the tail begins, the upper decile, and by how much each interval above it exceeds it.

    The excesses are in the order of the intervals.
    """
    start = float(np.quantile(intervals, 1 - TAIL_SHARE))
    return start, intervals[intervals > start] - start


def _likeliest_tail(excess: Floats) -> tuple[float, float]:
    """Return alpha and s for which the tail (1 + y / s)^-alpha is likeliest for these excesses y over a threshold, (6).

    An infinite alpha stands for an exponential tail of mean s.
    """
    mean = float(excess.mean())
    inner = np.log1p(SCALE_GRID[:, None] * (excess / mean)).mean(axis=1)
    likelihood = np.log(SCALE_GRID / inner) - inner  # per interval, up to a constant
    place = int(np.argmax(likelihood))
    if place == 0 or 1 / inner[place] > LIGHT_ALPHA:
        return math.inf, mean
    near = np.clip(place, 1, SCALE_GRID.size - 2)
    left, middle, right = likelihood[near - 1 : near + 2]
    bend = left - 2 * middle + right
    # To the top of the parabola through the three best points.
    step = float(np.clip((left - right) / (2 * bend), -1, 1)) if bend < 0 else 0.0
    ratio = float(SCALE_GRID[near] * (SCALE_GRID[1] / SCALE_GRID[0]) ** step)
    return 1 / float(np.log1p(ratio * excess / mean).mean()), mean / ratio


def _against_lognormal_tail(start: float, excess: Floats, alpha: float, scale: float) -> float:
    """Return by how many deviations a power tail is likelier than a lognormal one, Vuong's z of (8).

    The power tail (1 + y / scale)^-alpha, exponential if alpha is infinite, and the likeliest lognormal one are
    compared at the excesses y over `start`.
    """
    power = Exponential(mean=scale) if math.isinf(alpha) else Pareto(alpha, scale=scale)
    gaps = log_density(power, excess) - _lognormal_tail(start, excess)
    deviation = float(gaps.std())
    return float(gaps.sum()) / (deviation * math.sqrt(excess.size)) if deviation > 0 else 0.0


def _lognormal_tail(start: float, excess: Floats) -> Floats:
    """Return the log density, at every excess over `start`, of the likeliest lognormal law of values above `start`."""
    from scipy.optimize import minimize
    from scipy.special import log_ndtr

    z = np.log1p(excess / start)

    def density(parameters: Floats) -> Floats:
        # By how many deviations the centre lies below the start, and the logarithm of one deviation.
        below, sigma = float(parameters[0]), math.exp(float(parameters[1]))
        inside = -((z / sigma + below) ** 2) / 2 - math.log(sigma * math.sqrt(2 * math.pi))
        return np.asarray(inside - log_ndtr(-below) - z - math.log(start))

    middle = math.log(float(z.mean()))
    bounds = [(-10.0, 30.0), (middle - 5, middle + 5)]
    tries = [np.array([0.0, middle]), np.array([10.0, middle + math.log(10)])]
    optima = [
        minimize(
            lambda parameters: -float(density(parameters).mean()), start_of_search, bounds=bounds, method="Nelder-Mead"
        )
        for start_of_search in tries
    ]
    return density(min(optima, key=lambda optimum: optimum.fun).x)

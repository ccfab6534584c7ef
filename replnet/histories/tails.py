"""How heavy the tail of recorded intervals is: the index of a power law, and whether it is one.

Where P(X > x) falls as a power x^-alpha in the end, what intervals have beyond a high
threshold follows

    P(X - x0 > y | X > x0) = (1 + y / s)^-alpha,                                                      (1)

the Pareto law of this package, whatever the law below x0 (Pickands 1975); alpha grows
without bound where the tail is exponential or lighter. x0 is the upper decile, and
alpha the likeliest. Its interval is taken over samples put together from blocks of
consecutive intervals, so that correlation over less than a block is felt      (2)

A lognormal tail looks like a power for a long way. It is fitted beyond x0 as well, and
compared by Vuong's z, normal where both are as good, above zero for the power (3)

The mean is infinite for alpha <= 1, the variance for alpha <= 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.histories.fitting import log_density
from replnet.histories.history import Floats
from replnet.laws import Exponential, Pareto

SHARE = 0.1  # of the intervals, beyond the threshold
FEWEST = 20  # intervals beyond it
RESAMPLES = 199
CONFIDENCE = 0.95
CLEAR = 2.0  # standard deviations of (3)
GRID = np.geomspace(1e-4, 1e4, 80)  # of mean excess / s; below it the tail is exponential
PILED = 0.01  # of the threshold: an s below it is the jitter of intervals that pile up there, not a tail
LIGHT = 1e3  # an alpha that is as good as infinite


@final
@dataclass(frozen=True)
class Tail:
    """Intervals beyond `start` fall as a power `alpha`, if they are a power at all."""

    alpha: float  # infinite where the tail is no heavier than exponential
    low: float  # of the interval (2) for alpha
    high: float
    start: float
    points: int  # intervals beyond it
    power_against_lognormal: float  # z of (3)
    verdict: str  # what the index says about moments


def tail_index(intervals: Floats, rng: np.random.Generator) -> Tail | None:
    """The tail of `intervals` in the order they came in.

    None where fewer than FEWEST lie beyond the threshold, or pile up at it as those of a clock do.
    """
    n = intervals.size
    if int(n * SHARE) < FEWEST:
        return None
    start, beyond = _beyond(intervals)
    if beyond.size < FEWEST:
        return None
    alpha, scale = _likeliest(beyond)
    if scale < PILED * start:
        return None
    block = math.ceil(n ** (1 / 3))
    starts = rng.integers(0, n - block + 1, size=(RESAMPLES, math.ceil(n / block)))
    places = (starts[:, :, None] + np.arange(block)).reshape(RESAMPLES, -1)[:, :n]
    again = [_likeliest(_beyond(intervals[row])[1])[0] for row in places]
    low, high = np.quantile(again, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="nearest")
    power = _against_lognormal(start, beyond, alpha, scale)
    return Tail(alpha, float(low), float(high), start, beyond.size, power, _verdict(low, high, power))


def _verdict(low: float, high: float, power: float) -> str:
    if low > 2:
        return "finite variance"
    if power < -CLEAR:
        return "a lognormal tail is likelier than a power: all moments are finite, the variance is large"
    if high <= 1:
        claim = "infinite mean"
    elif high <= 2:
        claim = "infinite variance" + (", and an infinite mean cannot be excluded" if low <= 1 else "")
    else:
        claim = f"an infinite {'mean' if low <= 1 else 'variance'} cannot be excluded"
    return claim if power > CLEAR else f"{claim}, unless the tail is lognormal, which fits as well"


def _beyond(intervals: Floats) -> tuple[float, Floats]:
    start = float(np.quantile(intervals, 1 - SHARE))
    return start, intervals[intervals > start] - start


def _likeliest(excess: Floats) -> tuple[float, float]:
    """alpha and s of (1); infinite alpha stands for an exponential of mean s."""
    mean = float(excess.mean())
    inner = np.log1p(GRID[:, None] * (excess / mean)).mean(axis=1)
    likelihood = np.log(GRID / inner) - inner  # per interval, up to a constant
    place = int(np.argmax(likelihood))
    if place == 0 or 1 / inner[place] > LIGHT:
        return math.inf, mean
    near = np.clip(place, 1, GRID.size - 2)
    left, middle, right = likelihood[near - 1 : near + 2]
    bend = left - 2 * middle + right
    # To the top of the parabola through the three best points.
    step = float(np.clip((left - right) / (2 * bend), -1, 1)) if bend < 0 else 0.0
    ratio = float(GRID[near] * (GRID[1] / GRID[0]) ** step)
    return 1 / float(np.log1p(ratio * excess / mean).mean()), mean / ratio


def _against_lognormal(start: float, excess: Floats, alpha: float, scale: float) -> float:
    """(3), each tail at its likeliest."""
    power = Exponential(mean=scale) if math.isinf(alpha) else Pareto(alpha, scale=scale)
    gaps = log_density(power, excess) - _lognormal(start, excess)
    deviation = float(gaps.std())
    return float(gaps.sum()) / (deviation * math.sqrt(excess.size)) if deviation > 0 else 0.0


def _lognormal(start: float, excess: Floats) -> Floats:
    """Log density of the likeliest lognormal beyond `start`, at every excess."""
    from scipy.optimize import minimize
    from scipy.special import log_ndtr

    z = np.log1p(excess / start)

    def density(at: Floats) -> Floats:
        # By how many deviations the centre lies below the start, and the logarithm of one deviation.
        below, sigma = float(at[0]), math.exp(float(at[1]))
        inside = -((z / sigma + below) ** 2) / 2 - math.log(sigma * math.sqrt(2 * math.pi))
        return np.asarray(inside - log_ndtr(-below) - z - math.log(start))

    middle = math.log(float(z.mean()))
    bounds = [(-10.0, 30.0), (middle - 5, middle + 5)]
    tries = [np.array([0.0, middle]), np.array([10.0, middle + math.log(10)])]
    found = [minimize(lambda at: -float(density(at).mean()), one, bounds=bounds, method="Nelder-Mead") for one in tries]
    return density(min(found, key=lambda one: one.fun).x)

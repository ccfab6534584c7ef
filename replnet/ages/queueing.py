"""Lines at nodes whose bandwidth is limited (beyond the papers, which count messages and not their waiting).

A node that sends B messages per unit of time is asked for batches of n at rates r. Its
load is rho = sum r n / B. With Poisson arrivals the line is that of M/G/1, of which

    E[wait] = sum r (n / B)^2 / (2 (1 - rho)),    rho < 1                    (1)

(Pollaczek and Khinchine), which is what a query finds, as Poisson arrivals see averages
over time, and messages leave in the order of arrival, those of replicas among them.

Whether a line of K places ever overflows follows from how fast E[exp(theta M)] grows of the
messages M that have come. Of events at intervals X, of which a share p asks for n messages each, it
grows at the rate g that solves

    E[exp(-g X)] = 1 / (1 + p (exp(theta n) - 1)),                           (2)

which is r (exp(theta n) - 1) for Poisson batches. Where sum g <= B theta, a batch of n finds too
little room with a chance below

    exp(-theta (K - n))                                                      (3)

(Lundberg), up to a constant factor if arrivals are not Poisson. Beyond a load of 1 the free places
are a line themselves, which grows at rate B and of which the messages take. Where
sum r (1 - exp(-theta n)) >= B theta, nothing waits with a chance below exp(-theta (K - 1)).  (4)
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from replnet.ages.prediction import Basis
from replnet.ages.roots import least_amount
from replnet.laws import Exponential, Law
from replnet.processes import Ordered

POLLACZEK_KHINCHINE = Basis("exact", "Pollaczek and Khinchine", "Poisson arrivals, a line that does not overflow")
COUNTING = Basis("exact", "counting messages", "a line that does not overflow, or is never empty")
LONG = Basis("limit", "counting messages", "a long line that is never empty")
NEVER = 1e-12  # the chance of (3) and (4) that counts as 0: 1e-6, and the rest is for the factor
BURST = 10  # messages of arrivals that are not Poisson taken as one, for (4)
CELLS = 1000  # of equal probability, each taken at its shortest interval, so that (2) is not underestimated
FARTHEST = 500.0  # how far from one per mean interval a rate is searched, in its logarithm


def theta_needed(places: int, largest: int) -> float:
    """Return the exponent theta that makes exp(-theta (places - largest)) 1e-12, a chance that counts as 0.

    That chance is a bound of the chance of an overflow: `places` is how many messages a line holds, and `largest` the
    most messages of a batch. Infinite if the largest batch leaves no place free in an empty line.
    """
    return -math.log(NEVER) / (places - largest) if places > largest else math.inf


@lru_cache(maxsize=1024)
def arrival_exponent(law: Law, share: float, n: int, theta: float) -> float:
    """Return the rate per unit of time at which log E[exp(theta M)] grows, M messages having arrived, or slightly more.

    Events come at intervals of `law`, and a `share` of them ask for n messages each. Infinite if there is no such rate
    or no formula, as for intervals that depend on one another.
    """
    if theta * n > 700 or isinstance(law, Ordered):
        return math.inf
    more = share * math.expm1(theta * n)
    if isinstance(law, Exponential):
        return law.rate * more
    intervals = np.asarray(law.quantile(np.arange(CELLS) / CELLS), np.float64)
    return _invert_transform(1 / (1 + more), intervals)


def _invert_transform(value: float, intervals: npt.NDArray[np.float64]) -> float:
    """Return the g >= 0 at which E[exp(-g X)] is `value`, for an X equally likely to be any of `intervals`.

    Infinite if no g makes it so small, as too many intervals are 0.
    """
    if np.mean(intervals == 0) >= value:
        return math.inf
    start = 1 / float(intervals.mean())
    return least_amount(lambda g: value - float(np.exp(-g * intervals).mean()), start, farthest=FARTHEST)


def service_exponent(law: Law, share: float, n: int, theta: float) -> float:
    """Return the rate per unit of time at which -log E[exp(-theta M)] grows, M messages having arrived; 0 or more.

    Events come at intervals of `law`, and a `share` of them ask for n messages each. It is exact for exponential
    intervals, a cautious lower value for other independent ones, and 0 for intervals that depend on one another.
    """
    if isinstance(law, Ordered):
        return 0.0
    burst = 1 if isinstance(law, Exponential) else BURST
    return -law.rate * share / burst * math.expm1(-theta * n * burst)

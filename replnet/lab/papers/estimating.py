"""Estimates of how often an element changes, from visits, and the cost of their errors (Estimating; Sync 4, 6.1).

Estimating is J. Cho, H. Garcia-Molina, "Estimating Frequency of Change", 2003. An element changes at the instants of a
Poisson process, r times on average between two of n + 1 visits at equal distances. A visit sees whether there was
a change since the last one, and perhaps when the last change was. With X the number of visits that saw one,
estimates of r are

    changes seen            X / n                                                                          (1)
    bias-reduced            -log((n - X + 1/2) / (n + 1/2))                                                (2)
    half a change more      -log((n - X + 1/2) / (n + 1))                                                  (3)
    last modified           X / T,  T = sum over visits of the time since the last change, at most 1       (4)
    last modified,
      bias-reduced          ((X - 1) - X / (n log(1 - X / n))) / T                                         (5)

in units of the distance for T. (3) is not in the paper: (1), (2), (4) and (5) are 0 where no change was seen, and
an element that is believed never to change is never visited again. The estimate of maximum likelihood is (2) without
its halves; it is infinite where every visit saw a change, and so is its mean.

X is binomial, so means of (1) to (3) are sums over its n + 1 values. For (4) and (5) the terms of T are independent
too: with s > 0, one without a change has the transform a = exp(-r - s), one with a change
b = r (1 - exp(-r - s)) / (r + s), both with their chances, and as 1 / T is the integral of exp(-s T) over s

    E[c(X) / T] = integral over s of sum over k of C(n, k) c(k) a^(n - k) b^k,                             (6)

and E[(c(X) / T)^2] the same with s c(k)^2.

Where rates are estimated for very many elements, those with k changes seen are alike, as their estimates are: n + 1
kinds of elements, of which the share that changes at each rate is binomial. The allocation that would be best
for the estimates (Sync 5.3) has at the true rates a freshness that is a sum over both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
from pydantic import BeforeValidator, Field

from replnet.ages import Basis
from replnet.allocation import ORDERS
from replnet.lab.named_formulas import NotNegative, Positive, Values, formula
from replnet.lab.papers.sync import Frequency, OrderName, freshness, one_weight_each, optimal
from replnet.laws import Floats, special
from replnet.network import whole

BY_COUNT: dict[str, Callable[[Floats, int], Floats]] = {
    "changes seen": lambda x, n: x / n,
    "bias-reduced": lambda x, n: -np.log((n - x + 0.5) / (n + 0.5)),
    "half a change more": lambda x, n: -np.log((n - x + 0.5) / (n + 1)),
}
LAST_MODIFIED: dict[str, Callable[[Floats, int], Floats]] = {
    "last modified": lambda x, n: x,
    "last modified, bias-reduced": lambda x, n: x - 1 - _per_log(x, n),
}
OF_ESTIMATES = (*BY_COUNT, *LAST_MODIFIED)

# The integrals (6) over log s: smooth, and falling at both ends, so that equal steps give all digits.
LOG_S = np.arange(-40.0, 40.0, 0.05)
MOST_VISITS = 100_000  # of an estimate
LARGEST_TABLE = 1 << 20  # numbers in a table over s and k
RAREST = 1e-30  # kinds of elements that are a smaller share of all make no difference


def _per_log(x: Floats, n: int) -> Floats:
    """Return x / (n log(1 - x / n)) for each of the numbers x of visits that saw a change, of n visits.

    At 0 it is its limit -1, and at n its limit 0.
    """
    share = np.clip(x / n, 0.5 / n, 1 - 0.5 / n)
    return np.where(x == 0, -1.0, np.where(x == n, 0.0, share / np.log1p(-share)))


def visit_chances(ratio: Floats, visits: int) -> Floats:
    """Return the chances that 0, 1, ... or all of `visits` see a change, along the last axis of an array.

    Its other axes are those of `ratio`, the mean changes between two visits.
    """
    r, k = np.asarray(ratio, dtype=float)[..., None], np.arange(visits + 1)
    with np.errstate(divide="ignore"):
        changed = np.log(-np.expm1(-r))
    return np.asarray(np.exp(_log_choices(visits) + special().xlogy(k, np.exp(changed)) - (visits - k) * r))


def _log_choices(n: int) -> Floats:
    """Return log C(n, k) for k = 0 ... n, as an array."""
    log_factorial = special().gammaln(np.arange(n + 1) + 1.0)
    return np.asarray(log_factorial[-1] - log_factorial - log_factorial[::-1])


def count_estimate_moments(name: str, ratio: float, visits: int) -> tuple[float, float]:
    """Return the mean and the standard deviation of an estimate of the change rate by how many of `visits` saw a
    change.

    `name` is one of BY_COUNT, and `ratio` the mean number of changes between two visits, which is what is estimated:
    both results are in changes between two visits.
    """
    chances, estimates = visit_chances(np.array(ratio), visits), BY_COUNT[name](np.arange(visits + 1.0), visits)
    mean = float(chances @ estimates)
    return mean, math.sqrt(float(chances @ (estimates - mean) ** 2))


def time_estimate_moments(name: str, ratio: float, visits: int) -> tuple[float, float]:
    """Return the mean and the standard deviation of an estimate of the change rate by the times of last modification.

    `name` is one of LAST_MODIFIED, and `ratio` the mean number of changes between two visits, which is what is
    estimated. Both results are in changes between two visits, and may be infinite for one visit or two, as the times
    since the last changes by which the estimate is divided may then be near 0.
    """
    coefficients = LAST_MODIFIED[name](np.arange(visits + 1.0), visits)
    # If every visit saw a change T is the sum of n times, near 0 with density in proportion to T^(n - 1).
    moments = [
        math.inf if power >= visits and coefficients[-1] > 0 else _moment(coefficients, power, ratio, visits)
        for power in (1, 2)
    ]
    return moments[0], math.sqrt(max(moments[1] - moments[0] ** 2, 0.0)) if math.isfinite(moments[1]) else math.inf


def _moment(coefficients: Floats, power: int, r: float, n: int) -> float:
    """Return the mean of (c(X) / T)^power, by an integral of the transform of T, over n visits.

    X is the number of visits that saw a change, `coefficients` are c(0) to c(n), and T is the sum over visits of the
    time since the last change, at most 1 each. `r` is the mean number of changes between two visits.
    """
    k, total = np.arange(n + 1), 0.0
    choices = _log_choices(n)[:, None]
    for log_s in np.array_split(LOG_S, 1 + LOG_S.size * (n + 1) // LARGEST_TABLE):
        z = r + np.exp(log_s)
        b = math.log(r) - np.log(z) + np.log(-np.expm1(-z))
        terms = np.exp(choices - (n - k)[:, None] * z + k[:, None] * b + power * log_s)
        total += float((coefficients**power @ terms).sum())
    return total * float(LOG_S[1] - LOG_S[0])


# ---- By name

VISITED = "Poisson changes; visits at equal distances that do not depend on them"
BINOMIAL = Basis("exact", "Estimating, X binomial", VISITED)
BELIEVED = Basis("limit", "Sync Table 2, Thm 1; Estimating, X binomial", f"{VISITED}; very many elements of each rate")
Visits = Annotated[
    int,
    BeforeValidator(whole(high=MOST_VISITS)),
    Field(ge=1, le=MOST_VISITS),
    "n, how many visits an estimate rests on",
]


@formula("rate-estimators", BINOMIAL, groups=OF_ESTIMATES, metrics=("bias", "standard_error"))
def rate_estimators(ratio: Positive, visits: Visits) -> Values:
    """Bias and standard error of each of five estimates of a change rate, as shares of the true rate.

    ratio: r, changes between two visits on average
    """
    for name in OF_ESTIMATES:
        mean, error = (count_estimate_moments if name in BY_COUNT else time_estimate_moments)(name, ratio, visits)
        yield name, "bias", mean / ratio - 1
        yield name, "standard_error", error / ratio


@formula(
    "estimated-allocation",
    BELIEVED,
    groups=("known rates", *BY_COUNT, "uniform"),
    metrics=("freshness", "loss"),
    check=one_weight_each,
)
def estimated_allocation(
    *,
    rates: tuple[NotNegative, ...],
    weights: tuple[Positive, ...] = (),
    frequency: Frequency,
    visits: Visits,
    interval: Positive | None = None,
    order: OrderName = "fixed",
) -> Values:
    """Freshness if synchronisations are shared out as is best for estimated change rates, and the share lost by errors.

    Beside each estimate there are known rates, of which no share is lost, and equal shares for all elements.

    rates: how often the elements change
    weights: how many of each there are; equally many if left out
    interval: between the visits that the estimates rest on; 1 / frequency if left out
    """
    changes, number, by = np.array(rates), np.array(weights or np.ones(len(rates))), ORDERS[order]
    distance = interval or 1 / frequency
    # How many elements there are, by rate and number of changes seen.
    share = number[:, None] * visit_chances(changes * distance, visits)
    true, together = np.repeat(changes, visits + 1), share.sum(axis=0)
    is_common = together > RAREST * together.sum()
    best = freshness(changes, optimal(changes, frequency, by, weights=number), by, number)
    results = {"known rates": best}
    for name, estimate in BY_COUNT.items():
        believed = estimate(np.arange(visits + 1.0), visits) / distance
        allocated = np.zeros(visits + 1)
        allocated[is_common] = optimal(believed[is_common], frequency, by, weights=together[is_common])
        results[name] = freshness(true, np.tile(allocated, changes.size), by, share.ravel())
    results["uniform"] = freshness(changes, np.full(changes.shape, frequency), by, number)
    for name, fresh in results.items():
        yield name, "freshness", fresh
        yield name, "loss", 1 - fresh / best

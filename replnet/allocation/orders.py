"""Freshness and age of one element, by the order in which elements are synchronised (Sync 4, App. B).

An element changes at the instants of a Poisson process of rate lambda and is
synchronised f times per unit of time, r = lambda / f. An order decides only the
law of the interval between two synchronisations of the element, W / f, E[W] = 1:

    fixed order     W = 1                                                         (1)
    random order    W triangular on [0, 2] (Sync Lemma 2); of N elements in N
                    slots, W = 1 + (J - K) / N, J and K even on 0..N-1            (2)
    purely random   W exponential; with a pick every p / f that hits with
                    chance p, W = p times a geometric number                      (3)

The paper has N infinite and p zero. With psi(r) = E[exp(-r W)],

    freshness  h(r) = (1 - psi) / r              Sync eq. 3, Table 2              (4)
    age x f    a(r) = E[W^2] / 2 - (1 - h) / r   Sync Table 2                     (5)

(5) is Table 2 for all orders at once: the age counts from the first change that the
copy misses, so its mean is that of the interval's own age less the time until then.
The gain from synchronising more often is, for any W,

    dF/df = K(r) / lambda,      K = -r^2 h' = 1 - E[(1 + r W) exp(-r W)]          (6)
   -dA/df = J(r) / lambda^2,    J = E[(r W)^2] / 2 - K                            (7)

K rises from 0 to 1 and J from 0 without bound, so both have inverses. Below SMALL
all are power series in -r with c_n = E[W^n] / n!, where (4) to (7) would cancel:

    h = sum c_(n+1) (-r)^n    a = -sum' c_(n+2) (-r)^n    K = sum (n-1) c_n (-r)^n    (8)

(sum' from n = 1). Where an element is never synchronised (f = 0) it is fresh if it
never changes; else its freshness is 0 and its age infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np
from numpy.polynomial.polynomial import polyval

from replnet.laws import Array, Floats, Ints
from replnet.text import FieldError

# From here on the closed forms keep 13 digits; below, TERMS powers reach the last one.
SMALL, TERMS = 0.25, 40
FARTHEST = 1e150  # ratios above this count as infinite; its square is still a float
_N = np.arange(TERMS + 1)
_FACTORIAL = np.array([float(math.factorial(n)) for n in _N])


@final
@dataclass(frozen=True, eq=False)
class Order:
    """An order of synchronisation, as the law of W, the interval between two of one element in units of its mean.

    `moments` has E[W^n] / n!, n = 0..TERMS, the c_n of (8); `transform` gives psi(r) = E[exp(-r W)] and -psi'(r), for r
    from SMALL on.
    """

    name: str
    moments: Floats
    transform: Callable[[Floats], tuple[Floats, Floats]]

    def __str__(self) -> str:
        return self.name

    def freshness(self, rate: Array, frequency: Array) -> Array:
        """Return the share of the time in which a copy is up to date, for Poisson changes at `rate`, (4).

        `frequency` is that of synchronisation; at 0 the share is 0, unless `rate` is 0. Raise a FieldError if one of
        them is negative or not a number.
        """
        rate, ratio = _ratio(rate, frequency)
        return np.where(np.isinf(ratio), 0.0, self.freshness_at(np.where(np.isinf(ratio), 1.0, ratio)))[()]

    def age(self, rate: Array, frequency: Array) -> Array:
        """Return the mean time since the first change that a copy misses, 0 while it misses none; (5).

        Changes are Poisson at `rate`, and `frequency` is that of synchronisation; at 0 the age is infinite, unless
        `rate` is 0. Raise a FieldError if one of them is negative or not a number.
        """
        rate, ratio = _ratio(rate, frequency)
        never = np.isinf(ratio)
        # a / f as (a r) / lambda fails at lambda = 0, so the frequency it is.
        per = np.where(ratio > 0, np.where(never, 1.0, frequency), 1.0)
        return np.where(never, math.inf, self.age_at(np.where(never, 1.0, ratio)) / per)[()]

    def freshness_at(self, ratio: Array) -> Array:
        """Return the freshness, a share of the time, at ratios of change rate to frequency of synchronisation."""
        return _split(ratio, self.moments[1:], lambda r: (1 - self.transform(r)[0]) / r)

    def age_at(self, ratio: Array) -> Array:
        """Return the mean age of a copy, in mean intervals, at ratios of change rate to frequency of synchronisation.

        The age is the time since the first change that the copy misses, 0 while it misses none.
        """
        series, half = -np.append(0.0, self.moments[3:]), self.moments[2]
        return _split(ratio, series, lambda r: half - (1 - (1 - self.transform(r)[0]) / r) / r)

    def freshness_gain(self, ratio: Array) -> Array:
        """Return the gain of freshness from one more synchronisation, times the change rate, K of (6).

        That is a derivative by the frequency. The ratios are those of change rate to frequency of synchronisation; the
        gain rises with them from 0 to 1.
        """
        return _split(ratio, self._gains, lambda r: 1 - self._rest_by_transform(r))

    def freshness_gain_rest(self, ratio: Array) -> Array:
        """Return 1 - `freshness_gain`, with all its digits where that is almost 1.

        The ratios are those of change rate to frequency of synchronisation.
        """
        return _split(ratio, np.append(1.0, -self._gains[1:]), self._rest_by_transform)

    def age_gain(self, ratio: Array) -> Array:
        """Return by how much age falls with one more synchronisation, times the square of the change rate, J of (7).

        That is a derivative by the frequency. The ratios are those of change rate to frequency of synchronisation; the
        gain rises with them from 0 without bound.
        """
        half = self.moments[2]
        return _split(
            ratio, np.where(_N >= 3, -self._gains, 0.0), lambda r: half * r**2 - (1 - self._rest_by_transform(r))
        )

    @property
    def _gains(self) -> Floats:
        """The coefficients of the power series of `freshness_gain` in -r."""
        return np.asarray(np.where(_N >= 2, (_N - 1) * self.moments, 0.0))

    def _rest_by_transform(self, r: Floats) -> Floats:
        """Return 1 - `freshness_gain` from the transform, for ratios of change rate to frequency from SMALL on."""
        psi, slope = self.transform(r)
        return psi + r * slope


def _split(ratio: Array, series: Floats, direct: Callable[[Floats], Floats]) -> Array:
    """Return the power series in -r with the coefficients `series` at ratios r below SMALL, and direct(r) at others."""
    r = np.minimum(np.asarray(ratio, dtype=float), FARTHEST)
    value, small = np.empty_like(r), r < SMALL
    value[small] = polyval(-r[small], series)
    value[~small] = direct(r[~small])
    return value[()]


def _ratio(rate: Array, frequency: Array) -> tuple[Floats, Floats]:
    """Return the change rate, and its ratio to the frequency: 0 without changes, infinite at a frequency of 0.

    Both are broadcast to arrays of one shape. Raise a FieldError if one is negative or not a number.
    """
    rate, frequency = np.broadcast_arrays(np.asarray(rate, dtype=float), np.asarray(frequency, dtype=float))
    if not ((rate >= 0) & (frequency >= 0) & np.isfinite(rate)).all():
        raise FieldError("rate, frequency", "a number below 0, or not a number", "rates and frequencies from 0 on")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return rate, np.where(rate > 0, rate / frequency, 0.0)


@lru_cache(maxsize=64)
def random_order(elements: int | None = None) -> Order:
    """Return the order of synchronisation in which each round has all elements once, in a new random order (Sync B.2).

    `elements` is their number; None stands for very many. Raise a FieldError for fewer than 1.
    """
    if elements is not None and elements < 1:
        raise FieldError("elements", f"{elements} is not above 0", "a whole number above 0")
    share = 0.0 if elements is None else 1 / elements
    # W is the sum of two independent parts: the rest of a round, and the part of the next that passes.
    if elements is None:
        rest_of_round = passed_of_next = np.asarray(1 / _FACTORIAL / (_N + 1))
    else:
        slots = np.arange(1, elements + 1) / elements
        rest_of_round = np.array([(slots**k).mean() for k in _N]) / _FACTORIAL
        passed_of_next = np.array([((slots - share) ** k).mean() for k in _N]) / _FACTORIAL

    def transform(r: Floats) -> tuple[Floats, Floats]:
        """Return psi = exp(-r / N) (phi(r) / phi(r / N))^2 of N elements, and -psi'.

        psi(r) is E[exp(-r W)], with W the interval between two turns of an element over its mean, at ratios r from
        SMALL on.
        """
        psi = np.exp(-share * r) * (-np.expm1(-r) / r / phi(share * r)) ** 2
        return psi, psi * (share - 2 * (_log_slope(r) - share * _log_slope(share * r)))

    name = "random order" if elements is None else f"random order of {elements}"
    return Order(name, np.convolve(rest_of_round, passed_of_next)[: TERMS + 1], transform)


@lru_cache(maxsize=4096)
def purely_random(share: float = 0.0) -> Order:
    """Return the order in which every slot's element is drawn afresh (Sync B.3), for an element with chance `share`.

    A share of 0 stands for very many elements. Raise a FieldError for one outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise FieldError("share", f"{share!r} is no probability", "a number from 0 to 1")
    # The series of exp(p s) / (1 - (1 - p) sum of p^(k-1) s^k / k!), all of whose terms are positive.
    step = (1 - share) * np.power(share, np.maximum(_N - 1.0, 0.0)) / _FACTORIAL
    moments: Floats = np.asarray(np.power(share, _N.astype(float)) / _FACTORIAL)
    for k in _N[1:]:
        moments[k] += step[1 : k + 1] @ moments[k - 1 :: -1]

    def transform(r: Floats) -> tuple[Floats, Floats]:
        """Return psi = z / D with z = exp(-r p), D = (1 - (1 - p) z) / p, where p is the share, and -psi'.

        psi(r) is E[exp(-r W)], with W the interval between two turns of an element over its mean, at ratios r from
        SMALL on.
        """
        z = np.exp(-r * share)
        d = r * phi(r * share) + z
        return z / d, z / d / d

    return Order("purely random" + (f", share {share:g}" if share else ""), moments, transform)


def phi(x: Floats) -> Floats:
    """Return (1 - exp(-x)) / x, which is 1 at x = 0, for x from 0 on."""
    with np.errstate(invalid="ignore"):
        return np.where(x > 0, -np.expm1(-x) / np.where(x > 0, x, 1.0), 1.0)


def _log_slope(x: Floats) -> Floats:
    """Return the derivative of log((1 - exp(-x)) / x), by its series where 1/x would cancel."""
    y, square = np.maximum(x, SMALL), np.minimum(x, SMALL) ** 2
    series = -1 / 2 + x * (1 / 12 - square * (1 / 720 - square * (1 / 30240 - square / 1209600)))
    return np.where(x < SMALL, series, -np.exp(-y) / np.expm1(-y) - 1 / y)


# The same order in every round, so an element comes at equal intervals (Sync B.1), (1).
FIXED = Order("fixed order", 1 / _FACTORIAL, lambda r: (np.exp(-r),) * 2)
RANDOM, PURELY_RANDOM = random_order(), purely_random()
ORDERS = {"fixed": FIXED, "random": RANDOM, "purely random": PURELY_RANDOM}


def intervals_of(order: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct intervals between refreshes of pages that go round and round in this order.

    `order` has the number of a page for each slot of a round. Three arrays: the page, the slots from one turn of it to
    the next, and how often that comes in a round.
    """
    turns = np.argsort(order, kind="stable")
    owner = order[turns]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    last = np.append(first[1:], turns.size) - 1
    slots = np.empty(turns.size, np.int64)
    slots[1:] = np.diff(turns)
    slots[first] = turns[first] - turns[last] + turns.size
    keys, count = np.unique(owner * (turns.size + 1) + slots, return_counts=True)
    owner, slots = np.divmod(keys, turns.size + 1)
    return owner, slots, count

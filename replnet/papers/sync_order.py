"""Freshness and age of one element, by the order in which elements are synchronised (Sync 4, App. B).

An element changes at the instants of a Poisson process of rate lambda and is
synchronised f times per unit of time, r = lambda / f. All that an order decides is
the law of the interval between two synchronisations of the element, W / f, E[W] = 1:

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

    dF/df = K(r) / lambda,      K = -r^2 h' = E[1 - (1 + r W) exp(-r W)]          (6)
   -dA/df = J(r) / lambda^2,    J = E[(r W)^2] / 2 - K                            (7)

K rises from 0 to 1 and J from 0 without bound, so both have inverses. Below SMALL
all are power series in -r with c_n = E[W^n] / n!, where (4) to (7) would cancel:

    h = sum c_(n+1) (-r)^n    a = -sum' c_(n+2) (-r)^n    K = sum (n-1) c_n (-r)^n    (8)

(sum' from n = 1). Where an element is never synchronised (f = 0) it is fresh if it
never changes; else its freshness is 0 and its age infinite.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt
from numpy.polynomial.polynomial import polyval

from replnet.laws.law import Array
from replnet.text.errors import FieldError

Floats = npt.NDArray[np.float64]

# From here on the closed forms keep 13 digits; below, TERMS powers reach the last one.
SMALL, TERMS = 0.25, 40
FARTHEST = 1e150  # ratios beyond are as good as infinite, and their squares are still floats
_FACTORIAL = np.array([float(math.factorial(n)) for n in range(TERMS + 1)])


class Series(NamedTuple):
    """Coefficients of h, a, K, J, 1 - K, K' and J' in powers of -r; (8)."""

    freshness: Floats
    age: Floats
    gain: Floats
    age_gain: Floats
    missing: Floats
    gain_slope: Floats
    age_gain_slope: Floats


class SyncOrder(ABC):
    """The law of W, the interval between two synchronisations of an element in units of its mean."""

    __slots__ = ()

    @abstractmethod
    def moments(self) -> Floats:
        """c_n = E[W^n] / n! of (8), n = 0..TERMS."""

    @abstractmethod
    def transform(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        """psi(r), -psi'(r) and psi''(r), for r from SMALL on."""

    def freshness(self, rate: Array, frequency: Array) -> Array:
        """Share of the time that the copy is up to date; (4)."""
        rate, ratio = _ratio(rate, frequency)
        return np.where(np.isinf(ratio), 0.0, self.freshness_at(np.where(np.isinf(ratio), 1.0, ratio)))[()]

    def age(self, rate: Array, frequency: Array) -> Array:
        """Mean time since the first change that the copy misses, 0 while it misses none; (5)."""
        rate, ratio = _ratio(rate, frequency)
        never = np.isinf(ratio)
        # a / f as (a r) / lambda fails at lambda = 0, so the frequency it is.
        per = np.where(ratio > 0, np.where(never, 1.0, frequency), 1.0)
        return np.where(never, math.inf, self.age_at(np.where(never, 1.0, ratio)) / per)[()]

    def freshness_at(self, ratio: Array) -> Array:
        """h of (4)."""
        return self._split(ratio, _series(self).freshness, lambda r: (1 - self.transform(r)[0]) / r)

    def age_at(self, ratio: Array) -> Array:
        """a of (5)."""
        half = self.moments()[2]
        return self._split(ratio, _series(self).age, lambda r: half - (1 - (1 - self.transform(r)[0]) / r) / r)

    def freshness_gain(self, ratio: Array) -> Array:
        """K of (6)."""
        return self._split(ratio, _series(self).gain, lambda r: 1 - self.freshness_gain_missing(r))

    def freshness_gain_missing(self, ratio: Array) -> Array:
        """1 - K, with all its digits where K is almost 1."""
        return self._split(ratio, _series(self).missing, self._missing)

    def age_gain(self, ratio: Array) -> Array:
        """J of (7)."""
        half = self.moments()[2]
        return self._split(ratio, _series(self).age_gain, lambda r: half * r**2 - (1 - self._missing(r)))

    def freshness_gain_slope(self, ratio: Array) -> Array:
        """K' = r psi''."""
        return self._split(ratio, _series(self).gain_slope, lambda r: r * self.transform(r)[2])

    def age_gain_slope(self, ratio: Array) -> Array:
        """J' = r (E[W^2] - psi'')."""
        second = 2 * self.moments()[2]
        return self._split(ratio, _series(self).age_gain_slope, lambda r: r * (second - self.transform(r)[2]))

    def _missing(self, r: Floats) -> Floats:
        psi, slope, _ = self.transform(r)
        return psi + r * slope

    def _split(self, ratio: Array, series: Floats, direct: Callable[[Floats], Floats]) -> Array:
        r = np.minimum(np.asarray(ratio, dtype=float), FARTHEST)
        value, small = np.empty_like(r), r < SMALL
        value[small] = polyval(-r[small], series)
        value[~small] = direct(r[~small])
        return value[()]


@final
@dataclass(frozen=True, slots=True)
class FixedOrder(SyncOrder):
    """(1): the same order in every round, so an element comes at equal intervals (Sync B.1)."""

    def __str__(self) -> str:
        return "fixed order"

    def moments(self) -> Floats:
        return 1 / _FACTORIAL

    def transform(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        psi = np.exp(-r)
        return psi, psi, psi


@final
@dataclass(frozen=True, slots=True)
class RandomOrder(SyncOrder):
    """(2): a new random order in every round (Sync B.2), of so many elements; None: of very many."""

    elements: int | None = None

    def __post_init__(self) -> None:
        if self.elements is not None and self.elements < 1:
            raise FieldError("elements", f"{self.elements} is not above 0", "a whole number above 0")

    def __str__(self) -> str:
        return "random order" if self.elements is None else f"random order of {self.elements}"

    def moments(self) -> Floats:
        return _triangular_moments(self.elements)

    def transform(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        """psi = exp(-r / N) (phi(r) / phi(r / N))^2 with phi(x) = (1 - exp(-x)) / x, through its logarithm."""
        share = 0.0 if self.elements is None else 1 / self.elements
        first, second = _log_slopes(r)
        first_slot, second_slot = _log_slopes(share * r)
        psi = np.exp(-share * r) * (-np.expm1(-r) / r / _phi(share * r)) ** 2
        slope = -share + 2 * (first - share * first_slot)
        return psi, -psi * slope, psi * (slope**2 + 2 * (second - share**2 * second_slot))


@final
@dataclass(frozen=True, slots=True)
class PurelyRandom(SyncOrder):
    """(3): whatever comes is drawn afresh (Sync B.3), this element with chance `share`; 0: of very many."""

    share: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise FieldError("share", f"{self.share!r} is no probability", "a number from 0 to 1")

    def __str__(self) -> str:
        return "purely random" + (f", share {self.share:g}" if self.share else "")

    def moments(self) -> Floats:
        return _geometric_moments(self.share)

    def transform(self, r: Floats) -> tuple[Floats, Floats, Floats]:
        """psi = z / D with z = exp(-r p), D = (1 - (1 - p) z) / p."""
        z = np.exp(-r * self.share)
        d = r * _phi(r * self.share) + z
        slope = z / d / d
        return z / d, slope, slope * (1 + (1 - self.share) * z) / d


FIXED, RANDOM, PURELY_RANDOM = FixedOrder(), RandomOrder(), PurelyRandom()
ORDERS: tuple[SyncOrder, ...] = (FIXED, RANDOM, PURELY_RANDOM)


def _ratio(rate: Array, frequency: Array) -> tuple[Floats, Floats]:
    """lambda, and r: 0 for what never changes, infinite for what is never synchronised."""
    rate, frequency = np.broadcast_arrays(np.asarray(rate, dtype=float), np.asarray(frequency, dtype=float))
    if not ((rate >= 0) & (frequency >= 0) & np.isfinite(rate)).all():
        raise FieldError("rate, frequency", "a number below 0, or not a number", "rates and frequencies from 0 on")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return rate, np.where(rate > 0, rate / frequency, 0.0)


@lru_cache(maxsize=256)
def _series(order: SyncOrder) -> Series:
    c, n = order.moments(), np.arange(TERMS + 1.0)
    gain: Floats = np.asarray(np.where(n >= 2, (n - 1) * c, 0.0))
    age = -np.append(0.0, c[3:])
    lost: Floats = np.asarray(np.where(n >= 3, -gain, 0.0))
    missing = np.append(1.0, -gain[1:])
    # The derivative in r of sum b_n (-r)^n is -sum n b_n (-r)^(n-1).
    return Series(c[1:], age, gain, lost, missing, -(n * gain)[1:], -(n * lost)[1:])


@lru_cache(maxsize=256)
def _triangular_moments(elements: int | None) -> Floats:
    """W of (2) is the sum of two independent parts: what is left of a round, and what passes of the next."""
    n = np.arange(TERMS + 1)
    if elements is None:
        left = passed = np.asarray(1 / _FACTORIAL / (n + 1))
    else:
        slots = np.arange(1, elements + 1) / elements
        left = np.array([(slots**k).mean() for k in n]) / _FACTORIAL
        passed = np.array([((slots - 1 / elements) ** k).mean() for k in n]) / _FACTORIAL
    return np.asarray(np.convolve(left, passed)[: TERMS + 1])


@lru_cache(maxsize=256)
def _geometric_moments(share: float) -> Floats:
    """The series of exp(p s) / (1 - (1 - p) sum of p^(k-1) s^k / k!), all of whose terms are positive."""
    n = np.arange(TERMS + 1)
    step = (1 - share) * np.power(share, np.maximum(n - 1.0, 0.0)) / _FACTORIAL
    c: Floats = np.asarray(np.power(share, n.astype(float)) / _FACTORIAL)
    for k in n[1:]:
        c[k] += step[1 : k + 1] @ c[k - 1 :: -1]
    return c


def _phi(x: Floats) -> Floats:
    """(1 - exp(-x)) / x."""
    with np.errstate(invalid="ignore"):
        return np.where(x > 0, -np.expm1(-x) / np.where(x > 0, x, 1.0), 1.0)


def _log_slopes(x: Floats) -> tuple[Floats, Floats]:
    """The first and second derivative of log phi(x), by their series where 1/x would cancel."""
    y = np.maximum(x, SMALL)
    square = np.minimum(x, SMALL) ** 2
    decay, gone = np.exp(-y), -np.expm1(-y)
    first = np.where(
        x < SMALL,
        -1 / 2 + x * (1 / 12 - square * (1 / 720 - square * (1 / 30240 - square / 1209600))),
        decay / gone - 1 / y,
    )
    second = np.where(
        x < SMALL,
        1 / 12 - square * (1 / 240 - square * (1 / 6048 - square / 172800)),
        1 / y**2 - decay / gone**2,
    )
    return first, second

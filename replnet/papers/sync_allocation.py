"""How often to synchronise each element of a database (Sync 5, App. E).

A database has elements that change at rates lambda_i, with weights w_i that add up
to 1 (how many there are alike), and affords f synchronisations per element and unit
of time, sum w_i f_i = f. Three allocations:

    uniform         f_i = f                                                        (1)
    proportional    f_i = f lambda_i / mean lambda                                 (2)
    optimal         the f_i >= 0 with the largest freshness, or the smallest age   (3)

Freshness is concave and age convex in every f_i, so (3) holds exactly where the gain
of one synchronisation more is the same, mu, everywhere, and no larger where f_i = 0.
With K and J of `sync_order`, r_i = lambda_i / f_i,

    freshness    K(r_i) = mu lambda_i           f_i = 0 where mu lambda_i >= 1     (4)
    age          J(r_i) = mu lambda_i^2         never 0 where lambda_i > 0         (5)

so f_i is a fixed function of mu lambda_i over mu (Sync Thm 5), and one mu remains, by
the budget. What never changes gets nothing, under (2) too, where it is fresh at no
cost: with such elements (2) can be better than (1), against Sync Thm 3 and 4, which
hold for rates above zero. For the purely random order (4) is
f_i = sqrt(lambda_i / mu) - lambda_i.

In (4) f_i drops to zero only like 1 / log(1 - mu lambda_i) for the fixed order: over
one rounding of mu an element that is about to be given up loses lambda / 37. So the
bracket of mu is closed to the last digit, and the budget shared between its two ends:
marginal gains agree to rounding on all that lies between.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.ages.prediction import Basis, Prediction
from replnet.laws.law import Law
from replnet.papers.sync_order import FIXED, Floats, SyncOrder
from replnet.text.errors import FieldError

Goal = Literal["freshness", "age"]

BASIS = Basis("exact", "Sync Table 2; Sync Thm 1", "Poisson changes; synchronisations that do not depend on them")
# The grid of log r on which K and J are tabulated; beyond, both are powers.
LOWEST, HIGHEST, POINTS = math.log(1e-60), math.log(1e17), 6000
POLISH = 2  # Newton steps from the table, whose error of some 1e-5 they square
STEPS = 200
WIDEST = 32.0  # step of log mu while looking for a bracket: further steps might leave the floats
FARTHEST_BUDGET = 1e80  # over the largest rate: the cube of its inverse, an age's gain, is still a float
CLOSED, SPENT = 4e-16, 1e-15  # relative width of a bracket that is closed; a budget that is met


@final
@dataclass(frozen=True, eq=False)
class Elements:
    """A database of elements that change `rates` times per unit of time, `weights` of each."""

    rates: Floats
    weights: Floats

    def __post_init__(self) -> None:
        for field in ("rates", "weights"):
            object.__setattr__(self, field, np.array(getattr(self, field), dtype=float, ndmin=1))
        if self.rates.ndim != 1 or self.rates.size == 0:
            raise FieldError("rates", f"shape {self.rates.shape}", "a list of at least one change rate")
        if self.weights.shape != self.rates.shape:
            raise FieldError("weights", f"{self.weights.size} for {self.rates.size} rates", "one weight per rate")
        _require("rates", self.rates, self.rates >= 0, "0 or more")
        _require("weights", self.weights, self.weights > 0, "above 0")
        object.__setattr__(self, "weights", self.weights / self.weights.sum())

    @classmethod
    def alike(cls, rate: float) -> Elements:
        """The uniform change-frequency model (Sync 2.3): all elements change at one rate."""
        return cls.listed([rate])

    @classmethod
    def listed(cls, rates: Sequence[float] | Floats) -> Elements:
        """One element per rate."""
        rates = np.array(rates, dtype=float, ndmin=1)
        return cls(rates, np.ones(rates.shape))

    @classmethod
    def histogram(cls, rates: Sequence[float] | Floats, shares: Sequence[float] | Floats) -> Elements:
        """The non-uniform change-frequency model (Sync 2.3, Fig. 4); bars of no height are left out."""
        rates, shares = np.array(rates, dtype=float, ndmin=1), np.array(shares, dtype=float, ndmin=1)
        kept = shares != 0 if rates.shape == shares.shape else slice(None)
        return cls(rates[kept], shares[kept])

    @classmethod
    def following(cls, rates: Law, number: int) -> Elements:
        """`number` elements whose rates are quantiles of a law, such as a gamma law."""
        if number < 1:
            raise FieldError("number", f"{number} is not above 0", "a whole number above 0")
        return cls.listed(np.asarray(rates.isf((np.arange(number) + 0.5) / number), dtype=float))

    @property
    def mean_rate(self) -> float:
        return float(self.weights @ self.rates)


@final
@dataclass(frozen=True, eq=False)
class Allocation:
    """How often every element of a database is synchronised, and in what order."""

    elements: Elements
    frequencies: Floats
    order: SyncOrder

    def __post_init__(self) -> None:
        object.__setattr__(self, "frequencies", np.array(self.frequencies, dtype=float, ndmin=1))
        if self.frequencies.shape != self.elements.rates.shape:
            wrong = f"{self.frequencies.size} for {self.elements.rates.size} elements"
            raise FieldError("frequencies", wrong, "one frequency per element")
        _require("frequencies", self.frequencies, self.frequencies >= 0, "0 or more")

    @property
    def element_freshness(self) -> Floats:
        return np.asarray(self.order.freshness(self.elements.rates, self.frequencies), dtype=float)

    @property
    def element_age(self) -> Floats:
        return np.asarray(self.order.age(self.elements.rates, self.frequencies), dtype=float)

    @property
    def freshness(self) -> Prediction:
        """Share of the elements that are up to date, averaged over time (Sync Thm 1)."""
        return Prediction.of(float(self.elements.weights @ self.element_freshness), BASIS)

    @property
    def age(self) -> Prediction:
        """Mean age over elements and time (Sync Thm 1); infinite if one that changes is never synchronised."""
        return Prediction.of(float(self.elements.weights @ self.element_age), BASIS)


def uniform(elements: Elements, frequency: float, order: SyncOrder = FIXED) -> Allocation:
    """(1): all elements equally often."""
    _require_frequency(frequency)
    return Allocation(elements, np.full(elements.rates.shape, float(frequency)), order)


def proportional(elements: Elements, frequency: float, order: SyncOrder = FIXED) -> Allocation:
    """(2): in proportion to the change rates. If nothing changes, all equally often."""
    _require_frequency(frequency)
    if elements.mean_rate == 0:
        return uniform(elements, frequency, order)
    return Allocation(elements, elements.rates * (frequency / elements.mean_rate), order)


def optimal(elements: Elements, frequency: float, order: SyncOrder = FIXED, goal: Goal = "freshness") -> Allocation:
    """(3), Sync Problem 1: the best allocation for a goal, by (4) or (5)."""
    _require_frequency(frequency)
    if goal not in ("freshness", "age"):
        raise FieldError("goal", f"{goal!r} is not known", "freshness or age")
    changing = elements.rates > 0
    frequencies = np.zeros(elements.rates.shape)
    if frequency > 0 and changing.any():
        frequencies[changing] = _shared(elements.rates[changing], elements.weights[changing], frequency, order, goal)
    return Allocation(elements, frequencies, order)


def at_multiplier(rates: Floats, multiplier: float, order: SyncOrder = FIXED, goal: Goal = "freshness") -> Floats:
    """f_i of (4) or (5), for rates above zero and a gain mu per synchronisation: the graphs of Sync Fig. 10, 17, 18."""
    inverse, y = _inverse(order, goal), multiplier * rates
    if goal == "age":
        return np.asarray(rates / inverse(np.log(y) + np.log(rates)))
    frequencies, worth = np.zeros(rates.shape), y < 1
    y = y[worth]
    frequencies[worth] = rates[worth] / inverse(np.log(y) - np.log1p(-y))
    return frequencies


def _shared(rates: Floats, weights: Floats, frequency: float, order: SyncOrder, goal: Goal) -> Floats:
    """The f_i above at the mu that spends the budget, in units of the largest rate."""
    unit = float(rates.max())
    rates, budget = rates / unit, frequency / unit
    if not 1 / FARTHEST_BUDGET < budget < FARTHEST_BUDGET:
        right = f"within a factor {FARTHEST_BUDGET:g} of the largest change rate, {unit:g}, or 0"
        raise FieldError("frequency", f"{frequency:g} is out of range", right)

    def given(log_multiplier: float) -> tuple[Floats, float]:
        f = at_multiplier(rates, math.exp(log_multiplier), order, goal)
        total = float(weights @ f)
        return f, math.log(total / budget) if total > 0 else -math.inf

    # At this mu the freshness of nothing is worth a synchronisation.
    start = -math.log(float(rates.min())) if goal == "freshness" else 0.0
    return _met(lambda x: End(x, *given(x)), start) * unit


class End(NamedTuple):
    """One end of a bracket: log mu, the f_i there, and the logarithm of what they spend over the budget."""

    at: float
    frequencies: Floats
    over: float


def _met(given: Callable[[float], End], start: float) -> Floats:
    """The frequencies that spend the budget."""
    low, high = _bracket(given, start)
    last, a, b = 0, low.over, high.over
    for step in range(STEPS):
        width = high.at - low.at
        if low.over <= SPENT or -high.over <= SPENT or width <= CLOSED * max(abs(low.at), abs(high.at), 1.0):
            break
        # False position with halved ends (Illinois), and bisection in between, or where an end is infinite.
        middle = (low.at + high.at) / 2
        if step % 4 != 3 and math.isfinite(b):
            middle = min(max(low.at + width * a / (a - b), low.at), high.at)
        end = given(middle)
        if end.over >= 0:
            low, a, b, last = end, end.over, (b / 2 if last == 1 else high.over), 1
        else:
            high, b, a, last = end, end.over, (a / 2 if last == -1 else low.over), -1
    most, least = math.exp(low.over), math.exp(high.over)
    share = (1 - least) / (most - least) if most > least else 1.0
    return np.asarray(share * low.frequencies + (1 - share) * high.frequencies)


def _bracket(given: Callable[[float], End], start: float) -> tuple[End, End]:
    """Ends that spend at least and at most the budget."""
    low = high = given(start)
    step = 1.0
    while low.over < 0:
        low, step = given(low.at - step), min(2 * step, WIDEST)
    step = 1.0
    while high.over > 0:
        high, step = given(high.at + step), min(2 * step, WIDEST)
    return low, high


@lru_cache(maxsize=64)
def _inverse(order: SyncOrder, goal: Goal) -> _Inverse:
    return _Inverse(order, goal)


@final
class _Inverse:
    """The r at which log(K / (1 - K)), or log J, has a given value."""

    def __init__(self, order: SyncOrder, goal: Goal) -> None:
        self._order, self._freshness = order, goal == "freshness"
        grid = np.linspace(LOWEST, HIGHEST, POINTS)
        value, slope = self._at(np.exp(grid))
        known = np.isfinite(value) & np.isfinite(slope)
        self._grid, self._value, slope = grid[known], value[known], slope[known]
        self._first, self._last = float(slope[0]), float(slope[-1])

    def __call__(self, value: Floats) -> Floats:
        below, above = self._value[0] - value, value - self._value[-1]
        u = np.interp(value, self._value, self._grid)
        u += np.maximum(above, 0) / self._last - np.maximum(below, 0) / self._first
        for _ in range(POLISH):
            now, slope = self._at(np.exp(u))
            inside = (below < 0) & (above < 0)
            u -= np.where(inside, (now - value) / np.where(inside, slope, 1.0), 0.0)
        return np.asarray(np.exp(u))

    def _at(self, r: Floats) -> tuple[Floats, Floats]:
        """The value and its slope over log r."""
        order = self._order
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if not self._freshness:
                gain = np.asarray(order.age_gain(r))
                return np.log(gain), r * np.asarray(order.age_gain_slope(r)) / gain
            gain, missing = np.asarray(order.freshness_gain(r)), np.asarray(order.freshness_gain_missing(r))
            return np.log(gain / missing), r * np.asarray(order.freshness_gain_slope(r)) / (gain * missing)


def _require(field: str, values: Floats, right: npt.NDArray[np.bool_], what: str) -> None:
    wrong = np.flatnonzero(~(right & np.isfinite(values)))
    if wrong.size:
        raise FieldError(f"{field}[{wrong[0]}]", f"{values[wrong[0]]:g}", f"a finite number, {what}")


def _require_frequency(frequency: float) -> None:
    if not 0 <= frequency < math.inf:
        raise FieldError("frequency", f"{frequency!r} is no frequency", "a finite number, 0 or more")

"""How to synchronise a database: orders, change rates, allocations (Sync 4 to 6, App. B to E).

The freshness and age of one element under an order (Table 2) are in `orders`. Let L be the change rate of
an element drawn at random, with mean lambda, and f the mean frequency of synchronisation,
r = lambda / f. Under the uniform allocation every element gets f, under the proportional
one f L / lambda, so with h and a of `orders`

    uniform        F = E[h(L / f)]      A = E[a(L / f)] / f                           (1)
    proportional   F = h(r)             A = lambda E[1 / L] a(r) / f                  (2)

The last is infinite where rates near zero are common enough: for a gamma law with
shape 1 or less (delta >= 1), uniform on [0, b], Pareto. Expectations are integrals
over the quantiles of L. For gamma rates with variance (delta lambda)^2 and fixed order
(1) is Table 3, of which the printed form has singularities. With s = delta^2 it is

    F = integral over u in (0, 1) of g(u)        A f = integral of (1 - u)(1 - g(u)),
    g(u) = E[exp(-L u / f)] = (1 + r s u)^(-1/s).                                     (3)

The third allocation is the best for freshness or for age, by `budget`. Elements that never
change get nothing, under the proportional one too, where they are fresh at no cost: with such
elements that can be better than the uniform one, against Sync Thm 3 and 4, which hold for
rates above zero. All elements of a best allocation gain as much from one synchronisation
more, dF/df = mu or -dA/df = mu, and a graph of f over lambda at one mu is that of any
other, scaled (Thm 5).

Table 4 has a model of its own: an element changes once in each of n equal parts of
the day, at an even time in it. A part with m synchronisations at equal distances, the
j-th at j / (m + 1) of it, gains the time from the first that sees the change, on average

    sum over j of (1 / (m + 1)) (1 - j / (m + 1)) = m / (2 (m + 1))  of the part.     (4)

The paper calls it crude: what the copy was worth before the change is left out.

Synchronisations may have a window of the day (Sync 3, Fig. 5), which the paper leaves at that. Let a share s of
them fall into its first part w, evenly, and the others evenly into the rest. An element comes n times a day, equally
far apart on a clock on which the share s of the day passes in the window; at u of it the time is R(u). As
elements come at even phases, one was last synchronised v ago, v even on (0, 1 / n), so that at a time t = R(u)

    its freshness = n integral over v from 0 to 1 / n of exp(-lambda (t - R(u - v))),                      (5)

a sum of exponentials, as R is made of lines; whole days before it are a geometric series.

Table 6 is a histogram of change intervals of which the text names two bars and the
length of the others. Which heights of these fit the printed values is `table_6_fits`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple, final

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field

from replnet.ages import GAUSS_NODES, GAUSS_WEIGHTS, ROOT_TOLERANCE, Basis, crossing, least_amount
from replnet.allocation import FIXED, ORDERS, Goal, Order, at_price, optimal, phi
from replnet.lab.named_formulas import NotNegative, Positive, Values, formula
from replnet.laws import Array, Floats, Law, TailIntegral, fit_curve
from replnet.network import Count, LawField, Part, Share, Target
from replnet.text import FieldError, short_repr

NEAR_ZERO, ROUNDING = -200, 1e-9  # octaves from the mean at which a power shows; error of its exponent
DAY, WEEK, YEAR = 1.0, 7.0, 365.0
GOALS: dict[str, Goal] = {"best for freshness": "freshness", "best for age": "age"}

# Points and weights of integrals over (0, 1) of functions that may fall off anywhere near 0.
_EDGES = np.append(0.0, np.geomspace(1e-12, 1.0, 60))
_U = (_EDGES[:-1, None] + np.diff(_EDGES)[:, None] * GAUSS_NODES).ravel()
_WEIGHTS = (np.diff(_EDGES)[:, None] * GAUSS_WEIGHTS).ravel()


Weights = Floats | None


class Pair(NamedTuple):
    """The freshness, and the age in units of time, of some elements on average."""

    freshness: float
    age: float


# ---- Change rates that follow a law (Sync 5.1, App. C)


def uniform_average(rates: Law, frequency: float, order: Order = FIXED) -> Pair:
    """Return the mean freshness and age of elements that are all synchronised at `frequency` (Sync App. C).

    Changes are Poisson, and `rates` is the law of their rates over elements; `order` is that of synchronisation. The
    frequency is per unit of time, and the age in units of time. Raises FieldError if the rates have an
    infinite mean or the frequency is not above 0.
    """
    _require_finite(rates, frequency)
    stale = _mean(lambda rate: 1 - np.asarray(order.freshness_at(rate / frequency)), rates)
    return Pair(1 - stale, _mean(lambda rate: order.age_at(rate / frequency), rates) / frequency)


def proportional_average(rates: Law, frequency: float, order: Order = FIXED) -> Pair:
    """Return the mean freshness and age of elements synchronised in proportion to their change rates (Sync App. C).

    `rates` is the law of these rates over elements, and `frequency` the mean frequency. The age is infinite if rates
    near zero are common. Raises FieldError if the rates have an infinite mean or the frequency is not above 0.
    """
    _require_finite(rates, frequency)
    ratio = rates.mean / frequency
    age = rates.mean * mean_interval(rates) * float(order.age_at(ratio)) / frequency
    return Pair(float(order.freshness_at(ratio)), age)


def mean_interval(rates: Law) -> float:
    """Return the mean over elements of 1 / rate, the interval between changes; infinite if rates near zero are common.

    `rates` is the law of the change rates.
    """
    # It diverges where P(L <= x) ~ x^a near zero with a at most 1, up to rounding.
    tiny = rates.mean * 2.0**NEAR_ZERO
    near, nearer = float(rates.cdf(2 * tiny)), float(rates.cdf(tiny))
    if nearer > 0 and math.log2(near / nearer) < 1 + ROUNDING:
        return math.inf

    def below(x: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.where(np.asarray(x) > 0, rates.cdf(1 / np.asarray(x)), 1.0)

    low = float(rates.isf(1.0))
    ends = [1 / b for b in rates.breaks if b > 0]
    integral = TailIntegral(below, around=1 / rates.mean, bends=ends, end=1 / low if low > 0 else math.inf)
    return float(integral.beyond(0.0))


def _mean(value: Callable[[Array], Array], rates: Law) -> float:
    """Return the mean of value(L) over rates L of the law `rates`; `value` is increasing, and takes and returns
    arrays.
    """
    bends = [float(rates.tail(b)) for b in rates.breaks]
    integral = TailIntegral(lambda share: value(rates.isf(share)), around=0.5, bends=bends, end=1.0)
    return float(integral.before(1.0))


def _require_finite(rates: Law, frequency: float) -> None:
    """Raise FieldError unless the rates have a finite mean and the frequency is above 0."""
    rates.require_finite_mean()
    if not 0 < frequency < math.inf:
        raise FieldError("frequency", f"{frequency!r} is not above 0", "a finite number above 0")


def gamma_uniform_freshness(ratio: Array, spread: Array) -> Array:
    """Return the mean freshness of elements with gamma-distributed change rates under equal frequencies (Sync Table 3).

    `ratio` is mean rate over frequency, and `spread` the standard deviation of the rates over their mean. The order is
    fixed, and the result has the shape of both together.
    """
    return 1 + np.expm1(_log_transform(ratio, spread)) @ _WEIGHTS


def gamma_uniform_age(ratio: Array, spread: Array) -> Array:
    """Return the mean age of elements with gamma-distributed change rates under equal frequencies (Sync Table 3).

    The unit is the interval of synchronisation. `ratio` is mean rate over frequency, and `spread` the standard
    deviation of the rates over their mean. The order is fixed, and the result has the shape of both together.
    """
    return (-np.expm1(_log_transform(ratio, spread)) * (1 - _U)) @ _WEIGHTS


def gamma_proportional_age(ratio: Array, spread: Array) -> Array:
    """Return the mean age of elements with gamma-distributed change rates under proportional frequencies (Table 3).

    The unit is the mean interval of synchronisation. `ratio` is mean rate over frequency, and `spread` the standard
    deviation of the rates over their mean, from 1 on of which the age is infinite. The order is fixed, and the result
    has the shape of both together.
    """
    r, s = _gamma(ratio, spread)
    finite = s < 1
    whole = np.asarray(FIXED.age_at(r)) / np.where(finite, 1 - s, 1.0)
    return np.where(finite | (r == 0), whole, math.inf)[()]


def _log_transform(ratio: Array, spread: Array) -> Floats:
    """Return the logarithm of E[exp(-L u / f)], for gamma rates L and a frequency f, at the points u of integration.

    These are on the last axis; the other axes are those of `ratio`, E[L] / f, and of `spread`, the standard deviation
    of L over its mean.
    """
    r, s = (argument[..., None] for argument in _gamma(ratio, spread))
    return np.asarray(np.where(s > 0, -np.log1p(r * s * _U) / np.where(s > 0, s, 1.0), -r * _U))


def _gamma(ratio: Array, spread: Array) -> tuple[Floats, Floats]:
    """Return the ratio and the square of the spread as arrays of one shape; raise FieldError for numbers below 0."""
    r, delta = np.broadcast_arrays(np.asarray(ratio, dtype=float), np.asarray(spread, dtype=float))
    if not ((r >= 0) & (delta >= 0) & np.isfinite(r) & np.isfinite(delta)).all():
        raise FieldError("ratio, spread", "a number below 0, or none", "a ratio and a spread from 0 on")
    return r, delta**2


# ---- Allocations (Sync 5, App. E)


# For elements that change at `rates`; `weights` are how many there are of each, equally many if left out.


def freshness(rates: Floats, frequencies: Floats, order: Order = FIXED, weights: Weights = None) -> float:
    """Return the share of the elements that are up to date, averaged over time (Thm 1).

    Elements change at `rates` and are synchronised at `frequencies`, in this order of synchronisation. `weights` are
    how many there are of each, equally many if None.
    """
    return float(np.average(order.freshness(rates, frequencies), weights=weights))


def age(rates: Floats, frequencies: Floats, order: Order = FIXED, weights: Weights = None) -> float:
    """Return the mean age over elements and time, in units of time (Thm 1); infinite if a changing one is never
    synchronised.

    Elements change at `rates` and are synchronised at `frequencies`, in this order of synchronisation. `weights` are
    how many there are of each, equally many if None.
    """
    return float(np.average(order.age(rates, frequencies), weights=weights))


def proportional(rates: Floats, frequency: float, weights: Weights = None) -> Floats:
    """Return frequencies in proportion to the change rates, `frequency` on average; if nothing changes, equal ones.

    `weights` are how many elements there are of each rate, equally many if None.
    """
    mean = float(np.average(rates, weights=weights))
    return rates * (frequency / mean) if mean > 0 else np.full(rates.shape, frequency)


def at_gain(rates: npt.ArrayLike, gain: float, order: Order = FIXED, goal: Goal = "freshness") -> Floats:
    """Return the frequencies at which one more synchronisation per unit of time gains `gain` of the goal (eq. 16).

    There is one, per unit of time, for each of `rates`, change rates above zero; 0 where even the first gains less. The
    gain is in freshness, or in units of time by which the age falls. These are the graphs of Fig. 10, 17, 18.
    """
    rates = np.asarray(rates, dtype=float)
    return at_price(order, goal, np.ones(rates.shape), rates, gain)


def gain_of(rates: Floats, frequencies: Floats, order: Order = FIXED, goal: Goal = "freshness") -> float:
    """Return the gain of the goal from one more synchronisation per unit of time, which all elements of a best
    allocation share.

    It is taken at the element that changes most slowly, of those that change at all, and above 0 for the age too.
    """
    # The slowest that changes is the last to be given up.
    at = int(np.argmin(np.where(rates > 0, rates, np.inf)))
    rate, ratio = float(rates[at]), float(rates[at] / frequencies[at])
    return float(order.freshness_gain(ratio) / rate if goal == "freshness" else order.age_gain(ratio) / rate**2)


def gain_peak(gain: float, order: Order = FIXED) -> tuple[float, float]:
    """Return the change rate of the elements that get the highest frequency, and that frequency, per unit of time.

    Frequencies are those at which one more synchronisation per unit of time gains every element the same freshness,
    `gain`.
    """
    losses = fit_curve(lambda r: -order.freshness_gain(r) / r, np.linspace(0.5, 20.0, 40), tolerance=1e-13)
    slope = losses.derivative()
    low, high = crossing(lambda r: float(slope(r)), *((r, float(slope(r))) for r in (0.5, 19.0)))
    ratio = (low[0] + high[0]) / 2
    rate = float(order.freshness_gain(ratio)) / gain
    return rate, rate / ratio


# ---- A window of the day (Sync 3, Fig. 5)


def fresh_at(time: Array, changes: float, often: float, window: float, share: float = 1.0) -> Floats:
    """Return the share of elements that are fresh at times of the day, from 0 to 1, where a window of it is for
    synchronisations.

    `changes` is how often each changes in a day and `often` how often it is synchronised. `window` is the length of the
    window, with which the day begins, and `share` the share of synchronisations that fall into it, the others into the
    rest. The result has the shape of `time`.
    """
    days, rest = divmod(1 / often, 1.0)
    earlier = -math.expm1(-changes * days) / -math.expm1(-changes)
    whole, part = (_fresh_since(np.asarray(time, dtype=float), end, changes, window, share) for end in (1.0, rest))
    return often * (earlier * whole + math.exp(-changes * days) * part)


def _fresh_since(time: Floats, end: float, changes: float, window: float, share: float) -> Floats:
    """Return the integral, over v from 0 to `end`, of the chance that an element is fresh that was synchronised v ago.

    These v are times on a clock on which the share `share` of the day passes in the window, of length `window`, with
    which the day begins; `end` is at most a day. `time` is that of the day, from 0 to 1, and `changes` is how often an
    element changes in a day. The result has the shape of `time`.
    """
    u = np.interp(time, (0.0, window, 1.0), (0.0, share, 1.0))
    bends = [np.zeros_like(u), u - share, u, u - share + 1, np.ones_like(u)]
    edges = np.sort(np.clip(bends, 0.0, end), axis=0)
    length, middle = np.diff(edges, axis=0), u - (edges[1:] + edges[:-1]) / 2
    day = np.floor(middle)
    clock_time = day + np.interp(middle - day, (0.0, share, 1.0), (0.0, window, 1.0))
    speed = np.where(middle - day < share, window / share, (1 - window) / (1 - share) if share < 1 else 0.0)
    half = speed * length / 2
    return np.asarray((length * np.exp(-changes * (time - clock_time - half)) * phi(2 * changes * half)).sum(axis=0))


def _integrals_of_the_day(changes: float, often: float, window: float, share: float) -> tuple[float, float]:
    """Return the integrals of the freshness of elements over the window of the day, and over the rest, in days.

    `changes` is how often each changes in a day and `often` how often it is synchronised. `window` is the length of the
    window, with which the day begins, and `share` that of the synchronisations in it.
    """
    bends = (np.array([0.0, share]) + 1 / often) % 1.0
    edges = np.unique(np.append(np.interp(bends, (0.0, share, 1.0), (0.0, window, 1.0)), (0.0, window, 1.0)))
    integrals = [0.0, 0.0]
    for begin, end in pairwise(edges.tolist()):
        fresh = fresh_at(begin + (end - begin) * _U, changes, often, window, share)
        integrals[begin >= window] += (end - begin) * float(fresh @ _WEIGHTS)
    return integrals[0], integrals[1]


# ---- Tables 4 and 6


def benefit(parts: Sequence[int], synchronisations: Sequence[int]) -> Fraction:
    """Return the summed benefit of elements from their synchronisations in a day, as in Table 4.

    Benefits are shares of the day, gained by copies that are up to date. Each element has two numbers: its equal
    `parts` of the day, in each of which it changes once, and its `synchronisations` in the day.
    """
    return sum((_benefit(n, k) for n, k in zip(parts, synchronisations, strict=True)), Fraction(0))


def best_division(parts: Sequence[int], budget: int) -> tuple[int, ...]:
    """Return how many synchronisations of a budget each element gets for the largest summed benefit, as in Table 4.

    `parts` are the numbers of equal parts of the day in each of which an element changes once. As the benefit is
    concave in every number, one synchronisation after the other may be given to the element that gains most.
    """
    result = [0] * len(parts)
    for _ in range(budget):
        gains = [_benefit(n, k + 1) - _benefit(n, k) for n, k in zip(parts, result, strict=True)]
        result[gains.index(max(gains))] += 1
    return tuple(result)


def _benefit(parts: int, synchronisations: int) -> Fraction:
    """Return the benefit of one element from its synchronisations, as a share of the day, as in Table 4.

    It changes once in each of so many equal parts of the day, and synchronisations are shared among these evenly.
    """
    each, more = divmod(synchronisations, parts)
    gains = [Fraction(m, 2 * (m + 1)) for m in (each, each + 1)]
    return ((parts - more) * gains[0] + more * gains[1]) / parts


Ranges = tuple[tuple[float, float], tuple[float, float]]  # of freshness and of age, ends included


def table_6(heights: Sequence[float], policy: str, month: float = 30.0) -> Pair:
    """Return freshness, and age in days, of pages that are synchronised once a month on average, in fixed order.

    They change daily, weekly, monthly, every four months and yearly; `heights` are their shares (Fig. 12). The `policy`
    is uniform, proportional or optimal, the best for each of the two. `month` is its length in days.
    """
    intervals, shares = np.array([DAY, WEEK, month, 4 * month, YEAR]), np.array(heights)
    rates, weights, frequency = 1 / intervals[shares > 0], shares[shares > 0], 1 / month
    best = youngest = (
        proportional(rates, frequency, weights) if policy == "proportional" else np.full_like(rates, frequency)
    )
    if policy == "optimal":
        best, youngest = (optimal(rates, frequency, goal=goal, weights=weights) for goal in GOALS.values())
    return Pair(freshness(rates, best, weights=weights), age(rates, youngest, weights=weights))


def table_6_fits(
    daily: float, weekly: float, accepts: Mapping[str, Ranges], *, step: float = 0.01, month: float = 30.0
) -> list[tuple[float, ...]]:
    """Return all heights, shares of pages, whose freshness and ages in Table 6 lie in the accepted ranges.

    Each is a tuple of the shares of pages that change daily, weekly, monthly, every four months and yearly: the first
    two as given, the others on a grid of `step`. `month` is its length in days. `accepts` has by policy the ranges of
    freshness and of age in days; policies are tried in its order, and cheap ones first rule most heights out.
    """
    count = round((1 - daily - weekly) / step)
    counts = [(i, j, count - i - j) for i in range(count + 1) for j in range(count + 1 - i)]
    grid = [(daily, weekly, *(round(n * step, 12) for n in rest)) for rest in counts]
    return [
        heights
        for heights in grid
        if all(_within(table_6(heights, policy, month), ranges) for policy, ranges in accepts.items())
    ]


def _within(values: Pair, ranges: Ranges) -> bool:
    """Whether freshness and age lie in their ranges, ends included."""
    return all(low <= value <= high for value, (low, high) in zip(values, ranges, strict=True))


# ---- By name

POISSON = "Poisson changes; synchronisations that do not depend on them"
ORDERED = Basis("limit", "Sync Table 2", f"{POISSON}; very many elements")
GAMMA = Basis("exact", "Sync Table 3", f"{POISSON}; change rates of a gamma law")
RATES = Basis("exact", "Sync App. C", POISSON)
WINDOW = Basis("exact", "Sync Table 2; Sync 3, Fig. 5", f"{POISSON}; elements at even phases of the order")
BENEFIT = Basis("exact", "Sync 5.2", "one change in each part of the day, at an even time in it")
ALLOCATED = Basis("exact", "Sync Table 2; Sync Thm 1", POISSON)
GAIN = Basis("exact", "Sync eq. 16, Thm 5", POISSON)
SEARCHED = Basis("exact", "Sync Table 2, by search", f"{POISSON}; heights in steps of one per cent")

PAIR = ("freshness", "age")
OrderName = Annotated[Literal["fixed", "random", "purely random"], "fixed, random or purely random"]
Frequency = Annotated[Positive, "synchronisations per element and unit of time, on average"]


def _pair(group: str, values: Iterable[Array]) -> Values:
    """Return freshness and age, in this order in `values`, as values of a formula in a group."""
    return ((group, metric, float(value)) for metric, value in zip(PAIR, values, strict=True))


@formula("orders", ORDERED, groups=(*ORDERS, "fixed / random", "fixed / purely random"), metrics=PAIR)
def orders(ratio: Positive) -> Values:
    """Freshness and age by the order of synchronisation, and those of the fixed order over those of the others.

    Ages are in mean intervals of synchronisation.

    ratio: r, changes per synchronisation
    """
    pairs = {name: (order.freshness_at(ratio), order.age_at(ratio)) for name, order in ORDERS.items()}
    for name, pair in pairs.items():
        yield from _pair(name, pair)
    for name in ("random", "purely random"):
        yield from _pair(f"fixed / {name}", (a / b for a, b in zip(pairs["fixed"], pairs[name], strict=True)))


@formula("largest-ratio", ORDERED, groups=("elements",), metrics=("changes_per_synchronisation",))
def largest_ratio(freshness: Annotated[Target, "to be met, below 1"], order: OrderName = "fixed") -> float:
    """The largest number of changes per synchronisation at which a freshness is met."""
    # Relative to the smaller of freshness and staleness, so that the root is as accurate for both.
    scale = min(freshness, 1 - freshness)

    def short(ratio: float) -> float:
        return (freshness - float(ORDERS[order].freshness_at(ratio))) / scale

    return least_amount(short, enough=ROOT_TOLERANCE)


OF_GAMMA = ("uniform", "proportional", "proportional / uniform", "uniform / proportional")


@formula("gamma-rates", GAMMA, groups=OF_GAMMA, metrics=PAIR)
def gamma_rates(ratio: Positive, spread: NotNegative) -> Values:
    """Freshness and age of elements whose change rates follow a gamma law, in fixed order, by allocation.

    Ages are in mean intervals of synchronisation. There are ratios of the two allocations, too.

    ratio: r, changes per synchronisation on average
    spread: standard deviation of the change rates over their mean
    """
    even = gamma_uniform_freshness(ratio, spread), gamma_uniform_age(ratio, spread)
    share = FIXED.freshness_at(ratio), gamma_proportional_age(ratio, spread)
    yield from _pair("uniform", even)
    yield from _pair("proportional", share)
    yield "proportional / uniform", "freshness", float(share[0] / even[0])
    yield "uniform / proportional", "age", float(even[1] / share[1])


@formula("change-rates", RATES, groups=("uniform", "proportional"), metrics=PAIR)
def change_rates(rates: LawField, frequency: Frequency, order: OrderName = "fixed") -> Values:
    """Freshness and age of elements whose change rates follow a law, synchronised alike or in proportion to these.

    Ages are in units of time.

    rates: the law of the change rates, such as lognormal(sigma=1, mean=2)
    """
    yield from _pair("uniform", uniform_average(rates, frequency, ORDERS[order]))
    yield from _pair("proportional", proportional_average(rates, frequency, ORDERS[order]))


def _require_room_outside(*, window: float, share: float, **_: object) -> None:
    """Raise FieldError if synchronisations are to fall outside of a window that is the whole day.

    `window` and the `share` of synchronisations in it are both from 0 to 1.
    """
    if window == 1 and share < 1:
        raise FieldError("share", f"{share:g} in all of the day", "1, or a window below 1")


@formula("window", WINDOW, groups=("at that time", "in the window", "outside", "whole day"), metrics=("freshness",),
         check=_require_room_outside)  # fmt: skip
def window_of_the_day(
    changes: Positive, synchronisations: Positive, window: Share, share: Share = 1.0, time: NotNegative | None = None
) -> Values:
    """Freshness over the day where synchronisations fall into a window of it, in fixed order.

    There are means over the window, the rest and the whole day, and the freshness at a time of the day if one is given.

    changes: of an element in a day
    synchronisations: of an element in a day
    window: how long it is, as a share of the day, with which it begins
    share: of the synchronisations, how many fall into the window, evenly; the others into the rest
    time: of the day, from 0 to 1
    """
    in_window, outside = _integrals_of_the_day(changes, synchronisations, window, share)
    if time is not None:
        yield "at that time", "freshness", float(fresh_at(time % 1.0, changes, synchronisations, window, share))
    yield "in the window", "freshness", in_window / window
    if window < 1:
        yield "outside", "freshness", outside / (1 - window)
    yield "whole day", "freshness", in_window + outside


def _whole_numbers(value: object) -> tuple[int, ...]:
    """Return whole numbers, given as a list or as text such as 9 + 1, as a tuple; raise FieldError for others."""
    parts = value.split("+") if isinstance(value, str) else value
    try:
        result = tuple(int(part) for part in parts) if isinstance(parts, list | tuple) else None
    except (TypeError, ValueError):
        result = None
    if result is None or min(result, default=0) < 0:
        raise FieldError(
            "", f"{short_repr(value)} is no list of whole numbers", "such as [9, 1] or 9 + 1, each 0 or more"
        )
    return result


def _one_each(parts: tuple[int, ...], synchronisations: tuple[int, ...]) -> None:
    """Raise FieldError unless there is one number of synchronisations per element."""
    if len(synchronisations) != len(parts):
        wrong = f"{len(synchronisations)} for {len(parts)} elements"
        raise FieldError("synchronisations", wrong, "one number per element")


Numbers = Annotated[tuple[int, ...], BeforeValidator(_whole_numbers)]


@formula("benefit", BENEFIT, groups=("elements", "best division"), check=_one_each)
def benefit_of(parts: tuple[Count, ...], synchronisations: Numbers) -> Values:
    """The gain of synchronisations at equal distances, of elements that change once in each part of a day.

    It is a share of the day, summed over elements: as they are shared out, and if as many are shared out as is best.

    parts: by element, the equal parts of a day in each of which it changes
    synchronisations: by element, how many there are in a day: a list, or a text such as 9 + 1
    """
    yield "elements", "benefit", float(benefit(parts, synchronisations))
    yield "best division", "benefit", float(benefit(parts, best_division(parts, sum(synchronisations))))


def one_weight_each(rates: tuple[float, ...], weights: tuple[float, ...], **_: object) -> None:
    """Raise FieldError unless there is at least one rate, and one weight per rate if there are weights."""
    if not rates:
        raise FieldError("rates", "shape (0,)", "a list of at least one change rate")
    if weights and len(weights) != len(rates):
        raise FieldError("weights", f"{len(weights)} for {len(rates)} rates", "one weight per rate")


ALLOCATIONS = ("proportional", "uniform", *GOALS)


@formula("allocation", ALLOCATED, groups=ALLOCATIONS, metrics=(*PAIR, "frequency"), check=one_weight_each)
def allocation(
    *,
    rates: tuple[NotNegative, ...],
    weights: tuple[Positive, ...] = (),
    frequency: Frequency,
    order: OrderName = "fixed",
    rate: Positive | None = None,
) -> Values:
    """Freshness and age of elements that share a budget of synchronisations, by allocation.

    With a `rate`, also how often an element that changes at that rate is synchronised per unit of time.

    rates: how often the elements change
    weights: how many of each there are; equally many if left out
    rate: of an element, or of one more that is treated like the others
    """
    changes, number, by = np.array(rates), np.array(weights or np.ones(len(rates))), ORDERS[order]
    results = {"proportional": proportional(changes, frequency, number), "uniform": np.full(changes.shape, frequency)}
    results |= {group: optimal(changes, frequency, by, goal, number) for group, goal in GOALS.items()}
    for group, frequencies in results.items():
        yield from _pair(group, (freshness(changes, frequencies, by, number), age(changes, frequencies, by, number)))
        if rate is None:
            continue
        if group in GOALS:
            own_frequency = at_gain([rate], gain_of(changes, frequencies, by, GOALS[group]), by, GOALS[group])[0]
        else:
            own_frequency = frequency * (rate / np.average(changes, weights=number) if group == "proportional" else 1.0)
        yield group, "frequency", float(own_frequency)


@formula("equal-gain", GAIN, groups=("element",), metrics=("frequency", "highest_frequency", "rate_of_highest"))
def equal_gain(gain: Positive, rate: Positive, order: OrderName = "fixed") -> Values:
    """The frequency at which one synchronisation more is worth `gain`, and the highest at any rate, with that rate.

    gain: mu, the freshness that one more synchronisation per unit of time is worth
    rate: how often the element changes
    """
    peak, highest = gain_peak(gain, ORDERS[order])
    yield "element", "frequency", float(at_gain([rate], gain, ORDERS[order])[0])
    yield "element", "highest_frequency", highest
    yield "element", "rate_of_highest", peak


Ends = tuple[NotNegative, NotNegative]


@final
class Accepted(Part):
    """The values that a printed freshness and age may stand for, both ends included."""

    freshness: Ends = Field(description="from, to")
    age: Ends = Field(description="from, to, in days")


@formula("histograms", SEARCHED, groups=("histograms",), metrics=("fitting",))
def histograms(
    *,
    daily: NotNegative,
    weekly: NotNegative,
    month: Positive = 30.0,
    proportional: Accepted,
    uniform: Accepted,
    optimal: Accepted,
) -> float:
    """The number of histograms of change intervals, open bars in steps of one per cent, that fit the printed values.

    Pages change daily, weekly, monthly, every four months or yearly, and are synchronised once a month.

    daily: share of pages that change every day
    weekly: share of pages that change every week
    month: its days
    proportional: of the proportional allocation
    uniform: of the uniform allocation
    optimal: of the best allocations, for freshness and for age
    """
    accepted = {"proportional": proportional, "uniform": uniform, "optimal": optimal}
    ranges = {name: (ranges_accepted.freshness, ranges_accepted.age) for name, ranges_accepted in accepted.items()}
    return float(len(table_6_fits(daily, weekly, ranges, month=month)))

"""Tables 4 to 6 and Figures 6, 7, 9, 10, 17 and 18 of Sync, as data.

Table 2 is `sync_order`, Table 3 `sync_rates`, allocations are `sync_allocation`. What
is here puts them together at the paper's parameters, which are arguments.

Table 4 has a model of its own: an element changes once in each of n equal parts of
the day, at an even time in it. A part with m synchronisations at equal distances, the
j-th at j / (m + 1) of it, gains the time from the first that sees the change, on average

    sum over j of (1 / (m + 1)) (1 - j / (m + 1)) = m / (2 (m + 1))  of the part.   (1)

The paper calls it crude: what the copy was worth before the change is left out.

Table 6 is a histogram of change intervals of which the text names two bars and the
length of the others. Which heights of these fit the printed values is `table_6_fits`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from replnet.laws.base import Array
from replnet.laws.check import FieldError
from replnet.theory.inverse import increasing_root
from replnet.theory.sync_allocation import Allocation, Elements, Goal, at_multiplier, optimal, proportional, uniform
from replnet.theory.sync_order import FIXED, ORDERS, Floats, SyncOrder
from replnet.theory.sync_rates import (
    Pair,
    gamma_proportional_age,
    gamma_uniform_age,
    gamma_uniform_freshness,
)

DAY, WEEK, YEAR = 1.0, 7.0, 365.0


class Graph(NamedTuple):
    """A curve: y over x."""

    x: Floats
    y: Floats


def largest_ratio(freshness: float, order: SyncOrder = FIXED) -> float:
    """The r = lambda / f up to which a freshness is met (Sync 4)."""
    if not 0 < freshness < 1:
        raise FieldError("freshness", f"{freshness!r} is out of range", "a number above 0 and below 1")
    low, high = 1.0, 1.0
    while order.freshness_at(low) < freshness:
        low /= 2
    while order.freshness_at(high) > freshness:
        high *= 2
    # Relative to the smaller of freshness and what is missing from 1, as the root is known to so much.
    scale = min(freshness, 1 - freshness)
    return increasing_root(lambda r: (freshness - float(order.freshness_at(r))) / scale, low / 2, high * 2)


def figure_6(ratios: Array) -> dict[str, tuple[Graph, Graph]]:
    """Freshness, and age in units of I, over r, by order."""
    r = np.asarray(ratios, dtype=float)
    return {str(order): (Graph(r, order.freshness_at(r)), Graph(r, order.age_at(r))) for order in ORDERS}


def figure_7(ratios: Array, spreads: Array) -> tuple[Floats, Floats]:
    """F_p / F_u and A_u / A_p over r > 0 (rows) and delta (columns); at most 1, the second 0 from delta = 1 on."""
    if not np.all(np.asarray(ratios) > 0):
        raise FieldError("ratios", "a ratio that is not above 0", "ratios above 0, as without changes there is no age")
    r, delta = np.meshgrid(np.asarray(ratios, dtype=float), np.asarray(spreads, dtype=float), indexing="ij")
    freshness = np.asarray(FIXED.freshness_at(r)) / gamma_uniform_freshness(r, delta)
    return freshness, gamma_uniform_age(r, delta) / gamma_proportional_age(r, delta)


def table_4(parts: Sequence[int], synchronisations: Sequence[int]) -> Fraction:
    """Benefit of so many synchronisations of elements that change once in each of so many parts of the day; (1)."""
    return sum((_benefit(n, k) for n, k in zip(parts, synchronisations, strict=True)), Fraction(0))


def table_4_best(parts: tuple[int, int], budget: int) -> tuple[int, int]:
    """How to divide a budget between two elements; the last column of Table 4."""
    return max(((budget - k, k) for k in range(budget + 1)), key=lambda pair: table_4(parts, pair))


def _benefit(parts: int, synchronisations: int) -> Fraction:
    each, more = divmod(synchronisations, parts)
    gains = [Fraction(m, 2 * (m + 1)) for m in (each, each + 1)]
    return ((parts - more) * gains[0] + more * gains[1]) / parts


def figure_9(rates: tuple[float, float], budget: float, shares: Array) -> Graph:
    """Freshness over the share of a budget f1 + f2 that the second element gets, over that at equal shares."""
    x = np.asarray(shares, dtype=float)
    fast, slow = rates
    freshness = np.asarray(FIXED.freshness(fast, budget * (1 - x))) + np.asarray(FIXED.freshness(slow, budget * x))
    return Graph(x, freshness / (2 * uniform(Elements.listed(rates), budget / 2).freshness.value))


def best_share(rates: tuple[float, float], budget: float) -> float:
    """Where Fig. 9 is highest: the star."""
    return float(optimal(Elements.listed(rates), budget / 2).frequencies[1] / budget)


def table_5(rates: Sequence[float], frequency: float) -> tuple[Floats, Floats]:
    """Best frequencies for freshness, and for age (Sync Example 4)."""
    elements = Elements.listed(rates)
    return optimal(elements, frequency).frequencies, optimal(elements, frequency, goal="age").frequencies


def figure_10(example: Sequence[float], frequency: float, goal: Goal, rates: Array) -> Graph:
    """The best frequency of elements of any rate, at the mu that is right for `example`."""
    elements, x = Elements.listed(example), np.asarray(rates, dtype=float)
    best = optimal(elements, frequency, goal=goal).frequencies
    # The gain of the slowest that changes: it is the last to be given up.
    at = int(np.argmin(np.where(elements.rates > 0, elements.rates, np.inf)))
    rate, ratio = float(elements.rates[at]), float(elements.rates[at] / best[at])
    gain = FIXED.freshness_gain(ratio) / rate if goal == "freshness" else FIXED.age_gain(ratio) / rate**2
    return Graph(x, at_multiplier(x, float(gain), FIXED, goal))


def figure_17(multiplier: float, ratios: Array, order: SyncOrder = FIXED) -> Graph:
    """Points (lambda, f) with dF/df = mu, by their lambda / f (Sync eq. 16); Fig. 18 has mu = 1 and 2."""
    r = np.asarray(ratios, dtype=float)
    rate = np.asarray(order.freshness_gain(r)) / multiplier
    return Graph(rate, rate / r)


def figure_18_peak(multiplier: float, order: SyncOrder = FIXED) -> tuple[float, float]:
    """The highest point (lambda, f) of Fig. 17, where K(r) / r is largest: r K' = K."""

    def falling(r: float) -> float:
        return float(order.freshness_gain(r)) - r * float(order.freshness_gain_slope(r))

    ratio = increasing_root(falling, 0.5, 20.0)
    graph = figure_17(multiplier, np.array([ratio]), order)
    return float(graph.x[0]), float(graph.y[0])


def web(heights: Sequence[float], month: float = 30.0) -> Elements:
    """Pages that change daily, weekly, monthly, every four months and yearly, by shares; in days (Sync Fig. 12)."""
    return Elements.histogram(1 / _change_intervals(month), heights)


def table_6(heights: Sequence[float], month: float = 30.0) -> dict[str, Pair]:
    """Freshness, and age in days, of pages that are synchronised once a month on average, in fixed order.

    `optimal` is the best for each of the two.
    """
    elements, frequency = web(heights, month), 1 / month

    best, youngest = optimal(elements, frequency), optimal(elements, frequency, goal="age")
    return {
        "proportional": _pair(proportional(elements, frequency)),
        "uniform": _pair(uniform(elements, frequency)),
        "optimal": Pair(best.freshness.value, youngest.age.value),
    }


def _pair(allocation: Allocation) -> Pair:
    return Pair(allocation.freshness.value, allocation.age.value)


Accepts = Mapping[str, tuple[tuple[float, float], tuple[float, float]]]


def table_6_fits(
    daily: float, weekly: float, accepts: Accepts, *, step: float = 0.01, month: float = 30.0
) -> list[tuple[tuple[float, ...], dict[str, Pair]]]:
    """Heights of the last three bars, on a grid, for which every value of Table 6 lies in `accepts[policy]`.

    A range of freshness and one of age per policy, ends included; policies left out are not looked at.
    """
    count = round((1 - daily - weekly) / step)
    found = []
    for monthly in range(count + 1):
        for four in range(count + 1 - monthly):
            rest = (monthly * step, four * step, (count - monthly - four) * step)
            heights = (daily, weekly, *(round(height, 12) for height in rest))
            # Two of the three policies are cheap, and rule most grid points out.
            if _cheap(heights, month, accepts):
                values = table_6(heights, month)
                if all(_within(values[policy], ranges) for policy, ranges in accepts.items()):
                    found.append((heights, values))
    return found


def _cheap(heights: Sequence[float], month: float, accepts: Accepts) -> bool:
    makers: dict[str, Callable[[Elements, float], Allocation]] = {"proportional": proportional, "uniform": uniform}
    elements = web(heights, month)
    return all(
        _within(_pair(make(elements, 1 / month)), accepts[policy])
        for policy, make in makers.items()
        if policy in accepts
    )


def _within(values: Pair, ranges: tuple[tuple[float, float], tuple[float, float]]) -> bool:
    return all(low <= value <= high for value, (low, high) in zip(values, ranges, strict=True))


def _change_intervals(month: float) -> Floats:
    return np.array([DAY, WEEK, month, 4 * month, YEAR])

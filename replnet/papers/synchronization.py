"""What Sync asks of orders and allocations: Tables 4 and 6, and the graphs of Fig. 10, 17 and 18.

Table 2 is `sync_order`, Table 3 `sync_rates`, allocations are `sync_allocation`.

Table 4 has a model of its own: an element changes once in each of n equal parts of
the day, at an even time in it. A part with m synchronisations at equal distances, the
j-th at j / (m + 1) of it, gains the time from the first that sees the change, on average

    sum over j of (1 / (m + 1)) (1 - j / (m + 1)) = m / (2 (m + 1))  of the part.   (1)

The paper calls it crude: what the copy was worth before the change is left out.

All elements of an optimal allocation gain as much from one synchronisation more,
dF/df = mu or -dA/df = mu, and a graph of f over lambda at one mu is that of any other,
scaled (Sync Thm 5).

Table 6 is a histogram of change intervals of which the text names two bars and the
length of the others. Which heights of these fit the printed values is `table_6_fits`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np

from replnet.ages.roots import increasing_root
from replnet.laws.law import Array
from replnet.papers.sync_allocation import Allocation, Elements, Goal, at_multiplier, optimal, proportional, uniform
from replnet.papers.sync_order import FIXED, Floats, SyncOrder
from replnet.papers.sync_rates import Pair
from replnet.text.errors import FieldError

DAY, WEEK, YEAR = 1.0, 7.0, 365.0


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


def benefit(parts: Sequence[int], synchronisations: Sequence[int]) -> Fraction:
    """Benefit of so many synchronisations of elements that change once in each of so many parts of the day; (1)."""
    return sum((_benefit(n, k) for n, k in zip(parts, synchronisations, strict=True)), Fraction(0))


def best_division(parts: Sequence[int], budget: int) -> tuple[int, ...]:
    """How to divide a budget among elements. As (1) is concave in every number, one after the other will do."""
    found = [0] * len(parts)
    for _ in range(budget):
        gains = [_benefit(n, k + 1) - _benefit(n, k) for n, k in zip(parts, found, strict=True)]
        found[gains.index(max(gains))] += 1
    return tuple(found)


def _benefit(parts: int, synchronisations: int) -> Fraction:
    each, more = divmod(synchronisations, parts)
    gains = [Fraction(m, 2 * (m + 1)) for m in (each, each + 1)]
    return ((parts - more) * gains[0] + more * gains[1]) / parts


def at_equal_gain(best: Allocation, goal: Goal, rates: Array) -> Floats:
    """The frequencies of elements of any rates that gain as much from one more as those of an optimal allocation."""
    elements = best.elements
    # The slowest that changes is the last to be given up.
    at = int(np.argmin(np.where(elements.rates > 0, elements.rates, np.inf)))
    rate, ratio = float(elements.rates[at]), float(elements.rates[at] / best.frequencies[at])
    order = best.order
    gain = order.freshness_gain(ratio) / rate if goal == "freshness" else order.age_gain(ratio) / rate**2
    return at_multiplier(np.asarray(rates, dtype=float), float(gain), order, goal)


def gain_peak(multiplier: float, order: SyncOrder = FIXED) -> tuple[float, float]:
    """The (lambda, f) with the highest f among those with dF/df = mu, where K(r) / r is largest: r K' = K."""

    def falling(r: float) -> float:
        return float(order.freshness_gain(r)) - r * float(order.freshness_gain_slope(r))

    ratio = increasing_root(falling, 0.5, 20.0)
    rate = float(order.freshness_gain(ratio)) / multiplier
    return rate, rate / ratio


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

"""A budget of downloads shared among sources: one condition, and one solver, for all papers.

Source i is downloaded p_i times per unit of time, sum p_i = R. What one download more
is worth falls with p_i, so in the best allocation it is the same for all that are
downloaded, the price m, and no larger for the others (Lagrange). Under an order of
refreshes with the gains K and J of `orders`, and r = d / p the changes of a source of
rate d between two of its downloads, that is

    freshness    sum u h(r)        (u / d) K(r) = m        0 where u / d <= m                   (1)
    age          sum v a(r) / p    (v / d^2) J(r) = m      never 0 where d > 0                  (2)

(1) in the fixed order is Crawl eq. 6 and Sync 5.3, for which both say "numerically solved".
A source that stands for w alike, each synchronised f times, has d = w lambda, p = w f, u = w
and v = w^2.

Close to m = u / d the rate of (1) vanishes in the fixed order as slowly as 1 / log(1 / (1 - m d / u)), so
m itself cannot say small rates: a budget of a thousandth of d asks for m within e^-1000 of
u / d. With M the largest u / d and h = M d / u - 1, write m = M / (1 + exp(t)). Then

    log(K / (1 - K)) = log(1 + h) - t - log(1 - h exp(-t)),                                     (3)

which is exact for the sources with h = 0 at any t; for (2) it is log J = -t - log(v / d^2).
The inverses of these two functions of log r are kept as curves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np

from replnet.ages.curve import fit
from replnet.ages.roots import bracket, crossing
from replnet.laws.law import Floats
from replnet.papers.orders import FIXED, Order

Goal = Literal["freshness", "age"]

CLOSED, SPENT = 4e-16, 1e-15  # relative width of a bracket that is closed; a budget that is met
GRID = np.linspace(-345.0, 345.0, 6901)  # of log r
PANEL = 25  # of its steps
RESOLVED = 1e-13  # of log r
POLISH = 8  # steps from the grid, each of which gains two digits
LARGEST_POWER = 700.0  # of e
FARTHEST = 1e160  # t that no budget needs


class Allocation(NamedTuple):
    """A download rate per source, and what one download more per unit of time would be worth.

    Rates add up to the budget, except where no source gains from being downloaded: then all are 0.
    """

    rates: Floats
    price: float


def spend(
    budget: float, rates_at: Callable[[float], Floats], start: float = 0.0, farthest: float = FARTHEST
) -> tuple[Floats, float]:
    """The rates that add up to `budget`, of rates that grow with t, and their t.

    Two t that no float separates may differ in their rates, by sources that are about to be given up. Rates between
    theirs are then as good: what differs is worth the price to the last digit. What no rates up to the farthest t
    spend is worth nothing, and shared in proportion.
    """

    def over(t: float) -> float:
        total = float(rates_at(t).sum())
        return math.log(total / budget) if total > 0 else -math.inf

    low, high = crossing(over, *bracket(over, start, farthest=farthest), close=CLOSED, enough=SPENT)
    less, more = rates_at(low[0]), rates_at(high[0])
    least, most = float(less.sum()), float(more.sum())
    if most < budget:
        return more * (budget / most), high[0]
    share = (budget - least) / (most - least) if most > least else 1.0
    return less + share * (more - less), low[0] + share * (high[0] - low[0])


def best_rates(order: Order, goal: Goal, worth: Floats, changes: Floats, budget: float) -> Allocation:
    """The rates of (1) or (2), u or v being the `worth`; within 1e-12 of the largest freshness."""
    rates = np.zeros(changes.size)
    gaining = np.flatnonzero((worth > 0) & (changes > 0))
    if gaining.size == 0:
        return Allocation(rates, 0.0)
    u, d, log_ratio = worth[gaining], changes[gaining], inverse_gain(order, goal)
    rarely = float(d.sum()) / budget
    start = -float(level(order, goal, np.log(rarely)))  # where all are alike
    if goal == "age":
        share = np.log(u) - 2 * np.log(d)
        rates[gaining], t = spend(budget, lambda t: d * np.exp(-log_ratio(-t - share)), start - float(share.mean()))
        return Allocation(rates, math.exp(-t))
    top = float((u / d).max())
    behind = (top - u / d) / (u / d)

    def rates_at(t: float) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            y = np.log1p(behind) - t - np.log1p(-behind * np.exp(min(-t, LARGEST_POWER)))
        found, fed = np.zeros(d.size), np.flatnonzero(np.isfinite(y))
        found[fed] = d[fed] * np.exp(-log_ratio(y[fed]))
        return found

    rates[gaining], t = spend(budget, rates_at, max(start, -rarely))
    return Allocation(rates, top / (1 + math.exp(min(t, LARGEST_POWER))))


def at_price(order: Order, goal: Goal, worth: Floats, changes: Floats, price: float) -> Floats:
    """The rates of (1) or (2) at a price, of sources that change."""
    if goal == "age":
        return changes * np.exp(-inverse_gain(order, goal)(np.log(price * changes) + np.log(changes / worth)))
    gain = price * changes / worth
    rates, fed = np.zeros(changes.size), gain < 1
    rates[fed] = changes[fed] * np.exp(-inverse_gain(order, goal)(np.log(gain[fed]) - np.log1p(-gain[fed])))
    return rates


def level(order: Order, goal: Goal, log_r: Floats) -> Floats:
    """log(K / (1 - K)), or log J."""
    r = np.exp(log_r)
    with np.errstate(divide="ignore", under="ignore"):
        if goal == "age":
            return np.asarray(np.log(order.age_gain(r)))
        # Of the fixed order 1 - K = (1 + r) exp(-r) is soon too small for a float.
        kept = np.log1p(r) - r if order is FIXED else np.log(order.freshness_kept(r))
        return np.asarray(np.log(order.freshness_gain(r)) - kept)


@lru_cache(maxsize=64)
def inverse_gain(order: Order, goal: Goal) -> Callable[[Floats], Floats]:
    """log r by the `level` that is asked for."""
    whole = level(order, goal, GRID)
    grid, known = GRID[np.isfinite(whole)], whole[np.isfinite(whole)]
    slope = np.gradient(known, grid)
    edges, at_edges = known[::PANEL], grid[::PANEL]

    def bent(y: Floats) -> Floats:
        """log r beyond the straight lines between the edges, as small numbers keep more digits."""
        found = np.interp(y, known, grid)
        for _ in range(POLISH):
            found = found - (level(order, goal, found) - y) / np.interp(y, known, slope)
        return np.asarray(found - np.interp(y, edges, at_edges))

    curve, last = fit(bent, edges, tolerance=RESOLVED), float(edges[-1])

    def log_ratio(y: Floats) -> Floats:
        known = np.minimum(y, last)
        # Where 1 - K vanishes in floats it does so exponentially.
        return np.asarray(np.interp(known, edges, at_edges) + curve(known) + np.log(np.maximum(y / last, 1.0)))

    return log_ratio

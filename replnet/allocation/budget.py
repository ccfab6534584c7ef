"""A budget of downloads shared among sources: one condition, and one solver, for all papers.

Source i is downloaded p_i times per unit of time, sum p_i = R. The worth of one more
download falls with p_i, so in the best allocation it is the same for all sources that are
downloaded, the price m, and no larger for the others (Lagrange). Under an order of
refreshes with the gains K and J of `orders`, and r = d / p the changes of a source of
rate d between two of its downloads, that is

    freshness    sum u h(r)        (u / d) K(r) = m        0 where u / d <= m                   (1)
    age          sum v a(r) / p    (v / d^2) J(r) = m      never 0 where d > 0                  (2)

(1) in the fixed order is Crawl eq. 6 and Sync 5.3, for which both papers say "numerically solved".
A source that stands for w equal ones, each synchronised f times, has d = w lambda, p = w f, u = w
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

from replnet.ages import bracket, crossing
from replnet.allocation.orders import FIXED, Order
from replnet.laws import Floats, fit_curve

Goal = Literal["freshness", "age"]

CLOSED, SPENT = 4e-16, 1e-15  # relative width of a bracket that is closed; relative error of a budget that is spent
GRID = np.linspace(-345.0, 345.0, 6901)  # values of log r
PANEL = 25  # steps of the grid to a panel
RESOLVED = 1e-13  # error of log r
POLISH = 8  # steps from the grid, each of which gains two digits
LARGEST_POWER = 700.0  # exponent of e that is still a float
FARTHEST = 1e160  # a t that no budget needs


class Allocation(NamedTuple):
    """The download rate of each source, and the worth of one more download per unit of time (`price`).

    The worth is how much it adds to the goal, such as the sum of weighted freshness. Rates add up to the budget, except
    where no source gains from being downloaded: then all are 0. Where time goes in slots, they are shares of slots.
    """

    rates: Floats
    price: float


def spend(
    budget: float, rates_at: Callable[[float], Floats], start: float = 0.0, farthest: float = FARTHEST
) -> tuple[Floats, float]:
    """Return the rates that add up to `budget`, and their t, where `rates_at` maps a t to rates that grow with it.

    Rates are arrays with an element per source. The search begins at the t `start` and goes about `farthest` to either
    side; a budget that no rates in there spend is shared in proportion to the last ones. Two neighbouring floats t may
    differ in their rates, by sources that are about to be given up. Rates between theirs are then as good: what differs
    is worth the price to the last digit.
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
    """Return the download rates that spend a budget best, and their price: with most freshness, or with the least age.

    The `goal` is summed over sources, each times its `worth`, as in (1) and (2); `changes` are their change rates, and
    `order` is that of their downloads. Sources without worth or changes get nothing. Right to 1e-12 of the largest
    freshness.
    """
    rates = np.zeros(changes.size)
    gaining = np.flatnonzero((worth > 0) & (changes > 0))
    if gaining.size == 0:
        return Allocation(rates, 0.0)
    u, d, log_ratio = worth[gaining], changes[gaining], inverse_gain(order, goal)
    rarely = float(d.sum()) / budget
    start = -float(log_gain(order, goal, np.log(rarely)))  # the solution for equal sources
    if goal == "age":
        share = np.log(u) - 2 * np.log(d)
        rates[gaining], t = spend(budget, lambda t: d * np.exp(-log_ratio(-t - share)), start - float(share.mean()))
        return Allocation(rates, math.exp(-t))
    top = float((u / d).max())
    behind = (top - u / d) / (u / d)

    def rates_at(t: float) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            y = np.log1p(behind) - t - np.log1p(-behind * np.exp(min(-t, LARGEST_POWER)))
        result, downloaded = np.zeros(d.size), np.flatnonzero(np.isfinite(y))
        result[downloaded] = d[downloaded] * np.exp(-log_ratio(y[downloaded]))
        return result

    rates[gaining], t = spend(budget, rates_at, max(start, -rarely))
    return Allocation(rates, top / (1 + math.exp(min(t, LARGEST_POWER))))


def at_price(order: Order, goal: Goal, worth: Floats, changes: Floats, price: float) -> Floats:
    """Return the download rate of every source at which one more download gains as much as the `price`.

    The gain is that of `goal`, freshness (1) or less age (2), times the `worth`; `changes` are the rates of changes,
    all above 0, and `order` is that of the downloads. For freshness the rate is 0 where no download gains as much.
    """
    if goal == "age":
        return changes * np.exp(-inverse_gain(order, goal)(np.log(price * changes) + np.log(changes / worth)))
    gain = price * changes / worth
    rates, downloaded = np.zeros(changes.size), gain < 1
    rates[downloaded] = changes[downloaded] * np.exp(
        -inverse_gain(order, goal)(np.log(gain[downloaded]) - np.log1p(-gain[downloaded]))
    )
    return rates


def log_gain(order: Order, goal: Goal, log_r: Floats) -> Floats:
    """Return the worth of one more download on a log scale, by log r, where r is the changes between two downloads.

    For freshness it is log(K / (1 - K)), for age log J: K is the gain of freshness times the change rate, and J the
    fall of age times its square, of downloads in this order.
    """
    r = np.exp(log_r)
    with np.errstate(divide="ignore", under="ignore"):
        if goal == "age":
            return np.asarray(np.log(order.age_gain(r)))
        # Of the fixed order 1 - K = (1 + r) exp(-r) is soon too small for a float.
        log_rest = np.log1p(r) - r if order is FIXED else np.log(order.freshness_gain_rest(r))
        return np.asarray(np.log(order.freshness_gain(r)) - log_rest)


@lru_cache(maxsize=64)
def inverse_gain(order: Order, goal: Goal) -> Callable[[Floats], Floats]:
    """Return a function from values of `log_gain`, for this order and goal, to log r: it inverts `log_gain`.

    It is computed once for each order and goal.
    """
    gains = log_gain(order, goal, GRID)
    grid, log_gains = GRID[np.isfinite(gains)], gains[np.isfinite(gains)]
    slope = np.gradient(log_gains, grid)
    edges, at_edges = log_gains[::PANEL], grid[::PANEL]

    def deviation(y: Floats) -> Floats:
        """Return log r, less the straight lines between the edges of panels, as small numbers keep more digits."""
        log_r = np.interp(y, log_gains, grid)
        for _ in range(POLISH):
            log_r = log_r - (log_gain(order, goal, log_r) - y) / np.interp(y, log_gains, slope)
        return np.asarray(log_r - np.interp(y, edges, at_edges))

    curve, last = fit_curve(deviation, edges, tolerance=RESOLVED), float(edges[-1])

    def log_ratio(y: Floats) -> Floats:
        covered = np.minimum(y, last)
        # Where 1 - K vanishes in floats it does so exponentially.
        return np.asarray(np.interp(covered, edges, at_edges) + curve(covered) + np.log(np.maximum(y / last, 1.0)))

    return log_ratio

"""Searches of inverse problems: the least amount that meets a demand, and the cheapest of several amounts.

A demand has a margin, which rises with every amount and is below 0 where the demand is missed. With x_i of amount i, of
which each unit costs w_i and no more than c_i may be had, these are sought:

    the least x with margin(x) >= 0                                                      (1)
    the x of least cost w_1 x_1 + ... + w_n x_n with margin(x) >= 0 and x_i <= c_i       (2)

(2) takes two steps by turns. Along a ray that is cut off at the limits the margin rises, so (1) finds the least
multiple that will do. Then one amount is exchanged for another at the same cost for as long as the margin rises, pair
by pair, which leaves more than is needed, and so a shorter ray. Only one sum and the limits tie the amounts together,
so where no exchange of two raises the margin, nothing does. Along an exchange a quasi-concave margin has one peak,
which a climb finds. In case it has several, a coarse look at the whole line comes first.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from itertools import combinations

from replnet.ages import UnreachableError, bracket, crossing

Amounts = tuple[float, ...]
Margin = Callable[[Amounts], float]

AMOUNT_PRECISION = 1e-5  # relative, of the least amount that is sought
FIRST_STEP, LARGEST_STEP = 0.2, 4.0  # of the logarithm of an amount
LATER_STEP = 0.02
FARTHEST = math.log(2.0**20)  # from where a search begins, in the logarithm of the amount
PEAK_PRECISION = 0.05  # of the logarithm of the ratio of two costs; the cost changes by about its square
LEAST_SHIFT = 0.1  # of that: if a parabola moves a peak by less, the peak stays where it was seen
STEP_GROWTH = 3.0  # from one step of a climb to the next
# first points of a line to look at, relative to its start
COARSE_POINTS = (-9.0, -6.0, -3.5, -1.5, -0.6, 0.0, 0.6, 1.5, 3.5, 6.0, 9.0)
LEAST_GAIN = 3e-4  # share of the cost that a turn must save for another to follow
MOST_TURNS = 12


def least_amount(margin: Callable[[float], float], start: float = 1.0, step: float = FIRST_STEP) -> float:
    """Return the least positive amount at which `margin` is 0 or more; 0 if it is so at any.

    `margin` rises with the amount, and the result is up to a relative 1e-5 of it. The search begins at `start`, and
    `step` is its first step of the amount's logarithm. Raises UnreachableError if no amount will do, up to 2^20 times
    `start`.
    """

    def by_logarithm(y: float) -> float:
        return margin(math.exp(y))

    low, high = bracket(by_logarithm, math.log(start), step, LARGEST_STEP, FARTHEST)
    if high[1] < 0:
        raise UnreachableError(f"not met by {math.exp(high[0]):g}")
    if low[1] >= 0:
        return 0.0
    return math.exp(crossing(by_logarithm, low, high, close=AMOUNT_PRECISION)[1][0])


def find_peak(
    value: Callable[[float], float], start: float, low: float, high: float, fine: float = PEAK_PRECISION
) -> float:
    """Return the point of [low, high] at which `value` peaks, within a distance of `fine`, by climbing from `start`.

    On level ground it stays where it is.
    """
    seen = {start: value(start)}

    def rises(x: float, from_: float) -> bool:
        if x not in seen:
            seen[x] = value(x)
        return seen[x] > seen[from_]

    at, ends = start, {-1: start, 1: start}
    for way in (1, -1):
        step = fine
        while (x := min(max(at + way * step, low), high)) != at:
            if not rises(x, at):
                ends[way] = x
                break
            ends[-way], at, step = at, x, STEP_GROWTH * step
        else:
            ends[way] = at
        if at != start:
            break
    below, above = ends[-1], ends[1]
    while max(at - below, above - at) > 1.01 * fine:
        x = _inside(below, at, above, seen, fine)
        if rises(x, at):
            below, at, above = (at, x, above) if x > at else (below, x, at)
        else:
            below, above = (below, x) if x > at else (x, above)
    peak = _vertex(below, at, above, seen)
    return peak if abs(peak - at) > LEAST_SHIFT * fine else at


def _inside(below: float, at: float, above: float, seen: dict[float, float], fine: float) -> float:
    """Return the point to try next between `below` and `above`, which enclose a peak near `at`, the best point so far.

    It is the peak of a parabola, or lies in the wider part if that is closer than `fine` / 2 to another point. `seen`
    has the values by point.
    """
    x = _vertex(below, at, above, seen)
    if abs(x - at) > fine / 2 and below + fine / 2 < x < above - fine / 2:
        return x
    golden = (3 - math.sqrt(5)) / 2
    return at + golden * (above - at) if above - at > at - below else at - golden * (at - below)


def _vertex(below: float, at: float, above: float, seen: dict[float, float]) -> float:
    """Return the peak of the parabola through three points, whose values are in `seen`.

    It is the middle point, `at`, if two of them are the same or the parabola has no peak.
    """
    if not below < at < above:
        return at
    left, right = (seen[at] - seen[below]) / (at - below), (seen[above] - seen[at]) / (above - at)
    if not left > right:
        return at
    # The slope falls from `left` to `right` between the middles of both parts.
    return (below + at) / 2 + (above - below) / 2 * left / (left - right)


def cheapest_amounts(
    margin: Margin, costs: Sequence[float], limits: Sequence[float], ray: Amounts, coarse: bool
) -> Amounts:
    """Return the amounts of least total cost at which `margin` is 0 or more, none above its limit.

    `costs` are per unit of each amount. The search begins on `ray`: amounts in proportion, of which infinite ones begin
    at their limits. With `coarse` it looks at all exchanges of two amounts from end to end first. Returns zeros if any
    amounts will do, and raises UnreachableError if none do.
    """
    best, cost = (math.inf,) * len(costs), math.inf
    step = FIRST_STEP
    for _ in range(MOST_TURNS):
        amounts = _shortest(margin, ray, limits, step)
        spent = sum(map(operator.mul, costs, amounts))
        if not spent:
            return amounts
        if not spent < cost * (1 - LEAST_GAIN):
            return best if cost <= spent else amounts
        best, cost = amounts, spent
        for i, j in combinations(range(len(costs)), 2):
            amounts = _exchange(margin, costs, limits, amounts, i, j, coarse)
        if amounts == best:
            return best
        ray, step, coarse = ray_through(amounts, limits), LATER_STEP, False
    return best


def ray_through(amounts: Amounts, limits: Sequence[float]) -> Amounts:
    """Return `amounts` with infinity in the place of those at their limits, which are to stay there on a ray.

    If all of them are at their limits, they are returned as they are.
    """
    ray = tuple(math.inf if x >= c else x for x, c in zip(amounts, limits, strict=True))
    return ray if min(ray) < math.inf else amounts


def _shortest(margin: Margin, ray: Amounts, limits: Sequence[float], step: float) -> Amounts:
    """Return the least multiple of `ray` at which `margin` is 0 or more, with amounts cut off at their limits.

    Infinite amounts of the ray are at their limits, and fall only if these are more than enough. `step` is the first
    step of the multiple's logarithm. Returns zeros if any multiple will do.
    """

    def cut(times: float) -> Amounts:
        return tuple(c if x == math.inf else min(times * x, c) for x, c in zip(ray, limits, strict=True))

    if times := least_amount(lambda times: margin(cut(times)), 1.0, step):
        return cut(times)
    if math.inf in ray:  # amounts that are at their limits are enough, or even less of them
        return _shortest(margin, cut(1.0), limits, step)
    return (0.0,) * len(ray)


def _exchange(
    margin: Margin, costs: Sequence[float], limits: Sequence[float], amounts: Amounts, i: int, j: int, coarse: bool
) -> Amounts:
    """Return `amounts` with some of the i-th exchanged for the j-th, or the other way round, so that the margin peaks.

    The total cost stays the same, but for amounts cut off at their limits. With `coarse` it looks at exchanges from end
    to end first, and climbs from the best of these.
    """
    spent = costs[i] * amounts[i] + costs[j] * amounts[j]

    def split_cost(y: float) -> Amounts:
        """Return the amounts if exp(y) times as much of the cost of both is spent on the i-th as on the j-th."""
        result = list(amounts)
        result[i] = min(spent / costs[i] / (1 + math.exp(-y)), limits[i])
        result[j] = min(spent / costs[j] / (1 + math.exp(y)), limits[j])
        return tuple(result)

    def ratio(most: float) -> float:
        """Return the logarithm of the ratio of both costs if `most` is spent on one amount and the rest on the other.

        It is infinite if there is no rest.
        """
        return math.log(most / (spent - most)) if most < spent else math.inf

    current = start = math.log(costs[i] * amounts[i] / (costs[j] * amounts[j]))
    low, high = -ratio(costs[j] * limits[j]), ratio(costs[i] * limits[i])
    low, high = max(low, min(start, COARSE_POINTS[0])), min(high, max(start, COARSE_POINTS[-1]))
    start = min(max(start, low), high)
    if coarse:
        points = dict.fromkeys(min(max(start + away, low), high) for away in COARSE_POINTS)
        start = max(points, key=lambda y: margin(split_cost(y)))
    peak = find_peak(lambda y: margin(split_cost(y)), start, low, high)
    return amounts if peak == current else split_cost(peak)

"""The best rates for pages that are refreshed at random (Crawl, Algorithms 1 and 2, Remark 4).

Page i changes as a Poisson process of rate d and is worth u. Refreshed at rate p it is fresh
for a share of the time that depends on the intervals between refreshes:

    exponential intervals    p / (p + d)                                   Crawl eq. 5 (1)
    fixed intervals          (1 - exp(-r)) / r,  r = d / p                 Crawl eq. 6 (2)
    one page a slot, drawn with probability p, and changed in a slot with
    probability d            p / (p + d - p d)                             Crawl eq. 3 (3)

Weighted freshness is the mean of these by utility. To maximise it with (1) under
a budget R = sum p, Lagrange gives p = sqrt(u d) / sqrt(m) - d wherever that is
above 0, that is for u / d above the threshold m (Crawl eq. 11, Claim 2). Let
s = sqrt(u / d), S the largest s, a = sqrt(u d), h = S / s - 1 and 1 + e = S / sqrt(m). Then

    S p = a (e - h)+,     sum a (e - h)+ = S R,                                    (4)

which is water of level e in vessels of area a and floor h. Only differences of
like numbers are taken, so nothing is lost at a small budget or between equal
pages. In order of h the level is a ratio of cumulative sums, which is what
Algorithm 2 computes from the other end. (3) is (1) with u and d divided by 1 - d
and so is (4) with the same h and areas a / (1 - d): Algorithm 1. With (2) the best
rates are those of `budget`.

A worth that decays as exp(-d x) with the age x of a copy, at one page a slot of length 1, has the mean (Remark 4)

    (q / d) p / (p + q - p q),   q = 1 - exp(-d),                                  (5)

which is (3) at a change probability of q, times the mean of exp(-d x) over a slot. So Algorithm 1 finds its
optimum, with q for d and u q / d for u.

Pages without changes, and those without utility, are never refreshed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.allocation.budget import Allocation, best_rates
from replnet.allocation.orders import FIXED
from replnet.laws import Floats
from replnet.text import LARGEST, SMALLEST, FieldError, field_name, positive

# A page that is unchanged with less than this chance in a slot is, in floats, one that always changes.
UNCHANGED = 2.0**-60


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pages:
    """Pages, with how much each is worth (`utilities`) and how often it changes (`changes`), as arrays of floats.

    Changes are counted per unit of time, or are the probability of one in a slot. It raises a FieldError if these are
    not numbers from 0 on, are not as many, or if all utilities are 0.
    """

    utilities: Floats
    changes: Floats  # per unit of time, or the probability in a slot

    def __post_init__(self) -> None:
        object.__setattr__(self, "utilities", numbers("utilities", self.utilities))
        object.__setattr__(self, "changes", numbers("changes", self.changes, self.utilities.size))
        if not self.utilities.any():
            raise FieldError("utilities", "all are 0", "at least one page that is worth something")

    @property
    def size(self) -> int:
        """The number of pages."""
        return self.utilities.size

    def mean(self, fresh: Floats) -> float:
        """Return the mean of the pages' freshness, an array with a share per page, weighted by utility."""
        return float(self.utilities @ fresh) / float(self.utilities.sum())


def numbers(field: str, values: npt.ArrayLike, size: int | None = None) -> Floats:
    """Return `values` as a flat array of floats, each 0 or from 1e-100 to 1e100; `size` of them, unless that is None.

    Raises FieldError, which names `field`, for anything else, also for an empty list.
    """
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf" or array.size == 0:
        raise FieldError(field, "not a plain list of numbers", "one number per page, such as [1, 0.5]")
    if size is not None and array.size != size:
        raise FieldError(field, f"{array.size} numbers for {size} pages", "one number per page")
    array = np.ascontiguousarray(array, dtype=np.float64)
    bad = np.flatnonzero(~((array == 0) | ((array >= SMALLEST) & (array <= LARGEST))))
    if bad.size:
        right = f"0, or a number from {SMALLEST:g} to {LARGEST:g}"
        raise FieldError(field_name((field, int(bad[0]))), f"{array[bad[0]]:g} is out of range", right)
    return array


def optimal_random_rates(pages: Pages, budget: float) -> Allocation:
    """Return the rates that add up to `budget` with the largest freshness at exponential intervals between refreshes.

    Freshness is the mean by utility of p / (p + d), with refresh rates p and change rates d (Crawl, Algorithm 2, eq.
    11). In O(n log n); exact up to rounding. Raises a FieldError unless the budget is positive.
    """
    return _pour(pages.utilities, pages.changes, None, positive("budget", budget))


def optimal_shares(pages: Pages) -> Allocation:
    """Return the shares of slots, which add up to 1, with the largest freshness if each slot's page is drawn.

    `changes` are the probabilities of a change in a slot, for which a FieldError is raised if one is above 1. Freshness
    is the mean by utility of p / (p + d - p d), with shares p and changes d. Exact (Crawl, Algorithm 1).
    """
    above = np.flatnonzero(pages.changes > 1)
    if above.size:
        wrong = f"{pages.changes[above[0]]:g} is above 1"
        raise FieldError(field_name(("changes", int(above[0]))), wrong, "the probability of a change in a slot")
    return _pour(pages.utilities, pages.changes, 1 - pages.changes, 1.0)


def optimal_slot_shares(pages: Pages) -> Allocation:
    """Return the shares of slots, which add up to 1, with the largest worth of copies if each slot's page is drawn.

    A copy of age x is worth exp(-d x) times the utility, with change rate d and the slot as unit of time (Crawl, Remark
    4). Exact. The threshold, `price`, is on utility over change rate still, as both are multiplied by the same factor.
    """
    d, q = pages.changes, -np.expm1(-pages.changes)
    share = np.divide(q, d, out=np.ones_like(d), where=d > 0)
    return _pour(pages.utilities * share, q, np.exp(-d), 1.0)


def optimal_fixed_rates(pages: Pages, budget: float) -> Allocation:
    """Return the rates that add up to `budget` with the largest freshness at fixed intervals between refreshes.

    Freshness is the mean by utility of (1 - exp(-r)) / r, r = d / p, with refresh rates p and change rates d. Raises a
    FieldError unless the budget is positive.
    """
    return best_rates(FIXED, "freshness", pages.utilities, pages.changes, positive("budget", budget))


def _pour(u: Floats, d: Floats, unchanged: Floats | None, budget: float) -> Allocation:
    """Return the rates (4) with the largest weighted freshness at random refreshes, by the level of water in vessels.

    Utilities u and change rates d give floors and areas of the vessels, one per page. Areas are divided by `unchanged`,
    the chances of no change in a slot, unless it is None for refreshes at any time. Rates add up to `budget`, or are
    all 0 if no page has utility and changes; the price is the threshold on u / d above which a page is refreshed.
    """
    rates = np.zeros(u.size)
    gaining = np.flatnonzero((u > 0) & (d > 0))
    if gaining.size == 0:
        return Allocation(rates, 0.0)
    if gaining.size < u.size:
        u, d, unchanged = u[gaining], d[gaining], None if unchanged is None else unchanged[gaining]
    steep, area = np.sqrt(u / d), np.sqrt(u * d)
    if unchanged is not None:
        area /= np.maximum(unchanged, UNCHANGED)
    steepest = float(steep.max())
    floor = (steepest - steep) / steep
    level = _level(floor, area, steepest * budget)
    poured = area * np.maximum(level - floor, 0.0) / steepest
    # What rounding leaves over goes where it matters least: in the widest vessel it moves the level least.
    widest = int(np.argmax(np.where(floor <= level, area, 0.0)))
    poured[widest] = max(poured[widest] + budget - float(poured.sum()), 0.0)
    rates[gaining] = poured
    return Allocation(rates, (steepest / (1 + level)) ** 2)


def _level(floor: Floats, area: Floats, amount: float) -> float:
    """Return the level at which `amount` of water stands in vessels of these floors and areas."""
    order = np.argsort(floor)
    floors, areas = floor[order], area[order]
    del order  # at ten million pages every array counts
    solid = areas * floors
    below = np.cumsum(areas)
    under = np.cumsum(solid)
    # A vessel gets wet if water in those before it would rise above its floor.
    wet = floors[1:] * below[:-1] < amount + under[:-1]
    count = 1 + (wet.size if wet.all() else int(np.argmin(wet)))
    return (amount + float(solid[:count].sum())) / float(areas[:count].sum())


def in_proportion(weights: Floats, budget: float) -> Floats:
    """Return rates in proportion to the weights that add up to the budget; equal rates if all weights are 0.

    Raise a FieldError unless the budget is positive.
    """
    total, budget = float(weights.sum()), positive("budget", budget)
    return weights * (budget / total) if total > 0 else np.full(weights.size, budget / weights.size)


POLICIES: dict[str, Callable[[Pages, float], Floats]] = {
    "new algorithm": lambda pages, budget: optimal_random_rates(pages, budget).rates,
    "optimum": lambda pages, budget: optimal_fixed_rates(pages, budget).rates,
    # The optimum at fixed intervals if all pages were worth the same (Sync 5.3).
    "change rate directed": lambda pages, budget: (
        optimal_fixed_rates(Pages(np.ones(pages.size), pages.changes), budget).rates
    ),
    "utility proportional": lambda pages, budget: in_proportion(pages.utilities, budget),
    "change rate proportional": lambda pages, budget: in_proportion(pages.changes, budget),
    "uniform": lambda pages, budget: in_proportion(np.zeros(pages.size), budget),
}

"""Which pages a crawler should refresh, and how often (Crawl).

Page i changes as a Poisson process of rate d and is worth u. Refreshed at rate p
it is fresh for a share of the time that depends on what lies between refreshes:

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
and so is (4) with the same h and areas a / (1 - d): Algorithm 1.

Remark 4: let the worth of a copy decay as exp(-d x) with its age x instead. For
refreshes in continuous time that has the mean (1) or (2), the probability of no
change in x. The remark says so of discrete time as well, where it does not hold: with
one page a slot of length 1 the mean is

    (q / d) p / (p + q - p q),   q = 1 - exp(-d),                                  (5)

which is (3) at a change probability of q, times the mean of exp(-d x) over a slot.
So Algorithm 1 finds its optimum, with q for d and u q / d for u; Algorithm 2 is its
limit for rare changes. (5) is also the freshness along continuous time of pages that
change at rate d and are refreshed at the ends of slots, the purely random order of
sync_order.

Beyond the paper: pages without changes (fresh, whatever is done; never refreshed),
without utility (never refreshed), and that change in every slot (d = 1 in (3)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.text.errors import LARGEST, SMALLEST, FieldError, positive

Floats = npt.NDArray[np.float64]

# A page that is unchanged with less than this chance in a slot is, in floats, one that always changes.
UNCHANGED = 2.0**-60


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pages:
    """What every page is worth, and how often it changes."""

    utilities: Floats
    changes: Floats  # per unit of time, or the probability in a slot

    def __post_init__(self) -> None:
        object.__setattr__(self, "utilities", numbers("utilities", self.utilities))
        object.__setattr__(self, "changes", numbers("changes", self.changes, self.utilities.size))
        if not self.utilities.any():
            raise FieldError("utilities", "all are 0", "at least one page that is worth something")

    @property
    def size(self) -> int:
        return self.utilities.size


@final
@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """A refresh rate per page: 0 where utility over change rate does not exceed `threshold`.

    The rates add up to the budget, except where no page gains from being refreshed: then all are 0.
    """

    rates: Floats
    threshold: float


def numbers(field: str, values: npt.ArrayLike, size: int | None = None) -> Floats:
    """`values` as an array of numbers that are 0 or positive; `size` of them if that is given."""
    array = np.asarray(values)
    if array.ndim != 1 or array.dtype.kind not in "iuf" or array.size == 0:
        raise FieldError(field, "not a plain list of numbers", "one number per page, such as [1, 0.5]")
    if size is not None and array.size != size:
        raise FieldError(field, f"{array.size} numbers for {size} pages", "one number per page")
    array = np.ascontiguousarray(array, dtype=np.float64)
    bad = np.flatnonzero(~((array == 0) | ((array >= SMALLEST) & (array <= LARGEST))))
    if bad.size:
        right = f"0, or a number from {SMALLEST:g} to {LARGEST:g}"
        raise FieldError(f"{field}[{bad[0]}]", f"{array[bad[0]]:g} is out of range", right)
    return array


def random_freshness(pages: Pages, rates: npt.ArrayLike) -> float:
    """Weighted freshness at Poisson refreshes of these rates, (1). Exact."""
    p, d = numbers("rates", rates, pages.size), pages.changes
    return _weighted(pages, _share(p, p + d))


def fixed_freshness(pages: Pages, rates: npt.ArrayLike) -> float:
    """Weighted freshness if every page is refreshed at fixed intervals, (2). Exact."""
    p, d = numbers("rates", rates, pages.size), pages.changes
    with np.errstate(divide="ignore", invalid="ignore"):
        fresh = -np.expm1(-d / p) * (p / d)
    return _weighted(pages, np.where(d == 0, 1.0, np.where(p == 0, 0.0, fresh)))


def optimal_random(pages: Pages, budget: float) -> Allocation:
    """The rates with the largest `random_freshness` for a total rate of `budget` (Crawl Algorithm 2).

    In O(n log n). Exact: (4) up to rounding.
    """
    return _poured(pages.utilities, pages.changes, None, positive("budget", budget))


def optimal_discrete(pages: Pages) -> Allocation:
    """The shares, which add up to 1, with the largest mean of (3) by utility (Crawl Algorithm 1). Exact."""
    return _poured(pages.utilities, pages.changes, 1 - _probabilities(pages), 1.0)


def optimal_slotted(pages: Pages) -> Allocation:
    """The shares, which add up to 1, with the largest mean of (5) by utility (Crawl Remark 4). Exact.

    The threshold is on u / d still, as both are multiplied by the same.
    """
    u, q = pages.utilities * _over_a_slot(pages.changes), -np.expm1(-pages.changes)
    return _poured(u, q, np.exp(-pages.changes), 1.0)


def _poured(u: Floats, d: Floats, unchanged: Floats | None, budget: float) -> Allocation:
    """(4); areas are divided by `unchanged`."""
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
    """Where `amount` of water stands in vessels of these floors and areas."""
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


def _weighted(pages: Pages, fresh: Floats) -> float:
    return float(pages.utilities @ fresh) / float(pages.utilities.sum())


def _share(part: Floats, whole: Floats) -> Floats:
    """part / whole; 1 for a page that does not change and is not refreshed, the limit of ever rarer refreshes."""
    return np.divide(part, whole, out=np.ones_like(whole), where=whole > 0)


def _over_a_slot(d: Floats) -> Floats:
    """q / d of (5)."""
    return np.divide(-np.expm1(-d), d, out=np.ones_like(d), where=d > 0)


def _probabilities(pages: Pages) -> Floats:
    above = np.flatnonzero(pages.changes > 1)
    if above.size:
        wrong = f"{pages.changes[above[0]]:g} is above 1"
        raise FieldError(f"changes[{above[0]}]", wrong, "the probability of a change in a slot")
    return pages.changes

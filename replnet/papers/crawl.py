"""The pages that a crawler should refresh, and how often (Crawl).

Page i changes as a Poisson process of rate d and is worth u. Refreshed at rate p
it is fresh for a share of the time that depends on the intervals between refreshes:

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

Remark 4: let the worth of a copy decay as exp(-d x) with its age x instead. For
refreshes in continuous time that has the mean (1) or (2), the probability of no
change in x. The remark says so of discrete time as well, where it does not hold: with
one page a slot of length 1 the mean is

    (q / d) p / (p + q - p q),   q = 1 - exp(-d),                                  (5)

which is (3) at a change probability of q, times the mean of exp(-d x) over a slot.
So Algorithm 1 finds its optimum, with q for d and u q / d for u; Algorithm 2 is its
limit for rare changes. (5) is also the freshness along continuous time of pages that
change at rate d and are refreshed at the ends of slots, the purely random order.

The paper derandomises its rates: the pages go round in a fixed order in which each comes
at its rate, but not at fixed intervals. With x the intervals of a page in such an order,
T in all,

    its freshness = sum (1 - exp(-d x)) / d / T,                                   (6)

which is (2) if all x are equal and less otherwise, by Jensen. The paper prints (2) only.

Beyond the paper: pages without changes (fresh, whatever is done; never refreshed),
without utility (never refreshed), and that change in every slot (d = 1 in (3)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, final

import numpy as np
import numpy.typing as npt

from replnet.ages.prediction import Basis, Prediction
from replnet.laws.fields import Count, PerSource, PerSourceField, size_errors, source_weights, values_per_source
from replnet.laws.law import Floats, Ints
from replnet.papers.budget import Allocation, best_rates
from replnet.papers.formula import NotNegative, Positive, Values, formula
from replnet.papers.orders import FIXED, PURELY_RANDOM
from replnet.text.errors import LARGEST, SMALLEST, FieldError, FieldsError, field_name, positive

# A page that is unchanged with less than this chance in a slot is, in floats, one that always changes.
UNCHANGED = 2.0**-60


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pages:
    """Pages, by how much each is worth and how often it changes."""

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
        """Return the mean of the pages' freshness, weighted by utility."""
        return float(self.utilities @ fresh) / float(self.utilities.sum())


def numbers(field: str, values: npt.ArrayLike, size: int | None = None) -> Floats:
    """Return `values` as an array of numbers that are 0 or positive; `size` of them, if that is given.

    Raises FieldError, which names `field`.
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


# ---- The freshness at given rates


def random_freshness(pages: Pages, rates: npt.ArrayLike) -> float:
    """Return the weighted freshness at Poisson refreshes of these rates, eq. 5."""
    return pages.mean(np.asarray(PURELY_RANDOM.freshness(pages.changes, numbers("rates", rates, pages.size))))


def fixed_freshness(pages: Pages, rates: npt.ArrayLike) -> float:
    """Return the weighted freshness if every page is refreshed at fixed intervals, eq. 6."""
    return pages.mean(np.asarray(FIXED.freshness(pages.changes, numbers("rates", rates, pages.size))))


def slotted_freshness(pages: Pages, shares: npt.ArrayLike) -> float:
    """Return the weighted freshness if one page a slot is drawn with these shares, eq. 3.

    Changes are probabilities of a change in a slot.
    """
    p, d = numbers("rates", shares, pages.size), pages.changes
    return pages.mean(np.divide(p, p + d - p * d, out=np.ones_like(d), where=d > 0))


def order_freshness(pages: Pages, order: npt.ArrayLike, slot: float) -> float:
    """Return the weighted freshness if the pages in `order` are refreshed one per `slot`, round and round, (6).

    Exact.
    """
    turns, slot = np.asarray(order), positive("slot", slot)
    if turns.ndim != 1 or turns.dtype.kind not in "iu" or turns.size == 0:
        raise FieldError("order", "not a plain list of pages", "numbers of pages, such as [0, 1, 0, 2]")
    if turns.min() < 0 or turns.max() >= pages.size:
        raise FieldError("order", f"names pages {turns.min()} to {turns.max()}", f"pages from 0 to {pages.size - 1}")
    owner, slots, count = intervals_of(turns.astype(np.int64, copy=False))
    freshness = FIXED.freshness(pages.changes[owner], 1 / (slots * slot)) * slots * count / turns.size
    never = np.bincount(turns, minlength=pages.size) == 0
    return pages.mean(np.where(never, pages.changes == 0, np.bincount(owner, freshness, pages.size)))


def intervals_of(order: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the distinct intervals between refreshes of pages that go round and round in this order.

    Three arrays: the page, the slots from one turn of it to the next, and how often that comes in a round.
    """
    turns = np.argsort(order, kind="stable")
    owner = order[turns]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    last = np.append(first[1:], turns.size) - 1
    slots = np.empty(turns.size, np.int64)
    slots[1:] = np.diff(turns)
    slots[first] = turns[first] - turns[last] + turns.size
    keys, count = np.unique(owner * (turns.size + 1) + slots, return_counts=True)
    owner, slots = np.divmod(keys, turns.size + 1)
    return owner, slots, count


# ---- The best rates


def optimal_random_rates(pages: Pages, budget: float) -> Allocation:
    """Return the rates with the largest `random_freshness` for a total rate of `budget` (Algorithm 2, eq. 11).

    In O(n log n). Exact: (4) up to rounding.
    """
    return _pour(pages.utilities, pages.changes, None, positive("budget", budget))


def optimal_shares(pages: Pages) -> Allocation:
    """Return the shares, which add up to 1, with the largest mean of (3) by utility (Algorithm 1). Exact."""
    above = np.flatnonzero(pages.changes > 1)
    if above.size:
        wrong = f"{pages.changes[above[0]]:g} is above 1"
        raise FieldError(field_name(("changes", int(above[0]))), wrong, "the probability of a change in a slot")
    return _pour(pages.utilities, pages.changes, 1 - pages.changes, 1.0)


def optimal_slot_shares(pages: Pages) -> Allocation:
    """Return the shares, which add up to 1, with the largest mean of (5) by utility (Remark 4). Exact.

    The threshold is on u / d still, as both are multiplied by the same factor.
    """
    d, q = pages.changes, -np.expm1(-pages.changes)
    share = np.divide(q, d, out=np.ones_like(d), where=d > 0)
    return _pour(pages.utilities * share, q, np.exp(-d), 1.0)


def optimal_fixed_rates(pages: Pages, budget: float) -> Allocation:
    """Return the rates with the largest `fixed_freshness` for a total rate of `budget`, by (1) of `budget`."""
    return best_rates(FIXED, "freshness", pages.utilities, pages.changes, positive("budget", budget))


def _pour(u: Floats, d: Floats, unchanged: Floats | None, budget: float) -> Allocation:
    """Return the rates (4) with the largest weighted freshness at random refreshes, by the level of water in vessels.

    Utilities u and change rates d give floors and areas; areas are divided by `unchanged`, the chances of no change in
    a slot.
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


# ---- Policies


def in_proportion(weights: Floats, budget: float) -> Floats:
    """Return rates in proportion to the weights that add up to the budget; equal rates if all weights are 0."""
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


# ---- By name

POISSON = "Poisson changes"
AT_INTERVALS = Basis("exact", "Crawl eq. 6", f"{POISSON}; every page at fixed intervals")
ROUND = Basis("exact", "Crawl eq. 6 over the intervals of Algorithm 3", POISSON)
AT_RANDOM = Basis("exact", "Crawl eq. 5", f"{POISSON}; every page at exponential intervals")
SLOTS = Basis("exact", "Crawl eq. 3", "one page a slot, drawn with these shares")
RANDOMISED, CAROUSEL = "new algorithm, randomised", "new algorithm, carousel"
ALGORITHM_2 = Basis("exact", "Crawl eq. 11, Claim 2", POISSON)
OPTIMA: dict[str, tuple[Callable[[Pages, float], Allocation], Basis]] = {
    "exponential": (optimal_random_rates, ALGORITHM_2),
    "constant": (optimal_fixed_rates, Basis("exact", "Crawl eq. 6, solved numerically", POISSON)),
    "slots": (lambda pages, _: optimal_shares(pages), Basis("exact", "Crawl Algorithm 1", SLOTS.assumes)),
}
OF_POLICIES = (*POLICIES, CAROUSEL, RANDOMISED)
OF_SLOTS = ("algorithm 1", *POLICIES)
OF_THRESHOLD = ("refreshed", "threshold", "never refreshed")
MOST_PAGES_SHOWN = 10  # pages that have a row of their own
PAGES = tuple(f"page {i}" for i in range(1, MOST_PAGES_SHOWN + 1))

Rates = Annotated[PerSourceField, "how often pages change: a list, or a law whose quantiles they are"]
Weights = Annotated[PerSourceField, "what pages are worth: a list, or a law whose quantiles are dealt to them"]
Budget = Annotated[Positive, "refreshes per unit of time, all pages together"]
Number = Annotated[Count | None, "how many pages; left out where rates or weights are a list"]
Utilities = Annotated[tuple[NotNegative, ...], "what pages are worth"]
Changes = Annotated[tuple[NotNegative, ...], "how often they change, or in a slot with which probability"]


def _pages(sources: int | None, rates: PerSource, weights: PerSource, **_: object) -> Pages:
    """Return the pages that these arguments of a formula describe; raises FieldsError if they do not fit."""
    sizes = {
        name: len(entries) for name, entries in (("rates", rates), ("weights", weights)) if isinstance(entries, tuple)
    }
    faults = [*size_errors(sources, sizes)]
    if isinstance(weights, tuple) and not any(weights):
        faults.append(("weights", "are all 0", "at least one source that counts"))
    if faults:
        raise FieldsError(((field,), wrong, right) for field, wrong, right in faults)
    count = sources or next(iter(sizes.values()))
    return Pages(source_weights(weights, count) * count, values_per_source(rates, count))


@formula("crawl-policies", AT_INTERVALS, groups=OF_POLICIES, metrics=("freshness", "share_of_optimum"), check=_pages)
def crawl_policies(*, sources: Number = None, rates: Rates, weights: Weights, budget: Budget) -> Values:
    """Weighted freshness by policies at fixed intervals (Crawl eq. 6), and its share of the largest there is.

    The new algorithm has its rates at exponential intervals, too, and in a carousel of one page at a time.
    """
    pages = _pages(sources, rates, weights)
    rates_by_policy = {name: policy(pages, budget) for name, policy in POLICIES.items()}
    results = {
        name: (fixed_freshness(pages, policy_rates), AT_INTERVALS) for name, policy_rates in rates_by_policy.items()
    }
    results[CAROUSEL] = _carousel_freshness(pages, rates_by_policy["new algorithm"]), ROUND
    results[RANDOMISED] = random_freshness(pages, rates_by_policy["new algorithm"]), AT_RANDOM
    for name, (value, basis) in results.items():
        yield name, "freshness", Prediction.of(value, basis)
        yield name, "share_of_optimum", Prediction.of(value / results["optimum"][0], basis)


def _chances(sources: int | None, rates: PerSource, weights: PerSource) -> Pages:
    """Return the pages that these arguments describe, with changes that are probabilities in a slot."""
    pages = _pages(sources, rates, weights)
    if float(pages.changes.max()) > 1:
        wrong = f"{pages.changes.max():g} is above 1"
        raise FieldError("rates", wrong, "probabilities of a change in a slot, from 0 to 1")
    return pages


@formula("crawl-slots", SLOTS, groups=OF_SLOTS, metrics=("freshness", "share_of_optimum"), check=_chances)
def crawl_slots(*, sources: Number = None, rates: Rates, weights: Weights) -> Values:
    """Weighted freshness in slots (eq. 3, Problem 1) by policies that draw the pages, and its share of the largest.

    It is the share of requests that find a fresh page (eq. 1), where weights are how often pages are asked for.

    rates: in which share of the slots a page changes, each by itself: a list, or a law whose quantiles they are
    """
    pages = _chances(sources, rates, weights)
    shares = {"algorithm 1": optimal_shares(pages).rates}
    shares |= {name: policy(pages, 1.0) for name, policy in POLICIES.items()}
    results = {name: slotted_freshness(pages, policy_shares) for name, policy_shares in shares.items()}
    for name, fresh in results.items():
        yield name, "freshness", fresh
        yield name, "share_of_optimum", fresh / results["algorithm 1"]


def _carousel_freshness(pages: Pages, rates: Floats) -> float:
    """Return the weighted freshness at these rates in a carousel of one page at a time."""
    from replnet.laws.processes.carousel import long_round

    return order_freshness(pages, long_round(rates), 1 / float(rates.sum())) if rates.any() else pages.mean(rates)


@formula("crawl-threshold", ALGORITHM_2, groups=OF_THRESHOLD, metrics=("worth_per_change", "pages"), check=_pages)
def crawl_threshold(
    *,
    sources: Number = None,
    rates: Rates,
    weights: Weights,
    budget: Budget,
    intervals: Literal["exponential", "constant"] = "exponential",
) -> Values:
    """Worth over change rate of pages: the smallest that is refreshed, the threshold, and the largest that is not.

    intervals: between refreshes of a page: exponential (Algorithm 2) or constant
    """
    pages = _pages(sources, rates, weights)
    optimum, basis = OPTIMA[intervals]
    allocated = optimum(pages, budget)
    # A page that never changes is fresh, whatever is done.
    changing = pages.changes > 0
    worth = np.divide(pages.utilities, pages.changes, out=np.zeros(pages.size), where=changing)
    yield "threshold", "worth_per_change", Prediction.of(allocated.price, basis)
    for group, which, end in (("refreshed", allocated.rates > 0, min), ("never refreshed", allocated.rates == 0, max)):
        which = which & changing
        yield group, "pages", Prediction.of(int(which.sum()), basis)
        if which.any():
            yield group, "worth_per_change", Prediction.of(end(worth[which]), basis)


@formula("crawl-rates", ALGORITHM_2, groups=(*PAGES, "threshold"), metrics=("rate", "worth_per_change"))
def crawl_rates(
    utilities: Utilities,
    changes: Changes,
    budget: Budget = 1.0,
    intervals: Literal["exponential", "constant", "slots"] = "exponential",
) -> Values:
    """How often to refresh each of the first ten pages for the largest weighted freshness, and the threshold.

    intervals: exponential (Algorithm 2), constant (eq. 6), or slots with one page each (Algorithm 1)
    """
    optimum, basis = OPTIMA[intervals]
    allocated = optimum(Pages(np.array(utilities), np.array(changes)), budget)
    for name, rate in zip(PAGES, allocated.rates, strict=False):
        yield name, "rate", Prediction.of(rate, basis)
    yield "threshold", "worth_per_change", Prediction.of(allocated.price, basis)


@formula("crawl-freshness", AT_RANDOM, groups=("exponential", "constant", "slots"), metrics=("freshness",))
def crawl_freshness(utilities: Utilities, changes: Changes, rates: tuple[NotNegative, ...]) -> Values:
    """Weighted freshness at given rates: exponential intervals (eq. 5), constant ones (eq. 6), slots (eq. 3).

    rates: refreshes of each per unit of time, or the share of slots
    """
    pages = Pages(np.array(utilities), np.array(changes))
    yield "exponential", "freshness", Prediction.of(random_freshness(pages, rates), AT_RANDOM)
    yield "constant", "freshness", Prediction.of(fixed_freshness(pages, rates), AT_INTERVALS)
    if max(*changes, sum(rates)) <= 1:
        yield "slots", "freshness", Prediction.of(slotted_freshness(pages, rates), SLOTS)

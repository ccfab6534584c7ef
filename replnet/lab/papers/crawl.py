"""The pages that a crawler should refresh, and how often (Crawl).

Page i changes as a Poisson process of rate d and is worth u. Refreshed at rate p
it is fresh for a share of the time that depends on the intervals between refreshes:

    exponential intervals    p / (p + d)                                   Crawl eq. 5 (1)
    fixed intervals          (1 - exp(-r)) / r,  r = d / p                 Crawl eq. 6 (2)
    one page a slot, drawn with probability p, and changed in a slot with
    probability d            p / (p + d - p d)                             Crawl eq. 3 (3)

The best rates under a budget, (4), are those of `allocation/pages`; with (2), those of `allocation/budget`.

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
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from replnet.ages import Basis, Prediction
from replnet.allocation import (
    FIXED,
    POLICIES,
    PURELY_RANDOM,
    Allocation,
    Pages,
    intervals_of,
    numbers,
    optimal_fixed_rates,
    optimal_random_rates,
    optimal_shares,
)
from replnet.lab.named_formulas import NotNegative, Positive, Values, formula
from replnet.laws import Floats
from replnet.network import Count, PerSource, PerSourceField, size_errors, source_weights, values_per_source
from replnet.text import FieldError, FieldsError, positive

# ---- The freshness at given rates


def random_freshness(pages: Pages, rates: npt.ArrayLike) -> float:
    """Return the mean freshness of pages, weighted by utility, if each is refreshed at exponential intervals (eq. 5).

    `rates` are refreshes per unit of time, one number per page. Raises FieldError if these are not such numbers.
    """
    return pages.mean(np.asarray(PURELY_RANDOM.freshness(pages.changes, numbers("rates", rates, pages.size))))


def fixed_freshness(pages: Pages, rates: npt.ArrayLike) -> float:
    """Return the mean freshness of pages, weighted by utility, if each is refreshed at fixed intervals (eq. 6).

    `rates` are refreshes per unit of time, one number per page. Raises FieldError if these are not such numbers.
    """
    return pages.mean(np.asarray(FIXED.freshness(pages.changes, numbers("rates", rates, pages.size))))


def slotted_freshness(pages: Pages, shares: npt.ArrayLike) -> float:
    """Return the mean freshness of pages, weighted by utility, if one page a slot is drawn with these shares (eq. 3).

    `shares` has for each page the share of slots in which it is drawn. The `changes` of the pages are probabilities of
    a change in a slot. Raises FieldError if `shares` are not such numbers.
    """
    p, d = numbers("rates", shares, pages.size), pages.changes
    return pages.mean(np.divide(p, p + d - p * d, out=np.ones_like(d), where=d > 0))


def order_freshness(pages: Pages, order: npt.ArrayLike, slot: float) -> float:
    """Return the exact mean freshness, weighted by utility, of pages that are refreshed one per slot, round and round.

    `order` has the page of each slot of a round, numbered from 0, and `slot` is the length of a slot. A page that is
    not in it is fresh only if it never changes. Raises FieldError for an order or a slot that makes no sense.
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
    """Return the pages that these arguments of a formula describe; raise FieldsError if they do not fit together.

    `sources` is their number, or None if a list tells it; other arguments make no difference.
    """
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
    """Mean freshness, weighted by worth, by policies at fixed intervals (Crawl eq. 6), and its share of the largest.

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
    """Return the pages that these arguments of a formula describe, with changes that are probabilities in a slot.

    The change rates are taken as probabilities. Raises FieldError for one above 1, and FieldsError if the arguments do
    not fit together.
    """
    pages = _pages(sources, rates, weights)
    if float(pages.changes.max()) > 1:
        wrong = f"{pages.changes.max():g} is above 1"
        raise FieldError("rates", wrong, "probabilities of a change in a slot, from 0 to 1")
    return pages


@formula("crawl-slots", SLOTS, groups=OF_SLOTS, metrics=("freshness", "share_of_optimum"), check=_chances)
def crawl_slots(*, sources: Number = None, rates: Rates, weights: Weights) -> Values:
    """Mean freshness, weighted by worth, where policies draw a page a slot (eq. 3), and its share of the largest.

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
    """Return the mean freshness, weighted by utility, of pages in a carousel that refreshes one of them at a time.

    Each comes at its rate of `rates`, but not at fixed intervals. If all rates are 0, only pages that never change are
    fresh.
    """
    from replnet.processes import long_round

    if not rates.any():
        return pages.mean((pages.changes == 0).astype(float))
    return order_freshness(pages, long_round(rates), 1 / float(rates.sum()))


@formula("crawl-threshold", ALGORITHM_2, groups=OF_THRESHOLD, metrics=("worth_per_change", "pages"), check=_pages)
def crawl_threshold(
    *,
    sources: Number = None,
    rates: Rates,
    weights: Weights,
    budget: Budget,
    intervals: Literal["exponential", "constant"] = "exponential",
) -> Values:
    """Worth over change rate of pages: the smallest of those refreshed, the threshold, and the largest of the others.

    Also how many pages are refreshed and how many never are, of those that change at all.

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

    Rates are refreshes per unit of time, or shares of slots; the threshold is in worth over change rate.

    intervals: exponential (Algorithm 2), constant (eq. 6), or slots with one page each (Algorithm 1)
    """
    optimum, basis = OPTIMA[intervals]
    allocated = optimum(Pages(np.array(utilities), np.array(changes)), budget)
    for name, rate in zip(PAGES, allocated.rates, strict=False):
        yield name, "rate", Prediction.of(rate, basis)
    yield "threshold", "worth_per_change", Prediction.of(allocated.price, basis)


@formula("crawl-freshness", AT_RANDOM, groups=("exponential", "constant", "slots"), metrics=("freshness",))
def crawl_freshness(utilities: Utilities, changes: Changes, rates: tuple[NotNegative, ...]) -> Values:
    """Mean freshness of pages, weighted by worth: exponential intervals (eq. 5), constant ones (eq. 6), slots (eq. 3).

    The last is there only if rates and chances of a change can be those of slots, so at most 1.

    rates: refreshes of each per unit of time, or the share of slots
    """
    pages = Pages(np.array(utilities), np.array(changes))
    yield "exponential", "freshness", Prediction.of(random_freshness(pages, rates), AT_RANDOM)
    yield "constant", "freshness", Prediction.of(fixed_freshness(pages, rates), AT_INTERVALS)
    if max(*changes, sum(rates)) <= 1:
        yield "slots", "freshness", Prediction.of(slotted_freshness(pages, rates), SLOTS)

"""The rates that a policy gives to many sources, by its name and by the intervals between downloads of a source.

Best rates are those of Crawl eq. 6 and of Sync 5.3 at constant intervals, of Staleness eq. 66
for changes that are not Poisson; at exponential ones Crawl's Algorithm 2; under a purely
random order, one download per slot, Crawl's Remark 4 with the slot for a unit of time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from replnet.allocation.budget import Goal, best_rates
from replnet.allocation.least_penalty import Kind, allocate
from replnet.allocation.orders import FIXED, ORDERS, Order
from replnet.allocation.pages import (
    POLICIES,
    Pages,
    optimal_fixed_rates,
    optimal_random_rates,
    optimal_shares,
    optimal_slot_shares,
)
from replnet.laws import Exponential, Floats, Ints, Law, at_rate
from replnet.text import FieldError, short_repr, suggestion

FARTHEST_BUDGET = 1e80  # frequency over the largest rate: the cube of its inverse, an age's gain, is still a float

Between = Literal["constant", "exponential", "random", "purely random"]
OWN_NAMES = ("freshness", "age", "missing_updates", "algorithm1")
NAMES = {
    "uniform": "uniform",
    "proportional": "change rate proportional",
    "weights": "utility proportional",
    "change_directed": "change rate directed",
    "algorithm2": "new algorithm",
}


def rates_by(
    policy: str, shapes: Sequence[tuple[Law, Ints]], rates: Floats, weights: Floats, budget: float, between: Between
) -> Floats:
    """Return the download rate of every source under a policy, given by its name; they add up to `budget`.

    Best rates are all 0 if no source gains from downloads. `policy` is freshness, age, missing_updates, algorithm1 or
    one of NAMES; raise FieldError for another one. `shapes` are the laws of updates, each with the numbers of the
    sources that have it, at the update `rates` of all; `weights` are what sources are worth, of which some policies
    make no use; `between` is the kind of intervals between downloads of a source.
    """
    if policy not in OWN_NAMES and policy not in NAMES:
        raise FieldError("policy", f"{short_repr(policy)} is unknown", suggestion(policy, [*OWN_NAMES, *NAMES]))
    pages, poisson = Pages(weights, rates), all(isinstance(shape, Exponential) for shape, _ in shapes)
    match policy, between:
        case "algorithm1", _:
            return optimal_shares(Pages(weights, -np.expm1(-rates / budget))).rates * budget
        case "missing_updates", _:
            return square_root_rates(weights * rates, budget)
        case "freshness", "constant":
            if poisson:
                return optimal_fixed_rates(pages, budget).rates
            return least_penalty_rates(shapes, rates, weights, budget, "1", "source")
        case "freshness", "exponential":
            return optimal_random_rates(pages, budget).rates
        case "freshness", "purely random":
            return optimal_slot_shares(Pages(weights, rates / budget)).rates * budget
        case "freshness", "random":
            return optimal(rates, budget / rates.size, ORDERS[between])
        case "age", "constant" if not poisson or np.ptp(weights):
            return least_penalty_rates(shapes, rates, weights, budget, "x", "source")
        case "age", _:
            order = ORDERS[{"constant": "fixed", "exponential": "purely random"}.get(between, between)]
            return optimal(rates, budget / rates.size, order, "age")
    return POLICIES[NAMES[policy]](pages, budget)


def least_penalty_rates(
    shapes: Sequence[tuple[Law, Ints]], rates: Floats, weights: Floats, budget: float, by: str, kind: Kind
) -> Floats:
    """Return the download rates with the least source or update penalty at constant intervals (Staleness eq. 66).

    `shapes` are the laws of updates, each with the numbers of the sources that have it, at the update `rates` of all;
    `weights` are the sources' shares of queries, `by` is the weight of the penalty by age, such as "x", and `kind` the
    kind of penalty. Rates add up to `budget`, but for all 0 without updates; sources without updates get 0.
    """
    shape_of = {i: shape for shape, sources in shapes for i in sources.tolist()}
    result, moving = np.zeros(rates.size), np.flatnonzero(rates)
    laws = [at_rate(shape_of[i], rate) for i, rate in zip(moving.tolist(), rates[moving].tolist(), strict=True)]
    if laws:
        result[moving] = allocate(laws, weights[moving].tolist(), budget, by, kind).rates
    return result


def optimal(
    rates: Floats, frequency: float, order: Order = FIXED, goal: Goal = "freshness", weights: Floats | None = None
) -> Floats:
    """Return the best frequency of synchronisation for each element, to have most freshness or the least age.

    `rates` are those of changes, and `frequency` is the best ones' mean, weighted by `weights`: how many equal elements
    each stands for, 1 if None. `order` is that in which elements are synchronised. Raises a FieldError if the frequency
    or the `goal` is not possible. All are 0 if the frequency is 0, or nothing changes.
    """
    if goal not in ("freshness", "age"):
        raise FieldError("goal", f"{goal!r} is not known", "freshness or age")
    if not 0 <= frequency < math.inf:
        raise FieldError("frequency", f"{frequency!r} is no frequency", "a finite number, 0 or more")
    unit = float(rates.max())
    if frequency == 0 or unit == 0:
        return np.zeros(rates.shape)
    if not 1 / FARTHEST_BUDGET < frequency / unit < FARTHEST_BUDGET:
        right = f"within a factor {FARTHEST_BUDGET:g} of the largest change rate, {unit:g}, or 0"
        raise FieldError("frequency", f"{frequency:g} is out of range", right)
    number = np.ones(rates.shape) if weights is None else weights
    worth, budget = number if goal == "freshness" else number**2, frequency / unit * float(number.sum())
    return np.asarray(best_rates(order, goal, worth, number * rates / unit, budget).rates / number * unit)


def square_root_rates(worth: Floats, budget: float) -> Floats:
    """Return download rates that add up to `budget`, in proportion to the roots of `worth`; all 0 if all of these are.

    They are best for missing updates, with the share of queries times the update rate as worth (Staleness eq. 71).
    """
    roots = np.sqrt(worth)
    return np.asarray(budget * roots / roots.sum()) if roots.any() else roots

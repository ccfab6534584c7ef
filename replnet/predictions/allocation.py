"""The budget of an aggregate shared out among its sources, by the policy that its specification names.

Best rates depend on what lies between the downloads of a source. At constant intervals
they are those of Crawl eq. 6 and of Sync 5.3, of Staleness eq. 66 for changes that are not
Poisson; at exponential ones Crawl's Algorithm 2; under a purely random order, one download
per slot, Crawl's Remark 4 with the slot for a unit of time.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from replnet.laws.text import at_rate
from replnet.network.aggregate import AggregateShape, penalty_of
from replnet.network.sources import Floats, Sources
from replnet.papers.allocation import allocate
from replnet.papers.crawl_fixed import optimal_fixed
from replnet.papers.crawl_policies import POLICIES
from replnet.papers.crawling import Pages, optimal_discrete, optimal_random, optimal_slotted
from replnet.papers.many_replicas import Kind
from replnet.papers.sync_allocation import Elements, optimal
from replnet.papers.sync_order import PURELY_RANDOM, RANDOM
from replnet.text.errors import FieldError

NAMES = {
    "uniform": "uniform",
    "proportional": "change rate proportional",
    "weights": "utility proportional",
    "change_directed": "change rate directed",
    "algorithm2": "new algorithm",
}


def frequencies(spec: AggregateShape, of: Sources) -> Floats:
    """Downloads of every source per unit of time, by all replicas together."""
    if not isinstance(spec.allocate, str):
        return np.array(spec.allocate)
    budget = cast(float, spec.budget)
    if budget == 0:
        return np.zeros(of.size)
    try:
        return _shared(spec, of, budget)
    except FieldError as error:
        raise FieldError("allocate", f"{spec.allocate}: {error.field}: {error.wrong}", error.right) from None


def _shared(spec: AggregateShape, of: Sources, budget: float) -> Floats:
    pages = Pages(of.weights, of.rates)
    if spec.allocate in NAMES:
        return POLICIES[NAMES[spec.allocate]](pages, budget)
    match spec.allocate:
        case "algorithm1":
            changed = -np.expm1(-of.rates / budget)
            return optimal_discrete(Pages(of.weights, changed)).rates * budget
        case "missing_updates":
            roots = np.sqrt(of.weights * of.rates)
            return np.asarray(budget * roots / roots.sum()) if roots.any() else roots
        case "freshness":
            return _freshest(spec, of, pages, budget)
        case "age":
            return _youngest(spec, of, budget)
    penalty = penalty_of(spec.allocate)
    assert penalty is not None
    kind, weight = penalty
    return _least(of, budget, weight, cast(Kind, kind))


def _freshest(spec: AggregateShape, of: Sources, pages: Pages, budget: float) -> Floats:
    if spec.constant:
        return optimal_fixed(pages, budget).rates if of.poisson else _least(of, budget, "1", "source")
    if spec.order == "random":
        return optimal(Elements.listed(of.rates), budget / of.size, RANDOM).frequencies
    if spec.order == "purely random":
        return optimal_slotted(Pages(of.weights, of.rates / budget)).rates * budget
    return optimal_random(pages, budget).rates


def _youngest(spec: AggregateShape, of: Sources, budget: float) -> Floats:
    if not spec.constant:
        order = RANDOM if spec.order == "random" else PURELY_RANDOM
        return optimal(Elements.listed(of.rates), budget / of.size, order, "age").frequencies
    if of.poisson and spec.weights is None:
        return optimal(Elements.listed(of.rates), budget / of.size, goal="age").frequencies
    return _least(of, budget, "x", "source")


def _least(of: Sources, budget: float, by: str, kind: Kind) -> Floats:
    """Staleness eq. 66."""
    found = np.zeros(of.size)
    moving = np.flatnonzero(of.rates)
    shapes = [of.shapes[i] for i in of.which[moving].tolist()]
    laws = [at_rate(shape, rate) for shape, rate in zip(shapes, of.rates[moving].tolist(), strict=True)]
    if laws:
        found[moving] = allocate(laws, of.weights[moving].tolist(), budget, by, kind).rates
    return found

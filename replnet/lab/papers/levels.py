"""Rates of the levels of a cascade that keep it fresh at any depth, and their load on its source (P2P V-D).

Under Poisson updates the freshness of level i is the product of f_1 to f_i, f_i being what its downloads would reach
at the source (eq. 29). It does not vanish with depth if, as the paper proposes,

    f_i = (1 - (i + 1)^-rho)^s,   the product over all i = exp(-s sum over j >= 1 of (zeta(j rho) - 1) / j)   (1)

for rho > 1 and s = 1, which takes rates that grow like i^rho. Other s put the product at a target, and eq. 31 gives
the rate at which a level reaches its f_i.

The freshness of the last level does not depend on the order of the levels. The load of the source does: it answers b
times the rate of the first level, if b replicas download from each node. Slow levels on top spare it; fast ones on
top, where few replicas are, spare the replicas.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated

import numpy as np

from replnet.ages import Basis
from replnet.lab.named_formulas import Positive, Values, formula
from replnet.lab.papers.p2p import DownloadFamily, download_rate
from replnet.laws import Exponential, at_rate, special
from replnet.network import Count, Depth, Target
from replnet.text import FieldError

PRODUCT = Basis("exact", "P2P eq. 29, V-D", "Poisson updates; downloads independent of one another")
PLACES = ("slow on top", "equal rates", "fast on top")
TERMS = 60  # terms of (1), which fall like 2^-j


def _require_lasting_freshness(growth: float, target: float | None = None, **_: object) -> None:
    """Raise FieldError if there is a `target` to keep at any depth, and a `growth` of 1 or less leaves no freshness."""
    if target is not None and growth <= 1:
        raise FieldError("growth", f"{growth:g} leaves no freshness at great depth", "a number above 1, or no target")


@formula(
    "level-rates",
    PRODUCT,
    groups=("last level", "any depth", *PLACES),
    metrics=("rate", "freshness", "source_load", "replica_rate"),
    check=_require_lasting_freshness,
)
def level_rates(
    updates: Positive,
    levels: Annotated[Depth, "how many there are below the source"],
    growth: Positive,
    target: Annotated[Target | None, "freshness to keep at any depth; s = 1 if left out"] = None,
    downloads: DownloadFamily = "exponential",
    branching: Count = 1,
) -> Values:
    """Rates that keep a cascade fresh at any depth (V-D, eq. 29), and the load of the source and of the replicas.

    Of the last level: its rate, and how fresh it is; and how fresh a level at any depth is, at least. With slow levels
    on top, with equal rates that reach the same there, and with fast levels on top: how many downloads the source
    answers per unit of time, and how many a replica makes on average.

    updates: their rate; they are Poisson
    growth: rho, above 1 for a freshness that does not vanish
    branching: b, how many replicas download from each node
    """
    log_product = _log_limit(growth)
    power = 1.0 if target is None else math.log(target) / log_product
    alone = [(1 - (i + 1) ** -growth) ** power for i in range(1, levels + 1)]
    if max(alone) == 1:
        raise FieldError("growth", f"{growth:g} takes a level without any loss", "a smaller number, or fewer levels")
    last = math.prod(alone)

    def rate(freshness: float) -> float:
        return download_rate(freshness, Exponential(rate=updates), partial(at_rate, downloads))

    rates = np.array([rate(single) for single in alone])
    even = np.full(levels, rate(last ** (1 / levels)))
    yield "last level", "rate", float(rates[-1])
    yield "last level", "freshness", last
    yield "any depth", "freshness", math.exp(power * log_product)
    share = float(branching) ** np.arange(1 - levels, 1)
    for place, ordered in zip(PLACES, (rates, even, rates[::-1]), strict=True):
        yield place, "source_load", float(branching * ordered[0])
        yield place, "replica_rate", float(share @ ordered / share.sum())


def _log_limit(growth: float) -> float:
    """Return the natural logarithm of the product of 1 - (i + 1)^-growth over all levels i = 1, 2, ...

    It is minus infinity if the growth is 1 or less.
    """
    if growth <= 1:
        return -math.inf
    terms = np.arange(1, TERMS)
    return -float((special().zetac(terms * growth) / terms).sum())

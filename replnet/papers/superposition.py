"""Clients that ask several replicas and keep the freshest answer (P2P VII).

The freshest of k independent copies is as old as the last event of the
superposition of their downloads, so with G_i the tails of their ages

    P(X > x) = product of G_i(x),                                              (1)

exact for any laws and any k. As k grows at a fixed total rate it tends to an
exponential, the age of a Poisson process (Palm-Khintchine).
"""

from __future__ import annotations

from collections.abc import Sequence

from replnet.ages.information_age import InformationAge, best_of, direct
from replnet.ages.prediction import Basis, Prediction
from replnet.laws.families import Exponential
from replnet.laws.law import Law

POISSON = Basis("limit", "P2P VII-B, Palm-Khintchine", "many independent replicas, none of which dominates")


def superposed(downloads: Sequence[Law]) -> InformationAge:
    """The age of the freshest of independent replicas; (1). Exact."""
    return best_of([direct(law) for law in downloads])


def redundant(downloads: Law, ask: int, updates: Law) -> Prediction:
    """Freshness of the best of `ask` independent replicas alike (P2P VII-A). Exact."""
    return superposed([downloads] * ask).freshness(updates)


def poisson_limit(rates: Sequence[float], updates: Law) -> Prediction:
    """Freshness when the superposition is taken as Poisson of the total rate (P2P VII-B). Limit."""
    return Prediction.of(direct(Exponential(rate=sum(rates))).freshness(updates).value, POISSON)

"""Freshness that depends for good on a phase, where constant intervals meet constant ones (Staleness V-C).

Constant updates under constant downloads keep the phase at which they meet. With periods u and d
the age of the updates at the downloads goes round the circle of length u in steps of d. If
d / u = p / q in lowest terms it visits q places for good, at even distances u / q, and where
they lie is the phase phi in (0, u / q). A copy downloaded at age r is stale for
(d - (u - r))+ until the next, so

    staleness at phi    (1 / q d) sum over j < q of (d - u + phi + j u / q)+            (1)
    highest - lowest    min(d, u) / (q d)                                               (2)

and the mean over phi is that of independent ages, eq. 36. For irrational d / u places are
everywhere alike (eq. 65), which is (1) as q grows.

Queries that arrive independently of the copy see it as it is on average over time (eq. 64), be
they Poisson or not. Queries every s under downloads every d need not: with s / d = p / q in lowest
terms they find the copy at q ages for good, and where updates keep no phase with either

    freshness at phi    (1 / q) sum over j < q of P(A_U > phi + j d / q)                (3)

for a phase phi in (0, d / q), at whose ends it is highest and lowest. For irrational s / d it is
that of all time.
The paper says when there is a lock; (1) to (3), how much it matters, are ours.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from replnet.ages import Basis, direct
from replnet.lab.named_formulas import Positive, Updates, Values, formula
from replnet.laws import Constant, span_ratio

LOCKED = Basis("exact", "Staleness V-C", "constant updates and downloads, every phase equally likely")
ASKED = Basis(
    "exact", "Staleness V-C, eq. 64", "constant downloads and queries, every phase equally likely; updates keep none"
)
ENDS = ("lowest", "mean", "highest")

Period = Annotated[Positive, "the period of the downloads"]


@formula("phase-lock", LOCKED, groups=ENDS, metrics=("staleness",))
def phase_lock(updates: Positive, downloads: Period) -> Values:
    """The share of time in which a copy is stale, by the phase at which constant downloads and updates meet (1).

    Lowest, mean and highest over all phases; these are equal where no phase lasts.

    updates: the period of the updates
    """
    u, d, together = updates, downloads, span_ratio(downloads, updates)
    # Over all phases, the part of (0, d) after an update that is equally likely to be anywhere in (0, u).
    lowest = highest = mean = d / (2 * u) if d < u else 1 - u / (2 * d)
    if together is not None:
        q = together.denominator
        lowest = sum(max(d - u + j * u / q, 0.0) for j in range(q)) / (q * d)
        highest = lowest + min(d, u) / (q * d)
    yield from (("lowest", "staleness", lowest), ("mean", "staleness", mean), ("highest", "staleness", highest))


@formula("queries-in-phase", ASKED, groups=ENDS, metrics=("freshness",))
def queries_in_phase(updates: Updates, downloads: Period, queries: Positive) -> Values:
    """The share of queries that find a copy fresh, by the phase at which constant queries and downloads meet (3).

    Lowest, mean and highest over all phases; these are equal where no phase lasts.

    queries: the period of the queries
    """
    mean = direct(Constant(period=downloads)).freshness(updates).value
    together, lowest, highest = span_ratio(queries, downloads), mean, mean
    if together is not None:
        q = together.denominator
        fresh = updates.age.tail(np.arange(q + 1) * downloads / q)
        lowest, highest = float(fresh[1:].mean()), float(fresh[:-1].mean())
    yield from zip(ENDS, ("freshness",) * 3, (lowest, mean, highest), strict=True)

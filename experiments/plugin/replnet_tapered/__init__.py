"""A law, a formula and a metric of one's own, known to replnet by the entry points in pyproject.toml.

A power tail that ends: with alpha > 0 and the longest interval L,

    P(X > x) = (1 - x / L)^alpha,   E[X] = L / (alpha + 1),                                                   (1)

and the integral of the tail beyond x is E[X] (1 - x / L)^(alpha + 1), so its age is the same family one moment lighter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, final

import numpy as np

from replnet.ages.information_age import InformationAge
from replnet.ages.prediction import Basis
from replnet.ages.weights import threshold
from replnet.lab.named_formulas import Positive, Updates, formula
from replnet.laws import Law
from replnet.measure.metrics import staleness_metric
from replnet.text.errors import positive, scale_of


@final
@dataclass(frozen=True, init=False)
class Tapered(Law):
    """Intervals that are never longer than (alpha + 1) times their mean."""

    alpha: float
    longest: float

    def __init__(self, alpha: float, rate: float | None = None, longest: float | None = None) -> None:
        # The rate is what users write; the age of one is made of the longest interval, which is the same.
        alpha = positive("alpha", alpha)
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "longest", scale_of(1 / (alpha + 1), rate=rate, longest=longest))

    def __str__(self) -> str:
        return f"tapered(alpha={self.alpha:g}, longest={self.longest:g})"

    @property
    def mean(self) -> float:
        return self.longest / (self.alpha + 1)

    @property
    def second_moment(self) -> float:
        return 2 * self.longest**2 / ((self.alpha + 1) * (self.alpha + 2))

    @property
    def age(self) -> Tapered:
        return Tapered(self.alpha + 1, longest=self.longest)

    @property
    def breaks(self) -> tuple[float, ...]:
        """Where the density jumps or the support ends, for those who integrate."""
        return (self.longest,)

    def tail(self, x):
        return self._left(x) ** self.alpha

    def excess(self, x):
        return self.mean * self._left(x) ** (self.alpha + 1)

    def isf(self, q):
        return self.longest * (1 - np.asarray(q) ** (1 / self.alpha))

    def _left(self, x):
        return np.maximum(1 - np.asarray(x) / self.longest, 0.0)


@formula("nightly", "P2P eq. 8", metrics=("freshness",))
def nightly(updates: Updates, period: Annotated[Positive, "between two downloads"]) -> float:
    """How fresh a copy is that is downloaded at equal distances.

    It is as old as the download, which is even from 0 to the period, and fresh if the last update is older.
    """
    return float(updates.age.integrated_tail(period)) / period


PROMISED = 1.0  # the age of the data that users were told of


@staleness_metric(
    "overdue", "share of time or of answers whose data are older than promised, 1", "data", threshold(PROMISED),
    Basis("exact", "P(X > 1)", ""), share=True,
)  # fmt: skip
def overdue(copy: InformationAge, updates: Law) -> float:
    """The chance that a copy's data left the source longer ago than was promised, whether it changed since or not."""
    return float(copy.tail(np.array([PROMISED]))[0])

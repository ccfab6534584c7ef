"""Information ages at a time t after something has happened, where that is no longer, or not yet, stationary.

A copy has data of age x or less iff such data have found a way to it within the last x units of time. What happened
takes ways away, or adds the one from time zero:

    all copies were fresh at time zero      X_t = min(X, t)                                          (1)
    there were no copies at time zero       X_t is X given that X < t, and there is one with P(X < t)    (2)
    nothing was downloaded during a cut     P(X_t > x) = exp(-rate (x - time of (t - x, t) in the cut))    (3)

(1) and (2) hold for any network that is otherwise stationary, as the ways since time zero do not depend on what
happened before; (3) for Poisson downloads from a source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.ages.information_age import InformationAge
from replnet.ages.panels import Scales
from replnet.ages.prediction import Basis, joined
from replnet.laws.families import Exponential
from replnet.laws.law import Array

SINCE = Basis("exact", "ways since the begin", "stationary but for how it began")
CUT = Basis("exact", "Poisson downloads outside of the cut", "")
RAMP = 1e-5  # of t, on each side of it, over which the tail falls that has no density where it does so all at once


def _upto(scales: Scales, t: float) -> Scales:
    """Those below t, and t."""
    breaks = tuple(sorted({point for point in scales.breaks if point < t} | {t}))
    return Scales(breaks, tuple(point for point in scales.marks if point < t) or (t,))


@final
@dataclass(frozen=True, eq=False)
class SinceFresh(InformationAge):
    """(1)"""

    copy: InformationAge
    t: float

    @property
    def basis(self) -> Basis:
        return joined([self.copy.basis, SINCE])

    @property
    def latest(self) -> InformationAge:
        return self if self.copy.latest is self.copy else SinceFresh(self.copy.latest, self.t)

    def tail(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return self.copy.tail(np.minimum(x, self.t)) * np.clip((1 + RAMP - x / self.t) / (2 * RAMP), 0.0, 1.0)

    def bound(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return self.copy.bound(np.minimum(x, self.t)) * (x < self.t * (1 + RAMP))

    @property
    def scales(self) -> Scales:
        own = _upto(self.copy.scales, self.t * (1 - RAMP))
        return Scales((*own.breaks, self.t * (1 + RAMP)), own.marks)


@final
@dataclass(frozen=True, eq=False)
class SinceEmpty(InformationAge):
    """(2), of the copies that there are."""

    copy: InformationAge
    t: float

    @property
    def basis(self) -> Basis:
        return joined([self.copy.basis, SINCE])

    @property
    def present(self) -> float:
        """The chance that there is a copy."""
        return 1 - float(self.copy.tail(np.array([self.t]))[0])

    def tail(self, x: Array) -> Array:
        late, x = 1 - self.present, np.asarray(x, dtype=float)
        return np.maximum(self.copy.tail(np.minimum(x, self.t)) - late, 0.0) / self.present * (x < self.t)

    def bound(self, x: Array) -> Array:
        return np.asarray(np.asarray(x, dtype=float) < self.t, float)

    @property
    def scales(self) -> Scales:
        return _upto(self.copy.scales, self.t)


@final
@dataclass(frozen=True, eq=False)
class SinceCut(InformationAge):
    """(3), where the cut began and ended so long ago; it may not have ended yet."""

    downloads: Exponential
    began: float
    ended: float

    basis = CUT

    def tail(self, x: Array) -> Array:
        x, ended = np.asarray(x, dtype=float), max(self.ended, 0.0)
        return np.exp(-self.downloads.rate * (x - np.clip(x - ended, 0.0, self.began - ended)))

    @property
    def scales(self) -> Scales:
        own, points = Scales.of(self.downloads), (max(self.ended, 0.0), self.began)
        breaks = tuple(sorted({*own.breaks, *(point for point in points if point > 0)}))
        return Scales(breaks, tuple(self.began + mark for mark in own.marks) + own.marks)

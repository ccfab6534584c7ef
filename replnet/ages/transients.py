"""Information ages at a time t after a fresh start or a fault, while they are not stationary (again).

A copy has data of age x or less iff such data have found a way to it within the last x units of time. A fault takes
ways away, and a fresh start adds the one from time zero:

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
from replnet.ages.prediction import Basis, joint_basis
from replnet.laws import Array, Exponential

SINCE = Basis("exact", "ways since the begin", "stationary but for how it began")
CUT = Basis("exact", "Poisson downloads outside of the cut", "")
RAMP = 1e-5  # share of t, on each side of t, over which the tail is made to fall where it jumps, for a density


def _scales_until(scales: Scales, t: float) -> Scales:
    """Return the breaks and marks of `scales` below t, with t as a further break, and as the mark if there is none."""
    breaks = tuple(sorted({point for point in scales.breaks if point < t} | {t}))
    return Scales(breaks, tuple(point for point in scales.marks if point < t) or (t,))


@final
@dataclass(frozen=True, eq=False)
class SinceFresh(InformationAge):
    """The age of a copy at a time t after all copies were fresh: the smaller of t and X, its age otherwise (`copy`)."""

    copy: InformationAge
    t: float

    @property
    def basis(self) -> Basis:
        return joint_basis([self.copy.basis, SINCE])

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
        scales = _scales_until(self.copy.scales, self.t * (1 - RAMP))
        return Scales((*scales.breaks, self.t * (1 + RAMP)), scales.marks)


@final
@dataclass(frozen=True, eq=False)
class SinceEmpty(InformationAge):
    """The age of a copy at a time t after there were no copies: X, its age otherwise (`copy`), given that X < t."""

    copy: InformationAge
    t: float

    @property
    def basis(self) -> Basis:
        return joint_basis([self.copy.basis, SINCE])

    @property
    def present(self) -> float:
        """The chance that there is a copy at time t, which is that its age otherwise would be at most t."""
        return 1 - float(self.copy.tail(np.array([self.t]))[0])

    def tail(self, x: Array) -> Array:
        late, x = 1 - self.present, np.asarray(x, dtype=float)
        return np.maximum(self.copy.tail(np.minimum(x, self.t)) - late, 0.0) / self.present * (x < self.t)

    def bound(self, x: Array) -> Array:
        return np.asarray(np.asarray(x, dtype=float) < self.t, float)

    @property
    def scales(self) -> Scales:
        return _scales_until(self.copy.scales, self.t)


@final
@dataclass(frozen=True, eq=False)
class SinceCut(InformationAge):
    """The age of a copy with Poisson downloads after a cut, during which nothing could be downloaded.

    The cut began `began` ago and ended `ended` ago (below 0: it has not ended yet).
    """

    downloads: Exponential
    began: float
    ended: float

    basis = CUT

    def tail(self, x: Array) -> Array:
        x, ended = np.asarray(x, dtype=float), max(self.ended, 0.0)
        return np.exp(-self.downloads.rate * (x - np.clip(x - ended, 0.0, self.began - ended)))

    @property
    def scales(self) -> Scales:
        scales, points = Scales.of(self.downloads), (max(self.ended, 0.0), self.began)
        breaks = tuple(sorted({*scales.breaks, *(point for point in points if point > 0)}))
        return Scales(breaks, tuple(self.began + mark for mark in scales.marks) + scales.marks)

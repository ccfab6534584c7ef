"""Clocks of two histories: whether one record shows all of their phases, or one.

Updates that come in multiples of a beat p, and downloads in multiples of q, are at u_i = o + k_i p and
d_j = o' + l_j q, give or take some jitter. Where b p is close to a q for small whole numbers, phases come again after

    g = p / a = q / b   and move by   |b p - a q|   in every b beats of p,                                  (1)

and what a replica has depends on where in g its downloads fall. A formula is a mean over all of g. While both run,
the phase moves over (difference of the beats) x (number of beats) and as far as clocks wander; if that is less than
g, the clocks are locked, and what was measured is what one phase gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from replnet.histories.history import beat
from replnet.laws import Empirical, Floats, has_coarse_lattice

MOST_BEATS = 20  # a and b of (1)
LEAST_SPAN = 0.05  # of the shorter mean interval: phases matter if g is above it
MIDDLE_QUANTILES = np.array(
    [0.05, 0.95]
)  # quantiles of phases between which they have moved, whatever single events did


@final
@dataclass(frozen=True, eq=False)
class Clock:
    """The clock of a history: instants (`times`) that are about multiples of a `period` apart.

    `beats` says, for each instant, how many periods it comes after the first.
    """

    times: Floats
    period: float
    beats: NDArray[np.int64]

    @property
    def mean_interval(self) -> float:
        """The mean interval between the instants."""
        return float(self.times[-1] - self.times[0]) / (self.times.size - 1)


@final
@dataclass(frozen=True)
class Lock:
    """The lock of two clocks: phases come again after a time `span`, but moved by less while both ran (`moved`)."""

    span: float
    moved: float


def clock(times: Floats, shortest: float = 0.0) -> Clock | None:
    """Return the clock that these ascending instants keep; None if they keep none that is coarse enough to matter.

    Periods below `shortest` do not count, such as that of the visits by which the instants are known.
    """
    gaps = np.diff(times)
    law, interval_beat = Empirical(gaps), beat(gaps)
    if has_coarse_lattice(law) and law.span is not None and law.span >= shortest:
        period = law.span
    elif interval_beat is not None and interval_beat["period"] >= shortest:
        period = interval_beat["period"]
    else:
        return None
    beats = np.append(0, np.cumsum(np.rint(gaps / period))).astype(np.int64)
    if beats[-1] == 0:
        return None
    # A median interval is no period yet: after a thousand beats a thousandth of it is a whole one.
    numbers = beats - beats.mean()
    return Clock(times, float(numbers @ (times - times[0]) / (numbers @ numbers)), beats)


def phase_lock(updates: Clock, downloads: Clock) -> Lock | None:
    """Return how two clocks are locked, so that a record shows only part of their phases; None if they are not.

    They are locked if their periods are close to a ratio of whole numbers up to 20, so that phases come again after a
    span of time, if this is over 5 % of the shorter mean interval, and if phases moved by less than the span while both
    ran.
    """
    p, q = updates.period, downloads.period
    for b in range(1, MOST_BEATS + 1):
        a = round(b * p / q)
        if not 1 <= a <= MOST_BEATS or math.gcd(a, b) > 1:
            continue
        span = (p / a + q / b) / 2
        moved = _phase_movement(updates, downloads, span * a, span * b)
        if moved < span and span > LEAST_SPAN * min(updates.mean_interval, downloads.mean_interval):
            return Lock(span, moved)
    return None


def _phase_movement(updates: Clock, downloads: Clock, p: float, q: float) -> float:
    """Return how far, in time, the phase of the downloads moved against that of the updates while both ran.

    Phases are seen against beats of exactly `p` for the updates and `q` for the downloads. The result is the range of
    the middle 90 % of differences between phases, enlarged to all of them by a factor.
    """
    update_phases, download_phases = updates.times - p * updates.beats, downloads.times - q * downloads.beats
    low, high = np.quantile(
        update_phases - np.interp(updates.times, downloads.times, download_phases), MIDDLE_QUANTILES
    )
    return float((high - low) / (MIDDLE_QUANTILES[1] - MIDDLE_QUANTILES[0]))

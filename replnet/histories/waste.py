"""How wrong the Poisson formula is for a recorded source, and what it would cost (Staleness VI-B, Fig. 9(d), 10).

A replica downloads every T, at rate lambda = 1 / T. With mu the rate of the updates, the
staleness is

    measured     the share of the record after an update and before the next download, by replaying it    (1)
    empirical    1 - lambda integral from 0 to T of P(A_U > x), with A_U from the recorded intervals      (2)
    Poisson      1 - lambda (1 - exp(-mu / lambda)) / mu                                                  (3)

(1) depends on the phase of the first download, so it is replayed for PHASES of them.
The mean over all phases is (2) but for the ends of the record, as an even phase makes
the ages independent; what one phase is off by is what phase-lock, rhythm and drift do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from replnet.ages.information_age import direct
from replnet.ages.roots import rate_for
from replnet.histories.history import History
from replnet.histories.replay import replay
from replnet.laws import Constant, Empirical, Exponential, Law

Floats = NDArray[np.float64]

PHASES = 16
WIDEST = 30.0  # either side of the update rate
FEWEST = 10  # downloads in a record, at the lowest rate
CLOSE = 1e-3  # relative, of a rate found by replaying
TARGETS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


@final
@dataclass(frozen=True)
class Point:
    """Staleness under constant downloads at one rate."""

    rate: float
    measured: float  # mean over phases
    low: float  # best and worst phase
    high: float
    empirical: float
    poisson: float


@final
@dataclass(frozen=True)
class Need:
    """The rate of constant downloads that keeps the copy stale for at most `target` of the time."""

    target: float
    measured: float
    empirical: float
    poisson: float

    @property
    def waste(self) -> float:
        """How many times too many downloads the Poisson formula asks for."""
        return self.poisson / self.empirical


def curve(updates: History, rates: Iterable[float] | None = None) -> tuple[Point, ...]:
    """Staleness by (1), (2) and (3) over download rates."""
    empirical, poisson = Empirical(updates.intervals), Exponential(rate=updates.rate)
    chosen = default_rates(updates) if rates is None else list(rates)
    return tuple(_point(updates, rate, empirical, poisson) for rate in chosen)


def _point(updates: History, rate: float, empirical: Law, poisson: Law) -> Point:
    replayed = replays(updates, rate)
    low, high = float(replayed.min()), float(replayed.max())
    return Point(rate, float(replayed.mean()), low, high, _stale(rate, empirical), _stale(rate, poisson))


def default_rates(updates: History) -> list[float]:
    """Evenly spread in logarithms about the update rate, as far down as the record is long."""
    lowest = max(updates.rate / WIDEST, FEWEST / (updates.end - updates.start))
    return [float(rate) for rate in np.geomspace(lowest, updates.rate * WIDEST, 13)]


def needs(updates: History, targets: Iterable[float] = TARGETS) -> tuple[Need, ...]:
    """The rates that (1), (2) and (3) say meet each target."""
    empirical, poisson = Empirical(updates.intervals), Exponential(rate=updates.rate)
    found = []
    for target in targets:
        if not 0 < target < 1:
            raise ValueError(f"target: {target:g} is no staleness to aim at (above 0 and below 1)")
        asked = [
            rate_for(1 - target, lambda rate, law=law: 1 - _stale(rate, law), start=updates.rate)  # type: ignore[misc]
            for law in (empirical, poisson)
        ]
        found.append(Need(target, _replayed_rate(updates, target), *asked))
    return tuple(found)


def replays(updates: History, rate: float) -> Floats:
    """(1) for every phase."""
    period, window = 1 / rate, (updates.start, updates.end)
    count = math.ceil((window[1] - window[0]) / period) + 1
    every = np.asarray(window[0] + period * np.arange(-1, count), dtype=float)
    shares = [
        replay(updates.times, every + period * phase / PHASES, *window).stale / (window[1] - window[0])
        for phase in range(PHASES)
    ]
    return np.array(shares)


def _replayed_rate(updates: History, target: float) -> float:
    """By doubling and halving from the update rate; NaN where it lies beyond what the record can tell."""

    def stale(rate: float) -> float:
        return float(replays(updates, rate).mean())

    low = high = updates.rate
    lowest, highest = 2 / (updates.end - updates.start), updates.rate * 1e3
    while stale(low) <= target:
        low, high = low / 2, low
        if low < lowest:
            return math.nan
    while stale(high) > target:
        low, high = high, high * 2
        if high > highest:
            return math.nan
    while high > low * (1 + CLOSE):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if stale(middle) > target else (low, middle)
    return high


def _stale(rate: float, law: Law) -> float:
    return 1 - direct(Constant(rate=rate)).freshness(law).value

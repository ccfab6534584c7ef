"""A cluster with Poisson polls and any law of downloads: exact too, for finite m.

Count again the replicas that have what left the source x ago. Those that lack
it made no download since, which is all that is known about their downloads, so
each makes one at the hazard of the age,

    a(x) = rate (1 - F_D(x)) / G(x),   G(x) = P(A_D > x),                      (1)

independently of the others, and N is a pure-birth chain with rates that depend
on time,

    b_j(x) = (m - j)(a(x) + nu h_j),   P(X <= x) = E[psi(N(x))].               (2)

Its m + 1 equations are integrated panel by panel (Dormand and Prince, order 8).
With exponential downloads a is constant and `chain` is the shorter way.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from replnet.ages.chain import birth_rates, missing_all
from replnet.ages.curve import Curve, panel_points, to_powers, unresolved
from replnet.ages.information_age import InformationAge
from replnet.ages.panels import FEW, soft_marks, thinned
from replnet.ages.prediction import Basis
from replnet.laws.law import Array, Law

DOWNLOAD_CHAIN = Basis(
    "exact",
    "birth chain with download hazards, P2P VI-A",
    "renewal downloads, Poisson polls, distinct random peers",
)
RESOLVED, ROUGH = 1e-9, 1e-6  # the second for recorded laws, with a jump at every interval
VANISHED = 1e-10
CUT = 1e-8  # tail of the age at `end`; what comes after is shorter than its square root
NARROWEST = 1e-9  # panel against the mean interval, taken as it is


@final
@dataclass(frozen=True, eq=False)
class DownloadChain(InformationAge):
    """The age of what a client gets that asks `ask` of the replicas."""

    replicas: int
    downloads: Law
    polls: float  # rate
    peers: int
    ask: int = 1

    @property
    def basis(self) -> Basis:
        return DOWNLOAD_CHAIN

    @property
    def breaks(self) -> tuple[float, ...]:
        return thinned(self.downloads.breaks)

    @property
    def marks(self) -> tuple[float, ...]:
        return (*soft_marks(self.downloads)[:3], 0.3 / self.polls)

    def bound(self, x: Array) -> Array:
        # A replica's own downloads, and the last stage, where all peers but itself have it.
        return self.downloads.rate * self.downloads.excess(x)

    def tail(self, x: Array) -> Array:
        return self._curve(x)

    def tail_curve(self, horizon: float) -> Curve:
        return self._curve

    @property
    def resolution(self) -> float:
        return RESOLVED if len(self.downloads.breaks) <= FEW else ROUGH

    def hazard(self, x: float) -> float:
        """(1)."""
        return float(self.downloads.tail(x)) / max(float(self.downloads.excess(x)), 1e-300)

    @cached_property
    def end(self) -> float:
        """Just before the longest download interval, where the hazard has no bound any more."""
        low, high = 0.0, float(self.downloads.isf(0.0))
        if high == np.inf:
            return high
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.bound(middle) > CUT else (low, middle)
        return low

    @cached_property
    def _curve(self) -> Curve:
        state = np.zeros(self.replicas + 1)
        state[0] = 1.0
        lacking = missing_all(self.replicas, self.ask, np.arange(self.replicas + 1, dtype=float))
        edges, tails = [0.0], []
        width = 1 / (self.replicas * (self.downloads.rate + self.polls))
        narrowest = NARROWEST * self.downloads.mean
        stops = np.append([x for x in self.breaks if x < self.end], self.end)
        while edges[-1] < self.end and state @ lacking > VANISHED and self.bound(edges[-1]) > VANISHED:
            start = edges[-1]
            stop = float(stops[np.searchsorted(stops, start, side="right")])
            wide = min(width, stop - start)
            values, after = self._across(state, lacking, start, wide)
            if wide > narrowest and float(unresolved(values)) > self.resolution:
                width = wide / 2
                continue
            tails.append(to_powers(values))
            edges.append(stop if wide == stop - start else start + wide)
            state = after
            width = max(width if wide < width else 0.0, wide) * 1.7
        return Curve(np.asarray(edges), np.column_stack(tails), 0.0)

    def _across(self, state: Array, lacking: Array, start: float, width: float) -> tuple[Array, Array]:
        """The tail at the panel's points and the state at its end; (2)."""
        from scipy.integrate import solve_ivp

        polled = np.append(birth_rates(self.replicas, 0.0, self.polls, self.peers), 0.0)
        alone = np.arange(self.replicas, -1, -1.0)

        def flow(x: float, p: Array) -> Array:
            # Hazards jump at the ends of panels: what counts is the value inside.
            moved = p * (alone * self.hazard(min(max(x, inside[0]), inside[1])) + polled)
            change = -moved
            change[1:] += moved[:-1]
            return change

        inside = (start, start + width * (1 - 1e-13))
        points = panel_points(start, start + width)
        solved = solve_ivp(
            flow,
            (start, start + width),
            state,
            method="LSODA",
            t_eval=[*points, start + width],
            rtol=self.resolution / 10,
            atol=self.resolution / 1e4,
            lband=1,
            uband=0,
        )
        assert solved.success, solved.message
        values = lacking @ solved.y
        return values[:-1], solved.y[:, -1]

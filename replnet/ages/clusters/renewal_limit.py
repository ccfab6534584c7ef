"""A cluster of very many replicas, with any laws of downloads and polls.

Reason backwards in time. A replica's data is older than x iff it made no
download in the last x, and each poll at backward age a met k peers whose data
was then older than x - a. In a large cluster those peers are independent, so
with H(x) = P(X > x) and polls in equilibrium (first interval C from its age,
ordinary ones after), G the tail of the age of D,

    H(x) = G(x) Phi(x),
    K(z) = 1 - F_C(z) + integral over c in (0, z] of M(z - c) dF_C(c),  M = H^k K,    (1)

K being the chance that no poll brings newer data when one was made z before.
Integration by parts, as M(0) = 1, leaves only F_C and the derivative of M,

    K(z) = 1 + integral over c in (0, z) of F_C(c) M'(z - c) dc,               (2)
    Phi(x) = 1 - nu integral over z in (0, x) of K(z) (1 - H(z)^k) dz,         (3)

which needs no density, so polls at constant or lattice intervals are no special
case. (2) and (3) are solved forward, panel by panel: the part of (2) that reaches
into earlier panels is a convolution of known curves; the rest, over the panel
itself, is a small linear map, and the panel is solved by iteration, which
contracts because F_C is small over a short panel and H^k < 1 later on.

With exponential laws H' = -(lambda + nu (1 - H^k)) H, and so

    H(x)^-k = (nu + lambda exp(k (lambda + nu) x)) / (lambda + nu).            (4)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from replnet.ages.clusters.chains import Cluster
from replnet.ages.curve import GAUSS_NODES, GAUSS_WEIGHTS, GrowingCurve, convolve, split_points
from replnet.ages.marching import march
from replnet.ages.panels import FEW, Scales, thin_out, with_few_values
from replnet.ages.prediction import Basis, NoFormulaError
from replnet.laws import (
    INTEGRALS_TO_POINTS,
    NODES,
    Array,
    Curve,
    Exponential,
    Law,
    fit_curve,
    panel_points,
    resolution_error,
    to_powers,
)

LIMIT = Basis(
    "limit",
    "renewal equation for large clusters, P2P VI-A",
    "many replicas whose downloads together are far more frequent than one's polls, random peers",
    0.005,
)
VANISHED = 1e-13
# Size of what a panel leaves unresolved, by how many bends the laws have: each sum of poll intervals is one more.
RESOLVED, ROUGH, ROUGHER = 1e-10, 1e-7, 1e-5
FEW_BENDS = 6  # bends of laws up to which panels are RESOLVED
ROUNDS = 80  # of iteration on a panel before it is halved
NARROWEST = 1e-7  # width of a panel, in mean intervals, at which it is taken even if not resolved
MOST_BENDS = 24
MANY_PANELS = 400  # after which resolution gives way to speed


def poisson_limit(downloads: float, polls: float, peers: int, x: Array) -> Array:
    """Return, at every x, P(X > x) in a cluster of very many replicas with Poisson downloads and polls.

    `downloads` and `polls` are their rates, and a poll asks `peers` replicas.
    """
    total = downloads + polls
    # In logarithms, as the exponential overflows long before H vanishes.
    grown = peers * total * np.asarray(x) + np.log(downloads / total)
    return np.exp(-np.logaddexp(np.log(polls / total), grown) / peers)


@final
class ClusterLimit(Cluster):
    """The age of the freshest of `ask` copies in a cluster of very many replicas, whose number does not matter."""

    basis = LIMIT

    @property
    def scales(self) -> Scales:
        # All bends that count, once the curve is known: its panels end there.
        return super().scales._replace(breaks=thin_out([*self.downloads.breaks, *self.polls.breaks]))

    def tail_curve(self, horizon: float) -> Curve:
        single = self._single.cover(horizon)
        return single if self.ask == 1 else fit_curve(lambda x: single(x) ** self.ask, single.edges)

    @cached_property
    def _single(self) -> GrowingCurve:
        """The tail P(age > x) of a single replica's copy, as a curve that is computed as far as it is needed."""
        return GrowingCurve(lambda horizon: limit_curve(self.downloads, self.polls, self.peers, horizon))


def limit_curve(downloads: Law, polls: Law, peers: int, horizon: float) -> Curve:
    """Return the tail of a copy's age in a cluster of very many replicas, on [0, horizon] or up to where it vanishes.

    `downloads` and `polls` are the laws of their intervals, and a poll asks `peers` replicas. The curve is good to
    about 1e-9 where the laws are smooth. Raises NoFormulaError if poll intervals differ by too many magnitudes to be
    solved.
    """
    if isinstance(downloads, Exponential) and isinstance(polls, Exponential):
        edges = Scales(marks=(0.3 / (downloads.rate + polls.rate),)).edges(horizon)
        return fit_curve(lambda x: poisson_limit(downloads.rate, polls.rate, peers, x), edges)
    return solve_limit(downloads, polls, peers, horizon)


@final
@dataclass(slots=True)
class LimitSolution:
    """The tail P(age > x) of a copy in a cluster of very many replicas, as far as it is solved, panel by panel.

    `downloads` and `polls` are the laws of their intervals, a poll asks `peers` replicas, and `elapsed` is the
    distribution function of poll intervals. `tails` and `misses` have polynomial coefficients for each panel so far: of
    the tail, and of the chance that neither the peers of a poll nor the polls before it have a copy younger than x.
    `phi` is the chance, at the end of the last panel, that no poll brings one.
    """

    downloads: Law
    polls: Law
    peers: int
    elapsed: Curve  # F_C
    tails: list[Array] = field(default_factory=list)  # coefficients of H on each panel
    misses: list[Array] = field(default_factory=list)  # the same of M
    phi: float = 1.0

    def advance(self, edges: list[float], end: float, resolution: float) -> bool:
        """Solve the next panel, up to `end`, and add it if it is resolved to `resolution`; return whether it is.

        `edges` are those of the panels so far. An infinite resolution takes any panel that can be solved, and raises
        NoFormulaError if this one cannot.
        """
        panel = self._solve_panel(edges, end)
        if panel is None:
            if resolution == np.inf:
                raise NoFormulaError(
                    f"polls of {self.polls}, whose intervals differ by more magnitudes than are solved"
                )
            return False
        h, k = panel
        m = h**self.peers * k
        if max(float(resolution_error(h)), float(resolution_error(m))) > resolution:
            return False
        self.tails.append(to_powers(h))
        self.misses.append(to_powers(m))
        passed = Curve(np.array([edges[-1], end]), to_powers(k * (1 - h**self.peers))[:, None], 0.0)
        self.phi -= self.polls.rate * float(passed.panel_integrals()[0])
        return True

    def _solve_panel(self, edges: list[float], end: float) -> tuple[Array, Array] | None:
        """Return the tail and K at the points of the next panel, or None if the panel is too wide to iterate on.

        K(z) is the chance that no poll brings newer data when one was made z before; `edges` are those of the panels so
        far, and `end` is that of the next.
        """
        z, width = panel_points(edges[-1], end), end - edges[-1]
        constant, own_part = 1 + self._history(edges, z), self._own_part(z - edges[-1], width)
        alone = self.downloads.rate * np.asarray(self.downloads.excess(z))
        # Values at the points, to the integral up to each of them.
        integral = INTEGRALS_TO_POINTS * (width / 2) * self.polls.rate
        h, k = alone * self.phi, constant.copy()
        for _ in range(ROUNDS):
            h_next = alone * (self.phi - integral @ (k * (1 - h**self.peers)))
            k_next = constant + own_part @ (h_next**self.peers * k)
            change = max(np.abs(h_next - h).max(), np.abs(k_next - k).max())
            h, k = h_next, k_next
            if change < 1e-15 or not change < 10:
                break
        return (h, k) if change < 1e-13 else None

    def _history(self, edges: list[float], z: Array) -> Array:
        """Return, at the points z of the next panel, what the panels before it, between `edges`, add to K(z) - 1.

        K(z) is the chance that no poll brings newer data when one was made z before.
        """
        if not self.misses:
            return np.zeros_like(z)
        slope = Curve(np.asarray(edges), np.column_stack(self.misses), 0.0).derivative()
        return convolve(slope.along, slope.edges, self.elapsed.along, self.elapsed.edges, z, upto=edges[-1])

    def _own_part(self, inside: Array, width: float) -> Array:
        """Return a square matrix: times the values of `misses` at a panel's points, it is what these add to K there.

        K is the chance that no poll brings newer data. `inside` are the panel's points, from its begin, and `width` is
        its width.
        """
        row, low, wide = split_points(np.array([0.0, width]), self.elapsed.edges, inside)
        y = low[:, None] + wide[:, None] * GAUSS_NODES
        degree = np.arange(1, NODES)
        slopes = degree * (2 * y / width - 1)[..., None] ** (degree - 1) * (2 / width)
        passed = self.elapsed(inside[row, None] - y) * GAUSS_WEIGHTS * wide[:, None]
        moments = np.zeros((NODES, NODES))
        np.add.at(moments[:, 1:], row, np.einsum("sq,sqr->sr", passed, slopes))
        return moments @ to_powers(np.eye(NODES))


def bends(downloads: Law, polls: Law, horizon: float) -> Array:
    """Return ages below `horizon` where the tail of a copy's age in a cluster may bend, ascending, 0 first.

    They are bends of the law of download intervals, and sums of bends of the law of poll intervals, alone or after one
    of these. If there are more than 24, only the first 24 are returned, as later bends are faint.
    """
    steps = np.array(thin_out(polls.breaks))
    points = np.array([0.0, *thin_out(downloads.breaks)])
    while True:
        sums = np.unique(np.concatenate([points, np.add.outer(points, steps).ravel()]))
        sums = sums[np.diff(sums, prepend=-1.0) > 1e-12 * sums]
        grown = sums[sums < horizon][:MOST_BENDS]
        if np.array_equal(grown, points):
            return points
        points = grown


def solve_limit(downloads: Law, polls: Law, peers: int, horizon: float) -> Curve:
    """Return the tail of a copy's age in a cluster of very many replicas, on [0, horizon] or up to where it vanishes.

    `downloads` and `polls` are the laws of their intervals, and a poll asks `peers` replicas. Recorded laws are
    replaced by ones of few values, which moves the tail by some 1e-4. Raises NoFormulaError if poll intervals differ by
    too many magnitudes to be solved.
    """
    most_bends = max(len(downloads.breaks), len(polls.breaks))
    resolution = RESOLVED if most_bends <= FEW_BENDS else ROUGH if most_bends <= FEW else ROUGHER
    downloads, polls = with_few_values(downloads), with_few_values(polls)
    elapsed = fit_curve(polls.tail, Scales.of(polls).edges(horizon)).complement()
    stops = np.append(bends(downloads, polls, horizon), horizon)
    solution = LimitSolution(downloads, polls, peers, elapsed)
    scale = min(downloads.mean, polls.mean)

    def solve(edges: list[float], end: float) -> bool:
        start = edges[-1]
        narrowest = NARROWEST * scale if len(edges) <= MANY_PANELS else max(start, scale) / MANY_PANELS
        return solution.advance(edges, end, np.inf if end - start < narrowest else resolution)

    def is_negligible(_: float) -> bool:
        return bool(solution.tails) and solution.tails[-1].sum() < VANISHED

    # Two even panels up to a stop rather than a wide one and a sliver.
    edges = march(solve, stops, scale / 8, is_negligible, even=True)
    last = float(solution.tails[-1].sum())
    return Curve(edges, np.column_stack(solution.tails), last if last > VANISHED else 0.0)

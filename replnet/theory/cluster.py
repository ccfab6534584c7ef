"""Replicas that pull from the source and from one another (P2P VI), as information ages.

Which formula stands behind a cluster depends on the laws of downloads D and
polls C:

    D, C exponential        exact                `chain`
    C exponential           exact                `download_chain`
    any D and C             limit, many replicas `renewal_limit`
    any D and C, m given    approximation        (1)

The limit is too fresh at small m, as peers are independent in it. The error is
nearly the same for Poisson polls, where both sides are known:

    P(X <= x) ~ limit(D, C) * exact(m, D, Poisson) / limit(D, Poisson).        (1)

`recent` selection has no formula: the source's list makes a replica's peers
depend on their download times, which no equation here describes.

All ages are relative to where the cluster downloads from, so a cluster fed by
an upstream copy is `pull(upstream, cluster)`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from replnet.laws.base import Array, Law
from replnet.laws.check import FieldError
from replnet.laws.families import Exponential
from replnet.theory.chain import Chain
from replnet.theory.curve import Curve, Extended, clean_edges, fit
from replnet.theory.download_chain import DownloadChain
from replnet.theory.information_age import InformationAge, best_of, direct
from replnet.theory.marks import thinned
from replnet.theory.prediction import Basis
from replnet.theory.renewal_limit import limit_curve

LIMIT = Basis(
    "limit",
    "renewal equation for large clusters, P2P VI-A",
    "many replicas whose downloads together are far more frequent than one's polls, random peers",
    0.005,
)
# Of the largest correction of (1) to a probability, what may remain of it as an error; and the least error.
SHARE, SHARE_HEAVY, FLOOR, SMALL = 0.06, 0.15, 0.001, 0.02
MOST_HAZARD = 1_500  # replicas that `download_chain` handles within a second
NO_RECENT = "no formula for recent selection: the source's list makes peers depend on their download times; measure it"


@final
@dataclass(frozen=True, eq=False)
class Crowd(InformationAge):
    """The age in a cluster of very many replicas, for a client that asks `ask` of them."""

    downloads: Law
    polls: Law
    peers: int
    ask: int = 1

    @property
    def basis(self) -> Basis:
        return LIMIT

    @property
    def breaks(self) -> tuple[float, ...]:
        # All bends that count, once the curve is known: its panels end there.
        return thinned([*self.downloads.breaks, *self.polls.breaks])

    @property
    def marks(self) -> tuple[float, ...]:
        return (*direct(self.downloads).marks[:3], 0.3 * self.polls.mean)

    def bound(self, x: Array) -> Array:
        return (self.downloads.rate * self.downloads.excess(x)) ** self.ask

    def tail(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return self._single.upto(float(np.max(x, initial=0.0)) or 1.0)(x) ** self.ask

    @cached_property
    def _single(self) -> Extended:
        """The tail of one replica's age."""
        return Extended(lambda horizon: limit_curve(self.downloads, self.polls, self.peers, horizon))

    def tail_curve(self, horizon: float) -> Curve:
        single = self._single.upto(horizon)
        return single if self.ask == 1 else fit(lambda x: single(x) ** self.ask, single.edges)


@final
@dataclass(frozen=True, eq=False)
class FiniteCrowd(InformationAge):
    """The age in a cluster of few replicas with any laws; (1)."""

    replicas: int
    crowd: Crowd
    reference: InformationAge
    reference_crowd: Crowd

    @cached_property
    def basis(self) -> Basis:
        """Wrong by a share of the correction, and by more in small clusters whose polls keep their phases.

        As measured for constant, exponential and Pareto laws at 2 to 100 replicas.
        """
        x = self.crowd.downloads.mean * np.geomspace(1e-3, 4, 60)
        _, finite, many = (1 - copy.tail(x) for copy in self._copies)
        correction = float(np.abs(finite / many - 1).max())
        share = SHARE if np.isfinite(self.crowd.polls.second_moment) else SHARE_HEAVY
        return Basis(
            "approximation",
            "renewal equation with the birth chain's finite-size ratio, P2P VI-A",
            "distinct random peers",
            share * correction + FLOOR + SMALL / self.replicas,
        )

    @property
    def breaks(self) -> tuple[float, ...]:
        return self.crowd.breaks

    @property
    def marks(self) -> tuple[float, ...]:
        return self.crowd.marks

    def bound(self, x: Array) -> Array:
        return self.crowd.bound(x)

    def tail(self, x: Array) -> Array:
        return self._combined(x, *(copy.tail for copy in self._copies))

    @property
    def _copies(self) -> tuple[InformationAge, ...]:
        return self.crowd, self.reference, self.reference_crowd

    @staticmethod
    def _combined(x: Array, *tails: Callable[[Array], Array]) -> Array:
        """(1)."""
        have, finite, many = (1 - tail(np.asarray(x, dtype=float)) for tail in tails)
        # All three start alike; where they are within rounding of zero their ratio is noise.
        known = many > 1e-7
        return 1 - np.where(known, have * finite / np.where(known, many, 1.0), have)

    def tail_curve(self, horizon: float) -> Curve:
        curves = [copy.tail_curve(horizon) for copy in self._copies]
        edges = clean_edges(np.concatenate([curve.edges for curve in curves]), horizon)
        return fit(lambda x: self._combined(x, *curves), edges, tolerance=1e-9)


@final
@dataclass(frozen=True)
class _Shape:
    replicas: int
    peers: int
    ask: int

    def __post_init__(self) -> None:
        if self.replicas < 1:
            raise FieldError("replicas", f"{self.replicas} is no cluster", "1 or more")
        if not 0 <= self.peers < self.replicas:
            right = f"0 to {self.replicas - 1}: the peers of a replica are others"
            raise FieldError("peers", f"{self.peers} of {self.replicas} replicas", right)
        if not 1 <= self.ask <= self.replicas:
            raise FieldError("ask", f"{self.ask} of {self.replicas} replicas", f"1 to {self.replicas}")


def cluster(
    replicas: int, downloads: Law, polls: Law | None, peers: int = 1, *, select: str = "random", ask: int = 1
) -> InformationAge:
    """The age of the best of `ask` replicas of a cluster; exact or an approximation as the head says.

    Raises FieldError (a ValueError) for shapes that cannot be, and for `recent`, which has no formula.
    """
    shape = _Shape(replicas, peers, ask)
    if polls is None or shape.peers == 0:
        return best_of([direct(downloads)] * ask)
    if select != "random":
        raise FieldError("select", NO_RECENT, "random")
    if isinstance(polls, Exponential):
        known = _poisson_polls(shape, downloads, polls)
        if known is not None:
            return known
    return _corrected(shape, downloads, polls)


def crowd(downloads: Law, polls: Law, peers: int = 1, *, ask: int = 1) -> InformationAge:
    """The age in a cluster of very many replicas. Limit."""
    return Crowd(downloads, polls, peers, ask)


def all_superposed(downloads: Law, replicas: int) -> InformationAge:
    """The age in a cluster whose polls are infinitely frequent (P2P Thm 6). Limit of fast polls, exact in m."""
    return best_of([direct(downloads)] * replicas)


def _poisson_polls(shape: _Shape, downloads: Law, polls: Law) -> InformationAge | None:
    if isinstance(downloads, Exponential):
        return Chain(shape.replicas, downloads.rate, polls.rate, shape.peers, shape.ask)
    if shape.replicas <= MOST_HAZARD:
        return DownloadChain(shape.replicas, downloads, polls.rate, shape.peers, shape.ask)
    return None


def _corrected(shape: _Shape, downloads: Law, polls: Law) -> InformationAge:
    """(1), with the reference of the same downloads, or of Poisson ones where m is too large for it."""
    poisson = Exponential(rate=polls.rate)
    reference = _poisson_polls(shape, downloads, poisson)
    same = downloads if reference is not None else Exponential(rate=downloads.rate)
    if reference is None:
        reference = Chain(shape.replicas, downloads.rate, polls.rate, shape.peers, shape.ask)
    return FiniteCrowd(
        shape.replicas,
        Crowd(downloads, polls, shape.peers, shape.ask),
        reference,
        Crowd(same, poisson, shape.peers, shape.ask),
    )

"""Service rate under limited bandwidth, and the best size of a system (P2P VI-D, VII).

Every peer and the source can handle B messages per unit of time, the freshness
must reach a target 1 - epsilon, and what is left serves clients. With m
replicas that download at rate lambda and poll k peers at rate nu,

    R = m (B - lambda - k nu),   m lambda <= B,   freshness >= 1 - epsilon.    P2P eq. 30 (1)

Without cooperation the slowest download rate is best, lambda = q^-1(1 - epsilon),
m = B / lambda and

    R = B^2 / lambda - B.                                                      P2P eq. 31-33 (2)

Clients that ask k replicas need lambda* = p*^-1(1 - epsilon) of the superposed
downloads, so lambda' = lambda*/k of each, and every query costs k answers:

    R* = B^2 / lambda* - B / k,   m*/m = k lambda / lambda*,                   P2P eq. 34 (3)

where many replicas make p* Poisson, lambda* = mu (1 - epsilon) / epsilon
under exponential updates (P2P eq. 35).

With cooperation lambda = B/m and nu is the slowest poll rate that meets the
target, which leaves m. R rises and then falls in m, so m is found by a coarse
search and then by trying its neighbours. The number of replicas is whole in a
cluster; (2) and (3) treat it as a real number, as the paper does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from replnet.ages.cluster import all_superposed, cluster
from replnet.ages.information_age import direct
from replnet.ages.roots import Family, UnreachableError, rate_for
from replnet.laws.families import Exponential
from replnet.laws.law import Law
from replnet.papers.superposition import redundant

NEIGHBOURS = 4  # of the best m that are tried one by one
STEP = 1.4  # of the coarse search


@final
@dataclass(frozen=True, slots=True)
class Size:
    """A system that meets its target: what each replica does, and what all together serve."""

    replicas: float
    downloads: float  # rate of each replica
    polls: float  # rate of each replica, of `peers` messages
    peers: int
    service_rate: float
    freshness: float  # the target, met with equality unless no polls are needed


@final
@dataclass(frozen=True, slots=True)
class Gain:
    """Redundant against non-redundant querying: m*/m and R*/R of (3)."""

    plain: Size
    redundant: Size

    @property
    def replicas(self) -> float:
        return self.redundant.replicas / self.plain.replicas

    @property
    def service_rate(self) -> float:
        return self.redundant.service_rate / self.plain.service_rate


def service_rate(bandwidth: float, replicas: float, downloads: float, polls: float = 0.0, peers: int = 0) -> float:
    """R of (1), P2P eq. 30. Exact."""
    return replicas * (bandwidth - downloads - peers * polls)


def download_rate(target: float, updates: Law, downloads: Family) -> float:
    """q^-1(target): the slowest downloads that meet the target in a single hop (P2P eq. 31). Exact."""
    return rate_for(
        target, lambda rate: direct(downloads(rate)).freshness(updates).value, start=updates.rate, what="download rate"
    )


def poll_rate(
    target: float,
    replicas: int,
    updates: Law,
    downloads: Law,
    polls: Family,
    peers: int = 1,
    *,
    start: float | None = None,
) -> float:
    """q_2^-1(target): the slowest polls that meet the target in a cluster (P2P VI-D); 0 if none are needed.

    As good as the cluster's formula is. Raises UnreachableError past what infinitely fast polls reach (P2P Thm 6).
    The search begins at `start`.
    """
    if direct(downloads).freshness(updates).value >= target:
        return 0.0
    most = all_superposed(downloads, replicas).freshness(updates).value
    if replicas == 1 or peers == 0 or most <= target:
        raise UnreachableError(
            f"freshness {target:g} cannot be met: infinitely fast polls reach {most:.6g} (P2P Thm 6)"
        )

    def reached(rate: float) -> float:
        return cluster(replicas, downloads, polls(rate), peers).freshness(updates).value

    return rate_for(target, reached, start=start or updates.rate, what="poll rate")


def non_cooperative(bandwidth: float, target: float, updates: Law, downloads: Family) -> Size:
    """The best system without polls: (2), P2P eq. 31-33. Exact."""
    rate = download_rate(target, updates, downloads)
    _require_bandwidth(bandwidth, rate)
    replicas = bandwidth / rate
    return Size(replicas, rate, 0.0, 0, service_rate(bandwidth, replicas, rate), target)


def redundant_gain(
    bandwidth: float, target: float, updates: Law, downloads: Family, ask: int, *, poisson: bool = True
) -> Gain:
    """Redundant against non-redundant querying: (3), P2P eq. 34, and 35 if the superposition is taken as Poisson.

    Limit of many replicas if `poisson`, else exact.
    """

    def superposed_freshness(total: float) -> float:
        if poisson:
            return direct(Exponential(rate=total)).freshness(updates).value
        return redundant(downloads(total / ask), ask, updates).value

    plain = non_cooperative(bandwidth, target, updates, downloads)
    total = rate_for(target, superposed_freshness, start=plain.downloads, what="download rate")
    each = total / ask
    replicas = bandwidth / each
    return Gain(plain, Size(replicas, each, 0.0, 0, service_rate(bandwidth, replicas, each) / ask, target))


def cooperative(
    bandwidth: float,
    target: float,
    replicas: int,
    updates: Law,
    downloads: Family,
    polls: Family,
    peers: int = 1,
    *,
    start: float | None = None,
) -> Size:
    """The system of `replicas` that meets the target with the slowest polls (P2P VI-D).

    Its service rate is negative where polls alone exceed the bandwidth. The search begins at poll rate `start`.
    """
    rate = bandwidth / replicas
    nu = poll_rate(target, replicas, updates, downloads(rate), polls, peers, start=start)
    return Size(replicas, rate, nu, peers, service_rate(bandwidth, replicas, rate, nu, peers), target)


def peak(value: Callable[[int], float], start: int) -> int:
    """The whole number from `start` on where a function that rises and then falls is largest."""
    below, best = start, start
    above = max(start + 1, math.ceil(start * STEP))
    while value(above) > value(best):
        below, best, above = best, above, max(above + 1, math.ceil(above * STEP))
    while above - below > 2 * NEIGHBOURS:
        third = (above - below) // 3
        left, right = below + third, above - third
        if value(left) < value(right):
            below = left
        else:
            above = right
    best = max(range(below, above + 1), key=value)
    # Where the search was led astray by a plateau, walk on.
    while True:
        around = range(max(start, best - NEIGHBOURS), best + NEIGHBOURS + 1)
        better = max(around, key=value)
        if value(better) <= value(best):
            return best
        best = better


def _require_bandwidth(bandwidth: float, downloads: float) -> None:
    if downloads > bandwidth:
        raise UnreachableError(
            f"the target needs {downloads:g} downloads per unit of time, above the bandwidth {bandwidth:g}"
        )

"""A cluster of few replicas with any laws of downloads and polls, by sampled paths of its polls.

Reason backwards in time from the replicas that a client asks. Let S be the
replicas whose data could have come to the client: at first those asked, and
when a member of S polled at backward age t, the k peers of that poll join S at
age t. So with T_j the age at which the j-th member joined, and G the tail of
the age of the downloads,

    P(X > x) = E[product over j of G(x - T_j)],  G = 1 below 0,                (1)

as no member downloaded between the age x and its joining. A replica joins by
another's poll, so its own downloads and polls are in equilibrium from there on,
seen backwards too. Of the peers of a poll, k distinct others of the m - 1, so
many are new as a hypergeometric law says, and which they are does not count.

The `ask` first members have T = 0, and their part of (1) is G(x)^ask. The rest
R(x) is the mean over paths of T, at fixed points: LATTICES rank-1 lattices
(Korobov's, multipliers of L'Ecuyer and Lemieux 2000) shifted at random, for the
COORDINATES that count most, and random numbers for later polls. The lattices
are independent estimates, so their scatter tells the error. As the points are
the same for all laws, R moves smoothly with their parameters.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import final

import numpy as np

from replnet.ages.clusters.chains import Cluster
from replnet.ages.curve import Curve, Extended, clean_edges, fit
from replnet.ages.prediction import Basis, Prediction
from replnet.laws.law import Array, Law

SEED = 20_111
LATTICES = 32
SURE = 5.0  # standard errors that are stated: with 31 degrees of freedom exceeded once in 50,000
SIZES = ((4093, 1516), (2039, 1487), (1021, 76), (509, 118), (251, 33))  # points of a lattice, and its multiplier
MOST_JOINS = 330_000  # of all paths, which decides the size of the lattices
COORDINATES = 32
STEPS, NEAREST, FARTHEST = 1 << 16, 1e-6, 75.0  # of the table of G, even in log(1 + y / (NEAREST E[D]))
RESOLVED, PANELS = 3e-5, 24  # of R

SPREAD = Basis(
    "approximation",
    "sampled spread of polls backwards in time, P2P VI-A",
    "renewal downloads and polls, distinct random peers",
)


class Points:
    """Coordinates of all paths, one after the other: of shifted lattices as long as they last."""

    def __init__(self, size: int, multiplier: int) -> None:
        self.size, self.multiplier, self.used = size, multiplier, 0
        self._chance = np.random.default_rng(SEED)
        self._shifts = self._chance.random((COORDINATES, LATTICES))

    def uniform(self, paths: Array) -> Array:
        """The next coordinate of these paths, in (0, 1)."""
        if self.used == COORDINATES:
            return 1 - self._chance.random(len(paths))
        generator = pow(self.multiplier, self.used, self.size)
        lattice, point = np.divmod(paths, self.size)
        shift = self._shifts[self.used][lattice]
        self.used += 1
        return np.maximum((point * generator % self.size / self.size + shift) % 1.0, 1e-16)

    def exponential(self, paths: Array) -> Array:
        return -np.log(self.uniform(paths))


def chances_of_new(replicas: int, peers: int) -> Array:
    """P(at most n of a poll's peers are new), n = 0 ... k - 1, by the number of members, the one who polls included."""
    rows = np.zeros((replicas + 1, peers))
    ways = math.comb(replicas - 1, peers)
    for members in range(1, replicas + 1):
        counts = [math.comb(replicas - members, n) * math.comb(members - 1, peers - n) for n in range(peers)]
        rows[members] = np.cumsum([count / ways for count in counts])
    return rows


def joining_ages(polls: Law, replicas: int, peers: int, ask: int, points: Points) -> Array:
    """T of the replicas that are not asked, by lattice, in the order of joining, and by path."""
    count = points.size * LATTICES
    path = np.arange(count)
    joined = np.full((count, replicas), np.inf)
    upcoming = np.full((count, replicas), np.inf)  # the next poll of each member, backwards
    for member in range(ask):
        upcoming[:, member] = polls.age.draw(points.exponential(path))
    members = np.full(count, ask)
    at_most = chances_of_new(replicas, peers)
    while path.size:
        row = np.arange(path.size)
        who = upcoming.argmin(axis=1)
        now = upcoming[row, who]
        new = (points.uniform(path)[:, None] > at_most[members]).sum(axis=1)
        upcoming[row, who] = now + polls.draw(points.exponential(path))
        for n in range(int(new.max())):
            some = np.flatnonzero(new > n)
            place = members[some] + n
            joined[path[some], place] = now[some]
            upcoming[some, place] = now[some] + polls.age.draw(points.exponential(path)[some])
        members = members + new
        left = members < replicas
        path, members, upcoming = path[left], members[left], upcoming[left]
    return np.ascontiguousarray(joined[:, ask:].reshape(LATTICES, points.size, -1).swapaxes(1, 2))


@lru_cache(maxsize=8)
def sampled_paths(polls: Law, replicas: int, peers: int, ask: int) -> Array:
    joins = LATTICES * (replicas - ask)
    size, multiplier = next((one for one in SIZES if joins * one[0] <= MOST_JOINS), SIZES[-1])
    return joining_ages(polls, replicas, peers, ask, Points(size, multiplier))


@final
class SampledSpread(Cluster):
    """(1)."""

    @cached_property
    def basis(self) -> Basis:
        """Off by the statistical error: of P(X <= x) at any x, and so of any freshness, or of the mean age."""
        x, tail, error = self._errors
        lately = float(np.max(error / (1 - tail)))
        overall = float(np.trapezoid(error, x) / np.trapezoid(tail, x))
        return replace(SPREAD, accuracy=max(lately, overall) + RESOLVED)

    @cached_property
    def _errors(self) -> tuple[Array, Array, Array]:
        """Some x, P(X > x), and by how much that may be wrong."""
        x = np.geomspace(1e-3 * min(self.downloads.mean, self.polls.mean), 10 * self.downloads.mean, 48)
        own, rest = np.asarray(self.bound(x)), self._of_lattices(x)
        return x, own * rest.mean(axis=0), SURE * own * rest.std(axis=0, ddof=1) / math.sqrt(LATTICES)

    def freshness(self, updates: Law) -> Prediction:
        """As wrong as P(X > x) is on average over the ages x of the updates."""
        found = super().freshness(updates)
        x, _, error = self._errors
        edges = np.concatenate([[0.0], updates.rate * updates.integrated_tail(x), [1.0]])
        worst = np.maximum(np.append(error, error[-1]), np.concatenate([error[:1], error]))
        return replace(found, accuracy=min(float(np.diff(edges) @ worst) + RESOLVED, found.accuracy))

    def tail(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return self.bound(x) * self._rest.upto(float(np.max(x, initial=0.0)) or 1.0)(x)

    def tail_curve(self, horizon: float) -> Curve:
        rest = self._rest.upto(horizon)
        edges = clean_edges([*rest.edges, *self.scales.edges(horizon)], horizon)
        return fit(lambda x: self.bound(x) * rest(x), edges, tolerance=1e-9)

    @cached_property
    def _rest(self) -> Extended:
        """R."""

        def curve(horizon: float) -> Curve:
            edges = self.scales._replace(breaks=()).edges(horizon)
            return fit(lambda x: self._of_lattices(x).mean(axis=0), edges, tolerance=RESOLVED, most=PANELS)

        return Extended(curve)

    def _of_lattices(self, x: Array) -> Array:
        """R by each lattice, a row each."""
        ages = sampled_paths(self.polls, self.replicas, self.peers, self.ask)
        scale = self.downloads.mean * NEAREST
        grid = scale * np.expm1(np.arange(STEPS + 1) * (FARTHEST / STEPS))
        table = np.asarray(self.alone(grid))
        found, place = np.empty((LATTICES, len(x))), np.empty_like(ages[0])
        for lattice, joined in enumerate(ages):  # each stays in the cache
            for i, at in enumerate(x):
                np.subtract(at, joined, out=place)
                np.maximum(place, 0.0, out=place)
                place /= scale
                np.log1p(place, out=place)
                # The nearest entry does, as T is spread over many.
                place *= STEPS / FARTHEST
                place += 0.5
                found[lattice, i] = table.take(place.astype(np.intp), mode="clip").prod(axis=0).mean()
        return found

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
from replnet.ages.curve import GrowingCurve, clean_edges
from replnet.ages.prediction import Basis, Prediction
from replnet.deadline import require_time
from replnet.laws import Array, Curve, Law, fit_curve

SEED = 20_111
LATTICES = 32
SURE = 5.0  # standard errors that are stated as accuracy: with 31 degrees of freedom exceeded once in 50,000
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
    """The coordinates of random samples, one after another: from 32 shifted lattices for the first 32, then random.

    Each lattice has `size` points, made by its `multiplier`, and a sample, called a path, for each: path p is point p %
    size of lattice p // size. `used` counts the coordinates that were taken from the lattices.
    """

    def __init__(self, size: int, multiplier: int) -> None:
        self.size, self.multiplier, self.used = size, multiplier, 0
        self._chance = np.random.default_rng(SEED)
        self._shifts = self._chance.random((COORDINATES, LATTICES))

    def uniform(self, paths: Array) -> Array:
        """Return the next coordinate of the paths with these numbers, in (0, 1]; it is used up for all paths."""
        if self.used == COORDINATES:
            return 1 - self._chance.random(len(paths))
        generator = pow(self.multiplier, self.used, self.size)
        lattice, point = np.divmod(paths, self.size)
        shift = self._shifts[self.used][lattice]
        self.used += 1
        return np.maximum((point * generator % self.size / self.size + shift) % 1.0, 1e-16)

    def exponential(self, paths: Array) -> Array:
        """Return the next coordinate of the paths with these numbers, as draws from the exponential law of mean 1.

        The coordinate is used up for all paths.
        """
        return -np.log(self.uniform(paths))


def chances_of_new(replicas: int, peers: int) -> Array:
    """Return the chance that at most n of the `peers` of a poll are new, n = 0 ... peers - 1 (columns).

    A poll asks `peers` distinct others of the `replicas` of a cluster, and new are those that are no members of a set
    so far. Rows are sizes of that set, 0 to `replicas`, of which the replica that polls is one; row 0 has zeros.
    """
    rows = np.zeros((replicas + 1, peers))
    ways = math.comb(replicas - 1, peers)
    for members in range(1, replicas + 1):
        require_time()
        counts = [math.comb(replicas - members, n) * math.comb(members - 1, peers - n) for n in range(peers)]
        rows[members] = np.cumsum([count / ways for count in counts])
    return rows


def joining_ages(polls: Law, replicas: int, peers: int, ask: int, points: Points) -> Array:
    """Return sampled ages at which the replicas beside the `ask` ones that a client asks join these, backwards in time.

    A replica joins when a member polls it, which asks `peers` others at intervals of law `polls`. The array is by
    lattice of `points`, order of joining, and sample in the lattice.
    """
    count = points.size * LATTICES
    paths = np.arange(count)
    joining = np.full((count, replicas), np.inf)
    upcoming = np.full((count, replicas), np.inf)  # the next poll of each member, backwards
    for member in range(ask):
        upcoming[:, member] = polls.age.draw(points.exponential(paths))
    members = np.full(count, ask)
    at_most = chances_of_new(replicas, peers)
    while paths.size:
        require_time()
        row = np.arange(paths.size)
        pollers = upcoming.argmin(axis=1)
        now = upcoming[row, pollers]
        new = (points.uniform(paths)[:, None] > at_most[members]).sum(axis=1)
        upcoming[row, pollers] = now + polls.draw(points.exponential(paths))
        for n in range(int(new.max())):
            growing = np.flatnonzero(new > n)
            place = members[growing] + n
            joining[paths[growing], place] = now[growing]
            upcoming[growing, place] = now[growing] + polls.age.draw(points.exponential(paths)[growing])
        members = members + new
        unfinished = members < replicas
        paths, members, upcoming = paths[unfinished], members[unfinished], upcoming[unfinished]
    return np.ascontiguousarray(joining[:, ask:].reshape(LATTICES, points.size, -1).swapaxes(1, 2))


@lru_cache(maxsize=8)
def sampled_paths(polls: Law, replicas: int, peers: int, ask: int) -> Array:
    """Return sampled ages at which the replicas beside the `ask` ones that a client asks join these, backwards in time.

    A replica joins when a member polls it, which asks `peers` others at intervals of law `polls`. The array is by
    lattice, order of joining, and sample in the lattice; there are fewer samples for more replicas. It is cached, as it
    does not depend on the downloads.
    """
    joins = LATTICES * (replicas - ask)
    size, multiplier = next((lattice for lattice in SIZES if joins * lattice[0] <= MOST_JOINS), SIZES[-1])
    return joining_ages(polls, replicas, peers, ask, Points(size, multiplier))


@final
class SampledCluster(Cluster):
    """The age of the freshest of `ask` copies in a cluster of few replicas with any laws.

    It is computed from random samples of the polls, backwards in time, within a statistical error.
    """

    @cached_property
    def basis(self) -> Basis:
        """The basis; its accuracy is the largest statistical error, as a share, of P(age <= x) or of the mean age.

        The error is 5 standard errors, plus 3e-5. Raises FloatingPointError if no age of a copy can be told from 0.
        """
        x, tail, error = self._errors
        lately = float(np.max(error / (1 - tail)))
        overall = float(np.trapezoid(error, x) / np.trapezoid(tail, x))
        if math.isnan(lately + overall):
            raise FloatingPointError("no age of a copy can be told from 0")
        return replace(SPREAD, accuracy=max(lately, overall) + RESOLVED)

    @cached_property
    def _errors(self) -> tuple[Array, Array, Array]:
        """Three arrays: 48 ages x, the tail P(age > x) at each of these, and 5 standard errors of that."""
        x = np.geomspace(1e-3 * min(self.downloads.mean, self.polls.mean), 10 * self.downloads.mean, 48)
        asked_part, rest = np.asarray(self.bound(x)), self._rest_by_lattice(x)
        return x, asked_part * rest.mean(axis=0), SURE * asked_part * rest.std(axis=0, ddof=1) / math.sqrt(LATTICES)

    def freshness(self, updates: Law) -> Prediction:
        """Predict the freshness of the copy if the source's update intervals have the law `updates`.

        Its accuracy is the mean statistical error of P(age > x) over the times x since the last update, or that of the
        basis if it is less.
        """
        result = super().freshness(updates)
        x, _, error = self._errors
        edges = np.concatenate([[0.0], updates.rate * updates.integrated_tail(x), [1.0]])
        worst = np.maximum(np.append(error, error[-1]), np.concatenate([error[:1], error]))
        return replace(result, accuracy=min(float(np.diff(edges) @ worst) + RESOLVED, result.accuracy))

    def tail(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return self.bound(x) * self._rest.cover(float(np.max(x, initial=0.0)) or 1.0)(x)

    def tail_curve(self, horizon: float) -> Curve:
        rest = self._rest.cover(horizon)
        edges = clean_edges([*rest.edges, *self.scales.edges(horizon)], horizon)
        return fit_curve(lambda x: self.bound(x) * rest(x), edges, tolerance=1e-9)

    @cached_property
    def _rest(self) -> GrowingCurve:
        """The factor of P(age > x) that comes from replicas that are not asked, as a curve: a mean over samples."""

        def curve(horizon: float) -> Curve:
            edges = self.scales._replace(breaks=()).edges(horizon)
            return fit_curve(lambda x: self._rest_by_lattice(x).mean(axis=0), edges, tolerance=RESOLVED, most=PANELS)

        return GrowingCurve(curve)

    def _rest_by_lattice(self, x: Array) -> Array:
        """Return the factor of P(age > x) that comes from the replicas that are not asked, from 0 to 1.

        Rows are the independent estimates of the 32 lattices, and columns the ages in the array `x`.
        """
        ages = sampled_paths(self.polls, self.replicas, self.peers, self.ask)
        scale = self.downloads.mean * NEAREST
        grid = scale * np.expm1(np.arange(STEPS + 1) * (FARTHEST / STEPS))
        table = np.asarray(self.alone(grid))
        result, entries = np.empty((LATTICES, len(x))), np.empty_like(ages[0])
        for lattice, joining in enumerate(ages):  # each stays in the cache
            require_time()
            for i, at in enumerate(x):
                np.subtract(at, joining, out=entries)
                np.maximum(entries, 0.0, out=entries)
                entries /= scale
                np.log1p(entries, out=entries)
                # The nearest entry does, as T is spread over many.
                entries *= STEPS / FARTHEST
                entries += 0.5
                result[lattice, i] = table.take(entries.astype(np.intp), mode="clip").prod(axis=0).mean()
        return result

"""The choice of a formula for a cluster, whose replicas pull from the source and from one another (P2P VI).

Which formula holds for a cluster of m replicas depends on its shape and on the laws
of downloads D and polls C:

    all are asked, or all poll all      exact                    best of independent ages
    D, C exponential                    exact                    `Chain`
    C exponential                       exact                    `DownloadChain`
    any D and C, m up to SAMPLED        within sampling error    `sampled_paths`
    any D and C, m above                approximation            (2)
    any D and C, m infinite             limit                    `renewal_limit`

Where the first poll of the replica that is asked reaches all others,

    X = min(A_D, A_C + smallest of m - 1 independent A_D),                     (1)

as they have joined by then, and their downloads are independent of when.

A poll reaches fewer new replicas in a small cluster than in a large one, in
which no two polls meet. So P(X <= x) rises with m, up to the limit, and falls
short of it by about 1/m. With F_n that of a cluster of n = SAMPLED and F the limit,

    P(X <= x) ~ F m / (m + n (F / F_n - 1)),                                   (2)

which is F_n at m = n, and proportional to m where downloads are so few that all
replicas share each of them.

`recent` selection has no formula: the source's list makes a replica's peers
depend on their download times, which no equation here describes.

All ages are relative to where the cluster downloads from, so a cluster fed by
an upstream copy is `pull(upstream, cluster)`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import final

import numpy as np

from replnet.ages.clusters.chains import Chain, Cluster, DownloadChain
from replnet.ages.clusters.renewal_limit import ClusterLimit
from replnet.ages.clusters.sampled_paths import SampledCluster
from replnet.ages.curve import clean_edges
from replnet.ages.information_age import InformationAge, best_of, direct, pull
from replnet.ages.panels import FEW, Scales
from replnet.ages.prediction import Basis, Prediction
from replnet.laws import Array, Curve, Exponential, Law, fit_curve
from replnet.text import FieldError

FIRST_POLL = Basis("exact", "first poll reaches all, P2P VI-A", "renewal downloads and polls, distinct random peers")
SAMPLED = 40  # replicas; twice as many as peers where those are more
# Of the largest shortfall from the limit by (2), what may remain of it as an error; and the error of the limit.
SHARE, FLOOR = 0.5, 0.001
MOST_INTEGRATED = 1_500  # replicas whose birth chain is integrated within a second
NO_RECENT = "no formula for recent selection: the source's list makes peers depend on their download times; measure it"


@final
class InterpolatedCluster(Cluster):
    """The age of the freshest of `ask` copies in a cluster of many replicas.

    It lies between that in a smaller cluster and that in a very large one.
    """

    @cached_property
    def limit(self) -> ClusterLimit:
        """The age in a cluster of the same laws with ever more replicas."""
        return cluster_limit(self.downloads, self.polls, self.peers, ask=self.ask)

    @cached_property
    def smaller(self) -> InformationAge:
        """The age in a cluster of the same laws with `smaller_size` replicas."""
        return cluster(self.smaller_size, self.downloads, self.polls, self.peers, ask=self.ask)

    @property
    def smaller_size(self) -> int:
        """The number of replicas of the smaller cluster: 40, or twice as many as are polled or asked if more."""
        return sampled_size(self.peers, self.ask)

    @cached_property
    def basis(self) -> Basis:
        """The basis, an approximation, with the largest error of P(age <= x) as accuracy, a share of the value.

        It is estimated from how far this cluster is from a very large one, by what was measured for bursty, even and
        heavy-tailed laws.
        """
        x = np.geomspace(1e-3 * min(self.downloads.mean, self.polls.mean), 4 * self.downloads.mean, 60)
        in_limit, in_smaller = 1 - self.limit.tail(x), 1 - self.smaller.tail(x)
        shortfall = float(np.max(1 - self._between(in_limit, in_smaller) / in_limit))
        return Basis(
            "approximation",
            f"between {self.smaller_size} and very many replicas; {self.smaller.basis.source}",
            self.smaller.basis.assumes,
            max(SHARE * shortfall, 0.0) + self.smaller.basis.accuracy + FLOOR,
        )

    def freshness(self, updates: Law) -> Prediction:
        """Predict the freshness of the copy if the source's update intervals have the law `updates`.

        Its accuracy is the error (not as a share) that the interpolation between cluster sizes may have for these
        updates.
        """
        result, of_smaller = super().freshness(updates), self.smaller.freshness(updates)
        shortfall = max(self.limit.freshness(updates).value - result.value, 0.0)
        return replace(result, accuracy=SHARE * shortfall + of_smaller.accuracy + FLOOR * result.value)

    @property
    def scales(self) -> Scales:
        return self.limit.scales

    def _between(self, in_limit: Array, in_smaller: Array) -> Array:
        """Return P(X <= x) in this cluster, from that in the limit of very many replicas and in the smaller cluster.

        All are arrays over the same x.
        """
        whole = self.replicas * in_smaller + self.smaller_size * (in_limit - in_smaller)
        return np.where(whole > 0, in_limit * in_smaller * self.replicas / np.where(whole > 0, whole, 1.0), 0.0)

    def tail_curve(self, horizon: float) -> Curve:
        in_limit, in_smaller = self.limit.tail_curve(horizon), self.smaller.tail_curve(horizon)
        edges = clean_edges(np.concatenate([in_limit.edges, in_smaller.edges]), horizon)
        return fit_curve(lambda x: 1 - self._between(1 - in_limit(x), 1 - in_smaller(x)), edges, tolerance=1e-9)


def cluster(replicas: int, downloads: Law, polls: Law | None, peers: int = 1, *, ask: int = 1) -> InformationAge:
    """Return the age of the freshest of `ask` copies in a cluster, relative to where the cluster downloads from.

    Each replica downloads at intervals of law `downloads`, and pulls from `peers` random others at intervals of law
    `polls` (None: never). Whether the age is exact depends on laws and sizes, as its basis says. Raises FieldError (a
    ValueError) unless `replicas` is 1 or more, `peers` from 0 to replicas - 1, and `ask` from 1 to `replicas`.
    """
    _require_shape(replicas, peers, ask)
    if polls is None or peers == 0 or ask == replicas:
        return best_of([direct(downloads)] * ask)
    if isinstance(polls, Exponential) and isinstance(downloads, Exponential):
        return Chain(replicas, downloads, polls, peers, ask)
    if isinstance(polls, Exponential) and replicas <= MOST_INTEGRATED:
        return DownloadChain(replicas, downloads, polls, peers, ask)
    # The first poll of several replicas at recorded intervals has too many bends for (1) to be quick.
    if peers == replicas - 1 and (ask == 1 or len(polls.breaks) <= FEW):
        others = best_of([direct(downloads)] * (replicas - ask))
        later = pull(others, best_of([direct(polls)] * ask))
        return best_of([direct(downloads)] * ask + [later], rests_on=FIRST_POLL)
    kind = SampledCluster if replicas <= sampled_size(peers, ask) else InterpolatedCluster
    return kind(replicas, downloads, polls, peers, ask)


def sampled_size(peers: int, ask: int) -> int:
    """Return up to how many replicas the age in a cluster is computed from sampled paths of its polls.

    They are 40, or twice as many as the `peers` that a poll asks or the `ask` replicas that a client asks, if that is
    more.
    """
    return max(SAMPLED, 2 * peers, 2 * ask)


def _require_shape(replicas: int, peers: int, ask: int) -> None:
    """Raise FieldError unless replicas >= 1, `peers` is from 0 to replicas - 1, and `ask` from 1 to replicas."""
    if replicas < 1:
        raise FieldError("replicas", f"{replicas} is no cluster", "1 or more")
    if not 0 <= peers < replicas:
        right = f"0 to {replicas - 1}: the peers of a replica are others"
        raise FieldError("peers", f"{peers} of {replicas} replicas", right)
    if not 1 <= ask <= replicas:
        raise FieldError("ask", f"{ask} of {replicas} replicas", f"1 to {replicas}")


def cluster_limit(downloads: Law, polls: Law, peers: int = 1, *, ask: int = 1) -> ClusterLimit:
    """Return the limit, for ever more replicas, of the age of the freshest of `ask` copies in a cluster.

    Each replica downloads at intervals of law `downloads`, and pulls from `peers` random others at intervals of law
    `polls`.
    """
    return ClusterLimit(0, downloads, polls, peers, ask)


def fast_poll_limit(downloads: Law, replicas: int) -> InformationAge:
    """Return the age of a copy in a cluster whose polls are infinitely frequent: that of the freshest (P2P Thm 6).

    Each of the `replicas` downloads from the source by itself, at intervals of law `downloads`.
    """
    return best_of([direct(downloads)] * replicas)

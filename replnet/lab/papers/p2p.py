"""Freshness of copies of copies, and the best size of a system that serves clients (P2P).

Every peer and the source can handle B messages per unit of time, the freshness
must reach a target 1 - epsilon, and the rest of B serves clients. With m
replicas that download at rate lambda and poll k peers at rate nu,

    R = m (B - lambda - k nu),   m lambda <= B,   freshness >= 1 - epsilon.    P2P eq. 30 (1)

Without cooperation the slowest download rate is best, lambda = q^-1(1 - epsilon),
m = B / lambda and

    R = B^2 / lambda - B.                                                      P2P eq. 31-33 (2)

Clients that ask k replicas and keep the freshest answer see the superposition of
their downloads; they need lambda* = p*^-1(1 - epsilon) of these, so lambda' =
lambda*/k of each, and every query costs k answers:

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
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, NamedTuple

from replnet.ages import (
    CASCADE,
    DIRECT,
    REDUNDANT,
    Basis,
    Family,
    InformationAge,
    Prediction,
    UnreachableError,
    best_of,
    direct,
    pull,
    rate_for,
    residual,
    update_density,
)
from replnet.ages.clusters import cluster, fast_poll_limit
from replnet.lab.named_formulas import Downloads, NotNegative, Positive, Updates, Values, formula
from replnet.laws import Constant, Exponential, Law, at_rate
from replnet.network import FAMILY, Bandwidth, Count, CountOrNone, LawField, LawList, Target
from replnet.network import Family as FamilyText
from replnet.text import FieldError

SPELLS = Basis("exact", "P2P eq. 16, 24", CASCADE.assumes)
SUPERPOSED = Basis("limit", "P2P eq. 34, 35", "many independent replicas, none of which dominates")
THEOREM_3 = Basis("exact", "P2P Thm 3", "renewal updates and downloads, independent and stationary")
NEIGHBOURS = 4  # of the best m, on each side, that are tried one by one
STEP = 1.4  # factor between values of m in the coarse search

Levels = Annotated[LawList, "by level from the source on, the law of the times between downloads"]


SIZES = ("service_rate", "replicas", "downloads")
Bound = Annotated[Bandwidth, "B, the messages per unit of time of each replica and of the source"]
Wanted = Annotated[Target, "the freshness to reach, 1 - epsilon"]
DownloadFamily = Annotated[FamilyText, f"of the times between downloads: {FAMILY}"]
Replicas = Annotated[Count, "m, how many replicas"]
Peers = Annotated[CountOrNone, "k, how many others a poll asks"]
Ask = Annotated[Count, "k, how many replicas a query asks"]


# ---- Laws of downloads (P2P III to V)


@formula("freshness", DIRECT)
def freshness(updates: Updates, downloads: Downloads) -> Prediction:
    """The share of time in which a copy of the source is fresh (eq. 8)."""
    return direct(downloads).freshness(updates)


@formula("cascade-freshness", CASCADE, metrics=("freshness",))
def cascade_freshness(updates: Updates, downloads: Levels) -> Prediction:
    """The share of time in which the copy at the last level of a cascade is fresh (eq. 28, 29)."""
    return _cascade(downloads).freshness(updates)


def _cascade(downloads: Sequence[Law]) -> InformationAge:
    """Return the information age of the copy at the last level of a cascade.

    `downloads` has the law of each level, from the source on.
    """
    copy: InformationAge = direct(downloads[0])
    for law in downloads[1:]:
        copy = pull(copy, law)
    return copy


@formula("constant-gain", THEOREM_3, metrics=("freshness",))
def freshness_gain(updates: Updates, downloads: Downloads) -> float:
    """The freshness that constant intervals would add at the same rate of downloads, never negative (Theorem 3)."""
    best = direct(Constant(period=downloads.mean)).freshness(updates).value
    # Where there is nothing to gain the difference is rounding of either sign.
    return max(best - direct(downloads).freshness(updates).value, 0.0)


@formula("constant-saving", "P2P eq. 8, IV-B", groups=("given", "constant"), metrics=("rate", "saved"))
def constant_saving(target: Wanted, updates: Updates, downloads: DownloadFamily) -> Values:
    """The rate of downloads that a freshness takes, and the share of it that constant intervals save (eq. 8, IV-B).

    Rates are downloads per unit of time, at intervals of the given law and at constant ones.
    """
    given_rate, constant_rate = (
        download_rate(target, updates, partial(at_rate, family)) for family in (downloads, "constant")
    )
    if given_rate == 0:
        raise FieldError("target", f"{target:g} is met without downloads", "a freshness that takes some")
    yield from (
        ("given", "rate", given_rate),
        ("constant", "rate", constant_rate),
        ("constant", "saved", 1 - constant_rate / given_rate),
    )


# ---- How long a copy stays fresh (P2P V-B)


def on_residual_tail(copy: InformationAge, updates: Law, y: float) -> float:
    """Return P(R_V > y), the chance that a copy found fresh at a random time stays fresh for longer than y (eq. 16).

    It is exact for cascades.
    """
    return residual(copy, updates, y) / residual(copy, updates, 0.0)


def on_duration_tail(copy: InformationAge, updates: Law, y: float) -> float:
    """Return P(V > y), the chance that a copy that has just become fresh stays fresh for longer than y (eq. 19).

    It is exact for cascades.
    """
    return update_density(copy, updates, y) / update_density(copy, updates, 0.0)


def mean_on_duration(copy: InformationAge, updates: Law) -> Prediction:
    """Predict E[V], how long a copy that becomes fresh stays so on average (eq. 19). It is exact for cascades."""
    fresh = copy.freshness(updates)
    value = fresh.value / update_density(copy, updates, 0.0)
    return Prediction(value, fresh.kind, "P2P eq. 19; " + fresh.source, fresh.assumes, value * copy.basis.accuracy)


@formula("fresh-spells", SPELLS, metrics=("duration", "duration_beyond", "residual_beyond", "fresh_beyond"))
def fresh_spells(updates: Updates, downloads: Levels, time: NotNegative = 0.0) -> Values:
    """How long the last copy of a cascade stays fresh: E[V], P(V > y), P(R_V > y) and r(y) (eq. 16 to 19, 24 to 27).

    V is the time from becoming fresh to becoming stale, R_V what is left of it at a random instant at which the copy is
    fresh, and r(y) the chance that a copy is fresh at a random instant and stays so for longer than y.

    time: y
    """
    copy = _cascade(downloads)
    yield "copy", "duration", mean_on_duration(copy, updates)
    yield "copy", "duration_beyond", on_duration_tail(copy, updates, time)
    yield "copy", "residual_beyond", on_residual_tail(copy, updates, time)
    yield "copy", "fresh_beyond", residual(copy, updates, time)


# ---- The rates that meet a target (P2P VI, VII)


class Size(NamedTuple):
    """A system that meets its target: the number of its replicas, the rates of downloads and polls of each, how many
    peers each poll asks, and the rate of the queries that all replicas together serve.

    Rates are per unit of time; the number of replicas may be a fraction where there is no cluster.
    """

    replicas: float
    downloads: float  # rate of each replica
    polls: float  # rate of each replica, of `peers` messages
    peers: int
    service_rate: float


@formula("service-rate", "P2P eq. 30", groups=("replicas",))
def service_rate(
    bandwidth: Bound, replicas: Positive, downloads: NotNegative, polls: NotNegative = 0.0, peers: Peers = 0
) -> float:
    """The queries per unit of time that all replicas together can serve (eq. 30); negative if pulls alone are too many.

    replicas: m, how many
    downloads: lambda, downloads of each per unit of time
    polls: nu, polls of each per unit of time
    """
    return float(replicas * (bandwidth - downloads - peers * polls))


def download_rate(target: float, updates: Law, downloads: Family) -> float:
    """Return the slowest rate of downloads at which a copy of the source has the freshness `target` (eq. 31). Exact.

    `downloads` gives the law at a rate. Raises UnreachableError if no rate will do.
    """
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
    """Return the slowest rate of polls at which a cluster has the freshness `target` (VI-D); 0 if none are needed.

    `polls` gives the law at a rate, and each poll asks so many `peers`. The search begins at `start`, or at the rate of
    updates. As exact as the cluster's formula is. Raises UnreachableError if not even infinitely fast polls meet the
    target (Theorem 6).
    """
    if direct(downloads).freshness(updates).value >= target:
        return 0.0
    most = fast_poll_limit(downloads, replicas).freshness(updates).value
    if replicas == 1 or peers == 0 or most <= target:
        raise UnreachableError(
            f"freshness {target:g} cannot be met: infinitely fast polls reach {most:.6g} (P2P Thm 6)"
        )

    def freshness_at(rate: float) -> float:
        return cluster(replicas, downloads, polls(rate), peers).freshness(updates).value

    return rate_for(target, freshness_at, start=start or updates.rate, what="poll rate")


@formula("independent-size", "P2P eq. 31-33", groups=("independent",), metrics=Size._fields)
def non_cooperative(bandwidth: Bound, target: Wanted, updates: Updates, downloads: DownloadFamily) -> Size:
    """The system without polls or redundant queries that serves most queries and meets the target (eq. 31 to 33).

    Its replicas, not a whole number, the downloads and polls of each, the peers of a poll, and the queries served.
    Raises UnreachableError if the target takes more than the bandwidth.
    """
    rate = download_rate(target, updates, partial(at_rate, downloads))
    if rate > bandwidth:
        raise UnreachableError(
            f"the target needs {rate:g} downloads per unit of time, above the bandwidth {bandwidth:g}"
        )
    return Size(bandwidth / rate, rate, 0.0, 0, service_rate(bandwidth, bandwidth / rate, rate))


def redundant(bandwidth: float, target: float, updates: Law, downloads: str, ask: int, *, poisson: bool = True) -> Size:
    """Return the system that serves most queries if each asks `ask` replicas and keeps the freshest answer (eq. 34).

    `bandwidth` is the messages per unit of time of each replica and of the source; `downloads` names the law, without a
    rate. Superpositions of downloads count as Poisson if `poisson` (eq. 35, a limit of many replicas), else they are
    exact. Raises UnreachableError if the freshness `target` cannot be met.
    """
    family = partial(at_rate, downloads)

    def freshness_at(total: float) -> float:
        copies = [Exponential(rate=total)] if poisson else [family(total / ask)] * ask
        return best_of([direct(law) for law in copies]).freshness(updates).value

    start = download_rate(target, updates, family)
    each = rate_for(target, freshness_at, start=start, what="download rate") / ask
    replicas = bandwidth / each
    return Size(replicas, each, 0.0, 0, service_rate(bandwidth, replicas, each) / ask)


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
    """Return the system of `replicas` that meets the freshness `target` with the slowest polls (P2P VI-D).

    `downloads` and `polls` give the law at a rate, and each poll asks so many `peers`. The source's bandwidth is spent
    on downloads. The service rate is negative if polls alone exceed the bandwidth. The search begins at poll rate
    `start`, or at the rate of updates. Raises UnreachableError if no polls meet the target.
    """
    rate = bandwidth / replicas
    nu = poll_rate(target, replicas, updates, downloads(rate), polls, peers, start=start)
    return Size(replicas, rate, nu, peers, service_rate(bandwidth, replicas, rate, nu, peers))


def peak(value: Callable[[int], float], start: int) -> int:
    """Return the whole number, `start` or above, at which the function `value`, which rises and then falls, is
    largest.
    """
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
    # Where a plateau misled the search, walk on.
    while True:
        around = range(max(start, best - NEIGHBOURS), best + NEIGHBOURS + 1)
        better = max(around, key=value)
        if value(better) <= value(best):
            return best
        best = better


# ---- Clusters and systems by name


@formula("cluster-freshness", "P2P VI-A", groups=("cluster",), metrics=("freshness",))
def cluster_freshness(
    updates: Updates, downloads: Downloads, polls: LawField, replicas: Replicas, peers: Peers = 1
) -> Prediction:
    """The share of time in which a replica of a cluster, which downloads and polls others, is fresh (VI).

    The paper has no formula for it.

    polls: the law of the times between polls
    """
    return cluster(replicas, downloads, polls, peers).freshness(updates)


@formula("fast-polls", "P2P Thm 6", groups=("cluster",), metrics=("freshness",))
def fast_polls(updates: Updates, downloads: Downloads, replicas: Replicas) -> Prediction:
    """The limit of the freshness of replicas that poll one another as polls become infinitely frequent (Theorem 6)."""
    return fast_poll_limit(downloads, replicas).freshness(updates)


@formula("redundant-freshness", REDUNDANT, groups=("clients",), metrics=("freshness",))
def redundant_freshness(updates: Updates, downloads: Downloads, ask: Ask) -> Prediction:
    """The share of queries to several replicas that are answered by a fresh copy (VII-A)."""
    return best_of([direct(downloads)] * ask).freshness(updates)


@formula("redundant-size", SUPERPOSED, groups=("redundant", "redundant / independent"), metrics=SIZES)
def redundant_size(bandwidth: Bound, target: Wanted, updates: Updates, downloads: DownloadFamily, ask: Ask) -> Values:
    """The best system where queries ask several replicas, and its gain (eq. 34, 35, Table II).

    Its queries per unit of time, its replicas and the downloads of each; and the ratio of each of these to that of the
    best system where a query asks one replica.
    """
    shared_arguments = (bandwidth, target, updates, downloads)
    size, plain = redundant(*shared_arguments, ask), non_cooperative(*shared_arguments)
    for name in SIZES:
        yield "redundant", name, getattr(size, name)
        yield "redundant / independent", name, getattr(size, name) / getattr(plain, name)


@formula("cooperative-size", "P2P eq. 30, VI-D", groups=("cooperative",), metrics=Size._fields)
def cooperative_size(
    bandwidth: Bound,
    target: Wanted,
    replicas: Replicas,
    updates: Updates,
    downloads: DownloadFamily,
    polls: FamilyText,
    peers: Peers = 1,
) -> Size:
    """The queries that replicas which poll one another serve, if they poll as rarely as the target allows (VI-D).

    Queries are per unit of time, of all replicas together. Beside them there are the downloads and polls of each
    replica, and the peers that a poll asks.

    polls: of the times between polls: a law without its rate, such as exponential or pareto(alpha=3)
    """
    return cooperative(
        bandwidth, target, replicas, updates, partial(at_rate, downloads), partial(at_rate, polls), peers
    )

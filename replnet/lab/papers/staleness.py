"""Staleness of many sources and in many replicas, and of one copy by name (Staleness IV and VI).

Penalties of one copy are `ages/penalties`. Sources are independent, so with staleness
p_i of the copies of M of them (VI-C)

    at least one fresh    1 - product of p_i            all fresh    product of (1 - p_i)      (1)

Replicas of one source are not: an update makes all of them stale at once. The freshest
of them is as old as the last download by any, hence one replica with the superposed
downloads, and a budget lambda shared by m replicas costs (VI-D)

    centrally, in turns     the penalty of one replica with constant intervals 1/lambda        (2)
    independently           the penalty of the superposition of m at lambda / m each           (3)

which as m grows is that of exponential intervals (Palm-Khintchine). The extra bandwidth
that (3) needs follows from the rate at which it has the penalty of (2). The paper takes the
ratio of the penalties at equal rates for it, 2 for w = 1 and 6 for w = x; that is right
for w = 1 only, as the update penalty of x^n falls like lambda^-(n+1). A query to j random
replicas for several sources (VI-E) combines both: per subset of replicas (1) over the
sources, each by the superposition over the subset, and the mean over subsets.

A budget shared among sources (eq. 66) is `allocation/least_penalty`, whose numbers continue these.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from typing import Annotated, Literal

from replnet.ages import (
    APART,
    MOST_SUBSETS,
    ROOT_TOLERANCE,
    SOURCES,
    SUBSETS,
    Basis,
    Family,
    InformationAge,
    Prediction,
    UnreachableError,
    Weight,
    best_of,
    direct,
    joint_basis,
    least_amount,
    penalties,
    weight,
)
from replnet.allocation import Kind, allocate, least_cost, shares_of_queries
from replnet.lab.named_formulas import Downloads, NotNegative, Positive, Updates, Values, WeightText, formula
from replnet.lab.papers.p2p import Wanted, download_rate
from replnet.laws import Constant, Exponential, Law, at_rate
from replnet.network import AtLeastOne, Count, CountOrMany, LawList
from replnet.network import Family as FamilyText
from replnet.text import FieldError

IN_TURNS = Basis("exact", "Staleness VI-D", "replicas take turns at even distances")
MANY = Basis("limit", "P2P VII-B, Palm-Khintchine", "many independent replicas, none of which dominates")
FARTHEST = 59.5 * math.log(2)  # logarithm of the largest factor of extra bandwidth that is tried

CRAWL = Basis("exact", "Staleness eq. 73, 74", "constant downloads at rates by the square-root law")
DAY = 86_400.0  # seconds
MOST_SOURCES_SHOWN = 10  # sources that have a row of their own
SHOWN = tuple(f"source {i}" for i in range(1, MOST_SOURCES_SHOWN + 1))

PenaltyName = Annotated[Kind, "source or update"]
Shares = tuple[NotNegative, ...]
Lag = Annotated[NotNegative, "a time"]


# ---- Many sources, many replicas (VI-C to VI-E)


def any_fresh(stale: Sequence[Prediction]) -> Prediction:
    """Predict the chance that at least one of independent sources is fresh; `stale` has the staleness of each."""
    return _combine(1 - math.prod(part.value for part in stale), stale, SOURCES)


def all_fresh(stale: Sequence[Prediction]) -> Prediction:
    """Predict the chance that all of independent sources are fresh; `stale` has the staleness of each."""
    return _combine(math.prod(1 - part.value for part in stale), stale, SOURCES)


def in_turns(rate: float) -> InformationAge:
    """Return the information age of the freshest of replicas that download in turns, at constant intervals.

    `rate` is that of all replicas together, and their number makes no difference.
    """
    return direct(Constant(rate=rate))


def independently(family: Family, rate: float, replicas: int | Literal["many"]) -> InformationAge:
    """Return the information age of the freshest of replicas that share a budget without coordination.

    `family` gives the law of downloads at a rate, and `rate` is that of all replicas together; for "many" replicas the
    downloads are Poisson, which is the limit.
    """
    if replicas == "many":
        return direct(Exponential(rate=rate))
    return best_of([direct(family(rate / replicas))] * replicas, APART)


def penalty_of(kind: Kind, copy: InformationAge, updates: Law, by: Weight | str) -> Prediction:
    """Predict the source penalty (eq. 42) or the update penalty (eq. 50) of a copy, as `kind`, source or update, says.

    Both are mean costs at a random instant; `by` is the weight, the cost by the time since a missed update. Raises
    FieldError for any other kind.
    """
    if kind not in ("source", "update"):
        raise FieldError("penalty", f"{kind!r} is not known", "source or update")
    return (penalties.source_penalty if kind == "source" else penalties.update_penalty)(copy, updates, by)


@formula("independent-replicas", IN_TURNS, groups=("replicas",), metrics=("extra_bandwidth",))
def extra_bandwidth(
    *,
    replicas: CountOrMany,
    downloads: FamilyText = "constant",
    rate: Positive = 1.0,
    updates: Updates,
    penalty: PenaltyName = "update",
    weight: WeightText,
) -> Prediction:
    """The bandwidth that replicas without coordination need beyond that of replicas in turns, for the same penalty.

    It is a share of the bandwidth in turns: 1 is twice as much in all.

    Raises UnreachableError where none is enough, as with heavy tails whose penalty is infinite.

    replicas: how many share the budget; many: the limit
    downloads: of the times between downloads of each: a law without its rate, such as exponential or pareto(alpha=3)
    rate: downloads per unit of time of all replicas in turns
    """
    family, target = partial(at_rate, downloads), penalty_of(penalty, in_turns(rate), updates, weight)
    if target.value == 0:
        raise FieldError("weight", f"{weight} costs nothing at {rate:g} downloads in turns", "a weight that grows")

    def surplus(total_rate: float) -> float:
        """Return by how much the penalty at a total rate is below the target, as a share of that; negative if above."""
        left = penalty_of(penalty, independently(family, total_rate, replicas), updates, weight).value
        return 1 + ROOT_TOLERANCE - left / target.value

    steps = {"step": math.log(2), "largest": math.log(2), "farthest": FARTHEST}
    try:
        needed_rate = least_amount(surplus, rate, **steps, enough=2 * ROOT_TOLERANCE)
    except UnreachableError as error:
        most = f"no rate up to {error.tried:g} of independent replicas"
        raise UnreachableError(f"{most} has the penalty of {rate:g} in turns", error.tried) from None
    whole = joint_basis(
        [Basis(target.kind, target.source, target.assumes), IN_TURNS, MANY if replicas == "many" else APART]
    )
    return Prediction.of(needed_rate / rate - 1, whole)


@formula("fresh-sources", SUBSETS, groups=("replicas",), metrics=("any_fresh",))
def query(updates: LawList, downloads: tuple[LawList, ...], ask: Count = 1) -> Prediction:
    """The chance that a query for several sources finds at least one fresh in the replicas it asks (VI-C, VI-E).

    updates: of each source, the law of the times between updates
    downloads: of each replica, for each source the law of the times between downloads
    ask: how many of the replicas a query asks, drawn at random
    """
    if not downloads or any(len(row) != len(updates) for row in downloads):
        raise FieldError("downloads", "rows of different lengths", f"{len(updates)} laws in each, one per source")
    if not 1 <= ask <= len(downloads):
        raise FieldError("ask", f"{ask} of {len(downloads)} replicas", f"1 to {len(downloads)}")

    def fresh(chosen: Sequence[Sequence[Law]]) -> Prediction:
        ages = [best_of([direct(law) for law in of_source], APART) for of_source in zip(*chosen, strict=True)]
        return any_fresh([penalties.staleness(age, law) for age, law in zip(ages, updates, strict=True)])

    rows = [tuple(row) for row in downloads]
    if len(set(rows)) == 1:
        subsets = Counter([tuple(rows[:ask])])
    elif math.comb(len(rows), ask) > MOST_SUBSETS:
        raise FieldError("ask", f"{ask} of {len(rows)} unlike replicas", f"at most {MOST_SUBSETS} choices")
    else:  # equal ones are counted together
        subsets = Counter(tuple(sorted(chosen, key=str)) for chosen in combinations(rows, ask))
    parts = {chosen: fresh(chosen) for chosen in subsets}
    mean = sum(parts[chosen].value * count for chosen, count in subsets.items()) / subsets.total()
    return _combine(mean, list(parts.values()), SUBSETS)


def _combine(value: float, parts: Sequence[Prediction], basis: Basis) -> Prediction:
    """Return the prediction of a value that follows from `parts` by the formula `basis`.

    It rests on the bases of all of them and on `basis`, and its accuracy is the sum of theirs.
    """
    whole = joint_basis([*(Basis(part.kind, part.source, part.assumes) for part in parts), basis])
    return Prediction(value, whole.kind, whole.source, whole.assumes, sum(part.accuracy for part in parts))


# ---- A budget shared among sources (VI-C)

OPTIMUM = Basis(
    "exact",
    "Staleness eq. 66",
    "sources independent of one another; constant download intervals; update ages independent of downloads",
)


@formula("lag-budget", "Staleness eq. 73, 74", groups=("sources",), metrics=("rate",))
def budget_for(missing: Positive, mean_root_rate: Positive, sources: Positive) -> float:
    """The downloads per unit of time that keep equally popular sources within so many missing updates (eq. 73).

    missing: omega, the updates that a query may miss on average
    mean_root_rate: E[sqrt(mu)]; with popularity in proportion to mu (eq. 74), sqrt(E[mu])
    sources: how many there are
    """
    return sources * mean_root_rate**2 / (2 * missing)


def cost(
    rates: Sequence[float], updates: Sequence[Law], queries: Sequence[float], by: Weight | str, kind: Kind = "update"
) -> float:
    """Return the mean penalty that a query meets under constant downloads: the sum over sources of its share of queries
    times its penalty (as in eq. 66).

    There is a download rate, a law of updates and a share of queries for each source; sources without queries cost
    nothing. `by` is the weight of the time since a missed update, and `kind` says which penalty it is, source or
    update.
    """
    w, shares = weight(by), shares_of_queries(queries, len(updates))
    return math.fsum(
        share * least_cost(law, w, kind, rate)
        for rate, law, share in zip(rates, updates, shares.tolist(), strict=True)
        if share
    )


# ---- By name

POPULARITY = ("popularity uniform", "popularity by updates")


@formula("crawl-rate", CRAWL, groups=POPULARITY, metrics=("pages_per_second", "gigabits_per_second"))
def crawl_rate(sources: Positive, rate: Positive, spread: AtLeastOne, missing: Positive, page: Positive) -> Values:
    """The pages and gigabits a second that keep very many sources within so many missing updates each.

    That is if all sources are equally popular, and if they are popular in proportion to their updates.

    sources: how many there are
    rate: E[mu], their mean number of updates a day
    spread: E[mu] / E[sqrt(mu)]^2, 1 if all are alike
    missing: omega, the updates that a query may miss on average
    page: bytes of a page
    """
    for group, mean in zip(POPULARITY, (rate / spread, rate), strict=True):
        pages = budget_for(missing, math.sqrt(mean), sources) / DAY
        yield group, "pages_per_second", pages
        yield group, "gigabits_per_second", pages * page * 8 / 1e9


@formula("staleness", penalties.STALENESS)
def staleness(updates: Updates, downloads: Downloads) -> Prediction:
    """The share of time in which a copy is stale (eq. 36)."""
    return penalties.staleness(direct(downloads), updates)


@formula("poisson-excess", penalties.STALENESS, groups=("downloads",), metrics=("ratio",))
def poisson_excess(target: Wanted, updates: Updates, mean: Positive | None = None) -> float:
    """The constant downloads that the Poisson formula asks for, over those that a freshness takes (VI-B, Fig. 10(b)).

    Both are rates at which the freshness is met: one under Poisson updates, the other under the given ones.

    mean: the time between updates that it is given; their mean if left out
    """
    poisson = Exponential(mean=mean or updates.mean)
    needed_rate, poisson_rate = (download_rate(target, law, partial(at_rate, "constant")) for law in (updates, poisson))
    return poisson_rate / needed_rate


@formula("lag-tail", Basis("exact", "Staleness eq. 38", penalties.INDEPENDENT), metrics=("beyond_lag",))
def lag_tail(updates: Updates, downloads: Downloads, lag: Lag) -> float:
    """The chance that a copy that is stale at a random time has been stale for longer than a lag (eq. 38)."""
    return penalties.lag_tail(direct(downloads), updates, lag)


@formula("currency", penalties.CURRENCY, metrics=("within_lag",))
def currency(updates: Updates, downloads: Downloads, lag: Lag) -> Prediction:
    """The share of time in which a copy is fresh or stale by less than a lag (eq. 41)."""
    return penalties.currency(direct(downloads), updates, lag)


@formula("source-penalty", penalties.SOURCE, metrics=("penalty",))
def source_penalty(updates: Updates, downloads: Downloads, weight: WeightText) -> Prediction:
    """The mean cost of the time since a copy became stale (eq. 42, of which eq. 47 and 48 are cases)."""
    return penalties.source_penalty(direct(downloads), updates, weight)


@formula("update-penalty", penalties.UPDATE, metrics=("penalty",))
def update_penalty(updates: Updates, downloads: Downloads, weight: WeightText) -> Prediction:
    """The mean summed cost of the ages of all updates that a copy misses (eq. 50, of which eq. 56 and 57 are cases)."""
    return penalties.update_penalty(direct(downloads), updates, weight)


@formula("missing-updates", penalties.MISSING)
def missing_updates(updates: Updates, downloads: Downloads) -> Prediction:
    """The mean number of updates by which a copy is behind (eq. 54, of which eq. 55 is a case)."""
    return penalties.missing_updates(direct(downloads), updates)


def _one_share_each(updates: tuple[Law, ...], queries: tuple[float, ...], **_: object) -> None:
    """Raise FieldError unless `queries` has one share, finite and not negative, for each of `updates`."""
    shares_of_queries(queries, len(updates))


@formula("least-penalty", OPTIMUM, groups=(*SHOWN, "sources"), metrics=("rate", "penalty"), check=_one_share_each)
def least_penalty(
    updates: LawList, queries: Shares, budget: NotNegative, weight: WeightText, penalty: PenaltyName = "update"
) -> Values:
    """The rates at which constant downloads cost least, of the first ten sources, and the mean cost of all by queries.

    Eq. 66, of which eq. 71 and 72 are a case.

    updates: of each source, the law of the times between updates
    queries: of each, the share of queries that are for it
    budget: downloads per unit of time, all sources together
    """
    rates = allocate(updates, queries, budget, weight, penalty).rates
    yield from ((name, "rate", rate) for name, rate in zip(SHOWN, rates.tolist(), strict=False))
    yield "sources", "penalty", cost(rates.tolist(), updates, queries, weight, penalty)

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

A budget shared among sources (eq. 66) minimises the sum of q_i C_i(lambda_i), where q_i is
the share of queries and C_i a penalty under constant intervals d = 1/lambda, which are best
(Theorem 10):

    C = V(d) / d,    V = integral of v (source penalty), or mu w3 (update penalty)             (4)
    -dC/dlambda = m(d) = d V'(d) - V(d) = integral over x in (0, d) of x dV'(x)                (5)

V' is v of `penalties`, or mu w2. It does not decrease for the update penalty, nor for the
source penalty if w is a measure, so C is convex in lambda and q_i m_i(d_i) = kappa for all
sources that get anything. For other w the source penalty has several minima, and there is
no answer here. A source gets nothing iff q m(infinity) <= kappa, and from (5)

    source penalty    m(infinity) = w(infinity) E[A_U] + integral of x dw(x)                   (6)
    update penalty    m(infinity) = mu times the integral of x w(x)                            (7)

So under a bounded w the source penalty starves sources of short updates; the update penalty
starves none if (7) is infinite (Theorem 12). The proof of Theorem 12 takes for granted that
it is: with w = exp(-x) it is not, and sources of small q mu do starve. For w = 1 and
the update penalty the optimum is the square-root law, eq. 71 and 72.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from typing import Annotated, Literal, final

import numpy as np

from replnet.ages import penalties
from replnet.ages.curve import clean_edges
from replnet.ages.half_line import HalfLine, exists, integral_to_infinity
from replnet.ages.information_age import InformationAge, best_of, direct
from replnet.ages.penalties import expected_cost
from replnet.ages.prediction import Basis, Prediction, joint_basis
from replnet.ages.roots import ROOT_TOLERANCE, Family, UnreachableError, bracket, crossing
from replnet.ages.weights import Weight, geometric_points, weight
from replnet.laws.families import Constant, Exponential
from replnet.laws.fields import AtLeastOne, Count, CountOrMany, LawList
from replnet.laws.fields import Family as FamilyText
from replnet.laws.law import Array, Floats, Law
from replnet.laws.text import at_rate
from replnet.papers.budget import Allocation, spend
from replnet.papers.formula import Downloads, NotNegative, Positive, Updates, Values, WeightText, formula
from replnet.papers.p2p import Wanted, download_rate
from replnet.text.errors import FieldError, finite

Kind = Literal["source", "update"]

SOURCES = Basis("exact", "Staleness VI-C", "sources independent of one another")
IN_TURNS = Basis("exact", "Staleness VI-D", "replicas take turns at even distances")
APART = Basis("exact", "Staleness VI-D", "replicas independent of one another")
MANY = Basis("limit", "P2P VII-B, Palm-Khintchine", "many independent replicas, none of which dominates")
SUBSETS = Basis("exact", "Staleness VI-E", "any replicas are as likely to be asked")
MOST_SUBSETS = 2_000  # subsets that a query averages over one by one
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
    """Predict the chance that at least one of independent sources is fresh, from their staleness; (1)."""
    return _combine(1 - math.prod(part.value for part in stale), stale, SOURCES)


def all_fresh(stale: Sequence[Prediction]) -> Prediction:
    """Predict the chance that all of independent sources are fresh, from their staleness; (1)."""
    return _combine(math.prod(1 - part.value for part in stale), stale, SOURCES)


def in_turns(rate: float) -> InformationAge:
    """Return the age (2) of the freshest of replicas that share a budget centrally, whatever their number."""
    return direct(Constant(rate=rate))


def independently(family: Family, rate: float, replicas: int | Literal["many"]) -> InformationAge:
    """Return the age (3) of the freshest of replicas that share a budget without coordination.

    `family` gives the law of downloads at a rate; for many replicas it is the Poisson limit.
    """
    if replicas == "many":
        return direct(Exponential(rate=rate))
    return best_of([direct(family(rate / replicas))] * replicas, APART)


def penalty_of(kind: Kind, copy: InformationAge, updates: Law, by: Weight | str) -> Prediction:
    """Predict the source penalty, eq. 42, or the update penalty, eq. 50."""
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
    """The bandwidth that replicas without coordination need beyond replicas in turns, for the same penalty.

    Raises UnreachableError where none is enough, as with heavy tails whose penalty is infinite.

    replicas: how many share the budget; many: the limit
    downloads: of the times between downloads of each: a law without its rate, such as exponential or pareto(alpha=3)
    rate: downloads per unit of time of all replicas in turns
    """
    family, target = partial(at_rate, downloads), penalty_of(penalty, in_turns(rate), updates, weight)
    if target.value == 0:
        raise FieldError("weight", f"{weight} costs nothing at {rate:g} downloads in turns", "a weight that grows")

    def enough(log_rate: float) -> float:
        """Return by how much a total rate is more than enough, negative if it is too low."""
        left = penalty_of(penalty, independently(family, math.exp(log_rate), replicas), updates, weight).value
        return 1 + ROOT_TOLERANCE - left / target.value

    step = math.log(2)
    low, high = bracket(enough, math.log(rate), step, step, FARTHEST)
    if high[1] < 0:
        most = f"no rate up to {math.exp(high[0]):g} of independent replicas"
        raise UnreachableError(f"{most} has the penalty of {rate:g} in turns")
    needed_rate = math.exp(crossing(enough, low, high, enough=2 * ROOT_TOLERANCE)[1][0])
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
    """Return the prediction of a value that depends on `parts`; its error is at most the sum of theirs."""
    whole = joint_basis([*(Basis(part.kind, part.source, part.assumes) for part in parts), basis])
    return Prediction(value, whole.kind, whole.source, whole.assumes, sum(part.accuracy for part in parts))


# ---- A budget shared among sources (VI-C)

OPTIMUM = Basis(
    "exact",
    "Staleness eq. 66",
    "sources independent of one another; constant download intervals; update ages independent of downloads",
)
PER_DECADE = 6  # points per decade of the table of m
SHORTEST, LONGEST = 1e-5, 1e5  # intervals in the table, against the shortest and longest scale of the problem
LONGEST_LOG = 1e4  # largest logarithm of a price, with a minus; a lower price counts as 0
ROUNDS = 60  # of refinement; about five suffice, unless m begins at a threshold, which is bisected
SETTLED = 1e-13  # relative change of intervals that ends the refinement
ROUNDING, BLUR = 1e-14, 1e-9  # differences of log m between points, and to m(infinity), that may be rounding

# Ages with a tail of 1 everywhere, for integrals of a weight alone.
_LINE = HalfLine(np.ones_like, np.zeros_like, np.append(0.0, geometric_points(2.0**120, 2.0**-60)), 1.0)


@formula("lag-budget", "Staleness eq. 73, 74", groups=("sources",), metrics=("rate",))
def budget_for(missing: Positive, mean_root_rate: Positive, sources: Positive) -> float:
    """The downloads per unit of time that keep equally popular sources within so many missing updates (eq. 73).

    missing: omega, the updates that a query may miss on average
    mean_root_rate: E[sqrt(mu)]; with popularity in proportion to mu (eq. 74), sqrt(E[mu])
    sources: how many there are
    """
    return sources * mean_root_rate**2 / (2 * missing)


def square_root_rates(worth: Floats, budget: float) -> Floats:
    """Return the download rates of the square-root law, eq. 71, with q mu as the `worth` of sources."""
    roots = np.sqrt(worth)
    return np.asarray(budget * roots / roots.sum()) if roots.any() else roots


def cost(
    rates: Sequence[float], updates: Sequence[Law], queries: Sequence[float], by: Weight | str, kind: Kind = "update"
) -> float:
    """Return the sum over sources of query share times penalty, as in eq. 66, at these download rates."""
    w, shares = weight(by), _shares(queries, len(updates))
    return math.fsum(
        share * _cost(law, w, kind, rate)
        for rate, law, share in zip(rates, updates, shares.tolist(), strict=True)
        if share
    )


def allocate(
    updates: Sequence[Law], queries: Sequence[float], budget: float, by: Weight | str, kind: Kind = "update"
) -> Allocation:
    """Return the download rates with the least penalty for a budget, eq. 66, sources in the order given.

    Optimal up to rounding. `queries` are the shares of queries, by source.
    """
    w, shares = weight(by), _shares(queries, len(updates))
    if finite("budget", budget) < 0:
        raise FieldError("budget", f"{budget:g} is negative", "downloads per unit of time, 0 or more")
    if kind not in ("source", "update"):
        raise FieldError("penalty", f"{kind!r} is not known", "source or update")
    if kind == "source" and not w.is_measure:
        raise FieldError(
            "weight", f"{w} decreases, so the source penalty has several minima", "a weight that never does"
        )
    if budget == 0 or not shares.any():
        most = (share * _most(law, w, kind) for law, share in zip(updates, shares.tolist(), strict=True) if share)
        return Allocation(np.zeros(len(updates)), max(most, default=0.0))
    groups, t, reach = list(_groups(updates, shares, w, kind, budget)), 0.0, 1 / PER_DECADE

    def rates_at(t: float) -> Floats:
        rates = np.zeros(len(updates))
        for group in groups:
            fed, log_m = group.downloaded_at(-t)
            rates[group.places[fed]] = np.exp(-group.intervals(log_m))
        return rates

    for _ in range(ROUNDS):
        _, t = spend(budget, rates_at, t, LONGEST_LOG)
        off = max(group.refine(-t, reach) for group in groups)
        if off < SETTLED:
            break
        reach = min(reach / 2, 2 * off)
    rates, t = spend(budget, rates_at, t, LONGEST_LOG)
    return Allocation(rates, math.exp(-t))


@final
class _Group:
    """Sources with the same updates: their places, shares of queries, and points of the marginal (5).

    Between points log d is taken as linear in log m, and points are added where the answer is.
    """

    def __init__(
        self, places: Array, shares: Array, marginal: Callable[[Array], Array], most: float, log_d: Array
    ) -> None:
        self.places, self.most = places, most  # m(infinity)
        self._log_shares, self._marginal = np.log(shares), marginal
        self._log_d = self._log_m = np.empty(0)
        self._floor = -math.inf  # the largest log d known to have m = 0
        self._add_points(log_d)

    def downloaded_at(self, log_price: float) -> tuple[Array, Array]:
        """Return a mask of the sources that get downloads at a price, and the logarithm of their marginal m (5)."""
        fed = self._log_shares + math.log(self.most) > log_price
        return fed, log_price - self._log_shares[fed]

    def intervals(self, log_m: Array) -> Array:
        """Return the logarithms of the download intervals d at which the marginal (5) is m, from those of m.

        Past the ends of the points they go on as steeply as there.
        """
        x, y, (first, last) = self._log_m, self._log_d, self._slopes
        log_d = np.interp(log_m, x, y) + first * np.minimum(log_m - x[0], 0.0) + last * np.maximum(log_m - x[-1], 0.0)
        return np.where(log_d > self._floor, log_d, (self._floor + y[0]) / 2)

    def refine(self, log_price: float, reach: float) -> float:
        """Add points around the intervals at a price, and return by how much these move."""
        _, log_m = self.downloaded_at(log_price)
        at = self.intervals(log_m)
        self._add_points((at[:, None] + reach * np.array([-1.0, 0.0, 1.0])).ravel())
        return float(np.abs(self.intervals(log_m) - at).max(initial=0.0))

    def _add_points(self, log_d: Array) -> None:
        """Add points, without those where m has no inverse but rounding."""
        with np.errstate(divide="ignore"):
            log_m = np.log(np.clip(self._marginal(np.exp(log_d)), 0.0, self.most))
        log_d, log_m = np.append(self._log_d, log_d), np.append(self._log_m, log_m)
        self._floor = float(np.max(log_d[log_m == -math.inf], initial=self._floor))
        order = np.argsort(log_d, kind="stable")
        log_d, log_m = log_d[order], np.maximum.accumulate(log_m[order])
        keep = np.isfinite(log_m) & (log_m < math.log(self.most) - BLUR)
        log_d, log_m = log_d[keep], log_m[keep]
        grows = np.diff(log_m, prepend=-math.inf) > ROUNDING
        x, y = log_m[grows], log_d[grows]
        self._log_m, self._log_d = x, y
        self._slopes = float((y[1] - y[0]) / (x[1] - x[0])), float((y[-1] - y[-2]) / (x[-1] - x[-2]))


def _groups(updates: Sequence[Law], shares: Array, w: Weight, kind: Kind, budget: float) -> Iterator[_Group]:
    """Yield the sources that get queries, those of equal updates together; all in one group for the update penalty."""
    queried = np.flatnonzero(shares).tolist()
    fair, means = len(queried) / budget, [updates[i].mean for i in queried]
    low, high = SHORTEST * min(fair, *means), LONGEST * max(fair, *means)
    log_d = np.linspace(math.log(low), math.log(high), int(PER_DECADE * math.log10(high / low)))
    places_by_law: dict[Law | None, list[int]] = {}
    for i in queried:
        places_by_law.setdefault(None if kind == "update" else updates[i], []).append(i)
    for places in places_by_law.values():
        law = updates[places[0]]
        # The update penalty is mu times the same function for all, so mu can go with the share.
        factors = np.array([updates[i].rate / law.rate for i in places]) if kind == "update" else 1.0

        def marginal(d: Array, law: Law = law) -> Array:
            first, second = _potential(law, w, kind, d)
            return d * first - second

        yield _Group(np.array(places), shares[places] * factors, marginal, _most(law, w, kind), log_d)


def _shares(queries: Sequence[float], sources: int) -> Array:
    """Return the shares of queries as an array; raises FieldError if they do not fit the sources."""
    shares = np.array([finite("queries", share) for share in queries])
    if len(shares) != sources:
        raise FieldError("queries", f"{len(shares)} of them", f"{sources}, one per source")
    if (shares < 0).any():
        raise FieldError("queries", f"{shares.min():g} is negative", "0 or more")
    return shares


def _potential(law: Law, w: Weight, kind: Kind, d: Array) -> tuple[Array, Array]:
    """Return V' and V of (4) at these download intervals."""
    if kind == "update":
        return law.rate * w.integral(d), law.rate * w.second_integral(d)
    return expected_cost(law, w, d), expected_cost(law, w, d, 2)


def _cost(law: Law, w: Weight, kind: Kind, rate: float) -> float:
    """Return the penalty C of (4) of one source at a download rate, which may be 0."""
    if rate > 0:
        return rate * float(_potential(law, w, kind, np.array([1 / rate]))[1][0])
    return w.limit if kind == "source" else law.rate * _over_all_ages(w, w)


def _most(law: Law, w: Weight, kind: Kind) -> float:
    """Return the largest marginal of a source, m(infinity), by (6) or (7)."""
    if kind == "update":
        return law.rate * _over_all_ages(lambda x: x * w(x), w)
    if math.isinf(w.limit):
        return math.inf
    rise = _over_all_ages(lambda x: np.maximum(w.limit - w(x), 0.0), w)
    return w.limit * law.second_moment / (2 * law.mean) + rise


def _over_all_ages(f: Callable[[Array], Array], w: Weight) -> float:
    """Return the integral of f over all ages from 0 to infinity; f is smooth where w is."""
    if not exists(_LINE, f, 1):
        return math.inf
    last = float(_LINE.edges[-1])
    return integral_to_infinity(f, clean_edges(np.append(_LINE.edges, w.edges(last, 1.0)), last), _LINE).value


# ---- By name

POPULARITY = ("popularity uniform", "popularity by updates")


@formula("crawl-rate", CRAWL, groups=POPULARITY, metrics=("pages_per_second", "gigabits_per_second"))
def crawl_rate(sources: Positive, rate: Positive, spread: AtLeastOne, missing: Positive, page: Positive) -> Values:
    """The pages a second that keep very many sources within so many missing updates each.

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

    mean: the time between updates that it is given; their mean if left out
    """
    poisson = Exponential(mean=mean or updates.mean)
    needed_rate, poisson_rate = (download_rate(target, law, partial(at_rate, "constant")) for law in (updates, poisson))
    return poisson_rate / needed_rate


@formula("lag-tail", Basis("exact", "Staleness eq. 38", penalties.INDEPENDENT), metrics=("beyond_lag",))
def lag_tail(updates: Updates, downloads: Downloads, lag: Lag) -> float:
    """The chance that a stale copy has been stale for longer than a lag (eq. 38)."""
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
    _shares(queries, len(updates))


@formula("least-penalty", OPTIMUM, groups=(*SHOWN, "sources"), metrics=("rate", "penalty"), check=_one_share_each)
def least_penalty(
    updates: LawList, queries: Shares, budget: NotNegative, weight: WeightText, penalty: PenaltyName = "update"
) -> Values:
    """The rates at which constant downloads cost least (eq. 66, of which eq. 71 and 72 are a case).

    updates: of each source, the law of the times between updates
    queries: of each, the share of queries that are for it
    budget: downloads per unit of time, all sources together
    """
    rates = allocate(updates, queries, budget, weight, penalty).rates
    yield from ((name, "rate", rate) for name, rate in zip(SHOWN, rates.tolist(), strict=False))
    yield "sources", "penalty", cost(rates.tolist(), updates, queries, weight, penalty)

"""A budget of downloads shared among sources (Staleness VI-C, eq. 66).

Minimise the sum over sources of q_i C_i(lambda_i) at a sum of rates Lambda, where q_i is the
share of queries and C_i a penalty under constant intervals d = 1/lambda, which are best
(Theorem 10):

    C = V(d) / d,    V = integral of v (source penalty), or mu w3 (update penalty)             (1)
    -dC/dlambda = m(d) = d V'(d) - V(d) = integral over x in (0, d) of x dV'(x)                (2)

V' is v of `charge`, or mu w2. It does not decrease for the update penalty, nor for the
source penalty if w is a measure, so C is convex in lambda and q_i m_i(d_i) = kappa for all
sources that get anything. For other w the source penalty has several minima, and there is
no answer here.

A source gets nothing iff q m(infinity) <= kappa, and from (2)

    source penalty    m(infinity) = w(infinity) E[A_U] + integral of x dw(x)                   (3)
    update penalty    m(infinity) = mu times the integral of x w(x)                            (4)

So under a bounded w the source penalty starves sources of short updates; the update penalty
starves none if (4) is infinite (Theorem 12). The proof of Theorem 12 takes for granted that
it is: with w = exp(-x) it is not, and sources of small q mu do starve.

For w = 1 and the update penalty the optimum is the square-root law, eq. 71 and 72.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.ages.curve import clean_edges
from replnet.ages.half_line import HalfLine, exists, integrated
from replnet.ages.penalties import charge
from replnet.ages.prediction import Basis, Prediction
from replnet.ages.weights import Weight, graded, weight
from replnet.laws.law import Array, Law
from replnet.papers.many_replicas import Kind
from replnet.text.checks import FieldError, finite, positive

ALLOCATION = "sources independent of one another; constant download intervals; update ages independent of downloads"
OPTIMUM = Basis("exact", "Staleness eq. 66", ALLOCATION)
PER_DECADE = 6  # points of the table of m
SHORTEST, LONGEST = 1e-5, 1e5  # intervals in the table, against the shortest and longest scale of the problem
ROUNDS = 60  # of refinement after that; about five do, but where m begins at a threshold that is bisected
SETTLED = 1e-13  # relative change of intervals that ends it
ROUNDING, BLUR = 1e-14, 1e-9  # differences of log m between points, and to m(infinity), that mean nothing


@final
@dataclass(frozen=True, slots=True)
class Allocation:
    """Download rates by source, the penalty that they leave, and what more budget would save of it per unit."""

    rates: tuple[float, ...]
    penalty: Prediction
    price: float


def budget_for(missing: float, mean_root_rate: float, sources: float) -> float:
    """The downloads per unit of time that keep `sources`, equally popular, within `missing` updates, eq. 73.

    `mean_root_rate` is E[sqrt(mu)]. With popularity in proportion to mu, eq. 74, it is sqrt(E[mu]).
    """
    return (
        positive("sources", sources)
        * positive("mean_root_rate", mean_root_rate) ** 2
        / (2 * positive("missing", missing))
    )


def cost(
    rates: Sequence[float], updates: Sequence[Law], queries: Sequence[float], by: Weight | str, kind: Kind = "update"
) -> float:
    """The penalty of (66) that given download rates leave."""
    w, shares = weight(by), _shares(queries, len(updates))
    return math.fsum(
        share * _cost(law, w, kind, rate)
        for rate, law, share in zip(rates, updates, shares.tolist(), strict=True)
        if share
    )


def allocate(
    updates: Sequence[Law], queries: Sequence[float], budget: float, by: Weight | str, kind: Kind = "update"
) -> Allocation:
    """The rates of eq. 66, sources in the order given; optimal up to rounding."""
    w, shares, budget = weight(by), _shares(queries, len(updates)), _budget(budget)
    if kind not in ("source", "update"):
        raise FieldError("penalty", f"{kind!r} is not known", "source or update")
    if kind == "source" and not w.is_measure:
        raise FieldError(
            "weight", f"{w} decreases, so the source penalty has several minima", "a weight that never does"
        )
    if budget == 0 or not shares.any():
        rates = np.zeros(len(updates))
        price = max(
            (s * _most(law, w, kind) for law, s in zip(updates, shares.tolist(), strict=True) if s), default=0.0
        )
    else:
        known, price = _solved(_grouped(updates, shares, w, kind, budget), budget)
        rates = np.pad(known, (0, len(updates) - len(known)))
    left = cost(rates.tolist(), updates, queries, w, kind)
    return Allocation(tuple(rates.tolist()), Prediction(left, OPTIMUM.kind, OPTIMUM.source, OPTIMUM.assumes), price)


def _budget(value: float) -> float:
    if finite("budget", value) < 0:
        raise FieldError("budget", f"{value:g} is negative", "downloads per unit of time, 0 or more")
    return float(value)


def _shares(queries: Sequence[float], sources: int) -> Array:
    shares = np.array([finite("queries", share) for share in queries])
    if len(shares) != sources:
        raise FieldError("queries", f"{len(shares)} of them", f"{sources}, one per source")
    if (shares < 0).any():
        raise FieldError("queries", f"{shares.min():g} is negative", "0 or more")
    return shares


def _potential(law: Law, w: Weight, kind: Kind, d: Array) -> tuple[Array, Array]:
    """V' and V of (1)."""
    if kind == "update":
        return law.rate * w.integral(d), law.rate * w.second_integral(d)
    return charge(law, w, d), charge(law, w, d, 2)


def _cost(law: Law, w: Weight, kind: Kind, rate: float) -> float:
    if rate > 0:
        return rate * float(_potential(law, w, kind, np.array([1 / rate]))[1][0])
    if kind == "source":
        return w.limit
    x = np.array([1e150])
    return law.rate * float(w.integral(x)[0]) if exists(_line(), w, 1) else math.inf


@final
@dataclass(slots=True, eq=False)
class _Group:
    """Sources of the same updates: their places, shares of queries, and what is known of the marginal (2).

    Between known points log d is taken as linear in log m, and points are added where the answer is.
    """

    places: Array
    shares: Array
    marginal: Callable[[Array], Array]
    most: float  # m(infinity)
    log_d: Array
    log_m: Array
    floor: float = -math.inf  # the largest log d known to have m = 0

    def fed(self, log_k: float) -> Array:
        """Which sources get anything."""
        return np.log(self.shares * self.most) > log_k

    def intervals(self, log_m: Array) -> Array:
        """log d by log m; past the ends as steep as there."""
        inside = np.interp(log_m, self.log_m, self.log_d)
        first, last = (np.diff(self.log_d[at]) / np.diff(self.log_m[at]) for at in (slice(0, 2), slice(-2, None)))
        below, above = np.minimum(log_m - self.log_m[0], 0.0), np.maximum(log_m - self.log_m[-1], 0.0)
        log_d = inside + first * below + last * above
        return np.where(log_d > self.floor, log_d, (self.floor + self.log_d[0]) / 2)

    def learn(self, log_d: Array) -> None:
        """Add points, but for those where m has no inverse but rounding."""
        with np.errstate(divide="ignore"):
            log_m = np.log(np.clip(self.marginal(np.exp(log_d)), 0.0, self.most))
        log_d, log_m = np.append(self.log_d, log_d), np.append(self.log_m, log_m)
        self.floor = float(np.max(log_d[log_m == -math.inf], initial=self.floor))
        order = np.argsort(log_d, kind="stable")
        log_d, log_m = log_d[order], np.maximum.accumulate(log_m[order])
        keep = np.isfinite(log_m) & (log_m < math.log(self.most) - BLUR if self.most < math.inf else True)
        log_d, log_m = log_d[keep], log_m[keep]
        grows = np.diff(log_m, prepend=-math.inf) > ROUNDING
        self.log_d, self.log_m = log_d[grows], log_m[grows]


def _line() -> HalfLine:
    """Nothing but ages, for integrals of a weight alone."""
    edges = np.concatenate([[0.0], graded(2.0**120, 2.0**-60)])
    return HalfLine(np.ones_like, np.zeros_like, edges, 1.0)


def _most(law: Law, w: Weight, kind: Kind) -> float:
    """m(infinity), (3) or (4)."""
    line = _line()
    if kind == "update":
        if not exists(line, w, 2):
            return math.inf
        edges = clean_edges(np.concatenate([line.edges, w.edges(line.edges[-1], 1.0)]), float(line.edges[-1]))
        return law.rate * integrated(lambda x: x * w(x), edges, line).value
    if math.isinf(w.limit):
        return math.inf
    return w.limit * law.second_moment / (2 * law.mean) + _rise(w, line)


def _rise(w: Weight, line: HalfLine) -> float:
    """The integral of x dw(x), that is of w(infinity) - w(x)."""

    def below(x: Array) -> Array:
        return np.maximum(w.limit - w(x), 0.0)

    if not exists(line, below, 1):
        return math.inf
    edges = clean_edges(np.concatenate([line.edges, w.edges(line.edges[-1], 1.0)]), float(line.edges[-1]))
    return integrated(below, edges, line).value


def _grouped(updates: Sequence[Law], shares: Array, w: Weight, kind: Kind, budget: float) -> list[_Group]:
    """Sources that get queries, those of equal updates together; all of them for the update penalty."""
    asked = [i for i in range(len(updates)) if shares[i] > 0]
    fair = len(asked) / budget
    means = [updates[i].mean for i in asked]
    low, high = SHORTEST * min(fair, *means), LONGEST * max(fair, *means)
    d = np.geomspace(low, high, int(PER_DECADE * math.log10(high / low)))
    groups: dict[Law | None, list[int]] = {}
    for i in asked:
        groups.setdefault(None if kind == "update" else updates[i], []).append(i)
    return [_group(updates, shares, places, w, kind, d) for places in groups.values()]


def _group(updates: Sequence[Law], shares: Array, places: list[int], w: Weight, kind: Kind, d: Array) -> _Group:
    law = updates[places[0]]
    # The update penalty is mu times the same function for all, so mu can go with the share.
    factors = np.array([updates[i].rate / law.rate for i in places]) if kind == "update" else np.ones(len(places))

    def marginal(x: Array) -> Array:
        first, second = _potential(law, w, kind, x)
        return x * first - second

    most, empty = _most(law, w, kind), np.empty(0)
    group = _Group(np.array(places), shares[places] * factors, marginal, most, empty, empty)
    group.learn(np.log(d))
    return group


def _solved(groups: list[_Group], budget: float) -> tuple[Array, float]:
    """Rates and kappa, by tables that are refined around the answer until it stays."""
    reach = 1 / PER_DECADE
    for _ in range(ROUNDS):
        log_k = _price(groups, budget)
        found = [(group, group.intervals(log_k - np.log(group.shares[group.fed(log_k)]))) for group in groups]
        for group, at in found:
            group.learn((at[:, None] + reach * np.array([-1.0, 0.0, 1.0])).ravel())
        moved = [np.abs(group.intervals(log_k - np.log(group.shares[group.fed(log_k)])) - at) for group, at in found]
        off = max(float(one.max(initial=0.0)) for one in moved)
        if off < SETTLED:
            break
        reach = min(reach / 2, 2 * off)
    log_k = _price(groups, budget)
    rates = np.zeros(1 + max(int(group.places.max()) for group in groups))
    for group in groups:
        some = group.fed(log_k)
        rates[group.places[some]] = np.exp(-group.intervals(log_k - np.log(group.shares[some])))
    return rates * (budget / rates.sum()), math.exp(log_k)


def _price(groups: list[_Group], budget: float) -> float:
    """log kappa at which the tables spend the budget, by bisection."""

    def spent(log_k: float) -> float:
        fed = [(group, group.shares[group.fed(log_k)]) for group in groups]
        return sum(float(np.exp(-group.intervals(log_k - np.log(shares))).sum()) for group, shares in fed)

    low = min(float(group.log_m[0] + np.log(group.shares.min())) for group in groups)
    high = max(float(group.log_m[-1] + np.log(group.shares.max())) for group in groups)
    while high - low > 1e-15 * max(1.0, abs(low), abs(high)):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if spent(middle) > budget else (low, middle)
    return (low + high) / 2

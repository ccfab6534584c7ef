"""Rates with the least penalty for a budget that sources share (Staleness eq. 66).

The rates minimise the sum of q_i C_i(lambda_i), where q_i is
the share of queries and C_i a penalty under constant intervals d = 1/lambda, which are best
(Theorem 10):

    C = V(d) / d,    V = integral of v (source penalty), or mu w3 (update penalty)             (4)
    -dC/dlambda = m(d) = d V'(d) - V(d) = integral over x in (0, d) of x dV'(x)                (5)

V' is v of `ages/penalties`, or mu w2. It does not decrease for the update penalty, nor for the
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
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, final

import numpy as np

from replnet.ages import (
    HalfLine,
    Weight,
    clean_edges,
    exists,
    expected_cost,
    geometric_points,
    integral_to_infinity,
    weight,
)
from replnet.allocation.budget import Allocation, spend
from replnet.laws import Array, Floats, Law
from replnet.text import FieldError, finite

Kind = Literal["source", "update"]

PER_DECADE = 6  # points per decade of the table of m

SHORTEST, LONGEST = 1e-5, 1e5  # intervals in the table, against the shortest and longest scale of the problem

LONGEST_LOG = 1e4  # largest logarithm of a price, with a minus; a lower price counts as 0

ROUNDS = 60  # of refinement; about five suffice, unless m begins at a threshold, which is bisected

SETTLED = 1e-13  # relative change of intervals that ends the refinement

ROUNDING, BLUR = 1e-14, 1e-9  # differences of log m between points, and to m(infinity), that may be rounding

# Ages with a tail of 1 everywhere, for integrals of a weight alone.
_LINE = HalfLine(np.ones_like, np.zeros_like, np.append(0.0, geometric_points(2.0**120, 2.0**-60)), 1.0)


def allocate(
    updates: Sequence[Law], queries: Sequence[float], budget: float, by: Weight | str, kind: Kind = "update"
) -> Allocation:
    """Return the download rates with the least penalty for a budget (Staleness eq. 66), sources in the order given.

    `updates` are the laws of their updates, `queries` their shares of queries, in any unit, and `budget` the downloads
    of all per unit of time. The penalty is that of the `source` or of the `update` kind, with the weight `by`, such as
    "x", at constant intervals between downloads; the price is by how much one more download lowers it. Optimal up to
    rounding. Raises a FieldError for arguments that do not fit, or for the source penalty of a weight that decreases.
    """
    w, shares = weight(by), shares_of_queries(queries, len(updates))
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
    """Sources with the same updates, and points of the function from a download interval d to the gain m(d).

    The gain is that of one more download in penalty, (5). `places` are the numbers of the sources and `shares` their
    shares of queries; `marginal` is m, `most` its limit at infinity, and `log_d` has the logarithms of the first
    intervals. Between points log d is taken as linear in log m, and points are added where the answer is.
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
        """Return a mask of the group's sources that get downloads at the price exp(log_price), and log gains for these.

        A gain is that of one more download of a source in the mask, before it is weighted by its share of queries.
        """
        fed = self._log_shares + math.log(self.most) > log_price
        return fed, log_price - self._log_shares[fed]

    def intervals(self, log_m: Array) -> Array:
        """Return the logarithms of the download intervals at which one more download gains exp(log_m), by element.

        Past the ends of the known points they go on as steeply as there.
        """
        x, y, (first, last) = self._log_m, self._log_d, self._slopes
        log_d = np.interp(log_m, x, y) + first * np.minimum(log_m - x[0], 0.0) + last * np.maximum(log_m - x[-1], 0.0)
        return np.where(log_d > self._floor, log_d, (self._floor + y[0]) / 2)

    def refine(self, log_price: float, reach: float) -> float:
        """Add points around the intervals at the price exp(log_price), and return by how much these move at most.

        Intervals count as logarithms, in the result too: the new points lie at these, and `reach` to both sides.
        """
        _, log_m = self.downloaded_at(log_price)
        at = self.intervals(log_m)
        self._add_points((at[:, None] + reach * np.array([-1.0, 0.0, 1.0])).ravel())
        return float(np.abs(self.intervals(log_m) - at).max(initial=0.0))

    def _add_points(self, log_d: Array) -> None:
        """Add points at these logarithms of download intervals, except where the gain grows by rounding alone."""
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
    """Yield the sources that get queries, those of equal updates together; all in one group for the update penalty.

    `shares` are the shares of queries, by source. The first points of a group are around intervals that the budget
    allows.
    """
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


def shares_of_queries(queries: Sequence[float], sources: int) -> Array:
    """Return the shares of queries as an array; raise a FieldError unless there is one of 0 or more per source.

    `sources` is the number of sources. Shares need not add up to 1.
    """
    shares = np.array([finite("queries", share) for share in queries])
    if len(shares) != sources:
        raise FieldError("queries", f"{len(shares)} of them", f"{sources}, one per source")
    if (shares < 0).any():
        raise FieldError("queries", f"{shares.min():g} is negative", "0 or more")
    return shares


def _potential(law: Law, w: Weight, kind: Kind, d: Array) -> tuple[Array, Array]:
    """Return V'(d) and V(d) at every length d of a download interval, where V is the penalty over the interval, (4).

    The penalty is that of the source or of the update kind, integrated from the download on.
    """
    if kind == "update":
        return law.rate * w.integral(d), law.rate * w.second_integral(d)
    return expected_cost(law, w, d), expected_cost(law, w, d, 2)


def least_cost(law: Law, w: Weight, kind: Kind, rate: float) -> float:
    """Return the mean penalty of one source at a download rate, which may be 0, with constant intervals, C of (4).

    It is infinite if a source that is never downloaded has no finite penalty.
    """
    if rate > 0:
        return rate * float(_potential(law, w, kind, np.array([1 / rate]))[1][0])
    return w.limit if kind == "source" else law.rate * _over_all_ages(w, w)


def _most(law: Law, w: Weight, kind: Kind) -> float:
    """Return the largest gain that one more download of a source can bring, the limit for rare downloads.

    It is m(infinity) of (6) or (7), and may be infinite.
    """
    if kind == "update":
        return law.rate * _over_all_ages(lambda x: x * w(x), w)
    if math.isinf(w.limit):
        return math.inf
    rise = _over_all_ages(lambda x: np.maximum(w.limit - w(x), 0.0), w)
    return w.limit * law.second_moment / (2 * law.mean) + rise


def _over_all_ages(f: Callable[[Array], Array], w: Weight) -> float:
    """Return the integral of f over all ages from 0 to infinity, infinite if it diverges; f is smooth where w is."""
    if not exists(_LINE, f, 1):
        return math.inf
    last = float(_LINE.edges[-1])
    return integral_to_infinity(f, clean_edges(np.append(_LINE.edges, w.edges(last, 1.0)), last), _LINE).value

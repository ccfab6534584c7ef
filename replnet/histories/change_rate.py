"""How often an element changes, estimated from what visits see of it, beside how often it did (Estimating; Sync 6.1).

A crawler does not see the history of an element. A visit sees whether it changed since the visit before, and, where the
element tells when it was last modified, how long ago that was. With t the lengths between visits, n of them, X of which
saw a change, and a <= t the time since the last change if there was one, else t, the logarithm of the likelihood of a
Poisson process of rate z is

    of changes seen       sum over changed of log(1 - exp(-z t)) - z (sum over unchanged of t)                 (1)
    of last changes       X log z - z (sum of a)                                                               (2)

The rate where (1) is largest solves sum over changed of t / (exp(z t) - 1) = sum over unchanged of t; it is infinite if
all changed. That of (2) is X / sum of a. Where all t are alike there are versions of both with less bias
(papers/estimating), of which this module has its own. An interval is where the likelihood is above exp(-1.92) of the
largest. That of X over the sum of t is where it is for the share of visits that see a change: it is about these, and
need not have the rate of the changes in it.

The record itself says how often the element changed. Estimates from window after window of it, of so many visits
each, are off by a bias that is measured, and under Poisson changes known by formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from replnet.ages.roots import bracket, crossing
from replnet.histories.history import History
from replnet.histories.trace_import import Recorded, recorded
from replnet.laws import Law, law
from replnet.laws.law import Floats
from replnet.laws.processes.order import independent
from replnet.measure.estimate import FEWEST, Estimate, ratio
from replnet.papers.estimating import MOST_VISITS, rate_estimators
from replnet.text.errors import FieldError

DROP = 1.9207294103470622  # of the logarithm of a likelihood, with chance 0.05: half the quantile of chi squared
ALIKE = 0.01  # spread of lengths, over their mean, up to which visits count as equally far apart
WINDOW = 20
MOST = 10_000_000  # visits


@final
@dataclass(frozen=True, eq=False)
class Sightings:
    """What visits saw: the time since the visit before, whether there was a change, and the time since the last one.

    The last is at most that since the visit before.
    """

    lengths: Floats
    changed: NDArray[np.bool_]
    since: Floats

    def __getitem__(self, some: slice) -> Sightings:
        return Sightings(self.lengths[some], self.changed[some], self.since[some])

    @property
    def alike(self) -> bool:
        """Whether visits are equally far apart."""
        return bool(self.lengths.std() <= ALIKE * self.lengths.mean())


@final
@dataclass(frozen=True)
class RateEstimate:
    """A rate by one estimator with its 95 % interval, and the bias of estimates from windows, as a share of the rate.

    The bias is measured, and predicted for Poisson changes, NaN where there is no formula.
    """

    estimator: str
    rate: float
    low: float
    high: float
    bias: Estimate
    predicted_bias: float


@final
@dataclass(frozen=True, eq=False)
class ChangeRate:
    """How often one element changed, and what visits make of it."""

    history: History
    rate: float  # of the record, from the first visit to the last
    visits: int
    changed: int  # visits that saw a change
    distance: float  # between visits, on average
    window: int  # visits that every estimate of a bias rests on
    estimates: tuple[RateEstimate, ...]
    notes: tuple[str, ...]


def change_rate(updates: Recorded, visits: Recorded | Law, window: int = WINDOW, seed: int = 1) -> ChangeRate:
    """What visits make of the rate of recorded changes: a law of the times between visits, or files or times of both.

    The biases are those of estimates from `window` visits each. A law of visits is drawn from, by the `seed`.

    >>> import numpy as np
    >>> found = rn.change_rate(np.random.default_rng(1).exponential(2.0, 1000).cumsum(), "constant(period=1)")
    >>> {one.estimator: round(one.rate, 2) for one in found.estimates[:3]}
    {'changes seen': 0.39, 'bias-reduced': 0.5, 'maximum likelihood': 0.5}
    """
    history, notes = recorded(updates), list[str]()
    if not 1 <= window <= MOST_VISITS:
        raise FieldError(
            "window", f"{window} is out of range", f"1 to {MOST_VISITS:,} visits that an estimate rests on"
        )
    times = np.unique(history.times)
    at = _instants(visits, history, seed)
    inside = at[(at >= history.start) & (at <= history.end)]
    if inside.size < at.size:
        notes.append(f"{at.size - inside.size} visits before the first change or after the last are not counted")
    if inside.size < 2:
        wrong = f"{inside.size} between the first change and the last"
        raise FieldError("visits", wrong, "2 or more: visits at other times, or more often")
    found = seen_by(times, inside)
    if not found.alike:
        notes.append("visits are not equally far apart: estimators that take them to be are left out")
    if found.lengths.size // window < FEWEST:
        notes.append(f"{found.lengths.size // window} windows of {window} visits are too few for intervals of biases")
    count = int(np.count_nonzero((times > inside[0]) & (times <= inside[-1])))
    rate = count / float(found.lengths.sum())
    return ChangeRate(
        history=history,
        rate=rate,
        visits=found.lengths.size,
        changed=int(found.changed.sum()),
        distance=float(found.lengths.mean()),
        window=window,
        estimates=tuple(_estimates(found, rate, window)),
        notes=tuple(notes),
    )


def _instants(visits: Recorded | Law, history: History, seed: int) -> Floats:
    """Of the visits, in ascending order."""
    named = isinstance(visits, str) and "(" in visits and not Path(visits).is_file()
    given = law(visits) if named or hasattr(visits, "ppf") else visits  # SciPy's distributions are laws
    if not isinstance(given, Law):
        return np.unique(recorded(given).times)
    drawn, rng, length = independent("visits", given), np.random.default_rng(seed), history.end - history.start
    if length * drawn.rate > MOST:
        raise FieldError("visits", f"about {length * drawn.rate:.3g} of {given}", f"at most {MOST:,}: fewer of them")
    at = [history.start + float(drawn.around_zero(*rng.standard_exponential(2))[0])]
    while at[-1] <= history.end:
        more = drawn.draw(rng.standard_exponential(1024 + int((history.end - at[-1]) * drawn.rate)))
        at += (at[-1] + np.cumsum(more)).tolist()
    points = np.array(at)
    return np.unique(points[points <= history.end])


def seen_by(changes: Floats, visits: Floats) -> Sightings:
    """What visits see of changes, both in ascending order; a visit sees a change of its own instant."""
    lengths, before = np.diff(visits), np.searchsorted(changes, visits, side="right")
    changed = np.diff(before) > 0
    last = np.append(-np.inf, changes)[before[1:]]
    return Sightings(lengths, changed, np.where(changed, visits[1:] - last, lengths))


# ---- Estimators


def _rate_seen(of: Sightings) -> float:
    return float(of.changed.sum() / of.lengths.sum())


def _bias_reduced(of: Sightings) -> float:
    n, unchanged = of.changed.size, int((~of.changed).sum())
    return math.log((n + 0.5) / (unchanged + 0.5)) / float(of.lengths.mean())


def _likeliest(of: Sightings) -> float:
    """Where (1) is largest."""
    if of.changed.all():
        return math.inf
    if not of.changed.any():
        return 0.0
    changed, still = of.lengths[of.changed], float(of.lengths[~of.changed].sum())

    def past(x: float) -> float:
        with np.errstate(over="ignore"):
            return still - float((changed / np.expm1(math.exp(x) * changed)).sum())

    return math.exp(crossing(past, *bracket(past, math.log(_rate_seen(of))))[1][0])


def _last_modified(of: Sightings) -> float:
    """Where (2) is largest."""
    return float(of.changed.sum()) / _exposed(of)


def _last_modified_reduced(of: Sightings) -> float:
    n, x = of.changed.size, int(of.changed.sum())
    if x == 0:
        return 0.0
    return (x - 1 - (x / n / math.log1p(-x / n) if x < n else 0.0)) / _exposed(of)


def _exposed(of: Sightings) -> float:
    if not (total := float(of.since.sum())) > 0:
        raise FieldError("visits", "each came in the instant of a change", "visits that do not wait for changes")
    return total


RATE_ESTIMATORS: dict[str, Callable[[Sightings], float]] = {
    "changes seen": _rate_seen,
    "bias-reduced": _bias_reduced,
    "maximum likelihood": _likeliest,
    "last modified": _last_modified,
    "last modified, bias-reduced": _last_modified_reduced,
}
OF_EQUAL_LENGTHS = ("bias-reduced", "last modified, bias-reduced")


def _estimates(of: Sightings, rate: float, window: int) -> list[RateEstimate]:
    distance = float(of.lengths.mean())
    even = Sightings(np.full(of.lengths.size, distance), of.changed, of.since)
    by_sight, by_share = (_interval(partial(_log_seen, one), _likeliest(one), distance) for one in (of, even))
    by_date = _interval(partial(_log_dated, of), _last_modified(of), distance)
    biases = _predicted(rate * distance, window) if of.alike and rate else {}
    found = []
    for name, estimator in RATE_ESTIMATORS.items():
        if name in OF_EQUAL_LENGTHS and not of.alike:
            continue
        low, high = by_date if "modified" in name else by_sight
        if name == "changes seen":
            low, high = (-math.expm1(-end * distance) / distance for end in by_share)
        bias = _bias(of, estimator, rate, window)
        found.append(RateEstimate(name, estimator(of), low, high, bias, biases.get(name, math.nan)))
    return found


def _log_seen(of: Sightings, z: float) -> float:
    """(1)."""
    changed, still = of.lengths[of.changed], float(of.lengths[~of.changed].sum())
    return float(np.log(-np.expm1(-z * changed)).sum()) - z * still


def _log_dated(of: Sightings, z: float) -> float:
    """(2)."""
    return float(of.changed.sum()) * math.log(z) - z * float(of.since.sum())


def _interval(log_likelihood: Callable[[float], float], best: float, distance: float) -> tuple[float, float]:
    """Where the likelihood is not far below the largest."""
    none, every = best == 0, math.isinf(best)
    start = math.log(1 / distance if none or every else best)
    least = (0.0 if none or every else log_likelihood(best)) - DROP

    def above(x: float) -> float:
        return log_likelihood(math.exp(x)) - least

    def below(x: float) -> float:
        return -above(x)

    low = 0.0 if none else math.exp(crossing(above, *bracket(above, start))[1][0])
    high = math.inf if every else math.exp(crossing(below, *bracket(below, start))[1][0])
    return low, high


# ---- Bias


def _bias(of: Sightings, estimator: Callable[[Sightings], float], rate: float, window: int) -> Estimate:
    """Of estimates from window after window, taken as independent of one another, as a share of the rate."""
    ends = range(window, of.lengths.size + 1, window)
    values = np.array([estimator(of[end - window : end]) for end in ends])
    if not np.isfinite(values).all():
        return Estimate(math.inf, math.nan, values.size, doubt="every visit of a window saw a change")
    if not values.size or not rate:
        return Estimate(math.nan, math.nan, 0, doubt="no window of visits" if rate else "no changes between visits")
    return ratio(values - rate, np.full(values.size, rate))


def _predicted(changes_per_visit: float, window: int) -> dict[str, float]:
    """By formula, under Poisson changes."""
    values = rate_estimators(changes_per_visit, window)
    return {name: float(value) for name, metric, value in values if metric == "bias"}  # type: ignore[arg-type]

"""How often an element changes, estimated from what visits see of it, beside how often it did (Estimating; Sync 6.1).

A crawler does not see the history of an element. A visit sees whether it changed since the visit before, and, where the
element tells when it was last modified, how long ago that was. With t the lengths between visits, n of them, X of which
saw a change, and a <= t the time since the last change if there was one, else t, the logarithm of the likelihood of a
Poisson process of rate z is

    of changes seen       sum over changed of log(1 - exp(-z t)) - z (sum over unchanged of t)                 (1)
    of last changes       X log z - z (sum of a)                                                               (2)

The rate where (1) is largest solves sum over changed of t / (exp(z t) - 1) = sum over unchanged of t; it is infinite if
all changed. That of (2) is X / sum of a. Where all t are alike there are versions of both with less bias
(lab/papers/estimating); this module has its own. An interval contains the rates whose likelihood is above exp(-1.92)
of the largest. That of X over the sum of t is the interval for the share of visits that see a change: it is about
these, and need not have the rate of the changes in it.

The record itself says how often the element changed. Estimates from window after window of it, of so many visits
each, are off by a bias that is measured, and for Poisson changes known by formula.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from replnet.ages import bracket, crossing
from replnet.histories.history import History
from replnet.histories.trace_import import HistorySource, history_of
from replnet.lab.papers import MOST_VISITS, rate_estimators
from replnet.laws import Floats, Law, law
from replnet.measure import FEWEST_REPLICATIONS, Estimate, ratio
from replnet.processes import independent_law
from replnet.run import TabularResult
from replnet.text import FieldError

if TYPE_CHECKING:
    import pandas as pd

LIKELIHOOD_DROP = 1.9207294103470622  # of its logarithm, with chance 0.05: half the quantile of chi squared
EQUAL_SPREAD = 0.01  # spread of lengths, over their mean, up to which visits count as equally far apart
WINDOW = 20
MOST_VISITS_DRAWN = 10_000_000  # from a law


@final
@dataclass(frozen=True, eq=False)
class Sightings:
    """Arrays of all visits but the first: the time since the one before (`lengths`), if it saw a change (`changed`).

    `since` is the time from the last change to the visit, or from the visit before if there was no change since that
    one.
    """

    lengths: Floats
    changed: NDArray[np.bool_]
    since: Floats

    def __getitem__(self, part: slice) -> Sightings:
        """Return the sightings of the visits whose numbers lie in this slice."""
        return Sightings(self.lengths[part], self.changed[part], self.since[part])

    @property
    def has_equal_lengths(self) -> bool:
        """Whether visits are equally far apart: their distances have a deviation of at most 1 % of the mean."""
        return bool(self.lengths.std() <= EQUAL_SPREAD * self.lengths.mean())


@final
@dataclass(frozen=True)
class RateEstimate:
    """A rate of changes by one estimator with its 95 % interval, `low` to `high`, and the bias of the estimator.

    The bias is that of estimates from a given small number of visits each, as a share of the true rate. It is measured,
    and predicted by a formula for Poisson changes, NaN where there is no formula.
    """

    estimator: str
    rate: float
    low: float
    high: float
    bias: Estimate
    predicted_bias: float


@final
@dataclass(frozen=True, eq=False, repr=False)
class ChangeRate(TabularResult):
    """The rate at which one element changed, by its record, and as estimators have it from visits that saw it.

    `rate` is that of the recorded `history`, in changes per unit of time from the first visit to the last. `visits` is
    the number of visits but the first, of which `changed` saw a change, `distance` the mean time between them, and
    `window` how many visits each estimate rests on where a bias is measured. `estimates` has a rate for each estimator,
    with its bias, and `notes` texts.
    """

    history: History
    rate: float  # of the record, from the first visit to the last
    visits: int
    changed: int  # visits that saw a change
    distance: float  # between visits, on average
    window: int  # visits that every estimate of a bias rests on
    estimates: tuple[RateEstimate, ...]
    notes: tuple[str, ...]

    @property
    def table(self) -> pd.DataFrame:
        """The estimates as a DataFrame: estimator, rate, ends of its interval, and the bias, measured and predicted."""
        import pandas as pd

        rows = [
            (row.estimator, row.rate, row.low, row.high, row.bias.value, row.predicted_bias) for row in self.estimates
        ]
        return pd.DataFrame(rows, columns=["estimator", "rate", "ci_low", "ci_high", "bias", "predicted_bias"])

    def _words(self) -> str:
        return f"recorded: {self.rate:.5g}; {self.changed} of {self.visits} visits saw a change"


def change_rate(updates: HistorySource, visits: HistorySource | Law, window: int = WINDOW, seed: int = 1) -> ChangeRate:
    """Estimate how often an element changes from visits that see its recorded changes, and measure the bias.

    `updates` is a file or times of the changes; `visits` a file, times, or a law of the times between visits, which are
    then drawn by the `seed`. The biases are those of estimates from `window` visits each. Raises a FieldError if
    `window` is out of range, or if fewer than 2 visits lie between the first change and the last.

    >>> import numpy as np
    >>> result = rn.change_rate(np.random.default_rng(1).exponential(2.0, 1000).cumsum(), "constant(period=1)")
    >>> {estimate.estimator: round(estimate.rate, 2) for estimate in result.estimates[:3]}
    {'changes seen': 0.39, 'bias-reduced': 0.5, 'maximum likelihood': 0.5}
    """
    history, notes = history_of(updates), list[str]()
    if not 1 <= window <= MOST_VISITS:
        raise FieldError(
            "window", f"{window} is out of range", f"1 to {MOST_VISITS:,} visits that an estimate rests on"
        )
    times = np.unique(history.times)
    instants = _visit_instants(visits, history, seed)
    inside = instants[(instants >= history.start) & (instants <= history.end)]
    if inside.size < instants.size:
        notes.append(f"{instants.size - inside.size} visits before the first change or after the last are not counted")
    if inside.size < 2:
        wrong = f"{inside.size} between the first change and the last"
        raise FieldError("visits", wrong, "2 or more: visits at other times, or more often")
    sightings = sightings_of(times, inside)
    if not sightings.has_equal_lengths:
        notes.append("visits are not equally far apart: estimators that take them to be are left out")
    if sightings.lengths.size // window < FEWEST_REPLICATIONS:
        notes.append(
            f"{sightings.lengths.size // window} windows of {window} visits are too few for intervals of biases"
        )
    count = int(np.count_nonzero((times > inside[0]) & (times <= inside[-1])))
    rate = count / float(sightings.lengths.sum())
    return ChangeRate(
        history=history,
        rate=rate,
        visits=sightings.lengths.size,
        changed=int(sightings.changed.sum()),
        distance=float(sightings.lengths.mean()),
        window=window,
        estimates=tuple(_estimates(sightings, rate, window)),
        notes=tuple(notes),
    )


def _visit_instants(visits: HistorySource | Law, history: History, seed: int) -> Floats:
    """Return the distinct instants of `visits`, a file, times, or a law, in ascending order.

    By a law they are drawn with this seed over the time of `history`, for which a FieldError is raised if they would be
    more than 10 million, or if the intervals depend on one another.
    """
    is_law_text = isinstance(visits, str) and "(" in visits and not Path(visits).is_file()
    law_or_times = law(visits) if is_law_text or hasattr(visits, "ppf") else visits  # SciPy's distributions are laws
    if not isinstance(law_or_times, Law):
        return np.unique(history_of(law_or_times).times)
    interval_law, rng, length = (
        independent_law("visits", law_or_times.counted_in("s")),
        np.random.default_rng(seed),
        history.end - history.start,
    )
    if length * interval_law.rate > MOST_VISITS_DRAWN:
        raise FieldError(
            "visits",
            f"about {length * interval_law.rate:.3g} of {law_or_times}",
            f"at most {MOST_VISITS_DRAWN:,}: fewer of them",
        )
    instants = [history.start + float(interval_law.around_zero(*rng.standard_exponential(2))[0])]
    while instants[-1] <= history.end:
        more = interval_law.draw(rng.standard_exponential(1024 + int((history.end - instants[-1]) * interval_law.rate)))
        instants += (instants[-1] + np.cumsum(more)).tolist()
    points = np.array(instants)
    return np.unique(points[points <= history.end])


def sightings_of(changes: Floats, visits: Floats) -> Sightings:
    """Return what visits see of changes, both ascending instants; a visit sees a change in its own instant.

    The first visit only begins the first interval: n visits give n - 1 sightings.
    """
    lengths, before = np.diff(visits), np.searchsorted(changes, visits, side="right")
    changed = np.diff(before) > 0
    last = np.append(-np.inf, changes)[before[1:]]
    return Sightings(lengths, changed, np.where(changed, visits[1:] - last, lengths))


def rate_of_sightings(visits: Floats, changed: NDArray[np.bool_]) -> tuple[float, float, float]:
    """Return the likeliest Poisson rate of changes by what visits saw, and the ends of its 95 % interval.

    `visits` are ascending instants, and `changed` says of each but the first whether there was a change since the one
    before.
    """
    lengths = np.diff(visits)
    sightings = Sightings(lengths, changed, lengths)
    rate = _likeliest_rate(sightings)
    return rate, *_interval(partial(_log_likelihood_of_sightings, sightings), rate, float(lengths.mean()))


# ---- Estimators


def _rate_of_seen_changes(sightings: Sightings) -> float:
    """Return the number of visits that saw one change or more, per unit of time."""
    return float(sightings.changed.sum() / sightings.lengths.sum())


def _bias_reduced_rate(sightings: Sightings) -> float:
    """Return the rate of changes, per unit of time, by the share of visits that saw none, with reduced bias.

    The visits must be equally far apart. It is 0 or more, and finite.
    """
    n, unchanged = sightings.changed.size, int((~sightings.changed).sum())
    return math.log((n + 0.5) / (unchanged + 0.5)) / float(sightings.lengths.mean())


def _likeliest_rate(sightings: Sightings) -> float:
    """Return the Poisson rate of changes under which it is likeliest that just these visits saw a change, (1).

    It is 0 if none did, and infinite if all did.
    """
    if sightings.changed.all():
        return math.inf
    if not sightings.changed.any():
        return 0.0
    changed, unchanged_time = sightings.lengths[sightings.changed], float(sightings.lengths[~sightings.changed].sum())

    def excess(x: float) -> float:
        with np.errstate(over="ignore"):
            return unchanged_time - float((changed / np.expm1(math.exp(x) * changed)).sum())

    return math.exp(crossing(excess, *bracket(excess, math.log(_rate_of_seen_changes(sightings))))[1][0])


def _last_modified_rate(sightings: Sightings) -> float:
    """Return the Poisson rate under which the times since the last change, as the visits saw them, are likeliest, (2).

    It is 0 if no visit saw a change. Raise a FieldError if all these times are zero.
    """
    return float(sightings.changed.sum()) / _exposure(sightings)


def _bias_reduced_last_modified_rate(sightings: Sightings) -> float:
    """Return the rate of changes by the times since the last change, with reduced bias; 0 if no visit saw a change.

    The visits must be equally far apart. Raise a FieldError if a change was seen, and all these times are zero.
    """
    n, x = sightings.changed.size, int(sightings.changed.sum())
    if x == 0:
        return 0.0
    return (x - 1 - (x / n / math.log1p(-x / n) if x < n else 0.0)) / _exposure(sightings)


def _exposure(sightings: Sightings) -> float:
    """Return the sum, over visits, of the time since the last change, or since the visit before if there was none.

    Raise a FieldError if it is zero.
    """
    if not (total := float(sightings.since.sum())) > 0:
        raise FieldError("visits", "each came in the instant of a change", "visits that do not wait for changes")
    return total


RATE_ESTIMATORS: dict[str, Callable[[Sightings], float]] = {
    "changes seen": _rate_of_seen_changes,
    "bias-reduced": _bias_reduced_rate,
    "maximum likelihood": _likeliest_rate,
    "last modified": _last_modified_rate,
    "last modified, bias-reduced": _bias_reduced_last_modified_rate,
}
FOR_EQUAL_LENGTHS = ("bias-reduced", "last modified, bias-reduced")


def _estimates(sightings: Sightings, rate: float, window: int) -> list[RateEstimate]:
    """Return an estimate of the rate of changes, with interval and bias, by each estimator that suits the visits.

    `rate` is the true rate, by the record, and `window` the number of visits that an estimate rests on where its bias
    is measured. Two of the five estimators are left out unless the visits are equally far apart.
    """
    distance = float(sightings.lengths.mean())
    even = Sightings(np.full(sightings.lengths.size, distance), sightings.changed, sightings.since)
    by_sight, by_share = (
        _interval(partial(_log_likelihood_of_sightings, visits), _likeliest_rate(visits), distance)
        for visits in (sightings, even)
    )
    by_date = _interval(partial(_log_likelihood_of_dates, sightings), _last_modified_rate(sightings), distance)
    biases = _poisson_biases(rate * distance, window) if sightings.has_equal_lengths and rate else {}
    rate_estimates = []
    for name, estimator in RATE_ESTIMATORS.items():
        if name in FOR_EQUAL_LENGTHS and not sightings.has_equal_lengths:
            continue
        low, high = by_date if "modified" in name else by_sight
        if name == "changes seen":
            low, high = (-math.expm1(-end * distance) / distance for end in by_share)
        bias = _bias(sightings, estimator, rate, window)
        rate_estimates.append(RateEstimate(name, estimator(sightings), low, high, bias, biases.get(name, math.nan)))
    return rate_estimates


def _log_likelihood_of_sightings(sightings: Sightings, z: float) -> float:
    """Return (1), the log of the chance that just these visits saw a change, if changes are Poisson with rate z > 0."""
    changed, unchanged_time = sightings.lengths[sightings.changed], float(sightings.lengths[~sightings.changed].sum())
    return float(np.log(-np.expm1(-z * changed)).sum()) - z * unchanged_time


def _log_likelihood_of_dates(sightings: Sightings, z: float) -> float:
    """Return (2), the log-likelihood, by changes that are Poisson with rate z > 0, of the times since the last change.

    Of visits that saw no change, it is the chance of none.
    """
    return float(sightings.changed.sum()) * math.log(z) - z * float(sightings.since.sum())


def _interval(log_likelihood: Callable[[float], float], best: float, distance: float) -> tuple[float, float]:
    """Return the 95 % interval (low, high) of a rate: the rates whose likelihood is at least 0.147 of the largest.

    `log_likelihood` takes a rate, and `best` is the rate where it is largest. If `best` is 0, so is the low end, and if
    it is infinite, so is the high end; the search for the other end then begins at one change per `distance`, the mean
    time between visits.
    """
    none, every = best == 0, math.isinf(best)
    start = math.log(1 / distance if none or every else best)
    least = (0.0 if none or every else log_likelihood(best)) - LIKELIHOOD_DROP

    def above(x: float) -> float:
        return log_likelihood(math.exp(x)) - least

    def below(x: float) -> float:
        return -above(x)

    low = 0.0 if none else math.exp(crossing(above, *bracket(above, start))[1][0])
    high = math.inf if every else math.exp(crossing(below, *bracket(below, start))[1][0])
    return low, high


# ---- Bias


def _bias(sightings: Sightings, estimator: Callable[[Sightings], float], rate: float, window: int) -> Estimate:
    """Return the mean error of an estimator over successive runs of `window` visits, as a share of the true `rate`.

    It is above 0 if estimates are too large. Runs are taken as independent, and visits after the last whole run do not
    count. The value is infinite if an estimate of a run is, and NaN if there is no run or no change; its doubt then
    says why.
    """
    ends = range(window, sightings.lengths.size + 1, window)
    values = np.array([estimator(sightings[end - window : end]) for end in ends])
    if not np.isfinite(values).all():
        return Estimate(math.inf, math.nan, values.size, doubt="every visit of a window saw a change")
    if not values.size or not rate:
        return Estimate(math.nan, math.nan, 0, doubt="no window of visits" if rate else "no changes between visits")
    return ratio(values - rate, np.full(values.size, rate))


def _poisson_biases(changes_per_visit: float, window: int) -> dict[str, float]:
    """Return the biases that formulas give for Poisson changes, as shares of the true rate, by name of the estimator.

    `changes_per_visit` is the mean number of changes between two visits, and `window` how many visits an estimate rests
    on. Estimators without a formula are missing.
    """
    values = rate_estimators(changes_per_visit, window)
    return {name: float(value) for name, metric, value in values if metric == "bias"}  # type: ignore[arg-type]

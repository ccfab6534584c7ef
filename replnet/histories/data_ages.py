"""How old the data of replicas was, from the instants at which they had left the source.

A replica that was seen at a with data from L, and next at b with data from M, had at any t between them data from

    L or later, and M or earlier, and no later than t                                                            (1)

if it never goes back, so that its information age was between t - min(t, M) and t - L; where L = M, that is exact.
Nobody needs to know the source for it. The age is averaged over time, and so is whether it was above some t.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple, final

import numpy as np

from replnet.histories.audit import BATCHES, batch_estimate
from replnet.histories.held_copies import add_between, spans
from replnet.histories.visits import Visits
from replnet.laws import Floats
from replnet.measure import Estimate

INFORMATION_AGE, OLDER = "information_age", "older({})"
QUANTILES = (0.5, 0.95)  # of the ages that were seen: the t of older(t) are round times near these
LADDER: dict[str, float] = {
    "10s": 10, "1min": 60, "5min": 300, "15min": 900, "30min": 1800, "1h": 3600, "2h": 7200, "3h": 10_800, "6h": 21_600,
    "12h": 43_200, "1d": 86_400, "2d": 172_800, "3d": 259_200, "7d": 604_800, "14d": 1_209_600, "30d": 2_592_000,
    "90d": 7_776_000, "365d": 31_536_000,
}  # fmt: skip
NOTE_LATE = "no interval: visits see changes late, so what is measured is biased, and the truth lies between the bounds"
NOTE_ONCE = "one visit: its age at that instant"


@final
class AgeValue(NamedTuple):
    """The value of a `metric` of a replica (`group`): a measured estimate, and bounds of the true value.

    The metric is the mean information age, in the unit of the record's times, or the share of time in which the age was
    above some limit. Both bounds are the estimate if nothing is uncertain.
    """

    group: str
    metric: str
    estimate: Estimate
    least: float
    most: float


def age_values(visits: Visits, cuts: Floats | None, dated: bool) -> Iterator[AgeValue]:
    """Yield the mean information age of every replica that tells, and the shares of time in which it was above limits.

    `cuts` are the instants between batches of the time that is measured, its begin and end included; None stands for
    the time from the first visit of a replica to its last. `dated` says that times are in seconds since 1970. Nothing
    comes of replicas that do not say of each visit when their data left the source.
    """
    ages = [np.maximum(visits.nodes[name][0] - left, 0.0) for name, left in visits.departures.items()]
    limits = _limits(np.concatenate(ages), dated) if ages else {}
    for name, left in visits.departures.items():
        times = visits.nodes[name][0]
        if cuts is None and times[-1] <= times[0]:
            yield from _values_at_once(name, float(max(times[-1] - left[-1], 0.0)), limits)
            continue
        edges = np.linspace(times[0], times[-1], BATCHES + 1) if cuts is None else cuts
        following = left if visits.complete else np.append(left[1:], left[-1])
        cases = [(times, departures) for departures in (left, np.maximum(left, following), np.minimum(left, following))]
        doubt = "" if visits.complete or np.array_equal(left, following) else NOTE_LATE
        yield from _values_over_time(name, cases, edges, limits, doubt)


def _values_at_once(name: str, age: float, limits: dict[str, float]) -> Iterator[AgeValue]:
    """Yield the values of the replica `name`, visited once, when its data had this age, without intervals.

    `limits` has the ages above which a share of time is told, by metric: 1 if the age is above that, else 0.
    """
    values = {INFORMATION_AGE: age} | {metric: float(age > limit) for metric, limit in limits.items()}
    for metric, value in values.items():
        yield AgeValue(name, metric, Estimate(value, math.nan, 1, doubt=NOTE_ONCE), value, value)


def _values_over_time(
    name: str, cases: list[tuple[Floats, Floats]], cuts: Floats, limits: dict[str, float], doubt: str
) -> Iterator[AgeValue]:
    """Yield the values of a replica over the time from the first of `cuts` to the last.

    `cases` are what was seen, the youngest data that agree with the visits, and the oldest: the times from which a
    replica had data from which departures. `doubt` says why there are no confidence intervals, and is empty if there
    are.
    """
    lengths = np.diff(cuts)
    for metric, limit in {INFORMATION_AGE: None, **limits}.items():
        measured, least, most = (_age_integrals(*case, cuts, limit) for case in cases)
        whole = float(lengths.sum())
        estimate = batch_estimate(measured, lengths, doubt)
        yield AgeValue(name, metric, estimate, float(least.sum()) / whole, float(most.sum()) / whole)


def _age_integrals(times: Floats, departures: Floats, cuts: Floats, limit: float | None) -> Floats:
    """Return, for each span between `cuts`, the integral of the age, or the time in which it is above a `limit`.

    From times[i] on the data is from departures[i], but never from later than the instant itself. The first of `times`
    must not come after the first cut.
    """
    edges = spans(cuts, times, departures)
    begin, end = edges[:-1], edges[1:]
    left = departures[np.searchsorted(times, begin, side="right") - 1]
    if limit is None:
        amounts = (np.maximum(end - left, 0.0) ** 2 - np.maximum(begin - left, 0.0) ** 2) / 2
    else:
        amounts = np.maximum(end - np.maximum(begin, left + limit), 0.0)
    return add_between(cuts, begin, amounts)


def _limits(ages: Floats, dated: bool) -> dict[str, float]:
    """Return the limits of ages that are worth a row, by the name of their metric, such as older(1h): 3600.0.

    They are round times near QUANTILES of `ages`; round numbers, where times are no dates (`dated`).
    """
    limits = {}
    for age in np.quantile(ages, QUANTILES).tolist():
        if age <= 0:
            continue
        if dated:
            text, limit = min(LADDER.items(), key=lambda item: abs(math.log(item[1] / age)))
        else:
            digit = 10.0 ** math.floor(math.log10(age))
            limit = min((digit, 2 * digit, 5 * digit, 10 * digit), key=lambda value: abs(math.log(value / age)))
            text = f"{limit:g}"
        limits[OLDER.format(text)] = float(limit)
    return limits

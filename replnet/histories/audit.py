"""A real replica from its two recorded histories: how stale it was, what models say, and which assumptions fail.

Measured is the path itself, without a model (`replay`). Over the same window,

    renewal laws     Staleness eq. 36, 42, 54 with the recorded intervals of both                     (1)
    Poisson          the same with exponential updates of the same rate
    unseen polls     the copy's age X is what updates wait for the download that brings them          (2)

(1) needs independent ages and nothing else: intervals may be correlated and drift. But a
replica that keeps only what changed records no poll that found nothing. Its recorded
intervals are too long for (1), and its downloads follow updates, so ages depend.
How stale it was is measured rightly all the same, as such a poll changed nothing. And an
update makes the next poll a recorded one: the wait w of an update is what was left of
a polling interval, which has the law of the age of the polls if updates see time
averages. So with independent polls, and A_U the age of the updates, mu their rate,

    staleness P(A_U < w)     staleness_age E[(w - A_U)+]     missing_updates mu E[w]                   (3)

over all waits, whatever was recorded. (The last is an identity.) As E[w] is at most
what intervals of one length would give, polls come at least 1 / (2 E[w]) a unit of time.

Downloads turned around against the updates (replay.py, 1) show what histories with the same intervals would show if
they were independent, whatever their order and drift. Their mean is (1), but for where the circle is closed, and 95 %
of them lie in the range that is printed beside the measured value: chance moves it so far in a record of this length.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np

from replnet.ages import direct, missing_updates, source_penalty, staleness
from replnet.histories.assumptions import BOTH, Check, check_history, check_pair, check_phases, check_poisson
from replnet.histories.conclusion import MEMORYLESS, RENEWAL, UNSEEN, ModelComparison, conclude
from replnet.histories.fitting import Tail, tail_index
from replnet.histories.held_copies import StalenessSums, within
from replnet.histories.history import History, are_dates, correlation
from replnet.histories.replay import conditional_age_shares, replay, statistics_of_turns, waits
from replnet.histories.trace_import import HistorySource, history_of
from replnet.laws import Empirical, Exponential, Floats, Law
from replnet.measure import Estimate, ratio
from replnet.run import TabularResult
from replnet.text import FieldError, real, whole

if TYPE_CHECKING:
    import pandas as pd

BATCHES = 32
FEWEST_EVENTS = 10  # of updates, and of downloads, in the window
EVENTS_PER_BATCH = 20  # of updates, and of downloads; with fewer, more than neighbouring batches depend on one another
SHORT_FOR_ITS_DRIFT = "the record is short for its drift"
METRICS = ("staleness", "staleness_age", "lag", "missing_updates")
CHANCE_QUANTILES = (0.025, 0.975)


@final
@dataclass(frozen=True, repr=False)
class Audit(TabularResult):
    """The result of an audit of one replica: how stale it was, what models predict, and which assumptions hold.

    It covers the time from `start` to `end`, with the numbers of `updates` and `downloads` in it. By metric, it has the
    `measured` estimates, the ranges (low, high) where chance alone may put them (`by_chance`), and what models predict,
    by model (`predicted`). It also has the `checks` of assumptions, `notes`, the `conclusion` as text, the mean time
    that an update waits for its download (`wait`), and how the ages of both histories depend on each other (`ages`).
    """

    start: float
    end: float
    updates: int
    downloads: int
    measured: dict[str, Estimate]  # by metric
    by_chance: dict[str, tuple[float, float]]  # by metric, where 95 % of independent histories with these intervals lie
    predicted: dict[str, dict[str, float]]  # by metric, and by model
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    conclusion: str
    wait: float  # of an update for the download that brings it, on average
    ages: tuple[Floats, Floats]  # P(A_D <= x | A_U in a class), by x and class, and the x

    @property
    def dated(self) -> bool:
        """Whether the times are seconds since 1970."""
        return are_dates(np.array([self.start, self.end]))

    @property
    def table(self) -> pd.DataFrame:
        """A DataFrame with a row per metric: the measured value, its interval, and what each model predicts."""
        import pandas as pd

        rows = [
            {
                "metric": metric,
                "measured": estimate.value,
                "ci_low": estimate.low,
                "ci_high": estimate.high,
                **self.predicted.get(metric, {}),
            }
            for metric, estimate in self.measured.items()
        ]
        return pd.DataFrame(rows)

    def _words(self) -> str:
        return self.conclusion

    def check(self, assumption: str) -> Check:
        """Return the check whose assumption has this text; raise StopIteration if there is none."""
        return next(check for check in self.checks if check.assumption == assumption)

    def comparisons(self, model: str) -> list[ModelComparison]:
        """Return a comparison for each metric of what a model, given by its name, predicts with what was measured.

        Metrics without a predicted or a measured value are left out.
        """
        return compare_with_model(self.measured, self.predicted, self.by_chance, model)


def audit(
    updates: HistorySource,
    downloads: HistorySource,
    since: float | None = None,
    until: float | None = None,
    seed: int = 1,
) -> Audit:
    """Measure how stale a replica was from the histories of updates and downloads, and compare that with models.

    The histories are files or times; they are compared over the time that both cover, or from `since` to `until` if
    given. `seed` is that of resampling. Raises FieldError if they share no time, or if either has fewer than 10
    events in it.

    >>> updates, downloads = [5 * i for i in range(1, 400)], [3 * i + 0.5 for i in range(1, 660)]
    >>> result = rn.audit(updates, downloads)
    >>> result.updates, result.downloads, result.conclusion.split(",")[0]
    (395, 658, 'clocks are locked')
    """
    updates, downloads = history_of(updates, "updates"), history_of(downloads, "downloads")
    start, end = window(updates, downloads, since, until)
    # Updates of one instant are one change: no download could tell them apart.
    u, d = np.unique(updates.times), np.unique(downloads.times)
    inside = [within(times, start, end) for times in (u, d)]
    for history, times in zip((updates, downloads), inside, strict=True):
        if times.size < FEWEST_EVENTS:
            wrong = f"{times.size} events while both histories run"
            raise FieldError(history.name, wrong, f"{FEWEST_EVENTS} or more")
    rng = np.random.default_rng(whole("seed", seed))
    checks = (
        *check_history("updates", inside[0], updates.dated, rng),
        *check_history("downloads", inside[1], downloads.dated, rng),
        *check_pair(u, d, start, end, rng),
        check_phases(*inside),
        check_poisson(inside[0], rng),
    )
    tails = [tail_index(np.diff(times), rng) for times in inside]
    measured = measures(u, d, start, end, reason_for_no_interval(inside, tails))
    by_chance, predicted = ranges_if_independent(u, d, start, end, rng), predictions(u, d, start, end)
    models = {
        model: compare_with_model(measured, predicted, by_chance, model) for model in (RENEWAL, UNSEEN, MEMORYLESS)
    }
    return Audit(
        start=start,
        end=end,
        updates=inside[0].size,
        downloads=inside[1].size,
        measured=measured,
        by_chance=by_chance,
        predicted=predicted,
        checks=checks,
        notes=(*_notes(updates, downloads, start, end), *_heavy_tail_notes(tails)),
        conclusion=conclude(models, {check.assumption for check in checks if check.holds is False}),
        wait=float(waits(u, d, start, end).mean()),
        ages=conditional_age_shares(u, d, start, end),
    )


def window(updates: History, downloads: History, since: float | None, until: float | None) -> tuple[float, float]:
    """Return the begin and the end of the time that both histories cover; `since` and `until`, if given, replace them.

    Raise FieldError if `since` is before the time that both cover, or unless the end is finite and after the begin.
    """
    first, last = max(updates.start, downloads.start), min(updates.end, downloads.end)
    start = first if since is None else real("since", since)
    if start < first:
        wrong = f"{start:.10g} is before the first event of a history"
        raise FieldError("since", wrong, f"{first:.10g} or later")
    end = last if until is None else real("until", until)
    if not start < end < math.inf:
        wrong = f"the histories share no time: one ends at {end:.10g}, the other begins at {start:.10g}"
        raise FieldError(downloads.name, wrong, "records of the same years, in the same unit")
    return start, end


def measures(u: Floats, d: Floats, start: float, end: float, doubt: str) -> dict[str, Estimate]:
    """Return the measured value of each metric by its name: staleness, staleness_age, lag and missing_updates.

    `u` and `d` are the ascending instants of updates and of downloads, replayed from `start` to `end`, with errors from
    32 batches of that time. `doubt` says why the estimates get no confidence intervals; it is empty if they get them.
    """
    edges = np.linspace(start, end, BATCHES + 1)
    return estimates(replay(u, d, edges), np.diff(edges), doubt)


def ranges_if_independent(
    u: Floats, d: Floats, start: float, end: float, rng: np.random.Generator
) -> dict[str, tuple[float, float]]:
    """Return, by metric, the range (low, high) of 95 % of its values if downloads are independent of the updates.

    `u` and `d` are the ascending instants of updates and of downloads. The values are those of replays from `start` to
    `end`, for which the downloads are shifted around this span at random, by `rng`.
    """
    _, sums = statistics_of_turns(_whole_sums, u, d, start, end, rng)
    stale, ages, missing = sums.T
    lags = np.divide(ages, stale, out=np.zeros_like(ages), where=stale > 0)
    values = np.array([stale / (end - start), ages / (end - start), lags, missing / (end - start)])
    low, high = np.quantile(values, CHANCE_QUANTILES, axis=1)
    return {metric: (float(low[i]), float(high[i])) for i, metric in enumerate(METRICS)}


def _whole_sums(u: Floats, d: Floats, start: float, end: float) -> Floats:
    """Return the integrals over all time from `start` to `end` of being stale, staleness age, and missing updates.

    `u` and `d` are the ascending instants of updates and of downloads.
    """
    return np.ravel(replay(u, d, np.array([start, end])))


def compare_with_model(
    measured: dict[str, Estimate], predicted: dict[str, dict[str, float]], by_chance: dict[str, tuple[float, float]],
    model: str,
) -> list[ModelComparison]:  # fmt: skip
    """Return a comparison for each metric of what a model, given by its name, predicts with what was measured.

    `measured` and `by_chance`, the range where chance alone may put the value, are by metric; `predicted` by metric,
    then by model. Metrics without a value (NaN) are left out, such as the lag if nothing was stale.
    """
    return [
        ModelComparison(name, estimate.value, predicted[name][model], *by_chance[name])
        for name, estimate in measured.items()
        if not (math.isnan(estimate.value) or math.isnan(predicted[name][model]))
    ]


def estimates(sums: StalenessSums, lengths: Floats, doubt: str) -> dict[str, Estimate]:
    """Return the estimates of staleness, staleness_age, lag and missing_updates, by name, from batches of time.

    `sums` has the integrals over each batch, and `lengths` how long each is. `doubt` says why the estimates get no
    confidence intervals; it is empty if they get them.
    """
    amounts = {"staleness": (sums.stale, lengths), "staleness_age": (sums.ages, lengths),
               "lag": (sums.ages, sums.stale), "missing_updates": (sums.missing, lengths)}  # fmt: skip
    return {metric: batch_estimate(amount, whole, doubt) for metric, (amount, whole) in amounts.items()}


def batch_estimate(amount: Floats, whole: Floats, doubt: str) -> Estimate:
    """Return the estimate of sum(amount) / sum(whole), two arrays with an element per batch of time.

    It has no confidence interval if there is a `doubt`, a text that says why, or if neighbouring batches are clearly
    correlated. Otherwise the error allows for some dependence: with correlation rho of neighbours, the variance of a
    mean is 1 + 2 rho times that of independent batches. Of n residuals, whose sum is 0, rho comes out too small by
    about 1 / n.
    """
    estimate, n = ratio(amount, whole, doubt=doubt), amount.size
    residual = amount - estimate.value * whole
    rho = float(correlation(residual, 1)[0]) if residual.any() else 0.0
    if not doubt and rho > 2 / math.sqrt(n):
        return ratio(amount, whole, doubt=f"no interval: batches are correlated by {rho:.2f}, {SHORT_FOR_ITS_DRIFT}")
    return replace(estimate, error=estimate.error * math.sqrt(max(1.0, 1 + 2 * (rho + 1 / n))))


def reason_for_no_interval(inside: list[Floats], tails: list[Tail | None]) -> str:
    """Return, as text, why batches of one path give no confidence interval; an empty text if they do.

    Reasons are few events, and an infinite variance. Both lists have an element for updates and one for downloads:
    their instants in the time that is measured, and the tail of the intervals between them, None if it could not be
    fitted.
    """
    for events, times, tail in zip(BOTH, inside, tails, strict=True):
        if times.size < EVENTS_PER_BATCH * BATCHES:
            return f"no interval: {times.size} {events} are too few for {BATCHES} batches"
        if tail is not None and tail.verdict.startswith("infinite"):
            return f"no interval: infinite variance of the intervals between {events}, alpha {tail.alpha:.2f}"
    return ""


def predictions(u: Floats, d: Floats, start: float, end: float) -> dict[str, dict[str, float]]:
    """Return the predictions of renewal laws, unseen polls and the Poisson formula, by metric and then by model.

    `u` and `d` are the ascending instants of updates and of downloads; laws are those of the intervals between `start`
    and `end`. The lag of a model that predicts no staleness is NaN.
    """
    update_law, download_law = (Empirical(np.diff(within(times, start, end))) for times in (u, d))
    models = {
        RENEWAL: _predictions_by_laws(update_law, download_law),
        UNSEEN: predictions_by_waits(update_law, waits(u, d, start, end)),
        MEMORYLESS: _predictions_by_laws(Exponential(rate=update_law.rate), download_law),
    }
    for values in models.values():
        values["lag"] = values["staleness_age"] / values["staleness"] if values["staleness"] else math.nan
    return {metric: {model: values[metric] for model, values in models.items()} for metric in METRICS}


def _predictions_by_laws(updates: Law, downloads: Law) -> dict[str, float]:
    """Return the predictions for a copy whose updates and downloads are independent, with intervals of these laws, (1).

    They are by metric: staleness, staleness_age and missing_updates.
    """
    copy = direct(downloads)
    return {
        "staleness": staleness(copy, updates).value,
        "staleness_age": source_penalty(copy, updates, "x").value,
        "missing_updates": missing_updates(copy, updates).value,
    }


def predictions_by_waits(updates: Law, waited: Floats) -> dict[str, float]:
    """Return the predictions from the law of the intervals between updates, and from how long each update waited, (3).

    `waited` has the time from each update to the download that brought it. The predictions are by metric: staleness,
    staleness_age and missing_updates. They hold if polls are independent of the updates, even if polls that found
    nothing were not recorded.
    """
    age = updates.age
    return {
        "staleness": float(np.mean(age.cdf(waited))),
        "staleness_age": float(np.mean(waited - age.integrated_tail(waited))),
        "missing_updates": updates.rate * float(waited.mean()),
    }


# Notes


def _notes(updates: History, downloads: History, start: float, end: float) -> Iterator[str]:
    """Yield notes, as texts, on events that share an instant and count as one, and on updates outside [start, end].

    There is a note for each of these that occurs, and none if all is well.
    """
    for history, events in zip((updates, downloads), BOTH, strict=True):
        duplicates = history.times.size - np.unique(history.times).size
        if duplicates:
            yield f"{duplicates} {events} came in the same instant as another, and count as one with it"
    if updates.end > end:
        missed = int(np.count_nonzero(updates.times > end))
        yield f"{missed} updates after the window are not counted; if the replica still ran, say until when"
    before = int(np.count_nonzero(updates.times < start))
    if before:
        yield f"{before} updates before the first download are not counted"


def _heavy_tail_notes(tails: Iterable[Tail | None]) -> Iterator[str]:
    """Yield a note, as text, on each history whose intervals may have an infinite variance or mean.

    `tails` has the tail of the intervals between updates, and between downloads; None where none could be fitted. In an
    emulation with a Pareto tail of index 1.4, estimates' intervals of 95 % covered only 60 %.
    """
    for events, tail in zip(BOTH, tails, strict=True):
        if tail is not None and "cannot be excluded" in tail.verdict:
            wide = f"index {tail.alpha:.2f}, {tail.low:.2f} .. {tail.high:.2f}"
            yield f"{events}: {tail.verdict} ({wide}); 95 % intervals may cover much less"

"""A real replica from its two recorded histories: what it had, what models say, and which of their assumptions fail.

Measured is the path itself, without a model (`replay`). Over the same window,

    renewal laws     Staleness eq. 36, 42, 54 with the recorded intervals of both                     (1)
    Poisson          the same with exponential updates of the same rate
    unseen polls     the copy's age X is what updates wait for the download that brings them          (2)

(1) needs independent ages and nothing else: intervals may be correlated and drift. But a
replica that keeps only what changed records no poll that found nothing. Its recorded
intervals are too long for (1), and its downloads follow updates, so ages depend.
What it had is measured rightly all the same, as such a poll changed nothing. And an
update makes the next poll a recorded one: the wait w of an update is what was left of
a polling interval, which has the law of the age of the polls if updates see time
averages. So with independent polls, and A_U the age of the updates, mu their rate,

    staleness P(A_U < w)     staleness_age E[(w - A_U)+]     missing_updates mu E[w]                   (3)

over all waits, whatever was recorded. (The last is an identity.) As E[w] is at most
what intervals of one length would give, polls come at least 1 / (2 E[w]) a unit of time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from replnet.ages.information_age import direct
from replnet.ages.penalties import missing_updates, source_penalty, staleness
from replnet.histories.fitting import FEWEST as FEWEST_TO_FIT
from replnet.histories.fitting import Sample, Tail, fit_family, p_value, tail_index
from replnet.histories.history import History, beat, correlated, correlation, drift, resolution, rhythm, tied
from replnet.histories.replay import Statistic, conditional, dependence, empty, not_asta, replay, turned, waits
from replnet.histories.trace_import import Recorded, recorded
from replnet.laws import Empirical, Exponential, Law
from replnet.laws.law import Floats, coarse, commensurable
from replnet.measure.estimate import Estimate, ratio

BATCHES = 32
LEVEL = 0.01  # of every check: how often it calls a sound history unsound
FEWEST = 10  # updates, and downloads, in the window
BOTH = ("updates", "downloads")
PER_BATCH = 2  # cycles of update and download below which batches say little

RECORDED = "downloads: recorded even if nothing changed"
AGES, UPDATES_ASTA, DOWNLOADS_ASTA = "ages independent", "updates see time averages", "downloads see time averages"
PHASES, POISSON = "no phase-lock", "updates: Poisson"


@final
@dataclass(frozen=True)
class Check:
    """An assumption, whether it holds (None: cannot be told), the chance of what was seen if it does, and what was."""

    assumption: str
    holds: bool | None
    chance: float
    seen: str


@final
@dataclass(frozen=True)
class Audit:
    """Everything about one replica over one window."""

    start: float
    end: float
    updates: int
    downloads: int
    measured: dict[str, Estimate]  # by metric
    predicted: dict[str, dict[str, float]]  # by metric, and by model
    checks: tuple[Check, ...]
    notes: tuple[str, ...]
    conclusion: str
    wait: float  # of an update for the download that brings it, on average
    ages: tuple[Floats, Floats]  # P(A_D <= x | A_U in a class), by x and class, and the x

    def check(self, assumption: str) -> Check:
        return next(one for one in self.checks if one.assumption == assumption)


def audit(
    updates: Recorded, downloads: Recorded, since: float | None = None, until: float | None = None, seed: int = 1
) -> Audit:
    """Two histories, files or times, over the time that both cover, or from `since` to `until` if given.

    >>> updates, downloads = [5 * i for i in range(1, 400)], [3 * i + 0.5 for i in range(1, 660)]
    >>> found = rn.audit(updates, downloads)
    >>> found.updates, found.downloads, found.conclusion
    (395, 658, 'ages depend on one another: no formula is justified, only what was measured')
    """
    updates, downloads = recorded(updates), recorded(downloads)
    start, end = window(updates, downloads, since, until)
    # Updates of one instant are one change: no download could tell them apart.
    u, d = np.unique(updates.times), np.unique(downloads.times)
    inside = [times[(times >= start) & (times <= end)] for times in (u, d)]
    for history, times in zip((updates, downloads), inside, strict=True):
        if times.size < FEWEST:
            raise ValueError(f"{history.name}: {times.size} events while both histories run ({FEWEST} or more)")
    rng = np.random.default_rng(seed)
    checks = (
        *alone("updates", inside[0], updates.dated, rng),
        *alone("downloads", inside[1], downloads.dated, rng),
        *_together(u, d, start, end, rng),
        _phases(*(np.diff(times) for times in inside)),
        _memoryless(inside[0], rng),
    )
    tails = [tail_index(np.diff(times), rng) for times in inside]
    return Audit(
        start=start,
        end=end,
        updates=inside[0].size,
        downloads=inside[1].size,
        measured=measures(u, d, start, end, doubt_of(inside, tails)),
        predicted=predictions(u, d, start, end),
        checks=checks,
        notes=(*_notes(updates, downloads, start, end), *_heavy(tails)),
        conclusion=_conclusion({one.assumption for one in checks if one.holds is False}),
        wait=float(waits(u, d, start, end).mean()),
        ages=conditional(u, d, start, end),
    )


def window(updates: History, downloads: History, since: float | None, until: float | None) -> tuple[float, float]:
    """From the first instant that both histories know to the last that both do, unless told otherwise."""
    first, last = max(updates.start, downloads.start), min(updates.end, downloads.end)
    start = first if since is None else since
    if start < first:
        raise ValueError(f"since: {start:.10g} is before the first event of a history ({first:.10g} or later)")
    end = last if until is None else until
    if not start < end < math.inf:
        wrong = f"the histories share no time: one ends at {end:.10g}, the other begins at {start:.10g}"
        raise ValueError(f"{downloads.name}: {wrong} (records of the same years, in the same unit)")
    return start, end


def measures(u: Floats, d: Floats, start: float, end: float, doubt: str) -> dict[str, Estimate]:
    """What the replica had, by metric; `doubt` says why there are no intervals, or nothing."""
    cuts = np.linspace(start, end, BATCHES + 1).tolist()
    stale, ages, missing = np.array([replay(u, d, low, high) for low, high in pairwise(cuts)]).T
    return estimates(stale, ages, missing, np.diff(cuts), doubt)


def estimates(stale: Floats, ages: Floats, missing: Floats, lengths: Floats, doubt: str) -> dict[str, Estimate]:
    """By metric, from the sums over batches of these lengths."""
    amounts = {"staleness": (stale, lengths), "staleness_age": (ages, lengths), "lag": (ages, stale),
               "missing_updates": (missing, lengths)}  # fmt: skip
    found = {}
    for metric, (amount, whole) in amounts.items():
        residual = amount - ratio(amount, whole).value * whole
        found[metric] = ratio(amount, whole, doubt=doubt or _linked(residual))
    return found


def _linked(residual: Floats) -> str:
    """Why batches are no replications, or nothing."""
    rho = float(correlation(residual, 1)[0]) if residual.any() else 0.0
    far = 2 / math.sqrt(residual.size)
    return f"no interval: batches are correlated by {rho:.2f}, the record is short for its drift" if rho > far else ""


def doubt_of(inside: list[Floats], tails: list[Tail | None]) -> str:
    """Why an interval over batches of one path cannot be trusted, or nothing."""
    for what, times, tail in zip(BOTH, inside, tails, strict=True):
        if times.size < PER_BATCH * BATCHES:
            return f"no interval: {times.size} {what} are too few for {BATCHES} batches"
        if tail is not None and tail.verdict.startswith("infinite"):
            return f"no interval: infinite variance of the intervals between {what}, alpha {tail.alpha:.2f}"
    return ""


def predictions(u: Floats, d: Floats, start: float, end: float) -> dict[str, dict[str, float]]:
    """What (1), (3) and Poisson say, by metric and model."""
    own, polls = (Empirical(np.diff(times[(times >= start) & (times <= end)])) for times in (u, d))
    models = {
        "renewal laws": _by_laws(own, polls),
        "unseen polls": by_waits(own, waits(u, d, start, end)),
        "Poisson": _by_laws(Exponential(rate=own.rate), polls),
    }
    for said in models.values():
        said["lag"] = said["staleness_age"] / said["staleness"] if said["staleness"] else math.nan
    metrics = ("staleness", "staleness_age", "lag", "missing_updates")
    return {metric: {model: said[metric] for model, said in models.items()} for metric in metrics}


def _by_laws(updates: Law, downloads: Law) -> dict[str, float]:
    copy = direct(downloads)
    return {
        "staleness": staleness(copy, updates).value,
        "staleness_age": source_penalty(copy, updates, "x").value,
        "missing_updates": missing_updates(copy, updates).value,
    }


def by_waits(updates: Law, waited: Floats) -> dict[str, float]:
    """(3)."""
    age = updates.age
    return {
        "staleness": float(np.mean(age.cdf(waited))),
        "staleness_age": float(np.mean(waited - age.integrated_tail(waited))),
        "missing_updates": updates.rate * float(waited.mean()),
    }


# What is assumed


def alone(what: str, times: Floats, dated: bool, rng: np.random.Generator) -> Iterator[Check]:
    """What one history shows by itself."""
    gaps, step = np.diff(times), resolution(times)
    rho, chance = correlated(gaps, step)
    yield Check(f"{what}: intervals independent", chance > LEVEL, chance, f"rank correlation {rho:+.2f} at lag 1")
    spread, chance = drift(gaps, step)
    holds = None if math.isnan(chance) else chance > LEVEL
    short, differ = "the record is too short to tell", f"mean intervals of stretches differ by a factor {spread:.3g}"
    yield Check(f"{what}: no drift", holds, chance, short if holds is None else differ)
    if dated:
        peak, chance = rhythm(times, rng)
        yield Check(f"{what}: no rhythm of the day", chance > LEVEL, chance, f"busiest hour {peak:.1f} times the mean")


def _together(u: Floats, d: Floats, start: float, end: float, rng: np.random.Generator) -> Iterator[Check]:
    """What both show of one another; downloads turned around against the updates stand for independence."""
    polls = np.count_nonzero((d >= start) & (d <= end)) - 1
    statistics: tuple[tuple[str, Statistic, str], ...] = (
        (RECORDED, empty, f"{{:.0f}} of {polls} intervals between downloads saw no update, {{:.0f}} if independent"),
        (AGES, dependence, "P(A_D <= x, A_U <= y) off the product by {:.3f}, {:.3f} if independent"),
        (UPDATES_ASTA, not_asta,
         "ages of downloads at updates off those at any time by {:.3f}, {:.3f} if independent"),
        (DOWNLOADS_ASTA, lambda u, d, start, end: not_asta(d, u, start, end),
         "ages of updates at downloads off those at any time by {:.3f}, {:.3f} if independent"),
    )  # fmt: skip
    for assumption, statistic, words in statistics:
        seen, others = turned(statistic, u, d, start, end, rng)
        # Too few empty intervals are suspicious, and too large differences.
        beyond = np.count_nonzero(others <= seen if assumption == RECORDED else others >= seen)
        chance = (int(beyond) + 1) / (others.size + 1)
        yield Check(assumption, chance > LEVEL, chance, words.format(seen, others.mean()))


def _phases(updates: Floats, downloads: Floats) -> Check:
    """Whether both keep time with one clock."""
    spans = [_span(gaps) for gaps in (updates, downloads)]
    words = "; ".join(
        f"{what} {'keep no beat' if span is None else f'come in multiples of {span:.10g}'}"
        for what, span in zip(BOTH, spans, strict=True)
    )
    first, second = spans
    return Check(PHASES, first is None or second is None or not commensurable(first, second), math.nan, words)


def _span(gaps: Floats) -> float | None:
    """The lattice that intervals lie on, exactly or give or take some jitter, if it is coarse enough to matter."""
    law = Empirical(gaps)
    if coarse(law):
        return law.span
    kept = beat(gaps)
    return kept["period"] if kept else None


def _memoryless(times: Floats, rng: np.random.Generator) -> Check:
    """Whether updates are Poisson."""
    gaps, step = np.diff(times), resolution(times)
    if gaps.size < FEWEST_TO_FIT or not np.any(tied(gaps, step)):
        return Check(POISSON, False if gaps.size >= FEWEST_TO_FIT else None, math.nan, "no spread to test")
    sample = Sample.of(gaps, step)
    found = fit_family("exponential", sample)
    chance = p_value(found, sample, rng)
    words = f"intervals off exponential by {found.distance:.3f}, deviation {gaps.std() / gaps.mean():.2f} of the mean"
    return Check(POISSON, chance > LEVEL, chance, words)


# What is said


def _notes(updates: History, downloads: History, start: float, end: float) -> Iterator[str]:
    for history, what in zip((updates, downloads), BOTH, strict=True):
        share = history.times.size - np.unique(history.times).size
        if share:
            yield f"{share} {what} came in the same instant as another, and count as one with it"
    if updates.end > end:
        missed = int(np.count_nonzero(updates.times > end))
        yield f"{missed} updates after the window are not counted; if the replica still ran, say until when"
    before = int(np.count_nonzero(updates.times < start))
    if before:
        yield f"{before} updates before the first download are not counted"


def _heavy(tails: Iterable[Tail | None]) -> Iterator[str]:
    """Tails that may or may not spoil intervals: 95 % became 60 % in emulation at Pareto 1.4."""
    for what, tail in zip(BOTH, tails, strict=True):
        if tail is not None and "cannot be excluded" in tail.verdict:
            wide = f"index {tail.alpha:.2f}, {tail.low:.2f} .. {tail.high:.2f}"
            yield f"{what}: {tail.verdict} ({wide}); 95 % intervals may cover much less"


def _conclusion(failed: set[str]) -> str:
    """Which models are justified where these assumptions fail."""
    if RECORDED in failed:
        words = (
            "polls that found nothing were not recorded: the laws of recorded downloads predict nothing, "
            "unseen polls do if they come independently of the updates"
        )
    elif failed & {AGES, UPDATES_ASTA, DOWNLOADS_ASTA, PHASES}:
        words = "ages depend on one another: no formula is justified, only what was measured"
    else:
        too = "the Poisson formula is not" if POISSON in failed else "and so is the Poisson formula"
        words = f"ages are independent: the renewal laws are justified, {too}"
    drifts = " and ".join(what for what in BOTH if f"{what}: no drift" in failed)
    if drifts:
        words += f"; {drifts} drift, so averages mix times that differ: audit them one by one, since and until"
    return words

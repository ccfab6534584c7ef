"""Assumptions of models about two histories, and whether records show that they fail.

Of one history: that its intervals are independent, without drift and rhythm, and Poisson (history.py, fitting.py). Of
both: that ages are independent and seen as time sees them, that every download is recorded (replay.py, 1), and that
no clocks are locked (phases.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.histories.fitting import FEWEST_INTERVALS as FEWEST_TO_FIT
from replnet.histories.fitting import Sample, fit_family, p_value
from replnet.histories.history import cell_numbers, drift, rank_correlation, resolution, rhythm
from replnet.histories.locked_clocks import clock, phase_lock
from replnet.histories.replay import (
    Statistic,
    age_dependence,
    count_empty_intervals,
    statistics_of_turns,
    time_average_gap,
)
from replnet.laws import Floats

LEVEL = 0.01  # of every check: how often it calls a sound history unsound
BOTH = ("updates", "downloads")
RECORDED = "downloads: recorded even if nothing changed"
AGES, UPDATES_ASTA, DOWNLOADS_ASTA = "ages independent", "updates see time averages", "downloads see time averages"
PHASES, POISSON = "no phase-lock", "updates: Poisson"


@final
@dataclass(frozen=True)
class Check:
    """The result of checking one assumption about recorded histories.

    It has the `assumption` as text, whether it holds (None: cannot be told), in words what was `seen`, and the chance
    of seeing so much if it holds, which is NaN where nothing is drawn to compare with.
    """

    assumption: str
    holds: bool | None
    chance: float
    seen: str


def check_history(events: str, times: Floats, dated: bool, rng: np.random.Generator) -> Iterator[Check]:
    """Yield the checks of one history: intervals independent, no drift, and, if `dated`, no rhythm of the day.

    `events` is the word for its events in the texts, such as updates, and `times` are their distinct instants in
    ascending order, seconds since 1970 if they are `dated`. `rng` draws the records that the rhythm is compared with.
    """
    gaps, step = np.diff(times), resolution(times)
    rho, chance = rank_correlation(gaps, step)
    yield Check(f"{events}: intervals independent", chance > LEVEL, chance, f"rank correlation {rho:+.2f} at lag 1")
    spread, chance = drift(gaps, step)
    holds = None if math.isnan(chance) else chance > LEVEL
    short, differ = "the record is too short to tell", f"mean intervals of stretches differ by a factor {spread:.3g}"
    yield Check(f"{events}: no drift", holds, chance, short if holds is None else differ)
    if dated:
        peak, chance = rhythm(times, rng)
        yield Check(
            f"{events}: no rhythm of the day", chance > LEVEL, chance, f"busiest hour {peak:.1f} times the mean"
        )


def check_pair(u: Floats, d: Floats, start: float, end: float, rng: np.random.Generator) -> Iterator[Check]:
    """Yield four checks of two histories: all downloads recorded, ages independent, and two on time averages.

    `u` and `d` are the ascending instants of updates and of downloads, compared from `start` to `end`. The age of a
    history is the time since its last event; the last two check that events of the other see it as it is at any time.
    Downloads that are shifted around the span at random, by `rng`, stand for downloads that are independent of the
    updates.
    """
    polls = np.count_nonzero((d >= start) & (d <= end)) - 1
    statistics: tuple[tuple[str, Statistic, str], ...] = (
        (RECORDED, count_empty_intervals,
         f"{{:.0f}} of {polls} intervals between downloads saw no update, {{:.0f}} if independent"),
        (AGES, age_dependence, "P(A_D <= x, A_U <= y) off the product by {:.3f}, {:.3f} if independent"),
        (UPDATES_ASTA, time_average_gap,
         "ages of downloads at updates off those at any time by {:.3f}, {:.3f} if independent"),
        (DOWNLOADS_ASTA, lambda u, d, start, end: time_average_gap(d, u, start, end),
         "ages of updates at downloads off those at any time by {:.3f}, {:.3f} if independent"),
    )  # fmt: skip
    for assumption, statistic, words in statistics:
        seen, others = statistics_of_turns(statistic, u, d, start, end, rng)
        # Too few empty intervals are suspicious, and too large differences.
        beyond = np.count_nonzero(others <= seen if assumption == RECORDED else others >= seen)
        chance = (int(beyond) + 1) / (others.size + 1)
        text = words.format(seen, others.mean())
        if assumption == RECORDED and chance <= LEVEL:
            text += f": about {100 * (1 - seen / others.mean()):.0f} % of such polls are missing"
        yield Check(assumption, chance > LEVEL, chance, text)


def check_phases(updates: Floats, downloads: Floats) -> Check:
    """Return the check that two histories keep time with no common clock, or that their clocks move through all phases.

    Both arguments are ascending instants. The check fails if their clocks are locked, and has no chance (NaN).
    """
    clocks = [clock(times) for times in (updates, downloads)]
    words = "; ".join(
        f"{events} {'keep no beat' if kept_clock is None else f'come in multiples of {kept_clock.period:.6g}'}"
        for events, kept_clock in zip(BOTH, clocks, strict=True)
    )
    first, second = clocks
    lock = None if first is None or second is None else phase_lock(first, second)
    if lock is not None:
        words += f"; phases move by {lock.moved / lock.span:.2g} of the {lock.span:.4g} after which they come again"
    return Check(PHASES, lock is None, math.nan, words)


def check_poisson(times: Floats, rng: np.random.Generator) -> Check:
    """Return the check that updates at these ascending instants are Poisson, so that their intervals are exponential.

    It cannot be told of fewer than 10 intervals, and fails if all are alike. `rng` draws samples to compare with.
    """
    gaps, step = np.diff(times), resolution(times)
    if gaps.size < FEWEST_TO_FIT or not np.any(cell_numbers(gaps, step)):
        return Check(POISSON, False if gaps.size >= FEWEST_TO_FIT else None, math.nan, "no spread to test")
    sample = Sample.of(gaps, step)
    exponential = fit_family("exponential", sample)
    chance = p_value(exponential, sample, rng)
    words = (
        f"intervals off exponential by {exponential.distance:.3f}, deviation {gaps.std() / gaps.mean():.2f} of the mean"
    )
    return Check(POISSON, chance > LEVEL, chance, words)

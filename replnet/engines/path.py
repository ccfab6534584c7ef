"""What one emulated path of a network yields, whichever engine made it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from replnet.engines.plan import Plan

Floats = npt.NDArray[np.float64]
Shares = dict[tuple[str, str], tuple[float, float]]
"""By (group, metric): an amount, and the whole of which it is a share."""


@dataclass(frozen=True)
class Path:
    """Per group: the share of copy-time that was fresh, and what clients got."""

    fresh: Floats  # NaN for groups without copies
    answers: npt.NDArray[np.int64]
    good: Floats  # answers that were fresh, or their expected number
    counts: tuple[int, int, int, int]  # updates, downloads, polls, queries in [0, horizon)
    copies: Floats  # what every node holds at the end, a row per source
    depth: float  # how far back the start was looked up
    unproven: int  # copies at time zero that may differ from the stationary ones
    shares: Shares = field(default_factory=dict)  # metrics other than freshness
    of_sources: Shares = field(default_factory=dict)  # by Plan.parts in the place of groups, freshness as well
    undated: dict[str, float] = field(default_factory=dict)  # by group or part, the share whose age nobody knows


def there(plan: Plan, fresh: Floats, absent: Floats, horizon: float, degraded: bool = False) -> tuple[Floats, Shares]:
    """Per group, the share of the time with a copy in which it was fresh; and how much there was of that time.

    That is always all, and so not said, unless nodes crash or the run was `degraded`.
    """
    copies = horizon * plan.copies
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(plan.copies > 0, fresh / (copies - absent), np.nan)
    held: Shares = {}
    if plan.faults.crashes or degraded:
        held = {
            (name, "availability"): (float(copies[g] - absent[g]), float(copies[g]))
            for g, name in enumerate(plan.groups)
            if plan.copies[g]
        }
    return share, held


def of_sources(
    plan: Plan, fresh: Floats, absent: Floats, answers: npt.NDArray[np.int64], good: Floats, horizon: float
) -> Shares:
    """The freshness of every part; all is given by source and group."""
    return {
        (name, "freshness"): (
            (float(fresh[row, g]), float(horizon * plan.copies_of[row, g] - absent[row, g]))
            if plan.copies[g]
            else (float(good[row, g]), float(answers[row, g]))
        )
        for name, (g, row) in plan.parts.items()
    }


def answered(plan: Plan, answers: npt.NDArray[np.int64], ended: npt.NDArray[np.int64]) -> Shares:
    """Of the queries that came to their end, those that brought a copy."""
    asked = set(plan.group[plan.clients].tolist()) if plan.strict else ()
    return {(plan.groups[g], "answered"): (float(answers[g]), float(ended[g])) for g in asked}

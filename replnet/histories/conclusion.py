"""The conclusion of an audit: how far every model is from what was measured, how much of that may be chance, and why.

A model is as good as its answers are. Large records make every assumption fail, by amounts that move no answer, and
in short ones, or where two clocks are locked, chance alone moves answers so far that no assumption can be told to
fail. So a model is justified, metric by metric, where it is within NEAR of what was measured, and the assumptions
that fail say why it is not elsewhere. Where the measured value is no further from the model than turned histories
are (replay.py, 1), chance is a reason too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import final

from replnet.histories.assumptions import AGES, BOTH, DOWNLOADS_ASTA, PHASES, RECORDED, UPDATES_ASTA

NEAR = 0.05  # of a measured value: a model whose prediction is as near is justified

DRIFTS = {f"{what}: no drift": what for what in BOTH}

RENEWAL, UNSEEN, MEMORYLESS = "renewal laws", "unseen polls", "Poisson"
SHARE = "staleness"
SIMPLEST_FIRST = ((MEMORYLESS, "the Poisson formula"), (RENEWAL, "the renewal laws"), (UNSEEN, "unseen polls"))


@final
@dataclass(frozen=True)
class ModelComparison:
    """The value of a `metric` as a model has it (`predicted`) and as `measured`, with the range of mere chance.

    The range, `low` to `high`, has 95 % of the values that may be measured if the ages of updates and downloads are
    independent.
    """

    metric: str
    measured: float
    predicted: float
    low: float
    high: float

    @property
    def off(self) -> float:
        """The prediction over the measured value, minus 1; 0 if both are 0, infinite if only the measured value is."""
        if self.measured == self.predicted:
            return 0.0
        return self.predicted / self.measured - 1 if self.measured else math.inf

    @property
    def near(self) -> bool:
        """Whether the prediction is within 5 % of the measured value."""
        return abs(self.off) <= NEAR

    @property
    def by_chance(self) -> bool:
        """Whether the measured value lies in the range where chance alone may put it, if ages are independent."""
        return self.low <= self.measured <= self.high


def conclude(models: Mapping[str, list[ModelComparison]], failed: set[str]) -> str:
    """Return, as text, which models are justified and by how much the others are off.

    `models` has a comparison per metric of each model, by the model's name; `failed` has the names of failed
    assumptions.
    """
    words = (
        _words_for_locked_clocks(models[RENEWAL]) if PHASES in failed else "; ".join(_words_for_models(models, failed))
    )
    drifts = " and ".join(events for assumption, events in DRIFTS.items() if assumption in failed)
    if drifts:
        words += f"; {drifts} drift, so averages mix times that differ: audit them one by one, since and until"
    return words


def _words_for_locked_clocks(renewal: list[ModelComparison]) -> str:
    """Return the text for clocks that are locked, from comparisons of the renewal laws, one of them of staleness."""
    share = next(comparison for comparison in renewal if comparison.metric == SHARE)
    return (
        "clocks are locked, so what was measured is what one phase gives, and formulas are means over all: no formula "
        f"is justified, only what was measured (in staleness, renewal laws are {_size_range([share])} off, and other "
        f"phases give {share.low:.3g} to {share.high:.3g})"
    )


def _words_for_models(models: Mapping[str, list[ModelComparison]], failed: set[str]) -> Iterator[str]:
    """Yield texts on the renewal laws, on unseen polls where these are missing and matter, and on the Poisson formula.

    `models` has a comparison per metric of each model, by the model's name; `failed` has the names of failed
    assumptions.
    """
    off = [comparison for comparison in models[RENEWAL] if not comparison.near]
    yield f"{_reason(off, failed)}: {_justification('the renewal laws are', models[RENEWAL])}"
    if off and RECORDED in failed:
        yield _justification("unseen polls, if they come independently of the updates, are", models[UNSEEN])
    yield _justification("the Poisson formula is", models[MEMORYLESS])
    yield _recommendation(models)


def _recommendation(models: Mapping[str, list[ModelComparison]]) -> str:
    """Return, as text, by which model to predict staleness: the simplest that is near, in the order of SIMPLEST_FIRST.

    `models` has a comparison per metric of each model, by the model's name.
    """
    for model, name in SIMPLEST_FIRST:
        share = [comparison for comparison in models[model] if comparison.metric == SHARE]
        if share and share[0].near:
            return f"to predict staleness, take {name} ({_size_range(share)} off)"
    return "to predict staleness, take none of these, but what was measured"


def _reason(off: list[ModelComparison], failed: set[str]) -> str:
    """Return, as text, why the renewal laws are off, or, if they are not, whether an assumption fails all the same.

    `off` has the comparisons of metrics in which they are off, and `failed` the names of failed assumptions.
    """
    missing, dependent = RECORDED in failed, bool(failed & {AGES, UPDATES_ASTA, DOWNLOADS_ASTA})
    words = "polls that found nothing are missing" if missing else "ages depend on one another"
    if not off:
        return f"{words}, which moves no answer far" if missing or dependent else "ages are independent"
    if all(comparison.by_chance for comparison in off):
        return "the record is too short to tell, as chance alone moves answers as far"
    return words


def _justification(subject: str, model: list[ModelComparison]) -> str:
    """Return, as text, for which metrics a model is justified, and how far off it is.

    `subject` begins the text, such as "the Poisson formula is"; `model` has a comparison for each metric.
    """
    near, off = ([comparison for comparison in model if comparison.near == whether] for whether in (True, False))
    if near and off:
        names = " and ".join(comparison.metric for comparison in near)
        return f"{subject} justified for {names} ({_size_range(near)} off), not for the others ({_size_range(off)} off)"
    return f"{subject} {'justified' if near else 'not justified'} ({_size_range(near or off)} off)"


def _size_range(model: Iterable[ModelComparison]) -> str:
    """Return the smallest and the largest relative error of predictions, without sign, such as "2.5 to 13 %".

    `model` has one comparison or more; if both sizes are written alike, the text has it once.
    """
    sizes = sorted(abs(comparison.off) for comparison in model)
    least, most = (f"{100 * size:.{0 if size >= 0.1 else 1}f}" for size in (sizes[0], sizes[-1]))
    return f"{least} %" if least == most else f"{least} to {most} %"

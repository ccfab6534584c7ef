"""Targets of inverse problems: by how much networks meet them, and the emulation of the networks that a search ends in.

The margin of a value is by how much it is on the right side of the target, and below 0 on the wrong side.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from replnet.deadline import require_time, sharing_reasonable_time
from replnet.lab.experiment import emulate_so_far, require_whole
from replnet.measure import Row, is_metric_on_request, judge_rows
from replnet.network import Network
from replnet.run import (
    INTERRUPTED,
    Emulated,
    Progress,
    Result,
    Settings,
    TabularResult,
    Threshold,
    demand_text,
    predict,
    read_threshold,
)
from replnet.text import FieldError

if TYPE_CHECKING:
    import pandas as pd

RESOLUTION = 0.02  # of intervals that may agree


class SearchResult(TabularResult, ABC):
    """Abstract: the answer of an inverse problem, as rows of a table, with the networks that were emulated for it."""

    columns: ClassVar[Sequence[str]]
    stopped: str  # why it ended early, if it did

    @property
    @abstractmethod
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, each a mapping from the names in `columns`; one that a row lacks is an empty field."""

    @property
    @abstractmethod
    def emulations(self) -> Sequence[Emulated]:
        """The results of the networks that were emulated."""

    @property
    def incomplete(self) -> str:
        """A text that says why candidates are missing, or not emulated in full; empty otherwise."""
        return next((result.incomplete for result in self.emulations if result.incomplete), self.stopped)

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows as a pandas DataFrame with the columns in `columns`."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.columns))


def read_target(target: float | str, unit: str | None = None) -> Threshold:
    """Return the demand that a target, given as text or number, makes of networks with this unit of time, if any.

    A number, or a text such as 90%, stands for `freshness >=` that. Raises FieldError if it is no demand, or one that
    always or never holds.
    """
    text = demand_text(target) if isinstance(target, str) else f"freshness >= {target!r}"
    goal = read_threshold(text, "target", unit)
    goal.require_open()
    return goal


def settings_for(goal: Threshold, seed: int, precision: float, estimator: str = "sampled") -> Settings:
    """Return the settings of runs that measure the metric of `goal`, to half-widths of `precision`, with this seed.

    `estimator` is "sampled" or "conditional". The engine and the length are left to the run.
    """
    return Settings(None, estimator, seed, None, precision, None, RESOLUTION, _metrics_to_ask(goal))


def _metrics_to_ask(goal: Threshold) -> tuple[str, ...]:
    """Return the metric of `goal` in a tuple, which is empty if it is measured anyway."""
    return (goal.metric,) if is_metric_on_request(goal.metric) else ()


def target_rows(result: Result, goal: Threshold, group: str | None = None) -> list[Row]:
    """Return the rows of a result that `goal` is about: those of the group it names, else of `group`, else of all
    groups.

    Raises FieldError if there are none.
    """
    rows = result.about(goal.metric, goal.group or group)
    if not rows:
        names = ", ".join(f"'{row.group}: {row.metric}'" for row in result.rows)
        raise FieldError("target", f"nothing will match {goal.text!r}", f"there is {names}")
    return rows


def margin_of(goal: Threshold, *values: float | None) -> float:
    """Return by how much the first of these values that is not None is better than the goal; below 0 if it misses it.

    The values and the margin are in the unit of the metric; the margin is minus infinity if all values are None.
    """
    value = next((value for value in values if value is not None), None)
    return -math.inf if value is None else goal.margin(value)


def predict_worst(network: Network, goal: Threshold, group: str | None = None) -> float | None:
    """Return the metric of `goal` by formula for the group that is worst off, of those that `target_rows` chooses.

    It is None if there is no formula for one of them. Raises FieldError if there is no such row, and OutOfTime if the
    budget of time is spent.
    """
    rows = target_rows(predict(network, _metrics_to_ask(goal)), goal, group)
    require_time()  # a missing prediction may only have run out of time
    return min((row.predicted for row in rows), key=lambda value: margin_of(goal, value))


def verify(
    networks: Sequence[tuple[str, Network]], settings: Settings, tell: Progress, **how: Any
) -> tuple[list[Emulated], str]:
    """Emulate named networks; return the results in their order, and why there are fewer if it was interrupted, or "".

    Verdicts are those of all rows together; a network of which a row differs is run again four times longer. `tell`
    gets the share that is done, and `how` has workers and address.
    """
    results, stopped = list[Emulated](), ""

    def emulate(place: int, words: str, longer: bool) -> Emulated:
        """Emulate the network at this place of the list, `longer` or not; `words` are added to its name in progress."""
        name, network = networks[place]
        part = f"{name}, {words} ({place + 1} of {len(networks)})"
        progress: Progress = lambda share, words: tell((place + share) / len(networks), f"{part}: {words}")  # noqa: E731
        return emulate_so_far(network, settings, longer, progress=progress, **how)

    try:
        with sharing_reasonable_time(len(networks)):
            for place in range(len(networks)):
                results.append(emulate(place, "emulated", False))
                require_whole(results[-1])
        results = _judge_together(results, settings)
        for place, result in enumerate(results):
            if result.verdict == "differ":
                longer = emulate(place, "which differs, emulated four times longer", True)
                require_whole(longer)
                results[place] = longer
        tell(1.0, "judged together")
    except KeyboardInterrupt as why:
        stopped = words_of_interrupt(why)
    return _judge_together(results, settings), stopped


def _judge_together(results: Sequence[Emulated], settings: Settings) -> list[Emulated]:
    """Return the results with the verdicts that all their rows have together, at the resolution of the settings."""
    rows = iter(judge_rows([row for result in results for row in result.rows], settings.resolution))
    return [replace(result, rows=tuple(next(rows) for _ in result.rows)) for result in results]


def words_of_interrupt(why: KeyboardInterrupt) -> str:
    """Return the reason that an interrupt, or the end of a budget, carries as text; "interrupted" if it has none."""
    return str(why.args[0]) if why.args else INTERRUPTED


def later_part(tell: Progress, before: float) -> Progress:
    """Return a progress function for the part of the work after the share `before`, which is done.

    It takes the share of that part that is done, from 0 to 1, and calls `tell` with the share of all work.
    """
    return lambda share, words: tell(before + (1 - before) * share, words)

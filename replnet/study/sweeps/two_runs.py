"""The difference of two runs, cell by cell, with its interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from replnet.measure.estimate import Estimate
from replnet.measure.verdict import Comparison, overall, verdicts
from replnet.study.sweeps.sweep import Sweep
from replnet.study.sweeps.table import Line, lines

COLUMNS = ("group", "metric", "first", "second", "difference", "ci_low", "ci_high", "z", "verdict")


def differences(first: Sweep, second: Sweep) -> tuple[list[str], list[dict[str, Any]], str]:
    """The axes that both have, a row per cell that both have, and the verdict over all of them.

    Rows are matched by the values of these axes, group and metric. The interval is that of
    independent runs: with equal seeds it is wider than it need be.
    """
    names = {axis.name for axis in second.experiment.axes}
    axes = [axis.name for axis in first.experiment.axes if axis.name in names]
    theirs = _by_place(second, axes)
    pairs = [(line, theirs[key]) for key, line in _by_place(first, axes).items() if key in theirs]
    if not pairs:
        raise ValueError(
            f"{first.folder} and {second.folder}: have no measured row in common "
            "(runs whose axes, groups and metrics meet)"
        )
    cells = [Comparison(_difference(a.estimate, b.estimate), 0.0, scale=_scale(a)) for a, b in pairs]
    words = verdicts(cells, max(first.experiment.settings.resolution, second.experiment.settings.resolution))
    rows = [_row(a, b, axes, cell, word) for (a, b), cell, word in zip(pairs, cells, words, strict=True)]
    return axes, rows, overall(words)


def _by_place(sweep: Sweep, axes: Sequence[str]) -> dict[tuple[Any, ...], Line]:
    e, found = sweep.experiment, dict[tuple[Any, ...], Line]()
    for line in lines(sweep.cells, sweep.final, e.measure, e.groups):
        group, metric = line.row["group"], line.row["metric"]
        if line.row["measured"] is None:
            continue
        key = (*(line.cell.values[name] for name in axes), group, metric)
        if key in found:
            more = [axis.name for axis in e.axes if axis.name not in axes]
            raise ValueError(
                f"{sweep.folder}: {', '.join(more)} varies here and not in the other run (runs of equal axes)"
            )
        found[key] = line
    return found


def _difference(a: Estimate, b: Estimate) -> Estimate:
    error = math.hypot(a.error, b.error)
    return Estimate(a.value - b.value, error, min(a.replications, b.replications), doubt=a.doubt or b.doubt)


def _scale(line: Line) -> float:
    return line.judged.scale


def _row(a: Line, b: Line, axes: Sequence[str], cell: Comparison, word: str) -> dict[str, Any]:
    known = not math.isnan(cell.estimate.error)
    return {
        **{name: a.cell.values[name] for name in axes},
        "group": a.row["group"],
        "metric": a.row["metric"],
        "first": a.row["measured"],
        "second": b.row["measured"],
        "difference": cell.estimate.value,
        "ci_low": cell.estimate.low if known else None,
        "ci_high": cell.estimate.high if known else None,
        "z": cell.z if known else None,
        "verdict": word,
    }

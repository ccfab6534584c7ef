"""The finished table: every cell's rows judged together, beside what a paper prints; and the difference of two.

Verdicts are those of `measure.verdict` over all rows of all cells, so that the
chance of any false alarm in the whole table is at most FAMILY. What a paper
prints, or what is expected, is held against the prediction, if the measurement does
not speak against that, and else against the measurement by the same procedure: it
contradicts only what lies beyond its own rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from replnet.measure.estimate import apart
from replnet.measure.row import COMPARED, Row, is_share, judged
from replnet.measure.verdict import ROUNDING, Comparison, overall, verdicts
from replnet.study.experiment.axes import Axis, same
from replnet.study.experiment.cells import Cell
from replnet.study.experiment.sections import GROUP, StatedValue
from replnet.study.kept_run import row_of

NUMBERS = ("measured", "ci_low", "ci_high", "predicted", "z", "accuracy", "printed", "expected")
COLUMNS = (*COMPARED, "printed", "printed_verdict", "expected", "expected_verdict")
DIFFERENCES = ("group", "metric", "first", "second", "difference", "ci_low", "ci_high", "z", "verdict")
CONTRADICTS, FAILED = "contradicts", "failed"

Stated = tuple[Any, str]  # a StatedValue or None, and how a row compares with it


@final
@dataclass(frozen=True)
class Line:
    """A row of the table: of which cell it is, and what is printed and expected of it."""

    cell: Cell
    row: Row
    printed: Stated = (None, "")
    expected: Stated = (None, "")

    def at(self, name: str) -> Any:
        """Where it is on an axis, or its group."""
        return self.row.group if name == GROUP else self.cell.values[name]

    def is_about(self, at: Mapping[str, Any]) -> bool:
        return all(same(self.at(name), value) for name, value in at.items())

    def data(self) -> dict[str, Any]:
        found = {**self.cell.values, **self.row.data()}
        for name, (one, word) in (("printed", self.printed), ("expected", self.expected)):
            found |= {name: one.value if one else None, f"{name}_verdict": word}
        return found


def lines(
    cells: Iterable[Cell],
    records: Mapping[str, Any],
    measure: Sequence[str] = (),
    groups: Sequence[str] = (),
    failures: Mapping[str, str] | None = None,
) -> list[Line]:
    """The rows of the cells that are finished, of these metrics and groups or of all, judged together.

    In the order of the cells, with a row for each that failed.
    """
    found: list[tuple[Cell, Row]] = []
    for cell in cells:
        rows = map(row_of, records[cell.key]["rows"] if cell.key in records else ())
        kept = (row for row in rows if (not measure or row.metric in measure) and (not groups or row.group in groups))
        found += ((cell, row) for row in kept)
        if failures and cell.key in failures:
            found.append((cell, Row("", "", note=failures[cell.key], verdict=FAILED)))
    by_resolution = {
        resolution: judged([row for _, row in found], resolution)
        for resolution in {cell.settings.resolution for cell, _ in found}
    }
    return [Line(cell, by_resolution[cell.settings.resolution][i]) for i, (cell, _) in enumerate(found)]


def beside(found: Sequence[Line], printed: Sequence[StatedValue], expected: Sequence[StatedValue]) -> list[Line]:
    """With what is stated of them, and how they compare."""
    both = zip(found, _against(found, printed), _against(found, expected), strict=True)
    return [Line(line.cell, line.row, one, other) for line, one, other in both]


def _against(found: Sequence[Line], values: Sequence[StatedValue]) -> list[Stated]:
    """The most particular value that is stated, and `agree`, `contradicts`, or `unresolved` where only a wide interval
    could tell."""
    stated: list[Stated] = []
    measured: dict[int, Comparison] = {}
    for i, line in enumerate(found):
        row, word = line.row, ""
        fitting = [
            one for one in values if (one.group, one.metric) == (row.group, row.metric) and line.is_about(one.at)
        ]
        one = max(fitting, key=lambda one: len(one.at), default=None)
        if one and row.predicted is not None and row.verdict != "differ":
            beyond = abs(row.predicted - one.value) - one.within - (row.accuracy or 0.0)
            word = CONTRADICTS if beyond > ROUNDING else "agree"
        elif one and row.estimate and not math.isnan(row.estimate.error):
            measured[i] = Comparison(row.estimate, one.value, one.within, 1.0 if is_share(row.metric) else one.value)
        stated.append((one, word))
    for i, word in zip(measured, verdicts([*measured.values()]), strict=True):
        stated[i] = (stated[i][0], CONTRADICTS if word == "differ" else word)
    return stated


def frame(rows: Sequence[Mapping[str, Any]], axes: Sequence[Axis]) -> Any:
    """The rows as a DataFrame; what does not exist is NaN or empty."""
    import pandas as pd

    columns = list(dict.fromkeys([*(axis.name for axis in axes), *(COLUMNS if not rows else rows[0])]))
    found = pd.DataFrame([dict(row) for row in rows], columns=columns)
    for axis in axes:
        # A column is of one kind, or no file could hold it.
        kinds = {type(value) for value in axis.values}
        if kinds - {int, float}:
            found[axis.name] = [str(value) for value in found[axis.name]]
        else:
            found[axis.name] = found[axis.name].astype("int64" if kinds == {int} else float)
    for name in found.columns:
        if name in NUMBERS:
            found[name] = found[name].astype(float)
    return found


# ---- The difference of two runs


def differences(first: Any, second: Any) -> tuple[list[str], list[dict[str, Any]], str]:
    """The axes that two sweeps both have, a row per cell that both have, and the verdict over all of them.

    Rows are matched by the values of these axes, group and metric, and their replications one by one where both
    have the same seed: these share their random numbers, which makes the interval narrower.
    """
    names = {axis.name for axis in second.experiment.axes}
    axes = [axis.name for axis in first.experiment.axes if axis.name in names]
    theirs = _by_place(second, axes)
    pairs = [(line, theirs[key], key) for key, line in _by_place(first, axes).items() if key in theirs]
    if not pairs:
        raise ValueError(
            f"{first.folder} and {second.folder}: have no measured row in common "
            "(runs whose axes, groups and metrics meet)"
        )
    compared = [_difference(a, b) for a, b, _ in pairs]
    words = verdicts(compared, max(first.experiment.settings.resolution, second.experiment.settings.resolution))
    rows = []
    for (a, b, key), one, word in zip(pairs, compared, words, strict=True):
        known = not math.isnan(one.estimate.error)
        limits = (one.estimate.low, one.estimate.high, one.z) if known else (None, None, None)
        values = (*key, a.row.measured, b.row.measured, one.estimate.value, *limits, word)
        rows.append(dict(zip((*axes, *DIFFERENCES), values, strict=True)))
    return axes, rows, overall(words)


def _by_place(sweep: Any, axes: Sequence[str]) -> dict[tuple[Any, ...], Line]:
    """What is measured, by values of these axes, group and metric."""
    found = dict[tuple[Any, ...], Line]()
    for line in sweep.lines:
        if line.row.measured is None:
            continue
        key = (*map(line.at, axes), line.row.group, line.row.metric)
        if key in found:
            more = [axis.name for axis in sweep.experiment.axes if axis.name not in axes]
            raise ValueError(
                f"{sweep.folder}: {', '.join(more)} varies here and not in the other run (runs of equal axes)"
            )
        found[key] = line
    return found


def _difference(a: Line, b: Line) -> Comparison:
    ours, theirs, compared = a.row.estimate, b.row.estimate, a.row.comparison
    assert ours is not None
    assert theirs is not None
    assert compared is not None
    paired = a.cell.settings.seed == b.cell.settings.seed
    return Comparison(apart(ours, theirs, paired), 0.0, scale=compared.scale)

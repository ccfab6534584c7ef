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

import numpy as np

from replnet.lab.experiment import GROUP, Axis, Cell, StatedValue, same_value
from replnet.lab.kept_run import row_from_record
from replnet.measure import (
    COMPARED,
    ROUNDING,
    Comparison,
    Row,
    estimate_difference,
    is_share,
    judge_rows,
    verdicts,
    worst_verdict,
)
from replnet.text import FieldError

NUMBERS = ("measured", "ci_low", "ci_high", "predicted", "z", "accuracy", "printed", "expected")
COLUMNS = (*COMPARED, "printed", "printed_verdict", "expected", "expected_verdict")
DIFFERENCES = ("group", "metric", "first", "second", "difference", "ci_low", "ci_high", "z", "verdict")
CONTRADICTS, FAILED = "contradicts", "failed"

Stated = tuple[Any, str]  # a StatedValue or None, and how a row compares with it


@final
@dataclass(frozen=True)
class Line:
    """A row of the table, with the cell that it is from, and the values that are printed and expected beside it.

    `printed` and `expected` are pairs: a stated value, or None, and how the row compares with it: agree, contradicts,
    unresolved, or "" where there is nothing to compare.
    """

    cell: Cell
    row: Row
    printed: Stated = (None, "")
    expected: Stated = (None, "")

    def at(self, name: str) -> Any:
        """Return the cell's value of an axis; the group of the row if the name is `group`."""
        return self.row.group if name == GROUP else self.cell.values[name]

    def is_about(self, at: Mapping[str, Any]) -> bool:
        """Whether the row has these values, `at`, by the names of axes; under `group` it is the row's group that
        counts.
        """
        return all(same_value(self.at(name), value) for name, value in at.items())

    def data(self) -> dict[str, Any]:
        """Return the row by the columns of the table: the values of the axes, and what `row_data` has."""
        return {**self.cell.values, **self.row_data()}

    def row_data(self) -> dict[str, Any]:
        """Return the row by COLUMNS: its own values, and the printed and expected ones with how it compares with each.

        A stated value that there is not is None, and its comparison empty.
        """
        data = self.row.data()
        for name, (stated, word) in (("printed", self.printed), ("expected", self.expected)):
            data |= {name: stated.value if stated else None, f"{name}_verdict": word}
        return data


def judged_lines(
    cells: Iterable[Cell],
    records: Mapping[str, Any],
    measure: Sequence[str] = (),
    groups: Sequence[str] = (),
    failures: Mapping[str, str] | None = None,
) -> list[Line]:
    """Return the rows of the cells that have records, of these metrics and groups, judged together.

    `records` and `failures`, which has the reasons, are by the keys of cells; an empty `measure` stands for all
    metrics, empty `groups` for all groups. Rows are in the order of the cells, each with its verdict, and a cell that
    failed has one row more, whose note says why.
    """
    rows_of_cells: list[tuple[Cell, Row]] = []
    for cell in cells:
        rows = map(row_from_record, records[cell.key]["rows"] if cell.key in records else ())
        wanted_rows = (
            row for row in rows if (not measure or row.metric in measure) and (not groups or row.group in groups)
        )
        rows_of_cells += ((cell, row) for row in wanted_rows)
        if failures and cell.key in failures:
            rows_of_cells.append((cell, Row("", "", note=failures[cell.key], verdict=FAILED)))
    by_resolution = {
        resolution: judge_rows([row for _, row in rows_of_cells], resolution)
        for resolution in {cell.settings.resolution for cell, _ in rows_of_cells}
    }
    return [Line(cell, by_resolution[cell.settings.resolution][i]) for i, (cell, _) in enumerate(rows_of_cells)]


def with_stated_values(
    rows: Sequence[Line], printed: Sequence[StatedValue], expected: Sequence[StatedValue]
) -> list[Line]:
    """Return these rows in their order with the printed and the expected value beside each, and how it compares with
    them.

    Of `printed` and `expected` each row gets the value that is about it, if there is one.
    """
    stated = zip(rows, _compare_with_values(rows, printed), _compare_with_values(rows, expected), strict=True)
    return [Line(line.cell, line.row, printed_value, expected_value) for line, printed_value, expected_value in stated]


def _compare_with_values(rows: Sequence[Line], values: Sequence[StatedValue]) -> list[Stated]:
    """Return for each row a pair: the one of `values` that is stated for it, and a word on how they compare.

    Of several values that fit a row's cell, group and metric, the one that names most axes counts; it is None if none
    fits. The word is `agree`, `contradicts`, or `unresolved` where only a narrower interval could tell, and empty where
    there is nothing to compare.
    """
    stated: list[Stated] = []
    measured: dict[int, Comparison] = {}
    for i, line in enumerate(rows):
        row, word = line.row, ""
        fitting = [
            statement
            for statement in values
            if (statement.group, statement.metric) == (row.group, row.metric) and line.is_about(statement.at)
        ]
        statement = max(fitting, key=lambda statement: len(statement.at), default=None)
        if statement and row.predicted is not None and row.verdict != "differ":
            beyond = abs(row.predicted - statement.value) - statement.within - (row.accuracy or 0.0)
            word = CONTRADICTS if beyond > ROUNDING else "agree"
        elif statement and row.estimate and not math.isnan(row.estimate.error):
            measured[i] = Comparison(
                row.estimate, statement.value, statement.within, None if is_share(row.metric) else statement.value
            )
        stated.append((statement, word))
    for i, word in zip(measured, verdicts([*measured.values()]), strict=True):
        stated[i] = (stated[i][0], CONTRADICTS if word == "differ" else word)
    return stated


def in_column(axis: Axis, values: Iterable[Any]) -> Any:
    """Return values of an axis as the table has them: all whole numbers, all floats, or all texts.

    A column has values of one type, or no file could hold it.
    """
    kinds = {type(value) for value in axis.values}
    if kinds - {int, float}:
        return [str(value) for value in values]
    return np.array([*values], dtype="int64" if kinds == {int} else float)


def table_of_rows(rows: Sequence[Mapping[str, Any]], axes: Sequence[Axis]) -> Any:
    """Return the rows, given as plain data, as a DataFrame with the columns of the axes first.

    What a row does not have is NaN or empty. Without rows the frame has the usual columns.
    """
    import pandas as pd

    columns = list(dict.fromkeys([*(axis.name for axis in axes), *(COLUMNS if not rows else rows[0])]))
    table = pd.DataFrame([dict(row) for row in rows], columns=columns)
    for axis in axes:
        table[axis.name] = in_column(axis, table[axis.name])
    for name in table.columns:
        if name in NUMBERS:
            table[name] = table[name].astype(float)
    return table


# ---- The difference of two runs


def compare_sweeps(first: Any, second: Any) -> tuple[list[str], list[dict[str, Any]], str]:
    """Compare two sweeps: return the axes that both have, the rows of what both have measured, and the worst verdict.

    A row has the difference, first minus second, with its interval and verdict. Rows are matched by the values of these
    axes, group and metric, and their replications one by one where both have the same seed: these share their random
    numbers, which makes the interval narrower. Raises FieldError if the sweeps have no row in common.
    """
    names = {axis.name for axis in second.experiment.axes}
    axes = [axis.name for axis in first.experiment.axes if axis.name in names]
    theirs = _measured_rows(second, axes)
    pairs = [(line, theirs[key], key) for key, line in _measured_rows(first, axes).items() if key in theirs]
    if not pairs:
        wrong, right = "have no measured row in common", "runs whose axes, groups and metrics meet"
        raise FieldError(f"{first.folder} and {second.folder}", wrong, right)
    compared = [_compare_rows(a, b) for a, b, _ in pairs]
    words = verdicts(compared, max(first.experiment.settings.resolution, second.experiment.settings.resolution))
    rows = []
    for (a, b, key), difference, word in zip(pairs, compared, words, strict=True):
        has_interval = not math.isnan(difference.estimate.error)
        limits = (
            (difference.estimate.low, difference.estimate.high, difference.z) if has_interval else (None, None, None)
        )
        values = (*key, a.row.measured, b.row.measured, difference.estimate.value, *limits, word)
        rows.append(dict(zip((*axes, *DIFFERENCES), values, strict=True)))
    return axes, rows, worst_verdict(words)


def _measured_rows(sweep: Any, axes: Sequence[str]) -> dict[tuple[Any, ...], Line]:
    """Return the measured rows of a sweep, by keys of the values of these axes, then the group and the metric.

    Raises FieldError if two rows are at one place, as another axis varies.
    """
    rows = dict[tuple[Any, ...], Line]()
    for line in sweep.lines:
        if line.row.measured is None:
            continue
        key = (*map(line.at, axes), line.row.group, line.row.metric)
        if key in rows:
            more = [axis.name for axis in sweep.experiment.axes if axis.name not in axes]
            wrong = f"{', '.join(more)} varies here and not in the other run"
            raise FieldError(str(sweep.folder), wrong, "runs of equal axes")
        rows[key] = line
    return rows


def _compare_rows(a: Line, b: Line) -> Comparison:
    """Return the measured difference of two rows, a minus b, to be compared with 0.

    Where both have the same seed, replications share their random numbers, and the error is that of paired values.
    """
    ours, theirs, compared = a.row.estimate, b.row.estimate, a.row.comparison
    assert ours is not None
    assert theirs is not None
    assert compared is not None
    paired = a.cell.settings.seed == b.cell.settings.seed
    return Comparison(estimate_difference(ours, theirs, paired), 0.0, scale=compared.scale)

"""The finished table: every cell's rows judged together, beside what a paper prints.

Verdicts are those of `measure.verdict` over all rows of all cells, so that the
chance of any false alarm in the whole table is at most FAMILY. What a paper
prints, or what is expected, is held against the prediction, if the measurement does
not speak against that, and else against the measurement by the same procedure: it
contradicts only what lies beyond its own rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from replnet.measure import verdict
from replnet.measure.estimate import Estimate
from replnet.measure.row import is_share
from replnet.study.experiment.axes import Axis, same
from replnet.study.experiment.cells import Cell
from replnet.study.experiment.statements import StatedValue

NUMBERS = ("measured", "ci_low", "ci_high", "predicted", "z", "accuracy", "printed", "expected")
COLUMNS = (
    "group", "metric", "measured", "ci_low", "ci_high", "predicted", "z", "verdict", "kind", "source", "accuracy",
    "note", "printed", "printed_verdict", "expected", "expected_verdict",
)  # fmt: skip
S = TypeVar("S", bound=StatedValue)
CONTRADICTS, FAILED = "contradicts", "failed"


@final
@dataclass(frozen=True)
class Line:
    """One row of the table before it is judged: a row of the record of a cell."""

    cell: Cell
    row: Mapping[str, Any]

    @property
    def estimate(self) -> Estimate:
        def number(name: str) -> float:
            return math.nan if self.row[name] is None else float(self.row[name])

        replications, skew = self.row["replications"] or 0, self.row.get("skew") or 0.0
        return Estimate(number("measured"), number("error"), replications, doubt=self.row["doubt"], skew=skew)

    @property
    def is_measured(self) -> bool:
        return self.row["replications"] is not None

    @property
    def judged(self) -> verdict.Comparison:
        estimate = self.estimate
        scale = 1.0 if is_share(self.row["metric"]) else estimate.value
        predicted = self.row["predicted"] if self.is_measured else None
        return verdict.Comparison(estimate, predicted, self.row["accuracy"] or 0.0, scale)

    @property
    def z(self) -> float | None:
        """Standard errors between measured and predicted, where there is more error than rounding."""
        return self.judged.z if self.is_measured and self.estimate.error > verdict.ROUNDING else None

    def is_about(self, at: Mapping[str, Any]) -> bool:
        return all(same(self.cell.values.get(name, self.row.get(name)), value) for name, value in at.items())


def lines(
    cells: Iterable[Cell], records: Mapping[str, Any], measure: Sequence[str] = (), groups: Sequence[str] = ()
) -> list[Line]:
    """The rows of the cells that are finished, in the order of the cells; of these metrics and groups, or of all."""
    return [
        Line(cell, row)
        for cell in cells
        if cell.key in records
        for row in records[cell.key]["rows"]
        if (not measure or row["metric"] in measure) and (not groups or row["group"] in groups)
    ]


def words(found: Sequence[Line]) -> list[str]:
    """A verdict per row, all judged together."""
    judged = [line.judged for line in found]
    answers = {
        resolution: verdict.verdicts(judged, resolution)
        for resolution in dict.fromkeys(line.cell.settings.resolution for line in found)
    }
    return [answers[line.cell.settings.resolution][i] if line.is_measured else "" for i, line in enumerate(found)]


def differing(found: Sequence[Line]) -> list[str]:
    """The keys of the cells with a row that differs."""
    return list(
        dict.fromkeys(line.cell.key for line, word in zip(found, words(found), strict=True) if word == "differ")
    )


def table(
    cells: Sequence[Cell],
    kept: Sequence[Line],
    failures: Mapping[str, str],
    printed: Sequence[StatedValue],
    expected: Sequence[StatedValue] = (),
) -> list[dict[str, Any]]:
    """The finished table, of the rows that are kept."""
    found = words(kept)
    beside = [_beside(kept, found, values, name) for name, values in (("printed", printed), ("expected", expected))]
    rows = {
        id(line): {**_row(line, word), **one, **other}
        for line, word, one, other in zip(kept, found, *beside, strict=True)
    }
    by_cell: dict[int, list[dict[str, Any]]] = {}
    for line in kept:
        by_cell.setdefault(id(line.cell), []).append(rows[id(line)])
    table = []
    for cell in cells:
        table += by_cell.get(id(cell), [])
        if cell.key in failures:
            table.append(_failed(cell, failures[cell.key]))
    return table


def _row(line: Line, word: str) -> dict[str, Any]:
    row = line.row
    return {
        **line.cell.values,
        **{name: row[name] for name in ("group", "metric", "measured", "ci_low", "ci_high", "predicted")},
        "z": line.z,
        "verdict": word,
        **{name: row[name] for name in ("kind", "source", "accuracy", "note")},
    }


def _failed(cell: Cell, why: str) -> dict[str, Any]:
    empty = {**dict.fromkeys(COLUMNS, ""), **dict.fromkeys(NUMBERS)}
    return {**cell.values, **empty, "verdict": FAILED, "note": why}


# ---- What a paper prints, and what is expected


def _beside(
    kept: Sequence[Line], found: Sequence[str], values: Sequence[StatedValue], name: str
) -> list[dict[str, Any]]:
    """Two more columns by row: the value that is stated for it, and how the row compares."""
    stated = [about(line.row, values, line.is_about) for line in kept]
    said = _against(kept, found, stated)
    return [{name: one.value if one else None, f"{name}_verdict": word} for one, word in zip(stated, said, strict=True)]


def about(row: Mapping[str, Any], values: Sequence[S], meets: Callable[[Mapping[str, Any]], bool]) -> S | None:
    """What is stated of a row; the most particular if several values are."""
    fitting = [one for one in values if (one.group, one.metric) == (row["group"], row["metric"]) and meets(one.at)]
    return max(fitting, key=lambda one: len(one.at)) if fitting else None


def _against(found: Sequence[Line], verdicts: Sequence[str], stated: Sequence[StatedValue | None]) -> list[str]:
    """`agree` or `contradicts` where something is stated; `unresolved` where only a wide interval could tell."""
    said = [""] * len(found)
    measured = []
    for i, (line, word, one) in enumerate(zip(found, verdicts, stated, strict=True)):
        if one is None:
            continue
        predicted = line.row["predicted"]
        if predicted is not None and word != "differ":
            beyond = abs(predicted - one.value) - one.within - (line.row["accuracy"] or 0.0)
            said[i] = CONTRADICTS if beyond > verdict.ROUNDING else "agree"
        elif line.row["error"] is not None:
            scale = 1.0 if is_share(line.row["metric"]) else one.value
            measured.append((i, verdict.Comparison(line.estimate, one.value, one.within, scale)))
    answers = verdict.verdicts([cell for _, cell in measured])
    for (i, _), word in zip(measured, answers, strict=True):
        said[i] = CONTRADICTS if word == "differ" else word
    return said


# ---- As a DataFrame


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
        elif kinds == {int}:
            found[axis.name] = found[axis.name].astype("int64")
        else:
            found[axis.name] = found[axis.name].astype(float)
    for name in found.columns:
        if name in NUMBERS:
            found[name] = found[name].astype(float)
    return found

"""What a finished table shows of the mistakes of a paper, and of what was expected.

A printed value contradicts a row, or a claim fails, while what was measured does not speak against what was predicted:
then it is the paper that is wrong. Several such cells may show one mistake, which the experiment names under `errata`;
where it names none a cell is a mistake by itself, of rounding if it is off by no more than one unit of the last digit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

from replnet.measure.verdict import ROUNDING
from replnet.study.experiment.axes import Axis, same
from replnet.study.experiment.experiment import Experiment
from replnet.study.experiment.statements import Expected, Printed, StatedValue
from replnet.study.sweeps.claims import Checked
from replnet.study.sweeps.table import CONTRADICTS, about

Row = Mapping[str, Any]


@final
@dataclass(frozen=True)
class ShownErratum:
    """A mistake of a paper, in words, with the cells and claims that show it; without a name if a cell is all of it."""

    name: str
    kind: str
    text: str
    cells: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The same for one mistake, whichever experiment shows it."""
        return self.name or self.text


@final
@dataclass(frozen=True)
class Expectation:
    """Why values are expected, how many of them agree, and the others in words, but for those that show an erratum."""

    reason: str
    agree: int
    count: int
    others: tuple[str, ...]


def shown_errata(experiment: Experiment, rows: Sequence[Row], claims: Sequence[Checked]) -> tuple[ShownErratum, ...]:
    """The mistakes of the paper that a table shows, those with a name first and in the order of the file."""
    cells: dict[str, list[str]] = {name: [] for name in experiment.errata}
    alone = []
    for one, row in [*_stated(rows, experiment.printed, "printed"), *_stated(rows, experiment.expected, "expected")]:
        if not _contradicts(row, one):
            continue
        if one.erratum is not None:
            cells[one.erratum].append(_sentence(row, experiment.axes, one))
        elif isinstance(one, Printed):
            alone.append(ShownErratum("", _kind(row, one), _sentence(row, experiment.axes, one)))
    for claim, found in zip(experiment.claims, claims, strict=True):
        if claim.erratum is not None and found.fails:
            cells[claim.erratum].append(f"{found.text}: {found.detail}")
    named = [
        ShownErratum(name, experiment.errata[name].kind, experiment.errata[name].text, tuple(said))
        for name, said in cells.items()
        if said
    ]
    return (*named, *alone)


def expectations(experiment: Experiment, rows: Sequence[Row]) -> tuple[Expectation, ...]:
    """What became of the values that were expected, by their reasons."""
    by_reason: dict[str, list[tuple[Expected, Row]]] = {}
    for one, row in _stated(rows, experiment.expected, "expected"):
        by_reason.setdefault(one.reason, []).append((one, row))
    found = []
    for reason, pairs in by_reason.items():
        others = [(one, row) for one, row in pairs if row["expected_verdict"] != "agree"]
        said = tuple(_sentence(row, experiment.axes, one) for one, row in others if one.erratum is None)
        found.append(Expectation(reason, len(pairs) - len(others), len(pairs), said))
    return tuple(found)


def contradictions(experiment: Experiment, rows: Iterable[Row]) -> list[str]:
    """Printed values that contradict a prediction with which the measurement agrees, cell by cell, in words."""
    found = _stated(rows, experiment.printed, "printed")
    return [_sentence(row, experiment.axes, one) for one, row in found if _contradicts(row, one)]


def _stated(rows: Iterable[Row], values: Sequence[Any], name: str) -> list[tuple[Any, Row]]:
    """The rows for which a value is stated, with it."""
    found = [(about(row, values, partial(_meets, row)), row) for row in rows if row[f"{name}_verdict"]]
    return [(one, row) for one, row in found if one is not None]


def _meets(row: Row, at: Mapping[str, Any]) -> bool:
    return all(same(row[name], value) for name, value in at.items())


def _contradicts(row: Row, one: StatedValue) -> bool:
    against = row["printed_verdict" if isinstance(one, Printed) else "expected_verdict"]
    return bool(against == CONTRADICTS and row["verdict"] != "differ")


def _kind(row: Row, one: Printed) -> str:
    """Of a contradiction to which the file gives no name."""
    if row["predicted"] is None:
        return "simulation"
    beyond = abs(row["predicted"] - one.value) - 2 * one.within
    return "equations" if beyond > ROUNDING else "rounding"


def _sentence(row: Row, axes: Sequence[Axis], one: StatedValue) -> str:
    """A cell with the value that is stated for it, and what was predicted and measured."""
    where = ", ".join(f"{axis.name} = {row[axis.name]}" for axis in axes)
    found = [f"{row['predicted']:.5g} predicted"] if row["predicted"] is not None else []
    if row["measured"] is not None:
        half = 0.0 if row["ci_low"] is None else (row["ci_high"] - row["ci_low"]) / 2
        width = f" ± {half:.2g}" if 0 < half < 10 else f" ± {half:.0f}" if half else ""
        found.append(f"{row['measured']:.5g}{width} measured")
    head = f"{where}: " if where else ""
    name = f"{row['group']}, {row['metric'].replace('_', ' ')}"
    return f"{head}{name}: {one.value:g} is {_origin(one)}, {', '.join(found)}{_remark(one)}"


def _origin(one: StatedValue) -> str:
    return "expected" if isinstance(one, Expected) else "printed"


def _remark(one: StatedValue) -> str:
    if isinstance(one, Expected):
        said = [one.reason]
    else:
        assert isinstance(one, Printed)
        said = [words for words in (one.where, one.reading and f"read as: {one.reading}", one.note) if words]
    return f" ({'; '.join(said)})" if said else ""

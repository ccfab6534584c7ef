"""The table of a run as a file: columns of one schema whatever the run, so that many files are read as one table.

Of every row there is the run, its experiment, what the cell is about, and the values of its axes; then the row itself,
and then those fields of the network that are a number or a text. A column has one type in all files; what a row does
not have is null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replnet.lab.experiment import Cell
from replnet.lab.sweeps.judged_table import COLUMNS, NUMBERS, Line
from replnet.store import canonical_json, digest, json_data

RUN = ("run", "experiment", "network", "formula")
AXES = "axes"
NUMERIC_FIELDS = (
    "depth", "branching", "replicas", "peers", "ask", "sources", "budget", "bandwidth", "queue",
)  # fmt: skip
TEXT_FIELDS = (
    "updates", "downloads", "polls", "queries", "select", "two_way", "order", "allocate", "share", "delay", "charge",
    "start", "unit",
)  # fmt: skip
STORED_COLUMNS = (*RUN, AXES, *COLUMNS, *NUMERIC_FIELDS, *TEXT_FIELDS)
LONGEST_TEXT = 1000  # characters of a field, beyond which it is left out


def run_id(header: Mapping[str, Any], experiment: Mapping[str, Any]) -> str:
    """Return 16 hexadecimal digits that name a run: the same for the same experiment, settings and version, and no
    other.

    `header` is what all its records depend on, and `experiment` its file as plain data.
    """
    return digest(canonical_json(json_data([dict(header), dict(experiment)], "run")))[:16]


def stored_table(run: str, experiment: str, lines: Sequence[Line]) -> Any:
    """Return the rows of a run as a pyarrow Table with the columns STORED_COLUMNS.

    `run` is the id of the run, and `experiment` the name of its experiment.
    """
    import pyarrow as pa

    types = dict.fromkeys(STORED_COLUMNS, pa.string())
    types |= dict.fromkeys((*NUMBERS, *NUMERIC_FIELDS), pa.float64())
    types[AXES] = pa.map_(pa.string(), pa.string())
    fields_of_cells: dict[str, dict[str, Any]] = {}  # most cells have several rows
    for line in lines:
        if line.cell.key not in fields_of_cells:
            fields_of_cells[line.cell.key] = {"run": run, "experiment": experiment, **_fields(line.cell)}
    rows = [line.row_data() for line in lines]
    values: dict[str, list[Any]] = {name: [None if row[name] == "" else row[name] for row in rows] for name in COLUMNS}
    for name in types.keys() - values.keys():
        values[name] = [fields_of_cells[line.cell.key][name] for line in lines]
    columns = [pa.array(values[name], kind, from_pandas=True) for name, kind in types.items()]
    return pa.Table.from_arrays(columns, names=list(types))


def subject_names(cell: Cell) -> dict[str, str | None]:
    """Return what a cell is about: under `network` the kind of its network, or of the system whose best size it seeks;
    under `formula` the name of its formula; None under the other.
    """
    data = cell.subject.data
    kind = data.get("kind") or data.get("system")
    return {"network": kind, "formula": None if kind else data.get("name")}


def _fields(cell: Cell) -> dict[str, Any]:
    """Return the values of a cell that its rows have in common, by column: its subject, its axes and its fields."""
    data = cell.subject.data
    return {
        **subject_names(cell),
        AXES: [(name, str(value)) for name, value in cell.values.items()],
        **{name: _number(data.get(name)) for name in NUMERIC_FIELDS},
        **{name: _text(data.get(name)) for name in TEXT_FIELDS},
    }


def _number(value: Any) -> float | None:
    """Return a number as a float; None for anything else, booleans too."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    """Return a value of a field as text, a list or a mapping as JSON; None for None, and for longer texts.

    Longer ones have more than LONGEST_TEXT letters.
    """
    if value is None:
        return None
    text = value if isinstance(value, str) else canonical_json(value)
    return text if len(text) <= LONGEST_TEXT else None

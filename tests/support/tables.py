"""Cells with records that nobody ran."""

from __future__ import annotations

from itertools import product

from replnet.lab.experiment.axes import axis
from replnet.lab.experiment.cells import Cell
from replnet.lab.experiment.sections import Printed
from replnet.lab.experiment.subjects import NetworkSubject, Settings
from replnet.lab.sweeps.judged_table import Line, judged_lines, with_stated_values
from replnet.measure.estimate import Estimate

SETTINGS = Settings(None, "sampled", 1, None, None, None, 0.02)
NOTHING = NetworkSubject({})
K = axis("k", [1, 2, 3])
SELECT = axis("select", ["random", "recent"])


def row(measured, predicted=None, error=0.001, accuracy=None, **more):
    interval = {}
    if error is not None:
        estimate = Estimate(measured, error, 32)
        interval = {"ci_low": estimate.low, "ci_high": estimate.high}
    return {
        "group": "cluster", "metric": "freshness", "measured": measured, "error": error, "replications": 32,
        "ci_low": None, "ci_high": None, **interval, "doubt": "", "predicted": predicted, "kind": "", "source": "",
        "accuracy": accuracy, "note": "", **more,
    }  # fmt: skip


def made(rows, axes=(K,)):
    """Cells and records, a row each, in the order of one or two axes."""
    names = [one.name for one in axes]
    points = product(*(one.values for one in axes))
    cells = [Cell(str(i), dict(zip(names, point, strict=True)), NOTHING, SETTINGS) for i, point in enumerate(points)]
    records = {str(i): {"rows": [one], "events": 1, "incomplete": ""} for i, one in enumerate(rows) if one is not None}
    return cells, records


def lines_of(rows, printed=(), expected=()) -> list[Line]:
    """A finished table."""
    return with_stated_values(judged_lines(*made(rows)), printed, expected)


def printed(value, within=0.005, **at):
    return Printed(at=at, group="cluster", metric="freshness", value=value, within=within, note="Table 1")

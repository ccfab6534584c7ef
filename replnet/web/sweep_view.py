"""What the pages of a sweep show, as plain data, from its directory: finished, half finished, or hardly begun."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from replnet.report.arrange import Arrangement, arrange
from replnet.report.section import holds, section_of
from replnet.study.sweeps.finished import Sweep
from replnet.web.series import by_axis, cells

MOST = 2_000  # rows of a page; the file of the run has all
WORST = {"failed": 0, "differ": 1, "unresolved": 2}
BY_CELL = ("group", "metric", "measured", "interval", "predicted", "z", "verdict")
COLUMNS = (*BY_CELL, "printed", "printed_verdict", "expected", "expected_verdict", "note")


def stamp(folder: Path) -> list[tuple[str, int, int]]:
    """What changes whenever something is written there."""
    found = [(file.name, file.stat()) for file in sorted(folder.iterdir())] if folder.is_dir() else []
    return [(name, one.st_mtime_ns, one.st_size) for name, one in found]


def sweep_view(folder: Path) -> dict[str, Any]:
    """The table, the curves and the words about a sweep; `error` where it cannot be read."""
    try:
        sweep = Sweep.read(folder)
    except (ValueError, OSError) as error:
        return {"error": str(error)}
    plan = arrange(section_of(sweep))
    axes, note = [axis.name for axis in sweep.experiment.axes], sweep.about["note"]
    said = [note, sweep.incomplete]  # one of which mostly has the other in it
    words = [one for one, other in zip(said, reversed(said), strict=True) if one not in other] or said[:1]
    return {
        "error": "",
        "title": f"{sweep.experiment.name}: {sweep.experiment.title}",
        "words": list(filter(None, [*words, sweep.mixed])),
        "failed": len(sweep.failures),
        "share": sweep.done / max(len(sweep.cells), 1),
        "verdict": f"Overall{' so far' if sweep.incomplete else ''}: {sweep.verdict}." if sweep.verdict else "",
        "claims": [f"{'✗' if one.fails else '✓' if holds(one) else '?'} {one.text}" for one in sweep.claims],
        "charts": by_axis(plan) if plan else [],
        "legend": _legend(plan) if plan else "",
        "columns": ["cell", *axes, *COLUMNS],
        "rows": _rows(sweep),
        "count": len(sweep.lines),
    }


def cell_view(place: tuple[Path, str]) -> dict[str, Any]:
    """One cell of a sweep: its values, its rows, and what was run."""
    folder, key = place
    try:
        sweep = Sweep.read(folder)
    except (ValueError, OSError) as error:
        return {"error": str(error)}
    cell = next((one for one in sweep.cells if one.key == key), None)
    if cell is None:
        return {"error": f"{folder}: there is no cell {key[:12]} (it may be of another sweep)"}
    record = sweep.final.get(key, {})
    about = f"{record['events']:,} events" if record else sweep.failures.get(key, "not finished yet")
    return {
        "error": "",
        "title": f"{sweep.experiment.name}: {cell.words or 'its only cell'}",
        "words": [about, *filter(None, [record.get("incomplete", "")])],
        "subject": {cell.subject.section: cell.subject.data},
        "settings": {name: value for name, value in asdict(cell.settings).items() if value not in (None, ())},
        "rows": [cells(line.data()) for line in sweep.lines if line.cell.key == key],
        "columns": COLUMNS,
    }


def _legend(plan: Arrangement) -> str:
    """What the curves are of, and what is drawn beside them or left out."""
    by = f"Curves by {plan.heading}." if plan.heading else ""
    printed = "Large squares are printed values." if plan.has("printed") else ""
    return " ".join(filter(None, [by, printed, *(f"{one}." for one in plan.left_out)]))


def _rows(sweep: Sweep) -> list[dict[str, Any]]:
    """All of them in their order, or of very many those that matter most."""
    number = {cell.key: at for at, cell in enumerate(sweep.cells, 1)}
    found = list(sweep.lines)
    if len(found) > MOST:
        found.sort(key=lambda line: (WORST.get(line.row.verdict, 3), -abs(line.row.z or 0.0)))
    about = [(cells(line.data()), line.cell.key) for line in found[:MOST]]
    return [{**row, "cell": number[key], "link": f"/cell?key={key}"} for row, key in about]

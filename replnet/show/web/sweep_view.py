"""What the pages of a sweep show, as plain data read from its directory, whether finished or hardly begun."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from replnet.lab.sweeps import Sweep
from replnet.show import Table, badness, result_table
from replnet.show.report import Arrangement, arrange, holds, section_of
from replnet.show.web.series import by_axis

MOST_ROWS_SHOWN = 2_000  # on a page; the file of the run has all rows
IN_PREDICTION = ("kind", "source", "prediction")  # columns that are not shown


def directory_stamp(folder: Path) -> list[tuple[str, int, int]]:
    """Return (name, time in nanoseconds, size) of each file in a directory, empty if there is none.

    The list differs whenever something was written there.
    """
    files = [(file.name, file.stat()) for file in sorted(folder.iterdir())] if folder.is_dir() else []
    return [(name, status.st_mtime_ns, status.st_size) for name, status in files]


def sweep_view(folder: Path) -> dict[str, Any]:
    """Return what the page of the sweep in a directory shows, by name.

    There are a "title", "words" about what is missing, how many cells "failed", the "share" of cells that are finished,
    the "verdict" and the "claims" as sentences, "charts" as (title, ECharts options) with a "legend", and of all rows,
    "count" in number, a "table" with "links" to the pages of cells. "error" is empty, or says why the sweep cannot be
    read, and is then alone.
    """
    try:
        sweep = Sweep.read(folder)
    except (ValueError, OSError) as error:
        return {"error": str(error)}
    plan = arrange(section_of(sweep))
    note = sweep.about["note"]
    notes = [note, sweep.incomplete]  # one of which mostly has the other in it
    words = [claim for claim, other in zip(notes, reversed(notes), strict=True) if claim not in other] or notes[:1]
    return {
        "error": "",
        "title": f"{sweep.experiment.name}: {sweep.experiment.title}",
        "words": list(filter(None, [*words, sweep.mixed])),
        "failed": len(sweep.failures),
        "share": sweep.done / max(len(sweep.cells), 1),
        "verdict": f"Overall{' so far' if sweep.incomplete else ''}: {sweep.verdict}." if sweep.verdict else "",
        "claims": [f"{'✗' if claim.fails else '✓' if holds(claim) else '?'} {claim.text}" for claim in sweep.claims],
        "charts": by_axis(plan) if plan else [],
        "legend": _legend(plan) if plan else "",
        "count": len(sweep.lines),
        **_most_important_rows(sweep),
    }


def cell_view(place: tuple[Path, str]) -> dict[str, Any]:
    """Return what the page of one cell shows, by name; `place` is the sweep's directory and the cell's key.

    There are a "title", "words" on its events or why it has none, its "subject" and "settings", and a "table" of rows.

    "error" is empty, or says why there is no such cell, and is then alone.
    """
    folder, key = place
    try:
        sweep = Sweep.read(folder)
    except (ValueError, OSError) as error:
        return {"error": str(error)}
    cell = next((candidate for candidate in sweep.cells if candidate.key == key), None)
    if cell is None:
        return {"error": f"{folder}: there is no cell {key[:12]} (it may be of another sweep)"}
    record = sweep.final.get(key, {})
    about = f"{record['events']:,} events" if record else sweep.failures.get(key, "not finished yet")
    return {
        "error": "",
        "title": f"{sweep.experiment.name}: {cell.words or 'its only cell'}",
        "words": [about, *filter(None, [record.get("incomplete", "")])],
        "subject": {cell.subject.section: cell.subject.data},
        "settings": {name: value for name, value in cell.settings.of_cell().items() if value not in (None, ())},
        "table": _shown_columns(result_table([line.data() for line in sweep.lines if line.cell.key == key])),
    }


def matching_rows(table: Table, links: Sequence[str], words: str) -> tuple[Table, list[str]]:
    """Return the rows of a table in which all of the words occur, in any column, and their links, one for each row.

    Case does not matter, and what stands in quotes is one word. A word such as rate=2 is about one column, whose cell
    is then to be that text.
    """
    try:
        wanted = [word.lower() for word in shlex.split(words)]
    except ValueError:  # a quote that is still open
        wanted = words.lower().replace("'", " ").replace('"', " ").split()
    titles = {title.lower(): at for at, title in enumerate(table.columns)}

    def has(cells: Sequence[str], word: str) -> bool:
        """Whether a word occurs in the cells of a row, in small letters."""
        title, equals, value = word.partition("=")
        if equals and title in titles:
            return cells[titles[title]] == value
        return any(word in cell for cell in cells)

    lines = [[cell.lower() for cell in line] for line in table.lines[1:]]
    places = [at for at, cells in enumerate(lines) if all(has(cells, word) for word in wanted)]
    return replace(table, rows=[table.rows[at] for at in places]), [links[at] for at in places] if links else []


def _legend(plan: Arrangement) -> str:
    """Return text about the curves of a figure: what they differ by, what is drawn beside them, and what is
    left out.
    """
    by = f"Curves by {plan.heading}." if plan.heading else ""
    printed = "Large squares are printed values." if plan.has("printed") else ""
    return " ".join(filter(None, [by, printed, *(f"{omission}." for omission in plan.left_out)]))


def _most_important_rows(sweep: Sweep) -> dict[str, Any]:
    """Return the "table" of a sweep, with the number of each row's cell, and as "links" the addresses of their pages.

    Of more than 2,000 rows only these most important ones are in it, sorted: the worst verdicts first, then the largest
    |z|.
    """
    number = {cell.key: at for at, cell in enumerate(sweep.cells, 1)}
    lines = [(line.cell.key, line.data()) for line in sweep.lines]
    if len(lines) > MOST_ROWS_SHOWN:
        lines = sorted(lines, key=lambda line: badness(line[1]))[:MOST_ROWS_SHOWN]
    axes, cells = [axis.name for axis in sweep.experiment.axes], {"cell": [number[key] for key, _ in lines]}
    table = _shown_columns(result_table([row for _, row in lines], axes, cells))
    return {"table": table, "links": [f"/cell?{urlencode({'key': key})}" for key, _ in lines]}


def _shown_columns(table: Table) -> Table:
    """Return a table of results without columns about where predictions come from."""
    return table.select(title for title in table.columns if title not in IN_PREDICTION)

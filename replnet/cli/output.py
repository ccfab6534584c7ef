"""Printing: lines and tables in which no quoted name, title or path can steer the terminal, JSON and CSV.

Only tables and data go to stdout; everything else goes to stderr. On a terminal, tables and notes are as wide as it
is: words are wrapped, numbers never are, and the source of a prediction stands below a table that has no room for it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from replnet.show import COLUMN_GAP, TERMINAL_COLOURS, VERDICTS, Table, badness, result_table
from replnet.text import count_text, escape_unprintable, name_units, span, write_csv

if TYPE_CHECKING:
    from replnet.lab.sweeps import Forecast, Sweep
    from replnet.run import Emulated, Result

PREDICTED = ("group", "metric", "predicted", "kind", "source")
EMULATED = ("group", "metric", "measured", "95 % interval", "predicted", "z", "verdict", "prediction")
SWEPT = (*EMULATED[:-1], "printed", "against print", "expected", "against expected")
DURATION_METRICS = {"staleness_age", "lag"}
LONGEST_TABLE = 200  # rows; of more, the table of a sweep shows the worst ones
WORST_ROWS_SHOWN = 20
NARROWEST_COLUMN = 24  # letters of the column that says where a prediction comes from

Row: TypeAlias = Mapping[str, Any]
Deferred: TypeAlias = Callable[[], Any]  # called only if its result is wanted


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text of one line or several, with its control characters escaped.

    It goes to stderr if `err`, else to stdout, and ends with a line break if `nl`.
    """
    click.echo(escape_unprintable(str(text), keep="\n"), err=err, nl=nl)


def write(
    form: str, data: Deferred, columns: Sequence[str], rows: Iterable[Row], table: Deferred, indent: int = 1
) -> None:
    """Print results to stdout in the format `form`: `json`, `csv`, or any other for a table.

    As JSON, print the object that `data()` returns, with `indent` spaces a level; as CSV, these columns of `rows`,
    whose keys they are; else call `table`, which prints for people. Only the one that is wanted is called.
    """
    if form == "json":
        print_json(data(), indent)
    elif form == "csv":
        write_csv(sys.stdout, columns, ([row[column] for column in columns] for row in rows))
    else:
        table()


def print_json(data: Any, indent: int = 1) -> None:
    """Print data to stdout as JSON, with `indent` spaces a level; raise ValueError if NaN or infinity is in it.

    Objects that JSON does not know are printed as their text.
    """
    click.echo(json.dumps(data, indent=indent, allow_nan=False, default=str))


def terminal_width(err: bool = False) -> int | None:
    """Return the number of letters in a line of the terminal; None if stdout, or stderr if `err`, is no terminal."""
    return shutil.get_terminal_size().columns if (sys.stderr if err else sys.stdout).isatty() else None


def echo_note(text: str, indent: str = "", err: bool = False) -> None:
    """Print text, to stderr if `err`, else to stdout, with `indent` before each line.

    On a terminal, lines are broken so that they fit; elsewhere they stay as they are.
    """
    width = terminal_width(err)
    if width is not None:
        text = textwrap.fill(text, max(width - len(indent), NARROWEST_COLUMN), subsequent_indent="  ")
    echo(textwrap.indent(text, indent), err=err)


def print_table(table: Table, form: str = "table") -> None:
    """Print a table to stdout, as Markdown if `form` is `markdown`, and its notes below it.

    On a terminal, words are wrapped where its lines would be too long, numbers never, and verdicts have colours.
    """
    click.echo(table.markdown if form == "markdown" else table.text(terminal_width(), _paint_verdict))
    for note in table.notes:
        echo_note(note, "  ")


def _paint_verdict(cell: str) -> str:
    """Return the text of a cell, in the colour of its verdict if it is one, unless the user wants no colours."""
    kind, _ = VERDICTS.get(cell, ("", ""))
    return click.style(cell, TERMINAL_COLOURS[kind]) if kind and not os.environ.get("NO_COLOR") else cell


# ---- Results and sweeps


def write_result(result: Result, form: str) -> None:
    """Print a prediction or an emulation of one network to stdout; `form` is `json`, `csv` or `table`."""
    rows = (row.data() for row in result.rows)
    write(form, result.data, result.columns, rows, lambda: _print_result(result), indent=2)


def _print_result(result: Result) -> None:
    """Print the table of a result and its notes, and below an emulation a sentence about how it was done."""
    from replnet.run import Emulated

    is_emulated = isinstance(result, Emulated)
    table = result_table([row.data() for row in result.rows]).select(EMULATED if is_emulated else PREDICTED)
    notes = [f"{row.group}: {row.note}" for row in result.rows if row.note]
    if is_emulated and not _fits(table):
        notes = [*_prediction_notes(table), *notes]
        table = table.select(EMULATED[:-1])
    print_table(replace(table, notes=list(dict.fromkeys(notes))))
    if result.unit:
        echo_note(name_units("times in units of time, rates per unit of time", result.unit))
    if isinstance(result, Emulated):
        echo_note(_summary(result))


def _fits(table: Table) -> bool:
    """Whether the terminal has room for the last column of a table, whose cells may be wrapped, beside the others.

    True if stdout is no terminal.
    """
    *others, last = (max(map(len, column)) for column in zip(*table.lines, strict=True))
    width = terminal_width()
    return width is None or sum(others) + COLUMN_GAP * len(others) + min(last, NARROWEST_COLUMN) <= width


def _prediction_notes(table: Table) -> list[str]:
    """Return a note for each distinct prediction of a table: its kind and source, with its metrics and groups."""
    groups_of: dict[str, dict[str, list[str]]] = {}
    for group, metric, prediction in table.select(("group", "metric", "prediction")).lines[1:]:
        if prediction:
            groups_of.setdefault(prediction, {}).setdefault(metric, []).append(group)

    def about(metrics: Mapping[str, Sequence[str]]) -> str:
        """Return a text of the groups of each metric, such as "freshness of level 1, level 2; lag of level 2"."""
        return "; ".join(f"{metric} of {', '.join(groups)}" for metric, groups in metrics.items())

    return [f"{prediction}: {about(metrics)}" for prediction, metrics in groups_of.items()]


def _summary(result: Emulated) -> str:
    """Return a sentence about how the emulation was done, and what came out."""
    queries = f" and {result.queries:,} queries" if result.queries else ""
    parts = [
        f"{result.engine}, {result.estimator}: {result.events:,} events{queries} over {result.horizon:,.6g} "
        f"{name_units('units of time', result.unit)} in {result.replications} replications, {result.seconds:.2f} s"
    ]
    if result.verdict:
        parts.append(f"overall: {result.verdict}")
    # What the run could have told apart.
    if visible := [f"{100 * share:.2g} %" for share in sorted(result.visible.values())]:
        parts.append(f"would show errors of {' to '.join(dict.fromkeys([visible[0], visible[-1]]))}")
    return "; ".join(parts)


def write_sweep(sweep: Sweep, form: str) -> None:
    """Print the rows of a sweep, as far as it is finished, to stdout: as `json`, `csv`, `markdown` or `table`."""
    from replnet.lab.sweeps import COLUMNS

    axes = [axis.name for axis in sweep.experiment.axes]
    write(form, lambda: sweep_data(sweep), [*axes, *COLUMNS], sweep.rows, lambda: _print_sweep(sweep.rows, axes, form))


def _print_sweep(rows: Sequence[Row], axes: Sequence[str], form: str) -> None:
    """Print the rows of a sweep as a table, `axes` first, without columns that are empty.

    Of a table too long to read, only the rows that failed, differ or are farthest from their prediction are printed,
    and a note on stderr says so; as Markdown, if `form` is `markdown`, all of them are.
    """
    is_cut = len(rows) > LONGEST_TABLE and form != "markdown"
    shown_rows = sorted(rows, key=badness)[:WORST_ROWS_SHOWN] if is_cut else rows
    table = result_table(shown_rows, axes).select([*axes, *SWEPT]).without_empty_columns
    print_table(replace(table, notes=_variance_notes(rows)), form)
    if is_cut:
        echo(
            f"the {WORST_ROWS_SHOWN} rows farthest from their prediction, of {len(rows):,} (--format csv prints all)",
            err=True,
        )


def _variance_notes(rows: Sequence[Row]) -> list[str]:
    """Return the distinct notes of rows of a sweep that have no interval as a variance is infinite, each with how many
    of the rows have it.
    """
    from replnet.run import NO_VARIANCE

    notes = [row["note"] for row in rows if row["note"].startswith(NO_VARIANCE)]
    return [f"{count_text(notes.count(note), 'row')}: {note}" for note in dict.fromkeys(notes)]


def write_forecast(forecast: Forecast, basis: str, workers: int | None) -> None:
    """Print the events, the time and the memory that a run or a sweep will take.

    `basis` says in words what that is estimated from. If `workers` is above 1, the time that so many take is printed,
    too, or that of as many as there are CPUs if these are fewer.
    """
    from replnet.workers import cores

    echo(f"events: about {forecast.events:.2g}")
    wanted = workers or 1
    busy = min(wanted, cores())
    share = f", about {span(forecast.seconds / busy)} on {busy} workers" if busy > 1 else ""
    if wanted > busy:
        share += f" ({count_text(wanted, 'worker')} wanted, and {count_text(busy, 'CPU')} here)"
    echo(f"time: about {span(forecast.seconds)} on one CPU{share}")
    echo(f"memory: about {forecast.memory / 1e6:.0f} MB per worker")
    echo(f"estimated from {basis}; precision costs with its square", err=True)
    if forecast.failed:
        echo(f"failed: {forecast.failed}", err=True)


def sweep_data(sweep: Sweep) -> dict[str, Any]:
    """Return all of a sweep as one mapping of plain data.

    Its keys are experiment, title, verdict, incomplete, rows, claims, contradictions, errata, expected and provenance.
    """
    return {
        "experiment": sweep.experiment.name,
        "title": sweep.experiment.title,
        "verdict": sweep.verdict,
        "incomplete": sweep.incomplete,
        "rows": sweep.rows,
        "claims": [asdict(statement) for statement in sweep.claims],
        "contradictions": sweep.contradictions,
        "errata": [asdict(statement) for statement in sweep.errata],
        "expected": [asdict(statement) for statement in sweep.expectations],
        "provenance": sweep.provenance,
    }


def print_statements(sweep: Sweep) -> None:
    """Print to stderr the claims of a sweep, mistakes of the paper, and values expected though no paper prints them.

    Lines about its cells, its overall verdict and what is missing follow.
    """
    for claim in sweep.claims:
        sides = {"measured": claim.measured, "predicted": claim.predicted}
        words = [f"{'holds' if holds else 'fails'} {side}" for side, holds in sides.items() if holds is not None]
        words = ["not tested measured" if words else "not tested", *words] if claim.untested else words
        detail = f" ({claim.detail})" if claim.detail else ""
        detail += f", an erratum: {claim.erratum}" if claim.erratum and claim.fails else ""
        no_answer = "could not be told" if claim.tested else "not tested"
        echo(f"claim: {claim.text}: {', '.join(words) or no_answer}{detail}", err=True)
    for erratum in sweep.errata:
        name = f"{erratum.name}: " if erratum.name else ""
        echo("\n  ".join([f"erratum ({erratum.kind}): {name}{erratum.text}", *erratum.cells]), err=True)
    for expectation in sweep.expectations:
        expected = f"expected: {expectation.reason}: {expectation.agree} of {expectation.count} agree"
        echo("\n  ".join([expected, *expectation.others]), err=True)
    verdict = f"; overall: {sweep.verdict}" if sweep.verdict else ""
    cells = f"{sweep.done:,} of {len(sweep.cells):,} cells, {sweep.events:,} events{verdict}"
    echo(f"{sweep.experiment.name}: {cells}", err=True)
    for note in filter(None, (sweep.mixed, *sweep.notes)):
        echo(f"note: {note}", err=True)
    if sweep.incomplete:
        echo(f"incomplete: {sweep.incomplete}", err=True)

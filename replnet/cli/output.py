"""Printing: lines and tables in which no quoted name, title or path can steer the terminal, JSON and CSV.

Only tables and data go to stdout; everything else goes to stderr. On a terminal, tables and notes are as wide as it
is: words are wrapped, numbers never are, and the source of a prediction stands below a table that has no room for it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from replnet.text import axis_text, escape_unprintable, name_units, span, standard_errors_text, value_text, write_csv

if TYPE_CHECKING:
    from replnet.lab.sweeps import Forecast, Sweep
    from replnet.run import Emulated, Result

COLOURS = {"agree": "green", "differ": "red", "failed": "red", "unresolved": "yellow", "contradicts": "yellow"}
PREDICTED = ("group", "metric", "predicted", "kind", "source")
EMULATED = ("group", "metric", "measured", "95 % interval", "predicted", "z", "verdict", "prediction")
SWEPT = (*EMULATED[:-1], "printed", "against print", "expected", "against expected")
LONGEST_TABLE = 200  # rows; of more, the table of a sweep shows the worst ones
WORST_ROWS_SHOWN = 20
NUMERIC = re.compile(r"[-+±.,%\de ]*|nan|inf")  # cells that are never wrapped
LAST_DIGIT = 1e-5  # that is shown of a number below 10
COLUMN_GAP = 2  # letters between columns
NARROWEST_COLUMN = 24  # letters of the column that says where a prediction comes from
VERDICT_ORDER = {"failed": 0, "differ": 1, "unresolved": 2}

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


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]], form: str = "table") -> None:
    """Print a table to stdout, as Markdown if `form` is `markdown`; `heads` are the titles of the columns.

    Otherwise columns are as wide as their cells, or narrower to fit the terminal, and verdicts have colours there.
    """
    lines = [[escape_unprintable(str(cell)) for cell in line] for line in [heads, *rows]]
    if form == "markdown":
        lines = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    colours = {} if form == "markdown" or os.environ.get("NO_COLOR") else COLOURS
    widths = _widths(lines, None if form == "markdown" else terminal_width())
    for at, line in enumerate([lines[0], ["-" * width for width in widths], *lines[1:]]):
        for part in zip_longest(*map(_wrap, line, widths), fillvalue=""):
            cells = [
                (click.style(cell, fg=colours[cell]) if at > 1 and cell in colours else cell)
                + " " * (width - len(cell))
                for cell, width in zip(part, widths, strict=True)
            ]
            click.echo(f"| {' | '.join(cells)} |" if form == "markdown" else (" " * COLUMN_GAP).join(cells).rstrip())


def _wrap(cell: str, width: int) -> list[str]:
    """Return a cell as lines of at most `width` letters, broken between words; only a longer word exceeds them."""
    return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False) if len(cell) > width else [cell]


def _widths(lines: Sequence[Sequence[str]], most: int | None) -> list[int]:
    """Return the width of each column of `lines`, in letters: that of its longest cell, or less so that lines fit.

    Columns get narrower only if a line would exceed `most` letters (None: no limit), and never narrower than a number
    or a word in them, so that lines may stay too long.
    """
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    if most is None or _total_width(widths) <= most:
        return widths
    least = [
        max(len(part) for cell in column for part in ([cell] if NUMERIC.fullmatch(cell) else cell.split() or [""]))
        for column in columns
    ]
    for _ in range(_total_width(widths) - most):
        spare = [(width, at) for at, width in enumerate(widths) if width > least[at]]
        if not spare:
            break
        widths[max(spare)[1]] -= 1
    return widths


def _total_width(widths: Sequence[int]) -> int:
    """Return the letters that columns of these widths take with the gaps between them."""
    return sum(widths) + COLUMN_GAP * (len(widths) - 1)


# ---- Rows, results and sweeps


def cells(row: Row) -> dict[str, str]:
    """Return the texts of the cells of a row, by column head, for every column that tables of results have.

    A cell without a value is empty. The row must have the columns of a result; those about printed values may be
    missing.
    """
    low, high = row["ci_low"], row["ci_high"]
    return {
        "group": row["group"],
        "metric": row["metric"],
        "measured": value_text(row["measured"]),
        "95 % interval": "" if low is None else f"{value_text(low)} .. {value_text(high)}",
        "predicted": _with_accuracy(row["predicted"], row["accuracy"]),
        "z": standard_errors_text(row["z"]),
        "verdict": row["verdict"],
        "kind": row["kind"],
        "source": row["source"],
        "prediction": f"{row['kind']}, {row['source']}" if row["kind"] else "",
        "printed": axis_text(row.get("printed")),
        "against print": row.get("printed_verdict", ""),
        "expected": axis_text(row.get("expected")),
        "against expected": row.get("expected_verdict", ""),
    }


def _with_accuracy(value: float | None, accuracy: float | None) -> str:
    """Return a value as text, followed by ± its accuracy if that is worse than the rounding of the text.

    A value of None gives an empty text; an accuracy of None is left out.
    """
    matters = accuracy and value is not None and accuracy >= LAST_DIGIT / 2 * max(1.0, abs(value) / 10)
    return value_text(value) + (f" ± {accuracy:.2g}" if matters else "")


def write_result(result: Result, form: str) -> None:
    """Print a prediction or an emulation of one network to stdout; `form` is `json`, `csv` or `table`."""
    write(
        form, result.data, result.columns, (row.data() for row in result.rows), lambda: _result_table(result), indent=2
    )


def _result_table(result: Result) -> None:
    """Print the table of a result and its notes, and below an emulation a sentence about how it was done."""
    from replnet.run import Emulated

    heads: Sequence[str] = EMULATED if isinstance(result, Emulated) else PREDICTED
    lines = [cells(row.data()) for row in result.rows]
    notes = [f"{row.group}: {row.note}" for row in result.rows if row.note]
    if isinstance(result, Emulated) and not _fits(lines, heads):
        heads = heads[:-1]
        notes = [*_prediction_notes(result.rows, lines), *notes]
    print_table(heads, [[line[head] for head in heads] for line in lines])
    for note in dict.fromkeys(notes):
        echo_note(note, "  ")
    if result.unit:
        echo_note(name_units("times in units of time, rates per unit of time", result.unit))
    if isinstance(result, Emulated):
        echo_note(_summary(result))


def _fits(lines: Sequence[Mapping[str, str]], heads: Sequence[str]) -> bool:
    """Whether the terminal has room for the last column of a table, whose cells may be wrapped, beside the others.

    Each of `lines` has the texts of a row by column head; `heads` are the columns to be shown. True if stdout is no
    terminal.
    """
    *others, last = (max(len(head), *(len(line[head]) for line in lines), 0) for head in heads)
    width = terminal_width()
    return width is None or _total_width([*others, min(last, NARROWEST_COLUMN)]) <= width


def _prediction_notes(rows: Sequence[Any], lines: Sequence[Mapping[str, str]]) -> list[str]:
    """Return a note for each distinct prediction: its kind and source, with the metrics and groups that it is of.

    `lines` has the texts of each of `rows`, by column head; rows without a prediction give no note.
    """
    groups_of: dict[str, dict[str, list[str]]] = {}
    for row, line in zip(rows, lines, strict=True):
        if line["prediction"]:
            groups_of.setdefault(line["prediction"], {}).setdefault(row.metric, []).append(row.group)

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
    write(form, lambda: sweep_data(sweep), [*axes, *COLUMNS], sweep.rows, lambda: _sweep_table(sweep.rows, axes, form))


def _sweep_table(rows: Sequence[Row], axes: Sequence[str], form: str) -> None:
    """Print the rows of a sweep as a table, `axes` first, without columns that are empty.

    Of a table too long to read, only the rows that failed, differ or are farthest from their prediction are printed,
    and a note on stderr says so; as Markdown, if `form` is `markdown`, all of them are.
    """
    shown_rows = rows
    if len(rows) > LONGEST_TABLE and form != "markdown":
        shown_rows = sorted(rows, key=lambda row: (VERDICT_ORDER.get(row["verdict"], 3), -abs(row["z"] or 0.0)))[
            :WORST_ROWS_SHOWN
        ]
    lines = [cells(row) | {name: axis_text(row[name]) for name in axes} for row in shown_rows]
    heads = [head for head in [*axes, *SWEPT] if any(line[head] for line in lines)]
    print_table(heads, [[line[head] for head in heads] for line in lines], form)
    if shown_rows is not rows:
        echo(
            f"the {WORST_ROWS_SHOWN} rows farthest from their prediction, of {len(rows):,} (--format csv prints all)",
            err=True,
        )


def write_forecast(forecast: Forecast, basis: str, workers: int | None) -> None:
    """Print the events, the time and the memory that a run or a sweep will take.

    `basis` says in words what that is estimated from. If `workers` is above 1, the time that so many take is printed,
    too.
    """
    echo(f"events: about {forecast.events:.2g}")
    share = f", about {span(forecast.seconds / workers)} on {workers} workers" if workers and workers > 1 else ""
    echo(f"time: about {span(forecast.seconds)} on one CPU{share}")
    echo(f"memory: about {forecast.memory / 1e6:.0f} MB per worker")
    echo(f"estimated from {basis}; precision costs with its square", err=True)
    if forecast.failed:
        echo(f"failed: {forecast.failed}", err=True)


def sweep_data(sweep: Sweep) -> dict[str, Any]:
    """Return all of a sweep as one mapping of plain data: verdict, rows, claims, errata, provenance and more."""
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
    if sweep.mixed:
        echo(f"note: {sweep.mixed}", err=True)
    if sweep.incomplete:
        echo(f"incomplete: {sweep.incomplete}", err=True)

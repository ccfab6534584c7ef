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
    """Print text of one line or several, with its control characters escaped."""
    click.echo(escape_unprintable(str(text), keep="\n"), err=err, nl=nl)


def write(
    form: str, data: Deferred, columns: Sequence[str], rows: Iterable[Row], table: Deferred, indent: int = 1
) -> None:
    """Print to stdout: one object as JSON, rows as CSV, or what `table` prints for people."""
    if form == "json":
        print_json(data(), indent)
    elif form == "csv":
        write_csv(sys.stdout, columns, ([row[column] for column in columns] for row in rows))
    else:
        table()


def print_json(data: Any, indent: int = 1) -> None:
    """Print data as JSON, without NaN."""
    click.echo(json.dumps(data, indent=indent, allow_nan=False, default=str))


def terminal_width(err: bool = False) -> int | None:
    """Return the number of letters in a line of the terminal; None if the stream is no terminal."""
    return shutil.get_terminal_size().columns if (sys.stderr if err else sys.stdout).isatty() else None


def echo_note(text: str, indent: str = "", err: bool = False) -> None:
    """Print text in lines that fit the terminal."""
    width = terminal_width(err)
    if width is not None:
        text = textwrap.fill(text, max(width - len(indent), NARROWEST_COLUMN), subsequent_indent="  ")
    echo(textwrap.indent(text, indent), err=err)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]], form: str = "table") -> None:
    """Print a table in columns as wide as their cells, or narrower to fit the terminal; or as Markdown."""
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
    """Return a cell in lines of at most this width, broken between words."""
    return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False) if len(cell) > width else [cell]


def _widths(lines: Sequence[Sequence[str]], most: int | None) -> list[int]:
    """Return the widths of columns: those of their cells, or less for words, so that all fit in `most` letters."""
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
    """Return the cells of a row, by the heads of the columns that tables of predicted and measured values have."""
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
    """Return a value as text, with its accuracy if that is worse than the rounding of the value."""
    matters = accuracy and value is not None and accuracy >= LAST_DIGIT / 2 * max(1.0, abs(value) / 10)
    return value_text(value) + (f" ± {accuracy:.2g}" if matters else "")


def write_result(result: Result, form: str) -> None:
    """Print what formulas predict for a network, or what happened in it."""
    write(
        form, result.data, result.columns, (row.data() for row in result.rows), lambda: _result_table(result), indent=2
    )


def _result_table(result: Result) -> None:
    """Print the table of a result, with its notes and its summary."""
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
    """Whether the terminal has room for the last column beside the others, if need be in several lines."""
    *others, last = (max(len(head), *(len(line[head]) for line in lines), 0) for head in heads)
    width = terminal_width()
    return width is None or _total_width([*others, min(last, NARROWEST_COLUMN)]) <= width


def _prediction_notes(rows: Sequence[Any], lines: Sequence[Mapping[str, str]]) -> list[str]:
    """Return notes that say what each prediction is and where it comes from, with the metrics and groups it is of."""
    groups_of: dict[str, dict[str, list[str]]] = {}
    for row, line in zip(rows, lines, strict=True):
        if line["prediction"]:
            groups_of.setdefault(line["prediction"], {}).setdefault(row.metric, []).append(row.group)

    def about(metrics: Mapping[str, Sequence[str]]) -> str:
        """Return metrics and groups in words."""
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
    """Print the table of an experiment, as far as it is finished."""
    from replnet.lab.sweeps import COLUMNS

    axes = [axis.name for axis in sweep.experiment.axes]
    write(form, lambda: sweep_data(sweep), [*axes, *COLUMNS], sweep.rows, lambda: _sweep_table(sweep.rows, axes, form))


def _sweep_table(rows: Sequence[Row], axes: Sequence[str], form: str) -> None:
    """Print the columns that are not empty; of a long table only the rows that matter most, unless it is Markdown."""
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
    """Print what a run or a sweep will take; `looked` says what that is estimated from."""
    echo(f"events: about {forecast.events:.2g}")
    share = f", about {span(forecast.seconds / workers)} on {workers} workers" if workers and workers > 1 else ""
    echo(f"time: about {span(forecast.seconds)} on one CPU{share}")
    echo(f"memory: about {forecast.memory / 1e6:.0f} MB per worker")
    echo(f"estimated from {basis}; precision costs with its square", err=True)
    if forecast.failed:
        echo(f"failed: {forecast.failed}", err=True)


def sweep_data(sweep: Sweep) -> dict[str, Any]:
    """Return a sweep as one object of plain data."""
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
    """Print claims, mistakes of the paper, values that no paper prints, and the verdict, to stderr."""
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

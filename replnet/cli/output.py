"""What commands print: lines and tables in which no quoted name, title or path can steer the terminal, JSON and CSV.

Tables and data go to stdout and nothing else does; what is to be said besides goes to stderr. On a terminal, tables
and notes are as wide as it is: words are wrapped, numbers never are, and where a prediction comes from stands below a
table that has no room for it.
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

from replnet.text.errors import escaped
from replnet.text.numbers import number, plain, signed, span, write_csv
from replnet.text.units import named

if TYPE_CHECKING:
    from replnet.study.result import Emulated, Result
    from replnet.study.sweeps.forecast import Outlook
    from replnet.study.sweeps.sweep import Sweep

COLOURS = {"agree": "green", "differ": "red", "failed": "red", "unresolved": "yellow", "contradicts": "yellow"}
PREDICTED = ("group", "metric", "predicted", "kind", "source")
EMULATED = ("group", "metric", "measured", "95 % interval", "predicted", "z", "verdict", "prediction")
SWEPT = (*EMULATED[:-1], "printed", "against print", "expected", "against expected")
LONG = 200  # rows above which the table of a sweep shows the worst ones
WORST = 20
NUMERIC = re.compile(r"[-+±.,%\de ]*|nan|inf")  # cells that are never wrapped
LAST_DIGIT = 1e-5  # of a number below 10
BETWEEN = 2  # columns
NARROWEST = 24  # letters for where a prediction comes from
ORDER = {"failed": 0, "differ": 1, "unresolved": 2}

Row: TypeAlias = Mapping[str, Any]
Later: TypeAlias = Callable[[], Any]  # called only if its result is wanted


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text of one line or several, its control characters written out."""
    click.echo(escaped(str(text), keep="\n"), err=err, nl=nl)


def write(form: str, data: Later, columns: Sequence[str], rows: Iterable[Row], table: Later, indent: int = 1) -> None:
    """On stdout: one object as JSON, rows as CSV, or what `table` prints for people."""
    if form == "json":
        print_json(data(), indent)
    elif form == "csv":
        write_csv(sys.stdout, columns, ([row[column] for column in columns] for row in rows))
    else:
        table()


def print_json(data: Any, indent: int = 1) -> None:
    click.echo(json.dumps(data, indent=indent, allow_nan=False, default=str))


def room(err: bool = False) -> int | None:
    """The letters of a line on the terminal; None where the stream is none."""
    return shutil.get_terminal_size().columns if (sys.stderr if err else sys.stdout).isatty() else None


def echo_note(text: str, indent: str = "", err: bool = False) -> None:
    """In lines that fit the terminal."""
    width = room(err)
    if width is not None:
        text = textwrap.fill(text, max(width - len(indent), NARROWEST), subsequent_indent="  ")
    echo(textwrap.indent(text, indent), err=err)


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]], form: str = "table") -> None:
    """In columns as wide as what is in them, or as the terminal lets them be; or as Markdown."""
    lines = [[escaped(str(cell)) for cell in line] for line in [heads, *rows]]
    if form == "markdown":
        lines = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    colours = {} if form == "markdown" or os.environ.get("NO_COLOR") else COLOURS
    widths = _widths(lines, None if form == "markdown" else room())
    for at, line in enumerate([lines[0], ["-" * width for width in widths], *lines[1:]]):
        for part in zip_longest(*map(_wrapped, line, widths), fillvalue=""):
            cells = [
                (click.style(cell, fg=colours[cell]) if at > 1 and cell in colours else cell)
                + " " * (width - len(cell))
                for cell, width in zip(part, widths, strict=True)
            ]
            click.echo(f"| {' | '.join(cells)} |" if form == "markdown" else (" " * BETWEEN).join(cells).rstrip())


def _wrapped(cell: str, width: int) -> list[str]:
    """Between its words, where it is longer than that."""
    return textwrap.wrap(cell, width, break_long_words=False, break_on_hyphens=False) if len(cell) > width else [cell]


def _widths(lines: Sequence[Sequence[str]], most: int | None) -> list[int]:
    """Of columns: as wide as they are, or the widest of words narrower until all fit in `most` letters."""
    columns = list(zip(*lines, strict=True))
    widths = [max(map(len, column)) for column in columns]
    if most is None or _whole(widths) <= most:
        return widths
    least = [
        max(len(part) for cell in column for part in ([cell] if NUMERIC.fullmatch(cell) else cell.split() or [""]))
        for column in columns
    ]
    for _ in range(_whole(widths) - most):
        spare = [(width, at) for at, width in enumerate(widths) if width > least[at]]
        if not spare:
            break
        widths[max(spare)[1]] -= 1
    return widths


def _whole(widths: Sequence[int]) -> int:
    return sum(widths) + BETWEEN * (len(widths) - 1)


# ---- Rows, results and sweeps


def cells(row: Row) -> dict[str, str]:
    """By their heads, the cells that tables of what was predicted and measured show of a row."""
    low, high = row["ci_low"], row["ci_high"]
    return {
        "group": row["group"],
        "metric": row["metric"],
        "measured": number(row["measured"]),
        "95 % interval": "" if low is None else f"{number(low)} .. {number(high)}",
        "predicted": _give_or_take(row["predicted"], row["accuracy"]),
        "z": signed(row["z"]),
        "verdict": row["verdict"],
        "kind": row["kind"],
        "source": row["source"],
        "prediction": f"{row['kind']}, {row['source']}" if row["kind"] else "",
        "printed": plain(row.get("printed")),
        "against print": row.get("printed_verdict", ""),
        "expected": plain(row.get("expected")),
        "against expected": row.get("expected_verdict", ""),
    }


def _give_or_take(value: float | None, accuracy: float | None) -> str:
    """With the accuracy where that is more than the rounding of what is shown."""
    told = accuracy and value is not None and accuracy >= LAST_DIGIT / 2 * max(1.0, abs(value) / 10)
    return number(value) + (f" ± {accuracy:.2g}" if told else "")


def write_result(result: Result, form: str) -> None:
    """What formulas say of a network, or what happened in it."""
    write(
        form, result.data, result.columns, (row.data() for row in result.rows), lambda: _result_table(result), indent=2
    )


def _result_table(result: Result) -> None:
    from replnet.study.result import Emulated

    heads: Sequence[str] = EMULATED if isinstance(result, Emulated) else PREDICTED
    lines = [cells(row.data()) for row in result.rows]
    notes = [f"{row.group}: {row.note}" for row in result.rows if row.note]
    if isinstance(result, Emulated) and not _fits(lines, heads):
        heads = heads[:-1]
        notes = [*_below(result.rows, lines), *notes]
    print_table(heads, [[line[head] for head in heads] for line in lines])
    for note in dict.fromkeys(notes):
        echo_note(note, "  ")
    if result.unit:
        echo_note(named("times in units of time, rates per unit of time", result.unit))
    if isinstance(result, Emulated):
        echo_note(_summary(result))


def _fits(lines: Sequence[Mapping[str, str]], heads: Sequence[str]) -> bool:
    """Whether the terminal has room for the last column, be it in several lines, beside the others."""
    *others, last = (max(len(head), *(len(line[head]) for line in lines), 0) for head in heads)
    width = room()
    return width is None or _whole([*others, min(last, NARROWEST)]) <= width


def _below(rows: Sequence[Any], lines: Sequence[Mapping[str, str]]) -> list[str]:
    """What a prediction is and where it comes from, with the groups of which that is true."""
    said: dict[str, dict[str, list[str]]] = {}
    for row, line in zip(rows, lines, strict=True):
        if line["prediction"]:
            said.setdefault(line["prediction"], {}).setdefault(row.metric, []).append(row.group)

    def about(metrics: Mapping[str, Sequence[str]]) -> str:
        return "; ".join(f"{metric} of {', '.join(groups)}" for metric, groups in metrics.items())

    return [f"{prediction}: {about(metrics)}" for prediction, metrics in said.items()]


def _summary(result: Emulated) -> str:
    queries = f" and {result.queries:,} queries" if result.queries else ""
    said = [
        f"{result.engine}, {result.estimator}: {result.events:,} events{queries} over {result.horizon:,.6g} "
        f"{named('units of time', result.unit)} in {result.replications} replications, {result.seconds:.2f} s"
    ]
    if result.verdict:
        said.append(f"overall: {result.verdict}")
    # What the run could have told apart.
    if visible := [f"{100 * share:.2g} %" for share in sorted(result.visible.values())]:
        said.append(f"would show errors of {' to '.join(dict.fromkeys([visible[0], visible[-1]]))}")
    return "; ".join(said)


def write_sweep(sweep: Sweep, form: str) -> None:
    """The table of an experiment, as far as it is finished."""
    from replnet.study.sweeps.judged_table import COLUMNS

    axes = [axis.name for axis in sweep.experiment.axes]
    write(form, lambda: sweep_data(sweep), [*axes, *COLUMNS], sweep.rows, lambda: _sweep_table(sweep.rows, axes, form))


def _sweep_table(rows: Sequence[Row], axes: Sequence[str], form: str) -> None:
    """Its columns with something in them; of a long one the rows that matter most, unless it is Markdown."""
    shown = rows
    if len(rows) > LONG and form != "markdown":
        shown = sorted(rows, key=lambda row: (ORDER.get(row["verdict"], 3), -abs(row["z"] or 0.0)))[:WORST]
    lines = [cells(row) | {name: plain(row[name]) for name in axes} for row in shown]
    heads = [head for head in [*axes, *SWEPT] if any(line[head] for line in lines)]
    print_table(heads, [[line[head] for head in heads] for line in lines], form)
    if shown is not rows:
        echo(f"the {WORST} rows farthest from their prediction, of {len(rows):,} (--format csv prints all)", err=True)


def write_outlook(found: Outlook, looked: str, workers: int | None) -> None:
    """What a run or a sweep will take, on stdout."""
    echo(f"events: about {found.events:.2g}")
    share = f", about {span(found.seconds / workers)} on {workers} workers" if workers and workers > 1 else ""
    echo(f"time: about {span(found.seconds)} on one CPU{share}")
    echo(f"memory: about {found.memory / 1e6:.0f} MB per worker")
    echo(f"estimated from {looked}; precision costs with its square", err=True)
    if found.failed:
        echo(f"failed: {found.failed}", err=True)


def sweep_data(sweep: Sweep) -> dict[str, Any]:
    """A sweep as one object of plain data."""
    return {
        "experiment": sweep.experiment.name,
        "title": sweep.experiment.title,
        "verdict": sweep.verdict,
        "incomplete": sweep.incomplete,
        "rows": sweep.rows,
        "claims": [asdict(one) for one in sweep.claims],
        "contradictions": sweep.contradictions,
        "errata": [asdict(one) for one in sweep.errata],
        "expected": [asdict(one) for one in sweep.expectations],
        "provenance": sweep.provenance,
    }


def say(sweep: Sweep) -> None:
    """Claims, mistakes of the paper, values that no paper prints, and the verdict, on stderr."""
    for claim in sweep.claims:
        sides = {"measured": claim.measured, "predicted": claim.predicted}
        words = [f"{'holds' if holds else 'fails'} {side}" for side, holds in sides.items() if holds is not None]
        detail = f" ({claim.detail})" if claim.detail else ""
        detail += f", an erratum: {claim.erratum}" if claim.erratum and claim.fails else ""
        echo(f"claim: {claim.text}: {', '.join(words) or 'could not be told'}{detail}", err=True)
    for one in sweep.errata:
        name = f"{one.name}: " if one.name else ""
        echo("\n  ".join([f"erratum ({one.kind}): {name}{one.text}", *one.cells]), err=True)
    for other in sweep.expectations:
        said = f"expected: {other.reason}: {other.agree} of {other.count} agree"
        echo("\n  ".join([said, *other.others]), err=True)
    verdict = f"; overall: {sweep.verdict}" if sweep.verdict else ""
    cells = f"{sweep.done:,} of {len(sweep.cells):,} cells, {sweep.events:,} events{verdict}"
    echo(f"{sweep.experiment.name}: {cells}", err=True)
    if sweep.mixed:
        echo(f"note: {sweep.mixed}", err=True)
    if sweep.incomplete:
        echo(f"incomplete: {sweep.incomplete}", err=True)

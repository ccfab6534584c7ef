"""What commands print: lines and tables in which no quoted name, title or path can steer the terminal, JSON and CSV.

Tables and data go to stdout and nothing else does; what is to be said besides goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from replnet.text.errors import escaped
from replnet.text.numbers import number, plain, signed, write_csv

if TYPE_CHECKING:
    from replnet.study.result import Emulated, Result
    from replnet.study.sweeps.sweep import Sweep

COLOURS = {"agree": "green", "differ": "red", "failed": "red", "unresolved": "yellow", "contradicts": "yellow"}
PREDICTED = ("group", "metric", "predicted", "kind", "source")
EMULATED = ("group", "metric", "measured", "95 % interval", "predicted", "z", "verdict", "prediction")
SWEPT = (*EMULATED[:-1], "printed", "against print", "expected", "against expected")
LONG = 200  # rows above which the table of a sweep shows the worst ones
WORST = 20
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


def print_table(heads: Sequence[str], rows: Sequence[Sequence[object]], form: str = "table") -> None:
    """In columns as wide as what is in them, or as Markdown."""
    lines = [[escaped(str(cell)) for cell in line] for line in [heads, *rows]]
    if form == "markdown":
        lines = [[cell.replace("|", r"\|") for cell in line] for line in lines]
    colours = {} if form == "markdown" or os.environ.get("NO_COLOR") else COLOURS
    widths = [max(len(line[c]) for line in lines) for c in range(len(heads))]
    for at, line in enumerate([lines[0], ["-" * width for width in widths], *lines[1:]]):
        cells = [
            (click.style(cell, fg=colours[cell]) if at > 1 and cell in colours else cell) + " " * (width - len(cell))
            for cell, width in zip(line, widths, strict=True)
        ]
        click.echo(f"| {' | '.join(cells)} |" if form == "markdown" else "  ".join(cells).rstrip())


# ---- Rows, results and sweeps


def cells(row: Row) -> dict[str, str]:
    """By their heads, the cells that tables of what was predicted and measured show of a row."""
    low, high = row["ci_low"], row["ci_high"]
    return {
        "group": row["group"],
        "metric": row["metric"],
        "measured": number(row["measured"]),
        "95 % interval": "" if low is None else f"{number(low)} .. {number(high)}",
        "predicted": number(row["predicted"]) + (f" ± {row['accuracy']:.2g}" if row["accuracy"] else ""),
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


def write_result(result: Result, form: str) -> None:
    """What formulas say of a network, or what happened in it."""
    write(
        form, result.data, result.columns, (row.data() for row in result.rows), lambda: _result_table(result), indent=2
    )


def _result_table(result: Result) -> None:
    from replnet.study.result import Emulated

    heads = EMULATED if isinstance(result, Emulated) else PREDICTED
    rows = [cells(row.data()) for row in result.rows]
    print_table(heads, [[row[head] for head in heads] for row in rows])
    for note in dict.fromkeys(f"{row.group}: {row.note}" for row in result.rows if row.note):
        echo(f"  {note}")
    if isinstance(result, Emulated):
        echo(_summary(result))


def _summary(result: Emulated) -> str:
    queries = f" and {result.queries:,} queries" if result.queries else ""
    said = [
        f"{result.engine}, {result.estimator}: {result.events:,} events{queries} over {result.horizon:,.6g} units "
        f"of time in {result.replications} replications, {result.seconds:.2f} s"
    ]
    if result.verdict:
        said.append(f"overall: {result.verdict}")
    # What the run could have told apart.
    if visible := [f"{100 * share:.2g} %" for share in sorted(result.visible.values())]:
        said.append(f"would show errors of {' to '.join(dict.fromkeys([visible[0], visible[-1]]))}")
    return "; ".join(said)


def write_sweep(sweep: Sweep, form: str) -> None:
    """The table of an experiment, as far as it is finished."""
    from replnet.study.sweeps.table import COLUMNS

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

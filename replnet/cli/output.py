"""Results as text: an aligned table, JSON or CSV, on stdout."""

from __future__ import annotations

import sys

import click

from replnet.cli.screen import echo, print_table
from replnet.measure.row import Row
from replnet.study.result import Emulated, Result
from replnet.text.csv_table import write_csv


def write(result: Result, form: str) -> None:
    if form == "json":
        click.echo(result.to_json())
    elif form == "csv":
        rows = ([getattr(row, column) for column in result.columns] for row in result.rows)
        write_csv(sys.stdout, result.columns, rows)
    else:
        _table(result)


def _table(result: Result) -> None:
    emulated = isinstance(result, Emulated)
    heads = ["group", "metric", "measured", "95 % interval", "predicted", "z", "verdict", "prediction"]
    if not emulated:
        heads = ["group", "metric", "predicted", "kind", "source"]
    print_table(heads, [_compared(row) if emulated else _predicted(row) for row in result.rows])
    for note in dict.fromkeys(f"{row.group}: {row.note}" for row in result.rows if row.note):
        echo(f"  {note}")
    if isinstance(result, Emulated):
        echo(_summary(result))


def _predicted(row: Row) -> list[str]:
    return [row.group, row.metric, _expected(row), row.kind, row.source]


def _compared(row: Row) -> list[str]:
    interval = "" if row.ci_low is None else f"{number(row.ci_low)} .. {number(row.ci_high)}"
    z = "" if row.z is None else f"{row.z:+.2f}"
    source = f"{row.kind}, {row.source}" if row.kind else ""
    return [row.group, row.metric, number(row.measured), interval, _expected(row), z, row.verdict, source]


def _summary(result: Emulated) -> str:
    queries = f" and {result.queries:,} queries" if result.queries else ""
    verdict = f"; overall: {result.verdict}" if result.verdict else ""
    return (
        f"{result.engine}, {result.estimator}: {result.events:,} events{queries} over {result.horizon:,.6g} units "
        f"of time in {result.replications} replications, {result.seconds:.2f} s{verdict}{_visible(result)}"
    )


def _visible(result: Emulated) -> str:
    """What the run could have told apart."""
    found = dict.fromkeys(f"{100 * share:.2g} %" for share in sorted(result.visible.values()))
    return f"; would show errors of {' to '.join(list(found)[:: max(len(found) - 1, 1)])}" if found else ""


def number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.5f}" if abs(value) < 10 else f"{value:,.6g}"


def _expected(row: Row) -> str:
    return number(row.predicted) + (f" ± {row.accuracy:.2g}" if row.accuracy else "")

"""The command observe: a source and its replicas as they were seen from outside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.main import FINE, commands, formats
from replnet.cli.output import echo, print_table, write
from replnet.cli.progress import working
from replnet.text.numbers import counted, duration

if TYPE_CHECKING:
    from replnet.histories.observing import Observation

TIMES = {"staleness_age", "lag"}
HEADS = ("group", "metric", "measured", "95 % interval", "between", "predicted")


@commands.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--source", metavar="NODE", help="The node that the others copy.  [default: source]")
@formats()
def observe(file: Path, source: str | None, form: str) -> int:
    """What a real source and its replicas had, recorded from outside; and clients who ask several of them.

    FILE is CSV or Parquet: a row per visit, with its time, the node and the version that this had, such as a serial or
    a checksum; or a row per change, with its time and node.
    """
    from replnet.histories.observing import COLUMNS
    from replnet.histories.observing import observe as look

    with working("reading the record, and following every replica"):
        found = look(file, source)
    about = {"start": found.start, "end": found.end, "changes": found.changes, "visits": found.visits}
    data = {**about, "rows": found.rows, "notes": found.notes}
    write(form, lambda: data, COLUMNS, found.rows, lambda: _print(found))
    return FINE


def _print(found: Observation) -> None:
    visits = ", ".join(f"{name} {count:,}" for name, count in found.visits.items())
    over = duration(found.end - found.start, found.dated)
    echo(f"{counted(found.changes, 'change')} of the source over {over}; rows: {visits}\n")
    print_table(HEADS, [_line(row, found.dated) for row in found.rows])
    doubts: dict[str, list[str]] = {}
    for row in found.rows:
        if row["note"]:
            doubts.setdefault(row["note"], []).append(f"{row['group']} {row['metric']}")
    for note, rows in doubts.items():
        echo(f"  {', '.join(rows)}: {note}")
    for note in found.notes:
        echo(f"  {note}")


def _line(row: dict[str, Any], dated: bool) -> list[str]:
    def shown(name: str) -> str:
        value = row[name]
        if value is None:
            return ""
        return duration(value, dated) if row["metric"] in TIMES else f"{value:.4f}"

    def span(low: str, high: str) -> str:
        return f"{shown(low)} .. {shown(high)}" if row[low] is not None and row[low] < row[high] else ""

    return [row["group"], row["metric"], shown("measured"), span("ci_low", "ci_high"), span("least", "most"),
            shown("predicted")]  # fmt: skip

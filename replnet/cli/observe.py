"""The command observe: a source and its replicas as they were seen from outside."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.main import FINE, commands, format_option
from replnet.cli.output import echo, print_table, write
from replnet.cli.progress import progress_lines
from replnet.show import Table
from replnet.text import count_text, duration

if TYPE_CHECKING:
    from replnet.histories import Observation

DURATION_METRICS = {"staleness_age", "lag"}
TABLE_HEADS = ("group", "metric", "measured", "95 % interval", "bounds", "predicted")


@commands.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--source", metavar="NODE", help="The node that the others copy.  [default: source]")
@format_option()
def observe(file: Path, source: str | None, form: str) -> int:
    """Measure how fresh real replicas were, seen from outside.

    Clients who ask several of them are measured, too. FILE is what `replnet watch` has recorded, or CSV or Parquet: a
    row per visit, with its time, the node and the version that the node had, such as a serial or a checksum; or a row
    per change, with its time and node.
    """
    from replnet.histories import COLUMNS
    from replnet.histories import observe as measure

    with progress_lines("reading the record, and following every replica"):
        observation = measure(file, source)
    about = {"start": observation.start, "end": observation.end, "unit": "s" if observation.dated else None}
    data = {
        **about,
        "changes": observation.changes,
        "visits": observation.visits,
        "rows": observation.rows,
        "notes": observation.notes,
    }
    write(form, lambda: data, COLUMNS, observation.rows, lambda: _print(observation))
    return FINE


def _print(observation: Observation) -> None:
    """Print the table of an observation to stdout, counts of changes and visits above it, doubts and notes below."""
    visits = ", ".join(f"{name} {count:,}" for name, count in observation.visits.items())
    over = duration(observation.end - observation.start, observation.dated)
    echo(f"{count_text(observation.changes, 'change')} of the source over {over}; rows: {visits}\n")
    doubts: dict[str, list[str]] = {}
    for row in observation.rows:
        for note in filter(None, row["note"].split("; ")):
            doubts.setdefault(note, []).append(f"{row['group']} {row['metric']}")
    notes = [
        note if len(rows) == len(observation.rows) else f"{', '.join(rows)}: {note}" for note, rows in doubts.items()
    ]
    lines = [_line(row, observation.dated) for row in observation.rows]
    print_table(Table(TABLE_HEADS, lines, [*notes, *observation.notes]))


def _line(row: dict[str, Any], dated: bool) -> list[str]:
    """Return the texts of a row in the order of TABLE_HEADS; `dated` says that times are in seconds, and get a unit."""

    def value_text(name: str) -> str:
        """Return the value in the column `name` as text, empty for None; as a duration if the metric is a time."""
        value = row[name]
        if value is None:
            return ""
        return duration(value, dated) if row["metric"] in DURATION_METRICS else f"{value:.4f}"

    def span(low: str, high: str) -> str:
        """Return the interval from the column `low` to the column `high` as text; "... or more" if `high` is None.

        The text is empty if `low` is None, or if both ends are equal.
        """
        if row[low] is None or row[low] == row[high]:
            return ""
        return f"{value_text(low)} or more" if row[high] is None else f"{value_text(low)} .. {value_text(high)}"

    return [row["group"], row["metric"], value_text("measured"), span("ci_low", "ci_high"), span("least", "most"),
            value_text("predicted")]  # fmt: skip

"""The command observe: a source and its replicas as they were seen from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from replnet.cli.main import FINE, commands, format_option
from replnet.cli.output import echo, print_table, write
from replnet.cli.progress import progress_lines
from replnet.show import Table
from replnet.text import count_text, duration

if TYPE_CHECKING:
    from replnet.histories import Observation

DURATION_METRICS = {"staleness_age", "lag", "information_age"}
TABLE_HEADS = ("group", "metric", "measured", "95 % interval", "bounds", "predicted")


@commands.command()
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path())
@click.option("--source", metavar="NODE|FILE|REPO:PATH",
              help="The node that the others copy; or a file with the times of its updates; or a path in a git "
              "repository.  [default: source]")  # fmt: skip
@click.option("--replica", "replicas", metavar="REPO:PATH", multiple=True,
              help="A replica that is a path in a git repository, with such a source. Repeatable.")  # fmt: skip
@click.option("--left", metavar="REGEX",
              help="Finds, in files of git repositories, the instant at which their data left the source.")  # fmt: skip
@format_option()
def observe(files: tuple[str, ...], source: str | None, replicas: tuple[str, ...], left: str | None, form: str) -> int:
    """Measure how fresh real replicas were, recorded from outside, and clients who ask several of them.

    FILE, or several that are one history, or a folder of them, is told by its content: what `replnet watch` has
    recorded; CSV or Parquet with a row per visit: its time, the node, and the version that the node had, such as a
    serial or a checksum, or `left`, the instant at which its data left the source; the same with a row per change, and
    its time and node alone; a crawler's log of time and changed (yes or no); a JSON answer of Prometheus; the mirror
    status of Arch Linux; mirmon.state; load times of RSSAC002.
    """
    if not files and not replicas:
        raise click.UsageError("nothing to observe: a FILE, or --source and --replica REPO:PATH")
    from replnet.histories import COLUMNS
    from replnet.histories import observe as measure

    with progress_lines("reading the record, and following every replica"):
        observation = measure([*files, *replicas], source, left=left)
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
    changes = f"{count_text(observation.changes, 'change')} of the source over " if observation.changes else ""
    echo(f"{changes}{over}; rows: {visits}\n")
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

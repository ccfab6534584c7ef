"""Commands about recorded processes: `trace import`, `trace fit`, `audit`."""

from __future__ import annotations

import errno
import sys
from pathlib import Path
from typing import Any

import click

from replnet.cli.screen import echo

FILE = click.Path(path_type=Path)
FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True,
    help="Of what goes to stdout.",
)  # fmt: skip


@click.group()
def trace() -> None:
    """Recorded processes: read event times from elsewhere, fit laws to them."""


@trace.command("import")
@click.argument("source", type=FILE)
@click.option("-o", "--output", type=FILE, help="The CSV to write.  [default: stdout]")
@click.option("--kind", type=click.Choice(["csv", "parquet", "json", "xml", "git"]),
              help="What SOURCE is.  [default: by its name; a directory is a git repository]")  # fmt: skip
@click.option(
    "--column", help="CSV and Parquet: the column of times.  [default: timestamp, time or date, else the first]"
)
@click.option("--unit", type=click.Choice(["s", "ms", "us", "ns"]), help="Of numbers.  [default: by their size]")
@click.option("--path", help="git: the file or folder whose changes are the events.")
@click.option("--page", help="MediaWiki: the title of the page.")
def import_(source: Path, output: Path | None, **how: Any) -> int:
    """Event times from SOURCE, as CSV that `trace(file=...)` and `audit` read.

    SOURCE is CSV or text, Parquet, JSON, a MediaWiki dump (XML, packed or not) or API answer, or a git repository.
    """
    from replnet.histories.trace_import import import_trace, write_times
    from replnet.text.checks import FieldError

    times, notes = import_trace(source, **how)
    if output is None:
        write_times(times, sys.stdout)
    else:
        try:
            with output.open("w", encoding="utf-8", newline="") as file:
                write_times(times, file)
        except OSError as error:
            right = "a place with room for it" if error.errno == errno.ENOSPC else "a folder that exists"
            raise FieldError(str(output), f"cannot be written: {error.strerror or error}", right) from None
    for note in notes:
        echo(note, err=True)
    echo(f"{times.size:,} events" + (f" to {output}" if output else ""), err=True)
    return 0


@trace.command()
@click.argument("file", type=FILE)
@click.option("-o", "--output", type=FILE, help="Draw tail, correlation, rate over the day and staleness: PNG or SVG.")
@click.option("--target", "targets", type=float, multiple=True,
              help="Staleness to find the download rate for. Repeatable.  [default: 0.1 to 0.9]")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of resampling.")
@FORMAT
def fit(file: Path, output: Path | None, targets: tuple[float, ...], seed: int, form: str) -> int:
    """Laws of the intervals in FILE, their tail and correlation, and what the Poisson formula would waste."""
    from replnet.cli.progress import progress
    from replnet.cli.trace_tables import write_fit
    from replnet.histories.trace_fit import TARGETS, fit_trace
    from replnet.histories.trace_import import recorded

    with progress() as report:
        report(0.5, "fitting laws, and replaying the record under downloads of many rates")
        found = fit_trace(recorded(file), targets or TARGETS, seed)
    write_fit(found, form)
    if output is not None:
        from replnet.report.trace_plots import draw

        draw(found, output)
        echo(f"drawn to {output}", err=True)
    return 0


@click.command()
@click.option("--updates", type=FILE, required=True, help="When the source changed.")
@click.option("--downloads", type=FILE, required=True, help="When the replica copied it.")
@click.option("--since", metavar="TIME", help="Begin here: a date or a number.  [default: when both histories run]")
@click.option("--until", metavar="TIME", help="End here.  [default: when the first history ends]")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of resampling.")
@FORMAT
def audit(updates: Path, downloads: Path, since: str | None, until: str | None, seed: int, form: str) -> int:
    """How stale a real replica was, what the models say, and which assumption fails."""
    from replnet.cli.trace_tables import write_audit
    from replnet.histories.audit import audit as examine
    from replnet.histories.trace_import import read_time, recorded

    start, end = (
        None if text is None else read_time(place, text)[0] for place, text in (("--since", since), ("--until", until))
    )
    source = recorded(updates)
    write_audit(examine(source, recorded(downloads), start, end, seed), source.dated, form)
    return 0

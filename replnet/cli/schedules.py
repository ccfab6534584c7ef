"""The command schedule: how often to visit each of many sources, how fresh it is then, and when to visit it next."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.main import FINE, commands, format_option
from replnet.cli.networks import NETWORK, OVERRIDES
from replnet.cli.output import echo, echo_note, print_table, write
from replnet.cli.progress import progress_lines
from replnet.show import Table
from replnet.text import FieldError, count_text, csv_text, name_units, output_file, value_text

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS_SHOWN = 10
CSV_ENDINGS, PARQUET_ENDINGS = (".csv",), (".parquet", ".pq")


@commands.command()
@NETWORK
@OVERRIDES
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the whole schedule into this file, CSV or Parquet by its name.")  # fmt: skip
@click.option("--visits", type=click.IntRange(1, 1000), help="How many next visits of each source.  [default: 1]")
@click.option("--until", metavar="TIME", help="Write all visits up to this time instead, in order: a row per visit, "
              "with its time and the name of the source. A time from the start such as 12h, or a date.")  # fmt: skip
@click.option("--start", metavar="TIME", default="0", show_default=True,
              help="When visits begin: a number, or if the network has a unit a date such as 2026-01-01.")  # fmt: skip
@format_option()
def schedule(
    network: str, overrides: tuple[str, ...], output: Path | None, visits: int | None, until: str | None, start: str,
    form: str,
) -> int:  # fmt: skip
    """Say how often to visit each of the many sources of NETWORK within its budget, and when next.

    NETWORK is an aggregate, whose sources may come from a file (rates: pages.csv). A row per source has its name, its
    rate of changes, its weight, the rate and the interval of visits, how fresh its copy is, and the next visits.
    """
    from replnet.network import load
    from replnet.run import schedule as make_schedule

    if output is not None and output.suffix.lower() not in CSV_ENDINGS + PARQUET_ENDINGS:
        raise FieldError("--output", f"{output} has no known ending", "a name that ends in .csv or .parquet")
    with progress_lines("reading the network") as tell:
        loaded = load(network, overrides)
        for note in loaded.notes:
            echo(note, err=True)
        tell(0.0, f"allocating the budget of {network}")
        try:
            table = make_schedule(loaded, visits=visits, until=until, start=start)
        except FieldError as error:
            option = "--" if error.field in ("visits", "until", "start") else f"{network}: "
            raise ValueError(f"{option}{error}") from None
        if output is not None:
            tell(0.0, f"writing {output}")
            write_schedule(table, output)
    about = table.attrs
    if form == "csv":
        sys.stdout.write(csv_text(_with_date_texts(table)))
    else:
        write(form, lambda: about | {"rows": _plain_rows(table)}, (), (), lambda: _print(table, output))
    if output is not None:
        echo(f"{count_text(len(table), 'row')} written to {output}", err=True)
    return FINE


def write_schedule(table: pd.DataFrame, path: Path) -> None:
    """Write a schedule to a CSV or Parquet file, by the ending of its name, over one that is there."""
    with output_file(path) as file:
        if path.suffix.lower() in PARQUET_ENDINGS:
            table.to_parquet(file, index=False)
        else:
            write_csv_table(_with_date_texts(table), file)


def write_csv_table(table: pd.DataFrame, file: Any) -> None:
    """Write a DataFrame to a binary file as CSV; texts like formulas get an apostrophe, missing values are empty."""
    import pyarrow as pa
    from pyarrow import csv

    from replnet.text import as_cell

    texts = {name: [as_cell(value) for value in table[name]] for name in table if table[name].dtype == object}
    rows = pa.Table.from_pandas(table.assign(**texts), preserve_index=False)
    csv.write_csv(rows, file, csv.WriteOptions(quoting_style="needed"))


def _with_date_texts(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its dates as texts such as 2026-01-01T12:00:00Z; milliseconds are left out if all are 0."""
    import numpy as np

    dates = {}
    for name in table.select_dtypes("datetimetz"):
        instants = table[name].dt.tz_localize(None).to_numpy().astype("datetime64[ms]")
        texts = np.char.add(np.datetime_as_string(instants, unit="ms"), "Z").astype(object)
        texts[np.isnat(instants)] = None
        dates[name] = texts
    return table.assign(**dates)


def _plain_rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a schedule as plain data for JSON, with None for what is missing."""
    plain = _with_date_texts(table).astype(object)
    return plain.where(plain.notna(), None).to_dict("records")  # type: ignore[no-any-return]


def _print(table: pd.DataFrame, output: Path | None) -> None:
    """Print the first rows of a schedule, unless it is in a file, and a summary of it, to stdout."""
    if output is None:
        shown = _with_date_texts(table.head(MOST_ROWS_SHOWN))
        cells = [[_text(value) for value in row] for row in shown.itertuples(index=False)]
        more = len(table) - len(shown)
        notes = [f"{more:,} more rows (-o FILE writes all)"] if more else []
        print_table(Table(list(shown.columns), cells, notes))
        echo()
    for line in summary_lines(table.attrs):
        echo_note(line)


def _text(value: Any) -> str:
    """Return the text of a cell of a schedule, empty for a missing value."""
    if value is None or value != value:
        return ""
    return value if isinstance(value, str) else value_text(value)


def summary_lines(about: dict[str, Any]) -> list[str]:
    """Return sentences about a schedule from the `attrs` of its table: its budget, its freshness, what is never
    visited.
    """
    lines = [
        f"{about['budget']:,.6g} visits {name_units('per unit of time', about['unit'])} of "
        f"{count_text(about['visited'], 'source')}, allocated by {about['allocate']}"
    ]
    known = about["basis"]
    freshness = f"{about['freshness']:.5f} ({known})" if known else about["note"]
    lines.append(f"freshness, weighted: {freshness}")
    never = about["sources"] - about["visited"]
    reasons = "; ".join(f"{count:,} {words}" for words, count in about["never"].items())
    lines.append(f"never visited: {never:,} of {about['sources']:,}" + (f": {reasons}" if never else ""))
    if about["times"]:
        lines.append(f"no times: {about['times']}")
    if about["unit"]:
        lines.append(name_units("times in units of time, rates per unit of time", about["unit"]))
    return lines

"""The command schedule, from change rates to visits, and what `trace change-rate` writes of visits of many elements."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from replnet.cli.frames import (
    CSV_ENDINGS,
    PARQUET_ENDINGS,
    plain_rows,
    print_csv,
    print_head,
    require_table_ending,
    with_date_texts,
    write_frame,
)
from replnet.cli.main import FINE, commands, format_option
from replnet.cli.networks import NETWORK, OVERRIDES, load_with_notes
from replnet.cli.output import echo, echo_note, write
from replnet.cli.progress import progress_lines
from replnet.text import WORDS, FieldError, count_text, file_error, name_units


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
    """Say how often to visit each of many sources, and when next.

    NETWORK is an aggregate with a budget, whose sources may come from a file (rates: pages.csv). A row per source has
    its name, its rate of changes, its weight, the rate and the interval of visits, how fresh its copy is, and the next
    visits.
    """
    from replnet.run import schedule as make_schedule

    _refuse_table(network)
    if output is not None:
        require_table_ending(output)
    with progress_lines("reading the network") as progress:
        loaded = load_with_notes(network, overrides)
        progress(0.0, f"allocating the budget of {network}")
        try:
            table = make_schedule(loaded, visits=visits, until=until, start=start)
        except FieldError as error:
            option = "--" if error.field in ("visits", "until", "start") else f"{network}: "
            raise ValueError(f"{option}{error}") from None
        if output is not None:
            progress(0.0, f"writing {output}")
            write_frame(table, output)
    about = table.attrs

    def print_schedule() -> None:
        """Print the first rows, unless they are in a file, and a summary."""
        if output is None:
            print_head(table, list(table.columns))
        for line in summary_lines(about):
            echo_note(line)

    if form == "csv":
        print_csv(with_date_texts(table))
    else:
        write(form, lambda: about | {"rows": plain_rows(table)}, (), (), print_schedule)
    if output is not None:
        echo(f"{count_text(len(table), 'row')} written to {output}", err=True)
    return FINE


def _refuse_table(network: str) -> None:
    """Raise DocumentError if the network is a table, of rates or visits, which others give in a field of a network."""
    path = Path(network)
    if path.suffix.lower() in CSV_ENDINGS + PARQUET_ENDINGS and path.is_file():
        right = (
            f"a file of YAML with kind: aggregate, a budget and rates: {path.name}; a log of visits first becomes "
            f"rates: replnet trace change-rate {network} -o rates.csv"
        )
        raise file_error(network, "is a table, and no network with a budget", right)


def summary_lines(about: dict[str, Any]) -> list[str]:
    """Return sentences about a schedule from the `attrs` of its table: its budget, its freshness, what is never
    visited.
    """
    lines = [
        f"{about['budget']:,.6g} visits {name_units('per unit of time', about['unit'])} of "
        f"{count_text(about['visited'], 'source')}, allocated by {about['allocate']}"
    ]
    basis = about["basis"]
    freshness = f"{about['freshness']:.5f} ({basis})" if basis else about["note"]
    lines.append(f"freshness, weighted: {freshness}")
    never = about["sources"] - about["visited"]
    reasons = "; ".join(f"{words}: {count:,}" for words, count in about["never"].items())
    lines.append(f"never visited: {never:,} of {about['sources']:,}" + (f" ({reasons})" if never else ""))
    if about["times"]:
        lines.append(f"no times: {about['times']}")
    if about["unit"]:
        lines.append(name_units("times in units of time, rates per unit of time", about["unit"]))
    return lines


# ---- From visits to change rates


def write_rates(file: Path, output: Path | None, unit: str | None, form: str) -> int:
    """Estimate how often each element of a log of visits changes, print that, and return the exit code.

    The rates, each with its unit, go into the file `output`, CSV or Parquet, unless it is None. `unit` is what
    rates are per, None for a day, and `form` is `json`, `csv`, or any other for a table and a summary.
    """
    from replnet.histories import change_rates

    if output is not None:
        require_table_ending(output)
    with progress_lines("reading the log of visits, and estimating rates"):
        table = change_rates(file, unit)
        about = table.attrs
        texts = (
            table if about["unit"] is None else table.assign(rate=[f"{z:.6g}/{about['unit']}" for z in table["rate"]])
        )
        if output is not None:
            write_frame(texts, output)
    for note in about["notes"]:
        echo(note, err=True)
    if form == "csv":
        print_csv(texts)
    else:
        write(form, lambda: about | {"rows": plain_rows(table)}, (), (), lambda: _print_rates(table, output))
    if output is not None:
        echo(f"{count_text(len(table), 'row')} written to {output}", err=True)
    return FINE


def _print_rates(table: Any, output: Path | None) -> None:
    """Print the first 10 rates of a table of `change_rates`, and a summary, to stdout.

    The rates are left out if `output` names the file that they are in.
    """
    about = table.attrs
    per = "a unit of time" if about["unit"] is None else f"a {WORDS[about['unit']]}"
    if output is None:
        print_head(table[["name", "rate"]], ["name", f"changes {per}"])
    low, middle, high = (f"{value:.5g}" for value in table["rate"].quantile([0.1, 0.5, 0.9]))
    echo(f"{count_text(len(table), 'element')}, {about['visits']:,} visits; changes {per}: median {middle}, "
         f"80 % between {low} and {high}")  # fmt: skip
    if about["never"]:
        echo(f"never seen to change: {about['never']:,}, for which half a change in the time watched is taken")
    if about["always"]:
        echo(f"seen changed at every visit: {about['always']:,}, which may change more often than such visits can tell")

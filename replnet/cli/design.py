"""The command design: from a target to a network."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.main import (
    BUDGET,
    DIFFERS,
    FINE,
    INCOMPLETE,
    commands,
    format_option,
    seed_option,
    worker_options,
)
from replnet.cli.output import echo, print_table, write
from replnet.cli.progress import progress, progress_lines
from replnet.show import result_table
from replnet.text import MICROSECONDS, FieldError, count_text, interval_words, name_units

if TYPE_CHECKING:
    from replnet.lab.inverse import Candidate, Design

TABLE_HEADS = (
    "architecture", "pulls", "rates", "messages", "at source", "busiest", "fits", "predicted", "measured",
    "95 % interval", "verdict",
)  # fmt: skip
UPDATES_FILE = "observed-updates.csv"  # with the updates of a record
FEWEST_UPDATES = 2  # that a trace needs


@commands.command()
@click.option("--updates", metavar="LAW", help="When the source changes, such as 'exponential(rate=2)'.")
@click.option("--observed", type=click.Path(path_type=Path), metavar="FILE",
              help="Take the updates from a record that `replnet observe` reads, and keep them in "
                   "observed-updates.csv, beside the file of -o or here.")  # fmt: skip
@click.option("--replicas", type=click.IntRange(min=1),
              help="How many replicas serve clients.  [default: those of the record]")  # fmt: skip
@click.option("--target", required=True, metavar="'METRIC >= X'",
              help="What clients must get, for any metric, such as 'freshness >= 0.9' or 'lag <= 3'.")  # fmt: skip
@click.option(
    "--unit",
    type=click.Choice([*MICROSECONDS]),
    help="The unit of all results and of numbers without one; others may have their own, such as 5min or 100/h.",
)
@click.option("--limit", metavar="RATE", help="Requests that a node may answer per unit of time.")
@click.option("--queries", metavar="RATE", default="0",
              help="Queries of all clients per unit of time; clients may then ask several replicas.")  # fmt: skip
@click.option("--pulls", multiple=True, metavar="LAW",
              help="A law of downloads and polls, without its rate. Repeatable.  "
                   "[default: exponential and constant]")  # fmt: skip
@seed_option()
@click.option(
    "--precision", type=float, default=0.005, show_default=True, help="Half-width of the intervals that are emulated."
)
@worker_options
@BUDGET
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write the best network to this YAML file."
)
@format_option(words=None)
def design(
    target: str, limit: str | None, pulls: tuple[str, ...], observed: Path | None, output: Path | None, form: str,
    **how: Any,
) -> int:  # fmt: skip
    """Find the network that meets a target at the least cost.

    That is the architecture, the law of pulls and the rates with the fewest messages. Replicas that all ask the source,
    tiers above them, clusters that poll one another, and clients who ask several replicas: each with the smallest rates
    that meet the target, by formula, at which no node answers more requests than the limit, if there is one. The best
    three are emulated.
    """
    from replnet.lab.inverse import COLUMNS, POLICIES
    from replnet.lab.inverse import design as find
    from replnet.text import write_file, yaml_text

    how |= _source_and_size(observed, output, how["updates"], how["replicas"], how["unit"])
    laws = [law if "(" in law else f"{law}(rate=1)" for law in pulls] or POLICIES
    with progress() as report:
        try:
            result = find(target=target, pulls=laws, limit=math.inf if limit is None else limit, progress=report, **how)
        except FieldError as error:
            option = "--" if error.field in ("target", "limit", "queries", "updates", "pulls", "unit") else ""
            raise FieldError(f"{option}{error.field}", error.wrong, error.right) from None
    best = yaml_text(dict(result.best.built.data))
    rows = result.rows
    data = {"target": result.target.text, "best": result.best.network.data(), "rows": rows, "left_out": result.left_out}
    write(form, lambda: data, COLUMNS, rows, lambda: _table(result, limit is not None))
    for name, why in result.left_out.items():
        echo(f"{name}: left out, as {why}", err=True)
    if output is None:
        echo("-o FILE writes the best one, to be run, swept and changed", err=True)
    else:
        write_file(output, best)
        echo(f"the best one is in {output}: replnet run {output}", err=True)
    if not result.best.fits:
        echo(f"nothing keeps to the limit: some node answers {result.best.built.busiest:,.4g} at least", err=True)
    if result.incomplete:
        echo(result.incomplete, err=True)
        return INCOMPLETE
    return DIFFERS if not result.best.fits else FINE


def _source_and_size(
    observed: Path | None, output: Path | None, updates: str | None, replicas: int | None, unit: str | None
) -> dict[str, Any]:
    """Return `updates` and `replicas` by name, taken from a record if one is `observed`, else an empty dict.

    The instants of the record's updates are written to a file beside `output`, or here if that is None, of which a
    trace in this `unit` is the law; its replicas count if no number is given. Raise FieldError if either is missing,
    the updates are given twice, the record has too few, or the file exists with other content.
    """
    if observed is None:
        for option, value in (("--updates", updates), ("--replicas", replicas)):
            if value is None:
                raise FieldError(option, "missing", "it is needed without --observed FILE")
        return {}
    if updates is not None:
        raise FieldError("--updates", "the record of --observed has them already", "one of the two")
    from replnet.histories import observe, write_times
    from replnet.text import quote, write_file

    with progress_lines("reading the record"):
        observation = observe(observed)
    times = observation.updates.seen
    if times.size < FEWEST_UPDATES:
        wrong = f"{observed} has {count_text(times.size, 'update')} of a source"
        raise FieldError("--observed", wrong, f"{FEWEST_UPDATES} or more, or --updates LAW")
    history, text = Path(UPDATES_FILE) if output is None else output.with_name(UPDATES_FILE), io.StringIO()
    if history == output:
        raise FieldError("--output", f"{output} is where the updates of the record go", "another name")
    write_times(times, text)
    if history.exists() and (not history.is_file() or history.read_bytes() != text.getvalue().encode()):
        raise FieldError(str(history), "exists, with other content", "moved away, or -o FILE in another folder")
    write_file(history, text.getvalue())
    echo(f"the updates of the source are in {history}", err=True)
    end = f", unit={unit})" if unit is not None and observation.dated else ")"
    return {"updates": f"trace(file={quote(str(history))}{end}", "replicas": replicas or len(observation.copies)}


def _table(result: Design, limited: bool) -> None:
    """Print the table of designs, a line for each candidate, and what its columns of messages count.

    `limited` adds the column that says whether a design keeps to the limit.
    """
    rows, unit = result.rows, result.best.network.unit
    more = {name: [str(row[name]) for row in rows] for name in TABLE_HEADS[:3]}
    more["rates"] = [", ".join(_rates(candidate, unit)) for candidate in result.candidates]
    for name in ("messages", "at source", "busiest"):
        more[name] = [f"{float(f'{row[name]:.4g}'):,.10g}" for row in rows]
    more["fits"] = ["yes" if row["fits"] else "no" for row in rows]
    print_table(result_table(rows, more=more).select(head for head in TABLE_HEADS if limited or head != "fits"))
    words = "messages: requests of all nodes and clients per unit of time"
    echo(f"{name_units(words, unit)}; at source, busiest: those that one node answers")


def _rates(candidate: Candidate, unit: str | None) -> Iterator[str]:
    """Yield each rate of a candidate with its name: a number, or `downloads every 2 h` if it is below one a minute.

    `unit` is the unit of time; None, in which case all are numbers, if it has no name.
    """
    from replnet.lab.inverse import DIGITS

    for name, rate in candidate.built.rates_by_name.items():
        yield f"{name} {interval_words(rate, unit) or f'{rate:.{DIGITS}g}'}"

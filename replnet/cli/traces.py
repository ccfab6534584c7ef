"""Commands about recorded processes, and what they print: `trace import`, `trace fit`, `trace rate`, `audit`."""

from __future__ import annotations

import errno
import json
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.main import commands
from replnet.cli.output import echo, print_table
from replnet.text.numbers import duration, write_csv

if TYPE_CHECKING:
    from replnet.histories.audit import Audit, Check
    from replnet.histories.change_rate import ChangeRate
    from replnet.histories.trace_fit import TraceFit

FILE = click.Path(path_type=Path)
FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True,
    help="Of what goes to stdout.",
)  # fmt: skip
DAY = 86_400.0
LONG_NUMBER = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")
TIMES = {"staleness_age", "lag"}


@commands.group()
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
    from replnet.text.errors import FieldError

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
    from replnet.histories.trace_fit import TARGETS, fit

    with progress() as report:
        report(0.5, "fitting laws, and replaying the record under downloads of many rates")
        found = fit(file, targets or TARGETS, seed)
    write_fit(found, form)
    if output is not None:
        from replnet.report.trace_plots import draw

        draw(found, output)
        echo(f"drawn to {output}", err=True)
    return 0


@trace.command()
@click.argument("updates", type=FILE)
@click.option("--visits", required=True, metavar="LAW|FILE",
              help="When a crawler came: a law of the times between visits, in the unit of the record (seconds, of "
              "dates), such as 'constant(period=86400)', or a file of times.")  # fmt: skip
@click.option("--window", type=click.IntRange(min=1), help="Visits that a bias is told for.  [default: 20]")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of visits drawn from a law.")
@FORMAT
def rate(updates: Path, visits: str, window: int | None, seed: int, form: str) -> int:
    """How often UPDATES came, by what visits see of them: whether there was a change, or when the last one was."""
    from replnet.histories.change_rate import WINDOW, change_rate

    write_rate(change_rate(updates, visits, window or WINDOW, seed), form)
    return 0


@commands.command()
@click.option("--updates", type=FILE, required=True, help="When the source changed.")
@click.option("--downloads", type=FILE, required=True, help="When the replica copied it.")
@click.option("--since", metavar="TIME", help="Begin here: a date or a number.  [default: when both histories run]")
@click.option("--until", metavar="TIME", help="End here.  [default: when the first history ends]")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of resampling.")
@FORMAT
def audit(updates: Path, downloads: Path, since: str | None, until: str | None, seed: int, form: str) -> int:
    """How stale a real replica was, what the models say, and which assumption fails.

    It measures what `run --measure` calls staleness, staleness_age, lag and missing_updates.
    """
    from replnet.histories.audit import audit as examine
    from replnet.histories.trace_import import read_time, recorded

    start, end = (
        None if text is None else read_time(place, text)[0] for place, text in (("--since", since), ("--until", until))
    )
    source = recorded(updates)
    write_audit(examine(source, recorded(downloads), start, end, seed), source.dated, form)
    return 0


# What they print


def write_fit(found: TraceFit, form: str) -> None:
    if form == "json":
        click.echo(json.dumps(_plain(fit_data(found)), indent=2, allow_nan=False))
    elif form == "csv":
        write_csv(sys.stdout, list(found.staleness[0]), [one.values() for one in found.staleness])
    else:
        _print_laws(found)
        for line in ("", *_nature(found), ""):
            echo(line)
        _print_needs(found)


def write_rate(found: ChangeRate, form: str) -> None:
    if form == "json":
        click.echo(json.dumps(_plain(rate_data(found)), indent=2, allow_nan=False))
    elif form == "csv":
        rows = rate_data(found)["estimates"]
        cells = [[None if isinstance(x, float) and math.isnan(x) else x for x in row.values()] for row in rows]
        write_csv(sys.stdout, list(rows[0]), cells)
    else:
        _print_rate(found)


def write_audit(audit: Audit, dated: bool, form: str) -> None:
    if form == "json":
        click.echo(json.dumps(_plain(audit_data(audit)), indent=2, allow_nan=False))
    elif form == "csv":
        rows = []
        for metric, measured in audit.measured.items():
            ends = [None if math.isnan(end) else end for end in (measured.low, measured.high)]
            rows.append([metric, measured.value, *ends, *audit.predicted[metric].values()])
        write_csv(sys.stdout, ["metric", "measured", "ci_low", "ci_high", *audit.predicted["staleness"]], rows)
    else:
        _print_audit(audit, dated)


def fit_data(found: TraceFit) -> dict[str, Any]:
    """All that was found as plain data; rates are per unit of the record's time."""
    history = found.history
    about = {
        "name": history.name, "events": history.times.size, "start": history.start, "end": history.end,
        "mean_interval": 1 / history.rate, "unit": "s" if history.dated else None,
    }  # fmt: skip
    return vars(found) | {"history": about, "fits": [vars(one) | {"law": str(one.law)} for one in found.fits]}


def rate_data(found: ChangeRate) -> dict[str, Any]:
    """All that was found as plain data; rates are per unit of the record's time, biases shares of the rate."""
    estimates = [
        {"estimator": one.estimator, "rate": one.rate, "ci_low": one.low, "ci_high": one.high, "bias": one.bias.value,
         "bias_low": one.bias.low, "bias_high": one.bias.high, "poisson_bias": one.predicted_bias}
        for one in found.estimates
    ]  # fmt: skip
    about = {"name": found.history.name, "unit": "s" if found.history.dated else None}
    return vars(found) | {"history": about, "estimates": estimates}


def audit_data(audit: Audit) -> dict[str, Any]:
    """The whole audit as plain data, in the unit of the records' time."""
    shares, x = audit.ages
    return {
        "window": {name: getattr(audit, name) for name in ("start", "end", "updates", "downloads")},
        "rows": [
            {"metric": metric, "measured": one.value, "ci_low": one.low, "ci_high": one.high, "doubt": one.doubt,
             "predicted": audit.predicted[metric]}
            for metric, one in audit.measured.items()
        ],
        "checks": audit.checks,
        "download_age_given_update_age": {"x": x, "shares": shares},
        "mean_wait": audit.wait,
        "notes": audit.notes,
        "conclusion": audit.conclusion,
    }  # fmt: skip


def _plain(value: Any) -> Any:
    """As JSON has it: lists for arrays and tuples, fields by name, null for what it has no word for."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if is_dataclass(value):
        return _plain(vars(value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _chance(value: float | None) -> str:
    if value is None or math.isnan(value):
        return ""
    return "< 1e-6" if value < 1e-6 else f"{value:.2g}"


def _print_laws(found: TraceFit) -> None:
    import numpy as np

    history, gaps, dated = found.history, found.history.intervals, found.history.dated
    echo(
        f"{history.times.size:,} events over {duration(history.end - history.start, dated)}; intervals: mean "
        f"{duration(gaps.mean(), dated)}, median {duration(float(np.median(gaps)), dated)}, deviation "
        f"{gaps.std() / gaps.mean():.2f} of the mean\n"
    )
    rows = []
    for one in found.fits:
        law = LONG_NUMBER.sub(lambda number: f"{float(number[0]):.6g}", str(one.law))
        behind, chance = f"{one.aic - found.fits[0].aic:.1f}", _chance(one.p_value)
        rows.append([law, behind, f"{one.distance:.4f}", chance])
    print_table(["law of the intervals", "AIC over best", "distance", "p"], rows)
    for family, reason in found.left_out.items():
        echo(f"  {family}: {reason}")


def _nature(found: TraceFit) -> Iterator[str]:
    """Tail, correlation and beat in words."""
    dated, tail = found.history.dated, found.tail
    if tail is None:
        yield "tail: too few long intervals, or a clock's, to tell an index"
    else:
        yield (
            f"tail: {tail.points} intervals beyond {duration(tail.start, dated)} fall with index {tail.alpha:.2f} "
            f"({tail.low:.2f} .. {tail.high:.2f}): {tail.verdict}"
        )
    if math.isfinite(exponent := found.correlation_exponent):
        # With a Hurst parameter above one half, correlation never quite dies.
        hurst = 1 - exponent / 2
        yield f"correlation: falls as lag^-{exponent:.2f}, Hurst parameter {hurst:.2f} if it goes on so"
    if found.beat:
        period, jitter = found.beat.values()
        yield f"beat: multiples of {duration(period, dated)}, give or take {duration(jitter, dated)}"
    for check in found.checks:
        p = f" (p = {_chance(check.chance)})".replace("= <", "<") if _chance(check.chance) else ""
        yield f"{_word(check)}: {check.assumption}; {check.seen}{p}"


def _word(check: Check) -> str:
    return {True: "holds", False: "fails", None: "open"}[check.holds]


def _print_needs(found: TraceFit) -> None:
    """Staleness under constant downloads, and the rates that targets need."""
    per, unit = (DAY, "a day") if found.history.dated else (1.0, "a unit")
    print_table(
        [f"downloads {unit}", "staleness, measured", "phases", "empirical law", "Poisson", "error"],
        [
            [f"{one['rate'] * per:.4g}", f"{one['measured']:.4f}", f"{one['low']:.4f} .. {one['high']:.4f}",
             f"{one['empirical']:.4f}", f"{one['poisson']:.4f}", f"{one['poisson'] / one['measured'] - 1:+.0%}"]
            for one in found.staleness
        ],
    )  # fmt: skip
    echo()
    rows = []
    for one in found.needs:
        rates = [one[name] * per for name in ("measured", "empirical", "poisson")]
        said = ["" if math.isnan(rate) else f"{rate:.4g}" for rate in rates]
        rows.append([f"{one['target']:g}", *said, f"{one['waste']:.2f} times as many"])
    print_table(
        ["staleness at most", f"downloads {unit}, measured", "empirical law", "Poisson", "Poisson asks for"], rows
    )


def _print_rate(found: ChangeRate) -> None:
    dated = found.history.dated
    per, unit = (DAY, "a day") if dated else (1.0, "a unit")
    echo(
        f"{found.rate * per:.5g} changes {unit} between the first visit and the last; {found.visits:,} visits, "
        f"one every {duration(found.distance, dated)}, {found.changed:,} of which saw a change\n"
    )
    rows = []
    for one in found.estimates:
        rates = [f"{value * per:.5g}" for value in (one.rate, one.low, one.high)]
        known = not math.isnan(one.bias.error)
        by_formula = "" if math.isnan(one.predicted_bias) else f"{one.predicted_bias:+.1%}"
        measured = f"{one.bias.value:+.1%}" if math.isfinite(one.bias.value) else one.bias.doubt
        ends = f"{one.bias.low:+.1%} .. {one.bias.high:+.1%}" if known else ""
        rows.append([one.estimator, rates[0], f"{rates[1]} .. {rates[2]}", measured, ends, by_formula])
    bias = f"bias of {found.window} visits"
    print_table(["estimator", f"changes {unit}", "95 % interval", bias, "95 % interval", "if Poisson"], rows)
    for note in found.notes:
        echo(f"  {note}")


def _print_audit(audit: Audit, dated: bool) -> None:
    first, last = (
        datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M") if dated else f"{time:.6g}"
        for time in (audit.start, audit.end)
    )
    over = duration(audit.end - audit.start, dated)
    echo(f"{audit.updates:,} updates and {audit.downloads:,} downloads over {over}, {first} to {last}\n")
    rows, doubts = [], []
    for metric, one in audit.measured.items():
        values = (one.value, one.low, one.high, *audit.predicted[metric].values())
        value, low, high, *said = (duration(x, dated) if metric in TIMES else f"{x:.4f}" for x in values)
        rows.append([metric, value, "" if one.doubt else f"{low} .. {high}", *said])
        doubts += [f"  {metric}: {one.doubt}"] if one.doubt else []
    print_table(["metric", "measured", "95 % interval", *audit.predicted["staleness"]], rows)
    for line in (*doubts, ""):
        echo(line)
    checks = [[one.assumption, _word(one), _chance(one.chance), one.seen] for one in audit.checks]
    print_table(["assumption", "", "p", "seen"], checks)
    echo()
    waited, apart = duration(audit.wait, dated), duration(2 * audit.wait, dated)
    echo(f"  an update waits {waited} on average, so polls come every {apart} on average, or more often")
    for note in audit.notes:
        echo(f"  {note}")
    echo(audit.conclusion)

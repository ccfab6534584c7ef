"""Commands about recorded processes, and what they print: `trace import`, `trace fit`, `trace change-rate`, `audit`."""

from __future__ import annotations

import copy
import io
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.main import commands, format_option, seed_option
from replnet.cli.output import DURATION_METRICS, echo, print_table, write
from replnet.cli.visit_schedule import write_rates
from replnet.show import Table
from replnet.text import MICROSECONDS, FieldError, duration

if TYPE_CHECKING:
    from replnet.histories import Audit, ChangeRate, Check, TraceFit

FILE = click.Path(path_type=Path)
DAY = 86_400.0
LONG_NUMBER = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")


@commands.group()
def trace() -> None:
    """Read event times, and fit laws to recorded processes."""


@trace.command("import")
@click.argument("source", type=FILE)
@click.option("-o", "--output", type=FILE, help="The CSV to write.  [default: stdout]")
@click.option("--kind", type=click.Choice(["csv", "parquet", "json", "xml", "git"]),
              help="What SOURCE is.  [default: by its name; a directory is a git repository]")  # fmt: skip
@click.option(
    "--column", help="CSV and Parquet: the column of times.  [default: timestamp, time or date, else the first]"
)
@click.option(
    "--unit",
    type=click.Choice(["s", "ms", "us", "ns"]),
    help="The unit of times that are numbers.  [default: by their size]",
)
@click.option("--path", help="git: the file or folder whose changes are the events.")
@click.option("--page", help="MediaWiki: the title of the page.")
def import_(source: Path, output: Path | None, **how: Any) -> int:
    """Read event times from SOURCE, and write them as CSV.

    `trace(file=...)` and `audit` read that. SOURCE is CSV or text, Parquet, JSON, a MediaWiki dump (XML, packed or not)
    or API answer, or a git repository.
    """
    from replnet.histories import import_trace, write_times
    from replnet.text import output_file

    times, notes = import_trace(source, **how)
    if output is None:
        write_times(times, sys.stdout)
    else:
        with output_file(output) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            write_times(times, text)
            text.detach()
    for note in notes:
        echo(note, err=True)
    echo(f"{times.size:,} events" + (f" to {output}" if output else ""), err=True)
    return 0


@trace.command()
@click.argument("file", type=FILE)
@click.option(
    "-o", "--output", type=FILE, help="Draw tail, correlation, rate over the day and staleness: PNG, SVG or PDF."
)
@click.option("--target", "targets", type=float, multiple=True,
              help="Staleness to find the download rate for. Repeatable.  [default: 0.1 to 0.9]")  # fmt: skip
@seed_option("Of resampling.")
@format_option()
def fit(file: Path, output: Path | None, targets: tuple[float, ...], seed: int, form: str) -> int:
    """Fit laws to the intervals between the events in FILE.

    It describes their tail and correlation too, and says what the Poisson formula would waste.
    """
    from replnet.cli.progress import progress
    from replnet.histories import TARGETS, fit

    with progress() as report:
        report(0.5, "fitting laws, and replaying the record under downloads of many rates")
        trace_fit = fit(file, targets or TARGETS, seed)
    write_fit(trace_fit, form)
    if output is not None:
        from replnet.show.report import draw

        draw(trace_fit, output)
        echo(f"drawn to {output}", err=True)
    return 0


@trace.command("change-rate")
@click.argument("file", type=FILE)
@click.option("--visits", metavar="LAW|FILE",
              help="When a crawler came: a law of the times between visits, in the unit of the record (seconds, of "
              "dates), such as 'constant(period=86400)', or a file of times. Left out, FILE is a log of "
              "visits.")  # fmt: skip
@click.option("-o", "--output", type=FILE,
              help="Of a log of visits: write the name, the rate and an empty weight of each element into this CSV or "
              "Parquet file.")  # fmt: skip
@click.option("--unit", type=click.Choice(list(MICROSECONDS)),
              help="Of a log of visits with dates: what rates are per.  [default: d]")  # fmt: skip
@click.option("--window", type=click.IntRange(min=1), help="Visits that a bias is told for.  [default: 20]")
@seed_option("Of visits drawn from a law.")
@format_option()
def rate_of_changes(
    file: Path, visits: str | None, output: Path | None, unit: str | None, window: int | None, seed: int, form: str
) -> int:
    """Estimate how often elements change, from visits now and then.

    A visit sees whether there was a change, or when the last one was. FILE has the times of the changes of one element;
    or it is a log of visits of many, with a row for each visit: its time, the name (or page, url) of the element, and
    the version that it had, or whether it had changed.
    """
    from replnet.histories import WINDOW, change_rate

    if visits is None:
        if window is not None:
            raise FieldError("--window", "is about the changes of one element", "left out, or --visits LAW")
        return write_rates(file, output, unit, form)
    for option, value in (("--output", output), ("--unit", unit)):
        if value is not None:
            raise FieldError(option, "is for a log of visits of many elements", "left out, or no --visits")
    write_rate(change_rate(file, visits, window or WINDOW, seed), form)
    return 0


_short = copy.copy(rate_of_changes)
_short.hidden = True
trace.add_command(_short, "rate")  # as scripts have it


@commands.command()
@click.option("--updates", type=FILE, required=True, help="When the source changed.")
@click.option("--downloads", type=FILE, required=True, help="When the replica copied it.")
@click.option("--since", metavar="TIME", help="Begin here: a date or a number.  [default: when both histories run]")
@click.option("--until", metavar="TIME", help="End here.  [default: when the first history ends]")
@seed_option("Of resampling.")
@format_option()
def audit(updates: Path, downloads: Path, since: str | None, until: str | None, seed: int, form: str) -> int:
    """Measure how stale a real replica was, and what explains it.

    That is compared with the models, to find the assumption that fails. It measures what `run --measure` calls
    staleness, staleness_age, lag and missing_updates.
    """
    from replnet.histories import audit as examine
    from replnet.histories import history_of, read_time

    start, end = (
        None if text is None else read_time(place, text)[0] for place, text in (("--since", since), ("--until", until))
    )
    write_audit(examine(history_of(updates), history_of(downloads), start, end, seed), form)
    return 0


# What they print


def write_fit(trace_fit: TraceFit, form: str) -> None:
    """Print to stdout the laws that were fitted to a recorded history, and what else was found in it.

    `form` is `json` for all of it, `csv` for the staleness under downloads of many rates, else tables and sentences.
    """
    rows = trace_fit.staleness
    write(form, lambda: _as_json(fit_data(trace_fit)), list(rows[0]), rows, lambda: _print_fit(trace_fit), 2)


def write_rate(change_rate: ChangeRate, form: str) -> None:
    """Print to stdout the estimates of a rate of change; `form` is `json`, `csv`, or any other for a table."""
    data = _as_json(rate_data(change_rate))
    rows = data["estimates"]
    write(form, lambda: data, list(rows[0]), rows, lambda: _print_rate(change_rate), 2)


def write_audit(audit: Audit, form: str) -> None:
    """Print an audit to stdout; `form` is `json` for all of it, `csv` for its metrics, else tables and sentences."""
    data = _as_json(audit_data(audit))
    models = list(audit.predicted["staleness"])
    columns = ["metric", "measured", "ci_low", "ci_high", "chance_low", "chance_high", *models]
    rows = [row | row["predicted"] for row in data["rows"]]
    write(form, lambda: data, columns, rows, lambda: _print_audit(audit), 2)


def fit_data(trace_fit: TraceFit) -> dict[str, Any]:
    """Return everything about a fitted history by the names of its fields, with arrays and objects in it.

    Its `history` is a mapping, and its `fits` are mappings. Rates are per unit of the record's time.
    """
    history = trace_fit.history
    about = {
        "name": history.name, "events": history.times.size, "start": history.start, "end": history.end,
        "mean_interval": 1 / history.rate, "unit": "s" if history.dated else None,
    }  # fmt: skip
    return vars(trace_fit) | {
        "history": about,
        "fits": [vars(fitted) | {"law": str(fitted.law)} for fitted in trace_fit.fits],
    }


def rate_data(change_rate: ChangeRate) -> dict[str, Any]:
    """Return everything about estimates of a rate by name, with one mapping for each estimate under `estimates`.

    Rates are per unit of the record's time, biases shares of the rate.
    """
    estimates = [
        {"estimator": estimate.estimator, "rate": estimate.rate, "ci_low": estimate.low, "ci_high": estimate.high,
         "bias": estimate.bias.value, "bias_low": estimate.bias.low, "bias_high": estimate.bias.high,
         "poisson_bias": estimate.predicted_bias}
        for estimate in change_rate.estimates
    ]  # fmt: skip
    about = {"name": change_rate.history.name, "unit": "s" if change_rate.history.dated else None}
    return vars(change_rate) | {"history": about, "estimates": estimates}


def audit_data(audit: Audit) -> dict[str, Any]:
    """Return everything about an audit by name, with arrays and objects in it; times are in the unit of the records.

    There are its window, the unit, a row for each metric, the checks of assumptions, the ages of downloads given those
    of updates, the mean wait of an update, notes, and the conclusion.
    """
    shares, x = audit.ages
    return {
        "window": {name: getattr(audit, name) for name in ("start", "end", "updates", "downloads")},
        "unit": "s" if audit.dated else None,
        "rows": [
            {"metric": metric, "measured": measured.value, "ci_low": measured.low, "ci_high": measured.high,
             "doubt": measured.doubt, "chance_low": audit.by_chance[metric][0],
             "chance_high": audit.by_chance[metric][1], "predicted": audit.predicted[metric]}
            for metric, measured in audit.measured.items()
        ],
        "checks": audit.checks,
        "download_age_given_update_age": {"x": x, "shares": shares},
        "mean_wait": audit.wait,
        "notes": audit.notes,
        "conclusion": audit.conclusion,
    }  # fmt: skip


def _as_json(value: Any) -> Any:
    """Return a value as JSON can hold it: lists for arrays and tuples, fields by name, null for infinity and NaN."""
    if isinstance(value, dict):
        return {key: _as_json(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _as_json(value.tolist())
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if is_dataclass(value):
        return _as_json(vars(value))
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _chance_text(value: float | None) -> str:
    """Return a probability as text of two digits, "< 1e-6" if it is below that; empty if it is unknown (None or
    NaN).
    """
    if value is None or math.isnan(value):
        return ""
    return "< 1e-6" if value < 1e-6 else f"{value:.2g}"


def _print_fit(trace_fit: TraceFit) -> None:
    """Print a fitted history: its laws, sentences about it, and the rates of downloads that it needs."""
    _print_laws(trace_fit)
    for line in ("", *_description_lines(trace_fit), ""):
        echo(line)
    _print_needs(trace_fit)


def _print_laws(trace_fit: TraceFit) -> None:
    """Print the events and intervals of a history, and the laws that were fitted to them."""
    import numpy as np

    history, gaps, dated = trace_fit.history, trace_fit.history.intervals, trace_fit.history.dated
    echo(
        f"{history.times.size:,} events over {duration(history.end - history.start, dated)}; intervals: mean "
        f"{duration(gaps.mean(), dated)}, median {duration(float(np.median(gaps)), dated)}, deviation "
        f"{gaps.std() / gaps.mean():.2f} of the mean\n"
    )
    rows = []
    for fitted in trace_fit.fits:
        law = LONG_NUMBER.sub(lambda number: f"{float(number[0]):.6g}", str(fitted.law))
        behind, chance = f"{fitted.aic - trace_fit.fits[0].aic:.1f}", _chance_text(fitted.p_value)
        rows.append([law, behind, f"{fitted.distance:.4f}", chance])
    heads = [f"law of the intervals{', in seconds' * dated}", "AIC over best", "distance", "p"]
    print_table(Table(heads, rows, [f"{family}: {reason}" for family, reason in trace_fit.left_out.items()]))


def _description_lines(trace_fit: TraceFit) -> Iterator[str]:
    """Yield sentences about a fitted history: its tail, its correlation, its beat, and the checks of assumptions."""
    dated, tail = trace_fit.history.dated, trace_fit.tail
    if tail is None:
        yield "tail: too few long intervals, or a clock's, to tell an index"
    else:
        yield (
            f"tail: {tail.points} intervals beyond {duration(tail.start, dated)} fall with index {tail.alpha:.2f} "
            f"({tail.low:.2f} .. {tail.high:.2f}): {tail.verdict}"
        )
    if math.isfinite(exponent := trace_fit.correlation_exponent):
        # With a Hurst parameter above one half, correlation never quite dies.
        hurst = 1 - exponent / 2
        yield f"correlation: falls as lag^-{exponent:.2f}, Hurst parameter {hurst:.2f} if it goes on so"
    if trace_fit.beat:
        period, jitter = trace_fit.beat.values()
        yield f"beat: multiples of {duration(period, dated)}, give or take {duration(jitter, dated)}"
    for check in trace_fit.checks:
        p = f" (p = {_chance_text(check.chance)})".replace("= <", "<") if _chance_text(check.chance) else ""
        yield f"{_answer_word(check)}: {check.assumption}; {check.seen}{p}"


def _answer_word(check: Check) -> str:
    """Return whether the assumption of a check holds, in a word: holds, fails, or open if that could not be told."""
    return {True: "holds", False: "fails", None: "open"}[check.holds]


def _print_needs(trace_fit: TraceFit) -> None:
    """Print two tables: staleness by the rate of constant downloads, and the rates that targets of staleness need."""
    per, unit = (DAY, "a day") if trace_fit.history.dated else (1.0, "a unit")
    heads = [f"downloads {unit}", "staleness, measured", "phases", "empirical law", "Poisson", "error"]
    rows = [
        [f"{row['rate'] * per:.4g}", f"{row['measured']:.4f}", f"{row['low']:.4f} .. {row['high']:.4f}",
         f"{row['empirical']:.4f}", f"{row['poisson']:.4f}", f"{row['poisson'] / row['measured'] - 1:+.0%}"]
        for row in trace_fit.staleness
    ]  # fmt: skip
    print_table(Table(heads, rows))
    echo()
    rows = []
    for row in trace_fit.needs:
        rates = [row[name] * per for name in ("measured", "empirical", "poisson")]
        texts = ["" if math.isnan(rate) else f"{rate:.4g}" for rate in rates]
        rows.append([f"{row['target']:g}", *texts, f"{row['waste']:.2f} times as many"])
    heads = ["staleness at most", f"downloads {unit}, measured", "empirical law", "Poisson", "Poisson asks for"]
    print_table(Table(heads, rows))


def _print_rate(change_rate: ChangeRate) -> None:
    """Print the estimates of a rate of change, with their biases."""
    dated = change_rate.history.dated
    per, unit = (DAY, "a day") if dated else (1.0, "a unit")
    echo(
        f"{change_rate.rate * per:.5g} changes {unit} between the first visit and the last; {change_rate.visits:,} "
        f"visits, one every {duration(change_rate.distance, dated)}, {change_rate.changed:,} of which saw a change\n"
    )
    rows = []
    for estimate in change_rate.estimates:
        rates = [f"{value * per:.5g}" for value in (estimate.rate, estimate.low, estimate.high)]
        has_interval = not math.isnan(estimate.bias.error)
        by_formula = "" if math.isnan(estimate.predicted_bias) else f"{estimate.predicted_bias:+.1%}"
        measured = f"{estimate.bias.value:+.1%}" if math.isfinite(estimate.bias.value) else estimate.bias.doubt
        ends = f"{estimate.bias.low:+.1%} .. {estimate.bias.high:+.1%}" if has_interval else ""
        rows.append([estimate.estimator, rates[0], f"{rates[1]} .. {rates[2]}", measured, ends, by_formula])
    bias = f"bias of {change_rate.window} visits"
    heads = ["estimator", f"changes {unit}", "95 % interval", bias, "95 % interval", "if Poisson"]
    print_table(Table(heads, rows, change_rate.notes))


def _print_audit(audit: Audit) -> None:
    """Print an audit: metrics, checks of assumptions, and the conclusion."""
    dated = audit.dated
    first, last = (
        datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M") if dated else f"{time:.6g}"
        for time in (audit.start, audit.end)
    )
    over = duration(audit.end - audit.start, dated)
    echo(f"{audit.updates:,} updates and {audit.downloads:,} downloads over {over}, {first} to {last}\n")
    rows, doubts = [], []
    models = audit.predicted["staleness"]
    sizes = {model: {comparison.metric: comparison.off for comparison in audit.comparisons(model)} for model in models}
    for metric, measured in audit.measured.items():
        values = (
            measured.value,
            measured.low,
            measured.high,
            *audit.by_chance[metric],
            *audit.predicted[metric].values(),
        )
        value, low, high, least, most, *predicted = (
            duration(x, dated) if metric in DURATION_METRICS else f"{x:.4f}" for x in values
        )
        with_sizes = [
            f"{x} ({round(off, 3) + 0.0:+.1%})" if (off := sizes[model].get(metric)) is not None else x
            for x, model in zip(predicted, models, strict=True)
        ]
        rows.append([metric, value, "" if measured.doubt else f"{low} .. {high}", f"{least} .. {most}", *with_sizes])
        doubts += [f"{metric}: {measured.doubt}"] if measured.doubt else []
    print_table(Table(["metric", "measured", "95 % interval", "if independent", *models], rows, doubts))
    echo()
    checks = [[check.assumption, _answer_word(check), _chance_text(check.chance), check.seen] for check in audit.checks]
    print_table(Table(["assumption", "", "p", "seen"], checks))
    echo()
    waited, apart = duration(audit.wait, dated), duration(2 * audit.wait, dated)
    echo(f"  an update waits {waited} on average, so polls come every {apart} on average, or more often")
    for note in audit.notes:
        echo(f"  {note}")
    for part in audit.conclusion.split("; "):
        echo(part)

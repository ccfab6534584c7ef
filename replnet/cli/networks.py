"""Commands about one network, predict, run, network, size, and about the formulas of the papers."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.completion import name_completer
from replnet.cli.explanation import explain_result, explain_size
from replnet.cli.main import (
    BUDGET,
    DIFFERS,
    EPILOG,
    EXPLAIN,
    FINE,
    INCOMPLETE,
    STRICT,
    commands,
    exit_code,
    format_option,
    override_option,
    seed_option,
    worker_options,
)
from replnet.cli.output import echo, print_json, print_table, write, write_forecast, write_result
from replnet.cli.progress import progress, progress_lines, show_live_run
from replnet.show import Table, result_table

if TYPE_CHECKING:
    from replnet.live import Glimpse, Watch
    from replnet.network import Network


MOST_SKETCHED = 10_000  # sources and replicas of an aggregate
FILE = click.Path(dir_okay=False)
NETWORK = click.argument("network", shell_complete=name_completer("networks", files=True))
OVERRIDES = override_option("Override a field of the file, such as -s depth=2 or -s polls.rate=4. Repeatable.")
MEASURE = click.option(
    "--measure", multiple=True, metavar="NAME", shell_complete=name_completer("metrics"),
    help="A metric beside freshness, such as lag, 'currency(0.4)', 'age_quantile(0.95)' or 'freshness at 0:5:11' "
         "(replnet list metrics). Repeatable.",
)  # fmt: skip
SOURCE = click.Choice(["source"])


def load_with_notes(network: str, overrides: tuple[str, ...]) -> Network:
    """Return the network of a file or name, with overrides applied; print on stderr what was not read of its tables."""
    from replnet.network import load

    loaded = load(network, overrides)
    for note in loaded.notes:
        echo(note, err=True)
    return loaded


BY = click.option("--by", type=SOURCE, help="Add a row per source for groups that can get copies of several sources.")


@commands.command(epilog=EPILOG)
@NETWORK
@OVERRIDES
@MEASURE
@BY
@BUDGET
@EXPLAIN
@format_option()
def predict(
    network: str, overrides: tuple[str, ...], measure: tuple[str, ...], by: str | None, budget: float | None,
    explain: bool, form: str,
) -> int:  # fmt: skip
    """Predict what clients of NETWORK get, by formula."""
    from replnet.network import resources_note
    from replnet.run import predict as formulas

    with progress_lines("reading the network") as progress:
        loaded = load_with_notes(network, overrides)
        if warning := resources_note(loaded):
            echo(warning, err=True)
        result = formulas(loaded, measure, by, budget=budget, tell=partial(progress, 0.0))
    write_result(result, form)
    if explain:
        explain_result(result)
    if result.incomplete:
        echo(result.incomplete, err=True)
    return INCOMPLETE if result.incomplete else FINE


@commands.command(epilog=EPILOG)
@NETWORK
@OVERRIDES
@click.option("--engine", type=click.Choice(["array", "step", "live"]),
              help="array: compiled, for numbers; step: node by node, for reference and delays that differ; "
                   "live: on the wall clock, by Ray actors.  "
                   "[default: array, or step where only that can]")  # fmt: skip
@seed_option("The same seed, the same path.")
@click.option("--horizon", help="Time to emulate, all replications together: units of time, or such as 2h.  "
                                "[live: half a minute's worth]")  # fmt: skip
@click.option("--precision", type=float, help="Go on until every interval's half-width is at most this.")
@click.option("--estimator", type=click.Choice(["sampled", "conditional"]), default="sampled", show_default=True,
              help="sampled: against the updates that happened; conditional: against their law.")  # fmt: skip
@click.option("--replications", type=click.IntRange(min=1),
              help="Independent stationary paths, 30 or more for intervals.  [default: 32, or more]")  # fmt: skip
@click.option("--resolution", type=float, default=0.02, show_default=True,
              help="Half-width above which a comparison counts as unresolved.")  # fmt: skip
@click.option("--threshold", "thresholds", multiple=True, metavar="'[GROUP:]METRIC > X'",
              help="Require this of the measured interval, such as 'freshness > 0.9'. Repeatable.")  # fmt: skip
@click.option("--hosts", help="live: processes that share the nodes, a number or per-node.  [default: one per CPU]")
@click.option("--time-scale", type=float, help="live: seconds per unit of time.  [default: from the cost of messages]")
@worker_options
@click.option("-o", "--output", "out", type=click.Path(file_okay=False),
              help="Keep the run in this directory, for report, status and compare; the same command carries on "
                   "with one that was interrupted there.")  # fmt: skip
@click.option("--trace", metavar="FILE", help="Write every event into this Parquet file.")
@click.option("--dry-run", is_flag=True, help="Print how much time and memory it would take, and run nothing.")
@click.option("--ui", "show", is_flag=True, help="Show the run in the browser while it happens.")
@MEASURE
@BY
@BUDGET
@STRICT
@EXPLAIN
@format_option()
def run(
    network: str, overrides: tuple[str, ...], engine: str | None, thresholds: tuple[str, ...], dry_run: bool,
    show: bool, strict: bool, explain: bool, form: str, **options: Any,
) -> int:  # fmt: skip
    """Emulate NETWORK, and compare that with the formulas."""
    from replnet.cli.thresholds import check, judge
    from replnet.cli.ui import watched_run
    from replnet.network import replication_bytes, require_room, resources_note
    from replnet.run import REPLICATIONS, fastest_engine, read_threshold
    from replnet.text import time_in

    with progress_lines("reading the network"):
        loaded = load_with_notes(network, overrides)
        demands = [read_threshold(text, "--threshold", loaded.unit) for text in thresholds]
        check(demands, loaded, options["by"])
        horizon = options["horizon"] = time_in(options["horizon"], loaded.unit, "--horizon")
        length = horizon / (options["replications"] or REPLICATIONS) if horizon else None
        require_room(loaded.size, replication_bytes(loaded, length))
        if warning := resources_note(loaded, length):
            echo(warning, err=True)
    options["measure"] += tuple(demand.metric for demand in demands)
    engine = engine or fastest_engine(loaded)
    if dry_run:
        return _plan(loaded, engine, **options)
    with watched_run(loaded, engine, options["seed"], show, network) as watch:
        result = _emulate(loaded, engine, watch=watch, **options)
        if watch is not None:
            watch.end(result)
        write_result(result, form)
        if explain:
            explain_result(result)
        answers = judge(demands, result)
        if result.incomplete:
            echo(result.incomplete, err=True)
        if options["out"] is not None:
            carry_on = result.incomplete and engine != "live"
            echo(f"kept in {options['out']}" + ("; the same command carries on" if carry_on else ""), err=True)
    if False in answers:
        return DIFFERS
    return exit_code(result, strict=strict) or (INCOMPLETE if None in answers else FINE)


def _plan(network: Network, engine: str, workers: int | None, **options: Any) -> int:
    """Print the events, time and memory that a run would take, as a short run of it tells, and return the exit code.

    `options` are the other options of `replnet run`, by name; `workers` of None counts one per CPU. The exit code is 3
    if the short run fails, else 0. Raise FieldError if the engine is `live`.
    """
    from replnet.engines import plan_of
    from replnet.lab.experiment import Cell, NetworkSubject
    from replnet.lab.sweeps import forecast
    from replnet.run import EVENTS, Settings, default_horizon
    from replnet.text import FieldError
    from replnet.workers import cores

    if engine == "live":
        raise FieldError("--dry-run", "is not of live runs", "which say how long they take before they begin")
    if options["horizon"] is None and options["precision"] is not None:
        options["horizon"] = default_horizon(plan_of(network), EVENTS[engine])
    options |= {"engine": engine, "measure": ()}  # metrics may need more time than a glance takes
    settings = Settings(**{name: options[name] for name in Settings().of_cell()})
    cell = Cell("", {}, NetworkSubject(network.data()), settings)
    with progress() as report:
        expected = forecast([cell], (), report)
    count = cores() if workers is None else max(workers, 1)
    write_forecast(expected, "a glance", count)
    echo(f"workers: {count}")
    return INCOMPLETE if expected.failed else FINE


def _emulate(network: Network, engine: str, watch: Watch | None, **options: Any) -> Any:
    """Emulate the network by the engine called `engine`, show the progress on stderr, and return the result.

    `options` are the other options of `replnet run`, by name; None leaves one out. `watch` is called with each new
    state of the run, if it is not None.
    """
    from replnet.lab import emulate

    if (options["hosts"] or "").isdigit():
        options["hosts"] = int(options["hosts"])
    arguments = {name: value for name, value in options.items() if value is not None}
    if engine != "live":
        with progress() as report:
            return emulate(network, engine, progress=report, watch=watch, **arguments)
    with show_live_run() as (take, report):

        def show(glimpse: Glimpse) -> None:
            take(glimpse)
            if watch is not None:
                watch(glimpse)

        return emulate(network, engine, watch=show, progress=report, **arguments)


@commands.command(epilog=EPILOG)
@NETWORK
@OVERRIDES
@click.option("-o", "--output", type=FILE, help="Draw into this file instead: PNG, SVG or PDF, by its ending.")
def network(network: str, overrides: tuple[str, ...], output: str | None) -> int:
    """Describe and draw NETWORK."""
    from replnet.network import LARGE_NETWORK

    if output is not None:
        from replnet.show.pictures import draw, picture_format

        picture_format(Path(output))  # raises an error before a large network is read
    with progress_lines("reading the network"):
        loaded = load_with_notes(network, overrides)
        described = loaded.describe()
    echo(described)
    if output is not None:
        with progress_lines("drawing"):
            draw(loaded, output)
        echo(f"drawn to {output}", err=True)
    elif loaded.size <= (MOST_SKETCHED if loaded.kind == "aggregate" else LARGE_NETWORK):
        from replnet.show.pictures import sketch

        echo()
        echo(sketch(loaded.graph))
    return FINE


COLUMNS_AROUND = (
    "group",
    "metric",
    "predicted",
    "measured",
    "95 % interval",
    "meets",
)  # of the table of values next to the answer of `size`


@commands.command()
@NETWORK
@click.option("--target", required=True, metavar="'[GROUP:]METRIC >= X'",
              help="What must be met, for any metric, such as 'lag <= 3' or 'currency(2) >= 0.95'.")  # fmt: skip
@click.option("--vary", help="The field whose smallest value is sought, or whose largest if more of it is worse.  "
                             "[default: budget, polls.rate or downloads.rate; of load, bandwidth]")  # fmt: skip
@override_option("Override a field. Repeatable.")
@seed_option()
@click.option(
    "--precision", type=float, default=0.002, show_default=True, help="Half-width of the intervals that are emulated."
)
@worker_options
@BUDGET
@EXPLAIN
@format_option(words=None)
def size(network: str, target: str, overrides: tuple[str, ...], explain: bool, form: str, **how: Any) -> int:
    """Find the least rate, or other field, that meets a target.

    The answer is emulated, and so are the values next to it.
    """
    from replnet.lab.inverse import size as find
    from replnet.text import FieldError

    with progress() as report:
        try:
            sized = find(network, target, overrides=overrides, progress=report, **how)
        except FieldError as error:
            option = "--" if error.field in ("target", "vary") else ""
            raise FieldError(f"{option}{error.field}", error.wrong, error.right) from None
    if form == "json":
        about: dict[str, Any] = {"vary": sized.key, "value": sized.value, "extreme": sized.extreme, "how": sized.how}
        about |= {"predicted": sized.predicted, "around": sized.rows}
        print_json(about | sized.result.data(), indent=2)
    else:
        if form == "table":
            answer = sized.value_words(sized.value)
            echo(f"{sized.key} = {answer}, the {sized.extreme} that meets {sized.target.text}, {sized.how}")
            more = {
                sized.key: [sized.value_words(row["value"]) for row in sized.rows],
                "meets": [row["meets"] for row in sized.rows],
            }
            print_table(result_table(sized.rows, more=more).select([sized.key, *COLUMNS_AROUND]))
            echo()
        write_result(sized.result, form)
    if explain:
        explain_size(sized)
    if sized.incomplete:
        echo(sized.incomplete, err=True)
    return exit_code(sized.result) or (INCOMPLETE if sized.incomplete else FINE)


COLUMNS = ("formula", "equation", "what it says")


@commands.command()
@click.argument("name", required=False, shell_complete=name_completer("formulas"))
@click.option(
    "-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE",
    help="An argument, such as -s ratio=2 or -s 'updates=pareto(alpha=3, rate=2)'. Repeatable.",
)  # fmt: skip
@format_option()
def formula(name: str | None, overrides: tuple[str, ...], form: str) -> int:
    """Print what formula NAME of the papers says.

    Its arguments are given by -s. Without NAME, list all formulas.
    """
    from replnet.lab import arguments, formulas
    from replnet.text import Document, DocumentError, FieldError, Mark, node_of, override

    if name is None and overrides:
        raise FieldError("NAME", "missing, and -s sets an argument of a formula", "replnet formula NAME -s ...")
    if name is not None:
        from replnet.lab import formula as computed

        document = override(Document("", node_of({"name": name}, Mark(None, None)), ()), overrides)
        arguments(document.data, document)
        try:
            result = computed(**document.data)
        except FieldError as error:  # which only the calculation comes upon
            field = error.field.partition("[")[0]
            raise DocumentError([document.problem((field,), error.wrong, error.right)]) from None
        write_result(result, form)
        return FINE
    values = [(str(listed), listed.basis.source, listed.about.partition("\n")[0]) for listed in formulas().values()]
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in values]
    write(form, lambda: rows, COLUMNS, rows, lambda: print_table(Table(COLUMNS, values).select(COLUMNS[:2])), 2)
    if form == "table":
        echo("what the arguments of one are: replnet formula NAME", err=True)
    return FINE

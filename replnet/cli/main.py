"""Commands and their options. Bodies import what they need, so that `--help` costs nothing else."""

from __future__ import annotations

import errno
import io
import sys
from collections.abc import Callable
from typing import Any

import click

from replnet.cli.codes import BAD_INPUT, DIFFERS, FINE, INCOMPLETE, RAY_LOST
from replnet.cli.formulas import formula
from replnet.cli.screen import echo
from replnet.cli.sweeps import COMMANDS
from replnet.cli.traces import audit, trace
from replnet.version import __version__

MOST_SKETCHED = 10_000  # sources and replicas of an aggregate
EPILOG = "Exit codes: 0 fine, 1 a comparison differs or a threshold failed, 2 bad input, 3 incomplete, 4 no Ray."


def main() -> None:
    """Run a command; every error of the input is a message and exit code 2, never a traceback."""
    try:
        code = commands.main(standalone_mode=False)
    except click.exceptions.Abort:
        echo("interrupted", err=True)
        code = INCOMPLETE
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        echo(words.getvalue(), err=True, nl=False)
        code = error.exit_code
    except KeyboardInterrupt:
        echo("interrupted", err=True)
        code = INCOMPLETE
    except BrokenPipeError:
        # The reader of a pipe has seen enough; closing stderr too keeps the interpreter from complaining.
        sys.stderr.close()
        code = FINE
    except ValueError as error:
        echo(error, err=True)
        code = BAD_INPUT
    except OSError as error:
        # A full disk may be made room on; any other file was named by the user. What has no name is stdout.
        echo(f"{error.filename or 'standard output'}: {error.strerror or error}", err=True)
        code = INCOMPLETE if error.errno in (errno.ENOSPC, errno.EDQUOT) else BAD_INPUT
    except MemoryError:
        echo("out of memory (a smaller network, or a machine with more)", err=True)
        code = BAD_INPUT
    sys.exit(code if isinstance(code, int) else FINE)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=EPILOG)
@click.version_option(__version__, prog_name="replnet")
def commands() -> None:
    """How fresh is what clients get from replicas that pull? Predict it, emulate it, compare.

    NETWORK is a YAML file, or the name of a network that comes with replnet, such as `cascade`.
    """


def network_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE",
        help="Override a field of the file, such as -s depth=2 or -s polls.rate=4. Repeatable.",
    )(command)  # fmt: skip
    return click.argument("network")(command)


def format_option(command: Callable[..., Any]) -> Callable[..., Any]:
    kinds = click.Choice(["table", "json", "csv"])
    return click.option(
        "--format", "form", type=kinds, default="table", show_default=True, help="Of what goes to stdout."
    )(command)


MEASURE = click.option(
    "--measure", multiple=True, metavar="NAME",
    help="How far copies are behind: staleness, staleness_age, change_age, information_age, missing_updates, lag, "
         "'currency(0.4)', 'source_penalty(x)', 'update_penalty(1/(1+x))'. Repeatable.",
)  # fmt: skip


BY = click.option(
    "--by", type=click.Choice(["source"]), help="Also a row per source, of groups that can hear of several."
)


@commands.command(epilog=EPILOG)
@network_options
@MEASURE
@BY
@format_option
def predict(network: str, overrides: tuple[str, ...], measure: tuple[str, ...], by: str | None, form: str) -> int:
    """What the formulas say of NETWORK."""
    from replnet.cli.output import write
    from replnet.cli.progress import Lines
    from replnet.network.network import load
    from replnet.predictions.predict import predict as formulas

    with Lines("reading the network, and evaluating its formulas"):
        result = formulas(load(network, overrides), measure, by)
    write(result, form)
    return FINE


@commands.command(epilog=EPILOG)
@network_options
@click.option("--engine", type=click.Choice(["array", "step", "live"]),
              help="array: compiled, for numbers; step: node by node, for reference and delays that differ; "
                   "live: on the wall clock, by Ray actors.  "
                   "[default: array, or step where only that can]")  # fmt: skip
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="The same seed, the same path.")
@click.option("--horizon", type=float, help="Units of time to emulate, all replications together.")
@click.option("--precision", type=float, help="Go on until every interval's half-width is at most this.")
@click.option("--estimator", type=click.Choice(["sampled", "conditional"]), default="sampled", show_default=True,
              help="sampled: against the updates that happened; conditional: against their law.")  # fmt: skip
@click.option("--replications", type=click.IntRange(min=1),
              help="Independent stationary paths, 30 or more for intervals.  [default: 32, or more]")  # fmt: skip
@click.option("--resolution", type=float, default=0.02, show_default=True,
              help="Half-width above which a comparison counts as unresolved.")  # fmt: skip
@click.option("--threshold", "thresholds", multiple=True, metavar="'[GROUP:]METRIC > X'",
              help="Demand this of the interval, such as 'freshness > 0.9'. Repeatable.")  # fmt: skip
@click.option("--hosts", help="live: processes that share the nodes, a number or per-node.  [default: one per CPU]")
@click.option("--time-scale", type=float, help="live: seconds per unit of time.  [default: from the cost of messages]")
@click.option("--address", help="live: a Ray cluster to join.  [default: RAY_ADDRESS, else a local one]")
@click.option("--trace", metavar="FILE", help="Write every event into this Parquet file.")
@MEASURE
@BY
@format_option
def run(
    network: str,
    overrides: tuple[str, ...],
    engine: str | None,
    thresholds: tuple[str, ...],
    form: str,
    hosts: str | None,
    time_scale: float | None,
    address: str | None,
    **options: Any,
) -> int:
    """Emulate NETWORK and compare what happened with what the formulas say."""
    from replnet.cli.output import write
    from replnet.cli.progress import Lines, progress
    from replnet.cli.thresholds import check, judge, parse
    from replnet.network.memory_check import COPIES, EMULATED, require_room
    from replnet.network.network import load
    from replnet.study.emulate import emulate, suited

    demands = [parse(text) for text in thresholds]
    with Lines("reading the network"):
        loaded = load(network, overrides)
        check(demands, loaded, options["by"])
        require_room(loaded.size, COPIES if loaded.kind == "aggregate" else EMULATED)
    options["measure"] += tuple(demand.metric for demand in demands)
    if engine == "live":
        how = {"hosts": number_or_word(hosts), "time_scale": time_scale, "address": address}
        result = live(loaded, options, how)
    else:
        with progress() as report:
            result = emulate(loaded, engine or suited(loaded), progress=report, **options)
    write(result, form)
    failed, open_ = judge(demands, result)
    if result.incomplete:
        echo(result.incomplete, err=True)
    if result.verdict == "differ" or failed:
        return DIFFERS
    return INCOMPLETE if result.incomplete or open_ else FINE


def number_or_word(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdigit() else text


def live(loaded: Any, options: dict[str, Any], how: dict[str, Any]) -> Any:
    """A live run; what becomes of Ray is for the exit code."""
    from replnet.cli.watch import watching
    from replnet.measure.metrics import metrics
    from replnet.study.event_log import event_log
    from replnet.study.live_run import LiveLost, Unreachable, run_for_real

    if asked := metrics(options.pop("measure")):
        raise ValueError(f"--measure: {asked[0].name} is not measured on the wall clock (use --engine array or step)")
    if options.pop("by") is not None:
        raise ValueError("--by: sources are not measured one by one on the wall clock (use --engine array or step)")
    if options.pop("precision") is not None:
        raise ValueError("--precision: time on the wall clock is asked for (use --horizon or --replications)")
    try:
        with event_log(options.pop("trace"), loaded, options["seed"], "live") as log, watching() as watch:
            return run_for_real(loaded, watch=watch, log=log.add if log else None, **options, **how)
    except (LiveLost, Unreachable) as error:
        echo(error, err=True)
        raise click.exceptions.Exit(RAY_LOST) from error


@commands.command(epilog=EPILOG)
@network_options
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False), help="Draw into this file instead, PNG or SVG by its name."
)
def network(network: str, overrides: tuple[str, ...], output: str | None) -> int:
    """Describe and draw NETWORK."""
    from replnet.cli.progress import Lines
    from replnet.network.network import load
    from replnet.network.pictures.sketch import sketch

    with Lines("reading the network"):
        loaded = load(network, overrides)
        described = loaded.describe()
    echo(described)
    if output is None:
        if loaded.kind != "aggregate" or loaded.size <= MOST_SKETCHED:
            echo()
            echo(sketch(loaded.graph))
    else:
        from replnet.network.pictures.drawing import draw

        with Lines("drawing"):
            draw(loaded, output)
        echo(f"drawn to {output}", err=True)
    return FINE


@commands.command(epilog=EPILOG)
def demo() -> int:
    """A small network predicted, emulated, and run for real on Ray actors: one table, in some fifteen seconds."""
    from replnet.cli.demo import show
    from replnet.study.live_run import LiveLost, Unreachable

    try:
        return FINE if show() else DIFFERS
    except (LiveLost, Unreachable) as error:
        echo(error, err=True)
        return RAY_LOST


@commands.command()
def doctor() -> int:
    """Check that this installation can do its work, and how fast."""
    from replnet.cli.doctor import examine

    return FINE if examine() else DIFFERS


commands.add_command(trace)
for command in COMMANDS:
    commands.add_command(command)
commands.add_command(audit)
commands.add_command(formula)

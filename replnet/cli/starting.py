"""Commands to begin with: files to start from, checks of files, lists of what there is, a demonstration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replnet.cli.completion import name_completer
from replnet.cli.main import BAD_INPUT, EPILOG, FINE, commands, exit_code, format_option
from replnet.cli.output import echo, print_json, print_table, write
from replnet.cli.progress import progress, show_live_run
from replnet.show import Table
from replnet.text import value_text

if TYPE_CHECKING:
    from replnet.measure import Row
    from replnet.run import Emulated

FILE = click.Path(dir_okay=False, path_type=Path)
EXAMPLE_EXPERIMENT = "p2p/fig11-random"  # short, and with most of what an experiment can have
NETWORK_SCHEMA, EXPERIMENT_SCHEMA = "network.schema.json", "experiment.schema.json"  # shipped; `schema` prints the same
KINDS, LIST_COLUMNS = ("networks", "experiments", "laws", "metrics"), ("kind", "name", "about")


@commands.command()
@click.argument("kind", required=False, shell_complete=name_completer("networks"))
@click.option("-o", "--output", type=FILE, help="The file to write.  [default: stdout]")
def init(kind: str | None, output: Path | None) -> int:
    """Write a commented file to start from.

    KIND is a kind of network, such as cascade, or `experiment`. With -o its JSON Schema is written beside it, unless
    there is one: editors with the YAML language server complete and check the file by it. Without KIND, list the kinds.
    """
    from replnet.text import FieldError, shipped, shipped_names, suggestion

    kinds = [*shipped_names(), "experiment"]
    if kind is None:
        echo("\n".join(kinds))
        return FINE
    experiment = kind == "experiment"
    path = shipped(EXAMPLE_EXPERIMENT, "experiments") if experiment else shipped(kind)
    schema_path = shipped(EXPERIMENT_SCHEMA, "experiments") if experiment else shipped(NETWORK_SCHEMA)
    if path is None or path == schema_path:
        raise FieldError("init", f"there is no {kind!r}", suggestion(kind, kinds))
    assert schema_path
    text = path.read_text(encoding="utf-8").replace(f"$schema=../{EXPERIMENT_SCHEMA}", f"$schema={EXPERIMENT_SCHEMA}")
    if output is None:
        click.echo(text, nl=False)
        return FINE
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
        if not (beside := output.with_name(schema_path.name)).exists():
            beside.write_bytes(schema_path.read_bytes())
    except FileExistsError:
        raise FieldError(str(output), "is there already", "another name") from None
    except OSError as error:
        raise FieldError(str(output), f"cannot be written: {error.strerror or error}", "a folder that exists") from None
    command = "replnet sweep" if experiment else "replnet run"
    echo(f"{output} written; run it with: {command} {output}", err=True)
    return FINE


@commands.command()
@click.argument("file", shell_complete=name_completer("networks", "experiments", files=True))
def check(file: str) -> int:
    """Check FILE, a network or an experiment; list all mistakes."""
    from replnet.cli.networks import load_with_notes
    from replnet.lab.experiment import load_experiment
    from replnet.text import DocumentError

    try:
        if _is_experiment(file):
            words = f"an experiment of {len(load_experiment(file).cells()):,} cells"
        else:
            network = load_with_notes(file, ())
            words = f"a network: {network.size:,} nodes, {network.kind}"
    except DocumentError as error:
        echo(error, err=True)
        count = len(error.problems)
        echo(f"{file}: {count} {'problem' if count == 1 else 'problems'}", err=True)
        return BAD_INPUT
    echo(f"{file}: fine, {words}")
    return FINE


def _is_experiment(file: str) -> bool:
    """Whether `file`, a path or a shipped name, has the sections of an experiment; False if it cannot be read."""
    from replnet.network import is_experiment
    from replnet.text import DocumentError, read_yaml, shipped

    path = Path(file) if Path(file).exists() else shipped(file) or shipped(file, "experiments")
    try:
        return path is not None and is_experiment(read_yaml(path))
    except DocumentError:
        return False


@commands.command()
@click.argument("kind", type=click.Choice(["network", "experiment"]), default="network")
def schema(kind: str) -> int:
    """Print the JSON Schema of network or experiment files.

    It is draft-07, by which editors complete and check. Kept beside a file as network.schema.json, it is found in VS
    Code, or any editor with the YAML language server, by a line `# yaml-language-server: $schema=network.schema.json`
    in the file.
    """
    from replnet.lab.experiment import experiment_schema
    from replnet.network import schema as network_schema

    print_json(experiment_schema() if kind == "experiment" else network_schema())
    return FINE


@commands.command("list")
@click.argument("kinds", metavar="[KIND ...]", nargs=-1, type=click.Choice(KINDS))
@format_option()
def list_(kinds: tuple[str, ...], form: str) -> int:
    """List networks, experiments, laws and metrics by name.

    KIND is one or several of these; all without it.
    """
    rows = [
        dict(zip(LIST_COLUMNS, (kind, *item), strict=True))
        for kind in kinds or KINDS
        for item in _names_with_descriptions(kind)
    ]
    lines = [[row[name] for name in LIST_COLUMNS] for row in rows]
    write(form, lambda: rows, LIST_COLUMNS, rows, lambda: print_table(Table(LIST_COLUMNS, lines)))
    return FINE


def _names_with_descriptions(kind: str) -> Iterator[tuple[str, str]]:
    """Yield (name, description) for all that comes with replnet of a kind: networks, experiments, laws or metrics.

    The description of a law is an example of it.
    """
    from replnet.laws import law_families
    from replnet.measure import METRICS, metrics_on_request
    from replnet.text import read_yaml, shipped, shipped_names

    if kind == "laws":
        yield from ((name, example) for name, (_maker, example) in sorted(law_families().items()))
    elif kind == "metrics":
        yield from (METRICS | metrics_on_request()).items()
    else:
        folder = () if kind == "networks" else ("experiments",)
        for name in shipped_names(*folder):
            path = shipped(name, *folder)
            assert path
            lines = path.read_text().splitlines()
            title = read_yaml(path).data.get("title") or lines[0].removeprefix("#").strip()
            yield name, str(title)


@commands.command(epilog=EPILOG)
def demo() -> int:
    """Predict a small network, emulate it, and run it for real.

    The result is one table, in some twelve seconds. The run for real is in Ray actors.
    """
    from replnet.lab import emulate
    from replnet.network import load
    from replnet.run import INTERRUPTED
    from replnet.workers import ray_meanwhile

    network = load("cooperative")
    echo(network.describe())
    echo()
    with ray_meanwhile() as wait_for_ray:
        with progress() as report:
            report(0.0, "emulating it, while Ray starts")
            virtual = emulate(network, horizon=20_000.0, progress=report)
            if virtual.incomplete.startswith(INTERRUPTED):
                raise KeyboardInterrupt
            report(1.0, "waiting for Ray")
            wait_for_ray()
        with show_live_run() as (watch, report):
            # Shared out among 32 paths that run at the same time; seconds do not give a narrower interval.
            live = emulate(network, "live", horizon=300.0, resolution=0.03, watch=watch, progress=report)
    _print_comparison(virtual, live)
    if live.incomplete:
        echo(live.incomplete, err=True)
    return exit_code(virtual, live)


def _print_comparison(virtual: Emulated, live: Emulated) -> None:
    """Print the results of emulating a network and of running it live in one table, and below it how each was done."""
    heads = ["group", "metric", "predicted", "emulated (array)", "for real (Ray)", "verdicts"]
    live_rows = {(row.group, row.metric): row for row in live.rows}
    rows = []
    for row in virtual.rows:
        other = live_rows.get((row.group, row.metric))
        measured = _with_half_width(row), _with_half_width(other) if other else ""
        verdicts = f"{row.verdict}, {other.verdict if other else ''}"
        rows.append([row.group, row.metric, value_text(row.predicted), *measured, verdicts])
    print_table(Table(heads, rows, [f"for real: {row.note}" for row in live.rows if row.predicted is None]))
    provenance = live.provenance
    delay = provenance["reply_delay"]["mean"] * provenance["time_scale"]
    echo(
        f"emulated: {virtual.events:,} events in {virtual.seconds:.1f} s. For real: {live.events:,} events and "
        f"{provenance['messages']:,} messages between nodes in {provenance['hosts']} Ray actors, "
        f"{provenance['messages_per_second']:,.0f} messages a second, replies after {1e3 * delay:.2g} ms."
    )


def _with_half_width(row: Row) -> str:
    """Return the measured value of a row as text, with ± half the width of its interval if it has one.

    The text is empty if nothing was measured.
    """
    if row.measured is None or row.ci_low is None or row.ci_high is None:
        return value_text(row.measured)
    return f"{row.measured:.4f} ± {(row.ci_high - row.ci_low) / 2:.4f}"

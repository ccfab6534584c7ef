"""Commands to begin with: init, check, schema, size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from replnet.cli.codes import BAD_INPUT, DIFFERS, FINE, INCOMPLETE
from replnet.cli.screen import echo

FILE = click.Path(dir_okay=False, path_type=Path)
EXAMPLE = "p2p/fig11-random"  # of an experiment: short, and with most of what there is


@click.command()
@click.argument("kind", required=False)
@click.option("-o", "--output", type=FILE, help="The file to write.  [default: stdout]")
def init(kind: str | None, output: Path | None) -> int:
    """A commented file to start from: KIND is a kind of network, such as cascade, or `experiment`.

    Without KIND, the kinds there are.
    """
    from replnet.text.documents import shipped, shipped_names
    from replnet.text.errors import suggestion

    known = [*shipped_names(), "experiment"]
    if kind is None:
        for name in known:
            echo(name)
        return FINE
    path = shipped(EXAMPLE, "experiments") if kind == "experiment" else shipped(kind)
    if path is None:
        raise ValueError(f"init: there is no {kind!r} ({suggestion(kind, known)})")
    text = path.read_text(encoding="utf-8")
    if output is None:
        click.echo(text, nl=False)
        return FINE
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ValueError(f"{output}: is there already (another name)") from None
    except OSError as error:
        raise ValueError(f"{output}: cannot be written: {error.strerror or error} (a folder that exists)") from None
    command = "replnet sweep" if kind == "experiment" else "replnet run"
    echo(f"{output} written; run it with: {command} {output}", err=True)
    return FINE


@click.command()
@click.argument("file")
def check(file: str) -> int:
    """Check FILE, a network or an experiment: all that is wrong with it, at once."""
    from replnet.network.network import load
    from replnet.study.experiment.experiment import load_experiment
    from replnet.text.errors import InputError

    is_experiment = _is_experiment(file)
    try:
        if is_experiment:
            loaded = load_experiment(file)
            words = f"an experiment of {len(loaded.cells()):,} cells"
        else:
            network = load(file)
            words = f"a network: {network.size:,} nodes, {network.kind}"
    except InputError as error:
        echo(error, err=True)
        count = len(error.problems)
        echo(f"{file}: {count} {'problem' if count == 1 else 'problems'}", err=True)
        return BAD_INPUT
    echo(f"{file}: fine, {words}")
    return FINE


def _is_experiment(file: str) -> bool:
    """By its sections, if there is such a file; else by its name."""
    from replnet.text.documents import read_yaml, shipped
    from replnet.text.errors import InputError

    path = Path(file) if Path(file).exists() else shipped(file) or shipped(file, "experiments")
    if path is None:
        return False
    try:
        data = read_yaml(path).data
    except InputError:
        return False
    keys = {"title", "vary", "network", "optimise", "formula", "run", "claims"}
    return "kind" not in data and bool(data.keys() & keys)


@click.command()
@click.argument("what", type=click.Choice(["network", "experiment"]), default="network")
def schema(what: str) -> int:
    """The JSON Schema of network or experiment files, for editors that complete and check.

    In VS Code or any editor with the YAML language server, begin a file with
    `# yaml-language-server: $schema=network.schema.json`.
    """
    from replnet.network.specification import schema as network_schema
    from replnet.study.experiment.schema import experiment_schema

    click.echo(json.dumps(experiment_schema() if what == "experiment" else network_schema(), indent=1))
    return FINE


@click.command()
@click.argument("network")
@click.option("--target", required=True, metavar="'[GROUP:]freshness >= X'", help="What is to be met.")
@click.option("--vary", help="The field whose least value is sought.  [default: budget, polls.rate or downloads.rate]")
@click.option("-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Override a field. Repeatable.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True)
@click.option("--precision", type=float, default=0.002, show_default=True, help="Half-width of what is emulated.")
@click.option("--format", "form", type=click.Choice(["table", "json", "csv"]), default="table", show_default=True)
def size(network: str, target: str, overrides: tuple[str, ...], form: str, **how: Any) -> int:
    """The smallest rate, or other field, with which NETWORK meets a target; verified by emulation."""
    from replnet.cli.output import write
    from replnet.cli.progress import progress
    from replnet.cli.thresholds import parse
    from replnet.study.sweeps.sizing import size as find

    try:
        demand = parse(target)
    except ValueError as error:
        raise ValueError(str(error).replace("--threshold", "--target")) from None
    if demand.metric != "freshness" or not demand.above:
        raise ValueError(f"--target: {target!r} is not a freshness to reach ('freshness >= 0.9')")
    with progress() as report:
        found = find(network, overrides, demand.bound, group=demand.group, progress=report, **how)
    if form == "json":
        about = {"vary": found.key, "value": found.value, "how": found.how, "predicted": found.predicted}
        click.echo(json.dumps({**about, **found.result.data()}, indent=2, allow_nan=False, default=str))
    else:
        if form == "table":
            echo(f"{found.key} = {found.value:.6g}, {found.how}")
        write(found.result, form)
    if found.result.verdict == "differ":
        return DIFFERS
    return INCOMPLETE if found.result.incomplete else FINE


COMMANDS: list[click.Command] = [size, init, check, schema]

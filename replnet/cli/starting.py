"""Commands to begin with: files to start from and what is wrong with them, a demonstration, what works here."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replnet.cli.main import BAD_INPUT, DIFFERS, EPILOG, FINE, code_of, commands, formats
from replnet.cli.output import echo, print_json, print_table, write
from replnet.cli.progress import progress, watching
from replnet.text.numbers import number
from replnet.version import __version__

if TYPE_CHECKING:
    from replnet.measure.row import Row
    from replnet.study.result import Emulated

FILE = click.Path(dir_okay=False, path_type=Path)
EXAMPLE = "p2p/fig11-random"  # of an experiment: short, and with most of what there is
SECTIONS = {"title", "vary", "network", "optimise", "formula", "run", "claims"}  # that make a file an experiment
KINDS, LISTED = ("networks", "experiments", "laws", "metrics"), ("kind", "name", "about")
NEEDED = ("numpy", "numba", "scipy", "networkx", "pandas", "pydantic", "ruamel.yaml", "click", "rich", "matplotlib")


@commands.command()
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
        echo("\n".join(known))
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


@commands.command()
@click.argument("file")
def check(file: str) -> int:
    """Check FILE, a network or an experiment: all that is wrong with it, at once."""
    from replnet.network.network import load
    from replnet.study.experiment.experiment import load_experiment
    from replnet.text.errors import InputError

    try:
        if _is_experiment(file):
            words = f"an experiment of {len(load_experiment(file).cells()):,} cells"
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
    try:
        data = read_yaml(path).data if path else {}
    except InputError:
        return False
    return "kind" not in data and bool(data.keys() & SECTIONS)


@commands.command()
@click.argument("what", type=click.Choice(["network", "experiment"]), default="network")
def schema(what: str) -> int:
    """The JSON Schema of network or experiment files, for editors that complete and check.

    In VS Code or any editor with the YAML language server, begin a file with
    `# yaml-language-server: $schema=network.schema.json`.
    """
    from replnet.network.specification import schema as network_schema
    from replnet.study.experiment.sections import experiment_schema

    print_json(experiment_schema() if what == "experiment" else network_schema())
    return FINE


@commands.command("list")
@click.argument("kinds", metavar="[KIND ...]", nargs=-1, type=click.Choice(KINDS))
@formats()
def list_(kinds: tuple[str, ...], form: str) -> int:
    """What comes with replnet, by name: KIND is networks, experiments, laws or metrics, or all of them."""
    rows = [dict(zip(LISTED, (kind, *one), strict=True)) for kind in kinds or KINDS for one in _known(kind)]
    shown = [[row[name] for name in LISTED] for row in rows]
    write(form, lambda: rows, LISTED, rows, lambda: print_table(LISTED, shown))
    return FINE


def _known(kind: str) -> Iterator[tuple[str, str]]:
    """Names, with what each is."""
    from replnet.laws.law import FAMILIES
    from replnet.measure.row import METRICS, ON_REQUEST
    from replnet.text.documents import read_yaml, shipped, shipped_names

    if kind == "laws":
        yield from ((name, example) for name, (_maker, example) in sorted(FAMILIES.items()))
    elif kind == "metrics":
        yield from (METRICS | ON_REQUEST).items()
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
    """A small network predicted, emulated, and run for real on Ray actors: one table, in some fifteen seconds."""
    from replnet.network.network import load
    from replnet.study.emulate import emulate
    from replnet.study.live_run import ray_meanwhile, run_for_real

    network = load("cooperative")
    echo(network.describe())
    echo()
    with ray_meanwhile() as started:
        with progress() as report:
            report(0.0, "emulating it, while Ray starts")
            virtual = emulate(network, horizon=20_000.0, progress=report)
            report(1.0, "waiting for Ray")
            started()
        with watching() as watch:
            # Shared out among 32 paths that run at the same time; seconds do not give a narrower interval.
            live = run_for_real(network, horizon=400.0, resolution=0.03, watch=watch)
    _beside(virtual, live)
    if live.incomplete:
        echo(live.incomplete, err=True)
    return code_of(virtual, live)


def _beside(virtual: Emulated, live: Emulated) -> None:
    """What was emulated, and what happened for real, in one table."""
    heads = ["group", "metric", "predicted", "emulated (array)", "for real (Ray)", "verdicts"]
    rows = [
        [a.group, a.metric, number(a.predicted), _give_or_take(a), _give_or_take(b), f"{a.verdict}, {b.verdict}"]
        for a, b in zip(virtual.rows, live.rows, strict=False)
    ]
    print_table(heads, rows)
    for row in live.rows:
        if row.predicted is None:
            echo(f"  for real: {row.note}")
    seen = live.provenance
    delay = seen["reply_delay"]["mean"] * seen["time_scale"]
    echo(
        f"emulated: {virtual.events:,} events in {virtual.seconds:.1f} s. For real: {live.events:,} events and "
        f"{seen['messages']:,} messages between nodes in {seen['hosts']} Ray actors, "
        f"{seen['messages_per_second']:,.0f} messages a second, replies after {1e3 * delay:.2g} ms."
    )


def _give_or_take(row: Row) -> str:
    if row.measured is None or row.ci_low is None or row.ci_high is None:
        return number(row.measured)
    return f"{row.measured:.4f} ± {(row.ci_high - row.ci_low) / 2:.4f}"


@commands.command(epilog=EPILOG)
@click.option("--address", help="Check this Ray cluster as well, node by node.")
def doctor(address: str | None) -> int:
    """Check that this installation can do its work, and how fast."""
    import platform

    echo(f"replnet {__version__}, Python {platform.python_version()}, {platform.platform()}, {os.cpu_count()} CPUs")
    checks = [(sys.version_info >= (3, 11), "Python 3.11 or newer"), *map(_library, NEEDED), *_engines()]
    checks += _cluster(address) if address else []
    for good, words in checks:
        echo(f"  {'ok  ' if good else 'FAIL'}  {words}")
    return FINE if all(good for good, _ in checks) else DIFFERS


def _cluster(address: str) -> Iterator[tuple[bool, str]]:
    from replnet.live.cluster_check import check_cluster

    for one in check_cluster(address):
        node = one.node
        if node.unfit or not node.cpus:
            yield not node.unfit, f"{node}: {node.unfit or 'no CPUs for jobs, left alone'}"
            continue
        assert node.found
        assert one.offset
        assert one.costs
        code = "" if node.up_to_date else " of other sources" if node.found.replnet else " missing"
        has = f"Python {node.found.python}, replnet{code or ' as here'}{' (ours travels with the job)' if code else ''}"
        room = f"CPUs {node.cpus:g}, memory {node.memory / 1e9:.1f} GB"
        clock = f"clock {1e3 * one.offset.seconds:+.2f} ± {1e3 * one.offset.error:.2f} ms"
        messages = (
            f"{1e3 * one.costs.latency:.2g} ms to a batch of messages, {1e6 * one.costs.message:.0f} µs to a message"
        )
        yield True, f"{node}: {has}; {room}; {clock}; {messages}"


def _library(name: str) -> tuple[bool, str]:
    from importlib import metadata

    try:
        return True, f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return False, f"{name} is missing (pip install {name})"


def _engines() -> list[tuple[bool, str]]:
    from replnet.network.network import cooperative
    from replnet.study.emulate import emulate
    from replnet.study.result import instructions

    laws = {"updates": "exponential(rate=1)", "downloads": "exponential(rate=1)", "polls": "exponential(rate=4)"}
    network = cooperative(replicas=100, peers=1, **laws)
    begun = time.perf_counter()
    emulate(network, horizon=32)
    compiled = time.perf_counter() - begun
    fast, slow = emulate(network, horizon=4e4), emulate(network, "step", horizon=64)
    millions, thousands = fast.events / fast.seconds / 1e6, slow.events / slow.seconds / 1e3
    return [
        (True, f"computing with {instructions()} (with others, results differ in their last digits)"),
        (True, f"kernels ready in {compiled:.1f} s (compiled once, then kept on disk)"),
        (fast.verdict == "agree", f"array: {millions:.0f} million events a second, {fast.verdict}"),
        (bool(slow.rows), f"step: {thousands:.0f} thousand events a second"),
    ]

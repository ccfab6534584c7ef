"""Commands about experiments: sweep, status, report, compare, reproduce."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from replnet.cli.codes import DIFFERS, FINE, INCOMPLETE, RAY_LOST
from replnet.cli.screen import echo
from replnet.cli.starting import COMMANDS as STARTING

FOLDER = click.Path(file_okay=False, path_type=Path)
FORMAT = click.option(
    "--format", "form", type=click.Choice(["table", "json", "csv", "markdown"]), default="table", show_default=True,
    help="Of what goes to stdout.",
)  # fmt: skip


def ray_options(command: Callable[..., Any]) -> Callable[..., Any]:
    workers = click.option(
        "--workers", type=click.IntRange(min=0),
        help="Ray workers; 0 runs in this process, without Ray.  "
             "[default: one per CPU, started when some seconds of work are left]",
    )  # fmt: skip
    return workers(
        click.option("--address", help="A Ray cluster to join.  [default: RAY_ADDRESS, else a local one]")(command)
    )


def safely(command: Callable[..., int]) -> Callable[..., int]:
    """What became of Ray or of the disk is for the exit code."""
    from functools import wraps

    @wraps(command)
    def guarded(*args: Any, **options: Any) -> int:
        from replnet.study.sweeps.sweep import DiskError, RayLost

        try:
            return command(*args, **options)
        except RayLost as error:
            echo(f"{error}\nwhat is finished is kept; the same command carries on", err=True)
            return RAY_LOST
        except DiskError as error:
            echo(error, err=True)
            return INCOMPLETE

    return guarded


@click.command()
@click.argument("experiment", required=False)
@click.option("-o", "--output", type=FOLDER, help="The run directory; one of the same experiment is carried on with.")
@click.option(
    "-s", "--set", "overrides", multiple=True, metavar="KEY=VALUE",
    help="Override a value, a field of the network or a setting, such as -s B=30, -s polls.rate=4, "
         "-s run.precision=0.01; a list or range makes an axis: -s peers=1,2,3, -s k=1:9, -s replicas=10:500:30log. "
         "Repeatable.",
)  # fmt: skip
@click.option("--zip", "zips", multiple=True, metavar="A,B", help="Axes that move together. Repeatable.")
@click.option("--quick", is_flag=True, help="With what the section `quick` of the file says.")
@click.option("--dry-run", is_flag=True, help="Print what it would take, and run nothing.")
@click.option("--resume", type=FOLDER, help="Carry on with this run directory, which says itself what was asked.")
@ray_options
@FORMAT
@safely
def sweep(
    experiment: str | None,
    output: Path | None,
    overrides: tuple[str, ...],
    zips: tuple[str, ...],
    quick: bool,
    dry_run: bool,
    resume: Path | None,
    workers: int | None,
    address: str | None,
    form: str,
) -> int:
    """Run EXPERIMENT, a YAML file or the name of one that comes with replnet, such as p2p/fig3.

    Every cell is run once, and its table compared with the formulas. Ctrl-C or a crash loses the cells in flight;
    the same command carries on.
    """
    from replnet.cli.progress import Lines
    from replnet.cli.sweep_tables import say, write
    from replnet.cli.sweep_view import watched
    from replnet.study.sweeps import sweep as sweeps

    with Lines("reading the experiment"):
        asked = _asked(experiment, resume, overrides, zips, quick)
        asked.cells()
    if output is not None and resume is not None:
        raise click.UsageError("--resume is the run directory: leave out -o")
    folder = output or resume
    if dry_run:
        return _plan(asked, folder, workers)
    with watched(asked.name) as progress:
        found = sweeps.sweep(asked, folder, workers=workers, address=address, progress=progress)
    write(found, form)
    say(found)
    if found.incomplete and folder is not None:
        echo(f"carry on with: replnet sweep --resume {folder}", err=True)
    return _code(found)


def _asked(experiment: str | None, resume: Path | None, overrides: Any, zips: Any, quick: bool) -> Any:
    """The experiment of a file with its overrides, or of a run directory."""
    from replnet.study.experiment.experiment import load_experiment
    from replnet.study.sweeps.sweep import Sweep

    if (experiment is None) == (resume is None):
        raise click.UsageError("give an EXPERIMENT, or --resume with a run directory")
    if experiment is not None:
        loaded = load_experiment(experiment, overrides, zips)
        return loaded.quick() if quick else loaded
    if overrides or zips or quick:
        raise click.UsageError("a run directory says itself what was asked: leave out -s, --zip and --quick")
    assert resume is not None
    return Sweep.read(resume).experiment


def _plan(asked: Any, folder: Path | None, workers: int | None) -> int:
    """Of a dry run, on stdout."""
    from replnet.cli.progress import progress
    from replnet.cli.sweep_view import span
    from replnet.study.sweeps.forecast import outlook
    from replnet.study.sweeps.sweep import known

    cells = asked.cells()
    with progress() as report:
        there = known(folder, asked) if folder else None
        found = outlook(cells, there.records if there else {}, report)
    for axis in asked.axes:
        some = [str(value) for value in axis.values]
        few = some if len(some) <= 8 else [*some[:3], "...", some[-1]]
        echo(f"{axis.name}: {', '.join(few)} ({len(some)})")
    echo(f"cells: {found.cells:,}" + (f", of which {found.finished:,} are finished" if found.finished else ""))
    echo(f"events: about {found.events:.2g}")
    share = f", about {span(found.seconds / workers)} on {workers} workers" if workers and workers > 1 else ""
    echo(f"time: about {span(found.seconds)} on one CPU{share}")
    echo(f"memory: about {found.memory / 1e6:.0f} MB per worker")
    echo(f"estimated from a glance at {found.sampled} of the cells; precision costs with its square", err=True)
    if found.failed:
        echo(f"failed: {found.failed}", err=True)
    return INCOMPLETE if found.failed else FINE


def _code(*found: Any) -> int:
    if any(one.verdict == "differ" for one in found):
        return DIFFERS
    return INCOMPLETE if any(one.incomplete for one in found) else FINE


@click.command()
@click.argument("folder", type=FOLDER)
def status(folder: Path) -> int:
    """How far the sweep in FOLDER is."""
    from replnet.cli.sweep_tables import say
    from replnet.study.store.store import read
    from replnet.study.sweeps.sweep import Sweep

    contents, found = read(folder), Sweep.read(folder)
    echo(f"{found.experiment.name}: {found.experiment.title}")
    echo(contents.note)
    for key, why in found.failures.items():
        where = next((cell.values for cell in found.cells if cell.key == key), {})
        echo(f"failed: {', '.join(f'{name} = {value}' for name, value in where.items())}: {why}")
    say(found)
    return INCOMPLETE if found.incomplete else FINE


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("-o", "--output", type=FOLDER, help="Where report.html, figures and data go.  [default: FOLDER/report]")
def report(folder: Path, output: Path | None) -> int:
    """Write a report of the sweep in FOLDER, finished or not: one HTML page, each figure as SVG, its data as CSV."""
    from replnet.cli.progress import Lines
    from replnet.report import write
    from replnet.report.sections import opened, section

    with Lines("reading the run, and drawing its figures"):
        found = opened(folder)
        page = write(output or folder / "report", [section(found)], found.experiment.title, found.provenance)
    echo(page)
    if found.incomplete:
        echo(f"incomplete: {found.incomplete}", err=True)
    return INCOMPLETE if found.incomplete else FINE


@click.command()
@click.argument("first", type=FOLDER)
@click.argument("second", type=FOLDER)
@FORMAT
def compare(first: Path, second: Path, form: str) -> int:
    """The difference FIRST - SECOND of two runs, cell by cell, with its interval.

    The interval is that of independent runs: with equal seeds it is wider than it need be.
    """
    import sys

    from replnet.cli.screen import print_table
    from replnet.cli.sweep_tables import number, text
    from replnet.study.sweeps.sweep import Sweep
    from replnet.study.sweeps.table import DIFFERENCES, differences
    from replnet.text.csv_table import write_csv

    one, other = Sweep.read(first), Sweep.read(second)
    axes, rows, verdict = differences(one, other)
    columns = [*axes, *DIFFERENCES]
    if form == "json":
        click.echo(json.dumps({"first": str(first), "second": str(second), "verdict": verdict, "rows": rows}, indent=1))
    elif form == "csv":
        write_csv(sys.stdout, columns, ([row[name] for name in columns] for row in rows))
    else:
        numbers = {"first", "second", "difference", "ci_low", "ci_high"}
        shown = [[number(row[c]) if c in numbers else text(row[c]) for c in columns] for row in rows]
        print_table(columns, shown, form)
    if one.about["instructions"] != other.about["instructions"]:
        echo("note: the runs were computed with different instructions: last digits may differ", err=True)
    echo(f"{len(rows):,} rows in both; overall: {verdict or 'nothing to judge'}", err=True)
    return DIFFERS if verdict == "differ" else FINE


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="In minutes, with wider intervals.")
@click.option("-o", "--output", type=FOLDER, help="Where runs and the report go.  [default: reproduced]")
@ray_options
@FORMAT
@safely
def reproduce(
    names: tuple[str, ...], quick: bool, output: Path | None, workers: int | None, address: str | None, form: str
) -> int:
    """Run the experiments that come with replnet, NAMES such as p2p/table1 or p2p, or all; one report of them."""
    from replnet.cli.reproducing import chosen, run_all

    folder = output or Path("reproduced-quick" if quick else "reproduced")
    found = run_all(chosen(names), quick, folder, workers, address, form)
    return _code(*found)


COMMANDS: list[click.Command] = [sweep, status, report, compare, reproduce, *STARTING]

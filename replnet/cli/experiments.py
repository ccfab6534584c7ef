"""Commands about experiments: sweep, status, report, compare, reproduce."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.completion import completing
from replnet.cli.explanation import explain_sweep
from replnet.cli.main import (
    BUDGET,
    DIFFERS,
    EXPLAIN,
    FINE,
    INCOMPLETE,
    STRICT,
    code_of,
    commands,
    formats,
    overriding,
    workers,
)
from replnet.cli.output import echo, print_json, print_table, say, sweep_data, write, write_outlook, write_sweep
from replnet.cli.progress import progress, watched, working
from replnet.text.numbers import number, plain, span, text

if TYPE_CHECKING:
    from replnet.study.experiment.experiment import Experiment
    from replnet.study.sweeps.sweep import Sweep, SweepProgress

FOLDER = click.Path(file_okay=False, path_type=Path)
FORMAT = formats("markdown")


@commands.command()
@click.argument("experiment", required=False, shell_complete=completing("experiments", files=True))
@click.option("-o", "--output", type=FOLDER, help="The run directory; one of the same experiment is carried on with.")
@overriding(
    "Override a value, a field of the network or a setting, such as -s B=30, -s polls.rate=4, "
    "-s run.precision=0.01; a list or range makes an axis: -s peers=1,2,3, -s k=1:9, -s replicas=10:500:30log. "
    "Repeatable."
)
@click.option("--zip", "zips", multiple=True, metavar="A,B", help="Axes that move together. Repeatable.")
@click.option("--quick", is_flag=True, help="With what the section `quick` of the file says.")
@click.option("--dry-run", is_flag=True, help="Print what it would take, and run nothing.")
@click.option("--resume", type=FOLDER, help="Carry on with this run directory, which says itself what was asked.")
@workers
@BUDGET
@STRICT
@EXPLAIN
@FORMAT
def sweep(
    output: Path | None, resume: Path | None, dry_run: bool, strict: bool, explain: bool, form: str, **options: Any
) -> int:
    """Run EXPERIMENT, a YAML file or the name of one that comes with replnet, such as p2p/fig3.

    Every cell is run once, and its table compared with the formulas. Ctrl-C or a crash loses the cells in flight;
    the same command carries on.
    """
    pool = {name: options.pop(name) for name in ("workers", "address", "budget")}
    with working("reading the experiment"):
        asked = _asked(resume, **options)
        asked.cells()
    if output is not None and resume is not None:
        raise click.UsageError("--resume is the run directory: leave out -o")
    folder = output or resume
    if dry_run:
        return _plan(asked, folder, pool["workers"])
    found = _run(asked, folder, asked.name, **pool)
    write_sweep(found, form)
    if explain:
        explain_sweep(found)
    say(found)
    if found.incomplete and folder is not None:
        echo(f"carry on with: replnet sweep --resume {folder}", err=True)
    return code_of(found, strict=strict)


def _asked(
    resume: Path | None, experiment: str | None, overrides: Sequence[str], zips: Sequence[str], quick: bool
) -> Experiment:
    """The experiment of a file with its overrides, or of a run directory."""
    from replnet.study.experiment.experiment import load_experiment
    from replnet.study.sweeps.sweep import Sweep

    if experiment is not None and resume is None:
        loaded = load_experiment(experiment, overrides, zips)
        return loaded.quick() if quick else loaded
    if experiment is not None or resume is None:
        raise click.UsageError("give an EXPERIMENT, or --resume with a run directory")
    if overrides or zips or quick:
        raise click.UsageError("a run directory says itself what was asked: leave out -s, --zip and --quick")
    found = Sweep.read(resume)
    if found.paths:
        raise click.UsageError(f"{resume} is the directory of one run: the same replnet run carries on with it")
    return found.experiment


def _run(asked: Experiment, folder: Path | None, title: str, **pool: Any) -> Sweep:
    """The cells that are not finished, in sight of the user."""
    from replnet.study.sweeps.sweep import sweep

    with _watched(title) as look:
        return sweep(asked, folder, progress=look, **pool)


@contextmanager
def _watched(title: str) -> Iterator[SweepProgress | None]:
    """In sight of the user, who is told what to do where Ray is lost."""
    from replnet.study.sweeps.sweep import RayLost

    with watched(title) as look:
        try:
            yield look
        except RayLost as error:
            error.add_note("what is finished is kept; the same command carries on")
            raise


def _plan(asked: Experiment, folder: Path | None, workers: int | None) -> int:
    """Of a dry run, on stdout."""
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
    write_outlook(found, f"a glance at {found.sampled} of the cells", workers)
    return INCOMPLETE if found.failed else FINE


@commands.command()
@click.argument("folder", type=FOLDER)
def status(folder: Path) -> int:
    """How far the sweep or the run in FOLDER is."""
    from replnet.study.sweeps.sweep import Sweep

    found = Sweep.read(folder)
    echo(f"{found.experiment.name}: {found.experiment.title}")
    echo(found.about["note"])
    values = {cell.key: cell.values for cell in found.cells}
    for key, why in found.failures.items():
        echo(f"failed: {', '.join(f'{name} = {value}' for name, value in values.get(key, {}).items())}: {why}")
    say(found)
    return INCOMPLETE if found.incomplete else FINE


@commands.command()
@click.argument("folder", type=FOLDER)
@click.option("-o", "--output", type=click.Path(path_type=Path),
              help="A file, REPORT.html; or a folder for report.html, figures and data.  "
                   "[default: FOLDER/report]")  # fmt: skip
def report(folder: Path, output: Path | None) -> int:
    """Write a report of the sweep or run in FOLDER, finished or not: one HTML page, figures as SVG, data as CSV."""
    from replnet.report import write as write_report
    from replnet.report.section import section_of
    from replnet.study.sweeps.finished import Sweep

    with working("reading the run, and drawing its figures"):
        found = Sweep.read(folder)
        page = write_report(output or folder / "report", [section_of(found)], found.experiment.title, found.provenance)
    echo(page)
    if found.incomplete:
        echo(f"incomplete: {found.incomplete}", err=True)
    return INCOMPLETE if found.incomplete else FINE


@commands.command()
@click.argument("first", type=FOLDER)
@click.argument("second", type=FOLDER)
@FORMAT
def compare(first: Path, second: Path, form: str) -> int:
    """The difference FIRST - SECOND of two runs, cell by cell, with its interval.

    Runs of equal seeds share their random numbers, and are compared replication by replication.
    """
    from replnet.study.sweeps.judged_table import DIFFERENCES, differences
    from replnet.study.sweeps.sweep import Sweep

    one, other = Sweep.read(first), Sweep.read(second)
    axes, rows, verdict = differences(one, other)
    columns = [*axes, *DIFFERENCES]
    numbers = {"first", "second", "difference", "ci_low", "ci_high"}
    shown = [[number(row[name]) if name in numbers else plain(row[name]) for name in columns] for row in rows]
    data = {"first": str(first), "second": str(second), "verdict": verdict, "rows": rows}
    write(form, lambda: data, columns, rows, lambda: print_table(columns, shown, form))
    if one.about["instructions"] != other.about["instructions"]:
        echo("note: the runs were computed with different instructions: last digits may differ", err=True)
    echo(f"{len(rows):,} rows in both; overall: {verdict or 'nothing to judge'}", err=True)
    return DIFFERS if verdict == "differ" else FINE


@commands.command()
@click.argument("names", nargs=-1, shell_complete=completing("experiments"))
@click.option("--quick", is_flag=True, help="In minutes, with wider intervals.")
@click.option("-o", "--output", type=FOLDER, help="Where runs and the report go.  [default: reproduced]")
@workers
@BUDGET
@FORMAT
def reproduce(names: tuple[str, ...], quick: bool, output: Path | None, form: str, **pool: Any) -> int:
    """Run the experiments that come with replnet, NAMES such as p2p/table1 or p2p, or all; one report of them."""
    from replnet.report.reproduction import COLUMNS, reproduce
    from replnet.text.extras import require_extra

    require_extra("matplotlib", "reproduce")  # before it has run for minutes
    folder = output or Path("reproduced-quick" if quick else "reproduced")

    def ended(one: Sweep, seconds: float) -> None:
        echo(f"{one.experiment.name}: {one.verdict or 'done'} in {span(seconds)}", err=True)

    found = reproduce(*names, quick=quick, out=folder, watching=_watched, ended=ended, **pool)
    if form == "json":
        print_json([sweep_data(one) for one in found.sweeps])
    elif form == "csv":
        for one in found.sweeps:
            write_sweep(one, form)
    else:
        print_table(COLUMNS, [[text(row[name]) for name in COLUMNS] for row in found.rows], form)
    for one in found.sweeps:
        say(one)
    echo(f"in all: {found.words}", err=True)
    echo(f"report: {found.page}", err=True)
    if found.incomplete:
        echo("carry on with: the same command", err=True)
    return code_of(*found.sweeps)

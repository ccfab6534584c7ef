"""Commands about experiments: sweep, status, report, compare, reproduce."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replnet.cli.completion import name_completer
from replnet.cli.explanation import explain_sweep
from replnet.cli.main import (
    BUDGET,
    DIFFERS,
    EXPLAIN,
    FINE,
    INCOMPLETE,
    STRICT,
    commands,
    exit_code,
    format_option,
    override_option,
    worker_options,
)
from replnet.cli.output import (
    echo,
    print_json,
    print_statements,
    print_table,
    sweep_data,
    write,
    write_forecast,
    write_sweep,
)
from replnet.cli.progress import progress, progress_lines, show_sweep
from replnet.show import Kind, Table
from replnet.text import span

if TYPE_CHECKING:
    from replnet.lab.experiment import Experiment
    from replnet.lab.sweeps import Sweep, SweepProgress

FOLDER = click.Path(file_okay=False, path_type=Path)
FORMAT = format_option("markdown")


@commands.command()
@click.argument("experiment", required=False, shell_complete=name_completer("experiments", files=True))
@click.option("-o", "--output", type=FOLDER, help="The run directory; one of the same experiment is carried on with.")
@override_option(
    "Override a value, a field of the network or a setting, such as -s B=30, -s polls.rate=4, "
    "-s run.precision=0.01; a list or range makes an axis: -s peers=1,2,3, -s k=1:9, -s replicas=10:500:30log. "
    "Repeatable."
)
@click.option("--zip", "zips", multiple=True, metavar="A,B", help="Axes that move together. Repeatable.")
@click.option("--quick", is_flag=True, help="Use the settings in the section `quick` of the file.")
@click.option("--dry-run", is_flag=True, help="Print how much time and memory it would take, and run nothing.")
@click.option("--resume", type=FOLDER, help="Carry on with this run directory, which records what was asked.")
@worker_options
@BUDGET
@STRICT
@EXPLAIN
@FORMAT
def sweep(
    output: Path | None, resume: Path | None, dry_run: bool, strict: bool, explain: bool, form: str, **options: Any
) -> int:
    """Run every cell of EXPERIMENT, and compare with the formulas.

    EXPERIMENT is a YAML file or the name of one that comes with replnet, such as p2p/fig3. Every cell is run once.
    Ctrl-C or a crash loses the cells in flight; the same command carries on.
    """
    pool = {name: options.pop(name) for name in ("workers", "address", "budget")}
    with progress_lines("reading the experiment"):
        loaded = _load(resume, **options)
        loaded.cells()
    if output is not None and resume is not None:
        raise click.UsageError("--resume is the run directory: leave out -o")
    folder = output or resume
    if dry_run:
        return _plan(loaded, folder, pool["workers"])
    result = _run(loaded, folder, loaded.name, **pool)
    write_sweep(result, form)
    if explain:
        explain_sweep(result)
    print_statements(result)
    if result.incomplete and folder is not None:
        echo(f"carry on with: replnet sweep --resume {folder}", err=True)
    return exit_code(result, strict=strict)


def _load(
    resume: Path | None, experiment: str | None, overrides: Sequence[str], zips: Sequence[str], quick: bool
) -> Experiment:
    """Return the experiment of a file, or of a shipped name, or else the one that a run directory is of.

    `overrides` (KEY=VALUE), `zips` (axes that move together, as "A,B") and `quick` (the settings of its section
    `quick`) change that of `experiment`. Raise click.UsageError if neither `experiment` nor the directory `resume` is
    given, or both, if that of a directory is to be changed, or if the directory is that of a single run.
    """
    from replnet.lab.experiment import load_experiment
    from replnet.lab.sweeps import Sweep

    if experiment is not None and resume is None:
        loaded = load_experiment(experiment, overrides, zips)
        return loaded.quick() if quick else loaded
    if experiment is not None or resume is None:
        raise click.UsageError("give an EXPERIMENT, or --resume with a run directory")
    if overrides or zips or quick:
        raise click.UsageError("a run directory says itself what was asked: leave out -s, --zip and --quick")
    sweep = Sweep.read(resume)
    if sweep.paths:
        raise click.UsageError(f"{resume} is the directory of one run: the same replnet run carries on with it")
    return sweep.experiment


def _run(experiment: Experiment, folder: Path | None, title: str, **pool: Any) -> Sweep:
    """Run the cells of an experiment that are not finished in `folder`, show the progress, and return the sweep.

    `title` is what the progress calls it; `pool` has the options `workers`, `address` and `budget`. Without folder
    (None), all cells are run and nothing is kept on the disk.
    """
    from replnet.lab.sweeps import sweep

    with _show_sweep(title, pool.get("address")) as report:
        return sweep(experiment, folder, progress=report, **pool)


@contextmanager
def _show_sweep(title: str, address: str | None) -> Iterator[SweepProgress]:
    """Show on stderr how far the sweep called `title` is; yield a callback that takes each new state of it.

    Its workers are in the Ray cluster at `address`, or in that of RAY_ADDRESS, if there is one. This is a context. If
    Ray is lost in it, the error gets a note on how to carry on, and is raised again.
    """
    from replnet.lab.sweeps import RayLost
    from replnet.workers import jobs

    with show_sweep(title, jobs.on_ray(address)) as report:
        try:
            yield report
        except RayLost as error:
            error.add_note("what is finished is kept; the same command carries on")
            raise


def _plan(experiment: Experiment, folder: Path | None, workers: int | None) -> int:
    """Print the axes of an experiment, its cells, and the events, time and memory that they take; return the exit code.

    Cells that are finished in `folder` are not counted in; None: there are none. If `workers` is above 1, the time that
    so many take is printed, too. A few cells are emulated briefly for that; the exit code is 3 if one fails, else 0.
    """
    from replnet.lab.sweeps import earlier_run, forecast

    cells = experiment.cells()
    with progress() as report:
        finished = earlier_run(folder, experiment) if folder else None
        expected = forecast(cells, finished.records if finished else {}, report)
    for axis in experiment.axes:
        values = [str(value) for value in axis.values]
        shown_values = values if len(values) <= 8 else [*values[:3], "...", values[-1]]
        echo(f"{axis.name}: {', '.join(shown_values)} ({len(values)})")
    echo(f"cells: {expected.cells:,}" + (f", of which {expected.finished:,} are finished" if expected.finished else ""))
    write_forecast(expected, f"a glance at {expected.sampled} of the cells", workers)
    return INCOMPLETE if expected.failed else FINE


@commands.command()
@click.argument("folder", type=FOLDER)
def status(folder: Path) -> int:
    """Say how far the sweep or the run in FOLDER is."""
    from replnet.lab.sweeps import Sweep

    sweep = Sweep.read(folder)
    echo(f"{sweep.experiment.name}: {sweep.experiment.title}")
    echo(sweep.about["note"])
    values = {cell.key: cell.values for cell in sweep.cells}
    for key, why in sweep.failures.items():
        echo(f"failed: {', '.join(f'{name} = {value}' for name, value in values.get(key, {}).items())}: {why}")
    print_statements(sweep)
    return INCOMPLETE if sweep.incomplete else FINE


@commands.command()
@click.argument("folder", type=FOLDER)
@click.option("-o", "--output", type=click.Path(path_type=Path),
              help="A file, REPORT.html; or a folder for report.html, figures and data.  "
                   "[default: FOLDER/report]")  # fmt: skip
def report(folder: Path, output: Path | None) -> int:
    """Write a report of the sweep or run in FOLDER.

    That is one HTML page, with figures as SVG and data as CSV; of a run that is not finished, as far as it is.
    """
    from replnet.lab.sweeps import Sweep
    from replnet.show.report import section_of
    from replnet.show.report import write as write_report

    with progress_lines("reading the run, and drawing its figures"):
        sweep = Sweep.read(folder)
        page = write_report(output or folder / "report", [section_of(sweep)], sweep.experiment.title, sweep.provenance)
    echo(page)
    if sweep.incomplete:
        echo(f"incomplete: {sweep.incomplete}", err=True)
    return INCOMPLETE if sweep.incomplete else FINE


@commands.command()
@click.argument("first", type=FOLDER)
@click.argument("second", type=FOLDER)
@FORMAT
def compare(first: Path, second: Path, form: str) -> int:
    """Print how two runs differ, cell by cell.

    That is FIRST - SECOND with its interval. Runs of equal seeds share their random numbers, and are compared
    replication by replication.
    """
    from replnet.lab.sweeps import DIFFERENCES, Sweep, compare_sweeps

    minuend, subtrahend = Sweep.read(first), Sweep.read(second)
    axes, rows, verdict = compare_sweeps(minuend, subtrahend)
    columns = [*axes, *DIFFERENCES]
    numbers = ("first", "second", "difference", "ci_low", "ci_high")
    kinds: dict[str, Kind] = {name: "number" if name in numbers else "value" for name in columns}
    table = Table(columns, [[row[name] for name in columns] for row in rows], kinds=kinds)
    data = {"first": str(first), "second": str(second), "verdict": verdict, "rows": rows}
    write(form, lambda: data, columns, rows, lambda: print_table(table, form))
    if minuend.about["instructions"] != subtrahend.about["instructions"]:
        echo("note: the runs were computed with different instructions: last digits may differ", err=True)
    echo(f"{len(rows):,} rows in both; overall: {verdict or 'nothing to judge'}", err=True)
    return DIFFERS if verdict == "differ" else FINE


@commands.command()
@click.argument("names", nargs=-1, shell_complete=name_completer("experiments"))
@click.option("--quick", is_flag=True, help="Take minutes, with wider intervals.")
@click.option("-o", "--output", type=FOLDER, help="Where runs and the report go.  [default: reproduced]")
@worker_options
@BUDGET
@FORMAT
def reproduce(names: tuple[str, ...], quick: bool, output: Path | None, form: str, **pool: Any) -> int:
    """Run experiments of the papers, and write one report.

    NAMES are those of experiments that come with replnet, such as p2p/table1, or p2p; all without any.
    """
    from replnet.show.report import reproduce
    from replnet.text import require_extra

    require_extra("matplotlib", "reproduce")  # before it has run for minutes
    folder = output or Path("reproduced-quick" if quick else "reproduced")

    def report_sweep(sweep: Sweep, seconds: float) -> None:
        """Print on stderr the verdict of a finished sweep, and how long it took."""
        echo(f"{sweep.experiment.name}: {sweep.verdict or 'done'} in {span(seconds)}", err=True)

    reproduction = reproduce(
        *names,
        quick=quick,
        out=folder,
        watching=partial(_show_sweep, address=pool.get("address")),
        ended=report_sweep,
        **pool,
    )
    if form == "json":
        print_json([sweep_data(sweep) for sweep in reproduction.sweeps])
    elif form == "csv":
        for sweep in reproduction.sweeps:
            write_sweep(sweep, form)
    else:
        print_table(Table(list(reproduction.rows[0]), [list(row.values()) for row in reproduction.rows]), form)
    for sweep in reproduction.sweeps:
        print_statements(sweep)
    echo(f"in all: {reproduction.words}", err=True)
    echo(f"report: {reproduction.page}", err=True)
    if reproduction.incomplete:
        echo("carry on with: the same command", err=True)
    return exit_code(*reproduction.sweeps)

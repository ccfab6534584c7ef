"""The command `ui`, pages in the browser, and the page of a run that is watched while it goes on."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from replnet.cli.completion import name_completer
from replnet.cli.main import FINE, commands, override_option
from replnet.cli.output import echo
from replnet.text import FieldError, require_extra

if TYPE_CHECKING:
    from replnet.network import Network
    from replnet.show.web import Opened, RunRecorder

PORT = 8420
STDIN, RECORD = 0, "-"  # "-" in the place of a network means the record of a run on standard input
PAGES_NICENESS = 10  # of the process of pages beside a run, so that they do not slow it down


@commands.command()
@click.argument(
    "subject",
    metavar="[NETWORK | DIR | TRACE]",
    default="cooperative",
    shell_complete=name_completer("networks", files=True),
)
@override_option("Override a field of the network. Repeatable.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Port of the pages; 0: any free one."
)
@click.option("--open/--no-open", "show", default=True, help="Open a browser.")
def ui(subject: str, overrides: tuple[str, ...], port: int, show: bool) -> int:
    """Explore a network, or read and watch runs, in the browser.

    NETWORK is explored, the sweep in DIR read, and the run that wrote TRACE watched. The pages are served to this
    machine alone, read nothing but what is named here, ask nothing of any other machine, and end with Ctrl-C.
    """
    require_extra("nicegui", "ui")
    from replnet.show.web import serve

    opened = _open(subject, overrides)
    try:
        serve(opened, port, show, lambda address: echo(f"replnet ui: {address} (Ctrl-C ends it)", err=True))
    except KeyboardInterrupt:
        echo(err=True)
    return FINE


def _open(subject: str, overrides: tuple[str, ...]) -> Opened:
    """Return what the pages are to show, and, of a network, check that it can be read.

    `subject` is a network (a file or a shipped name), the directory of a sweep, a Parquet file with the trace of a run,
    or `-` for the record of a run on standard input; `overrides` (KEY=VALUE) change fields of a network. Raise
    FieldError if overrides are given for anything else, or if `subject` is none of these, such as a directory without
    a run.
    """
    from replnet.network import load
    from replnet.show.web import Opened, file_reader
    from replnet.store import read_contents

    path = Path(subject)
    if overrides and (path.is_dir() or path.suffix == ".parquet" or subject == RECORD):
        raise FieldError("-s", "is about a network", "leave it out, or give a network")
    if subject == RECORD:
        if not stat.S_ISREG(os.fstat(STDIN).st_mode):
            raise FieldError(RECORD, "standard input is no file", "the record of a run, of replnet run --ui")
        return Opened("cooperative", record=file_reader(STDIN))
    if path.is_dir():
        read_contents(path)  # raises an error if no run is there
        return Opened("cooperative", folder=path)
    if path.suffix == ".parquet":
        if not path.is_file():
            raise FieldError(str(path), "does not exist", "a file of replnet run --trace")
        return Opened("cooperative", trace=path)
    load(subject, overrides)
    return Opened(subject, overrides)


@contextmanager
def watched_run(network: Network, engine: str, seed: int, show: bool, name: str = "") -> Iterator[RunRecorder | None]:
    """Show a run in the browser while this context lasts, and then until Ctrl-C; do nothing if `show` is False.

    Yield what takes each new state of the run and its result; None if nothing is shown. An error in the context ends
    the pages at once. The pages name `network`, called `name`, `engine`, `seed` and the command of this process as
    those of the run, and interrupt this process if the user wants the run to stop.
    """
    if not show:
        yield None
        return
    require_extra("nicegui", "--ui")
    from replnet.show.web import RunNames, record_run

    names = RunNames(name, shlex.join(["replnet", *sys.argv[1:]]), os.getpid())
    with tempfile.TemporaryFile() as record:
        with record_run(record, network, engine, seed, names) as listener:
            pages = _serve_record(record)
            try:
                yield listener
            except BaseException:
                pages.terminate()
                raise
        echo("the run is over; its page stays until Ctrl-C", err=True)
        with suppress(KeyboardInterrupt):
            pages.wait()
        pages.terminate()
        pages.wait()


def _serve_record(record: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a process that shows the run whose record is written to `record`, an open file, in the browser; return it.

    It has a session of its own, so that Ctrl-C ends the run alone, and the pages show how it ended.
    """
    command = [sys.executable, "-m", "replnet", "ui", RECORD, "--port", "0"]
    pages = subprocess.Popen(command, start_new_session=True, stdin=record, stdout=subprocess.DEVNULL)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pages.pid, PAGES_NICENESS)
    return pages

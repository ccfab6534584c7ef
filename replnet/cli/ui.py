"""The command `ui`, pages in the browser; and those of a run that is watched while it happens."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from replnet.cli.completion import completing
from replnet.cli.main import FINE, commands, overriding
from replnet.cli.output import echo
from replnet.text.extras import require_extra

if TYPE_CHECKING:
    from replnet.live import Watch
    from replnet.network.network import Network

PORT = 8420
LEAST = 10  # priority of pages beside a run, which they are not to slow down


@commands.command()
@click.argument(
    "what", metavar="[NETWORK | DIR | TRACE]", default="cooperative", shell_complete=completing("networks", files=True)
)
@overriding("Override a field of the network. Repeatable.")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="Of the pages; 0: any.")
@click.option("--open/--no-open", "show", default=True, help="Open a browser.")
def ui(what: str, overrides: tuple[str, ...], port: int, show: bool) -> int:
    """Explore a NETWORK, read the sweep in DIR, or watch the run that wrote TRACE, in the browser.

    The pages are served to this machine alone, ask nothing of any other, and end with Ctrl-C.
    """
    require_extra("nicegui", "ui")
    from replnet.network.network import load
    from replnet.web.frame import Opened
    from replnet.web.live_record import SUFFIX
    from replnet.web.server import serve

    path = Path(what)
    if overrides and (path.is_dir() or path.suffix in (".parquet", SUFFIX)):
        raise ValueError("-s: is about a network (leave it out, or give a network)")
    if path.is_dir():
        opened = Opened("cooperative", folder=path)
    elif path.suffix == ".parquet":
        if not path.is_file():
            raise ValueError(f"{path}: does not exist (a file of replnet run --trace)")
        opened = Opened("cooperative", trace=path)
    elif path.suffix == SUFFIX:
        opened = Opened("cooperative", record=path)
    else:
        load(what, overrides)  # says what is wrong with it
        opened = Opened(what, overrides)
    try:
        serve(opened, port, show, lambda address: echo(f"replnet ui: {address} (Ctrl-C ends it)", err=True))
    except KeyboardInterrupt:
        echo(err=True)
    return FINE


@contextmanager
def watched_run(network: Network, engine: str, seed: int, show: bool) -> Iterator[Watch | None]:
    """Pages that show a run, if that was asked for, by what the callback is given; they stay until Ctrl-C."""
    if not show:
        yield None
        return
    require_extra("nicegui", "--ui")
    from replnet.web.live_record import SUFFIX, recording

    with tempfile.TemporaryDirectory(prefix="replnet-ui-") as place:
        file = Path(place) / f"run{SUFFIX}"
        with recording(file, network, engine, seed) as look:
            pages = _served(file)
            try:
                yield look
            except BaseException:
                pages.terminate()
                raise
        echo("the run is over; its page stays until Ctrl-C", err=True)
        with suppress(KeyboardInterrupt):
            pages.wait()
        pages.terminate()
        pages.wait()


def _served(file: Path) -> subprocess.Popen[bytes]:
    """Pages in a process and a session of their own: Ctrl-C ends the run, and they show how it ended."""
    command = [sys.executable, "-m", "replnet", "ui", str(file), "--port", "0"]
    pages = subprocess.Popen(command, start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pages.pid, LEAST)
    return pages

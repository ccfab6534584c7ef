"""The command `ui`: pages in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from replnet.cli.completion import completing
from replnet.cli.main import FINE, commands, overriding
from replnet.cli.output import echo

PORT = 8420


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
    from replnet.text.extras import require_extra

    require_extra("nicegui", "ui")
    from replnet.network.network import load
    from replnet.web.frame import Opened
    from replnet.web.server import serve

    path = Path(what)
    if overrides and (path.is_dir() or path.suffix == ".parquet"):
        raise ValueError("-s: is about a network (leave it out, or give a network)")
    if path.is_dir():
        opened = Opened("cooperative", folder=path)
    elif path.suffix == ".parquet":
        if not path.is_file():
            raise ValueError(f"{path}: does not exist (a file of replnet run --trace)")
        opened = Opened("cooperative", trace=path)
    else:
        load(what, overrides)  # says what is wrong with it
        opened = Opened(what, overrides)
    try:
        serve(opened, port, show, lambda address: echo(f"replnet ui: {address} (Ctrl-C ends it)", err=True))
    except KeyboardInterrupt:
        echo(err=True)
    return FINE

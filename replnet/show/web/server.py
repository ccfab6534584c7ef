"""The server of the pages, which listens on loopback only."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

from nicegui import app, ui
from nicegui.client import templates

from replnet.show.web import explore, read, watch
from replnet.show.web.frame import address
from replnet.show.web.guard import HOST, Guard, Nonces
from replnet.show.web.opened import Opened
from replnet.text import FieldError

PAGES = {"/": explore.page, "/watch": watch.page, "/read": read.page, "/cell": read.cell_page}
HEAD = '<link rel="stylesheet" href="/static/page.css"><script defer src="/static/page.js"></script>'


def serve(opened: Opened, port: int, show: bool, tell: Callable[[str], None]) -> None:
    """Serve the pages of what the command has opened until Ctrl-C.

    `port` may be 0 for any free one. `tell` is called with the address to open, and with `show` it is opened in a
    browser. Raise FieldError if the port is taken.
    """
    port, token = free_port(port), secrets.token_urlsafe(16)
    templates.env.add_extension(Nonces)
    app.add_middleware(Guard, token=token, port=port)
    app.add_static_files("/static", Path(__file__).with_name("static"), max_cache_age=0)
    ui.add_head_html(HEAD, shared=True)
    for path, build_page in PAGES.items():
        ui.page(path)(build_page(opened))
    first, pairs = opened.start
    start = address(first, *pairs, ("token", token))
    tell(f"http://{HOST}:{port}{start}")
    # Pages ask for nothing that takes long by HTTP, so a bar that says so would be an element without a meaning.
    app.config.quasar_config["loadingBar"]["skipHijack"] = True
    # Tailwind writes styles in the browser, which the policy of the pages does not allow.
    ui.run(
        host=HOST, port=port, reload=False, show=start if show else False, dark=None, title="replnet", tailwind=False,
        show_welcome_message=False, binding_refresh_interval=None, uvicorn_logging_level="error",
    )  # fmt: skip


def free_port(port: int) -> int:
    """Return `port`, or if that is 0 the number of a free one; raise FieldError if another program listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise FieldError("--port", f"{port}: {error.strerror}", "another one, or 0 for any") from None
        return int(probe.getsockname()[1])

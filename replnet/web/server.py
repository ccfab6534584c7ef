"""The server of the pages: on loopback, for whoever has the token.

The address that is printed carries the token; the browser keeps it as a cookie, and later addresses need none. What
comes without it is refused, web sockets included, and so is what was addressed to another host's name, as a page from
elsewhere would do that points a name of its own at this machine.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any, final
from urllib.parse import parse_qsl, urlencode

from nicegui import app, ui

from replnet.web import explore, read, watch
from replnet.web.frame import Opened, address

HOST = "127.0.0.1"
COOKIE = "replnet"
PAGES = {"/": explore.page, "/watch": watch.page, "/read": read.page, "/cell": read.cell_page}


def serve(opened: Opened, port: int, show: bool, tell: Callable[[str], None]) -> None:
    """Serve the pages until Ctrl-C; `tell` is given the address to open."""
    port, token = free(port), secrets.token_urlsafe(16)
    app.add_middleware(Guard, token=token, port=port)
    for path, page in PAGES.items():
        ui.page(path)(page(opened))
    first, pairs = opened.start
    start = address(first, *pairs, ("token", token))
    tell(f"http://{HOST}:{port}{start}")
    ui.run(
        host=HOST, port=port, reload=False, show=start if show else False, dark=None, title="replnet",
        show_welcome_message=False, binding_refresh_interval=None, uvicorn_logging_level="error",
    )  # fmt: skip


def free(port: int) -> int:
    """The port, or any for 0, if nobody listens there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise ValueError(f"--port: {port}: {error.strerror} (another one, or 0 for any)") from None
        return int(probe.getsockname()[1])


@final
class Guard:
    """Lets through what carries the token, in the address or as a cookie."""

    def __init__(self, inner: Any, token: str, port: int) -> None:
        self._inner, self._token = inner, token
        self._hosts = (f"{HOST}:{port}", f"localhost:{port}")
        self._cookie = f"{COOKIE}-{port}"  # cookies are shared by all ports of a host

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._inner(scope, receive, send)
            return
        heads = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        known = heads.get("host") in self._hosts
        if known and self._is_token(dict(query).get("token", "")) and scope["type"] == "http":
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            place = scope["path"] + (f"?{rest}" if rest else "")
            cookie = f"{self._cookie}={self._token}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(send, 303, [("location", place), ("set-cookie", cookie)], "")
        elif known and self._is_token(self._kept(heads)):
            await self._inner(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _answer(send, 403, [], "Open the address that replnet ui has printed: it carries a token.\n")

    def _kept(self, heads: dict[str, str]) -> str:
        found = SimpleCookie(heads.get("cookie", "")).get(self._cookie)
        return found.value if found else ""

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())


async def _answer(send: Any, status: int, heads: list[tuple[str, str]], text: str) -> None:
    pairs = [("content-type", "text/plain; charset=utf-8"), *heads]
    headers = [(name.encode(), value.encode()) for name, value in pairs]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})

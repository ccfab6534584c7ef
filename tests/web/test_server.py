"""Who is let in: with the token, to the right host, and nobody else."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the pages need NiceGUI (pip install 'replnet[ui]')")

from replnet.web.server import Guard, free

HOST = "127.0.0.1:8420"


def answered(kind: str = "http", path: str = "/", query: str = "", **heads: str) -> list[dict[str, Any]]:
    """What the server sends; what is behind the guard sends `inside`."""
    sent: list[dict[str, Any]] = []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "inside"})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in {"host": HOST, **heads}.items()]
    scope = {"type": kind, "path": path, "query_string": query.encode(), "headers": headers}
    asyncio.run(Guard(inside, "secret", 8420)(scope, None, send))
    return sent


def test_the_token_becomes_a_cookie_and_leaves_the_address():
    begun, _ = answered(path="/watch", query="at=3&token=secret")
    heads = dict(begun["headers"])
    assert (begun["status"], heads[b"location"]) == (303, b"/watch?at=3")
    assert b"HttpOnly; SameSite=Strict" in heads[b"set-cookie"]
    cookie = heads[b"set-cookie"].decode().partition(";")[0]
    assert answered(cookie=cookie) == [{"type": "inside"}]
    assert answered("websocket", cookie=cookie) == [{"type": "inside"}]


def test_nobody_else_is_let_in():
    assert answered()[0]["status"] == 403
    assert answered(query="token=guess")[0]["status"] == 403
    assert answered(cookie="replnet-8420=guess")[0]["status"] == 403
    assert answered(cookie="replnet-8421=secret")[0]["status"] == 403
    assert answered("websocket")[0]["type"] == "websocket.close"
    assert answered("websocket", query="token=secret")[0]["type"] == "websocket.close"


def test_a_name_that_somebody_else_points_here_is_refused():
    assert answered(cookie="replnet-8420=secret", host="evil.example:8420")[0]["status"] == 403
    assert answered(query="token=secret", host="evil.example:8420")[0]["status"] == 403


def test_a_port_that_is_taken_is_said():
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(ValueError, match=r"--port: \d+: .*in use"):
        free(other.getsockname()[1])
    assert free(0) > 0

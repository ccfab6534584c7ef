"""Who is let in, with the token, to the right host, from a page of its own, and nobody else; and what a page may do."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

pytest.importorskip("nicegui", reason="the pages need NiceGUI (pip install 'replnet[ui]')")

from jinja2 import DictLoader, Environment

from replnet.show.web.guard import Guard, Nonces

HOST, OWN = "127.0.0.1:8420", "http://127.0.0.1:8420"
COOKIE = "replnet-8420=secret"


def answered(
    kind: str = "http", path: str = "/", query: str = "", given: list[tuple[str, str]] | None = None, **heads: str
) -> list[dict[str, Any]]:
    """What the server sends; what is behind the guard sends `inside`. `given` are headers beside those by name."""
    sent: list[dict[str, Any]] = []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "inside"})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    pairs = [*({"host": HOST, **heads}).items(), *(given or ())]
    headers = [(name.encode(), value.encode()) for name, value in pairs]
    scope = {"type": kind, "path": path, "query_string": query.encode(), "headers": headers}
    asyncio.run(Guard(inside, "secret", 8420)(scope, None, send))
    return sent


def is_inside(*given: object, **heads: object) -> bool:
    """Whether the guard lets this in; what it refuses it refuses outright."""
    sent = answered(*given, **heads)
    if sent == [{"type": "inside"}]:
        return True
    assert sent[0].get("status") == 403 or sent == [{"type": "websocket.close", "code": 1008}]
    return False


def test_the_token_becomes_a_cookie_and_leaves_the_address():
    begun, _ = answered(path="/watch", query="at=3&token=secret")
    heads = dict(begun["headers"])
    assert (begun["status"], heads[b"location"]) == (303, b"/watch?at=3")
    assert b"HttpOnly; SameSite=Strict" in heads[b"set-cookie"]
    assert heads[b"cache-control"] == b"no-store"
    cookie = heads[b"set-cookie"].decode().partition(";")[0]
    assert is_inside(cookie=cookie)
    assert is_inside("websocket", cookie=cookie, origin=OWN)


def test_an_address_with_the_token_leads_nowhere_else():
    begun, _ = answered(path="//evil.example/\r\nx", query="token=secret")
    assert dict(begun["headers"])[b"location"] == b"/evil.example/%0D%0Ax"


def test_nobody_else_is_let_in():
    for heads in ({}, {"query": "token=guess"}, {"cookie": "replnet-8420=guess"}, {"cookie": "replnet-8421=secret"}):
        assert not is_inside(**heads)
    for heads in ({"origin": OWN}, {"query": "token=secret", "origin": OWN}, {"cookie": COOKIE}):
        assert not is_inside("websocket", **heads)


def test_a_page_of_this_server_is_let_in():
    assert is_inside(cookie=COOKIE)
    assert is_inside(cookie=COOKIE, origin=OWN)
    assert is_inside("websocket", cookie=COOKIE, origin=OWN)
    assert is_inside("websocket", host="localhost:8420", cookie=COOKIE, origin="http://localhost:8420")


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("host", ["evil.example:8420", "127.0.0.1:8421", "127.0.0.1", ""])
def test_a_name_that_somebody_else_points_here_is_refused(kind, host):
    assert not is_inside(kind, cookie=COOKIE, host=host, origin=f"http://{host}")
    assert not is_inside(kind, query="token=secret", host=host, origin=f"http://{host}")
    assert not is_inside(kind, cookie=COOKIE, origin=OWN, given=[("host", host)])


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://127.0.0.1:3000", "http://localhost:8420", "https://127.0.0.1:8420", "null"],
)
def test_what_another_page_sends_is_refused_though_the_browser_adds_the_cookie(kind, origin):
    assert not is_inside(kind, cookie=COOKIE, origin=origin)
    assert not is_inside(kind, cookie=COOKIE, origin=OWN, given=[("origin", origin)])
    assert not is_inside(query="token=secret", origin=origin)


@pytest.mark.parametrize(
    "cookie",
    [
        f"a=x; replnet-8420=wrong; {COOKIE}",
        f"{COOKIE}; replnet-8420=wrong",
        f'a={{"b": 1}}; {COOKIE}',
        f"a b c; =; ;;{COOKIE}; d",
        f'a="x; replnet-8420=wrong"; {COOKIE}; e="',
        f"\xe4=\xe4; {COOKIE}",
    ],
)
def test_cookies_of_other_servers_of_this_machine_lock_nobody_out(cookie):
    assert is_inside(cookie=cookie)
    others, _, own = cookie.partition(COOKIE)
    assert is_inside(given=[("cookie", others), ("cookie", COOKIE), ("cookie", own)])
    assert not is_inside(cookie=cookie.replace("secret", "guess"))


def policy_of(sent: list[dict[str, Any]]) -> dict[str, list[str]]:
    policy = dict(sent[0]["headers"])[b"content-security-policy"].decode()
    return {part.split()[0]: part.split()[1:] for part in policy.split(";")}


def test_every_answer_has_the_policy_and_a_nonce_of_its_own():
    first, second = policy_of(answered()), policy_of(answered(query="token=secret"))
    assert first["default-src"] == first["frame-ancestors"] == first["base-uri"] == first["form-action"] == ["'none'"]
    nonces = {name: re.search(r"'nonce-([\w-]{22})'", " ".join(sources)) for name, sources in first.items()}
    assert nonces["script-src"][1] == nonces["style-src"][1]
    assert nonces["script-src"][1] not in " ".join(second["script-src"])
    assert [source for sources in first.values() for source in sources if "unsafe" in source] == ["'unsafe-eval'"]
    assert [source for sources in first.values() for source in sources if "*" in source or ":" in source] == ["data:"]


def test_tags_of_the_template_have_the_nonce_and_no_others():
    page = '<script>a</script><style>b</style><scripted></scripted>{{ body | safe }}<i style="display: none"></i>'
    environment = Environment(loader=DictLoader({"page": page}), autoescape=True)
    environment.add_extension(Nonces)
    request = type("Request", (), {"scope": {"nonce": "n"}})
    made = environment.get_template("page").render(request=request, body="<script>c</script><style>d</style>")
    assert made == (
        '<script nonce="n">a</script><style nonce="n">b</style><scripted></scripted>'
        "<script>c</script><style>d</style><i hidden></i>"
    )

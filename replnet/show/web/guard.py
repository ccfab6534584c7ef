"""The guard of the pages: who is let in, and what a browser may do with what it gets.

The address that is printed carries a token; the browser keeps it as a cookie, and later addresses need none. Web
sockets and all other routes are guarded alike. A request is refused if it lacks the token; if it was addressed to
another host's name, as by a page from elsewhere that points a name of its own at this machine; and if another page has
sent it, be it from another port of this machine.

What is let in has a policy: scripts and styles are files of this server, or stand in a page with the nonce of its
answer, which only the tags of NiceGUI's own template have. No attribute is a script or a style, nothing comes from
elsewhere or goes there, and no other page may frame or embed this one. One hole is left, 'unsafe-eval': NiceGUI
compiles the templates of its components in the browser, and evaluates the commands that the server sends.
"""

from __future__ import annotations

import hmac
import re
import secrets
from collections.abc import Iterator
from typing import Any, final
from urllib.parse import parse_qsl, quote, urlencode

from jinja2.ext import Extension

HOST = "127.0.0.1"
COOKIE = "replnet"
EMPTY_STYLE_HASH = (
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"  # NiceGUI has a style without content in every page
)
POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; "
    f"style-src 'self' 'nonce-{{nonce}}' {EMPTY_STYLE_HASH}; "
    "connect-src 'self'; font-src 'self'; img-src 'self' data:"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",  # addresses have names of files
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@final
class Nonces(Extension):
    """An extension of Jinja that gives script and style tags in the source of a template the nonce of the answer.

    Tags that are put into the template when it is filled have none.
    """

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        """Return the source of a template with a nonce at its script and style tags, the language of the pages, and no
        style attribute.
        """
        source = source.replace(' style="display: none"', " hidden").replace("<html", '<html lang="en"')
        return re.sub(r"<(script|style)\b", r'<\1 nonce="{{ request.scope.nonce }}"', source)


@final
class Guard:
    """The ASGI application that passes only those requests on to the application `inner` that carry the token.

    The token is a secret text, which they carry in the address or as a cookie; `port` is that at which this server
    listens.
    """

    def __init__(self, inner: Any, token: str, port: int) -> None:
        self._inner, self._token = inner, token.encode()
        self._hosts = (f"{HOST}:{port}", f"localhost:{port}")
        self._cookie = f"{COOKIE}-{port}"  # cookies are shared by all ports of a host

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Redirect a request that has the token in its address, and set the cookie; pass on one whose cookie has it;
        refuse all others.

        `scope`, `receive` and `send` are those of ASGI. Messages that are no requests are passed on.
        """
        if scope["type"] not in ("http", "websocket"):
            await self._inner(scope, receive, send)
            return
        nonce = scope["nonce"] = secrets.token_urlsafe(16)
        send = _with_policy(send, nonce)
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        is_own = self._is_own(scope)
        if is_own and scope["type"] == "http" and self._is_token(dict(query).get("token", "")):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            location = "/" + quote(scope["path"].lstrip("/")) + (f"?{rest}" if rest else "")
            cookie = f"{self._cookie}={self._token.decode()}; HttpOnly; SameSite=Strict; Path=/"
            await _answer(
                send, 303, [("location", location), ("set-cookie", cookie), ("cache-control", "no-store")], ""
            )
        elif is_own and any(map(self._is_token, self._cookie_values(scope))):
            await self._inner(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await _answer(send, 403, [], "Open the address that replnet ui has printed: it carries a token.\n")

    def _is_own(self, scope: Any) -> bool:
        """Whether the request names this server as its host, and was sent by one of its own pages if it was sent by a
        page.
        """
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return False
        # A browser always says whose page opens a web socket.
        return origins == [f"http://{hosts[0]}"] or (not origins and scope["type"] == "http")

    def _cookie_values(self, scope: Any) -> Iterator[str]:
        """Yield the values of all cookies of a request that have the name of this server's cookie.

        Another server of this machine may have set one of the same name, and cookies that no parser reads.
        """
        for pair in ";".join(_values(scope, b"cookie")).split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self._cookie:
                yield value

    def _is_token(self, text: str) -> bool:
        """Whether the text is the token, compared in constant time."""
        return hmac.compare_digest(text.encode(), self._token)


def _values(scope: Any, name: bytes) -> list[str]:
    """Return the values of all headers of this name, in small letters, in the ASGI scope of a request."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _with_policy(send: Any, nonce: str) -> Any:
    """Return a function that sends an ASGI message by `send`, at the head of an answer with the headers that tell a
    browser what it may do.

    `nonce` is what script and style tags of the page have to carry.
    """
    headers = HEADERS | {"content-security-policy": POLICY.format(nonce=nonce)}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def send_with_headers(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *pairs]}
        await send(message)

    return send_with_headers


async def _answer(send: Any, status: int, heads: list[tuple[str, str]], text: str) -> None:
    """Send an answer by the ASGI function `send`: a plain text with this HTTP status, and with the headers `heads`
    besides its type.
    """
    pairs = [("content-type", "text/plain; charset=utf-8"), *heads]
    headers = [(name.encode(), value.encode()) for name, value in pairs]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})

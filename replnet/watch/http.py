"""Visits of URLs: as little as will do, and never more than a limit, nor anywhere that the file does not name.

A body is asked for only if it may be another than the last one (If-None-Match), or not at all (HEAD) where a header is
the version. It is read up to a limit, and as it is: compressed ones are not wanted, as a small one may grow without
bounds. Redirects are followed to http and https addresses of hosts that the file names.
"""

from __future__ import annotations

import ssl
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from replnet.version import __version__
from replnet.watch.content import LARGEST_BODY, Seen, VisitError, kept_version, read_body
from replnet.watch.fleet import USUAL_PORTS

if TYPE_CHECKING:
    import httpx

    from replnet.watch.fleet import Node

MOST_REDIRECTS = 5
HEADERS = {"User-Agent": f"replnet/{__version__} (watches for new versions)", "Accept-Encoding": "identity"}
REDIRECTS, NOT_MODIFIED = (301, 302, 303, 307, 308), 304
TOO_MANY, UNAVAILABLE = 429, 503  # answers that may say when to come again


def web_client() -> httpx.AsyncClient:
    """Return a client for all visits of URLs, which follows no redirects by itself; it is to be closed."""
    import httpx

    return httpx.AsyncClient(headers=HEADERS, follow_redirects=False, timeout=None)


async def visit_url(client: httpx.AsyncClient, node: Node, hosts: frozenset[str], last: Seen | None) -> Seen:
    """Return what a URL has; `last` is what it had at the visit before, which is returned again if nothing changed.

    Redirects are followed to `hosts` only. Raise VisitError if there is no version to be had.
    """
    import httpx

    url, by_header = str(node.url), node.version in ("etag", "last-modified")
    headers = {"If-None-Match": last.tag} if last is not None and last.tag and not by_header else {}
    try:
        for _ in range(MOST_REDIRECTS):
            sent = time.time()
            async with client.stream("HEAD" if by_header else "GET", url, headers=headers) as answer:
                if answer.status_code in REDIRECTS:
                    url = _redirect_target(url, answer.headers.get("Location", ""), hosts)
                    continue
                clock = _clock_error(answer, (sent + time.time()) / 2)
                if answer.status_code == NOT_MODIFIED and last is not None:
                    return Seen(last.version, last.left, clock, last.tag)
                _require_success(answer)
                tag = answer.headers.get("ETag", "")
                if by_header:
                    return kept_version(node, _header_version(answer, str(node.version)), clock, tag)
                return read_body(node, await _body(answer), clock, tag)
    except httpx.HTTPError as error:
        raise _visit_error(error) from None
    raise VisitError("redirect", f"more than {MOST_REDIRECTS} in a row")


def _redirect_target(url: str, location: str, hosts: frozenset[str]) -> str:
    """Return the address to which a redirect from `url` leads, by its `location`, which may be relative.

    Raise VisitError unless it is a web address of one of `hosts`, each HOST:PORT.
    """
    try:
        target = urljoin(url, location)
        parts = urlsplit(target)
        place = f"{parts.hostname}:{parts.port or USUAL_PORTS.get(parts.scheme)}"
    except ValueError:
        raise VisitError("redirect", f"leads to {location[:120]!r}, which is no address") from None
    if parts.scheme not in USUAL_PORTS or place not in hosts:
        raise VisitError("redirect", f"leads to {target[:120]!r}, which the file does not name")
    return target


def _require_success(answer: httpx.Response) -> None:
    """Raise VisitError unless the status of an answer is one of success.

    The error has the seconds to wait, if a status of 429 or 503 comes with them.
    """
    if answer.status_code == TOO_MANY:
        raise VisitError("too many requests", f"status {TOO_MANY}", _retry_after(answer))
    if not answer.is_success:
        wait = _retry_after(answer) if answer.status_code == UNAVAILABLE else 0.0
        raise VisitError("status", str(answer.status_code), wait)


def _retry_after(answer: httpx.Response) -> float:
    """Return the seconds for which an answer asks to be left alone, by its Retry-After, a number or a date; else 0."""
    text = answer.headers.get("Retry-After", "").strip()
    if text.isdecimal():
        return float(text[:9])
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, TypeError):
        return 0.0


def _header_version(answer: httpx.Response, name: str) -> str:
    """Return the header called `name` of an answer, which is its version, an etag without its mark of weakness.

    Raise VisitError if it has none.
    """
    value = answer.headers.get(name)
    if not value:
        raise VisitError("no version", f"the answer has no header {name}")
    # Whether an ETag is weak is no part of it: proxies that compress change that, and not the content.
    return str(value).removeprefix("W/") if name == "etag" else str(value)


async def _body(answer: httpx.Response) -> bytes:
    """Return the body of an answer as it came; raise VisitError if it is compressed or too large."""
    coding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if coding != "identity":
        raise VisitError("compressed", f"the body comes as {coding[:20]!r}, which nobody asked for")
    body = bytearray()
    async for chunk in answer.aiter_raw():
        body += chunk
        if len(body) > LARGEST_BODY:
            raise VisitError("too large", f"the body is longer than {LARGEST_BODY >> 20} MB")
    return bytes(body)


def _clock_error(answer: httpx.Response, now: float) -> float | None:
    """Return by how many seconds the Date of an answer is ahead of `now`; None if it has none that can be read.

    Dates are whole seconds, cut off, so that half a second is added.
    """
    try:
        return parsedate_to_datetime(answer.headers["Date"]).timestamp() + 0.5 - now
    except (KeyError, ValueError, TypeError):
        return None


def _visit_error(error: httpx.HTTPError) -> VisitError:
    """Return an error of httpx in our words: what kind it is, and what it says."""
    import httpx

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return VisitError("certificate", cause.verify_message or str(cause))
        cause = cause.__cause__ or cause.__context__
    kinds = (
        (httpx.TimeoutException, "time-out"),
        (httpx.ConnectError, "no connection"),
        (httpx.RemoteProtocolError, "broken answer"),
    )
    kind = next((kind for type_, kind in kinds if isinstance(error, type_)), "network")
    return VisitError(kind, str(error)[:200])

"""What a visit brings home: the version of a body, or a fault that says why there is none."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, final

from replnet.text import printable
from replnet.watch.fleet import InBody, Node

LONGEST_VERSION = 200  # letters that are kept of a version
LARGEST_BODY = 16 << 20  # bytes that are read of a body
LARGEST_JSON = 4 << 20  # bytes of JSON that is read: as data it takes some 30 times as many
DIGEST_BYTES = 16
PATTERN_BYTES = 1 << 20  # of a body in which a pattern is looked for


class VisitError(Exception):
    """A visit that brought no version: its `kind` is one of a few words, and the text says more."""

    def __init__(self, kind: str, about: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{kind}: {about}" if about else kind)
        self.kind, self.about, self.retry_after = kind, about, retry_after


@final
@dataclass(frozen=True)
class Seen:
    """The answer of a node: a version, and the instant at which that left the source (seconds since 1970), if it tells.

    `clock` is how far the clock of the node was ahead of ours, in seconds, None if it did not tell. `tag` is what the
    next request may be conditional on.
    """

    version: str
    left: float | None = None
    clock: float | None = None
    tag: str = ""


def read_body(node: Node, body: bytes, clock: float | None = None, tag: str = "") -> Seen:
    """Return what a body says of a node: its digest, or what stands where the node's `version` says.

    Raise VisitError if nothing stands there, or if the version is to be an instant and is none.
    """
    if isinstance(node.version, InBody):
        version = _found_in(node.version, body)
    else:
        version = hashlib.blake2b(body, digest_size=DIGEST_BYTES).hexdigest()
    return kept_version(node, version, clock, tag)


def kept_version(node: Node, version: str, clock: float | None = None, tag: str = "") -> Seen:
    """Return a version as it is kept: printable, not too long, and with its instant if the node says that it is one."""
    short = printable(version.strip(), LONGEST_VERSION)
    return Seen(short, _instant(short) if node.left else None, clock, tag)


def _found_in(where: InBody, body: bytes) -> str:
    """Return the version in a body, where `where` says, by a pattern or a path in JSON.

    Raise VisitError if there is none, or if the JSON is too large.
    """
    text = body[:PATTERN_BYTES].decode("utf-8", "replace")
    if where.pattern is not None:
        match = re.search(where.pattern, text)
        if match is None or match.group(1) is None:
            raise VisitError("no version", f"nothing in {len(body):,} bytes matches {where.pattern!r}")
        return match.group(1)
    if len(body) > LARGEST_JSON:
        raise VisitError("too large", f"the JSON is longer than {LARGEST_JSON >> 20} MB")
    try:
        value: Any = json.loads(body)
        for part in filter(None, str(where.json_path).split("/")):
            value = value[int(part)] if isinstance(value, list) else value[part]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        raise VisitError("no version", f"there is no {where.json_path} in the JSON") from None
    if isinstance(value, dict | list) or value is None:
        raise VisitError("no version", f"{where.json_path} is no number and no text")
    return str(value)


def _instant(version: str) -> float:
    """Return a version as seconds since 1970: a number of them, a date of ISO 8601, or one of an HTTP header.

    Raise VisitError if it is none of these.
    """
    try:
        return float(version)
    except ValueError:
        pass
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            date = parse(version)
        except ValueError:
            continue
        return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
    raise VisitError("no version", f"{version!r} is no instant, neither seconds nor a date")

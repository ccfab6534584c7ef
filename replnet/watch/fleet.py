"""What is visited: the file of `replnet watch`, with a source, its replicas, and how the version of each is read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from replnet.text import DocumentError, FieldError, FieldsError, read_yaml, short_repr, time_in, validate

WAYS = ("url", "zone", "git", "file", "command")
USUAL_PORTS = {"http": 80, "https": 443}
SHORTEST_PAUSE = 0.01  # seconds between visits of a node


def _seconds(value: object) -> float:
    """Return a time as seconds: a number of them, or a text such as 5min; raise FieldError unless it is above 0."""
    right = "seconds, or a time such as 5min"
    time = time_in(value, "s", "")
    if isinstance(time, bool) or not isinstance(time, int | float) or not SHORTEST_PAUSE <= time < 1e9:
        raise FieldError("", f"{short_repr(value)} is no time of {SHORTEST_PAUSE:g} s or more", right)
    return float(time)


def _web_address(value: object) -> str:
    """Return a URL; raise FieldError unless it begins with http or https, names a host, and has a port if any."""
    try:
        parts = urlsplit(str(value))
        good = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise FieldError("", f"{short_repr(value)} is no web address", "such as https://example.org/serial.txt")
    return str(value)


def _host(value: object) -> str:
    """Return a text HOST or HOST:PORT as it is; raise FieldError for any other value."""
    parts = urlsplit(f"//{value}")
    try:
        good = parts.netloc == value and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise FieldError("", f"{short_repr(value)} is no host", "such as example.org, or example.org:8080")
    return str(value)


def _pattern(value: object) -> str:
    """Return a regular expression with one group, which is the version; raise FieldError for any other value."""
    try:
        groups = re.compile(str(value)).groups
    except re.error as error:
        raise FieldError("", f"{short_repr(value)}: {error}", "such as 'serial: (\\d+)'") from None
    if groups != 1:
        raise FieldError("", f"{short_repr(value)} has {groups} groups", "one in brackets: what the version is")
    return str(value)


Seconds = Annotated[float, BeforeValidator(_seconds)]
WebAddress = Annotated[str, BeforeValidator(_web_address)]
Host = Annotated[str, BeforeValidator(_host)]
Pattern = Annotated[str, BeforeValidator(_pattern)]


class Checked(BaseModel):
    """Abstract: a part of the file, unchangeable and without unknown fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class InBody(Checked):
    """The place of the version in a body: what the group of a pattern finds, or the value at a path in JSON."""

    pattern: Pattern | None = Field(None, description="a regular expression with one group")
    json_path: str | None = Field(None, alias="json", description="a path in JSON, such as /packages/0/version")

    @model_validator(mode="after")
    def _one_of_both(self) -> InBody:
        """Return this model; raise FieldsError unless just one of the two fields is given."""
        if (self.pattern is None) == (self.json_path is None):
            raise FieldsError([((), "has both or none of pattern and json", "one of them")])
        return self


class Node(Checked):
    """A source or a replica: one way to visit it, and how its version is read."""

    url: WebAddress | None = Field(None, description="a web address")
    zone: str | None = Field(None, description="a DNS zone, whose SOA serial is the version; with `server`")
    server: str | None = Field(None, description="the address of the name server that is asked for the zone")
    port: Annotated[int, Field(ge=1, le=65535)] = Field(53, description="the port of the name server")
    git: str | None = Field(None, description="a git remote, as `git ls-remote` takes it")
    ref: str = Field("HEAD", description="the reference of the git remote whose commit is the version")
    file: Path | None = Field(None, description="a file of this machine")
    command: tuple[str, ...] | None = Field(None, description="a program and its arguments, whose output is the body")
    version: Literal["digest", "etag", "last-modified"] | InBody = Field(
        "digest",
        description="digest of the body, etag or last-modified (which need no body), or {pattern: ...} or {json: ...}",
    )
    left: bool = Field(
        False, description="whether the version is the instant at which the data left the source: seconds, or a date"
    )
    every: Seconds | None = Field(None, description="the time between two visits, if not that of the file")

    @model_validator(mode="after")
    def _one_way(self) -> Node:
        """Return this model; raise FieldsError unless there is one way to visit it, and its version can be read so."""
        ways = [way for way in WAYS if getattr(self, way) is not None]
        if len(ways) != 1:
            wrong = f"has {' and '.join(ways)}" if ways else "says nowhere to look"
            raise FieldsError([((), wrong, f"one of {', '.join(WAYS)}")])
        if self.zone is not None and self.server is None:
            raise FieldsError([(("server",), "missing", "the address of the name server that is asked")])
        if self.url is None and isinstance(self.version, str) and self.version != "digest":
            raise FieldsError([(("version",), f"{self.version} is of web addresses only", "digest, pattern or json")])
        return self

    @property
    def host(self) -> str:
        """The name of the host that a visit of the node loads; a file or a program counts as its own host.

        One visit at a time goes to a host.
        """
        if self.url is not None:
            return str(urlsplit(self.url).hostname)
        return self.server or self.git or str(self.file or self.command)


class Fleet(Checked):
    """A source and its replicas, how often they are visited, and with how much patience."""

    title: str | None = Field(None, description="one line that says what is watched")
    nodes: Mapping[str, Node] = Field(description="what is visited, by name", min_length=1)
    source: str = Field("source", description="the node that the others copy")
    every: Seconds = Field(300.0, description="the time between two visits of a node, such as 5min")
    timeout: Seconds = Field(20.0, description="how long a visit may take")
    gap: Seconds = Field(1.0, description="the least time between two visits of one host")
    retries: Annotated[int, Field(ge=0, le=9)] = Field(
        1, description="how often a visit is tried again, after a gap, that brought no answer"
    )
    redirects: tuple[Host, ...] = Field((), description="hosts besides those of the nodes that may be redirected to")

    @model_validator(mode="after")
    def _source_is_a_node(self) -> Fleet:
        """Return this model; raise FieldsError if the source is none of its nodes."""
        if self.source not in self.nodes:
            raise FieldsError([(("source",), f"{self.source!r} is no node", f"one of {', '.join(self.nodes)}")])
        return self

    @property
    def slow_hosts(self) -> dict[str, float]:
        """The least interval, in seconds, at which each node of a host can be visited, by host, where it is too long.

        It is longer than was asked for where the gap between two visits of a host is too long for so many nodes.
        """
        nodes = Counter(node.host for node in self.nodes.values())
        return {
            node.host: nodes[node.host] * self.gap
            for node in self.nodes.values()
            if nodes[node.host] * self.gap > (node.every or self.every)
        }

    @property
    def hosts(self) -> frozenset[str]:
        """The places, each HOST:PORT, that may be asked over HTTP: those of the nodes, and those for redirects.

        Of each host these are also the usual ports, and no others: what else runs there is nobody's concern.
        """
        named = [*self.redirects, *(str(urlsplit(node.url).netloc) for node in self.nodes.values() if node.url)]
        parts = [urlsplit(f"//{host}") for host in named]
        ports = ((part.hostname, port) for part in parts for port in (part.port, *USUAL_PORTS.values()) if port)
        return frozenset(f"{host}:{port}" for host, port in ports)


def read_fleet(path: Path) -> Fleet:
    """Return the fleet that a YAML file describes; raise DocumentError with all that is wrong, line by line."""
    document = read_yaml(path)
    if not isinstance(document.data, Mapping):
        raise DocumentError([document.problem((), "is no mapping", "nodes: {source: {url: ...}, ...}")])
    fields: dict[str, Any] = dict(document.data)
    return validate(Fleet, fields, document)

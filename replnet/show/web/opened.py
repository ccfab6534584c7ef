"""What the command has opened: the only files that its pages read, whatever their addresses and boxes say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias, final

from replnet.network import document_of
from replnet.show.web.answers import NetworkQuestion
from replnet.text import Document, FieldError, files_of, override, shipped_names

Pair = tuple[str, str]
RecordReader: TypeAlias = Callable[[int], bytes]
"""A function that reads the record of a live run from an offset to its end."""


@final
@dataclass(frozen=True)
class Opened:
    """The network, with overrides `key=value`, that `replnet ui` was started with.

    Each of the others is None unless it was given: the directory of a sweep (`folder`), a trace, or the function that
    reads the record of a run that goes on.
    """

    network: str
    overrides: tuple[str, ...] = ()
    folder: Path | None = None
    trace: Path | None = None
    record: RecordReader | None = None

    @property
    def start(self) -> tuple[str, list[Pair]]:
        """The path of the first page, and the (name, value) pairs of the query in its address."""
        if self.trace is not None or self.record is not None:
            return "/watch", []
        if self.folder is not None:
            return "/read", []
        return "/", network_pairs(self.network, self.overrides)

    @cached_property
    def networks(self) -> list[str]:
        """The files and names of the networks that pages show: that of the command, and those that come
        with replnet.
        """
        names = shipped_names()
        return names if self.network in names else [self.network, *names]

    @cached_property
    def files(self) -> frozenset[str]:
        """The absolute paths of the records and graphs that the network of the command reads."""
        return files_of(override(document_of(self.network), self.overrides))

    def document(self, network: str) -> Document:
        """Return the specification of the network with a name that a browser sends; raise a FieldError if it is not in
        `networks`.
        """
        if network not in self.networks:
            raise FieldError("network", f"{network!r} is not open here", "replnet ui NETWORK opens it")
        return document_of(network)

    def question(self, network: str, document: Document, overrides: Iterable[str], target: float) -> NetworkQuestion:
        """Return the question about a network under overrides `key=value`, with the freshness `target` that the user
        wants.

        `document` is the network's specification. Raise a FieldError if, by the overrides, the network reads files that
        neither the document nor the command names.
        """
        overrides = tuple(overrides)
        others = files_of(override(document, overrides)) - files_of(document) - self.files
        if others:
            raise FieldError("file", f"{min(others)} is not open here", "a record that the command replnet ui names")
        return NetworkQuestion(network, overrides, target)


def network_pairs(network: str, overrides: Iterable[str]) -> list[Pair]:
    """Return the (name, value) pairs that stand for a network with overrides in the address of a page."""
    return [("network", network), *(("s", override) for override in overrides)]

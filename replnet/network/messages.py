"""What nodes say to one another, and what they ask of whoever runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

NodeId: TypeAlias = str | int
"""A name, or a number: whoever runs nodes decides."""
Copies: TypeAlias = Mapping[NodeId, float]
"""Per source, the instant at which what is held left it."""


@dataclass(frozen=True, slots=True)
class Pull:
    """Send me what you have. With `contacts`, also that many of your latest other contacts in my pool."""

    query: int = 0
    pool: str = ""
    contacts: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What I had when your pull came, and whom I last heard from."""

    copies: Copies
    query: int = 0
    contacts: tuple[NodeId, ...] | None = None


@dataclass(frozen=True, slots=True)
class Silence:
    """To a pull of this query there will be no reply."""

    query: int


Message: TypeAlias = Pull | Reply | Silence


@dataclass(frozen=True, slots=True)
class Send:
    to: NodeId
    message: Message


@dataclass(frozen=True, slots=True)
class Wake:
    """Call me at this planned instant, for this purpose."""

    at: float
    purpose: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A client's query came to its end with these copies, of which there may be none."""

    copies: Copies


Command: TypeAlias = Send | Wake | Answer

"""What hosts have seen: per replication what is added up, per host how it did."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from replnet.engines.path import Shares
from replnet.live.quantiles import Spread
from replnet.network.messages import NodeId

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LogRow: TypeAlias = tuple[int, float, str, NodeId, NodeId | None, float | None, NodeId | None]
"""Replication, at, event, node, peer, left, source.

    start                    at time zero, and after its process was replaced: what a replica holds, or of a source,
                             when it last changed
    update                   a source changes, at the planned instant
    download, poll, query    a pull that gets on its way; at is the planned instant, peer who is asked (None: nobody)
    failed                   a pull that does not, at the planned instant
    reply                    at is its arrival, peer who sent it
    answer                   a client has all the replies to a query

`left` is the instant at which the copy that came left its source, None if there was none; where copies come there is
a row per source for which the node counts (Plan.counted). `source` of an update is the node; pulls have none.
"""

EVENTS = {"updates": "update", "downloads": "download", "polls": "poll", "queries": "query"}


@final
@dataclass
class Seen:
    """Of one host, all replications together."""

    delays: list[Spread]  # of replies, by the group of who gets them
    late: list[Spread]  # the same, but only by how much they came later than the network says
    responses: Spread = field(default_factory=Spread)  # to queries, from when they were due
    slip: Spread = field(default_factory=Spread)
    said: int = 0  # messages of its nodes, wherever they went
    rows: list[LogRow] | None = None  # since they were last handed on, if anyone wants them


@final
@dataclass(frozen=True)
class Tallied:
    """Of one replication in one host; times in total, per group."""

    counts: tuple[int, ...]  # wakes, by purpose
    fresh: Floats
    present: Floats  # copy-time in which something was held
    answers: Ints
    empty: Ints  # of these, without a copy that could have been there
    good: Floats
    good_when_due: Floats
    unanswered: int
    load: Shares  # of its own nodes


@final
@dataclass(frozen=True)
class Report:
    """What one incarnation of a host has seen from when it went live up to some instant."""

    upto: float
    tallied: tuple[Tallied, ...]  # by replication
    delays: list[Spread]
    late: list[Spread]
    responses: Spread
    slip: Spread
    said: int
    crossed: int  # messages to other hosts
    batches: int  # of these
    taken: int  # batches that came, each once
    repeated: int  # batches that had come before


@final
@dataclass(frozen=True)
class Finished:
    """The last report of a host, and what only the end shows."""

    report: Report
    left: list[list[tuple[int, int, float]]]  # by replication: row of the source, node, S
    rows: list[LogRow]
    busy: float  # share of the time in which its loop worked
    cpu: float  # CPUs that its process used
    stood: list[tuple[float, float]] = field(default_factory=list)  # still, from when in model time, for seconds


def total(things: list[Any]) -> Any:
    """Of arrays or tuples, element by element."""
    return np.sum(things, axis=0)

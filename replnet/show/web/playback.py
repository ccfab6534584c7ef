"""Playback of a recorded run (run/event_log): which copies were fresh when.

A replica keeps the freshest copy that it was ever sent, so that between two replies it holds the same, for a stretch of
time (measure/stretches) that is fresh at its begin or not at all. A client has what its last answer brought, and that
is fresh or stale by the instant of the answer. Who is down when follows from the network and the seed: a trace has no
events about it. The copies of a node that is down do not count, even if it keeps them. Means over time are exact:

    fresh copies on average over (a, b]  =  (F(b) - F(a)) / (H(b) - H(a)),                      (1)

where F(t) adds up how long the copies of a group were fresh until t, and H(t) how long they were there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np

from replnet.engines import DOWN, Outages
from replnet.laws import Flags, Floats, Ints
from replnet.measure import Stretches, Updates
from replnet.network import Network
from replnet.show.web.node_spans import NodeSpans
from replnet.show.web.outage_bands import Band, down_spans, planned_bands, planned_outages
from replnet.text import FieldError

COLUMNS = ("at", "event", "node", "left", "source")
EVENTS_WITH_COPY = ("start", "reply", "offer", "answer")  # after which a node has a copy
PULL_EVENTS = ("download", "poll", "query")
MOST_GROUPS_SHOWN = 8  # over time

Trace: TypeAlias = Path | bytes
"""A file of `replnet run --trace`, or the bytes of one."""


@final
@dataclass(frozen=True, eq=False)
class Playback:
    """A replication of a run, from time zero to `end`: the time spans in which nodes held copies, and those in which
    these were fresh.

    The spans of clients are from one answer to the next, fresh throughout or not at all. `answers` has three arrays:
    the client of each answer, its instant, and whether it was fresh. `pulls` are the instants of all downloads, polls
    and queries, in order, and `bands` those spans in which nodes were down or the network was cut.
    """

    network: Network
    engine: str
    end: float
    held: NodeSpans
    fresh: NodeSpans
    answers: tuple[Ints, Floats, Flags]  # that clients got: the client, when, and whether the answer was fresh
    pulls: Floats  # the instants at which nodes sent a download, a poll or a query
    bands: tuple[Band, ...] = ()  # the times at which nodes were down or the network was cut

    def freshness_by_group(self, bins: int) -> tuple[Floats, dict[str, Floats]]:
        """Return the middles of `bins` equal time spans, and by group the share of copies, or of clients' answers, that
        were fresh in each.

        It is NaN in spans in which the group had none.
        """
        edges = np.linspace(0.0, self.end, bins + 1)
        shares = {name: self._share(members, edges) for name, members in self.groups.items()}
        return (edges[1:] + edges[:-1]) / 2, shares

    def copies_at(self, time: float) -> tuple[Ints, Ints]:
        """Return two arrays by the number of the node: how many copies it has at a time, and how many of them are
        fresh.
        """
        return self.held.count_at(time, self.network.size), self.fresh.count_at(time, self.network.size)

    def pace(self, bins: int) -> Floats:
        """Return the pulls of all nodes per unit of time, in each of `bins` equal time spans."""
        return np.asarray(np.histogram(self.pulls, bins, (0.0, self.end or 1.0))[0] * bins / (self.end or 1.0))

    @cached_property
    def groups(self) -> dict[str, Ints]:
        """The numbers of the nodes of each group of replicas or clients, by its name; only of the first eight
        groups.
        """
        topology = self.network.topology
        nodes_of: dict[str, list[Ints]] = {}
        for block in topology.blocks:
            if block.nodes.size and not np.isin(block.nodes, topology.sources).all():
                nodes_of.setdefault(block.group, []).append(block.nodes)
        return {name: np.concatenate(arrays) for name, arrays in list(nodes_of.items())[:MOST_GROUPS_SHOWN]}

    def _share(self, members: Ints, edges: Floats) -> Floats:
        """Return the share of the copies of nodes `members` that were fresh, one value for the time between each two
        neighbours in `edges`.

        If any of them got answers, as clients do, it is the share of their answers that were fresh. It is NaN where
        there were no copies or answers.
        """
        node, at, fresh = self.answers
        with np.errstate(invalid="ignore", divide="ignore"):
            if (rows := np.isin(node, members)).any():
                weights = fresh[rows].astype(float)
                counts = np.histogram(at[rows], edges)[0]
                return np.asarray(np.histogram(at[rows], edges, weights=weights)[0] / counts)
            return np.asarray(
                np.diff(self.fresh.of_nodes(members).total_until(edges))
                / np.diff(self.held.of_nodes(members).total_until(edges))
            )


def recorded_replications(trace: Trace) -> list[int]:
    """Return the numbers of the replications with events in a trace, ascending.

    Raise FieldError if the trace cannot be read.
    """
    import pyarrow.compute as pc

    numbers: list[int] = sorted(pc.unique(_read_table(trace, ["replication"])["replication"]).to_pylist())
    return numbers


def read_playback(trace: Trace, replication: int) -> Playback:
    """Return the playback of one replication of the run that wrote a trace.

    `replication` is its number, from 0. Raise FieldError if the trace has no events of it, or cannot be read.
    """
    table = _read_table(trace, list(COLUMNS), [("replication", "=", replication)])
    about = json.loads((table.schema.metadata or {}).get(b"replnet", b"{}"))
    if "network" not in about or not table.num_rows:
        raise FieldError(_name(trace), f"has no events of replication {replication}", "a file of replnet run --trace")
    network, events = Network.from_data(about["network"]), _columns(table)
    end = float(events["at"].max())
    outages = planned_outages(network, about["seed"], replication, end) if "seed" in about else None
    return playback_of_events(network, events, about.get("engine", ""), outages)


def playback_of_events(
    network: Network, events: Mapping[str, Any], engine: str = "", outages: Outages | None = None
) -> Playback:
    """Return the playback of the recorded events of one replication, given as columns of equal length.

    They are the instant `at`, the kind of `event`, the name of its `node`, and, for events that bring a copy, its
    departure `left` (else NaN) and the name of its `source`. `engine` is the name of the engine that ran it. Times at
    which nodes were down by `outages` are left out and become bands; None stands for no outages.
    """
    import pandas as pd

    number = {name: at for at, name in enumerate(network.topology.names)}
    at, left = np.asarray(events["at"], dtype=float), np.asarray(events["left"], dtype=float)
    kind = np.asarray(events["event"])
    node = np.array([number[name] for name in events["node"]], dtype=np.int64)
    source = np.array([number.get(name, -1) for name in events["source"]], dtype=np.int64)
    end = float(at.max())
    # Replies to a client are part of an answer, which is the best of them.
    rows = np.isin(kind, EVENTS_WITH_COPY) & ((kind == "answer") == network.topology.clients[node])
    rows &= (node != source) & (source >= 0) & ~np.isnan(left)
    order = np.flatnonzero(rows)[np.lexsort((at[rows], source[rows], node[rows]))]
    at_, node_, source_, left_ = at[order], node[order], source[order], left[order]
    answered = kind[order] == "answer"
    life, over = _copy_lives(outages, node_, at_)
    # A replica keeps the freshest copy that it was sent, until it loses it; a client has what its last answer brought.
    is_first = np.r_[True, (np.diff(node_) != 0) | (np.diff(source_) != 0) | (np.diff(life) != 0)][: order.size]
    departures = np.where(answered, left_, pd.Series(left_).groupby(np.cumsum(is_first)).cummax())
    stop = np.where(np.append(is_first, True)[1:], np.minimum(over, end), np.append(at_, end)[1:])
    sources, row = np.unique(source_, return_inverse=True)
    stretches = Stretches(row, at_, stop, departures, _updates(kind, node, at, left, sources))
    fresh = stretches.first_missed_update > at_
    held = NodeSpans(node_, at_, stop)
    ends = np.where(answered, stop, stretches.fresh_until)
    good = NodeSpans(node_[fresh], at_[fresh], ends[fresh])
    if outages is not None:
        down = down_spans(outages, end)
        held, good = held.minus(down), good.minus(down)
    answers, pulls = (node_[answered], at_[answered], fresh[answered]), np.sort(at[np.isin(kind, PULL_EVENTS)])
    return Playback(network, engine, end, held, good, answers, pulls, tuple(planned_bands(network, outages, end)))


def _copy_lives(outages: Outages | None, node: Ints, at: Floats) -> tuple[Ints, Floats]:
    """Return two arrays, by event: a count that grows each time its node loses its copies, and when the node will lose
    them next.

    `node` and `at` are the node and the instant of each event. The second array is inf where no loss follows; without
    `outages` none ever does.
    """
    life, over, falls = np.zeros(node.size, np.int64), np.full(node.size, np.inf), dict[int, list[float]]()
    for when, turn, who, empties in outages.turns if outages is not None else ():
        if turn == DOWN and empties:
            falls.setdefault(who, [-np.inf]).append(when)
    for who, times in falls.items():
        rows = np.flatnonzero(node == who)
        life[rows] = np.searchsorted(times, at[rows], side="right")
        over[rows] = np.append(times, np.inf)[life[rows]]
    return life, over


def _updates(kind: Any, node: Ints, at: Floats, left: Floats, sources: Ints) -> Updates:
    """Return the instants at which these sources changed: the last change before the start, and all that follow.

    `kind`, `node`, `at` and `left` are columns of events (what happened, at which node, when, and the departure of the
    copy), and `sources` has the numbers of nodes.
    """
    instants = np.where(kind == "start", left, at)
    changed = np.isin(kind, ("start", "update"))
    changes = [np.sort(instants[changed & (node == source)]) for source in sources.tolist()]
    return Updates(np.concatenate([*changes, []]), np.cumsum([0, *(points.size for points in changes)]))


def _columns(table: Any) -> dict[str, Any]:
    """Return the columns of a table of events as arrays, by the names in COLUMNS."""
    return {name: table[name].to_pandas().to_numpy() for name in COLUMNS}


def _read_table(trace: Trace, columns: list[str], filters: Any = None) -> Any:
    """Return a table with these columns of a trace; raise FieldError that says why if it cannot be read.

    `filters` choose its rows as those of pyarrow do; None chooses all.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        source = pa.BufferReader(trace) if isinstance(trace, bytes) else trace
        return pq.read_table(source, columns=columns, filters=filters)
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        gone = isinstance(trace, Path) and not trace.exists()
        wrong = "does not exist" if gone else f"is no trace: {str(error).splitlines()[0][:200]}"
        raise FieldError(_name(trace), wrong, "a file of replnet run --trace") from None


def _name(trace: Trace) -> str:
    """Return the name of a trace in messages: its path, or "the run" for bytes."""
    return "the run" if isinstance(trace, bytes) else str(trace)

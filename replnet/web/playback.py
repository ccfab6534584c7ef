"""Who was fresh when, from the recorded events of a run (study/event_log).

A replica that holds data from S is fresh at t if its source had no update in (S, t]. It keeps the freshest that it was
ever sent, so between two replies what it has is fresh from the first of them until the next update after S, or not at
all: each stretch of time with a copy has at most one fresh stretch, at its beginning. A client has what its last answer
brought, and that is fresh or stale by the instant of the answer. Means over time are exact:

    fresh copies on average over (a, b]  =  (F(b) - F(a)) / (H(b) - H(a)),                      (1)

where F(t) adds up how long the copies of a group were fresh until t, and H(t) how long they were there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np

from replnet.laws.law import Flags, Floats, Ints
from replnet.network.network import Network

COLUMNS = ("at", "event", "node", "left", "source")
HOLDING = ("start", "reply", "offer", "answer")  # events after which a node has a copy
MOST_GROUPS = 8  # that are followed over time


@final
@dataclass(frozen=True, eq=False)
class Stretches:
    """Stretches of time: of which node, from when to when."""

    node: Ints
    begin: Floats
    end: Floats

    def of(self, nodes: Ints) -> Stretches:
        """Those of some nodes."""
        mine = np.isin(self.node, nodes)
        return Stretches(self.node[mine], self.begin[mine], self.end[mine])

    def until(self, times: Floats) -> Floats:
        """Their lengths added up until each of these times."""
        return _since(self.begin, times) - _since(self.end, times)

    def at(self, time: float, nodes: int) -> Ints:
        """How many of each node's there are at a time."""
        now = (self.begin <= time) & (time < self.end)
        return np.bincount(self.node[now], minlength=nodes)


@final
@dataclass(frozen=True, eq=False)
class Playback:
    """One replication of a run: when its copies were there, and when they were fresh, by the number of the node."""

    network: Network
    engine: str
    end: float
    held: Stretches
    fresh: Stretches
    answers: tuple[Ints, Floats, Flags]  # of clients: who, when, and whether it was fresh

    def levels(self, bins: int) -> tuple[Floats, dict[str, Floats]]:
        """The middles of equal spans of time, and by group the share of its copies that were fresh in each, (1)."""
        edges = np.linspace(0.0, self.end, bins + 1)
        shares = {name: self._share(members, edges) for name, members in self.groups.items()}
        return (edges[1:] + edges[:-1]) / 2, shares

    def states(self, time: float) -> dict[str, tuple[int, int]]:
        """By name, how many copies a node has at a time, and how many of them are fresh."""
        size = self.network.size
        held, fresh = self.held.at(time, size).tolist(), self.fresh.at(time, size).tolist()
        return dict(zip(self.network.topology.names, zip(held, fresh, strict=True), strict=True))

    @cached_property
    def groups(self) -> dict[str, Ints]:
        """The nodes of every group of replicas or clients, as many groups as can be told apart."""
        topology = self.network.topology
        found: dict[str, list[Ints]] = {}
        for block in topology.blocks:
            if block.nodes.size and not np.isin(block.nodes, topology.sources).all():
                found.setdefault(block.group, []).append(block.nodes)
        return {name: np.concatenate(parts) for name, parts in list(found.items())[:MOST_GROUPS]}

    def _share(self, members: Ints, edges: Floats) -> Floats:
        node, at, fresh = self.answers
        with np.errstate(invalid="ignore", divide="ignore"):
            if (mine := np.isin(node, members)).any():
                weights = fresh[mine].astype(float)
                counts = np.histogram(at[mine], edges)[0]
                return np.asarray(np.histogram(at[mine], edges, weights=weights)[0] / counts)
            return np.asarray(
                np.diff(self.fresh.of(members).until(edges)) / np.diff(self.held.of(members).until(edges))
            )


def replications(file: Path) -> list[int]:
    """Those of which a trace has events."""
    import pyarrow.compute as pc

    found: list[int] = sorted(pc.unique(_read(file, ["replication"])["replication"]).to_pylist())
    return found


def playback(file: Path, replication: int) -> Playback:
    """A replication of the run that wrote this trace."""
    table = _read(file, list(COLUMNS), [("replication", "=", replication)])
    about = json.loads((table.schema.metadata or {}).get(b"replnet", b"{}"))
    if "network" not in about or not table.num_rows:
        raise ValueError(f"{file}: has no events of replication {replication} (a file of replnet run --trace)")
    return of_events(Network.from_data(about["network"]), _columns(table), about.get("engine", ""))


def of_events(network: Network, events: Mapping[str, Any], engine: str = "") -> Playback:
    """From columns of events: `at`, `event`, `node`, `left` and `source`; names, and None for no source."""
    number = {name: at for at, name in enumerate(network.topology.names)}
    at, left = np.asarray(events["at"], dtype=float), np.asarray(events["left"], dtype=float)
    kind = np.asarray(events["event"])
    node = np.array([number[name] for name in events["node"]], dtype=np.int64)
    source = np.array([number.get(name, -1) for name in events["source"]], dtype=np.int64)
    end = float(at.max())
    # Replies to a client are part of an answer, which is the best of them.
    rows = np.isin(kind, HOLDING) & ((kind == "answer") == network.topology.clients[node])
    rows &= (node != source) & (source >= 0) & ~np.isnan(left)
    order = np.flatnonzero(rows)[np.lexsort((at[rows], source[rows], node[rows]))]
    at_, node_, source_, left_ = at[order], node[order], source[order], left[order]
    answered = kind[order] == "answer"
    changes = {one: np.sort(_changes(kind, node, at, left, one)) for one in np.unique(source_).tolist()}
    stop, until = np.full(order.size, end), np.empty(order.size)
    first = np.flatnonzero(np.r_[True, (np.diff(node_) != 0) | (np.diff(source_) != 0)][: order.size])
    for begin, after in zip(first, [*first[1:], order.size], strict=True):
        here, updates = slice(begin, after), changes[int(source_[begin])]
        stop[begin : after - 1] = at_[begin + 1 : after]
        data = left_[here] if answered[begin] else np.maximum.accumulate(left_[here])
        until[here] = np.r_[updates, np.inf][np.searchsorted(updates, data, side="right")]
    fresh = until > at_
    held = Stretches(node_, at_, stop)
    ends = np.where(answered, stop, np.minimum(until, stop))
    good = Stretches(node_[fresh], at_[fresh], ends[fresh])
    return Playback(network, engine, end, held, good, (node_[answered], at_[answered], fresh[answered]))


def _changes(kind: Any, node: Ints, at: Floats, left: Floats, source: int) -> Floats:
    """When a source changed: its last change before the start, and all that follow."""
    mine = node == source
    return np.concatenate([left[mine & (kind == "start")], at[mine & (kind == "update")]])


def _since(begins: Floats, times: Floats) -> Floats:
    """The times since these instants, added up, at each of `times`."""
    order = np.sort(begins)
    sums = np.concatenate([[0.0], np.cumsum(order)])
    count = np.searchsorted(order, times, side="right")
    return np.asarray(count * times - sums[count])


def _columns(table: Any) -> dict[str, Any]:
    return {name: table[name].to_pandas().to_numpy() for name in COLUMNS}


def _read(file: Path, columns: list[str], filters: Any = None) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.read_table(file, columns=columns, filters=filters)
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        wrong = "does not exist" if not file.exists() else f"is no trace: {str(error).splitlines()[0][:200]}"
        raise ValueError(f"{file}: {wrong} (a file of replnet run --trace)") from None

"""Who was fresh when, from the recorded events of a run (study/event_log).

A replica that holds data from S is fresh at t if its source had no update in (S, t]. It keeps the freshest that it was
ever sent, so between two replies what it has is fresh from the first of them until the next update after S, or not at
all: each stretch of time with a copy has at most one fresh stretch, at its beginning. A client has what its last answer
brought, and that is fresh or stale by the instant of the answer. Who is down when follows from the network and the
seed; of that there are no events, and copies do not count meanwhile, even if they are kept. Means over time are exact:

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

from replnet.engines.outages import DOWN, Outages
from replnet.laws.law import Flags, Floats, Ints
from replnet.network.network import Network
from replnet.web.node_spans import NodeSpans
from replnet.web.outage_bands import Band, down_spans, planned_bands, planned_outages

COLUMNS = ("at", "event", "node", "left", "source")
HOLDING = ("start", "reply", "offer", "answer")  # events after which a node has a copy
PULLING = ("download", "poll", "query")
MOST_GROUPS = 8  # that are followed over time


@final
@dataclass(frozen=True, eq=False)
class Playback:
    """One replication of a run: when its copies were there, and when they were fresh, by the number of the node."""

    network: Network
    engine: str
    end: float
    held: NodeSpans
    fresh: NodeSpans
    answers: tuple[Ints, Floats, Flags]  # of clients: who, when, and whether it was fresh
    pulls: Floats  # when they were sent
    bands: tuple[Band, ...] = ()  # when something was out of order

    def levels(self, bins: int) -> tuple[Floats, dict[str, Floats]]:
        """The middles of equal spans of time, and by group the share of its copies that were fresh in each, (1)."""
        edges = np.linspace(0.0, self.end, bins + 1)
        shares = {name: self._share(members, edges) for name, members in self.groups.items()}
        return (edges[1:] + edges[:-1]) / 2, shares

    def states(self, time: float) -> tuple[Ints, Ints]:
        """How many copies every node has at a time, and how many of them are fresh."""
        return self.held.at(time, self.network.size), self.fresh.at(time, self.network.size)

    def pace(self, bins: int) -> Floats:
        """Pulls per unit of time in each of these equal spans."""
        return np.asarray(np.histogram(self.pulls, bins, (0.0, self.end or 1.0))[0] * bins / (self.end or 1.0))

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
    network, events = Network.from_data(about["network"]), _columns(table)
    end = float(events["at"].max())
    outages = planned_outages(network, about["seed"], replication, end) if "seed" in about else None
    return of_events(network, events, about.get("engine", ""), outages)


def of_events(
    network: Network, events: Mapping[str, Any], engine: str = "", outages: Outages | None = None
) -> Playback:
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
    life, over = _lives(outages, node_, at_)
    changes = {one: np.sort(_changes(kind, node, at, left, one)) for one in np.unique(source_).tolist()}
    stop, until = np.minimum(over, end), np.empty(order.size)
    apart = (np.diff(node_) != 0) | (np.diff(source_) != 0) | (np.diff(life) != 0)
    first = np.flatnonzero(np.r_[True, apart][: order.size])
    for begin, after in zip(first, [*first[1:], order.size], strict=True):
        here, updates = slice(begin, after), changes[int(source_[begin])]
        stop[begin : after - 1] = at_[begin + 1 : after]
        data = left_[here] if answered[begin] else np.maximum.accumulate(left_[here])
        until[here] = np.r_[updates, np.inf][np.searchsorted(updates, data, side="right")]
    fresh = until > at_
    held = NodeSpans(node_, at_, stop)
    ends = np.where(answered, stop, np.minimum(until, stop))
    good = NodeSpans(node_[fresh], at_[fresh], ends[fresh])
    if outages is not None:
        down = down_spans(outages, end)
        held, good = held.without(down), good.without(down)
    answers, pulls = (node_[answered], at_[answered], fresh[answered]), at[np.isin(kind, PULLING)]
    return Playback(network, engine, end, held, good, answers, pulls, tuple(planned_bands(network, outages, end)))


def _lives(outages: Outages | None, node: Ints, at: Floats) -> tuple[Ints, Floats]:
    """How often nodes had lost their copy before these instants, and when each will do so next."""
    life, over, falls = np.zeros(node.size, np.int64), np.full(node.size, np.inf), dict[int, list[float]]()
    for when, turn, who, empties in outages.turns if outages is not None else ():
        if turn == DOWN and empties:
            falls.setdefault(who, [-np.inf]).append(when)
    for who, times in falls.items():
        mine = np.flatnonzero(node == who)
        life[mine] = np.searchsorted(times, at[mine], side="right")
        over[mine] = np.append(times, np.inf)[life[mine]]
    return life, over


def _changes(kind: Any, node: Ints, at: Floats, left: Floats, source: int) -> Floats:
    """When a source changed: its last change before the start, and all that follow."""
    mine = node == source
    return np.concatenate([left[mine & (kind == "start")], at[mine & (kind == "update")]])


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

"""Specifications to topologies.

Networks are built level by level: `above` are the nodes that feed what is added. Each tier of a composed network
stands below the last level of the one above. With `under: each` every node there feeds a copy of the tier; with
`under: spread` there is one copy, whose top nodes are dealt in turn over the nodes above. Node 2/5/1.3 is replica
1.3 in the fifth copy of tier 2; a tier with one copy leaves its number out. What does not fit into the memory of
this machine is not begun.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from replnet.laws.law import Ints
from replnet.network.aggregate import Aggregate
from replnet.network.graph_fields import Graph
from replnet.network.sources import ManySources, add_aggregate
from replnet.network.specification import AggregateTier, Clients, Compose, Redundant, Spec, TierClients
from replnet.network.topology import INDEX, Branched, Numbered, Topology
from replnet.text.errors import FieldError

if TYPE_CHECKING:
    from replnet.network.network import Network


def build(spec: Spec) -> Topology:
    """The topology of a specification."""
    about = {"kind": spec.kind, "name": spec.name or spec.kind, "delay": spec.delay}
    made = Topology({**about, "queue": spec.queue, "charge": spec.charge, "faults": spec.faults, **_start(spec)})
    if isinstance(spec, Graph):
        spec.wiring.add_to(made)
        return made
    if isinstance(spec, Aggregate):
        add_aggregate(made, ManySources.of(spec), _bandwidth(spec))
        return made
    if isinstance(spec, Compose):
        _add_clients(made, spec.clients, [levels[-1] for levels in _tiers(made, spec)], "tier")
        return made
    source = made.add(["source"], "source", "source", updates=spec.updates, **_bandwidth(spec))
    if isinstance(spec, Redundant):
        _add_redundant(made, spec, source)
    else:
        _add_clients(made, spec.clients, list(_shape(made, spec, source, _bandwidth(spec))), "level")
    return made


def _start(spec: Any) -> dict[str, str]:
    return {} if spec.start is None else {"start": spec.start}


def _bandwidth(spec: Any) -> dict[str, Any]:
    return {} if spec.bandwidth is None else {"bandwidth": spec.bandwidth}


def _add_redundant(made: Topology, spec: Redundant, source: Ints) -> None:
    require_room(spec.replicas + spec.clients)
    replicas = made.add(
        Numbered("replica ", spec.replicas), "replica", "level 1", downloads=spec.downloads, **_bandwidth(spec)
    )
    made.link(dealt(source, replicas.size), replicas)
    clients = Clients(level="last", number=spec.clients, ask=spec.ask, queries=spec.queries)
    _add_clients(made, clients, [replicas], "level")


def _add_clients(made: Topology, clients: Clients | TierClients | None, levels: list[Ints], word: str) -> None:
    """Clients who ask the nodes of one of `levels`."""
    if clients is None:
        return
    level = clients.level if isinstance(clients, Clients) else clients.tier
    number = len(levels) if level == "last" else level
    pool = f"{word} {number}"
    made.pools[pool] = levels[number - 1]
    made.add(
        Numbered("client ", clients.number), "client", "clients", queries=clients.queries, ask=clients.ask, pool=pool
    )


def _shape(
    made: Topology,
    shape: Any,
    above: Ints,
    common: dict[str, Any],
    prefix: str = "",
    tier: str = "",
    pool: str = "cluster",
) -> Iterator[Ints]:
    """The replicas of one single, cascade or cooperative below `above`, level by level.

    `prefix` starts every name and `tier` is the group; `common` goes to every node.
    """
    if shape.kind == "cascade":
        yield from _tree(made, shape, above, common, prefix, tier)
        return
    count = shape.sizes(vars(shape))[0]
    require_room(count)
    own, group = {"downloads": shape.downloads}, "level 1"
    if shape.kind == "cooperative":
        group = "cluster"
        if shape.peers:
            own |= {"polls": shape.polls, "peers": shape.peers, "select": shape.select}
            own |= {"two_way": True} if shape.two_way else {}
        own["pool"] = pool
    replicas = made.add(Numbered(prefix or "replica ", count), "replica", tier or group, **own, **common)
    if shape.kind == "cooperative":
        made.pools[pool] = replicas
    made.link(dealt(above, count), replicas)
    yield replicas


def dealt(above: Ints, count: int) -> Ints:
    """The node above for each of so many, in turn."""
    return above[np.arange(count, dtype=INDEX) % above.size]


def _tree(made: Topology, shape: Any, above: Ints, common: dict[str, Any], prefix: str, tier: str) -> Iterator[Ints]:
    """A cascade, level by level; replica 1.2 is the second below replica 1."""
    parents, size = dealt(above, shape.branching), shape.branching
    for level in range(1, shape.depth + 1):
        require_room(size)
        group = f"level {level}" if not tier else tier if shape.depth == 1 else f"{tier} level {level}"
        names = Branched(prefix, shape.branching, level)
        row = made.add(names, "replica", group, downloads=shape.law_of(level), **common)
        made.link(parents, row)
        yield row
        if level < shape.depth:
            size *= shape.branching
            parents = np.repeat(row, shape.branching)


def _tiers(made: Topology, spec: Compose) -> list[list[Ints]]:
    """The replicas of all tiers, by tier and level."""
    tiers: list[list[Ints]] = []
    above: Ints = np.empty(0, INDEX)
    if spec.updates is not None:
        above = made.add(["source"], "source", "source", updates=spec.updates, **_bandwidth(spec))
    for number, tier in enumerate(spec.tiers, 1):
        common = _bandwidth(tier) or _bandwidth(spec)
        if isinstance(tier, AggregateTier):
            above = add_aggregate(made, ManySources.of(tier, f"tier {number}"), common, f"{number}/")
            tiers.append([above])
            continue
        feeders = above.reshape(-1, 1) if tier.under == "each" else above.reshape(1, -1)
        copies = []
        for copy, feeder in enumerate(feeders, 1):
            place = f"{number}/{copy}" if len(feeders) > 1 else f"{number}"
            copies.append(list(_shape(made, tier, feeder, common, f"{place}/", f"tier {number}", f"cluster {place}")))
        tiers.append([np.concatenate(level) for level in zip(*copies, strict=True)])
        above = tiers[-1][-1]
    return tiers


# Bytes per node, measured on networks of 1,000,000 and 10,000,000 replicas: what is known of a network, and what one
# replication of a dozen events per replica takes (a long one up to so many times as much); the same where messages wait
# or get lost and where there are clients; and what sources of an aggregate take.
KNOWN, EMULATED, LONG, COPIES = 450, 900, 1.5, 850
WAITING, LONG_WAITING = 2_500, 1.8
DOZEN = 12
GRAPH = 1_100  # bytes per node of a NetworkX graph
SECONDS = 2e-6, 3e-6  # per node, of CPU time until it is predicted, and until its first event
# The same of graphs by names, with two links a node, measured on files of 1,000,000 nodes.
NAMED, READ = 2_000, 24e-6
MANY = 100_000  # nodes from which on it is worth saying


def memory() -> int:
    """Bytes that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require_room(nodes: int, each: int = KNOWN) -> None:
    """Refuses what this machine cannot hold, before it tries for minutes."""
    needed, there = nodes * each, memory()
    if needed > there:
        wrong = f"{nodes:,} nodes take about {needed / 1e9:.2g} GB of memory, and this machine has {there / 1e9:.2g}"
        raise FieldError("network", wrong, f"at most {there // each:,} nodes")


def each_emulated(network: Network, length: float | None = None) -> int:
    """Bytes per node of a replication of so many units of time; of a short one if that is not said."""
    if network.kind == "aggregate":
        return COPIES
    if network.size < MANY:
        return EMULATED
    topology = network.topology
    clocks, processes = topology.clocks, topology.processes
    waits = topology.delay or topology.delays or topology.about.get("faults") or topology.bandwidth is not None
    plain = not (waits or topology.clients.any() or processes.recent.any())
    each, most = (EMULATED, LONG) if plain else (WAITING, LONG_WAITING)
    events = float(clocks.rate[processes.clock].sum()) * (length or 0.0) / network.size
    return int(each * min(max(events / DOZEN, 1.0), most))


def takes(network: Network, length: float | None = None) -> str:
    """About how much memory and time a large network takes, emulated for so long; empty for others."""
    n = network.size
    if n < MANY:
        return ""
    emulated, words = each_emulated(network, length), "" if length else " a dozen events of each node"
    named = network.kind == "graph"
    known, first = (n * (each + READ * named) for each in SECONDS)
    return (
        f"memory: about {n * (NAMED if named else KNOWN) / 1e9:.2g} GB, {n * emulated / 1e9:.2g} GB to emulate{words}; "
        f"time: about {known:.2g} s of CPU time, {first:.2g} s until its first event"
    )

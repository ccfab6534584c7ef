"""Build the topology of a network from its specification.

Networks are built level by level: `above` are the nodes that feed what is added. Each tier of a composed network
stands below the last level of the one above. With `under: each` every node there feeds a copy of the tier; with
`under: spread` there is one copy, whose top nodes are dealt in turn over the nodes above. Node 2/5/1.3 is replica
1.3 in the fifth copy of tier 2; a tier with one copy leaves its number out. A network that
does not fit into the memory of this machine is refused before it is built.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np

from replnet.laws import Ints
from replnet.network.aggregate import Aggregate
from replnet.network.graph_fields import Graph
from replnet.network.sources import ManySources, add_aggregate
from replnet.network.specification import (
    AggregateTier,
    Clients,
    Compose,
    Redundant,
    Spec,
    TierClients,
    branching_by_level,
)
from replnet.network.topology import INDEX, Branched, Numbered, Topology
from replnet.text import FieldError

if TYPE_CHECKING:
    from replnet.network.network import Network


def build(spec: Spec) -> Topology:
    """Return the topology of a specification.

    Raise FieldError if it does not fit into the memory of this machine, or if its allocation of downloads has no
    solution.
    """
    about = {"kind": spec.kind, "name": spec.name or spec.kind, "delay": spec.delay}
    topology = Topology({**about, "queue": spec.queue, "charge": spec.charge, "faults": spec.faults, **_start(spec)})
    if isinstance(spec, Graph):
        spec.columns.add_to(topology)
        return topology
    if isinstance(spec, Aggregate):
        add_aggregate(topology, ManySources.of(spec), _bandwidth(spec))
        return topology
    if isinstance(spec, Compose):
        _add_clients(topology, spec.clients, [levels[-1] for levels in _tiers(topology, spec)], "tier")
        return topology
    source = topology.add(["source"], "source", "source", updates=spec.updates, **_bandwidth(spec))
    if isinstance(spec, Redundant):
        _add_redundant(topology, spec, source)
    else:
        _add_clients(topology, spec.clients, list(_shape(topology, spec, source, _bandwidth(spec))), "level")
    return topology


def _start(spec: Any) -> dict[str, str]:
    """Return the field `start` of a specification as {"start": ...}, empty if it is not given."""
    return {} if spec.start is None else {"start": spec.start}


def _bandwidth(spec: Any) -> dict[str, Any]:
    """Return the bandwidth that a network or tier gives its nodes, as {"bandwidth": ...}, empty if it gives none."""
    return {} if spec.bandwidth is None else {"bandwidth": spec.bandwidth}


def _add_redundant(topology: Topology, spec: Redundant, source: Ints) -> None:
    """Add the replicas of a redundant network, which download from the node in `source`, and its clients to a topology.

    Raise FieldError if they do not fit into memory.
    """
    require_room(spec.replicas + spec.clients)
    replicas = topology.add(
        Numbered("replica ", spec.replicas), "replica", "level 1", downloads=spec.downloads, **_bandwidth(spec)
    )
    topology.link(upstreams_in_turn(source, replicas.size), replicas)
    clients = Clients(level="last", number=spec.clients, ask=spec.ask, queries=spec.queries)
    _add_clients(topology, clients, [replicas], "level")


def _add_clients(topology: Topology, clients: Clients | TierClients | None, levels: list[Ints], word: str) -> None:
    """Add clients to a topology, which ask the nodes of one of `levels`, and a pool of these nodes; nothing for None.

    `word` ("level" or "tier") and the number of the level name the pool.
    """
    if clients is None:
        return
    level = clients.level if isinstance(clients, Clients) else clients.tier
    number = len(levels) if level == "last" else level
    pool = f"{word} {number}"
    topology.pools[pool] = levels[number - 1]
    topology.add(
        Numbered("client ", clients.number), "client", "clients", queries=clients.queries, ask=clients.ask, pool=pool
    )


def _shape(
    topology: Topology,
    shape: Any,
    above: Ints,
    common: dict[str, Any],
    prefix: str = "",
    tier: str = "",
    pool: str = "cluster",
) -> Iterator[Ints]:
    """Add the replicas of one single, cascade or cooperative, and links to them from the nodes `above`, to a topology.

    Yield the numbers of the replicas in each level, from the top. `common` are attributes of all of them, `prefix`
    starts every name, `tier` is the group ("": that of a network by itself), and `pool` the name of a cluster's pool.
    Raise FieldError if they do not fit into memory.
    """
    if shape.kind == "cascade":
        yield from _tree(topology, shape, above, common, prefix, tier)
        return
    count = shape.sizes(vars(shape))[0]
    require_room(count)
    laws, group = {"downloads": shape.downloads}, "level 1"
    if shape.kind == "cooperative":
        group = "cluster"
        if shape.peers:
            laws |= {"polls": shape.polls, "peers": shape.peers, "select": shape.select}
            laws |= {"two_way": True} if shape.two_way else {}
        laws["pool"] = pool
    replicas = topology.add(Numbered(prefix or "replica ", count), "replica", tier or group, **laws, **common)
    if shape.kind == "cooperative":
        topology.pools[pool] = replicas
    topology.link(upstreams_in_turn(above, count), replicas)
    yield replicas


def upstreams_in_turn(above: Ints, count: int) -> Ints:
    """Return an upstream for each of `count` nodes: the nodes `above` in turn, again from the first after the last."""
    return above[np.arange(count, dtype=INDEX) % above.size]


def _tree(
    topology: Topology, shape: Any, above: Ints, common: dict[str, Any], prefix: str, tier: str
) -> Iterator[Ints]:
    """Add a cascade, whose top downloads from the nodes `above`, to a topology; yield the numbers of nodes by level.

    Replica 1.2 is the second below replica 1; `prefix` starts every name, `common` are attributes of all nodes, and
    `tier` begins the names of groups ("" for none). Raise FieldError if the nodes do not fit into memory.
    """
    branching = branching_by_level(vars(shape))
    sizes = list(accumulate(branching, mul))
    row = above
    for level, size in enumerate(sizes, 1):
        require_room(size)
        parents = upstreams_in_turn(above, size) if level == 1 else np.repeat(row, branching[level - 1])
        group = f"level {level}" if not tier else tier if shape.depth == 1 else f"{tier} level {level}"
        names = Branched(prefix, branching[:level])
        row = topology.add(names, "replica", group, downloads=shape.law_of(level), **common)
        topology.link(parents, row)
        yield row


def _tiers(topology: Topology, spec: Compose) -> list[list[Ints]]:
    """Add the source and the replicas of all tiers to a topology; return the replicas' numbers by tier, then by level.

    Raise FieldError if they do not fit into memory, or if the allocation of an aggregate has no solution.
    """
    tiers: list[list[Ints]] = []
    above: Ints = np.empty(0, INDEX)
    if spec.updates is not None:
        above = topology.add(["source"], "source", "source", updates=spec.updates, **_bandwidth(spec))
    for number, tier in enumerate(spec.tiers, 1):
        common = _bandwidth(tier) or _bandwidth(spec)
        if isinstance(tier, AggregateTier):
            above = add_aggregate(topology, ManySources.of(tier, f"tier {number}"), common, f"{number}/")
            tiers.append([above])
            continue
        feeders = above.reshape(-1, 1) if tier.under == "each" else above.reshape(1, -1)
        copies = []
        for copy, feeder in enumerate(feeders, 1):
            place = f"{number}/{copy}" if len(feeders) > 1 else f"{number}"
            copies.append(
                list(_shape(topology, tier, feeder, common, f"{place}/", f"tier {number}", f"cluster {place}"))
            )
        tiers.append([np.concatenate(level) for level in zip(*copies, strict=True)])
        above = tiers[-1][-1]
    return tiers


# Bytes per node, measured on networks of 1,000,000 and 10,000,000 replicas: of a topology (TOPOLOGY_BYTES), and of
# a replication with a dozen events per replica (EMULATED_BYTES; a long one takes up to LONG_FACTOR times as much).
# WAITING_BYTES and LONG_WAITING_FACTOR are the same where messages wait or get lost or there are clients;
# AGGREGATE_BYTES are the bytes per source of an aggregate.
TOPOLOGY_BYTES, EMULATED_BYTES, LONG_FACTOR, AGGREGATE_BYTES = 450, 900, 1.5, 850
WAITING_BYTES, LONG_WAITING_FACTOR = 2_500, 1.8
DOZEN_EVENTS = 12
GRAPH_BYTES = 1_100  # bytes per node of a NetworkX graph
CPU_SECONDS = 2e-6, 3e-6  # CPU time per node until the prediction is made, and until the first event
# Bytes and seconds per node of graphs that name their nodes, with two links a node (files of 1,000,000 nodes).
NAMED_BYTES, READ_SECONDS = 2_000, 24e-6
LARGE_NETWORK = 100_000  # nodes from which on memory and time are estimated


def machine_memory() -> int:
    """Return the bytes of memory that this machine has."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require_room(nodes: int, each: int = TOPOLOGY_BYTES) -> None:
    """Raise FieldError if `nodes` nodes of `each` bytes do not fit into the memory of this machine."""
    needed, available = nodes * each, machine_memory()
    if needed > available:
        wrong = (
            f"{nodes:,} nodes take about {needed / 1e9:.2g} GB of memory, and this machine has {available / 1e9:.2g}"
        )
        raise FieldError("network", wrong, f"at most {available // each:,} nodes")


def replication_bytes(network: Network, length: float | None = None) -> int:
    """Return about how many bytes of memory per node a replication of `length` units of time takes.

    For an aggregate it is bytes per source. A `length` of None stands for a short one, with a dozen events or fewer of
    each node.
    """
    if network.kind == "aggregate":
        return AGGREGATE_BYTES
    if network.size < LARGE_NETWORK:
        return EMULATED_BYTES
    topology = network.topology
    clocks, processes = topology.clocks, topology.processes
    waits = topology.delay or topology.delays or topology.about.get("faults") or topology.bandwidth is not None
    plain = not (waits or topology.clients.any() or processes.recent.any())
    each, most = (EMULATED_BYTES, LONG_FACTOR) if plain else (WAITING_BYTES, LONG_WAITING_FACTOR)
    events = float(clocks.rate[processes.clock].sum()) * (length or 0.0) / network.size
    return int(each * min(max(events / DOZEN_EVENTS, 1.0), most))


def resources_note(network: Network, length: float | None = None) -> str:
    """Return a note on the memory and CPU time that it takes to emulate a large network for `length` units of time.

    It is "" for a network of fewer than 100,000 nodes. A `length` of None stands for a dozen events of each node.
    """
    n = network.size
    if n < LARGE_NETWORK:
        return ""
    emulated, words = replication_bytes(network, length), "" if length else " a dozen events of each node"
    named = network.kind == "graph"
    until_predicted, until_first_event = (n * (each + READ_SECONDS * named) for each in CPU_SECONDS)
    memory = n * (NAMED_BYTES if named else TOPOLOGY_BYTES)
    return (
        f"memory: about {memory / 1e9:.2g} GB, {n * emulated / 1e9:.2g} GB to emulate{words}; "
        f"time: about {until_predicted:.2g} s of CPU time, {until_first_event:.2g} s until its first event"
    )

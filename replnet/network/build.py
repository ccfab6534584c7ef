"""Specifications to NetworkX graphs.

Edges point the way the data flows. Nodes carry `role` and `group`, and by role

    source    updates
    replica   downloads (asking its in-edges of kind "download"), polls, peers, select, pool
    client    queries, ask, pool

A pool names a list of replicas in graph.graph["pools"], from which polls and
queries draw; it stands for what would be m * m edges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from replnet.laws import Exponential, Law
from replnet.network.aggregate import Aggregate
from replnet.network.graph_fields import Graph
from replnet.network.memory_check import require_room
from replnet.network.sources import sources
from replnet.network.specification import Clients, Compose, Redundant, Spec, TierClients
from replnet.network.wiring import wire

SOURCE = "source"


def build(spec: Spec) -> Any:
    """The DiGraph of a specification."""
    import networkx as nx

    if isinstance(spec, Aggregate):
        return _aggregate(nx.DiGraph(kind=spec.kind, name=spec.name or spec.kind, pools={}), spec)

    graph = nx.DiGraph(
        kind=spec.kind, name=spec.name or spec.kind, delay=spec.delay, pools={},
        queue=spec.queue, charge=spec.charge, faults=spec.faults,
    )  # fmt: skip
    if isinstance(spec, Graph):
        wiring = wire(spec)
        graph.add_nodes_from(wiring.nodes.items())
        graph.add_edges_from((*ends, edge) for ends, edge in wiring.edges.items())
        graph.graph["pools"] = wiring.pools
        return graph
    graph.add_node(SOURCE, role="source", group="source", updates=spec.updates, **_bandwidth(spec))
    if isinstance(spec, Redundant):
        _redundant(graph, spec)
    elif isinstance(spec, Compose):
        from replnet.network.tiers import add_tiers

        add_clients(graph, spec.clients, [levels[-1] for levels in add_tiers(graph, spec)], "tier")
    else:
        levels = add_shape(graph, spec, [SOURCE], common=_bandwidth(spec))
        add_clients(graph, spec.clients, levels, "level")
    return graph


def _aggregate(graph: Any, spec: Aggregate) -> Any:
    """Every replica downloads from every source; how often is not in the graph."""
    of = sources(spec)
    for i, rate in enumerate(of.rates.tolist(), 1):
        law = spec.updates[i - 1 if len(spec.updates) > 1 else 0]
        law = Exponential(rate=rate) if of.poisson and rate else law
        graph.add_node(f"source {i}", role="source", group="sources", **({"updates": law} if rate else {}))
    replicas = [f"replica {i}" for i in range(1, spec.replicas + 1)]
    graph.add_nodes_from(replicas, role="replica", group="copies")
    link(graph, ((f"source {i}", replica) for i in range(1, of.size + 1) for replica in replicas))
    return graph


def _bandwidth(spec: Any) -> dict[str, float]:
    return {} if spec.bandwidth is None else {"bandwidth": spec.bandwidth}


def _redundant(graph: Any, spec: Redundant) -> None:
    require_room(spec.replicas + spec.clients)
    names = [f"replica {i}" for i in range(1, spec.replicas + 1)]
    graph.add_nodes_from(names, role="replica", group="level 1", downloads=spec.downloads, **_bandwidth(spec))
    link(graph, ((SOURCE, name) for name in names))
    clients = Clients(level="last", number=spec.clients, ask=spec.ask, queries=spec.queries)
    add_clients(graph, clients, [names], "level")


def link(graph: Any, pairs: Iterable[tuple[str, str]]) -> None:
    """Downloads from the first of each pair to the second."""
    graph.add_edges_from((*pair, {"kind": "download"}) for pair in pairs)


def add_clients(graph: Any, clients: Clients | TierClients | None, levels: list[list[str]], word: str) -> None:
    """Clients who ask the nodes of one of `levels`."""
    if clients is None:
        return
    level = clients.level if isinstance(clients, Clients) else clients.tier
    number = len(levels) if level == "last" else level
    pool = f"{word} {number}"
    graph.graph["pools"][pool] = list(levels[number - 1])
    names = [f"client {i}" for i in range(1, clients.number + 1)]
    graph.add_nodes_from(names, role="client", group="clients", queries=clients.queries, ask=clients.ask, pool=pool)


def add_shape(
    graph: Any,
    shape: Any,
    above: list[str],
    *,
    common: dict[str, float],
    prefix: str = "",
    tier: str = "",
    pool: str = "cluster",
) -> list[list[str]]:
    """The replicas of one single, cascade or cooperative below `above`; gives back their names by level.

    `prefix` starts every name and `tier` every group; `common` goes to every node.
    """
    if shape.kind == "cascade":
        return list(_tree(graph, shape, above, prefix, tier, common))
    count = shape.sizes(vars(shape))[0]
    require_room(count)
    word = prefix or "replica "
    names = [f"{word}{i}" for i in range(1, count + 1)]
    own: dict[str, Any] = {"downloads": shape.downloads}
    group = "level 1"
    if shape.kind == "cooperative":
        group = "cluster"
        if shape.peers:
            own.update(polls=shape.polls, peers=shape.peers, select=shape.select)
        own.update(pool=pool)
        graph.graph["pools"][pool] = names
    graph.add_nodes_from(names, role="replica", group=tier or group, **own, **common)
    link(graph, dealt(above, names))
    return [names]


def dealt(above: list[str], names: list[str]) -> Iterator[tuple[str, str]]:
    """Names given in turn to the nodes above."""
    return ((above[i % len(above)], name) for i, name in enumerate(names))


def _tree(
    graph: Any, shape: Any, above: list[str], prefix: str, tier: str, common: dict[str, Any]
) -> Iterator[list[str]]:
    """A cascade, level by level; replica 1.2 is the second below replica 1."""
    row = [f"{prefix}{i}" for i in range(1, shape.branching + 1)]
    pairs: Iterable[tuple[str, str]] = dealt(above, row)
    for level in range(1, shape.depth + 1):
        group = f"level {level}" if not tier else tier if shape.depth == 1 else f"{tier} level {level}"
        law: Law = shape.law_of(level)
        graph.add_nodes_from(row, role="replica", group=group, downloads=law, **common)
        link(graph, pairs)
        yield row
        if level < shape.depth:
            require_room(len(row) * shape.branching)
            pairs = [(parent, f"{parent}.{i}") for parent in row for i in range(1, shape.branching + 1)]
            row = [child for _, child in pairs]

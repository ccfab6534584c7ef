"""A graph specification made explicit: the role and laws of every node, the kind of every link."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sized
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, final

import numpy as np

from replnet.network.graph_fields import EVERY, Graph, LinkFields, NodeFields
from replnet.network.topology import INDEX, Topology
from replnet.text.errors import FieldsError

Fault = tuple[tuple[str | int, ...], str, str]

# What a node of each role may say.
FIELDS = {
    "source": {"updates"},
    "replica": {"downloads", "polls", "peers", "select", "two_way", "ask", "pool"},
    "client": {"queries", "ask", "pool"},
}
# Where the default law of a process goes.
USES = {
    "updates": "a source that has none of its own",
    "downloads": "a replica with a link a -> b to it, or edges: downloads for those of a file",
    "polls": "a replica with a link a -- b or a pool, or edges: peers for those of a file",
    "queries": "a client, such as one with a link a -> client",
}
OWN = frozenset().union(*FIELDS.values())


@final
@dataclass(frozen=True, slots=True)
class Wiring:
    """Nodes and edges with their attributes, ready to become a graph."""

    nodes: dict[str, dict[str, Any]]
    edges: dict[tuple[str, str], dict[str, Any]]
    pools: dict[str, list[str]]
    positions: dict[str, tuple[float, float]]  # of those that have one

    def add_to(self, made: Topology) -> None:
        made.about |= {"positions": self.positions} if self.positions else {}
        number = {name: i for i, name in enumerate(self.nodes)}
        alike: dict[tuple[Any, ...], list[str]] = {}
        for name, about in self.nodes.items():
            alike.setdefault(tuple(about.items()), []).append(name)
        for common, names in alike.items():
            made.add(names, nodes=np.array([number[name] for name in names], INDEX), **dict(common))
        # One after another, as what comes first is asked first.
        for (kind, delay), some in groupby(self.edges.items(), lambda edge: (edge[1]["kind"], edge[1].get("delay"))):
            upstream, downstream = np.array([(number[a], number[b]) for (a, b), _ in some], np.int64).T
            made.link(upstream, downstream, kind, delay)
        made.pools |= {
            pool: np.array([number[name] for name in members], np.int64) for pool, members in self.pools.items()
        }


@final
@dataclass(slots=True)
class _Wires:
    spec: Graph
    roles: dict[str, str] = field(default_factory=dict)
    edges: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    into: dict[tuple[str, str], list[str]] = field(default_factory=lambda: defaultdict(list))  # by target and kind
    pools: dict[str, list[str]] = field(default_factory=dict)
    members: dict[str, frozenset[str]] = field(default_factory=dict)  # of the pools
    faults: list[Fault] = field(default_factory=list)


def wire(spec: Graph) -> Wiring:
    """Raises FieldsError where nodes and links do not fit together."""
    wires = _Wires(spec)
    wires.roles = _roles(spec)
    wires.pools = _pools(wires)
    wires.members = {pool: frozenset(names) for pool, names in wires.pools.items()}
    _link_all(wires)
    ordered = sorted(spec.nodes.items(), key=lambda item: list(FIELDS).index(wires.roles[item[0]]))
    nodes = {name: dict(_attributes(wires, name, node)) for name, node in ordered}
    _require_one_list(wires, nodes)
    if not any(role == "source" for role in wires.roles.values()):
        wires.faults.append((("nodes",), "none is a source", "updates: exponential(rate=1), or another law, on one"))
    _require_use(wires, nodes)
    if wires.faults:
        raise FieldsError(wires.faults)
    for name, group in _groups(wires).items():
        nodes[name]["group"] = spec.nodes[name].group or group
    positions = {name: node.position for name, node in spec.nodes.items() if node.position is not None}
    return Wiring(nodes, wires.edges, wires.pools, positions)


def _roles(spec: Graph) -> dict[str, str]:
    roles: dict[str, str | None] = {name: node.implied_role for name, node in spec.nodes.items()}
    targets = {end for link in spec.links for end in ((link.target, link.source) if link.both else (link.target,))}
    asked = {link.target for link in spec.links if link.kind == "query"}
    # With a default law of updates the tops of the graph are its sources, unless some node is named as one.
    tops = spec.updates is not None and "source" not in roles.values()
    found: dict[str, str] = {}
    for name, role in roles.items():
        inferred = "client" if name in asked else "source" if tops and name not in targets else "replica"
        found[name] = role or inferred
    return found


def _pools(wires: _Wires) -> dict[str, list[str]]:
    pools: dict[str, list[str]] = {name: list(members) for name, members in (wires.spec.pools or {}).items()}
    given = set(pools)
    for name, node in wires.spec.nodes.items():
        if node.pool is not None and node.pool not in given:
            pools.setdefault(node.pool, [])
            if wires.roles[name] == "replica":
                pools[node.pool].append(name)
    for pool in given:
        for name in pools[pool]:
            if wires.roles[name] != "replica":
                wires.faults.append((("pools", pool), f"{name} is a {wires.roles[name]}", "replicas only"))
    return pools


def _link_all(wires: _Wires) -> None:
    replicas = [name for name, role in wires.roles.items() if role == "replica"]
    for index, link in enumerate(wires.spec.links):
        for upstream, downstream in _ends(link, replicas):
            _add(wires, index, link, upstream, downstream)


def _ends(link: LinkFields, replicas: list[str]) -> Iterator[tuple[str, str]]:
    above = replicas if link.source == EVERY else [link.source]
    below = replicas if link.target == EVERY else [link.target]
    for upstream in above:
        for downstream in below:
            if upstream != downstream:
                yield upstream, downstream
                if link.both:
                    yield downstream, upstream


def _add(wires: _Wires, index: int, link: LinkFields, upstream: str, downstream: str) -> None:
    above, below = wires.roles[upstream], wires.roles[downstream]
    if link.both and (below == "source" or above == "client"):
        return  # of the two directions only one makes sense
    kind = link.kind or ("query" if below == "client" else "download")
    if link.both and kind == "peer":
        kind = "download" if above == "source" else "query" if below == "client" else "peer"
    wrong, right = _misfit(kind, above, below)
    known = wires.edges.get((upstream, downstream))
    edge = {"kind": kind} if link.delay is None else {"kind": kind, "delay": link.delay}
    if wrong:
        wires.faults.append((("links", index), f"{upstream} -> {downstream}: {wrong}", right))
    elif known is None:
        wires.edges[upstream, downstream] = edge
        wires.into[downstream, kind].append(upstream)
    elif known != edge or not link.both:
        wires.faults.append((("links", index), f"{upstream} -> {downstream} is already a {known['kind']} link", "once"))


def _misfit(kind: str, above: str, below: str) -> tuple[str, str]:
    """What is wrong with a link of this kind between these roles."""
    if above == "client":
        return "a client has no data", "a link from a source or a replica"
    if below == "source":
        return "a source asks nobody", "a link to a replica or a client"
    if (kind == "query") != (below == "client"):
        return f"a {kind} link to a {below}", "kind: query to a client, download or peer to a replica"
    if kind != "download" and above == "source":
        return f"a {kind} link from a source", "replicas are polled and queried; link it as a download"
    return "", ""


def _attributes(wires: _Wires, name: str, node: NodeFields) -> Iterator[tuple[str, Any]]:
    role = wires.roles[name]
    yield "role", role
    right = f"one of {', '.join(sorted(FIELDS[role]))}"
    for key in sorted(OWN - FIELDS[role]):
        if getattr(node, key) is not None:
            wires.faults.append((("nodes", name, key), f"a {role} has no {key}", right))
    bandwidth = node.bandwidth if node.bandwidth is not None else wires.spec.bandwidth
    if role != "client" and bandwidth is not None:
        yield "bandwidth", bandwidth
    if role == "source":
        yield from _law(wires, name, node, "updates")
    elif role == "client":
        yield from _client(wires, name, node)
    else:
        yield from _downloads(wires, name, node)
        yield from _polls(wires, name, node)


def _require_use(wires: _Wires, nodes: dict[str, dict[str, Any]]) -> None:
    """A default that ends up at no node would be silently without effect."""
    for key, right in USES.items():
        if getattr(wires.spec, key) is None:
            continue
        if not any(key in about and getattr(wires.spec.nodes[name], key) is None for name, about in nodes.items()):
            wires.faults.append(((key,), "ends up at no node", right))


def _law(wires: _Wires, name: str, node: NodeFields, key: str) -> Iterator[tuple[str, Any]]:
    law = getattr(node, key) or getattr(wires.spec, key)
    if law is None:
        right = f"{key}: a law, here or as a default of the network"
        wires.faults.append((("nodes", name, key), f"missing, {name} is a {wires.roles[name]}", right))
    yield key, law


def _client(wires: _Wires, name: str, node: NodeFields) -> Iterator[tuple[str, Any]]:
    yield from _law(wires, name, node, "queries")
    others = _candidates(wires, name, node, "query")
    ask = node.ask or min(wires.spec.ask, max(1, len(others)))
    if ask > len(others):
        _too_many(wires, (name, "ask"), ask, len(others), f"replicas it is linked to ({FORM['query']})")
    yield "ask", ask
    if node.pool is not None:
        yield "pool", node.pool


def _downloads(wires: _Wires, name: str, node: NodeFields) -> Iterator[tuple[str, Any]]:
    upstreams = wires.into.get((name, "download"), ())
    if node.downloads is not None or upstreams:
        yield from _law(wires, name, node, "downloads")
    if node.ask is not None:
        if node.ask > len(upstreams):
            _too_many(wires, (name, "ask"), node.ask, len(upstreams), f"upstreams of {name}")
        yield "ask", node.ask


def _polls(wires: _Wires, name: str, node: NodeFields) -> Iterator[tuple[str, Any]]:
    others = _candidates(wires, name, node, "peer")
    law = node.polls or (wires.spec.polls if others else None)
    if law is None:
        for key in ("peers", "select", "two_way"):
            if getattr(node, key) is not None:
                wires.faults.append((("nodes", name, "polls"), f"missing, but {key} is given", "polls: a law"))
        return
    peers = node.peers or min(wires.spec.peers, max(1, len(others)))
    if peers > len(others):
        _too_many(wires, (name, "peers"), peers, len(others), f"peers of {name} ({FORM['peer']})")
    select = node.select or wires.spec.select
    if select == "recent":
        _require_contacts(wires, name, node.pool)
    yield from (("polls", law), ("peers", peers), ("select", select))
    if _two_way(wires, node):
        yield "two_way", True
    if node.pool is not None:
        yield "pool", node.pool


def _two_way(wires: _Wires, node: NodeFields) -> bool:
    return wires.spec.two_way if node.two_way is None else node.two_way


def _require_contacts(wires: _Wires, name: str, pool: str | None) -> None:
    """An upstream lists the contacts of a pool, and hands the list to the members that contact it."""
    if len(wires.into.get((name, "download"), ())) != 1:
        wrong = f"recent, but {name} has not exactly one upstream to tell it who is"
        wires.faults.append((("nodes", name, "select"), wrong, "random, or one download link"))
    if pool is None:
        wrong = f"missing, but {name} selects recent contacts, which are listed by pool"
        wires.faults.append((("nodes", name, "pool"), wrong, "pool: the name of one, or select: random"))
    elif name not in wires.members[pool]:
        wrong = f"{name} polls its recent contacts, but is no member"
        wires.faults.append((("pools", pool), wrong, f"{name} as well, or select: random"))


def _require_one_list(wires: _Wires, nodes: dict[str, dict[str, Any]]) -> None:
    """Of members of pools whose recent contacts are polled: one upstream lists them at most, and for one pool."""
    polled = {about.get("pool"): None for about in nodes.values() if about.get("select") == "recent"}
    listed: dict[str, str] = {}
    for pool, name in ((pool, name) for pool, names in wires.pools.items() if pool in polled for name in names):
        path = ("nodes", name, "pool") if wires.spec.nodes[name].pool == pool else ("pools", pool)
        upstreams = len(wires.into.get((name, "download"), ()))
        if upstreams > 1 and nodes[name].get("select") != "recent":
            wrong = f"{name} has {upstreams} upstreams, but one alone lists a recent contact"
            wires.faults.append((path, wrong, "one download link to it, or select: random in this pool"))
        if listed.setdefault(name, pool) != pool:
            wrong = f"{name} is a recent contact in {listed[name]} already"
            wires.faults.append((path, wrong, "one such pool, or select: random in this one"))


FORM = {"peer": "a link such as a -- b, or a pool", "query": "a link such as a -> client, or a pool"}


def _candidates(wires: _Wires, name: str, node: NodeFields, kind: str) -> Sized:
    """Those it may poll or query: the members of its pool, or the near ends of its links."""
    if node.pool is None:
        return wires.into.get((name, kind), ())
    members = wires.members[node.pool]
    return range(len(members) - (name in members))


def _too_many(wires: _Wires, path: tuple[str, str], wanted: int, there: int, what: str) -> None:
    right = f"1 to {there}" if there else "at least one of them"
    wires.faults.append((("nodes", *path), f"{wanted} is more than the {there} {what}", right))


def _groups(wires: _Wires) -> dict[str, str]:
    """Replicas by the shortest way from a source over downloads; those that only polls reach; the rest."""
    others = {"source": "source", "client": "clients", "replica": "unreached"}
    groups = {name: others[role] for name, role in wires.roles.items()}
    below, polled = defaultdict(list), defaultdict(list)
    for (upstream, downstream), edge in wires.edges.items():
        if edge["kind"] == "download":
            below[upstream].append(downstream)
        if edge["kind"] == "peer":
            polled[upstream].append(downstream)
            if _two_way(wires, wires.spec.nodes[downstream]):
                polled[downstream].append(upstream)
    sources = [name for name, role in wires.roles.items() if role == "source"]
    levels = _reached(sources, below)
    for name, level in levels.items():
        if level:
            groups[name] = f"level {level}"
    for name in _by_polls(wires, set(levels), below, polled):
        groups[name] = "by polls"
    return groups


def _reached(starts: list[str], below: dict[str, list[str]]) -> dict[str, int]:
    levels, queue = dict.fromkeys(starts, 0), deque(starts)
    while queue:
        name = queue.popleft()
        for other in below.get(name, ()):
            if other not in levels:
                levels[other] = levels[name] + 1
                queue.append(other)
    return levels


def _upstream(wires: _Wires, name: str) -> str | None:
    """The first of a replica's upstreams, of which a recent contact has one."""
    return next(iter(wires.into.get((name, "download"), ())), None)


def _by_polls(
    wires: _Wires, reached: set[str], below: dict[str, list[str]], polled: dict[str, list[str]]
) -> Iterator[str]:
    """Replicas that data reaches, but not by downloads alone."""
    pollers: dict[tuple[str, str | None], list[str]] = defaultdict(list)
    pools: dict[str, list[tuple[str, str | None]]] = defaultdict(list)
    # Recent contacts share an upstream; whoever else is polled may be any member.
    for name, node in wires.spec.nodes.items():
        if node.pool is not None and wires.roles[name] == "replica":
            recent = (node.select or wires.spec.select) == "recent"
            pollers[node.pool, _upstream(wires, name) if recent else None].append(name)
            if _two_way(wires, node):
                polled[name] += wires.members[node.pool]
    for pool, members in wires.pools.items():
        for name in members:
            pools[name] += [(pool, None), (pool, _upstream(wires, name) or "")]
    seen, queue = set(reached), deque(reached if pollers or polled else ())
    while queue:
        name = queue.popleft()
        # One member is enough to reach all who poll the pool.
        through = [other for pool in pools.get(name, ()) for other in pollers.pop(pool, ())]
        for other in (*below.get(name, ()), *polled.get(name, ()), *through):
            if other not in seen:
                seen.add(other)
                queue.append(other)
                yield other

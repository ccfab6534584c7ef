"""A graph specification made explicit: the role and laws of every node, the kind of every link.

Nodes and links are columns here, as there may be millions of them: a node is its number in the specification, and what
it says is looked at once for all nodes that say the same and have links alike.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, final

import numpy as np

from replnet.laws.law import Flags, Ints
from replnet.network.graph_fields import Graph, NodeFields
from replnet.network.links import EVERY, Links
from replnet.network.topology import CLIENT, INDEX, REPLICA, ROLES, SOURCE, Topology
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
KINDS_OF_LINKS = ("download", "peer", "query")
DOWNLOAD, PEER, QUERY = range(3)
ANYWHERE = -2  # no upstream in particular


class DirectedLinks(NamedTuple):
    """Links from node to node, each in one direction and once."""

    upstream: Ints
    downstream: Ints
    kind: Ints
    delay: Ints  # its number in a list of delays

    def of(self, kind: int) -> DirectedLinks:
        return self.where(self.kind == kind)

    def where(self, which: Any) -> DirectedLinks:
        return DirectedLinks(*(column[which] for column in self))


@final
@dataclass(frozen=True, eq=False)
class Wiring:
    """Nodes and edges with their attributes, ready to become a topology."""

    names: list[str]  # in the order of roles
    alike: list[tuple[Ints, str, dict[str, Any]]]  # nodes with the same group and attributes
    edges: DirectedLinks
    delays: list[Any]
    pools: dict[str, Ints]
    positions: dict[str, tuple[float, float]]  # of those that have one

    def add_to(self, made: Topology) -> None:
        made.about |= {"positions": self.positions} if self.positions else {}
        for nodes, group, about in self.alike:
            names = [self.names[i] for i in nodes.tolist()]
            made.add(names, nodes=nodes, group=group, **about)
        # One after another, as what comes first is asked first.
        edges, alike = self.edges, self.edges.kind * len(self.delays) + self.edges.delay
        begins = np.flatnonzero(np.diff(alike, prepend=-1)).tolist()
        for begin, end in zip(begins, [*begins, alike.size][1:], strict=True):
            kind, delay = KINDS_OF_LINKS[edges.kind[begin]], self.delays[edges.delay[begin]]
            made.link(edges.upstream[begin:end], edges.downstream[begin:end], kind, delay)
        made.pools |= self.pools


@final
class _Wires:
    """What is known of a specification; nodes are numbered in its order."""

    def __init__(self, spec: Graph) -> None:
        self.spec, self.names = spec, [*spec.nodes]
        self.number = {name: i for i, name in enumerate(self.names)}
        sorts: dict[int, int] = {}
        self.sort = np.array([sorts.setdefault(id(node), len(sorts)) for node in spec.nodes.values()], np.int64)
        self.faults: list[Fault] = []
        self.links = cast("Links", spec.links)
        # Every replica is -1, which is also a place in arrays, past all nodes.
        ends = np.array([-1 if name == EVERY else self.number[name] for name in self.links.names], np.int64)
        self.ends = ends[self.links.source], ends[self.links.target]
        self.role = _roles(self)
        self.pools = _pools(self)
        self.members = {pool: frozenset(members) for pool, members in self.pools.items()}
        self.delays: list[Any] = [None]
        self.edges = _edges(self)
        # By kind of link, how many each node has from others.
        down = [self.edges.of(kind).downstream for kind in range(len(KINDS_OF_LINKS))]
        self.into = [np.bincount(some, minlength=len(self.names)) for some in down]
        self.pooled = {i: node.pool for i, node in enumerate(spec.nodes.values()) if node.pool is not None}
        self.above = np.full(len(self.names), -1)  # the first of a replica's upstreams
        first = self.edges.of(DOWNLOAD).where(slice(None, None, -1))
        self.above[first.downstream] = first.upstream

    def node(self, i: int) -> NodeFields:
        return self.spec.nodes[self.names[i]]


def wire(spec: Graph) -> Wiring:
    """Raises FieldsError where nodes and links do not fit together."""
    wires = _Wires(spec)
    order = np.argsort(wires.role, kind="stable")
    about, abouts, used = _all_attributes(wires, order)
    _require_one_list(wires, about, abouts)
    if not (wires.role == SOURCE).any():
        wires.faults.append((("nodes",), "none is a source", "updates: exponential(rate=1), or another law, on one"))
    # A default that ends up at no node would be silently without effect.
    idle = (key for key in USES if key not in used and getattr(spec, key) is not None)
    wires.faults += [((key,), "ends up at no node", USES[key]) for key in idle]
    if wires.faults:
        raise FieldsError(wires.faults)
    group, groups = _groups(wires)
    both = (about * len(groups) + group)[order]
    found = [(nodes, groups[at % len(groups)], abouts[at // len(groups)]) for at, nodes in _by_value(both)]
    place = np.empty(order.size, INDEX)
    place[order] = np.arange(order.size, dtype=INDEX)
    ends = place[wires.edges.upstream], place[wires.edges.downstream]
    return Wiring(
        [wires.names[i] for i in order.tolist()],
        found,
        DirectedLinks(*ends, wires.edges.kind, wires.edges.delay),
        wires.delays,
        {pool: place[members] for pool, members in wires.pools.items()},
        {name: node.position for name, node in spec.nodes.items() if node.position is not None},
    )


def _by_value(values: Ints) -> list[tuple[int, Ints]]:
    """Every value with where it stands, in the order in which they come first."""
    different, first, which = np.unique(values, return_index=True, return_inverse=True)
    places = np.split(np.argsort(which, kind="stable").astype(INDEX), np.cumsum(np.bincount(which))[:-1])
    return [(int(different[at]), places[at]) for at in np.argsort(first).tolist()]


def _roles(wires: _Wires) -> Ints:
    links, (source, target) = wires.links, wires.ends
    implied = [node.implied_role for node in wires.spec.nodes.values()]
    both, asked = (np.array([said(one) for one in links.sorts], np.bool_)[links.sort] for said in (_both, _queried))
    below, queried = np.zeros((2, len(wires.names) + 1), np.bool_)
    below[target] = below[source[both]] = True
    queried[target[asked]] = True
    # With a default law of updates the tops of the graph are its sources, unless some node is named as one.
    tops = wires.spec.updates is not None and "source" not in implied
    inferred = np.where(queried, CLIENT, np.where(below | (not tops), REPLICA, SOURCE))[:-1].tolist()
    return np.array([ROLES.index(own) if own else other for own, other in zip(implied, inferred, strict=True)], np.int8)


def _both(said: Mapping[str, Any]) -> bool:
    return bool(said.get("both"))


def _queried(said: Mapping[str, Any]) -> bool:
    return said.get("kind") == "query"


def _pools(wires: _Wires) -> dict[str, Ints]:
    given = wires.spec.pools or {}
    pools = {name: [wires.number[member] for member in members] for name, members in given.items()}
    for i, node in enumerate(wires.spec.nodes.values()):
        if node.pool is not None and node.pool not in given:
            pools.setdefault(node.pool, [])
            if wires.role[i] == REPLICA:
                pools[node.pool].append(i)
    for pool in given:
        for i in pools[pool]:
            if wires.role[i] != REPLICA:
                wrong = f"{wires.names[i]} is a {ROLES[wires.role[i]]}"
                wires.faults.append((("pools", pool), wrong, "replicas only"))
    return {name: np.array(members, np.int64) for name, members in pools.items()}


def _expanded(wires: _Wires) -> tuple[Ints, Ints, Ints, Flags]:
    """Link by link the nodes at both ends, the number of the link, and whether it goes in both directions."""
    (source, target), links = wires.ends, wires.links
    replicas = np.flatnonzero(wires.role == REPLICA)
    count = np.where((source < 0) | (target < 0), replicas.size, 1)
    link = np.repeat(np.arange(len(links)), count)
    each = np.append(replicas, -1)[np.arange(link.size) - np.repeat(np.cumsum(count) - count, count)]
    upstream, downstream = (np.where(end[link] < 0, each, end[link]) for end in (source, target))
    both = np.array([_both(one) for one in links.sorts], np.bool_)[links.sort[link]]
    twice = np.repeat(np.arange(link.size), np.where(upstream == downstream, 0, 1 + both))
    back = np.diff(twice, prepend=-1) == 0
    ends = np.where(back, downstream[twice], upstream[twice]), np.where(back, upstream[twice], downstream[twice])
    return *ends, link[twice], both[twice]


def _edges(wires: _Wires) -> DirectedLinks:
    """All links from node to node; one that is said again counts once if it goes in both directions."""
    upstream, downstream, link, both = _expanded(wires)
    sorts, sort, above, below = wires.links.sorts, wires.links.sort[link], wires.role[upstream], wires.role[downstream]
    said = np.array([KINDS_OF_LINKS.index(one["kind"]) if "kind" in one else -1 for one in sorts], np.int8)[sort]
    kind = np.where(said >= 0, said, np.where(below == CLIENT, QUERY, DOWNLOAD))
    turned = np.where(above == SOURCE, DOWNLOAD, np.where(below == CLIENT, QUERY, PEER))
    kind = np.where(both & (kind == PEER), turned, kind)
    delays: list[Any] = [one.get("delay") for one in sorts]
    wires.delays += [delay for delay in dict.fromkeys(delays) if delay is not None]
    edges = DirectedLinks(upstream, downstream, kind, np.array([*map(wires.delays.index, delays)], np.int32)[sort])
    wrong = (above == CLIENT) | (below == SOURCE) | ((kind == QUERY) != (below == CLIENT))
    wrong |= (kind != DOWNLOAD) & (above == SOURCE)
    sound = np.flatnonzero(~wrong)
    _, first, which = np.unique(
        upstream[sound] * len(wires.names) + downstream[sound], return_index=True, return_inverse=True
    )
    known = sound[first[which]]
    again = (kind[sound] != kind[known]) | (edges.delay[sound] != edges.delay[known]) | ~both[sound]
    # Of two directions of a link it may be that only one makes sense.
    wrong &= ~(both & ((below == SOURCE) | (above == CLIENT)))
    before = {at: at for at in np.flatnonzero(wrong).tolist()}
    again &= known != sound
    before |= zip(sound[again].tolist(), known[again].tolist(), strict=True)
    for at in sorted(before):
        wires.faults.append(_link_fault(wires, edges, int(link[at]), at, before[at]))
    return edges.where(np.sort(sound[first]))


def _link_fault(wires: _Wires, edges: DirectedLinks, link: int, at: int, known: int) -> Fault:
    """What is wrong with an edge by itself, or beside one that is known."""
    a, b = edges.upstream[at], edges.downstream[at]
    words = f"{wires.names[a]} -> {wires.names[b]}"
    if known != at:
        return ("links", link), f"{words} is already a {KINDS_OF_LINKS[edges.kind[known]]} link", "once"
    wrong, right = _misfit(KINDS_OF_LINKS[edges.kind[at]], ROLES[wires.role[a]], ROLES[wires.role[b]])
    return ("links", link), f"{words}: {wrong}", right


def _misfit(kind: str, above: str, below: str) -> tuple[str, str]:
    """What is wrong with a link of this kind between these roles."""
    if above == "client":
        return "a client has no data", "a link from a source or a replica"
    if below == "source":
        return "a source asks nobody", "a link to a replica or a client"
    if (kind == "query") != (below == "client"):
        return f"a {kind} link to a {below}", "kind: query to a client, download or peer to a replica"
    return f"a {kind} link from a source", "replicas are polled and queried; link it as a download"


def _all_attributes(wires: _Wires, order: Ints) -> tuple[Ints, list[dict[str, Any]], set[str]]:
    """The number of what every node says, what that is, and the defaults of which some use is made."""
    inside = np.zeros(len(wires.names), np.bool_)
    inside[[i for i, pool in wires.pooled.items() if i in wires.members[pool]]] = True
    columns = (wires.sort, wires.role, *wires.into, inside)
    keys = [*zip(*(column.tolist() for column in columns), strict=True)]
    known, numbers, used = dict[Any, int](), dict[Any, int](), set[str]()
    found, abouts = np.empty(order.size, np.int64), list[dict[str, Any]]()
    for i in order.tolist():
        at = known.get(keys[i], -1)
        if at < 0:
            faults, node = len(wires.faults), wires.node(i)
            about = dict(_attributes(wires, i, node))
            used |= {key for key in USES if key in about and getattr(node, key) is None}
            at = numbers.setdefault(tuple(about.items()), len(abouts))
            abouts += [about] if at == len(abouts) else []
            if len(wires.faults) == faults:  # what is wrong is said of each
                known[keys[i]] = at
        found[i] = at
    return found, abouts, used


def _attributes(wires: _Wires, i: int, node: NodeFields) -> Iterator[tuple[str, Any]]:
    role, name = ROLES[wires.role[i]], wires.names[i]
    yield "role", role
    right = f"one of {', '.join(sorted(FIELDS[role]))}"
    for key in sorted(OWN - FIELDS[role]):
        if getattr(node, key) is not None:
            wires.faults.append((("nodes", name, key), f"a {role} has no {key}", right))
    bandwidth = node.bandwidth if node.bandwidth is not None else wires.spec.bandwidth
    if role != "client" and bandwidth is not None:
        yield "bandwidth", bandwidth
    if role == "source":
        yield from _law(wires, i, node, "updates")
    elif role == "client":
        yield from _client(wires, i, node)
    else:
        yield from _downloads(wires, i, node)
        yield from _polls(wires, i, node)


def _law(wires: _Wires, i: int, node: NodeFields, key: str) -> Iterator[tuple[str, Any]]:
    law = getattr(node, key) or getattr(wires.spec, key)
    if law is None:
        name, right = wires.names[i], f"{key}: a law, here or as a default of the network"
        wires.faults.append((("nodes", name, key), f"missing, {name} is a {ROLES[wires.role[i]]}", right))
    yield key, law


def _client(wires: _Wires, i: int, node: NodeFields) -> Iterator[tuple[str, Any]]:
    yield from _law(wires, i, node, "queries")
    others = _candidates(wires, i, node, QUERY)
    ask = node.ask or min(wires.spec.ask, max(1, others))
    if ask > others:
        _too_many(wires, i, "ask", ask, others, f"replicas it is linked to ({FORM['query']})")
    yield "ask", ask
    if node.pool is not None:
        yield "pool", node.pool


def _downloads(wires: _Wires, i: int, node: NodeFields) -> Iterator[tuple[str, Any]]:
    upstreams = int(wires.into[DOWNLOAD][i])
    if node.downloads is not None or upstreams:
        yield from _law(wires, i, node, "downloads")
    if node.ask is not None:
        if node.ask > upstreams:
            _too_many(wires, i, "ask", node.ask, upstreams, f"upstreams of {wires.names[i]}")
        yield "ask", node.ask


def _polls(wires: _Wires, i: int, node: NodeFields) -> Iterator[tuple[str, Any]]:
    name, others = wires.names[i], _candidates(wires, i, node, PEER)
    law = node.polls or (wires.spec.polls if others else None)
    if law is None:
        for key in ("peers", "select", "two_way"):
            if getattr(node, key) is not None:
                wires.faults.append((("nodes", name, "polls"), f"missing, but {key} is given", "polls: a law"))
        return
    peers = node.peers or min(wires.spec.peers, max(1, others))
    if peers > others:
        _too_many(wires, i, "peers", peers, others, f"peers of {name} ({FORM['peer']})")
    select = node.select or wires.spec.select
    if select == "recent":
        _require_contacts(wires, i, node.pool)
    yield from (("polls", law), ("peers", peers), ("select", select))
    if _two_way(wires, node):
        yield "two_way", True
    if node.pool is not None:
        yield "pool", node.pool


def _two_way(wires: _Wires, node: NodeFields) -> bool:
    return wires.spec.two_way if node.two_way is None else node.two_way


def _require_contacts(wires: _Wires, i: int, pool: str | None) -> None:
    """An upstream lists the contacts of a pool, and hands the list to the members that contact it."""
    name = wires.names[i]
    if wires.into[DOWNLOAD][i] != 1:
        wrong = f"recent, but {name} has not exactly one upstream to tell it who is"
        wires.faults.append((("nodes", name, "select"), wrong, "random, or one download link"))
    if pool is None:
        wrong = f"missing, but {name} selects recent contacts, which are listed by pool"
        wires.faults.append((("nodes", name, "pool"), wrong, "pool: the name of one, or select: random"))
    elif i not in wires.members[pool]:
        wrong = f"{name} polls its recent contacts, but is no member"
        wires.faults.append((("pools", pool), wrong, f"{name} as well, or select: random"))


def _require_one_list(wires: _Wires, about: Ints, abouts: list[dict[str, Any]]) -> None:
    """Of members of pools whose recent contacts are polled: one upstream lists them at most, and for one pool."""
    polled = {said.get("pool") for said in abouts if said.get("select") == "recent"}
    listed: dict[int, str] = {}
    for pool, i in ((pool, i) for pool, some in wires.pools.items() if pool in polled for i in some.tolist()):
        name = wires.names[i]
        path = ("nodes", name, "pool") if wires.pooled.get(i) == pool else ("pools", pool)
        upstreams = wires.into[DOWNLOAD][i]
        if upstreams > 1 and abouts[about[i]].get("select") != "recent":
            wrong = f"{name} has {upstreams} upstreams, but one alone lists a recent contact"
            wires.faults.append((path, wrong, "one download link to it, or select: random in this pool"))
        if listed.setdefault(i, pool) != pool:
            wrong = f"{name} is a recent contact in {listed[i]} already"
            wires.faults.append((path, wrong, "one such pool, or select: random in this one"))


FORM = {"peer": "a link such as a -- b, or a pool", "query": "a link such as a -> client, or a pool"}


def _candidates(wires: _Wires, i: int, node: NodeFields, kind: int) -> int:
    """How many it may poll or query: the members of its pool, or the near ends of its links."""
    if node.pool is None:
        return int(wires.into[kind][i])
    members = wires.members[node.pool]
    return len(members) - (i in members)


def _too_many(wires: _Wires, i: int, key: str, wanted: int, there: int, what: str) -> None:
    right = f"1 to {there}" if there else "at least one of them"
    wires.faults.append((("nodes", wires.names[i], key), f"{wanted} is more than the {there} {what}", right))


def _groups(wires: _Wires) -> tuple[Ints, list[str]]:
    """The number of the group of each node, and their names.

    Replicas by the shortest way from a source over downloads; those that only polls reach; the rest.
    """
    groups = ["source", "unreached", "clients", "by polls"]
    group = wires.role.astype(np.int64)
    below, peers = _below(wires.edges.of(DOWNLOAD), len(wires.names)), wires.edges.of(PEER)
    levels = _reached(np.flatnonzero(wires.role == SOURCE).tolist(), below)
    some, level = np.array([*levels], np.int64), np.array([*levels.values()], np.int64)
    group[some] = np.where(level > 0, level + len(groups) - 1, group[some])
    groups += [f"level {i}" for i in range(1, int(level.max(initial=0)) + 1)]
    if len(levels) < len(wires.names) and (wires.pooled or peers.kind.size):
        group[_by_polls(wires, set(levels), below, _polled(wires, peers))] = groups.index("by polls")
    for i, node in enumerate(wires.spec.nodes.values()):
        if node.group:
            groups += [node.group] if node.group not in groups else []
            group[i] = groups.index(node.group)
    return group, groups


def _below(edges: DirectedLinks, size: int) -> list[Any]:
    """The far ends of the edges from each node."""
    found: list[Any] = [()] * size
    for upstream, downstream in zip(edges.upstream.tolist(), edges.downstream.tolist(), strict=True):
        if not found[upstream]:
            found[upstream] = []
        found[upstream].append(downstream)
    return found


def _polled(wires: _Wires, peers: DirectedLinks) -> list[Any]:
    """Who gets something by the polls along links, from each node."""
    both = peers.where(np.array([_two_way(wires, node) for node in wires.spec.nodes.values()])[peers.downstream])
    upstream = np.concatenate([peers.upstream, both.downstream])
    return _below(
        peers._replace(upstream=upstream, downstream=np.append(peers.downstream, both.upstream)), wires.role.size
    )


def _reached(starts: list[int], below: list[Any]) -> dict[int, int]:
    levels, queue = dict.fromkeys(starts, 0), deque(starts)
    while queue:
        i = queue.popleft()
        for other in below[i]:
            if other not in levels:
                levels[other] = levels[i] + 1
                queue.append(other)
    return levels


def _by_polls(wires: _Wires, reached: set[int], below: list[Any], polled: list[Any]) -> list[int]:
    """Replicas that data reaches, but not by downloads alone."""
    pollers: dict[tuple[str, int], list[int]] = defaultdict(list)
    pools: dict[int, list[tuple[str, int]]] = defaultdict(list)
    # Recent contacts share an upstream; whoever else is polled may be any member.
    for i, pool in wires.pooled.items():
        if wires.role[i] == REPLICA:
            recent = (wires.node(i).select or wires.spec.select) == "recent"
            pollers[pool, int(wires.above[i]) if recent else ANYWHERE].append(i)
            if _two_way(wires, wires.node(i)):
                polled[i] = [*polled[i], *wires.pools[pool].tolist()]
    for pool, members in wires.pools.items():
        for i in members.tolist():
            pools[i] += [(pool, ANYWHERE), (pool, int(wires.above[i]))]
    seen, queue = set(reached), deque(reached)
    while queue:
        i = queue.popleft()
        # One member is enough to reach all who poll the pool.
        through = [other for pool in pools.get(i, ()) for other in pollers.pop(pool, ())]
        for other in (*below[i], *polled[i], *through):
            if other not in seen:
                seen.add(other)
                queue.append(other)
    return list(seen - reached)

"""A graph specification made explicit: the role and laws of every node, the kind of every link.

Nodes and links are columns here, as there may be millions of them: a node is its number in the specification. The
attributes of nodes with equal fields and similar links are worked out and checked once for all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, cast, final

import numpy as np

from replnet.laws import Flags, Ints
from replnet.network.graph_fields import Graph, NodeFields
from replnet.network.links import EVERY, Links
from replnet.network.topology import CLIENT, INDEX, REPLICA, ROLES, SOURCE, IndexLists, Topology
from replnet.text import FieldsError

FieldProblem = tuple[tuple[str | int, ...], str, str]
"""The path of a field, what is wrong with it, and what would be right."""

# The fields that a node of each role may have, beside those that all may have.
FIELDS_BY_ROLE = {
    "source": {"updates"},
    "replica": {"downloads", "polls", "peers", "select", "two_way", "ask", "pool"},
    "client": {"queries", "ask", "pool"},
}
# The nodes that take the default law of a process.
TAKERS_OF_DEFAULTS = {
    "updates": "a source that has none of its own",
    "downloads": "a replica with a link a -> b to it, or edges: downloads for those of a file",
    "polls": "a replica with a link a -- b or a pool, or edges: peers for those of a file",
    "queries": "a client, such as one with a link a -> client",
}
FIELDS_OF_ROLES = frozenset().union(*FIELDS_BY_ROLE.values())
KINDS_OF_LINKS = ("download", "peer", "query")
DOWNLOAD, PEER, QUERY = range(3)
ANY_UPSTREAM = -2
MOST_LACKING = 5  # nodes without a law that are named one by one


class DirectedLinks(NamedTuple):
    """Links from node to node in columns, each in one direction and once: numbers of nodes `upstream` and `downstream`.

    `kind` is DOWNLOAD, PEER or QUERY, and `delay` an index into a list of delays that is kept elsewhere.
    """

    upstream: Ints
    downstream: Ints
    kind: Ints
    delay: Ints  # an index into a list of delays

    def of(self, kind: int) -> DirectedLinks:
        """Return the links of one kind: DOWNLOAD, PEER or QUERY."""
        return self.where(self.kind == kind)

    def where(self, which: Any) -> DirectedLinks:
        """Return the links that `which` selects: a mask, a slice, or an array of positions."""
        return DirectedLinks(*(column[which] for column in self))


@final
@dataclass(frozen=True, eq=False)
class GraphColumns:
    """The nodes and links of a graph specification with their attributes, ready to become a topology.

    Nodes are numbered in the order of `names`, sources first, then replicas and clients; `alike` has a tuple (nodes,
    group, attributes) for every set of nodes that share these. `edges` are the links, which have indices into `delays`
    (None: that of the network); `pools` has the members of pools by name, and `positions` the places of nodes in
    pictures by name, if they have any.
    """

    names: list[str]  # in the order of roles
    alike: list[tuple[Ints, str, dict[str, Any]]]  # nodes with the same group and attributes
    edges: DirectedLinks
    delays: list[Any]
    pools: dict[str, Ints]
    positions: dict[str, tuple[float, float]]  # by name, of the nodes that have one

    def add_to(self, topology: Topology) -> None:
        """Add these nodes, links and pools to an empty topology."""
        topology.about |= {"positions": self.positions} if self.positions else {}
        for nodes, group, about in self.alike:
            names = [self.names[i] for i in nodes.tolist()]
            topology.add(names, nodes=nodes, group=group, **about)
        # In the order of the specification, as candidates are asked in the order of their links.
        edges, alike = self.edges, self.edges.kind * len(self.delays) + self.edges.delay
        begins = np.flatnonzero(np.diff(alike, prepend=-1)).tolist()
        for begin, end in zip(begins, [*begins, alike.size][1:], strict=True):
            kind, delay = KINDS_OF_LINKS[edges.kind[begin]], self.delays[edges.delay[begin]]
            topology.link(edges.upstream[begin:end], edges.downstream[begin:end], kind, delay)
        topology.pools |= self.pools


@final
class _SpecifiedGraph:
    """A graph specification in columns: roles, pools and links worked out, attributes of nodes not yet.

    Nodes are numbered in the order of the specification. `problems` collects what is wrong with it, and `lacking` the
    nodes that need a law and have none, by the name of its field.
    """

    def __init__(self, spec: Graph) -> None:
        self.spec, self.names = spec, [*spec.nodes]
        self.number = {name: i for i, name in enumerate(self.names)}
        sorts: dict[int, int] = {}
        self.sort = np.array([sorts.setdefault(id(node), len(sorts)) for node in spec.nodes.values()], np.int64)
        self.problems: list[FieldProblem] = []
        self.lacking: dict[str, list[int]] = defaultdict(list)
        self.links = cast("Links", spec.links)
        # -1 stands for every replica; as an index it is the entry past all nodes of arrays that have one more.
        ends = np.array([-1 if name == EVERY else self.number[name] for name in self.links.names], np.int64)
        self.ends = ends[self.links.source], ends[self.links.target]
        self.role = _roles(self)
        self.pools = _pools(self)
        self.members = {pool: frozenset(members) for pool, members in self.pools.items()}
        self.delays: list[Any] = [None]
        self.edges = _edges(self)
        # By kind of link, the number of links to each node.
        down = [self.edges.of(kind).downstream for kind in range(len(KINDS_OF_LINKS))]
        self.into = [np.bincount(ends, minlength=len(self.names)) for ends in down]
        self.pooled = {i: node.pool for i, node in enumerate(spec.nodes.values()) if node.pool is not None}
        self.above = np.full(len(self.names), -1)  # the first of a replica's upstreams
        first = self.edges.of(DOWNLOAD).where(slice(None, None, -1))
        self.above[first.downstream] = first.upstream

    def node(self, i: int) -> NodeFields:
        """Return the fields that the specification gives the node with number `i`."""
        return self.spec.nodes[self.names[i]]


def graph_columns(spec: Graph) -> GraphColumns:
    """Return the nodes and links of a graph specification in columns, with their roles, laws and kinds worked out.

    Raise FieldsError with all that is wrong.
    """
    graph = _SpecifiedGraph(spec)
    order = np.argsort(graph.role, kind="stable")
    about, abouts, defaults_used = _all_attributes(graph, order)
    graph.problems[:0] = [problem for key in graph.lacking for problem in _lacking_problems(graph, key)]
    _require_one_list(graph, about, abouts)
    if not (graph.role == SOURCE).any():
        graph.problems.append((("nodes",), "none is a source", "updates: exponential(rate=1), or another law, on one"))
    # A default that no node takes would silently have no effect.
    idle = (key for key in TAKERS_OF_DEFAULTS if key not in defaults_used and getattr(spec, key) is not None)
    graph.problems += [((key,), "ends up at no node", TAKERS_OF_DEFAULTS[key]) for key in idle]
    if graph.problems:
        raise FieldsError(graph.problems)
    group, groups = _groups(graph)
    groups_and_attributes = (about * len(groups) + group)[order]
    alike = [
        (nodes, groups[at % len(groups)], abouts[at // len(groups)]) for at, nodes in _by_value(groups_and_attributes)
    ]
    place = np.empty(order.size, INDEX)
    place[order] = np.arange(order.size, dtype=INDEX)
    ends = place[graph.edges.upstream], place[graph.edges.downstream]
    return GraphColumns(
        [graph.names[i] for i in order.tolist()],
        alike,
        DirectedLinks(*ends, graph.edges.kind, graph.edges.delay),
        graph.delays,
        {pool: place[members] for pool, members in graph.pools.items()},
        {name: node.position for name, node in spec.nodes.items() if node.position is not None},
    )


def _by_value(values: Ints) -> list[tuple[int, Ints]]:
    """Return pairs of a value and the array of indices at which it stands, for every different value.

    They are in the order in which the values first occur.
    """
    different, first, which = np.unique(values, return_index=True, return_inverse=True)
    places = np.split(np.argsort(which, kind="stable").astype(INDEX), np.cumsum(np.bincount(which))[:-1])
    return [(int(different[at]), places[at]) for at in np.argsort(first).tolist()]


def _roles(graph: _SpecifiedGraph) -> Ints:
    """Return the role of every node, an index into ROLES: what its fields say or imply, else what its links imply."""
    links, (source, target) = graph.links, graph.ends
    implied = [node.implied_role for node in graph.spec.nodes.values()]
    two_way, queries = (
        np.array([test(sort) for sort in links.sorts], np.bool_)[links.sort] for test in (_is_two_way, _is_query)
    )
    below, queried = np.zeros((2, len(graph.names) + 1), np.bool_)
    below[target] = below[source[two_way]] = True
    queried[target[queries]] = True
    # With a default law of updates the tops of the graph are its sources, unless some node is named as one.
    tops = graph.spec.updates is not None and "source" not in implied
    inferred = np.where(queried, CLIENT, np.where(below | (not tops), REPLICA, SOURCE))[:-1].tolist()
    return np.array(
        [ROLES.index(role) if role else other for role, other in zip(implied, inferred, strict=True)], np.int8
    )


def _is_two_way(sort: Mapping[str, Any]) -> bool:
    """Whether links with the attributes `sort` go in both directions."""
    return bool(sort.get("both"))


def _is_query(sort: Mapping[str, Any]) -> bool:
    """Whether links with the attributes `sort` are queries."""
    return sort.get("kind") == "query"


def _pools(graph: _SpecifiedGraph) -> dict[str, Ints]:
    """Return the members of every pool as numbers of nodes: those listed, else the replicas that name the pool.

    A listed member that is no replica is added to `graph.problems`.
    """
    specified = graph.spec.pools or {}
    pools = {name: [graph.number[member] for member in members] for name, members in specified.items()}
    for i, node in enumerate(graph.spec.nodes.values()):
        if node.pool is not None and node.pool not in specified:
            pools.setdefault(node.pool, [])
            if graph.role[i] == REPLICA:
                pools[node.pool].append(i)
    for pool in specified:
        for i in pools[pool]:
            if graph.role[i] != REPLICA:
                wrong = f"{graph.names[i]} is a {ROLES[graph.role[i]]}"
                graph.problems.append((("pools", pool), wrong, "replicas only"))
    return {name: np.array(members, np.int64) for name, members in pools.items()}


def _links_between_nodes(graph: _SpecifiedGraph) -> tuple[Ints, Ints, Ints, Flags]:
    """Return all links from node to node in columns, with `*` replaced by all replicas and two-way links by two.

    The columns are the upstream, the downstream, the index of the link in the specification, and whether that link goes
    in both directions. Links of a node to itself, which `*` gives rise to, are left out.
    """
    (source, target), links = graph.ends, graph.links
    replicas = np.flatnonzero(graph.role == REPLICA)
    count = np.where((source < 0) | (target < 0), replicas.size, 1)
    link = np.repeat(np.arange(len(links)), count)
    each = np.append(replicas, -1)[np.arange(link.size) - np.repeat(np.cumsum(count) - count, count)]
    upstream, downstream = (np.where(end[link] < 0, each, end[link]) for end in (source, target))
    two_way = np.array([_is_two_way(sort) for sort in links.sorts], np.bool_)[links.sort[link]]
    twice = np.repeat(np.arange(link.size), np.where(upstream == downstream, 0, 1 + two_way))
    back = np.diff(twice, prepend=-1) == 0
    ends = np.where(back, downstream[twice], upstream[twice]), np.where(back, upstream[twice], downstream[twice])
    return *ends, link[twice], two_way[twice]


def _edges(graph: _SpecifiedGraph) -> DirectedLinks:
    """Return all links from node to node; add what is wrong with them to `graph.problems`.

    Their delays are added to `graph.delays`. A link in both directions may repeat another; it then counts once.
    """
    upstream, downstream, link, two_way = _links_between_nodes(graph)
    sorts, sort, above, below = graph.links.sorts, graph.links.sort[link], graph.role[upstream], graph.role[downstream]
    specified = np.array([KINDS_OF_LINKS.index(s["kind"]) if "kind" in s else -1 for s in sorts], np.int8)[sort]
    kind = np.where(specified >= 0, specified, np.where(below == CLIENT, QUERY, DOWNLOAD))
    turned = np.where(above == SOURCE, DOWNLOAD, np.where(below == CLIENT, QUERY, PEER))
    kind = np.where(two_way & (kind == PEER), turned, kind)
    delays: list[Any] = [sort_of_link.get("delay") for sort_of_link in sorts]
    graph.delays += [delay for delay in dict.fromkeys(delays) if delay is not None]
    edges = DirectedLinks(upstream, downstream, kind, np.array([*map(graph.delays.index, delays)], np.int32)[sort])
    wrong = (above == CLIENT) | (below == SOURCE) | ((kind == QUERY) != (below == CLIENT))
    wrong |= (kind != DOWNLOAD) & (above == SOURCE)
    sound = np.flatnonzero(~wrong)
    _, first, which = np.unique(
        upstream[sound] * len(graph.names) + downstream[sound], return_index=True, return_inverse=True
    )
    earlier = sound[first[which]]
    again = (kind[sound] != kind[earlier]) | (edges.delay[sound] != edges.delay[earlier]) | ~two_way[sound]
    # If only one direction of a link in both directions makes sense, the other is dropped.
    wrong &= ~(two_way & ((below == SOURCE) | (above == CLIENT)))
    earlier_of = {at: at for at in np.flatnonzero(wrong).tolist()}
    again &= earlier != sound
    earlier_of |= zip(sound[again].tolist(), earlier[again].tolist(), strict=True)
    for at in sorted(earlier_of):
        graph.problems.append(_link_problem(graph, edges, int(link[at]), at, earlier_of[at]))
    return edges.where(np.sort(sound[first]))


def _link_problem(graph: _SpecifiedGraph, edges: DirectedLinks, link: int, at: int, earlier: int) -> FieldProblem:
    """Return the problem of the edge `edges[at]`, from the link with index `link` in the specification.

    It is that it repeats the edge `earlier`; or, if `earlier` is `at` itself, that its kind does not fit its ends.
    """
    a, b = edges.upstream[at], edges.downstream[at]
    words = f"{graph.names[a]} -> {graph.names[b]}"
    if earlier != at:
        return ("links", link), f"{words} is already a {KINDS_OF_LINKS[edges.kind[earlier]]} link", "once"
    wrong, right = _misfit(KINDS_OF_LINKS[edges.kind[at]], ROLES[graph.role[a]], ROLES[graph.role[b]])
    return ("links", link), f"{words}: {wrong}", right


def _misfit(kind: str, above: str, below: str) -> tuple[str, str]:
    """Return why no link of this kind can go from a node of role `above` to one of role `below`, and what would do."""
    if above == "client":
        return "a client has no data", "a link from a source or a replica"
    if below == "source":
        return "a source asks nobody", "a link to a replica or a client"
    if (kind == "query") != (below == "client"):
        return f"a {kind} link to a {below}", "kind: query to a client, download or peer to a replica"
    return f"a {kind} link from a source", "replicas are polled and queried; link it as a download"


def _all_attributes(graph: _SpecifiedGraph, order: Ints) -> tuple[Ints, list[dict[str, Any]], set[str]]:
    """Work out the attributes of all nodes, in this order of their numbers, each different set of attributes once.

    Return for every node the index of its set, the sets, and the names of the defaults (laws) that some node takes.
    What is wrong is added to `graph.problems`.
    """
    inside = np.zeros(len(graph.names), np.bool_)
    inside[[i for i, pool in graph.pooled.items() if i in graph.members[pool]]] = True
    columns = (graph.sort, graph.role, *graph.into, inside)
    keys = [*zip(*(column.tolist() for column in columns), strict=True)]
    numbers_known, numbers, defaults_used = dict[Any, int](), dict[Any, int](), set[str]()
    number_of, abouts = np.empty(order.size, np.int64), list[dict[str, Any]]()
    for i in order.tolist():
        at = numbers_known.get(keys[i], -1)
        if at < 0:
            node, faults = graph.node(i), _fault_count(graph)
            about = dict(_attributes(graph, i, node))
            defaults_used |= {key for key in TAKERS_OF_DEFAULTS if key in about and getattr(node, key) is None}
            at = numbers.setdefault(tuple(about.items()), len(abouts))
            abouts += [about] if at == len(abouts) else []
            if _fault_count(graph) == faults:  # faults are noted for each node
                numbers_known[keys[i]] = at
        number_of[i] = at
    return number_of, abouts, defaults_used


def _fault_count(graph: _SpecifiedGraph) -> int:
    """Return the number of faults so far: problems, and laws that nodes lack."""
    return len(graph.problems) + sum(map(len, graph.lacking.values()))


def _attributes(graph: _SpecifiedGraph, i: int, node: NodeFields) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of node `i` as pairs (name, value), from its fields and the defaults of the network.

    What is wrong with them is added to `graph.problems`.
    """
    role, name = ROLES[graph.role[i]], graph.names[i]
    yield "role", role
    right = f"one of {', '.join(sorted(FIELDS_BY_ROLE[role]))}"
    for key in sorted(FIELDS_OF_ROLES - FIELDS_BY_ROLE[role]):
        if getattr(node, key) is not None:
            graph.problems.append((("nodes", name, key), f"a {role} has no {key}", right))
    bandwidth = node.bandwidth if node.bandwidth is not None else graph.spec.bandwidth
    if role != "client" and bandwidth is not None:
        yield "bandwidth", bandwidth
    if role == "source":
        yield from _law(graph, i, node, "updates")
    elif role == "client":
        yield from _client(graph, i, node)
    else:
        yield from _downloads(graph, i, node)
        yield from _polls(graph, i, node)


def _law(graph: _SpecifiedGraph, i: int, node: NodeFields, key: str) -> Iterator[tuple[str, Any]]:
    """Yield the pair (`key`, law) for a process of node `i`, such as its downloads: its own law, or the default.

    If there is neither, the law is None, and the node is added to `graph.lacking`.
    """
    law = getattr(node, key) or getattr(graph.spec, key)
    if law is None:
        graph.lacking[key].append(i)
    yield key, law


def _lacking_problems(graph: _SpecifiedGraph, key: str) -> Iterator[FieldProblem]:
    """Yield the problems of the nodes that lack a law for `key`: one for each if they are few, else one for all.

    If links of replicas look like the edges of an undirected graph, which are read as downloads, that is said as well.
    """
    lacking, right = graph.lacking[key], f"{key}: a law, here or as a default of the network"
    if len(lacking) <= MOST_LACKING:
        for i in lacking:
            name = graph.names[i]
            yield ("nodes", name, key), f"missing, {name} is a {ROLES[graph.role[i]]}", right
        return
    names = ", ".join(graph.names[i] for i in lacking[:MOST_LACKING])
    wrong = f"missing for {len(lacking):,} nodes: {names} and {len(lacking) - MOST_LACKING:,} more"
    right = f"{key}: a law, at each of them or as a default of the network"
    if key == "downloads" and (graph.into[DOWNLOAD] > 1).any():
        right += "; or edges: peers, if the nodes of the file poll one another"
    yield (key,), wrong, right


def _client(graph: _SpecifiedGraph, i: int, node: NodeFields) -> Iterator[tuple[str, Any]]:
    """Yield the attributes that only a client has, as pairs (name, value): queries, ask, and pool if it has one.

    What is wrong with them is added to `graph.problems`.
    """
    yield from _law(graph, i, node, "queries")
    others = _candidates(graph, i, node, QUERY)
    ask = node.ask or min(graph.spec.ask, max(1, others))
    if ask > others:
        _too_many(graph, i, "ask", ask, others, f"replicas it is linked to ({CANDIDATE_FORMS['query']})")
    yield "ask", ask
    if node.pool is not None:
        yield "pool", node.pool


def _downloads(graph: _SpecifiedGraph, i: int, node: NodeFields) -> Iterator[tuple[str, Any]]:
    """Yield the law of downloads of replica `i`, if it has any, and `ask`, the number of upstreams asked, if given.

    They are pairs (name, value); what is wrong with them is added to `graph.problems`.
    """
    upstreams = int(graph.into[DOWNLOAD][i])
    if node.downloads is not None or upstreams:
        yield from _law(graph, i, node, "downloads")
    if node.ask is not None:
        if node.ask > upstreams:
            _too_many(graph, i, "ask", node.ask, upstreams, f"upstreams of {graph.names[i]}")
        yield "ask", node.ask


def _polls(graph: _SpecifiedGraph, i: int, node: NodeFields) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of the polls of replica `i` as pairs (name, value); nothing if it does not poll.

    What is wrong with them is added to `graph.problems`.
    """
    name, others = graph.names[i], _candidates(graph, i, node, PEER)
    law = node.polls or (graph.spec.polls if others else None)
    if law is None:
        for key in ("peers", "select", "two_way"):
            if getattr(node, key) is not None:
                graph.problems.append((("nodes", name, "polls"), f"missing, but {key} is given", "polls: a law"))
        return
    peers = node.peers or min(graph.spec.peers, max(1, others))
    if peers > others:
        _too_many(graph, i, "peers", peers, others, f"peers of {name} ({CANDIDATE_FORMS['peer']})")
    select = node.select or graph.spec.select
    if select == "recent":
        _require_contacts(graph, i, node.pool)
    yield from (("polls", law), ("peers", peers), ("select", select))
    if _two_way(graph, node):
        yield "two_way", True
    if node.pool is not None:
        yield "pool", node.pool


def _two_way(graph: _SpecifiedGraph, node: NodeFields) -> bool:
    """Whether the polls of a node are two-way, by its field or the default."""
    return graph.spec.two_way if node.two_way is None else node.two_way


def _require_contacts(graph: _SpecifiedGraph, i: int, pool: str | None) -> None:
    """Add to `graph.problems` if node `i`, which polls recent contacts in `pool`, cannot learn of them.

    It needs exactly one upstream to list them, and to be a member of a pool (None: it has none).
    """
    name = graph.names[i]
    if graph.into[DOWNLOAD][i] != 1:
        wrong = f"recent, but {name} does not have exactly one upstream, which lists its recent contacts"
        graph.problems.append((("nodes", name, "select"), wrong, "random, or one download link"))
    if pool is None:
        wrong = f"missing, but {name} selects recent contacts, which are listed by pool"
        graph.problems.append((("nodes", name, "pool"), wrong, "pool: the name of one, or select: random"))
    elif i not in graph.members[pool]:
        wrong = f"{name} polls its recent contacts, but is no member"
        graph.problems.append((("pools", pool), wrong, f"{name} as well, or select: random"))


def _require_one_list(graph: _SpecifiedGraph, about: Ints, abouts: list[dict[str, Any]]) -> None:
    """Add to `graph.problems` each node that may be a recent contact but has several upstreams or several such pools.

    `abouts` are the different sets of attributes, and `about` the index of its set for every node.
    """
    polled = {attributes.get("pool") for attributes in abouts if attributes.get("select") == "recent"}
    listed: dict[int, str] = {}
    for pool, i in ((pool, i) for pool, members in graph.pools.items() if pool in polled for i in members.tolist()):
        name = graph.names[i]
        path = ("nodes", name, "pool") if graph.pooled.get(i) == pool else ("pools", pool)
        upstreams = graph.into[DOWNLOAD][i]
        if upstreams > 1 and abouts[about[i]].get("select") != "recent":
            wrong = f"{name} has {upstreams} upstreams, but one alone lists a recent contact"
            graph.problems.append((path, wrong, "one download link to it, or select: random in this pool"))
        if listed.setdefault(i, pool) != pool:
            wrong = f"{name} is a recent contact in {listed[i]} already"
            graph.problems.append((path, wrong, "one such pool, or select: random in this one"))


CANDIDATE_FORMS = {"peer": "a link such as a -- b, or a pool", "query": "a link such as a -> client, or a pool"}


def _candidates(graph: _SpecifiedGraph, i: int, node: NodeFields, kind: int) -> int:
    """Return the number of nodes that node `i` may ask: the other members of its pool, or the upstreams of its links.

    `kind` is that of the links: PEER for polls, QUERY for queries.
    """
    if node.pool is None:
        return int(graph.into[kind][i])
    members = graph.members[node.pool]
    return len(members) - (i in members)


def _too_many(graph: _SpecifiedGraph, i: int, key: str, wanted: int, available: int, candidates: str) -> None:
    """Add to `graph.problems` that field `key` of node `i` asks for `wanted` nodes, of which only `available` exist.

    `candidates` describes these in words.
    """
    right = f"1 to {available}" if available else "at least one of them"
    graph.problems.append(
        (("nodes", graph.names[i], key), f"{wanted} is more than the {available} {candidates}", right)
    )


def _groups(graph: _SpecifiedGraph) -> tuple[Ints, list[str]]:
    """Return the index of the group of each node, and the list of the names of groups that these are indices of.

    The group of a node is its field `group`, if given. Else that of a replica is its level, the least number of
    downloads from a source; `by polls` if data reaches it by polls alone; or `unreached`. Others are in `source` or
    `clients`.
    """
    groups = ["source", "unreached", "clients", "by polls"]
    group = graph.role.astype(np.int64)
    downloads = graph.edges.of(DOWNLOAD)
    below = IndexLists.by_key(downloads.upstream, downloads.downstream, len(graph.names))
    level = below.steps_from(np.flatnonzero(graph.role == SOURCE))
    group[level > 0] = level[level > 0] + len(groups) - 1
    groups += [f"level {i}" for i in range(1, int(level.max(initial=0)) + 1)]
    if (level < 0).any() and (graph.pooled or graph.edges.of(PEER).kind.size):
        group[_by_polls(graph, np.flatnonzero(level >= 0), downloads) & (level < 0)] = groups.index("by polls")
    for i, node in enumerate(graph.spec.nodes.values()):
        if node.group:
            groups += [node.group] if node.group not in groups else []
            group[i] = groups.index(node.group)
    return group, groups


def _by_polls(graph: _SpecifiedGraph, reached: Ints, downloads: DirectedLinks) -> Flags:
    """Return a mask of the nodes that data gets to from those in `reached`, by `downloads` and polls, these included.

    With two-way polls data goes from askers to the nodes asked as well.
    """
    peers = graph.edges.of(PEER)
    two_way = peers.where(np.array([_two_way(graph, node) for node in graph.spec.nodes.values()])[peers.downstream])
    begin = [downloads.upstream, peers.upstream, two_way.downstream]
    end = [downloads.downstream, peers.downstream, two_way.upstream]
    # Data takes one more step through a number past all nodes: from the members of a pool to those that poll it, or
    # back. Recent contacts share an upstream; a node that polls at random may ask any member.
    askers: dict[tuple[str, int], list[int]] = defaultdict(list)
    givers: dict[str, list[int]] = defaultdict(list)
    for i, pool in graph.pooled.items():
        if graph.role[i] == REPLICA:
            recent = (graph.node(i).select or graph.spec.select) == "recent"
            askers[pool, int(graph.above[i]) if recent else ANY_UPSTREAM].append(i)
            if _two_way(graph, graph.node(i)):
                givers[pool].append(i)
    size = len(graph.names)
    for (pool, upstream), nodes in askers.items():
        members = graph.pools[pool]
        members = members[(graph.above[members] == upstream) | (upstream == ANY_UPSTREAM)]
        begin += [members, np.full(len(nodes), size)]
        end += [np.full(members.size, size), np.array(nodes)]
        size += 1
    for pool, nodes in givers.items():
        members = graph.pools[pool]
        begin += [np.array(nodes), np.full(members.size, size)]
        end += [np.full(len(nodes), size), members]
        size += 1
    ways = IndexLists.by_key(np.concatenate(begin), np.concatenate(end), size)
    return np.asarray(ways.steps_from(reached)[: len(graph.names)] >= 0)

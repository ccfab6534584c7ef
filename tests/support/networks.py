"""Networks small enough for `step`: one of every kind by name, and random ones."""

from __future__ import annotations

from typing import Any

import networkx as nx
from any_network import drawn_network, network_of_several_sources
from hypothesis import strategies as st

import replnet as rn

NAMED = {
    "tree": rn.cascade(depth=3, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)"),
    "cluster": rn.cooperative(
        replicas=10, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="exponential(rate=4)",
    ),
    "recent": rn.cooperative(
        replicas=10, peers=3, select="recent", updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="constant(rate=4)",
    ),
    "redundant": rn.redundant(
        replicas=10, ask=3, updates="exponential(rate=1)", downloads="constant(rate=1)", queries="exponential(rate=5)"
    ),
}  # fmt: skip

RATES = st.sampled_from([0.5, 1.0, 2.0, 3.7])


@st.composite
def laws(draw: st.DrawFn) -> rn.Law:
    rate = draw(RATES)
    return draw(
        st.sampled_from(
            [
                rn.exponential(rate=rate),
                rn.constant(rate=rate),
                rn.pareto(alpha=3, rate=rate),
                rn.pareto(alpha=1.4, rate=rate),
                rn.weibull(shape=0.6, rate=rate),
                rn.uniform(low=0.1 / rate, high=1.9 / rate),
                rn.gamma(shape=2.5, rate=rate),
                rn.hyperexponential(weights=[0.7, 0.3], rates=[2 * rate, rate / 2]),
                rn.lattice(values=[1, 2], weights=[0.5, 0.5]),
            ]
        )
    )


DELAYS = st.sampled_from([0.0, 0.0, 0.05, 0.7])


@st.composite
def networks(draw: st.DrawFn) -> rn.Network:
    kind = draw(st.sampled_from([cascades, clusters, redundant, tiers, graphs]))
    return draw(kind())


@st.composite
def cascades(draw: st.DrawFn) -> rn.Network:
    depth = draw(st.integers(1, 3))
    return rn.cascade(
        depth=depth,
        branching=draw(st.integers(1, 3)),
        updates=draw(laws()),
        downloads=[draw(laws()) for _ in range(depth)],
        delay=draw(DELAYS),
        clients=draw(st.none() | st.just({"level": "last", "queries": draw(laws())})),
    )


@st.composite
def clusters(draw: st.DrawFn) -> rn.Network:
    m = draw(st.integers(2, 6))
    clients = {"ask": draw(st.integers(1, m)), "queries": draw(laws())}
    return rn.cooperative(
        replicas=m,
        peers=draw(st.integers(1, m - 1)),
        select=draw(st.sampled_from(["random", "recent"])),
        updates=draw(laws()),
        downloads=draw(laws()),
        polls=draw(laws()),
        delay=draw(DELAYS),
        clients=draw(st.none() | st.just(clients)),
    )


@st.composite
def plain_clusters(draw: st.DrawFn) -> rn.Network:
    """Everyone asks by name and is answered at once, so that lots of rows can come one after another."""
    m = draw(st.integers(2, 9))
    processes = {name: draw(laws()) for name in ("updates", "downloads", "polls")}
    return rn.cooperative(replicas=m, peers=draw(st.integers(1, m - 1)), **processes)


@st.composite
def redundant(draw: st.DrawFn) -> rn.Network:
    m = draw(st.integers(1, 5))
    return rn.redundant(
        replicas=m,
        ask=draw(st.integers(1, m)),
        clients=draw(st.integers(1, 2)),
        updates=draw(laws()),
        downloads=draw(laws()),
        queries=draw(laws()),
        delay=draw(DELAYS),
    )


@st.composite
def tiers(draw: st.DrawFn) -> rn.Network:
    top = {"kind": "cascade", "depth": draw(st.integers(1, 2)), "branching": 2, "downloads": draw(laws())}
    cluster = {
        "kind": "cooperative",
        "replicas": 3,
        "peers": draw(st.integers(1, 2)),
        "select": draw(st.sampled_from(["random", "recent"])),
        "downloads": draw(laws()),
        "polls": draw(laws()),
        "under": draw(st.sampled_from(["each", "spread"])),
    }
    return rn.compose(
        updates=draw(laws()),
        tiers=[top, cluster] if draw(st.booleans()) else [{**cluster, "under": "each"}, {**top, "under": "spread"}],
        clients={"ask": 2, "queries": draw(laws())},
        delay=draw(DELAYS),
    )


@st.composite
def many_sources(draw: st.DrawFn) -> dict[str, Any]:
    """What an aggregate is, alone or as the first tier of others; some sources never change, or are never asked."""
    count = draw(st.integers(1, 4))
    data = {
        "kind": "aggregate",
        "allocate": draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.5]), min_size=count, max_size=count)),
        "rates": draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=count, max_size=count)),
        "weights": draw(st.sampled_from([[1.0] * 4, [2.0, 0.5, 1.0, 0.0]]))[:count],
        "updates": draw(laws()),
        "order": draw(st.sampled_from(["independent", "independent", "fixed", "random", "purely random", "carousel"])),
    }
    if data["order"] == "independent":
        data |= {"downloads": draw(laws()), "replicas": draw(st.integers(1, 4))}
        data |= {"share": draw(st.sampled_from(["turns", "independently"]))}
    return data


@st.composite
def aggregates(draw: st.DrawFn) -> rn.Network:
    data = draw(many_sources())
    data |= {"ask": draw(st.integers(1, data.get("replicas", 1))), "delay": draw(DELAYS)}
    return rn.Network.from_data(data | draw(st.just({}) | st.fixed_dictionaries({"queries": laws()})))


@st.composite
def aggregate_tiers(draw: st.DrawFn) -> rn.Network:
    """Others pull from the replicas of an aggregate."""
    below = {"kind": "cascade", "depth": draw(st.integers(1, 2)), "branching": 2, "downloads": draw(laws())}
    tiers = [draw(many_sources()), {**below, "under": draw(st.sampled_from(["each", "spread"]))}]
    clients = draw(st.none() | st.just({"ask": 2, "queries": draw(laws())}))
    return rn.compose(tiers=tiers, clients=clients, delay=draw(DELAYS))


@st.composite
def graphs(draw: st.DrawFn) -> rn.Network:
    """Several sources, several parents, cycles of pulls, peers, nodes that nothing reaches."""
    sources = [f"s{i}" for i in range(draw(st.integers(1, 3)))]
    replicas = [f"r{i}" for i in range(draw(st.integers(1, 5)))]
    graph = nx.DiGraph(delay=draw(DELAYS))
    for name in sources:
        graph.add_node(name, role="source", updates=draw(laws()))
    for name in replicas:
        graph.add_node(name, role="replica", downloads=draw(laws()))
    for name in replicas:
        others = [other for other in [*sources, *replicas] if other != name]
        for above in draw(st.lists(st.sampled_from(others), unique=True, max_size=3)):
            graph.add_edge(above, name, kind="download")
        parents = graph.in_degree(name)
        if parents > 1 and draw(st.booleans()):
            graph.nodes[name]["ask"] = draw(st.integers(1, parents))
        peers = [other for other in replicas if other != name and not graph.has_edge(other, name)]
        if peers and draw(st.booleans()):
            for peer in draw(st.lists(st.sampled_from(peers), unique=True, min_size=1)):
                graph.add_edge(peer, name, kind="peer")
            k = sum(kind == "peer" for _, _, kind in graph.in_edges(name, data="kind"))
            graph.nodes[name].update(polls=draw(laws()), peers=draw(st.integers(1, k)))
    graph.add_node("client", role="client", queries=draw(laws()), ask=draw(st.integers(1, len(replicas))))
    graph.add_edges_from((name, "client", {"kind": "query"}) for name in replicas)
    return rn.graph(graph)


@st.composite
def forests(draw: st.DrawFn) -> rn.Network:
    """Trees of several sources, of which some may reach nobody, and replicas that nothing reaches."""
    graph = nx.DiGraph()
    sources = [f"s{i}" for i in range(draw(st.integers(1, 4)))]
    for name in sources:
        graph.add_node(name, role="source", updates=draw(laws()))
    for i in range(draw(st.integers(1, 6))):
        name, parents = f"r{i}", list(graph)
        graph.add_node(name, role="replica", downloads=draw(laws()))
        if parent := draw(st.sampled_from([*parents, None])):
            graph.add_edge(parent, name, kind="download")
    return rn.graph(graph)


@st.composite
def troubled(draw: st.DrawFn, of: st.SearchStrategy[rn.Network] | None = None) -> rn.Network:
    """Some network with limits on bandwidth and with what may go wrong."""
    data = draw(networks() if of is None else of).data()
    plain = rn.Network.from_data(data)
    limits = st.none() | st.sampled_from([1.5, 4.0, 20.0])
    if data["kind"] == "graph":
        for name, node in data["nodes"].items():
            if plain.graph.nodes[name]["role"] != "client" and (limit := draw(limits)):
                node["bandwidth"] = limit
    else:
        data["bandwidth"] = draw(limits)
    recent = any(about.get("select") == "recent" for _, about in plain.graph.nodes(data=True))
    faults = [] if recent else draw(st.lists(some_fault(plain), max_size=3))
    about = {"queue": draw(st.sampled_from([1, 3, 12])), "charge": draw(st.sampled_from(["issued", "both"]))}
    return rn.Network.from_data({**data, **about, "faults": faults})


def both_ways(data: Any, plain: bool = False) -> Any:
    """The data of a network, in which polls go both ways; if `plain`, of random peers and without delays."""
    if isinstance(data, list | tuple):
        return [both_ways(one, plain) for one in data]
    if not isinstance(data, dict):
        return data
    own: dict[str, Any] = {"two_way": True} if data.get("kind") in ("cooperative", "graph") else {}
    if plain:
        own |= {key: value for key, value in (("select", "random"), ("delay", 0.0)) if key in data}
    return {key: both_ways(one, plain) for key, one in data.items()} | own


def two_way(of: st.SearchStrategy[rn.Network], plain: bool = False) -> st.SearchStrategy[rn.Network]:
    """Networks of this kind, in which polls go both ways."""
    return of.map(lambda network: rn.Network.from_data(both_ways(network.data(), plain)))


@st.composite
def anything(draw: st.DrawFn) -> rn.Network:
    """Whatever a specification can say, of every kind; not every engine takes it."""
    return drawn_network(lambda options: draw(st.sampled_from(list(options))))


@st.composite
def of_several_sources(draw: st.DrawFn) -> rn.Network:
    """Replicas that hear of different sources, or of none, and clients that ask some of all of these."""
    return network_of_several_sources(lambda options: draw(st.sampled_from(list(options))))


@st.composite
def some_fault(draw: st.DrawFn, network: rn.Network) -> dict:
    who = st.sampled_from([*network.replicas, *network.sources, "replicas", "sources"])
    anyone = who | st.sampled_from([*network.clients, "clients"] if network.clients else ["replicas"])
    schedule = st.fixed_dictionaries({"at": st.sampled_from([0.0, 1.3, 4.0])}, optional={"lasts": st.just(2.0)})
    when = schedule | st.fixed_dictionaries({"up": laws(), "down": laws()})
    sides = st.lists(anyone, min_size=2, max_size=2)
    crash = st.tuples(st.fixed_dictionaries({"crash": who, "copy": st.sampled_from(["kept", "empty"])}), when)
    cut = st.tuples(st.fixed_dictionaries({"cut": sides}), when)
    loss = st.fixed_dictionaries({"lose": st.sampled_from([0.05, 0.5])}, optional={"between": sides})
    return draw(st.one_of((crash | cut).map(lambda parts: {**parts[0], **parts[1]}), loss))

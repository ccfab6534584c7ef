"""Networks of all that a specification can say, drawn by a way to choose: that of hypothesis, or of a seed.

They combine whatever may be combined, and `features` names what a network combines, so that a test can count it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx

import replnet as rn

Choose = Callable[[Sequence[Any]], Any]
Data = dict[str, Any]
TRACE = Path(__file__).parents[1] / "trace.csv"  # 41 instants, about 0.8 apart

LAWS = {
    "exponential": "exponential(rate={r})",
    "constant": "constant(rate={r})",
    "pareto": "pareto(alpha=4, rate={r})",
    "heavy": "pareto(alpha=1.8, rate={r})",
    "weibull": "weibull(shape=0.6, rate={r})",
    "uniform": "uniform(low=0, high={r})",
    "gamma": "gamma(shape=2.5, rate={r})",
    "erlang": "erlang(stages=3, rate={r})",
    "lognormal": "lognormal(sigma=0.8, rate={r})",
    "hyperexponential": "hyperexponential(weights=[0.5, 0.5], rates=[{r}, 3])",
    "lattice": "lattice(values=[0.5, 1.25], weights=[0.5, 0.5])",
    "trace": f'trace(file="{TRACE}")',
    "scipy": "scipy(name=invgauss, mu=0.5)",
    "shuffled": "shuffled(alternating(values=[0.3, 1.1]))",
}
PROCESSES = {
    "alternating": "alternating(values=[0.3, 1.1])",
    "recorded": f'trace(file="{TRACE}", order=recorded)',
    "correlated": "correlated(law=gamma(shape=2, rate={r}), rho=0.7)",
    "longrange": "longrange(law=uniform(low=0, high={r}), hurst=0.7)",
    "modulated": "modulated(rates=[{r}, 4], means=[1, 2])",
    "diurnal": "diurnal(rate={r}, swing=0.8, period=3)",
    "superposition": "superposition(laws=[gamma(shape=2, rate={r}), constant(rate=0.7)])",
    "windowed": "windowed(rate={r}, window=0.7, period=2, share=0.8)",
}
DELAYS = (0.05, 0.4, "exponential(mean=0.1)", "uniform(low=0, high=0.5)")
METRICS = (
    "staleness", "staleness_age", "lag", "missing_updates", "currency(0.4)", "source_penalty(x^2)",
    "update_penalty(1/(1+x))", "older(0.7)", "fresh_spell", "stale_spell", "fresh_spell_beyond(0.4)",
    "stale_spell_beyond(0.4)", "fresh_residual(0.4)",
)  # fmt: skip
ORDERS = ("independent", "fixed", "random", "purely random", "carousel")
ALLOCATIONS = ("uniform", "proportional", "weights", "listed")


def drawn_law(choose: Choose, *, only: bool = False) -> str:
    """A law, or (not `only` one) a process, as text."""
    of = choose([LAWS] if only else [LAWS, PROCESSES])
    return str(of[choose(list(of))].format(r=choose([0.6, 1.0, 2.0])))


def drawn_network(choose: Choose) -> rn.Network:
    data = choose([_single, _cascade, _cooperative, _redundant, _aggregate, _graph, _graph, _graph, _compose])(choose)
    return rn.Network.from_data(troubled(choose, data))


def _clients(choose: Choose, most: int, where: str) -> Data:
    if choose([True, False]):
        return {}
    about = {"number": choose([1, 2]), "ask": choose(range(1, min(most, 3) + 1)), "queries": drawn_law(choose)}
    return {"clients": {where: "last", **about}}


def _single(choose: Choose) -> Data:
    laws = {"updates": drawn_law(choose), "downloads": drawn_law(choose)}
    return {"kind": "single", **laws, **_clients(choose, 1, "level")}


def _cascade(choose: Choose) -> Data:
    depth, branching = choose([1, 2, 3]), choose([1, 2])
    laws = {"updates": drawn_law(choose), "downloads": [drawn_law(choose) for _ in range(depth)]}
    return {
        "kind": "cascade", "depth": depth, "branching": branching, **laws,
        **_clients(choose, branching**depth, "level"),
    }  # fmt: skip


def _cluster(choose: Choose) -> Data:
    m = choose([2, 3, 4])
    about = {"replicas": m, "peers": choose(range(m)), "select": choose(["random", "recent"])}
    return {"kind": "cooperative", **about, "downloads": drawn_law(choose), "polls": drawn_law(choose)}


def _cooperative(choose: Choose) -> Data:
    cluster = _cluster(choose)
    return {**cluster, "updates": drawn_law(choose), **_clients(choose, cluster["replicas"], "level")}


def _redundant(choose: Choose) -> Data:
    m = choose([1, 2, 4])
    laws = {name: drawn_law(choose) for name in ("updates", "downloads", "queries")}
    return {"kind": "redundant", "replicas": m, "ask": choose(range(1, m + 1)), "clients": choose([1, 2]), **laws}


def _compose(choose: Choose, of_many: Sequence[bool] = (True, False)) -> Data:
    """Tiers, of which the first may be (`of_many`) the replicas of an aggregate."""
    many = {**_aggregate(choose), "ask": 1} if choose(of_many) else {}
    many.pop("queries", None)
    tiers = [many] if many else []
    for _ in range(choose([2, 2, 3]) - len(tiers)):
        tree = {"kind": "cascade", "depth": choose([1, 2]), "branching": 2, "downloads": drawn_law(choose)}
        one = {"kind": "single", "downloads": drawn_law(choose)}
        tier = choose([tree, one, _cluster(choose)])
        tiers.append({**tier, "under": choose(["each", "spread"])})
        if choose([True, False, False, False]):
            tiers[-1]["bandwidth"] = choose([3, 8])
    own = {} if many else {"updates": drawn_law(choose)}
    return {"kind": "compose", **own, "tiers": tiers, **_clients(choose, 1, "tier")}


def _graph(choose: Choose, in_trees: Sequence[bool] = (True, False)) -> Data:
    """Sources and what they reach; several parents, cycles and peers where they are drawn, or trees that never meet."""
    sources = [f"s{i}" for i in range(1, choose([1, 2, 2, 3]) + 1)]
    replicas = [f"r{i}" for i in range(1, choose([2, 3, 4]) + 1)]
    apart, select = choose(in_trees), choose(["random", "random", "recent"])
    nodes: Data = {name: {"updates": drawn_law(choose)} for name in sources}
    links: list[Data] = []
    recent: list[str] = []
    for at, name in enumerate(replicas):
        nodes[name] = {"role": "replica", "downloads": drawn_law(choose)}
        tree = [sources[at % len(sources)], *replicas[at % len(sources) : at : len(sources)]]
        others = tree if apart else [*sources, *replicas[:at], *(replicas[at + 1 :] if choose([True, False]) else ())]
        parents = list(dict.fromkeys(choose(others) for _ in range(1 if apart else choose([1, 2, 3]))))
        links += [{"from": one, "to": name} for one in parents]
        if len(parents) > 1 and choose([True, False]):
            nodes[name]["ask"] = choose(range(1, len(parents) + 1))
        peers = [] if apart else [one for one in replicas if one not in (*parents, name)]
        if peers and choose([True, False]):
            nodes[name]["polls"] = drawn_law(choose)
            if select == "recent" and len(parents) == 1:
                recent.append(name)
            else:
                asked = list(dict.fromkeys(choose(peers) for _ in range(2)))
                links += [{"from": one, "to": name, "kind": "peer"} for one in asked]
                nodes[name]["peers"] = choose(range(1, len(asked) + 1))
        if choose([True, False, False]):
            nodes[name]["bandwidth"] = choose([2, 4, 10])
    for name in recent:
        # Alone in its pool it has nobody to poll.
        about = {"pool": "recent", "select": "recent", "peers": choose(range(1, max(len(recent), 2)))}
        nodes[name] |= about if len(recent) > 1 else {"polls": None}
    for number in range(0 if apart and choose([True, False]) else choose([0, 1, 2])):
        of = list(dict.fromkeys(choose(replicas) for _ in range(3)))
        about = {"role": "client", "queries": drawn_law(choose), "ask": choose(range(1, len(of) + 1))}
        nodes[f"c{number + 1}"] = about
        links += [{"from": one, "to": f"c{number + 1}"} for one in of]
    if choose([True, False, False]):
        for link in links:
            link["delay"] = choose([0, *DELAYS])
    return {"kind": "graph", "nodes": nodes, "links": links}


def network_of_several_sources(choose: Choose) -> rn.Network:
    """Replicas that hear of different sources, or of none, and clients that ask some of all of these."""
    sources = [f"s{i}" for i in range(1, choose([2, 2, 3]) + 1)]
    replicas = [f"r{i}" for i in range(1, choose([2, 3, 4]) + 1)]
    nodes: Data = {name: {"updates": drawn_law(choose)} for name in sources}
    links: list[Data] = []
    for at, name in enumerate(replicas):
        above = list(dict.fromkeys(choose([*sources, *replicas[:at]]) for _ in range(choose([1, 1, 2]))))
        nodes[name] = {"role": "replica", "downloads": drawn_law(choose), "group": "mirrors"}
        links += [{"from": one, "to": name} for one in above]
        peers = [one for one in replicas if one not in (*above, name)]
        if peers and choose([True, False, False]):
            nodes[name] |= {"polls": drawn_law(choose), "peers": 1}
            links += [{"from": one, "to": name, "kind": "peer"} for one in peers]
    if choose([True, False, False]):
        nodes["deaf"] = {"role": "replica", "downloads": drawn_law(choose), "group": "mirrors"}
        replicas.append("deaf")
    for name in ("c1", "c2")[: choose([1, 2])]:
        nodes[name] = {"role": "client", "queries": drawn_law(choose), "ask": choose(range(1, len(replicas) + 1))}
        links += [{"from": one, "to": name} for one in replicas]
    data = {"kind": "graph", "nodes": nodes, "links": links, **choose([{}, {"delay": choose(DELAYS)}])}
    # So much room that no line forms: some pulls may come to nothing, and none does.
    data |= choose([{}, {}, {"bandwidth": 500}])
    plain = rn.Network.from_data(data)
    return rn.Network.from_data({**data, "faults": [_fault(choose, plain)]} if choose([True, False, False]) else data)


def _aggregate(choose: Choose) -> Data:
    count = choose([2, 3, 4])
    data: Data = {
        "kind": "aggregate",
        "order": choose(("independent", *ORDERS)),
        "weights": choose([[1, 3, 2, 0.5], [1] * 4])[:count],
    }
    if choose([True, False]):
        data |= {"rates": choose([[1, 2, 0.5, 1.5], [1, 0, 2, 0.7]])[:count]}
        data |= {"updates": drawn_law(choose, only=True)}
    else:
        data |= {"updates": [drawn_law(choose, only=True) for _ in range(count)]}
    allocate = choose(ALLOCATIONS)
    data |= {"allocate": [1, 0.5, 1.5, 0.8][:count]} if allocate == "listed" else {"allocate": allocate, "budget": 3}
    if data["order"] == "independent":
        data["downloads"] = drawn_law(choose, only=True)
        m = choose([1, 2, 2, 3])
        data |= {"replicas": m, "ask": choose(range(1, m + 1)), "share": choose(["turns", "independently"])}
    return data | choose([{}, {}, {"queries": drawn_law(choose)}])


def _starved(choose: Choose) -> Data:
    """An aggregate that never downloads one of its sources, and of which another counts for nothing."""
    data = _aggregate(choose)
    count = len(data["weights"])
    data |= {"allocate": [0, 1, 0.5, 1.5][:count], "weights": [0.5, 1, 0, 2][:count]}
    return {name: value for name, value in data.items() if name != "budget"}


KINDS: dict[str, Callable[[Choose], Data]] = {
    "single": _single,
    "cascade": _cascade,
    "cluster": _cooperative,
    "redundant": _redundant,
    "graph": _graph,
    "forest": lambda choose: _graph(choose, in_trees=[True]),
    "tiers": lambda choose: _compose(choose, of_many=[False]),
    "aggregate": _aggregate,
    "starved": _starved,
    "tiers of many": lambda choose: _compose(choose, of_many=[True]),
}


def troubled(choose: Choose, data: Data) -> Data:
    """With messages that take time, lines, and what may go wrong."""
    plain = rn.Network.from_data(data)
    if choose([True, False]):
        data["delay"] = choose(DELAYS)
    if choose([True, False, False]):
        data |= {"bandwidth": choose([3, 6, 20])}
    limited = any("bandwidth" in about for _, about in plain.graph.nodes(data=True)) or "bandwidth" in data
    if limited:
        data |= {"queue": choose([1, 3, 30]), "charge": choose(["issued", "both"])}
    faults = [_fault(choose, plain) for _ in range(choose([0, 0, 1, 2]))]
    return {**data, "faults": faults} if faults else data


def _fault(choose: Choose, network: rn.Network) -> Data:
    sides = [*network.replicas, *network.sources, *network.clients, "replicas", "sources"]
    between = [choose(sides), choose(sides)]
    if choose([True, False, False]):
        return {"lose": choose([0.1, 0.4]), **choose([{}, {"between": between}])}
    churn = {"up": drawn_law(choose, only=True), "down": drawn_law(choose, only=True)}
    when = choose([churn, churn, {"at": choose([0.0, 3.0]), "lasts": choose([2.0, 9.0])}, {"at": 7.0}])
    who = [*network.replicas, "replicas", *network.sources]
    return choose([{"crash": choose(who), "copy": choose(["kept", "empty"])}, {"cut": between}]) | when


# What a network combines.


def features(network: rn.Network) -> frozenset[str]:
    """One name per thing that is special about a network."""
    data, found = network.data(), {network.kind}
    found |= _named_laws(data)
    if (many := data.get("tiers", [data])[0])["kind"] == "aggregate":
        found |= {f"order {many['order']}"}
        found |= {f"share {many['share']}"} if many.get("replicas", 1) > 1 else set()
        found |= {f"allocate {'listed' if isinstance(many['allocate'], list) else many['allocate']}"}
    graph = network.graph
    roles = nx.get_node_attributes(graph, "role")
    found |= {"clients"} if network.clients else set()
    found |= _shape(network)
    found |= {"several parents"} if _parents(graph) > 1 else set()
    found |= {f"select {about['select']}" for _, about in graph.nodes(data=True) if about.get("select")}
    found |= {"ask some"} if any("ask" in a and roles[n] == "replica" for n, a in graph.nodes(data=True)) else set()
    found |= _delays(graph)
    if any("bandwidth" in about for _, about in graph.nodes(data=True)):
        found |= {"bandwidth", f"charge {data.get('charge', 'issued')}"}
        found |= {"short queue"} if data.get("queue", 1000) < 10 else set()
    for fault in data.get("faults", ()):
        kind = next(name for name in ("crash", "cut", "lose") if name in fault)
        timing = "" if kind == "lose" else " at random" if "up" in fault else " on schedule"
        found.add(kind + timing)
        found |= {f"copy {fault['copy']}"} if "copy" in fault else set()
    if network.kind == "compose":
        found |= {f"under {tier.get('under', 'each')}" for tier in data["tiers"][1:]}
    return frozenset(found)


def _named_laws(data: Any) -> set[str]:
    if isinstance(data, dict):
        data = list(data.values())
    if isinstance(data, (list, tuple)):
        return set().union(*map(_named_laws, data)) if data else set()
    text = str(data)
    if not text.rstrip().endswith(")"):
        return set()
    name = text.partition("(")[0]
    if name == "trace" and "order" in text:
        return {"recorded"}
    if name == "pareto" and "alpha=1.8" in text:
        return {"heavy"}
    # Laws may be spelled in another way than they were given.
    return {name} if name in LAWS or name in PROCESSES else {"scipy"} if "invgauss" in text else set()


def _shape(network: rn.Network) -> set[str]:
    ways = nx.DiGraph(network.graph.edges)
    ways.add_nodes_from(network.graph)
    downloads = nx.DiGraph((a, b) for a, b, kind in network.graph.edges(data="kind") if kind == "download")
    cycle = set() if nx.is_directed_acyclic_graph(downloads) else {"cycle"}
    if len(network.sources) == 1:
        return {"one source", *cycle}
    heard = [nx.descendants(ways, source) for source in network.sources]
    meet = any(one & other for one, other in combinations(heard, 2))
    return {"several sources" if meet else "forest", *cycle}


def _parents(graph: nx.DiGraph) -> int:
    return max(sum(kind == "download" for *_, kind in graph.in_edges(name, data="kind")) for name in graph)


def _delays(graph: nx.DiGraph) -> set[str]:
    if any("delay" in edge for *_, edge in graph.edges(data=True)):
        return {"delay per link"}
    if isinstance(graph.graph["delay"], int | float):
        return {"delay constant"} if graph.graph["delay"] else set()
    return {"delay law"}


def fixed_networks(number: int) -> list[rn.Network]:
    """Always the same: of some that a seed draws the one with the most pairs of features that were not there yet."""
    chosen, seen = [], set[tuple[str, str]]()
    for seed in range(number):
        drawn = [drawn_network(random.Random(f"{seed}/{candidate}").choice) for candidate in range(CANDIDATES)]
        best = max(drawn, key=lambda network: len(pairs(network) - seen))
        seen |= pairs(best)
        chosen.append(best)
    return chosen


CANDIDATES = 16


def pairs(network: rn.Network) -> set[tuple[str, str]]:
    return set(combinations(sorted(features(network)), 2))

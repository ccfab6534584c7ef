"""Poisson pulls on random graphs, in trees and composed networks, emulated beside their formulas, node by node.

FALSE_ALARM: a row fails if it is off by p < LEVEL in Student's law of its replications, what the formula states as its
accuracy taken off. There are some 4,000 rows, so correct code fails with probability 0.004, ten times that if the tails
of means of so few replications are. Of every network it is asserted that the interval of the median row is within
RESOLUTION, or 0.04 where every node is a row of its own and the sources change slowly.
"""

from __future__ import annotations

import random
import re

import networkx as nx
import pytest
from scipy.special import stdtr

import replnet as rn

pytestmark = pytest.mark.verification

GRAPHS, DOWNLOADED = 100, 60
LEVEL, RESOLUTION, ROUNDING = 1e-6, 0.015, 1e-9
ROUNDED = 0.0005  # by which a bound in a note is off at most
REPLICATIONS, LENGTH = 64, 60.0
LAWS = ["exponential(rate={})", "constant(rate={})", "pareto(alpha=3, rate={})", "uniform(low=0, high={})"]
KINDS = {
    "sparse": lambda n, seed: nx.gnp_random_graph(n, min(1.0, 2.5 / n), seed=seed),
    "dense": lambda n, seed: nx.gnp_random_graph(n, min(1.0, 8 / n), seed=seed),
    "hubs": lambda n, seed: nx.barabasi_albert_graph(n, min(3, n - 1), seed=seed),
    "ring": lambda n, seed: nx.watts_strogatz_graph(n, min(4, n - 1), 0.1, seed=seed),
    "tree": lambda n, seed: nx.random_labeled_tree(n, seed=seed),
}


def drawn(number: int) -> rn.Network:
    """Replicas, of which a share downloads, who poll their neighbours; at rates that are all different."""
    draw = random.Random(f"overlay/{number}")
    shape, size = KINDS[list(KINDS)[number % len(KINDS)]], draw.randint(4, 60)
    edges, several, share = shape(size, number), draw.random() < 0.25, draw.choice([0.1, 0.5, 1.0])
    graph = nx.DiGraph(delay=draw.choice([0.0, 0.0, 0.1, 0.5]))
    graph.add_node("source", role="source", updates="exponential(rate=1)")
    for i in edges:
        about = {"role": "replica", "group": f"node {i}"}
        if i == 0 or draw.random() < share:
            about["downloads"] = f"exponential(rate={draw.uniform(0.1, 1):.3f})"
            graph.add_edge("source", i, kind="download")
        if neighbours := edges.degree(i):
            peers = draw.randint(1, neighbours) if several else 1
            about |= {
                "polls": f"exponential(rate={draw.choice([0.5, 2, 8]) * draw.uniform(0.5, 1):.3f})",
                "peers": peers,
            }
        graph.add_node(i, **about)
    graph.add_edges_from((a, b, {"kind": "peer"}) for edge in edges.edges for a, b in (edge, edge[::-1]))
    if draw.random() < 0.5 and not graph.graph["delay"]:
        graph.add_node("client", role="client", queries="exponential(rate=3)", ask=2)
        graph.add_edges_from((i, "client", {"kind": "query"}) for i in edges)
    return rn.graph(graph)


def bounds_of(row) -> tuple[float, float] | None:
    """What a formula says that a row lies between, also where that is too wide to be a prediction."""
    if row.predicted is not None:
        return row.predicted - (row.accuracy or 0.0), row.predicted + (row.accuracy or 0.0)
    wide = re.search(r"only known to lie between (\S+) and ([\d.e-]+)", row.note)
    return (float(wide[1]) - ROUNDED, float(wide[2]) + ROUNDED) if wide else None


def check(network: rn.Network, seed: int, everywhere: bool = True, resolution: float = RESOLUTION) -> None:
    """That rows with a formula are within its bounds, and that there is one `everywhere`."""
    found = rn.emulate(
        network, estimator="conditional", seed=seed, horizon=REPLICATIONS * LENGTH, replications=REPLICATIONS,
        confirm=False,
    )  # fmt: skip
    wrong, widths = [], []
    for row, estimate in zip(found.rows, found.estimates, strict=True):
        if row.metric != "freshness" or row.measured is None or estimate.error < ROUNDING:
            continue
        bounds = bounds_of(row)
        assert bounds or not everywhere, row.note
        if not bounds:
            continue
        widths.append(row.ci_high - row.ci_low)
        low, high = bounds
        beyond = max(low - row.measured, row.measured - high, 0.0)
        if 2 * stdtr(REPLICATIONS - 1, -beyond / estimate.error) < LEVEL:
            wrong.append(f"{row.group}: {row.measured} not {row.kind} {low} to {high}")
    assert not wrong, "\n".join(wrong)
    assert not widths or sorted(widths)[len(widths) // 2] < 2 * resolution


@pytest.mark.parametrize("number", range(GRAPHS))
def test_random_graphs_are_within_their_bounds(number):
    check(drawn(number), number)


@pytest.mark.parametrize("number", range(DOWNLOADED))
def test_downloads_from_any_others_are_within_their_bounds(number):
    """From sources and replicas, all or one of them each time, round and round or from what nothing reaches."""
    draw = random.Random(f"downloads/{number}")
    replicas = [f"r{i}" for i in range(draw.randint(3, 7))]
    nodes = {name: {"updates": f"exponential(rate={draw.choice([0.5, 1, 2])})"} for name in ("a", "b")}
    links = []
    for name in replicas:
        above = draw.sample(
            [*nodes, *(other for other in replicas if other != name and other not in nodes)], draw.randint(1, 3)
        )
        nodes[name] = {"downloads": draw.choice([*["exponential(rate={})"] * 5, *LAWS]).format(draw.choice([1, 2, 4]))}
        nodes[name] |= {"group": name} | ({"ask": 1} if len(above) > 1 and draw.random() < 0.5 else {})
        links += [f"{one} -> {name}" for one in above]
    if draw.random() < 0.5:
        nodes["c"] = {"queries": "exponential(rate=3)", "ask": draw.randint(1, 3)}
        links += [f"{name} -> c" for name in replicas]
    check(rn.graph(nodes=nodes, links=links, delay=draw.choice([0.0, 0.02])), number, everywhere=False, resolution=0.04)


@pytest.mark.parametrize("number", range(20))
def test_clients_of_trees_and_tiers_of_any_laws(number):
    draw = random.Random(f"tiers/{number}")

    def law():
        return draw.choice(LAWS).format(draw.choice([0.5, 1, 2]))

    depth = draw.randint(2, 3)
    tiers = [
        {"kind": "cascade", "depth": depth, "branching": 2, "downloads": [law() for _ in range(depth)]},
        {"kind": "cooperative", "replicas": 3, "peers": draw.randint(1, 2), "downloads": law(),
         "polls": "exponential(rate=2)", "under": "each"},
    ]  # fmt: skip
    clients = {"ask": draw.randint(2, 4), "queries": "exponential(rate=3)"}
    check(rn.compose(updates="exponential(rate=1)", tiers=tiers[: draw.randint(1, 2)], clients=clients), number)

"""The graph of every kind of network: nodes, groups, links, pools."""

from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from error_tables import read_table
from hypothesis import given, settings
from networks import networks

from replnet.laws import Law
from replnet.network import Network, cascade, compose, cooperative, graph, load
from replnet.network.specification import KINDS, schema
from replnet.network.topology import Branched

LAW = "exponential(rate=2)"
ARROWS = {"download": "->", "peer": "--", "query": "=>"}


def groups(network: Network) -> dict[str, list[str]]:
    """Return the names of the nodes by group."""
    result: dict[str, list[str]] = {}
    for name, group in network.graph.nodes(data="group"):
        result.setdefault(group, []).append(name)
    return result


def links(network: Network) -> list[str]:
    """Return all links as texts: a -> b for a download by b, a -- b for a poll by b, a => b for a query by b."""
    return sorted(f"{a} {ARROWS[kind]} {b}" for a, b, kind in network.graph.edges(data="kind"))


TABLE = read_table(__file__, "graphs.yaml")


@pytest.mark.parametrize("case", TABLE.values(), ids=TABLE)
def test_graphs(case):
    network = Network.from_data(case["network"])
    assert groups(network) == case["groups"]
    assert links(network) == case["links"]
    assert network.graph.graph["pools"] == case.get("pools", {})
    for name, attributes in case.get("nodes", {}).items():
        node = network.graph.nodes[name]
        assert {key: str(value) if isinstance(value, Law) else value for key, value in node.items()} == attributes


def test_attributes_of_whole_graphs_and_of_links():
    about = Network.from_data(TABLE["single"]["network"]).graph.graph
    assert about == {
        "kind": "single", "name": "single", "delay": 0.0, "pools": {}, "queue": 1000, "charge": "issued", "faults": (),
    }  # fmt: skip
    network = Network.from_data(TABLE["a graph of all kinds of nodes and links"]["network"])
    assert network.graph.edges["b", "app"] == {"kind": "query", "delay": 0.5}
    assert network.name == network.graph.graph["name"] == "mixed"
    assert (network.sources, network.replicas, network.clients) == (["a"], [*"bcdefg"], ["app"])


@settings(max_examples=150, deadline=None)
@given(networks())
def test_any_network_has_a_sound_graph(network):
    drawn, pools = network.graph, network.graph.graph["pools"]
    assert not list(nx.selfloop_edges(drawn))
    assert network.describe().startswith(network.name)
    downloads = nx.edge_subgraph(
        drawn, [edge for edge in drawn.edges if drawn.edges[edge]["kind"] == "download"]
    ).copy()
    downloads.add_nodes_from(drawn)
    distance = nx.multi_source_dijkstra_path_length(downloads, {*network.sources})
    for name, node in drawn.nodes(data=True):
        upstreams = list(downloads.predecessors(name))
        needed = {"source": ["updates"], "replica": ["downloads"] if upstreams else [], "client": ["queries"]}
        assert all(isinstance(node[key], Law) for key in needed[node["role"]])
        if "pool" in node:
            others = [other for other in pools[node["pool"]] if other != name]
            assert node.get("peers", node.get("ask", 0)) <= len(others)  # whose `peers` are 0 polls nobody
            assert all(drawn.nodes[other]["role"] == "replica" for other in others)
        if network.kind != "graph" and node["role"] == "replica":
            assert len(upstreams) == 1
        if network.kind in ("cascade", "graph") and node["group"].startswith("level"):
            assert node["group"] == f"level {distance[name]}"


TREE = {"kind": "cascade", "depth": 2, "branching": 2, "downloads": LAW}
CLUSTER = {"kind": "cooperative", "replicas": 3, "downloads": LAW, "polls": LAW}


def test_any_built_graph_is_a_network_again():
    recent = {**CLUSTER, "select": "recent"}
    for network in (
        compose(updates=LAW, tiers=[TREE, CLUSTER], clients={"ask": 2, "queries": LAW}, delay=0.5, bandwidth=2),
        compose(updates=LAW, tiers=[TREE, {**recent, "under": "spread"}, recent]),
        cooperative(**recent, updates=LAW),
        load("graph"),
        load("overlay"),
    ):
        again = Network.from_graph(network.graph)
        assert dict(again.graph.nodes(data=True)) == dict(network.graph.nodes(data=True))
        assert sorted(again.graph.edges(data="delay")) == sorted(network.graph.edges(data="delay"))
        assert links(again) == links(network)
        assert {key: again.graph.graph[key] for key in ("pools", "delay")} == {
            key: network.graph.graph[key] for key in ("pools", "delay")
        }


def test_the_graph_is_built_once_and_only_when_asked_for():
    network = cascade(depth=2, updates=LAW, downloads=LAW)
    assert "topology" not in vars(network)
    assert network.graph is network.graph


def test_numpy_numbers_are_numbers():
    laws = {"updates": LAW, "downloads": LAW, "polls": LAW}
    assert cooperative(replicas=np.int64(3), peers=np.float64(2), **laws) == cooperative(replicas=3, peers=2, **laws)


def test_json_schema_describes_every_field():
    whole = schema()
    for name, model in whole["$defs"].items():
        for field, about in model["properties"].items():
            assert about.get("description"), (name, field)
    assert len(whole["oneOf"]) == len(KINDS)
    json.dumps(whole)


def test_names_of_trees_are_known_without_a_text_each():
    names = Branched("a/", (3, 3))
    assert [*names] == [names[i] for i in range(9)] == names[:]
    assert (names[0], names[5], names[-1], len(names)) == ("a/1.1", "a/2.3", "a/3.3", 9)
    assert len([*Branched("", (1,) * 1000)]) == 1
    with pytest.raises(IndexError):
        names[9]


# ---- Graphs of other programs


def test_a_graphml_of_peers_beside_a_specification(tmp_path):
    nx.write_graphml(nx.cycle_graph(5), tmp_path / "ring.graphml")
    (tmp_path / "net.yaml").write_text(
        "kind: graph\nfile: ring.graphml\ndownloads: exponential(rate=2)\npolls: exponential(rate=2)\npeers: 2\n"
        "nodes: {s: {updates: constant(rate=1)}, 3: {polls: constant(rate=9)}}\nlinks: [s -> *]\n"
    )
    network = load(tmp_path / "net.yaml")
    assert groups(network) == {"source": ["s"], "level 1": ["0", "1", "2", "3", "4"]}
    assert sum(" -- " in link for link in links(network)) == 10
    assert str(network.graph.nodes["3"]["polls"]) == "constant(rate=9)"
    assert "file" not in network.data()
    assert Network.from_data(network.data()) == network


def test_a_directed_graphml_with_attributes(tmp_path):
    tree = nx.DiGraph([("a", "b"), ("b", "c")])
    tree.nodes["a"]["updates"] = "constant(rate=3)"
    tree.nodes["c"]["label"] = "ignored"
    tree.edges["a", "b"]["delay"] = 0.25
    nx.write_graphml(tree, tmp_path / "tree.graphml")
    network = graph(file=str(tmp_path / "tree.graphml"), downloads=LAW)
    assert groups(network) == {"source": ["a"], "level 1": ["b"], "level 2": ["c"]}
    assert network.graph.edges["a", "b"] == {"kind": "download", "delay": 0.25}


def test_node_link_json_as_networkx_writes_it(tmp_path):
    drawn = nx.DiGraph([(1, 2), (1, 3)])
    for key in ("links", "edges"):
        (tmp_path / "graph.json").write_text(json.dumps(nx.node_link_data(drawn, edges=key)))
        assert graph(file=str(tmp_path / "graph.json"), updates=LAW, downloads=LAW) == graph(
            drawn, updates=LAW, downloads=LAW
        )


@pytest.fixture
def map_file(tmp_path):
    """A directed multigraph as other programs write maps: labels that repeat, parallel edges, one to itself."""
    drawn = nx.MultiDiGraph([(0, 1), (1, 2), (1, 2), (2, 1), (2, 2), (2, 3)])
    for key, label in enumerate(["Oslo", "New\n York", "hub", "hub"]):
        drawn.nodes[key].update(label=label, Longitude=10.0 * key, Latitude=60.0)
    nx.write_graphml(drawn, tmp_path / "map.graphml")
    return str(tmp_path / "map.graphml")


def test_a_file_is_told_what_its_edges_are(map_file):
    with pytest.raises(ValueError, match=r"links\[4\]: links 2 to itself"):
        graph(file=map_file, updates=LAW, downloads=LAW)
    network = graph(file=map_file, edges="downloads", updates=LAW, downloads=LAW)
    assert links(network) == ["0 -> 1", "1 -> 2", "2 -> 1", "2 -> 3"]
    polling = {"nodes": {"s": {"updates": LAW}}, "links": ["s -> 0"], "downloads": LAW, "polls": LAW}
    network = graph(file=map_file, edges="peers", **polling)
    assert links(network) == ["0 -- 1", "1 -- 0", "1 -- 2", "2 -- 1", "2 -- 3", "3 -- 2", "s -> 0"]
    assert Network.from_data(network.data()) == network == graph(nx.read_graphml(map_file), edges="peers", **polling)
    both_ways = graph(nx.path_graph(3), edges="downloads", downloads=LAW, nodes={0: {"updates": LAW}})
    assert links(both_ways) == ["0 -> 1", "1 -> 2", "2 -> 1"]


def test_nodes_of_a_file_are_named_by_an_attribute_where_it_is_theirs_alone(map_file):
    network = graph(file=map_file, edges="downloads", names="label", updates=LAW, downloads=LAW)
    assert list(network.graph) == ["Oslo", "New York", "2", "3"]
    assert "Oslo -> New York" in links(network)
    ids = nx.DiGraph([(0, 1)])
    ids.nodes[0]["label"] = "1"  # would be taken for the other
    assert list(graph(ids, names="label", updates=LAW, downloads=LAW).graph) == ["0", "1"]
    with pytest.raises(ValueError, match=r"names: .* has no node with an attribute labl \(did you mean label"):
        graph(file=map_file, names="labl")


def test_positions_of_files_are_kept(map_file):
    network = graph(file=map_file, edges="downloads", updates=LAW, downloads=LAW)
    x, y = network.spec.nodes["1"].position
    assert (x, y) == (10.0, pytest.approx(75.456, abs=1e-3))  # asinh(tan(60 degrees)), as on Mercator's map
    positions = {
        "a": ({"x": "1.5", "y": 2}, (1.5, 2)),
        "b": ({"pos": (1, 2)}, (1, 2)),
        "c": ({"pos": "1,2!"}, (1, 2)),
        "d": ({"x": 1, "y": "far"}, None),
        "e": ({"x": 1, "y": 2, "shape_type": "ellipse"}, (1, -2)),
        "f": ({"viz": {"position": {"x": 3, "y": 4, "z": 0}}}, (3, 4)),
        "g": ({}, None),
    }
    drawn = nx.DiGraph(zip("abcdef", "bcdefg", strict=True))
    for name, (attributes, _) in positions.items():
        drawn.nodes[name].update(attributes)
    network = graph(drawn, updates=LAW, downloads=LAW)
    for each in (network, graph(network.graph)):  # and from graph to graph
        assert {name: node.position for name, node in each.spec.nodes.items()} == {
            name: position for name, (_, position) in positions.items()
        }


def test_networkx_graphs_with_laws_ready_made():
    drawn = nx.DiGraph()
    drawn.add_node(0, updates=graph(nx.DiGraph([(0, 1)]), updates=LAW, downloads=LAW).spec.updates)
    drawn.add_node(1, downloads="constant(rate=1)")
    drawn.add_edge(0, 1)
    assert Network.from_graph(drawn) == graph(drawn)
    assert str(graph(drawn).graph.nodes["0"]["updates"]) == LAW


@pytest.mark.parametrize(
    ("about", "group"),
    [
        ({"select": "random"}, "by polls"),
        ({"select": "recent"}, "unreached"),  # its contacts share its upstream, which has no copies
        ({"select": "random", "pool": "others"}, "unreached"),
        ({"polls": None, "pool": None}, "unreached"),
        ({"polls": None, "pool": None, "two_way": True}, "by polls"),  # it is handed what a pollster has
    ],
)
def test_replicas_that_data_reaches_by_polls_alone(about, group):
    law, two_way = "exponential(rate=1)", about.get("two_way", False)
    b = {"downloads": law, "polls": law, "pool": "all", **{key: about[key] for key in about if key != "two_way"}}
    nodes = {
        "s": {"updates": law}, "a": {"downloads": law, "polls": law, "pool": "all", "two_way": two_way},
        "up": {"role": "replica"}, "b": {key: value for key, value in b.items() if value is not None},
    }  # fmt: skip
    pools = {"all": ["a", "b"], "others": ["up", "b"]}
    topology = graph(nodes=nodes, links=["s -> a", "up -> b"], pools=pools).topology
    groups = {name: topology.groups[topology.group[i]] for name, i in topology.number.items() if name != "s"}
    assert groups == {"a": "level 1", "up": "unreached", "b": group}

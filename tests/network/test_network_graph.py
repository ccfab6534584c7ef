"""The graph of every kind: nodes, groups, edges, pools."""

from __future__ import annotations

import json
import time

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.laws import Constant, Exponential, Law, Pareto
from replnet.network import InputError, Network, cascade, compose, cooperative, graph, load, redundant, single
from replnet.network.specification import KINDS, schema
from replnet.network.topology import Branched

LAW = "exponential(rate=2)"
TWO = Exponential(rate=2)


def groups(network: Network) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, group in network.graph.nodes(data="group"):
        found.setdefault(group, []).append(name)
    return found


def edges(network: Network) -> list[tuple[str, str, str]]:
    return sorted(network.graph.edges(data="kind"))


def test_single():
    net = single(updates="pareto(alpha=3, rate=2)", downloads=LAW, bandwidth=10)
    assert dict(net.graph.nodes(data=True)) == {
        "source": {"role": "source", "group": "source", "updates": Pareto(3, rate=2), "bandwidth": 10.0},
        "replica 1": {"role": "replica", "group": "level 1", "downloads": TWO, "bandwidth": 10.0},
    }
    assert edges(net) == [("source", "replica 1", "download")]
    assert net.graph.graph == {
        "kind": "single", "name": "single", "delay": 0.0, "pools": {}, "queue": 1000, "charge": "issued", "faults": (),
    }  # fmt: skip


def test_cascade():
    net = cascade(
        depth=2, branching=2, updates=LAW, downloads=[LAW, "constant(period=1)"], delay="constant(period=0.1)"
    )
    assert groups(net) == {
        "source": ["source"],
        "level 1": ["1", "2"],
        "level 2": ["1.1", "1.2", "2.1", "2.2"],
    }
    assert edges(net) == sorted(
        [("source", "1", "download"), ("source", "2", "download")]
        + [(parent, f"{parent}.{i}", "download") for parent in "12" for i in (1, 2)]
    )
    assert [net.graph.nodes[name]["downloads"] for name in ("1", "2.2")] == [TWO, Constant(period=1)]
    assert net.graph.graph["delay"] == Constant(period=0.1)


def test_cascade_of_the_benchmark():
    net = cascade(depth=4, branching=3, updates=LAW, downloads=LAW)
    assert {group: len(names) for group, names in groups(net).items()} == {
        "source": 1,
        "level 1": 3,
        "level 2": 9,
        "level 3": 27,
        "level 4": 81,
    }


def test_cooperative():
    net = cooperative(replicas=3, peers=2, select="recent", updates=LAW, downloads=LAW, polls="exponential(rate=4)")
    names = ["replica 1", "replica 2", "replica 3"]
    assert net.graph.graph["pools"] == {"cluster": names}
    assert net.graph.nodes["replica 2"] == {
        "role": "replica",
        "group": "cluster",
        "downloads": TWO,
        "polls": Exponential(rate=4),
        "peers": 2,
        "select": "recent",
        "pool": "cluster",
    }
    assert edges(net) == [("source", name, "download") for name in names]
    assert (net.sources, net.replicas, net.clients) == (["source"], names, [])


def test_redundant():
    net = redundant(replicas=3, ask=2, clients=2, updates=LAW, downloads=LAW, queries="constant(rate=1)")
    names = ["replica 1", "replica 2", "replica 3"]
    client = {"role": "client", "group": "clients", "queries": Constant(rate=1), "ask": 2, "pool": "level 1"}
    assert groups(net) == {"source": ["source"], "level 1": names, "clients": ["client 1", "client 2"]}
    assert net.graph.nodes["client 2"] == client
    assert net.graph.graph["pools"] == {"level 1": names}


def test_clients_of_a_level():
    net = cascade(depth=2, branching=2, updates=LAW, downloads=LAW, clients={"level": 1, "ask": 2, "queries": LAW})
    assert net.graph.graph["pools"] == {"level 1": ["1", "2"]}
    net = cascade(depth=2, branching=2, updates=LAW, downloads=LAW, clients={"ask": 4, "queries": LAW})
    assert net.graph.graph["pools"] == {"level 2": ["1.1", "1.2", "2.1", "2.2"]}


TREE = {"kind": "cascade", "depth": 2, "branching": 2, "downloads": LAW}
CLUSTER = {"kind": "cooperative", "replicas": 3, "downloads": LAW, "polls": LAW}


def test_compose_each():
    net = compose(updates=LAW, tiers=[TREE, CLUSTER], clients={"ask": 12, "queries": LAW})
    assert list(groups(net)) == ["source", "tier 1 level 1", "tier 1 level 2", "tier 2", "clients"]
    leaves = groups(net)["tier 1 level 2"]
    assert leaves == ["1/1.1", "1/1.2", "1/2.1", "1/2.2"]
    below = {leaf: list(net.graph.adj[leaf]) for leaf in leaves}
    assert below == {leaf: [f"2/{i}/{j}" for j in (1, 2, 3)] for i, leaf in enumerate(leaves, 1)}
    assert net.graph.graph["pools"]["cluster 2/3"] == ["2/3/1", "2/3/2", "2/3/3"]
    assert net.graph.nodes["2/3/1"]["pool"] == "cluster 2/3"
    assert net.graph.graph["pools"]["tier 2"] == groups(net)["tier 2"]


def test_compose_spread():
    net = compose(updates=LAW, tiers=[TREE, {**CLUSTER, "replicas": 6, "under": "spread"}])
    assert groups(net)["tier 2"] == [f"2/{i}" for i in range(1, 7)]
    parents = [next(iter(net.graph.pred[f"2/{i}"])) for i in range(1, 7)]
    assert parents == ["1/1.1", "1/1.2", "1/2.1", "1/2.2", "1/1.1", "1/1.2"]
    assert net.graph.graph["pools"] == {"cluster 2": groups(net)["tier 2"]}


def test_compose_of_single_replicas_and_clients_of_an_upper_tier():
    one = {"kind": "single", "downloads": LAW, "bandwidth": 3}
    net = compose(updates=LAW, tiers=[CLUSTER, one], clients={"tier": 1, "ask": 2, "queries": LAW}, bandwidth=5)
    assert groups(net)["tier 2"] == ["2/1/1", "2/2/1", "2/3/1"]
    assert net.graph.graph["pools"]["tier 1"] == ["1/1", "1/2", "1/3"]
    assert net.graph.nodes["2/1/1"]["bandwidth"] == 3
    assert net.graph.nodes["1/1"]["bandwidth"] == net.graph.nodes["source"]["bandwidth"] == 5


def test_graph_roles_groups_and_defaults():
    net = graph(
        nodes={
            "a": {"updates": LAW},
            "b": None,
            "c": {"downloads": "constant(period=1)", "ask": 1},
            "d": None,
            "e": None,
            "f": {"group": "lost"},
            "g": {"downloads": LAW},
            "app": None,
        },
        links=[
            "a -> b",
            "b -> c",
            "a->c",
            "c -> b",
            "c -- d",
            "d -> e",
            {"from": "b", "to": "app", "kind": "query", "delay": 0.5},
        ],
        downloads=LAW,
        polls="exponential(rate=4)",
        queries=LAW,
        peers=3,
        name="mixed",
    )
    assert groups(net) == {
        "source": ["a"],
        "level 1": ["b", "c"],
        "by polls": ["d", "e"],
        "lost": ["f"],
        "unreached": ["g"],
        "clients": ["app"],
    }
    nodes = net.graph.nodes
    assert (nodes["b"]["downloads"], nodes["c"]["downloads"], nodes["c"]["ask"]) == (TWO, Constant(period=1), 1)
    # A default k is at most the number of peers there are.
    assert (nodes["c"]["peers"], nodes["d"]["peers"], nodes["d"]["select"]) == (1, 1, "random")
    assert "downloads" not in nodes["d"]
    assert nodes["app"] == {"role": "client", "group": "clients", "queries": TWO, "ask": 1}
    assert net.graph.edges["b", "app"] == {"kind": "query", "delay": 0.5}
    assert net.name == net.graph.graph["name"] == "mixed"


def test_tops_of_a_graph_are_sources_by_default():
    net = graph(nodes={"a": {}, "b": {}, "c": {}}, links=["a -> c", "b -> c"], updates=LAW, downloads=LAW)
    assert groups(net) == {"source": ["a", "b"], "level 1": ["c"]}


def test_every_replica_in_one_link_and_pools():
    nodes = {
        "s": {"updates": LAW},
        **{f"r{i}": {"pool": "p"} for i in range(3)},
        "app": {"queries": LAW, "pool": "p", "ask": 3},
    }
    net = graph(nodes=nodes, links=["s -> *"], downloads=LAW, polls=LAW, peers=2)
    assert net.graph.graph["pools"] == {"p": ["r0", "r1", "r2"]}
    assert edges(net) == [("s", f"r{i}", "download") for i in range(3)]
    assert [net.graph.nodes[f"r{i}"]["peers"] for i in range(3)] == [2, 2, 2]


def test_a_plain_graphml_of_peers(tmp_path):
    ring = nx.cycle_graph(5)
    nx.write_graphml(ring, tmp_path / "ring.graphml")
    (tmp_path / "net.yaml").write_text(
        "kind: graph\nfile: ring.graphml\ndownloads: exponential(rate=2)\npolls: exponential(rate=2)\npeers: 2\n"
        "nodes: {s: {updates: constant(rate=1)}, 3: {polls: constant(rate=9)}}\nlinks: [s -> *]\n"
    )
    net = load(tmp_path / "net.yaml")
    assert groups(net) == {"source": ["s"], "level 1": ["0", "1", "2", "3", "4"]}
    assert sum(kind == "peer" for *_, kind in edges(net)) == 10
    assert net.graph.nodes["3"]["polls"] == Constant(rate=9)
    assert "file" not in net.data()
    assert Network.from_data(net.data()) == net


def test_a_directed_graphml_with_attributes(tmp_path):
    tree = nx.DiGraph([("a", "b"), ("b", "c")])
    tree.nodes["a"]["updates"] = "constant(rate=3)"
    tree.nodes["c"]["label"] = "ignored"
    tree.edges["a", "b"]["delay"] = 0.25
    nx.write_graphml(tree, tmp_path / "tree.graphml")
    net = graph(file=str(tmp_path / "tree.graphml"), downloads=LAW)
    assert groups(net) == {"source": ["a"], "level 1": ["b"], "level 2": ["c"]}
    assert net.graph.edges["a", "b"] == {"kind": "download", "delay": 0.25}


def test_node_link_json_as_networkx_writes_it(tmp_path):
    both = {}
    for key in ("links", "edges"):
        data = nx.node_link_data(nx.DiGraph([(1, 2), (1, 3)]), edges=key)
        (tmp_path / f"{key}.json").write_text(json.dumps(data))
        both[key] = graph(file=str(tmp_path / f"{key}.json"), updates=LAW, downloads=LAW)
    assert both["links"] == both["edges"]
    assert groups(both["links"]) == {"source": ["1"], "level 1": ["2", "3"]}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.graphml", "<graphml><graph></graphml>", r"x.graphml:1:19: file: is not XML: mismatched tag"),
        ("x.graphml", "<!DOCTYPE a [<!ENTITY b 'c'>]><graphml/>", "declares XML entities"),
        ("x.graphml", "<html></html>", "is not GraphML"),
        ("x.graphml", "", "net.yaml:2:7: file: .*x.graphml is empty"),
        ("x.json", '{"nodes": [', "x.json:1:12: file: is not JSON"),
        ("x.json", "[" * 100_000, "is not JSON"),
        ("x.json", "[]", "has no list of nodes"),
        ("x.json", '{"nodes": [{"name": 1}], "links": [{"source": 1}]}', r"nodes\[1\].id: missing"),
        ("x.json", '{"nodes": [{"id": 1}, {"id": 1}]}', "nodes.1: is given twice"),
        ("x.json", '{"nodes": [{"id": NaN}, {"id": 1}]}', r"x.json: nodes: nan is not a name \(a text, or a number\)"),
        ("x.json", '{"nodes": [{"id": 1e999}, {"id": 1}]}', "x.json: nodes: inf is not a name"),
        ("x.json", '{"nodes": [{"id": true}, {"id": 1}]}', "x.json: nodes: True is not a name"),
        ("x.json", '{"nodes": [{"id": "\\ud800"}]}', "is not JSON: .*surrogates not allowed"),
        ("x.json", '{"nodes": [{"id": 1, "updtes": "x"}]}', "nodes.1.updtes: unknown field 'updtes'"),
        ("x.json", '{"nodes": [{"id": 1, "updates": "expo(rate=1)"}]}', "x.json: nodes.1.updates: unknown family"),
        ("x.json", '{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 2}]}', "x.json: links.1.: there is no"),
    ],
)
def test_graph_files_that_are_wrong(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    (tmp_path / "net.yaml").write_text(f"kind: graph\nfile: {name}\nupdates: {LAW}\n")
    with pytest.raises(InputError, match=message):
        load(tmp_path / "net.yaml")


def test_a_missing_graph_file_is_a_problem_of_its_field(tmp_path):
    (tmp_path / "net.yaml").write_text("kind: graph\nfile: none.graphml\n")
    with pytest.raises(InputError) as caught:
        load(tmp_path / "net.yaml")
    assert str(caught.value).endswith(
        "none.graphml does not exist (the path of a file)\n    file: none.graphml\n          ^"
    )
    assert "net.yaml:2:7: file: " in str(caught.value)


def test_problems_of_the_specification_keep_their_lines_beside_a_file(tmp_path):
    nx.write_graphml(nx.path_graph(2), tmp_path / "x.graphml")
    text = "kind: graph\nfile: x.graphml\nnodes:\n  s: {updates: constant(rate=1)}\nlinks:\n  - s -> 7\n"
    (tmp_path / "net.yaml").write_text(text)
    with pytest.raises(InputError, match=r"net.yaml:6:5: links\[1\]: there is no node 7"):
        load(tmp_path / "net.yaml")


@pytest.fixture
def map_file(tmp_path):
    """A directed multigraph as other programs write maps: labels that repeat, parallel edges, one to itself."""
    drawn = nx.MultiDiGraph([(0, 1), (1, 2), (1, 2), (2, 1), (2, 2), (2, 3)])
    for key, label in enumerate(["Oslo", "New\n York", "hub", "hub"]):
        drawn.nodes[key].update(label=label, Longitude=10.0 * key, Latitude=60.0)
    nx.write_graphml(drawn, tmp_path / "map.graphml")
    return tmp_path / "map.graphml"


def test_a_file_is_told_what_its_edges_are(map_file):
    with pytest.raises(InputError, match=r"links\[4\]: links 2 to itself"):
        graph(file=str(map_file), updates=LAW, downloads=LAW)
    net = graph(file=str(map_file), edges="downloads", updates=LAW, downloads=LAW)
    assert edges(net) == [
        ("0", "1", "download"),
        ("1", "2", "download"),
        ("2", "1", "download"),
        ("2", "3", "download"),
    ]
    polling = {"nodes": {"s": {"updates": LAW}}, "links": ["s -> 0"], "downloads": LAW, "polls": LAW}
    net = graph(file=str(map_file), edges="peers", **polling)
    pairs = [(a, b) for a, b, kind in edges(net) if kind == "peer"]
    assert sorted(pairs) == [("0", "1"), ("1", "0"), ("1", "2"), ("2", "1"), ("2", "3"), ("3", "2")]
    assert Network.from_data(net.data()) == net
    assert edges(graph(nx.read_graphml(map_file), edges="peers", **polling)) == edges(net)


def test_undirected_edges_may_be_downloads_both_ways():
    net = graph(nx.path_graph(3), edges="downloads", downloads=LAW, nodes={0: {"updates": LAW}})
    assert edges(net) == [("0", "1", "download"), ("1", "2", "download"), ("2", "1", "download")]


def test_nodes_of_a_file_are_named_by_an_attribute_where_it_is_theirs_alone(map_file):
    net = graph(file=str(map_file), edges="downloads", names="label", updates=LAW, downloads=LAW)
    assert list(net.graph) == ["Oslo", "New York", "2", "3"]
    assert ("Oslo", "New York", "download") in edges(net)
    ids = nx.DiGraph([(0, 1)])
    ids.nodes[0]["label"] = "1"  # would be taken for the other
    assert list(graph(ids, names="label", updates=LAW, downloads=LAW).graph) == ["0", "1"]


def test_positions_of_files_are_kept(map_file):
    net = graph(file=str(map_file), edges="downloads", updates=LAW, downloads=LAW)
    x, y = net.spec.nodes["1"].position
    assert (x, y) == (10.0, pytest.approx(75.456, abs=1e-3))  # asinh(tan(60 degrees)), as on Mercator's map
    drawn = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("f", "g")])
    drawn.nodes["a"].update(x="1.5", y=2)
    drawn.nodes["b"].update(pos=(1, 2))
    drawn.nodes["c"].update(pos="1,2!")
    drawn.nodes["d"].update(x=1, y="far")
    drawn.nodes["e"].update(x=1, y=2, shape_type="ellipse")
    drawn.nodes["f"].update(viz={"position": {"x": 3, "y": 4, "z": 0}})
    net = graph(drawn, updates=LAW, downloads=LAW)
    found = {name: node.position for name, node in net.spec.nodes.items()}
    assert found == {"a": (1.5, 2), "b": (1, 2), "c": (1, 2), "d": None, "e": (1, -2), "f": (3, 4), "g": None}
    again = graph(net.graph)  # and from graph to graph
    assert {name: node.position for name, node in again.spec.nodes.items()} == found


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"edges": "peers"}, "edges: describes a file, and none is given"),
        ({"names": "label"}, "names: describes a file, and none is given"),
        ({"polls": LAW}, r"polls: ends up at no node \(.*edges: peers"),
        ({"queries": LAW}, "queries: ends up at no node"),
        ({"updates": LAW}, "updates: ends up at no node"),
        ({"nodes": {"s": {"updates": LAW, "position": [1]}}}, r"nodes.s.position: \[1\] is no position"),
        ({"nodes": {"s": {"updates": LAW, "position": [1, "nan"]}}}, "is no position"),
    ],
)
def test_what_would_be_without_effect_is_an_error(fields, message):
    net = {"nodes": {"s": {"updates": LAW}, "a": {}}, "links": ["s -> a"], "downloads": LAW}
    with pytest.raises(InputError, match=message):
        graph(**net | fields)


def test_a_default_that_every_node_overrides_ends_up_at_no_node():
    with pytest.raises(InputError, match="downloads: ends up at no node"):
        graph(nodes={"s": {"updates": LAW}, "a": {"downloads": LAW}}, links=["s -> a"], downloads=LAW)


def test_what_a_file_is_told_is_checked(map_file):
    with pytest.raises(InputError, match=r"names: .* has no node with an attribute labl \(did you mean label"):
        graph(file=str(map_file), names="labl")
    with pytest.raises(InputError, match="edges: "):
        graph(file=str(map_file), edges="lines")
    for wrong in ({"edges": "lines"}, {"nodes": ["s"]}, {"links": "a -> b"}):
        with pytest.raises(InputError, match=f"{next(iter(wrong))}: "):
            graph(nx.path_graph(2), **wrong)


def test_networkx_graphs_with_laws_ready_made():
    mine = nx.DiGraph()
    mine.add_node(0, updates=TWO)
    mine.add_node(1, downloads="constant(rate=1)")
    mine.add_edge(0, 1)
    net = Network.from_graph(mine)
    assert net == graph(mine)
    assert edges(net) == [("0", "1", "download")]
    with pytest.raises(InputError, match=r"links\[2\]: links 1 to itself"):
        graph(nx.DiGraph([(0, 1), (1, 1)]), updates=LAW, downloads=LAW)


def test_any_built_graph_is_a_network_again():
    for net in (
        compose(updates=LAW, tiers=[TREE, CLUSTER], clients={"ask": 2, "queries": LAW}, delay=0.5, bandwidth=2),
        redundant(replicas=3, ask=2, updates=LAW, downloads=LAW, queries=LAW),
        load("graph"),
        load("overlay"),
    ):
        again = Network.from_graph(net.graph)
        assert dict(again.graph.nodes(data=True)) == dict(net.graph.nodes(data=True))
        assert sorted(again.graph.edges(data="delay")) == sorted(net.graph.edges(data="delay"))
        assert edges(again) == edges(net)
        assert again.graph.graph["pools"] == net.graph.graph["pools"]
        assert again.graph.graph["delay"] == net.graph.graph["delay"]


def test_a_hundred_thousand_replicas_are_quick():
    start = time.process_time()
    net = cooperative(replicas=100_000, updates=LAW, downloads=LAW, polls=LAW)
    assert net.graph.number_of_nodes() == 100_001
    assert time.process_time() - start < 1


def test_the_graph_is_built_once_and_only_when_asked_for():
    net = cascade(depth=2, updates=LAW, downloads=LAW)
    assert "graph" not in vars(net)
    assert net.graph is net.graph


def test_numpy_numbers_are_numbers():
    import numpy as np

    net = cooperative(replicas=np.int64(3), peers=np.float64(2), updates=LAW, downloads=LAW, polls=LAW)
    assert net == cooperative(replicas=3, peers=2, updates=LAW, downloads=LAW, polls=LAW)


def test_json_schema_describes_every_field():
    found = schema()
    for name, model in found["$defs"].items():
        for field, about in model["properties"].items():
            assert about.get("description"), (name, field)
    assert len(found["oneOf"]) == len(KINDS)
    json.dumps(found)


laws = st.sampled_from(["exponential(rate=1)", "constant(period=0.5)", "pareto(alpha=3, rate=2)"])
common = {"updates": laws, "downloads": laws}
tier = st.one_of(
    st.fixed_dictionaries({"kind": st.just("single"), "downloads": laws}),
    st.fixed_dictionaries(
        {"kind": st.just("cascade"), "depth": st.integers(1, 2), "branching": st.integers(1, 3), "downloads": laws}
    ),
    st.fixed_dictionaries(
        {"kind": st.just("cooperative"), "replicas": st.integers(2, 4), "downloads": laws, "polls": laws}
    ),
).flatmap(lambda one: st.sampled_from([{**one, "under": under} for under in ("each", "spread")]))


@st.composite
def graphs(draw) -> dict:
    names = [f"n{i}" for i in range(draw(st.integers(2, 7)))]
    pairs = [(a, b) for a in names for b in names[1:] if a != b]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12))
    return {
        "kind": "graph",
        "nodes": {name: {"updates": draw(laws)} if i == 0 else {} for i, name in enumerate(names)},
        "links": [f"{a} -> {b}" for a, b in chosen],
        **({"downloads": draw(laws)} if chosen else {}),
    }


specs = st.one_of(
    st.fixed_dictionaries({"kind": st.just("single"), **common}),
    st.fixed_dictionaries(
        {"kind": st.just("cascade"), "depth": st.integers(1, 4), "branching": st.integers(1, 3), **common}
    ),
    st.fixed_dictionaries({"kind": st.just("cooperative"), "replicas": st.integers(2, 9), "polls": laws, **common}),
    st.fixed_dictionaries(
        {
            "kind": st.just("redundant"),
            "replicas": st.integers(4, 9),
            "ask": st.integers(1, 4),
            "queries": laws,
            **common,
        }
    ),
    st.fixed_dictionaries(
        {"kind": st.just("compose"), "updates": laws, "tiers": st.lists(tier, min_size=1, max_size=3)}
    ),
    graphs(),
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(specs)
def test_any_specification_builds_a_sound_graph(data):
    net = Network.from_data(data)
    assert Network.from_data(net.data()) == net
    found, pools = net.graph, net.graph.graph["pools"]
    assert not list(nx.selfloop_edges(found))
    assert net.describe().startswith(net.name)
    for name, node in found.nodes(data=True):
        upstreams = [other for other, edge in found.pred[name].items() if edge["kind"] == "download"]
        needed = {"source": ["updates"], "replica": ["downloads"] if upstreams else [], "client": ["queries"]}
        assert all(isinstance(node[key], Law) for key in needed[node["role"]])
        assert isinstance(node["group"], str)
        if "pool" in node:
            others = [other for other in pools[node["pool"]] if other != name]
            assert node.get("peers", node.get("ask")) <= len(others)
            assert all(found.nodes[other]["role"] == "replica" for other in others)
        if data["kind"] != "graph" and node["role"] == "replica":
            assert len(upstreams) == 1
    # Levels are distances from the source.
    distance = nx.single_source_shortest_path_length(found, net.sources[0])
    for name, group in found.nodes(data="group"):
        if data["kind"] in ("cascade", "graph") and group.startswith("level"):
            assert group == f"level {distance[name]}"


def test_names_of_trees_are_known_without_a_text_each():
    names = Branched("a/", 3, 2)
    assert [*names] == [names[i] for i in range(9)] == names[:]
    assert (names[0], names[5], names[-1], len(names)) == ("a/1.1", "a/2.3", "a/3.3", 9)
    assert len([*Branched("", 1, 1000)]) == 1
    with pytest.raises(IndexError):
        names[9]


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

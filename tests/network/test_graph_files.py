"""Files of graphs as people have them, given as the network itself: GML, lists of edges, and all that can be wrong."""

from __future__ import annotations

import re
from pathlib import Path

import networkx as nx
import pytest
from command_line import replnet
from error_tables import by_message, message_of, read_table

from replnet.laws import Law
from replnet.network import Network, graph, load

ARROWS = {"download": "->", "peer": "--", "query": "=>"}
TABLE = read_table(__file__, "graph_files.yaml")


def read(case):
    """Return the network of a case: its file, with the overrides of all cases and its own."""
    Path(case["file"]).write_bytes(case["text"].encode())
    return load(case["file"], [*TABLE["overrides"], *case.get("overrides", ())])


@pytest.mark.parametrize("case", TABLE["right"], ids=lambda case: case["file"])
def test_right_files(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    network = read(case)
    edges = {f"{a} {ARROWS[about['kind']]} {b}": about for a, b, about in network.graph.edges(data=True)}
    assert sorted(edges) == case["links"]
    delays = {name: about["delay"] for name, about in edges.items() if "delay" in about}
    assert {name: str(delay) if isinstance(delay, Law) else delay for name, delay in delays.items()} == case.get(
        "delays", {}
    )
    assert network.name == Path(case["file"]).stem
    assert Network.from_data(network.data()) == network


@pytest.mark.parametrize("case", by_message(TABLE["wrong"]))
def test_wrong_files(case, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message_of(read, case) == case["message"]


def test_a_graph_is_the_same_in_every_format_of_networkx(tmp_path):
    tree = nx.gn_graph(40, seed=1).reverse()
    for writer, ending in ((nx.write_gml, "gml"), (nx.write_edgelist, "edgelist"), (nx.write_graphml, "graphml")):
        writer(tree, tmp_path / f"tree.{ending}")
    files = [
        graph(file=str(path), updates="constant(rate=1)", downloads="constant(rate=2)") for path in tmp_path.iterdir()
    ]
    edges = sorted((str(a), str(b)) for a, b in tree.edges)
    assert [sorted(network.graph.edges) for network in files] == [edges] * 3


def test_labels_that_are_numbers_of_other_nodes(tmp_path):
    """NetworkX counts ids from 0, and writes the nodes 1, 2, 3 as labels."""
    nx.write_gml(nx.path_graph([1, 2, 3], create_using=nx.DiGraph), tmp_path / "path.gml")
    assert load(tmp_path / "path.gml", TABLE["overrides"]).replicas == ["2", "3"]


def test_places_of_nodes_in_gml(tmp_path):
    text = "graph [ directed 1 node [ id 1 graphics [ x 1.5 y -2 ] ] node [ id 2 x 3 y 4 ] edge [ source 1 target 2 ] ]"
    (tmp_path / "map.gml").write_text(text)
    network = load(tmp_path / "map.gml", TABLE["overrides"])
    assert network.topology.about["positions"] == {"1": (1.5, -2.0), "2": (3.0, 4.0)}


def test_commands_take_a_graph_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tree.csv").write_text("source,target\ns,a\na,b\n")
    laws = [word for override in TABLE["overrides"] for word in ("-s", override)]
    predicted = replnet("predict", "tree.csv", *laws, "--format", "csv")
    assert predicted.stdout.splitlines()[1].startswith("level 1,freshness,0.66")
    Path("experiment.yaml").write_text("title: t\nnetwork: tree.csv\nvary: {downloads.rate: [1, 2]}\n")
    planned = replnet("sweep", "experiment.yaml", *laws, "--dry-run")
    assert "cells: 2\n" in planned.stdout


def test_many_nodes_without_downloads_are_counted_and_edges_that_look_undirected_are_named(tmp_path):
    overlay, tree = nx.random_regular_graph(4, 100, seed=1), nx.full_rary_tree(2, 100)
    nx.write_edgelist(overlay, tmp_path / "overlay.edgelist", data=False)
    nx.write_gml(nx.DiGraph(overlay), tmp_path / "overlay.gml")
    nx.write_edgelist(tree, tmp_path / "tree.edgelist", data=False)
    source = ["nodes={s: {updates: constant(rate=1)}}", "links=[s -> 0]"]
    right = "downloads: a law, at each of them or as a default of the network"
    hint = "; or edges: peers, if the nodes of the file poll one another"
    below = {"0"} | {line.split()[1] for line in (tmp_path / "overlay.edgelist").read_text().splitlines()}
    for file, count, remedy in (
        ("overlay.gml", 100, right + hint),
        ("overlay.edgelist", len(below), right + hint),
        ("tree.edgelist", 100, right),
    ):
        (problem,) = message_of(load, tmp_path / file, source).splitlines()
        words = rf"downloads: missing for {count} nodes: (\w+, ){{4}}\w+ and {count - 5} more \({re.escape(remedy)}\)"
        assert re.search(rf": {words}$", problem), problem
    assert (
        load(tmp_path / "overlay.gml", [*source, "edges=peers", *TABLE["overrides"][1:], "polls=constant(rate=1)"]).size
        == 101
    )


def test_a_long_list_of_edges_that_is_wrong_is_not_read_to_its_end(tmp_path):
    (tmp_path / "visits.csv").write_text("a,b,c\n" * 5000)
    assert message_of(load, tmp_path / "visits.csv").endswith("\n... and at least 950 more")

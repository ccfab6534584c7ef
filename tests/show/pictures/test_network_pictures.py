"""Networks as text and as pictures."""

from __future__ import annotations

import math
import re
from textwrap import dedent
from xml.etree.ElementTree import fromstring

import networkx as nx
import pytest

from replnet import InputError
from replnet.network import (
    Network,
    aggregate,
    cascade,
    compose,
    cooperative,
    graph,
    load,
    redundant,
    shipped_names,
)  # fmt: skip
from replnet.show.pictures import draw, layout, sketch, svg
from replnet.show.pictures.structure import MOST_PAIRED, spread

LAW = "exponential(rate=2)"


def test_a_large_tree_shows_its_first_branch():
    assert sketch(cascade(depth=3, branching=30, updates="constant(rate=1)", downloads=LAW).graph) == dedent("""\
        source  updates constant(rate=1)
        ├─ 1  downloads exponential(rate=2)
        │  ├─ 1.1
        │  │  ├─ 1.1.1
        │  │  ├─ 1.1.2
        │  │  ├─ 1.1.3
        │  │  ├─ 1.1.4
        │  │  ├─ 1.1.5
        │  │  └─ ... 25 more
        │  ├─ 1.2  (30 below)
        │  ├─ 1.3  (30 below)
        │  ├─ 1.4  (30 below)
        │  ├─ 1.5  (30 below)
        │  └─ ... 25 more
        ├─ 2  (930 below)
        ├─ 3  (930 below)
        ├─ 4  (930 below)
        ├─ 5  (930 below)
        └─ ... 25 more""")


def test_clusters_clients_and_nodes_without_a_source():
    nodes = {"s": {"updates": LAW}, "t": {"updates": LAW}, "a": {}, "b": {}, "lost": {}, "app": {"queries": LAW}}
    links = ["s -> a", "t -> a", "a -- b", "b -> app"]
    assert sketch(graph(nodes=nodes, links=links, downloads=LAW, polls="constant(rate=1)").graph) == dedent("""\
        s  updates exponential(rate=2)
        └─ a  downloads exponential(rate=2), polls constant(rate=1) of 1 random among 1 linked  (also from t)
        t
        b  polls constant(rate=1) of 1 random among 1 linked, by polls alone
        lost  no source above
        app  queries exponential(rate=2) to 1 of b""")


def test_descriptions():
    laws = {"updates": "constant(rate=1)", "downloads": LAW, "polls": "constant(rate=4)"}
    assert cooperative(replicas=10, title="Ten mirrors", **laws).describe() == dedent("""\
        cooperative: 1 source, 10 replicas
        Ten mirrors
          source    1  updates constant(rate=1)
          cluster  10  downloads exponential(rate=2); polls constant(rate=4) of 1 random peer
          events per unit of time: 61 (updates 1, downloads 20, polls 40)""")
    nodes = {"s": {"updates": LAW}, **{f"r{i}": {"downloads": f"exponential(rate={i})"} for i in range(1, 7)}}
    shown = " or ".join(f"exponential(rate={i})" for i in range(1, 4))
    assert (
        f"  downloads {shown} and 3 more\n" in graph(nodes=nodes, links=[f"s -> r{i}" for i in range(1, 7)]).describe()
    )


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_networks_are_drawn_whole_and_always_alike(name):
    net = load(name)
    plan = layout(net.graph)
    assert plan.left_out == 0
    assert len(set(plan.places.values())) == net.graph.number_of_nodes()
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in plan.places.values())
    assert svg(net) == svg(Network.from_data(net.data()))


def test_replicas_stand_below_the_sources_that_they_share():
    places = layout(aggregate(sources=4, updates=LAW, budget=4, replicas=2).graph).places
    xs, ys = zip(*places.values(), strict=True)
    assert list(places)[:4] == [f"source {i}" for i in range(1, 5)]
    assert xs == pytest.approx((0, 1 / 3, 2 / 3, 1, 1 / 6, 5 / 6))
    assert ys == pytest.approx((1, 1, 1, 1, 0, 0))


def test_many_that_are_alike_are_a_box_of_dots():
    net = redundant(replicas=120, ask=2, updates=LAW, downloads=LAW, queries=LAW)
    plan = layout(net.graph)
    (crowd,) = plan.crowds
    left, low, right, high = crowd.box
    dots = {plan.places[name] for name in net.replicas}
    assert (crowd.names, len(dots)) == (tuple(net.replicas), 120)
    assert all(left < x < right and low < y < high for x, y in dots)
    assert "120 replicas" in svg(net)
    assert "who poll one another" in svg(cooperative(replicas=300, updates=LAW, downloads=LAW, polls=LAW))


def test_subtrees_that_do_not_fit_are_bands_as_wide_as_their_levels():
    plan = layout(cascade(depth=6, branching=3, updates=LAW, downloads=LAW).graph)
    assert len(plan.places) == 1 + 3 + 9 + 27 + 81
    assert {crowd.bands for crowd in plan.crowds} == {(("level 5", 3), ("level 6", 9))}
    (deep,) = layout(cascade(depth=400, updates=LAW, downloads=LAW).graph).crowds
    assert len(deep.names) == 388
    assert [count for _, count in deep.bands] == [1] * 6


def test_graphs_with_positions_are_drawn_as_they_lie():
    nodes = {"s": {"updates": LAW}, "a": {"position": [0, 0]}, "b": {"position": [4, 3]}, "c": {"position": [8, 0]}}
    nodes |= {"d": {}, "e": {"position": [8, 0]}}
    plan = layout(graph(nodes=nodes, links=["s -> a", "a -> b", "b -> c", "c -> d", "c -> e"], downloads=LAW).graph)
    (ax, ay), (bx, by), (cx, cy) = (plan.places[name] for name in "abc")
    wide, high = plan.size
    assert (bx - ax) * wide / ((by - ay) * high) == pytest.approx(4 / 3, abs=0.05)
    assert (cx > bx > ax, by > cy, plan.places["s"][1]) == (True, True, 1.0)
    assert len(set(plan.places.values())) == 6


@pytest.mark.parametrize(("wide", "tall", "longest"), [(6, 4, 1.25), (40, 30, 2.2)])
def test_the_structure_of_a_grid_is_seen(wide, tall, longest):
    """Of a small one, and of one for which not all pairs of nodes are looked at."""
    wires = nx.grid_2d_graph(wide, tall)
    assert (len(wires) > MOST_PAIRED) == (wide == 40)
    at = spread(wires)
    lengths = [math.dist(at[a], at[b]) for a, b in wires.edges]
    assert 0.7 < min(lengths) < max(lengths) < longest
    assert math.dist(at[0, 0], at[wide - 1, tall - 1]) > 0.8 * math.hypot(wide, tall)
    wires.add_edge("x", "y")
    parts = spread(wires)
    assert min(math.dist(parts["x"], parts[name]) for name in wires if name not in ("x", "y")) > 0.9
    assert spread(nx.empty_graph(1)) == {0: (0.0, 0.0)}


def test_an_arrow_that_is_drawn_is_explained():
    assert "data flows down, or along an arrow" in svg(load("mesh"))
    picture = svg(load("cascade"))
    assert "along an arrow" not in picture
    assert picture.index("f-step-11 ") < picture.index("f-step-0 ")  # dark replicas first, light ones below


def test_odd_names_are_shown_as_they_are():
    names = ['<b>&"a"', "$x_1$ {", "]]>", "日本", "a\\b"]
    links = [{"from": names[0], "to": name} for name in names[1:]]
    net = graph(nodes={name: {} for name in names}, links=links, updates=LAW, downloads=LAW, title="<script> & co")
    root = fromstring(svg(net))
    assert set(names) <= {"".join(node.itertext()).strip() for node in root.iter() if node.tag.endswith("text")}
    assert root.get("aria-label") == "<script> & co: 5 nodes"
    assert root.find(".//*[@id='network-patch_1']/*").get("class") == "f-paper"  # on a page of any colour


def test_formats(tmp_path):
    for kind, begin in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        draw(load("cooperative"), tmp_path / f"a.{kind}")
        assert (tmp_path / f"a.{kind}").read_bytes().startswith(begin)
    picture = (tmp_path / "a.svg").read_text()
    assert "@media (prefers-color-scheme:dark)" in picture
    assert re.search(r'id="patch_1">\s*<path [^>]*f-paper', picture)
    for name, message in (("a.gif", "file: .* is no kind of picture"), ("no/a.png", "cannot be written: No such file")):
        with pytest.raises(InputError, match=message):
            draw(load("cooperative"), tmp_path / name)


CLUSTERS = [
    {"kind": "cascade", "depth": 1, "branching": 40, "downloads": LAW},
    {"kind": "cooperative", "replicas": 140, "downloads": LAW, "polls": LAW},
]
PAIRS = {n: {"updates": LAW} for n in range(0, 300, 2)}
CLIENTS = {"ask": 2, "queries": LAW}
GRID = nx.convert_node_labels_to_integers(nx.grid_2d_graph(40, 30))


@pytest.mark.parametrize(
    "net",
    [
        cascade(depth=3, branching=20, updates=LAW, downloads=LAW),
        cascade(depth=400, updates=LAW, downloads=LAW),
        cooperative(replicas=5000, updates=LAW, downloads=LAW, polls=LAW, clients=CLIENTS),
        graph(nx.path_graph(300), edges="downloads", downloads=LAW, nodes=PAIRS),
        compose(updates=LAW, tiers=CLUSTERS),
        graph(GRID, edges="peers", polls=LAW, downloads=LAW, nodes={"s": {"updates": LAW}}, links=["s -> *"]),
    ],
    ids=["tree", "chain", "cluster", "pairs", "clusters", "map"],
)
def test_every_node_is_drawn_or_counted(net):
    plan = layout(net.graph)
    counted = {name for crowd in plan.crowds for name in crowd.names}
    assert counted | set(plan.places) == set(net.graph)
    assert plan.left_out == len(net.graph) - len(plan.places)
    text = svg(net)
    # All nodes of a map are drawn.
    assert (plan.left_out == 0) == (plan.shape == "map") == ("downloads: those from s are not drawn" in text)
    assert (plan.shape == "map") == (len(net.graph) == GRID.order() + 1)
    assert all(f">{len(crowd.names):,}" in text for crowd in plan.crowds)
    assert len(sketch(net.graph).splitlines()) <= 45
    assert "<svg" not in net._repr_html_()

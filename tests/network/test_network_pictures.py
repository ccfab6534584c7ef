"""Networks as text and as pictures."""

from __future__ import annotations

from textwrap import dedent

import pytest

from replnet.network import (
    InputError,
    Network,
    aggregate,
    cascade,
    compose,
    cooperative,
    graph,
    load,
    shipped_names,
    single,
)
from replnet.network.pictures.description import sketch
from replnet.network.pictures.drawing import draw, svg
from replnet.network.pictures.layout import layout

LAW = "exponential(rate=2)"


def test_a_small_tree_is_shown_whole():
    net = cascade(depth=2, branching=2, updates="constant(rate=1)", downloads=LAW)
    assert sketch(net.graph) == dedent("""\
        source  updates constant(rate=1)
        ├─ 1  downloads exponential(rate=2)
        │  ├─ 1.1
        │  └─ 1.2
        └─ 2
           ├─ 2.1
           └─ 2.2""")


def test_a_large_tree_shows_its_first_branch():
    net = cascade(depth=3, branching=30, updates="constant(rate=1)", downloads=LAW)
    assert sketch(net.graph) == dedent("""\
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
    net = graph(
        nodes={"s": {"updates": LAW}, "t": {"updates": LAW}, "a": {}, "b": {}, "lost": {}, "app": {"queries": LAW}},
        links=["s -> a", "t -> a", "a -- b", "b -> app"],
        downloads=LAW,
        polls="constant(rate=1)",
    )
    assert sketch(net.graph) == dedent("""\
        s  updates exponential(rate=2)
        └─ a  downloads exponential(rate=2), polls constant(rate=1) of 1 random among 1 linked  (also from t)
        t
        b  polls constant(rate=1) of 1 random among 1 linked, by polls alone
        lost  no source above
        app  queries exponential(rate=2) to 1 of b""")


def test_descriptions():
    net = cooperative(
        replicas=10, updates="constant(rate=1)", downloads=LAW, polls="constant(rate=4)", title="Ten mirrors"
    )
    assert net.describe() == dedent("""\
        cooperative: 1 source, 10 replicas
        Ten mirrors
          source    1  updates constant(rate=1)
          cluster  10  downloads exponential(rate=2); polls constant(rate=4) of 1 random peer
          events per unit of time: 61 (updates 1, downloads 20, polls 40)""")
    assert repr(single(updates=LAW, downloads=LAW)) == (
        "single(downloads='exponential(rate=2)', updates='exponential(rate=2)')"
    )


def test_many_laws_of_a_group_are_counted():
    nodes = {"s": {"updates": LAW}, **{f"r{i}": {"downloads": f"exponential(rate={i})"} for i in range(1, 7)}}
    net = graph(nodes=nodes, links=[f"s -> r{i}" for i in range(1, 7)])
    laws = " or ".join(f"exponential(rate={i})" for i in range(1, 4))
    assert f"  downloads {laws} and 3 more\n" in net.describe()


@pytest.mark.parametrize("name", shipped_names())
def test_shipped_networks_are_drawn_whole_and_always_alike(name, tmp_path):
    net = load(name)
    plan = layout(net.graph)
    assert plan.left_out == 0
    assert len(set(plan.places.values())) == net.graph.number_of_nodes()
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in plan.places.values())
    assert svg(net) == svg(Network.from_data(net.data()))


def test_replicas_stand_below_the_middle_of_the_sources_that_they_share():
    places = layout(aggregate(sources=4, updates=LAW, budget=4, replicas=2).graph).places
    assert [places[f"source {i}"] for i in range(1, 5)] == [(0.125, 1.0), (0.375, 1.0), (0.625, 1.0), (0.875, 1.0)]
    assert [place for name, place in places.items() if "source" not in name] == [(0.25, 0.0), (0.75, 0.0)]


def test_formats(tmp_path):
    net = load("cooperative")
    draw(net, tmp_path / "a.png")
    draw(net, tmp_path / "a.svg")
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    assert "</svg>" in (tmp_path / "a.svg").read_text()
    assert "<svg" in net._repr_html_()
    with pytest.raises(InputError, match="is no kind of picture"):
        draw(net, tmp_path / "a.gif")
    with pytest.raises(InputError, match="cannot be written"):
        draw(net, tmp_path / "nowhere" / "a.png")


@pytest.mark.parametrize(
    "net",
    [
        cascade(depth=3, branching=20, updates=LAW, downloads=LAW),
        cascade(depth=400, updates=LAW, downloads=LAW),
        cooperative(replicas=2000, updates=LAW, downloads=LAW, polls=LAW, clients={"ask": 2, "queries": LAW}),
        compose(
            updates=LAW,
            tiers=[
                {"kind": "cascade", "depth": 1, "branching": 40, "downloads": LAW},
                {"kind": "cooperative", "replicas": 40, "downloads": LAW, "polls": LAW},
            ],
        ),
    ],
    ids=["tree", "chain", "cluster", "clusters"],
)
def test_what_is_left_out_is_said(net):
    plan = layout(net.graph)
    assert 10 <= len(plan.places) <= 135
    assert plan.left_out == net.graph.number_of_nodes() - len(plan.places) > 0
    assert f"{plan.left_out:,} left out" in svg_text(net)
    assert len(sketch(net.graph).splitlines()) <= 45
    assert "<svg" not in net._repr_html_()


def svg_text(net: Network) -> str:
    from replnet.network.pictures.drawing import figure

    return figure(net).axes[0].get_title(loc="left")

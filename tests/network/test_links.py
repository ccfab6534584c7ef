"""Links in columns, as files have them, mean what they would one by one."""

from __future__ import annotations

import json

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import replnet as rn
from replnet.network.graph_file import _GraphML, from_networkx, read_graph
from replnet.text.errors import InputError

LAW = "exponential(rate=2)"
NAMES = ["s", "a", "b-c", "d -> e", "f -- g"]
pairs = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES))
said = st.sampled_from([{}, {}, {"kind": "peer"}, {"kind": "download", "delay": 0.5}, {"delay": "constant(period=1)"}])
DEFAULTS = {"downloads": LAW, "polls": LAW, "nodes": {"s": {"updates": LAW}}}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.tuples(pairs, said), max_size=9), st.booleans())
def test_links_of_a_file_are_those_of_a_list(tmp_path_factory, links, directed):
    written = [{"source": a, "target": b, **more} for (a, b), more in links]
    path = tmp_path_factory.mktemp("graph") / "graph.json"
    path.write_text(json.dumps({"directed": directed, "nodes": [{"id": name} for name in NAMES], "links": written}))
    default = {} if directed else {"kind": "peer", "both": True}
    listed = [{"from": a, "to": b, **default, **more} for (a, b), more in links]
    listed = [link for at, link in enumerate(listed) if link not in listed[:at]]
    found = []
    for fields in (
        {"file": str(path), **DEFAULTS},
        {**DEFAULTS, "nodes": {name: {} for name in NAMES} | DEFAULTS["nodes"], "links": listed},
    ):
        try:
            network = rn.graph(**fields)
        except InputError as error:
            found.append(sorted((problem.field, problem.wrong) for problem in error.problems))
        else:
            assert rn.graph(**{key: item for key, item in network.data().items() if key != "kind"}) == network
            found.append([network.spec.links.in_short_forms(), sorted(network.graph.edges(data=True), key=str)])
    assert found[0] == found[1]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.sampled_from([{}, {"weight": 1.5}])), max_size=12),
    st.sampled_from([nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]),
)
def test_graphml_is_read_as_networkx_reads_it(tmp_path_factory, links, kind):
    drawn = kind(name="drawn")
    drawn.add_nodes_from(range(3), label="some", x=1.5)
    drawn.add_edges_from(links)
    path = tmp_path_factory.mktemp("graph") / "graph.graphml"
    nx.write_graphml(drawn, path)
    ours, theirs = read_graph(path), from_networkx(nx.read_graphml(path))
    assert list(ours["nodes"].items()) == list(theirs["nodes"].items())
    assert list(ours["links"]) == list(theirs["links"])


YED = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
<key for="node" id="d0" yfiles.type="nodegraphics"/>
<graph edgedefault="directed">
  <node id="n2"/>
  <node id="n0" yfiles.foldertype="group"><graph edgedefault="directed"><node id="n0::n1">
    <data key="d0"><y:ShapeNode><y:Geometry x="3.0" y="4.0"/><y:NodeLabel>one</y:NodeLabel></y:ShapeNode></data>
  </node><edge source="n2" target="n0::n1"/></graph></node>
  <edge source="n2" target="n0"/><edge source="n0" target="n9"/>
</graph><graph edgedefault="directed"><node id="other"/></graph></graphml>"""


@pytest.mark.parametrize(
    "text", [YED, '<graphml><graph edgedefault="undirected"><edge source="b" target="a"/></graph></graphml>']
)
def test_groups_headers_and_further_graphs_are_read_as_networkx_reads_them(tmp_path, text):
    (tmp_path / "graph.graphml").write_text(text)
    ours, theirs = read_graph(tmp_path / "graph.graphml"), from_networkx(nx.parse_graphml(text))
    assert list(ours["nodes"].items()) == list(theirs["nodes"].items())
    assert list(ours["links"]) == list(theirs["links"])


@pytest.mark.parametrize(
    "wrong",
    ["<hyperedge/>", '<edge source="a" target="b" directed="true"/>', '<node id="a"><data key="none">1</data></node>'],
)
def test_what_networkx_does_not_read_is_an_error(tmp_path, wrong):
    path = tmp_path / "graph.graphml"
    path.write_text(f'<graphml><graph edgedefault="undirected">{wrong}</graph></graphml>')
    with pytest.raises(InputError, match="is not GraphML"):
        read_graph(path)


def test_nothing_is_kept_of_what_was_taken_in(monkeypatch):
    monkeypatch.setattr("replnet.network.graph_file.LETTERS_AT_ONCE", 7)
    assert list(_GraphML.of(YED).links()) == [("n2", "n0::n1", {}), ("n2", "n0", {}), ("n0", "n9", {})]

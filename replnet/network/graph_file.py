"""Graphs made elsewhere: GraphML, node-link JSON and NetworkX objects as the plain data of a graph specification.

A specification may name a file of nodes and links beside what it says of them itself, and say what they mean. Where
nodes have coordinates these are kept for pictures: x and y, pos, or a longitude and a latitude.
"""

from __future__ import annotations

import gc
import json
import math
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast, final
from xml.etree.ElementTree import ParseError, XMLPullParser

import numpy as np

from replnet.network.graph_fields import Graph, NodeFields
from replnet.network.links import Links
from replnet.network.specification import Spec, specification
from replnet.text.documents import (
    LARGEST_GRAPH,
    Document,
    Mark,
    YamlNode,
    file_error,
    node_of,
    read_text,
    split_lines,
)
from replnet.text.errors import InputError, Problem, field_name, shown, suggestion

NODE_KEYS = frozenset(NodeFields.model_fields)
LINK_KEYS = frozenset({"kind", "delay"})
OF_FILES = frozenset({"file", "edges", "names"})
GRAPH_KEYS = frozenset(Graph.model_fields) - OF_FILES - {"kind", "nodes", "links"}
PLACES = frozenset({"x", "pos", "viz", "longitude", "lon", "lng"})
ON_MAPS = (("longitude", "latitude"), ("lon", "lat"), ("lng", "lat"))
NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
PIECE = 1 << 20  # letters of a document that are looked at together
NOTHING: dict[str, Any] = {}
NORTHERNMOST = 85.0  # of a Mercator map, in degrees

Nodes = Iterable[tuple[Any, Mapping[str, Any]]]


@final
@dataclass(frozen=True, slots=True)
class Meaning:
    """What the edges of a graph made elsewhere are, and the attribute that names its nodes, if that is said."""

    edges: str | None = None
    names: str | None = None

    def link(self, directed: bool) -> dict[str, Any]:
        """What every edge is that does not say so itself."""
        if self.edges == "peers" or (self.edges is None and not directed):
            return {"kind": "peer", "both": True}
        return {} if directed else {"both": True}


UNSAID = Meaning()


def read_graph(path: Path, meaning: Meaning = UNSAID) -> dict[str, Any]:
    """Nodes, links and defaults of a GraphML or JSON file."""
    text = read_text(path, LARGEST_GRAPH)
    if not text.strip():
        raise file_error(str(path), "is empty", "GraphML or node-link JSON")
    return (_from_json if text.lstrip()[0] in "{[" else _from_graphml)(text, str(path), meaning)


def from_networkx(graph: Any, name: str | None = None, meaning: Meaning = UNSAID) -> dict[str, Any]:
    """The data of a NetworkX graph; an undirected edge is a link in both directions."""
    return _plain(graph.graph, graph.nodes(data=True), graph.edges(data=True), graph.is_directed(), name, meaning)


def _from_graphml(text: str, name: str, meaning: Meaning) -> dict[str, Any]:
    import networkx as nx

    # Entities could expand without bound, and GraphML needs none.
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        raise file_error(name, "declares XML entities or a DOCTYPE", "GraphML without them")
    try:
        graph = _GraphML.of(text) or _GraphML.of(text.replace("<graphml>", f'<graphml xmlns="{NAMESPACE}">'))
        if graph is None:
            raise nx.NetworkXError("there is no graph in it")
    except ParseError as error:
        line, column = error.position
        source = next((row for number, row in enumerate(split_lines(text), 1) if number == line), None)
        wrong = f"is not XML: {str(error).split(':')[0]}"
        raise InputError([Problem(name, line, column + 1, "file", wrong, "GraphML or JSON", source)]) from None
    except (nx.NetworkXError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise file_error(name, f"is not GraphML: {error}", "GraphML as networkx.write_graphml makes it") from None
    return _plain(graph.graph, graph.nodes.items(), graph.links(), graph.directed, name, meaning)


@final
class _GraphML:
    """What NetworkX reads of a GraphML document, taken in element by element: no tree and no graph is made of it.

    To the reader of NetworkX this is the graph that it fills.
    """

    def __init__(self, directed: bool) -> None:
        self.directed, self.graph = directed, dict[str, Any]()
        self.nodes: dict[str, dict[str, Any]] = {}
        self._ends = array("i"), array("i")
        self._number: dict[str, int] = {}  # of ends
        self._about: dict[int, dict[str, Any]] = {}  # of edges that say something

    @classmethod
    def of(cls, text: str) -> _GraphML | None:
        """The first graph of a document, if there is one."""
        from networkx.readwrite.graphml import GraphMLReader

        reader, parser = GraphMLReader(force_multigraph=True), cast("Any", XMLPullParser(("start", "end")))
        made: _GraphML | None = None
        open_elements: list[Any] = []
        for begin in range(0, len(text), PIECE):
            parser.feed(text[begin : begin + PIECE].encode())
            for event, element in parser.read_events():
                if event == "start":
                    open_elements.append(element)
                    if made is None and len(open_elements) == 2 and element.tag == f"{{{NAMESPACE}}}graph":
                        made, whole = cls(element.get("edgedefault") == "directed"), element
                        keys, defaults = reader.find_graphml_keys(open_elements[0])
                    continue
                open_elements.pop()
                if made is not None and element is whole:
                    made.graph |= reader.decode_data_elements(keys, element)
                elif made is not None and open_elements[-1:] == [whole] and element.tag != f"{{{NAMESPACE}}}data":
                    made._add(reader, element, keys, defaults)
                    whole.remove(element)
        parser.close()
        if made is not None:
            made.nodes |= {node: {} for node in made._number if node not in made.nodes}
        return made

    def _add(self, reader: Any, element: Any, keys: Any, defaults: Any) -> None:
        """A node or an edge; whatever else there is says nothing of either."""
        kind, plain = element.tag.removeprefix(f"{{{NAMESPACE}}}"), not len(element)
        if kind == "edge" and plain and "directed" not in element.attrib:  # as most are
            self._add_edge(str(element.get("source")), str(element.get("target")))
        elif kind == "edge":
            reader.add_edge(self, element, keys)
            reader.edge_ids.clear()
        elif kind == "node" and plain:
            self.add_node(str(element.get("id")))
        elif kind == "node":
            reader.add_node(self, element, keys, defaults)
        elif kind == "hyperedge":
            raise ValueError("it has hyperedges")

    def is_directed(self) -> bool:
        return self.directed

    def has_edge(self, source: str, target: str) -> bool:
        """That an edge is there already is seen when all are."""
        return False

    def add_node(self, node: str, **about: Any) -> None:
        self.nodes.setdefault(node, {}).update(about)

    def add_edges_from(self, edges: Iterable[tuple[str, str, Any, dict[str, Any]]]) -> None:
        for source, target, _, about in edges:
            if about:
                self._about[len(self._ends[0])] = about
            self._add_edge(source, target)

    def _add_edge(self, source: str, target: str) -> None:
        number = self._number
        self._ends[0].append(number.setdefault(source, len(number)))
        self._ends[1].append(number.setdefault(target, len(number)))

    def links(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Edges in the order in which a graph of NetworkX has them: node by node, undirected ones at the earlier node.

        At a node they are in the order of the document, but that parallel ones stand together.
        """
        place = {node: i for i, node in enumerate(self.nodes)}
        places = np.array([place[node] for node in self._number], np.int64)
        source, target = (places[np.array(column, np.int64)] for column in self._ends)
        if not self.directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        _, first, which = np.unique(source * len(place) + target, return_index=True, return_inverse=True)
        order, names = np.lexsort((first[which], source)), [*self.nodes]
        for at, a, b in zip(order.tolist(), source[order].tolist(), target[order].tolist(), strict=True):
            yield names[a], names[b], self._about.get(at, NOTHING)


def _from_json(text: str, name: str, meaning: Meaning) -> dict[str, Any]:
    right = '{"nodes": [{"id": ...}, ...], "links": [{"source": ..., "target": ...}, ...]}'
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        source = text.splitlines()[error.lineno - 1] if error.lineno <= len(text.splitlines()) else None
        wrong = f"is not JSON: {error.msg}"
        raise InputError([Problem(name, error.lineno, error.colno, "file", wrong, right, source)]) from None
    except (RecursionError, ValueError) as error:
        raise file_error(name, f"is not JSON: {error}", right) from None
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise file_error(name, "has no list of nodes", right)
    links = data.get("links", data.get("edges", []))
    if not isinstance(links, list):
        raise file_error(name, "has no list of links", right)
    problems = [*_missing(name, "nodes", data["nodes"], ("id",)), *_missing(name, "links", links, ("source", "target"))]
    if problems:
        raise InputError(problems)
    about = data.get("graph")
    pairs = ((link["source"], link["target"], link) for link in links)
    nodes = [(node["id"], {key: item for key, item in node.items() if key != "id"}) for node in data["nodes"]]
    directed = data.get("directed", True) is not False
    return _plain(about if isinstance(about, dict) else {}, nodes, pairs, directed, name, meaning)


def _missing(name: str, field: str, items: list[Any], keys: tuple[str, ...]) -> Iterable[Problem]:
    for index, item in enumerate(items):
        for key in keys:
            if not isinstance(item, dict) or isinstance(item.get(key), (dict, list, type(None))):
                yield Problem(name, None, None, field_name((field, index, key)), "missing", "the name of a node")


def _plain(
    about: Mapping[str, Any],
    nodes: Nodes,
    links: Iterable[tuple[Any, Any, Mapping[str, Any]]],
    directed: bool,
    name: str | None,
    meaning: Meaning,
) -> dict[str, Any]:
    """One shape for all of them. Attributes that mean nothing here are left out, unless they look like a slip."""
    problems: list[Problem] = []
    named: dict[str, dict[str, Any]] = {}
    names = {} if meaning.names is None else _unique_names(nodes, meaning.names, name)
    for key, attributes in nodes:
        called = names.get(key, str(key))
        if called in named:
            problems.append(Problem(name, None, None, f"nodes.{called}", "is given twice", "another name"))
        named[called] = _known(attributes, NODE_KEYS, f"nodes.{called}", name, problems)
        if "position" not in named[called] and (place := _position(attributes)) is not None:
            named[called]["position"] = place
    listed = _Listed()
    unsaid = meaning.link(directed)
    for source, target, attributes in links:
        if meaning.edges is not None and source == target:
            continue  # in a graph that was made for other ends it tells nobody anything
        said = attributes and _known(attributes, LINK_KEYS, f"links.{source} -> {target}", name, problems)
        known = {**unsaid, **said} if said else unsaid
        listed.add(names.get(source, str(source)), names.get(target, str(target)), known)
    if problems:
        raise InputError(problems)
    whole = {key: item for key, item in about.items() if key in GRAPH_KEYS and item not in (None, {}, "")}
    return {"kind": "graph", **whole, "nodes": named, "links": listed.links()}


@final
class _Listed:
    """Links that are read one after another. Multigraphs repeat edges; the same link twice is one link."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._sorts: dict[str, int] = {}
        self._about: list[dict[str, Any]] = []
        self._columns = array("i"), array("i"), array("i")
        self._latest: dict[str, Any] | None = None
        self._sort = 0

    def add(self, source: str, target: str, about: dict[str, Any]) -> None:
        number = self._number
        self._columns[0].append(number.setdefault(source, len(number)))
        self._columns[1].append(number.setdefault(target, len(number)))
        if about is not self._latest:  # mostly they all say the same
            self._latest, self._sort = about, self._sorts.setdefault(repr(about), len(self._sorts))
            self._about += [about] if self._sort == len(self._about) else []
        self._columns[2].append(self._sort)

    def links(self) -> Links:
        source, target, sort = (np.array(column, np.int64) for column in self._columns)
        same = (source * len(self._number) + target) * len(self._about) + sort
        some = np.sort(np.unique(same, return_index=True)[1])
        source, target, sort = (column[some].astype(np.int32) for column in (source, target, sort))
        return Links([*self._number], source, target, sort, self._about)


def _unique_names(nodes: Nodes, attribute: str, name: str | None) -> dict[Any, str]:
    """Of nodes whose attribute is that of no other, nor the id of one."""
    given = {key: " ".join(str(about[attribute]).split()) for key, about in nodes if about.get(attribute) is not None}
    if not given:
        right = suggestion(attribute, {str(key): None for _, about in nodes for key in about}, "leave names out")
        raise InputError([Problem(name, None, None, "names", f"has no node with an attribute {attribute}", right)])
    shares = Counter(given.values())
    ids = {str(key): key for key, _ in nodes}
    return {key: text for key, text in given.items() if text and shares[text] == 1 and ids.get(text, key) == key}


def _position(attributes: Mapping[str, Any]) -> list[float] | None:
    """Where a node lies by what drawing programs, NetworkX and maps call that; y grows upwards."""
    told = {str(key).lower(): value for key, value in attributes.items()}
    if not told.keys() & PLACES:
        return None
    for east, north in ON_MAPS:
        if (place := _pair((told.get(east), told.get(north)))) is not None:
            latitude = math.radians(max(-NORTHERNMOST, min(NORTHERNMOST, place[1])))
            return [place[0], math.degrees(math.asinh(math.tan(latitude)))]
    viz, pos = told.get("viz"), told.get("pos")
    spot = viz.get("position") if isinstance(viz, dict) else None  # as NetworkX reads GEXF
    written = pos.rstrip("!").split(",") if isinstance(pos, str) else pos  # as Graphviz writes it
    places = [written, *((one.get("x"), one.get("y")) for one in (told, spot) if isinstance(one, dict))]
    place = next(filter(None, map(_pair, places)), None)
    # NetworkX gives the nodes of yEd a shape, and their y grows downwards.
    return [place[0], -place[1]] if place is not None and "shape_type" in told else place


def _pair(values: Any) -> list[float] | None:
    """Two finite numbers, if that is what they are."""
    try:
        x, y = (float(value) for value in values)
    except (TypeError, ValueError):
        return None
    return [x, y] if math.isfinite(x) and math.isfinite(y) else None


def _known(
    attributes: Mapping[str, Any], keys: frozenset[str], field: str, name: str | None, problems: list[Problem]
) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in attributes.items():
        if key in keys:
            kept[key] = value
        elif isinstance(key, str) and key != "pos" and (hint := _slip(key, keys)):
            problems.append(Problem(name, None, None, f"{field}.{key}", f"unknown field {shown(key)}", hint))
    return {key: value for key, value in kept.items() if value is not None}


@lru_cache(maxsize=1_000)
def _slip(key: str, keys: frozenset[str]) -> str:
    """What is meant, if one letter or two make the difference; other tools have names of their own."""
    hint = suggestion(key, keys)
    meant = hint.removeprefix("did you mean ").removesuffix("?")
    near = hint != meant and key[:1] == meant[:1] and key[-1:] == meant[-1:] and abs(len(key) - len(meant)) <= 2
    return hint if near else ""


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without a search for garbage: it would go through millions of nodes and links again and again, and find none."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@_uncollected()
def with_file(document: Document) -> Spec:
    """The specification with what its file holds written out, so that it stands on its own."""
    # The fields themselves are checked first, the path among them.
    own = specification(document.data, document)
    assert isinstance(own, Graph)
    assert own.file is not None
    path = document.directory / own.file
    try:
        read = read_graph(path, Meaning(own.edges, own.names))
    except InputError as error:
        first = error.problems[0]
        if first.field not in ("file", "names") or first.line is not None:
            raise
        raise InputError([document.problem((first.field,), f"{path} {first.wrong}", first.right)]) from None
    try:
        return specification(joined(read, document.data, own), document)
    except InputError:
        # Where everything stands takes longer to work out than all else, and only errors want to know.
        read["links"] = list(read["links"])
        whole = replace(document, root=merged(document.root, node_of(read, Mark(None, None, str(path)))))
        return specification(whole.data, whole)


def joined(theirs: dict[str, Any], mine: Mapping[str, Any], own: Graph) -> dict[str, Any]:
    """What a graph made elsewhere holds, and on top of it what is said beside it, and checked by itself."""
    nodes = dict(theirs["nodes"])
    for name, node in (mine.get("nodes") or {}).items():
        nodes[str(name)] = nodes.get(str(name), {}) | dict(node or {})
    links = cast("Links", own.links) + theirs["links"]
    return {**theirs, **mine, **dict.fromkeys(OF_FILES), "nodes": nodes, "links": links}


def merged(mine: YamlNode, theirs: YamlNode) -> YamlNode:
    """The specification on top of what its file holds."""
    fields = {**_mapping(theirs), **_mapping(mine)}
    for key in OF_FILES & fields.keys():
        del fields[key]
    nodes = _mapping(theirs.child("nodes"))
    for name, node in _mapping(mine.child("nodes")).items():
        nodes[name] = YamlNode({**_mapping(nodes.get(name)), **_mapping(node)}, node.mark, node.key)
    # Links of the specification come first, so that they keep their numbers in messages.
    links = [*_items(mine.child("links")), *_items(theirs.child("links"))]
    fields["nodes"] = YamlNode(nodes, fields["nodes"].mark, fields["nodes"].key)
    fields["links"] = YamlNode(links, fields["links"].mark, fields["links"].key)
    return YamlNode(fields, mine.mark)


def _mapping(node: YamlNode | None) -> dict[str, YamlNode]:
    return dict(node.value) if node is not None and isinstance(node.value, dict) else {}


def _items(node: YamlNode | None) -> list[YamlNode]:
    return node.value if node is not None and isinstance(node.value, list) else []

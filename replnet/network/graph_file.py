"""Graphs of other programs as the plain data of a graph specification: GraphML, GML, node-link JSON, lists of edges and
NetworkX objects.

A specification may name a file of nodes and links beside nodes and links of its own, and say what the edges of the file
mean. Coordinates of nodes are kept for pictures: x and y, pos, or a longitude and a latitude.
"""

from __future__ import annotations

import gc
import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast, final
from xml.etree.ElementTree import ParseError, XMLPullParser

import numpy as np

from replnet.network.edge_list import ENDINGS, EdgeList
from replnet.network.gml import START, GMLGraph
from replnet.network.graph_fields import Graph, NodeFields
from replnet.network.links import (
    LINK_KEYS,
    PROCESSES,
    EdgeMeaning,
    LinkColumns,
    Links,
    misplaced_law,
    misspelling_hint,
)
from replnet.network.specification import Spec, specification
from replnet.text import (
    LARGEST_GRAPH,
    Document,
    DocumentError,
    FieldError,
    Mark,
    Problem,
    YamlNode,
    field_name,
    file_error,
    node_of,
    read_text,
    short_repr,
    split_lines,
    suggestion,
)

NODE_KEYS = frozenset(NodeFields.model_fields)
FILE_KEYS = frozenset({"file", "edges", "names"})
GRAPH_KEYS = frozenset(Graph.model_fields) - FILE_KEYS - {"kind", "nodes", "links"}
POSITION_KEYS = frozenset({"x", "pos", "viz", "longitude", "lon", "lng"})
MAP_KEYS = (("longitude", "latitude"), ("lon", "lat"), ("lng", "lat"))
NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
LETTERS_AT_ONCE = 1 << 20  # letters of a document that the parser gets at once
NO_ATTRIBUTES: dict[str, Any] = {}
TEXT = ".txt"  # a specification or a list of edges
OTHER_FORMATS = {
    "Graphviz DOT": re.compile(r"\s*(strict\s+)?(di)?graph\b[^\[{]*\{"),
    "Pajek": re.compile(r"\s*\*(vertices|network)", re.IGNORECASE),
    "GEXF": re.compile(r"\s*(<\?xml[^>]*>\s*)?<gexf"),
}
"""How files of formats that are not read begin, by format."""
FORMATS = "GraphML, GML, node-link JSON, or a list of edges"
NORTHERNMOST = 85.0  # of a Mercator map, in degrees

Nodes = Iterable[tuple[Any, Mapping[str, Any]]]


DEFAULT_MEANING = EdgeMeaning()


def read_graph(path: Path, meaning: EdgeMeaning = DEFAULT_MEANING) -> dict[str, Any]:
    """Return the nodes, links and defaults of a graph file, of whatever format, as the data of a specification.

    `meaning` says what its edges are and which attribute names its nodes. Raise DocumentError if the file cannot be
    read as a graph, or with all that is wrong in it.
    """
    text = read_text(path, LARGEST_GRAPH)
    if not text.strip():
        raise file_error(str(path), "is empty", FORMATS)
    for other, start in OTHER_FORMATS.items():
        if start.match(text):
            raise file_error(str(path), f"is {other}", f"{FORMATS}, into which NetworkX turns it")
    return READERS[_format_of(path, text)](text, str(path), meaning)


def is_graph_file(path: Path) -> bool:
    """Whether a file is a graph of another program, and no specification in YAML or JSON: by its ending, or else by its
    content.
    """
    ending = path.suffix.lower()
    if ending in (".yaml", ".yml"):
        return False
    if ending in ENDINGS or ending in (".graphml", ".gml"):
        return True
    try:
        text = read_text(path, LARGEST_GRAPH)
        if any(start.match(text) for start in OTHER_FORMATS.values()):
            return True
        if text.lstrip()[:1] != "{":
            is_list = ending == TEXT and re.search(r"^kind\s*:", text, re.MULTILINE) is None
            return is_list or text.lstrip()[:1] == "<" or START.search(text) is not None
        data = json.loads(text) if '"nodes"' in text else {}
    except (DocumentError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and isinstance(data.get("nodes"), list) and "kind" not in data


def _format_of(path: Path, text: str) -> str:
    """Return the format, one of READERS, of a file with this text, which is not blank: by its ending, or else by its
    content.
    """
    ending, start = path.suffix.lower(), text.lstrip()[0]
    if ending in ENDINGS:
        return "edges"
    if start in "{[<":
        return "graphml" if start == "<" else "json"
    if ending == ".gml" or START.search(text):
        return "gml"
    return {".json": "json", ".graphml": "graphml", ".xml": "graphml"}.get(ending, "edges")


def from_networkx(graph: Any, name: str | None = None, meaning: EdgeMeaning = DEFAULT_MEANING) -> dict[str, Any]:
    """Return the nodes, links and defaults of a NetworkX graph as the data of a specification.

    `name` is what messages call the graph, and `meaning` says what its edges are; an undirected edge is a link in both
    directions. Raise DocumentError with all that is wrong in it, or FieldError if it is no graph.
    """
    if not hasattr(graph, "is_directed"):
        raise FieldError(name or "graph", f"{short_repr(graph)} is no graph", "one of NetworkX")
    return _graph_data(graph.graph, graph.nodes(data=True), graph.edges(data=True), graph.is_directed(), name, meaning)


def _from_graphml(text: str, name: str, meaning: EdgeMeaning) -> dict[str, Any]:
    """Return the data of a specification from the text of a GraphML document; raise DocumentError if it is none.

    `name` is that of its file, for messages; `meaning` says what edges are and what names nodes.
    """
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
        raise DocumentError([Problem(name, line, column + 1, "file", wrong, "GraphML or JSON", source)]) from None
    except (nx.NetworkXError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise file_error(name, f"is not GraphML: {error}", "GraphML as networkx.write_graphml makes it") from None
    return _graph_data(graph.graph, graph.nodes.items(), graph.links(), graph.directed, name, meaning)


def _from_gml(text: str, name: str, meaning: EdgeMeaning) -> dict[str, Any]:
    """Return the data of a specification from the text of a GML document; raise DocumentError if it is none.

    `name` is that of its file, for messages. Nodes are named by their labels unless `meaning` says otherwise, as ids
    are mere numbers.
    """
    graph = GMLGraph(text, name)
    if meaning.names is None and any("label" in about for _, about in graph.nodes):
        meaning = replace(meaning, names="label")
    return _graph_data(graph.attributes, graph.nodes, graph.edges, graph.directed, name, meaning)


def _from_edges(text: str, name: str, meaning: EdgeMeaning) -> dict[str, Any]:
    """Return the data of a specification from a list of edges; raise DocumentError with all that is wrong in it.

    `name` is that of its file, for messages; `meaning` says what edges are.
    """
    return EdgeList(text, name, meaning).data()


@final
class _GraphML:
    """The graph of a GraphML document, filled element by element with the reader of NetworkX.

    It takes the place of the NetworkX graph that this reader fills, so neither a tree of elements nor a graph of
    objects is ever built.
    """

    def __init__(self, directed: bool) -> None:
        self.directed, self.graph = directed, dict[str, Any]()
        self.nodes: dict[str, dict[str, Any]] = {}
        self._ends = array("i"), array("i")
        self._number: dict[str, int] = {}  # by name, of nodes at the ends of edges
        self._about: dict[int, dict[str, Any]] = {}  # attributes by number, of edges that have some

    @classmethod
    def of(cls, text: str) -> _GraphML | None:
        """Return the first graph in the text of a document, or None if it has none.

        Raise ParseError if the text is no XML, and an error of NetworkX or Python, such as ValueError, if it is no
        GraphML.
        """
        from networkx.readwrite.graphml import GraphMLReader

        reader, parser = GraphMLReader(force_multigraph=True), cast("Any", XMLPullParser(("start", "end")))
        result: _GraphML | None = None
        open_elements: list[Any] = []
        for begin in range(0, len(text), LETTERS_AT_ONCE):
            parser.feed(text[begin : begin + LETTERS_AT_ONCE].encode())
            for event, element in parser.read_events():
                if event == "start":
                    open_elements.append(element)
                    if result is None and len(open_elements) == 2 and element.tag == f"{{{NAMESPACE}}}graph":
                        result, whole = cls(element.get("edgedefault") == "directed"), element
                        keys, defaults = reader.find_graphml_keys(open_elements[0])
                    continue
                open_elements.pop()
                if result is not None and element is whole:
                    result.graph |= reader.decode_data_elements(keys, element)
                elif result is not None and open_elements[-1:] == [whole] and element.tag != f"{{{NAMESPACE}}}data":
                    result._add(reader, element, keys, defaults)
                    whole.remove(element)
        parser.close()
        if result is not None:
            result.nodes |= {node: {} for node in result._number if node not in result.nodes}
        return result

    def _add(self, reader: Any, element: Any, keys: Any, defaults: Any) -> None:
        """Add the node or the edge that an XML element describes; raise ValueError for a hyperedge, and ignore all
        others.

        `reader` is the GraphML reader of NetworkX; `keys` and `defaults` are the attributes that the document declares
        and their defaults, as it has read them.
        """
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
        """Whether edges that do not say whether they are directed are."""
        return self.directed

    def has_edge(self, source: str, target: str) -> bool:
        """Whether an edge repeats another: always False, as repeated edges are found when all edges are read."""
        return False

    def add_node(self, node: str, **about: Any) -> None:
        """Add a node with attributes; if the node is there already, add the attributes to it."""
        self.nodes.setdefault(node, {}).update(about)

    def add_edges_from(self, edges: Iterable[tuple[str, str, Any, dict[str, Any]]]) -> None:
        """Add edges, each a tuple (source, target, key, attributes), of which the key is ignored."""
        for source, target, _, about in edges:
            if about:
                self._about[len(self._ends[0])] = about
            self._add_edge(source, target)

    def _add_edge(self, source: str, target: str) -> None:
        """Add an edge without attributes between two nodes, which need not have been added before."""
        number = self._number
        self._ends[0].append(number.setdefault(source, len(number)))
        self._ends[1].append(number.setdefault(target, len(number)))

    def links(self) -> Iterator[tuple[str, str, dict[str, Any]]]:
        """Yield each edge as (source, target, attributes), in the order of a NetworkX graph.

        Edges are sorted by node, undirected ones by the earlier of their nodes. At a node they are in the order of the
        document, but that parallel ones stand together.
        """
        place = {node: i for i, node in enumerate(self.nodes)}
        places = np.array([place[node] for node in self._number], np.int64)
        source, target = (places[np.array(column, np.int64)] for column in self._ends)
        if not self.directed:
            source, target = np.minimum(source, target), np.maximum(source, target)
        _, first, which = np.unique(source * len(place) + target, return_index=True, return_inverse=True)
        order, names = np.lexsort((first[which], source)), [*self.nodes]
        for at, a, b in zip(order.tolist(), source[order].tolist(), target[order].tolist(), strict=True):
            yield names[a], names[b], self._about.get(at, NO_ATTRIBUTES)


def _from_json(text: str, name: str, meaning: EdgeMeaning) -> dict[str, Any]:
    """Return the data of a specification from the text of a node-link JSON document; raise DocumentError if it is none.

    `name` is that of its file, for messages; `meaning` says what edges are and what names nodes.
    """
    right = '{"nodes": [{"id": ...}, ...], "links": [{"source": ..., "target": ...}, ...]}'
    try:
        data = json.loads(text)
        if "\\ud" in text.lower():  # half of a letter that takes two of these, which no file or screen can hold
            json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        source = text.splitlines()[error.lineno - 1] if error.lineno <= len(text.splitlines()) else None
        wrong = f"is not JSON: {error.msg}"
        raise DocumentError([Problem(name, error.lineno, error.colno, "file", wrong, right, source)]) from None
    except (RecursionError, ValueError) as error:
        raise file_error(name, f"is not JSON: {error}", right) from None
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise file_error(name, "has no list of nodes", right)
    links = data.get("links", data.get("edges", []))
    if not isinstance(links, list):
        raise file_error(name, "has no list of links", right)
    problems = [*_missing(name, "nodes", data["nodes"], ("id",)), *_missing(name, "links", links, ("source", "target"))]
    if problems:
        raise DocumentError(problems)
    about = data.get("graph")
    pairs = ((link["source"], link["target"], link) for link in links)
    nodes = [(node["id"], {key: item for key, item in node.items() if key != "id"}) for node in data["nodes"]]
    directed = data.get("directed", True) is not False
    return _graph_data(about if isinstance(about, dict) else {}, nodes, pairs, directed, name, meaning)


READERS = {"json": _from_json, "graphml": _from_graphml, "gml": _from_gml, "edges": _from_edges}


def _missing(name: str, field: str, items: list[Any], keys: tuple[str, ...]) -> Iterable[Problem]:
    """Yield a problem for each of these keys that an item of a list lacks, or that holds a list, a mapping or nothing.

    `name` is that of the file, and `field` that of the list in it.
    """
    for index, item in enumerate(items):
        for key in keys:
            if not isinstance(item, dict) or isinstance(item.get(key), (dict, list, type(None))):
                yield Problem(name, None, None, field_name((field, index, key)), "missing", "the name of a node")


def _graph_data(
    about: Mapping[str, Any],
    nodes: Nodes,
    links: Iterable[tuple[Any, Any, Mapping[str, Any]]],
    directed: bool,
    name: str | None,
    meaning: EdgeMeaning,
) -> dict[str, Any]:
    """Return nodes and links of any format as data of a specification; raise DocumentError with all that is wrong.

    `about` are attributes of the whole graph; nodes come as pairs (id, attributes), links as (source, target,
    attributes), and `directed` says whether links are so; `name` is that of the file, for messages. Unknown attributes
    are left out, but one that looks like a misspelt field is a problem.
    """
    problems: list[Problem] = []
    nodes_by_name: dict[str, dict[str, Any]] = {}
    names = {} if meaning.names is None else _unique_names(nodes, meaning.names, name)
    for key, attributes in nodes:
        called = names.get(key, str(key))
        if not _is_name(key):
            problems.append(Problem(name, None, None, "nodes", f"{called} is not a name", "a text, or a number"))
        elif called in nodes_by_name:
            problems.append(Problem(name, None, None, f"nodes.{called}", "is given twice", "another name"))
        nodes_by_name[called] = _known_attributes(attributes, NODE_KEYS, f"nodes.{called}", name, problems)
        if "position" not in nodes_by_name[called] and (place := _position(attributes)) is not None:
            nodes_by_name[called]["position"] = place
    link_columns = LinkColumns()
    default = meaning.link(directed)
    for source, target, attributes in links:
        if meaning.edges is not None and source == target:
            continue  # graphs that were made for other purposes have such edges
        field = f"links.{source} -> {target}"
        own_attributes = attributes and _known_attributes(attributes, LINK_KEYS, field, name, problems)
        for key in (attributes.keys() & PROCESSES) if attributes else ():
            problems += [Problem(name, None, None, f"{field}.{key}", *misplaced_law(key, str(target)))]
        link_attributes = {**default, **own_attributes} if own_attributes else default
        link_columns.add(names.get(source, str(source)), names.get(target, str(target)), link_attributes)
    if problems:
        raise DocumentError(problems)
    whole = {key: item for key, item in about.items() if key in GRAPH_KEYS and item not in (None, {}, "")}
    return {"kind": "graph", **whole, "nodes": nodes_by_name, "links": link_columns.links().distinct()}


def _is_name(key: object) -> bool:
    """Whether the id of a node can be its name: no truth value, and no infinite number."""
    return not isinstance(key, bool) and not (isinstance(key, float) and not math.isfinite(key))


def _unique_names(nodes: Nodes, attribute: str, name: str | None) -> dict[Any, str]:
    """Return a name for each node id: the text of the node's `attribute`, where it can be a name.

    A node is left out if it lacks the attribute, or if the text is blank, that of several nodes, or the id of another.
    Raise DocumentError, in which `name` is the file, if no node has the attribute.
    """
    texts = {key: " ".join(str(about[attribute]).split()) for key, about in nodes if about.get(attribute) is not None}
    if not texts:
        right = suggestion(attribute, {str(key): None for _, about in nodes for key in about}, "leave names out")
        raise DocumentError([Problem(name, None, None, "names", f"has no node with an attribute {attribute}", right)])
    shares = Counter(texts.values())
    if len(shares) == len(texts) == len([*nodes]) and "" not in shares:
        return texts  # no node keeps its id, which could be the text of another
    ids = {str(key): key for key, _ in nodes}
    return {key: text for key, text in texts.items() if text and shares[text] == 1 and ids.get(text, key) == key}


def _position(attributes: Mapping[str, Any]) -> list[float] | None:
    """Return the position [x, y] of a node, y upwards, from attributes of drawing programs, NetworkX or maps.

    None if it has none. On a map it is that of the Mercator projection, in degrees.
    """
    values = {str(key).lower(): value for key, value in attributes.items()}
    if not values.keys() & POSITION_KEYS:
        return None
    for east, north in MAP_KEYS:
        if (place := _pair((values.get(east), values.get(north)))) is not None:
            latitude = math.radians(max(-NORTHERNMOST, min(NORTHERNMOST, place[1])))
            return [place[0], math.degrees(math.asinh(math.tan(latitude)))]
    viz, pos = values.get("viz"), values.get("pos")
    spot = viz.get("position") if isinstance(viz, dict) else None  # as NetworkX reads GEXF
    written = pos.rstrip("!").split(",") if isinstance(pos, str) else pos  # as Graphviz writes it
    places = [written, *((point.get("x"), point.get("y")) for point in (values, spot) if isinstance(point, dict))]
    place = next(filter(None, map(_pair, places)), None)
    # NetworkX gives the nodes of yEd a shape, and their y grows downwards.
    return [place[0], -place[1]] if place is not None and "shape_type" in values else place


def _pair(values: Any) -> list[float] | None:
    """Return two finite numbers as a list of floats; None if `values` are anything else."""
    try:
        x, y = (float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        return None
    return [x, y] if math.isfinite(x) and math.isfinite(y) else None


def _known_attributes(
    attributes: Mapping[str, Any], keys: frozenset[str], field: str, name: str | None, problems: list[Problem]
) -> dict[str, Any]:
    """Return the attributes of a node or link that are in `keys` and not None.

    Add to `problems` each other attribute that looks like a misspelt one; `field` is where it stands, in the file
    `name`.
    """
    recognised: dict[str, Any] = {}
    for key, value in attributes.items():
        if key in keys:
            recognised[key] = value
        elif isinstance(key, str) and key != "pos" and (hint := misspelling_hint(key, keys)):
            problems.append(Problem(name, None, None, f"{field}.{key}", f"unknown field {short_repr(key)}", hint))
    return {key: value for key, value in recognised.items() if value is not None}


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Switch the garbage collector off within a `with` block or a decorated function, and on again after it if it was
    on.

    It would search millions of new nodes and links again and again, in vain.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


@_no_garbage_collection()
def specification_with_file(document: Document) -> Spec:
    """Return the specification of a document, together with the nodes and links of the graph file that it names.

    Raise DocumentError with all that is wrong in the document or the file.
    """
    # The fields of the document are checked first, the path of the file among them.
    spec = specification(document.data, document)
    assert isinstance(spec, Graph)
    assert spec.file is not None
    path = document.directory / spec.file
    try:
        read = read_graph(path, EdgeMeaning(spec.edges, spec.names))
    except DocumentError as error:
        first = error.problems[0]
        if first.field not in ("file", "names") or first.line is not None:
            raise
        wrong = first.wrong if document.name == str(path) else f"{path} {first.wrong}"
        raise DocumentError([document.problem((first.field,), wrong, first.right)]) from None
    try:
        return specification(joined_data(read, document.data, spec), document)
    except DocumentError:
        # The lines of all nodes and links take longer to find than all else, so only after an error.
        read["links"] = list(read["links"])
        graph, others = node_of(read, Mark(None, None, str(path))), dict(document.others)
        text = read_text(path, LARGEST_GRAPH)
        if _format_of(path, text) == "edges":
            edges = EdgeList(text, str(path), EdgeMeaning(spec.edges, spec.names))
            links = YamlNode(edges.link_nodes(), graph.mark)
            graph, others[str(path)] = YamlNode({**_mapping(graph), "links": links}, graph.mark), edges.source_lines
        whole = replace(document, root=merged_yaml(document.root, graph), others=others)
        return specification(whole.data, whole)


def joined_data(graph_data: dict[str, Any], fields: Mapping[str, Any], spec: Graph) -> dict[str, Any]:
    """Return the data of a graph with the fields of a specification on top; the fields that are about a file become
    None.

    Nodes in both get the attributes of both; links of the specification come first. `spec` are these fields, checked.
    """
    nodes = dict(graph_data["nodes"])
    for name, node in (fields.get("nodes") or {}).items():
        nodes[str(name)] = nodes.get(str(name), {}) | dict(node or {})
    links = cast("Links", spec.links) + graph_data["links"]
    return {**graph_data, **fields, **dict.fromkeys(FILE_KEYS), "nodes": nodes, "links": links}


def merged_yaml(specification: YamlNode, graph: YamlNode) -> YamlNode:
    """Return the YAML tree of a specification joined with that of its graph file, whose fields it overrides.

    Nodes in both get the fields of both; links of the specification come first. Both trees stay as they are, and every
    part keeps its place.
    """
    fields = {**_mapping(graph), **_mapping(specification)}
    for key in FILE_KEYS & fields.keys():
        del fields[key]
    nodes = _mapping(graph.child("nodes"))
    for name, node in _mapping(specification.child("nodes")).items():
        nodes[name] = YamlNode({**_mapping(nodes.get(name)), **_mapping(node)}, node.mark, node.key)
    # Links of the specification come first, so that they keep their numbers in messages.
    links = [*_items(specification.child("links")), *_items(graph.child("links"))]
    fields["nodes"] = YamlNode(nodes, fields["nodes"].mark, fields["nodes"].key)
    fields["links"] = YamlNode(links, fields["links"].mark, fields["links"].key)
    return YamlNode(fields, specification.mark)


def _mapping(node: YamlNode | None) -> dict[str, YamlNode]:
    """Return the entries of a YAML mapping, none for any other node."""
    return dict(node.value) if node is not None and isinstance(node.value, dict) else {}


def _items(node: YamlNode | None) -> list[YamlNode]:
    """Return the items of a YAML list, none for any other node."""
    return node.value if node is not None and isinstance(node.value, list) else []

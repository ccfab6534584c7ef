"""Graphs made elsewhere: GraphML, node-link JSON and NetworkX objects as the plain data of a graph specification.

A specification may name a file of nodes and links beside what it says of them itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from replnet.network.graph_fields import Graph, NodeFields
from replnet.network.specification import Spec, specification
from replnet.text.documents import LARGEST_GRAPH, Document, Mark, Node, file_error, node_of, read_text, split_lines
from replnet.text.errors import InputError, Problem, field_name, shown, suggestion

NODE_KEYS = frozenset(NodeFields.model_fields)
LINK_KEYS = frozenset({"kind", "delay"})
GRAPH_KEYS = frozenset(Graph.model_fields) - {"kind", "file", "nodes", "links"}

Nodes = Iterable[tuple[Any, Mapping[str, Any]]]
Links = Iterable[tuple[Any, Any, Mapping[str, Any]]]


def read_graph(path: Path) -> dict[str, Any]:
    """Nodes, links and defaults of a GraphML or JSON file."""
    text = read_text(path, LARGEST_GRAPH)
    if not text.strip():
        raise file_error(str(path), "is empty", "GraphML or node-link JSON")
    return _from_json(text, str(path)) if text.lstrip()[0] in "{[" else _from_graphml(text, str(path))


def from_networkx(graph: Any, name: str | None = None) -> dict[str, Any]:
    """The data of a NetworkX graph; an undirected edge is a link in both directions."""
    return _plain(graph.graph, graph.nodes(data=True), graph.edges(data=True), graph.is_directed(), name)


def _from_graphml(text: str, name: str) -> dict[str, Any]:
    import networkx as nx

    # Entities could expand without bound, and GraphML needs none.
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        raise file_error(name, "declares XML entities or a DOCTYPE", "GraphML without them")
    try:
        graph = nx.parse_graphml(text.encode())
    except ParseError as error:
        line, column = error.position
        source = next((row for number, row in enumerate(split_lines(text), 1) if number == line), None)
        wrong = f"is not XML: {str(error).split(':')[0]}"
        raise InputError([Problem(name, line, column + 1, "file", wrong, "GraphML or JSON", source)]) from None
    except (nx.NetworkXError, LookupError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise file_error(name, f"is not GraphML: {error}", "GraphML as networkx.write_graphml makes it") from None
    return from_networkx(graph, name)


def _from_json(text: str, name: str) -> dict[str, Any]:
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
    nodes = ((node["id"], {key: item for key, item in node.items() if key != "id"}) for node in data["nodes"])
    return _plain(about if isinstance(about, dict) else {}, nodes, pairs, data.get("directed", True) is not False, name)


def _missing(name: str, field: str, items: list[Any], keys: tuple[str, ...]) -> Iterable[Problem]:
    for index, item in enumerate(items):
        for key in keys:
            if not isinstance(item, dict) or isinstance(item.get(key), (dict, list, type(None))):
                yield Problem(name, None, None, field_name((field, index, key)), "missing", "the name of a node")


def _plain(about: Mapping[str, Any], nodes: Nodes, links: Links, directed: bool, name: str | None) -> dict[str, Any]:
    """One shape for all of them. Attributes that mean nothing here are left out, unless they look like a slip."""
    problems: list[Problem] = []
    named: dict[str, dict[str, Any]] = {}
    for key, attributes in nodes:
        if str(key) in named:
            problems.append(Problem(name, None, None, f"nodes.{key}", "is given twice", "another name"))
        named[str(key)] = _known(attributes, NODE_KEYS, f"nodes.{key}", name, problems)
    listed: dict[tuple[str, str, str], dict[str, Any]] = {}
    for source, target, attributes in links:
        known = _known(attributes, LINK_KEYS, f"links.{source} -> {target}", name, problems)
        if not directed:
            known = {"kind": "peer", "both": True, **known}
        # Multigraphs repeat edges; the same link twice is one link.
        listed.setdefault((str(source), str(target), repr(known)), {"from": str(source), "to": str(target), **known})
    if problems:
        raise InputError(problems)
    whole = {key: item for key, item in about.items() if key in GRAPH_KEYS and item not in (None, {}, "")}
    return {"kind": "graph", **whole, "nodes": named, "links": list(listed.values())}


def _known(
    attributes: Mapping[str, Any], keys: frozenset[str], field: str, name: str | None, problems: list[Problem]
) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, value in attributes.items():
        if key in keys:
            kept[key] = value
        elif isinstance(key, str) and (hint := _slip(key, keys)):
            problems.append(Problem(name, None, None, f"{field}.{key}", f"unknown field {shown(key)}", hint))
    return {key: value for key, value in kept.items() if value is not None}


@lru_cache(maxsize=1_000)
def _slip(key: str, keys: frozenset[str]) -> str:
    """What is meant, if one letter or two make the difference; other tools have names of their own."""
    hint = suggestion(key, keys)
    meant = hint.removeprefix("did you mean ").removesuffix("?")
    near = hint != meant and key[:1] == meant[:1] and key[-1:] == meant[-1:] and abs(len(key) - len(meant)) <= 2
    return hint if near else ""


def with_file(document: Document) -> Spec:
    """The specification with what its file holds written out, so that it stands on its own."""
    # The fields themselves are checked first, the path among them.
    own = specification(document.data, document)
    assert isinstance(own, Graph)
    assert own.file is not None
    path = document.directory / own.file
    try:
        read = read_graph(path)
    except InputError as error:
        first = error.problems[0]
        if first.field != "file" or first.line is not None:
            raise
        raise InputError([document.problem(("file",), f"{path} {first.wrong}", first.right)]) from None
    mine = {key: item for key, item in document.data.items() if key != "file"}
    nodes = read["nodes"] | {
        name: read["nodes"].get(name, {}) | (node or {}) for name, node in (mine.get("nodes") or {}).items()
    }
    links = [*(mine.get("links") or ()), *read["links"]]
    try:
        return specification({**read, **mine, "nodes": nodes, "links": links}, document)
    except InputError:
        # Where everything stands takes longer to work out than all else, and only errors want to know.
        whole = replace(document, root=merged(document.root, node_of(read, Mark(None, None, str(path)))))
        return specification(whole.data, whole)


def merged(mine: Node, theirs: Node) -> Node:
    """The specification on top of what its file holds."""
    fields = {**_mapping(theirs), **_mapping(mine)}
    del fields["file"]
    nodes = _mapping(theirs.child("nodes"))
    for name, node in _mapping(mine.child("nodes")).items():
        nodes[name] = Node({**_mapping(nodes.get(name)), **_mapping(node)}, node.mark, node.key)
    # Links of the specification come first, so that they keep their numbers in messages.
    links = [*_items(mine.child("links")), *_items(theirs.child("links"))]
    fields["nodes"] = Node(nodes, fields["nodes"].mark, fields["nodes"].key)
    fields["links"] = Node(links, fields["links"].mark, fields["links"].key)
    return Node(fields, mine.mark)


def _mapping(node: Node | None) -> dict[str, Node]:
    return dict(node.value) if node is not None and isinstance(node.value, dict) else {}


def _items(node: Node | None) -> list[Node]:
    return node.value if node is not None and isinstance(node.value, list) else []

"""A graph specification that reads its nodes and links from another file."""

from __future__ import annotations

from dataclasses import replace

from replnet.network.graph_fields import Graph
from replnet.network.graph_file import read_graph
from replnet.network.specification import Spec, specification
from replnet.text.documents import Document, Mark, Node, node_of
from replnet.text.errors import InputError


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

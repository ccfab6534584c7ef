"""A network: the specification of a user, with the topology and the graph that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, TypeVar, final

import replnet
from replnet.network.faults import nodes_named
from replnet.network.graph_fields import Graph
from replnet.network.graph_file import from_networkx, is_graph_file, joined_data, specification_with_file
from replnet.network.links import EdgeMeaning
from replnet.network.specification import Spec, specification
from replnet.network.topology import ROLES, Topology
from replnet.text import (
    Document,
    DocumentError,
    FieldError,
    Mark,
    file_error,
    file_path,
    is_installed,
    node_of,
    outline,
    override,
    problem_at,
    read_yaml,
    shipped,
    shipped_names,
    short_repr,
    suggestion,
)

T = TypeVar("T")
EXPERIMENT_FIELDS = frozenset({"title", "vary", "network", "optimise", "formula", "run", "claims"})
"""The fields of which a file that has one, and no kind, is an experiment."""
MOST_INLINE = 200  # nodes drawn in a notebook


@final
@dataclass(frozen=True, eq=True)
class Network:
    """A network with a checked specification (`spec`); its topology is built when it is first asked for, and kept."""

    spec: Spec

    @property
    def kind(self) -> str:
        """The kind of the network, such as "cascade"."""
        return self.spec.kind

    @property
    def name(self) -> str:
        """The name that the user gave, else the kind."""
        return self.spec.name or self.spec.kind

    @cached_property
    def topology(self) -> Topology:
        """The nodes, links and processes of the network in columns, built once.

        Raises FieldError if they do not fit into memory, or if the allocation of downloads has no solution.
        """
        from replnet.network.build import build

        return build(self.spec)

    def __getstate__(self) -> dict[str, Any]:
        return {"spec": self.spec}  # what was derived from it is made again where it is needed

    def derive(self, make: Callable[[Network], T]) -> T:
        """Return `make(self)`, which is computed at the first call with this function and kept with this network."""
        if make not in self._derived:
            self._derived[make] = make(self)
        return self._derived[make]  # type: ignore[no-any-return]

    @cached_property
    def _derived(self) -> dict[Callable[[Network], Any], Any]:
        """The values that `derive` has computed for this network so far, by the function that computed each."""
        return {}

    @property
    def graph(self) -> Any:
        """The network as a networkx.DiGraph; edges point the way the data flows.

        Raises FieldError if it does not fit into memory.
        """
        from replnet.network.build import GRAPH_BYTES, require_room

        require_room(self.size, GRAPH_BYTES)
        return self.topology.graph

    @property
    def sources(self) -> list[str]:
        """The names of the sources."""
        return self._with_role("source")

    @property
    def replicas(self) -> list[str]:
        """The names of the replicas."""
        return self._with_role("replica")

    @property
    def clients(self) -> list[str]:
        """The names of the clients."""
        return self._with_role("client")

    def data(self) -> dict[str, Any]:
        """Return the specification as plain data, laws as text; `Network.from_data` makes the same network of it."""
        return {"kind": self.kind, **self.spec.model_dump(mode="json", exclude_none=True, by_alias=True)}

    @property
    def size(self) -> int:
        """The number of nodes, sources and clients among them."""
        return self.topology.size

    @property
    def unit(self) -> str | None:
        """The unit of time, such as "min"; None if the user named none."""
        return self.spec.unit

    def draw(self, path: str | Path) -> None:
        """Write a picture of the network to a file, whose ending says the format: PNG, SVG or PDF.

        A file that exists is replaced.
        """
        replnet.show.draw(self, path)

    def describe(self) -> str:
        """Return a description as text: groups, their laws, and events per unit of time."""
        return str(replnet.show.describe(self))

    @classmethod
    def from_data(cls, data: Mapping[str, Any], document: Document | None = None) -> Network:
        """Return the network of plain data, as `Network.data` or a section of a file gives it.

        Raise DocumentError with all that is wrong, with lines of `document`, the file that the data comes from, if one
        is given.
        """
        if data.get("kind") == "graph" and data.get("file") is not None:
            return cls(
                specification_with_file(document or Document("", node_of(data, Mark(None, None)), ()))
            ).with_checked_faults(document)
        return cls(specification(data, document)).with_checked_faults(document)

    @classmethod
    def from_graph(cls, graph: Any, **fields: Any) -> Network:
        """Return the network of a NetworkX graph, whose nodes and edges have attributes as in `Network.graph`.

        `fields` are fields of the whole network. Raise DocumentError with all that is wrong.
        """
        spec = specification({**fields, "kind": "graph", "file": "a NetworkX graph"})
        assert isinstance(spec, Graph)
        read = from_networkx(graph, meaning=EdgeMeaning(spec.edges, spec.names))
        return cls(specification(joined_data(read, fields, spec))).with_checked_faults()

    def with_checked_faults(self, document: Document | None = None) -> Network:
        """Return this network; raise DocumentError if a fault names what is no node, group or role of it.

        Crashes of clients are wrong as well. `document` is the file that the network comes from, if any, so that errors
        name lines.
        """
        problems = []
        for at, fault in enumerate(self.spec.faults):
            for key, names in fault.names_used():
                try:
                    if key == "crash" and self.topology.clients[nodes_named(names, self.topology)].any():
                        raise FieldError("", "clients do not crash", "sources and replicas")
                    nodes_named(names, self.topology)
                except FieldError as error:
                    problems.append((("faults", at, key), error.wrong, error.right, False))
        if problems:
            raise DocumentError(map(problem_at(document), problems))
        return self

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes, as sentences, on the tables that its sources were read from: which of their columns are not read."""
        from replnet.network.aggregate import AggregateShape

        tiers = getattr(self.spec, "tiers", ())
        return tuple(note for shape in (self.spec, *tiers) if isinstance(shape, AggregateShape) for note in shape.notes)

    def _with_role(self, role: str) -> list[str]:
        """Return the names of the nodes with this role (source, replica or client), in the order of their numbers."""
        blocks = [block for block in self.topology.blocks if ROLES[block.role] == role]
        named = ((int(i), name) for block in blocks for i, name in zip(block.nodes, block.names, strict=True))
        return [name for _, name in sorted(named)]

    def __repr__(self) -> str:
        options = self.spec.model_dump(mode="json", exclude_defaults=True, by_alias=True)
        fields = {key: value for key, value in options.items() if key not in ("kind", "nodes", "links", "pools")}
        return f"{self.kind}({', '.join(f'{key}={outline(value)}' for key, value in fields.items())})"

    def _repr_html_(self) -> str:
        text = f"<pre>{escape(self.describe())}</pre>"
        if self.size > MOST_INLINE or not is_installed("matplotlib"):
            return text
        return text + str(replnet.show.svg(self))


Given = Any
"""A network as users give it: a Network, the name of one that comes with replnet, a file, or a NetworkX graph."""


def network_of(given: Given, overrides: Iterable[str] = ()) -> Network:
    """Return the network that a user gave, with overrides of its fields, texts `key=value`, applied in turn.

    `given` is a Network, the name of one that comes with replnet, a file, or a NetworkX graph; a Network without
    overrides is returned as it is. Raise DocumentError with all that is wrong, or FieldError if it is none of these.
    """
    if isinstance(given, str | Path):
        return load(given, overrides)
    if not isinstance(given, Network) and not hasattr(given, "is_directed"):
        right = "a name, a file, a NetworkX graph, or a network such as rn.cascade(...)"
        raise FieldError("network", f"{short_repr(given)} is no network", right)
    network = given if isinstance(given, Network) else Network.from_graph(given)
    overrides = tuple(overrides)
    if not overrides:
        return network
    document = override(Document("", node_of(network.data(), Mark(None, None)), ()), overrides)
    return Network.from_data(document.data, document)


def load(source: str | Path, overrides: Iterable[str] = ()) -> Network:
    """Return the network of a file or of a name that ships with replnet, with `key=value` overrides applied.

    The file is a specification in YAML, or a graph: GraphML, GML, node-link JSON or a list of edges. Raise
    DocumentError with all that is wrong.

    >>> rn.load("cascade", ["depth=2"]).size
    13
    """
    document = override(document_of(source), overrides)
    network = Network.from_data(document.data, document)
    return network if network.spec.name else Network(network.spec.model_copy(update={"name": Path(document.name).stem}))


def document_of(source: str | Path) -> Document:
    """Return the specification of a network as a document: a file in YAML, a graph file, or a name that ships with
    replnet.

    That of a graph file only names the file. Raise DocumentError if there is none, or it cannot be read, or it is an
    experiment.
    """
    path = file_of(source)
    if not is_graph_file(path):
        document = read_yaml(path)
        if is_experiment(document):
            raise file_error(document.name, "is an experiment, and no network", f"replnet sweep {source}")
        return document
    fields = node_of({"kind": "graph", "file": path.name}, Mark(None, None))
    return Document(str(path), fields, ())


def is_experiment(document: Document) -> bool:
    """Whether a document has fields that make it an experiment, such as `vary`, and no kind, as networks have."""
    fields = document.fields()
    return "kind" not in fields and not EXPERIMENT_FIELDS.isdisjoint(fields)


def file_of(source: str | Path) -> Path:
    """Return the path of this file, or of the file of the network with this name that comes with replnet.

    Raise DocumentError if there is neither.
    """
    path = file_path("network", source)
    if not path.is_file():
        path = shipped(str(source)) or path
    if not path.exists() and shipped(str(source), "experiments"):
        raise file_error(str(source), "is an experiment, and no network", f"replnet sweep {source}")
    if not path.exists():
        right = f"a file, or a network that comes with replnet: {suggestion(str(source), shipped_names())}"
        raise file_error(str(source), "does not exist", right)
    return path

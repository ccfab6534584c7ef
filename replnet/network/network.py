"""A network: what the user specified, and the graph that it means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any, final

from replnet.network.faults import struck
from replnet.network.graph_fields import Graph
from replnet.network.graph_file import Meaning, from_networkx, joined, with_file
from replnet.network.specification import Spec, specification
from replnet.network.topology import ROLES, Topology
from replnet.text.documents import Document, Mark, file_error, node_of, read_yaml, shipped, shipped_names
from replnet.text.errors import FieldError, InputError, suggestion
from replnet.text.extras import installed
from replnet.text.overrides import override
from replnet.text.validation import located

MOST_INLINE = 200  # nodes drawn in a notebook


@final
@dataclass(frozen=True, eq=True)
class Network:
    """A checked specification, and its NetworkX graph, built when first asked for."""

    spec: Spec

    @property
    def kind(self) -> str:
        return self.spec.kind

    @property
    def name(self) -> str:
        return self.spec.name or self.spec.kind

    @cached_property
    def topology(self) -> Topology:
        """What the specification means, in columns."""
        from replnet.network.build import build

        return build(self.spec)

    @property
    def graph(self) -> Any:
        """The networkx.DiGraph; edges point the way the data flows."""
        from replnet.network.build import GRAPH, require_room

        require_room(self.size, GRAPH)
        return self.topology.graph

    @property
    def sources(self) -> list[str]:
        return self._with_role("source")

    @property
    def replicas(self) -> list[str]:
        return self._with_role("replica")

    @property
    def clients(self) -> list[str]:
        return self._with_role("client")

    def data(self) -> dict[str, Any]:
        """Plain data that gives the same network again, laws as text."""
        return {"kind": self.kind, **self.spec.model_dump(mode="json", exclude_none=True, by_alias=True)}

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return self.topology.size

    @property
    def unit(self) -> str | None:
        """What it counts time in, if that is said."""
        return self.spec.unit

    def draw(self, path: str | Path) -> None:
        """Into a PNG, SVG or PDF."""
        from replnet.network.pictures.drawing import draw

        draw(self, path)

    def describe(self) -> str:
        """Groups, their laws and how much happens per unit of time."""
        from replnet.network.pictures.description import describe

        return describe(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any], document: Document | None = None) -> Network:
        """The network of plain data, such as `data()` or a section of a file gives."""
        if data.get("kind") == "graph" and data.get("file") is not None:
            return cls(with_file(document or Document("", node_of(data, Mark(None, None)), ()))).checked(document)
        return cls(specification(data, document)).checked(document)

    @classmethod
    def from_graph(cls, graph: Any, **fields: Any) -> Network:
        """The network of a NetworkX graph whose attributes follow `Network.graph`; `fields` are those beside a file."""
        own = specification({**fields, "kind": "graph", "file": "a NetworkX graph"})
        assert isinstance(own, Graph)
        read = from_networkx(graph, meaning=Meaning(own.edges, own.names))
        return cls(specification(joined(read, fields, own))).checked()

    def checked(self, document: Document | None = None) -> Network:
        """Itself; what only the whole graph can tell is that every fault strikes someone."""
        problems = []
        for at, fault in enumerate(self.spec.faults):
            for key, names in fault.struck():
                try:
                    if key == "crash" and self.topology.clients[struck(names, self.topology)].any():
                        raise FieldError("", "clients do not crash", "sources and replicas")
                    struck(names, self.topology)
                except FieldError as error:
                    problems.append((("faults", at, key), error.wrong, error.right, False))
        if problems:
            raise InputError(map(located(document), problems))
        return self

    def _with_role(self, role: str) -> list[str]:
        blocks = [block for block in self.topology.blocks if ROLES[block.role] == role]
        named = ((int(i), name) for block in blocks for i, name in zip(block.nodes, block.names, strict=True))
        return [name for _, name in sorted(named)]

    def __repr__(self) -> str:
        said = self.spec.model_dump(mode="json", exclude_defaults=True, by_alias=True)
        fields = {key: value for key, value in said.items() if key not in ("kind", "nodes", "links", "pools")}
        return f"{self.kind}({', '.join(f'{key}={value!r}' for key, value in fields.items())})"

    def _repr_html_(self) -> str:
        text = f"<pre>{escape(self.describe())}</pre>"
        if self.size > MOST_INLINE or not installed("matplotlib"):
            return text
        from replnet.network.pictures.drawing import svg

        return text + svg(self)


def draw(network: Given, path: str | Path) -> None:
    """A picture of the network as a PNG, SVG or PDF, by the name of the file.

    >>> rn.network.draw("cascade", "tree.svg")
    """
    network_of(network).draw(path)


Given = Any
"""A network as users give it: made, the name of one that comes with replnet, a file, or a NetworkX graph."""


def network_of(given: Given, overrides: Iterable[str] = ()) -> Network:
    """The network that is meant, with `key=value` overrides applied."""
    if isinstance(given, str | Path):
        return load(given, overrides)
    made = given if isinstance(given, Network) else Network.from_graph(given)
    overrides = tuple(overrides)
    if not overrides:
        return made
    document = override(Document("", node_of(made.data(), Mark(None, None)), ()), overrides)
    return Network.from_data(document.data, document)


def load(source: str | Path, overrides: Iterable[str] = ()) -> Network:
    """The network of a YAML file, or of one that ships with replnet by its name, with `key=value` overrides applied.

    >>> rn.load("cascade", ["depth=2"]).size
    13
    """
    path = file_of(source)
    document = override(read_yaml(path), overrides)
    network = Network.from_data(document.data, document)
    return network if network.spec.name else Network(network.spec.model_copy(update={"name": path.stem}))


def file_of(source: str | Path) -> Path:
    """The file that is meant, or that of a network that comes with replnet."""
    path = Path(source)
    if not path.is_file():
        path = shipped(str(source)) or path
    if not path.exists() and shipped(str(source), "experiments"):
        raise file_error(str(source), "is an experiment, and no network", f"replnet sweep {source}")
    if not path.exists():
        right = f"a file, or a network that comes with replnet: {suggestion(str(source), shipped_names())}"
        raise file_error(str(source), "does not exist", right)
    return path


def single(**fields: Any) -> Network:
    """One source, one replica: updates, downloads.

    >>> net = rn.single(updates="exponential(rate=1)", downloads="constant(period=0.5)")
    >>> round(rn.predict(net).rows[0].predicted, 4)
    0.7869
    """
    return _made("single", fields)


def cascade(**fields: Any) -> Network:
    """A tree of replicas: depth, branching, updates, downloads (one law, or a list of one per level).

    >>> net = rn.cascade(depth=3, branching=2, updates="exponential(rate=1)", downloads="exponential(rate=4)")
    >>> [round(row.predicted, 4) for row in rn.predict(net).rows]
    [0.8, 0.64, 0.512]
    """
    return _made("cascade", fields)


def cooperative(**fields: Any) -> Network:
    """A cluster whose replicas poll one another: replicas, peers, select, updates, downloads, polls.

    >>> laws = {"updates": "exponential(rate=1)", "downloads": "exponential(rate=1)", "polls": "exponential(rate=4)"}
    >>> round(rn.predict(rn.cooperative(replicas=10, peers=1, **laws)).rows[0].predicted, 4)
    0.68
    """
    return _made("cooperative", fields)


def redundant(**fields: Any) -> Network:
    """Clients who ask several replicas: replicas, ask, clients, updates, downloads, queries.

    >>> laws = {"updates": "exponential(rate=1)", "downloads": "exponential(rate=1)", "queries": "constant(rate=1)"}
    >>> net = rn.redundant(replicas=5, ask=2, **laws)
    >>> {row.group: round(row.predicted, 4) for row in rn.predict(net).rows if row.metric == "freshness"}
    {'level 1': 0.5, 'clients': 0.6667}
    """
    return _made("redundant", fields)


def aggregate(**fields: Any) -> Network:
    """Copies of many sources within a budget: sources, updates, rates, weights, budget, order, allocate, replicas.

    >>> net = rn.aggregate(rates=[1, 2, 5], weights=[1, 1, 1], budget=4, order="fixed", allocate="freshness")
    >>> rn.predict(net).table.round(4)[["group", "metric", "predicted"]].head(3)
        group     metric  predicted
    0  copies  freshness     0.4955
    1  copies  any_fresh     0.8967
    2  copies  all_fresh     0.0902
    """
    return _made("aggregate", fields)


def graph(source: Any = None, **fields: Any) -> Network:
    """Nodes and links by name: nodes, links, or a file, or a NetworkX graph; fields are defaults of its nodes.

    >>> nodes = {"s": {"role": "source", "updates": "exponential(rate=1)"}, "a": {"downloads": "exponential(rate=3)"}}
    >>> net = rn.graph(nodes=nodes, links=[{"from": "s", "to": "a"}])
    >>> net.replicas, rn.predict(net).rows[0].predicted
    (['a'], 0.75)
    """
    return _made("graph", fields) if source is None else Network.from_graph(source, **fields)


def compose(**fields: Any) -> Network:
    """Networks as tiers of one another: updates, tiers, clients.

    >>> tree = {"kind": "cascade", "depth": 2, "branching": 2, "downloads": "exponential(rate=4)"}
    >>> leaves = {"kind": "single", "downloads": "exponential(rate=4)"}
    >>> net = rn.compose(updates="exponential(rate=1)", tiers=[tree, leaves])
    >>> {row.group: round(row.predicted, 4) for row in rn.predict(net).rows}
    {'tier 1 level 1': 0.8, 'tier 1 level 2': 0.64, 'tier 2': 0.512}
    """
    return _made("compose", fields)


def _made(kind: str, fields: dict[str, Any]) -> Network:
    return Network.from_data({"kind": kind, **fields})

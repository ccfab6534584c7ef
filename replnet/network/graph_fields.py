"""Networks that name their nodes and links."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, final

from pydantic import BeforeValidator, Field, ValidationError, ValidationInfo, field_validator, model_validator

from replnet.network.fields import Bandwidth, Count, LawField, Name, Named, Part
from replnet.network.links import EVERY, FORMS, LinksField
from replnet.network.parts import HELP, Whole
from replnet.text import FieldError, FieldsError, short_repr, suggestion

if TYPE_CHECKING:
    from replnet.network.graph_columns import GraphColumns

SELECT = (
    "which peers a poll asks: random, or recent, the latest of its pool to contact its upstream, "
    "as that told at the last download"
)

GROUP = (
    "where tables count it; by default `level N`, N downloads from the nearest source, in which polls do not count; "
    "what polls alone reach is in `by polls`"
)


def _two_numbers(value: object) -> object:
    """Return a position as it is; raise FieldError unless it is a list or tuple of two finite numbers."""
    pair = value if isinstance(value, list | tuple) and len(value) == 2 else [None]
    if any(isinstance(x, bool) or not isinstance(x, int | float) or not isfinite(x) for x in pair):
        raise FieldError("", f"{short_repr(value)} is no position", "two numbers, such as [48.9, 2.4]")
    return value


Position = Annotated[tuple[float, float], BeforeValidator(_two_numbers)]


LINKED = f"links of the network, beside nodes: links: [a -> b]; {FORMS}"


@final
class NodeFields(Part):
    """The fields of a node of a graph specification.

    Those left out are inferred from its links or taken from the defaults of the network.
    """

    HINTS: ClassVar[Mapping[str, str]] = (
        dict.fromkeys(("type", "kind"), "role: source, replica or client")
        | dict.fromkeys(("upstream", "upstreams", "parent", "from", "source"), LINKED)
        | dict.fromkeys(("children", "downstream", "to", "links", "edges", "neighbors", "neighbours"), LINKED)
        | dict.fromkeys(("rate", "period", "interval", "law"), "a law of its own: downloads: exponential(rate=2)")
    )
    role: Literal["source", "replica", "client"] | None = Field(None, description="source, replica or client")
    updates: LawField | None = Field(None, description=HELP["updates"])
    downloads: LawField | None = Field(None, description=HELP["downloads"])
    polls: LawField | None = Field(None, description=HELP["polls"])
    queries: LawField | None = Field(None, description=HELP["queries"])
    peers: Count | None = Field(None, description="k, how many others a poll asks")
    select: Literal["random", "recent"] | None = Field(None, description=SELECT)
    two_way: bool | None = Field(None, description=HELP["two_way"])
    ask: Count | None = Field(
        None,
        description="how many it asks, drawn at random: of its upstreams (by default all), or of replicas (1)",
    )
    pool: Name | None = Field(None, description="the pool it polls or asks; replicas of one pool are peers")
    group: Name | None = Field(None, description=GROUP)
    bandwidth: Bandwidth | None = Field(None, description=HELP["bandwidth"])
    position: Position | None = Field(None, description="where pictures show it: [x, y], to the right and up")

    @property
    def implied_role(self) -> str | None:
        """The role that is given, or that the laws of the node imply: source, client or replica; None if neither."""
        if self.role is None and self.updates is not None:
            return "source"
        if self.role is None and self.queries is not None:
            return "client"
        if self.role is None and (self.downloads is not None or self.polls is not None):
            return "replica"
        return self.role


def _allow_nothing(schema: dict[str, Any]) -> None:
    """Change the JSON Schema of the nodes, in place, so that null may stand after the name of a node."""
    schema["additionalProperties"] = {"anyOf": [schema["additionalProperties"], {"type": "null"}]}


def _check_alike_once(nodes: Mapping[str, Any], info: ValidationInfo) -> dict[str, Any]:
    """Return the fields of nodes by name, as NodeFields; they are checked once for all nodes whose fields are equal.

    Fields that are wrong, or that are not all texts, are left as they are, to be checked later with an error that names
    the node.
    """
    checked: dict[tuple[Any, ...], Any] = {}
    nodes_checked = dict[str, Any]()
    for name, fields in nodes.items():
        if isinstance(fields, dict) and all(isinstance(value, str) for value in fields.values()):
            key = tuple(fields.items())
            if key not in checked:
                try:
                    checked[key] = NodeFields.model_validate(fields, context=info.context)
                except ValidationError:
                    checked[key] = fields
            fields = checked[key]
        nodes_checked[name] = fields
    return nodes_checked


FILE = "a graph: GraphML, GML, node-link JSON, or a list of edges (CSV, TSV, .edgelist), relative to this file"
EDGES = (
    "what the edges of the file are: peers, who poll one another, or downloads, from the source of an edge to its "
    "target; if left out, undirected ones are peers, and directed ones, as in lists of edges, "
    "downloads; edges with a kind keep it"
)
NAMES = (
    "the attribute of the file's nodes that names them, such as label; nodes that share it or lack it keep their ids"
)


@final
class Graph(Whole):
    """A network of nodes and links by name, or from a file.

    Several sources, several upstreams and cycles of pulls are allowed.
    """

    HINTS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("connections", "arcs", "link"), f"links: [a -> b]; {FORMS}"),
        **dict.fromkeys(("vertices", "node", "hosts", "servers"), "nodes: {paris: {downloads: exponential(rate=1)}}"),
    }
    kind: Literal["graph"] = Field(description="graph: nodes and links by name, or from a file")
    file: str | None = Field(None, description=FILE)
    edges: Literal["peers", "downloads"] | None = Field(None, description=EDGES)
    names: str | None = Field(None, description=NAMES)
    nodes: Annotated[dict[str, NodeFields], BeforeValidator(_check_alike_once), Named] = Field(
        {}, description="names of nodes, each with its fields, or nothing", json_schema_extra=_allow_nothing
    )
    links: LinksField = Field((), validate_default=True, description=f"a list of links: {FORMS}")
    pools: dict[str, tuple[str, ...]] | None = Field(
        None, description="the members of pools by name; by default the replicas that name the pool"
    )
    updates: LawField | None = Field(None, description=f"default of the sources: {HELP['updates']}")
    downloads: LawField | None = Field(None, description=f"default of replicas with an upstream: {HELP['downloads']}")
    polls: LawField | None = Field(None, description=f"default of replicas with peers: {HELP['polls']}")
    queries: LawField | None = Field(None, description=f"default of the clients: {HELP['queries']}")
    peers: Count = Field(1, description="default k of polls; a node with fewer peers asks them all")
    select: Literal["random", "recent"] = Field("random", description=f"default of polls: {SELECT}")
    two_way: bool = Field(False, description=f"default of polls: {HELP['two_way']}")
    ask: Count = Field(1, description="default of clients: how many replicas a query asks")

    @field_validator("edges", mode="before")
    @classmethod
    def _not_links(cls, edges: object) -> object:
        """Return the meaning of edges as it is; raise FieldError for a list or mapping, which is probably of links."""
        if isinstance(edges, list | tuple | Mapping):
            right = f"links: {short_repr(edges)}" if isinstance(edges, list) else f"links: [a -> b]; {FORMS}"
            raise FieldError("", "says what the edges of a file are, peers or downloads", right)
        return edges

    @field_validator("nodes")
    @classmethod
    def _known_name(cls, nodes: dict[str, NodeFields]) -> dict[str, NodeFields]:
        """Return the nodes unchanged; raise FieldsError if one is called `*`, which stands for every replica."""
        if EVERY in nodes:
            raise FieldsError([((EVERY,), "stands for every replica", "another name")])
        return nodes

    @field_validator("pools")
    @classmethod
    def _check_members(cls, pools: dict[str, Any] | None, info: ValidationInfo) -> dict[str, Any] | None:
        """Return the pools unchanged; raise FieldsError with each member that is no node.

        `info.context` may have the names of all nodes; without them (None), as with a file, nothing is checked.
        """
        nodes = (info.context or {}).get("nodes")
        if nodes is not None and pools is not None:
            strangers = [(pool, name) for pool, names in pools.items() for name in names if name not in nodes]
            faults = [((pool,), f"there is no node {name}", suggestion(name, nodes)) for pool, name in strangers]
            if faults:
                raise FieldsError(faults)
        return pools

    @model_validator(mode="after")
    def _check_whole(self) -> Graph:
        """Return this model; raise FieldsError where nodes and links do not fit together.

        Where a file is named, which adds to them, that is checked later.
        """
        if self.file is not None:
            return self
        if file_fields := [key for key in ("edges", "names") if getattr(self, key) is not None]:
            raise FieldsError([((key,), "describes a file, and none is given", "file: a graph") for key in file_fields])
        self.columns  # noqa: B018  raises where nodes and links do not fit together
        return self

    @cached_property
    def columns(self) -> GraphColumns:
        """The nodes and links with their roles, laws and kinds, ready to become a topology."""
        from replnet.network.graph_columns import graph_columns

        return graph_columns(self)

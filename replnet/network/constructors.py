"""Networks of each kind in Python: `rn.cascade(depth=4, ...)`, with every field of the kind as a parameter.

A function here states the parameters, their types and their defaults, for editors and type checkers; its body is the
specification of its kind, which checks the fields that are given as it does those of a file. A test holds the two
against each other.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Protocol, TypeAlias

from replnet.laws import Law
from replnet.network.network import Network
from replnet.network.specification import KINDS
from replnet.text import FieldError

if TYPE_CHECKING:
    import networkx as nx

    from replnet.network.parts import TimeUnit

Fields = ParamSpec("Fields")


class FrozenDistribution(Protocol):
    """A distribution of SciPy with its parameters, such as scipy.stats.gamma(2)."""

    dist: Any

    def isf(self, q: Any) -> Any: ...


class DataFrameLike(Protocol):
    """A table whose columns are known by their names, such as a DataFrame of pandas."""

    columns: Any

    def __getitem__(self, column: Any) -> Any: ...


class ArrayLike(Protocol):
    """An array or a column of numbers, of NumPy or pandas."""

    def tolist(self) -> Any: ...


LawLike: TypeAlias = Law | str | Mapping[str, Any] | FrozenDistribution
"""What describes a law: a law, its text such as "exponential(rate=2)", a mapping, or a distribution of SciPy."""
Table: TypeAlias = os.PathLike[str] | DataFrameLike | ArrayLike
"""The path of a CSV or Parquet file, a DataFrame, or an array, with a row per source."""
PerSource: TypeAlias = Sequence[float] | LawLike | Table
"""Values with one per source: a list, a table, or a law whose quantiles they are."""
Quantity: TypeAlias = float | str
"""A number, or a text with a unit, such as "20ms" or "2/s"."""
Faults: TypeAlias = Sequence[Mapping[str, Any]]
"""A list of crashes, cuts and losses, such as {"lose": 0.1}."""


def _of_kind(kind: str) -> Callable[[Callable[Fields, Network]], Callable[Fields, Network]]:
    """Return a decorator that makes a declared function build a network of this kind from what it is called with.

    The fields that are given go to the specification of the kind; DocumentError names all that is wrong with them. The
    documentation of the function is continued with that of the fields.
    """

    def decorate(declared: Callable[Fields, Network]) -> Callable[Fields, Network]:
        names = list(inspect.signature(declared).parameters)

        @wraps(declared)
        def construct(*values: Fields.args, **fields: Fields.kwargs) -> Network:
            if len(values) > len(names):
                wrong = f"takes {len(names)} arguments, and {len(values)} were given"
                raise FieldError(f"{kind}()", wrong, ", ".join(names))
            return _network({"kind": kind, **dict(zip(names, values, strict=False)), **fields})

        construct.__doc__ = f"{inspect.cleandoc(declared.__doc__ or '')}\n\n{_documentation(kind)}"
        return construct

    return decorate


def _network(fields: dict[str, Any]) -> Network:
    """Return the network with these fields, or that of the NetworkX graph that they have as `source`.

    Raise DocumentError with all that is wrong.
    """
    source = fields.pop("source", None)
    if source is None:
        return Network.from_data(fields)
    del fields["kind"]
    return Network.from_graph(source, **fields)


def _documentation(kind: str) -> str:
    """Return a line for each field of a kind of network: its name and what its specification says of it."""
    fields = KINDS[kind].model_fields.items()
    return "\n".join(["Fields:", *(f"    {name}: {about.description}" for name, about in fields if name != "kind")])


@_of_kind("single")
def single(  # type: ignore[empty-body]
    updates: LawLike,
    downloads: LawLike,
    clients: Mapping[str, Any] | None = None,
    *,
    name: str | None = None,
    title: str | None = None,
    unit: TimeUnit | None = None,
    bandwidth: Quantity | None = None,
    delay: Quantity | LawLike = 0.0,
    queue: int = 1000,
    charge: Literal["issued", "both"] = "issued",
    faults: Faults = (),
    start: Literal["fresh"] | None = None,
) -> Network:
    """Return a network of one source and one replica.

    >>> net = rn.single(updates="exponential(rate=1)", downloads="constant(period=0.5)")
    >>> round(rn.predict(net).rows[0].predicted, 4)
    0.7869
    """


@_of_kind("cascade")
def cascade(  # type: ignore[empty-body]
    depth: int | None = None,
    branching: int | Sequence[int] = 1,
    *,
    updates: LawLike,
    downloads: LawLike | Sequence[LawLike],
    clients: Mapping[str, Any] | None = None,
    name: str | None = None,
    title: str | None = None,
    unit: TimeUnit | None = None,
    bandwidth: Quantity | None = None,
    delay: Quantity | LawLike = 0.0,
    queue: int = 1000,
    charge: Literal["issued", "both"] = "issued",
    faults: Faults = (),
    start: Literal["fresh"] | None = None,
) -> Network:
    """Return a tree of replicas, each of which downloads from the one above it.

    >>> net = rn.cascade(depth=3, branching=2, updates="exponential(rate=1)", downloads="exponential(rate=4)")
    >>> [round(row.predicted, 4) for row in rn.predict(net).rows]
    [0.8, 0.64, 0.512]
    >>> rn.cascade(branching=[10, 3], updates="exponential(rate=1)", downloads="exponential(rate=4)").size
    41
    """


@_of_kind("cooperative")
def cooperative(  # type: ignore[empty-body]
    replicas: int,
    peers: int = 1,
    *,
    updates: LawLike,
    downloads: LawLike,
    polls: LawLike,
    select: Literal["random", "recent"] = "random",
    two_way: bool = False,
    clients: Mapping[str, Any] | None = None,
    name: str | None = None,
    title: str | None = None,
    unit: TimeUnit | None = None,
    bandwidth: Quantity | None = None,
    delay: Quantity | LawLike = 0.0,
    queue: int = 1000,
    charge: Literal["issued", "both"] = "issued",
    faults: Faults = (),
    start: Literal["fresh"] | None = None,
) -> Network:
    """Return a cluster of replicas that poll one another.

    >>> laws = {"updates": "exponential(rate=1)", "downloads": "exponential(rate=1)", "polls": "exponential(rate=4)"}
    >>> round(rn.predict(rn.cooperative(replicas=10, peers=1, **laws)).rows[0].predicted, 4)
    0.68
    """


@_of_kind("redundant")
def redundant(  # type: ignore[empty-body]
    replicas: int,
    ask: int,
    *,
    updates: LawLike,
    downloads: LawLike,
    queries: LawLike,
    clients: int = 1,
    name: str | None = None,
    title: str | None = None,
    unit: TimeUnit | None = None,
    bandwidth: Quantity | None = None,
    delay: Quantity | LawLike = 0.0,
    queue: int = 1000,
    charge: Literal["issued", "both"] = "issued",
    faults: Faults = (),
    start: Literal["fresh"] | None = None,
) -> Network:
    """Return a network whose clients ask several independent replicas and keep the freshest answer.

    >>> laws = {"updates": "exponential(rate=1)", "downloads": "exponential(rate=1)", "queries": "constant(rate=1)"}
    >>> net = rn.redundant(replicas=5, ask=2, **laws)
    >>> {row.group: round(row.predicted, 4) for row in rn.predict(net).rows if row.metric == "freshness"}
    {'level 1': 0.5, 'clients': 0.6667}
    """


@_of_kind("aggregate")
def aggregate(  # type: ignore[empty-body]
    sources: int | None = None,
    *,
    updates: LawLike | Sequence[LawLike] = "exponential(rate=1)",
    rates: PerSource | None = None,
    weights: PerSource | None = None,
    names: Sequence[str] | None = None,
    budget: Quantity | None = None,
    order: Literal["independent", "fixed", "random", "purely random", "carousel"] = "independent",
    downloads: LawLike | None = None,
    allocate: str | Sequence[float] | Table = "uniform",
    replicas: int = 1,
    ask: int = 1,
    share: Literal["turns", "independently"] = "turns",
    queries: LawLike | None = None,
    name: str | None = None,
    title: str | None = None,
    unit: TimeUnit | None = None,
    bandwidth: Quantity | None = None,
    delay: Quantity | LawLike = 0.0,
    queue: int = 1000,
    charge: Literal["issued", "both"] = "issued",
    faults: Faults = (),
    start: Literal["fresh"] | None = None,
) -> Network:
    """Return a network that copies many sources within a budget of downloads.

    >>> net = rn.aggregate(rates=[1, 2, 5], weights=[1, 1, 1], budget=4, order="fixed", allocate="freshness")
    >>> rn.predict(net).table.round(4)[["group", "metric", "predicted"]].head(3)
        group     metric  predicted
    0  copies  freshness     0.4955
    1  copies  any_fresh     0.8967
    2  copies  all_fresh     0.0902
    """


@_of_kind("compose")
def compose(  # type: ignore[empty-body]
    tiers: Sequence[Mapping[str, Any]],
    *,
    updates: LawLike | None = None,
    clients: Mapping[str, Any] | None = None,
    name: str | None = None,
    title: str | None = None,
    unit: TimeUnit | None = None,
    bandwidth: Quantity | None = None,
    delay: Quantity | LawLike = 0.0,
    queue: int = 1000,
    charge: Literal["issued", "both"] = "issued",
    faults: Faults = (),
    start: Literal["fresh"] | None = None,
) -> Network:
    """Return a network of tiers below one another.

    >>> tree = {"kind": "cascade", "depth": 2, "branching": 2, "downloads": "exponential(rate=4)"}
    >>> leaves = {"kind": "single", "downloads": "exponential(rate=4)"}
    >>> net = rn.compose(updates="exponential(rate=1)", tiers=[tree, leaves])
    >>> {row.group: round(row.predicted, 4) for row in rn.predict(net).rows}
    {'tier 1 level 1': 0.8, 'tier 1 level 2': 0.64, 'tier 2': 0.512}
    """


@_of_kind("graph")
def graph(  # type: ignore[empty-body]
    source: nx.Graph | None = None,
    *,
    file: str | None = None,
    edges: Literal["peers", "downloads"] | None = None,
    names: str | None = None,
    nodes: Mapping[str, Mapping[str, Any]] | None = None,
    links: Sequence[Any] = (),
    pools: Mapping[str, Sequence[str]] | None = None,
    updates: LawLike | None = None,
    downloads: LawLike | None = None,
    polls: LawLike | None = None,
    queries: LawLike | None = None,
    peers: int = 1,
    select: Literal["random", "recent"] = "random",
    two_way: bool = False,
    ask: int = 1,
    name: str | None = None,
    title: str | None = None,
    unit: TimeUnit | None = None,
    bandwidth: Quantity | None = None,
    delay: Quantity | LawLike = 0.0,
    queue: int = 1000,
    charge: Literal["issued", "both"] = "issued",
    faults: Faults = (),
    start: Literal["fresh"] | None = None,
) -> Network:
    """Return a network of named nodes and links, as fields, a file or a NetworkX graph give them.

    `source` is a NetworkX graph, whose nodes and edges have these fields as attributes.

    >>> nodes = {"s": {"role": "source", "updates": "exponential(rate=1)"}, "a": {"downloads": "exponential(rate=3)"}}
    >>> net = rn.graph(nodes=nodes, links=[{"from": "s", "to": "a"}])
    >>> net.replicas, rn.predict(net).rows[0].predicted
    (['a'], 0.75)
    """

"""Specifications of networks: one model per kind, the fields as users write them.

A shape has the fields of the replicas of a kind, without the source above them. A
network is a shape with updates; a tier is a shape below another tier.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from operator import mul
from typing import Annotated, Any, ClassVar, Literal, final

from pydantic import Field, TypeAdapter, ValidationInfo, field_validator, model_validator

from replnet.laws import FieldError, Law
from replnet.network.aggregate import Aggregate, AggregateShape
from replnet.network.fields import (
    MOST_REPLICAS,
    TREE_DEPTH,
    AtLeastTwo,
    Bandwidth,
    Branching,
    Count,
    CountOrNone,
    LastOrNumber,
    LawField,
    Laws,
    Part,
    TreeDepth,
)
from replnet.network.graph_fields import Graph
from replnet.network.parts import HELP, Whole
from replnet.text import Document, FieldsError, editor_schema, validate_by


class ClientFields(Part):
    """Abstract: the fields of clients, which ask several replicas and keep the freshest answer."""

    number: Count = Field(1, description="how many clients")
    ask: Count = Field(1, description=HELP["ask"])
    queries: LawField = Field(description=HELP["queries"])


@final
class Clients(ClientFields):
    """The clients of a network with one source, which ask the replicas of one `level`."""

    level: LastOrNumber = Field("last", description="the level they ask: last, or a number from 1")


class SingleShape(Part):
    """Abstract: the fields of a network or a tier with a single replica, without the source above it."""

    kind: Literal["single"] = Field(description="single: one source, one replica")
    downloads: LawField = Field(description=HELP["downloads"])

    @classmethod
    def sizes(cls, fields: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the number of replicas in each level: (1,), one level of one replica, whatever the `fields`."""
        return (1,)


def _without_default(schema: dict[str, Any]) -> None:
    """Remove the default from the JSON Schema of a field that may be left out and then follows from others."""
    schema.pop("default", None)


class CascadeShape(Part):
    """Abstract: the fields of a network or a tier whose replicas form a tree, without the source above it."""

    HINTS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("levels", "height", "layers", "tiers"), "depth: 4"),
        **dict.fromkeys(
            ("fanout", "fan_out", "children", "degree", "width"), "branching: 3, or one per level: [10, 3]"
        ),
    }
    kind: Literal["cascade"] = Field(description="cascade: a tree, each replica downloads from the one above")
    depth: TreeDepth = Field(None, validate_default=True, description=TREE_DEPTH, json_schema_extra=_without_default)
    branching: Branching = Field(
        1, description="how many replicas download from each node of the level above, or a list of one number per level"
    )
    downloads: Laws = Field(description=f"{HELP['downloads']}, or a list of one law per level")

    @model_validator(mode="before")
    @classmethod
    def _depth_of_branching(cls, fields: Any) -> Any:
        """Return the fields as they are, with the length of a list of branching as the depth if that is left out."""
        if not isinstance(fields, Mapping) or fields.get("depth") is not None:
            return fields
        branching = fields.get("branching")
        return {**fields, "depth": len(branching)} if isinstance(branching, list | tuple) and branching else fields

    @field_validator("branching")
    @classmethod
    def _small_enough(cls, branching: int | tuple[int, ...], info: ValidationInfo) -> int | tuple[int, ...]:
        """Return `branching`, the replicas below each node, one number or one per level.

        Raise FieldError if the tree has too many replicas, or another depth than the list. `info` holds the fields
        validated so far; without a depth, which was wrong, that of the list counts, or 1.
        """
        depth = info.data.get("depth", len(branching) if isinstance(branching, tuple) else 1)
        if isinstance(branching, tuple) and len(branching) != depth:
            wrong = f"has {len(branching)} numbers, and the depth is {depth:,}"
            raise FieldError("", wrong, "a number per level; leave depth out and it follows")
        replicas, below = 0, 1
        for number in branching_by_level({"depth": depth, "branching": branching}):
            below *= number
            replicas += below
            if replicas > MOST_REPLICAS:
                words = f"{branching:,}" if isinstance(branching, int) else f"[{', '.join(map(str, branching))}]"
                wrong = f"{words} over {depth:,} levels gives more than {MOST_REPLICAS:,} replicas"
                raise FieldError("", wrong, "fewer levels or fewer branches")
        return branching

    @field_validator("downloads")
    @classmethod
    def _one_per_level(cls, laws: tuple[Law, ...], info: ValidationInfo) -> tuple[Law, ...]:
        """Return the laws of downloads; raise FieldError unless there is one for all levels, or one per level.

        `info` holds the fields validated so far; without a depth, which was wrong, any number of laws is right.
        """
        depth = info.data.get("depth", len(laws))
        if len(laws) not in (1, depth):
            raise FieldError("", f"has {len(laws)} laws for {depth} levels", "one law, or a list of one per level")
        return laws

    @classmethod
    def sizes(cls, fields: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the number of replicas in each level, from the top; `fields` has `depth` and `branching` by name."""
        return tuple(accumulate(branching_by_level(fields), mul))

    def law_of(self, level: int) -> Law:
        """Return the law of the intervals between downloads of the replicas in a level, counted from 1 at the top."""
        return self.downloads[level - 1] if len(self.downloads) > 1 else self.downloads[0]


class CooperativeShape(Part):
    """Abstract: the fields of a network or a tier that is a cluster of replicas which poll one another, without its
    source.
    """

    HINTS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("nodes", "size", "members", "m", "n"), "replicas: 10"),
        **dict.fromkeys(("fanout", "fan_out", "degree", "ask", "k"), "peers: 2, whom each poll asks"),
        **dict.fromkeys(("gossip", "exchange"), "polls: exponential(rate=4)"),
    }
    kind: Literal["cooperative"] = Field(description="cooperative: a cluster of replicas that poll one another")
    replicas: AtLeastTwo = Field(description="m, the number of replicas in the cluster, 2 or more")
    peers: CountOrNone = Field(
        1, description="k, how many other replicas a poll asks; fewer than replicas, 0: no polls"
    )
    select: Literal["random", "recent"] = Field(
        "random",
        description="which peers: random, or recent, the latest to contact the source as it told at the last download",
    )
    two_way: bool = Field(False, description=HELP["two_way"])
    downloads: LawField = Field(description=HELP["downloads"])
    polls: LawField = Field(description=HELP["polls"])

    @field_validator("peers")
    @classmethod
    def _others(cls, peers: int, info: ValidationInfo) -> int:
        """Return `peers`, how many other replicas a poll asks; raise FieldError if the cluster has no more than `peers`
        replicas.

        `info` holds the fields validated so far; if `replicas` was wrong and is missing, any number is right.
        """
        replicas = info.data.get("replicas", MOST_REPLICAS + 1)
        if peers >= replicas:
            right = f"0 to {replicas - 1}"
            raise FieldError("", f"{peers} is not below replicas = {replicas}", right)
        return peers

    @classmethod
    def sizes(cls, fields: Mapping[str, Any]) -> tuple[int, ...]:
        """Return the number of replicas in each level, a single number as a cluster has one level; `fields` has
        `replicas`.
        """
        return (fields["replicas"],)


class Served(Whole):
    """Abstract: the fields of a network with one source and perhaps clients."""

    updates: LawField = Field(description=HELP["updates"])
    clients: Clients | None = Field(None, description="clients who ask replicas: level, number, ask, queries")

    @field_validator("clients")
    @classmethod
    def _check_clients_field(cls, clients: Clients | None, info: ValidationInfo) -> Clients | None:
        """Return the clients unchanged; raise FieldsError if their level does not exist or has too few replicas for a
        query.

        `info` holds the fields validated so far; nothing is checked if there are no clients (None), or if a field that
        says how many replicas there are was wrong.
        """
        sizes: Any = getattr(cls, "sizes")  # noqa: B009  every subclass has a shape as well
        if clients is not None and {"replicas", "branching", "depth"} & set(cls.model_fields) <= set(info.data):
            _check_clients(sizes(info.data), clients.level, clients.ask, "level")
        return clients


def _check_clients(sizes: tuple[int, ...], level: str | int, ask: int, word: str) -> None:
    """Raise FieldsError if clients ask a level that does not exist, or if `ask`, the replicas per query, are more than
    it has.

    `sizes` are the numbers of replicas by level, from the top; `level` is a number from 1 or "last"; `word` is what
    errors call a level: "level" or "tier".
    """
    if isinstance(level, int) and level > len(sizes):
        wrong = f"{level} is below the last {word}, {len(sizes)}"
        raise FieldsError([((word,), wrong, "last or 1" if len(sizes) == 1 else f"last, or 1 to {len(sizes)}")])
    replicas = sizes[-1 if isinstance(level, str) else level - 1]
    if ask > replicas:
        raise FieldsError([(("ask",), f"{ask} is more than the {replicas} replicas there", f"1 to {replicas}")])


@final
class Single(Served, SingleShape):
    """A network of one source and one replica."""


@final
class Cascade(Served, CascadeShape):
    """A network whose replicas form a tree below one source."""


@final
class Cooperative(Served, CooperativeShape):
    """A network whose replicas download from the source and poll one another."""


@final
class Redundant(Whole):
    """A network of independent replicas, and of clients that ask several of them."""

    kind: Literal["redundant"] = Field(description="redundant: clients ask several independent replicas")
    replicas: Count = Field(description="m, the number of replicas")
    ask: Count = Field(description=HELP["ask"])
    clients: Count = Field(1, description="how many clients")
    updates: LawField = Field(description=HELP["updates"])
    downloads: LawField = Field(description=HELP["downloads"])
    queries: LawField = Field(description=HELP["queries"])

    @field_validator("ask")
    @classmethod
    def _check_ask(cls, ask: int, info: ValidationInfo) -> int:
        """Return `ask`, how many replicas a query asks; raise FieldError if the network has fewer replicas.

        `info` holds the fields validated so far; if `replicas` was wrong and is missing, the largest network counts.
        """
        replicas = info.data.get("replicas", MOST_REPLICAS)
        if ask > replicas:
            raise FieldError("", f"{ask} is more than replicas = {replicas}", f"1 to {replicas}")
        return ask


class Below(Part):
    """Abstract: the fields that say how a tier of a composed network is joined to the one above it."""

    under: Literal["each", "spread"] = Field(
        "each",
        description="each: every last-level node above feeds its own copy of this tier; "
        "spread: one copy, its top nodes dealt in turn over the nodes above",
    )
    bandwidth: Bandwidth | None = Field(None, description=HELP["bandwidth"])


@final
class SingleTier(SingleShape, Below):
    """A single replica as a tier of a composed network."""


@final
class CascadeTier(CascadeShape, Below):
    """A tree of replicas as a tier of a composed network."""


@final
class CooperativeTier(CooperativeShape, Below):
    """A cluster of replicas that poll one another as a tier of a composed network."""


@final
class AggregateTier(AggregateShape, Below):
    """Many sources and the replicas that download from them, as the first tier of a composed network."""


Tier = Annotated[SingleTier | CascadeTier | CooperativeTier | AggregateTier, Field(discriminator="kind")]


@final
class TierClients(ClientFields):
    """The clients of a composed network, which ask the replicas in the last level of one `tier`."""

    tier: LastOrNumber = Field("last", description="the tier they ask: last, or a number from 1")


@final
class Compose(Whole):
    """A network of tiers below one another: clusters, trees and single replicas."""

    kind: Literal["compose"] = Field(description="compose: networks as tiers of one another")
    updates: LawField | None = Field(None, description=f"{HELP['updates']}; left out above an aggregate")
    tiers: tuple[Tier, ...] = Field(
        description="from the top, a list of networks without updates; the first may be an aggregate, with its sources",
        json_schema_extra={"minItems": 1},
    )
    clients: TierClients | None = Field(None, description="clients who ask replicas: tier, number, ask, queries")

    @field_validator("tiers")
    @classmethod
    def _small_enough(cls, tiers: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the tiers unchanged; raise FieldError if there are none or too many replicas in all, FieldsError for
        an aggregate that is not the first tier or asks several replicas.
        """
        if not tiers:
            raise FieldError("", "is empty", "one tier or more")
        faults: list[tuple[tuple[int | str, ...], str, str]] = [
            ((place,), "is an aggregate, which has sources of its own", "as the first tier")
            for place, tier in enumerate(tiers[1:], 1)
            if isinstance(tier, AggregateTier)
        ]
        if isinstance(tiers[0], AggregateTier) and tiers[0].ask > 1:
            faults.append(((0, "ask"), "does not fit a tier", "clients, who ask a tier"))
        if faults:
            raise FieldsError(faults)
        if sum(map(sum, tier_levels(tiers))) > MOST_REPLICAS:
            raise FieldError("", f"have more than {MOST_REPLICAS:,} replicas in all", "smaller tiers, or under: spread")
        return tiers

    @field_validator("clients")
    @classmethod
    def _check_clients_field(cls, clients: TierClients | None, info: ValidationInfo) -> TierClients | None:
        """Return the clients unchanged; raise FieldsError if their tier does not exist or has too few replicas for a
        query.

        `info` holds the fields validated so far; nothing is checked without clients (None), or if the tiers were wrong.
        """
        if clients is not None and "tiers" in info.data:
            sizes = tuple(levels[-1] for levels in tier_levels(info.data["tiers"]))
            _check_clients(sizes, clients.tier, clients.ask, "tier")
        return clients

    @model_validator(mode="after")
    def _one_kind_of_source(self) -> Compose:
        """Return this model; raise FieldsError unless updates are given, or the first tier is an aggregate, but not
        both.
        """
        has_own_sources = isinstance(self.tiers[0], AggregateTier)
        if has_own_sources and self.updates is not None:
            raise FieldsError([(("updates",), "are given, and the first tier has sources of its own", "left out")])
        if not has_own_sources and self.updates is None:
            raise FieldsError([(("updates",), "missing", HELP["updates"])])
        return self


def tier_levels(tiers: tuple[Any, ...]) -> list[tuple[int, ...]]:
    """Return a tuple for every tier, from the top: the number of nodes in each of its levels, summed over its copies.

    A tier with `under: each` has a copy below every node in the last level of the tier above, others have one.
    """
    sizes: list[tuple[int, ...]] = []
    for tier in tiers:
        copies = sizes[-1][-1] if sizes and tier.under == "each" else 1
        sizes.append(tuple(copies * size for size in tier.sizes(vars(tier))))
    return sizes


def branching_by_level(fields: Mapping[str, Any]) -> tuple[int, ...]:
    """Return how many replicas download from each node of the level above, for every level of a tree from the top.

    `fields` has its `depth` and its `branching`, a number or one per level.
    """
    branching = fields["branching"]
    return (branching,) * fields["depth"] if isinstance(branching, int) else tuple(branching)


Spec = Single | Cascade | Cooperative | Redundant | Aggregate | Graph | Compose
KINDS: dict[str, type[Spec]] = {
    "single": Single,
    "cascade": Cascade,
    "cooperative": Cooperative,
    "redundant": Redundant,
    "aggregate": Aggregate,
    "graph": Graph,
    "compose": Compose,
}


def specification(data: Mapping[str, Any], document: Document | None = None) -> Spec:
    """Return the checked specification that `data` describes: plain data as in a network file, whose `kind` says the
    model.

    Raise DocumentError with all that is wrong, with lines of `document`, the file that the data comes from, if one is
    given.
    """
    return validate_by(KINDS, "kind", data, document)


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft-07) of a network file, of whatever kind."""
    return editor_schema(TypeAdapter(Annotated[Spec, Field(discriminator="kind")]).json_schema())

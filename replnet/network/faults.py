"""What goes wrong in a network, and when: crashes, cuts and losses as users write them.

    faults:
      - {crash: replica 3, at: 10, lasts: 5}                                    # a schedule
      - {crash: cluster, up: exponential(mean=50), down: exponential(mean=5)}   # churn, each node by itself
      - {cut: [source, cluster], at: 10, lasts: 5}                              # no message passes between the two
      - {lose: 0.01}                                                            # one message in a hundred

The nodes that a fault concerns are named by a node, a group, a role (sources,
replicas, clients) or a list of these. Instants count from the start of every
replication. A network whose faults have laws is stationary; a schedule makes it not so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, final

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from replnet.network.fields import Instant, Part, PlainLawField, part_of_one, text
from replnet.network.topology import ROLES as NODE_ROLES
from replnet.network.topology import Topology
from replnet.text import FieldError, FieldsError, short_repr, suggestion

ONE, OTHER = 1, 2  # bits that say on which side of a fault a node is; both are possible
ROLES = {"sources": "source", "replicas": "replica", "clients": "client"}
MOST_NAMES_LISTED = 5
FORMS = "crash: a node or group, cut: [one side, the other], or lose: a share of messages"


def _parse_names(value: object) -> tuple[str, ...]:
    """Return the names of the nodes that a fault concerns, from one name or a list of names, as texts.

    Raise FieldError if the list is empty or an entry is not a name.
    """
    names = value if isinstance(value, (list, tuple)) else [value]
    if not names:
        raise FieldError("", "names nobody", "a node, a group, replicas, or a list of these")
    return tuple(map(text, names))


def _parse_sides(value: object) -> Any:
    """Return the two sides that a user gave as a tuple, not yet parsed; raise FieldError unless it is a list of two."""
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise FieldError(
            "", f"{short_repr(value)} is not two sides", "[one side, the other], each a node, a group or a list"
        )
    return tuple(value)


def _list_names(names: tuple[str, ...]) -> str:
    """Return names as text for a message: the first few, separated by commas, and the number of the others."""
    return ", ".join(names[:MOST_NAMES_LISTED]) + (
        f" and {len(names) - MOST_NAMES_LISTED} more" if len(names) > MOST_NAMES_LISTED else ""
    )


def _name_or_list(names: tuple[str, ...]) -> str | list[str]:
    """Return names as users write them: a single name as a text, several as a list."""
    return names[0] if len(names) == 1 else list(names)


NAMES = "a node, a group, sources, replicas or clients, or a list of these"
NAMES_SCHEMA: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
NodeNames = Annotated[
    tuple[str, ...], BeforeValidator(_parse_names), PlainSerializer(_name_or_list), WithJsonSchema(NAMES_SCHEMA)
]
Sides = Annotated[tuple[NodeNames, NodeNames], BeforeValidator(_parse_sides)]
Share = Annotated[float, BeforeValidator(part_of_one("a share of messages")), Field(gt=0, lt=1)]


@final
class Fault(Part):
    """A fault as users write it: exactly one of `crash`, `cut` and `lose`, with names of nodes and when it happens.

    That is once, for some time or for ever, or again and again, by the laws of the times without and with it;
    a loss of messages lasts for ever.
    """

    crash: NodeNames | None = Field(None, description=f"nodes that crash and forget what they have asked for: {NAMES}")
    cut: Sides | None = Field(None, description=f"two sides between which no message passes, each {NAMES}")
    lose: Share | None = Field(None, description="the share of messages that are lost, each by itself")
    between: Sides | None = Field(None, description="lose: only of messages between these two sides")
    at: Instant | None = Field(None, description="when it begins, from the start of a replication")
    lasts: Instant | None = Field(None, description="how long it lasts; for ever if left out")
    up: PlainLawField | None = Field(None, description="instead of `at`, the law of the times without the fault")
    down: PlainLawField | None = Field(None, description="and of the times with it")
    copy_: Literal["kept", "empty"] | None = Field(
        None, alias="copy", description="crash: whether a replica comes back with its copy kept or empty (default)"
    )

    @model_validator(mode="after")
    def _check_fields(self) -> Fault:
        """Return this fault; raise FieldError unless it is exactly one of crash, cut and lose, with times that fit it.

        Options that do not fit it raise FieldError too.
        """
        kinds = [name for name in ("crash", "cut", "lose") if getattr(self, name) is not None]
        if len(kinds) != 1:
            raise FieldError("", f"says {' and '.join(kinds) or 'neither crash nor cut nor lose'}", FORMS)
        timing = {name for name in ("at", "lasts", "up", "down") if getattr(self, name) is not None}
        if self.lose is not None:
            self._refuse(timing, "a loss lasts for ever")
        elif timing not in ({"at"}, {"at", "lasts"}, {"up", "down"}):
            raise FieldError("", "does not say when", "at and perhaps lasts, or up and down, two laws")
        self._refuse({"between"} if self.lose is None and self.between is not None else set(), "only with lose")
        self._refuse({"copy"} if self.crash is None and self.copy_ is not None else set(), "only with crash")
        return self

    def __str__(self) -> str:
        when = f"up {self.up}, down {self.down}" if self.up else f"at {self.at:g}" if self.at is not None else ""
        if self.at is not None:
            when += " for ever" if self.lasts is None else f" for {self.lasts:g}"
        if self.crash is not None:
            return f"{_list_names(self.crash)} crash, {when}; copies {self.copy_ or 'empty'}"
        if self.cut is not None:
            return f"cut between {' and '.join(map(_list_names, self.cut))}, {when}"
        between = f" between {' and '.join(map(_list_names, self.between))}" if self.between else ""
        return f"{self.lose:.3g} of all messages{between} get lost"

    def names_used(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield pairs (field, names): the field `crash`, or `cut` or `between` for each of its two sides, with the
        names in it.
        """
        if self.crash is not None:
            yield "crash", self.crash
        for key in ("cut", "between"):
            yield from ((key, side) for side in getattr(self, key) or ())

    def _refuse(self, names: set[str], why: str) -> None:
        """Raise FieldsError, with the reason `why`, for every field in `names`, which do not fit this fault; else do
        nothing.
        """
        if names:
            raise FieldsError([((name,), f"does not fit here: {why}", "leave it out") for name in sorted(names)])


def nodes_named(names: tuple[str, ...], topology: Topology) -> list[int]:
    """Return the numbers of the nodes that these names stand for, each node once.

    A name is that of a node, else of a group, else of a role (sources, replicas, clients). Raise FieldError if it is
    none.
    """
    numbers: dict[int, None] = {}
    for name in names:
        if name in topology.number:
            numbers[topology.number[name]] = None
            continue
        role = ROLES.get(name)
        blocks = [block for block in topology.blocks if block.group == name or NODE_ROLES[block.role] == role]
        if not blocks:
            roles_present = {NODE_ROLES[block.role] for block in topology.blocks}
            roles = [word for word, role in ROLES.items() if role in roles_present]
            words = dict.fromkeys([*roles, *(block.group for block in topology.blocks), *topology.names])
            raise FieldError("faults", f"there is no node or group {name}", suggestion(name, words))
        numbers.update(dict.fromkeys(i for block in blocks for i in block.nodes.tolist()))
    return list(numbers)


@final
@dataclass(frozen=True)
class Crash:
    """A `fault` by which `nodes`, given by number, crash: all on schedule, or each by itself at random times."""

    fault: Fault
    nodes: tuple[int, ...]

    @property
    def empties(self) -> bool:
        """Whether the nodes come back without the copies that they had before the crash."""
        return self.fault.copy_ != "kept"


@final
@dataclass(frozen=True, eq=False)
class LinkFault:
    """A `fault` of messages between two sides, in both directions: all are lost for some time, or a share for ever.

    `side` is an array of bits by number of node: ONE, OTHER, both for a node on both sides, or 0 for one on neither.
    """

    fault: Fault
    side: npt.NDArray[np.uint8]  # by node: ONE, OTHER, both bits or neither


@final
@dataclass(frozen=True, eq=False)
class Faults:
    """The crashes, cuts and losses of a network, whose nodes are given by number; false if there are none."""

    crashes: tuple[Crash, ...] = ()
    cuts: tuple[LinkFault, ...] = ()
    losses: tuple[LinkFault, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.crashes or self.cuts or self.losses)

    def arrival_probability(self, a: int, b: int) -> float:
        """Return the probability that a message between the nodes with numbers `a` and `b` is not lost by chance.

        Losses alone count; cuts, which stop all messages for some time, do not.
        """
        probability = 1.0
        for loss in self.losses:
            if on_opposite_sides(int(loss.side[a]), int(loss.side[b])):
                probability *= 1.0 - (loss.fault.lose or 0.0)
        return probability

    @property
    def empties(self) -> bool:
        """Whether some crash makes replicas come back without their copies."""
        return any(crash.empties for crash in self.crashes)


def faults(topology: Topology) -> Faults:
    """Return the crashes, cuts and losses that the topology's network specifies, with their nodes as numbers.

    Raise FieldError if a fault names a node or a group that does not exist.
    """
    crashes, cuts, losses = list[Crash](), list[LinkFault](), list[LinkFault]()
    for fault in topology.about.get("faults", ()):
        if fault.crash is not None:
            crashes.append(Crash(fault, tuple(nodes_named(fault.crash, topology))))
            continue
        side = np.zeros(topology.size, np.uint8)
        for bit, names in zip((ONE, OTHER), fault.cut or fault.between or (None, None), strict=True):
            side[nodes_named(tuple(names), topology) if names else slice(None)] |= bit
        (cuts if fault.cut else losses).append(LinkFault(fault, side))
    return Faults(tuple(crashes), tuple(cuts), tuple(losses))


def on_opposite_sides(a: int, b: int) -> bool:
    """Whether two nodes are on opposite sides of a fault; `a` and `b` are their sides: ONE, OTHER, both bits or 0."""
    return bool((a & ONE and b & OTHER) or (a & OTHER and b & ONE))

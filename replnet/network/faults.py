"""What goes wrong in a network, and when: crashes, cuts and losses as users write them.

    faults:
      - {crash: replica 3, at: 10, lasts: 5}                                    # a schedule
      - {crash: cluster, up: exponential(mean=50), down: exponential(mean=5)}   # churn, each node by itself
      - {cut: [source, cluster], at: 10, lasts: 5}                              # no message passes between the two
      - {lose: 0.01}                                                            # one message in a hundred

Those whom a fault strikes are named as a node, a group, a role (sources,
replicas, clients) or a list of these. Instants count from the start of every
replication. A law makes the network stationary; a schedule does not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, final

import numpy as np
import numpy.typing as npt
from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema, model_validator

from replnet.laws.fields import Instant, Part, PlainLawField, text
from replnet.network.topology import ROLES as NODE_ROLES
from replnet.network.topology import Topology
from replnet.text.errors import FieldError, FieldsError, shown, suggestion

ONE, OTHER = 1, 2  # bits of a side
ROLES = {"sources": "source", "replicas": "replica", "clients": "client"}
MOST_NAMED = 5
FORMS = "crash: a node or group, cut: [one side, the other], or lose: a share of messages"


def _who(value: object) -> tuple[str, ...]:
    names = value if isinstance(value, (list, tuple)) else [value]
    if not names:
        raise FieldError("", "names nobody", "a node, a group, replicas, or a list of these")
    return tuple(map(text, names))


def _sides(value: object) -> Any:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise FieldError(
            "", f"{shown(value)} is not two sides", "[one side, the other], each a node, a group or a list"
        )
    return tuple(value)


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1:
        raise FieldError("", f"{shown(value)} is not a share of messages", "a number above 0 and below 1")
    return float(value)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def _plain(names: tuple[str, ...]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)


NAMES = "a node, a group, sources, replicas or clients, or a list of these"
WHO_SCHEMA: dict[str, Any] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
Who = Annotated[tuple[str, ...], BeforeValidator(_who), PlainSerializer(_plain), WithJsonSchema(WHO_SCHEMA)]
Sides = Annotated[tuple[Who, Who], BeforeValidator(_sides)]
Share = Annotated[float, BeforeValidator(_share), Field(gt=0, lt=1)]


@final
class Fault(Part):
    """One thing that goes wrong: exactly one of crash, cut and lose."""

    crash: Who | None = Field(None, description=f"nodes that crash: {NAMES}")
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
    def _one_of_each(self) -> Fault:
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
            return f"{_listed(self.crash)} crash, {when}; copies {self.copy_ or 'empty'}"
        if self.cut is not None:
            return f"cut between {' and '.join(map(_listed, self.cut))}, {when}"
        between = f" between {' and '.join(map(_listed, self.between))}" if self.between else ""
        return f"{self.lose:.3g} of all messages{between} get lost"

    def struck(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Names that it uses, each with the field that has them."""
        if self.crash is not None:
            yield "crash", self.crash
        for key in ("cut", "between"):
            yield from ((key, side) for side in getattr(self, key) or ())

    def _refuse(self, names: set[str], why: str) -> None:
        if names:
            raise FieldsError([((name,), f"does not fit here: {why}", "leave it out") for name in sorted(names)])


def struck(who: tuple[str, ...], topology: Topology) -> list[int]:
    """The numbers of the nodes that some names stand for: a node, else a group, else a role."""
    found: dict[int, None] = {}
    for name in who:
        if name in topology.number:
            found[topology.number[name]] = None
            continue
        role = ROLES.get(name)
        blocks = [block for block in topology.blocks if block.group == name or NODE_ROLES[block.role] == role]
        if not blocks:
            words = dict.fromkeys([*ROLES, *(block.group for block in topology.blocks), *topology.names])
            raise FieldError("faults", f"there is no node or group {name}", suggestion(name, words))
        found.update(dict.fromkeys(i for block in blocks for i in block.nodes.tolist()))
    return list(found)


@final
@dataclass(frozen=True)
class Crash:
    """Nodes that go down, each by itself, and whether they lose their copy."""

    fault: Fault
    nodes: tuple[int, ...]

    @property
    def empties(self) -> bool:
        return self.fault.copy_ != "kept"


@final
@dataclass(frozen=True, eq=False)
class Way:
    """Messages between two sides, in both directions, which a fault cuts or of which it loses a share."""

    fault: Fault
    side: npt.NDArray[np.uint8]  # of every node, ONE and OTHER


@final
@dataclass(frozen=True, eq=False)
class Faults:
    """What may go wrong in a network, by node number."""

    crashes: tuple[Crash, ...] = ()
    cuts: tuple[Way, ...] = ()
    losses: tuple[Way, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.crashes or self.cuts or self.losses)

    def arriving(self, a: int, b: int) -> float:
        """The share of messages between two nodes that do not get lost."""
        arrive = 1.0
        for way in self.losses:
            if across(int(way.side[a]), int(way.side[b])):
                arrive *= 1.0 - (way.fault.lose or 0.0)
        return arrive

    @property
    def empties(self) -> bool:
        """Whether a replica may come to be without a copy."""
        return any(crash.empties for crash in self.crashes)


def faults(topology: Topology) -> Faults:
    """The faults of a network, by the numbers of its nodes."""
    crashes, cuts, losses = list[Crash](), list[Way](), list[Way]()
    for fault in topology.about.get("faults", ()):
        if fault.crash is not None:
            crashes.append(Crash(fault, tuple(struck(fault.crash, topology))))
            continue
        side = np.zeros(topology.size, np.uint8)
        for bit, who in zip((ONE, OTHER), fault.cut or fault.between or (None, None), strict=True):
            side[struck(tuple(who), topology) if who else slice(None)] |= bit
        (cuts if fault.cut else losses).append(Way(fault, side))
    return Faults(tuple(crashes), tuple(cuts), tuple(losses))


def across(a: int, b: int) -> bool:
    """Whether these are on opposite sides."""
    return bool((a & ONE and b & OTHER) or (a & OTHER and b & ONE))

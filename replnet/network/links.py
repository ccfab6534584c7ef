"""Links between named nodes: one by one, as users write them, and in columns, as millions of them need it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, final

import numpy as np
from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    ValidationError,
    ValidationInfo,
    WrapValidator,
    model_validator,
)

from replnet.laws.fields import Delay, Name, Part
from replnet.laws.law import Ints, Law
from replnet.text.errors import FieldError, shown, suggestion

ARROW = re.compile(r"\s+(->|--)\s+|(?<=[^\s-])(->)(?=[^\s>])")
EVERY = "*"  # every replica, at one end of a link
FORMS = "a -> b (b downloads from a), or a -- b (they poll one another)"


@final
class LinkFields(Part):
    """A link, in the direction the data flows."""

    source: Name = Field(alias="from", description="the node that has the data, or * for every replica")
    target: Name = Field(alias="to", description="the node that asks for it, or * for every replica")
    kind: Literal["download", "peer", "query"] | None = Field(
        None, description="download, peer or query; query if the target is a client, else download, if left out"
    )
    both: bool = Field(False, description="true for a link in both directions")
    delay: Delay | None = Field(None, description="time a message takes one way on this link")

    @model_validator(mode="after")
    def _between_nodes(self, info: ValidationInfo) -> LinkFields:
        nodes = (info.context or {}).get("nodes")
        for end in (self.source, self.target):
            if nodes is not None and end not in nodes and end != EVERY:
                raise FieldError("", f"there is no node {end}", suggestion(end, nodes, "one of the nodes"))
        if self.source == self.target == EVERY:
            raise FieldError("", "links all replicas to all", "a pool, the same one for each")
        if self.source == self.target:
            raise FieldError("", f"links {self.source} to itself", "two nodes")
        return self


def _parsed(value: object) -> object:
    if not isinstance(value, str):
        return value
    parts = [part for part in ARROW.split(value.strip()) if part]
    if len(parts) != 3:
        raise FieldError("", f"{shown(value)} is not a link", FORMS)
    two_ways = parts[1] == "--"
    return {"from": parts[0], "to": parts[2], "kind": "peer" if two_ways else None, "both": two_ways}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Links(Sequence[dict[str, Any]]):
    """Link i goes from names[source[i]] to names[target[i]]; what else it says is sorts[sort[i]].

    Each is a mapping, as in plain data; of links that have been checked the values of kind, both and delay are there.
    """

    names: Sequence[str]
    source: Ints
    target: Ints
    sort: Ints
    sorts: Sequence[Mapping[str, Any]]

    @classmethod
    def of(cls, links: Iterable[LinkFields]) -> Links:
        """Those that have been checked one by one."""
        names, sorts = dict[str, int](), dict[Any, int]()
        columns = [
            (
                names.setdefault(link.source, len(names)),
                names.setdefault(link.target, len(names)),
                sorts.setdefault((link.kind, link.both, link.delay), len(sorts)),
            )
            for link in links
        ]
        source, target, sort = np.array(columns, np.int32).reshape(-1, 3).T
        return cls([*names], source, target, sort, [_said(*one) for one in sorts])

    def __len__(self) -> int:
        return self.source.size

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        ends = {"from": self.names[self.source[i]], "to": self.names[self.target[i]]}
        return ends | self.sorts[self.sort[i]]  # type: ignore[operator]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        names, sorts = self.names, self.sorts
        for a, b, sort in zip(self.source.tolist(), self.target.tolist(), self.sort.tolist(), strict=True):
            yield {"from": names[a], "to": names[b], **sorts[sort]}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Links) and len(self) == len(other) and all(map(dict.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Links) -> Links:
        ends = ((self.source, other.source), (self.target, other.target))
        source, target = (np.concatenate([one, more + len(self.names)]) for one, more in ends)
        sort = np.concatenate([self.sort, other.sort + len(self.sorts)])
        return Links([*self.names, *other.names], source, target, sort, [*self.sorts, *other.sorts])

    def firsts(self) -> list[dict[str, Any]]:
        """One link of every sort."""
        return [self[int(i)] for i in np.unique(self.sort, return_index=True)[1]]

    def sound(self, nodes: frozenset[str] | None) -> bool:
        """Whether the ends of every link are two of these nodes, or one of them and all replicas."""
        known = np.array([nodes is None or name in nodes or name == EVERY for name in self.names], np.bool_)
        number: dict[str, int] = {}
        same = np.array([number.setdefault(name, len(number)) for name in self.names], np.int32)
        return bool(known.all() and (same[self.source] != same[self.target]).all())

    def spelled(self) -> list[str | dict[str, Any]]:
        """Each in the short form where that says everything."""
        plain = [not ("->" in name or "--" in name or name != name.strip()) for name in self.names]
        arrows = [_arrow(sort) for sort in self.sorts]
        found: list[str | dict[str, Any]] = []
        for a, b, sort in zip(self.source.tolist(), self.target.tolist(), self.sort.tolist(), strict=True):
            short = f"{self.names[a]} {arrows[sort]} {self.names[b]}"
            said = self.sorts[sort]
            if arrows[sort] and ((plain[a] and plain[b]) or _reads(short, self.names[a], self.names[b])):
                found.append(short)
            else:
                words = {key: str(value) if isinstance(value, Law) else value for key, value in said.items()}
                found.append({"from": self.names[a], "to": self.names[b], **words})
        return found


def _said(kind: str | None, both: bool, delay: Any) -> dict[str, Any]:
    """What a link says beside its ends."""
    said = {"kind": kind, "both": both or None, "delay": delay}
    return {key: value for key, value in said.items() if value is not None}


def _arrow(said: Mapping[str, Any]) -> str:
    """That of the short form; empty where it would not say everything."""
    return "->" if not said else "--" if said == {"kind": "peer", "both": True} else ""


def _reads(short: str, source: str, target: str) -> bool:
    """Whether a short form whose names have arrows in them means these two."""
    try:
        parsed = _parsed(short)
    except FieldError:
        return False
    return isinstance(parsed, dict) and (parsed["from"], parsed["to"]) == (source, target)


def _in_columns(given: Any, check: Callable[[Any], tuple[LinkFields, ...]], info: ValidationInfo) -> Links:
    """Links are checked one by one; of those that are in columns already one of every sort, and the ends of all."""
    if isinstance(given, Links):
        if given.sound((info.context or {}).get("nodes")):
            try:
                sorts = [_said(one.kind, one.both, one.delay) for one in check(given.firsts())]
            except ValidationError:
                pass  # which tells the number of one in a shorter list
            else:
                return Links(
                    given.names, given.source, given.target, np.unique(given.sort, return_inverse=True)[1], sorts
                )
        given = list(given)
    return Links.of(check(given))


LinkField = Annotated[LinkFields, BeforeValidator(_parsed, json_schema_input_type=str | LinkFields)]
LinksField = Annotated[
    tuple[LinkField, ...], WrapValidator(_in_columns), PlainSerializer(lambda links: links.spelled(), list)
]

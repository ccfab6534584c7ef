"""Links between named nodes: one by one, as users write them, and in columns, as millions of them need it."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, final

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

from replnet.laws import Ints, Law
from replnet.network.fields import Delay, Name, Part
from replnet.text import FieldError, short_repr, suggestion

LINK_KEYS = frozenset({"kind", "delay", "both"})
PROCESSES = frozenset({"updates", "downloads", "polls", "queries"})
"""The fields of nodes that are laws of processes."""
ARROW = re.compile(r"\s+(->|--)\s+|(?<=[^\s<-])\s*(->)(?![>-])\s*(?=\S)")
OTHER_ARROWS = re.compile(r"(?P<left>\S+)\s*(?P<arrow><->|<-|-->|=>|→|←|>)\s*(?P<right>\S+)")
LONGEST_EXAMPLE = 200  # characters of a link that is written anew in an error
BACKWARDS = ("<-", "←")
EVERY = "*"  # every replica, at one end of a link
ENDS = "the node that has the data, and the one that asks for it: {from: a, to: b}, or a -> b"
FORMS = "a -> b (b downloads from a), or a -- b (they poll one another)"


def misplaced_law(process: str, node: str = "NODE") -> tuple[str, str]:
    """Return two texts: what is wrong with a law of a process (downloads, ...) at a link, and what would be right.

    The latter has the law at the node that asks, called `node`.
    """
    return (
        "belongs to a node, not to a link",
        f"nodes: {{{node}: {{{process}: exponential(rate=1)}}}}, links: [a -> {node}]",
    )


@final
class LinkFields(Part):
    """A link as users write it, in the direction the data flows."""

    HINTS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("src", "parent", "upstream", "a", "node"), ENDS),
        **dict.fromkeys(("dst", "dest", "destination", "child", "downstream", "b", "peer", "peers"), ENDS),
        **{process: "a field of the node: " + misplaced_law(process, "b")[1] for process in sorted(PROCESSES)},
        **dict.fromkeys(
            ("rate", "period", "interval", "law"), "a law of the node: " + misplaced_law("downloads", "b")[1]
        ),
        **dict.fromkeys(("type", "role"), "kind: download, peer or query"),
        **dict.fromkeys(("latency", "lag", "rtt", "length"), "delay: 0.05, the time that a message takes one way"),
        **dict.fromkeys(("weight", "cost", "capacity"), "left out, as links have kind, delay and both alone"),
        **dict.fromkeys(
            ("bidirectional", "undirected", "two_way"), "both: true, or a -- b where both poll one another"
        ),
    }
    source: Name = Field(alias="from", description="the node that has the data, or * for every replica")
    target: Name = Field(alias="to", description="the node that asks for it, or * for every replica")
    kind: Literal["download", "peer", "query"] | None = Field(
        None, description="download, peer or query; query if the target is a client, else download, if left out"
    )
    both: bool = Field(False, description="true for a link in both directions")
    delay: Delay | None = Field(None, description="time a message takes one way on this link")

    @model_validator(mode="after")
    def _between_nodes(self, info: ValidationInfo) -> LinkFields:
        """Return this link; raise FieldError unless its ends are two different nodes, or one is `*` for every replica.

        `info.context` may have the names of all nodes; without them (None) every name is one.
        """
        nodes = (info.context or {}).get("nodes")
        for end in (self.source, self.target):
            if nodes is not None and end not in nodes and end != EVERY:
                raise FieldError("", f"there is no node {end}", suggestion(end, nodes, "one of the nodes"))
        if self.source == self.target == EVERY:
            raise FieldError("", "links all replicas to all", "a pool, the same one for each")
        if self.source == self.target:
            raise FieldError("", f"links {self.source} to itself", "two nodes")
        return self


def _parse_link(value: object) -> object:
    """Return the fields of a link in a short form by name: the text a -> b or a -- b, or the list [a, b].

    A mapping is returned as it is. Raise FieldError, with the link that is probably meant, for other values and for a
    mapping from one node to others.
    """
    if isinstance(value, list | tuple) and len(value) == 2 and not any(isinstance(end, dict | list) for end in value):
        return {"from": value[0], "to": value[1]}
    if isinstance(value, Mapping):
        _require_ends(value)
        return value
    if isinstance(value, LinkFields):
        return value
    parts = [part for part in ARROW.split(value.strip()) if part] if isinstance(value, str) else []
    if len(parts) != 3:
        raise FieldError("", f"{short_repr(value)} is not a link", _link_meant(value, parts))
    two_ways = parts[1] == "--"
    return {"from": parts[0], "to": parts[2], "kind": "peer" if two_ways else None, "both": two_ways}


def _require_ends(link: Mapping[Any, Any]) -> None:
    """Raise FieldError if a link in fields is a mapping from a node to another, or has a list of nodes at one end."""
    if len(link) == 1 and not link.keys() & {"from", "to", "source", "target"}:
        ((node, others),) = link.items()
        if isinstance(others, str | int | list):
            raise FieldError("", f"{short_repr(dict(link))} is not a link", _links_of(node, others))
    for end in ("from", "to", "source", "target"):
        if isinstance(link.get(end), list):
            a, b = (link.get(key, link.get(other)) for key, other in (("from", "source"), ("to", "target")))
            pairs = [(x, y) for x in (a if isinstance(a, list) else [a]) for y in (b if isinstance(b, list) else [b])]
            raise FieldError(end, "is a list", f"a link for each: {', '.join(f'{x} -> {y}' for x, y in pairs[:4])}")


def _links_of(node: object, others: object) -> str:
    """Return the text of the links from a node to another, or to the first 4 of a list, such as `a -> b, a -> c`."""
    return ", ".join(f"{node} -> {other}" for other in (others if isinstance(others, list) else [others])[:4])


def _link_meant(value: object, parts: list[str]) -> str:
    """Return the text of what was probably meant by a value that is no link; the forms of links if that is unclear.

    `parts` are what stands around arrows in it, and the arrows; none if it is no text.
    """
    if len(parts) > 3 and len(parts) % 2 and {*parts[1::2]} == {"->"}:
        return "a link for each arrow: " + ", ".join(
            f"{a} -> {b}" for a, b in zip(parts[::2], parts[2::2], strict=False)
        )
    if isinstance(value, list | tuple) and len(value) == 3:
        return f"[a, b], or with its attributes {{from: {value[0]}, to: {value[1]}, delay: 0.05}}"
    match = OTHER_ARROWS.fullmatch(value.strip()) if isinstance(value, str) and len(value) < LONGEST_EXAMPLE else None
    if match is None:
        return FORMS
    if match["arrow"] == "<->":
        return f"{match['left']} -- {match['right']} (they poll one another), or a link for each direction"
    a, b = (match["left"], match["right"])[:: -1 if match["arrow"] in BACKWARDS else 1]
    return f"{a} -> {b} ({b} downloads from {a})"


@final
@dataclass(frozen=True, slots=True)
class EdgeMeaning:
    """The meaning of a graph file: what its edges are (peers or downloads), and which attribute names its nodes.

    None stands for the default: undirected edges are peers, directed ones downloads, and nodes are named by their ids.
    """

    edges: str | None = None
    names: str | None = None

    def link(self, directed: bool) -> dict[str, Any]:
        """Return the attributes, kind and both, that an edge has if it says nothing else, directed or not."""
        if self.edges == "peers" or (self.edges is None and not directed):
            return {"kind": "peer", "both": True}
        return {} if directed else {"both": True}


@lru_cache(maxsize=1_000)
def misspelling_hint(key: str, keys: frozenset[str]) -> str:
    """Return a hint at the key that was probably meant; "" unless one begins and ends like `key` and is nearly as
    long.

    Attributes of other programs have names of their own, which are no errors.
    """
    hint = suggestion(key, keys)
    meant = hint.removeprefix("did you mean ").removesuffix("?")
    near = hint != meant and key[:1] == meant[:1] and key[-1:] == meant[-1:] and abs(len(key) - len(meant)) <= 2
    return hint if near else ""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Links(Sequence[dict[str, Any]]):
    """Links in columns: link i goes from names[source[i]] to names[target[i]] and has the attributes sorts[sort[i]].

    As a sequence, each item is a mapping as in plain data: from, to, and the attributes kind, both and delay that it
    has.
    """

    names: Sequence[str]
    source: Ints
    target: Ints
    sort: Ints
    sorts: Sequence[Mapping[str, Any]]

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
        source, target = (np.concatenate([ours, theirs + len(self.names)]) for ours, theirs in ends)
        sort = np.concatenate([self.sort, other.sort + len(self.sorts)])
        return Links([*self.names, *other.names], source, target, sort, [*self.sorts, *other.sorts])

    def firsts(self) -> list[dict[str, Any]]:
        """Return the first link of every sort (set of attributes) that occurs, as mappings in the order of sorts."""
        return [self[int(i)] for i in np.unique(self.sort, return_index=True)[1]]

    def distinct(self) -> Links:
        """Return the links, in their order, without those that repeat an earlier one: same ends and attributes."""
        same = (self.source.astype(np.int64) * len(self.names) + self.target) * len(self.sorts) + self.sort
        firsts = np.sort(np.unique(same, return_index=True)[1])
        return Links(self.names, self.source[firsts], self.target[firsts], self.sort[firsts], self.sorts)

    def sound(self, nodes: frozenset[str] | None) -> bool:
        """Whether every link has two different ends, each in `nodes` (None: any name) or `*` for all replicas."""
        present = np.array([nodes is None or name in nodes or name == EVERY for name in self.names], np.bool_)
        number: dict[str, int] = {}
        same = np.array([number.setdefault(name, len(number)) for name in self.names], np.int32)
        return bool(present.all() and (same[self.source] != same[self.target]).all())

    def in_short_forms(self) -> list[str | dict[str, Any]]:
        """Return links as users write them: a text (a -> b, a -- b) where that says all, else a mapping."""
        plain = [not ("->" in name or "--" in name or name != name.strip()) for name in self.names]
        arrows = [_arrow(sort) for sort in self.sorts]
        forms: list[str | dict[str, Any]] = []
        for a, b, sort in zip(self.source.tolist(), self.target.tolist(), self.sort.tolist(), strict=True):
            short = f"{self.names[a]} {arrows[sort]} {self.names[b]}"
            attributes = self.sorts[sort]
            if arrows[sort] and ((plain[a] and plain[b]) or _means(short, self.names[a], self.names[b])):
                forms.append(short)
            else:
                words = {key: str(value) if isinstance(value, Law) else value for key, value in attributes.items()}
                forms.append({"from": self.names[a], "to": self.names[b], **words})
        return forms


@final
class LinkColumns:
    """Columns of links, filled one by one with `add`; `links` returns them as Links."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._sorts: dict[str, int] = {}
        self._attributes: list[dict[str, Any]] = []
        self._columns = array("i"), array("i"), array("i")
        self._latest: dict[str, Any] | None = None
        self._sort = 0

    def add(self, source: str, target: str, attributes: dict[str, Any]) -> None:
        """Add a link between two nodes, given by name, with its attributes kind, both and delay, if it has them."""
        number = self._number
        self._columns[0].append(number.setdefault(source, len(number)))
        self._columns[1].append(number.setdefault(target, len(number)))
        if attributes is not self._latest:  # mostly all links have the same attributes
            # By the text of a law, which is whole; its repr is not.
            key = repr({name: str(value) if isinstance(value, Law) else value for name, value in attributes.items()})
            self._latest, self._sort = attributes, self._sorts.setdefault(key, len(self._sorts))
            self._attributes += [attributes] if self._sort == len(self._attributes) else []
        self._columns[2].append(self._sort)

    def links(self) -> Links:
        """Return all links, in the order in which they were added."""
        source, target, sort = (np.array(column, np.int32) for column in self._columns)
        return Links([*self._number], source, target, sort, self._attributes)


def _link_attributes(kind: str | None, two_way: bool, delay: Any) -> dict[str, Any]:
    """Return the attributes kind, both and delay of a link by name, without those that are None or False."""
    attributes = {"kind": kind, "both": two_way or None, "delay": delay}
    return {key: value for key, value in attributes.items() if value is not None}


def _arrow(attributes: Mapping[str, Any]) -> str:
    """Return the arrow, "->" or "--", of the short form of a link with these attributes; "" if none says them all."""
    return "->" if not attributes else "--" if attributes == {"kind": "peer", "both": True} else ""


def _means(short: str, source: str, target: str) -> bool:
    """Whether the text `short` is read as a link from `source` to `target`; names with arrows in them may spoil it."""
    try:
        parsed = _parse_link(short)
    except FieldError:
        return False
    return isinstance(parsed, dict) and (parsed["from"], parsed["to"]) == (source, target)


def _in_columns(links: Any, check: Callable[[Any], tuple[LinkFields, ...]], info: ValidationInfo) -> Links:
    """Return links in columns, checked by `check`, which raises a ValidationError with all that is wrong.

    A list is checked link by link. Of links that are in columns already, the ends are checked all at once and the
    attributes only of the first link of every sort. `info.context` may have the names of all nodes. Raise FieldError
    for a text or a mapping in the place of the list.
    """
    if isinstance(links, str | Mapping):
        links_meant = [_links_of(*link) for link in links.items()] if isinstance(links, Mapping) else [links]
        raise FieldError("", f"{short_repr(links)} is not a list", f"links: [{', '.join(links_meant[:4])}]")
    if isinstance(links, Links):
        if links.sound((info.context or {}).get("nodes")):
            try:
                sorts = [_link_attributes(first.kind, first.both, first.delay) for first in check(links.firsts())]
            except ValidationError:
                pass  # the error would tell the number of a link in the list of firsts
            else:
                return Links(
                    links.names, links.source, links.target, np.unique(links.sort, return_inverse=True)[1], sorts
                )
        links = list(links)
    columns, attributes = LinkColumns(), dict[Any, dict[str, Any]]()
    for link in check(links):
        sort = (link.kind, link.both, link.delay)
        columns.add(link.source, link.target, attributes.setdefault(sort, _link_attributes(*sort)))
    return columns.links()


TwoNames = Annotated[list[str | int], Field(min_length=2, max_length=2)]
LinkField = Annotated[LinkFields, BeforeValidator(_parse_link, json_schema_input_type=str | TwoNames | LinkFields)]
LinksField = Annotated[
    tuple[LinkField, ...], WrapValidator(_in_columns), PlainSerializer(lambda links: links.in_short_forms(), list)
]

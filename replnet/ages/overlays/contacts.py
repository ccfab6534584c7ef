"""Who asks whom at Poisson instants, with nodes that are alike taken together.

Two nodes are alike if exchanging them changes nothing: they meet the source and ask alike, and whoever may ask one of
them may ask the other. A cluster of a hundred like members is so one kind of node, and one of two sorts of members two
kinds, which is all that the formulas of `informed_sets` and `spreading` need to know of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import NamedTuple, final

WIDE = 200  # lists of more others are not looked at for whether they are the same but for who asks


class Contact(NamedTuple):
    """A node asks `ask` of the others on a list, all choices alike, so often; replies come `delay` old."""

    rate: float
    among: frozenset[int]
    ask: int = 1
    delay: float = 0.0


class Asking(NamedTuple):
    """A contact of every node of a kind: whole kinds are on its list, but for the node itself."""

    rate: float
    kinds: tuple[int, ...]
    ask: int
    delay: float
    others: int  # so many are on the list beside the node


Hits = tuple[tuple[float, float], ...]  # how often a node meets the source, by the delay of its replies


@final
@dataclass(frozen=True, eq=False)
class Kinds:
    """The nodes of a network of contacts, by kind."""

    of: dict[int, int]
    sizes: list[int]
    hits: list[Hits]
    asking: list[list[Asking]]

    def beside(self, kind: int, other: int) -> int:
        """How many of another kind there are for a node of this one."""
        return self.sizes[other] - (kind == other)

    @cached_property
    def askers(self) -> list[list[int]]:
        """By kind, the kinds of nodes that ask it."""
        found: list[dict[int, None]] = [{} for _ in self.sizes]
        for kind, every in enumerate(self.asking):
            for one in every:
                for other in one.kinds:
                    found[other][kind] = None
        return [list(some) for some in found]

    def reached(self, without: int = -1) -> set[int]:
        """The kinds to which something may come from the source, but not by way of one."""
        waiting = [kind for kind, hits in enumerate(self.hits) if hits and kind != without]
        there = set(waiting)
        while waiting:
            new = [kind for kind in self.askers[waiting.pop()] if kind not in there and kind != without]
            there.update(new)
            waiting += new
        return there


def kinds_of(
    hits: Mapping[int, Hits], contacts: Mapping[int, Sequence[Contact]], apart: Iterable[frozenset[int]] = ()
) -> Kinds:
    """The kinds of all nodes in `contacts`; those who are in a set of `apart` are not like those who are not."""
    around = {i: [_around(i, contact) for contact in every] for i, every in contacts.items()}
    askers = Counter(some for every in around.values() for some in every)
    numbers: dict[frozenset[int], int] = {}
    own: dict[int, list[tuple[float, int, float, int, bool]]] = {}
    for i, every in contacts.items():
        own[i] = []
        for contact, whole in zip(every, around[i], strict=True):
            # A list that others share, such as that of a cluster, is written with those who ask in it.
            among = whole if askers[whole] > 1 else contact.among
            number = numbers.setdefault(among, len(numbers))
            own[i].append((contact.rate, contact.ask, contact.delay, number, i in among))
    for some in apart:
        numbers.setdefault(some, len(numbers))
    on: dict[int, list[int]] = {i: [] for i in contacts}
    for some, number in numbers.items():
        for i in some:
            on[i].append(number)
    number_of: dict[object, int] = {}
    of = {i: number_of.setdefault((hits.get(i, ()), tuple(sorted(own[i])), tuple(on[i])), len(number_of)) for i in own}
    sizes = [0] * len(number_of)
    for kind in of.values():
        sizes[kind] += 1
    members = [tuple(dict.fromkeys(of[i] for i in some)) for some in numbers]
    others = [len(some) for some in numbers]
    first = {kind: i for i, kind in reversed(of.items())}
    asking = [
        [
            Asking(rate, members[at], ask, delay, others[at] - inside)
            for rate, ask, delay, at, inside in own[first[kind]]
        ]
        for kind in range(len(sizes))
    ]
    return Kinds(of, sizes, [hits.get(first[kind], ()) for kind in range(len(sizes))], asking)


def _around(node: int, contact: Contact) -> frozenset[int]:
    """Those asked and who asks."""
    if node in contact.among or len(contact.among) > WIDE:
        return contact.among
    return contact.among | {node}


def draws(left: Sequence[int], count: int) -> Iterator[tuple[tuple[int, ...], int]]:
    """How many of every sort so many distinct draws may bring, and the number of ways to that."""
    if len(left) == 1:
        if count <= left[0]:
            yield (count,), comb(left[0], count)
        return
    for first in range(max(0, count - sum(left[1:])), min(left[0], count) + 1):
        for rest, ways in draws(left[1:], count - first):
            yield (first, *rest), comb(left[0], first) * ways

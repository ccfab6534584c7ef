"""The freshest of several copies that are chosen at random, where some of them come by shared ways.

Copies that come by the same node have its age in common. So below a node, take the parts of the network that have
nothing else in common, and count choices by how many fall into each: with c_pj the sum over the choices of j copies in
part p of the tail of the freshest one's age, relative to what is shared,

    sum over choices of k of the tail = coefficient of z^k in the product over p of (1 + sum over j of c_pj z^j),   (1)

and the mean over choices of k among n is that over C(n, k). The parts of a tree are trees again, up to the source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import comb
from typing import NamedTuple, final

import numpy as np

from replnet.ages.information_age import REDUNDANT, InformationAge, pull
from replnet.ages.panels import Scales, thinned
from replnet.ages.prediction import Basis, joined
from replnet.laws.law import Array


class NetworkPart(NamedTuple):
    """So many copies, and by j = 1, 2, ...: the age of the freshest in so many of the choices of j of them."""

    size: int
    ways: tuple[tuple[tuple[int, InformationAge], ...], ...]


@final
@dataclass(frozen=True, eq=False)
class Chosen(InformationAge):
    """The age of the freshest of `ask` copies in parts, of which there are so many of each, by (1)."""

    parts: tuple[tuple[NetworkPart, int], ...]
    ask: int

    @property
    def size(self) -> int:
        return sum(part.size * many for part, many in self.parts)

    @cached_property
    def _ages(self) -> tuple[InformationAge, ...]:
        every = (age for part, _ in self.parts for ways in part.ways for _, age in ways)
        return tuple(dict.fromkeys(every))

    @property
    def basis(self) -> Basis:
        return joined([*(age.basis for age in self._ages), REDUNDANT])

    @cached_property
    def latest(self) -> InformationAge:
        if all(age.latest is age for age in self._ages):
            return self
        parts = [
            (part._replace(ways=tuple(tuple((n, age.latest) for n, age in ways) for ways in part.ways)), many)
            for part, many in self.parts
        ]
        return replace(self, parts=tuple(parts))

    def tail(self, x: Array) -> Array:
        return self._mean(lambda age: age.tail(x), np.shape(x))

    def bound(self, x: Array) -> Array:
        return self._mean(lambda age: age.bound(x), np.shape(x))

    def _mean(self, tail: Callable[[InformationAge], Array], shape: tuple[int, ...]) -> Array:
        """(1)."""
        tails = {age: tail(age) for age in self._ages}
        whole = np.zeros((self.ask + 1, *shape))
        whole[0] = 1.0
        for part, many in self.parts:
            own = np.zeros_like(whole)
            own[0] = 1.0
            for j, ways in enumerate(part.ways[: self.ask], 1):
                own[j] = sum(n * tails[age] for n, age in ways)
            whole = reduce(_product, [own] * many, whole)
        return np.asarray(whole[self.ask] / comb(self.size, self.ask))

    @cached_property
    def scales(self) -> Scales:
        own = [age.scales for age in self._ages]
        marks = [min(one.marks) / self.ask for one in own] + [point for one in own for point in one.marks]
        return Scales(thinned(point for one in own for point in one.breaks), tuple(marks))


def _product(one: Array, other: Array) -> Array:
    """Of polynomials in z, as far as the first goes; all have so many coefficients."""
    found = np.zeros_like(one)
    for j in range(len(one)):
        found[j:] += one[j] * other[: len(one) - j]
    return found


def chosen(parts: Sequence[NetworkPart], ask: int) -> InformationAge:
    """The age of the freshest of `ask` copies in these parts, all choices equally likely. Exact if the parts are."""
    several = Counter(parts)
    ways = {way for part in several for way in part.ways[0]}
    ages = {age for _, age in ways}
    return ages.pop() if ask == 1 and len(ages) == 1 else Chosen(tuple(several.items()), ask)


def below(node: InformationAge, asked: bool, parts: Sequence[NetworkPart], ask: int) -> NetworkPart:
    """The part that a node with this age is the top of; the node itself may be among those asked.

    Its own copy is fresher than any below it.
    """
    count = sum(part.size for part in parts)
    ways = []
    for j in range(1, min(count + asked, ask) + 1):
        some = [(comb(count, j - 1), node)] if asked else []
        if j <= count:
            some.append((comb(count, j), pull(node, chosen(parts, j))))
        ways.append(tuple(some))
    return NetworkPart(count + asked, tuple(ways))


def parts_of(
    above: Mapping[int, int], own: Mapping[int, InformationAge | NetworkPart], asked: Container[int], ask: int
) -> list[NetworkPart]:
    """Those of a forest: by node the one above it, or -1, and its age relative to that one, or a part in its place."""
    parts: dict[int, list[NetworkPart]] = {}
    known: dict[object, NetworkPart] = {}
    left = Counter(above.values())
    waiting = [i for i in above if not left[i]]
    while waiting:
        i = waiting.pop()
        age, beneath = own[i], parts.pop(i, [])
        key = age, i in asked, frozenset(Counter(beneath).items())
        if key not in known:  # parts that are alike are one, and their curves are computed once
            known[key] = age if isinstance(age, NetworkPart) else below(age, i in asked, beneath, ask)
        up = above[i]
        parts.setdefault(up, []).append(known[key])
        left[up] -= 1
        if up >= 0 and not left[up]:
            waiting.append(up)
    return parts[-1]

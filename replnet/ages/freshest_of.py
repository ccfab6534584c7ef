"""The freshest of several copies that are chosen at random, where some of them come by shared ways.

Copies that come by the same node have its age in common. So take the parts of the network below a node that have
nothing else in common, and count choices by how many copies fall into each part: with c_pj the sum over all choices of
j copies in part p of the tail of the freshest one's age, relative to that node,

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
from replnet.ages.panels import Scales
from replnet.ages.prediction import Basis, joint_basis
from replnet.laws import Array


class ChoiceAges(NamedTuple):
    """The ages of the freshest copy in all choices of one or more of the `size` copies that a part of a network holds.

    They are relative to the node above the part: as if its copy were always fresh. `ways[j - 1]` lists, for choices of
    j copies, pairs of a number of choices and the age of the freshest copy in each of these.
    """

    size: int
    ways: tuple[tuple[tuple[int, InformationAge], ...], ...]


@final
@dataclass(frozen=True, eq=False)
class FreshestOf(InformationAge):
    """The age of the freshest of `ask` copies, where all choices of so many copies are equally likely.

    `parts` are pairs of a part of the network, independent of the others, and the number of parts like it.
    """

    parts: tuple[tuple[ChoiceAges, int], ...]
    ask: int

    @property
    def size(self) -> int:
        """The number of copies from which the choice is made, in all parts together."""
        return sum(part.size * count for part, count in self.parts)

    @cached_property
    def _ages(self) -> tuple[InformationAge, ...]:
        """The distinct ages in the parts."""
        every = (age for part, _ in self.parts for ways in part.ways for _, age in ways)
        return tuple(dict.fromkeys(every))

    @property
    def basis(self) -> Basis:
        return joint_basis([*(age.basis for age in self._ages), REDUNDANT])

    @cached_property
    def latest(self) -> InformationAge:
        if all(age.latest is age for age in self._ages):
            return self
        parts = [
            (part._replace(ways=tuple(tuple((n, age.latest) for n, age in ways) for ways in part.ways)), count)
            for part, count in self.parts
        ]
        return replace(self, parts=tuple(parts))

    @cached_property
    def chance_of_copy(self) -> float:
        return 1 - float(self._mean(lambda age: np.asarray(1 - age.chance_of_copy), ()))

    @cached_property
    def of_copies(self) -> InformationAge:
        return self if self.chance_of_copy == 1 else OfCopies(self, self.chance_of_copy)

    def tail(self, x: Array) -> Array:
        return self._mean(lambda age: age.tail(x), np.shape(x))

    def bound(self, x: Array) -> Array:
        return self._mean(lambda age: age.bound(x), np.shape(x))

    def _mean(self, tail: Callable[[InformationAge], Array], shape: tuple[int, ...]) -> Array:
        """Return the mean, over all choices of `ask` copies, of the tail of the freshest copy's age.

        `tail` returns the tail of an age, or a bound of it, as an array of this shape, and so is what is returned.
        """
        tails = {age: tail(age) for age in self._ages}
        product = np.zeros((self.ask + 1, *shape))
        product[0] = 1.0
        for part, count in self.parts:
            coefficients = np.zeros_like(product)
            coefficients[0] = 1.0
            for j, ways in enumerate(part.ways[: self.ask], 1):
                coefficients[j] = sum(n * tails[age] for n, age in ways)
            product = reduce(_product, [coefficients] * count, product)
        return np.asarray(product[self.ask] / comb(self.size, self.ask))

    @cached_property
    def scales(self) -> Scales:
        return Scales.of_smallest([age.scales for age in self._ages], self.ask)


@final
@dataclass(frozen=True, eq=False)
class OfCopies(InformationAge):
    """An age given that there is a copy, P(X > x | X < infinity); there is one with chance `share`."""

    age: InformationAge
    share: float

    @property
    def basis(self) -> Basis:
        return self.age.basis

    @cached_property
    def latest(self) -> InformationAge:
        return self if self.age.latest is self.age else self.age.latest.of_copies

    def tail(self, x: Array) -> Array:
        return self._if_present(self.age.tail(x))

    def bound(self, x: Array) -> Array:
        return self._if_present(self.age.bound(x))

    def _if_present(self, tail: Array) -> Array:
        """Return a tail given that there is a copy, from the tail of the age itself."""
        return np.maximum(tail - (1 - self.share), 0.0) / self.share

    @property
    def scales(self) -> Scales:
        return self.age.scales


def _product(factor: Array, other: Array) -> Array:
    """Return the product of two polynomials in z, cut off at their common degree; arrays of coefficients."""
    result = np.zeros_like(factor)
    for j in range(len(factor)):
        result[j:] += factor[j] * other[: len(factor) - j]
    return result


def freshest_of(parts: Sequence[ChoiceAges], ask: int) -> InformationAge:
    """Return the age of the freshest of `ask` copies that these parts of a network hold, all choices equally likely.

    The parts must be independent of one another; the age is exact if theirs are, and relative to the same node as
    these.
    """
    several = Counter(parts)
    ways = {way for part in several for way in part.ways[0]}
    ages = {age for _, age in ways}
    return ages.pop() if ask == 1 and len(ages) == 1 else FreshestOf(tuple(several.items()), ask)


def part_topped_by(node: InformationAge, is_asked: bool, parts: Sequence[ChoiceAges], ask: int) -> ChoiceAges:
    """Return the part that a node and the independent `parts` below it make up, for choices of up to `ask` copies.

    `node` is the age of the node's copy relative to the node above it. `is_asked` says whether that copy is among those
    that may be chosen; it is fresher than any below it.
    """
    count = sum(part.size for part in parts)
    ways = []
    for j in range(1, min(count + is_asked, ask) + 1):
        pairs = [(comb(count, j - 1), node)] if is_asked else []
        if j <= count:
            pairs.append((comb(count, j), pull(node, freshest_of(parts, j))))
        ways.append(tuple(pairs))
    return ChoiceAges(count + is_asked, tuple(ways))


def forest_parts(
    above: Mapping[int, int], own_ages: Mapping[int, InformationAge | ChoiceAges], asked_nodes: Container[int], ask: int
) -> list[ChoiceAges]:
    """Return the parts that the trees of a forest make up, for choices of up to `ask` copies of `asked_nodes`.

    `above` maps every node to the one above it, or to -1 at a root. `own_ages` maps every node to the age of its copy
    relative to the node above (at a root, to the source), or to a whole part that stands in its place. The list is in
    no set order.
    """
    parts: dict[int, list[ChoiceAges]] = {}
    part_by_kind: dict[object, ChoiceAges] = {}
    left = Counter(above.values())
    waiting = [i for i in above if not left[i]]
    while waiting:
        i = waiting.pop()
        age, beneath = own_ages[i], parts.pop(i, [])
        key = age, i in asked_nodes, frozenset(Counter(beneath).items())
        if key not in part_by_kind:  # parts that are alike are one, and their curves are computed once
            part_by_kind[key] = (
                age if isinstance(age, ChoiceAges) else part_topped_by(age, i in asked_nodes, beneath, ask)
            )
        up = above[i]
        parts.setdefault(up, []).append(part_by_kind[key])
        left[up] -= 1
        if up >= 0 and not left[up]:
            waiting.append(up)
    return parts[-1]

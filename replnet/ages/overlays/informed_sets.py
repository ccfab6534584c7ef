"""Poisson pulls among any nodes: the age of the freshest copy in a set of them, exact while there are few sets.

Look backwards in time from the nodes A. At every contact of one of them, those asked join: what they have is what A
has. So the nodes from whom a copy in A could have come grow from A by A's contacts until one of them meets the source.
With s(A) the rate at which the nodes of A meet it, and B asked at rate b(B) by one of A,

    Q_A(x) = P(no copy in A is younger than x),   Q_A' = -s(A) Q_A - sum over B of b(B) (Q_A - Q_{A + B}).       (1)

Nothing but the number of sets is in the way. There are few of them where nodes are alike, as then only how many of each
kind are in A matters (`contacts`); and whoever has nothing but by way of a node in A may be left out of A. With c_n(A)
the chance that the source was not met in n steps of the chain of sets, made at rate beta,

    Q_A(x) = sum over n of c_n(A) (beta x)^n exp(-beta x) / n!.                                                   (2)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb, prod
from typing import TYPE_CHECKING, final

import numpy as np

from replnet.ages.clusters.chains import VANISHED, poisson_mixture
from replnet.ages.curve import Curve, fit
from replnet.ages.information_age import InformationAge
from replnet.ages.overlays.contacts import Asking, Kinds, draws
from replnet.ages.panels import Scales
from replnet.ages.prediction import Basis
from replnet.laws.law import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SETS = Basis("exact", "sets of nodes", "Poisson downloads and polls")
MOST_KINDS = 150
MOST_SETS = 2_500
MOST_MOVES = 40_000  # from set to set: half a second
MOST_STEPS = 30_000  # of (2)

_CROWDED: deque[object] = deque(maxlen=32)  # who asks whom in networks that were found to have too many sets

Set = tuple[int, ...]  # how many of each kind


class TooManySetsError(ValueError):
    """(1) would take too long."""


@final
@dataclass(frozen=True, eq=False)
class SetAge(InformationAge):
    """The age of the freshest copy in a set of nodes, (2)."""

    lacking: Array  # c_0, c_1, ...
    rate: float  # beta

    basis = SETS

    @property
    def reach(self) -> float:
        """Where the tail has vanished."""
        return float(self.lacking.size + 9 * self.lacking.size**0.5 + 30) / self.rate

    @property
    def scales(self) -> Scales:
        return Scales(marks=(0.3 / self.rate, 0.3 * float(self.lacking.sum()) / self.rate, self.reach / 3))

    def tail_curve(self, horizon: float) -> Curve:
        return self._curve

    @cached_property
    def _curve(self) -> Curve:
        edges = self.scales.edges(self.reach)
        return fit(lambda x: poisson_mixture(self.lacking, self.rate * x), edges, beyond=0.0)

    def laplace(self, rate: float) -> float:
        """(2) term by term."""
        share = self.rate / (self.rate + rate)
        return float(1 - (1 - share) * self.lacking @ share ** np.arange(self.lacking.size))


def single(kinds: Kinds, kind: int) -> dict[Set, float]:
    """One node of this kind, as a start."""
    return {tuple(int(other == kind) for other in range(len(kinds.sizes))): 1.0}


def choices(kinds: Kinds, asked: Sequence[int], ask: int) -> dict[Set, float]:
    """So many of these nodes, all choices equally likely, as a start."""
    many = [0] * len(kinds.sizes)
    for i in asked:
        many[kinds.of[i]] += 1
    if prod(min(each, ask) + 1 for each in many) > MOST_SETS:
        raise TooManySetsError
    ways = comb(len(asked), ask)
    return {some: count / ways for some, count in draws(many, ask)}


def set_ages(kinds: Kinds, starts: Sequence[Mapping[Set, float]]) -> list[InformationAge]:
    """Of the freshest copy in a set that is drawn at random with these weights, for each of `starts`."""
    chain = _SetChain(kinds)
    begun = [[(chain.place(some), share) for some, share in start.items()] for start in starts]
    chain.follow()
    step, rate = chain.steps()
    weights = np.zeros((len(starts), step.shape[0]))
    for row, start in enumerate(begun):
        for place, share in start:
            weights[row, place] += share
    lacking, found = np.ones(step.shape[0]), [np.ones(len(starts))]
    while found[-1].max() > VANISHED:
        if len(found) > MOST_STEPS:
            raise TooManySetsError
        lacking = step @ lacking
        found.append(weights @ lacking)
    return [SetAge(column, rate) for column in np.array(found).T]


@final
class _SetChain:
    """The sets that others grow to, and how."""

    def __init__(self, kinds: Kinds) -> None:
        if len(kinds.sizes) > MOST_KINDS:
            raise TooManySetsError
        self._kinds, self._reached = kinds, kinds.reached()
        self._places: dict[Set, int] = {}
        self._moves: dict[tuple[int, int], float] = {}
        self._under = {kind: self._only_by(kind) for kind, size in enumerate(kinds.sizes) if size == 1}

    def _only_by(self, kind: int) -> list[int]:
        """The kinds that have nothing but by way of a single node."""
        return sorted(self._reached - self._kinds.reached(without=kind) - {kind})

    def place(self, some: Sequence[int]) -> int:
        """The number of a set, without those who have nothing but by way of others in it."""
        kept = [count if kind in self._reached else 0 for kind, count in enumerate(some)]
        for kind, under in self._under.items():
            if kept[kind]:
                for other in under:
                    kept[other] = 0
        return self._places.setdefault(tuple(kept), len(self._places))

    def follow(self) -> None:
        """All sets that come after those that have a place."""
        # Which sets these are does not depend on rates: who moves one finds at once that there are too many.
        asking = tuple(tuple((one.kinds, one.ask, one.others) for one in every) for every in self._kinds.asking)
        links = tuple(self._kinds.sizes), asking, frozenset(self._reached), tuple(self._places)
        if links in _CROWDED:
            raise TooManySetsError
        at = 0
        while at < len(self._places):
            if len(self._places) > MOST_SETS or len(self._moves) > MOST_MOVES:
                _CROWDED.append(links)
                raise TooManySetsError
            # Insertion goes on while this list is worked off.
            for place, some in enumerate(list(self._places)[at:], at):
                self._leave(place, some)
                at = place + 1

    def _leave(self, place: int, some: Set) -> None:
        for kind, count in enumerate(some):
            for one in self._kinds.asking[kind] if count else ():
                for more, share in self._joined(some, kind, one):
                    to = self.place(more)
                    if to != place:
                        self._moves[place, to] = self._moves.get((place, to), 0.0) + count * one.rate * share

    def _joined(self, some: Set, kind: int, one: Asking) -> Iterator[tuple[list[int], float]]:
        """The set after a contact of one of this kind, with the chances."""
        left = [self._kinds.sizes[other] - some[other] for other in one.kinds]
        ways = comb(one.others, one.ask)
        for new, many in draws([*left, one.others - sum(left)], one.ask):
            more = list(some)
            for other, count in zip(one.kinds, new, strict=False):
                more[other] += count
            yield more, many / ways

    def steps(self) -> tuple[csr_array, float]:
        """The chances of a step from every set (row) to others, and the rate of steps."""
        from scipy.sparse import csr_array

        size, places = len(self._places), np.array([*self._moves], np.int64).reshape(-1, 2)
        rates = np.fromiter(self._moves.values(), float, len(self._moves))
        hits = [sum(rate for rate, _ in every) for every in self._kinds.hits]
        total = np.array(list(self._places), float) @ hits + np.bincount(places[:, 0], rates, size)
        fastest, own = float(total.max()), np.arange(size)
        chances = np.concatenate([rates / fastest, 1 - total / fastest])
        rows, columns = np.concatenate([places, np.stack([own, own], axis=1)]).T
        return csr_array((chances, (rows, columns)), shape=(size, size)), fastest

"""Poisson pulls among any nodes: the age of the freshest copy in a set of them, exact while there are few sets.

Look backwards in time from a set of nodes A. At every pull of one of them, the nodes asked join: what they have is what
A has. So the nodes from which a copy in A could have come grow from A by their pulls until one of them asks the source.
With s(A) the rate at which the nodes of A ask it, and B asked at rate b(B) by one of A,

    Q_A(x) = P(no copy in A is younger than x),   Q_A' = -s(A) Q_A - sum over B of b(B) (Q_A - Q_{A + B}).       (1)

This is limited only by the number of sets. There are few of them where nodes are alike, as then only how many of each
kind are in A matters (`contacts`); and a node that gets copies only by way of a node in A may be left out of A. With
c_n(A) the chance that the source was not asked in n steps of the chain of sets, made at rate beta,

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

from replnet.ages.clusters import VANISHED, poisson_mixture
from replnet.ages.information_age import InformationAge
from replnet.ages.overlays.contacts import KindPull, NodeKinds, split_draws
from replnet.ages.panels import Scales
from replnet.ages.prediction import Basis
from replnet.laws import Array, Curve, fit_curve

if TYPE_CHECKING:
    from scipy.sparse import csr_array

SETS = Basis("exact", "sets of nodes", "Poisson downloads and polls")
MOST_KINDS = 150
MOST_SETS = 2_500
MOST_MOVES = 40_000  # moves from set to set: half a second
MOST_STEPS = 30_000  # terms of (2)

_CROWDED: deque[object] = deque(maxlen=32)  # the pulls of networks that turned out to have too many sets

Set = tuple[int, ...]  # how many of each kind


class TooManySetsError(ValueError):
    """The error that there are too many sets of nodes, or of steps between them, for an exact age."""


@final
@dataclass(frozen=True, eq=False)
class SetAge(InformationAge):
    """The age of the freshest copy in a set of nodes, which looks backwards in time for a pull from the source.

    Looking back goes in steps at Poisson instants of the rate `rate`: `chance_missed` has the chances that no pull from
    the source is met in the first 0, 1, ... of them.
    """

    chance_missed: Array  # c_0, c_1, ...
    rate: float  # beta

    basis = SETS

    @property
    def reach(self) -> float:
        """An age above which P(age > x) is below about 1e-13."""
        return float(self.chance_missed.size + 9 * self.chance_missed.size**0.5 + 30) / self.rate

    @property
    def scales(self) -> Scales:
        return Scales(marks=(0.3 / self.rate, 0.3 * float(self.chance_missed.sum()) / self.rate, self.reach / 3))

    def tail_curve(self, horizon: float) -> Curve:
        return self._curve

    @cached_property
    def _curve(self) -> Curve:
        edges = self.scales.edges(self.reach)
        return fit_curve(lambda x: poisson_mixture(self.chance_missed, self.rate * x), edges, beyond=0.0)

    def laplace(self, rate: float) -> float:
        """Return E[exp(-rate X)], X being the age, summed step by step."""
        share = self.rate / (self.rate + rate)
        return float(1 - (1 - share) * self.chance_missed @ share ** np.arange(self.chance_missed.size))


def start_from_kind(kinds: NodeKinds, kind: int) -> dict[Set, float]:
    """Return the set of a single node of the kind number `kind`, as the key of a mapping to its chance, 1.

    The set is given as its number of nodes of each kind, a tuple.
    """
    return {tuple(int(other == kind) for other in range(len(kinds.sizes))): 1.0}


def start_from_choice(kinds: NodeKinds, nodes: Sequence[int], ask: int) -> dict[Set, float]:
    """Return the chances of all sets of `ask` of these `nodes`, if every choice is equally likely, by set.

    A set is its number of nodes of each kind, as a tuple. Raises TooManySetsError if there may be more than 2,500 sets.
    """
    sizes = [0] * len(kinds.sizes)
    for i in nodes:
        sizes[kinds.of[i]] += 1
    if prod(min(each, ask) + 1 for each in sizes) > MOST_SETS:
        raise TooManySetsError
    ways = comb(len(nodes), ask)
    return {members: count / ways for members, count in split_draws(sizes, ask)}


def set_ages(kinds: NodeKinds, starts: Sequence[Mapping[Set, float]]) -> list[InformationAge]:
    """Return, for each of `starts`, the exact age of the freshest copy in a set of nodes that is drawn at random.

    A start maps sets, each as its number of nodes of each kind, to their chances. Raises TooManySetsError if there are
    more than 150 kinds, 2,500 sets or 40,000 steps between sets, or if ages go back over more than 30,000 steps.
    """
    chain = _SetChain(kinds)
    places = [[(chain.place(members), share) for members, share in start.items()] for start in starts]
    chain.add_following_sets()
    step, rate = chain.steps()
    weights = np.zeros((len(starts), step.shape[0]))
    for row, start in enumerate(places):
        for place, share in start:
            weights[row, place] += share
    chance_missed, missed = np.ones(step.shape[0]), [np.ones(len(starts))]
    while missed[-1].max() > VANISHED:
        if len(missed) > MOST_STEPS:
            raise TooManySetsError
        chance_missed = step @ chance_missed
        missed.append(weights @ chance_missed)
    return [SetAge(column, rate) for column in np.array(missed).T]


@final
class _SetChain:
    """The sets of nodes from which a copy may have come, numbered, and the rates at which one grows to another.

    Sets grow backwards in time, by the pulls of their nodes. Raises TooManySetsError if there are too many kinds.
    """

    def __init__(self, kinds: NodeKinds) -> None:
        if len(kinds.sizes) > MOST_KINDS:
            raise TooManySetsError
        self._kinds, self._reached = kinds, kinds.reachable()
        self._places: dict[Set, int] = {}
        self._moves: dict[tuple[int, int], float] = {}
        self._under = {kind: self._only_by(kind) for kind, size in enumerate(kinds.sizes) if size == 1}

    def _only_by(self, kind: int) -> list[int]:
        """Return the kinds that get copies only by way of this kind, which has a single node."""
        return sorted(self._reached - self._kinds.reachable(without=kind) - {kind})

    def place(self, members: Sequence[int]) -> int:
        """Return the number of a set, given as its number of nodes of each kind; a new set gets the next number.

        Nodes that get no copies, or get them only by way of another node of the set, do not count.
        """
        counts = [count if kind in self._reached else 0 for kind, count in enumerate(members)]
        for kind, under in self._under.items():
            if counts[kind]:
                for other in under:
                    counts[other] = 0
        return self._places.setdefault(tuple(counts), len(self._places))

    def add_following_sets(self) -> None:
        """Number all sets to which those that have a number grow, step by step, and store the rates of these steps.

        Raises TooManySetsError if that makes more than 2,500 sets or 40,000 steps.
        """
        # The sets do not depend on rates: if only rates change, it is known at once that there are too many.
        asking = tuple(tuple((pull.kinds, pull.ask, pull.others) for pull in pulls) for pulls in self._kinds.pulls)
        links = tuple(self._kinds.sizes), asking, frozenset(self._reached), tuple(self._places)
        if links in _CROWDED:
            raise TooManySetsError
        at = 0
        while at < len(self._places):
            if len(self._places) > MOST_SETS or len(self._moves) > MOST_MOVES:
                _CROWDED.append(links)
                raise TooManySetsError
            # Insertion goes on while this list is worked off.
            for place, members in enumerate(list(self._places)[at:], at):
                self._add_moves(place, members)
                at = place + 1

    def _add_moves(self, place: int, members: Set) -> None:
        """Add the rates at which set number `place`, with so many `members` of each kind, grows to other sets.

        Sets that are new get a number.
        """
        for kind, count in enumerate(members):
            for pull in self._kinds.pulls[kind] if count else ():
                for grown, share in self._grow(members, kind, pull):
                    to = self.place(grown)
                    if to != place:
                        self._moves[place, to] = self._moves.get((place, to), 0.0) + count * pull.rate * share

    def _grow(self, members: Set, kind: int, pull: KindPull) -> Iterator[tuple[list[int], float]]:
        """Yield the sets that may follow when a node of this kind in the set makes this pull, with their chances.

        Sets, such as `members`, the set before, are given as their number of nodes of each kind; `kind` is a number.
        """
        left = [self._kinds.sizes[other] - members[other] for other in pull.kinds]
        ways = comb(pull.others, pull.ask)
        for new, choices in split_draws([*left, pull.others - sum(left)], pull.ask):
            grown = list(members)
            for other, count in zip(pull.kinds, new, strict=False):
                grown[other] += count
            yield grown, choices / ways

    def steps(self) -> tuple[csr_array, float]:
        """Return the chances that a step leads from a set (row) to a set (column), or itself, and the rate of steps.

        What a row lacks to 1 is the chance that the step meets a pull from the source. The rate is in steps per unit of
        time, the same for all sets.
        """
        from scipy.sparse import csr_array

        size, places = len(self._places), np.array([*self._moves], np.int64).reshape(-1, 2)
        rates = np.fromiter(self._moves.values(), float, len(self._moves))
        hits = [sum(rate for rate, _ in rates_of_kind) for rates_of_kind in self._kinds.source_rates]
        total = np.array(list(self._places), float) @ hits + np.bincount(places[:, 0], rates, size)
        fastest, numbers = float(total.max()), np.arange(size)
        chances = np.concatenate([rates / fastest, 1 - total / fastest])
        rows, columns = np.concatenate([places, np.stack([numbers, numbers], axis=1)]).T
        return csr_array((chances, (rows, columns)), shape=(size, size)), fastest

"""Poisson pulls among any nodes: the age of each one's copy, exact on forests and between bounds elsewhere.

Let i ask j at rate b, who answers with what is d old then, and F_ij(x) be the chance that nothing younger than x came
to i from j alone. j has such a thing unless it met the source too long ago (at rate s_j, d_j old), and nothing came
from those that j asks. Of these i itself is of no use, if it is to have nothing young yet. So

    Z_ij(x) = exp(-s_j (x - d_j)+) product over m != i of F_jm(x)           j, without i, has nothing younger      (1)
    F_ij' = -b (F_ij - Z_ij(x - d)),   F_ij = 1 up to d                                                            (2)
    P(X_i > x) = exp(-s_i (x - d_i)+) product over j of F_ij(x).                                                   (3)

This is exact where there is one way at most from node to node. It is what pairs of neighbours tell when triples are
closed by P_ijm = P_ij P_im / P_i (P_ij = Z_ij Z_ji solves that), and what message passing is for epidemics without
recovery (Karrer and Newman 2010). Elsewhere what comes to i by several ways is taken as independent, though it is
positively associated, so P(X_i > x) is no less than (3): copies are no fresher.

They are no staler than with contacts left out, and so not staler than (3) says of a tree that is cut out of the
network for that node: of those who are nearest to it, each with the one contact by which it is. Where the source is far
from most nodes, that tree is the shortest way from it, and all of these are one tree.

A contact that asks k of n does not ask each independently. That is fresher than it is if k are asked one by one, each
at that rate, which again is to the fresh side; and since the chance to meet one of j that have it rises with j ever
more slowly, it is no fresher than to ask j of them alone, each at the rate of that chance over j.                 (4)
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import NamedTuple, final

import numpy as np

from replnet.ages.curve import NODES, Curve, panel_points, to_powers, unresolved
from replnet.ages.information_age import InformationAge, never
from replnet.ages.overlays.contacts import Hits, Kinds
from replnet.ages.panels import Scales, thinned
from replnet.ages.prediction import Basis, NoFormulaError, TooLongError
from replnet.deadline import require_time
from replnet.laws.law import Array, Flags, Floats, Ints

PAIRS, ASSUMES = "pairs of neighbours", "Poisson downloads and polls"
EXACT, BETWEEN = Basis("exact", PAIRS, ASSUMES), Basis("approximation", PAIRS, ASSUMES)
FAINT = 1e-10  # tail where integration ends
PRECISE, ROUNDS = 1e-9, 25  # resolution of a panel, and iterations in it after which it is halved
NARROWEST = 1e-6  # panel against what there was before it, taken as it is
GROWTH = 1.7  # from a panel to the next
SMALLEST = 1e-300  # of which there is a logarithm
MOST_DELAYS, BENDS = 8, 4  # of which panels begin where sums of so many are
MOST_MESSAGES = 60_000
TOO_MANY = f"more than {MOST_MESSAGES:,} contacts of nodes that are unlike one another"
FEWEST, MOST, NODES_OF_ALL = 4, 64, 30_000  # nodes of a tree, and of all
MOST_BRANCHES = FEWEST * MOST_MESSAGES  # of all trees
BATCH = 3_000  # nodes of trees that are solved together: what one panel costs beside its nodes is shared
MOST_LOOKS = 4_000_000  # at a message in a panel: half a minute
LOOKED_AT = 1_000_000  # contacts for all trees


class Message(NamedTuple):
    """F of (2), of `whom` by `who`; columns. So many nodes of this kind are beside `who`."""

    who: Ints
    whom: Ints
    rate: Floats
    delay: Floats
    times: Floats
    back: Ints  # the message the other way: this one's number plus those of it, -1 if there is none


Step = tuple[()] | tuple[float, float, int]  # the rate, the delay and whom; nothing where the source is asked
Together = tuple[int, ...]  # the kinds of nodes that are looked at together
Pairs = dict[tuple[int, int], tuple[float, float, int]]  # by who asks whom the rate, the delay, and of how many


@final
@dataclass(frozen=True, eq=False)
class NearAge(InformationAge):
    """The age of a copy by (3), and the latest that it may have in truth."""

    curve: Curve
    latest_curve: Curve | None

    @property
    def basis(self) -> Basis:
        return EXACT if self.latest_curve is None else BETWEEN

    @cached_property
    def latest(self) -> InformationAge:
        if self.latest_curve is None:
            return self
        return NearAge(self.latest_curve, None) if self.latest_curve.beyond == 0 else never()

    @property
    def scales(self) -> Scales:
        edges = self.curve.edges
        return Scales(marks=tuple(edges[1:].tolist()))

    def tail_curve(self, horizon: float) -> Curve:
        return self.curve


def near_ages(kinds: Kinds) -> dict[int, NearAge]:
    """By kind, of every node that something can come to."""
    size, reached = len(kinds.sizes), sorted(kinds.reached())
    count = sum(len(one.kinds) for every in kinds.asking for one in every)
    if count > MOST_MESSAGES:
        raise TooLongError(TOO_MANY)
    message, exactly = _messages(kinds, set(reached))
    curves = _solved(kinds.hits, message, reached, size)
    if exactly:
        return {kind: NearAge(curve, None) for kind, curve in zip(reached, curves, strict=True)}
    latest = _latest(kinds, reached, count, max(curve.edges.size for curve in curves))
    return {kind: NearAge(curve, late) for kind, curve, late in zip(reached, curves, latest, strict=True)}


def _latest(kinds: Kinds, reached: Sequence[int], count: int, panels: int) -> list[Curve]:
    """Of each by a tree of its own; by the shortest way, if trees would take too long in about so many panels."""
    trees = _Trees(kinds, set(reached))
    most = max(FEWEST, min(MOST, NODES_OF_ALL // len(reached), LOOKED_AT // count))
    try:
        room = min(MOST_BRANCHES, MOST_LOOKS // panels)
        return trees.solved([root for kind in reached for root in trees.grow([kind], most, room)])
    except TooLongError:
        return trees.solved(trees.grow_ways(reached))


def near_together(
    kinds: Kinds, ages: Mapping[int, NearAge], sets: Iterable[Together]
) -> dict[Together, list[NearAge] | NoFormulaError]:
    """By set, of nodes of these kinds, to be taken as independent: by (3) they are too fresh together as well.

    They are independent if each has a tree of its own, and no fresher than what is left of them in that.
    """
    trees, found, waiting = (
        _Trees(kinds, kinds.reached()),
        dict[Together, list[NearAge] | NoFormulaError](),
        deque(sets),
    )
    while waiting:
        trees.clear()
        batch = dict[Together, list[int]]()
        while waiting and len(trees.hits) < BATCH:
            asked = waiting.popleft()
            try:
                batch[asked] = trees.grow(asked, len(asked) + NODES_OF_ALL // FEWEST)
            except NoFormulaError as why:
                found[asked] = why
        try:
            latest = iter(trees.solved([root for roots in batch.values() for root in roots]))
            found |= {asked: [NearAge(ages[kind].curve, next(latest)) for kind in asked] for asked in batch}
        except NoFormulaError as why:
            found |= dict.fromkeys(batch, why)
    return found


# ---- The network, and trees in it


def _messages(kinds: Kinds, reached: set[int]) -> tuple[Message, bool]:
    """Those of a network, and whether (3) is exact for it."""
    pairs: Pairs = {}
    for kind, every in enumerate(kinds.asking):
        for one in every:
            for other in one.kinds:
                if other in reached and kinds.beside(kind, other):
                    rate, *_ = pairs.get((kind, other), (0.0,))
                    rate += one.rate * one.ask / one.others
                    pairs[kind, other] = rate, one.delay, kinds.beside(kind, other)
    single = all(one.ask == 1 for every in kinds.asking for one in every)
    return _columns(pairs), single and _forest(kinds, pairs)


def _forest(kinds: Kinds, pairs: Iterable[tuple[int, int]]) -> bool:
    """Whether there is one way at most between any two nodes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    joined = {(min(pair), max(pair)) for pair in pairs}
    ends = np.array([*joined], np.int64).reshape(-1, 2)
    size = len(kinds.sizes)
    links = sum(kinds.sizes[a] * kinds.beside(a, b) // (1 + (a == b)) for a, b in joined)
    parts, _ = connected_components(coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size)))
    alone = set(range(size)) - set(ends.ravel().tolist())
    return bool(links == sum(kinds.sizes) - parts - sum(kinds.sizes[kind] - 1 for kind in alone))


def _columns(pairs: Pairs) -> Message:
    number = {pair: at for at, pair in enumerate(sorted(pairs))}
    who, whom = np.array([*number], np.int64).reshape(-1, 2).T
    rate, delay, times = np.array([pairs[pair] for pair in number], float).reshape(-1, 3).T
    return Message(who, whom, rate, delay, times, np.array([number.get((b, a), -1) for a, b in number], np.int64))


class Branch(NamedTuple):
    """A node that may come into a tree, and so many like it: the order in which they do, and where they would be."""

    far: float  # about how long it takes from the source to the root by this way
    below: float  # of which so long from the node to the root
    kind: int
    parent: int
    contact: int  # of the parent
    rate: float
    delay: float
    many: int


@final
class _Trees:
    """Trees of contacts, each of the nodes from which something comes to its root soonest."""

    hits: list[Hits]
    _pairs: Pairs

    def __init__(self, kinds: Kinds, reached: set[int]) -> None:
        self._kinds = kinds
        self._contacts = [list(self._usable(kind, reached)) for kind in range(len(kinds.sizes))]
        self._from_source, self._next = self._distances()
        self.clear()

    def _usable(self, kind: int, reached: set[int]) -> Iterator[tuple[float, float, int, list[int]]]:
        """By contact its rate per node asked, its delay, how many of them are asked at most by (4), and the kinds."""
        for one in self._kinds.asking[kind]:
            others = [other for other in one.kinds if other in reached and self._kinds.beside(kind, other)]
            most = -(-one.others // one.ask)
            chance = 1 - comb(one.others - most, one.ask) / comb(one.others, one.ask)
            yield one.rate * chance / most, one.delay, one.others if one.ask == 1 else most, others

    def _distances(self) -> tuple[dict[int, float], dict[int, Step]]:
        """About how long it takes from the source to each kind, and the last contact of the way by which it does."""
        askers: dict[int, list[tuple[float, int, Step]]] = {}
        for kind, every in enumerate(self._contacts):
            for rate, delay, _, others in every:
                for other in others:
                    askers.setdefault(other, []).append((1 / rate + delay, kind, (rate, delay, other)))
        waiting = list[tuple[float, int, Step]]()
        for kind, hits in enumerate(self._kinds.hits):
            if hits:
                waiting.append((min(1 / rate + delay for rate, delay in hits), kind, ()))
        heapq.heapify(waiting)
        found, steps = dict[int, float](), dict[int, Step]()
        while waiting:
            far, kind, step = heapq.heappop(waiting)
            if kind not in found:
                found[kind], steps[kind] = far, step
                for further, asker, by in askers.get(kind, ()):
                    heapq.heappush(waiting, (far + further, asker, by))
        return found, steps

    def grow_ways(self, roots: Sequence[int]) -> list[int]:
        """The numbers of these in one tree of the shortest ways from the source to all kinds."""
        self.clear()
        places = {kind: place for place, kind in enumerate(self._next)}
        self.hits = [self._kinds.hits[kind] for kind in places]
        for kind, step in self._next.items():
            if step:
                rate, delay, other = step
                self._pairs[places[kind], places[other]] = rate, delay, 1
        return [places[kind] for kind in roots]

    def grow(self, roots: Sequence[int], most: int, room: int = MOST_BRANCHES) -> list[int]:
        """The numbers of the roots of new trees, which have no node in common, and so many in all.

        They are more if it takes more to get to a node that meets the source.
        """
        require_time()
        hits, pairs, first = list[Hits](), Pairs(), len(self.hits)
        used, left = [0] * len(self._kinds.sizes), dict[tuple[int, int], int]()
        waiting = [Branch(0.0, 0.0, root, -1, 0, 0.0, 0.0, 1) for root in sorted(roots)]
        met = False
        while waiting and (len(hits) < most or not met):
            branch = heapq.heappop(waiting)
            kind, way = branch.kind, (branch.parent, branch.contact)
            if used[kind] == self._kinds.sizes[kind] or left.get(way) == 0:
                continue
            here = first + len(hits)
            used[kind] += 1
            hits.append(self._kinds.hits[kind])
            met = met or bool(self._kinds.hits[kind])
            if here > room:
                raise TooLongError(f"ways from a source of more than {room:,} contacts in all")
            if branch.parent >= 0:
                pairs[branch.parent, here] = branch.rate, branch.delay, 1
                left[way] -= 1
            if branch.many > 1:
                heapq.heappush(waiting, branch._replace(many=branch.many - 1))
            for contact, (rate, delay, several, others) in enumerate(self._contacts[kind]):
                left[here, contact] = several
                for other in others:
                    below, many = branch.below + 1 / rate + delay, self._kinds.beside(kind, other)
                    far = below + self._from_source[other]
                    heapq.heappush(waiting, Branch(far, below, other, here, contact, rate, delay, many))
        places = dict(
            zip(sorted(range(len(roots)), key=roots.__getitem__), range(first, first + len(roots)), strict=True)
        )
        self.hits += hits
        self._pairs |= pairs
        return [places[at] for at in range(len(roots))]

    def solved(self, roots: Sequence[int]) -> list[Curve]:
        """(3) for these roots."""
        return _solved(self.hits, _columns(self._pairs), roots, len(self.hits)) if roots else []

    def clear(self) -> None:
        """None are grown yet."""
        self.hits, self._pairs = [], {}


# ---- The solution


def _lower(matrix: Array) -> Array:
    """The triangle near an integration matrix: U transposed where its transpose is L U (Weiser 2015)."""
    upper = matrix.T.copy()
    for row in range(len(upper) - 1):
        upper[row + 1 :] -= np.outer(upper[row + 1 :, row] / upper[row, row], upper[row])
    return np.tril(upper.T)


_POINTS = panel_points(np.array(-1.0), np.array(1.0))
_POWERS = to_powers(np.eye(NODES))
_RISING, _DEGREES = np.arange(NODES)[:, None], np.arange(1, NODES + 1)
# From values at the points of a panel from -1 to 1 to integrals from -1 to each point.
_INTEGRAL = ((_POINTS[:, None] ** _DEGREES - (-1.0) ** _DEGREES) / _DEGREES) @ _POWERS
_NEAR = _lower(_INTEGRAL)


def _applied(matrix: Array, values: Array) -> Array:
    """Their product, on one core: cores that wait for one another cost more than they give in narrow products."""
    return np.asarray(np.einsum("ij,je->ie", matrix, values))


def _solved(hits: Sequence[Hits], message: Message, wanted: Sequence[int], size: int) -> list[Curve]:
    """(3) for those wanted."""
    return _Solution(hits, message, size).curves(np.asarray(wanted))


@final
class _Solution:
    """(1) to (3), panel by panel, in each of which (1) and (2) are repeated until nothing changes."""

    def __init__(self, hits: Sequence[Hits], message: Message, size: int) -> None:
        flat = [(node, *hit) for node, every in enumerate(hits) for hit in every]
        self._node = np.array([one[0] for one in flat], np.int64)
        self._hit, self._late = np.array([one[1:] for one in flat], float).reshape(-1, 2).T
        self._size, self._message = size, message
        self._first = np.flatnonzero(np.diff(message.who, prepend=-1))
        lasts = np.unique(message.delay[message.delay > 0])
        self._delays = {float(d): np.flatnonzero(message.delay == d) for d in lasts}
        self._past: list[tuple[float, Array]] = []  # ends of panels, and Z in them as powers

    def curves(self, wanted: Ints) -> list[Curve]:
        there = self._reached()[wanted]
        f, edges, parts, faintest = np.ones(self._message.who.size), [0.0], [], 1.0
        narrowest = 1 / max(float(self._message.rate.max(initial=0.0)), float(self._hit.max()))
        width, stops, left = narrowest, self._breaks(), MOST_LOOKS
        while faintest > FAINT:
            require_time()
            begin, left = edges[-1], left - f.size
            if left < 0:
                raise TooLongError("so many contacts, one after another, that to follow them takes minutes")
            stop = min((x for x in stops if x > begin * (1 + 1e-12)), default=np.inf)
            wide = min(width, stop - begin)
            s, z, after, resolved = self._across(begin, wide, f)
            if not resolved and wide > NARROWEST * max(begin, narrowest):
                width = wide / 2
                continue
            s, f, faintest = s[:, wanted], after, float(s[-1, wanted[there]].max(initial=0.0))
            parts.append(to_powers(s))
            edges.append(begin + wide)
            if self._delays:
                self._past.append((edges[-1], to_powers(z)))
            width = max(width if wide < width else 0.0, wide) * GROWTH
        powers = np.stack(parts, axis=1)
        return [Curve(np.array(edges), powers[:, :, at], float(not there[at])) for at in range(wanted.size)]

    def _reached(self) -> Flags:
        """Nodes to which something may come."""
        message, there = self._message, np.zeros(self._size, np.bool_)
        there[self._node] = True
        while (new := message.who[there[message.whom] & ~there[message.who]]).size:
            there[new] = True
        return there

    def _breaks(self) -> tuple[float, ...]:
        """Where something comes first, or from there by some more contacts: tails bend less and less."""
        once = np.unique([*self._late, *self._delays])[:MOST_DELAYS]
        sums = once
        for _ in range(BENDS):
            sums = np.unique(np.add.outer(sums, [0.0, *once]))[: MOST_DELAYS**2]
        return thinned(sums)

    def _across(self, begin: float, wide: float, f: Floats) -> tuple[Array, Array, Floats, bool]:
        """P(X > x) and Z at the points of a panel (rows), by node and message; F at its end; whether all is settled."""
        message, x = self._message, panel_points(np.array(begin), np.array(begin + wide))
        alone = np.zeros((NODES, self._size))
        np.subtract.at(alone.T, self._node, self._hit[:, None] * np.maximum(x - self._late[:, None], 0.0))
        half, shift = message.rate * wide / 2, self._shift(begin, wide, x)
        values, change, rounds = np.repeat(f[None], NODES, axis=0), np.inf, 0
        while change > PRECISE / 10 and rounds < ROUNDS:
            late = shift(self._joined(alone, values)[1])
            off = f - values - half * _applied(_INTEGRAL, values - late)
            for k in range(NODES):
                off[k] -= half * _applied(_NEAR[k : k + 1, :k], off[:k])[0]
                off[k] /= 1 + half * _NEAR[k, k]
            values, change, rounds = values + off, float(np.abs(off).max(initial=0.0)), rounds + 1
        s, z = self._joined(alone, values)
        rough = max(float(unresolved(part).max(initial=0.0)) for part in (s, values))
        return s, z, to_powers(values).sum(axis=0), change <= PRECISE / 10 and rough <= PRECISE

    def _joined(self, alone: Array, f: Array) -> tuple[Array, Array]:
        """(3) and (1)."""
        message, logs = self._message, np.log(np.maximum(f, SMALLEST))
        whole = alone.copy()
        if self._first.size:
            whole[:, message.who[self._first]] += np.add.reduceat(message.times * logs, self._first, axis=1)
        without = np.where(message.back >= 0, logs[:, message.back], 0.0)
        return np.exp(whole), np.exp(np.minimum(whole[:, message.whom] - without, 0.0))

    def _shift(self, begin: float, wide: float, x: Array) -> Callable[[Array], Array]:
        """From Z in a panel to Z(x - d)."""
        past: dict[float, tuple[Array, Array]] = {}
        for d, rows in self._delays.items():
            here = x - d >= begin
            weights = here * (_POWERS.T @ (((x - d - begin) * 2 / wide - 1) * here) ** _RISING)
            past[d] = weights.T, np.stack([self._before(y, rows, h) for y, h in zip(x - d, here, strict=True)])

        def shifted(z: Array) -> Array:
            late = z.copy()
            for d, (weights, before) in past.items():
                rows = self._delays[d]
                late[:, rows] = before + _applied(weights, z[:, rows])
            return late

        return shifted if past else lambda z: z

    def _before(self, y: float, rows: Ints, here: bool) -> Array:
        """Z of some messages at a time in an earlier panel."""
        if here or y <= 0:
            return np.full(rows.size, float(not here))
        at = int(np.searchsorted([end for end, _ in self._past], y))
        (end, powers), begin = self._past[at], self._past[at - 1][0] if at else 0.0
        return np.asarray((((y - begin) * 2 / (end - begin) - 1) ** np.arange(NODES)) @ powers[:, rows])

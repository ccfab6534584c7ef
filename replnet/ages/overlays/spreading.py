"""Poisson pulls among any nodes: the age of the copy of each node, exact on forests and between bounds elsewhere.

Let i ask j at rate b, with replies that are d old when they arrive, and let F_ij(x) be the chance that nothing younger
than x came to i from j alone. j has such a copy if it asked the source lately (at rate s_j, replies d_j old), or if one
came from the nodes that j asks. Among these i itself does not count, as it has nothing young yet. So

    Z_ij(x) = exp(-s_j (x - d_j)+) product over m != i of F_jm(x)           j, without i, has nothing younger      (1)
    F_ij' = -b (F_ij - Z_ij(x - d)),   F_ij = 1 up to d                                                            (2)
    P(X_i > x) = exp(-s_i (x - d_i)+) product over j of F_ij(x).                                                   (3)

This is exact where there is one way at most from node to node. It is what pairs of neighbours tell when triples are
closed by P_ijm = P_ij P_im / P_i (P_ij = Z_ij Z_ji solves that), and what message passing is for epidemics without
recovery (Karrer and Newman 2010). Elsewhere what comes to i by several ways is taken as independent, though it is
positively associated, so P(X_i > x) is no less than (3): copies are no fresher.

They are no staler than with some pulls left out, and so no staler than (3) says for a tree cut out of the network for
that node: the nodes nearest to it, each with the one pull by which it is. Where the source is far from most nodes, that
tree is the shortest way from it, and the trees of all nodes are one.

A pull that asks k of n does not ask each independently. To take it as k pulls of one each, at that rate, errs to the
fresh side again. And as the chance to meet one of j nodes that have it rises with j ever more slowly, to ask j of them
alone, each at the rate of that chance over j, errs to the stale side.                                             (4)
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

from replnet.ages.information_age import InformationAge, never
from replnet.ages.marching import march
from replnet.ages.overlays.contacts import NodeKinds, SourceRates
from replnet.ages.panels import Scales, thin_out
from replnet.ages.prediction import Basis, NoFormulaError, TooLongError
from replnet.deadline import require_time
from replnet.laws import (
    INTEGRALS_TO_POINTS,
    NODES,
    Array,
    Curve,
    Flags,
    Floats,
    Ints,
    panel_points,
    resolution_error,
    to_powers,
)

PAIRS, ASSUMES = "pairs of neighbours", "Poisson downloads and polls"
EXACT, BETWEEN = Basis("exact", PAIRS, ASSUMES), Basis("approximation", PAIRS, ASSUMES)
FAINT = 1e-10  # tail where integration ends
PRECISE, ROUNDS = 1e-9, 25  # resolution of a panel, and iterations in it after which it is halved
NARROWEST = 1e-6  # width of a panel, as a share of its begin, at which it is taken even if not resolved
SMALLEST = 1e-300  # smaller numbers have no logarithm
MOST_DELAYS, BENDS = 8, 4  # delays whose sums begin panels, and how many of them are added once more
MOST_MESSAGES = 60_000
TOO_MANY = f"more than {MOST_MESSAGES:,} contacts of nodes that are unlike one another"
FEWEST_NODES, MOST_NODES, NODES_OF_ALL = 4, 64, 30_000  # of a tree, and of all trees
MOST_BRANCHES = FEWEST_NODES * MOST_MESSAGES  # of all trees
BATCH = 3_000  # nodes of trees that are solved together: what one panel costs beside its nodes is shared
MOST_LOOKS = 4_000_000  # at a message in a panel: half a minute
MOST_PULLS_TRIED = 1_000_000  # for all trees


class PairMessages(NamedTuple):
    """Pulls of node `asker` from node `asked` in columns, with their `rate` and the `delay` of replies.

    Nodes may be kinds of nodes: `times` is the number of nodes of the kind of `asked` beside the asker. `back` is the
    index of the pull in the other direction, -1 if there is none.
    """

    asker: Ints
    asked: Ints
    rate: Floats
    delay: Floats
    times: Floats
    back: Ints  # the index of the message in the other direction, -1 if there is none


Step = tuple[()] | tuple[float, float, int]  # rate, delay and node asked of a pull; empty if it asks the source
KindSet = tuple[int, ...]  # the kinds of nodes that are asked together
Pairs = dict[tuple[int, int], tuple[float, float, int]]  # by (asker, asked): rate, delay, number of nodes asked


@final
@dataclass(frozen=True, eq=False)
class PairAge(InformationAge):
    """The age of a copy from what pairs of neighbours tell, with its tail as `curve`, exact or fresher than in truth.

    `latest_curve` is the tail of the latest age that it may have in truth; None if `curve` is exact.
    """

    curve: Curve
    latest_curve: Curve | None

    @property
    def basis(self) -> Basis:
        return EXACT if self.latest_curve is None else BETWEEN

    @cached_property
    def latest(self) -> InformationAge:
        if self.latest_curve is None:
            return self
        return PairAge(self.latest_curve, None) if self.latest_curve.beyond == 0 else never()

    @property
    def scales(self) -> Scales:
        edges = self.curve.edges
        return Scales(marks=tuple(edges[1:].tolist()))

    def tail_curve(self, horizon: float) -> Curve:
        return self.curve


def pair_ages(kinds: NodeKinds) -> dict[int, PairAge]:
    """Return, by the number of a kind, the age of a copy at its nodes, for every kind that copies can reach.

    It is exact on forests, and elsewhere a lower bound that knows an upper one (`latest`). Raises TooLongError if kinds
    pull from kinds in more than 60,000 pairs, or if the solution takes minutes.
    """
    size, reached = len(kinds.sizes), sorted(kinds.reachable())
    if not reached:
        return {}
    count = sum(len(pull.kinds) for pulls in kinds.pulls for pull in pulls)
    if count > MOST_MESSAGES:
        raise TooLongError(TOO_MANY)
    message, is_exact = _messages(kinds, set(reached))
    curves = _solve(kinds.source_rates, message, reached, size)
    if is_exact:
        return {kind: PairAge(curve, None) for kind, curve in zip(reached, curves, strict=True)}
    latest = _latest_tails(kinds, reached, count, max(curve.edges.size for curve in curves))
    return {kind: PairAge(curve, late) for kind, curve, late in zip(reached, curves, latest, strict=True)}


def _latest_tails(kinds: NodeKinds, reached: Sequence[int], count: int, panels: int) -> list[Curve]:
    """Return, for each of the kinds `reached`, the curve of P(age > x) of the latest age that its copies may have.

    Each kind gets a tree of its own, cut out of the network; if that would take too long, all share one tree of
    shortest ways. `count` is the number of pulls between kinds, and `panels` about the number of panels to solve.
    """
    trees = _Trees(kinds, set(reached))
    size = max(FEWEST_NODES, min(MOST_NODES, NODES_OF_ALL // len(reached), MOST_PULLS_TRIED // count))
    try:
        room = min(MOST_BRANCHES, MOST_LOOKS // panels)
        return trees.solve([root for kind in reached for root in trees.grow([kind], size, room)])
    except TooLongError:
        return trees.solve(trees.grow_ways(reached))


def pair_ages_together(
    kinds: NodeKinds, ages: Mapping[int, PairAge], sets: Iterable[KindSet]
) -> dict[KindSet, list[PairAge] | NoFormulaError]:
    """Return, by set of kinds, a list of ages for its kinds, in their order, that may be taken as independent.

    The curves of `ages`, by kind as `pair_ages` gives them, stay as the lower bounds; the latest ages come from trees
    without common nodes. A set for which there is no formula, or not in reasonable time, has the error in place of the
    list.
    """
    trees, result, remaining = (
        _Trees(kinds, kinds.reachable()),
        dict[KindSet, list[PairAge] | NoFormulaError](),
        deque(sets),
    )
    while remaining:
        trees.clear()
        batch = dict[KindSet, list[int]]()
        while remaining and len(trees.source_rates) < BATCH:
            kind_set = remaining.popleft()
            try:
                batch[kind_set] = trees.grow(kind_set, len(kind_set) + NODES_OF_ALL // FEWEST_NODES)
            except NoFormulaError as why:
                result[kind_set] = why
        try:
            latest = iter(trees.solve([root for roots in batch.values() for root in roots]))
            result |= {kind_set: [PairAge(ages[kind].curve, next(latest)) for kind in kind_set] for kind_set in batch}
        except NoFormulaError as why:
            result |= dict.fromkeys(batch, why)
    return result


# ---- The network, and trees in it


def _messages(kinds: NodeKinds, reachable: set[int]) -> tuple[PairMessages, bool]:
    """Return the pulls between all pairs of kinds as columns, and whether ages that follow from pairs are exact.

    Pulls from kinds that are not `reachable` from the source are left out.
    """
    pairs: Pairs = {}
    for kind, pulls in enumerate(kinds.pulls):
        for pull in pulls:
            for other in pull.kinds:
                if other in reachable and kinds.beside(kind, other):
                    rate, *_ = pairs.get((kind, other), (0.0,))
                    rate += pull.rate * pull.ask / pull.others
                    pairs[kind, other] = rate, pull.delay, kinds.beside(kind, other)
    single = all(pull.ask == 1 for pulls in kinds.pulls for pull in pulls)
    return _columns(pairs), single and _is_forest(kinds, pairs)


def _is_forest(kinds: NodeKinds, pairs: Iterable[tuple[int, int]]) -> bool:
    """Whether there is at most one way between any two nodes, if nodes of each pair of kinds in `pairs` are linked."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = {(min(pair), max(pair)) for pair in pairs}
    ends = np.array([*links], np.int64).reshape(-1, 2)
    size = len(kinds.sizes)
    link_count = sum(kinds.sizes[a] * kinds.beside(a, b) // (1 + (a == b)) for a, b in links)
    parts, _ = connected_components(coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(size, size)))
    alone = set(range(size)) - set(ends.ravel().tolist())
    return bool(link_count == sum(kinds.sizes) - parts - sum(kinds.sizes[kind] - 1 for kind in alone))


def _columns(pairs: Pairs) -> PairMessages:
    """Return pulls as columns, sorted by asker and node asked, from a mapping of pairs (asker, asked).

    The values of the mapping are the rate, the delay of replies, and the number of nodes asked.
    """
    number = {pair: at for at, pair in enumerate(sorted(pairs))}
    askers, nodes_asked = np.array([*number], np.int64).reshape(-1, 2).T
    rate, delay, times = np.array([pairs[pair] for pair in number], float).reshape(-1, 3).T
    return PairMessages(
        askers, nodes_asked, rate, delay, times, np.array([number.get((b, a), -1) for a, b in number], np.int64)
    )


class Branch(NamedTuple):
    """A node of some `kind` that may be added to a tree, and how many nodes like it may be, itself included (`many`).

    It is asked by the node numbered `parent` (-1: it is a root), in that node's pull number `contact`, with this `rate`
    and `delay`. `far` is about how long data take from the source to the root by this node, and `below` the part of
    that from this node on; branches are added in ascending order of `far`.
    """

    far: float  # about how long data take from the source to the root by this way
    below: float  # the part of that from the node to the root
    kind: int
    parent: int
    contact: int  # the number of the parent's pull that asks this node
    rate: float
    delay: float
    many: int


@final
class _Trees:
    """Trees of pulls, each with the nodes of a network from which data come to its root soonest.

    Nodes are numbered through all trees, and the solution of these takes only their `source_rates` and pulls.
    """

    source_rates: list[SourceRates]
    _pairs: Pairs

    def __init__(self, kinds: NodeKinds, reachable: set[int]) -> None:
        self._kinds = kinds
        self._contacts = [list(self._usable_pulls(kind, reachable)) for kind in range(len(kinds.sizes))]
        self._from_source, self._next = self._distances()
        self.clear()

    def _usable_pulls(self, kind: int, reachable: set[int]) -> Iterator[tuple[float, float, int, list[int]]]:
        """Yield every pull of a kind, given by number: rate per node asked, delay, most nodes asked, and their kinds.

        Kinds asked that are not `reachable` from the source are left out. A pull that asks several nodes at once counts
        as single pulls of fewer nodes, which make copies no fresher.
        """
        for pull in self._kinds.pulls[kind]:
            others = [other for other in pull.kinds if other in reachable and self._kinds.beside(kind, other)]
            count = -(-pull.others // pull.ask)
            chance = 1 - comb(pull.others - count, pull.ask) / comb(pull.others, pull.ask)
            yield pull.rate * chance / count, pull.delay, pull.others if pull.ask == 1 else count, others

    def _distances(self) -> tuple[dict[int, float], dict[int, Step]]:
        """Return two mappings by kind: about how long data take from the source, and the last pull of the quickest way.

        Kinds come nearest first; those that data cannot reach are missing. A pull is its rate, delay and the kind
        asked; it is empty for a pull from the source.
        """
        askers: dict[int, list[tuple[float, int, Step]]] = {}
        for kind, pulls in enumerate(self._contacts):
            for rate, delay, _, others in pulls:
                for other in others:
                    askers.setdefault(other, []).append((1 / rate + delay, kind, (rate, delay, other)))
        waiting = list[tuple[float, int, Step]]()
        for kind, hits in enumerate(self._kinds.source_rates):
            if hits:
                waiting.append((min(1 / rate + delay for rate, delay in hits), kind, ()))
        heapq.heapify(waiting)
        distances, steps = dict[int, float](), dict[int, Step]()
        while waiting:
            far, kind, last_step = heapq.heappop(waiting)
            if kind not in distances:
                distances[kind], steps[kind] = far, last_step
                for further, asker, step in askers.get(kind, ()):
                    heapq.heappush(waiting, (far + further, asker, step))
        return distances, steps

    def grow_ways(self, roots: Sequence[int]) -> list[int]:
        """Replace all trees by one of the shortest ways from the source to every kind, with a single node of each kind.

        Returns the numbers that the nodes of the kinds `roots` have in this tree, in their order.
        """
        self.clear()
        places = {kind: place for place, kind in enumerate(self._next)}
        self.source_rates = [self._kinds.source_rates[kind] for kind in places]
        for kind, step in self._next.items():
            if step:
                rate, delay, other = step
                self._pairs[places[kind], places[other]] = rate, delay, 1
        return [places[kind] for kind in roots]

    def grow(self, roots: Sequence[int], most: int, room: int = MOST_BRANCHES) -> list[int]:
        """Add new trees without common nodes, one for each kind of `roots`, and return the numbers of their roots.

        The new trees together have up to `most` nodes, or more if it takes more to get to one that asks the source.
        Raises TooLongError if all trees, old and new, get more than `room` nodes; none is added then.
        """
        require_time()
        source_rates, pairs, first = list[SourceRates](), Pairs(), len(self.source_rates)
        used_of_kind, left = [0] * len(self._kinds.sizes), dict[tuple[int, int], int]()
        waiting = [Branch(0.0, 0.0, root, -1, 0, 0.0, 0.0, 1) for root in sorted(roots)]
        meets_source = False
        while waiting and (len(source_rates) < most or not meets_source):
            branch = heapq.heappop(waiting)
            kind, way = branch.kind, (branch.parent, branch.contact)
            if used_of_kind[kind] == self._kinds.sizes[kind] or left.get(way) == 0:
                continue
            number = first + len(source_rates)
            used_of_kind[kind] += 1
            source_rates.append(self._kinds.source_rates[kind])
            meets_source = meets_source or bool(self._kinds.source_rates[kind])
            if number > room:
                raise TooLongError(f"ways from a source of more than {room:,} contacts in all")
            if branch.parent >= 0:
                pairs[branch.parent, number] = branch.rate, branch.delay, 1
                left[way] -= 1
            if branch.many > 1:
                heapq.heappush(waiting, branch._replace(many=branch.many - 1))
            for contact, (rate, delay, several, others) in enumerate(self._contacts[kind]):
                left[number, contact] = several
                for other in others:
                    below, many = branch.below + 1 / rate + delay, self._kinds.beside(kind, other)
                    far = below + self._from_source[other]
                    heapq.heappush(waiting, Branch(far, below, other, number, contact, rate, delay, many))
        places = dict(
            zip(sorted(range(len(roots)), key=roots.__getitem__), range(first, first + len(roots)), strict=True)
        )
        self.source_rates += source_rates
        self._pairs |= pairs
        return [places[at] for at in range(len(roots))]

    def solve(self, roots: Sequence[int]) -> list[Curve]:
        """Return the tails P(age > x) of the copies at the nodes numbered `roots`, as curves in their order.

        The list is empty without nodes. Raises TooLongError if that would take minutes.
        """
        return _solve(self.source_rates, _columns(self._pairs), roots, len(self.source_rates)) if roots else []

    def clear(self) -> None:
        """Remove all trees."""
        self.source_rates, self._pairs = [], {}


# ---- The solution


def _lower(matrix: Array) -> Array:
    """Return U transposed, where L U is the transpose of a square matrix.

    For an integration matrix this lower triangle comes so near that it serves in its place when iterating (Weiser
    2015).
    """
    upper = matrix.T.copy()
    for row in range(len(upper) - 1):
        upper[row + 1 :] -= np.outer(upper[row + 1 :, row] / upper[row, row], upper[row])
    return np.tril(upper.T)


_POWERS, _RISING = to_powers(np.eye(NODES)), np.arange(NODES)[:, None]
_NEAR = _lower(INTEGRALS_TO_POINTS)


def _multiply(matrix: Array, values: Array) -> Array:
    """Return the product of two matrices, computed on one core, as is faster if `values` has few columns."""
    return np.asarray(np.einsum("ij,je->ie", matrix, values))


def _solve(hits: Sequence[SourceRates], message: PairMessages, wanted: Sequence[int], size: int) -> list[Curve]:
    """Return the tails P(age > x) of the copies at the nodes `wanted`, of a network of `size` nodes, as curves.

    `hits` has, for every node, its pulls from the source as pairs of rate and delay; `message` has the pulls between
    nodes. Raises TooLongError if that would take minutes.
    """
    return _Solution(hits, message, size).curves(np.asarray(wanted))


@final
class _Solution:
    """The solution of the equations for the ages of copies at all nodes, panel by panel of the age.

    In each panel the equations are repeated until nothing changes. `source_rates` has, for every node, its pulls from
    the source as pairs of rate and delay; `message` the pulls between nodes.
    """

    def __init__(self, source_rates: Sequence[SourceRates], message: PairMessages, size: int) -> None:
        flat = [(node, *hit) for node, rates in enumerate(source_rates) for hit in rates]
        self._node = np.array([row[0] for row in flat], np.int64)
        self._hit, self._late = np.array([row[1:] for row in flat], float).reshape(-1, 2).T
        self._size, self._message = size, message
        self._first = np.flatnonzero(np.diff(message.asker, prepend=-1))
        lasts = np.unique(message.delay[message.delay > 0])
        self._delays = {float(d): np.flatnonzero(message.delay == d) for d in lasts}
        self._past: list[tuple[float, Array]] = []  # ends of panels, and Z in them as powers

    def curves(self, wanted: Ints) -> list[Curve]:
        """Return the tail P(age > x) of the copy at each of the nodes numbered `wanted`, as a curve, in their order.

        It is 1 at all ages for a node that copies cannot reach. Raises TooLongError if the solution would take minutes.
        """
        reachable = self._reachable()[wanted]
        f, parts, faintest, looks = np.ones(self._message.asker.size), list[Array](), 1.0, 0
        width = 1 / max(float(self._message.rate.max(initial=0.0)), float(self._hit.max()))

        def solve(edges: list[float], end: float) -> bool:
            nonlocal f, faintest, looks
            begin, looks = edges[-1], looks + f.size
            if looks > MOST_LOOKS:
                raise TooLongError("so many contacts, one after another, that to follow them takes minutes")
            s, z, after, resolved = self._solve_panel(begin, end - begin, f)
            if not resolved and end - begin > NARROWEST * max(begin, width):
                return False
            s, f, faintest = s[:, wanted], after, float(s[-1, wanted[reachable]].max(initial=0.0))
            parts.append(to_powers(s))
            if self._delays:
                self._past.append((end, to_powers(z)))
            return True

        edges = march(solve, [*self._breaks(), np.inf], width, lambda _: faintest <= FAINT)
        powers = np.stack(parts, axis=1)
        return [Curve(edges, powers[:, :, at], float(not reachable[at])) for at in range(wanted.size)]

    def _reachable(self) -> Flags:
        """Return a mask of the nodes that copies can reach."""
        message, result = self._message, np.zeros(self._size, np.bool_)
        result[self._node] = True
        while (new := message.asker[result[message.asked] & ~result[message.asker]]).size:
            result[new] = True
        return result

    def _breaks(self) -> tuple[float, ...]:
        """Return the ages at which tails may bend, ascending: sums of a few delays of replies.

        From these ages on, copies can come by few pulls; bends at later ages are faint.
        """
        once = np.unique([*self._late, *self._delays])[:MOST_DELAYS]
        sums = once
        for _ in range(BENDS):
            sums = np.unique(np.add.outer(sums, [0.0, *once]))[: MOST_DELAYS**2]
        return thin_out(sums)

    def _solve_panel(self, begin: float, wide: float, f: Floats) -> tuple[Array, Array, Floats, bool]:
        """Return P(X > x) and Z at the points of a panel (rows), F at its end, and whether all is resolved.

        The panel begins at `begin` and is `wide`, and `f` is F at its begin. X is a node's age. F is the chance that
        nothing younger than x came by a message, and Z that the node asked has nothing younger, the asker aside.
        Columns are nodes for P(X > x), and messages for Z and F.
        """
        message, x = self._message, panel_points(np.array(begin), np.array(begin + wide))
        alone = np.zeros((NODES, self._size))
        np.subtract.at(alone.T, self._node, self._hit[:, None] * np.maximum(x - self._late[:, None], 0.0))
        half, shift = message.rate * wide / 2, self._shift(begin, wide, x)
        values, change, rounds = np.repeat(f[None], NODES, axis=0), np.inf, 0
        while change > PRECISE / 10 and rounds < ROUNDS:
            late = shift(self._combine(alone, values)[1])
            off = f - values - half * _multiply(INTEGRALS_TO_POINTS, values - late)
            for k in range(NODES):
                off[k] -= half * _multiply(_NEAR[k : k + 1, :k], off[:k])[0]
                off[k] /= 1 + half * _NEAR[k, k]
            values, change, rounds = values + off, float(np.abs(off).max(initial=0.0)), rounds + 1
        s, z = self._combine(alone, values)
        rough = max(float(resolution_error(part).max(initial=0.0)) for part in (s, values))
        return s, z, to_powers(values).sum(axis=0), change <= PRECISE / 10 and rough <= PRECISE

    def _combine(self, alone: Array, f: Array) -> tuple[Array, Array]:
        """Return P(X > x) of all nodes, and Z of all messages, from F of all messages, with points of a panel as rows.

        F is the chance that nothing younger than x came by a message, and Z that the node asked has nothing younger,
        the asker aside. `alone` is the logarithm of the part of P(X > x) that comes from pulls from the source.
        """
        message, logs = self._message, np.log(np.maximum(f, SMALLEST))
        whole = alone.copy()
        if self._first.size:
            whole[:, message.asker[self._first]] += np.add.reduceat(message.times * logs, self._first, axis=1)
        without = np.where(message.back >= 0, logs[:, message.back], 0.0)
        return np.exp(whole), np.exp(np.minimum(whole[:, message.asked] - without, 0.0))

    def _shift(self, begin: float, wide: float, x: Array) -> Callable[[Array], Array]:
        """Return a function from Z at the points of a panel to Z at these ages less the delay of each message.

        The panel begins at `begin` and is `wide`, x are its points, and Z has a row for each and a column for each
        message: the chance that the node asked has nothing younger, the asker aside.
        """
        past: dict[float, tuple[Array, Array]] = {}
        for d, rows in self._delays.items():
            in_panel = x - d >= begin
            weights = in_panel * (_POWERS.T @ (((x - d - begin) * 2 / wide - 1) * in_panel) ** _RISING)
            past[d] = weights.T, np.stack([self._before(y, rows, h) for y, h in zip(x - d, in_panel, strict=True)])

        def shift(z: Array) -> Array:
            late = z.copy()
            for d, (weights, before) in past.items():
                rows = self._delays[d]
                late[:, rows] = before + _multiply(weights, z[:, rows])
            return late

        return shift if past else lambda z: z

    def _before(self, y: float, rows: Ints, in_panel: bool) -> Array:
        """Return Z of the messages `rows` at an age y in an earlier panel, and 1 at ages up to 0.

        Z is the chance that the node asked has nothing younger, the asker aside. If y is `in_panel`, the current one, 0
        is returned.
        """
        if in_panel or y <= 0:
            return np.full(rows.size, float(not in_panel))
        at = int(np.searchsorted([end for end, _ in self._past], y))
        (end, powers), begin = self._past[at], self._past[at - 1][0] if at else 0.0
        return np.asarray((((y - begin) * 2 / (end - begin) - 1) ** np.arange(NODES)) @ powers[:, rows])

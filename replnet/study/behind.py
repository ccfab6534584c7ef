"""How far copies fell behind on a path: its record (engines/record.py) played back against the updates that happened.

The path is walked once more, from so far back that every copy dates from the replayed past, which freshness
does not take; with limited bandwidth lines may then differ a little from those of the path that was measured.
What still cannot be dated is left out and counted in `Path.undated`.

As for freshness, a replica has a copy of every source that it can hear of, and an answer to a client counts once for
each of them. Where there is no copy there is none that could be behind: nodes that hear of no source are left
out, and so are answers for the sources of which they brought nothing.

What a node holds is the freshest that it was brought since it last lost its copy; a row where that changes ends a
stretch (measure/staleness.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt

from replnet.engines.outages import DOWN, Outages
from replnet.engines.path import Path, Shares
from replnet.engines.plan import UPDATES, Plan
from replnet.engines.record import ANSWER, REPLY, START, Columns, picked
from replnet.engines.start import deepest
from replnet.engines.stretch_kernels import stretches
from replnet.engines.wiring import renewals
from replnet.laws.processes.streams import Words, seed_words
from replnet.measure.staleness import Answers, Over, Question, Stretches

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Questions = Mapping[str, Question]
Follow = Callable[[int, Path], Path]

NONE, UNKNOWN = -np.inf, -np.finfo(float).max  # in the place of the instant at which a copy left its source
BATCH = 1 << 16  # rows
MOST_UPDATES = 1e7  # of the past; older copies count as unknown
MOST_PULLS = {"array": 1e6, "step": 1e4}  # of a past that is looked up, if the path has fewer


def following(plan: Plan, engine: str, seed: int, horizon: float, questions: Questions) -> Follow:
    """Gives the path of a replication its shares of what `questions` ask."""
    record = _recorder(plan, engine, seed, horizon)

    def follow(replication: int, path: Path) -> Path:
        replay = Replay(plan, seed_words(seed, replication), horizon, questions)
        record(replication, path, replay)
        apart = path.of_sources | replay.of_sources()
        return replace(path, shares=path.shares | replay.shares(), of_sources=apart, undated=replay.undated)

    return follow


def _recorder(plan: Plan, engine: str, seed: int, horizon: float) -> Callable[[int, Path, Replay], None]:
    if engine == "array":
        from replnet.engines import array

        return lambda replication, path, replay: array.follow_path(
            plan, seed, replication, horizon, replay, looks(plan, path, horizon, engine)
        )
    from replnet.engines import step

    return lambda replication, path, replay: step.record_path(
        plan, seed, replication, horizon, replay.keep, looks(plan, path, horizon, engine)
    )


def looks(plan: Plan, path: Path, horizon: float, engine: str) -> Iterator[float]:
    """How far back to begin: until every copy can be dated, but not for much longer than the path itself."""
    most = min(max(horizon, MOST_PULLS[engine] / max(plan.asking, 1e-300)), deepest(plan))
    depth = path.depth if plan.bandwidth is not None else max(path.depth, 4 * plan.quiet)
    yield depth
    while path.unproven == 0 and 0 < depth < most:
        depth *= 2
        yield depth


class _Rows(NamedTuple):
    """What nodes were brought: when it left its source, or NONE or UNKNOWN."""

    at: Floats
    node: Ints
    left: Floats


@final
class Replay:
    """Adds up, per group, what copies and answers of one path cost, as its rows come in."""

    def __init__(self, plan: Plan, run: Words, horizon: float, questions: Questions) -> None:
        turns = Outages(plan.names, plan.faults, run, 0.0, horizon).turns
        self._plan, self._size, self._questions = plan, 0, questions
        self._sources = [_Source(plan, run, row, horizon, questions, turns) for row in range(len(plan.sources))]

    def keep(self, rows: Columns) -> None:
        for source, some in zip(self._sources, self._apart(rows), strict=True):
            source.take(some)
        self._size += rows.at.size
        if self._size >= BATCH:
            self._size = 0
            for source in self._sources:
                source.settle()

    def updates(self, row: int, at: Floats) -> None:
        self._sources[row].updated(at)

    def stretches(self, row: int, begin: Floats, end: Floats, node: Ints, left: Floats) -> None:
        self._sources[row].lasted(begin, end, node, left)

    def answers(self, row: int, at: Floats, node: Ints, left: Floats) -> None:
        self._sources[row].answered(at, node, left)

    def settle(self) -> None:
        for source in self._sources:
            source.settle()

    def _apart(self, rows: Columns) -> list[Columns]:
        """Source by source; rows that are about none are not missed."""
        if len(self._sources) == 1:
            return [rows]
        order = np.argsort(rows.source, kind="stable")
        ends = np.searchsorted(rows.source[order], np.array(self._plan.sources)[:, None] + [0, 1])
        return [picked(rows, order[begin:end]) for begin, end in ends.tolist()]

    @cached_property
    def _sums(self) -> list[_Sums]:
        return [source.finished() for source in self._sources]

    def shares(self) -> Shares:
        return self._shares({self._plan.groups[g]: (g, self._sums) for g in self._groups})

    def of_sources(self) -> Shares:
        return self._shares({name: (g, [self._sums[row]]) for name, (g, row) in self._plan.parts.items()})

    def _shares(self, whose: Mapping[str, tuple[int, list[_Sums]]]) -> Shares:
        return {
            (who, name): _total([sums.share(g, name, question.over) for sums in added])
            for who, (g, added) in whose.items()
            for name, question in self._questions.items()
        }

    @property
    def undated(self) -> dict[str, float]:
        """Per group or part, the share of copy-time, or of answers, that had to be left out."""
        of_groups = {self._plan.groups[g]: _total([sums.lost(g) for sums in self._sums]) for g in self._groups}
        of_parts = {name: self._sums[row].lost(g) for name, (g, row) in self._plan.parts.items()}
        return {name: lost / whole for name, (lost, whole) in (of_groups | of_parts).items() if lost > 0}

    @property
    def _groups(self) -> list[int]:
        heard = self._plan.group[(self._plan.group >= 0) & self._plan.reached.any(axis=0)]
        return list(dict.fromkeys(heard.tolist()))


def _total(parts: list[tuple[float, float]]) -> tuple[float, float]:
    return sum(amount for amount, _ in parts), sum(whole for _, whole in parts)


class _Sums:
    """Of one source, per group."""

    def __init__(self, groups: int, questions: Questions) -> None:
        self.whole, self.stale, self.undated = np.zeros(groups), np.zeros(groups), np.zeros(groups)
        self.costs = {name: np.zeros(groups) for name in questions}

    def share(self, g: int, name: str, over: Over) -> tuple[float, float]:
        cost, whole = float(self.costs[name][g]), float(self.whole[g])
        match over:
            case "time":
                return cost, whole
            case "stale":
                return cost, float(self.stale[g])
            case "rest":
                return whole - cost, whole

    def lost(self, g: int) -> tuple[float, float]:
        """What could not be dated, and of how much."""
        return float(self.undated[g]), float(self.undated[g] + self.whole[g])


@final
class _Source:
    """The updates of one source, and what nodes and answers hold of it."""

    def __init__(
        self,
        plan: Plan,
        run: Words,
        row: int,
        horizon: float,
        questions: Questions,
        turns: list[tuple[float, int, int, bool]],
    ) -> None:
        self._plan, self._run, self._row, self._horizon, self._questions = plan, run, row, horizon, questions
        self._source, self._oldest = plan.sources[row], -MOST_UPDATES / plan.processes[row].law.rate
        # A group without copies is one of clients.
        reached, n = plan.reached[row], len(plan.names)
        self._copies, self._clients = reached & ~plan.clients, reached & plan.clients & (plan.copies[plan.group] == 0)
        self._since, self._left, self._up = np.zeros(n), np.full(n, NONE), np.ones(n, np.bool_)
        self._turns = [turn for turn in turns if self._copies[turn[2]]]
        self._updates, self._begins = np.empty(0), 0.0  # all updates from here on
        self._new = list[Floats]()
        self._brought, self._answers = list[_Rows](), list[_Rows]()
        self._sums = _Sums(len(plan.groups), questions)
        self._share_stale = any(question.over == "stale" for question in questions.values())

    def take(self, rows: Columns) -> None:
        updates = (rows.event == UPDATES) & (rows.node == self._source)
        if updates.any():
            self._new.append(rows.at[updates])
        held = (rows.event == START) & self._copies[rows.node]
        if held.any():
            # At once, as a node may go down at time zero itself.
            begun = self._dated(rows, held)
            self._left[begun.node] = begun.left
        brought = (rows.event == REPLY) & self._copies[rows.node]
        if brought.any():
            self._brought.append(self._dated(rows, brought))
        answers = (rows.event == ANSWER) & self._clients[rows.node]
        if answers.any():
            self._answers.append(self._dated(rows, answers))

    def updated(self, at: Floats) -> None:
        self._new.append(at)

    def lasted(self, begin: Floats, end: Floats, node: Ints, left: Floats) -> None:
        """Stretches as such, up to the last update so far or the one after."""
        self._updates = np.concatenate([self._updates, *self._new])
        self._new.clear()
        self._add(begin, end, node, self._since_known(left))

    def answered(self, at: Floats, node: Ints, left: Floats) -> None:
        counted = self._clients[node]
        self._answers.append(_Rows(at[counted], node[counted], self._since_known(left[counted])))

    def _since_known(self, left: Floats) -> Floats:
        return np.where(np.isnan(left), NONE, np.where(left < self._oldest, UNKNOWN, left))

    def _dated(self, rows: Columns, of: npt.NDArray[np.bool_]) -> _Rows:
        return _Rows(rows.at[of], rows.node[of].astype(np.int64), self._since_known(rows.left[of]))

    def settle(self, end: float | None = None) -> None:
        """Account for the rows so far; up to `end`, after which nothing comes."""
        self._updates = np.concatenate([self._updates, *self._new])
        self._new.clear()
        brought = self._batch(self._brought)
        if brought.at.size or (end is not None and self._turns):
            self._walk(brought, float(brought.at.max()) if end is None else end)
        answers = self._batch(self._answers)
        # Some wait in line beyond the updates that are known.
        known = np.full(answers.at.size, end is not None) | (answers.at <= self._updates[-1:].max(initial=-np.inf))
        self._answer(_Rows(*(column[known] for column in answers)))
        self._answers.append(_Rows(*(column[~known] for column in answers)))

    @staticmethod
    def _batch(rows: list[_Rows]) -> _Rows:
        empty = _Rows(np.empty(0), np.empty(0, np.int64), np.empty(0))
        found = _Rows(*map(np.concatenate, zip(empty, *rows, strict=True)))
        rows.clear()
        return found

    def finished(self) -> _Sums:
        self.settle(self._horizon)
        nodes = np.flatnonzero(self._copies & self._up & (self._left > NONE) & (self._since < self._horizon))
        self._add(self._since[nodes], np.full(nodes.size, self._horizon), nodes, self._left[nodes])
        return self._sums

    def _walk(self, brought: _Rows, upto: float) -> None:
        """Every stretch that ends with a row of this batch."""
        if (np.diff(brought.at) < 0).any():
            order = np.argsort(brought.at, kind="stable")
            brought = _Rows(brought.at[order], brought.node[order], brought.left[order])
        turns = [turn for turn in self._turns if turn[0] <= upto]
        self._turns = self._turns[len(turns) :]
        at, down, node, empties = np.array(turns, dtype=float).reshape(-1, 4).T
        told = np.maximum(at, 0.0), node.astype(np.int64), down == DOWN, empties == 1
        size = brought.at.size + len(turns)
        found = np.empty(size), np.empty(size), np.empty(size, np.int64), np.empty(size)
        n = stretches(tuple(brought), told, self._since, self._left, self._up, NONE, found)
        begin, end, who, left = found
        self._add(begin[:n], end[:n], who[:n], left[:n])

    def _add(self, begin: Floats, end: Floats, node: Ints, left: Floats) -> None:
        """Stretches of nodes that are up and have a copy."""
        dated = left > UNKNOWN
        if not dated.all():
            lost = self._plan.group[node[~dated]]
            self._sums.undated += np.bincount(lost, (end - begin)[~dated], self._sums.whole.size)
            begin, end, node, left = begin[dated], end[dated], node[dated], left[dated]
        lasting = Stretches(begin, end, left, self._since_oldest(left))
        self._sum(lasting, lasting.length, self._plan.group[node])

    def _answer(self, rows: _Rows) -> None:
        dated, group = rows.left > UNKNOWN, self._plan.group[rows.node]
        self._sums.undated += np.bincount(group[rows.left == UNKNOWN], minlength=self._sums.whole.size)
        left = rows.left[dated]
        self._sum(Answers(rows.at[dated], left, self._since_oldest(left)), np.ones(left.size), group[dated])

    def _sum(self, measured: Stretches | Answers, wholes: Floats, group: Ints) -> None:
        if not group.size:
            return
        sums, n = self._sums, self._sums.whole.size
        sums.whole += np.bincount(group, wholes, n)
        if self._share_stale:
            sums.stale += np.bincount(group, measured.stale, n)
        for name, question in self._questions.items():
            sums.costs[name] += np.bincount(group, measured.cost(question), n)

    def _since_oldest(self, left: Floats) -> Floats:
        """The updates after the oldest of these copies, looked up in the past where it is from there."""
        oldest = float(left.min(initial=np.inf))
        if oldest < self._begins:
            past = renewals(self._plan, self._run, [self._row]).past(-oldest).of(0)
            self._updates = np.concatenate([past[past < self._begins], self._updates])
            self._begins = oldest
        return self._updates[np.searchsorted(self._updates, oldest, side="right") :]

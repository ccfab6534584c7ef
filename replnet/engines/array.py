"""The `array` engine: windows of events through compiled kernels.

A window's instants are generated per process, every wake becomes its pulls, the
pulls are put in time order by a bucket sort, and one pass applies them (passes.py), component by
component (tiling.py). Memory is that of a window and of the network, whatever the horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Protocol, final

import numpy as np

from replnet.engines.lines import load, settling
from replnet.engines.outage_arrays import Weather, losses
from replnet.engines.passes import SUMS, Contacts, Copies, Replies, Rules, Yield, add_up, general_pass, instant_pass
from replnet.engines.path import Path, answered, of_sources, there
from replnet.engines.plan import Plan
from replnet.engines.pulls import SLICE, Pulls, runs
from replnet.engines.record import Keep, Recorder
from replnet.engines.start import depths
from replnet.engines.tiling import Tiling, Trees
from replnet.engines.trees import tree_pass
from replnet.laws.law import Floats, Ints, Law
from replnet.laws.processes.renewal import CHUNK, PER_ROW, Renewals, Window
from replnet.laws.processes.streams import CHOICES, seed_words, streams

Bools = np.ndarray

WINDOW = 1 << 16  # pulls that a window aims at: many enough to share its overhead, few enough for the cache
MOST = 4 * WINDOW  # events of a window, where updates come much more often than pulls


def run_path(plan: Plan, seed: int, replication: int, horizon: float, sampled: bool) -> Path:
    """One replication over [0, horizon)."""
    return run_paths(Tiling(plan, 1, sampled), seed, range(replication, replication + 1), horizon)[0]


def run_paths(tiling: Tiling, seed: int, replications: range, horizon: float) -> list[Path]:
    """As many replications as the tiling has. One alone can look further back than many, if it has to."""
    run = _Run(tiling, seed, replications, horizon)
    found = run.paths()
    if len(found) > 1 and any(path.unproven for path in found):
        alone = Tiling(tiling.plan, 1, tiling.sampled)
        for at, path in enumerate(found):
            if path.unproven:
                (found[at],) = run_paths(alone, seed, replications[at : at + 1], horizon)
    return found


def record_path(plan: Plan, seed: int, replication: int, horizon: float, keep: Keep, looks: Iterable[float]) -> None:
    """The same once more, with every event handed to `keep`; `looks` are how far back to begin, in turn (record.py)."""
    tiling = Tiling(plan, 1, sampled=False, recorded=True)
    _Run(tiling, seed, range(replication, replication + 1), horizon).record(keep, looks)


class Follower(Protocol):
    """Takes what becomes of the copies of one path, window by window, source by source."""

    def updates(self, row: int, at: Floats) -> None: ...

    def stretches(self, row: int, begin: Floats, end: Floats, node: Ints, left: Floats) -> None:
        """`left` is -inf where a copy dates from before the replayed past."""

    def answers(self, row: int, at: Floats, node: Ints, left: Floats) -> None:
        """The same of what clients got; NaN where they got nothing."""

    def settle(self) -> None:
        """All that was handed on so far is there."""


def follow_path(
    plan: Plan, seed: int, replication: int, horizon: float, follower: Follower, looks: Iterable[float]
) -> None:
    """A path whose copies are all dated, followed by `follower`; `looks` are how far back to begin, in turn."""
    run = _Run(Tiling(plan, 1, sampled=False), seed, range(replication, replication + 1), horizon)
    run.follow(follower, looks)


def runner(plan: Plan, seed: int, horizon: float, sampled: bool) -> tuple[Callable[[range], list[Path]], int]:
    """What runs some replications, and how many of them are best run side by side."""
    alone = Tiling(plan, 1, sampled)
    together = 1
    if alone.instant:  # where something may go wrong, a path may depend on how far back it begins
        # As many pulls as are sorted in one step.
        together = max(1, int(SLICE / max(plan.asking * (horizon + 4 * plan.quiet), 1.0)))
    tilings = {1: alone}

    def run(some: range) -> list[Path]:
        if len(some) not in tilings:
            tilings[len(some)] = Tiling(plan, len(some), sampled)
        return run_paths(tilings[len(some)], seed, some, horizon)

    return run, together


@final
class _Run:
    """Some replications, from their start to their horizon."""

    def __init__(self, tiling: Tiling, seed: int, replications: range, horizon: float) -> None:
        assert len(replications) == tiling.count
        self._tiling, self._plan, self._horizon = tiling, tiling.plan, horizon
        self._run = np.concatenate([seed_words(seed, replication) for replication in replications])
        rows = np.concatenate([np.arange(tiling.sources), tiling.asking])
        self._renewals = self._processes(rows)
        self._asking = slice(tiling.sources * tiling.count, None)
        no_run = np.zeros(1, np.uint64)
        self._choices = streams(no_run, *self._names(tiling.asking), CHOICES)
        self._losses = losses(tiling, self._run)
        self._absent = np.zeros(4, np.int64)
        self._recorder: Recorder | None = None
        self._follower: Follower | None = None
        self._early: list[np.ndarray] | None = None

    def _names(self, rows: Ints) -> tuple[np.ndarray, Ints]:
        """Words and purposes. A stream is named by the sum of the words of run and node, so one sum is as good."""
        plan = self._plan
        return (self._run[:, None] + plan.stream_names[rows]).ravel(), np.tile(plan.purpose[rows], self._run.size)

    def _processes(self, rows: Ints) -> Renewals:
        """Everyone's instants: the updates of all replications, and then who asks."""
        plan, count, sources = self._plan, self._tiling.count, self._tiling.sources
        used, which = np.unique(plan.which[rows], return_inverse=True)
        laws = [plan.laws[g] for g in used]
        which = np.concatenate([np.tile(part, count) for part in (which[:sources], which[sources:])])
        updates, asks = self._names(rows[:sources]), self._names(rows[sources:])
        names, purposes = (np.concatenate(both) for both in zip(updates, asks, strict=True))
        most = max(int(self._tiling.askers.pulls.max(initial=1)), 1)
        asking = count * sum(plan.processes[q].law.rate for q in rows[sources:])
        total = asking + count * sum(plan.processes[q].law.rate for q in rows[:sources])
        wakes = max(WINDOW // most, PER_ROW * count * (rows.size - sources))
        events = min(wakes * total / asking, max(MOST, PER_ROW * names.size)) if asking else WINDOW
        room = self._tiling.scratch.floats
        no_run = np.zeros(1, np.uint64)
        return Renewals(laws, which, no_run, names, purposes, int(events), lambda size: room("instants", size))

    def record(self, keep: Keep, looks: Iterable[float]) -> None:
        tiling = self._tiling
        self._recorder = Recorder(tiling, self._run, self._asking, self._horizon, keep)
        self._proven(looks)
        held, home = self.held, tiling.component
        copies = [
            np.where(home == home[source], held[layer, :-1], -np.inf)
            for source, layer in zip(self._plan.sources, tiling.layer, strict=True)
        ]
        self._recorder.start(self._renewals.age[: tiling.sources], copies)
        while self._renewals.now < self._horizon:
            self._walk(self._renewals.window(self._horizon))

    def follow(self, follower: Follower, looks: Iterable[float]) -> None:
        self._follower = follower
        self._proven(looks)
        while self._renewals.now < self._horizon:
            window = self._renewals.window(self._horizon)
            for row in range(self._tiling.sources):
                follower.updates(row, window.of(row).copy())
            self._walk(window)
            follower.settle()
        self._close()

    def paths(self) -> list[Path]:
        oldest = float(self._renewals.age[: self._asking.start].max())
        tiling = self._tiling
        depth, unproven = self._proven(depths(self._plan, oldest, tiling.delay, tiling.sampled, tiling.count))
        while self._renewals.now < self._horizon:
            window = self._renewals.window(self._horizon)
            self._weather.take_off(window, self._asking, self._absent)
            self._walk(window)
        return self._finish(depth, unproven)

    def _proven(self, looks: Iterable[float]) -> tuple[float, Ints]:
        """A start from the first of these depths that leaves no copy unproven, or else from the last."""
        for depth in looks:
            unproven = self._start(depth)
            if not unproven.any():
                break
        if self._early is not None and self._early[0].size:
            none = np.empty(0)
            self._take(Yield(none, none, none.astype(np.int64), none, *self._early), 0, self._early[0].size)
        return depth, unproven

    def _start(self, depth: float) -> Ints:
        """Replay the last `depth` units of time before zero; how many copies that leaves unproven, per replication."""
        tiling = self._tiling
        self._weather = Weather(tiling, self._run, depth, self._horizon)
        self._copies = self._unknown(depth)
        self._contacts, self._trouble = _contacts(tiling), self._weather.trouble()
        self._rules = Rules(tiling.delay, self._horizon, -depth, tiling.sampled, self._plan.strict, self._plan.recent)
        self._pulls = Pulls(
            tiling.askers, tiling.components * tiling.count, self._choices, self._losses, tiling.scratch
        )
        self._replies = _no_replies(tiling)
        self._integral, self._good = np.zeros(self._copies.fresh.size), np.zeros(self._copies.fresh.size)
        if self._recorder:
            self._recorder.begin(depth)
        known = self._know(depth)
        self._walk(self._renewals.past(depth))
        self._begin()
        return self._unproven(depth, known)

    def _unknown(self, depth: float) -> Copies:
        """Everyone who can hear of a source has a copy as old as the start, or older."""
        tiling, shape = self._tiling, (self._tiling.depth, self._tiling.nodes + 1)
        copy, cell = np.full(shape, -np.inf), np.zeros(shape, np.int64)
        copy[:, :-1][np.tile(tiling.reached, tiling.count)] = -depth
        copy[: tiling.further] = 0.0  # everywhere
        cells = tiling.cells[0].size
        cell[:, :-1] = (tiling.cell[:, None, :] + np.arange(tiling.count)[:, None] * cells).reshape(tiling.depth, -1)
        nodes = tiling.node_states()
        self._weather.lines(nodes)
        sums = np.zeros(cells * tiling.count, SUMS)
        return Copies(copy, np.zeros(shape), cell, nodes, np.zeros(sums.size), sums)

    def _know(self, depth: float) -> Bools:
        """Copies whose age is plain: their replica's only download before the start came straight from the source."""
        tiling, copies, known = self._tiling, self._copies, np.zeros(self._copies.copy.shape, np.bool_)
        process, node, source = self._plan.direct.T
        row, each = np.searchsorted(np.array(self._plan.sources), source), np.arange(tiling.count)[:, None]
        age = self._renewals.age[self._asking.start + each * tiling.asking.size + process - tiling.sources]
        at = age > depth
        layer, who = np.broadcast_to(tiling.layer[row], age.shape)[at], (node + each * len(self._plan.names))[at]
        left, of = tiling.delay - age[at], (row + each * tiling.sources)[at]
        known[layer, who] = True
        if not tiling.sampled:
            copies.copy[layer, who] = left
            return known
        fresh = left >= -self._renewals.age[of]
        coming = self._renewals.next_instants()[of[fresh]]
        copies.copy[layer[fresh], who[fresh]] = np.minimum(coming, self._horizon)
        return known

    def _begin(self) -> None:
        """At time zero all that is added up begins anew."""
        tiling, copies, c = self._tiling, self._copies, self._copies
        held = np.zeros(c.copy.shape, np.bool_)
        held[:, :-1] = np.tile(tiling.reached, tiling.count)
        copies.since[:] = 0.0
        if tiling.sampled:
            copies.fresh[:] = np.bincount(c.cell[held], np.maximum(c.copy[held], 0.0), copies.fresh.size)
        missing = held & (c.copy == -np.inf)
        copies.sums["absent"] = self._horizon * np.bincount(c.cell[missing], minlength=copies.fresh.size)

    def _unproven(self, depth: float, known: Bools) -> Ints:
        """Per replication, how many copies may differ from the stationary ones (start.py)."""
        tiling, plan, layers = self._tiling, self._plan, self._tiling.depth
        copy = self.held[:, :-1].reshape(layers, tiling.count, -1)
        old = tiling.reached[:, None] & (copy <= -depth) & (copy > -np.inf)
        old &= ~known[:, :-1].reshape(old.shape)
        if tiling.sampled and plan.swept:
            age = self._renewals.age[: self._asking.start].reshape(tiling.count, -1)
            old &= (age[:, tiling.source_of] + 2 * tiling.delay > depth).swapaxes(0, 1)
        unproven = old.sum(axis=2)
        if plan.recent:
            unproven = np.maximum(unproven, self._contacts.lacking)
        return np.asarray(unproven.sum(axis=0) + np.count_nonzero(settling(plan) > depth))

    def _walk(self, window: Window) -> None:
        """What a window does to the copies."""
        tiling, copies = self._tiling, self._copies
        if tiling.trees is not None:
            self._climb(window, tiling.trees)
            return
        coming_at = (window.offset + window.first)[: self._asking.start]
        waiting = self._pulls.waiting
        pulled = self._pulls.add(window, self._asking)
        n = pulled.times.size
        out = self._room(n)
        if tiling.instant:
            done = (
                instant_pass(
                    tiling.sampled, tiling.layers, pulled, window.points, coming_at, copies, self._horizon, out
                ),
                0,
            )
            pulled.reached[:] = pulled.arrived[:] = np.diff(pulled.begin)
        else:
            here = runs(pulled.begin[:-1], pulled.sent)
            self._replies = _grown(tiling, self._replies, waiting, here, pulled.pairs)
            done = general_pass(
                window.end, tiling.layers, pulled, self._replies, window.points, coming_at, copies, self._contacts,
                self._trouble, self._rules, out,
            )  # fmt: skip
        if self._recorder:
            self._recorder.passed(window, pulled, self._replies)
        elif not tiling.sampled:
            stretches, answers = done
            if window.end > 0:
                self._take(out, stretches, answers)
            else:  # nothing counts but what is answered later, and that only if this is where the path begins
                self._early = [column[:answers].copy() for column in (out.answered, out.client, out.brought)]

    def _climb(self, window: Window, trees: Trees) -> None:
        """The same in a tree, replica by replica."""
        tiling, of = self._tiling, self._tiling.scratch
        room = window.total + 2 * (tiling.nodes + 1)
        tree_pass(
            (window.points, window.offset, window.first, window.last), self._asking.start, trees, tiling.layers,
            self._horizon, self._copies, of.ints("begin", tiling.nodes + 1), of.ints("size", tiling.nodes + 1),
            of.floats("times", room), of.floats("values", room), of.ints("rank", window.total),
            of.floats("held", window.total),
        )  # fmt: skip

    def _room(self, pulls: int) -> Yield:
        """For all that a pass may yield."""
        tiling, of = self._tiling, self._tiling.scratch
        turns = self._trouble.turns.size + (tiling.nodes if self._plan.recent else 0)
        n = 0 if tiling.sampled else (pulls + turns) * tiling.depth
        answers = 0 if tiling.instant else n
        return Yield(
            of.floats("begin of", n), of.floats("end of", n), of.ints("who of", n), of.floats("left of", n),
            of.floats("answered", answers), of.ints("client", answers), of.floats("brought", answers),
        )  # fmt: skip

    def _take(self, out: Yield, stretches: int, answers: int) -> None:
        """What a pass has yielded."""
        if self._follower is None:
            self._expect(out, stretches, answers)
            return
        for row, some in self._by_source(out.who[:stretches]):
            left = np.where(out.left[some] == self._rules.floor, -np.inf, out.left[some])
            self._follower.stretches(row, out.begin[some], out.end[some], self._node(out.who[some]), left)
        for row, some in self._by_source(out.client[:answers]):
            left = np.where(out.brought[some] == self._rules.floor, -np.inf, out.brought[some])
            left[out.brought[some] == -np.inf] = np.nan
            self._follower.answers(row, out.answered[some], self._node(out.client[some]), left)

    def _node(self, who: Ints) -> Ints:
        return who % (self._tiling.nodes + 1)

    def _by_source(self, who: Ints) -> Iterator[tuple[int, Ints | slice]]:
        """Which of these are of which source."""
        if self._tiling.sources == 1:
            yield 0, slice(who.size)
            return
        row = self._tiling.source_of[who // (self._tiling.nodes + 1), self._node(who)]
        order = np.argsort(row, kind="stable")
        ends = np.searchsorted(row[order], np.arange(self._tiling.sources + 1))
        for of in np.flatnonzero(np.diff(ends)).tolist():
            yield of, order[ends[of] : ends[of + 1]]

    def _expect(self, out: Yield, stretches: int, answers: int) -> None:
        """For how long copies may be expected to have been fresh, and how many answers."""
        cell = self._copies.cell.ravel()
        for law, some in self._by_law(cell[out.who[:stretches]]):
            begin, end, left = out.begin[some], out.end[some], out.left[some]
            add_up(
                law.integrated_tail(end - left) - law.integrated_tail(begin - left), cell[out.who[some]], self._integral
            )
        brought = np.flatnonzero(out.brought[:answers] > -np.inf)
        for law, some in self._by_law(cell[out.client[brought]]):
            some = brought[some]
            add_up(law.tail(out.answered[some] - out.brought[some]), cell[out.client[some]], self._good)

    @cached_property
    def _ages(self) -> tuple[list[Law], Ints]:
        """The laws of the age of updates, and the number of that of every source."""
        numbers: dict[Law, int] = {}
        own = [
            numbers.setdefault(self._plan.processes[row].law.age, len(numbers)) for row in range(self._tiling.sources)
        ]
        return list(numbers), np.array(own, np.int64)

    def _by_law(self, cells: Ints) -> Iterator[tuple[Law, slice | Ints]]:
        """By the law of the age of the source's updates, a part at a time that the cache holds."""
        laws, numbers = self._ages
        if len(laws) == 1:
            for q in range(0, cells.size, CHUNK):
                yield laws[0], slice(q, min(q + CHUNK, cells.size))
            return
        rows = self._tiling.cells[0]
        number = numbers[rows[cells % rows.size]]
        for g, law in enumerate(laws):
            mine = np.flatnonzero(number == g)
            for q in range(0, mine.size, CHUNK):
                yield law, mine[q : q + CHUNK]

    @property
    def held(self) -> Floats:
        """What every node holds, per layer; one that is down, what it will come back with."""
        nodes = self._copies.nodes
        copy: Floats = self._copies.copy
        return np.where(nodes["down"], nodes["kept"], copy) if nodes.size else copy

    def _close(self) -> None:
        """The horizon ends what there is of stretches."""
        tiling, copies = self._tiling, self._copies
        there = np.zeros(copies.copy.shape, np.bool_)
        there[:, :-1] = np.tile(tiling.reached, tiling.count)
        who = np.flatnonzero(there & (copies.copy > -np.inf) & (copies.since < self._horizon))
        none = np.empty(0)
        out = Yield(
            copies.since.ravel()[who], np.full(who.size, self._horizon), who, copies.copy.ravel()[who],
            none, none.astype(np.int64), none,
        )  # fmt: skip
        self._take(out, who.size, 0)

    def _finish(self, depth: float, unproven: Ints) -> list[Path]:
        if not self._tiling.sampled:
            self._close()
        return [self._path(r, depth, int(unproven[r])) for r in range(self._tiling.count)]

    def _path(self, r: int, depth: float, unproven: int) -> Path:
        """Of the r-th replication."""
        tiling, plan, sums = self._tiling, self._plan, self._copies.sums
        rows, groups = tiling.cells
        mine = slice(r * rows.size, (r + 1) * rows.size)

        def apart(of: np.ndarray) -> np.ndarray:
            """By source and group."""
            found = np.zeros((tiling.sources, len(plan.groups)), of.dtype)
            found[rows, groups] = of[mine]
            return found

        fresh_time, absent = apart(self._copies.fresh if tiling.sampled else self._integral), apart(sums["absent"])
        answers, good = apart(sums["answers"]), apart(sums["good"] if tiling.sampled else self._good).astype(float)
        fresh, shares = there(plan, fresh_time.sum(axis=0), absent.sum(axis=0), self._horizon)
        if plan.bandwidth is not None:
            shares |= load(plan, self._weather.counts(self._copies.nodes[0, :-1]), self._horizon)
        spent = [part.reshape(tiling.count, -1)[r] for part in np.split(self._renewals.spent, [self._asking.start])]
        purposes = np.concatenate([plan.purpose[: tiling.sources], plan.purpose[tiling.asking]])
        counts = np.bincount(purposes, np.concatenate(spent), 4).astype(np.int64) + self._absent
        held = self.held[:, :-1].reshape(tiling.depth, tiling.count, -1)[:, r]
        copies = np.where(
            tiling.component == tiling.component[list(plan.sources)][:, None], held[tiling.layer], -np.inf
        )
        updates, downloads, polls, queries = counts.tolist()
        return Path(
            fresh=fresh,
            answers=answers.sum(axis=0),
            good=good.sum(axis=0),
            counts=(updates, downloads, polls, queries),
            copies=copies,
            depth=depth,
            unproven=unproven,
            shares=shares | answered(plan, answers.sum(axis=0), apart(sums["ended"]).sum(axis=0)),
            of_sources=of_sources(plan, fresh_time, absent, answers, good, self._horizon),
        )


def _contacts(tiling: Tiling) -> Contacts:
    """Nobody has called yet."""
    n, layers = (tiling.nodes, tiling.depth) if tiling.plan.recent else (0, tiling.depth)
    register, upstream, need = tiling.registers if n else (np.empty(0, np.int64),) * 3
    width = max(int(need.max(initial=0)), 1)
    return Contacts(
        register=register,
        upstream=upstream,
        need=need,
        latest=np.full((layers, max(int(register.max(initial=-1)) + 1, 1)), -1, np.int64),
        older=np.full((layers, n), -1, np.int64),
        newer=np.full((layers, n), -1, np.int64),
        handed=np.empty((layers, n, width), np.int64),
        length=np.zeros((layers, n), np.int64),
        lacking=np.full((layers, 1), np.count_nonzero(need)) * (np.arange(layers) >= tiling.further)[:, None],
    )


def _no_replies(tiling: Tiling) -> Replies:
    """Nothing is on its way back, to no pulls."""
    layers, width, none = tiling.depth, int(tiling.registers[2].max(initial=0)) + 1, np.empty(0, np.int64)
    return Replies(np.empty((layers, 0)), np.empty((layers, 0)), np.empty((layers, 0, width), np.int64), none)


def _grown(tiling: Tiling, before: Replies, waiting: Ints, here: Ints, pairs: Ints) -> Replies:
    """Room for what answers these pulls; what is on its way already, to those that were `waiting`, is now `here`."""
    layers, limited, width, of = tiling.depth, tiling.plan.bandwidth is not None, before.lists.shape[2], tiling.scratch
    kept = [column[:, waiting] if column.shape[1] else column for column in before[:3]]
    n, m, k = pairs.size, pairs.size if limited else 0, pairs.size if tiling.plan.recent else 0
    held, waits = of.floats("held", layers * n).reshape(layers, n), of.floats("waits", layers * m).reshape(layers, m)
    lists = of.ints("lists", layers * k * width).reshape(layers, k, width)
    for column, old in zip((held, waits, lists), kept, strict=True):
        if old.size:
            column[:, here] = old
    return Replies(held, waits, lists, pairs.copy() if limited and layers > 1 else before.original)

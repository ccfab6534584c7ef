"""The `array` engine: windows of events through compiled kernels.

A window's instants are generated per process, every wake becomes its pulls, the
pulls are put in time order by a bucket sort, and one pass per source applies
them. Memory is that of a window and of the network, whatever the horizon.

Sources do not interact: a pull takes what the other side holds of each, so each
has a pass of its own over the same sorted pulls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from replnet.engines import kernels, trees
from replnet.engines.kernels import Askers, Changes, Copies, Totals
from replnet.engines.path import Path
from replnet.engines.plan import DOWNLOADS, QUERIES, UPDATES, Ints, Plan
from replnet.engines.start import depths, direct
from replnet.engines.trees import Tree
from replnet.laws.base import Law
from replnet.laws.renewal import Renewals, Window
from replnet.laws.streams import CHOICES, Words, seed_words, streams

Floats = npt.NDArray[np.float64]
WINDOW = 1 << 14  # pulls that a window aims at: their sorted copies stay in the second-level cache


@dataclass(frozen=True, eq=False)
class Program:
    """A plan compiled to arrays: made once, run for every replication."""

    plan: Plan
    sampled: bool

    @cached_property
    def delay(self) -> float:
        plan = self.plan
        if isinstance(plan.delay, Law) or plan.delays:
            raise ValueError("delay: the array engine takes one constant delay for all messages (use --engine step)")
        return plan.delay

    @cached_property
    def updating(self) -> Ints:
        return np.flatnonzero(self.plan.purpose == UPDATES)

    @cached_property
    def asking(self) -> Ints:
        return np.flatnonzero(self.plan.purpose != UPDATES)

    @cached_property
    def askers(self) -> Askers:
        processes = [self.plan.processes[q] for q in self.asking]
        lists = {id(p.candidates): p.candidates for p in processes}
        begins = dict(zip(lists, np.cumsum([0, *map(len, lists.values())]), strict=False))
        places = {key: {node: at for at, node in enumerate(members)} for key, members in lists.items()}
        return Askers(
            node=np.array([p.node for p in processes], np.int64),
            pulls=np.array([p.ask for p in processes], np.int64),
            recent=np.array([p.recent for p in processes], np.bool_),
            begin=np.array([begins[id(p.candidates)] for p in processes], np.int64),
            size=np.array([len(p.candidates) for p in processes], np.int64),
            own=np.array([places[id(p.candidates)].get(p.node, len(p.candidates)) for p in processes], np.int64),
            listed=np.array([i for members in lists.values() for i in members] or [0], np.int64),
        )

    @cached_property
    def plain(self) -> bool:
        """Everyone asks by name, is answered at once and keeps what it gets."""
        return self.delay == 0 and not self.askers.recent.any() and not self.plan.clients.any()

    @cached_property
    def tree(self) -> Tree | None:
        """The askers in order of depth, if every one of them is a replica's only one and asks one upstream."""
        a, n = self.askers, len(self.plan.names)
        if not (self.sampled and self.plain and (a.pulls == 1).all() and (a.size == 1).all()):
            return None
        if np.bincount(a.node, minlength=n).max(initial=0) > 1:
            return None
        upstream = np.full(n, -1, np.int64)
        upstream[a.node] = a.listed[a.begin]
        depth, above = np.zeros(n, np.int64), upstream.copy()
        for _ in range(n):
            climbing = above >= 0
            if not climbing.any():
                feeds = np.bincount(upstream[upstream >= 0], minlength=n) > 0
                return Tree(np.argsort(depth[a.node], kind="stable"), a.node, upstream[a.node], feeds[a.node])
            depth += climbing
            above[climbing] = upstream[above[climbing]]
        return None  # a cycle: everyone waits for everyone

    @cached_property
    def registers(self) -> tuple[Ints, Ints, Ints]:
        """Per node: the register it appears in, the upstream that keeps it, and how long a list it needs."""
        n = len(self.plan.names)
        register, upstream, need = np.full(n, -1, np.int64), np.full(n, -1, np.int64), np.zeros(n, np.int64)
        home = {p.node: p.candidates[0] for p in self.plan.processes if p.purpose == DOWNLOADS and p.candidates}
        numbers: dict[tuple[int, int], int] = {}
        for p in self.plan.processes:
            if p.recent:
                for i in {p.node, *p.candidates} & home.keys():
                    register[i] = numbers.setdefault((home[i], id(p.candidates)), len(numbers))
                    upstream[i] = home[i]
                need[p.node] = p.ask
        sizes = np.bincount(register[register >= 0], minlength=1)
        need = np.minimum(need, np.where(register >= 0, sizes[register] - 1, 0))
        return register, upstream, need

    def copies(self) -> Copies:
        """Everything unknown."""
        n = len(self.plan.names)
        register, upstream, need = self.registers
        asks = np.zeros(n, np.int64)
        for p in self.plan.processes:
            if p.purpose == QUERIES:
                asks[p.node] = p.ask
        empty = [np.full(n, -1, np.int64) for _ in range(2)]
        return Copies(
            copy=np.empty(n),
            group=self.plan.group,
            left=asks.copy(),
            asks=asks,
            register=register,
            upstream=upstream,
            latest=np.full(max(int(register.max(initial=-1)) + 1, 1), -1, np.int64),
            older=empty[0],
            newer=empty[1],
            handed=np.empty((n if need.any() else 1, max(int(need.max(initial=0)), 1)), np.int64),
            length=np.zeros(n, np.int64),
            need=need,
        )


@dataclass
class Content:
    """One source's content as all nodes hold it, and the updates still to come."""

    row: int
    source: int
    law: Law  # of the update age
    state: Copies
    totals: Totals
    updates: Floats  # the last one lies beyond what has been asked for
    integral: Floats  # sums of (3) per group; conditional estimator only
    answered: Floats  # expected fresh answers per group; conditional estimator only
    held: Floats  # what pulls on their way carry, and the lists with them
    lists: Ints
    floor: float
    first: Floats  # what every node held at the start


def run_path(program: Program, seed: int, replication: int, horizon: float) -> Path:
    """One replication over [0, horizon)."""
    return _Run(program, seed, replication, horizon).path()


class _Run:
    """One replication, from its start to its horizon."""

    def __init__(self, program: Program, seed: int, replication: int, horizon: float) -> None:
        self.program, self.plan, self.horizon = program, program.plan, horizon
        run = seed_words(seed, replication)
        most = max(int(program.askers.pulls.max(initial=1)), 1)
        self.sources = self._renewals(program.updating, run, WINDOW)
        self.pulls = self._renewals(program.asking, run, max(WINDOW // most, 1))
        names, purposes = self.plan.stream_names[program.asking], self.plan.purpose[program.asking]
        self.choices = streams(run, names, purposes, CHOICES)
        self.chosen = np.empty(most, np.int64)
        self.first_updates = self._updates(0.0)
        self.times, self.pairs, self.answered = np.empty(0), np.empty(0, np.int64), 0  # on their way, so many back

    def _renewals(self, rows: Ints, run: Words, events: int) -> Renewals:
        used, which = np.unique(self.plan.which[rows], return_inverse=True)
        laws = [self.plan.laws[g] for g in used]
        return Renewals(laws, which, run, self.plan.stream_names[rows], self.plan.purpose[rows], events)

    def path(self) -> Path:
        ages, delay = self.sources.age, self.program.delay
        for depth in depths(self.plan, float(ages.max()), delay, self.program.sampled):
            contents, unproven = self._start(depth)
            if unproven == 0:
                break
        while self.pulls.now < self.horizon:
            window = self.pulls.window(self.horizon)
            self._apply(contents, window, self._updates(window.end), self.program.plain)
        return self._finish(contents, depth, unproven)

    def _start(self, depth: float) -> tuple[list[Content], int]:
        """Replay the last `depth` units of time before zero; how many copies that leaves unproven."""
        program, past = self.program, self.sources.past(depth)
        contents = [self._unknown(row, depth) for row in range(self.sources.age.size)]
        updates = [
            np.concatenate([past.of(c.row), coming]) for c, coming in zip(contents, self.first_updates, strict=True)
        ]
        self.times, self.pairs, self.answered = np.empty(0), np.empty(0, np.int64), 0
        self._apply(contents, self.pulls.past(depth), updates, plain=False)
        swept = program.sampled and not program.askers.recent.any()
        unproven = 0
        for c in contents:
            if not (swept and depth >= self.sources.age[c.row] + 2 * program.delay):
                unknown = self.plan.reached[c.row] & (c.state.copy <= -depth) & ~self.plan.clients
                unknown[self._known(c, depth)[0]] = False
                unproven += max(int(unknown.sum()), int(c.totals.lacking[0]))
        return contents, unproven

    def _unknown(self, row: int, depth: float) -> Content:
        """A content of which nobody holds anything yet, but for the copies whose age is plain."""
        program, n = self.program, len(self.plan.groups)
        state = program.copies()
        law = self.plan.processes[program.updating[row]].law.age
        lacking = np.array([np.count_nonzero(state.need)])
        totals = Totals(np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64), lacking)
        source = int(self.plan.sources[row])
        lists = np.full((0, state.handed.shape[1] + 1), -1, np.int64)
        state.copy[:] = np.where(self.plan.reached[row] & ~self.plan.clients, -depth, -np.inf)
        content = Content(
            row,
            source,
            law,
            state,
            totals,
            np.empty(1),
            np.zeros(n),
            np.zeros(n),
            np.empty(0),
            lists,
            -depth,
            state.copy,
        )
        known, left = self._known(content, depth)
        if program.sampled:
            still = left >= -self.sources.age[row]
            stale = min(float(self.first_updates[row][0]), self.horizon)
            known, left = known[still], np.full(int(still.sum()), stale)
            np.add.at(totals.fresh, self.plan.group[known], stale)
        state.copy[known] = left
        content.first = state.copy.copy()
        return content

    def _known(self, content: Content, depth: float) -> tuple[Ints, Floats]:
        """Nodes whose last download before the start is their only one, and when their copy left the source."""
        process, node, upstream = direct(self.plan).T
        age = self.pulls.age[process - len(self.plan.sources)]
        plain = (upstream == content.source) & (age > depth)
        return node[plain], self.program.delay - age[plain]

    def _updates(self, end: float) -> list[Floats]:
        """Per source: its updates up to `end` that have not been given out, and the one after."""
        parts: list[list[Floats]] = [[] for _ in self.plan.sources]
        while self.sources.now < end:
            window = self.sources.window(end)
            for row, part in enumerate(parts):
                part.append(window.of(row).copy())
        return [
            np.append(np.concatenate([*part, ()]), after)
            for part, after in zip(parts, self.sources.next_instants(), strict=True)
        ]

    def _sort(self, window: Window) -> tuple[Floats, Ints]:
        """All pulls of a window in time order, behind those that are still on their way."""
        askers, queued = self.program.askers, self.times.size
        total = int(((window.last - window.first) * askers.pulls).sum())
        times, pairs = np.empty(queued + total), np.empty(queued + total, np.int64)
        times[:queued], pairs[:queued] = self.times, self.pairs
        if total:
            # A hair under total / length, so that rounding never sends the last instant past the last bucket.
            scale = total * (1 - 1e-12) / (window.end - window.start)
            head, instants = np.empty(total + 2, np.int64), (window.points, window.offset, window.first, window.last)
            kernels.count(window.start, scale, instants, askers.pulls, head)
            kernels.scatter(
                window.start, scale, instants, window.serial, askers, *self.choices, head, times[queued:], pairs[queued:], self.chosen,
            )  # fmt: skip
            kernels.settle(times[queued:], pairs[queued:])
        return times, pairs

    def _apply(self, contents: list[Content], window: Window, coming: list[Floats], plain: bool) -> None:
        sorts = not plain or self.program.tree is None
        times, pairs = self._sort(window) if sorts else (self.times, self.pairs)
        answered = arrived = times.size
        for c in contents:
            # The last of the earlier ones was only known to come, and is the first of these.
            c.updates = np.concatenate([c.updates[:-1], coming[c.row]])
            if not plain:
                answered, arrived = self._general(c, times, pairs, window.end)
            elif self.program.tree is not None:
                self._tree(c, window)
            elif self.program.sampled:
                copy, group, fresh = c.state.copy, c.state.group, c.totals.fresh
                passed = kernels.sampled_pass(times, pairs, c.updates, 0, self.horizon, c.source, copy, group, fresh)
                c.updates = c.updates[passed:]
            else:
                changes = _room(times.size, 0)
                n = kernels.conditional_pass(times, pairs, c.source, c.state.copy, c.state.group, changes)
                self._harvest(c, changes, n, 0)
                c.updates = c.updates[-1:]
        self.times, self.pairs, self.answered = times[arrived:], pairs[arrived:], answered - arrived

    def _tree(self, c: Content, window: Window) -> None:
        x = c.updates.size - 1
        room = x + window.total + 2 * len(self.plan.names) + 2
        instants = window.points, window.offset, window.first, window.last
        trees.tree_pass(
            instants, self.program.tree, c.updates, x, self.horizon, c.source, c.state.copy, c.state.group, c.totals.fresh,
            np.zeros(len(self.plan.names), np.int64), np.empty(room), np.empty(room),
        )  # fmt: skip
        c.updates = c.updates[-1:]

    def _general(self, c: Content, times: Floats, pairs: Ints, until: float) -> tuple[int, int]:
        """Returns how many of the pulls have been answered, and how many answers have arrived."""
        program = self.program
        held = np.concatenate([c.held, np.empty(times.size - self.answered)])
        rows = times.size if program.askers.recent.any() else 1
        lists = np.full((rows, c.lists.shape[1]), -1, np.int64)
        lists[: c.lists.shape[0]] = c.lists
        changes = _room(times.size + (c.state.copy.size if rows > 1 else 0), times.size)
        passed, answered, arrived, n, answers = kernels.general_pass(
            self.times.size, self.answered, until, times, pairs, held, lists, program.delay, c.updates, self.horizon, c.floor,
            c.source, program.sampled, c.state, c.totals, changes,
        )  # fmt: skip
        self._harvest(c, changes, n, answers)
        c.updates, c.held = c.updates[passed:], held[arrived:answered]
        c.lists = lists[arrived:answered] if rows > 1 else c.lists
        return int(answered), int(arrived)

    def _harvest(self, c: Content, changes: Changes, n: int, answers: int) -> None:
        """Sum what a pass wrote down for (3)."""
        if n:
            gained = c.law.integrated_tail(changes.before[:n]) - c.law.integrated_tail(changes.after[:n])
            c.integral += np.bincount(changes.who[:n], gained, c.integral.size)
        if answers:
            got = np.isfinite(changes.answer[:answers])
            fresh = c.law.tail(changes.answer[:answers][got])
            c.answered += np.bincount(changes.client[:answers][got], fresh, c.answered.size)

    def _finish(self, contents: list[Content], depth: float, unproven: int) -> Path:
        plan = self.plan
        held = sum(self._fresh_time(c) for c in contents)
        with np.errstate(invalid="ignore", divide="ignore"):
            fresh = np.where(plan.copies > 0, held / (self.horizon * plan.copies), np.nan)
        per_process = np.concatenate([self.sources.spent, self.pulls.spent])
        counts = np.bincount(plan.purpose, per_process, 4).astype(np.int64)
        return Path(
            fresh=fresh,
            answers=sum(c.totals.answers for c in contents),
            good=sum(c.totals.good if self.program.sampled else c.answered for c in contents),
            counts=tuple(counts.tolist()),
            copies=np.array([c.state.copy for c in contents]),
            depth=depth,
            unproven=unproven,
        )

    def _fresh_time(self, c: Content) -> Floats:
        """Per group, the time that copies of this source were fresh, or (3) between start and end added."""
        if self.program.sampled:
            return c.totals.fresh
        held = np.flatnonzero(self.plan.reached[c.row] & ~self.plan.clients)
        ends = c.law.integrated_tail(self.horizon - c.state.copy[held]) - c.law.integrated_tail(-c.first[held])
        return c.integral + np.bincount(self.plan.group[held], ends, c.integral.size)


def _room(changes: int, answers: int) -> Changes:
    return Changes(
        np.empty(changes),
        np.empty(changes),
        np.empty(changes, np.int64),
        np.empty(answers),
        np.empty(answers, np.int64),
    )

"""The `array` engine: windows of events through compiled kernels.

A window's instants are generated per process, every wake becomes its pulls, the
pulls are put in time order by a bucket sort, and one pass applies them (passes.py), component by
component (layout.py). Memory is that of a window and of the network, whatever the horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np

from replnet.engines.layout import Layout
from replnet.engines.lines import load, settling
from replnet.engines.log import Recorder
from replnet.engines.outages import OutageArrays, losses
from replnet.engines.passes import (
    NEVER,
    SUMS,
    ContactLists,
    HeldCopies,
    Replies,
    Trees,
    Views,
    Yield,
    plain_pass,
    whole_pass,
)
from replnet.engines.path import Path, Task, download_rates, joined
from replnet.engines.pulls import SLICE, Askers, Pulls, runs
from replnet.engines.start import depths, further
from replnet.engines.tally import JUST_NOW, UNKNOWN, Tally
from replnet.engines.tree_pass import tree_pass
from replnet.laws.law import Flags, Floats, Ints
from replnet.laws.processes.clockwork import Clockwork
from replnet.laws.processes.renewal import AT_ONCE, PER_ROW, Scratch, Window, used
from replnet.laws.processes.streams import CHOICES, Words, seed_words, streams, uniforms
from replnet.measure.stretches import Updates
from replnet.network.topology import INDEX

WINDOW = 1 << 16  # pulls that a window aims at: many enough to share its overhead, few enough for the cache
MOST = 4 * WINDOW  # events of a window, where updates come much more often than pulls
MOST_PULLS = 1 << 24  # that are in hand at once: half a gigabyte
KEPT = 24  # parts of a network that are laid out once for all replications
LOT = 1 << 13  # rows of a large network that are drawn at once, few enough for the cache
FAR = 1 << 16  # copies that do not fit the cache beside all else
FEW = 1 << 16  # sources times nodes, of a path that hands over its copies one by one


def runner(task: Task, scratch: Scratch | None = None) -> tuple[Callable[[range], list[Path]], int]:
    """What runs some replications, and how many of them are best run side by side."""
    plan, sums, scratch = task.plan, task.sampled and not task.dated, scratch or Scratch()
    if plan.parts_of_sources > 1 and task.keep is None:
        return _in_parts(task, plan.parts_of_sources), 1
    alone, together = Layout(plan, 1, sums, task.keep is not None, scratch), 1
    spread = any(question.level is not None for question in task.questions.values())
    if alone.plain and not (spread or plan.topology.views or plan.topology.scheduled):
        # As many pulls as are sorted in one step. Where something may go wrong, a path may depend on its start.
        together = max(1, int(SLICE / max(plan.pulls * (task.horizon + 4 * plan.quiet), 1.0)))
    layouts = {1: alone}

    def run(some: range) -> list[Path]:
        assert len(some) == 1 or together > 1, "these run alone"
        if len(some) not in layouts:
            layouts[len(some)] = Layout(plan, len(some), sums, scratch=scratch)
        found = _Run(task, layouts[len(some)], some).paths()
        if len(found) == 1:
            return found
        # One alone can look further back than many, if it has to.
        return [run(some[at : at + 1])[0] if path.unproven else path for at, path in enumerate(found)]

    return run, together


def _in_parts(task: Task, count: int) -> Callable[[range], list[Path]]:
    """What runs replications of very many sources that have nothing to do with one another, some after the others."""

    scratch = Scratch()

    @lru_cache(maxsize=KEPT)
    def run_part(p: int) -> Callable[[range], list[Path]]:
        return runner(replace(task, plan=task.plan.part_of_sources(p)), scratch)[0]

    def run(some: range) -> list[Path]:
        return [joined([path for p in range(count) for path in run_part(p)(range(r, r + 1))]) for r in some]

    return run


def run_path(task: Task, replication: int = 0) -> Path:
    """One replication."""
    return runner(task)[0](range(replication, replication + 1))[0]


@final
class _Run:
    """Some replications, from their start to their horizon."""

    def __init__(self, task: Task, layout: Layout, replications: range) -> None:
        assert len(replications) == layout.count
        self._task, self._layout, self._plan, self._horizon = task, layout, task.plan, task.horizon
        self._runs = [seed_words(task.seed, replication) for replication in replications]
        self._run = np.concatenate(self._runs)
        self._sources = self._plan.sources.size
        self._asking = slice(self._sources * layout.count, None)
        self._clocks = self._clockwork()
        self._askers = self._placed(layout.askers.process, layout.askers)
        self._choices = streams(np.zeros(1, np.uint64), *self._names(layout.askers.process), CHOICES)
        self._losses = losses(layout, self._run)
        self._absent = np.zeros(self._plan.asking.size, np.int64)  # wakes of nodes that are down, by process
        self._views = self._viewed()
        make = task.keep(replications[0]) if task.keep else None
        self._recorder = Recorder(layout, self._run, self._asking, self._horizon, make) if make else None

    def _names(self, process: Ints) -> tuple[Words, Ints]:
        """Words and purposes of the processes of askers.

        A stream is named by the sum of the words of run and node, so one sum is as good.
        """
        plan, clock = self._plan, self._plan.processes.clock[process]
        return np.repeat(self._run, process.size // self._run.size) + plan.clocks.word[clock], plan.clocks.purpose[
            clock
        ]

    def _clockwork(self) -> Clockwork:
        """Everyone's instants: the updates of all replications, and then those of who asks."""
        plan, layout, count = self._plan, self._layout, self._layout.count
        rows = np.concatenate([np.tile(clocks, count) for clocks in layout.clocks])
        run = np.concatenate([np.repeat(self._run, clocks.size) for clocks in layout.clocks])
        rate, clocks = plan.clocks.rate[rows], plan.clocks
        asking = float(rate[self._asking].sum())
        layers = 1 if layout.plain else int(layout.layers.max())
        each = max(int(layout.askers.pulls.max(initial=1)), 1) * layers  # what a wake brings with it
        wakes = max(WINDOW // each, min(PER_ROW * (rows.size - self._asking.start), AT_ONCE // each))
        events = min(wakes * rate.sum() / asking, max(MOST, min(PER_ROW * rows.size, AT_ONCE))) if asking else WINDOW
        orders = clocks.schedule[rows]
        scheduled = [
            (plan.topology.each[order].schedule, np.flatnonzero(orders == order), self._run[:1])
            for order in used(orders[orders >= 0])[0].tolist()
        ]
        return Clockwork(
            plan.topology.laws, clocks.law[rows], rate, np.zeros(1, np.uint64), run + clocks.word[rows],
            clocks.purpose[rows], scheduled,
            int(events), lambda size: layout.scratch.floats("instants", size), self._horizon,
        )  # fmt: skip

    def _placed(self, process: Ints, askers: Askers) -> Askers:
        """Of replicas that take turns, chance decides who begins."""
        turns = self._plan.processes.turns[process]
        return askers._replace(phase=self._phase(process).astype(INDEX)) if (turns > 1).any() else askers

    def _phase(self, process: Ints) -> Ints:
        """The n-th wake after time zero belongs to turn first + n, so to a process the wakes with this rest."""
        turn, turns = self._plan.processes.turn[process], self._plan.processes.turns[process]
        chance = uniforms(
            streams(np.zeros(1, np.uint64), *self._names(process), CHOICES), np.zeros(process.size, np.int64)
        )
        return (turn - np.minimum((chance * turns).astype(np.int64), turns - 1)) % turns

    def _viewed(self) -> Views:
        both = self._layout.viewers(self._plan.chosen(self._run))
        return Views(*(column for lists in both for column in lists))

    def paths(self) -> list[Path]:
        task, layout, plan = self._task, self._layout, self._plan
        oldest = float(np.max(self._clocks.age[: self._asking.start], where=self._updating, initial=0.0))
        for depth in depths(plan, oldest, layout.delay, task.sampled, layout.count):
            unproven = self._start(depth)
            if not unproven.any():
                break
        if task.dated and not unproven.any():
            for deeper in further(plan, depth, self._horizon, "array", bool(task.questions)):
                if deeper > depth:
                    depth = deeper
                    self._start(depth)
                if not self._undated():
                    break
        self._open()
        while self._clocks.now < self._horizon:
            self._walk(self._lots(self._clocks.window, self._clocks.lots, self._horizon))
        return self._finish(depth, unproven)

    @property
    def _updating(self) -> Flags:
        """Rows of sources that ever change."""
        return np.isfinite(self._clocks.age[: self._asking.start])

    def _start(self, depth: float) -> Ints:
        """Replay the last `depth` units of time before zero; how many copies that leaves unproven, per replication."""
        layout, plan = self._layout, self._plan
        self._floor, self._outages = -depth, OutageArrays(layout, self._run, depth, self._horizon)
        self._copies, self._nodes = self._unknown(depth), layout.node_states()
        self._outages.lines(self._nodes)
        self._contacts, self._trouble = self._no_contacts(), self._outages.trouble()
        components = layout.components * layout.count
        mixed = plan.bandwidth is not None
        self._pulls = Pulls(self._askers, components, self._choices, self._losses, mixed, layout.scratch)
        self._replies, self._early = self._no_replies(), list[tuple[Floats, Ints, Floats]]()
        self._tally: Tally | None = None
        if self._recorder:
            self._recorder.phase = self._askers.phase
            self._recorder.begin(depth)
        known = self._know(depth)
        self._walk(self._lots(self._clocks.past, self._clocks.past_lots, depth))
        self._unproven_copies = self._old(depth) & ~known
        unproven = self._unproven_copies.copy()
        if self._task.sampled and plan.forgetful:
            age = self._clocks.age[: self._asking.start].reshape(layout.count, -1)
            unproven &= ((age + 2 * layout.delay > depth)[:, layout.row_of]).ravel()
        found = unproven.reshape(layout.count, -1).sum(axis=1)
        if plan.recent:
            found = np.maximum(found, int(self._contacts.lacking[0]) * self._sources)
        return np.asarray(found + np.count_nonzero(settling(plan) > depth))

    def _unknown(self, depth: float) -> HeldCopies:
        """Everyone who can hear of a source has a copy as old as the start, or older."""
        layout, cells, slots = self._layout, self._plan.cells[0].size, self._layout.slots * self._layout.count
        copy = np.where(np.tile(layout.reached, layout.count), -depth, -np.inf)
        cell = layout.tiled(layout.cell, cells)
        cell[np.tile(layout.cell == cells, layout.count)] = cells * layout.count
        kept = np.full(slots if self._plan.faults.crashes else 0, -np.inf)
        sums = np.zeros(cells * layout.count + 1, SUMS)
        base, since = layout.tiled(layout.base, layout.slots), np.zeros(slots)
        return HeldCopies(base, copy, kept, since, cell, np.zeros(sums.size), sums)

    def _know(self, depth: float) -> Flags:
        """Copies whose age is plain: their replica's last download before the start came straight from the source."""
        layout, copies, count = self._layout, self._copies, self._layout.count
        known, (process, node, row) = np.zeros(copies.copy.size, np.bool_), self._plan.direct
        at = self._asking.start + layout.tiled(layout.row[self._plan.processes.clock[process]], layout.clocks[1].size)
        turns = np.tile(self._plan.processes.turns[process], count)
        age = self._clocks.age[at]
        if (turns > 1).any():
            # Its last wake before zero is the one before number zero that has its rest.
            number = np.ones(self._clocks.age.size, np.int64)
            phase = self._phase(np.tile(process, count))
            for turn in np.unique(phase).tolist():
                mine = phase == turn
                number[at[mine]] = turns[mine] - turn
                age[mine] = self._clocks.before(number)[at[mine]]
        self._hold(known, node, row, age, depth)
        node, row = self._plan.never
        self._hold(known, node, row, np.full(node.size * count, np.inf), depth)
        self._look(known)
        return known

    def _hold(self, known: Flags, node: Ints, row: Ints, age: Floats, depth: float) -> None:
        """Copies that were downloaded so long ago, if that was before the replayed past."""
        layout, copies = self._layout, self._copies
        slot, of = layout.tiled(layout.slot(node, row), layout.slots), layout.tiled(row, self._sources)
        before = age > depth
        slot, of, left = slot[before], of[before], layout.delay - age[before]
        known[slot] = True
        if not layout.sampled:
            copies.copy[slot] = np.maximum(left, NEVER)
        else:
            fresh = left >= -self._clocks.age[of]
            coming = self._clocks.next_instants()[of[fresh]]
            copies.copy[slot[fresh]] = np.minimum(coming, self._horizon)

    def _look(self, known: Flags) -> None:
        """Those who look at copies that are known know them too."""
        views, layout = self._views, self._layout
        for v in np.flatnonzero(np.diff(views.begin)).tolist():
            slots = layout.layers[layout.places.component[v]]
            at = layout.base[views.looked[views.begin[v] : views.begin[v + 1]]][:, None] + np.arange(slots)
            own = slice(layout.base[v], layout.base[v] + slots)
            self._copies.copy[own], known[own] = self._copies.copy[at].max(axis=0), known[at].all(axis=0)

    def _old(self, depth: float) -> Flags:
        """Copies that may be from before the replayed past; choices of views hold none of their own."""
        layout = self._layout
        there = np.tile(layout.reached & (layout.places.node[layout.place_of] < self._plan.size), layout.count)
        return np.asarray(there & (self.held <= -depth) & (self.held > -np.inf))

    def _undated(self) -> bool:
        return bool(self._unproven_copies.any())

    def _no_contacts(self) -> ContactLists:
        """Nobody has called yet."""
        n = self._plan.size if self._plan.recent else 0
        register, upstream, need = self._layout.registers if n else (np.empty(0, np.int64),) * 3
        return ContactLists(
            register=register,
            upstream=upstream,
            need=need,
            latest=np.full(max(int(register.max(initial=-1)) + 1, 1), -1, np.int64),
            older=np.full(n, -1, np.int64),
            newer=np.full(n, -1, np.int64),
            handed=np.empty((n, max(int(need.max(initial=0)), 1)), np.int64),
            length=np.zeros(n, np.int64),
            lacking=np.full(1, np.count_nonzero(need)),
        )

    def _no_replies(self) -> Replies:
        """Nothing is on its way back, to no pulls."""
        width = int(self._contacts.need.max(initial=0)) + 1
        layers = int(self._layout.layers.max(initial=1))
        return Replies(np.empty((0, layers)), np.empty(0), np.empty((0, width), np.int64))

    def _more_replies(self, waiting: Ints, here: Ints, n: int) -> Replies:
        """Room for what answers n pulls; what is on its way already, to those that were `waiting`, is now `here`."""
        before, of = self._replies, self._layout.scratch
        layers, width = before.held.shape[1], before.lists.shape[1]
        held, waits = of.floats("held", n * layers).reshape(n, layers), of.floats("waits", n)
        lists = of.ints("lists", n * width if self._plan.recent else 0).reshape(-1, width)
        for column, old in zip((held, waits, lists), before, strict=True):
            if old.shape[0] and column.shape[0]:
                column[here] = old[waiting].copy()
        return Replies(held, waits, lists)

    def _open(self) -> None:
        """At time zero all that is added up begins anew."""
        task, copies, layout = self._task, self._copies, self._layout
        held = np.tile(layout.reached, layout.count)
        if self._plan.topology.fresh_start:
            copies.copy[held & (copies.copy > -np.inf)] = JUST_NOW
        copies.fresh[:] = 0.0
        if not layout.sampled:
            copies.since[:] = 0.0
        else:
            copies.fresh[:] = np.bincount(copies.cell[held], np.maximum(copies.copy[held], 0.0), copies.fresh.size)
        missing = held & (copies.copy == -np.inf)
        copies.sums["absent"] = self._horizon * np.bincount(copies.cell[missing], minlength=copies.fresh.size)
        ages = self._clocks.age[: self._asking.start]
        self._tally = Tally(task, ages, self._runs, task.questions)
        for answers in self._early:
            self._answered(*answers)
        self._since = self._oldest()
        if self._recorder:
            self._recorder.start(ages, self.held)

    def _lots(
        self, whole: Callable[[float], Window], lots: Callable[[float, Sequence[int]], Iterator[Window]], until: float
    ) -> Iterator[Window]:
        """A window, in one or in lots, of which the first has the rows of sources alone."""
        return lots(until, self._edges) if self._edges else iter([whole(until)])

    @cached_property
    def _edges(self) -> list[int]:
        """Where lots of rows begin; none where all fit the cache, or what happens is not plain."""
        layout, rows = self._layout, self._clocks.age.size
        plain = layout.plain and layout.trees is None and layout.components * layout.count == 1
        if not plain or rows * PER_ROW <= SLICE or not self._clocks.parted or (np.diff(layout.askers.row) < 0).any():
            return []
        return [0, *range(self._asking.start, rows, LOT), rows]

    def _walk(self, lots: Iterator[Window]) -> None:
        """What a window does to the copies; what makes very many pulls in parts, as they are to fit the memory."""
        window = next(lots)
        if self._edges:
            self._pass_lots(replace(window, points=window.points.copy()), lots)
            return
        if self._layout.trees is not None:
            self._climb(window, self._layout.trees)
            return
        for part in window.parts(MOST_PULLS / max(int(self._layout.askers.pulls.max(initial=1)), 1)):
            self._pass(part)

    def _pass(self, window: Window) -> None:
        """One pass over the pulls of a window."""
        layout, copies = self._layout, self._copies
        if window.start >= 0:
            phase = self._phase(self._plan.asking) if self._plan.faults.crashes else self._askers.phase
            self._outages.count_absent(window, self._asking, phase, self._absent)
        coming = (window.offset + window.first)[layout.sources.row]
        waiting, out = self._pulls.waiting, None
        pulled = self._pulls.add(window, self._asking)
        n = pulled.times.size
        out = self._room(n)
        if layout.plain:
            done = (
                self._one_pass(self._horizon, layout.sources, pulled, window.points, coming, copies, self._views, out),
                0,
            )
            pulled.reached[:] = pulled.arrived[:] = np.diff(pulled.begin)
        else:
            self._replies = self._more_replies(waiting, runs(pulled.begin[:-1], pulled.sent), n)
            one_pass = whole_pass(layout.sampled, self._plan.strict, self._plan.recent)
            done = one_pass(
                window.end, layout.delay, self._horizon, self._floor, layout.sources, pulled, window.points, coming,
                copies, self._nodes, self._views, self._contacts, self._trouble, self._replies, out,
            )  # fmt: skip
        if self._recorder:
            self._recorder.passed(window, pulled, self._replies)
        if not layout.sampled:
            self._take(window, out, *done)

    @cached_property
    def _one_pass(self) -> Any:
        layout = self._layout
        far = layout.single and self._copies.copy.size > FAR
        return plain_pass(layout.sampled, layout.single, bool(self._plan.topology.views), far)

    def _pass_lots(self, sources: Window, lots: Iterator[Window]) -> None:
        """Passes over slices of a window that comes in lots of rows."""
        if sources.start == sources.end:
            return
        layout, copies, tally = self._layout, self._copies, None if self._layout.sampled else self._tally
        coming, length = (sources.offset + sources.first)[layout.sources.row], sources.end - sources.start
        if tally and self._task.sampled:
            tally.changed(self._updates(sources), sources.end, self._since)
        for pulled in self._pulls.slices(sources.start, sources.end, self._plan.pulls * length, lots):
            out = self._room(pulled.times.size)
            n = self._one_pass(self._horizon, layout.sources, pulled, sources.points, coming, copies, self._views, out)
            if tally:
                self._stretches(out.begin[:n], out.end[:n], out.who[:n], out.left[:n])
        if tally and self._task.sampled:
            self._since = self._oldest()

    def _climb(self, window: Window, trees: Trees) -> None:
        """The same in a tree, replica by replica."""
        layout, of, copies = self._layout, self._layout.scratch, self._copies
        places = layout.places.node.size * layout.count
        room = window.total + 2 * (places + 1)
        tree_pass(
            (window.points, window.offset, window.first, window.last), self._asking.start, trees, layout.sources,
            self._horizon, copies.copy, copies.cell, copies.fresh, of.ints("begin", places + 1),
            of.ints("size", places + 1), of.floats("times", room), of.floats("values", room),
            of.ints("rank", window.total),
        )  # fmt: skip

    def _room(self, pulls: int) -> Yield:
        """For all that a pass may yield: a stretch for every copy that a pull changes, and of all who look at it."""
        layout, of = self._layout, self._layout.scratch
        layers, watching = int(layout.layers.max(initial=1)), self._watching
        turns = self._trouble.turns.size + (layout.slots if self._plan.recent else 0)
        n = 0 if layout.sampled else (pulls + turns) * layers * (1 + watching)
        answers = 0 if layout.plain else n
        return Yield(
            of.floats("begin of", n), of.floats("end of", n), of.ints("who of", n), of.floats("left of", n),
            of.floats("answered", answers), of.ints("client", answers), of.floats("brought", answers),
        )  # fmt: skip

    @cached_property
    def _watching(self) -> int:
        """How many look at one place at most."""
        return int(np.diff(self._views.first).max(initial=0))

    def _take(self, window: Window, out: Yield, stretches: int, answers: int) -> None:
        """What a pass has yielded; of the past nothing counts but what is answered later."""
        brought = out.answered[:answers], out.client[:answers], out.brought[:answers]
        if self._tally is None:
            self._early.append(tuple(column.copy() for column in brought))  # type: ignore[arg-type]
            return
        if self._task.sampled:
            self._tally.changed(self._updates(window), window.end, self._since)
            self._since = self._oldest()
        self._stretches(out.begin[:stretches], out.end[:stretches], out.who[:stretches], out.left[:stretches])
        self._answered(*brought)

    def _updates(self, window: Window) -> Updates:
        own = slice(self._asking.start)
        count = window.last[own] - window.first[own]
        points = window.points[runs(window.offset[own] + window.first[own], count)]
        return Updates(points, np.append(0, np.cumsum(count)))

    def _oldest(self) -> Floats:
        """By row, since when the oldest copy that is held or on its way has been away from its source."""
        layout, found = self._layout, np.full(self._asking.start, np.inf)
        of = layout.tiled(layout.row_of, self._sources)
        there = np.tile(layout.reached, layout.count) & (self.held > NEVER)
        np.minimum.at(found, of[there], self.held[there])
        if not self._layout.plain:  # what is on its way may be older than all that anyone still holds
            coming = np.append(self._replies.held[self._pulls.waiting].ravel(), self._copies.copy)
            found = np.minimum(found, coming.min(where=coming > NEVER, initial=np.inf))
        return found

    def _stretches(self, begin: Floats, end: Floats, who: Ints, left: Floats) -> None:
        assert self._tally is not None
        row, node = self._whose(who)
        self._tally.stretches(row, self._copies.cell[who], node, begin, end, self._left(left))

    def _answered(self, at: Floats, client: Ints, brought: Floats) -> None:
        assert self._tally is not None
        left = np.where(brought == -np.inf, np.nan, self._left(brought))
        self._tally.answered(self._whose(client)[0], self._copies.cell[client], at, left)

    def _left(self, left: Floats) -> Floats:
        """As the tally has it; what follows the copies alone knows them to be as old as the start."""
        unknown = UNKNOWN if self._task.sampled else self._floor
        return np.where(left == NEVER, -np.inf, np.where(left == self._floor, unknown, left))

    def _whose(self, slot: Ints) -> tuple[Ints, Ints]:
        """The rows and the nodes of slots."""
        layout = self._layout
        path, own = np.divmod(slot, layout.slots)
        return layout.row_of[own] + path * self._sources, layout.places.node[layout.place_of[own]]

    @cached_property
    def _place_of(self) -> Ints:
        layout = self._layout
        return layout.tiled(layout.place_of, layout.places.node.size)

    @property
    def held(self) -> Floats:
        """What there is in every slot; of a node that is down, what it will come back with."""
        copy: Floats = self._copies.copy
        if not self._nodes.size or not self._plan.faults.crashes:
            return copy
        return np.where(self._nodes["down"][self._place_of], self._copies.kept, copy)

    def _finish(self, depth: float, unproven: Ints) -> list[Path]:
        layout, copies, tally = self._layout, self._copies, self._tally
        assert tally is not None
        if not layout.sampled:  # the horizon ends what there is of stretches
            there = np.tile(layout.reached, layout.count) & (copies.copy > -np.inf) & (copies.since < self._horizon)
            who = np.flatnonzero(there)
            self._stretches(copies.since[who], np.full(who.size, self._horizon), who, copies.copy[who])
        else:
            tally.sums.fresh, tally.sums.good = copies.fresh, copies.sums["good"].astype(float)
        of = tally.sums
        of.absent, of.brought, of.ended = (copies.sums[name] for name in ("absent", "answers", "ended"))
        return [self._path(r, depth, int(unproven[r])) for r in range(layout.count)]

    def _path(self, r: int, depth: float, unproven: int) -> Path:
        """Of the r-th replication."""
        task, layout, plan, tally = self._task, self._layout, self._plan, self._tally
        assert tally is not None
        shares = tally.shares(r, task.rows)
        if plan.bandwidth is not None:
            shares |= load(plan, self._outages.counts(self._nodes), self._horizon)
        updates, asks = np.split(self._clocks.spent, [self._asking.start])
        spent = np.concatenate([part.reshape(layout.count, -1)[r] for part in (updates, asks)])
        clocks = np.concatenate(layout.clocks)
        if plan.faults.crashes:
            absent = np.bincount(plan.processes.clock[plan.asking], self._absent, plan.clocks.rate.size)
            spent = spent - absent[clocks].astype(np.int64)
        counts = np.bincount(plan.clocks.purpose[clocks], spent, 4).astype(np.int64)
        shares |= download_rates(plan, clocks, spent, self._horizon)
        updates, downloads, polls, queries = counts.tolist()
        return Path(
            shares=shares,
            counts=(updates, downloads, polls, queries),
            depth=depth,
            unproven=unproven,
            undated=tally.undated(r, task.rows),
            profiles=tally.profiles(r, task.rows),
            copies=self._left_over(r),
        )

    def _left_over(self, r: int) -> Floats | None:
        """What every node holds at the end, a row per source; None where that is very much."""
        layout, plan = self._layout, self._plan
        if plan.size * self._sources > FEW:
            return None
        found = np.full((self._sources, plan.size), -np.inf)
        held = self.held.reshape(layout.count, -1)[r]
        node = layout.places.node[layout.place_of]
        own = (node < plan.size) & layout.sourced
        found[layout.row_of[own], node[own]] = np.where(held[own] == NEVER, -np.inf, held[own])
        return found

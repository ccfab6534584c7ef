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

from replnet.deadline import require_time
from replnet.engines.array.array_log import ArrayLog
from replnet.engines.array.layout import Layout
from replnet.engines.array.outage_arrays import OutageArrays, build_losses
from replnet.engines.array.passes import (
    SUM_DTYPE,
    ContactLists,
    HeldCopies,
    PassOutput,
    Replies,
    Trees,
    Views,
    plain_pass,
    whole_pass,
)
from replnet.engines.array.pulls import PULLS_PER_SORT, Pulls
from replnet.engines.array.tree_pass import tree_pass
from replnet.engines.lines import line_metrics, settling_times
from replnet.engines.path import Path, Task, download_rates_from_wakes, join_parts
from replnet.engines.start import depths, look_back_further
from replnet.engines.tally import AFTER_ALL_UPDATES, Tally
from replnet.engines.wakes import find_phases, process_set, process_streams
from replnet.laws import Flags, Floats, Ints
from replnet.measure import NEVER_CAME, NOT_HELD, Updates, held_mask, known_mask, marked_unknown
from replnet.network import INDEX, runs
from replnet.processes import (
    CHOICES,
    INSTANTS_PER_ROW,
    LARGEST_WINDOW,
    ProcessSet,
    Scratch,
    Window,
    seed_words,
)

WINDOW = 1 << 16  # pulls that a window aims at: many enough to share its overhead, few enough for the cache
MOST_EVENTS = 4 * WINDOW  # events of a window, if updates come much more often than pulls
MOST_PULLS_AT_ONCE = 1 << 24  # pulls that one pass takes: half a gigabyte
SLICES_KEPT = 24  # slices of an aggregate whose layouts are kept for the next replication
ROWS_PER_BLOCK = 1 << 13  # rows of a large network that are generated at once, few enough for the cache
COPIES_BEYOND_CACHE = 1 << 16  # more copies than this do not fit the cache beside all else
MOST_FINAL_COPIES = 1 << 16  # sources times nodes, up to which a path has its final copies


def make_runner(task: Task, scratch: Scratch | None = None) -> tuple[Callable[[range], list[Path]], int]:
    """Return a function that runs replications, and the number of replications that it is best given at once.

    The number is 1 or more. The function takes a range of numbers of replications, only one at a time if the number is
    1, and returns their paths. `scratch` is memory for it to reuse; None stands for new memory. Raises ValueError if
    the array engine cannot run the network.
    """
    plan, sums, scratch = task.plan, task.sampled and not task.needs_departures, scratch or Scratch()
    if len(plan.slices) > 1 and task.keep is None:
        return _make_slice_runner(task), 1
    layout, at_once = Layout(plan, 1, sums, task.keep is not None, scratch), 1
    spread = any(question.level is not None for question in task.questions.values())
    if layout.plain and not (spread or plan.topology.views or plan.topology.has_schedule):
        # As many replications as have pulls to sort in one step. Others run alone: if pulls may fail, a path may
        # depend on how deep its past is.
        at_once = max(1, int(PULLS_PER_SORT / max(plan.pull_rate * (task.horizon + 4 * plan.longest_pull_gap), 1.0)))
    layouts = {1: layout}

    def run(replications: range) -> list[Path]:
        """Return the paths of these replications, which are run side by side, in the order of their numbers.

        Several at once raise AssertionError if the network takes one at a time.
        """
        assert len(replications) == 1 or at_once > 1, "these run alone"
        if len(replications) not in layouts:
            layouts[len(replications)] = Layout(plan, len(replications), sums, scratch=scratch)
        paths = _Batch(task, layouts[len(replications)], replications).run_paths()
        if len(paths) == 1:
            return paths
        # A path without a proven start is run again alone: with the memory of all, it can look further back.
        return [run(replications[at : at + 1])[0] if path.unproven else path for at, path in enumerate(paths)]

    return run, at_once


def _make_slice_runner(task: Task) -> Callable[[range], list[Path]]:
    """Return a function that runs a range of replications of very many independent sources, and returns their paths.

    Each replication is run in slices of the sources, one after another, whose paths are joined.
    """
    scratch = Scratch()

    @lru_cache(maxsize=SLICES_KEPT)
    def run_slice(p: int) -> Callable[[range], list[Path]]:
        """Return the function that runs a range of replications of the p-th slice of the sources alone."""
        return make_runner(replace(task, plan=task.plan.part(p)), scratch)[0]

    def run(replications: range) -> list[Path]:
        """Return the paths of these replications, which are run one after another."""
        slices = range(len(task.plan.slices))
        return [join_parts([path for p in slices for path in run_slice(p)(range(r, r + 1))]) for r in replications]

    return run


def run_path(task: Task, replication: int = 0) -> Path:
    """Return the path of the replication with this number, which is run alone."""
    return make_runner(task)[0](range(replication, replication + 1))[0]


@final
class _Batch:
    """A batch of replications that are run side by side, from the start of their past to their horizon.

    Each batch is run once, by `run_paths`.
    """

    def __init__(self, task: Task, layout: Layout, replications: range) -> None:
        assert len(replications) == layout.count
        self._task, self._layout, self._plan, self._horizon = task, layout, task.plan, task.horizon
        self._seed_words = [seed_words(task.seed, replication) for replication in replications]
        self._run_words = np.concatenate(self._seed_words)
        self._source_count = self._plan.sources.size
        self._pull_rows = slice(self._source_count * layout.count, None)
        self._clocks = self._build_clocks()
        process = layout.askers.process
        run = np.repeat(self._run_words, process.size // layout.count)
        self._askers = layout.askers._replace(phase=find_phases(self._plan, run, process).astype(INDEX))
        self._choices = process_streams(self._plan, run, process, CHOICES)
        self._losses = build_losses(layout, self._run_words)
        self._absent_wakes = np.zeros(self._plan.pull_processes.size, np.int64)  # while nodes are down, by process
        self._views = self._find_views()
        keep = task.keep(replications[0]) if task.keep else None
        self._log = ArrayLog(layout, self._run_words, self._pull_rows, self._horizon, keep) if keep else None

    def _build_clocks(self) -> ProcessSet:
        """Return the generator of all instants, with a row for each sequence of them.

        The first rows are the updates of all replications, the others the wakes of their pulls.
        """
        plan, layout, count = self._plan, self._layout, self._layout.count
        clock_of_row = np.concatenate([np.tile(clocks, count) for clocks in layout.clocks])
        run = np.concatenate([np.repeat(self._run_words, clocks.size) for clocks in layout.clocks])
        rate = plan.clocks.rate[clock_of_row]
        pull_wakes = float(rate[self._pull_rows].sum())
        layers = 1 if layout.plain else int(layout.slots_per_place.max())
        pulls_per_wake = max(int(layout.askers.pulls.max(initial=1)), 1) * layers
        rows, pull_rows = clock_of_row.size, clock_of_row.size - self._pull_rows.start
        wakes = max(WINDOW // pulls_per_wake, min(INSTANTS_PER_ROW * pull_rows, LARGEST_WINDOW // pulls_per_wake))
        most = max(MOST_EVENTS, min(INSTANTS_PER_ROW * rows, LARGEST_WINDOW))
        events = min(wakes * rate.sum() / pull_wakes, most) if pull_wakes else WINDOW
        room = lambda size: layout.scratch.floats("instants", size)  # noqa: E731
        return process_set(plan, clock_of_row, run, events=int(events), allocate=room, horizon=self._horizon)

    def _find_views(self) -> Views:
        """Return which places every choice of a view looks at, and by place which choices look at it.

        If a view has more than MOST_CHOICES choices, those that count are drawn at random.
        """
        lists = self._layout.view_lists(self._plan.choices(self._run_words))
        return Views(*(column for pair in lists for column in pair))

    def run_paths(self) -> list[Path]:
        """Run the replications to their horizon, and return their paths, in the order of their numbers."""
        task, layout, plan = self._task, self._layout, self._plan
        oldest = float(np.max(self._clocks.age[: self._pull_rows.start], where=self._ever_changes, initial=0.0))
        for depth in depths(plan, oldest, layout.delay, task.sampled, layout.count):
            unproven = self._replay_past(depth)
            if not unproven.any():
                break
        if task.needs_departures and not unproven.any():
            for deeper in look_back_further(plan, depth, self._horizon, "array", bool(task.questions)):
                if deeper > depth:
                    depth = deeper
                    self._replay_past(depth)
                if not self._has_unproven():
                    break
        self._begin_sums()
        while self._clocks.now < self._horizon:
            self._run_window(self._row_blocks(self._clocks.window, self._clocks.row_blocks, self._horizon))
        return self._finish(depth, unproven)

    @property
    def _ever_changes(self) -> Flags:
        """A mask, by row, of the sources that ever change."""
        return np.isfinite(self._clocks.age[: self._pull_rows.start])

    def _replay_past(self, depth: float) -> Ints:
        """Begin anew `depth` before time zero, replay the time up to then, and return how many copies are unproven.

        The result is an array by replication. An unproven copy may differ from that of a network that has always been
        running; lines that have not settled by then count as well.
        """
        layout, plan = self._layout, self._plan
        self._unknown_copy, self._outages = -depth, OutageArrays(layout, self._run_words, depth, self._horizon)
        self._copies, self._nodes = self._initial_copies(depth), layout.node_states()
        self._outages.set_lines(self._nodes)
        self._contacts, self._faults = self._empty_contacts(), self._outages.fault_arrays()
        component_count = layout.component_count * layout.count
        has_lines = plan.bandwidth is not None
        self._pulls = Pulls(self._askers, component_count, self._choices, self._losses, has_lines, layout.scratch)
        self._replies, self._early_answers = self._empty_replies(), list[tuple[Floats, Ints, Floats]]()
        self._tally: Tally | None = None
        if self._log:
            self._log.phase = self._askers.phase
            self._log.begin(depth)
        is_known = self._set_known_copies(depth)
        self._run_window(self._row_blocks(self._clocks.past, self._clocks.past_row_blocks, depth))
        self._unproven_copies = self._may_be_old(depth) & ~is_known
        unproven = self._unproven_copies.copy()
        if self._task.sampled and plan.update_settles_unknown:
            age = self._clocks.age[: self._pull_rows.start].reshape(layout.count, -1)
            unproven &= ((age + 2 * layout.delay > depth)[:, layout.row_of_slot]).ravel()
        count = unproven.reshape(layout.count, -1).sum(axis=1)
        if plan.has_recent_polls:
            count = np.maximum(count, int(self._contacts.lacking[0]) * self._source_count)
        return np.asarray(count + np.count_nonzero(settling_times(plan) > depth))

    def _initial_copies(self, depth: float) -> HeldCopies:
        """Return the copies at the start of the past: every slot for a copy has one of unknown age.

        It is given the number -depth, the instant of the start, or counts as that old. The other slots, such as those
        of clients, hold none.
        """
        layout, cells, slots = self._layout, self._plan.cells[0].size, self._layout.slot_count * self._layout.count
        copy = np.where(np.tile(layout.is_copy_slot, layout.count), -depth, NOT_HELD)
        cell = layout.repeat(layout.cell_of_slot, cells)
        cell[np.tile(layout.cell_of_slot == cells, layout.count)] = cells * layout.count
        saved = np.full(slots if self._plan.faults.crashes else 0, NOT_HELD)
        sums = np.zeros(cells * layout.count + 1, SUM_DTYPE)
        first_slot, since = layout.repeat(layout.first_slot, layout.slot_count), np.zeros(slots)
        return HeldCopies(first_slot, copy, saved, since, cell, np.zeros(sums.size), sums)

    def _set_known_copies(self, depth: float) -> Flags:
        """Set the copies whose age is known because they came straight from the source; return a mask of them, by slot.

        The last download before time zero tells the age, if it was before the past, which begins `depth` before time
        zero.
        """
        layout, copies, count = self._layout, self._copies, self._layout.count
        is_known, (process, node, row) = np.zeros(copies.copy.size, np.bool_), self._plan.direct_copies
        row_in_window = self._pull_rows.start + layout.repeat(
            layout.row_of_clock[self._plan.processes.clock[process]], layout.clocks[1].size
        )
        turns = np.tile(self._plan.processes.turns[process], count)
        age = self._clocks.age[row_in_window]
        if (turns > 1).any():
            # The last wake of a process before time zero is the last one before number zero with its phase.
            wakes_ago = np.ones(self._clocks.age.size, np.int64)
            phase = find_phases(self._plan, np.repeat(self._run_words, process.size), np.tile(process, count))
            for turn in np.unique(phase).tolist():
                with_turn = phase == turn
                wakes_ago[row_in_window[with_turn]] = turns[with_turn] - turn
                age[with_turn] = self._clocks.before(wakes_ago)[row_in_window[with_turn]]
        self._set_downloads(is_known, node, row, age, depth)
        node, row = self._plan.unasked_copies
        self._set_downloads(is_known, node, row, np.full(node.size * count, np.inf), depth)
        self._set_known_views(is_known)
        return is_known

    def _set_downloads(self, is_known: Flags, node: Ints, row: Ints, age: Floats, depth: float) -> None:
        """Set copies that were downloaded `age` ago, if that was before the past, and mark their slots in `is_known`.

        `node` and `row` (of its source) have an entry for every copy of one replication, `age` for every copy of all.
        The past begins `depth` before time zero; an infinite age is that of a copy that never came. Other copies stay
        as they are.
        """
        layout, copies = self._layout, self._copies
        slot = layout.repeat(layout.find_slots(node, row), layout.slot_count)
        source = layout.repeat(row, self._source_count)
        is_older = age > depth
        slot, source, departure = slot[is_older], source[is_older], layout.delay - age[is_older]
        is_known[slot] = True
        if not layout.sampled:
            copies.copy[slot] = np.maximum(departure, NEVER_CAME)
        else:
            fresh = departure >= -self._clocks.age[source]
            coming = self._clocks.next_instants()[source[fresh]]
            copies.copy[slot[fresh]] = np.minimum(coming, self._horizon)

    def _set_known_views(self, is_known: Flags) -> None:
        """Set each view's copy to the freshest copy it can see, and mark its slot in `is_known` if all of these are."""
        views, layout = self._views, self._layout
        for v in np.flatnonzero(np.diff(views.begin)).tolist():
            layers = layout.slots_per_place[layout.places.component[v]]
            places = views.viewed[views.begin[v] : views.begin[v + 1]]
            slots_seen = layout.first_slot[places][:, None] + np.arange(layers)
            own_slots = slice(layout.first_slot[v], layout.first_slot[v] + layers)
            self._copies.copy[own_slots] = self._copies.copy[slots_seen].max(axis=0)
            is_known[own_slots] = is_known[slots_seen].all(axis=0)

    def _may_be_old(self, depth: float) -> Flags:
        """Return a mask, by slot, of the copies that may be from before the past, which begins at -depth.

        Slots of choices of views, which hold no copies of their own, are left out.
        """
        layout = self._layout
        may_hold = np.tile(
            layout.is_copy_slot & (layout.places.node[layout.place_of_slot] < self._plan.size), layout.count
        )
        return np.asarray(may_hold & (self.held_copies <= -depth) & held_mask(self.held_copies))

    def _has_unproven(self) -> bool:
        """Whether any slot may still hold a copy from before the past, even one that an update has settled since."""
        return bool(self._unproven_copies.any())

    def _empty_contacts(self) -> ContactLists:
        """Return lists of contacts on which no node is yet; they have no nodes at all if none polls recent contacts."""
        n = self._plan.size if self._plan.has_recent_polls else 0
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

    def _empty_replies(self) -> Replies:
        """Return the replies to no pulls: arrays without rows, as wide as later ones."""
        width = int(self._contacts.need.max(initial=0)) + 1
        layers = int(self._layout.slots_per_place.max(initial=1))
        return Replies(np.empty((0, layers)), np.empty(0), np.empty((0, width), np.int64))

    def _room_for_replies(self, waiting: Ints, places: Ints, n: int) -> Replies:
        """Return room for the replies to the n pulls of a queue, a row for each, which is not cleared.

        Replies on their way, to pulls that were at the places `waiting` of the queue before, are moved to their new
        `places`.
        """
        before, scratch = self._replies, self._layout.scratch
        layers, width = before.held.shape[1], before.lists.shape[1]
        held, waits = scratch.floats("held", n * layers).reshape(n, layers), scratch.floats("waits", n)
        lists = scratch.ints("lists", n * width if self._plan.has_recent_polls else 0).reshape(-1, width)
        for column, old in zip((held, waits, lists), before, strict=True):
            if old.shape[0] and column.shape[0]:
                column[places] = old[waiting].copy()
        return Replies(held, waits, lists)

    def _begin_sums(self) -> None:
        """Begin all sums anew at time zero, from the copies held then, and begin the log if there is one."""
        task, copies, layout = self._task, self._copies, self._layout
        may_hold = np.tile(layout.is_copy_slot, layout.count)
        if self._plan.topology.fresh_start:
            copies.copy[may_hold & held_mask(copies.copy)] = AFTER_ALL_UPDATES
        copies.fresh[:] = 0.0
        if not layout.sampled:
            copies.since[:] = 0.0
        else:
            copies.fresh[:] = np.bincount(
                copies.cell[may_hold], np.maximum(copies.copy[may_hold], 0.0), copies.fresh.size
            )
        missing = may_hold & ~held_mask(copies.copy)
        copies.sums["absent"] = self._horizon * np.bincount(copies.cell[missing], minlength=copies.fresh.size)
        ages = self._clocks.age[: self._pull_rows.start]
        self._tally = Tally(task, ages, self._seed_words, task.questions)
        for answers in self._early_answers:
            self._add_answers(*answers)
        self._oldest_held = self._oldest_departures()
        if self._log:
            self._log.start(ages, self.held_copies)

    def _row_blocks(
        self,
        whole: Callable[[float], Window],
        in_blocks: Callable[[float, Sequence[int]], Iterator[Window]],
        until: float,
    ) -> Iterator[Window]:
        """Yield a window, whole or in blocks of rows of which the first has the updates alone.

        `whole` and `in_blocks` generate it either way, up to `until`.
        """
        return in_blocks(until, self._block_edges) if self._block_edges else iter([whole(until)])

    @cached_property
    def _block_edges(self) -> list[int]:
        """The rows of a window at which its blocks begin, and the end of the last; empty if windows come whole.

        They come in blocks if rows are many, and the network has a single component with nothing but plain pulls.
        """
        layout, rows = self._layout, self._clocks.age.size
        suits_blocks = layout.plain and layout.trees is None and layout.component_count * layout.count == 1
        if (
            not suits_blocks
            or rows * INSTANTS_PER_ROW <= PULLS_PER_SORT
            or not self._clocks.has_row_blocks
            or (np.diff(layout.askers.row) < 0).any()
        ):
            return []
        return [0, *range(self._pull_rows.start, rows, ROWS_PER_BLOCK), rows]

    def _run_window(self, blocks: Iterator[Window]) -> None:
        """Apply a window, which comes whole or in `blocks` of rows, to the copies.

        It is applied in several parts if its pulls would not fit the memory. Raises OutOfTime past a deadline, before
        the window and before every part.
        """
        require_time()
        window = next(blocks)
        if self._block_edges:
            self._pass_blocks(replace(window, points=window.points.copy()), blocks)
            return
        if self._layout.trees is not None:
            self._pass_trees(window, self._layout.trees)
            return
        for part in window.parts(MOST_PULLS_AT_ONCE / max(int(self._layout.askers.pulls.max(initial=1)), 1)):
            require_time()
            self._pass_window(part)

    def _pass_window(self, window: Window) -> None:
        """Apply the pulls of a window to the copies in one pass, and add what it puts out to the sums and the log."""
        layout, copies = self._layout, self._copies
        if window.start >= 0 and self._plan.faults.crashes:
            phases = find_phases(self._plan, self._run_words, self._plan.pull_processes)
            self._outages.count_absent(window, self._pull_rows, phases, self._absent_wakes)
        next_updates = (window.offset + window.first)[layout.sources.row]
        waiting = self._pulls.places_under_way
        pulled = self._pulls.add(window, self._pull_rows)
        n = pulled.times.size
        out = self._room_for_output(n)
        if layout.plain:
            counts = (
                self._plain_pass(
                    self._horizon, layout.sources, pulled, window.points, next_updates, copies, self._views, out
                ),
                0,
            )
            pulled.answered_after[:] = pulled.arrived_after[:] = np.diff(pulled.begin)
        else:
            self._replies = self._room_for_replies(waiting, runs(pulled.begin[:-1], pulled.sent), n)
            one_pass = whole_pass(layout.sampled, self._plan.pulls_may_fail, self._plan.has_recent_polls)
            counts = one_pass(
                window.end, layout.delay, self._horizon, self._unknown_copy, layout.sources, pulled, window.points,
                next_updates, copies, self._nodes, self._views, self._contacts, self._faults, self._replies, out,
            )  # fmt: skip
        if self._log:
            self._log.record_pass(window, pulled, self._replies)
        if not layout.sampled:
            self._take_output(window, out, *counts)

    @cached_property
    def _plain_pass(self) -> Any:
        """The compiled pass for networks whose nodes all ask by name, get answers at once and keep what they get.

        It applies a window's pulls to the copies, and returns how many stretches it wrote. It is specialised for
        whether freshness is sampled, no component has several sources, there are views, and copies exceed the cache.
        """
        layout = self._layout
        far = layout.single and self._copies.copy.size > COPIES_BEYOND_CACHE
        return plain_pass(layout.sampled, layout.single, bool(self._plan.topology.views), far)

    def _pass_blocks(self, sources: Window, blocks: Iterator[Window]) -> None:
        """Apply a window that comes in blocks of rows to the copies, in one pass after another over slices of time.

        `sources` is the block with the updates, and `blocks` yields those with the wakes of pulls. The stretches that
        the passes write are added to the tally.
        """
        if sources.start == sources.end:
            return
        layout, copies, tally = self._layout, self._copies, None if self._layout.sampled else self._tally
        next_updates, length = (sources.offset + sources.first)[layout.sources.row], sources.end - sources.start
        if tally and self._task.sampled:
            tally.add_updates(self._updates_of(sources), sources.end, self._oldest_held)
        for pulled in self._pulls.slices(sources.start, sources.end, self._plan.pull_rate * length, blocks):
            require_time()
            out = self._room_for_output(pulled.times.size)
            n = self._plain_pass(
                self._horizon, layout.sources, pulled, sources.points, next_updates, copies, self._views, out
            )
            if tally:
                self._add_stretches(out.begin[:n], out.end[:n], out.slot[:n], out.departure[:n])
        if tally and self._task.sampled:
            self._oldest_held = self._oldest_departures()

    def _pass_trees(self, window: Window, trees: Trees) -> None:
        """Apply a window to a network in which every replica pulls from one other node, replica by replica.

        `trees` has the pulls, upstreams first. Copies change, and fresh time is added up by cell.
        """
        layout, scratch, copies = self._layout, self._layout.scratch, self._copies
        places = layout.places.node.size * layout.count
        room = window.total + 2 * (places + 1)
        tree_pass(
            (window.points, window.offset, window.first, window.last), self._pull_rows.start, trees, layout.sources,
            self._horizon, copies.copy, copies.cell, copies.fresh, scratch.ints("begin", places + 1),
            scratch.ints("size", places + 1), scratch.floats("times", room), scratch.floats("values", room),
            scratch.ints("rank", window.total),
        )  # fmt: skip

    def _room_for_output(self, pulls: int) -> PassOutput:
        """Return scratch arrays large enough for what a pass with so many `pulls` may put out; they are not cleared."""
        layout, scratch = self._layout, self._layout.scratch
        layers, viewers = int(layout.slots_per_place.max(initial=1)), self._most_viewers
        turns = self._faults.turns.size + (layout.slot_count if self._plan.has_recent_polls else 0)
        n = 0 if layout.sampled else (pulls + turns) * layers * (1 + viewers)
        answers = 0 if layout.plain else n
        return PassOutput(
            scratch.floats("stretch begin", n), scratch.floats("stretch end", n), scratch.ints("stretch slot", n),
            scratch.floats("stretch departure", n), scratch.floats("answered", answers),
            scratch.ints("client", answers), scratch.floats("brought", answers),
        )  # fmt: skip

    @cached_property
    def _most_viewers(self) -> int:
        """The largest number of choices of views that look at one place."""
        return int(np.diff(self._views.first).max(initial=0))

    def _take_output(self, window: Window, out: PassOutput, stretches: int, answers: int) -> None:
        """Add the stretches and answers that a pass has written to `out` to the tally.

        `stretches` and `answers` are their numbers. The updates of the window are added first if freshness is sampled.
        Before time zero only answers are kept, for later: they may come after it.
        """
        answers_out = out.answered_at[:answers], out.client_slot[:answers], out.brought_departure[:answers]
        if self._tally is None:
            self._early_answers.append(tuple(column.copy() for column in answers_out))  # type: ignore[arg-type]
            return
        if self._task.sampled:
            self._tally.add_updates(self._updates_of(window), window.end, self._oldest_held)
            self._oldest_held = self._oldest_departures()
        self._add_stretches(out.begin[:stretches], out.end[:stretches], out.slot[:stretches], out.departure[:stretches])
        self._add_answers(*answers_out)

    def _updates_of(self, window: Window) -> Updates:
        """Return the updates of a window as instants, with a row for every source of every replication."""
        rows = slice(self._pull_rows.start)
        count = window.last[rows] - window.first[rows]
        points = window.points[runs(window.offset[rows] + window.first[rows], count)]
        return Updates(points, np.append(0, np.cumsum(count)))

    def _oldest_departures(self) -> Floats:
        """Return, by row of a source, the departure of the oldest copy held or on its way; infinite without any.

        Copies of unknown age do not count.
        """
        layout, oldest = self._layout, np.full(self._pull_rows.start, np.inf)
        row_of_slot = layout.repeat(layout.row_of_slot, self._source_count)
        is_held = np.tile(layout.is_copy_slot, layout.count) & known_mask(self.held_copies)
        np.minimum.at(oldest, row_of_slot[is_held], self.held_copies[is_held])
        if not self._layout.plain:  # a copy on its way may be older than all copies that nodes still hold
            numbers = np.append(self._replies.held[self._pulls.places_under_way].ravel(), self._copies.copy)
            oldest = np.minimum(oldest, numbers.min(where=known_mask(numbers), initial=np.inf))
        return oldest

    def _add_stretches(self, begin: Floats, end: Floats, slot: Ints, number: Floats) -> None:
        """Add stretches to the tally; each array has an entry per stretch.

        `number` is what passes keep of the copy in its slot: its departure, or the start of the past if that is
        unknown.
        """
        assert self._tally is not None
        row, node = self._rows_and_nodes(slot)
        self._tally.add_stretches(row, self._copies.cell[slot], node, begin, end, self._departures(number))

    def _add_answers(self, at: Floats, slot: Ints, number: Floats) -> None:
        """Add answers to the tally; each array has an entry per answer and source.

        `slot` is that of the client and the source, and `number` what passes keep of the copy that came: its departure,
        or the start of the past if that is unknown.
        """
        assert self._tally is not None
        row, _ = self._rows_and_nodes(slot)
        self._tally.add_answers(row, self._copies.cell[slot], at, self._departures(number))

    def _departures(self, number: Floats) -> Floats:
        """Return the departures of copies from the numbers that passes keep; UNKNOWN if from before the past.

        Where freshness is not sampled, such a copy counts as one that left as the past began.
        """
        return marked_unknown(number, self._unknown_copy) if self._task.sampled else number

    def _rows_and_nodes(self, slot: Ints) -> tuple[Ints, Ints]:
        """Return, as two arrays, the rows of the sources and the nodes that these slots of all replications are for."""
        layout = self._layout
        path, slot_of_path = np.divmod(slot, layout.slot_count)
        row = layout.row_of_slot[slot_of_path] + path * self._source_count
        return row, layout.places.node[layout.place_of_slot[slot_of_path]]

    @cached_property
    def _place_of_slot(self) -> Ints:
        """The place of every slot of all replications."""
        layout = self._layout
        return layout.repeat(layout.place_of_slot, layout.places.node.size)

    @property
    def held_copies(self) -> Floats:
        """The copy in every slot, as passes keep it; of a node that is down, the one that it will come back with."""
        copy: Floats = self._copies.copy
        if not self._nodes.size or not self._plan.faults.crashes:
            return copy
        return np.where(self._nodes["down"][self._place_of_slot], self._copies.saved, copy)

    def _finish(self, depth: float, unproven: Ints) -> list[Path]:
        """Close all stretches at the horizon, and return the paths of all replications, in the order of their numbers.

        The past began `depth` before time zero, and `unproven` has the number of unproven copies of each replication.
        """
        layout, copies, tally = self._layout, self._copies, self._tally
        assert tally is not None
        if not layout.sampled:  # the horizon ends all stretches that go on
            is_held = (
                np.tile(layout.is_copy_slot, layout.count) & held_mask(copies.copy) & (copies.since < self._horizon)
            )
            slots = np.flatnonzero(is_held)
            self._add_stretches(copies.since[slots], np.full(slots.size, self._horizon), slots, copies.copy[slots])
        else:
            tally.sums.fresh, tally.sums.fresh_answers = copies.fresh, copies.sums["good"].astype(float)
        sums = tally.sums
        sums.absent, sums.answered_queries, sums.queries = (
            copies.sums[name] for name in ("absent", "answers", "ended")
        )
        return [self._path(r, depth, int(unproven[r])) for r in range(layout.count)]

    def _path(self, number: int, depth: float, unproven: int) -> Path:
        """Return the path of one replication, by its place in the batch, `number`.

        Its past began `depth` before time zero and left so many copies `unproven`.
        """
        task, layout, plan, tally = self._task, self._layout, self._plan, self._tally
        assert tally is not None
        shares = tally.shares(number, task.rows)
        if plan.bandwidth is not None:
            shares |= line_metrics(plan, self._outages.line_counts(self._nodes), self._horizon)
        updates, pulls = np.split(self._clocks.spent, [self._pull_rows.start])
        spent = np.concatenate([part.reshape(layout.count, -1)[number] for part in (updates, pulls)])
        clocks = np.concatenate(layout.clocks)
        if plan.faults.crashes:
            absent = np.bincount(plan.processes.clock[plan.pull_processes], self._absent_wakes, plan.clocks.rate.size)
            spent = spent - absent[clocks].astype(np.int64)
        counts = np.bincount(plan.clocks.purpose[clocks], spent, 4).astype(np.int64)
        shares |= download_rates_from_wakes(plan, clocks, spent, self._horizon)
        updates, downloads, polls, queries = counts.tolist()
        return Path(
            shares=shares,
            counts=(updates, downloads, polls, queries),
            depth=depth,
            unproven=unproven,
            unknown_shares=tally.unknown_shares(number, task.rows),
            profiles=tally.profiles(number, task.rows),
            copies=self._final_copies(number),
        )

    def _final_copies(self, number: int) -> Floats | None:
        """Return the copies that nodes of a replication hold at the end, a row per source and a column per node.

        It is None if sources times nodes exceed MOST_FINAL_COPIES. A copy is the number that passes keep, and NOT_HELD
        where there is none. `number` is the place of the replication in the batch.
        """
        layout, plan = self._layout, self._plan
        if plan.size * self._source_count > MOST_FINAL_COPIES:
            return None
        result = np.full((self._source_count, plan.size), NOT_HELD)
        held = self.held_copies.reshape(layout.count, -1)[number]
        node = layout.places.node[layout.place_of_slot]
        is_node = (node < plan.size) & layout.has_source
        result[layout.row_of_slot[is_node], node[is_node]] = held[is_node]
        return result

"""One source's content as all nodes hold it, and what a window does to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import final

import numpy as np

from replnet.engines import kernels
from replnet.engines.general import Changes, Rules, general_pass
from replnet.engines.program import Program
from replnet.engines.queue import Pulls
from replnet.engines.stretch_kernels import changed_pass
from replnet.engines.trees import Tree, tree_pass
from replnet.engines.weather import Weather
from replnet.laws.base import Law
from replnet.laws.renewal import CHUNK, Window
from replnet.laws.scratch import Floats, Ints


@final
class Coming:
    """Instants to come, in order; the last one lies beyond what has been asked for."""

    def __init__(self, last: float) -> None:
        self._room, self._size = np.full(64, last), 1

    @property
    def instants(self) -> Floats:
        return self._room[: self._size]

    def prepend(self, past: Floats) -> None:
        self._room = np.concatenate([past, self.instants])
        self._size = self._room.size

    def drop(self, n: int) -> None:
        """The first n are past."""
        self._room[: self._size - n] = self._room[n : self._size]
        self._size -= n

    def extend(self, more: Floats, last: float) -> None:
        """`more`, in the place of the last one, and the one after."""
        size = self._size + more.size
        if size > self._room.size:
            self._room = np.concatenate([self._room, np.empty(size)])
        self._room[self._size - 1 : size - 1] = more
        self._room[size - 1] = last
        self._size = size


@final
class Content:
    """Copies of one source, its updates to come, and what adds up over [0, horizon)."""

    def __init__(
        self, program: Program, row: int, depth: float, horizon: float, next_update: float, weather: Weather
    ) -> None:
        plan, groups = program.plan, len(program.plan.groups)
        self.row, self.source = row, plan.sources[row]
        self.updates = Coming(next_update)
        self.state = program.copies()
        self.state.nodes["asks"][~plan.counted[row]] = 0  # who cannot hear of this source
        self.contacts = program.contacts()
        weather.lines(self.state.nodes)
        self._trouble = weather.trouble()
        self._program, self._horizon, self._floor = program, horizon, -depth
        self._age = plan.processes[program.updating[row]].law.age
        self._integral, self._answered = np.zeros(groups), np.zeros(groups)
        self._held, self._waits = np.empty(0), np.empty(0)
        self.brought = self.waited = np.empty(0)  # of the pulls that came to their end in the last pass
        self._lists = np.empty((0, self.contacts.handed.shape[1] + 1), np.int64)
        self._rules = Rules(program.delay, horizon, -depth, self.source, program.sampled, plan.strict)
        self._scratch = program.scratch
        self.state.copy[:] = np.where(plan.reached[row] & ~plan.clients, -depth, -np.inf)
        self._first = self.state.copy.copy()

    def know(self, nodes: Ints, left: Floats, update_age: float) -> None:
        """Of some nodes it is known when their copy left the source."""
        copy = self.state.copy
        if self._program.sampled:
            fresh = nodes[left >= -update_age]
            copy[fresh] = min(float(self.updates.instants[0]), self._horizon)
            np.add.at(self.state.fresh, self.state.group[fresh], copy[fresh])
        else:
            copy[nodes] = left
        self._first = copy.copy()

    def everywhere(self) -> None:
        """From here on everyone always has a copy, so a pull that brings none was not answered."""
        self.state.copy[:] = 0.0
        self._trouble.turns["empties"] = False
        self.contacts.lacking[0] = 0  # so nothing is ever forgotten

    def general(self, pulls: Pulls, until: float) -> tuple[int, int]:
        """A window of any network; how many pulls have been answered, and how many answers have arrived."""
        program, begun, n = self._program, pulls.answered, pulls.times.size
        listing, limited = program.plan.recent, program.plan.bandwidth is not None
        held = self._kept("held", self._held, n)
        waits = self._kept("waits", self._waits, n if limited else 0)
        width = self._lists.shape[1]
        lists = self._scratch.ints("lists", n * width if listing else 0).reshape(-1, width)
        lists[: self._lists.shape[0]] = self._lists
        turns = self._trouble.turns.size - int(self._trouble.turned[0])
        changes = self._changes(n + turns + (self.state.copy.size if listing else 0), n)
        passed, answered, arrived, changed, answers = general_pass(
            pulls.sent, begun, until, pulls.times, pulls.pairs, held, waits, lists, self.updates.instants, self._rules,
            self.state, changes, self.contacts, self._trouble,
        )  # fmt: skip
        self._harvest(changes, changed, answers)
        self.updates.drop(passed)
        self.brought, self.waited = held[:arrived], waits[: arrived if limited else 0]
        self._held = held[arrived:answered].copy()
        if limited:
            self._waits = waits[arrived:answered].copy()
        if listing:
            self._lists = lists[arrived:answered].copy()
        return int(answered), int(arrived)

    def _kept(self, name: str, before: Floats, n: int) -> Floats:
        """Room for n values, of which some are there already."""
        room = self._scratch.floats(name, n)
        room[: before.size] = before
        return room

    def plain(self, pulls: Pulls) -> None:
        """A window where everyone asks by name, is answered at once and keeps what it gets."""
        copy, group = self.state.copy, self.state.group
        if self._program.sampled:
            fresh, updates = self.state.fresh, self.updates.instants
            kernels.sampled_pass(pulls.times, pulls.pairs, updates, self._horizon, self.source, copy, group, fresh)
        else:
            changes = self._changes(pulls.times.size, 0)
            changed = kernels.conditional_pass(pulls.times, pulls.pairs, self.source, copy, group, changes)
            self._harvest(changes, changed, 0)
        self.updates.drop(self.updates.instants.size - 1)

    def changed(self, pulls: Pulls) -> tuple[Floats, Ints, Floats]:
        """The same by `conditional`; instants, nodes and what they hold from there on, change by change."""
        n, of = pulls.times.size, self._scratch
        found = of.floats("changed at", n), of.ints("changed who", n), of.floats("changed to", n)
        changed = changed_pass(pulls.times, pulls.pairs, self.source, self.state.copy, *found)
        self.updates.drop(self.updates.instants.size - 1)
        return found[0][:changed], found[1][:changed], found[2][:changed]

    def tree(self, window: Window, tree: Tree) -> None:
        """A window of this source's tree, replica by replica."""
        updates, nodes = self.updates.instants, self.state.copy.size
        room = updates.size + window.total + 2 * nodes
        tree_pass(
            (window.points, window.offset, window.first, window.last), tree, updates, self._horizon,
            self.source, self.state.copy, self.state.group, self.state.fresh,
            self._scratch.ints("begin", nodes), self._scratch.ints("size", nodes),
            self._scratch.floats("times", room), self._scratch.floats("values", room),
            self._scratch.ints("rank", window.total), self._scratch.floats("held", window.total),
        )  # fmt: skip
        self.updates.drop(updates.size - 1)

    def unknown(self) -> Ints:
        """Replicas whose copy may date from before the start."""
        reached = self._program.plan.reached[self.row] & ~self._program.plan.clients
        copy = self.copies
        return np.flatnonzero(reached & (copy <= self._floor) & (copy > -np.inf))

    @property
    def copies(self) -> Floats:
        """What every node holds; one that is down, what it will come back with."""
        return np.asarray(np.where(self.state.nodes["down"], self.state.nodes["kept"], self.state.copy))

    def fresh_time(self) -> Floats:
        """Per group, how long copies were fresh: (2) as summed, or (3) with its ends."""
        if self._program.sampled:
            return np.asarray(self.state.fresh)
        plan, law = self._program.plan, self._age
        held = np.flatnonzero(plan.reached[self.row] & ~plan.clients)
        last = self.state.copy[held]
        # F(0) = 0 stands for a copy that is not there.
        age = np.where(last > -np.inf, self._horizon - last, 0.0)
        ends = law.integrated_tail(age) - law.integrated_tail(-self._first[held])
        return np.asarray(self._integral + np.bincount(plan.group[held], ends, self._integral.size))

    def good(self) -> Floats:
        """Per group, how many answers were fresh, or may be expected to."""
        return np.asarray(self.state.sums["good"], dtype=float) if self._program.sampled else self._answered

    def _changes(self, changes: int, answers: int) -> Changes:
        of = self._scratch
        if self._program.sampled:
            changes = answers = 0
        return Changes(
            of.floats("before", changes), of.floats("after", changes), of.ints("who", changes),
            of.floats("answer", answers), of.ints("client", answers),
        )  # fmt: skip

    def _harvest(self, changes: Changes, changed: int, answers: int) -> None:
        """Sum what a pass wrote down for (3)."""
        for groups, gain in gains(self._age, changes, changed):
            self._integral += np.bincount(groups, gain, self._integral.size)
        got = np.isfinite(changes.answer[:answers])
        fresh = self._age.tail(changes.answer[:answers][got])
        self._answered += np.bincount(changes.client[:answers][got], fresh, self._answered.size)


def gains(law: Law, changes: Changes, changed: int) -> Iterator[tuple[Ints, Floats]]:
    """What changes of copies add to (3), and to which group; `law` is that of the age of the updates."""
    for q in range(0, changed, CHUNK):
        some = slice(q, min(q + CHUNK, changed))
        yield changes.who[some], law.integrated_tail(changes.before[some]) - law.integrated_tail(changes.after[some])

"""The `step` engine: the nodes themselves, one event at a time, in virtual time.

It is the readable reference: the same planned instants and choices as `array`,
but walked by the state machines of `network.nodes`, which exchange messages (runner.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, final

import numpy as np

from replnet.engines.lines import load, settling
from replnet.engines.outages import Hazards
from replnet.engines.path import Path, Task, rates, shares
from replnet.engines.plan import Plan
from replnet.engines.runner import Agenda, Instants, Parcel, Runner, clockwork, phases
from replnet.engines.start import depths, further
from replnet.engines.tally import JUST_NOW, UNKNOWN
from replnet.engines.watcher import Watcher
from replnet.laws.law import Floats, Law
from replnet.laws.processes.streams import seed_words
from replnet.network.nodes import Copies, Replica, Reply


class Lateness(NamedTuple):
    """By how much messages take longer than the network says, by the group of who asks."""

    pulls: tuple[float, ...]
    replies: tuple[float, ...]


def runner(task: Task) -> tuple[Callable[[range], list[Path]], int]:
    """What runs some replications; one after another."""
    return lambda some: [run_path(task, replication) for replication in some], 1


def run_path(task: Task, replication: int = 0, late: Lateness | None = None) -> Path:
    """One replication over [0, horizon), in which messages may be `late`."""
    walk = to_zero(task, replication)
    if late is not None:
        walk.slow_down(late)
    return walk.path()


def to_zero(task: Task, replication: int) -> Walk:
    """A walk whose past is over: its state at time zero is the stationary one, or as near as it gets."""
    plan, run = task.plan, seed_words(task.seed, replication)
    ages = clockwork(plan, run, np.arange(plan.sources.size)).age
    oldest = float(np.max(ages, where=np.isfinite(ages), initial=0.0))
    for depth in depths(plan, oldest, longest(plan), task.sampled):
        walk = Walk(task, replication, depth)
        if walk.unproven == 0:
            break
    if task.dated and walk.unproven == 0:
        proven = walk.depth
        for depth in further(plan, proven, task.horizon, "step", bool(task.questions)):
            walk = walk if depth <= proven else Walk(task, replication, depth)
            if not walk.undated:
                break
    return walk


def longest(plan: Plan) -> float:
    """A delay that practically no message exceeds."""
    return max(float(d.isf(1e-9)) if isinstance(d, Law) else d for d in (plan.delay, *plan.delays.values()))


@final
class Walk:
    """All nodes of a replication, walked from -depth to time zero, and then on."""

    def __init__(self, task: Task, replication: int, depth: float) -> None:
        plan, everyone = task.plan, np.arange(task.plan.size)
        self._task, self._plan, self.depth = task, plan, depth
        self._run, self._agenda = seed_words(task.seed, replication), Agenda()
        instants = Instants(plan, self._run, np.arange(plan.processes.node.size), depth)
        self._ages, self._clocks = instants.clocks.age, instants.clocks
        # Stale to who counts what is fresh, and as old as the start to who asks when copies left.
        self.unknown = UNKNOWN if task.sampled and not task.dated else -depth
        keep = task.keep(replication) if task.keep else None
        self.watcher = Watcher(task, self._run, everyone, -depth, self.unknown, keep=keep)
        hazards = Hazards(plan, self._run, -depth, task.horizon) if plan.strict else None
        coming = lambda q: (instants.of(q), instants.before(q))  # noqa: E731
        self.runner = Runner(plan, self._run, everyone, coming, self._agenda, self.watcher, hazards)
        self.runner.told = self._told
        self.runner.expect(-np.inf, np.inf)
        self._lacking = set(np.flatnonzero(plan.needs).tolist())
        self._known = self._recall()
        self._forget(-depth)
        self.runner.start(-depth)
        self.until(0.0)
        old = self._old()
        self.undated, self.unproven = bool(old), self._unproven(old)
        if plan.topology.fresh_start:
            for i, node in self._replicas():
                node.copies = dict.fromkeys(node.copies, float(JUST_NOW))
                self.watcher.holds(0.0, i, node.copies)
        self.watcher.open({i: node.copies for i, node in self._replicas()})

    def _replicas(self) -> Iterator[tuple[int, Replica]]:
        return ((i, node) for i, node in self.runner.nodes.items() if isinstance(node, Replica))

    def _recall(self) -> dict[tuple[int, int], float]:
        """Copies whose age is plain from the start, by (node, row): the last download before came from the source."""
        process, node, row = self._plan.direct
        delay, number = self._plan.constant_delay, np.ones(self._ages.size, np.int64)
        turns, phase = self._plan.processes.turns[process], phases(self._plan, self._run, process)
        number[process] = turns - phase
        ages = self._clocks.before(number)[process] if (turns > 1).any() else self._ages[process]
        pairs = zip(node.tolist(), row.tolist(), ages.tolist(), strict=True)
        never = ((*pair, np.inf) for pair in zip(*map(np.ndarray.tolist, self._plan.never), strict=True))
        return {(i, s): (delay or 0.0) - age for i, s, age in (*pairs, *never) if age > self.depth}

    def _forget(self, now: float) -> None:
        """Nothing is known of what replicas hold, but of what is recalled."""
        for i, node in self._replicas():
            rows = self._plan.heard.of(i).tolist()
            sources = self._plan.sources[rows].tolist()
            node.copies = {s: self._known.get((i, row), self.unknown) for row, s in zip(rows, sources, strict=True)}
            self.watcher.holds(now, i, node.copies)

    def _told(self, now: float, i: int) -> None:
        """A replica was handed a list of contacts.

        After the last list is complete, every poll asks whom it should; what came before may be wrong.
        """
        node = self.runner.nodes[i]
        if i in self._lacking and isinstance(node, Replica) and len(node.contacts) >= self._plan.needs[i]:
            self._lacking.discard(i)
            if not self._lacking:
                self._agenda.change(0, _without_copies)
                self._forget(now)

    def slow_down(self, late: Lateness) -> None:
        """From now on messages take longer."""
        by_group = list(zip(*late, strict=True))
        self.runner.late = [by_group[g] for g in self._plan.group]

    def until(self, end: float) -> None:
        while self._agenda.next_at < end:
            event = self._agenda.pop()
            self.runner.happen(event[0], event)

    def _old(self) -> list[tuple[int, int]]:
        """Copies, by (row, node), that may be from before the replayed past."""
        held = [(row, i, left) for i, node in self._replicas() for row, left in self._rows_of(node.copies)]
        return [(row, i) for row, i, left in held if left <= -self.depth and (i, row) not in self._known]

    def _rows_of(self, copies: Copies) -> list[tuple[int, float]]:
        rows = {int(s): row for row, s in enumerate(self._plan.sources)}
        return [(rows[int(s)], left) for s, left in copies.items()]

    def _unproven(self, old: list[tuple[int, int]]) -> int:
        """How many copies may differ from the stationary ones (start.py)."""
        unproven = int(np.count_nonzero(settling(self._plan) > self.depth))
        for row in range(self._plan.sources.size):
            swept = self._task.sampled and self._plan.forgetful
            if not (swept and self.depth >= self._ages[row] + 2 * longest(self._plan)):
                unproven += max(sum(of == row for of, _ in old), len(self._lacking))
        return unproven

    def path(self) -> Path:
        """What is seen up to the horizon."""
        task, plan = self._task, self._plan
        self.until(task.horizon)
        tally = self.watcher.tally
        tally.sums, together = self.watcher.sums(task.horizon)
        self.watcher.finish()
        found = shares(plan, tally.sums, task.horizon, task.rows, task.questions) | together
        if self.runner.hazards and (lines := self.runner.hazards.lines):
            found |= load(plan, lines.totals(task.horizon), task.horizon)
        found |= rates(plan, self.watcher.downloads, task.horizon)
        updates, downloads, polls, queries = self.watcher.counts
        return Path(
            shares=found,
            counts=(updates, downloads, polls, queries),
            depth=self.depth,
            unproven=self.unproven,
            undated=tally.undated(0, task.rows),
            profiles=tally.profiles(0, task.rows),
            copies=self._left(),
        )

    def _left(self) -> Floats:
        """What every node holds at the end, a row per source; -inf where it holds nothing."""
        found = np.full((self._plan.sources.size, self._plan.size), -np.inf)
        for i, node in self._replicas():
            for row, left in self._rows_of(node.copies):
                found[row, i] = left
        return found


def _without_copies(parcel: Parcel) -> Parcel:
    message = parcel.message
    if not isinstance(message, Reply):
        return parcel
    return parcel._replace(message=Reply({}, message.query, message.contacts))

"""A host: some nodes of a network, in every replication of a run, and the order in which things happen to them.

It owns no thread and no clock. Whoever runs it calls `step` when the next event is due or a batch has come, hands it
the model time as a function, and carries the batches that it sends. A node is told the planned instant of its wakes,
however late the host is, so lateness does not add up; messages it is told when they come. A client's query counts from
when it was due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from typing import Any, TypeAlias, final

import numpy as np

from replnet.engines.lines import load
from replnet.engines.log import Columns
from replnet.engines.outages import Hazards
from replnet.engines.path import Shares, Sums, Task, rates, shares
from replnet.engines.runner import PULL, REPLY, Agenda, Instants, Parcel, Present, Runner
from replnet.engines.watcher import NodeStates, Watcher
from replnet.laws.law import Floats, Ints
from replnet.laws.processes.streams import seed_words
from replnet.live.batches import Mailbox
from replnet.live.quantiles import Spread
from replnet.network.nodes import Copies, Pull, Replica

BURST = 64  # events in a row before batches that have come get their turn

Logged: TypeAlias = tuple[int, Columns]
"""Rows of the log of a replication (engines/log.py)."""


@final
@dataclass(frozen=True)
class Assignment:
    """What one host needs to know of a run, besides its task."""

    me: int
    at: tuple[int, ...]  # the host of every node
    presents: tuple[Present, ...]  # of its own nodes, by replication
    unknown: tuple[float, ...]  # what these say of copies that may be from before the replayed past
    horizon: float
    logged: bool = False  # whether every event is handed on
    incarnation: int = 0
    since: float = 0.0  # when it goes live; wakes up to here are over

    def restarted(self, incarnation: int, since: float, horizon: float) -> Assignment:
        """The same nodes without memory: replicas blank, nothing under way."""
        blank = tuple(Present({}, [], {}, {}, None) for _ in self.presents)
        return replace(self, presents=blank, horizon=horizon, incarnation=incarnation, since=since)

    @property
    def own(self) -> Ints:
        """Its nodes."""
        return np.flatnonzero(np.array(self.at) == self.me)

    def coming(self, instants: Instants, process: int) -> tuple[Iterator[float], int]:
        """The instants of a process after `since`, and how many of these come before time zero.

        That number is negative if some have passed since then: choices are numbered by
        wakes from time zero on, so whoever begins late goes on where the numbers are by then.
        """
        coming, before = instants.of(process), instants.before(process)
        if self.incarnation == 0:
            return coming, before
        for at in coming:
            if at > self.since:
                return chain([at], coming), before
            before -= 1
        raise AssertionError("processes have no end")


@final
@dataclass
class Statistics:
    """Of one host, all replications together."""

    delays: list[Spread]  # of replies, by the group of who gets them
    late: list[Spread]  # the same, but only by how much they came later than the network says
    responses: Spread = field(default_factory=Spread)  # to queries, from when they were due
    slip: Spread = field(default_factory=Spread)  # by how much wakes came later than planned
    said: int = 0  # messages of its nodes, wherever they went
    crossed: int = 0  # messages to other hosts
    batches: int = 0  # of these
    taken: int = 0  # batches that came, each once
    repeated: int = 0  # batches that had come before


@final
@dataclass(frozen=True)
class Tallied:
    """Of one replication in one host."""

    counts: tuple[int, ...]  # wakes, by purpose
    sums: Sums
    held: Floats  # copy-time in which there was a copy, by cell
    downloads: Floats  # by source, of those that have rows of their own
    unanswered: int
    own: Shares  # of its nodes alone: what lines amount to, and what was fresh together


@final
@dataclass(frozen=True)
class Report:
    """What one incarnation of a host has seen from when it went live up to some instant."""

    upto: float
    tallied: tuple[Tallied, ...]  # by replication
    statistics: Statistics
    states: NodeStates  # of its nodes in the first replication


@final
class _Replication:
    """The nodes of one replication that live in one host: an observer that also sees how late everything is."""

    def __init__(
        self, task: Task, given: Assignment, r: int, agenda: Agenda, found: Statistics, put: Callable[[Parcel], None]
    ) -> None:
        self._task, self._given, self._found, self._rows = task, given, found, list[Logged]()
        self._group: list[int] = task.plan.group.tolist()
        plan, own, since, run = task.plan, given.own, given.since, seed_words(task.seed, r)
        keep = (lambda rows: self._rows.append((r, rows))) if given.logged else None
        self.watcher = Watcher(task, run, own, since, given.unknown[r], by_due=True, keep=keep)
        self.updated, self.pulled = self.watcher.updated, self.watcher.pulled
        self.offered, self.holds = self.watcher.offered, self.watcher.holds
        processes = np.flatnonzero(np.isin(plan.processes.node, own))
        # An instant at time zero itself is the last of the past, and yet to come.
        instants = Instants(plan, run, processes, 0.0)
        hazards = Hazards(plan, run, since, given.horizon) if plan.strict else None
        coming = {q: given.coming(instants, q) for q in processes.tolist()}
        self.runner = Runner(plan, run, own, coming.__getitem__, agenda, self, hazards, put, r)
        self.cut(given.horizon)
        self.runner.resume(given.presents[r])
        self.runner.expect(since, given.horizon)
        held = {i: node.copies for i, node in self.runner.nodes.items() if isinstance(node, Replica)}
        for i, copies in held.items():
            down = hazards is not None and hazards.outages.down(i, since)
            self.watcher.holds(since, i, {} if down else copies)
        self.watcher.open(held, since)
        self.runner.start(since)

    def woke(self, now: float, planned: float, node: int, process: int) -> None:
        self._found.slip.add(now - planned)
        self.watcher.woke(now, planned, node, process)

    def replied(self, now: float, parcel: Parcel, copies: Copies) -> None:
        if parcel.pulled >= 0:  # what time zero finds under way does not count
            group = self._group[parcel.to]
            self._found.delays[group].add(now - parcel.sent)
            self._found.late[group].add(now - parcel.due)
        self.watcher.replied(now, parcel, copies)

    def answered(self, now: float, due: float, client: int, copies: Copies) -> None:
        if due >= self._given.since:
            self._found.responses.add(now - due)
        self.watcher.answered(now, due, client, copies)

    def cut(self, horizon: float) -> None:
        self.runner.horizon = self.watcher.horizon = horizon

    def tallied(self, until: float) -> Tallied:
        watcher, lasted = self.watcher, until - self._given.since
        sums, together = watcher.sums(until)
        lines = self.runner.hazards.lines if self.runner.hazards else None
        own = np.array(self._given.at) == self._given.me
        spent = load(self._task.plan, lines.totals(until), lasted, own) if lines else {}
        held = watcher.copies * lasted - sums.absent[:-1]
        return Tallied(tuple(watcher.counts), sums, held, watcher.downloads, self.runner.open, spent | together)

    def states(self, now: float) -> NodeStates:
        own = self._given.own
        lines = self.runner.hazards.lines if self.runner.hazards else None
        waiting = lines.waiting(own, now) if lines else np.zeros(own.size)
        return NodeStates(*self.watcher.states(now, own), waiting)

    def rows(self) -> list[Logged]:
        """What has happened since this was last asked for."""
        self.watcher.finish()
        rows, self._rows = self._rows, []
        return rows


@final
class Host:
    def __init__(
        self, task: Task, given: Assignment, clock: Callable[[], float], send: Callable[[int, bytes], None]
    ) -> None:
        self._given, self._clock, groups = given, clock, task.plan.groups
        self.mailbox, self._agenda = Mailbox(given.me, given.incarnation, send), Agenda()
        self._found = Statistics([Spread() for _ in groups], [Spread() for _ in groups])
        self._horizon, self._now = given.horizon, given.since
        paths = range(len(given.presents))
        self._paths = [_Replication(task, given, r, self._agenda, self._found, self._put) for r in paths]

    def _put(self, parcel: Parcel) -> None:
        self.mailbox.put(self._given.at[parcel.to], parcel)

    def step(self) -> float:
        """Some of what is due, at best all; send what may be sent; say when something is due next."""
        for parcel in self.mailbox.take():
            self._now = self._clock()
            if parcel.due > self._now:
                rank = PULL if type(parcel.message) is Pull else REPLY
                self._agenda.add(parcel.due, rank, parcel.replication, 0, parcel.to, parcel)
            else:
                self._paths[parcel.replication].runner.deliver(self._now, parcel)
        now, agenda = self._clock(), self._agenda
        for _ in range(BURST):
            if agenda.next_at > now:
                break
            event = agenda.pop()
            self._paths[event[2]].runner.happen(now, event)
            now = self._clock()
        self._now = now
        self.mailbox.flush(self._now)
        return min(self._agenda.next_at, self.mailbox.next_at())

    @property
    def caught_up(self) -> bool:
        """Whether all has happened that was due so far."""
        return self._agenda.next_at > self._now

    @property
    def idle(self) -> bool:
        """Whether all its wakes are over."""
        return not self._agenda.wakes

    @property
    def done(self) -> bool:
        """Whether, besides, no query is open."""
        return self.idle and not any(path.runner.open for path in self._paths)

    def meet(self, host: int, incarnation: int) -> None:
        """Another host has begun anew; what its predecessor has said is forgotten, even on its way."""
        self.mailbox.meet(host, incarnation)
        self._agenda.forget({i for i, at in enumerate(self._given.at) if at == host})

    def cut(self, horizon: float) -> None:
        """End earlier than planned."""
        self._horizon = horizon
        self._agenda.cut(horizon)
        for path in self._paths:
            path.cut(horizon)

    def report(self, until: float | None = None) -> Report:
        """As of the horizon, or of the latest instant at which it had caught up."""
        until, box, found = self._horizon if until is None else until, self.mailbox, self._found
        found.said = sum(path.runner.said for path in self._paths)
        found.crossed, found.batches, found.taken, found.repeated = box.messages, box.batches, box.taken, box.repeated
        tallied = tuple(path.tallied(until) for path in self._paths)
        return Report(until, tallied, found, self._paths[0].states(until))

    def so_far(self) -> Report:
        """What it has seen up to now, to be asked for when it has caught up."""
        assert self.caught_up
        return self.report(min(max(self._now, self._given.since), self._horizon))

    def rows(self) -> list[Logged]:
        """What has happened since this was last asked for."""
        return [rows for path in self._paths for rows in path.rows()]

    def left(self) -> list[list[tuple[int, int, float]]]:
        """By replication, (row, node, when it left) of every copy, as of the horizon."""
        return [path.watcher.left() for path in self._paths]


def assignments(
    task: Task, at: tuple[int, ...], presents: list[tuple[Present, float]], logged: bool
) -> list[Assignment]:
    """What every host needs, of what the past has left behind in each replication."""

    def own(present: Present, me: int) -> Present:
        return Present(
            {i: kept for i, kept in present.memories.items() if at[i] == me},
            [parcel for parcel in present.under_way if at[parcel.to] == me],
            {pair: n for pair, n in present.said.items() if at[pair[0]] == me},
            {key: due for key, due in present.due.items() if at[key[0]] == me},
            present.lines,
        )

    unknown = tuple(unknown for _, unknown in presents)
    return [
        Assignment(me, at, tuple(own(present, me) for present, _ in presents), unknown, task.horizon, logged)
        for me in range(max(at) + 1)
    ]


def amounts(task: Task, found: Sequence[Tallied], horizon: float, degraded: bool) -> Shares:
    """What several hosts have tallied of one replication up to the horizon."""
    plan, sums = task.plan, reduce(Sums.plus, (of.sums for of in found))
    sums.absent = np.append(horizon * plan.copies - total([of.held for of in found]), 0.0)
    made = shares(plan, sums, horizon, task.rows, task.questions, degraded=degraded)
    for key in dict.fromkeys(key for of in found for key in of.own):
        amount, whole = total([of.own[key] for of in found if key in of.own])
        made[key] = float(amount), float(whole)
    return made | rates(plan, total([of.downloads for of in found]), horizon)


def total(things: Sequence[Any]) -> Any:
    """Of arrays or tuples, element by element."""
    return np.sum(things, axis=0)

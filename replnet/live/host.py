"""A host: some nodes of a network, in every replication of a run, and the order of their events.

It owns no thread and no clock. Its caller runs `receive` when a batch has come, and `step` after that and when the next
event is due; it gives the model time as a function, and carries the batches that the host sends. Nodes wake with the
planned instant, however late the host is, so lateness does not add up; they get messages at the instant at which these
come. A client's query counts from the instant at which it was due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain
from typing import Any, TypeAlias, final

import numpy as np

from replnet.engines import Columns, Hazards, Shares, Sums, Task, compute_shares, line_metrics, rates_of_downloads
from replnet.engines.nodes import (
    PULL,
    REPLY,
    Copies,
    EventQueue,
    Instants,
    NodeMeasure,
    NodeStates,
    Pull,
    Replica,
    Runner,
    RunnerState,
    TimedMessage,
)
from replnet.laws import Floats, Ints
from replnet.live.batches import Mailbox
from replnet.live.quantiles import Spread
from replnet.processes import seed_words

MOST_EVENTS_IN_A_ROW = 64  # before batches that have come get their turn

LogRows: TypeAlias = tuple[int, Columns]
"""The number of a replication, and rows of its log (engines/log.py)."""


@final
@dataclass(frozen=True)
class Assignment:
    """The part of one host in a run, besides the task that all share: its nodes, and their states at the start.

    `me` is the number of the host, and `at` has the host of every node. By replication, `presents` are the states of
    its nodes at the start, and `unknown` the departures that stand for copies from before the replayed past. It runs
    from the instant `since` to `horizon`, in model time; wakes before are left out. `logged` is whether to hand over a
    log of all events, and `incarnation` the number of the host's process, from 0.
    """

    me: int  # the number of the host
    at: tuple[int, ...]  # the host of every node
    presents: tuple[RunnerState, ...]  # states of its nodes at the start, by replication
    unknown: tuple[float, ...]  # by replication: the departure that stands for copies from before the replayed past
    horizon: float
    logged: bool = False  # whether to hand over a log of all events
    incarnation: int = 0
    since: float = 0.0  # the instant from which it runs; earlier wakes are left out

    def successor(self, incarnation: int, since: float, horizon: float) -> Assignment:
        """Return the assignment of the next incarnation: the same nodes without copies, and no message under way.

        It has the number `incarnation`, and runs from the instant `since` to `horizon`.
        """
        blank = tuple(RunnerState({}, [], {}, {}, None) for _ in self.presents)
        return replace(self, presents=blank, horizon=horizon, incarnation=incarnation, since=since)

    @property
    def own(self) -> Ints:
        """The numbers of the nodes of this host."""
        return np.flatnonzero(np.array(self.at) == self.me)

    def wakes_of(self, instants: Instants, process: int) -> tuple[Iterator[float], int]:
        """Return the instants of a process after `since`, and how many of these come before time zero.

        A first incarnation gets all of them. The number is negative if instants have passed since time zero: choices
        are numbered by wakes from then on, so that a late start goes on with the number of its first wake.
        """
        wakes, before = instants.of(process), instants.before(process)
        if self.incarnation == 0:
            return wakes, before
        for at in wakes:
            if at > self.since:
                return chain([at], wakes), before
            before -= 1
        raise AssertionError("processes have no end")


@final
@dataclass
class Statistics:
    """Delays, in model time, and numbers of messages in one host, over all replications.

    By the group of the asker, `delays` are those of replies and `late` how much later these came than by the network's
    own delays. `responses` are those to queries, from when they were due, and `slip` is by how much wakes came later
    than planned. `said` counts the messages of its nodes, `crossed` those to other hosts, `batches` those sent to other
    hosts, `taken` those that came, each once, and `repeated` those that had come before.
    """

    delays: list[Spread]  # of replies, by the group of the asker
    late: list[Spread]  # how much later replies came than by the delays of the network, by the group of the asker
    responses: Spread = field(default_factory=Spread)  # to queries, from when they were due
    slip: Spread = field(default_factory=Spread)  # by how much wakes came later than planned
    said: int = 0  # messages that its nodes sent, to any node
    crossed: int = 0  # messages to other hosts
    batches: int = 0  # sent to other hosts
    taken: int = 0  # batches that came, each once
    repeated: int = 0  # batches that had come before


@final
@dataclass(frozen=True)
class ReplicationTally:
    """The sums of one replication in one host, from which shares of time and answers are made.

    `counts` are its wakes, by purpose, and `sums` what its copies and answers add up to. `held` is the time with a
    copy, by cell, and `downloads` the number of downloads, by row of the source, of sources with rows of their own.
    `unanswered` counts queries that are still open. `own` has shares of its nodes alone, by (row of the table, metric):
    metrics of bandwidth, and freshness of any or all sources.
    """

    counts: tuple[int, ...]  # wakes, by purpose
    sums: Sums
    held: Floats  # time in which there was a copy, summed over the copies of a cell
    downloads: Floats  # by source, of those that have rows of their own
    unanswered: int  # queries that are still open
    own: Shares  # of its nodes alone: load of lines, and freshness of any or all sources


@final
@dataclass(frozen=True)
class Report:
    """The measurements of one incarnation of a host, from its start up to the instant `upto` of model time.

    `tallies` are by replication, and `states` those of its nodes in the first one.
    """

    upto: float
    tallies: tuple[ReplicationTally, ...]  # by replication
    statistics: Statistics
    states: NodeStates  # of its nodes in the first replication


@final
class _Replication:
    """The nodes of one replication in one host; an observer of their runner that also measures how late events are.

    `r` is the number of the replication. The host's `agenda` and `statistics` serve all its replications, and `put`
    sends a message.
    """

    def __init__(
        self,
        task: Task,
        assignment: Assignment,
        r: int,
        agenda: EventQueue,
        statistics: Statistics,
        put: Callable[[TimedMessage], None],
    ) -> None:
        self._task, self._assignment, self._statistics, self._rows = task, assignment, statistics, list[LogRows]()
        self._group: list[int] = task.plan.group.tolist()
        plan, nodes, since, run = task.plan, assignment.own, assignment.since, seed_words(task.seed, r)
        keep = (lambda rows: self._rows.append((r, rows))) if assignment.logged else None
        self.watcher = NodeMeasure(task, run, nodes, since, assignment.unknown[r], by_due=True, keep=keep)
        self.note_update, self.note_pull = self.watcher.note_update, self.watcher.note_pull
        self.note_offer, self.note_copies = self.watcher.note_offer, self.watcher.note_copies
        processes = np.flatnonzero(np.isin(plan.processes.node, nodes))
        # An instant at time zero itself belongs to the past as its last one, but has yet to happen.
        instants = Instants(plan, run, processes, 0.0)
        hazards = Hazards(plan, run, since, assignment.horizon) if plan.pulls_may_fail else None
        wakes = {q: assignment.wakes_of(instants, q) for q in processes.tolist()}
        self.runner = Runner(plan, run, nodes, wakes.__getitem__, agenda, self, hazards, put, r)
        self.cut(assignment.horizon)
        self.runner.resume(assignment.presents[r])
        self.runner.plan_turns(since, assignment.horizon)
        held = {i: node.copies for i, node in self.runner.nodes.items() if isinstance(node, Replica)}
        for i, copies in held.items():
            down = hazards is not None and hazards.outages.is_down(i, since)
            self.watcher.note_copies(since, i, {} if down else copies)
        self.watcher.open(held, since)
        self.runner.start(since)

    def note_wake(self, now: float, planned: float, node: int, process: int) -> None:
        """Count the wake of a process of a node at `now`, and by how much of model time it is later than `planned`."""
        self._statistics.slip.add(now - planned)
        self.watcher.note_wake(now, planned, node, process)

    def note_reply(self, now: float, parcel: TimedMessage, copies: Copies) -> None:
        """Count the arrival of a reply at `now`, with its delay and its lateness; log the copies that it brought.

        Replies to pulls from before time zero are not counted.
        """
        if parcel.pulled >= 0:  # replies to pulls from before time zero do not count
            group = self._group[parcel.to]
            self._statistics.delays[group].add(now - parcel.sent)
            self._statistics.late[group].add(now - parcel.due)
        self.watcher.note_reply(now, parcel, copies)

    def note_answer(self, now: float, due: float, client: int, copies: Copies) -> None:
        """Count the answer, with these copies, that a client got at `now` to a query that was due at `due`."""
        if due >= self._assignment.since:
            self._statistics.responses.add(now - due)
        self.watcher.note_answer(now, due, client, copies)

    def cut(self, horizon: float) -> None:
        """End the replication at this horizon, also if it is earlier than planned."""
        self.runner.horizon = self.watcher.horizon = horizon

    def tally(self, until: float) -> ReplicationTally:
        """Return the sums from the start of the host until this instant, including stretches that still go on."""
        watcher, lasted = self.watcher, until - self._assignment.since
        sums, any_and_all = watcher.sums(until)
        lines = self.runner.hazards.lines if self.runner.hazards else None
        is_own = np.array(self._assignment.at) == self._assignment.me
        spent = line_metrics(self._task.plan, lines.totals(until), lasted, is_own) if lines else {}
        held = watcher.copies * lasted - sums.absent[:-1]
        return ReplicationTally(
            tuple(watcher.counts), sums, held, watcher.downloads, self.runner.open_queries, spent | any_and_all
        )

    def states(self, now: float) -> NodeStates:
        """Return the numbers of copies, fresh copies and messages in line of the host's nodes at the present `now`."""
        nodes = self._assignment.own
        lines = self.runner.hazards.lines if self.runner.hazards else None
        waiting = lines.lengths(nodes, now) if lines else np.zeros(nodes.size)
        return NodeStates(*self.watcher.states(now, nodes), waiting)

    def rows(self) -> list[LogRows]:
        """Return the blocks of log rows since the last call, each with the number of the replication.

        Without a log there are none.
        """
        self.watcher.finish()
        rows, self._rows = self._rows, []
        return rows


@final
class Host:
    """The nodes of one host in all replications, and its `mailbox`."""

    def __init__(
        self, task: Task, assignment: Assignment, clock: Callable[[], float], send: Callable[[int, bytes], None]
    ) -> None:
        """Make the nodes that are assigned to this host, in the states that they have at the start.

        `clock` returns the model time, and `send(host, batch)` carries a batch to the host with this number.
        """
        self._assignment, self._clock, groups = assignment, clock, task.plan.groups
        self.mailbox, self._agenda = Mailbox(assignment.me, assignment.incarnation, send), EventQueue()
        self._statistics = Statistics([Spread() for _ in groups], [Spread() for _ in groups])
        self._horizon, self._now = assignment.horizon, assignment.since
        paths = range(len(assignment.presents))
        self._paths = [_Replication(task, assignment, r, self._agenda, self._statistics, self._put) for r in paths]

    def _put(self, parcel: TimedMessage) -> None:
        """Give a message to the mailbox, which sends it to the host of the node that it is for at the next `step`."""
        self.mailbox.put(self._assignment.at[parcel.to], parcel)

    def receive(self, batch: bytes) -> None:
        """Hand the messages of a batch that has come to their nodes, or keep those that are due later until then."""
        for parcel in self.mailbox.open(batch):
            self._now = self._clock()
            if parcel.due > self._now:
                rank = PULL if type(parcel.message) is Pull else REPLY
                self._agenda.add(parcel.due, rank, parcel.replication, 0, parcel.to, parcel)
            else:
                self._paths[parcel.replication].runner.deliver(self._now, parcel)

    def step(self) -> float:
        """Let all or MOST_EVENTS_IN_A_ROW events that are due happen, and send batches.

        Return the instant of the next event, or of the next batch if that may leave earlier; inf if there is neither.
        """
        now, agenda = self._clock(), self._agenda
        for _ in range(MOST_EVENTS_IN_A_ROW):
            if agenda.next_at > now:
                break
            event = agenda.pop()
            self._paths[event[2]].runner.handle(now, event)
            now = self._clock()
        self._now = now
        self.mailbox.flush(self._now)
        return min(self._agenda.next_at, self.mailbox.next_at())

    @property
    def caught_up(self) -> bool:
        """Whether all events that were due at the last `step` have happened; those due since do not count."""
        return self._agenda.next_at > self._now

    @property
    def idle(self) -> bool:
        """Whether no wake of any node is left before the horizon, in any replication."""
        return not self._agenda.wakes

    @property
    def done(self) -> bool:
        """Whether no wake is left before the horizon and no query is open, in any replication."""
        return self.idle and not any(path.runner.open_queries for path in self._paths)

    def meet(self, host: int, incarnation: int) -> None:
        """Send to this new incarnation of another host from now on.

        Messages that wait here to or from its predecessor are forgotten.
        """
        self.mailbox.meet(host, incarnation)
        self._agenda.forget({i for i, at in enumerate(self._assignment.at) if at == host})

    def cut(self, horizon: float) -> None:
        """End the run in all replications at this horizon, earlier than planned."""
        self._horizon = horizon
        self._agenda.cut(horizon)
        for path in self._paths:
            path.cut(horizon)

    def report(self, until: float | None = None) -> Report:
        """Return the measurements from the start of the host up to the instant `until`; None: up to the horizon.

        Stretches and lines that still go on are counted up to there, and go on. Its `statistics` are not a copy, and go
        on counting.
        """
        until, box, statistics = self._horizon if until is None else until, self.mailbox, self._statistics
        statistics.said = sum(path.runner.messages_sent for path in self._paths)
        statistics.crossed, statistics.batches, statistics.taken, statistics.repeated = (
            box.messages,
            box.batches,
            box.taken,
            box.repeated,
        )
        tallies = tuple(path.tally(until) for path in self._paths)
        return Report(until, tallies, statistics, self._paths[0].states(until))

    def so_far(self) -> Report:
        """Return the measurements up to now, but not beyond the horizon.

        All events that were due must have happened, or AssertionError is raised.
        """
        assert self.caught_up
        return self.report(min(max(self._now, self._assignment.since), self._horizon))

    def rows(self) -> list[LogRows]:
        """Return the blocks of log rows since the last call, each with the number of its replication."""
        return [rows for path in self._paths for rows in path.rows()]

    def copies_left(self) -> list[list[tuple[int, int, float]]]:
        """Return, for each replication, (row of the source, node, departure) of copies that nodes, not views, hold."""
        return [path.watcher.departures() for path in self._paths]


def assignments(
    task: Task, at: tuple[int, ...], presents: list[tuple[RunnerState, float]], logged: bool
) -> list[Assignment]:
    """Return the assignment of each host by number; `at` is the host of every node.

    `presents` has for each replication the state of all nodes at time zero, and the departure that stands for copies
    from before the replayed past. `logged` says whether hosts are to hand over a log.
    """

    def part_of(present: RunnerState, me: int) -> RunnerState:
        return RunnerState(
            {i: memory for i, memory in present.memories.items() if at[i] == me},
            [parcel for parcel in present.under_way if at[parcel.to] == me],
            {pair: n for pair, n in present.sent.items() if at[pair[0]] == me},
            {key: due for key, due in present.due.items() if at[key[0]] == me},
            present.lines,
        )

    unknown = tuple(unknown for _, unknown in presents)
    return [
        Assignment(me, at, tuple(part_of(present, me) for present, _ in presents), unknown, task.horizon, logged)
        for me in range(max(at) + 1)
    ]


def measured_shares(task: Task, tallies: Sequence[ReplicationTally], horizon: float, degraded: bool) -> Shares:
    """Return the shares and rates of one replication over [0, horizon), as (amount, whole).

    Keys are (row of the table, metric). `tallies` are those of all hosts and their earlier incarnations, and `degraded`
    says whether a host may have been lost.
    """
    plan, sums = task.plan, reduce(Sums.plus, (of.sums for of in tallies))
    sums.absent = np.append(horizon * plan.copies - add_elements([of.held for of in tallies]), 0.0)
    result = compute_shares(plan, sums, horizon, task.rows, task.questions, degraded=degraded)
    for key in dict.fromkeys(key for of in tallies for key in of.own):
        amount, whole = add_elements([of.own[key] for of in tallies if key in of.own])
        result[key] = float(amount), float(whole)
    return result | rates_of_downloads(plan, add_elements([of.downloads for of in tallies]), horizon)


def add_elements(things: Sequence[Any]) -> Any:
    """Return the sum of arrays, or of tuples of numbers, of equal shape, element by element, as an array."""
    return np.sum(things, axis=0)

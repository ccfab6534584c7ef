"""The nodes of one replication that live in one host: what they do when something happens, and what is seen of it.

A node is told the planned instant of its wakes, however late the host is, so
lateness does not add up; messages it is told when they come. A client's query
counts from when it was due.
"""

from __future__ import annotations

from typing import final

import numpy as np

from replnet.engines import record
from replnet.engines.hazards import Hazards
from replnet.engines.lines import load
from replnet.engines.outages import DOWN, UP
from replnet.engines.path import Shares
from replnet.engines.plan import Plan
from replnet.engines.wiring import Delays, Instants, Wiring, renewals
from replnet.laws.processes.streams import PURPOSES, Words, seed_words
from replnet.live.agenda import Agenda
from replnet.live.host_part import Part
from replnet.live.ledger import Ledger, Updates
from replnet.live.observations import EVENTS, Seen, Tallied
from replnet.live.outbox import Post
from replnet.live.wire import body
from replnet.network.messages import (
    Answer,
    Command,
    Copies,
    Mark,
    Message,
    NodeId,
    Pull,
    Reply,
    Send,
    Silence,
    Wake,
)
from replnet.network.nodes import Client, Node, Replica, Source, remember

BEFORE = -1.0  # when messages were sent that time zero finds under way: their delays do not count


@final
class Shard:
    def __init__(self, plan: Plan, part: Part, replication: int, agenda: Agenda, post: Post, seen: Seen) -> None:
        self._plan, self._part, self._replication = plan, part, replication
        self._agenda, self._post, self._seen = agenda, post, seen
        self.horizon, self.counts = part.horizon, [0] * 4
        self._due: dict[tuple[NodeId, int], float] = {}  # open queries
        run, present = seed_words(part.seed, replication), part.presents[replication]
        self._wiring = Wiring(plan, run)
        self._at = dict(zip(plan.names, part.at, strict=True))
        self._delays = Delays(plan, run, present.said)
        self.ledger = Ledger(plan, self._updates(run), part.horizon, part.sampled, part.since)
        self._hazards = self._forecast(run) if plan.strict else None
        self._wakes: dict[int, int] = {}  # the number of the next one, by process
        self._counts_for = self._counted() if seen.rows is not None else {}
        self._undecided = record.undecided(plan)
        self._nodes = self._made(run)
        for due, to, sender, said, mark in present.under_way:
            agenda.arrival(due, replication, to, sender, BEFORE, mark, said)

    def _forecast(self, run: Words) -> Hazards:
        """What is planned to go wrong from now on with its own nodes, and their lines as they are."""
        part, names = self._part, self._plan.names
        hazards = Hazards(self._plan, run, part.since, part.horizon)
        lines = part.presents[self._replication].lines
        if hazards.lines and lines:
            hazards.lines.resume(lines)
        for at, turn, i, empties in hazards.outages.turns:
            if part.at[i] == part.me and part.since <= at < part.horizon:
                self._agenda.turn(at, self._replication, names[i], turn, empties)
        return hazards

    def _updates(self, run: Words) -> list[Updates]:
        """Every host knows the updates of all sources: they are planned."""
        rows = range(len(self._plan.sources))
        instants = Instants(renewals(self._plan, run, rows), 0.0)
        ages = self._part.presents[self._replication].ages
        return [Updates(-float(ages[row]), instants.of(row)) for row in rows]

    def _counted(self) -> dict[NodeId, list[NodeId]]:
        """The sources for which a node counts."""
        sources = [self._plan.names[s] for s in self._plan.sources]
        return {
            name: [sources[row] for row in np.flatnonzero(self._plan.counted[:, i])]
            for i, name in enumerate(self._plan.names)
        }

    def _made(self, run: Words) -> dict[NodeId, Node]:
        part = self._part
        own = [q for q, p in enumerate(self._plan.processes) if part.at[p.node] == part.me]
        if not own:
            return {}
        row = {q: r for r, q in enumerate(own)}
        # An instant at time zero itself is the last of the past, and yet to come.
        instants = Instants(renewals(self._plan, run, own), 0.0)
        coming = {q: part.coming(instants, row[q]) for q in own}
        self._wakes = {q: -before for q, (_, before) in coming.items()}
        memories, nodes = part.presents[self._replication].memories, dict[NodeId, Node]()
        for name, host in self._at.items():
            if host == part.me:
                node = self._wiring.node(name, lambda q: coming[q][0], lambda q: coming[q][1])
                remember(node, memories.get(name, {}))
                if isinstance(node, Replica):
                    i = self._wiring.number[name]
                    down = self._hazards is not None and self._hazards.outages.down(i, part.since)
                    self.ledger.hold(i, {} if down else node.copies)
                nodes[name] = node
                self._log_start(name, node)
                self._do(name, part.since, node.start())
        return nodes

    def wake(self, now: float, planned: float, name: NodeId, purpose: str) -> None:
        node, q = self._nodes[name], self._wiring.process[name, PURPOSES[purpose]]
        self._seen.slip.add(now - planned)
        commands = node.on_wake(planned, purpose)
        number, self._wakes[q] = self._wakes[q], self._wakes[q] + 1
        if self._hazards and type(node) is Replica and self._hazards.outages.down(self._wiring.number[name], planned):
            self._do(name, now, [command for command in commands if type(command) is Wake])
            return
        self.counts[PURPOSES[purpose]] += 1
        if not any(type(command) is Send for command in commands):
            self._log(EVENTS[purpose], planned, name, source=name if purpose == "updates" else None)
        if type(node) is Client:
            # All pulls of a query carry its number.
            queries = {c.message.query for c in commands if type(c) is Send}
            self._due.update(((name, query), planned) for query in queries)
        self._do(name, now, commands, q, number, planned)

    def _do(
        self, name: NodeId, now: float, commands: list[Command], q: int = 0, wake: int = 0, planned: float = 0.0
    ) -> None:
        """`commands` of a node; pulls among them come from this wake of this process."""
        pull = wake * self._plan.processes[q].ask
        for command in commands:
            if type(command) is Send:
                goes, mute = self._goes(name, command.to, now, q, pull)
                self._log_pull(goes, q, planned, name, command.to)
                self._pull(name, command.to, now, command.message, goes, mute)
                pull += 1
            elif type(command) is Wake and command.at < self.horizon:
                process = self._wiring.process[name, PURPOSES[command.purpose]]
                self._agenda.wake(command.at, self._replication, process, name, command.purpose)

    def _goes(self, asker: NodeId, asked: NodeId, now: float, q: int, pull: int) -> tuple[bool, bool]:
        """Whether a pull gets on its way, and whether its reply gets lost."""
        if self._hazards is None:
            return True, False
        number = self._wiring.number
        return self._hazards.goes(q, pull, number[asker], number[asked], now)

    def _pull(self, asker: NodeId, asked: NodeId, now: float, said: Message, goes: bool, mute: bool) -> None:
        if goes:
            self._say(asker, asked, now, said, float(mute))
        else:
            assert isinstance(said, Pull)
            self._fail(asked, asker, now, said)

    def _fail(self, asked: NodeId, asker: NodeId, now: float, pull: Pull) -> None:
        """No reply will come, which clients come to know."""
        if self._plan.clients[self._wiring.number[asker]]:
            self._say(asked, asker, now, Silence(pull.query), now)

    def _say(self, sender: NodeId, to: NodeId, now: float, said: Message, mark: Mark, wait: float = 0.0) -> None:
        """`mark` as in messages.Mark; `wait`: how long it stands in line before it leaves."""
        self._seen.said += 1
        host, sent = self._at[to], now + wait
        due = sent + self._delays.of(sender, to)
        if host != self._part.me:
            number = self._wiring.number
            self._post.put(host, (self._replication, number[to], number[sender], sent, due, mark, body(said)))
        elif due > now:
            self._agenda.arrival(due, self._replication, to, sender, sent, mark, said)
        else:
            self.deliver(now, due, to, sender, said, sent, mark)

    def deliver(
        self, now: float, due: float, to: NodeId, sender: NodeId, said: Message, sent: float, mark: Mark
    ) -> None:
        if type(said) is Pull:
            self._serve(now, to, sender, said, bool(mark))
            return
        number = self._wiring.number[to]
        if self._hazards and self._hazards.outages.went_down(number, mark, now):
            return
        node = self._nodes[to]
        commands = node.on_message(now, sender, said)
        if type(said) is Reply:
            if sent >= 0:
                self._seen.delays[self._plan.group[number]].add(now - sent)
                self._seen.late[self._plan.group[number]].add(now - due)
            self._log_copies("reply", now, to, sender, said.copies)
            if isinstance(node, Replica):
                self.ledger.copies(number, now, node.copies)
        for command in commands:
            assert isinstance(command, Answer)
            assert isinstance(said, Reply | Silence)
            asked = self._due.pop((to, said.query), None)
            if asked is not None:  # else it was asked before time zero
                self._log_copies("answer", now, to, None, command.copies)
                self._seen.responses.add(now - asked)
                self.ledger.answer(number, asked, now, command.copies)

    def _serve(self, now: float, asked: NodeId, asker: NodeId, pull: Pull, mute: bool) -> None:
        """Reply to a pull, if nothing is in the way."""
        wait: float | None = 0.0
        if self._hazards:
            i, j = self._wiring.number[asker], self._wiring.number[asked]
            wait = self._hazards.wait(j, i, now)
        if wait is None:
            self._fail(asked, asker, now, pull)
            return
        for command in self._nodes[asked].on_message(now, asker, pull):
            assert isinstance(command, Send)
            if self._hazards is None or self._hazards.returns(j, i, now, mute):
                self._say(asked, asker, now, command.message, now, wait)
            else:
                self._fail(asked, asker, now, pull)

    def turn(self, now: float, name: NodeId, turn: int, empties: bool) -> None:
        """A node goes down, or comes back, as planned."""
        assert self._hazards is not None
        i, node = self._wiring.number[name], self._nodes[name]
        if lines := self._hazards.lines:
            (lines.down if turn == DOWN else lines.up)(i, now)
        if isinstance(node, Replica):
            if turn == DOWN and empties:
                node.lose()
            self.ledger.copies(i, now, node.copies if turn == UP else {})

    def _log(
        self,
        event: str,
        now: float,
        node: NodeId,
        peer: NodeId | None = None,
        left: float | None = None,
        source: NodeId | None = None,
    ) -> None:
        if self._seen.rows is not None:
            self._seen.rows.append((self._replication, now, event, node, peer, left, source))

    def _log_copies(self, event: str, now: float, node: NodeId, peer: NodeId | None, copies: Copies) -> None:
        """A row per source for which the node counts."""
        if self._seen.rows is not None:
            for source in self._counts_for[node]:
                self._log(event, now, node, peer, copies.get(source), source)

    def _log_start(self, name: NodeId, node: Node) -> None:
        """What it holds from now on; of a source, when it last changed."""
        if isinstance(node, Replica):
            self._log_copies("start", self._part.since, name, None, node.copies)
        elif isinstance(node, Source) and self._seen.rows is not None:
            row = self._plan.sources.index(self._wiring.number[name])
            self._log("start", self._part.since, name, None, self.ledger.last_update(row, self._part.since), name)

    def _log_pull(self, goes: bool, q: int, planned: float, asker: NodeId, asked: NodeId) -> None:
        if goes:
            purpose = self._plan.processes[q].purpose
            self._log(record.EVENTS[purpose], planned, asker, asked)
        elif not self._undecided[q]:
            self._log("failed", planned, asker)

    def cut(self, horizon: float) -> None:
        self.horizon = self.ledger.horizon = horizon

    @property
    def done(self) -> bool:
        """Whether no query is open."""
        return not self._due

    def tallied(self, until: float) -> Tallied:
        ledger = self.ledger
        fresh, present = ledger.totals(until)
        return Tallied(
            counts=tuple(self.counts),
            fresh=fresh,
            present=present,
            answers=ledger.answers.copy(),
            empty=ledger.empty.copy(),
            good=ledger.good.copy(),
            good_when_due=ledger.good_when_due.copy(),
            unanswered=len(self._due),
            load=self._load(until),
        )

    def _load(self, until: float) -> Shares:
        if self._hazards is None or self._hazards.lines is None:
            return {}
        part = self._part
        own = np.array([host == part.me for host in part.at])
        return load(self._plan, self._hazards.lines.totals(until), until - part.since, own)

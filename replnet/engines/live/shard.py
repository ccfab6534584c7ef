"""The nodes of one replication that live in one host: what they do when something happens, and what is seen of it.

A node is told the planned instant of its wakes, however late the host is, so
lateness does not add up; messages it is told when they come. A client's query
counts from when it was due.
"""

from __future__ import annotations

from typing import final

import numpy as np

from replnet.engines.live.agenda import Agenda
from replnet.engines.live.ledger import Ledger, Updates
from replnet.engines.live.parts import Part
from replnet.engines.live.post import Post
from replnet.engines.live.seen import EVENTS, Seen, Tallied, first_left
from replnet.engines.live.wire import body
from replnet.engines.plan import Plan
from replnet.engines.wiring import Delays, Instants, Wiring, renewals
from replnet.laws.streams import PURPOSES, Words, seed_words
from replnet.network.messages import Answer, Command, Copies, Message, NodeId, Pull, Reply, Send, Wake
from replnet.network.nodes import Client, Node, Replica, remember

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
        self._heard_of = self._reachable() if seen.rows is not None else {}
        self._nodes = self._made(run)
        for due, to, sender, said in present.under_way:
            agenda.arrival(due, replication, to, sender, BEFORE, said)

    def _updates(self, run: Words) -> list[Updates]:
        """Every host knows the updates of all sources: they are planned."""
        rows = range(len(self._plan.sources))
        instants = Instants(renewals(self._plan, run, rows), 0.0)
        ages = self._part.presents[self._replication].ages
        return [Updates(-float(ages[row]), instants.of(row)) for row in rows]

    def _reachable(self) -> dict[NodeId, list[NodeId]]:
        """The sources that a node can hear of."""
        sources = [self._plan.names[s] for s in self._plan.sources]
        return {
            name: [sources[row] for row in np.flatnonzero(self._plan.reached[:, i])]
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
        memories, nodes = part.presents[self._replication].memories, dict[NodeId, Node]()
        for name, host in self._at.items():
            if host == part.me:
                node = self._wiring.node(name, lambda q: coming[q][0], lambda q: coming[q][1])
                remember(node, memories.get(name, {}))
                if isinstance(node, Replica):
                    self.ledger.hold(self._wiring.number[name], node.copies)
                nodes[name] = node
                self._do(name, part.since, node.start())
        return nodes

    def wake(self, now: float, planned: float, name: NodeId, purpose: str) -> None:
        node = self._nodes[name]
        self.counts[PURPOSES[purpose]] += 1
        self._seen.slip.add(now - planned)
        commands = node.on_wake(planned, purpose)
        if self._seen.rows is not None:
            asked: list[NodeId | None] = [command.to for command in commands if type(command) is Send]
            self._seen.rows += [
                (self._replication, planned, EVENTS[purpose], name, peer, None) for peer in asked or [None]
            ]
        if type(node) is Client:
            # All pulls of a query carry its number.
            queries = {c.message.query for c in commands if type(c) is Send}
            self._due.update(((name, query), planned) for query in queries)
        self._do(name, now, commands)

    def _do(self, name: NodeId, now: float, commands: list[Command]) -> None:
        for command in commands:
            if type(command) is Send:
                self._say(name, command.to, now, command.message)
            elif type(command) is Wake and command.at < self.horizon:
                process = self._wiring.process[name, PURPOSES[command.purpose]]
                self._agenda.wake(command.at, self._replication, process, name, command.purpose)

    def _say(self, sender: NodeId, to: NodeId, now: float, said: Message) -> None:
        self._seen.said += 1
        host, delay = self._at[to], self._delays.of(sender, to)
        if host != self._part.me:
            number = self._wiring.number
            self._post.put(host, (self._replication, number[to], number[sender], now, now + delay, body(said)))
        elif delay:
            self._agenda.arrival(now + delay, self._replication, to, sender, now, said)
        else:
            self.deliver(now, to, sender, said, now)

    def deliver(self, now: float, to: NodeId, sender: NodeId, said: Message, sent: float) -> None:
        node = self._nodes[to]
        commands = node.on_message(now, sender, said)
        if type(said) is Pull:
            self._do(to, now, commands)
            return
        assert isinstance(said, Reply)
        number = self._wiring.number[to]
        if sent >= 0:
            self._seen.delays[self._plan.group[number]].add(now - sent)
        self._log("reply", now, to, sender, said.copies)
        if isinstance(node, Replica):
            self.ledger.copies(number, now, node.copies)
        for command in commands:
            assert isinstance(command, Answer)
            due = self._due.pop((to, said.query), None)
            if due is not None:  # else it was asked before time zero
                self._log("answer", now, to, None, command.copies)
                self._seen.responses.add(now - due)
                self.ledger.answer(number, due, now, command.copies)

    def _log(self, event: str, now: float, node: NodeId, peer: NodeId | None, copies: Copies) -> None:
        if self._seen.rows is not None:
            left = first_left(self._heard_of[node], copies)
            self._seen.rows.append((self._replication, now, event, node, peer, left))

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
        )

"""The nodes of a plan with their instants and choices, whoever runs them and on whatever clock.

All chance comes from named streams, so any part of a network can be wired
anywhere: its nodes get the instants and the choices that they have in the whole.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import final

import numpy as np

from replnet.engines.plan import DOWNLOADS, POLLS, Plan, Process
from replnet.laws.law import Law
from replnet.laws.processes.renewal import Renewals
from replnet.laws.processes.streams import CHOICES, PURPOSES, Words, distinct, exponentials, name_words, streams
from replnet.network.messages import NodeId, Pull
from replnet.network.nodes import Client, Habit, Node, Replica, Source


def renewals(plan: Plan, run: Words, processes: Iterable[int]) -> Renewals:
    """These processes of the plan, in this order."""
    rows = np.fromiter(processes, np.int64)
    used, which = np.unique(plan.which[rows], return_inverse=True)
    laws = [plan.laws[g] for g in used]
    return Renewals(laws, which, run, plan.stream_names[rows], plan.purpose[rows], events=256)


@final
class Instants:
    """The instants of every process, past ones first, handed out one by one."""

    def __init__(self, renewals: Renewals, depth: float) -> None:
        self._renewals = renewals
        past = renewals.past(depth)
        self._coming = [deque(past.of(p)) for p in range(renewals.age.size)]
        self.before = [len(coming) for coming in self._coming]
        self._next = renewals.next_instants()

    def of(self, process: int) -> Iterator[float]:
        coming = self._coming[process]
        while True:
            if not coming:
                # It may lie far off: the others' instants up to it are made once it is over, if ever.
                yield float(self._next[process])
                while not coming:
                    self._more()
                coming.popleft()
            else:
                yield float(coming.popleft())

    def _more(self) -> None:
        window = self._renewals.window()
        for p, waiting in enumerate(self._coming):
            waiting.extend(window.of(p))
        self._next = self._renewals.next_instants()


@final
class Wiring:
    """Makes the nodes of a plan; names, numbers and processes of them."""

    def __init__(self, plan: Plan, run: Words) -> None:
        self._plan = plan
        self._choices = streams(run, plan.stream_names, plan.purpose, CHOICES)
        self.number = {name: i for i, name in enumerate(plan.names)}
        self.process = {(plan.names[p.node], p.purpose): q for q, p in enumerate(plan.processes)}
        self._lists, self._places = _lists(plan), dict[int, dict[int, int]]()

    def node(self, name: NodeId, instants: Callable[[int], Iterator[float]], before: Callable[[int], int]) -> Node:
        """`instants` of a process, and how many of them come `before` time zero."""
        i = self.number[name]
        habits = {
            purpose: self._habit(q, instants(q), before(q))
            for purpose, code in PURPOSES.items()
            if (q := self.process.get((name, code))) is not None
        }
        match self._plan.roles[i]:
            case "source":
                return Source(name, habits["updates"].instants)
            case "client":
                return Client(habits["queries"])
        recent = "polls" in habits and self._plan.processes[self.process[name, POLLS]].recent
        return Replica(habits, recent)

    def _habit(self, q: int, instants: Iterator[float], before: int) -> Habit:
        process = self._plan.processes[q]
        return Habit(instants, self._chosen(q, process, before), self._pull(process))

    def _chosen(self, q: int, process: Process, before: int) -> Iterator[list[NodeId]]:
        names, others = self._plan.names, process.candidates
        # Its own place is skipped, not cut out: members of a pool share one list, which may be long.
        own = self._place(process)
        n = len(others) - (own < len(others))
        key, gamma = int(self._choices.key[q]), int(self._choices.gamma[q])
        for wake in count(-before):
            yield [names[others[c + (c >= own)]] for c in distinct(key, gamma, wake, process.ask, n)]

    def _place(self, process: Process) -> int:
        """Where a node is among its own candidates, or past their end."""
        candidates = process.candidates
        if id(candidates) not in self._places:
            self._places[id(candidates)] = {node: place for place, node in enumerate(candidates)}
        return self._places[id(candidates)].get(process.node, len(candidates))

    def _pull(self, process: Process) -> Pull:
        """A download by a member of a pool that polls its recent contacts asks for their list as well."""
        if process.purpose != DOWNLOADS or process.node not in self._lists:
            return Pull()
        mine = self.process.get((self._plan.names[process.node], POLLS))
        return Pull(0, self._lists[process.node], self._plan.processes[mine].ask if mine is not None else 0)


def _lists(plan: Plan) -> dict[int, str]:
    """For whom upstreams keep a list of recent contacts, and the name of that list."""
    lists, seen = dict[int, str](), set[int]()
    for poller in plan.processes:
        # Members of a pool share one list of candidates.
        if poller.recent and id(poller.candidates) not in seen:
            seen.add(id(poller.candidates))
            for member in poller.candidates:
                lists.setdefault(member, plan.names[poller.node])
    return lists


@final
class Delays:
    """How long messages take on their way, one after another between the same two nodes."""

    def __init__(self, plan: Plan, run: Words, said: dict[tuple[NodeId, NodeId], int] | None = None) -> None:
        self._plan, self._run = plan, run
        self._number = {name: i for i, name in enumerate(plan.names)}
        self._one = plan.constant_delay
        self.said = dict(said or {})

    def of(self, sender: NodeId, to: NodeId) -> float:
        if self._one is not None:
            return self._one
        a, b = self._number[sender], self._number[to]
        delay = self._plan.delays.get((a, b), self._plan.delays.get((b, a), self._plan.delay))
        if not isinstance(delay, Law):
            return delay
        said = self.said[sender, to] = self.said.get((sender, to), -1) + 1
        purpose = np.full(1, PURPOSES["delays"])
        stream = streams(self._run, name_words([f"{sender} > {to}"]), purpose, CHOICES)
        return float(delay.draw(exponentials(stream, said))[0])

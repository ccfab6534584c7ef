"""What limited bandwidth means for a network: service rates, lines, and messages that are turned away.

A replica can serve what its bandwidth leaves it after its own pulls and, with
`charge: both`, its answers to replicas; a query takes k of that, where it asks k
replicas (P2P eq. 30, 34). Lines are those of theory.load.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from replnet.engines.plan import QUERIES, UPDATES, Ints, Plan
from replnet.experiment.formula import Formula, mean, unknown
from replnet.laws.families import Exponential
from replnet.laws.scratch import Floats
from replnet.theory.load import COUNTING, Line
from replnet.theory.prediction import Prediction


@final
class Capacity:
    """Formulas for a plan with limits, group by group."""

    def __init__(self, plan: Plan) -> None:
        assert plan.bandwidth is not None
        self._plan, self._limit, n = plan, plan.bandwidth, len(plan.names)
        self._own, self._squares = np.zeros(n), np.zeros(n)  # pulls per unit of time; squares of how many go at once
        self._by_replicas, self._by_clients = np.zeros(n), np.zeros(n)  # that ask a node
        self._exponential = np.ones(n, np.bool_)  # whether its pulls, and those that reach it, are Poisson
        self._asked = self._count()
        answers = self._by_replicas * np.array([plan.both or role == "source" for role in plan.roles])
        self._answers, self._exchange = answers, self._own + answers
        self._lines: dict[tuple[float, float, float, float], Line] = {}

    def _count(self) -> dict[int, Ints]:
        """Add up who asks whom; returns the nodes that every client may ask."""
        lists = {id(p.candidates): np.array(p.candidates, np.int64) for p in self._plan.processes}
        shares: dict[tuple[int, bool], float] = {}
        plain: dict[int, bool] = {}
        for p in self._plan.processes:
            if p.purpose == UPDATES:
                continue
            key, by_client = id(p.candidates), p.purpose == QUERIES
            shares[key, by_client] = shares.get((key, by_client), 0.0) + p.law.rate * p.ask / len(p.candidates)
            plain[key] = plain.get(key, True) and isinstance(p.law, Exponential)
            self._own[p.node] += p.law.rate * p.ask
            self._squares[p.node] += p.law.rate * p.ask**2
            self._exponential[p.node] &= isinstance(p.law, Exponential)
        for (key, by_client), share in shares.items():
            (self._by_clients if by_client else self._by_replicas)[lists[key]] += share
            self._exponential[lists[key]] &= plain[key]
        return {p.node: lists[id(p.candidates)] for p in self._plan.processes if p.purpose == QUERIES}

    @property
    def crowded(self) -> str:
        """Whose exchange with others does not all take place, or nothing."""
        over = np.flatnonzero(self._exchange > self._limit * (1 + 1e-12)).tolist()
        if not over:
            return ""
        node = over[0]
        asked = self._exchange[node] + self._by_clients[node]
        others = f", and {len(over) - 1} more like it" if len(over) > 1 else ""
        return (
            f"{self._plan.names[node]} is asked for {asked:g} messages, its bandwidth is {self._limit[node]:g}{others}"
        )

    @property
    def turned_away(self) -> float:
        """About the largest share of an exchange that chance alone turns away; 0 where lines do not overflow."""
        lines = dict.fromkeys(self._of(range(len(self._limit)), self._answers))
        largest = (max(n for rate, n in line.batches if rate) for line in lines if line.overflows(self._plan.queue))
        # Of M/D/1/K at a load of 1 it is about 1 / (2 K).
        return max(largest, default=0.0) / self._plan.queue

    def formulas(self) -> dict[tuple[str, str], Formula]:
        """By (group, metric)."""
        found: dict[tuple[str, str], Formula] = {}
        asks = {p.ask for p in self._plan.processes if p.purpose == QUERIES}
        for g, group in enumerate(self._plan.groups):
            members = np.flatnonzero(self._plan.group == g)
            if self._plan.clients[members].any():
                asked = np.concatenate([self._asked[i] for i in members.tolist()])
                found[group, "queueing_delay"] = self._wait(asked)
                found[group, "rejected"] = self._turned_away(np.unique(asked))
            elif np.isfinite(self._limit[members]).all():
                if len(asks) <= 1:
                    found[group, "service_rate"] = self._service(members, next(iter(asks), 1))
                found[group, "rejected"] = self._rejected(members)
        for source in self._plan.sources:
            if np.isfinite(self._limit[source]):
                found[self._plan.names[source], "rejected"] = self._rejected(np.array([source]))
        return found

    def _service(self, members: Ints, k: int) -> Formula:
        left = np.maximum(self._limit[members] - self._exchange[members], 0.0)
        source = "P2P eq. 34" if k > 1 else "P2P eq. 30"
        return Formula(float(left.sum()) / k, "exact", source, "a message costs 1", note=self._sources())

    def _sources(self) -> str:
        """P2P eq. 30: what is downloaded from a source may not exceed its bandwidth."""
        for source in self._plan.sources:
            asked, limit = self._by_replicas[source], self._limit[source]
            if asked > limit * (1 + 1e-12):
                name = self._plan.names[source]
                return f"{name} is asked {asked:g} times per unit of time, above its bandwidth of {limit:g}"
        return ""

    def _rejected(self, nodes: Ints) -> Formula:
        """What is turned away at these nodes of all that is asked of them."""
        lines = self._of(nodes, self._answers)
        if len(lines) == 1 and len(nodes) == 1 and lines[0].load > 1:
            return Formula.of(lines[0].rejected)
        if any(line.overflows(self._plan.queue) for line in lines):
            return unknown("lines that overflow now and then")
        return Formula.of(Prediction.of(0.0, COUNTING))

    def _turned_away(self, nodes: Ints) -> Formula:
        """What these nodes turn away of their clients' pulls."""
        lines = dict.fromkeys(self._of(nodes, self._answers + self._by_clients))
        if len(lines) == 1 and next(iter(lines)).load > 1:
            left = max(float(self._limit[nodes[0]] - self._exchange[nodes[0]]), 0.0)
            return Formula.of(Prediction.of(1 - left / float(self._by_clients[nodes[0]]), COUNTING))
        if any(line.overflows(self._plan.queue) for line in lines):
            return unknown("lines that overflow now and then")
        return Formula.of(Prediction.of(0.0, COUNTING))

    def _wait(self, nodes: Ints) -> Formula:
        """Of answers that these nodes give, each as many as the others."""
        lines = self._of(nodes, self._answers + self._by_clients)
        if not self._exponential[nodes].all():
            return unknown("lines whose messages do not come at exponential intervals")
        if any(line.overflows(self._plan.queue) for line in lines):
            return unknown("lines that overflow now and then")
        waits: dict[Prediction, int] = {}
        for line in lines:
            waits[line.wait] = waits.get(line.wait, 0) + 1
        return mean(waits)

    def _of(self, nodes: Iterable[int], singles: Floats) -> list[Line]:
        """A line per node with a limit, of its own pulls and of these answers; like nodes share one."""
        found = []
        for i in nodes:
            if np.isfinite(self._limit[i]):
                key = float(self._limit[i]), float(self._own[i]), float(self._squares[i]), float(singles[i])
                found.append(self._lines.setdefault(key, self._line(*key)))
        return found

    def _line(self, limit: float, own: float, squares: float, singles: float) -> Line:
        # Pulls of one kind and size n would be own / n batches; of several kinds, their mean size by messages.
        batches = [(singles, 1.0)]
        if own:
            batches.append((own**2 / squares, squares / own))
        return Line(limit, tuple(batches))

"""How long copies were fresh and how good answers were, from what the nodes of one host saw.

The instants of updates are planned, so every host knows them without being
told. With S the instant at which a copy left its source and u(S) the first
update after S, the time from a to b in which a node held that copy counts

    sampled        as far as it is before u(S)                                (1)
    conditional    F(b - S) - F(a - S), F the integrated tail of the update age  (2)

and an answer that comes at t is good if t < u(S), or with the probability that
no update came in t - S.

While a replica has no copy of a source that it can hear of, because it began
anew, there is nothing that could be fresh: that time is absent, and does not count.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.engines.plan import Plan
from replnet.network.messages import Copies, NodeId

Floats = npt.NDArray[np.float64]


@final
class Updates:
    """The planned updates of one source, looked up as far as anyone asks."""

    def __init__(self, last: float, coming: Iterator[float]) -> None:
        """`last` is the latest one before time zero."""
        self._known, self._coming = [last], coming

    def after(self, left: float) -> float:
        """u(S); before time zero only `last` is known."""
        known = self._known
        while known[-1] <= left:
            known.append(next(self._coming))
        return known[bisect_right(known, left)]

    def upto(self, now: float) -> float:
        """The latest one that is not after `now`."""
        self.after(now)
        return self._known[bisect_right(self._known, now) - 1]


@final
class Ledger:
    """Totals per group over [since, horizon) of some nodes of a plan."""

    def __init__(self, plan: Plan, updates: list[Updates], horizon: float, sampled: bool, since: float) -> None:
        self.horizon = horizon
        self._plan, self._updates, self._sampled, self._since = plan, updates, sampled, since
        self._sources = [plan.names[s] for s in plan.sources]
        self._laws = [plan.processes[row].law.age for row in range(len(plan.sources))]
        self._held: dict[int, list[tuple[int, NodeId, float, float]]] = {}  # node: (row, source, S, since)
        self._group: list[int] = plan.group.tolist()
        n = len(plan.groups)
        self._fresh, self._absent, self._copies = [0.0] * n, [0.0] * n, np.zeros(n, np.int64)
        self.answers, self.empty = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.good, self.good_when_due = np.zeros(n), np.zeros(n)

    def last_update(self, row: int, now: float) -> float:
        """Of the source in this row."""
        return self._updates[row].upto(now)

    def hold(self, node: int, copies: Copies) -> None:
        """What a replica holds to begin with."""
        rows = np.flatnonzero(self._plan.reached[:, node]).tolist()
        self._held[node] = [(row, s := self._sources[row], copies.get(s, -math.inf), self._since) for row in rows]
        self._copies[self._group[node]] += int(self._plan.counted[:, node].sum())

    def copies(self, node: int, now: float, copies: Copies) -> None:
        """What it holds from now on; what comes after the horizon counts no more."""
        if now >= self.horizon:
            return
        held = self._held[node]
        for at, (row, source, left, since) in enumerate(held):
            new = copies.get(source, -math.inf)
            if new != left:
                group = self._group[node]
                if left == -math.inf:
                    self._absent[group] += now - since
                else:
                    self._fresh[group] += self._counts(row, left, since, now)
                held[at] = (row, source, new, now)

    def _counts(self, row: int, left: float, begin: float, end: float) -> float:
        """(1) or (2)."""
        if self._sampled:
            return max(min(end, self._updates[row].after(left)) - begin, 0.0)
        law = self._laws[row]
        return float(law.integrated_tail(end - left) - law.integrated_tail(begin - left))

    def answer(self, client: int, due: float, now: float, copies: Copies) -> None:
        """To a query that was due in [since, horizon), whenever it comes."""
        group = self._group[client]
        for row, source in enumerate(self._sources):
            if self._plan.counted[row, client]:
                self.answers[group] += 1
                if source in copies:
                    self.good[group] += self._is_good(row, copies[source], now)
                    self.good_when_due[group] += self._is_good(row, copies[source], due)
                elif self._plan.reached[row, client]:
                    self.empty[group] += 1

    def _is_good(self, row: int, left: float, at: float) -> float:
        if self._sampled:
            return float(at < self._updates[row].after(left))
        return float(self._laws[row].tail(max(at - left, 0.0)))

    def totals(self, until: float) -> tuple[Floats, Floats]:
        """Copy-time up to `until` that was fresh, and in which there was a copy."""
        fresh, absent = list(self._fresh), list(self._absent)
        for node, held in self._held.items():
            group = self._group[node]
            for row, _, left, since in held:
                if left == -math.inf:
                    absent[group] += until - since
                else:
                    fresh[group] += self._counts(row, left, since, until)
        return np.array(fresh), self._copies * (until - self._since) - np.array(absent)

    def left(self) -> Iterable[tuple[int, int, float]]:
        """(row, node, S) of every copy, as of the horizon."""
        return [(row, node, left) for node, held in self._held.items() for row, _, left, _ in held]

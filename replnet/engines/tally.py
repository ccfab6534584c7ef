"""How long copies were fresh, from what the nodes of `step` and `live` report as it happens.

Two ways of counting the same time, per copy and source, with S the instant at
which the copy left the source:

    sampled        from t on, until the first update after S                 (1)
    conditional    between two changes, F(t2 - S) - F(t1 - S), where F is the
                   integrated tail of the update age                         (2)

A node that is down, or has no copy of a source that it can hear of, counts
neither as fresh nor as stale: freshness is the share of the time in which there
is a copy.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from replnet.engines.path import Shares, answered, of_sources, there
from replnet.engines.plan import Plan
from replnet.network.messages import Copies

Floats = npt.NDArray[np.float64]

OLDEST = -np.finfo(float).max  # of a copy of which nothing is known, but that there is one


class Tally:
    """Totals per source and group over [0, horizon)."""

    def __init__(self, plan: Plan, depth: float, horizon: float, sampled: bool, ages: Floats) -> None:
        self._plan, self._depth, self._horizon, self._sampled = plan, depth, horizon, sampled
        self._row = {plan.names[s]: row for row, s in enumerate(plan.sources)}
        self._laws = [plan.processes[row].law.age for row in range(len(plan.sources))]
        self._left = np.where(plan.reached, OLDEST if sampled else -depth, -np.inf)
        self._since = np.full_like(self._left, -depth)
        self._updated = -ages[: len(plan.sources)]
        shape = len(plan.sources), len(plan.groups)
        self._fresh, self._absent, self._good = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        self._ended, self._answers = np.zeros(shape, np.int64), np.zeros(shape, np.int64)

    def update(self, source: int, now: float) -> None:
        row = self._row[self._plan.names[source]]
        if self._sampled:
            for node in np.flatnonzero(self._left[row] >= self._updated[row]):
                self._close(row, int(node), now)
        self._updated[row] = now

    def copies(self, node: int, now: float, copies: Copies) -> None:
        for source, row in self._row.items():
            left = copies.get(source, -np.inf)
            if self._plan.reached[row, node] and left != self._left[row, node]:
                self._close(row, node, now)
                self._left[row, node] = left

    def leave(self, node: int, now: float) -> None:
        """It goes down."""
        self.copies(node, now, {})

    def _close(self, row: int, node: int, now: float) -> None:
        """Account for the time since the last change of this copy."""
        begin, end, left = max(self._since[row, node], 0.0), max(now, 0.0), self._left[row, node]
        self._since[row, node] = now
        group = self._plan.group[node]
        if self._plan.reached[row, node] and left == -np.inf:
            self._absent[row, group] += end - begin
        elif not self._sampled:
            if self._plan.reached[row, node]:
                law = self._laws[row]
                self._fresh[row, group] += law.integrated_tail(end - left) - law.integrated_tail(begin - left)
        elif left >= self._updated[row]:
            self._fresh[row, group] += end - begin

    def answer(self, client: int, now: float, copies: Copies) -> None:
        if now < 0:
            return
        group = self._plan.group[client]
        for source, row in self._row.items():
            if not self._plan.counted[row, client]:
                continue
            self._ended[row, group] += 1
            if self._plan.strict and source not in copies:
                continue
            self._answers[row, group] += 1
            if source in copies:
                left, law = copies[source], self._laws[row]
                self._good[row, group] += left >= self._updated[row] if self._sampled else law.tail(now - left)

    def totals(self) -> tuple[Floats, npt.NDArray[np.int64], Floats, Shares, Shares]:
        """Freshness of copies, answers and good answers, per group; what else there is; and all that by source."""
        for row in range(len(self._row)):
            for node in np.flatnonzero(self._plan.group >= 0):
                if not self._plan.clients[node]:
                    self._close(row, int(node), self._horizon)
        plan, answers = self._plan, self._answers.sum(axis=0)
        fresh, shares = there(plan, self._fresh.sum(axis=0), self._absent.sum(axis=0), self._horizon)
        shares |= answered(plan, answers, self._ended.sum(axis=0))
        apart = of_sources(plan, self._fresh, self._absent, self._answers, self._good, self._horizon)
        return fresh, answers, self._good.sum(axis=0), shares, apart

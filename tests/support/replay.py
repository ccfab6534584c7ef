"""What a path amounts to, told from its log alone: one copy and one answer after another, from the definitions.

A log has what replicas hold at time zero, and all that happens from there on (engines/log.py). Read event by event it
gives spans, in which a copy stays as it is; what these cost the second simulator knows (independent_staleness.py).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from independent_staleness import Stretches, shares, without_copy

from replnet.engines.log import EVENTS, Columns
from replnet.engines.outages import DOWN, Outages
from replnet.engines.path import Shares, Task
from replnet.engines.wakes import process_set
from replnet.network.topology import REPLICA
from replnet.processes.streams import seed_words

Sums = dict[tuple[int, int, str], float]  # by group, row of the source and what is added up
ORDER = ("start", "up", "down", "update")  # at one instant; all else comes after these


NAMES = (
    "staleness", "older(0.7)", "staleness_age", "change_age", "information_age", "missing_updates", "lag",
    "currency(0.4)", "source_penalty(1/(1+x))", "source_penalty(threshold(0.3))", "update_penalty(x)",
    "update_penalty(log(1+x))",
)  # fmt: skip


class Span(NamedTuple):
    """A copy for as long as somebody, a node or a choice of a view, has it as it is; an answer ends as it begins."""

    group: int
    row: int  # of the source
    who: int
    begin: float
    end: float
    left: float  # NaN: there is none; -inf: nobody knows, or it never came


class Replay:
    """One replication; copies of unknown age are from before -`depth`."""

    def __init__(self, of: Task, log: list[Columns], depth: float, replication: int = 0) -> None:
        plan = self._plan = of.plan
        self._of, self._depth, self._run = of, depth, seed_words(of.seed, replication)
        groups = [plan.groups.index(view.group) for view, _, count in plan.views for _ in range(count)]
        self._group = [*plan.group.tolist(), *groups]
        self._views = [(plan.size + at, set(nodes.tolist())) for at, nodes in enumerate(plan.choices(self._run))]
        self._held: dict[tuple[int, int], float] = {}  # by node and row
        self._down: set[int] = set()
        self._had: dict[tuple[int, int], tuple[float, float]] = {}  # by who and row, since when and what
        self._copies, self._answers = list[Span](), list[Span]()
        self._updates: list[list[float]] = [[] for _ in plan.sources]
        for event in self._events(log):
            self._happen(*event)
        for (who, row), (since, left) in self._had.items():
            self._end(who, row, since, of.horizon, left)
        known = [span.left for span in (*self._copies, *self._answers) if math.isfinite(span.left)]
        past = process_set(plan, plan.update_clocks, self._run).past(1.0 - min(known, default=0.0))
        self._updates = [[*past.of(row).tolist(), *later] for row, later in enumerate(self._updates)]

    def _events(self, log: list[Columns]) -> list[tuple[float, str, int, int, float]]:
        """At, what, node, row and when the copy left; of who goes down, the row says whether copies are lost."""
        columns = [np.concatenate(column).tolist() for column in zip(*log, strict=True)]
        row = {int(source): row for row, source in enumerate(self._plan.sources)} | {-1: -1}
        found = [
            (at, EVENTS[what], i, row[source], left) for at, what, i, _, left, source in zip(*columns, strict=True)
        ]
        for at, turn, i, empties in Outages(self._plan, self._run, 0.0, self._of.horizon).turns:
            if at < self._of.horizon:
                found.append((max(at, 0.0), "down" if turn == DOWN else "up", i, int(empties), math.nan))
        return sorted(found, key=lambda event: (event[0], (*ORDER, event[1]).index(event[1])))

    def _happen(self, now: float, what: str, node: int, row: int, left: float) -> None:
        if what == "update":
            self._updates[row].append(now)
        elif what == "answer":
            self._answers.append(Span(self._group[node], row, node, now, now, left))
        elif self._plan.topology.role[node] != REPLICA or not self._plan.reachable_sources.of(node).size:
            return
        elif what in ("start", "reply"):
            before = self._held.get((node, row), math.nan)
            # What nobody knows may be as young as the start, and is kept for anything older.
            if math.isnan(before) or left > (before if before > -math.inf else -self._depth):
                self._held[node, row] = left
            self._see(now, node, row)
        elif what in ("up", "down"):
            (self._down.add if what == "down" else self._down.discard)(node)
            for of in self._plan.reachable_sources.of(node).tolist():
                if what == "down" and row:
                    self._held[node, of] = math.nan
                self._see(now, node, of)

    def _see(self, now: float, node: int, row: int) -> None:
        """A copy may be another one now, and so what those have who look at it."""
        for who, nodes in [(node, {node}), *(view for view in self._views if node in view[1])]:
            there = [left for i in nodes - self._down if (left := self._held.get((i, row), math.nan)) == left]
            since, left = self._had.get((who, row), (now, math.nan))
            self._end(who, row, since, now, left)
            self._had[who, row] = now, max(there, default=math.nan)

    def _end(self, who: int, row: int, begin: float, end: float, left: float) -> None:
        if begin < end and left == left:
            self._copies.append(Span(self._group[who], row, who, begin, end, left))

    def shares(self) -> tuple[Shares, dict[str, float]]:
        """All that can be told of the shares of the path, and what share of every row is undated."""
        sums: Sums = defaultdict(float)
        for span in self._copies:
            self._add(sums, span, span.end - span.begin)
        brought = {(span.who, span.end) for span in self._answers if span.left == span.left}
        for span in self._answers:
            counts = not self._plan.pulls_may_fail or (span.who, span.end) in brought
            sums[*span[:2], "ended"] += 1
            sums[*span[:2], "answered"] += counts
            if span.left == span.left:
                self._add(sums, span, 1.0)
            elif counts and not self._with_copies(span.group):
                sums[*span[:2], "without"] += 1
        self._add_costs(sums, self._copies, False)
        self._add_costs(sums, [span for span in self._answers if not self._with_copies(span.group)], True)
        for i, rows in (
            (i, self._plan.counted_sources.of(i)) for i in np.flatnonzero(self._plan.topology.role == REPLICA)
        ):
            for row in rows.tolist():
                sums[self._group[i], row, "held"] += self._of.horizon
                sums[self._group[i], row, "there"] += self._of.horizon * (self._plan.reachable_sources.of(i).size == 0)
                sums[self._group[i], row, "without"] += self._of.horizon * (
                    self._plan.reachable_sources.of(i).size == 0
                )
        for who, nodes in self._views:
            for row in {row for i in nodes for row in self._plan.reachable_sources.of(i).tolist()}:
                sums[self._group[who], row, "held"] += self._of.horizon
        found, undated = Shares(), dict[str, float]()
        for name, (g, row) in self._of.rows.items():
            total = self._total(sums, g, row)
            found |= {(name, metric): share for metric, share in self._of_group(name, g, row, total)}
            if total["undated"] and self._of.questions:
                undated[name] = total["undated"] / (total["undated"] + total["whole"])
        return found, undated

    def _add(self, sums: Sums, span: Span, whole: float) -> None:
        """Everything but costs."""
        cell, answer = span[:2], span.begin == span.end
        never, still = self._never(span.row), self._plan.rates[span.row] == 0
        sums[*cell, "good" if answer else "fresh"] += whole * still if never or still else self._fresh(span)
        sums[*cell, "there"] += whole * (not answer)
        if answer and self._with_copies(span.group):
            return
        sums[*cell, "undated" if span.left == -math.inf and not never else "whole"] += whole
        if never:
            sums[*cell, "stale"] += whole * (not still)
            for name, question in self._of.questions.items():
                if question.about == "data" or not still:
                    limit = question.limit
                    sums[*cell, name] += whole * (1 - limit if question.over == "rest" else limit)

    def _add_costs(self, sums: Sums, spans: list[Span], answers: bool) -> None:
        """What copies or answers cost of which it is known when they left."""
        by_cell: dict[tuple[int, int], list[Span]] = defaultdict(list)
        for span in spans:
            if math.isfinite(span.left) and not self._never(span.row):
                by_cell[span[:2]].append(span)
        for cell, some in by_cell.items():
            rows = np.array([span[4:] if answers else span[3:] for span in some])
            of = Stretches(rows, np.array(self._updates[cell[1]]))
            sums[*cell, "stale"] += of.source("1")
            for name in self._of.questions:
                sums[*cell, name] += shares(name, of)[0]

    def _never(self, row: int) -> bool:
        """Whether nobody ever downloads from it."""
        many = self._plan.topology.aggregate
        return many is not None and bool(many.frequencies[row] == 0)

    def _fresh(self, span: Span) -> float:
        """Of a copy the time, of an answer 1 or 0, or what is to be expected of them."""
        if self._of.sampled:
            stale = self._stale_from(span)
            return float(stale > span.end) if span.begin == span.end else max(min(stale, span.end) - span.begin, 0.0)
        law, stretch = self._plan.law(span.row).age, float(self._plan.interval_scale(np.array([span.row]))[0])
        left = span.left if span.left > -math.inf else -self._depth
        a, b = ((t - left) / stretch for t in (span.begin, span.end))
        return float(law.tail(a)) if a == b else stretch * float(law.integrated_tail(b) - law.integrated_tail(a))

    def _stale_from(self, span: Span) -> float:
        """When the source of a copy first changed after that left; of one of unknown age, -inf."""
        if span.left == -math.inf:
            return math.inf if self._plan.rates[span.row] == 0 else -math.inf
        updates = self._updates[span.row]
        first = bisect_right(updates, span.left)
        return updates[first] if first < len(updates) else math.inf

    def _with_copies(self, group: int) -> bool:
        members = self._plan.members(group)
        return bool((members >= self._plan.size).any() or (self._plan.topology.role[members] == REPLICA).any())

    def _total(self, sums: Sums, g: int, row: int) -> dict[str, float]:
        weights, total = self._plan.topology.weights, defaultdict[str, float](float)
        for (group, of, what), amount in sums.items():
            if group == g and row in (-1, of) and (weights is None or weights[of] > 0):
                total[what] += amount * (1.0 if weights is None else float(weights[of]))
        return total

    def _of_group(self, name: str, g: int, row: int, of: dict[str, float]) -> Iterator[tuple[str, tuple[float, float]]]:
        plan, copies = self._plan, self._with_copies(g)
        yield "freshness", (of["fresh"], of["there"]) if copies else (of["good"], of["answered"])
        if copies and plan.faults.crashes and row < 0:
            yield "availability", (of["there"], of["held"])
        clients = plan.clients[plan.group == g].any()
        if plan.pulls_may_fail and clients and row < 0:
            yield "answered", (of["answered"], of["ended"])
        for metric, question in self._of.questions.items() if name not in plan.shown_parts else ():
            cost, counts = without_copy(metric)
            whole = of["stale" if question.over == "stale" else "whole"] + of["without"] * counts
            yield metric, (of[metric] + of["without"] * cost, whole)
        if plan.topology.any_and_all and self._of.sampled and not clients and row < 0:
            yield from self._together(g)

    def _together(self, g: int) -> Iterator[tuple[str, tuple[float, float]]]:
        """For how long any source was fresh, and for how long all, of whoever is in a group."""
        members, total = self._plan.members(g).tolist(), [0.0, 0.0]
        for who in members:
            stale = [(span, self._stale_from(span)) for span in self._copies if span.who == who]
            fresh = [(span.begin, min(span.end, until), span.row) for span, until in stale if until > span.begin]
            for a, b in pairwise(sorted({0.0, self._of.horizon, *(t for one in fresh for t in one[:2])})):
                rows = {row for begin, end, row in fresh if begin <= a and b <= end}
                total[0] += (b - a) * bool(rows)
                total[1] += (b - a) * (len(rows) == len(self._updates))
        for metric, time in zip(("any_fresh", "all_fresh"), total, strict=True):
            yield metric, (time, self._of.horizon * len(members))

"""What may go wrong in one replication, as the arrays that the kernels of `array` take."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from replnet.engines.layout import Layout
from replnet.engines.lines import FULL, Counts, answers_cost, opening
from replnet.engines.outages import UP, Outages
from replnet.engines.passes import TURNS, Trouble
from replnet.engines.plan import Floats, Ints
from replnet.engines.pulls import Losses, absent
from replnet.laws.processes.renewal import Window
from replnet.laws.processes.streams import LOSSES, Words, streams
from replnet.network.faults import Way


def losses(layout: Layout, run: Words) -> Losses:
    """Of those who ask."""
    plan = layout.plan
    # Most networks lose nothing, and streams of many processes take time to make.
    clock = plan.processes.clock[layout.askers.process if plan.faults.losses else np.empty(0, np.int64)]
    chance = streams(run[:1], plan.clocks.word[clock], plan.clocks.purpose[clock], LOSSES)
    share = np.array([way.fault.lose for way in plan.faults.losses], float)
    return Losses(share, _sides(layout, plan.faults.losses), *chance)


def _sides(layout: Layout, ways: tuple[Way, ...]) -> npt.NDArray[np.uint8]:
    """Of places; nobody sends anything to the choices of views."""
    nodes = np.minimum(layout.places.node, layout.plan.size - 1)
    return np.array([way.side[nodes] for way in ways]) if ways else np.empty((0, 0), np.uint8)


@final
class OutageArrays:
    """Outages and lines over [-depth, horizon). Where something may go wrong there is one replication at a time."""

    def __init__(self, layout: Layout, run: Words, depth: float, horizon: float) -> None:
        self._layout, self._plan, self._start, self._horizon = layout, layout.plan, -depth, horizon
        self._outages = Outages(self._plan, run[:1], depth, horizon)
        p, down, asking = self._plan.processes, self._outages.by_node, self._plan.asking
        none = np.empty((0, 2))
        spans = [down.get(i, none) for i in p.node[asking].tolist()] if down else []
        self._first = np.cumsum([0, *map(len, spans)])
        self._spans = np.concatenate(spans) if spans else none
        self._row = np.searchsorted(layout.clocks[1], p.clock[asking])

    def count_absent(self, window: Window, rows: slice, phase: Ints, counts: Ints) -> None:
        """Counts wakes of nodes that are down, by process that asks; `phase` is that of each."""
        if self._spans.size:
            p, asking = self._plan.processes, self._plan.asking
            own = window.offset[rows], window.first[rows], window.last[rows], window.serial[rows]
            by = (self._row, p.turns[asking], phase)
            absent(window.points, *own, *by, self._spans, self._first, counts)

    def trouble(self) -> Trouble:
        """Who goes down is so at each of its places."""
        times, places = self._outages.cut_times, self._layout.places
        spans: Floats = np.concatenate(times) if times else np.empty((0, 2))
        falls, turns, at = self._outages.next_fall, self._outages.turns, list[int]()
        found = []
        for when, kind, who, empties in turns:
            mine = self._layout.of_node.of(who).tolist()
            found += [(when, kind == UP, place, empties, falls(who, when)) for place in mine]
            at += mine
        made = np.array(found, TURNS)
        home = places.component[np.array(at, np.int64)]
        order = np.argsort(home, kind="stable")
        begin = np.searchsorted(home[order], np.arange(self._layout.components * self._layout.count + 1))
        return Trouble(
            made[order], begin, begin[:-1].copy(), _sides(self._layout, self._plan.faults.cuts),
            np.cumsum([0, *map(len, times)]), spans[:, 0].copy(), spans[:, 1].copy(),
        )  # fmt: skip

    def lines(self, nodes: np.ndarray) -> None:
        """As they begin."""
        plan, places = self._plan, self._layout.places
        for node in self._outages.by_node if nodes.size else ():
            nodes["falls"][self._layout.of_node.of(node)] = self._outages.next_fall(node, self._start)
        if plan.bandwidth is not None:
            own, at = nodes[:-1], np.minimum(places.node, plan.size - 1)
            cost, first, free = opening(plan, self._start)
            own["cost"], own["first"], own["free"] = cost[at], first[at], free[at]
            own["limit"], own["answers"] = own["cost"] * plan.queue / FULL, answers_cost(plan)[at]

    def counts(self, nodes: np.ndarray) -> Counts:
        """Up to the horizon; a node that is down has an F that never comes."""
        nodes = nodes[self._layout.places.only[: self._plan.size]]
        left = np.maximum(self._horizon - np.maximum(nodes["free"], 0.0), 0.0)
        spare = nodes["spare"] + np.where(nodes["cost"] > 0, left, 0.0)
        return Counts(spare, nodes["served"], nodes["came"], nodes["refused"], nodes["sent"], nodes["waited"])

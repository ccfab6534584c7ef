"""What may go wrong in one replication, as the arrays that the kernels of `array` take."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from replnet.engines.lines import FULL, Counts, answers_cost, opening
from replnet.engines.outages import UP, Outages, Way
from replnet.engines.outages import Losses as Lost
from replnet.engines.passes import TURNS, Trouble
from replnet.engines.pulls import Losses, absent
from replnet.engines.tiling import Tiling
from replnet.laws.law import Floats, Ints
from replnet.laws.processes.renewal import Window
from replnet.laws.processes.streams import Words


def losses(tiling: Tiling, run: Words) -> Losses:
    """Of the processes that ask."""
    plan, ask = tiling.plan, tiling.asking
    of = Lost(plan.faults, run[:1], plan.stream_names[ask], plan.purpose[ask])
    share = np.array([way.fault.lose for way in plan.faults.losses], float)
    return Losses(share, _sides(plan.faults.losses), *of.streams)


def _sides(ways: tuple[Way, ...]) -> npt.NDArray[np.uint8]:
    return np.array([way.side for way in ways]) if ways else np.empty((0, 0), np.uint8)


@final
class Weather:
    """Outages and lines over [-depth, horizon)."""

    def __init__(self, tiling: Tiling, run: Words, depth: float, horizon: float) -> None:
        self._tiling, self._plan, self._start, self._horizon = tiling, tiling.plan, -depth, horizon
        # Where something may go wrong there is one replication at a time.
        self._outages = Outages(self._plan.names, self._plan.faults, run[:1], depth, horizon)
        self._purpose = self._plan.purpose[tiling.asking]
        down = self._outages.by_node
        spans = [down.get(int(i), np.empty((0, 2))) for i in tiling.askers.node] if down else []
        self._first = np.cumsum([0, *map(len, spans)])
        self._spans = np.concatenate(spans) if spans else np.empty((0, 2))

    def take_off(self, window: Window, rows: slice, counts: Ints) -> None:
        """From counts by purpose, the wakes of nodes that are down."""
        if self._spans.size:
            offset, first, last = window.offset[rows], window.first[rows], window.last[rows]
            absent(window.points, offset, first, last, self._spans, self._first, self._purpose, counts)

    def trouble(self) -> Trouble:
        times, layers = self._outages.cut_times, self._tiling.layers
        spans: Floats = np.concatenate(times) if times else np.empty((0, 2))
        falls = self._outages.next_fall
        found = [(at, kind == UP, who, empties, falls(who, at)) for at, kind, who, empties in self._outages.turns]
        turns = np.array(found, TURNS)
        home = self._tiling.component[turns["who"]]
        order = np.argsort(home, kind="stable")
        begin = np.searchsorted(home[order], np.arange(layers.begin.size))
        return Trouble(
            turns[order], begin, np.repeat(begin[:-1], np.diff(layers.begin)), _sides(self._plan.faults.cuts),
            np.cumsum([0, *map(len, times)]), spans[:, 0].copy(), spans[:, 1].copy(),
        )  # fmt: skip

    def lines(self, nodes: np.ndarray) -> None:
        """As they begin."""
        plan = self._plan
        for node in self._outages.by_node if nodes.size else ():
            nodes["falls"][:, node] = self._outages.next_fall(node, self._start)
        if plan.bandwidth is not None:
            own = nodes[:, :-1]
            own["cost"], own["first"], own["free"] = opening(plan, self._start)
            own["limit"], own["answers"] = own["cost"] * plan.queue / FULL, answers_cost(plan)

    def counts(self, nodes: np.ndarray) -> Counts:
        """Up to the horizon; a node that is down has an F that never comes."""
        left = np.maximum(self._horizon - np.maximum(nodes["free"], 0.0), 0.0)
        spare = nodes["spare"] + np.where(nodes["cost"] > 0, left, 0.0)
        return Counts(spare, nodes["served"], nodes["came"], nodes["refused"], nodes["sent"], nodes["waited"])

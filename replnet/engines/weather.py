"""What may go wrong in one replication, as the arrays that the kernels of `array` take."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from replnet.engines import kernels
from replnet.engines.general import TURNS, Trouble
from replnet.engines.lines import FULL, Counts, answers_cost, opening
from replnet.engines.outages import UP, Losses, Outages, Way
from replnet.engines.program import Program
from replnet.laws.renewal import Window
from replnet.laws.scratch import Floats, Ints
from replnet.laws.streams import Words


def losses(program: Program, run: Words) -> kernels.Losses:
    """Of the processes that ask."""
    plan, ask = program.plan, program.asking
    of = Losses(plan.faults, run, plan.stream_names[ask], plan.purpose[ask])
    share = np.array([way.fault.lose for way in plan.faults.losses], float)
    return kernels.Losses(share, _sides(plan.faults.losses), *of.streams)


def _sides(ways: tuple[Way, ...]) -> npt.NDArray[np.uint8]:
    return np.array([way.side for way in ways]) if ways else np.empty((0, 0), np.uint8)


@final
class Weather:
    """Outages and lines over [-depth, horizon); every content has the same, in arrays of its own."""

    def __init__(self, program: Program, run: Words, depth: float, horizon: float) -> None:
        self._plan, self._start, self._horizon = program.plan, -depth, horizon
        self._outages = Outages(self._plan.names, self._plan.faults, run, depth, horizon)
        self._purpose = self._plan.purpose[program.asking]
        down = self._outages.by_node
        spans = [down.get(int(i), np.empty((0, 2))) for i in program.askers.node] if down else []
        self._first = np.cumsum([0, *map(len, spans)])
        self._spans = np.concatenate(spans) if spans else np.empty((0, 2))

    def take_off(self, window: Window, counts: Ints) -> None:
        """From counts by purpose, the wakes of nodes that are down."""
        if self._spans.size:
            instants = (window.points, window.offset, window.first, window.last)
            kernels.absent(instants, self._spans, self._first, self._purpose, counts)

    def trouble(self) -> Trouble:
        times = self._outages.cut_times
        spans: Floats = np.concatenate(times) if times else np.empty((0, 2))
        turns = [(at, kind == UP, who, empties) for at, kind, who, empties in self._outages.turns]
        return Trouble(
            np.array(turns, TURNS), np.zeros(1, np.int64), _sides(self._plan.faults.cuts),
            np.cumsum([0, *map(len, times)]), spans[:, 0].copy(), spans[:, 1].copy(),
        )  # fmt: skip

    def lines(self, nodes: np.ndarray) -> None:
        """As they begin."""
        plan = self._plan
        if plan.bandwidth is not None:
            nodes["cost"], nodes["first"], nodes["free"] = opening(plan, self._start)
            nodes["limit"], nodes["answers"] = nodes["cost"] * plan.queue / FULL, answers_cost(plan)

    def counts(self, nodes: np.ndarray) -> Counts:
        """Up to the horizon; a node that is down has an F that never comes."""
        left = np.maximum(self._horizon - np.maximum(nodes["free"], 0.0), 0.0)
        spare = nodes["spare"] + np.where(nodes["cost"] > 0, left, 0.0)
        return Counts(spare, nodes["served"], nodes["came"], nodes["refused"], nodes["waited"])

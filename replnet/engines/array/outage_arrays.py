"""Faults, lines and losses of one replication as arrays, as the kernels of `array` take them."""

from __future__ import annotations

from typing import final

import numpy as np
import numpy.typing as npt

from replnet.engines.array.layout import Layout
from replnet.engines.array.passes import TURN_DTYPE, FaultArrays
from replnet.engines.array.pulls import Losses, count_absent
from replnet.engines.lines import FULL, Counts, initial_lines, pays_for_answers
from replnet.engines.outages import UP, Outages
from replnet.engines.wakes import process_streams
from replnet.laws import Floats, Ints
from replnet.network import LinkFault
from replnet.processes import LOSSES, Window, Words


def build_losses(layout: Layout, run: Words) -> Losses:
    """Return the losses of messages of all askers, with empty streams if no message can get lost.

    `run` has the seed words of the replications, of which the first one counts.
    """
    plan = layout.plan
    # Most networks lose nothing, and streams of many processes take time to make.
    processes = layout.askers.process if plan.faults.losses else np.empty(0, np.int64)
    chance = process_streams(plan, run[:1], processes, LOSSES)
    share = np.array([way.fault.lose for way in plan.faults.losses], float)
    return Losses(share, _sides_of_places(layout, plan.faults.losses), *chance)


def _sides_of_places(layout: Layout, ways: tuple[LinkFault, ...]) -> npt.NDArray[np.uint8]:
    """Return, as bits, the side of a fault on which each place is, with a row per fault and a column per place.

    Choices of views never send or receive messages, so their sides do not matter. Without faults the array is empty.
    """
    nodes = np.minimum(layout.places.node, layout.plan.size - 1)
    return np.array([way.side[nodes] for way in ways]) if ways else np.empty((0, 0), np.uint8)


@final
class OutageArrays:
    """The outages, cuts and lines of one replication over [-depth, horizon), as arrays for `array`.

    Networks with faults or lines run one replication at a time; `run` has its seed words. `depth` is how long before
    time zero its past begins.
    """

    def __init__(self, layout: Layout, run: Words, depth: float, horizon: float) -> None:
        self._layout, self._plan, self._start, self._horizon = layout, layout.plan, -depth, horizon
        self._outages = Outages(self._plan, run[:1], depth, horizon)
        p, down, asking = self._plan.processes, self._outages.by_node, self._plan.pull_processes
        none = np.empty((0, 2))
        spans = [down.get(i, none) for i in p.node[asking].tolist()] if down else []
        self._first = np.cumsum([0, *map(len, spans)])
        self._spans = np.concatenate(spans) if spans else none

    def count_absent(self, window: Window, rows: slice, phase: Ints, counts: Ints) -> None:
        """Add to `counts`, by process that pulls, its wakes in a window at which its node is down.

        `rows` is the slice of the rows of pulls in the window. Of the n-th wakes of a shared clock, those with n %
        turns == phase are those of a process, where `phase` has an entry for each that pulls.
        """
        if self._spans.size:
            p, asking = self._plan.processes, self._plan.pull_processes
            columns = window.offset[rows], window.first[rows], window.last[rows], window.serial[rows]
            row = self._layout.row_of_clock[p.clock[asking]]
            askers = (row, p.turns[asking], phase)
            count_absent(window.points, *columns, *askers, self._spans, self._first, counts)

    def fault_arrays(self) -> FaultArrays:
        """Return the instants at which places go down or come back, component by component, and the spans of the cuts.

        A node goes down at all of its places.
        """
        times, places = self._outages.cut_times, self._layout.places
        spans: Floats = np.concatenate(times) if times else np.empty((0, 2))
        falls, turns, places_of_turns = self._outages.next_fall, self._outages.turns, list[int]()
        rows = []
        for when, kind, who, empties in turns:
            node_places = self._layout.places_of_node.of(who).tolist()
            rows += [(when, kind == UP, place, empties, falls(who, when)) for place in node_places]
            places_of_turns += node_places
        turn_rows = np.array(rows, TURN_DTYPE)
        component = places.component[np.array(places_of_turns, np.int64)]
        order = np.argsort(component, kind="stable")
        begin = np.searchsorted(component[order], np.arange(self._layout.component_count * self._layout.count + 1))
        return FaultArrays(
            turn_rows[order], begin, begin[:-1].copy(), _sides_of_places(self._layout, self._plan.faults.cuts),
            np.cumsum([0, *map(len, times)]), spans[:, 0].copy(), spans[:, 1].copy(),
        )  # fmt: skip

    def set_lines(self, nodes: np.ndarray) -> None:
        """Set the initial lines of all places, and when their nodes next go down, in the states `nodes`.

        `nodes` has an entry per place, and one more, with the columns NODE_DTYPE; it is changed in place.
        """
        plan, places = self._plan, self._layout.places
        for node in self._outages.by_node if nodes.size else ():
            nodes["falls"][self._layout.places_of_node.of(node)] = self._outages.next_fall(node, self._start)
        if plan.bandwidth is not None:
            places_only, at = nodes[:-1], np.minimum(places.node, plan.size - 1)
            cost, first, free = initial_lines(plan, self._start)
            places_only["cost"], places_only["first"], places_only["free"] = cost[at], first[at], free[at]
            places_only["limit"] = places_only["cost"] * plan.queue / FULL
            places_only["answers"] = pays_for_answers(plan)[at]

    def line_counts(self, nodes: np.ndarray) -> Counts:
        """Return the counts of lines over [0, horizon), by node, from the states of all places after the last pass.

        `nodes` has these states, with the columns NODE_DTYPE. The time from the end of a line to the horizon is added
        to its spare time, unless the node is down or has no limit.
        """
        nodes = nodes[self._layout.places.first[: self._plan.size]]
        left = np.maximum(self._horizon - np.maximum(nodes["free"], 0.0), 0.0)
        spare = nodes["spare"] + np.where(nodes["cost"] > 0, left, 0.0)
        return Counts(spare, nodes["served"], nodes["came"], nodes["refused"], nodes["sent"], nodes["waited"])

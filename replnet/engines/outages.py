"""Faults of one replication: who is down when, which ways are cut, and which messages are lost.

All of it is planned before anything runs, from streams of its own, so every
engine meets the same faults. A fault with laws alternates: it is off for a time
of law U and on for a time of law D, in equilibrium at time zero, where it is on
with probability E[D] / (E[U] + E[D]), and runs from there both ways. A schedule
begins at its instant; before time zero there is none of it. The kernels of `array`
take all of it as arrays.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cached_property
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.engines.layout import Layout
from replnet.engines.lines import FULL, Counts, Lines, answers_cost, opening
from replnet.engines.passes import TURNS, Trouble
from replnet.engines.plan import Plan
from replnet.engines.pulls import Losses, absent
from replnet.laws.law import Floats, Ints, Law
from replnet.laws.processes.renewal import Window
from replnet.laws.processes.streams import (
    FUTURE,
    LOSSES,
    PAST,
    PURPOSES,
    START,
    Streams,
    Words,
    exponentials,
    name_words,
    streams,
    words,
)
from replnet.network.faults import Fault, Way, across

DOWN, UP = range(2)


@final
class Outages:
    """The faults of one replication over [-depth, horizon)."""

    def __init__(self, plan: Plan, run: Words, depth: float, horizon: float) -> None:
        of = self._of = plan.faults
        names = plan.names if of.crashes else ()
        spans: dict[int, list[tuple[float, float, bool]]] = {}
        for index, crash in enumerate(of.crashes):
            for node in crash.nodes:
                times = _times(crash.fault, run, f"{names[node]} crash {index}", depth, horizon)
                spans.setdefault(node, []).extend((begin, end, crash.empties) for begin, end in times)
        self._down = {node: _merged(found) for node, found in spans.items() if found}
        self.cut_times = [_times(cut.fault, run, f"cut {at}", depth, horizon) for at, cut in enumerate(of.cuts)]

    def down(self, node: int, now: float) -> bool:
        spans = self._down.get(node)
        if spans is None:
            return False
        at = bisect_right(spans, (now, math.inf, True)) - 1
        return at >= 0 and now < spans[at][1]

    def next_fall(self, node: int, now: float) -> float:
        """When a node that is up goes down next."""
        spans = self._down.get(node, ())
        at = bisect_right(spans, (now, math.inf, True))
        return spans[at][0] if at < len(spans) else math.inf

    def went_down(self, node: int, since: float, now: float) -> bool:
        """Whether it went down in [since, now]."""
        spans = self._down.get(node, ())
        at = bisect_right(spans, (now, math.inf, True)) - 1
        return at >= 0 and spans[at][0] >= since

    def cut(self, a: int, b: int, now: float) -> bool:
        """Whether no message passes from a to b."""
        for way, times in zip(self._of.cuts, self.cut_times, strict=True):
            at = int(np.searchsorted(times[:, 0], now, side="right")) - 1
            if at >= 0 and now < times[at, 1] and across(int(way.side[a]), int(way.side[b])):
                return True
        return False

    @cached_property
    def turns(self) -> list[tuple[float, int, int, bool]]:
        """(instant, DOWN or UP, node, whether its copy is lost), in order."""
        found = []
        for node, spans in self._down.items():
            for begin, end, empties in spans:
                found += [(begin, DOWN, node, empties), (end, UP, node, empties)]
        return sorted(turn for turn in found if turn[0] < math.inf)

    @cached_property
    def by_node(self) -> dict[int, Floats]:
        """[begin, end) rows of every node that goes down."""
        return {node: np.array([span[:2] for span in spans]) for node, spans in self._down.items()}


def _times(fault: Fault, run: Words, name: str, depth: float, horizon: float) -> Floats:
    """[begin, end) rows of a fault that touch [-depth, horizon)."""
    if fault.at is not None:
        end = math.inf if fault.lasts is None else fault.at + fault.lasts
        return np.array([(fault.at, end)]) if fault.at < min(horizon, end) else np.empty((0, 2))
    assert fault.up is not None
    assert fault.down is not None
    word = name_words([name])
    return _alternating((fault.up, fault.down), run, word, depth, horizon)


def _alternating(laws: tuple[Law, Law], run: Words, word: Words, depth: float, horizon: float) -> Floats:
    """Every stretch with the fault on; laws[0] of the times without it."""
    start, ahead, back = (streams(run, word, np.full(1, PURPOSES["faults"]), part) for part in (START, FUTURE, PAST))
    first = exponentials(start, np.arange(3))
    on = int(-np.expm1(-first[0]) < laws[1].mean / (laws[0].mean + laws[1].mean))
    age, interval = (float(one[0]) for one in laws[on].around_zero(first[1:2], first[2:3]))
    residual = interval - age
    forward = _turns(laws, ahead, on, max(residual, 0.0), horizon)
    backward = _turns(laws, back, on, age, depth)
    # The turn that follows the present state switches the fault on if it is off, and every second one with it.
    turns = np.concatenate([-backward[::-1], forward])[(backward.size + on) % 2 :]
    rows = turns[: turns.size // 2 * 2].reshape(-1, 2)
    return rows[(rows[:, 1] > -depth) & (rows[:, 0] < horizon)]


def _turns(laws: tuple[Law, Law], stream: Streams, on: int, first: float, far: float) -> Floats:
    """Distances from zero at which the state changes, up to the first one beyond `far`."""
    turns, used = np.array([first]), 0
    while turns[-1] < far:
        pair = laws[0].mean + laws[1].mean
        n = int(min(2 * math.ceil((far - turns[-1]) / pair * 1.1 + 4), 8192))
        e = exponentials(stream, used + np.arange(n))
        more = np.empty(n)
        # `used` is even, so each batch begins with the state that follows the first turn.
        more[0::2], more[1::2] = laws[1 - on].draw(e[0::2]), laws[on].draw(e[1::2])
        turns, used = np.concatenate([turns, turns[-1] + np.cumsum(more)]), used + n
    return turns


def _merged(spans: list[tuple[float, float, bool]]) -> list[tuple[float, float, bool]]:
    """Spans that overlap or touch as one, which empties if any of them does."""
    found: list[tuple[float, float, bool]] = []
    for begin, end, empties in sorted(spans):
        if found and begin <= found[-1][1]:
            last = found.pop()
            found.append((last[0], max(last[1], end), last[2] or empties))
        else:
            found.append((begin, end, empties))
    return found


@final
class Hazards:
    """What may become of the pulls of one replication, where things go wrong or bandwidth is limited.

    A pull is sent if its asker is up and has room for it, arrives unless it gets
    lost or is cut off, is answered if who is asked is up and has room, and the reply
    comes back under the same conditions, unless the asker has crashed meanwhile.
    """

    def __init__(self, plan: Plan, run: Words, start: float, horizon: float) -> None:
        """`start` is where the path begins."""
        self._faults, self.outages = plan.faults, Outages(plan, run, max(-start, 0.0), horizon)
        self.lines = Lines(plan, start, horizon) if plan.bandwidth is not None else None
        clock = plan.processes.clock if plan.faults.losses else plan.processes.clock[:0]
        self._chance = streams(run, plan.clocks.word[clock], plan.clocks.purpose[clock], LOSSES)

    def goes(self, process: int, pull: int, asker: int, asked: int, now: float) -> tuple[bool, bool]:
        """Whether a process's pull of this number gets there, and whether the reply to it would be lost."""
        lost, mute = self._lost(process, pull, asker, asked)
        sent = self.lines is None or self.lines.issue(asker, now)
        return sent and not lost and not self.outages.cut(asker, asked, now), mute

    def _lost(self, process: int, pull: int, asker: int, asked: int) -> tuple[bool, bool]:
        share = 1.0 - self._faults.arriving(asker, asked)
        if share == 0.0:
            return False, False
        of = Streams(*(word[process : process + 1] for word in self._chance))
        chance = words(of, np.array([2 * pull, 2 * pull + 1]))
        request, reply = ((chance >> np.uint64(11)) * 2.0**-53 < share).tolist()
        return request, reply

    def wait(self, asked: int, asker: int, now: float) -> float | None:
        """How long the answer waits before it leaves, or None if there is none."""
        if self.outages.down(asked, now):
            return None
        return 0.0 if self.lines is None else self.lines.answer(asked, asker, now, self.outages.next_fall(asked, now))

    def returns(self, asked: int, asker: int, now: float, mute: bool) -> bool:
        """Whether a reply gets there."""
        return not mute and not self.outages.cut(asked, asker, now)


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

    def count_absent(self, window: Window, rows: slice, phase: Ints, counts: Ints) -> None:
        """Counts wakes of nodes that are down, by process that asks; `phase` is that of each."""
        if self._spans.size:
            p, asking = self._plan.processes, self._plan.asking
            own = window.offset[rows], window.first[rows], window.last[rows], window.serial[rows]
            row = self._layout.row[p.clock[asking]]
            by = (row, p.turns[asking], phase)
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

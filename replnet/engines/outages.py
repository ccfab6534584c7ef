"""Faults of one replication: which nodes are down when, between which nodes messages are cut off, and which are lost.

All faults are drawn before anything runs, from streams of their own, so every
engine meets the same ones. A fault with laws alternates: it is off for a time
of law U and on for a time of law D, in equilibrium at time zero, where it is on
with probability E[D] / (E[U] + E[D]), and runs from there both ways. A scheduled fault
begins at its instant, never before time zero. The kernels of `array` take faults as arrays.

A turn is an instant at which a node goes down or comes back.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from functools import cached_property
from typing import final

import numpy as np

from replnet.engines.lines import Lines
from replnet.engines.plan import Plan
from replnet.engines.wakes import process_streams
from replnet.laws import Floats, Law
from replnet.network import Fault, on_opposite_sides
from replnet.processes import (
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

DOWN, UP = range(2)


@final
class Outages:
    """The crashes and cuts of one replication over [-depth, horizon): when nodes are down, and messages cut off.

    Losses of messages are not among them. `cut_times` has, for every cut, its spans as [begin, end) rows.
    """

    def __init__(self, plan: Plan, run: Words, depth: float, horizon: float) -> None:
        """Draw the crashes and cuts of the replication with the seed words `run`; `depth` is how long its past is."""
        faults = self._of = plan.faults
        names = plan.names if faults.crashes else ()
        spans: dict[int, list[tuple[float, float, bool]]] = {}
        for index, crash in enumerate(faults.crashes):
            for node in crash.nodes:
                times = _fault_spans(crash.fault, run, f"{names[node]} crash {index}", depth, horizon)
                spans.setdefault(node, []).extend((begin, end, crash.empties) for begin, end in times)
        self._down = {node: _merge_spans(node_spans) for node, node_spans in spans.items() if node_spans}
        self.cut_times = [
            _fault_spans(cut.fault, run, f"cut {at}", depth, horizon) for at, cut in enumerate(faults.cuts)
        ]

    def is_down(self, node: int, now: float) -> bool:
        """Whether a node is down at the instant `now`."""
        spans = self._down.get(node)
        if spans is None:
            return False
        at = bisect_right(spans, (now, math.inf, True)) - 1
        return at >= 0 and now < spans[at][1]

    def next_fall(self, node: int, now: float) -> float:
        """Return the instant after `now` at which a node goes down next; inf if never before the horizon."""
        spans = self._down.get(node, ())
        at = bisect_right(spans, (now, math.inf, True))
        return spans[at][0] if at < len(spans) else math.inf

    def went_down(self, node: int, since: float, now: float) -> bool:
        """Whether a node, by its number, went down at an instant in [since, now]; it may have come back meanwhile."""
        spans = self._down.get(node, ())
        at = bisect_right(spans, (now, math.inf, True)) - 1
        return at >= 0 and spans[at][0] >= since

    def is_cut(self, a: int, b: int, now: float) -> bool:
        """Whether a cut stops messages from node a to node b (numbers) at the instant `now`."""
        for way, times in zip(self._of.cuts, self.cut_times, strict=True):
            at = int(np.searchsorted(times[:, 0], now, side="right")) - 1
            if at >= 0 and now < times[at, 1] and on_opposite_sides(int(way.side[a]), int(way.side[b])):
                return True
        return False

    @cached_property
    def turns(self) -> list[tuple[float, int, int, bool]]:
        """The turns of nodes down or up, in order: (instant, DOWN or UP, node, whether the crash loses its copy).

        A node that never comes back has no turn up.
        """
        turns = []
        for node, spans in self._down.items():
            for begin, end, empties in spans:
                turns += [(begin, DOWN, node, empties), (end, UP, node, empties)]
        return sorted(turn for turn in turns if turn[0] < math.inf)

    @cached_property
    def by_node(self) -> dict[int, Floats]:
        """The spans in which nodes are down, as [begin, end) rows, by node; only nodes that ever go down."""
        return {node: np.array([span[:2] for span in spans]) for node, spans in self._down.items()}


def _fault_spans(fault: Fault, run: Words, name: str, depth: float, horizon: float) -> Floats:
    """Return the spans of a fault that touch [-depth, horizon), as [begin, end) rows.

    A scheduled fault has one at most; a fault with laws draws them from the random stream that the seed words `run` and
    `name` stand for.
    """
    if fault.at is not None:
        end = math.inf if fault.lasts is None else fault.at + fault.lasts
        return np.array([(fault.at, end)]) if fault.at < min(horizon, end) else np.empty((0, 2))
    assert fault.up is not None
    assert fault.down is not None
    word = name_words([name])
    return _draw_spans((fault.up, fault.down), run, word, depth, horizon)


def _draw_spans(laws: tuple[Law, Law], run: Words, word: Words, depth: float, horizon: float) -> Floats:
    """Return the random spans with a fault that touch [-depth, horizon), as [begin, end) rows.

    laws[0] is that of the times without the fault, laws[1] that of the times with it. The seed words `run` and the
    `word` of the fault's name select the random streams.
    """
    start, ahead, back = (streams(run, word, np.full(1, PURPOSES["faults"]), part) for part in (START, FUTURE, PAST))
    first = exponentials(start, np.arange(3))
    on = int(-np.expm1(-first[0]) < laws[1].mean / (laws[0].mean + laws[1].mean))
    age, interval = (float(at_zero[0]) for at_zero in laws[on].around_zero(first[1:2], first[2:3]))
    residual = interval - age
    forward = _draw_turns(laws, ahead, on, max(residual, 0.0), horizon)
    backward = _draw_turns(laws, back, on, age, depth)
    # The first turn after time zero switches the fault on if it is off, and so does every second one from there.
    turns = np.concatenate([-backward[::-1], forward])[(backward.size + on) % 2 :]
    rows = turns[: turns.size // 2 * 2].reshape(-1, 2)
    return rows[(rows[:, 1] > -depth) & (rows[:, 0] < horizon)]


def _draw_turns(laws: tuple[Law, Law], stream: Streams, on: int, first: float, far: float) -> Floats:
    """Return the distances from time zero at which a fault goes on or off, up to the first one beyond `far`.

    The first is `first`, and `on` is 1 if the fault is on before it, else 0; the others are drawn from `stream`.
    laws[0] is that of the times without the fault, laws[1] that of the times with it.
    """
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


def _merge_spans(spans: list[tuple[float, float, bool]]) -> list[tuple[float, float, bool]]:
    """Return spans (begin, end, whether copies are lost) with those that overlap or touch made one.

    A merged span loses copies if any of its parts does.
    """
    merged: list[tuple[float, float, bool]] = []
    for begin, end, empties in sorted(spans):
        if merged and begin <= merged[-1][1]:
            last = merged.pop()
            merged.append((last[0], max(last[1], end), last[2] or empties))
        else:
            merged.append((begin, end, empties))
    return merged


@final
class Hazards:
    """The fate of every pull of one replication, if it has faults or limited bandwidth.

    A pull is sent if its asker is up and has room for it, arrives unless it gets lost or is cut off, is answered if the
    node asked is up and has room, and the reply comes back under the same conditions, unless the asker has crashed
    meanwhile. `outages` are its crashes and cuts, and `lines` the lines of messages, None without limited bandwidth.
    """

    def __init__(self, plan: Plan, run: Words, start: float, horizon: float) -> None:
        """Draw the faults of the replication with the seed words `run`, whose path goes from `start` to `horizon`."""
        self._faults, self.outages = plan.faults, Outages(plan, run, max(-start, 0.0), horizon)
        self.lines = Lines(plan, start, horizon) if plan.bandwidth is not None else None
        processes = np.arange(plan.processes.node.size if plan.faults.losses else 0)
        self._chance = process_streams(plan, run, processes, LOSSES)

    def send_pull(self, process: int, pull: int, asker: int, target: int, now: float) -> tuple[bool, bool]:
        """Put a pull in the line of its asker at `now`; return whether it arrives, and whether a reply would get lost.

        The pull goes from node `asker` to node `target`; `pull` is its number among those of the `process`, and decides
        with it on the random losses. The pull does not arrive if the line has no room, or if it is lost or cut off.
        """
        lost, mute = self._lost(process, pull, asker, target)
        sent = self.lines is None or self.lines.send_pull(asker, now)
        return sent and not lost and not self.outages.is_cut(asker, target, now), mute

    def _lost(self, process: int, pull: int, asker: int, target: int) -> tuple[bool, bool]:
        """Return whether a pull from `asker` to `target` gets lost, and whether a reply to it would.

        Both are drawn from a random stream of `process`; `pull` is the number of the pull among those of the process.
        """
        share_lost = 1.0 - self._faults.arrival_probability(asker, target)
        if share_lost == 0.0:
            return False, False
        stream = Streams(*(word[process : process + 1] for word in self._chance))
        chance = words(stream, np.array([2 * pull, 2 * pull + 1]))
        request, reply = ((chance >> np.uint64(11)) * 2.0**-53 < share_lost).tolist()
        return request, reply

    def answer_wait(self, target: int, asker: int, now: float) -> float | None:
        """Put an answer to `asker` in the line of the node asked, `target`, and return how long it waits there.

        The wait is in units of time, 0 without a line. None means that there is no answer: the node is down, has no
        room, or would go down before the answer left.
        """
        if self.outages.is_down(target, now):
            return None
        return 0.0 if self.lines is None else self.lines.answer(target, asker, now, self.outages.next_fall(target, now))

    def reply_arrives(self, target: int, asker: int, now: float, mute: bool) -> bool:
        """Whether a reply that node `target` gives at `now` gets to its `asker`, as it is neither lost nor cut off.

        `mute` says that it was drawn to be lost.
        """
        return not mute and not self.outages.is_cut(target, asker, now)

"""The pulls of a window in time order, behind those that are still on their way."""

from __future__ import annotations

from typing import final

import numpy as np

from replnet.engines import kernels
from replnet.engines.program import Program
from replnet.engines.scratch import Scratch
from replnet.laws.renewal import Window
from replnet.laws.streams import Streams


@final
class Pulls:
    """`times` and `pairs` (who << 32 | asked) of the pulls in hand.

    The first `sent` were sent in earlier windows, the first `answered` of these are on their way back.
    """

    def __init__(self, program: Program, choices: Streams) -> None:
        self._askers, self._choices, self._scratch = program.askers, choices, Scratch()
        self._chosen = np.empty(max(int(program.askers.pulls.max(initial=1)), 1), np.int64)
        self.times, self.pairs = np.empty(0), np.empty(0, np.int64)
        self.sent = self.answered = 0

    def add(self, window: Window) -> None:
        """All pulls of a window, by a bucket sort: a bucket per pull, then insertion within them."""
        kept, askers = self.times.size, self._askers
        total = int(((window.last - window.first) * askers.pulls).sum())
        old = self.times.copy(), self.pairs.copy()
        self.times = self._scratch.floats("times", kept + total)
        self.pairs = self._scratch.ints("pairs", kept + total)
        self.times[:kept], self.pairs[:kept] = old
        self.sent = kept
        if total == 0:
            return
        # A hair under total / length, so that rounding never sends the last instant past the last bucket.
        scale = total * (1 - 1e-12) / (window.end - window.start)
        head, instants = (
            self._scratch.ints("head", total + 2),
            (window.points, window.offset, window.first, window.last),
        )
        kernels.count(window.start, scale, instants, askers.pulls, head)
        times, pairs = self.times[kept:], self.pairs[kept:]
        kernels.scatter(
            window.start, scale, instants, window.serial, askers, *self._choices, head, times, pairs, self._chosen
        )
        kernels.settle(times, pairs)

    def done(self, answered: int, arrived: int) -> None:
        """The first `arrived` have come to their end, and the first `answered` have got their answer."""
        self.times, self.pairs, self.answered = self.times[arrived:], self.pairs[arrived:], answered - arrived

    def all_done(self) -> None:
        self.done(self.times.size, self.times.size)

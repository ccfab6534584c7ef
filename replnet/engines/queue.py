"""The pulls of a window in time order, behind those that are still on their way."""

from __future__ import annotations

from typing import final

import numpy as np

from replnet.engines import kernels
from replnet.laws.renewal import Window
from replnet.laws.scratch import Floats, Ints, Scratch
from replnet.laws.streams import Streams

SLICE = 1 << 17  # pulls sorted at once


@final
class Pulls:
    """`times` and `pairs` (who << 32 | asked) of the pulls in hand.

    The first `sent` were sent in earlier windows, the first `answered` of these are on their way back.
    """

    def __init__(self, askers: kernels.Askers, choices: Streams, losses: kernels.Losses, scratch: Scratch) -> None:
        self._askers, self._choices, self._losses, self._scratch = askers, choices, losses, scratch
        self._chosen = np.empty(max(int(askers.pulls.max(initial=1)), 1), np.int64)
        self.times, self.pairs = np.empty(0), np.empty(0, np.int64)
        self.sent = self.answered = 0

    def add(self, window: Window) -> None:
        """All pulls of a window, by a bucket sort: a bucket per pull, then insertion within them."""
        kept, askers = self.times.size, self._askers
        total = int(((window.last - window.first) * askers.pulls).sum())
        old = self.times.copy(), self.pairs.copy()
        self.times = self._scratch.floats("pull times", kept + total)
        self.pairs = self._scratch.ints("pull pairs", kept + total)
        self.times[:kept], self.pairs[:kept] = old
        self.sent = kept
        if total == 0:
            return
        times, pairs = self.times[kept:], self.pairs[kept:]
        if total <= SLICE:
            self._scatter(window, total, times, pairs)
        else:
            self._in_slices(window, total, times, pairs)
        kernels.settle(times, pairs)

    def _scatter(self, window: Window, buckets: int, times: Floats, pairs: Ints) -> Ints:
        """Every pull into its bucket; returns where the buckets end."""
        instants = (window.points, window.offset, window.first, window.last)
        # A hair under buckets / length, so that rounding never sends the last instant past the last bucket.
        scale, head = buckets * (1 - 1e-12) / (window.end - window.start), self._scratch.ints("head", buckets + 2)
        kernels.count(window.start, scale, instants, self._askers.pulls, head)
        kernels.scatter(
            window.start, scale, instants, window.serial, self._askers, *self._choices, self._losses,
            head, times, pairs, self._chosen,
        )  # fmt: skip
        return head[:buckets]

    def _in_slices(self, window: Window, total: int, times: Floats, pairs: Ints) -> None:
        """In two steps, since writing all over more memory than the cache holds costs several times the sort."""
        slices = -(-total // SLICE) * 2
        loose = self._scratch.floats("loose times", total), self._scratch.ints("loose pairs", total)
        ends = self._scatter(window, slices, *loose).copy()
        width = (window.end - window.start) / (slices * (1 - 1e-12))
        longest = int(np.diff(ends, prepend=0).max())
        kernels.refine(window.start, width, ends, *loose, self._scratch.ints("fine", longest + 1), times, pairs)

    def done(self, answered: int, arrived: int) -> None:
        """The first `arrived` have come to their end, and the first `answered` have got their answer."""
        self.times, self.pairs, self.answered = self.times[arrived:], self.pairs[arrived:], answered - arrived

    def all_done(self) -> None:
        self.done(self.times.size, self.times.size)

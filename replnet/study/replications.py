"""Replications until there are enough of them, or every interval is narrow enough, or Ctrl-C.

An interval may be narrower than was asked for and still say little: where a copy is
hardly ever fresh, or hardly ever stale, few replications have any of it, and their spread
is the spread of those few. So beside the precision h, of a share v every half-width is to be at most

    SMALL min(v, 1 - v),                                                                   (1)

but for that alone a run does not go on for longer than one whose length nobody asked for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, final

from replnet.measure.estimate import FEWEST, Estimate
from replnet.measure.row import Row
from replnet.measure.verdict import ROUNDING

REPLICATIONS = 32  # of a run that does not say how many
EVENTS = {"array": 1e7, "step": 2e5}  # of a run whose length nobody asked for
LONGER = 4  # times the replications of a run whose rows differ
SMALL = 0.05
INTERRUPTED, LATE = "interrupted", "out of time"  # how `incomplete` begins after Ctrl-C, and past the deadline
MOST_EVENTS = 1e11  # where a search for a precision gives up
WORTH = 1.0  # seconds of work from which on it is spread, as workers take about as long to start
GROUP = 0.2  # seconds of work for a worker at a time,
SHARES = 16  # and so many of these at least, so that all end at about the same time

Progress = Callable[[float, str], None]
"""Called with the share that is done and a word about it."""

P = TypeVar("P")
Spread = Callable[[Sequence[Sequence[range]]], Iterable[tuple[int, list[P]]]]
"""Makes the replications of groups of ranges, by the place of the group."""


def shared_out(horizon: float, replications: int | None, rate: float, longest: float) -> tuple[int, float]:
    """How many replications and how long each; more of them if not said, where `longest` events are too few for one."""
    count = max(REPLICATIONS, math.ceil(horizon * rate / longest)) if replications is None else replications
    return count, horizon / count


class Judged(Protocol):
    """What replications amount to."""

    @property
    def measured(self) -> Sequence[Row]:
        """With their verdicts."""

    @property
    def estimates(self) -> Sequence[Estimate]:
        """All that is measured."""

    @property
    def sought(self) -> Sequence[Estimate]:
        """Shares of time that a precision is about."""

    @property
    def draws(self) -> Mapping[tuple[str, str], Any]:
        """What every replication measured."""

    def rows(self) -> list[Row]: ...


class _Late(Exception):  # noqa: N818
    """The time that a run may take is over."""


@final
@dataclass
class Replications(Generic[P]):
    """Paths so far, each of `length` units of time with about `events` events.

    `run` makes those of some numbers, `room` of them at a time, and `spread` those of many such ranges elsewhere, as
    they are done; `counted` says how many events and queries there were on one; `plenty` events are a long run.
    The first ones may be `known` already: what is decided on the way is the same as if they were made now. Each of
    `keep` is handed all paths whenever there are more.
    """

    first: int
    length: float
    events: float
    run: Callable[[range], list[P]]
    judge: Callable[[Sequence[P]], Judged]
    counted: Callable[[P], tuple[int, int]]
    plenty: float = EVENTS["array"]
    room: int = 1
    spread: Spread[P] | None = None
    known: Sequence[P] = ()
    keep: list[Callable[[Sequence[P]], None]] = field(default_factory=list)
    deadline: float = math.inf  # of time.monotonic(), after which no more are begun
    _each: float = math.inf  # seconds that a range takes here
    _first: bool = True  # whether none was made here
    _found: tuple[int, Judged] | None = None  # what so many paths amount to
    paths: list[P] = field(default_factory=list)
    incomplete: str = ""
    progress: Progress | None = None

    @property
    def found(self) -> Judged:
        """Of all paths so far; of large networks that takes seconds, so it is kept until there are more."""
        if self._found is None or self._found[0] != len(self.paths):
            self._found = len(self.paths), self.judge(self.paths)
        return self._found[1]

    @property
    def counts(self) -> tuple[int, int]:
        """Events and queries on all paths."""
        both = [self.counted(path) for path in self.paths]
        return sum(events for events, _ in both), sum(queries for _, queries in both)

    def all(self, precision: float | None, confirm: bool | None, progress: Progress | None) -> None:
        """The first ones, and more where that takes it: `confirm` runs longer always, never, or if a row differs."""
        self.progress = progress
        try:
            self._until(self.first)
            if precision is not None:
                self._reach(precision)
            if confirm or (confirm is None and any(row.verdict == "differ" for row in self.found.measured)):
                self._until(LONGER * len(self.paths))
        except KeyboardInterrupt:
            self.incomplete = f"{INTERRUPTED} after {len(self.paths)} replications"
        except _Late:
            self.incomplete = f"{LATE} after {len(self.paths)} replications"

    @property
    def stopped(self) -> bool:
        """Whether there is less than was asked for, and would be more if it went on."""
        return self.incomplete.startswith((INTERRUPTED, LATE))

    def _until(self, replications: int) -> None:
        self.paths += self.known[len(self.paths) : replications]
        done = range(len(self.paths), replications, self.room)
        ranges = [range(begin, min(begin + self.room, replications)) for begin in done]
        for at, some in enumerate(ranges):
            # What the first one takes may be to compile, and says nothing.
            if self.spread and self._each < math.inf and self._each * (len(ranges) - at) > WORTH:
                self._elsewhere(self.spread, ranges[at:])
                return
            self._look_at_the_clock()
            self._tell(replications)
            begun = time.perf_counter()
            self._add(self.run(some))
            self._each = math.inf if self._first else min(self._each, time.perf_counter() - begun)
            self._first = False

    def _add(self, paths: Sequence[P]) -> None:
        self.paths += paths
        for keep in self.keep:
            keep(self.paths)

    def _look_at_the_clock(self) -> None:
        if self.paths and time.monotonic() > self.deadline:
            raise _Late

    def _tell(self, replications: int) -> None:
        if self.progress:
            words = f"replication {len(self.paths) + 1} of {replications}"
            if len(self.paths) >= replications:
                words = "what they amount to"
            first = "" if self.paths else " (the very first run compiles the kernels)"
            self.progress(len(self.paths) / replications, words + first)

    def _elsewhere(self, spread: Spread[P], ranges: Sequence[range]) -> None:
        """In groups that are worth a message; what is there so far has no gaps."""
        size = max(1, min(int(GROUP / max(self._each, 1e-9)), len(ranges) // SHARES))
        groups = [ranges[at : at + size] for at in range(0, len(ranges), size)]
        early, now = dict[int, list[P]](), 0
        self._tell(ranges[-1].stop)
        for place, found in spread(groups):
            early[place] = found
            while now in early:
                self._add(early.pop(now))
                now += 1
            self._look_at_the_clock()
            self._tell(ranges[-1].stop)

    def _reach(self, precision: float) -> None:
        """Until every interval that there is has at most this half-width, and (1)."""
        self._until(FEWEST)
        most, plenty = (int(events / max(self.events, 1)) for events in (MOST_EVENTS, self.plenty))
        while True:
            sought = [estimate for estimate in self.found.sought if not estimate.doubt]
            widest = max((estimate.half_width for estimate in sought), default=0.0)
            if widest > precision and len(self.paths) >= most:
                self.incomplete = (
                    f"precision {precision:g} not reached: half-width {widest:.2g} after {MOST_EVENTS:g} events"
                )
                return
            small = self._needed(max(map(_too_wide, sought), default=0.0), plenty)
            need = max(self._needed(widest / precision, most), small)
            if need <= len(self.paths):
                return
            self._until(need)

    def _needed(self, times: float, most: int) -> int:
        """How many replications where the widest interval is so many times as wide as it may be."""
        if times <= 1:
            return 0
        # The half-width falls with the root of their number; a little more saves another round.
        return min(math.ceil(len(self.paths) * 1.05 * min(times, 4) ** 2), most)


def _too_wide(share: Estimate) -> float:
    """How many times as wide as (1) allows."""
    return share.half_width / max(SMALL * min(share.value, 1 - share.value), ROUNDING)

"""Replications until there are enough of them, or every interval is narrow enough, or time is over.

An interval may be narrower than was asked for and still say little: where a copy is
hardly ever fresh, or hardly ever stale, few replications have any of it, and their spread
is the spread of those few. So beside the precision h, of a share v every half-width is to be at most

    SMALL min(v, 1 - v),                                                                   (1)

but for that alone a run does not go on for longer than one whose length nobody asked for.

The first replications tell how far others will scatter and how long they take. What would take longer than REASON is
not begun, unless there is a deadline.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, final

from replnet.deadline import LATE, REASON, UnreasonableError, left, require_time
from replnet.measure.estimate import FEWEST, Estimate
from replnet.measure.row import Row
from replnet.measure.verdict import ROUNDING
from replnet.text.numbers import counted, span

REPLICATIONS = 32  # of a run that does not say how many
EVENTS = {"array": 1e7, "step": 2e5}  # of a run whose length nobody asked for
LONGER = 4  # times the replications of a run whose rows differ
SMALL = 0.05
INTERRUPTED = "interrupted"  # how `incomplete` begins after Ctrl-C; past a deadline with LATE
BRIEF = 600.0  # seconds of what is offered in its place
QUICKEST = 0.02  # seconds that as many events take at least as make a long run
LONG = 1000  # times a long run, from where on the first replications are looked at before the others are begun
STAGE = 100_000  # ranges that are planned at a time, as a list of all may take more memory than there is
WORTH = 1.0  # seconds of work from which on it is spread, as workers take about as long to start,
SOON = 0.1  # or this part of it
GROUP = 0.2  # seconds of work for a worker at a time,
SHARES = 32  # and so many of these at least, so that all end at about the same time

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
    workers: Callable[[], int] = lambda: 1  # that share them if they take long,
    soon: Callable[[], bool] = lambda: False  # and whether these begin at once
    _each: float = math.inf  # seconds that one takes here
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
            require_time()
            whole = self.first * self.length
            self._require_reason("horizon", whole, self.first)
            if self.first > FEWEST and self.first * self.events > LONG * self.plenty:
                self._until(FEWEST)
                self._require_reason("horizon", whole, self.first)
            self._until(self.first)
            if precision is not None:
                self._reach(precision)
            if confirm or (confirm is None and any(row.verdict == "differ" for row in self.found.measured)):
                self._until(LONGER * len(self.paths))
        except KeyboardInterrupt as why:
            self.incomplete = f"{why.args[0] if why.args else INTERRUPTED} after {len(self.paths)} replications"

    @property
    def stopped(self) -> bool:
        """Whether there is less than was asked for, and would be more if it went on."""
        return self.incomplete.startswith((INTERRUPTED, LATE))

    def _until(self, replications: int) -> None:
        while len(self.paths) < replications:
            self._stage(min(replications, len(self.paths) + STAGE * self.room))

    def _stage(self, replications: int) -> None:
        self.paths += self.known[len(self.paths) : replications]
        done = range(len(self.paths), replications, self.room)
        ranges = [range(begin, min(begin + self.room, replications)) for begin in done]
        for at, some in enumerate(ranges):
            # What the first one takes may be to compile, and says nothing.
            if self.spread and self._each < math.inf:
                work = self._each * (replications - some.start)
                if work > WORTH or (work > SOON * WORTH and self.soon()):
                    self._elsewhere(self.spread, ranges[at:])
                    return
            if self.paths:
                require_time()
            self._tell(replications)
            begun = time.perf_counter()
            self._add(self.run(some))
            each = (time.perf_counter() - begun) / len(some)
            self._each = math.inf if self._first else min(self._each, each)
            self._first = False

    def _add(self, paths: Sequence[P]) -> None:
        self.paths += paths
        for keep in self.keep:
            keep(self.paths)

    def _tell(self, replications: int) -> None:
        if self.progress:
            words = f"replication {len(self.paths) + 1} of {replications}"
            if len(self.paths) >= replications:
                words = "what they amount to"
            first = "" if self.paths else " (the very first run compiles the kernels)"
            self.progress(len(self.paths) / replications, words + first)

    def _elsewhere(self, spread: Spread[P], ranges: Sequence[range]) -> None:
        """In groups that are worth a message; what is there so far has no gaps."""
        size = max(1, min(int(GROUP / max(self._each * self.room, 1e-9)), len(ranges) // SHARES))
        groups = [ranges[at : at + size] for at in range(0, len(ranges), size)]
        early, now = dict[int, list[P]](), 0
        self._tell(ranges[-1].stop)
        for place, found in spread(groups):
            early[place] = found
            while now in early:
                self._add(early.pop(now))
                now += 1
            require_time()
            self._tell(ranges[-1].stop)

    def _reach(self, precision: float) -> None:
        """Until every interval that there is has at most this half-width, and (1)."""
        self._until(FEWEST)
        most, plenty = 0, int(self.plenty / max(self.events, 1))
        while True:
            sought = [estimate for estimate in self.found.sought if not estimate.doubt]
            widest = max((estimate.half_width for estimate in sought), default=0.0)
            whole = self._needed(widest / precision, math.inf)
            if not most:
                self._require_reason("precision", precision, whole)
                # What scatters ever more as it goes on never gets there.
                most = max(LONGER * whole, plenty)
            if widest > precision and len(self.paths) >= most:
                wide = f"half-width {widest:.2g} after {len(self.paths) * self.events:.2g} events"
                self.incomplete = f"precision {precision:g} not reached: {wide}"
                return
            small = min(self._needed(max(map(_too_wide, sought), default=0.0)), plenty)
            need = max(min(self._needed(widest / precision), most), small)
            if need <= len(self.paths):
                return
            self._until(need)

    def _needed(self, times: float, most: float = 4.0) -> int:
        """How many replications where the widest interval is so many times as wide as it may be; by steps of `most`."""
        # The half-width falls with the root of their number; a little more saves another round.
        return math.ceil(len(self.paths) * 1.05 * min(times, most) ** 2) if times > 1 else 0

    # ---- What it will take

    def _require_reason(self, field: str, value: float, replications: int) -> None:
        """That so many, which this value of a field asks for, take no longer than REASON, or there is a deadline."""
        if left() is not None or replications <= len(self.paths):
            return
        workers = self.workers()
        wait = replications * (self._pace() if self.paths else self.events / self.plenty * QUICKEST) / workers
        if wait > REASON:
            times = (wait / BRIEF) ** (0.5 if field == "precision" else -1.0)
            raise UnreasonableError(
                f"{field}: {value:g} takes about {replications * self.events:.2g} events, {span(wait)} on "
                f"{counted(workers, 'CPU')} ({field} {value * times:.2g} takes {span(BRIEF)}; a budget, such as 10m, "
                "ends it then with what there is)"
            )

    def _pace(self) -> float:
        """Seconds that a replication takes here."""
        for _ in range(2 if self._each == math.inf else 0):  # all were known, or there was but one range
            begun = time.perf_counter()
            self.run(range(self.room))
            self._each = (time.perf_counter() - begun) / self.room
        return self._each


def _too_wide(share: Estimate) -> float:
    """How many times as wide as (1) allows."""
    return share.half_width / max(SMALL * min(share.value, 1 - share.value), ROUNDING)

"""Replications until there are enough of them, or every interval is narrow enough, or time is over.

An interval may be narrower than was asked for and still say little: where a copy is
hardly ever fresh, or hardly ever stale, few replications show it in the rarer state, and their
spread is the spread of those few. So beside the precision h, every half-width of a share v must be at most

    SMALL min(v, 1 - v),                                                                   (1)

but to meet (1) alone a run goes on no longer than one without a horizon.

The first replications tell how far others will scatter and how long they take. A run that would take longer than
REASONABLE_SECONDS (deadline.py) is refused, unless it has a deadline.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar, final

from replnet.deadline import OUT_OF_TIME, UnreasonableError, reasonable_seconds, require_time, seconds_left
from replnet.measure import FEWEST_REPLICATIONS, ROUNDING, Estimate, Row
from replnet.text import count_text, span

REPLICATIONS = 32  # of a run without a number of replications
EVENTS = {"array": 1e7, "step": 2e5}  # by engine, of a run without a horizon: a long run
LONGER = 4  # times the replications of a run whose rows differ
SMALL = 0.05
INTERRUPTED = "interrupted"  # how `incomplete` begins after Ctrl-C; past a deadline with LATE
SUGGESTED_SECONDS = 600.0  # of the run that is suggested in place of a refused one
LEAST_LONG_RUN_SECONDS = 0.02  # that a long run takes, for a bound before anything was timed
LONG_RUNS_BEFORE_CHECK = 1000  # a run of more long runs' events is checked again after its first replications
MOST_RANGES_PLANNED = 100_000  # at a time, as a list of all may take more memory than there is
LEAST_SHARED_SECONDS = 1.0  # of work, from which on workers share it, as they take about as long to start
LEAST_SHARED_SECONDS_READY = 0.1  # the same where workers are running already
GROUP_SECONDS = 0.2  # of work for a worker at a time
LEAST_GROUPS = 32  # so that all workers end at about the same time

Progress = Callable[[float, str], None]
"""Called with the share that is done and a word about it."""

P = TypeVar("P")
RunElsewhere = Callable[[Sequence[Sequence[range]]], Iterable[tuple[int, list[P]]]]
"""Makes the replications of groups of ranges on workers: yields (place of the group, its paths) in any order."""


def split_horizon(horizon: float, replications: int | None, rate: float, longest: float) -> tuple[int, float]:
    """Return the number of replications and the length of each, which together last for `horizon` units of time.

    The number is `replications`; if that is None it is REPLICATIONS, or more so that each has at most `longest` events
    at `rate` events per unit of time. There is no cap on it.
    """
    count = max(REPLICATIONS, math.ceil(horizon * rate / longest)) if replications is None else replications
    return count, horizon / count


class Judgement(Protocol):
    """Estimates and judged rows from the paths of some replications, such as run/findings makes them."""

    @property
    def measured(self) -> Sequence[Row]:
        """The measured rows with their verdicts."""

    @property
    def estimates(self) -> Sequence[Estimate]:
        """The estimates behind all measured rows, in the order of these."""

    @property
    def precision_estimates(self) -> Sequence[Estimate]:
        """The estimates whose half-widths a `precision` bounds."""

    @property
    def draws(self) -> Mapping[tuple[str, str], Any]:
        """The measurements by (group, metric): two arrays with an element per replication, amounts and their wholes.

        Such are the fresh time and the time with a copy, so that an amount over its whole is a share.
        """

    def rows(self) -> list[Row]:
        """Return all rows of the table, measured ones first."""


@final
@dataclass
class Replications(Generic[P]):
    """A growing series of paths, each of `length` units of time with about `events` events.

    `first` is how many to make unless a precision or a difference asks for more. `run` makes those of a range of
    numbers in this process, at most `batch` of them at a time; `run_elsewhere`, if given, those of many ranges on
    workers. `judge` turns paths into estimates, and `count` a path into its numbers of events and queries. `long_run`
    events are as many as a run without a horizon has. The first paths may be `stored` from an earlier run: all
    decisions are the same as if they were made now. `listeners` are called with these replications whenever there are
    more paths. `workers` returns how many share long work, and `workers_ready` whether they share short work too.
    `paths` are those made so far, in order, and `incomplete` says why the run ended early, empty if it did not.
    """

    first: int  # how many replications to make unless a precision or a difference asks for more
    length: float
    events: float
    run: Callable[[range], list[P]]
    judge: Callable[[Sequence[P]], Judgement]
    count: Callable[[P], tuple[int, int]]
    long_run: float = EVENTS["array"]
    batch: int = 1
    run_elsewhere: RunElsewhere[P] | None = None
    stored: Sequence[P] = ()
    listeners: list[Callable[[Replications[P]], None]] = field(default_factory=list)
    workers: Callable[[], int] = lambda: 1  # how many share the work if it takes long
    workers_ready: Callable[[], bool] = lambda: False  # whether they share even little work
    _seconds_each: float = math.inf  # that a replication takes in this process
    _none_run_here: bool = True
    _judged: tuple[int, Judgement] | None = None  # the last judgement, and of how many paths it is
    paths: list[P] = field(default_factory=list)
    incomplete: str = ""
    progress: Progress | None = None

    @property
    def judgement(self) -> Judgement:
        """The estimates and rows of all paths so far, computed again only when there are more paths."""
        if self._judged is None or self._judged[0] != len(self.paths):
            self._judged = len(self.paths), self.judge(self.paths)
        return self._judged[1]

    @property
    def counts(self) -> tuple[int, int]:
        """The numbers of events and of queries, summed over all paths so far; queries are no events."""
        counts = [self.count(path) for path in self.paths]
        return sum(events for events, _ in counts), sum(queries for _, queries in counts)

    def run_all(self, precision: float | None, confirm: bool | None, progress: Progress | None) -> None:
        """Make the first replications, then more until the intervals of freshness are as narrow as `precision` asks.

        A `precision` is the largest half-width; None asks for no more. If `confirm`, or if it is None and a row differs
        from its prediction, the run then goes on to LONGER times as many. `progress` is called with the share that is
        done, 0 to 1, and words. Ctrl-C, deadlines, or values that scatter too much end the run early, which
        `incomplete` then says. UnreasonableError says that it would take too long without a deadline.
        """
        self.progress = progress
        try:
            require_time()
            whole = self.first * self.length
            self._require_reason("horizon", whole, self.first)
            if self.first > FEWEST_REPLICATIONS and self.first * self.events > LONG_RUNS_BEFORE_CHECK * self.long_run:
                self._run_until(FEWEST_REPLICATIONS)
                self._require_reason("horizon", whole, self.first)
            self._run_until(self.first)
            if precision is not None:
                self._reach(precision)
            if confirm or (confirm is None and any(row.verdict == "differ" for row in self.judgement.measured)):
                self._run_until(LONGER * len(self.paths))
        except KeyboardInterrupt as why:
            self.incomplete = f"{why.args[0] if why.args else INTERRUPTED} after {len(self.paths)} replications"

    @property
    def stopped(self) -> bool:
        """Whether Ctrl-C or a deadline ended it, so that running it again would add replications."""
        return self.incomplete.startswith((INTERRUPTED, OUT_OF_TIME))

    def _run_until(self, replications: int) -> None:
        """Add paths to `paths` until there are so many `replications` in all; do nothing if there are."""
        while len(self.paths) < replications:
            self._run_stage(min(replications, len(self.paths) + MOST_RANGES_PLANNED * self.batch))

    def _run_stage(self, replications: int) -> None:
        """Add paths until there are so many `replications` in all: stored ones, then new ones here or on workers.

        Workers share a run if that pays; it begins here, to see how long a replication takes. Raises OutOfTime past a
        deadline.
        """
        self.paths += self.stored[len(self.paths) : replications]
        begins = range(len(self.paths), replications, self.batch)
        ranges = [range(begin, min(begin + self.batch, replications)) for begin in begins]
        for place, numbers in enumerate(ranges):
            # The first one may take most of its time to compile, so its time does not count.
            if self.run_elsewhere and self._seconds_each < math.inf:
                work = self._seconds_each * (replications - numbers.start)
                if work > LEAST_SHARED_SECONDS or (work > LEAST_SHARED_SECONDS_READY and self.workers_ready()):
                    self._run_on_workers(self.run_elsewhere, ranges[place:])
                    return
            if self.paths:
                require_time()
            self._report(replications)
            begun = time.perf_counter()
            self._add(self.run(numbers))
            each = (time.perf_counter() - begun) / len(numbers)
            self._seconds_each = math.inf if self._none_run_here else min(self._seconds_each, each)
            self._none_run_here = False

    def _add(self, paths: Sequence[P]) -> None:
        """Append paths, and tell the listeners."""
        self.paths += paths
        for listen in self.listeners:
            listen(self)

    def _report(self, replications: int) -> None:
        """Call `progress`, if there is one, with the share that is done of `replications`, the number to be made."""
        if self.progress:
            words = f"replication {len(self.paths) + 1} of {replications}"
            if len(self.paths) >= replications:
                words = "judging the results"
            first = "" if self.paths else " (the very first run compiles the kernels)"
            self.progress(len(self.paths) / replications, words + first)

    def _run_on_workers(self, run_elsewhere: RunElsewhere[P], ranges: Sequence[range]) -> None:
        """Add the paths of these ranges, made by workers in groups large enough to be worth a message.

        `run_elsewhere` yields (place of a group, its paths) in any order. Paths are added in order, so that an
        interrupt leaves no gaps.
        """
        batch_seconds = max(self._seconds_each * self.batch, 1e-9)
        size = max(1, min(int(GROUP_SECONDS / batch_seconds), len(ranges) // LEAST_GROUPS))
        groups = [ranges[begin : begin + size] for begin in range(0, len(ranges), size)]
        early, next_place = dict[int, list[P]](), 0
        self._report(ranges[-1].stop)
        for place, paths in run_elsewhere(groups):
            early[place] = paths
            while next_place in early:
                self._add(early.pop(next_place))
                next_place += 1
            require_time()
            self._report(ranges[-1].stop)

    def _reach(self, precision: float) -> None:
        """Add replications until each estimate that a precision bounds has a half-width of at most `precision`.

        Half-widths should also be at most SMALL times the share that is estimated, or one minus it if that is less, but
        for that alone a run goes on no longer than one without a horizon. If values scatter so much that `precision` is
        not reached, `incomplete` says so. Raises UnreasonableError if it would take too long.
        """
        self._run_until(FEWEST_REPLICATIONS)
        most, of_long_run = 0, int(self.long_run / max(self.events, 1))
        while True:
            shares = [estimate for estimate in self.judgement.precision_estimates if not estimate.doubt]
            widest = max((estimate.half_width for estimate in shares), default=0.0)
            whole = self._enough_replications(widest / precision, math.inf)
            if not most:
                self._require_reason("precision", precision, whole)
                # Values that scatter ever more as the run goes on never get there.
                most = max(LONGER * whole, of_long_run)
            if widest > precision and len(self.paths) >= most:
                wide = f"half-width {widest:.2g} after {len(self.paths) * self.events:.2g} events"
                self.incomplete = f"precision {precision:g} not reached: {wide}"
                return
            small = min(self._enough_replications(max(map(_excess_width, shares), default=0.0)), of_long_run)
            need = max(min(self._enough_replications(widest / precision), most), small)
            if need <= len(self.paths):
                return
            self._run_until(need)

    def _enough_replications(self, excess: float, most: float = 4.0) -> int:
        """Return how many replications in all make intervals as narrow as they must be; 0 if they are already.

        The half-width of the widest is now `excess` times what it may be, of which at most a factor `most` is made up
        for at a time.
        """
        # The half-width falls with the root of their number; a little more saves another round.
        return math.ceil(len(self.paths) * 1.05 * min(excess, most) ** 2) if excess > 1 else 0

    # ---- What it will take

    def _require_reason(self, field: str, value: float, replications: int) -> None:
        """Raise UnreasonableError if `replications` in all take too long for a run without a deadline.

        With a deadline, or if there are so many already, do nothing. The error names the `field`, such as precision,
        whose `value` asks for them, and a value that takes less.
        """
        if seconds_left() is not None or replications <= len(self.paths):
            return
        workers = self.workers()
        quickest = self.events / self.long_run * LEAST_LONG_RUN_SECONDS
        wait = replications * (self._pace() if self.paths else quickest) / workers
        if wait > reasonable_seconds():
            times = (wait / SUGGESTED_SECONDS) ** (0.5 if field == "precision" else -1.0)
            raise UnreasonableError(
                f"{field}: {value:g} takes about {replications * self.events:.2g} events, {span(wait)} on "
                f"{count_text(workers, 'CPU')} ({field} {value * times:.2g} takes {span(SUGGESTED_SECONDS)}; a budget, "
                "such as 10m, ends it then with what there is)"
            )

    def _pace(self) -> float:
        """Return the wall-clock seconds that a replication takes here, after timing two batches if none was timed."""
        for _ in range(2 if self._seconds_each == math.inf else 0):  # all were stored, or there was only one range
            begun = time.perf_counter()
            self.run(range(self.batch))
            self._seconds_each = (time.perf_counter() - begun) / self.batch
        return self._seconds_each


def _excess_width(share: Estimate) -> float:
    """Return by what factor the interval of a share is too wide to say something about a small share.

    Its half-width should be at most SMALL times the share, or one minus it, whichever is less; the factor is above 1 if
    it is more.
    """
    return share.half_width / max(SMALL * min(share.value, 1 - share.value), ROUNDING)

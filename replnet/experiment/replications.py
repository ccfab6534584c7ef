"""Replications until there are enough of them, or every interval is narrow enough, or Ctrl-C."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar, final

from replnet.measure.estimate import FEWEST

LONGER = 4  # times the replications of a run whose rows differ
INTERRUPTED = "interrupted"  # how `incomplete` begins after Ctrl-C
MOST_EVENTS = 1e11  # where a search for a precision gives up

Progress = Callable[[float, str], None]
"""Called with the share that is done and a word about it."""

P = TypeVar("P")


class Judged(Protocol):
    """What replications amount to."""

    @property
    def words(self) -> Sequence[str]:
        """The verdicts."""

    @property
    def widest(self) -> float:
        """The half-width of the widest interval that the precision is about."""


@final
@dataclass
class Replications(Generic[P]):
    """Paths so far: `run` makes those of some numbers, `room` of them at a time, with about `events` in each."""

    run: Callable[[range], list[P]]
    judge: Callable[[Sequence[P]], Judged]
    events: float
    room: int = 1
    progress: Progress | None = None
    paths: list[P] = field(default_factory=list)
    incomplete: str = ""

    def all(self, replications: int, precision: float | None, confirm: bool | None) -> None:
        """So many, and more where that takes it: `confirm` runs longer always, never, or if a row differs."""
        try:
            self.until(replications)
            if precision is not None:
                self.reach(precision)
            if confirm or (confirm is None and "differ" in self.judge(self.paths).words):
                self.until(LONGER * len(self.paths))
        except KeyboardInterrupt:
            self.incomplete = f"{INTERRUPTED} after {len(self.paths)} replications"

    def until(self, replications: int) -> None:
        while len(self.paths) < replications:
            if self.progress:
                words = f"replication {len(self.paths) + 1} of {replications}"
                first = "" if self.paths else " (the very first run compiles the kernels)"
                self.progress(len(self.paths) / replications, words + first)
            self.paths += self.run(range(len(self.paths), min(len(self.paths) + self.room, replications)))

    def reach(self, precision: float) -> None:
        """Add replications until every interval that there is has at most this half-width."""
        if len(self.paths) < FEWEST:
            self.until(FEWEST)
        most = int(MOST_EVENTS / max(self.events, 1))
        while (widest := self.judge(self.paths).widest) > precision:
            if len(self.paths) >= most:
                self.incomplete = (
                    f"precision {precision:g} not reached: half-width {widest:.2g} after {MOST_EVENTS:g} events"
                )
                return
            # The half-width falls with the root of their number; a little more saves another round.
            need = math.ceil(len(self.paths) * 1.05 * (widest / precision) ** 2)
            self.until(min(need, 16 * len(self.paths), most))

"""One clock for all hosts: the driver's monotonic one, and how far those of other machines are from it.

A host that says "my clock shows h" between the driver's instants a and b has an
offset of h - (a + b) / 2, wrong by at most (b - a) / 2 whatever the way there
and back took. Of several answers the quickest is the best.

A process that was stopped or swapped out finds that much time has passed in which
it neither worked nor meant to wait, which is no sign of a slow machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, final

CLOCK_READINGS = 20  # of which the best is taken
LEAST_STANDSTILL = 2.0  # seconds; all processes nap for less


class WallClock(Protocol):
    """The time of a process, in seconds: the module `time`, or a clock that a test turns."""

    def monotonic(self) -> float:
        """Return the time of a clock that never goes back, in seconds from an instant of its own."""

    def process_time(self) -> float:
        """Return the CPU seconds that the process has used."""

    def sleep(self, seconds: float, /) -> None:
        """Wait for so many seconds."""


@final
@dataclass(frozen=True)
class Offset:
    """The time that a host's clock shows when the driver's shows zero, and how wrong that may be; both in seconds.

    `seconds` is above 0 if the host's clock is ahead, and may be off by `error` to either side.
    """

    seconds: float = 0.0
    error: float = 0.0


@final
@dataclass(frozen=True)
class Standstill:
    """A time in which a process, named by `who`, could not run, as it was stopped or swapped out.

    It began at the instant `at` of model time and took so many `seconds` of the clock. `nodes` names those that were
    late by it, and `spared` is the number of processes that were to be killed meanwhile, and were not.
    """

    who: str
    at: float  # model time
    seconds: float
    nodes: tuple[str, ...] = ()  # those that were late by it
    spared: int = 0  # number of processes that were to be killed meanwhile, and were not

    def __str__(self) -> str:
        spared = f", so that {self.spared} of the planned crashes killed no process" if self.spared else ""
        return f"{self.who} stood still for {self.seconds:.1f} s at t = {self.at:.4g}{spared}"


@final
class Heartbeat:
    """A measure of how long a process stood still; it must beat much more often than every LEAST_STANDSTILL seconds."""

    def __init__(self, clock: WallClock, since: float = math.inf) -> None:
        """`since` is the instant of `clock` from which the first beat measures; if it is not over yet, that is now."""
        self._clock = clock
        self._last, self._worked = min(clock.monotonic(), since), clock.process_time()

    def beat(self) -> float:
        """Return the seconds for which the process stood still since the last beat: neither waited for nor worked.

        They are the seconds of the clock less the CPU time used; 0 if they are at most LEAST_STANDSTILL.
        """
        now, worked = self._clock.monotonic(), self._clock.process_time()
        still = now - self._last - (worked - self._worked)
        self._last, self._worked = now, worked
        return still if still > LEAST_STANDSTILL else 0.0


def boot_id() -> str:
    """Return an id of this machine since its start, empty if there is none.

    Processes with the same id share the monotonic clock.
    """
    boot = Path("/proc/sys/kernel/random/boot_id")
    return boot.read_text().strip() if boot.exists() else ""


def measure_offset(ask: Callable[[], float], clock: Callable[[], float], rounds: int = CLOCK_READINGS) -> Offset:
    """Return the offset of the clock that `ask` reads from the clock that `clock` reads.

    It is above 0 if the former is ahead. Both return seconds; `ask` may take long. Of `rounds` readings the one with
    the least error counts.
    """
    offsets = []
    for _ in range(rounds):
        before, answer = clock(), ask()
        after = clock()
        offsets.append(Offset(answer - (before + after) / 2, (after - before) / 2))
    return min(offsets, key=lambda o: o.error)

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
from typing import final

ROUNDS = 20
STILL = 2.0  # seconds for which a process has to do nothing before it is said; all of them nap for less


@final
@dataclass(frozen=True)
class Offset:
    """What a host's clock shows at the driver's zero; both in seconds."""

    seconds: float = 0.0
    error: float = 0.0


@final
@dataclass(frozen=True)
class Standstill:
    """Who did nothing for a while, and not by their own will."""

    who: str
    at: float  # model time
    seconds: float
    nodes: tuple[str, ...] = ()  # that were late by it
    spared: int = 0  # processes that were to be killed meanwhile, and were not

    def __str__(self) -> str:
        spared = f", so that {self.spared} of the planned crashes killed no process" if self.spared else ""
        return f"{self.who} stood still for {self.seconds:.1f} s at t = {self.at:.4g}{spared}"


@final
class Heartbeat:
    """Tells how long a process stood still that beats much more often than every STILL seconds while it runs."""

    def __init__(self, clock: Callable[[], float], cpu: Callable[[], float], since: float = math.inf) -> None:
        """`cpu` is the time for which the process has worked; `since`: when it should have begun, if that is over."""
        self._clock, self._cpu = clock, cpu
        self._last, self._worked = min(clock(), since), cpu()

    def beat(self) -> float:
        """The seconds for which it stood still since the last beat; 0 if that is nothing to speak of."""
        now, worked = self._clock(), self._cpu()
        still = now - self._last - (worked - self._worked)
        self._last, self._worked = now, worked
        return still if still > STILL else 0.0


def machine() -> str:
    """Processes of one machine since its start share the monotonic clock."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return boot.read_text().strip() if boot.exists() else ""


def offset(ask: Callable[[], float], clock: Callable[[], float], rounds: int = ROUNDS) -> Offset:
    """Of the clock that `ask` reads, from here."""
    found = []
    for _ in range(rounds):
        before, there = clock(), ask()
        after = clock()
        found.append(Offset(there - (before + after) / 2, (after - before) / 2))
    return min(found, key=lambda o: o.error)

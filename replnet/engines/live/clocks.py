"""One clock for all hosts: the driver's monotonic one, and how far those of other machines are from it.

A host that says "my clock shows h" between the driver's instants a and b has an
offset of h - (a + b) / 2, wrong by at most (b - a) / 2 whatever the way there
and back took. Of several answers the quickest is the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import final

ROUNDS = 20


@final
@dataclass(frozen=True)
class Offset:
    """What a host's clock shows at the driver's zero; both in seconds."""

    seconds: float = 0.0
    error: float = 0.0


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

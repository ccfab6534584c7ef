"""What every host is told of a run: which nodes are its own, and what they have learnt so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, final

from replnet.engines.plan import Plan
from replnet.engines.step import Present
from replnet.engines.wiring import Instants


@final
@dataclass(frozen=True)
class Part:
    """What one host needs to know of a run."""

    me: int
    at: tuple[int, ...]  # the host of every node
    seed: int
    horizon: float
    sampled: bool
    presents: tuple[Present, ...]  # of its own nodes, by replication
    logged: bool = False  # whether every event is handed on
    incarnation: int = 0
    since: float = 0.0  # when it goes live; wakes up to here are over

    def reborn(self, incarnation: int, since: float) -> Part:
        """The same nodes without memory: replicas blank, nothing under way."""
        blank = tuple(Present({}, [], {}, present.ages, None) for present in self.presents)
        return replace(self, presents=blank, incarnation=incarnation, since=since)

    def coming(self, instants: Instants, process: int) -> tuple[Iterator[float], int]:
        """The instants of a process after `since`, and how many of these come before time zero.

        That number is negative if some have passed since then: choices are numbered by
        wakes from time zero on, so whoever begins late goes on where the numbers are by then.
        """
        coming, before = instants.of(process), instants.before[process]
        if self.incarnation == 0:
            return coming, before
        for at in coming:
            if at > self.since:
                return chain([at], coming), before
            before -= 1
        raise AssertionError("processes have no end")


def parts(plan: Plan, at: tuple[int, ...], presents: list[Present], run: Mapping[str, Any]) -> list[Part]:
    """What every host needs, of what the past has left behind in each replication; `run`: the seed and the like."""
    host = dict(zip(plan.names, at, strict=True))

    def own(present: Present, me: int) -> Present:
        return Present(
            {name: kept for name, kept in present.memories.items() if host[name] == me},
            [gone for gone in present.under_way if host[gone[1]] == me],
            {pair: n for pair, n in present.said.items() if host[pair[0]] == me},
            present.ages,
            present.lines,
        )

    return [Part(me, at, presents=tuple(own(present, me) for present in presents), **run) for me in range(max(at) + 1)]

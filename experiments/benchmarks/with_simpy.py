"""The workloads as SimPy processes: one generator per point process."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import simpy
from workloads import SOURCE, Interval, Run, Workload


def run(work: Workload, horizon: float, seed: int) -> Run:
    site = _Site(work, random.Random(seed))
    site.env.run(until=horizon)
    site.publish(horizon)
    fresh = [total / (size * horizon) for total, size in zip(site.total, work.sizes, strict=True)]
    return Run(site.events, horizon, fresh)


class _Site:
    """Version numbers held by every node; the source's is the current one.

    Fresh time is added up as (moment of going stale) - (moment of becoming
    fresh): all fresh replicas go stale at once, when the source changes.
    """

    def __init__(self, work: Workload, chance: random.Random) -> None:
        self.env = simpy.Environment()
        self.events = 0
        self.held = [1] + [0] * sum(work.sizes)
        self.levels = work.levels
        self.total, self.holders = [0.0] * len(work.sizes), [0] * len(work.sizes)
        self.env.process(self.updates(waits(work.updates, chance)))
        for node in range(1, len(self.held)):
            above, among = work.upstreams[node], len(self.held) - 2
            self.env.process(self.pulls(node, waits(work.downloads, chance), lambda above=above: above))
            if work.polls:
                others = [other for other in range(1, len(self.held)) if other != node]
                pick = lambda others=others, among=among: others[int(chance.random() * among)]  # noqa: E731
                self.env.process(self.pulls(node, waits(work.polls, chance), pick))

    def updates(self, wait: Callable[[], float]) -> Iterator[Any]:
        while True:
            yield self.env.timeout(wait())
            self.events += 1
            self.held[SOURCE] += 1
            self.publish(self.env.now)

    def publish(self, now: float) -> None:
        """Everyone who was fresh is so no more."""
        for level, count in enumerate(self.holders):
            self.total[level] += count * now
            self.holders[level] = 0

    def pulls(self, node: int, wait: Callable[[], float], pick: Callable[[], int]) -> Iterator[Any]:
        env, held, level = self.env, self.held, self.levels[node]
        while True:
            yield env.timeout(wait())
            self.events += 1
            got = held[pick()]
            if got > held[node]:
                held[node] = got
                if got == held[SOURCE]:
                    self.holders[level] += 1
                    self.total[level] -= env.now


def waits(law: Interval, chance: random.Random) -> Callable[[], float]:
    rate, alpha = law.rate, law.alpha
    if law.family == "exponential":
        return lambda: chance.expovariate(rate)
    if law.family == "constant":
        return lambda: 1 / rate
    scale = (alpha - 1) / rate
    return lambda: scale * (chance.paretovariate(alpha) - 1)

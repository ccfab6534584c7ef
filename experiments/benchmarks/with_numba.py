"""The workloads as one compiled loop over a binary heap, with `np.random`: what a user would write first."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from workloads import SOURCE, Interval, Run, Workload

FAMILIES = ("exponential", "constant", "pareto")


def run(work: Workload, horizon: float, seed: int) -> Run:
    polls = work.polls or Interval("constant", 0)
    laws = [
        (FAMILIES.index(law.family), float(law.rate), float(law.alpha)) for law in (work.updates, work.downloads, polls)
    ]
    upstreams, levels = np.array(work.upstreams), np.array(work.levels)
    events, total = simulate(upstreams, levels, *laws, float(horizon), seed)
    return Run(events, horizon, (total / np.array(work.sizes) / horizon).tolist())


@njit
def wait(law: Any) -> float:
    family, rate, alpha = law
    if family == 0:
        return np.random.exponential(1 / rate)  # noqa: NPY002  the plain way in Numba
    if family == 1:
        return 1 / rate
    return (alpha - 1) / rate * np.random.pareto(alpha)  # noqa: NPY002


@njit
def settle(when: Any, who: Any, at: int) -> None:
    """Let the entry at `at` sink until the heap is in order again."""
    time, process, size = when[at], who[at], when.size
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and when[child + 1] < when[child]:
            child += 1
        if when[child] >= time:
            break
        when[at], who[at] = when[child], who[child]
        at = child
    when[at], who[at] = time, process


@njit
def begin(when: Any, who: Any, replicas: int, updates: Any, downloads: Any, polls: Any) -> None:
    """The first wake of every process: the source, downloads, polls."""
    for q in range(when.size):
        who[q] = q
        when[q] = wait(updates) if q == 0 else wait(downloads) if q <= replicas else wait(polls)
    for at in range(when.size // 2, -1, -1):
        settle(when, who, at)


@njit
def simulate(upstreams: Any, levels: Any, updates: Any, downloads: Any, polls: Any, horizon: float, seed: int) -> Any:
    np.random.seed(seed)  # noqa: NPY002
    replicas = upstreams.size - 1
    processes = 1 + replicas + (replicas if polls[1] > 0 else 0)
    when, who = np.empty(processes), np.empty(processes, np.int64)
    begin(when, who, replicas, updates, downloads, polls)
    held = np.zeros(replicas + 1, np.int64)
    held[SOURCE] = 1
    total, holders, events = np.zeros(levels.max() + 1), np.zeros(levels.max() + 1, np.int64), 0
    while when[0] < horizon:
        now, process = when[0], who[0]
        events += 1
        if process == 0:
            held[SOURCE] += 1
            for level in range(total.size):
                total[level] += holders[level] * now
                holders[level] = 0
            when[0] = now + wait(updates)
        else:
            if process <= replicas:
                node, asked = process, upstreams[process]
                when[0] = now + wait(downloads)
            else:
                node, asked = process - replicas, np.random.randint(1, replicas)  # noqa: NPY002
                asked += asked >= node
                when[0] = now + wait(polls)
            if held[asked] > held[node]:
                held[node] = held[asked]
                if held[node] == held[SOURCE]:
                    holders[levels[node]] += 1
                    total[levels[node]] -= now
        settle(when, who, 0)
    return events, total + holders * horizon

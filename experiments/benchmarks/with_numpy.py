"""Sources and trees as NumPy arrays, without a loop over events.

Time goes in slices that fit the cache. A copy is represented by the instant at
which it goes stale, the first update after it left the source; a download
takes over the instant of whatever copy was there. Polls cannot be said this
way: what a peer holds depends on polls just before.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from workloads import SOURCE, Interval, Run, Workload

Floats = npt.NDArray[np.float64]
SLICE = 20_000  # events of one process, or of the whole tree if it has more processes than ten


@dataclass
class _Instants:
    """A renewal process, handed out slice by slice."""

    law: Interval
    rng: np.random.Generator
    block: int
    coming: Floats = field(default_factory=lambda: np.zeros(0))
    last: float = 0.0

    def until(self, end: float) -> Floats:
        """Those before `end`; at least one is known beyond."""
        while self.last < end:
            more = self.last + np.cumsum(draw(self.law, self.rng, self.block))
            self.coming, self.last = np.concatenate([self.coming, more]), float(more[-1])
        cut = int(self.coming.searchsorted(end))
        out, self.coming = self.coming[:cut], self.coming[cut:]
        return out


def draw(law: Interval, rng: np.random.Generator, n: int) -> Floats:
    if law.family == "exponential":
        return rng.exponential(1 / law.rate, n)
    if law.family == "constant":
        return np.full(n, 1 / law.rate)
    return (law.alpha - 1) / law.rate * rng.pareto(law.alpha, n)


def run(work: Workload, horizon: float, seed: int) -> Run:
    rng = np.random.default_rng(seed)
    slices = max(round(horizon * max(work.rate / 10, work.updates.rate) / SLICE), 1)
    edges = np.linspace(0, horizon, slices + 1)
    laws = [work.updates] + [work.downloads] * (len(work.levels) - 1)
    blocks = [int(1.02 * law.rate * edges[1]) + 16 for law in laws]
    processes = [_Instants(law, rng, block) for law, block in zip(laws, blocks, strict=True)]
    stale = np.zeros(len(laws))  # when the copy goes stale with which a node enters the slice
    total, events = np.zeros(len(work.sizes)), 0
    for begin, end in pairwise(edges.tolist()):
        events += _slice(work, processes, stale, total, begin, end)
    return Run(events, horizon, (total / np.array(work.sizes) / horizon).tolist())


def _slice(work: Workload, processes: list[_Instants], stale: Floats, total: Floats, begin: float, end: float) -> int:
    """Adds the fresh time of one slice to `total`; gives back its events."""
    updates = processes[SOURCE].until(end)
    changes = np.append(updates, processes[SOURCE].coming[0])
    events = updates.size
    feeding, held = set(work.upstreams), {}
    for node in range(1, len(processes)):
        downloads = processes[node].until(end)
        events += downloads.size
        above = work.upstreams[node]
        if above == SOURCE:
            goes = changes[changes.searchsorted(downloads, side="right")]
        else:
            when, what = held[above]
            goes = what[when.searchsorted(downloads, side="right") - 1]
        # Entering the slice counts as a download of one's own copy.
        when, what = np.append(begin, downloads), np.append(stale[node], goes)
        until = np.minimum(what, np.append(downloads, end))
        total[work.levels[node]] += np.maximum(until - when, 0.0).sum()
        stale[node] = what[-1]
        if node in feeding:
            held[node] = when, what
    return events

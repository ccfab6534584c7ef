"""Replications side by side: many short ones of a small network in one pass.

A replication costs a millisecond before its first event. Sweeps run thousands of small
networks, thirty replications each, so they would do little else. With the conditional
estimator only the ages of copies count, and of whatever source a copy is, it had no age
when it left. So R replications are one network of R sets of replicas around one source,
every process named as in its own replication: the copies are those of `array`, one by one, and what
adds up does not depend on who else is in the pass.
"""

from __future__ import annotations

from typing import final

import numpy as np

from replnet.engines import kernels
from replnet.engines.array import run_path
from replnet.engines.content import gains
from replnet.engines.general import Changes
from replnet.engines.path import Path, there
from replnet.engines.program import Program
from replnet.engines.queue import SLICE, Pulls
from replnet.engines.start import depths
from replnet.laws.renewal import Renewals, Window
from replnet.laws.scratch import Ints, Scratch
from replnet.laws.streams import CHOICES, Words, seed_words, streams

WINDOW = 1 << 16  # wakes that a window aims at
NO_LOSSES = kernels.Losses(np.empty(0), np.empty((0, 0), np.uint8), np.empty(0, np.uint64), np.empty(0, np.uint64))


def suits(program: Program) -> bool:
    """Whether replications of this program may share a source."""
    plan = program.plan
    return program.plain and not program.sampled and len(plan.sources) == 1 and bool(program.asking.size)


def room(program: Program, horizon: float) -> int:
    """How many replications make a pass: as many pulls as are sorted in one step."""
    plan = program.plan
    return max(1, int(SLICE / (plan.asking * (horizon + 4 * plan.quiet))))


def run_paths(program: Program, seed: int, replications: range, horizon: float) -> list[Path]:
    """Some replications over [0, horizon). One alone can look further back than many, if it has to."""
    made = _Run(program, seed, replications, horizon).paths()
    return [
        run_path(program, seed, replication, horizon) if path.unproven else path
        for replication, path in zip(replications, made, strict=True)
    ]


@final
class _Run:
    """Node i of the r-th replication is i + r n, and its group g + r G."""

    def __init__(self, program: Program, seed: int, replications: range, horizon: float) -> None:
        self._program, self._plan, self._horizon = program, program.plan, horizon
        self._count, self._source, self._scratch = len(replications), self._plan.sources[0], Scratch()
        self._law = self._plan.processes[program.updating[0]].law.age
        self._wake(np.concatenate([seed_words(seed, replication) for replication in replications]))
        self._askers = _side_by_side(program.askers, self._count, len(self._plan.names), self._source)
        each, groups = np.arange(self._count)[:, None], len(self._plan.groups)
        self._group = np.asarray((each * groups + np.maximum(self._plan.group, 0)).ravel())
        self._held = np.flatnonzero(np.tile(self._plan.reached[0], self._count))
        self._copy, self._first = np.empty(self._group.size), np.empty(0)
        self._integral = np.zeros(self._count * groups)

    def _wake(self, runs: Words) -> None:
        """Everyone's instants. A stream is named by the sum of the words of run and node, so one sum is as good."""
        plan, asking = self._plan, self._program.asking
        no_run, names = np.zeros(1, np.uint64), (runs[:, None] + plan.stream_names[asking]).ravel()
        purposes = np.tile(plan.purpose[asking], self._count)
        used, which = np.unique(plan.which[asking], return_inverse=True)
        laws = [plan.laws[g] for g in used]
        self._wakes = Renewals(laws, np.tile(which, self._count), no_run, names, purposes, WINDOW)
        self._choices = streams(no_run, names, purposes, CHOICES)

    def paths(self) -> list[Path]:
        depth, unproven = self._start()
        while self._wakes.now < self._horizon:
            changed = self._pass(self._wakes.window(self._horizon))
            for groups, gain in gains(self._law, self._changes, changed):
                # One after the other: a sum does not depend on how many replications share the window.
                np.add.at(self._integral, groups, gain)
        return self._finish(depth, unproven)

    def _start(self) -> tuple[float, Ints]:
        """How far back the past was looked up, and how many copies of every replication that leaves unproven."""
        for depth in depths(self._plan, 0.0, 0.0, False, self._count):
            self._copy[:] = -np.inf
            self._copy[self._held] = -depth
            known = self._known(depth)
            self._pass(self._wakes.past(depth))
            old = self._copy[self._held] <= -depth
            old[np.isin(self._held, known)] = False
            unproven = np.bincount(self._held[old] // len(self._plan.names), minlength=self._count)
            if not unproven.any():
                break
        self._first = self._copy.copy()
        return depth, unproven

    def _known(self, depth: float) -> Ints:
        """Replicas whose only download before the start came straight from the source, so that its age is plain."""
        process, node, _ = self._plan.direct.T
        each = np.arange(self._count)[:, None]
        age = self._wakes.age[each * self._program.asking.size + process - 1]
        plain = age > depth
        nodes = (each * len(self._plan.names) + node)[plain]
        self._copy[nodes] = -age[plain]
        return np.asarray(nodes)

    def _pass(self, window: Window) -> int:
        """Apply the pulls of a window; returns how many copies changed."""
        pulls = Pulls(self._askers, self._choices, NO_LOSSES, self._scratch)
        pulls.add(window)
        n = pulls.times.size
        of, none = self._scratch, np.empty(0)
        self._changes = Changes(
            of.floats("before", n), of.floats("after", n), of.ints("who", n), none, none.astype(np.int64)
        )
        return int(
            kernels.conditional_pass(pulls.times, pulls.pairs, self._source, self._copy, self._group, self._changes)
        )

    def _finish(self, depth: float, unproven: Ints) -> list[Path]:
        plan, groups = self._plan, len(self._plan.groups)
        ends = self._law.integrated_tail(self._horizon - self._copy[self._held])
        ends -= self._law.integrated_tail(-self._first[self._held])
        fresh = self._integral + np.bincount(self._group[self._held], ends, self._integral.size)
        spent = self._wakes.spent.reshape(self._count, -1)
        purposes = plan.purpose[self._program.asking]
        nobody = np.zeros(groups, np.int64)
        return [
            Path(
                fresh=there(plan, fresh[r * groups : (r + 1) * groups], np.zeros(groups), self._horizon)[0],
                answers=nobody,
                good=nobody.astype(float),
                counts=tuple(np.bincount(purposes, spent[r], 4).astype(np.int64).tolist()),
                copies=self._copy.reshape(self._count, 1, -1)[r],
                depth=depth,
                unproven=int(unproven[r]),
            )
            for r in range(self._count)
        ]


def _side_by_side(one: kernels.Askers, count: int, nodes: int, source: int) -> kernels.Askers:
    """Askers of so many sets of nodes around one source."""
    each = np.arange(count)[:, None]
    listed = np.where(one.listed == source, source, one.listed + each * nodes)
    return kernels.Askers(
        node=np.asarray((one.node + each * nodes).ravel()),
        pulls=np.tile(one.pulls, count),
        recent=np.tile(one.recent, count),
        begin=np.asarray((one.begin + each * one.listed.size).ravel()),
        size=np.tile(one.size, count),
        own=np.tile(one.own, count),
        listed=listed.ravel(),
    )

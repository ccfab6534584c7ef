"""When the processes of a network wake, whose turn it is then, and the random streams from which they draw."""

from __future__ import annotations

from typing import Any

import numpy as np

from replnet.engines.plan import Plan
from replnet.laws import Ints
from replnet.processes import CHOICES, ProcessSet, Streams, Words, distinct_with_places, streams, uniforms


def process_set(plan: Plan, clocks: Ints, run: Words, **size: Any) -> ProcessSet:
    """Return the generator of the instants of the clocks with the numbers `clocks`, a row for each, in this order.

    `run` has the seed words of the replication, one for all rows or one for each. `size` may say how long the windows
    of the generator are, by the arguments `events`, `allocate` and `horizon` of ProcessSet.
    """
    columns, schedule, word = plan.clocks, plan.clocks.schedule[clocks], run + plan.clocks.word[clocks]
    scheduled = [
        (plan.topology.process_columns[order].schedule, np.flatnonzero(schedule == order), run[:1])
        for order in distinct_with_places(schedule[schedule >= 0])[0].tolist()
    ]
    # As only the sum of the words of run and clock names a stream, they are added here.
    none = np.zeros(1, np.uint64)
    laws, rates, purposes = columns.law[clocks], columns.rate[clocks], columns.purpose[clocks]
    return ProcessSet(plan.topology.laws, laws, rates, none, word, purposes, scheduled, **size)


def process_streams(plan: Plan, run: Words, processes: Ints, part: int) -> Streams:
    """Return the random streams of `processes` (numbers) for one `part` of what these draw: CHOICES or LOSSES.

    `run` has the seed words of the replication, one for all processes or one for each.
    """
    clock = plan.processes.clock[processes]
    return streams(run, plan.clocks.word[clock], plan.clocks.purpose[clock], part)


def find_phases(plan: Plan, run: Words, processes: Ints) -> Ints:
    """Return the phase of each of `processes`: of the wakes of its clock, those with n % turns == phase are its own.

    Here n counts from 0 at the first wake after time zero, and `turns` is the number of processes that share the clock,
    so a phase is 0 to turns - 1. Replicas that take turns begin with a random one. `run` has the seed words of the
    replication, one for all processes or one for each.
    """
    turn, turns = plan.processes.turn[processes], plan.processes.turns[processes]
    if (turns == 1).all():
        return np.zeros(processes.size, np.int64)
    chance = process_streams(plan, run, processes, CHOICES)
    first = np.minimum((uniforms(chance, np.zeros(processes.size, np.int64)) * turns).astype(np.int64), turns - 1)
    return np.asarray((turn - first) % turns)

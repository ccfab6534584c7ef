"""Paths of a network on the wall clock, one per replication, all at once.

The past is replayed in virtual time, as `step` does; then every host gets what
its nodes have learnt so far, all agree on when time zero is, and the nodes go on
by themselves. The driver only looks on, and gathers what the hosts have seen.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from replnet.engines.outages import DOWN, Outages
from replnet.engines.path import Path, Task
from replnet.engines.plan import Plan
from replnet.engines.step import Walk, to_zero
from replnet.laws.law import Floats, distinct
from replnet.laws.processes.streams import seed_words
from replnet.live import ray_cluster
from replnet.live.clocks import Offset, Standstill, machine
from replnet.live.host import Assignment, Tallied, amounts, assignments, total
from replnet.live.outcome import HostSummary, Live, Summary
from replnet.live.placement import place, traffic, work_of
from replnet.live.quantiles import merged
from replnet.live.supervisor import HostState, Log, Supervisor, Watch, clock_offset
from replnet.live.time_scale import (
    FEW,
    MANY,
    STRAINED,
    Costs,
    HostPace,
    costs,
    default_scale,
    judge,
    round_up,
    shortest,
)

MOST_HOSTS = 256  # each is a process of some 60 MB
CALIBRATING = 0.15  # seconds
PAIRS = 4  # of hosts that calibrate at once
HANDLED = 3000  # wakes and messages in virtual time, for their cost


def run_live(
    task: Task,
    *,
    replications: int = 1,
    hosts: Literal["per-node"] | int | None = None,
    time_scale: float | None = None,
    address: str | None = None,
    watch: Watch | None = None,
    log: Log | None = None,
) -> Live:
    """Run [0, horizon) of model time at `time_scale` seconds per unit, every replication at the same time.

    `hosts` processes share the nodes of all replications (default: one per CPU). One that is lost is
    replaced, and its outage is in the result. Without a time scale it takes one from the cost of messages, and if
    that turns out too fast, begins anew at a slower one, once. Ctrl-C ends the run with what there is. `log` is handed
    what has happened, now and then, each row once. Raises LiveLost if nothing is left to go on with,
    Unreachable if there is no Ray to run on.
    """
    begun, plan, horizon, asked = time.monotonic(), task.plan, task.horizon, task
    if not (horizon > 0 and (time_scale is None or time_scale > 0)):
        raise ValueError(f"horizon and time scale are above 0, not {horizon} and {time_scale}")
    if replications < 1:
        raise ValueError(f"replications: {replications} is not a number of 1 or more")
    if not isinstance(hosts, int | None) and hosts != "per-node":
        raise ValueError(f"hosts: {hosts!r} is neither a whole number nor 'per-node'")
    with ray_cluster.joined(address):
        at = place(plan, _how_many(plan, hosts))
        with ray_cluster.started(max(at) + 1) as actors:
            task = replace(task, names=_seen_by_one(plan, at))
            walks = [to_zero(task, r) for r in range(replications)]  # while processes start
            starts = [(walk.depth, walk.unproven) for walk in walks]
            start = _Start(task, at, actors, replications)
            presents = [(walk.runner.present, walk.unknown) for walk in walks]
            states = start.states(assignments(task, at, presents, log is not None))
            costs = start.costs(walks[0]) if time_scale is None else None
            scale = start.scale(costs) if costs else time_scale
            assert scale is not None
            kills = planned_kills(task, at) if replications == 1 else []
            run = Supervisor(task, actors, states, start.begin(states, scale), scale, kills)
            if kept := run.run(watch, log, STRAINED * shortest(plan) if costs else np.inf):
                found = gathered(task, run, starts, scale, run.now * scale)
        if not kept:
            slower = round_up(run.slower * scale)
            found = vars(
                run_live(asked, replications=replications, hosts=hosts, time_scale=slower, watch=watch, log=log)
            )
    return Live(**found | {"rate_measured": costs.rate if costs else None, "total_seconds": time.monotonic() - begun})


def _seen_by_one(plan: Plan, at: tuple[int, ...]) -> dict[str, tuple[int, int]]:
    """The groups of which there is something to be seen: who looks at several nodes at once sees those of one host."""
    hosts = np.array(at)
    split = {view.group for view in plan.topology.views if distinct(hosts[view.nodes]).size > 1}
    return {name: where for name, where in plan.own_rows.items() if plan.groups[where[0]] not in split}


def planned_kills(task: Task, at: tuple[int, ...]) -> list[tuple[float, int]]:
    """When which process is to be killed: that of a node which is to crash and lose its copy, and is alone in it."""
    turns = Outages(task.plan, seed_words(task.seed, 0), 0.0, task.horizon).turns
    return [
        (when, at[node])
        for when, turn, node, empties in turns
        if turn == DOWN and empties and at.count(at[node]) == 1 and 0 < when < task.horizon
    ]


def _how_many(plan: Plan, hosts: Literal["per-node"] | int | None) -> int:
    if hosts is None:
        return max(1, min(int(ray_cluster.cpus()), len(plan.names)))
    n = len(plan.names) if hosts == "per-node" else hosts
    if not 1 <= n <= MOST_HOSTS:
        raise ValueError(f"hosts: {n} processes are not between 1 and {MOST_HOSTS}; pack more nodes into each")
    return n


@final
@dataclass(frozen=True)
class _Start:
    """A run up to time zero."""

    task: Task
    at: tuple[int, ...]
    hosts: ray_cluster.Hosts
    replications: int

    def states(self, given: list[Assignment]) -> list[HostState]:
        """All processes there, their clocks compared with this one, their nodes made."""
        hello = self.hosts.call("hello", patience=ray_cluster.START)
        here, offsets = machine(), list[Offset]()
        for host, (boot, *_) in enumerate(hello):
            offsets.append(Offset() if boot == here and here else clock_offset(self.hosts, host))
        self.hosts.call("meet", [(self.hosts.peers(),)] * len(hello))
        task = self.hosts.share(self.task)
        made_in = self.hosts.call("prepare", [(task, one) for one in given], ray_cluster.START)
        names = [name for _, name, _ in hello]
        return [HostState(*about) for about in zip(given, made_in, names, offsets, strict=True)]

    def costs(self, walk: Walk) -> Costs:
        """Of messages between neighbouring hosts; a lone host talks to itself."""
        n = len(self.hosts)
        pairs = [(h, h + 1) for h in range(0, n - 1, 2)][:PAIRS] or [(0, 0)]
        carried = message_costs(self.hosts, pairs)
        return replace(carried, handling=self._handling(walk))

    def _handling(self, walk: Walk) -> float:
        """CPU seconds per wake or message inside a host: those of `step`, which handles the same ones."""
        length = HANDLED / work_of(self.task.plan).sum()
        walk.until(length)  # the first wake of a process costs much more than those that follow
        begun = time.thread_time()
        walk.until(2 * length)
        return (time.thread_time() - begun) / HANDLED

    def scale(self, costs: Costs) -> float:
        work = np.bincount(self.at, work_of(self.task.plan)).astype(float) * self.replications
        between = traffic(self.task.plan, self.at) * self.replications
        return default_scale(self.task.plan, costs, work, between, ray_cluster.cpus())

    def begin(self, states: list[HostState], scale: float) -> float:
        """Returns when time zero will be."""
        zero = time.monotonic() + 0.2 + 0.01 * len(states)
        met = self.hosts.incarnations
        self.hosts.call("begin", [(zero + state.offset.seconds, scale, met) for state in states])
        return zero


def message_costs(hosts: ray_cluster.Hosts, pairs: list[tuple[int, int]]) -> Costs:
    """Of messages from one host to another and back, all pairs at once."""
    found = []
    hosts.call("echo")
    for size in (FEW, MANY):
        hosts.some("measure", {a: (a, b, size, CALIBRATING) for a, b in pairs})
        time.sleep(CALIBRATING + 0.02)
        found.append(hosts.some("measured", {a: () for a, _ in pairs}))
    return costs(*found)


def gathered(
    task: Task, run: Supervisor, starts: list[tuple[float, int]], scale: float, seconds: float
) -> dict[str, Any]:
    """What the hosts of a run have seen, by the names of Live; `starts`: depths, and how many copies are unproven."""
    plan, states, horizon = task.plan, run.states, run.horizon
    reports = [report for state in states for report in state.reports]
    seen = [report.statistics for report in reports]
    tallied = [list(of) for of in zip(*(report.tallied for report in reports), strict=True)]
    late = [merged([of.late[g] for of in seen]) for g in range(len(plan.groups))]
    hosts, stood = [_summary(state) for state in states], [_standstills(plan, state) for state in states]
    paces = [HostPace(h.slip.mean, h.busy, h.said / seconds, still) for h, still in zip(hosts, stood, strict=True)]
    why, advised = judge(plan, scale, paces, seconds, run.unfinished)
    return {
        "horizon": horizon,
        "paths": tuple(
            _path(task, of, _left(plan, states, r), *starts[r], bool(run.outages), horizon)
            for r, of in enumerate(tallied)
        ),
        "delays": Summary.of(merged([spread for of in seen for spread in of.delays])),
        "late": merged(late).mean,
        "group_late": tuple(spread.mean for spread in late),
        "responses": Summary.of(merged([of.responses for of in seen])),
        "unanswered": sum(one.unanswered for of in tallied for one in of),
        "messages": sum(of.said for of in seen),
        "crossed": sum(of.crossed for of in seen),
        "batches": sum(of.batches for of in seen),
        "batches_missing": max(sum(of.batches - of.taken for of in seen), 0),
        "duplicates": sum(of.repeated for of in seen),
        "seconds": seconds,
        "time_scale": scale,
        "hosts": tuple(hosts),
        "faithful": not why,
        "why": why,
        "advised": advised,
        "lost": run.outages,
        "stood": (*run.stood, *(one for still in stood for one in still)),
        "cut_short": run.cut_short,
    }


def _path(
    task: Task, found: list[Tallied], copies: Floats, depth: float, unproven: int, degraded: bool, horizon: float
) -> Path:
    updates, downloads, polls, queries = total([of.counts for of in found]).tolist()
    shares = amounts(task, found, horizon, degraded)
    return Path(shares, (updates, downloads, polls, queries), depth, unproven, copies=copies)


def _left(plan: Plan, states: list[HostState], replication: int) -> Floats:
    """What every node holds at the end, a row per source; -inf where it holds nothing or is not there."""
    copies = np.full((plan.sources.size, plan.size), -np.inf)
    for state in states:
        for row, node, left in state.finished.left[replication] if state.finished else []:
            copies[row, node] = left
    return copies


def _summary(state: HostState) -> HostSummary:
    seen, end = [report.statistics for report in state.reports], state.finished
    return HostSummary(
        nodes=state.given.at.count(state.given.me),
        machine=state.machine,
        slip=Summary.of(merged([of.slip for of in seen])),
        busy=end.busy if end else 0.0,
        cpu=end.cpu if end else 0.0,
        said=sum(of.said for of in seen),
        batches=sum(of.batches for of in seen),
        offset=state.offset,
    )


def _standstills(plan: Plan, state: HostState) -> list[Standstill]:
    me = state.given.me
    nodes = tuple(name for name, host in zip(plan.names, state.given.at, strict=True) if host == me)
    return [Standstill(f"host {me}", *when, nodes) for when in (state.finished.stood if state.finished else [])]

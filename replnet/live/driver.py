"""Paths of a network on the wall clock, one per replication, all at once.

The past is replayed in virtual time, as `step` does; then every host gets the
state of its nodes, all agree on when time zero is, and the nodes go on by
themselves. The driver only watches, and gathers the reports of the hosts.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from replnet.engines import DOWN, Outages, Path, Plan, Task
from replnet.engines.nodes import StepRun, run_to_zero
from replnet.laws import Floats, sorted_distinct
from replnet.live import ray_hosts
from replnet.live.clocks import Offset, Standstill, boot_id
from replnet.live.host import Assignment, ReplicationTally, add_elements, assignments, measured_shares
from replnet.live.outcome import HostSummary, Live, Summary
from replnet.live.placement import place, traffic, work_of
from replnet.live.quantiles import merge_spreads
from replnet.live.supervisor import HostState, Log, Supervisor, Watch, clock_offset
from replnet.live.time_scale import (
    FEW,
    MANY,
    MOST_LATE_SHARE,
    Costs,
    HostPace,
    costs,
    default_scale,
    judge,
    round_up,
    shortest,
)
from replnet.measure import NOT_HELD
from replnet.processes import seed_words
from replnet.workers import cpus, join_cluster

MOST_HOSTS = 256  # each is a process of some 60 MB
CALIBRATION_SECONDS = 0.15
MOST_PAIRS = 4  # of hosts that calibrate at once
EVENTS_TIMED = 3000  # wakes and messages in virtual time from which their cost is measured


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
    begun, plan, horizon, task_given = time.monotonic(), task.plan, task.horizon, task
    if not (horizon > 0 and (time_scale is None or time_scale > 0)):
        raise ValueError(f"horizon and time scale are above 0, not {horizon} and {time_scale}")
    if replications < 1:
        raise ValueError(f"replications: {replications} is not a number of 1 or more")
    if not isinstance(hosts, int | None) and hosts != "per-node":
        raise ValueError(f"hosts: {hosts!r} is neither a whole number nor 'per-node'")
    with join_cluster(address):
        at = place(plan, _number_of_hosts(plan, hosts))
        with ray_hosts.start_hosts(max(at) + 1) as actors:
            task = replace(task, names=_rows_seen(plan, at))
            walks = [run_to_zero(task, r) for r in range(replications)]  # while processes start
            starts = [(walk.depth, walk.unproven) for walk in walks]
            start = _Start(task, at, actors, replications)
            presents = [(walk.runner.state, walk.unknown) for walk in walks]
            states = start.states(assignments(task, at, presents, log is not None))
            costs = start.costs(walks[0]) if time_scale is None else None
            scale = start.scale(costs) if costs else time_scale
            assert scale is not None
            kills = planned_kills(task, at) if replications == 1 else []
            run = Supervisor(task, actors, states, start.begin(states, scale), scale, kills)
            if is_kept := run.run(watch, log, MOST_LATE_SHARE * shortest(plan) if costs else np.inf):
                fields = gather_results(task, run, starts, scale, run.now * scale)
        if not is_kept:
            slower = round_up(run.slower * scale)
            fields = vars(
                run_live(task_given, replications=replications, hosts=hosts, time_scale=slower, watch=watch, log=log)
            )
    return Live(**fields | {"rate_measured": costs.rate if costs else None, "total_seconds": time.monotonic() - begun})


def _rows_seen(plan: Plan, at: tuple[int, ...]) -> dict[str, tuple[int, int]]:
    """Return the rows of the table that can be measured: not those of views whose nodes are in different hosts."""
    hosts = np.array(at)
    split = {view.group for view in plan.topology.views if sorted_distinct(hosts[view.nodes]).size > 1}
    return {name: where for name, where in plan.default_rows.items() if plan.groups[where[0]] not in split}


def planned_kills(task: Task, at: tuple[int, ...]) -> list[tuple[float, int]]:
    """Return (instant, host) of processes to be killed: those of a single node, when it crashes and loses its copy."""
    turns = Outages(task.plan, seed_words(task.seed, 0), 0.0, task.horizon).turns
    return [
        (when, at[node])
        for when, turn, node, empties in turns
        if turn == DOWN and empties and at.count(at[node]) == 1 and 0 < when < task.horizon
    ]


def _number_of_hosts(plan: Plan, hosts: Literal["per-node"] | int | None) -> int:
    """Return how many hosts the nodes are put into; raise ValueError if that is out of range."""
    if hosts is None:
        return max(1, min(int(cpus()), len(plan.names)))
    n = len(plan.names) if hosts == "per-node" else hosts
    if not 1 <= n <= MOST_HOSTS:
        raise ValueError(f"hosts: {n} processes are not between 1 and {MOST_HOSTS}; pack more nodes into each")
    return n


@final
@dataclass(frozen=True)
class _Start:
    """The beginning of a run, up to time zero; `at` is the host of every node."""

    task: Task
    at: tuple[int, ...]
    hosts: ray_hosts.Hosts
    replications: int

    def states(self, assignments: list[Assignment]) -> list[HostState]:
        """Wait for all processes, compare their clocks with this one, make their nodes; return the states of hosts."""
        hello = self.hosts.call("hello", patience=ray_hosts.START_SECONDS)
        boot_id_here, offsets = boot_id(), list[Offset]()
        for host, (boot, *_) in enumerate(hello):
            offsets.append(Offset() if boot == boot_id_here and boot_id_here else clock_offset(self.hosts, host))
        self.hosts.call("meet", [(self.hosts.peers(),)] * len(hello))
        task = self.hosts.share(self.task)
        made_in = self.hosts.call(
            "prepare", [(task, assignment) for assignment in assignments], ray_hosts.START_SECONDS
        )
        names = [name for _, name, _ in hello]
        return [HostState(*about) for about in zip(assignments, made_in, names, offsets, strict=True)]

    def costs(self, walk: StepRun) -> Costs:
        """Return the costs of messages between neighbouring hosts (a single one sends to itself) and of events."""
        n = len(self.hosts)
        pairs = [(h, h + 1) for h in range(0, n - 1, 2)][:MOST_PAIRS] or [(0, 0)]
        carried = message_costs(self.hosts, pairs)
        return replace(carried, handling=self._handling_cost(walk))

    def _handling_cost(self, walk: StepRun) -> float:
        """Return the CPU seconds per wake or message inside a host; virtual time has the same events, so it is
        measured there.
        """
        length = EVENTS_TIMED / work_of(self.task.plan).sum()
        walk.run_until(length)  # the first wake of a process costs much more than those that follow
        begun = time.thread_time()
        walk.run_until(2 * length)
        return (time.thread_time() - begun) / EVENTS_TIMED

    def scale(self, costs: Costs) -> float:
        """Return the default seconds per unit of model time."""
        work = np.bincount(self.at, work_of(self.task.plan)).astype(float) * self.replications
        between = traffic(self.task.plan, self.at) * self.replications
        return default_scale(self.task.plan, costs, work, between, cpus())

    def begin(self, states: list[HostState], scale: float) -> float:
        """Begin the run; return the instant of time zero by the clock of this process."""
        zero = time.monotonic() + 0.2 + 0.01 * len(states)
        met = self.hosts.incarnations
        self.hosts.call("begin", [(zero + state.offset.seconds, scale, met) for state in states])
        return zero


def message_costs(hosts: ray_hosts.Hosts, pairs: list[tuple[int, int]]) -> Costs:
    """Return the costs of messages between the hosts of these pairs, measured for all pairs at the same time."""
    rounds = []
    hosts.call("echo")
    for size in (FEW, MANY):
        hosts.call_some("measure", {a: (a, b, size, CALIBRATION_SECONDS) for a, b in pairs})
        time.sleep(CALIBRATION_SECONDS + 0.02)
        rounds.append(hosts.call_some("measurement", {a: () for a, _ in pairs}))
    return costs(*rounds)


def gather_results(
    task: Task, run: Supervisor, starts: list[tuple[float, int]], scale: float, seconds: float
) -> dict[str, Any]:
    """Return the fields of Live, from the reports of the hosts of a run.

    `starts` has for each replication the depth of its past and the number of copies whose start is unproven.
    """
    plan, states, horizon = task.plan, run.states, run.horizon
    reports = [report for state in states for report in state.reports]
    seen = [report.statistics for report in reports]
    tallies = [list(of) for of in zip(*(report.tallies for report in reports), strict=True)]
    late = [merge_spreads([of.late[g] for of in seen]) for g in range(len(plan.groups))]
    hosts, stood = [_summary(state) for state in states], [_standstills(plan, state) for state in states]
    paces = [HostPace(h.slip.mean, h.busy, h.said / seconds, still) for h, still in zip(hosts, stood, strict=True)]
    why, advised = judge(plan, scale, paces, seconds, run.unfinished)
    return {
        "horizon": horizon,
        "paths": tuple(
            _path(task, of, _final_copies(plan, states, r), *starts[r], bool(run.outages), horizon)
            for r, of in enumerate(tallies)
        ),
        "delays": Summary.of(merge_spreads([spread for of in seen for spread in of.delays])),
        "late": merge_spreads(late).mean,
        "group_late": tuple(spread.mean for spread in late),
        "responses": Summary.of(merge_spreads([of.responses for of in seen])),
        "unanswered": sum(tally.unanswered for of in tallies for tally in of),
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
        "stood": (*run.stood, *(standstill for standstills in stood for standstill in standstills)),
        "cut_short": run.cut_short,
    }


def _path(
    task: Task,
    tallies: list[ReplicationTally],
    copies: Floats,
    depth: float,
    unproven: int,
    degraded: bool,
    horizon: float,
) -> Path:
    """Return the path of one replication, from what its hosts tallied and the copies at the end."""
    updates, downloads, polls, queries = add_elements([of.counts for of in tallies]).tolist()
    shares = measured_shares(task, tallies, horizon, degraded)
    return Path(shares, (updates, downloads, polls, queries), depth, unproven, copies=copies)


def _final_copies(plan: Plan, states: list[HostState], replication: int) -> Floats:
    """Return the departures of all copies at the end, a row per source; NOT_HELD where a node holds none or is lost."""
    copies = np.full((plan.sources.size, plan.size), NOT_HELD)
    for state in states:
        for row, node, departure in state.finished.left[replication] if state.finished else []:
            copies[row, node] = departure
    return copies


def _summary(state: HostState) -> HostSummary:
    """Return how one host did."""
    seen, end = [report.statistics for report in state.reports], state.finished
    return HostSummary(
        nodes=state.assignment.at.count(state.assignment.me),
        machine=state.machine,
        slip=Summary.of(merge_spreads([of.slip for of in seen])),
        busy=end.busy if end else 0.0,
        cpu=end.cpu if end else 0.0,
        said=sum(of.said for of in seen),
        batches=sum(of.batches for of in seen),
        offset=state.offset,
    )


def _standstills(plan: Plan, state: HostState) -> list[Standstill]:
    """Return the times in which a host could not run."""
    me = state.assignment.me
    nodes = tuple(name for name, host in zip(plan.names, state.assignment.at, strict=True) if host == me)
    return [Standstill(f"host {me}", *when, nodes) for when in (state.finished.stood if state.finished else [])]

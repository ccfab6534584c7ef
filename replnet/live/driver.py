"""Paths of a network on the wall clock, one per replication, all at once.

The past is replayed in virtual time, as `step` does; then every host gets the
state of its nodes, all agree on when time zero is, and the nodes go on by
themselves. The driver only watches, and gathers the reports of the hosts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, final

import numpy as np

from replnet.engines import DOWN, Outages, Path, Plan, Task
from replnet.engines.nodes import StepRun, run_to_zero
from replnet.laws import Floats, sorted_distinct
from replnet.live.clocks import Offset, Standstill, boot_id
from replnet.live.host import Assignment, ReplicationTally, add_elements, assignments, measured_shares
from replnet.live.outcome import HostSummary, Live, Summary
from replnet.live.placement import place, traffic, work_of
from replnet.live.quantiles import merge_spreads
from replnet.live.ray_hosts import RayTransport
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
from replnet.live.transport import START_SECONDS, Hosts, Transport, start_hosts
from replnet.measure import NOT_HELD
from replnet.processes import seed_words
from replnet.text import FieldError, count_text, positive, span
from replnet.workers import join_cluster

MOST_HOSTS = 256  # each is a process of some 60 MB
CALIBRATION_SECONDS = 0.15
MOST_PAIRS = 4  # of hosts that calibrate at once
EVENTS_TIMED = 3000  # wakes and messages in virtual time from which their cost is measured

Tell: TypeAlias = Callable[[str], None]
"""A function that is called with what a run waits for, in words."""


def run_live(
    task: Task,
    *,
    replications: int = 1,
    hosts: Literal["per-node"] | int | None = None,
    time_scale: float | None = None,
    address: str | None = None,
    aim: float | None = None,
    watch: Watch | None = None,
    log: Log | None = None,
    tell: Tell = lambda words: None,
) -> Live:
    """Run [0, horizon) of model time on the wall clock, every replication at the same time, and return the result.

    `hosts` processes share the nodes of all replications (None: one per CPU; "per-node": one for each node; MOST_HOSTS
    at most), in the Ray cluster at `address` (None: a local one, if none is set). One that is lost is replaced, and its
    outage is in the result. `time_scale` is in seconds per unit; None takes one from the cost of messages, and if that
    turns out too fast, begins anew at a slower one, once. With `aim` the horizon becomes earlier, so that the run takes
    about so many seconds at this time scale. Ctrl-C ends the run with what there is. `watch` is called with glimpses;
    `log` is handed rows of what has happened, each once; `tell` is called with what is waited for, and how long the run
    takes. Raises LiveLost if nothing is left to go on with, RayUnreachableError without Ray, ValueError for numbers
    that cannot be.
    """
    plan, horizon = task.plan, task.horizon
    positive("horizon", horizon)
    if time_scale is not None:
        positive("time_scale", time_scale)
    if replications < 1:
        raise FieldError("replications", f"{replications} is not a number of replications", "1 or more")
    if (not isinstance(hosts, int | None) or isinstance(hosts, bool)) and hosts != "per-node":
        raise FieldError("hosts", f"{hosts!r} is no number of processes", "a whole number, or per-node")
    n = _number_of_hosts(plan, hosts)
    begun = time.monotonic()
    tell("waiting for Ray")
    with join_cluster(address):
        live = run_on(
            RayTransport(), task, n, replications=replications, time_scale=time_scale, aim=aim, watch=watch, log=log,
            tell=tell,
        )  # fmt: skip
    return replace(live, total_seconds=time.monotonic() - begun)


def run_on(
    transport: Transport,
    task: Task,
    hosts: int | None = None,
    *,
    replications: int = 1,
    time_scale: float | None = None,
    aim: float | None = None,
    watch: Watch | None = None,
    log: Log | None = None,
    tell: Tell = lambda words: None,
) -> Live:
    """Run [0, horizon) of model time in `hosts` processes that this transport starts, as `run_live` does in Ray.

    None stands for one host per CPU, and at most one per node or MOST_HOSTS. The processes are killed at the end. Other
    arguments, and the result, are those of `run_live`.
    """
    plan, clock = task.plan, transport.clock
    at = place(plan, hosts or max(1, min(int(transport.cpus), len(plan.names), MOST_HOSTS)))
    begun = clock.monotonic()
    tell(f"waiting for {count_text(max(at) + 1, 'host')}")
    with start_hosts(transport, max(at) + 1) as actors:
        seen = replace(task, names=_rows_seen(plan, at))
        walks = [run_to_zero(seen, r, logged=log is not None) for r in range(replications)]  # while processes start
        starts = [(walk.depth, walk.unproven) for walk in walks]
        start = _Start(seen, at, actors, replications)
        presents = [(walk.runner.state, walk.unknown) for walk in walks]
        states = start.states(assignments(seen, at, presents, log is not None))
        costs = start.costs(walks[0]) if time_scale is None else None
        scale = start.scale(costs) if costs else time_scale
        assert scale is not None
        seen = start.shorten(seen, aim, scale)
        tell(_duration_words(seen.horizon, replications, scale))
        kills = planned_kills(seen, at) if replications == 1 else []
        run = Supervisor(seen, actors, states, start.begin(states, scale), scale, kills)
        if is_kept := run.run(watch, log, MOST_LATE_SHARE * shortest(plan) if costs else np.inf):
            live = Live(**gather_results(seen, run, starts, scale, run.now * scale))
    if not is_kept:
        slower = round_up(run.slower * scale)
        tell(f"this machine does not keep up at a time scale of {scale:g} s: once more, slower")
        live = run_on(
            transport, task, hosts, replications=replications, time_scale=slower, aim=aim, watch=watch, log=log,
            tell=tell,
        )  # fmt: skip
    return replace(live, rate_measured=costs.rate if costs else None, total_seconds=clock.monotonic() - begun)


def _rows_seen(plan: Plan, at: tuple[int, ...]) -> dict[str, tuple[int, int]]:
    """Return, by name, those rows of the table (group's number, source's row) that a run in hosts can measure.

    `at` is the host of every node. Views whose nodes are in different hosts cannot be measured.
    """
    hosts = np.array(at)
    split = {view.group for view in plan.topology.views if sorted_distinct(hosts[view.nodes]).size > 1}
    return {name: where for name, where in plan.default_rows.items() if plan.groups[where[0]] not in split}


def _duration_words(horizon: float, replications: int, scale: float) -> str:
    """Return how long a run takes, in words: so many `replications` at once, at `scale` seconds a unit of time."""
    paths = f"{replications:,} paths at once" if replications > 1 else "1 path"
    return (
        f"the run takes about {span(horizon * scale)}: {paths} of {horizon:,.4g} units of time, time scale {scale:g} s"
    )


def planned_kills(task: Task, at: tuple[int, ...]) -> list[tuple[float, int]]:
    """Return (instant of model time, host) of processes to be killed in the only replication of a run.

    They are the processes with a single node, whenever this crashes and loses its copy. `at` is the host of every node.
    """
    turns = Outages(task.plan, seed_words(task.seed, 0), 0.0, task.horizon).turns
    return [
        (when, at[node])
        for when, turn, node, empties in turns
        if turn == DOWN and empties and at.count(at[node]) == 1 and 0 < when < task.horizon
    ]


def _number_of_hosts(plan: Plan, hosts: Literal["per-node"] | int | None) -> int | None:
    """Return into how many hosts the nodes are put: `hosts`, or the number of nodes for "per-node".

    None stays None, and is left to the number of CPUs. Raise FieldError if the number is below 1 or above MOST_HOSTS.
    """
    n = len(plan.names) if hosts == "per-node" else hosts
    if n is not None and not 1 <= n <= MOST_HOSTS:
        right = "pack more nodes into each" if n > MOST_HOSTS else "at least one"
        raise FieldError("hosts", f"{n} processes are not between 1 and {MOST_HOSTS}", right)
    return n


@final
@dataclass(frozen=True)
class _Start:
    """The beginning of a live run, up to time zero: preparing its hosts, its pace and its clocks.

    `at` is the host of every node, and `replications` the number of those that run at once.
    """

    task: Task
    at: tuple[int, ...]
    hosts: Hosts
    replications: int

    def states(self, assignments: list[Assignment]) -> list[HostState]:
        """Wait for all processes, compare their clocks with this one, and make their nodes; return the hosts' states.

        `assignments` are those of the hosts, by number, and so are the states. Raise LiveLost if a host does not
        answer.
        """
        hello = self.hosts.call("hello", patience=START_SECONDS)
        boot_id_here, offsets = boot_id(), list[Offset]()
        for host, (boot, *_) in enumerate(hello):
            offsets.append(Offset() if boot == boot_id_here and boot_id_here else clock_offset(self.hosts, host))
        self.hosts.call("meet", [(self.hosts.addresses,)] * len(hello))
        task = self.hosts.transport.share(self.task)
        made_in = self.hosts.call("prepare", [(task, assignment) for assignment in assignments], START_SECONDS)
        names = [name for _, name, _ in hello]
        return [HostState(*about) for about in zip(assignments, made_in, names, offsets, strict=True)]

    def costs(self, walk: StepRun) -> Costs:
        """Return the costs of messages between neighbouring hosts (a single one sends to itself) and of events.

        The costs of events are measured by running `walk`, a replication in virtual time, on past time zero.
        """
        n = len(self.hosts)
        pairs = [(h, h + 1) for h in range(0, n - 1, 2)][:MOST_PAIRS] or [(0, 0)]
        carried = message_costs(self.hosts, pairs)
        return replace(carried, handling=self._handling_cost(walk))

    def _handling_cost(self, walk: StepRun) -> float:
        """Return the CPU seconds per wake or message inside a host, which is a mean over about EVENTS_TIMED of them.

        They are measured by running `walk` on, past time zero, as virtual time has the same events.
        """
        length = EVENTS_TIMED / work_of(self.task.plan).sum()
        walk.run_until(length)  # the first wake of a process costs much more than those that follow
        begun = time.thread_time()
        walk.run_until(2 * length)
        return (time.thread_time() - begun) / EVENTS_TIMED

    def scale(self, costs: Costs) -> float:
        """Return the default number of seconds per unit of model time, for messages and events of these `costs`."""
        work = np.bincount(self.at, work_of(self.task.plan)).astype(float) * self.replications
        between = traffic(self.task.plan, self.at) * self.replications
        return default_scale(self.task.plan, costs, work, between, self.hosts.transport.cpus)

    def shorten(self, task: Task, aim: float | None, scale: float) -> Task:
        """Return the task with a horizon at which it takes about `aim` seconds, if it is longer; tell all hosts so.

        `scale` is in seconds per unit of model time. Without an aim the task stays as it is.
        """
        if aim is None or task.horizon * scale <= aim:
            return task
        horizon = float(f"{aim / scale:.2g}")
        self.hosts.call("cut", [(horizon,)] * len(self.hosts))
        return replace(task, horizon=horizon)

    def begin(self, states: list[HostState], scale: float) -> float:
        """Let all hosts begin the run at `scale` seconds per unit of model time; return when time zero is.

        That is an instant of the clock of this process, a moment ahead, for calls to reach all hosts. `states` are
        theirs.
        """
        zero = self.hosts.transport.clock.monotonic() + 0.2 + 0.01 * len(states)
        met = self.hosts.incarnations
        self.hosts.call("begin", [(zero + state.offset.seconds, scale, met) for state in states])
        return zero


def message_costs(hosts: Hosts, pairs: list[tuple[int, int]]) -> Costs:
    """Return the costs of messages between the hosts of these pairs of numbers; their `handling` is left 0.

    All pairs are measured at the same time, and the one whose messages took longest counts.
    """
    rounds = []
    hosts.call("echo")
    for size in (FEW, MANY):
        hosts.call_some("measure", {a: (a, b, size, CALIBRATION_SECONDS) for a, b in pairs})
        hosts.transport.clock.sleep(CALIBRATION_SECONDS + 0.02)
        rounds.append(hosts.call_some("measurement", {a: () for a, _ in pairs}))
    return costs(*rounds)


def gather_results(
    task: Task, run: Supervisor, starts: list[tuple[float, int]], scale: float, seconds: float
) -> dict[str, Any]:
    """Return the fields of Live, by name, from the reports of the hosts of a run.

    `starts` has for each replication the depth of its past and the number of copies whose start is unproven. `scale` is
    in seconds per unit of model time, and the run took `seconds` from time zero on.
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
    """Return the path of one replication over [0, horizon), from what its hosts tallied and the copies at the end.

    `depth` is how far before time zero its past began, `unproven` counts copies whose start is not proven to be right,
    and `degraded` says whether a host was lost.
    """
    updates, downloads, polls, queries = add_elements([of.counts for of in tallies]).tolist()
    shares = measured_shares(task, tallies, horizon, degraded)
    return Path(shares, (updates, downloads, polls, queries), depth, unproven, copies=copies)


def _final_copies(plan: Plan, states: list[HostState], replication: int) -> Floats:
    """Return the departures of all copies at the end of a replication, a row per source and a column per node.

    A departure is NOT_HELD where a node holds no copy or its host was lost at the end.
    """
    copies = np.full((plan.sources.size, plan.size), NOT_HELD)
    for state in states:
        for row, node, departure in state.finished.left[replication] if state.finished else []:
            copies[row, node] = departure
    return copies


def _summary(state: HostState) -> HostSummary:
    """Return the measurements of one host, over all its incarnations.

    Its `busy` and `cpu` are those of the last one, and 0 if that was lost at the end.
    """
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
    """Return the times in which the last process of a host could not run, with the names of its nodes.

    There are none if it was lost at the end.
    """
    me = state.assignment.me
    nodes = tuple(name for name, host in zip(plan.names, state.assignment.at, strict=True) if host == me)
    return [Standstill(f"host {me}", *when, nodes) for when in (state.finished.stood if state.finished else [])]

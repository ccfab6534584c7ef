"""Hosts of the live engine without Ray: on a clock that a test turns, and with a transport in its hands."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import takewhile

import numpy as np
from networks import NAMED

import replnet as rn
from replnet.engines.log import EVENTS, Columns
from replnet.engines.nodes import step
from replnet.engines.nodes.runner import Instants
from replnet.engines.path import Shares, Task
from replnet.engines.plan import Plan
from replnet.live import Live
from replnet.live.host import Assignment, Host, LogRows, Report, assignments, measured_shares
from replnet.live.placement import place
from replnet.processes.streams import seed_words
from replnet.testing import InMemoryTransport

ROUNDING = 1e-9  # integrals over a path add the same terms in different orders

DELAYED = rn.cascade(
    depth=2, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)", delay="exponential(mean=0.1)"
)
SOURCES = rn.aggregate(
    sources=3, budget=6.0, updates="exponential(rate=1)", replicas=3, ask=2, queries="exponential(rate=2)"
)
FEW = {**NAMED, "slow": DELAYED}


WAKES = EVENTS[:4]

LogRow = tuple[int, float, str, str, str | None, float | None, str | None]
"""Replication, at, event, node, peer, left, source."""


def flat(compiled: Plan, replication: int, rows: Columns) -> list[LogRow]:
    names = [*compiled.names, None]  # NO_ONE is the last of them
    return [
        (replication, at, EVENTS[event], names[node], names[peer], None if np.isnan(left) else left, names[source])
        for at, event, node, peer, left, source in zip(*(column.tolist() for column in rows), strict=True)
    ]


class World:
    """Hosts that share one clock; it stands still until all are quiet."""

    def __init__(
        self, compiled: Plan, hosts: int, seed: int, horizon: float, sampled: bool, paths: int = 1, logged: bool = False
    ) -> None:
        self.compiled, self.now, self.task = compiled, 0.0, Task(compiled, seed, horizon, sampled)
        self.transport = InMemoryTransport[int, bytes](lambda: self.now)
        walks = [step.run_to_zero(self.task, r, logged=logged) for r in range(paths)]
        presents = [(walk.runner.state, walk.unknown) for walk in walks]
        self.given = assignments(self.task, place(compiled, hosts), presents, logged)
        self.hosts = {given.me: self.host(given) for given in self.given}
        self.log, self.over = list[LogRow](), list[Report]()

    def host(self, given: Assignment) -> Host:
        return Host(self.task, given, lambda: self.now, self.transport.send)

    def carry(self) -> None:
        """What is for a host that is lost goes nowhere."""
        for to, batch in self.transport.arrived():
            if to in self.hosts:
                self.hosts[to].receive(batch)

    @property
    def quiet(self) -> bool:
        return self.transport.due > self.now

    def run(self, tick: float = 0.0, until: float = np.inf) -> None:
        """As far as that or to the end, from event to event or in ticks that let wakes be late."""
        while True:
            due = min(*(host.step() for host in self.hosts.values()), self.transport.due)
            if not self.quiet:
                self.carry()
            elif due > self.now:
                if due == np.inf or due > until:
                    return
                self.now = self.now + tick if tick else due

    def lose(self, number: int, heard: float, dead: float, back: float) -> tuple[float, float]:
        """A host reports, goes on for a while, dies, and begins anew; returns from when to when it does not count."""
        self.run(until=heard)
        report = pickle.loads(pickle.dumps(self.hosts[number].so_far()))  # as it was then
        self.over.append(report)
        self.take(self.hosts[number].rows())
        self.run(until=dead)
        del self.hosts[number]
        self.run(until=back)
        self.now = back
        incarnation = self.given[number].incarnation + 1
        given = self.given[number] = self.given[number].successor(incarnation, back, self.task.horizon)
        self.hosts[number] = self.host(given)
        for other in self.hosts.keys() - {number}:
            self.hosts[other].meet(number, incarnation)
            self.hosts[number].meet(other, self.given[other].incarnation)
        return report.upto, back

    def take(self, logged: list[LogRows]) -> None:
        for replication, rows in logged:
            self.log += flat(self.compiled, replication, rows)

    def reports(self) -> list[Report]:
        for host in self.hosts.values():
            self.take(host.rows())
        return [*self.over, *(host.report() for host in self.hosts.values())]

    def measured_shares(self, reports: list[Report], replication: int = 0, degraded: bool = False) -> Shares:
        """What they have tallied together, as of the latest."""
        horizon = max(report.upto for report in reports)
        return measured_shares(self.task, [report.tallies[replication] for report in reports], horizon, degraded)


def ran(world: World, tick: float = 0.0) -> list[Report]:
    world.run(tick)
    return world.reports()


def counts(reports: list[Report], replication: int = 0) -> tuple[int, ...]:
    return tuple(np.sum([report.tallies[replication].counts for report in reports], axis=0).tolist())


def assert_same_path(compiled: Plan, hosts: int, seed: int, sampled: bool, horizon: float = 10.0) -> None:
    """Hosts that are never late walk the path of `step`."""
    world = World(compiled, hosts, seed, horizon, sampled)
    assert_path(world, ran(world))


def assert_shares(ours: Shares, theirs: Shares) -> None:
    assert ours.keys() == theirs.keys()
    for key, (amount, whole) in ours.items():
        assert np.allclose(theirs[key], (amount, whole), rtol=ROUNDING, atol=ROUNDING), key


def assert_path(world: World, ours: list[Report], replication: int = 0, late: step.Lateness | None = None) -> None:
    """What hosts have seen is what `step` counts."""
    compiled, task = world.compiled, replace(world.task, horizon=ours[0].upto)
    theirs = step.run_path(task, replication, late)
    found = world.measured_shares(ours, replication)
    assert counts(ours, replication) == theirs.counts
    if compiled.constant_delay != 0 or late:  # the ends of the horizon cut answers in two ways
        asking = {compiled.groups[g] for g in compiled.group[compiled.clients]}
        found, expected = ({key: of[key] for key in of if key[0] not in asking} for of in (found, theirs.shares))
        assert_shares(found, expected)
    else:
        assert_shares(found, theirs.shares)
    assert np.array_equal(copies_left(world, replication), theirs.copies)


def copies_left(world: World, replication: int) -> np.ndarray:
    copies = np.full((world.compiled.sources.size, world.compiled.size), -np.inf)
    for host in world.hosts.values():
        for row, node, left in host.copies_left()[replication]:
            copies[row, node] = left
    return copies


def on_a_lattice(compiled: Plan) -> bool:
    """Whether things may happen at one instant; a host cannot order what falls on it elsewhere, one host can."""
    return any(law.span is not None for law in compiled.topology.laws)


def planned(compiled: Plan, seed: int, replication: int, horizon: float) -> dict[tuple[str, str], list[float]]:
    """The instants of every process in [0, horizon), by node and event."""
    processes = compiled.processes
    instants = Instants(compiled, seed_words(seed, replication), np.arange(processes.node.size), 0.0)
    found: dict[tuple[str, str], list[float]] = {}
    for q, (node, purpose) in enumerate(zip(processes.node.tolist(), processes.purpose.tolist(), strict=True)):
        key = compiled.names[node], EVENTS[purpose]
        found[key] = sorted([*found.get(key, []), *takewhile(lambda at: at < horizon, instants.of(q))])
    return found


def woken(log: list[LogRow], replication: int) -> dict[tuple[str, str], list[float]]:
    """The wakes that a log tells of; pulls of one wake share its instant."""
    found: dict[tuple[str, str], list[float]] = {}
    for of, at, event, node, *_ in log:
        if of == replication and event in WAKES:
            wakes = found.setdefault((node, event), [])
            if not wakes or wakes[-1] != at:
                wakes.append(at)
    return found


def assert_path_of_step(compiled: Plan, seed: int, live: Live) -> None:
    """The events, shares and copies at the end of a live run are those of `step`, in every replication."""
    for replication, ours in enumerate(live.paths):
        theirs = step.run_path(Task(compiled, seed, live.horizon), replication)
        assert ours.counts == theirs.counts
        asking = {compiled.groups[g] for g in compiled.group[compiled.clients]} if compiled.constant_delay != 0 else ()
        found, expected = ({key: of[key] for key in of if key[0] not in asking} for of in (ours.shares, theirs.shares))
        assert_shares(found, expected)
        assert np.allclose(ours.copies, theirs.copies, rtol=ROUNDING, atol=ROUNDING)


def assert_logged_once(compiled: Plan, seed: int, live: Live, logged: list[LogRows]) -> None:
    """The log has every wake that was planned outside the outages, and no row twice; the counts say the same."""
    log = [row for replication, rows in logged for row in flat(compiled, replication, rows) if row[2] in WAKES]
    assert len(log) == len(set(log))
    for replication, path in enumerate(live.paths):
        expected = sorted(
            (at, event, node)
            for (node, event), instants in planned(compiled, seed, replication, live.horizon).items()
            for at in instants
            if not any(node in o.nodes and o.heard < at <= (o.back or np.inf) for o in live.lost)
        )
        told = {row[1:4] for row in log if row[0] == replication}
        if compiled.has_recent_polls:  # who is blank has no contacts to poll, and then there is nothing in the log
            lost = {node for outage in live.lost for node in outage.nodes}
            expected = [wake for wake in expected if wake[2] not in lost or wake in told]
            assert sum(path.counts) >= len(expected)
        else:
            assert sum(path.counts) == len(expected)
        assert sorted(told) == expected

"""The live engine without Ray: hosts on a clock that a test turns, and a transport in its hands."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import NAMED, networks, troubled

import replnet as rn
from replnet.engines import record, step
from replnet.engines.plan import Plan, plan
from replnet.engines.record import Columns
from replnet.engines.wiring import Instants, renewals
from replnet.laws.processes.streams import PURPOSES, seed_words
from replnet.live.agenda import ARRIVAL
from replnet.live.clocks import Offset, offset
from replnet.live.gather import added
from replnet.live.host import Host
from replnet.live.host_part import Part, parts
from replnet.live.ledger import Ledger, Updates
from replnet.live.observations import EVENTS, LogRow, Report
from replnet.live.outbox import Post
from replnet.live.placement import lined_up, place, traffic, work_of
from replnet.live.quantiles import Spread
from replnet.live.speed import GAP, LATE, SHARE, Costs, Kept, default_scale, judge, load, round_up, shortest
from replnet.live.wire import Arrivals, body, message, pack, unpack
from replnet.network.messages import Pull, Reply
from replnet.testing import InMemoryTransport, VirtualClock

ROUNDING = 1e-9  # integrals over a path add the same terms in different orders

DELAYED = rn.cascade(
    depth=2, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)", delay="exponential(mean=0.1)"
)
FEW = {**NAMED, "slow": DELAYED}


class World:
    """Hosts that share one clock; it stands still until all are quiet."""

    def __init__(
        self, compiled: Plan, hosts: int, seed: int, horizon: float, sampled: bool, paths: int = 1, logged: bool = False
    ) -> None:
        self.compiled, self.now, self.sampled = compiled, 0.0, sampled
        self.transport = InMemoryTransport[int, bytes](lambda: self.now)
        walks = [step.to_zero(compiled, seed, r, horizon, sampled) for r in range(paths)]
        run = {"seed": seed, "horizon": horizon, "sampled": sampled, "logged": logged}
        given = parts(compiled, place(compiled, hosts), [walk.present() for walk in walks], run)
        self.hosts = {part.me: self.host(part) for part in given}
        self.parts, self.log, self.over = given, list[LogRow](), list[Report]()

    def host(self, part: Part) -> Host:
        return Host(self.compiled, part, lambda: self.now, self.transport.send)

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
        report, rows = self.hosts[number].so_far(), self.hosts[number].rows()
        self.over.append(report)
        self.log += rows
        self.run(until=dead)
        del self.hosts[number]
        self.run(until=back)
        self.now = back
        part = self.parts[number] = self.parts[number].reborn(self.parts[number].incarnation + 1, back)
        self.hosts[number] = self.host(part)
        for other in self.hosts.keys() - {number}:
            self.hosts[other].meet(number, part.incarnation)
            self.hosts[number].meet(other, self.parts[other].incarnation)
        return report.upto, back

    def reports(self) -> list[Report]:
        for host in self.hosts.values():
            self.log += host.rows()
        return [*self.over, *(host.report() for host in self.hosts.values())]


def ran(world: World, tick: float = 0.0) -> list[Report]:
    world.run(tick)
    return world.reports()


def totals(reports: list[Report], name: str, replication: int = 0) -> np.ndarray:
    return np.sum([getattr(report.tallied[replication], name) for report in reports], axis=0)


def counts(reports: list[Report], replication: int = 0) -> tuple[int, ...]:
    return tuple(totals(reports, "counts", replication).tolist())


def assert_same_path(compiled: Plan, hosts: int, seed: int, sampled: bool, horizon: float = 10.0) -> None:
    world = World(compiled, hosts, seed, horizon, sampled)
    assert_path(compiled, world, ran(world), seed, 0)


def assert_path(
    compiled: Plan, world: World, ours: list[Report], seed: int, replication: int, late: step.Lateness | None = None
) -> None:
    horizon = ours[0].upto
    theirs = step.run_path(compiled, seed, replication, horizon, world.sampled, late)
    held = compiled.copies > 0
    assert counts(ours, replication) == theirs.counts
    present = totals(ours, "present", replication)[held]
    assert np.allclose(present, horizon * compiled.copies[held], rtol=ROUNDING)
    fresh = totals(ours, "fresh", replication)[held] / present
    assert np.allclose(fresh, theirs.fresh[held], rtol=0, atol=ROUNDING)
    if compiled.constant_delay == 0 and not late:  # else the ends of the horizon cut answers in two ways
        assert np.array_equal(totals(ours, "answers", replication), theirs.answers)
        for good in ("good", "good_when_due"):
            assert np.allclose(totals(ours, good, replication), theirs.good, rtol=0, atol=ROUNDING * 1000)
    copies = np.full_like(theirs.copies, -np.inf)
    for host in world.hosts.values():
        for row, node, left in host.left()[replication]:
            copies[row, node] = left
    assert np.array_equal(copies, theirs.copies)


@pytest.mark.parametrize("hosts", [1, 2, 3, 99])
@pytest.mark.parametrize("sampled", [True, False], ids=["sampled", "conditional"])
@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_punctual_hosts_walk_the_path_of_step(network, sampled, hosts):
    for seed in range(3):
        assert_same_path(plan(network), hosts, seed, sampled)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(network=networks(), seed=st.integers(0, 2**32), hosts=st.integers(1, 4))
def test_they_do_so_on_any_network_that_starts_stationary(network, seed, hosts):
    compiled = plan(network)
    # Where it does not, `step` goes on learning who is whose contact after time zero.
    # A host cannot order what falls on the same instant elsewhere; one host can.
    walk = step.to_zero(compiled, seed, 0, 5.0, True)
    lattice = any(p.law.span is not None for p in compiled.processes)
    if walk.unproven() == 0:
        assert_same_path(compiled, 1 if lattice else hosts, seed, True, 5.0)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(network=troubled(), seed=st.integers(0, 2**32), hosts=st.integers(1, 4))
def test_what_is_planned_to_go_wrong_does_so_as_in_step(network, seed, hosts):
    compiled, horizon = plan(network), 5.0
    lattice = any(p.law.span is not None for p in compiled.processes)
    if step.to_zero(compiled, seed, 0, horizon, True).unproven() or compiled.constant_delay != 0:
        return
    ours = ran(World(compiled, 1 if lattice else hosts, seed, horizon, True))
    theirs = step.run_path(compiled, seed, 0, horizon, True)
    held = compiled.copies > 0
    present = totals(ours, "present")[held]
    assert counts(ours) == theirs.counts
    shares = added([report.tallied[0].load for report in ours])
    for key, (amount, whole) in shares.items():
        assert np.allclose(theirs.shares[key], (amount, whole), rtol=1e-9, atol=ROUNDING), key
    assert shares.keys() == {key for key in theirs.shares if key[1] not in ("availability", "answered")}
    with np.errstate(invalid="ignore"):
        assert np.allclose(totals(ours, "fresh")[held] / present, theirs.fresh[held], atol=ROUNDING, equal_nan=True)
    if compiled.faults.crashes:
        there = [theirs.shares[group, "availability"][0] for g, group in enumerate(compiled.groups) if held[g]]
        assert np.allclose(present, there, rtol=1e-9, atol=ROUNDING)
    if (
        compiled.faults and compiled.bandwidth is None and compiled.clients.any()
    ):  # else some wait in line beyond the horizon
        answers = totals(ours, "answers"), totals(ours, "answers") - totals(ours, "empty")
        group = int(compiled.group[compiled.clients][0])
        assert (answers[1][group], answers[0][group]) == theirs.shares[compiled.groups[group], "answered"]


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_late_wakes_happen_as_planned_and_are_counted(network):
    compiled, horizon, tick = plan(network), 10.0, 0.03
    theirs = step.run_path(compiled, 1, 0, horizon, True)
    ours = ran(World(compiled, 2, 1, horizon, True), tick)
    assert counts(ours) == theirs.counts
    for report in ours:
        assert 0 < report.slip.mean < report.slip.largest <= tick * (1 + 1e-9)
        assert report.slip.count == sum(counts([report]))
        assert report.tallied[0].unanswered == 0


def test_late_answers_count_from_when_the_query_was_due():
    compiled, tick = plan(NAMED["redundant"]), 0.5
    ours = ran(World(compiled, 2, 1, 20.0, True), tick)
    clients = compiled.groups.index("clients")
    answers, good, due = (totals(ours, name)[clients] for name in ("answers", "good", "good_when_due"))
    assert answers == counts(ours)[3]
    assert good < due <= answers  # half a unit later there have been updates
    responses = [report.responses for report in ours if report.responses.count]
    assert sum(r.count for r in responses) == answers
    assert all(tick / 4 < r.mean < tick for r in responses)


def test_batches_that_come_twice_or_late_are_taken_once():
    compiled = plan(NAMED["cluster"])
    plain, doubled = World(compiled, 3, 1, 10.0, True), World(compiled, 3, 1, 10.0, True)

    def carry() -> None:
        for host, batch in reversed(list(doubled.transport.arrived())):
            doubled.hosts[host].receive(batch)
            doubled.hosts[host].receive(batch)

    doubled.carry = carry
    ours, theirs = ran(doubled), ran(plain)
    assert np.allclose(totals(ours, "fresh"), totals(theirs, "fresh"), rtol=0, atol=ROUNDING)
    taken = sum(report.taken for report in ours)
    assert taken == sum(report.taken for report in theirs) == sum(report.repeated for report in ours)
    assert taken == sum(report.batches for report in ours)


def test_arrivals_take_each_number_once_and_forget_dead_incarnations():
    came = Arrivals()
    assert [came.take((0, 0, n)) for n in (1, 0, 1, 3, 0, 2)] == [True, True, False, True, False, True]
    assert came.take((1, 0, 0))
    assert came.take((0, 1, 0))  # it was born again, and counts from zero
    assert not came.take((0, 0, 4))
    assert (came.taken, came.repeated) == (6, 3)


@pytest.mark.parametrize(
    "said", [Pull(), Pull(3, "a", 2), Reply({}), Reply({"s": 1.5}, 3, ("a", "b")), Reply({}, 0, ())]
)
def test_messages_survive_the_way(said):
    (head, [(*about, form)]) = unpack(pack((1, 2, 3), [(0, 4, 5, 6.0, 7.0, body(said))]))
    assert (head, about, message(form)) == ((1, 2, 3), [0, 4, 5, 6.0, 7.0], said)


def test_batches_to_one_host_keep_their_distance():
    compiled = plan(NAMED["cluster"])
    world = World(compiled, 2, 1, 10.0, True)
    left = {0: [], 1: []}
    for host in world.hosts.values():
        host.post.gap = 0.25
    while not all(host.done for host in world.hosts.values()):
        due = min(host.step() for host in world.hosts.values())
        if world.quiet:
            world.now = max(due, world.now)
        for to, batch in world.transport.arrived():
            left[to].append(world.now)
            world.hosts[to].receive(batch)
    for instants in left.values():
        assert len(instants) > 20
        assert np.diff(instants).min() >= 0.25 * (1 - 1e-12)


def test_updates_know_the_first_one_after():
    updates = Updates(-1.0, iter([0.5, 2.0, 3.0]))
    assert [updates.after(left) for left in (-np.inf, -1.0, 0.0, 0.5, 1.9, -2.0)] == [-1.0, 0.5, 0.5, 2.0, 2.0, -1.0]


# Messages that take their time


@pytest.mark.parametrize("delay", [0.0, 0.01, 0.125])
@pytest.mark.parametrize("network", NAMED.values(), ids=NAMED)
def test_hosts_whose_messages_are_all_as_late_walk_the_path_of_a_late_step(network, delay):
    """An actor per node, so that every message crosses; what comes before it is due is kept until then."""
    compiled, horizon, takes = plan(rn.Network.from_data(network.data() | {"delay": delay})), 10.0, 0.03
    world = World(compiled, 99, 1, horizon, True, paths=2)
    world.transport.takes = takes
    ours = ran(world)
    n, late = len(compiled.groups), max(takes - delay, 0.0)
    lateness = step.Lateness((late,) * n, (late,) * n)
    for replication in range(2):
        assert_path(compiled, world, ours, 1, replication, lateness)
    for report in ours:
        for spread, delays in zip(report.late, report.delays, strict=True):
            assert spread.count == delays.count
            assert np.isclose(spread.mean, late if spread.count else 0.0, rtol=1e-9)
            assert np.isclose(delays.mean, max(takes, delay) if delays.count else 0.0, rtol=1e-9)


# Several paths at once, and an end before its time


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_replications_in_the_same_hosts_do_not_disturb_one_another(network):
    compiled = plan(network)
    world = World(compiled, 2, 7, 10.0, True, paths=3)
    ours = ran(world)
    for replication in range(3):
        assert_path(compiled, world, ours, 7, replication)
    assert len({counts(ours, replication) for replication in range(3)}) == 3


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_a_run_that_is_cut_short_is_a_shorter_run(network):
    compiled = plan(network)
    world = World(compiled, 2, 1, 10.0, True)
    world.run(until=3.0)
    for host in world.hosts.values():
        host.cut(4.0)
    ours = ran(world)
    assert world.now < 5.0
    assert_path(compiled, world, ours, 1, 0)


# The log


def planned(compiled: Plan, seed: int, replication: int, horizon: float) -> dict[tuple[str, str], list[float]]:
    """The instants of every process in [0, horizon), by node and event."""
    processes = range(len(compiled.processes))
    instants = Instants(renewals(compiled, seed_words(seed, replication), processes), 0.0)
    purposes = {code: EVENTS[name] for name, code in PURPOSES.items() if name in EVENTS}
    return {
        (compiled.names[p.node], purposes[p.purpose]): list(takewhile(lambda at: at < horizon, instants.of(q)))
        for q, p in enumerate(compiled.processes)
    }


def woken(log: list[LogRow], replication: int) -> dict[tuple[str, str], list[float]]:
    """The wakes that a log tells of; pulls of one wake share its instant."""
    found: dict[tuple[str, str], list[float]] = {}
    for of, at, event, node, *_ in log:
        if of == replication and event in EVENTS.values():
            wakes = found.setdefault((node, event), [])
            if not wakes or wakes[-1] != at:
                wakes.append(at)
    return found


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_the_log_has_every_event_once(network):
    compiled, horizon = plan(network), 10.0
    world = World(compiled, 2, 1, horizon, True, paths=2, logged=True)
    ours = ran(world)
    for r in range(2):
        assert woken(world.log, r) == {key: at for key, at in planned(compiled, 1, r, horizon).items() if at}
    assert len(world.log) == len(set(world.log))
    kinds = Counter(row[2] for row in world.log)
    assert kinds["answer"] == sum(r.responses.count for r in ours)
    if compiled.constant_delay == 0:
        pulls = sum(kinds[event] for event in ("download", "poll", "query"))
        unasked = sum(row[4] is None for row in world.log if row[2] in ("download", "poll", "query"))
        assert kinds["reply"] == pulls - unasked == sum(of.count for report in ours for of in report.delays)


def written_by_step(compiled: Plan, seed: int, horizon: float) -> list[tuple]:
    kept = list[Columns]()
    step.record_path(compiled, seed, 0, horizon, kept.append, ())
    names = [*compiled.names, None]  # NO_ONE is the last of them
    return [
        (at, record.EVENTS[event], names[node], names[peer], None if np.isnan(left) else left, names[source])
        for rows in kept
        for at, event, node, peer, left, source in zip(*(column.tolist() for column in rows), strict=True)
    ]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(network=troubled() | networks(), seed=st.integers(0, 2**32), hosts=st.integers(1, 4))
def test_the_log_says_what_that_of_step_says(network, seed, hosts):
    """But of wakes that ask nobody, which have a row here, and of queries from before time zero."""
    compiled, horizon = plan(network), 5.0
    if step.to_zero(compiled, seed, 0, horizon, False).unproven() or compiled.constant_delay != 0:
        return
    lattice = any(p.law.span is not None for p in compiled.processes)
    world = World(compiled, 1 if lattice else hosts, seed, horizon, False, logged=True)
    ran(world)
    wakes = ("download", "poll", "query")
    ours = [row[1:] for row in world.log if row[1] < horizon and not (row[2] in wakes and row[4] is None)]
    theirs = written_by_step(compiled, seed, horizon)
    early = Counter(map(repr, theirs))
    early.subtract(map(repr, ours))
    assert min(early.values()) == 0
    assert all("'answer'" in row for row in early.elements())
    assert compiled.bandwidth is not None or not any(early.elements())


def test_rows_say_what_came():
    compiled = plan(NAMED["redundant"])
    world = World(compiled, 2, 1, 3.0, True, logged=True)
    ran(world)
    replies: dict[tuple[float, str], list[float]] = {}
    for _, at, event, node, peer, left, source in world.log:
        assert (source is None) == (event in ("download", "query"))
        if event == "reply":
            replies.setdefault((at, node), []).append(left)
            assert (peer == "source" and left == at) or (node.startswith("client") and left < at)
        elif event == "answer":
            assert (peer, left) == (None, max(replies[at, node]))
            assert len(replies[at, node]) == 3
        elif event == "start":
            assert (at, peer) == (0.0, None)
            assert left <= 0
        else:
            assert left is None
            assert (event == "update") == (peer is None)


# Losses


@pytest.mark.parametrize("hosts", [2, 3])
@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_outside_its_outage_a_lost_host_does_what_was_planned(network, hosts):
    """Its second loss comes from the incarnation that replaced it."""
    compiled, horizon, me = plan(network), 20.0, 1
    world, whole = (World(compiled, hosts, 5, horizon, True, paths=2, logged=True) for _ in range(2))
    away = [world.lose(me, 3.0, 4.0, 5.5), world.lose(me, 9.0, 9.7, 10.1)]
    ours = ran(world)
    ran(whole)
    lost = {name for name, host in zip(compiled.names, world.parts[me].at, strict=True) if host == me}

    def counted(node: str, at: float) -> bool:
        return node not in lost or not any(heard < at <= back for heard, back in away)

    for r in range(2):
        expected = {
            key: kept
            for key, instants in planned(compiled, 5, r, horizon).items()
            if (kept := [at for at in instants if counted(key[0], at)])
        }
        assert woken(world.log, r) == expected
        assert sum(counts(ours, r)) == sum(map(len, expected.values()))
    if not compiled.recent:  # else whom a node asks depends on who has asked before
        asked = [row for row in whole.log if row[2] in EVENTS.values() and counted(row[3], row[1])]
        assert sorted(row for row in world.log if row[2] in EVENTS.values()) == sorted(asked)
    assert len(world.log) == len(set(world.log))
    begun = [row for row in world.log if row[2] == "start" and row[1] > 0]
    known = {name for name, role in zip(compiled.names, compiled.roles, strict=True) if role == "source"}
    mine = lost - {name for name, role in zip(compiled.names, compiled.roles, strict=True) if role == "client"}
    assert sorted((of, at, name) for of, at, _, name, *_ in begun) == sorted(
        (of, back, name) for of in range(2) for _, back in away for name in mine
    )
    assert all((left is not None and left <= at) == (name in known) for _, at, _, name, _, left, _ in begun)


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_a_replica_is_blank_until_its_first_copy(network):
    compiled, horizon = plan(network), 20.0
    world = World(compiled, 2, 5, horizon, True, logged=True)
    heard, back = world.lose(1, 3.0, 4.0, 5.5)
    ours, part = ran(world), world.parts[1]
    present = totals(ours, "present")
    for g in np.flatnonzero(compiled.copies):
        absent = 0.0
        for i in np.flatnonzero((compiled.group == g) & (np.array(part.at) == 1)):
            copies = (
                at
                for _, at, event, node, _, left, _ in world.log
                if node == compiled.names[i] and event == "reply" and left is not None and at >= back
            )
            absent += min([*copies, horizon]) - heard
        assert np.isclose(present[g], horizon * compiled.copies[g] - absent, rtol=ROUNDING)
    assert (totals(ours, "fresh") <= present + ROUNDING).all()


def test_queries_that_lost_a_reply_are_unanswered():
    compiled = plan(rn.redundant(replicas=10, ask=3, updates="exponential(rate=1)", downloads="constant(rate=1)",
                                 queries="exponential(rate=5)", delay=0.1))  # fmt: skip
    clients = compiled.groups.index("clients")
    home = place(compiled, 2)[list(compiled.clients).index(True)]
    for lost in (home, 1 - home):
        world = World(compiled, 2, 1, 20.0, True)
        world.lose(lost, 3.0, 4.0, 5.5)
        ours = ran(world)
        unanswered = sum(report.tallied[0].unanswered for report in ours)
        assert unanswered > 0
        assert counts(ours)[3] == totals(ours, "answers")[clients] + unanswered
        if lost != home:
            assert not world.hosts[home].done


def test_nothing_reaches_the_wrong_incarnation():
    """A reply to what a client had asked before it was lost would otherwise answer another query."""
    sent = []
    one, other = (Post(me, 0, lambda to, batch: sent.append(batch)) for me in (0, 1))
    parcel = (0, 1, 0, 0.0, 0.0, body(Pull()))
    one.put(1, parcel)
    one.flush(0.0)
    other.receive(sent.pop())
    other.reborn(0, 1)
    assert list(other.take()) == []  # from before its birth
    one.put(1, parcel)
    one.reborn(1, 1)
    one.flush(0.0)
    assert not sent  # meant for its predecessor
    one.put(1, parcel)
    one.flush(0.0)
    born = Post(1, 1, lambda to, batch: None)
    born.receive(sent[-1])
    assert list(born.take()) == [parcel]
    assert one.knows(1, 1)
    assert not one.knows(1, 2)


def test_messages_under_way_from_a_lost_host_do_not_arrive():
    compiled = plan(DELAYED)
    world = World(compiled, 2, 1, 20.0, True)
    world.run(until=5.0)
    agenda = world.hosts[0]._agenda
    lost = {name for name, host in zip(compiled.names, world.parts[0].at, strict=True) if host == 1}
    senders = [event[6][0] for event in agenda._heap if event[1] == ARRIVAL]
    assert lost & set(senders)
    wakes = agenda.wakes
    world.hosts[0].meet(1, 1)
    left = [event[6][0] for event in agenda._heap if event[1] == ARRIVAL]
    assert sorted(left) == sorted(sender for sender in senders if sender not in lost)
    assert agenda.wakes == wakes


def test_time_without_a_copy_is_absent():
    compiled = plan(rn.single(updates="constant(period=4)", downloads="exponential(rate=1)"))
    for sampled in (True, False):
        ledger = Ledger(compiled, [Updates(-1.0, iter([3.0, 7.0, 11.0]))], 10.0, sampled, 1.0)
        ledger.hold(1, {})
        assert [total.tolist() for total in ledger.totals(2.0)] == [[0.0], [0.0]]
        ledger.copies(1, 2.5, {"source": 2.5})
        ledger.copies(1, 5.0, {})
        fresh, present = ledger.totals(9.0)
        assert present.tolist() == [2.5]
        assert 0 < fresh[0] < 2.5
        ledger.copies(1, 10.5, {"source": 10.5})  # after the horizon
        assert ledger.totals(10.0)[1].tolist() == [2.5]


# Placement


def test_a_tree_is_cut_along_few_links():
    compiled = plan(rn.cascade(depth=7, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)"))
    at = place(compiled, 2)
    cut = [p.node for p in compiled.processes if p.candidates and at[p.candidates[0]] != at[p.node]]
    assert len(cut) <= 7  # one per level
    work = np.bincount(at, work_of(compiled))
    assert abs(work[0] / work.sum() - 0.5) < 0.02


def test_pools_stay_together():
    compiled = plan(rn.cooperative(replicas=50, peers=2, updates="exponential(rate=1)", downloads="exponential(rate=1)",
                                   polls="exponential(rate=4)"))  # fmt: skip
    at = place(compiled, 3)
    assert list(at) == sorted(at)
    assert set(at) == {0, 1, 2}


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
@pytest.mark.parametrize("hosts", [1, 2, 5, 1000])
def test_every_node_has_a_host_and_every_host_a_node(network, hosts):
    compiled = plan(network)
    at = place(compiled, hosts)
    assert len(at) == len(compiled.names)
    assert set(at) == set(range(max(at) + 1))
    assert max(at) < hosts
    assert sorted(lined_up(compiled)) == list(range(len(compiled.names)))
    if hosts >= len(compiled.names):
        assert max(at) + 1 == len(compiled.names)


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_traffic_counts_every_pull_and_its_reply(network):
    compiled = plan(network)
    between = traffic(compiled, place(compiled, 3))
    assert np.isclose(between.sum(), 2 * compiled.asking)
    assert np.allclose(between, between.T)
    # Whoever sends a message and whoever gets it have work.
    assert np.isclose(work_of(compiled).sum(), compiled.rate + 4 * compiled.asking)


# Pace


COSTS = Costs(message=1e-5, batch=3e-4, latency=5e-4)


def test_the_default_scale_leaves_room_and_keeps_delays_small():
    for network in FEW.values():
        compiled = plan(network)
        for hosts in (1, 2):
            at = place(compiled, hosts)
            work, between = np.bincount(at, work_of(compiled)), traffic(compiled, at)
            scale = default_scale(compiled, COSTS, work, between, 2.0)
            assert load(COSTS, work, between, scale).max() <= SHARE
            if hosts == 2:
                assert COSTS.latency / scale <= LATE * shortest(compiled)


def test_more_messages_take_more_time():
    def scale(replicas: int) -> float:
        compiled = plan(rn.cooperative(replicas=replicas, peers=1, updates="exponential(rate=1)",
                                       downloads="exponential(rate=1)", polls="exponential(rate=4)"))  # fmt: skip
        at = place(compiled, 2)
        work = np.bincount(at, work_of(compiled))
        return default_scale(compiled, COSTS, work, traffic(compiled, at), 2.0)

    assert scale(10) == scale(20)  # the latency decides
    assert 8 < scale(10_000) / scale(1000) < 12  # messages do


def test_few_batches_cost_what_they_carry_and_many_are_spaced():
    between = np.array([[0.0, 10.0], [10.0, 0.0]])
    assert np.allclose(load(COSTS, np.zeros(2), between, 1.0), 10 * COSTS.batch)
    assert np.allclose(load(COSTS, np.zeros(2), between * 1e6, 1.0), COSTS.batch / GAP)


def test_a_run_that_kept_up_is_faithful():
    compiled = plan(NAMED["tree"])
    assert judge(compiled, 0.1, [Kept(0.001, 0.1, 500.0)] * 2, 60.0, "") == ("", None)


def test_a_run_that_did_not_names_the_bottleneck_and_a_scale():
    compiled = plan(NAMED["tree"])
    why, advised = judge(compiled, 0.1, [Kept(0.001, 0.1, 500.0), Kept(0.3, 0.97, 900.0)], 60.0, "")
    assert "host 1 was busy 97% of the time" in why
    assert advised == 0.2
    why, advised = judge(compiled, 0.1, [Kept(0.03, 0.3, 500.0), Kept(0.04, 0.2, 900.0)], 60.0, "")
    assert "1,400 messages per second" in why
    assert advised == 0.8
    why, advised = judge(compiled, 0.1, [Kept(0.0, 0.2, 500.0)], 60.0, "stopped")
    assert why.startswith("stopped")
    assert advised == 0.2


@pytest.mark.parametrize(("scale", "rounded"), [(0.0123, 0.013), (0.013, 0.013), (1.0, 1.0), (99.1, 100.0)])
def test_scales_are_rounded_up(scale, rounded):
    assert round_up(scale) == rounded


# Clocks and spreads


def test_the_offset_is_within_its_error():
    clock, rng = VirtualClock(100.0), np.random.default_rng(1)

    def ask() -> float:
        clock.sleep(rng.uniform(0.001, 0.02))
        there = clock.now + 7.0
        clock.sleep(rng.uniform(0.001, 0.02))
        return there

    found = offset(ask, clock.monotonic)
    assert abs(found.seconds - 7.0) <= found.error <= 0.02
    assert offset(lambda: 3.0, lambda: 1.0) == Offset(2.0, 0.0)


def test_a_spread_knows_its_quantiles_to_one_percent():
    values = np.random.default_rng(1).exponential(size=10_000)
    whole, half = Spread(), Spread()
    for i, value in enumerate(values.tolist()):
        (whole if i % 2 else half).add(value)
    whole.merge(half)
    assert whole.count == values.size
    assert whole.largest == values.max()
    assert np.isclose(whole.mean, values.mean())
    for p in (0.01, 0.5, 0.99):
        assert np.isclose(whole.quantile(p), np.quantile(values, p, method="inverted_cdf"), rtol=0.0101)


def test_zeros_are_values_too():
    spread = Spread()
    for value in (0.0, 0.0, -1e-9, 2.0):
        spread.add(value)
    assert (spread.mean, spread.quantile(0.5), spread.largest) == (0.5, 0.0, 2.0)
    assert np.isclose(spread.quantile(0.99), 2.0, rtol=0.01)
    assert Spread().quantile(0.5) == Spread().mean == 0.0


def test_the_engine_does_not_need_ray_to_be_imported():
    program = "import sys, replnet.live; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

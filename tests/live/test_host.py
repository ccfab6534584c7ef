"""Hosts without Ray walk the path of `step`, whatever is late, lost or cut short."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from live_world import (
    DELAYED,
    FEW,
    ROUNDING,
    SOURCES,
    WAKES,
    LogRow,
    World,
    assert_path,
    assert_same_path,
    assert_shares,
    counts,
    flat,
    on_a_lattice,
    ran,
)
from networks import NAMED, networks, troubled, two_way

import replnet as rn
from replnet.engines.log import Columns
from replnet.engines.nodes import step
from replnet.engines.path import Task
from replnet.engines.plan import plan
from replnet.live.placement import place
from replnet.network.topology import CLIENT, SOURCE

LOSSY = rn.cascade(
    depth=2, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)", faults=[{"lose": 0.3}]
)


@pytest.mark.parametrize("sampled", [True, False], ids=["sampled", "conditional"])
@pytest.mark.parametrize("network", [SOURCES, LOSSY], ids=["several sources", "losses"])
def test_punctual_hosts_walk_the_path_of_step(network, sampled):
    assert_same_path(plan(network), 2, 1, sampled)


def written_by_step(task: Task) -> list[LogRow]:
    kept = list[Columns]()
    step.run_path(replace(task, keep=lambda replication: kept.append), 0)
    return [row for rows in kept for row in flat(task.plan, 0, rows)]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    network=networks() | troubled() | two_way(networks() | troubled()),
    seed=st.integers(0, 2**32),
    hosts=st.integers(1, 4),
    sampled=st.booleans(),
)
def test_they_do_so_on_any_network_whatever_is_planned_to_go_wrong_and_log_what_step_logs(
    network, seed, hosts, sampled
):
    """If it starts stationary: else `step` goes on learning who is whose contact after time zero. With delays and
    faults, more is under way at the end than counts can tell.

    But for what waits, or is under way, beyond the horizon, and queries from before time zero.
    """
    compiled, horizon = plan(network), 5.0
    unproven = step.run_to_zero(Task(compiled, seed, horizon, sampled), 0).unproven
    if unproven or (compiled.constant_delay != 0 and compiled.pulls_may_fail):
        return
    world = World(compiled, 1 if on_a_lattice(compiled) else hosts, seed, horizon, sampled, logged=True)
    ours, theirs = ran(world), step.run_path(world.task, 0)
    assert counts(ours) == theirs.counts
    asking = {compiled.groups[g] for g in compiled.group[compiled.clients]}
    beyond = {key for key in theirs.shares if key[0] in asking} if compiled.constant_delay != 0 else set()
    if compiled.bandwidth is not None:
        beyond |= {(group, metric) for group in asking for metric in ("freshness", "answered")}
    shares, expected = (
        {key: of[key] for key in of if key not in beyond} for of in (world.measured_shares(ours), theirs.shares)
    )
    assert_shares(shares, expected)
    if compiled.constant_delay == 0:
        early = Counter(map(repr, written_by_step(world.task)))
        early.subtract(map(repr, (row for row in world.log if row[1] < horizon)))
        assert min(early.values()) == 0
        assert all("'answer'" in row for row in early.elements())
        assert compiled.bandwidth is not None or not any(early.elements())


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_late_wakes_happen_as_planned_and_are_counted(network):
    compiled, horizon, tick = plan(network), 10.0, 0.03
    theirs = step.run_path(Task(compiled, 1, horizon), 0)
    ours = ran(World(compiled, 2, 1, horizon, True), tick)
    assert counts(ours) == theirs.counts
    for report in ours:
        slip = report.statistics.slip
        assert 0 < slip.mean < slip.largest <= tick * (1 + 1e-9)
        assert slip.count == sum(counts([report]))
        assert report.tallies[0].unanswered == 0


def test_late_answers_count_from_when_the_query_was_due():
    compiled, tick = plan(NAMED["redundant"]), 0.5
    world = World(compiled, 2, 1, 20.0, True)
    ours = ran(world, tick)
    good, answers = world.measured_shares(ours)["clients", "freshness"]
    assert answers == counts(ours)[3]
    assert good < step.run_path(world.task, 0).shares["clients", "freshness"][0]  # half a unit later there were updates
    responses = [report.statistics.responses for report in ours if report.statistics.responses.count]
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
    assert_shares(doubled.measured_shares(ours), plain.measured_shares(theirs))
    taken = sum(report.statistics.taken for report in ours)
    assert taken == sum(report.statistics.taken for report in theirs)
    assert taken == sum(report.statistics.repeated for report in ours)
    assert taken == sum(report.statistics.batches for report in ours)


def test_batches_to_one_host_keep_their_distance():
    compiled = plan(NAMED["cluster"])
    world = World(compiled, 2, 1, 10.0, True)
    left = {0: [], 1: []}
    for host in world.hosts.values():
        host.mailbox.gap = 0.25
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
        assert_path(world, ours, replication, lateness)
    for report in ours:
        for spread, delays in zip(report.statistics.late, report.statistics.delays, strict=True):
            assert spread.count == delays.count
            assert np.isclose(spread.mean, late if spread.count else 0.0, rtol=1e-9)
            assert np.isclose(delays.mean, max(takes, delay) if delays.count else 0.0, rtol=1e-9)


# Losses


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_outside_its_outages_a_lost_host_asks_whom_it_was_planned_to_ask(network):
    """Its second loss comes from the incarnation that replaced it; nodes begin anew with a copy if they are sources."""
    compiled, me = plan(network), 1
    world, whole = (World(compiled, 3, 5, 20.0, True, paths=2, logged=True) for _ in range(2))
    away = [world.lose(me, 3.0, 4.0, 5.5), world.lose(me, 9.0, 9.7, 10.1)]
    ran(world)
    ran(whole)
    roles = {
        name: role
        for name, role, host in zip(compiled.names, compiled.topology.role, world.given[me].at, strict=True)
        if host == me
    }
    if not compiled.has_recent_polls:  # else whom a node asks depends on who has asked before
        asked = [
            row
            for row in whole.log
            if row[2] in WAKES and not (row[3] in roles and any(heard < row[1] <= back for heard, back in away))
        ]
        assert sorted(row for row in world.log if row[2] in WAKES) == sorted(asked)
    assert len(world.log) == len(set(world.log))
    begun = [row for row in world.log if row[2] == "start" and row[1] > 0]
    expected = [
        (of, back, name) for of in range(2) for _, back in away for name, role in roles.items() if role != CLIENT
    ]
    assert sorted((of, at, name) for of, at, _, name, *_ in begun) == sorted(expected)
    assert all((left is not None and left <= at) == (roles[name] == SOURCE) for _, at, _, name, _, left, _ in begun)


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_a_replica_is_blank_until_its_first_copy(network):
    compiled, horizon = plan(network), 20.0
    world = World(compiled, 2, 5, horizon, True, logged=True)
    heard, back = world.lose(1, 3.0, 4.0, 5.5)
    ours, at = ran(world), np.array(world.given[1].at)
    found = world.measured_shares(ours, degraded=True)
    for g in np.flatnonzero(np.bincount(compiled.group[~compiled.clients & (compiled.group >= 0)])):
        absent, members = 0.0, np.flatnonzero(compiled.group == g)
        for i in members[at[members] == 1]:
            copies = (
                at
                for _, at, event, node, _, left, _ in world.log
                if node == compiled.names[i] and event == "reply" and left is not None and at >= back
            )
            absent += min([*copies, horizon]) - heard
        there, whole = found[compiled.groups[g], "availability"]
        assert np.isclose(there, whole - absent, rtol=ROUNDING)
        assert whole == horizon * members.size
        fresh, of = found[compiled.groups[g], "freshness"]
        assert fresh <= of + ROUNDING
        assert of == there


def test_queries_that_lost_a_reply_are_unanswered():
    compiled = plan(rn.redundant(replicas=10, ask=3, updates="exponential(rate=1)", downloads="constant(rate=1)",
                                 queries="exponential(rate=5)", delay=0.1))  # fmt: skip
    home = place(compiled, 2)[list(compiled.clients).index(True)]
    for lost in (home, 1 - home):
        world = World(compiled, 2, 1, 20.0, True)
        world.lose(lost, 3.0, 4.0, 5.5)
        ours = ran(world)
        unanswered = sum(report.tallies[0].unanswered for report in ours)
        assert unanswered > 0
        ended = sum(report.statistics.responses.count for report in ours)
        assert counts(ours)[3] == ended + unanswered
        if lost != home:
            assert not world.hosts[home].done


@pytest.mark.parametrize("is_lost", [True, False])
def test_messages_under_way_from_a_lost_host_do_not_arrive(is_lost):
    world = World(plan(DELAYED), 2, 1, 20.0, True, logged=True)
    world.run(until=5.0)
    del world.hosts[0]
    if is_lost:
        world.hosts[1].meet(0, 1)
    world.run()
    world.take(world.hosts[1].rows())
    away = {name for name, host in zip(world.compiled.names, world.given[0].at, strict=True) if host == 0}
    come = [row for row in world.log if row[1] > 5.0 and row[2] == "reply" and row[4] in away]
    assert bool(come) != is_lost


@pytest.mark.parametrize("sampled", [True, False], ids=["sampled", "conditional"])
@pytest.mark.parametrize("network", [*FEW.values(), SOURCES], ids=[*FEW, "sources"])
def test_who_is_fresh_now_is_what_the_log_says(network, sampled):
    world = World(plan(network), 2, 5, 20.0, sampled, logged=True)
    for until in (1.0, 7.0, 13.0):
        world.run(until=until)
        states = {}
        for host, mine in zip(world.hosts.values(), world.given, strict=True):
            world.take(host.rows())
            held, fresh, waiting = host.report(until).states
            states |= dict(zip(mine.own.tolist(), zip(held.tolist(), fresh.tolist(), strict=True), strict=True))
            assert np.isfinite(waiting).all()
        changed, left = {}, {}
        for _, at, event, node, _, had, source in sorted(world.log, key=lambda row: row[1]):
            if event == "update" or (event == "start" and node == source):
                changed[source] = at if event == "update" else had
            elif event in ("start", "reply", "offer") and had is not None:
                left[node, source] = max(had, left.get((node, source), -np.inf))
        for i, name in enumerate(world.compiled.names):
            mine = [] if world.compiled.clients[i] else [(at, of) for (node, of), at in left.items() if node == name]
            assert states[i] == (len(mine), sum(at >= changed[of] for at, of in mine))

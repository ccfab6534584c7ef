"""The live engine without Ray: hosts on a clock that a test turns, and a transport in its hands."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import networks

import replnet as rn
from replnet.engines import step
from replnet.engines.live.clocks import Offset, offset
from replnet.engines.live.host import Host, Report, parts
from replnet.engines.live.ledger import Updates
from replnet.engines.live.pace import GAP, LATE, SHARE, Costs, Kept, default_scale, judge, load, round_up, shortest
from replnet.engines.live.placement import lined_up, place, traffic, work_of
from replnet.engines.live.spread import Spread
from replnet.engines.live.wire import Arrivals, body, message, pack, unpack
from replnet.engines.plan import Plan, plan
from replnet.network.messages import Pull, Reply

ROUNDING = 1e-9  # integrals over a path add the same terms in different orders

NAMED = {
    "tree": rn.cascade(depth=3, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)"),
    "cluster": rn.cooperative(
        replicas=10, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="exponential(rate=4)",
    ),
    "recent": rn.cooperative(
        replicas=10, peers=3, select="recent", updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="constant(rate=4)",
    ),
    "redundant": rn.redundant(
        replicas=10, ask=3, updates="exponential(rate=1)", downloads="constant(rate=1)", queries="exponential(rate=5)"
    ),
    "slow": rn.cascade(
        depth=2, branching=3, updates="exponential(rate=2)", downloads="exponential(rate=2)",
        delay="exponential(mean=0.1)",
    ),
}  # fmt: skip


class World:
    """Hosts that share one clock; it stands still until all are quiet."""

    def __init__(self, compiled: Plan, hosts: int, seed: int, horizon: float, sampled: bool) -> None:
        self.now, self.sent, self.horizon = 0.0, list[tuple[int, bytes]](), horizon
        walk = step.to_zero(compiled, seed, 0, horizon, sampled)
        run = {"seed": seed, "replication": 0, "horizon": horizon, "sampled": sampled}
        given = parts(compiled, place(compiled, hosts), walk.present(), run)
        self.hosts = [Host(compiled, part, lambda: self.now, lambda *batch: self.sent.append(batch)) for part in given]

    def carry(self) -> None:
        """Everything arrives at once and in order."""
        for host, batch in self.sent:
            self.hosts[host].receive(batch)
        self.sent.clear()

    def run(self, tick: float = 0.0) -> list[Report]:
        """To the end, from event to event or in ticks that let wakes be late."""
        while True:
            due = min(host.step() for host in self.hosts)
            if self.sent:
                self.carry()
            elif due > self.now:
                if all(host.done for host in self.hosts) and max(due, self.now) >= self.horizon:
                    return [host.report() for host in self.hosts]
                self.now = self.now + tick if tick else due


def totals(reports: list[Report], name: str) -> np.ndarray:
    return np.sum([getattr(report, name) for report in reports], axis=0)


def counts(reports: list[Report]) -> tuple[int, ...]:
    return tuple(np.sum([report.seen.counts for report in reports], axis=0).tolist())


def assert_same_path(compiled: Plan, hosts: int, seed: int, sampled: bool, horizon: float = 10.0) -> None:
    theirs = step.run_path(compiled, seed, 0, horizon, sampled)
    ours = World(compiled, hosts, seed, horizon, sampled).run()
    held = compiled.copies > 0
    assert counts(ours) == theirs.counts
    fresh = totals(ours, "fresh")[held] / (horizon * compiled.copies[held])
    assert np.allclose(fresh, theirs.fresh[held], rtol=0, atol=ROUNDING)
    if compiled.constant_delay == 0:  # else the ends of the horizon cut answers in two ways
        assert np.array_equal(totals(ours, "answers"), theirs.answers)
        assert np.allclose(totals(ours, "good"), theirs.good, rtol=0, atol=ROUNDING * 1000)
        assert np.allclose(totals(ours, "good_when_due"), theirs.good, rtol=0, atol=ROUNDING * 1000)
    copies = np.full_like(theirs.copies, -np.inf)
    for report in ours:
        for row, node, left in report.left:
            copies[row, node] = left
    assert np.array_equal(copies, theirs.copies)


@pytest.mark.parametrize("hosts", [1, 2, 3, 99])
@pytest.mark.parametrize("sampled", [True, False], ids=["sampled", "conditional"])
@pytest.mark.parametrize("network", NAMED.values(), ids=NAMED)
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


@pytest.mark.parametrize("network", NAMED.values(), ids=NAMED)
def test_late_wakes_happen_as_planned_and_are_counted(network):
    compiled, horizon, tick = plan(network), 10.0, 0.03
    theirs = step.run_path(compiled, 1, 0, horizon, True)
    ours = World(compiled, 2, 1, horizon, True).run(tick)
    assert counts(ours) == theirs.counts
    for report in ours:
        assert 0 < report.seen.slip.mean < report.seen.slip.largest <= tick * (1 + 1e-9)
        assert report.seen.slip.count == sum(report.seen.counts)
        assert report.unanswered == 0


def test_late_answers_count_from_when_the_query_was_due():
    compiled, tick = plan(NAMED["redundant"]), 0.5
    ours = World(compiled, 2, 1, 20.0, True).run(tick)
    clients = compiled.groups.index("clients")
    answers, good, due = (totals(ours, name)[clients] for name in ("answers", "good", "good_when_due"))
    assert answers == counts(ours)[3]
    assert good < due <= answers  # half a unit later there have been updates
    responses = [report.seen.responses for report in ours if report.seen.responses.count]
    assert sum(r.count for r in responses) == answers
    assert all(tick / 4 < r.mean < tick for r in responses)


def test_batches_that_come_twice_or_late_are_taken_once():
    compiled = plan(NAMED["cluster"])
    plain, doubled = World(compiled, 3, 1, 10.0, True), World(compiled, 3, 1, 10.0, True)

    def carry() -> None:
        for host, batch in reversed(doubled.sent):
            doubled.hosts[host].receive(batch)
            doubled.hosts[host].receive(batch)
        doubled.sent.clear()

    doubled.carry = carry
    ours, theirs = doubled.run(), plain.run()
    assert np.allclose(totals(ours, "fresh"), totals(theirs, "fresh"), rtol=0, atol=ROUNDING)
    assert totals(ours, "taken") == totals(theirs, "taken") == totals(ours, "repeated")
    assert sum(report.seen.batches for report in ours) == totals(ours, "taken")


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
    (head, [(to, sender, sent, due, form)]) = unpack(pack((1, 2, 3), [(4, 5, 6.0, 7.0, body(said))]))
    assert (head, to, sender, sent, due, message(form)) == ((1, 2, 3), 4, 5, 6.0, 7.0, said)


def test_batches_to_one_host_keep_their_distance():
    compiled = plan(NAMED["cluster"])
    world = World(compiled, 2, 1, 10.0, True)
    left = {0: [], 1: []}
    for host in world.hosts:
        host.gap = 0.25
    while not all(host.done for host in world.hosts):
        due = min(host.step() for host in world.hosts)
        for to, batch in world.sent:
            left[to].append(world.now)
            world.hosts[to].receive(batch)
        if not world.sent:
            world.now = max(due, world.now)
        world.sent.clear()
    for instants in left.values():
        assert len(instants) > 20
        assert np.diff(instants).min() >= 0.25 * (1 - 1e-12)


def test_updates_know_the_first_one_after():
    updates = Updates(-1.0, iter([0.5, 2.0, 3.0]))
    assert [updates.after(left) for left in (-np.inf, -1.0, 0.0, 0.5, 1.9, -2.0)] == [-1.0, 0.5, 0.5, 2.0, 2.0, -1.0]


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


@pytest.mark.parametrize("network", NAMED.values(), ids=NAMED)
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


@pytest.mark.parametrize("network", NAMED.values(), ids=NAMED)
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
    for network in NAMED.values():
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
    assert judge(compiled, 0.1, [Kept(0.001, 0.1, 500.0)] * 2, "") == ("", None)


def test_a_run_that_did_not_names_the_bottleneck_and_a_scale():
    compiled = plan(NAMED["tree"])
    why, advised = judge(compiled, 0.1, [Kept(0.001, 0.1, 500.0), Kept(0.3, 0.97, 900.0)], "")
    assert "host 1 was busy 97% of the time" in why
    assert advised == 0.39
    why, advised = judge(compiled, 0.1, [Kept(0.03, 0.3, 500.0), Kept(0.04, 0.2, 900.0)], "")
    assert "1,400 messages per second" in why
    assert advised == 0.8
    why, advised = judge(compiled, 0.1, [Kept(0.0, 0.2, 500.0)], "stopped")
    assert why.startswith("stopped")
    assert advised == 0.2


@pytest.mark.parametrize(("scale", "rounded"), [(0.0123, 0.013), (0.013, 0.013), (1.0, 1.0), (99.1, 100.0)])
def test_scales_are_rounded_up(scale, rounded):
    assert round_up(scale) == rounded


# Clocks and spreads


def test_the_offset_is_within_its_error():
    clock, rng = [100.0], np.random.default_rng(1)

    def ask() -> float:
        clock[0] += rng.uniform(0.001, 0.02)
        there = clock[0] + 7.0
        clock[0] += rng.uniform(0.001, 0.02)
        return there

    found = offset(ask, lambda: clock[0])
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
    program = "import sys, replnet.engines.live; assert 'ray' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)

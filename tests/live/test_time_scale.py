"""Which host runs which node, how fast model time may pass, and whether a run has kept up."""

from __future__ import annotations

import re

import numpy as np
import pytest
from live_world import FEW
from networks import NAMED

import replnet as rn
from replnet.engines.plan import plan
from replnet.live.placement import line_up, place, traffic, work_of
from replnet.live.time_scale import (
    GAP,
    LATE_SHARE,
    SHARE,
    Costs,
    HostPace,
    Standstill,
    default_scale,
    judge,
    load,
    round_up,
    shortest,
)

COSTS = Costs(message=1e-5, batch=3e-4, latency=5e-4, handling=1e-5)


def test_the_default_scale_leaves_room_and_keeps_delays_small():
    for network in FEW.values():
        compiled = plan(network)
        for hosts in (1, 2):
            at = place(compiled, hosts)
            work, between = np.bincount(at, work_of(compiled)), traffic(compiled, at)
            scale = default_scale(compiled, COSTS, work, between, 2.0)
            assert load(COSTS, work, between, scale).max() <= SHARE
            if hosts == 2:
                assert COSTS.latency / scale <= LATE_SHARE * shortest(compiled)


def test_more_messages_take_more_time():
    def scale(replicas: int) -> float:
        compiled = plan(rn.cooperative(replicas=replicas, peers=1, updates="exponential(rate=1)",
                                       downloads="exponential(rate=1)", polls="exponential(rate=4)"))  # fmt: skip
        at = place(compiled, 2)
        work = np.bincount(at, work_of(compiled))
        return default_scale(compiled, COSTS, work, traffic(compiled, at), 2.0)

    assert scale(10) == scale(20)  # the latency decides
    assert 8 < scale(100_000) / scale(10_000) < 12  # messages do


def test_few_batches_cost_what_they_carry_and_many_are_spaced():
    between = np.array([[0.0, 10.0], [10.0, 0.0]])
    assert np.allclose(load(COSTS, np.zeros(2), between, 1.0), 10 * (COSTS.batch + COSTS.message))
    assert np.allclose(load(COSTS, np.zeros(2), between * 1e6, 1.0), COSTS.batch / GAP + 1e7 * COSTS.message)


def test_what_stays_in_a_host_is_handled_and_not_carried():
    within = np.array([[10.0, 0.0], [0.0, 10.0]])
    assert np.allclose(load(COSTS, np.array([7.0, 3.0]), within, 2.0), [3.5 * COSTS.handling, 1.5 * COSTS.handling])


TREE, CLUSTER, FINE = plan(NAMED["tree"]), plan(NAMED["cluster"]), HostPace(0.001, 0.1, 500.0)
STOOD = [Standstill("host 1", 4.0, 8.0, ("a", "b"))]


@pytest.mark.parametrize(
    ("compiled", "scale", "paces", "unfinished", "words", "advised"),
    [
        (TREE, 0.1, [FINE, FINE], "", "^$", None),
        (TREE, 0.1, [FINE, HostPace(0.3, 0.97, 900.0)], "", "host 1 was busy 97% of the time", 0.2),
        (TREE, 0.1, [HostPace(0.03, 0.3, 500.0), HostPace(0.04, 0.2, 900.0)], "", "1,400 messages per second", 0.8),
        (TREE, 0.1, [HostPace(0.0, 0.2, 500.0)], "stopped", "^stopped", 0.2),
        # What comes of a stop is not put down to the machine: 8 % of all wakes 4 s late, and as many again later.
        (CLUSTER, 0.5, [FINE, HostPace(0.6, 0.3, 500.0, STOOD)], "",
         r"host 1 stood still for 8\.0 s at t = 4; the same run again would do", None),
        (CLUSTER, 0.5, [FINE, HostPace(3.0, 0.3, 500.0, STOOD)], "", "1,000 messages per second", 10.0),
        (CLUSTER, 0.5, [FINE, HostPace(0.001, 0.1, 500.0, STOOD)], "", "^$", None),
        (CLUSTER, 0.5, [FINE, HostPace(0.001, 0.1, 500.0, STOOD)], "wakes missed", "^wakes missed: host 1 stood", None),
    ],
)  # fmt: skip
def test_a_run_that_did_not_keep_up_names_why_and_a_scale(compiled, scale, paces, unfinished, words, advised):
    why, found = judge(compiled, scale, paces, 100.0, unfinished)
    assert re.search(words, why)
    assert found == advised


@pytest.mark.parametrize(("scale", "rounded"), [(0.0123, 0.013), (0.013, 0.013), (1.0, 1.0), (99.1, 100.0)])
def test_scales_are_rounded_up(scale, rounded):
    assert round_up(scale) == rounded


# Which host runs which node.


def test_a_tree_is_cut_along_few_links():
    compiled = plan(rn.cascade(depth=7, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)"))
    at = place(compiled, 2)
    processes = compiled.processes
    cut = [q for q in np.flatnonzero(processes.ask) if at[compiled.candidates(q)[0]] != at[processes.node[q]]]
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
    assert sorted(line_up(compiled)) == list(range(len(compiled.names)))
    if hosts >= len(compiled.names):
        assert max(at) + 1 == len(compiled.names)


@pytest.mark.parametrize("network", FEW.values(), ids=FEW)
def test_traffic_counts_every_pull_and_its_reply(network):
    compiled = plan(network)
    between = traffic(compiled, place(compiled, 3))
    assert np.isclose(between.sum(), 2 * compiled.pull_rate)
    assert np.allclose(between, between.T)
    # Whoever sends a message and whoever gets it have work.
    assert np.isclose(work_of(compiled).sum(), compiled.event_rate + 4 * compiled.pull_rate)

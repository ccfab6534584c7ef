"""Which host runs which node."""

from __future__ import annotations

import numpy as np
import pytest
from live_world import FEW

import replnet as rn
from replnet.engines.plan import plan
from replnet.live.placement import line_up, place, traffic, work_of


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

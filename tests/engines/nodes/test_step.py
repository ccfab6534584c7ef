"""The nodes one event at a time: whose turn it is, and messages that take their own time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from networks import laws
from paths import task
from replay import Replay

import replnet as rn
from replnet.engines.log import EVENTS, Columns
from replnet.engines.nodes import step

E1 = "exponential(rate=1)"


def downloads(network: rn.Network, seed: int = 3) -> dict[str, list[tuple[float, str]]]:
    """By source, when it was downloaded and by whom, in order."""
    log, of = list[Columns](), task(network, seed, 40.0)
    step.run_path(replace(of, keep=lambda replication: log.append))
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    at, event, node, peer, *_ = (np.concatenate(column) for column in zip(*log, strict=True))
    for q in np.flatnonzero(event == EVENTS.index("download")):
        found[of.plan.names[peer[q]]].append((float(at[q]), of.plan.names[node[q]]))
    return {source: sorted(those) for source, those in found.items()}


MANY = {"rates": [1, 1], "allocate": [2.0, 0.7], "downloads": "gamma(shape=3)"}


def test_replicas_in_turn_share_the_downloads_that_one_would_have():
    alone, shared = (downloads(rn.aggregate(**MANY, replicas=m)) for m in (1, 3))
    for source, those in shared.items():
        assert [at for at, _ in those] == [at for at, _ in alone[source]]
        whose = np.array([int(name.removeprefix("replica ")) for _, name in those])
        assert (np.diff(whose) % 3 == 1).all()
    # Chance decides who begins.
    first = {downloads(rn.aggregate(**MANY, replicas=3), seed)["source 1"][0][1] for seed in range(12)}
    assert len(first) == 3


def test_replicas_by_themselves_have_instants_of_their_own():
    found = downloads(rn.aggregate(**MANY, replicas=3, share="independently"))
    instants = [at for those in found.values() for at, _ in those]
    assert len(set(instants)) == len(instants)
    assert {name for _, name in found["source 1"]} == {"replica 1", "replica 2", "replica 3"}


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    updates=laws(),
    pulls=laws(),
    each=st.lists(st.sampled_from([0.0, 0.3, "gamma(shape=2, mean=0.4)"]), min_size=3, max_size=3),
    seed=st.integers(0, 2**32),
)
def test_what_comes_late_is_as_old_as_its_way(updates, pulls, each, seed):
    """Every link has a delay of its own; nothing that is held left its source less than a way ago."""
    links = [
        {"from": a, "to": b, "delay": delay}
        for (a, b), delay in zip([("s", "a"), ("a", "b"), ("s", "b")], each, strict=True)
    ]
    nodes = {"s": {"updates": updates}, "a": {"downloads": pulls}, "b": {"downloads": pulls, "ask": 1}}
    of = task(rn.Network.from_data({"kind": "graph", "nodes": nodes, "links": links}), seed, 10.0)
    log = list[Columns]()
    path = step.run_path(replace(of, keep=lambda replication: log.append))
    shares, _ = Replay(of, log, path.depth).shares()
    assert path.shares["level 1", "freshness"] == pytest.approx(shares["level 1", "freshness"])
    at, event, _, _, left, _ = (np.concatenate(column) for column in zip(*log, strict=True))
    replies = event == EVENTS.index("reply")
    fixed = min(float(delay) if not isinstance(delay, str) else 0.0 for delay in each)
    assert (at[replies] - left[replies] >= fixed - 1e-12).all()

"""The nodes one event at a time: whose turn it is, and messages that take their own time."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
from paths import task

import replnet as rn
from replnet.engines.log import EVENTS, Columns
from replnet.engines.nodes import step
from replnet.engines.nodes.runner import Delays
from replnet.engines.plan import plan
from replnet.processes.streams import seed_words

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


def test_a_message_takes_the_delay_of_the_link_in_its_direction_and_else_that_of_the_other():
    law = "exponential(rate=1)"
    nodes = {"s": {"updates": law}, "a": {"downloads": law}, "b": {"downloads": law}}
    links = [{"from": "s", "to": "a", "delay": 0.2}, {"from": "a", "to": "b", "delay": 0.1}]
    compiled = plan(rn.graph(nodes=nodes, links=[*links, {"from": "b", "to": "a", "delay": 0.3}]))
    delays, (s, a, b) = Delays(compiled, seed_words(1, 0)), (compiled.names.index(name) for name in "sab")
    ways = ((s, a), (a, s), (a, b), (b, a))
    assert [delays.of(sender, receiver) for sender, receiver in ways] == [0.2, 0.2, 0.1, 0.3]

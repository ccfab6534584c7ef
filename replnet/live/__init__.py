"""The `live` engine: the nodes of `step` inside Ray actors that send each other real messages on the wall clock.

The driver's side:

    driver          paths of a network, one per replication, all at once
    ray_cluster     Ray: a cluster that is joined or started, and hosts in it
    cluster_nodes   its nodes, what they lack, and the code that travels with the job
    node_probe      what runs on a node to say what it has
    cluster_check   its nodes one by one, with clocks and messages, for `replnet doctor`
    placement       which host runs which node
    time_scale      how fast model time may pass, what messages cost, and whether a run has kept up
    supervisor      a run as it goes on: what its hosts have seen, which of them are lost, and which are back
    outcome         what a run yields, and the words in which it ends otherwise

A host's side:

    actor           what runs inside the process of a host
    host            some nodes in every replication, and the order in which things happen to them
    batches         what hosts send one another, as bytes, numbered, each taken once

Both sides:

    clocks          one clock for all hosts, and who stood still
    quantiles       mean, largest and quantiles of many values in little memory

Many independent jobs:

    pool            here, in processes of this machine, or on Ray workers
    processes       processes of this machine that do jobs, one at a time each
"""

from __future__ import annotations

from replnet.live.driver import run_live
from replnet.live.outcome import Glimpse, Live, LiveLost, Outage, Unreachable
from replnet.live.ray_cluster import ray_meanwhile
from replnet.live.supervisor import Log, Watch

__all__ = [
    "Glimpse",
    "Live",
    "LiveLost",
    "Log",
    "Outage",
    "Unreachable",
    "Watch",
    "ray_meanwhile",
    "run_live",
]

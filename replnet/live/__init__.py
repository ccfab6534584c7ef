"""The `live` engine: the nodes of `step` inside Ray actors that send each other real messages on the wall clock.

The driver's side:

    driver          paths of a network, one per replication, all at once
    ray_cluster     Ray: a cluster that is joined or started, and hosts in it
    cluster_nodes   its nodes, what they lack, and the code that travels with the job
    node_probe      the job that finds out which software a node has
    cluster_check   a check of its nodes, their clocks and messages between them, for `replnet doctor`
    placement       which host runs which node
    time_scale      how fast model time may pass, what messages cost, and whether a run has kept up
    supervisor      a run from time zero on: reports of its hosts, and restarts of those that are lost
    outcome         the result of a run, and the errors by which it ends without one

A host's side:

    actor           the process of a host: a thread for its nodes, and calls from outside
    host            some nodes in every replication, and the order of their events
    batches         messages between hosts, in numbered batches of bytes, each taken once

Both sides:

    clocks          one clock for all hosts, and processes that stood still
    quantiles       mean, largest and quantiles of many values in little memory

Many independent jobs:

    pool            jobs done in this process, in processes of this machine, or on Ray workers
    processes       processes of this machine that do jobs, one at a time each
    by_value        pickles of jobs, with the code of the program's own modules
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

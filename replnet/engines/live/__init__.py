"""The `live` engine: the nodes of `step` inside Ray actors that send each other real messages on the wall clock.

The driver's side:

    driver      paths of a network, one per replication, all at once
    cluster     Ray: the one module of the engine that knows it
    placement   which host runs which node
    bounce      what messages between two hosts cost, measured
    pace        how fast model time may pass, and whether a run has kept up
    parts       what every host is told of a run
    lookout     a run as the driver sees it: who has seen what, who is lost, who is back
    gather      from what the hosts have seen to the result
    result      what a run yields, and the words in which it ends otherwise

A host's side:

    actor       what runs inside the process of a host
    host        some nodes in every replication, and the order in which things happen to them
    agenda      the events that a host waits for
    shard       the nodes of one replication: what they do, and what is seen of it
    ledger      how long their copies were fresh, and how good answers were
    seen        what a host has seen, as it is handed on
    post        what a host sends to others and gets from them

Both sides:

    wire        batches of messages as bytes, numbered, each taken once
    clocks      one clock for all hosts, and who stood still
    spread      mean, largest and quantiles of many values in little memory
"""

from __future__ import annotations

from replnet.engines.live.cluster import ray_meanwhile
from replnet.engines.live.driver import run_live
from replnet.engines.live.lookout import Log, Watch
from replnet.engines.live.result import Glimpse, Live, LiveLost, Outage, Unreachable
from replnet.engines.live.seen import LogRow

__all__ = [
    "Glimpse",
    "Live",
    "LiveLost",
    "Log",
    "LogRow",
    "Outage",
    "Unreachable",
    "Watch",
    "ray_meanwhile",
    "run_live",
]

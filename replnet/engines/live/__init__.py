"""The `live` engine: the nodes of `step` inside Ray actors that send each other real messages on the wall clock."""

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

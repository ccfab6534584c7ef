"""Fields that the specifications of several kinds share, and the fields of every whole network."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from replnet.network.faults import Fault
from replnet.network.fields import Bandwidth, Count, Delay, Name, Part

TimeUnit = Literal["us", "ms", "s", "min", "h", "d", "w"]
UPDATES_HELP = "the law of the times between updates of the source, such as exponential(rate=2)"
DOWNLOADS_HELP = "the law of the times between downloads of a replica, such as exponential(rate=2)"
QUERIES_HELP = "the law of the times between queries of a client, such as constant(rate=1)"
POLLS_HELP = "the law of the times between polls of a replica, such as exponential(rate=4)"
TWO_WAY_HELP = "whether a poll also hands the copies of the replica that polls to those it asks"
BANDWIDTH_HELP = "what a node can send per unit of time; turns the service-rate model on"
UNIT_HELP = "what time is counted in, such as min: every number without a unit of its own, and every result"
START_HELP = (
    "what replicas hold at time zero: what they would have if the network had run for ever, if left out; or fresh, "
    "all of them what their sources have just then, while messages under way keep what they carry"
)
CHARGE_HELP = (
    "what bandwidth is spent on: issued, a replica's own pulls and its answers to clients, and what a source answers; "
    "both, its answers to other replicas as well"
)


class Whole(Part):
    """Abstract: the fields that every network may have."""

    name: Name | None = Field(None, description="a short name, for tables; the name of the file if left out")
    title: str | None = Field(None, description="one line that says what the network is")
    unit: TimeUnit | None = Field(None, description=UNIT_HELP)
    bandwidth: Bandwidth | None = Field(None, description=BANDWIDTH_HELP)
    delay: Delay = Field(0.0, description="time a message takes one way, a number or a law; 0 if left out")
    queue: Count = Field(1000, description="how many messages may wait at a node whose bandwidth is limited")
    charge: Literal["issued", "both"] = Field("issued", description=CHARGE_HELP)
    faults: tuple[Fault, ...] = Field((), description="what goes wrong: a list of crashes, cuts and losses")
    start: Literal["fresh"] | None = Field(None, description=START_HELP)

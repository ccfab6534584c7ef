"""What the specifications of all kinds share, and what every whole network may say."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from replnet.laws.fields import Bandwidth, Count, Delay, Name, Part
from replnet.network.faults import Fault

UPDATES = "the law of the times between updates of the source, such as exponential(rate=2)"
DOWNLOADS = "the law of the times between downloads of a replica, such as exponential(rate=2)"
QUERIES = "the law of the times between queries of a client, such as constant(rate=1)"
POLLS = "the law of the times between polls of a replica, such as exponential(rate=4)"
TWO_WAY = "whether a poll also hands what the one who polls has to those it asks"
BANDWIDTH = "what a node can send per unit of time; turns the service-rate model on"
UNIT = "what time is counted in, such as min: every number without a unit of its own, and every result"
START = (
    "what replicas hold at time zero: what they would have if the network had run for ever, if left out; or fresh, "
    "all of them what their sources have just then"
)
CHARGE = (
    "what bandwidth is spent on: issued, a replica's own pulls and its answers to clients, and what a source answers; "
    "both, its answers to other replicas as well"
)


class Whole(Part):
    """Abstract: what every network may say."""

    name: Name | None = Field(None, description="a short name, for tables; the name of the file if left out")
    title: str | None = Field(None, description="one line that says what the network is")
    unit: Literal["us", "ms", "s", "min", "h", "d", "w"] | None = Field(None, description=UNIT)
    bandwidth: Bandwidth | None = Field(None, description=BANDWIDTH)
    delay: Delay = Field(0.0, description="time a message takes one way, a number or a law; 0 if left out")
    queue: Count = Field(1000, description="how many messages may wait at a node whose bandwidth is limited")
    charge: Literal["issued", "both"] = Field("issued", description=CHARGE)
    faults: tuple[Fault, ...] = Field((), description="what goes wrong: a list of crashes, cuts and losses")
    start: Literal["fresh"] | None = Field(None, description=START)

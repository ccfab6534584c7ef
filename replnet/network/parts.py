"""Fields that the specifications of several kinds share, and the fields of every whole network."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from replnet.network.faults import Fault
from replnet.network.fields import Bandwidth, Count, Delay, Name, Part

TimeUnit = Literal["us", "ms", "s", "min", "h", "d", "w"]
HELP: dict[str, str] = {
    "updates": "the law of the times between updates of the source, such as exponential(rate=2)",
    "downloads": "the law of the times between downloads of a replica, such as exponential(rate=2)",
    "queries": "the law of the times between queries of a client, such as constant(rate=1)",
    "polls": "the law of the times between polls of a replica, such as exponential(rate=4)",
    "two_way": "whether a poll also hands the copies of the replica that polls to those it asks",
    "bandwidth": "what a node can send per unit of time; turns the service-rate model on",
    "ask": "k, how many replicas a query asks; drawn at random, all different",
    "unit": "what time is counted in, such as min: every number without a unit of its own, and every result",
    "start": (
        "what replicas hold at time zero: what they would have if the network had run for ever, if left out; or fresh, "
        "all of them what their sources have just then, while messages under way keep what they carry"
    ),
    "charge": (
        "what bandwidth is spent on: issued, a replica's own pulls and its answers to clients, and what a source "
        "answers; both, its answers to other replicas as well"
    ),
}
"""What fields that several kinds of networks share are, by field."""


class Whole(Part):
    """Abstract: the fields that every network may have."""

    name: Name | None = Field(None, description="a short name, for tables; the name of the file if left out")
    title: str | None = Field(None, description="one line that says what the network is")
    unit: TimeUnit | None = Field(None, description=HELP["unit"])
    bandwidth: Bandwidth | None = Field(None, description=HELP["bandwidth"])
    delay: Delay = Field(0.0, description="time a message takes one way, a number or a law; 0 if left out")
    queue: Count = Field(1000, description="how many messages may wait at a node whose bandwidth is limited")
    charge: Literal["issued", "both"] = Field("issued", description=HELP["charge"])
    faults: tuple[Fault, ...] = Field((), description="what goes wrong: a list of crashes, cuts and losses")
    start: Literal["fresh"] | None = Field(None, description=HELP["start"])

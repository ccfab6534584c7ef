"""What the specifications of all kinds share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from replnet.network.fields import Bandwidth, Delay, Name

UPDATES = "the law of the times between updates of the source, such as exponential(rate=2)"
DOWNLOADS = "the law of the times between downloads of a replica, such as exponential(rate=2)"
QUERIES = "the law of the times between queries of a client, such as constant(rate=1)"
POLLS = "the law of the times between polls of a replica, such as exponential(rate=4)"
BANDWIDTH = "what a node can send per unit of time; turns the service-rate model on"


class Part(BaseModel):
    """Abstract: a piece of a specification."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True)


class Whole(Part):
    """Abstract: what every network may say."""

    name: Name | None = Field(None, description="a short name, for tables; the name of the file if left out")
    title: str | None = Field(None, description="one line that says what the network is")
    bandwidth: Bandwidth | None = Field(None, description=BANDWIDTH)
    delay: Delay = Field(0.0, description="time a message takes one way, a number or a law; 0 if left out")

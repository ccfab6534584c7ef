"""What the specifications of all kinds share."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

UPDATES = "the law of the times between updates of the source, such as exponential(rate=2)"
DOWNLOADS = "the law of the times between downloads of a replica, such as exponential(rate=2)"
QUERIES = "the law of the times between queries of a client, such as constant(rate=1)"
POLLS = "the law of the times between polls of a replica, such as exponential(rate=4)"
BANDWIDTH = "what a node can send per unit of time; turns the service-rate model on"


class Part(BaseModel):
    """Abstract: a piece of a specification."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True)

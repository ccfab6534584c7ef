"""Publication latency, as RSSAC047 words it: how long updates took from being first seen anywhere to being everywhere.

For each update, the time from when any node was first seen with it, the source included, to when a replica, or the last
of all, was first seen with it or with a later one; of all updates, the median. What really passed lies between bounds:
at least from then to the last visit of the replica without it, at most from the last visit of the source without it.
An update that never came took for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, final

import numpy as np

from replnet.histories.seen_copies import SeenCopies, SeenUpdates
from replnet.laws import Floats, Ints


@final
class Latencies(NamedTuple):
    """The latencies of updates, in their order: as `measured`, and the `least` and `most` that they can have been."""

    measured: Floats
    least: Floats
    most: Floats

    def medians(self) -> tuple[float, float, float]:
        """Return the medians over all updates: as measured, the least and the most; infinite if half never came."""
        measured, least, most = (float(np.quantile(times, 0.5, method="lower")) for times in self)
        return measured, least, most


def latencies(updates: SeenUpdates, copies: Sequence[SeenCopies], start: float, end: float) -> Latencies:
    """Return how long updates took to come to all of these replicas, of those first seen after `start` and by `end`.

    An update that did not come to all has an infinite latency as measured, and at most; one that was there before the
    source was first visited has an infinite one at most.
    """
    inside = np.flatnonzero((updates.seen > start) & (updates.seen <= end))
    number, first = inside + 1, updates.seen[inside]
    arrived = np.max([held.first_with(number, held.seen) for held in copies], axis=0)
    missing = np.max([_last_without(held, number) for held in copies], axis=0)
    return Latencies(
        np.maximum(arrived - first, 0.0), np.maximum(missing - first, 0.0), arrived - updates.before[inside]
    )


def _last_without(held: SeenCopies, number: Ints) -> Floats:
    """Return when a replica was last visited without the update of each `number`: minus infinity if it always had that.

    For an update that never came it is the last visit.
    """
    before = held.first_with(number, held.before)
    return np.where(np.isposinf(before), held.last_visit, before)

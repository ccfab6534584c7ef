"""Where a path begins so that its state at time zero is stationary, and how that is proven.

A run begins at -depth with every copy unknown, and replays the past from there.
At time zero the state is that of a network that has always been running if
either holds for every source:

    no copy is older than the start: whatever was held before has been overwritten   (1)
    an update came after the start (sampled estimator only): it made every copy
    stale, so what was unknown before it no longer matters                           (2)

Otherwise the same past is looked up twice as deep. A replica whose only download
comes straight from the source needs no past at all: its age is known. Where a
replica may be without a copy (2) does not do: whether it has one matters.

(2) bounds the depth by the age of the updates, (1) by the slowest chain of
downloads. Where both have heavy tails neither may come within reach; then the
path says how many copies are unproven, each wrong by at most P(update age > depth).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from replnet.engines.plan import Plan

MOST_EVENTS = 10_000_000
MOST_WHEN_STRICT = 300_000  # where pulls fail, some copies may never come, and no past proves anything


def depths(plan: Plan, update_age: float, delay: float, sampled: bool, sets: int = 1) -> Iterator[float]:
    """Depths to try in turn; `update_age` is the largest over the sources, `sets` of nodes are run side by side."""
    quiet, asking = plan.quiet, plan.asking
    enough = update_age + 2 * delay
    most = (MOST_WHEN_STRICT if plan.strict else MOST_EVENTS) / (sets * asking) if asking else 0.0
    # Of exponential waits the longest of n is on average log(n) of their mean.
    depth = (4 + math.log(sets * max(len(plan.names), 1))) * quiet + 4 * delay
    while depth < most:
        if sampled and enough <= depth and plan.swept:
            yield enough
            return
        yield depth
        depth *= 2
    yield most

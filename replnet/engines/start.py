"""Where a path begins so that its state at time zero is stationary, and how that is proven.

A run begins at -depth with every copy unknown, and replays the past from there.
At time zero the state is that of a network that has always been running if
either holds for every source:

    no copy is older than the start: whatever was held before has been overwritten   (1)
    an update came after the start (sampled estimator only): it made every copy
    stale, so what was unknown before it no longer matters                           (2)

Otherwise the same past is looked up twice as deep. A replica whose only download
comes straight from the source needs no past at all: its age is known. Where a
replica may be without a copy (2) does not do: whether it has one matters. Lines of nodes with
limited bandwidth are replayed until they have forgotten how they began (lines.py, 3).

(2) bounds the depth by the age of the updates, (1) by the slowest chain of
downloads. Where both have heavy tails neither may come within reach; then the
path says how many copies are unproven, each wrong by at most P(update age > depth).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from replnet.engines.lines import settling
from replnet.engines.plan import UPDATES, Plan
from replnet.laws.base import OLDEST
from replnet.laws.check import FieldError
from replnet.laws.renewal import MOST

MOST_EVENTS = 10_000_000
TOGETHER = 1e-6  # chance of two ages beyond floats that makes no difference
MOST_WHEN_STRICT = 300_000  # where pulls fail, some copies may never come, and no past proves anything


def require_order(plan: Plan) -> None:
    """Refuse laws of which floats cannot tell whether an update or a download came first."""
    with np.errstate(all="ignore"):
        beyond = {law: float(np.nan_to_num(law.age.tail(OLDEST))) for law in plan.laws}
    updates, pulls = (
        max((p.law for p in plan.processes if (p.purpose == UPDATES) is updating), key=beyond.__getitem__, default=None)
        for updating in (True, False)
    )
    if updates and pulls and beyond[updates] * beyond[pulls] > TOGETHER:
        wrong = f"the ages of {updates} and of {pulls} are both beyond {OLDEST:g}, which leaves open who came first"
        raise FieldError("law", wrong, "a lighter tail for one of them, such as pareto(alpha=1.05, rate=1)")


def depths(plan: Plan, update_age: float, delay: float, sampled: bool, sets: int = 1) -> Iterator[float]:
    """Depths to try in turn; `update_age` is the largest over the sources, `sets` of nodes are run side by side."""
    quiet, asking = plan.quiet, plan.asking
    enough = update_age + 2 * delay
    most = (MOST_WHEN_STRICT if plan.strict else MOST_EVENTS) / (sets * asking) if asking else 0.0
    most = min(most, MOST / (sets * plan.rate))
    lines = float(settling(plan).max())
    enough = max(enough, lines)
    # Of exponential waits the longest of n is on average log(n) of their mean.
    depth = max((4 + math.log(sets * max(len(plan.names), 1))) * quiet + 4 * delay, lines)
    while True:
        reach = min(depth, most)
        if sampled and enough <= reach and plan.swept:
            yield enough
            return
        yield reach
        if depth >= most:
            return
        depth *= 2

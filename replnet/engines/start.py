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

Where pulls come to nothing, a copy may never come, however deep the past. Let h be the most steps from a source to
a replica, p about the least share of pulls that ask and reach whom they should, m the longest mean time from one pull,
and from one outage, to the next, and w the longest that both take but for one time in RARELY. No past goes beyond

    h (w + PATIENCE m / p),                                                  (3)

unless for (2), as a copy that has not come by then is not likely to come at all. It stays unproven.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from replnet.engines.lines import settling
from replnet.engines.plan import DOWNLOADS, POLLS, UPDATES, Plan
from replnet.laws.law import OLDEST
from replnet.laws.processes.renewal import PAST_OF_ROW, most_past
from replnet.text.errors import FieldError

MOST_EVENTS = 10_000_000
TOGETHER = 1e-6  # chance of two ages beyond floats that makes no difference
MOST_WHEN_STRICT = 300_000  # where pulls fail, some copies may never come, and no past proves anything
RARELY, PATIENCE = 1e-4, 16.0
MOST_IN_DOUBT = 30_000  # pulls to wait for what may never come: a second or two for the slower engine
MOST_DATED = {"array": 1e6, "step": 1e4}  # pulls of a past that is looked up for dates, if the path has fewer
SURELY = 8  # times the first depth that is tried, which any network is worth


def require_order(plan: Plan) -> None:
    """Refuse laws of which floats cannot tell whether an update or a download came first."""
    with np.errstate(all="ignore"):
        beyond = {law: float(np.nan_to_num(law.age.tail(OLDEST))) for law in plan.topology.laws}
    clocks = plan.clocks
    moving = (clocks.schedule < 0) & (clocks.rate > 0)
    updates, pulls = (
        max((plan.topology.laws[g] for g in np.unique(clocks.law[moving & mine])), key=beyond.__getitem__, default=None)
        for mine in (clocks.purpose == UPDATES, clocks.purpose != UPDATES)
    )
    if updates and pulls and beyond[updates] * beyond[pulls] > TOGETHER:
        wrong = f"the ages of {updates} and of {pulls} are both beyond {OLDEST:g}, which leaves open who came first"
        raise FieldError("law", wrong, "a lighter tail for one of them, such as pareto(alpha=1.05, rate=1)")


def depths(plan: Plan, update_age: float, delay: float, sampled: bool, sets: int = 1) -> Iterator[float]:
    """Depths to try in turn; `update_age` is the largest over the sources, `sets` of nodes are run side by side."""
    lines = float(settling(plan).max(initial=0.0))
    if plan.known and not lines:
        yield 0.0
        return
    quiet, asking = plan.quiet, plan.pulls
    enough = update_age + 2 * delay
    paid = MOST_WHEN_STRICT if plan.strict else max(MOST_EVENTS, PAST_OF_ROW * plan.asking.size)
    most = paid / (sets * asking) if asking else 0.0
    most = min(most, most_past(plan.asking.size) / (sets * plan.rate))
    enough = max(enough, lines)
    # Of exponential waits the longest of n is on average log(n) of their mean.
    depth = max((4 + math.log(sets * max(plan.size, 1))) * quiet + 4 * delay, lines)
    sweeps = sampled and plan.forgetful
    most = min(most, max(deepest(plan), SURELY * depth, enough if sweeps else 0.0))
    while True:
        reach = min(depth, most)
        if sweeps and enough <= reach:
            yield enough
            return
        yield reach
        if depth >= most:
            return
        depth *= 2


def deepest(plan: Plan) -> float:
    """(3), as far as that can be paid for."""
    return min(patience(plan), MOST_IN_DOUBT / max(plan.pulls, 1e-300)) if plan.strict or plan.recent else math.inf


def patience(plan: Plan) -> float:
    """(3); infinite where every pull brings what is asked for."""
    if not (plan.strict or plan.recent):
        return math.inf
    p, sizes = plan.processes, plan.lists.sizes
    pulls = np.flatnonzero(np.isin(p.purpose, (DOWNLOADS, POLLS)) & (p.ask > 0) & (plan.rates > 0))
    # A schedule has no past.
    faults = [crash.fault for crash in plan.faults.crashes] + [cut.fault for cut in plan.faults.cuts]
    random = [(fault.up, fault.down) for fault in faults if fault.up and fault.down]
    own = np.unique(np.column_stack([plan.clocks.law[p.clock[pulls]], plan.stretch(pulls)]), axis=0)
    laws = plan.topology.laws
    longest = max((float(laws[int(g)].age.isf(RARELY)) * stretch for g, stretch in own.tolist()), default=0.0)
    longest += max((float(down.age.isf(RARELY)) for _, down in random), default=0.0)
    between = plan.slowest + max((up.mean + down.mean for up, down in random), default=0.0)
    right = float((p.ask[pulls] / np.maximum(sizes[p.candidates[pulls]], 1)).min(initial=1.0))
    # Both ends are to be up, and both ways to be open.
    up = math.prod((up.mean / (up.mean + down.mean)) ** 2 for up, down in random)
    arriving = math.prod((1 - (way.fault.lose or 0.0)) ** 2 for way in plan.faults.losses)
    reach = right * up * arriving * _room(plan)
    return plan.hops * (longest + PATIENCE * between / reach) if reach else math.inf


def _room(plan: Plan) -> float:
    """About the least share of pulls for which there is room in the lines of both ends."""
    if plan.bandwidth is None:
        return 1.0
    p, lists = plan.processes, plan.lists
    offered = np.bincount(p.node, p.ask * plan.rates, plan.size)
    asked = np.bincount(p.candidates, p.ask * plan.rates, lists.begin.size - 1)
    share = np.repeat(asked / np.maximum(lists.sizes, 1), lists.sizes)
    offered += np.bincount(lists.members, share, plan.size)
    return float((1 + offered / plan.bandwidth).max() ** -2)


def further(plan: Plan, depth: float, horizon: float, engine: str, measured: bool) -> Iterator[float]:
    """How far back a path begins that is to know when all copies left: at first as it would without.

    To measure freshness it is enough that a copy is stale for sure; to know when it left its source may
    take longer, and gets about as long as the path itself. With limited bandwidth, lines may then differ a little, as
    they depend on where the path began; a log alone is no reason for that.
    """
    yield depth
    most = horizon
    if measured:
        most = min(max(horizon, MOST_DATED[engine] / max(plan.pulls, 1e-300)), deepest(plan))
        if plan.bandwidth is None:
            depth = max(depth, 4 * plan.quiet)
            yield depth
    elif plan.bandwidth is not None:
        return
    while depth > 0 and (depth < most if measured else 2 * depth <= most):
        depth *= 2
        yield depth

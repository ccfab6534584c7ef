"""Where a path begins so that its state at time zero is stationary, and how that is proven.

A run begins at -depth with every copy unknown, and replays the past from there.
At time zero the state is that of a network that has always been running if
either holds for every source:

    no copy is older than the start: whatever was held before has been overwritten   (1)
    an update came after the start (sampled estimator only): it made every copy
    stale, so what was unknown before it no longer matters                           (2)

Otherwise a past twice as deep is replayed. This module says how deep; `_replay_past` of engines/array/array and
`_count_unproven` of engines/nodes/step replay it and check. A replica whose only download
comes straight from the source needs no past at all: its age is known. If a
replica may be without a copy, (2) is not enough: whether it has one matters. Lines of nodes with
limited bandwidth are replayed until they have forgotten how they began (lines.py, 3).

(2) bounds the depth by the age of the updates, (1) by the slowest chain of
downloads. Where both have heavy tails neither may come within reach; then the
path says how many copies are unproven, each wrong by at most P(update age > depth).

If pulls may fail, a copy may never come, however deep the past. Let h be the most steps from a source to
a replica, p about the least share of pulls that ask the right node and reach it, m the longest mean time from one
pull to the next plus that from one outage to the next, and w the time that both exceed with probability RARELY only.
No past goes beyond

    h (w + INTERVALS_TO_WAIT m / p),                                                  (3)

except for (2), as a copy that has not come by then is not likely to come at all. It stays unproven.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from replnet.engines.lines import settling_times
from replnet.engines.plan import DOWNLOADS, POLLS, UPDATES, Plan
from replnet.laws import OLDEST
from replnet.processes import PAST_INSTANTS_PER_ROW, most_past_instants
from replnet.text import FieldError

MOST_EVENTS = 10_000_000  # events of a replayed past
NEGLIGIBLE_CHANCE = 1e-6  # that two ages are both beyond floats
MOST_WHEN_STRICT = 300_000  # events of a replayed past if pulls may fail, as then it may never prove anything
RARELY, INTERVALS_TO_WAIT = 1e-4, 16.0
MOST_PULLS_IN_DOUBT = 30_000  # pulls to replay for a copy that may never come: a second or two for engine step
MOST_PULLS_FOR_AGES = {"array": 1e6, "step": 1e4}  # pulls to replay for the departures of copies, if the path has fewer
ALWAYS_AFFORDED = 8  # times the first depth, which is replayed however many events it takes


def require_order(plan: Plan) -> None:
    """Raise FieldError if update and download ages may both be too long for floats, which then cannot order the two."""
    with np.errstate(all="ignore"):
        chance_beyond = {law: float(np.nan_to_num(law.age.tail(OLDEST))) for law in plan.topology.laws}
    clocks = plan.clocks
    renewing = (clocks.schedule < 0) & (clocks.rate > 0)
    updates, pulls = (
        max(
            (plan.topology.laws[g] for g in np.unique(clocks.law[renewing & with_purpose])),
            key=chance_beyond.__getitem__,
            default=None,
        )
        for with_purpose in (clocks.purpose == UPDATES, clocks.purpose != UPDATES)
    )
    if updates and pulls and chance_beyond[updates] * chance_beyond[pulls] > NEGLIGIBLE_CHANCE:
        problem = f"the ages of {updates} and of {pulls} are both beyond {OLDEST:g}, which leaves open who came first"
        raise FieldError("law", problem, "a lighter tail for one of them, such as pareto(alpha=1.05, rate=1)")


def depths(plan: Plan, update_age: float, delay: float, sampled: bool, sets: int = 1) -> Iterator[float]:
    """Yield the depths of the past to replay, to be tried in turn until the state at time zero is proven stationary.

    Depths are in units of time and grow; a single 0 means that no past is needed. The last one is what can be afforded,
    and may not be enough. `update_age` is the largest age of a source's last update, `delay` the longest delay of a
    message, and `sets` the number of replications that are run side by side. With `sampled`, freshness is that of
    updates that are drawn, so that an update after the start of the past settles which copies are stale.
    """
    depth_for_lines = float(settling_times(plan).max(initial=0.0))
    if plan.needs_no_past and not depth_for_lines:
        yield 0.0
        return
    pull_gap, pull_rate = plan.longest_pull_gap, plan.pull_rate
    enough_depth = update_age + 2 * delay
    events_afforded = (
        MOST_WHEN_STRICT if plan.pulls_may_fail else max(MOST_EVENTS, PAST_INSTANTS_PER_ROW * plan.pull_processes.size)
    )
    most = events_afforded / (sets * pull_rate) if pull_rate else 0.0
    most = min(most, most_past_instants(plan.pull_processes.size) / (sets * plan.event_rate))
    enough_depth = max(enough_depth, depth_for_lines)
    # The longest of n exponential waits is on average log(n) times their mean.
    depth = max((4 + math.log(sets * max(plan.size, 1))) * pull_gap + 4 * delay, depth_for_lines)
    sweeps = sampled and plan.update_settles_unknown
    most = min(most, max(deepest_look_back(plan), ALWAYS_AFFORDED * depth, enough_depth if sweeps else 0.0))
    while True:
        reach = min(depth, most)
        if sweeps and enough_depth <= reach:
            yield enough_depth
            return
        yield reach
        if depth >= most:
            return
        depth *= 2


def deepest_look_back(plan: Plan) -> float:
    """Return the depth, in units of time, beyond which a past is not replayed; infinite if no pull can fail.

    It is the longest time to wait for a copy that may never come, or the time in which MOST_PULLS_IN_DOUBT pulls are
    sent, if that is shorter. Polls of recent contacts count as pulls that can fail.
    """
    return (
        min(look_back_limit(plan), MOST_PULLS_IN_DOUBT / max(plan.pull_rate, 1e-300))
        if plan.pulls_may_fail or plan.has_recent_polls
        else math.inf
    )


def look_back_limit(plan: Plan) -> float:
    """Return the depth, in units of time, beyond which a copy is not waited for; infinite if no pull can fail.

    It is the number of pulls from a source to the replica that is farthest from it, times a long wait for a pull that
    succeeds; infinite as well if no pull may succeed. Polls of recent contacts count as pulls that can fail.
    """
    if not (plan.pulls_may_fail or plan.has_recent_polls):
        return math.inf
    p, sizes = plan.processes, plan.lists.sizes
    pulls = np.flatnonzero(np.isin(p.purpose, (DOWNLOADS, POLLS)) & (p.ask > 0) & (plan.rates > 0))
    # A schedule has no past.
    faults = [crash.fault for crash in plan.faults.crashes] + [cut.fault for cut in plan.faults.cuts]
    random = [(fault.up, fault.down) for fault in faults if fault.up and fault.down]
    intervals = np.unique(np.column_stack([plan.clocks.law[p.clock[pulls]], plan.interval_scale(pulls)]), axis=0)
    laws = plan.topology.laws
    longest = max((float(laws[int(g)].age.isf(RARELY)) * scale for g, scale in intervals.tolist()), default=0.0)
    longest += max((float(down.age.isf(RARELY)) for _, down in random), default=0.0)
    mean_between = plan.slowest_pull_interval + max((up.mean + down.mean for up, down in random), default=0.0)
    share_asked = float((p.ask[pulls] / np.maximum(sizes[p.candidates[pulls]], 1)).min(initial=1.0))
    # Both ends must be up, and the ways there and back open.
    share_up = math.prod((up.mean / (up.mean + down.mean)) ** 2 for up, down in random)
    share_arriving = math.prod((1 - (way.fault.lose or 0.0)) ** 2 for way in plan.faults.losses)
    share_reaching = share_asked * share_up * share_arriving * _share_with_room(plan)
    return (
        plan.most_hops * (longest + INTERVALS_TO_WAIT * mean_between / share_reaching) if share_reaching else math.inf
    )


def _share_with_room(plan: Plan) -> float:
    """Return about the least share, above 0 to 1, of pulls for which there is room in the lines of both ends.

    It is 1 if bandwidth is not limited.
    """
    if plan.bandwidth is None:
        return 1.0
    p, lists = plan.processes, plan.lists
    load_of_node = np.bincount(p.node, p.ask * plan.rates, plan.size)
    pulls_of_list = np.bincount(p.candidates, p.ask * plan.rates, lists.begin.size - 1)
    pulls_of_member = np.repeat(pulls_of_list / np.maximum(lists.sizes, 1), lists.sizes)
    load_of_node += np.bincount(lists.members, pulls_of_member, plan.size)
    return float((1 + load_of_node / plan.bandwidth).max() ** -2)


def look_back_further(plan: Plan, depth: float, horizon: float, engine: str, measured: bool) -> Iterator[float]:
    """Yield the depths of the past to replay so that the departures of all copies are known, beginning with `depth`.

    They are in units of time and grow; the caller stops as soon as one is enough. To measure freshness it is enough to
    know that a copy is stale; its departure may lie further back, and is looked for over about as much time as the path
    has. If bandwidth is limited, the lines may then differ a little, as they depend on where the path began; so it is
    not done for a log alone. `engine` is array or step, and `measured` says whether metrics need departures.
    """
    yield depth
    most = horizon
    if measured:
        most = min(max(horizon, MOST_PULLS_FOR_AGES[engine] / max(plan.pull_rate, 1e-300)), deepest_look_back(plan))
        if plan.bandwidth is None:
            depth = max(depth, 4 * plan.longest_pull_gap)
            yield depth
    elif plan.bandwidth is not None:
        return
    while depth > 0 and (depth < most if measured else 2 * depth <= most):
        depth *= 2
        yield depth

"""Why a replica was stale: the parts of its stale time, each with its reason.

A copy that misses a first update, there to be pulled from t on, until the next copy comes at b waits for b - t. Of the
time in which it was stale

    upstream   until t, if it pulls from another replica that got the update at t only (upstreams.py)         (1)
    dead       after t, for the last copy of all, if that is longer than pulls take here                      (2)
    outage     after t, for other copies with such a wait                                                     (3)
    phase      what another phase would save, where the source and the pulls keep clocks that are locked      (4)
    delay      from t to t + d, where d is the least of all waits, if clocks are not locked                   (5)
    interval   the rest: no update comes before the next pull                                                 (6)

so that the shares add up to 1. A wait is longer than pulls take here if it is above 6 times the upper quartile of all
waits, and twice the next shorter one: of exponential pulls, one in 4,000 is above the first. Besides, for (6),

    bursts     how much staler the source's intervals make replicas than Poisson updates of that rate would   (7)

and a replica that goes back to older versions is stale in `back` for what is left then: copies here never go back.

With locked clocks, waits are w = k g + r, where phases come again after g (locked_clocks.py), and pulls that are s
later make them k g + (r + s mod g). The best s is that with the least sum; pulls are better put g / 24 after the
release, if that is not within its jitter, so that it need not be met.
Instants are the middles between visits (seen_copies.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, final

import numpy as np

from replnet.histories.audit import predictions_by_waits
from replnet.histories.locked_clocks import Lock, clock, phase_lock
from replnet.histories.seen_copies import SeenCopies, SeenUpdates
from replnet.laws import Empirical, Exponential, Flags, Floats, Ints

Kind = Literal["visits", "upstream", "dead", "outage", "phase", "delay", "interval", "back", "bursts"]

LONGEST_WAIT = 6.0  # times the upper quartile of all waits
FEWEST_WAITS = 8  # for a quartile, or for a least wait to say something
LONGEST_OF_FEW = 4.0  # times the longest of fewer waits
MOST_UNSEEN = 10.0  # times the usual time between visits, at the end of an outage
CLEARLY_LONGER = 2.0  # times the next shorter wait
MISSED_BY_THE_DEAD = 3  # updates, of a replica that never got any
LEAST_DELAY = 0.1  # of the stale time; less is chance, as some wait is the least
FEWEST_FOR_BURSTS = 20  # waits
MARGIN = 24  # the part of a period after a release at which a pull meets it safely


@final
@dataclass(frozen=True)
class Phase:
    """The phase of a replica's pulls against the releases of what it pulls: a pull comes `offset` after a release.

    There is a release each `period`. Phases come again after `span`, a whole part of the period, and offsets are from 0
    to it. Pulls `best_offset` after a release would make the stale time shorter by `saved`. The offset grows by `drift`
    per unit of time, below 0 if it shrinks; 0 if it stays, as far as the record tells.
    """

    period: float
    span: float
    offset: float
    best_offset: float
    saved: float
    drift: float

    @property
    def lasts(self) -> float:
        """The time until the pulls pass the release, as the clocks drift; infinite if they do not."""
        if self.drift == 0:
            return math.inf
        return (self.span - self.offset) / self.drift if self.drift > 0 else self.offset / -self.drift


@final
@dataclass(frozen=True, eq=False)
class StaleTime:
    """The stale time of a replica between `start` and `end`, in arrays with an element per copy that missed an update.

    A copy that came at `arrived` was stale from `begin` to `until`, and the update that it missed was there to be
    pulled from `available` on: at the source, or at the replica `upstream` from which it pulls (None: the source).
    `is_last` says that no other copy came, and `last_seen` is when it was last seen held, or visited in vain.
    `every_wait` has how long every update waited that came while they were held, not only the first, and `holder` the
    index of the copy that was held then. `never_came` counts the updates of the source in that time if no copy ever
    came, and is 0 else. Visits, every `visit_gap`, see no more exactly when things happened; it is 0 in a record of
    changes.
    """

    start: float
    end: float
    arrived: Floats
    begin: Floats
    until: Floats
    available: Floats
    is_last: Flags
    last_seen: Floats
    every_wait: Floats
    holder: Ints
    never_came: int  # updates in the time, if no copy ever came; else 0
    upstream: str | None
    visit_gap: float

    @cached_property
    def total(self) -> float:
        """The time in which the replica was stale, from `start` to `end`."""
        return float(np.sum(self.until - self.begin))

    @cached_property
    def own(self) -> Floats:
        """The stale time of each copy from when the missed update could be pulled, without what it waited upstream."""
        return np.maximum(self.until - np.maximum(self.begin, self.available), 0.0)

    @cached_property
    def waits(self) -> Floats:
        """The time from when the update that each copy missed could be pulled to the next copy, also before `start`."""
        return np.maximum(self.until - self.available, 0.0)

    @cached_property
    def is_long(self) -> Flags:
        """A mask of the copies that waited longer than pulls take here: in outages, (3), or the last of all, (2).

        They were seen held nearly until the next copy was seen; where nobody visited for long, a pull may have come
        through.
        """
        unseen = self.until - self.last_seen
        return self._waited_long & (unseen <= MOST_UNSEEN * self.visit_gap if self.visit_gap else True)

    @cached_property
    def _waited_long(self) -> Flags:
        """A mask of the copies that waited longer than pulls take here, whatever visits saw of that."""
        usual = np.sort(self.waits[~self.is_last])
        if not usual.size:
            return self.is_last & (self.never_came >= MISSED_BY_THE_DEAD)
        if usual.size < FEWEST_WAITS:
            bound = max(LONGEST_OF_FEW * float(usual[-1]), 3 * self.visit_gap)
            return self.is_last & (self.waits > bound)
        bound = max(LONGEST_WAIT * float(np.quantile(usual, 0.75)), 3 * self.visit_gap)
        stands_out = (usual[1:] > bound) & (usual[1:] > CLEARLY_LONGER * usual[:-1])
        least = float(usual[1:][stands_out][0]) if np.any(stands_out) else math.inf
        return np.where(self.is_last, self.waits > bound, self.waits >= least)

    @cached_property
    def is_usual(self) -> Flags:
        """A mask of the copies that another one replaced without an outage: those not long, and not the last."""
        return ~self.is_long & ~self.is_last

    @property
    def usual_waits(self) -> Floats:
        """How long each update waited that came while a copy was held that `is_usual`, so outside of outages."""
        return self.every_wait[self.is_usual[self.holder]]

    @cached_property
    def least_wait(self) -> float:
        """The least wait of an update outside of outages; 0 if there are fewer than 8 of these."""
        waits = self.usual_waits
        return float(waits.min()) if waits.size >= FEWEST_WAITS else 0.0

    @cached_property
    def delay_time(self) -> float:
        """The stale time before the least wait of all was over, (5); 0 if that may be chance, or visits cause it.

        It is 0 in a record of changes too, in which a download brings all updates at once.
        """
        if not self.visit_gap or self.least_wait <= 2 * self.visit_gap:
            return 0.0
        inside = np.minimum(self.until, self.available + self.least_wait) - np.maximum(self.begin, self.available)
        amount = float(np.maximum(inside, 0.0)[~self.is_long].sum())
        return amount if amount > LEAST_DELAY * self.total else 0.0

    def share(self, amount: float) -> float:
        """Return an amount of time as a share of the replica's stale time; 0 if it was never stale."""
        return amount / self.total if self.total else 0.0


def interval_by_waits(waits: Floats, delay: float) -> float:
    """Return the interval of pulls at which updates wait as long as in `waits`, of which all have a `delay` besides.

    An update waits half an interval in the mean, however many pulls found nothing and were not seen. Waits in outages
    do not count: those above 6 times the upper quartile.
    """
    usual = waits[waits <= LONGEST_WAIT * np.quantile(waits, 0.75)]
    return 2 * (float(usual.mean()) - delay)


def stale_time(
    updates: SeenUpdates, copies: Mapping[str, SeenCopies], name: str, upstream: str | None,
    span: tuple[float, float], visit_gap: float, failed: Floats,
) -> StaleTime:  # fmt: skip
    """Return the stale time of the replica `name` in a `span` of time, from its begin to its end.

    `copies` are those of all replicas, by name; it pulls from the replica `upstream`, or from the source if that is
    None. `visit_gap` is the usual time between two visits of a node, and `failed` has the times of the replica's visits
    that brought nothing, in ascending order.
    """
    start, end = span
    held = copies[name]
    until = held.until
    missed = updates.next_after(held.number)
    available = missed
    if upstream is not None:
        available = np.maximum(missed, copies[upstream].first_with(held.number + 1, copies[upstream].middle))
    begin, stop = np.maximum(np.maximum(held.middle, missed), start), np.minimum(until, end)
    is_last = np.arange(until.size) == until.size - 1
    # An update that came and was fetched between the same two visits made nothing stale for long, but was waited for.
    stale = (begin < stop) | (~is_last & (np.append(np.diff(held.number), 0) > 0) & (until > start) & (until <= end))
    begin = np.minimum(begin, stop)
    every_wait, holder = _waits_of_updates(updates, held, None if upstream is None else copies[upstream])
    index = np.cumsum(stale) - 1
    count = int(np.count_nonzero((updates.seen > start) & (updates.seen <= end)))
    return StaleTime(
        start=start,
        end=end,
        arrived=held.middle[stale],
        begin=begin[stale],
        until=stop[stale],
        available=available[stale],
        is_last=is_last[stale],
        last_seen=np.maximum(np.append(held.before[1:], held.last_visit), _last_before(failed, until))[stale],
        every_wait=every_wait[stale[holder]],
        holder=index[holder[stale[holder]]],
        never_came=count if held.number[0] == held.number[-1] else 0,
        upstream=upstream,
        visit_gap=visit_gap,
    )


def _last_before(times: Floats, instants: Floats) -> Floats:
    """Return the last of `times`, which ascend, at or before each of the `instants`; minus infinity without one."""
    return np.append(-np.inf, times)[np.searchsorted(times, instants, side="right")]


def _waits_of_updates(updates: SeenUpdates, held: SeenCopies, upstream: SeenCopies | None) -> tuple[Floats, Ints]:
    """Return how long every update that came to a replica waited there, and the index of the copy that it replaced.

    It waits from when it came to the replica `upstream`, or to the source if that is None.
    """
    number = np.arange(1, updates.seen.size + 1)
    available = updates.middle
    if upstream is not None:
        available = np.maximum(available, upstream.first_with(number, upstream.middle))
    place = np.searchsorted(held.number, number, side="left")
    came = (place > 0) & (place < held.number.size)
    return np.maximum(held.middle[place[came]] - available[came], 0.0), place[came] - 1


def phase_of(parts: StaleTime, releases: Floats, arrivals: Floats) -> Phase | None:
    """Return the phase of a replica's pulls against the `releases` of what it pulls, (4); None if no clocks are locked.

    `releases`, the updates of the source or the arrivals at its upstream, and `arrivals`, those at the replica, are
    ascending instants. It is None too if there are fewer than 8 of either, or of usual waits.
    """
    usual = parts.is_usual
    if min(releases.size, arrivals.size, int(np.count_nonzero(usual))) < FEWEST_WAITS:
        return None
    clocks = [clock(np.unique(times), 4 * parts.visit_gap) for times in (releases, arrivals)]
    first, second = clocks
    lock = None if first is None or second is None else phase_lock(first, second)
    if first is None or lock is None:
        return None
    waits = parts.waits[usual]
    phases = waits % lock.span
    shifts = -np.quantile(phases, np.linspace(0, 1, 101), method="nearest")
    sums = [float(((phases + shift) % lock.span).sum()) for shift in shifts]
    best = float(shifts[int(np.argmin(sums))])
    offset = float(np.median((phases + best) % lock.span))
    later = max(lock.span / MARGIN - offset, 0.0)
    saved = float(phases.sum() - ((phases + best + later) % lock.span).sum())
    # The last copy, which nobody saw replaced, is stale like all.
    saved *= float(parts.own[~parts.is_long].sum()) / max(float(waits.sum()), lock.span / MARGIN)
    return Phase(
        first.period, lock.span, (offset - best) % lock.span, offset + later,
        min(max(saved, 0.0), float(parts.own[~parts.is_long].sum())), _drift(parts, lock),
    )  # fmt: skip


def _drift(parts: StaleTime, lock: Lock) -> float:
    """Return by how much the phase of the pulls grows per unit of time, below 0 if it shrinks; 0 if that may be chance.

    A movement that is less than the time between visits counts as chance.
    """
    times, phases = (amounts[parts.is_usual] for amounts in (parts.until, parts.waits))
    phases = np.unwrap(phases, period=lock.span)
    times = times - times.mean()
    slope = float(times @ phases / (times @ times))
    scatter = phases - phases.mean() - slope * times
    error = math.sqrt(float(scatter @ scatter) / (times.size - 2) / float(times @ times))
    moved = abs(slope) * float(np.ptp(times))
    return slope if abs(slope) > 4 * error and moved > max(parts.visit_gap, 0.01 * lock.span) else 0.0


def staleness_by_intervals(parts: StaleTime, instants: Floats) -> tuple[float, float] | None:
    """Return the staleness with the source's intervals as recorded, and with Poisson updates of the same rate, (7).

    Both are shares of time that follow from the usual waits, if pulls do not depend on the updates. `instants` are
    those of the source's updates. Return None if there are fewer than 20 waits, or intervals between updates.
    """
    waits, gaps = parts.usual_waits, np.diff(np.unique(instants))
    if min(waits.size, gaps.size) < FEWEST_FOR_BURSTS:
        return None
    law = Empirical(gaps)
    return (
        predictions_by_waits(law, waits)["staleness"],
        predictions_by_waits(Exponential(rate=law.rate), waits)["staleness"],
    )


def shares(parts: StaleTime, phase: Phase | None) -> dict[Kind, float]:
    """Return the share of the stale time for each reason that has one, (1) to (6); they add up to 1.

    `phase` is that of locked clocks, if any.
    """
    own_time, usual = parts.own, ~parts.is_long
    amounts: dict[Kind, float] = {
        "upstream": parts.total - float(own_time.sum()),
        "dead": float(own_time[parts.is_long & parts.is_last].sum()),
        "outage": float(own_time[parts.is_long & ~parts.is_last].sum()),
    }
    rest = float(own_time[usual].sum())
    if phase is not None:
        amounts["phase"] = min(phase.saved, rest)
    else:
        amounts["delay"] = parts.delay_time
    amounts["interval"] = rest - amounts.get("phase", 0.0) - amounts.get("delay", 0.0)
    return {kind: parts.share(amount) for kind, amount in amounts.items() if amount > 0}

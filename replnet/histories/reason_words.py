"""Reasons in words: whole sentences on why each replica was stale, and a few words for a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from replnet.histories.reasons import (
    Kind,
    Phase,
    StaleTime,
    interval_by_waits,
    phase_of,
    shares,
    stale_time,
    staleness_by_intervals,
)
from replnet.histories.seen_copies import SeenCopies, SeenUpdates
from replnet.histories.time_words import day_text, percent, span_text, time_text
from replnet.histories.upstreams import upstreams
from replnet.laws import Floats
from replnet.text import count_text

LEAST_SHARE = 0.05  # of the stale time, of a reason that is told
LEAST_BESIDE_PHASE = 0.2  # of the interval, where a phase is told
LEAST_BURSTS = 0.05  # relative change of staleness
WIDE_BOUNDS = 0.25  # of freshness, from which on visits are too seldom to tell
NARROW_BOUNDS = 0.1  # that visits should come to
LONGEST_OUTLOOK = 30.0  # times the record, for which a drift of clocks is told
MOST_NODES = 8  # with failed visits that are told one by one
MOST_DATES = 3  # outages that are told one by one

CLOCK_SPANS = (1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)


@final
@dataclass(frozen=True)
class Reason:
    """A reason for which a replica was stale: its `kind`, its `share` of the stale time, and what to say of it.

    `brief` is a few words for a table, and `words` are whole sentences. `since` and `until` bound an outage, and
    `since` is the last arrival of a dead replica; `phase` has that of clocks in step, and `upstream` the replica from
    which it pulls; else they are None. Two kinds are no part of the sum of shares, which is 1: `visits`, which only
    make the others uncertain, have 0, and `bursts` the part of the staleness that comes from how updates are spread,
    below 0 if that makes the replica less stale.
    """

    kind: Kind
    share: float
    brief: str
    words: str
    since: float | None = None
    until: float | None = None
    phase: Phase | None = None
    upstream: str | None = None


@final
@dataclass(frozen=True)
class Circumstances:
    """The circumstances of an observation: its `span` of time, whether that is `dated`, and how it was visited.

    `visit_gap` is the usual time between two visits of a node (0 in a record of changes), `changes` how many updates
    the source had, and `faults` are the times of failed visits, by replica. `lost` has the last visit of replicas that
    were not seen any more.
    """

    span: tuple[float, float]
    dated: bool
    visit_gap: float
    changes: int
    faults: Mapping[str, Floats]
    lost: Mapping[str, float]

    @property
    def update_gap(self) -> float:
        """The mean time between two updates of the source."""
        return (self.span[1] - self.span[0]) / self.changes


def reasons_of(
    updates: SeenUpdates,
    copies: Mapping[str, SeenCopies],
    freshness: Mapping[str, tuple[float, float, float]],
    around: Circumstances,
) -> dict[str, tuple[Reason, ...]]:
    """Return the reasons why each replica was stale, by name: the main one first.

    `copies` and `freshness`, as measured and its bounds, are those of all replicas by name.
    """
    from_whom = upstreams(updates, copies, around.visit_gap) if around.visit_gap else {}
    reasons_by_name = {}
    for name, held in copies.items():
        upstream = from_whom.get(name)
        failed = around.faults.get(name, np.array([]))
        parts = stale_time(updates, copies, name, upstream, around.span, around.visit_gap, failed)
        phase = phase_of(parts, (updates if upstream is None else copies[upstream]).between_visits, held.between_visits)
        by_intervals = None
        if phase is None and upstream is None:
            by_intervals = staleness_by_intervals(parts, updates.between_visits)
        around_it = _Replica(name, parts, phase, freshness[name][0], by_intervals, around)
        back = list(_way_back(held.went_back, around_it))
        rest = 1 - sum(reason.share for reason in back)
        others = [replace(reason, share=rest * reason.share) for reason in _reasons(around_it)]
        reasons = sorted([*back, *others], key=lambda reason: -reason.share)
        reasons += _bursts(by_intervals)
        # Visits in turn to several servers by one name leave the bounds wide, however often there are any.
        reasons_by_name[name] = tuple(reasons if back else [*_visit_reason(freshness[name], around), *reasons])
    return reasons_by_name


@final
@dataclass(frozen=True, eq=False)
class _Replica:
    """A replica whose reasons are told: its `name`, its stale time and how fresh it was, and `around` all of them.

    `fresh` is the share of time in which it was fresh. `phase` is that of locked clocks, if any, and `by_intervals` the
    staleness that its waits give with the source's intervals, and with Poisson updates; None if that is not known.
    """

    name: str
    parts: StaleTime
    phase: Phase | None
    fresh: float
    by_intervals: tuple[float, float] | None
    around: Circumstances


def _reasons(replica: _Replica) -> Iterator[Reason]:
    """Yield the reasons that make 5 % or more of the replica's stale time, in no order.

    Beside a bad phase, what the best one leaves is only told from 20 % on.
    """
    parts, phase, around = replica.parts, replica.phase, replica.around
    parts_by_kind = shares(parts, phase)
    # What the best phase leaves is worth a word only if it is much.
    is_phase = parts_by_kind.get("phase", 0.0) > parts_by_kind.get("interval", 0.0)
    for kind, share in parts_by_kind.items():
        if share < (LEAST_BESIDE_PHASE if kind == "interval" and is_phase else LEAST_SHARE):
            continue
        if kind == "upstream":
            yield _upstream(share, parts)
        elif kind == "dead":
            yield _death(share, replica.name, parts, around)
        elif kind == "outage":
            yield _outages(share, replica.name, parts, around)
        elif kind == "phase" and phase is not None:
            yield _phase(share, phase, 1 - (1 - replica.fresh) * (1 - share), around)
        elif kind == "delay":
            length = span_text(parts.least_wait, around.dated)
            words = f"No update arrives in less than {length}, however often it pulls."
            yield Reason("delay", share, f"updates take {length} to arrive", words)
        else:
            yield _interval(share, replica, is_phase)


def _way_back(went_back: int, replica: _Replica) -> Iterator[Reason]:
    """Yield the reason that a replica had versions older than before, if it was stale by that for 5 % or more.

    That is a share of its stale time; `went_back` is the number of visits that found a version older than one before.
    """
    parts = replica.parts
    stale = (1 - replica.fresh) * (parts.end - parts.start)
    if went_back and stale and (share := 1 - parts.total / stale) >= LEAST_SHARE:
        words = (
            f"{count_text(went_back, 'visit')} found an older version than one before: several servers may answer "
            "by this name, or copies are restored."
        )
        yield Reason("back", share, "goes back to older versions", words)


def _visit_reason(freshness: tuple[float, float, float], around: Circumstances) -> Iterator[Reason]:
    """Yield the reason that visits were too seldom to tell, if the bounds of freshness are more than 0.25 apart.

    `freshness` is as measured, and the least and the most that it may have been.
    """
    _, least, most = freshness
    width = most - least
    if not around.visit_gap or width <= WIDE_BOUNDS:
        return
    gap = span_text(around.visit_gap, around.dated)
    wish = span_text(_round_down(around.visit_gap * NARROW_BOUNDS / width, around.dated), around.dated)
    words = (
        f"Visited every {gap}, too seldom to tell: freshness lies between {least:.2g} and {most:.2g}; "
        f"visit every {wish}."
    )
    yield Reason("visits", 0.0, "visited too seldom to tell", words)


def _round_down(length: float, dated: bool) -> float:
    """Return a round length of time, at most 1.25 times `length`: 1, 2 or 5 times a power of ten.

    If it is `dated`, in seconds, it is one that a clock has, from a second to a day.
    """
    if dated:
        return float(max((span for span in CLOCK_SPANS if span <= 1.25 * length), default=CLOCK_SPANS[0]))
    power = 10.0 ** math.floor(math.log10(length))
    return power * max(step for step in (1.0, 2.0, 5.0) if step * power <= max(1.25 * length, power))


def _upstream(share: float, parts: StaleTime) -> Reason:
    """Return the reason that a replica pulls from another one, stale as well for a `share` of its stale time."""
    words = (
        f"It pulls from {parts.upstream} and not from the source: for {percent(share)} of its stale time "
        f"{parts.upstream} was stale as well."
    )
    return Reason("upstream", share, f"pulls from {parts.upstream}", words, upstream=parts.upstream)


def _death(share: float, name: str, parts: StaleTime, around: Circumstances) -> Reason:
    """Return the reason that nothing comes to the replica `name` any more, for a `share` of its stale time."""
    since = float(parts.arrived[parts.is_last][-1])
    missing = parts.end - since
    words = f"Nothing has come since {time_text(since, around.dated)}, for {span_text(missing, around.dated)}."
    brief = f"dead since {day_text(since, around.dated)}"
    if parts.never_came:
        brief, words = "nothing ever came", f"Nothing has come at all, of {count_text(parts.never_came, 'update')}."
    if name in around.lost:
        since = around.lost[name]
        brief = f"not seen since {day_text(since, around.dated)}"
        words += (
            f" It was not seen any more after {time_text(since, around.dated)}, and counts as if it kept what it had."
        )
    words += _faults_text(around.faults.get(name), [(since, parts.end)])
    return Reason("dead", share, brief, words, since=since)


def _outages(share: float, name: str, parts: StaleTime, around: Circumstances) -> Reason:
    """Return the reason that no pull of the replica `name` came through in outages, for a `share` of its stale time."""
    outages = parts.is_long & ~parts.is_last
    begins, ends = parts.available[outages], parts.until[outages]
    length = span_text(float((ends - begins).sum()), around.dated)
    usual = span_text(max(2 * float(parts.usual_waits.mean()), around.visit_gap), around.dated)
    dates = ", ".join(
        f"{time_text(begin, around.dated)} to {time_text(end, around.dated)}"
        for begin, end in zip(begins[:MOST_DATES].tolist(), ends[:MOST_DATES].tolist(), strict=True)
    )
    more = f" and {begins.size - MOST_DATES} times more" if begins.size > MOST_DATES else ""
    words = f"No pull came through from {dates}{more}, where it usually pulls about every {usual}."
    words += _faults_text(around.faults.get(name), zip(begins.tolist(), ends.tolist(), strict=True))
    brief = f"no pull for {length} from {day_text(float(begins[0]), around.dated)}"
    if begins.size > 1:
        brief = f"{begins.size} outages, {length}"
    return Reason("outage", share, brief, words, since=float(begins[0]), until=float(ends[-1]))


def _faults_text(faults: Floats | None, spans: Iterable[tuple[float, float]]) -> str:
    """Return a sentence on the failed visits in these spans of time, after a space; empty if there were none.

    Each span is its begin and its end, and `faults` are the times of the replica's failed visits; None if it had none.
    """
    times = np.array([]) if faults is None else faults
    count = sum(int(np.count_nonzero((times >= since) & (times <= until))) for since, until in spans)
    return f" {count_text(count, 'visit')} failed in that time." if count else ""


def _phase(share: float, phase: Phase, best: float, around: Circumstances) -> Reason:
    """Return the reason that pulls come in a bad phase, for a `share` of the stale time that a better phase would save.

    `best` is the freshness that the replica would have in that better phase.
    """
    dated = around.dated
    early = phase.span - phase.offset
    is_early = early < phase.offset
    side = f"{span_text(early if is_early else phase.offset, dated)} {'before' if is_early else 'after'} the release"
    lasts = "The two keep in step."
    if phase.lasts < LONGEST_OUTLOOK * (around.span[1] - around.span[0]):
        lasts = f"The two drift, so that the pull passes the release in {span_text(phase.lasts, dated)}."
    words = (
        f"Its pull runs {side} that comes every {span_text(phase.period, dated)}; "
        f"{span_text(phase.best_offset, dated)} after it would be fresh {percent(best)}. {lasts}"
    )
    return Reason("phase", share, f"pulls {side}", words, phase=phase)


def _interval(share: float, replica: _Replica, is_phase: bool) -> Reason:
    """Return the reason that updates come faster than a replica pulls, for a `share` of its stale time.

    `is_phase` says that clocks are locked, so that it is what even a better phase leaves.
    """
    parts, around = replica.parts, replica.around
    waits = parts.usual_waits
    changes = f"the source changes every {span_text(around.update_gap, around.dated)}."
    if is_phase:
        return Reason("interval", share, "pulls too rarely", f"At a better phase this much is left; {changes}")
    if not waits.size:
        return Reason("interval", share, "pulls rarely", f"It pulls too rarely to say how often; {changes}")
    wait = span_text(float(waits.mean()), around.dated)
    length = interval_by_waits(waits, parts.least_wait if parts.delay_time else 0.0)
    every = span_text(max(length, around.visit_gap), around.dated)
    if parts.delay_time and length < parts.least_wait:
        words = f"It gets updates {wait} after they came, about as late each time; {changes}"
        return Reason("interval", share, f"gets updates {wait} late", words)
    if length < around.visit_gap:
        words = f"It pulls every {every} or faster, as often as it is visited; {changes}"
        return Reason("interval", share, f"pulls every {every} or faster", words)
    words = f"An update waits {wait} for its pull, as if it pulled every {every}; {changes}"
    if replica.by_intervals is not None:
        words += f" By that alone it would be fresh {percent(1 - replica.by_intervals[0])}."
    return Reason("interval", share, f"pulls about every {every}", words)


def _bursts(by_intervals: tuple[float, float] | None) -> Iterator[Reason]:
    """Yield the reason that the source changes in bursts, or evenly, if that changes the staleness by 5 % or more.

    `by_intervals` has the staleness with the source's intervals, and with Poisson updates; None if they are not known.
    """
    if by_intervals is None or not all(by_intervals):
        return
    change = 1 - by_intervals[1] / by_intervals[0]
    if abs(change) >= LEAST_BURSTS:
        how = "evenly, which makes it" if change > 0 else "in bursts, which leaves it"
        amount = percent(abs(by_intervals[0] / by_intervals[1] - 1))
        amount += " staler" if change > 0 else " less stale"
        words = f"The source changes {how} {amount} than updates at random would."
        yield Reason("bursts", change, "even updates" if change > 0 else "bursts of updates", words)


def failure_notes(
    faults: Mapping[str, Floats], successes: Mapping[str, Floats], causes: Mapping[str, str], dated: bool
) -> Iterator[str]:
    """Yield a note on each of the 8 nodes with the most failed visits, and one that counts the other nodes with any.

    `faults` and `successes` have the times of the visits of each node that failed, and of those that did not,
    ascending; `causes` says why they failed, and `dated` that times are in seconds since 1970.
    """
    names = sorted(faults, key=lambda name: -faults[name].size)
    for name in names[:MOST_NODES]:
        answered = successes.get(name, np.array([]))
        text = f"{name}: {count_text(faults[name].size, 'visit')} of {faults[name].size + answered.size:,} failed"
        ends = np.searchsorted(answered, faults[name])
        inside = (ends > 0) & (ends < answered.size)
        if np.any(inside):
            gaps = (answered[1:] - answered[:-1])[ends[inside] - 1]
            longest = int(ends[inside][np.argmax(gaps)])
            since, until = (time_text(float(answered[i]), dated) for i in (longest - 1, longest))
            text += f", at the longest all from {since} to {until}"
        yield f"{text}: {causes[name]}"
    if len(names) > MOST_NODES:
        yield f"visits of {len(names) - MOST_NODES} other nodes failed less often"

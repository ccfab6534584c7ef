"""Visits of a source and its replicas, and the order in which versions came.

Numbers are in their own order. Texts are known by what nodes had, if none goes back to a version that it had before:

    a node that has one version and then another has the newer one later                                 (1)
    what any node has was at the source by then, so the source has nothing older then, or later          (2)

On a scale where the versions that the source was seen with are 0, 1, 2, ..., one that it was never seen with lies
between the last of these that (1) puts before it and the first that (1) or (2) puts after it: its `low` and `high` are
half a step inside. For all others, and for numbers, both are the same. A version is certainly newer than another if
its `low` is above the other's `high`. For one order of all versions, `ranks` has those that (1) and (2) leave open
in the order in which they were first seen.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from replnet.laws import Floats, Ints
from replnet.text import count_text

FLAPPING = 3  # visits that go back, before there seem to be several servers behind one name
LOST_AFTER_GAPS, LOST_AFTER = 10, 0.05  # mean gaps between visits, and the part of the record
MOST_NAMED = 5  # replicas in a note
LARGEST_EXACT = 2.0**53  # below it, floats are whole numbers each by itself


@final
@dataclass(frozen=True, eq=False)
class VisitOrder:
    """The order of versions as far as it is known, in arrays with an element per version.

    `ranks` is one order of all. `low` and `high` bound the place of a version on a scale where those that the source
    was seen with are 0, 1, 2, ...; they are the same where that place is known. `whole` has the versions themselves if
    these are whole numbers, of which each update makes a larger one; else it is None.
    """

    ranks: Ints
    low: Floats
    high: Floats
    whole: Floats | None  # their numbers, if all of them are whole: each update makes them larger by 1 at least


@final
class FailedVisit(NamedTuple):
    """A visit of a node that brought nothing, when it was, and why."""

    time: float
    node: str
    text: str


@final
@dataclass(frozen=True, eq=False)
class Visits:
    """The visits of each node (`nodes`): their instants in ascending order, and the numbers of its versions then.

    `source` names the node that the others copy, which is empty if nobody recorded it; `order` is that of the versions,
    and `first_seen` has, for each version, when any node was first seen with it. `notes` are texts, and `complete` says
    that there is a visit at every change. `departures` has, for replicas that tell, the instants at which the data of
    each of their visits left the source, and `faults` the visits that brought nothing. `name` is that of the record.
    `lost` has when replicas were last seen that were not seen any more; they have one visit after that.
    """

    nodes: dict[str, tuple[Floats, Ints]]
    source: str  # empty if nobody recorded it
    order: VisitOrder
    first_seen: Floats  # when any node was first seen with a version
    notes: tuple[str, ...] = ()
    complete: bool = False  # whether there is a visit at every change
    departures: dict[str, Floats] = field(default_factory=dict)
    faults: tuple[FailedVisit, ...] = ()
    lost: Mapping[str, float] = field(default_factory=dict)
    name: str = "record"

    @property
    def replicas(self) -> list[str]:
        """The names of the nodes that are not the source."""
        return [name for name in self.nodes if name != self.source]


def visits_of(times: Floats, nodes: NDArray[Any], texts: Sequence[str], source: str) -> Visits:
    """Return visits at ascending `times`, of these `nodes` and with these versions, `texts`, and the versions' order.

    Each visit has an element in all three; `source` names the source. Versions are in the order of numbers if all texts
    are numbers and those of the source never fall; else in that in which nodes had them.
    """
    values = _numbers(texts)
    # Numbers that fall at the source are names, such as 1.9 and then 1.10.
    distinct = None
    codes = _codes(texts)
    if values is not None and np.all(np.diff(values[nodes == source]) >= 0):
        distinct = np.unique(values)
        codes = np.searchsorted(distinct, values)
    seen = {name: (times[nodes == name], codes[nodes == name]) for name in dict.fromkeys(nodes.tolist())}
    first_seen = np.full(int(codes.max()) + 1, np.inf)
    np.minimum.at(first_seen, codes, times)
    order = _order_of_texts(seen, source, first_seen) if distinct is None else _order_of_numbers(distinct)
    return Visits(seen, source, order, first_seen, tuple(_doubt_notes(seen, source, order, first_seen)))


def visits_of_changes(times: Floats, nodes: NDArray[Any], source: str) -> Visits:
    """Return changes at ascending `times` as visits, of which there is one at every change.

    `nodes` has, for each change, the name of the node that changed. A version is the number of changes of the source so
    far, and a replica that changes takes the version that the source has just then.
    """
    changes = np.unique(times[nodes == source])
    codes = np.searchsorted(changes, times, side="right")
    seen = {name: (times[nodes == name], codes[nodes == name]) for name in dict.fromkeys(nodes.tolist())}
    order = _order_of_numbers(np.arange(changes.size + 1.0))
    return Visits(seen, source, order, np.append(-np.inf, changes), complete=True)


def keep_lost_replicas(visits: Visits) -> Visits:
    """Return the visits, and for each replica that was not seen any more a last one, when the source was seen last.

    There it has what it had at its last visit, as if it kept that. A replica is lost if it was not seen for more than
    10 times as long as between two of its visits, and a twentieth of the record.
    """
    end = float(visits.nodes[visits.source][0][-1])
    nodes, lost, departures = dict(visits.nodes), {}, dict(visits.departures)
    for name in visits.replicas:
        times, codes = nodes[name]
        length = float(times[-1] - times[0])
        longest = max(LOST_AFTER_GAPS * length / max(times.size - 1, 1), LOST_AFTER * (end - float(times[0])))
        if times.size > 1 and end - times[-1] > longest:
            lost[name] = float(times[-1])
            nodes[name] = np.append(times, end), np.append(codes, codes[-1])
            if name in departures:
                departures[name] = np.append(departures[name], departures[name][-1])
    names = ", ".join([*list(lost)[:MOST_NAMED], *([f"and {len(lost) - MOST_NAMED} more"] * (len(lost) > MOST_NAMED))])
    notes = [f"not seen any more before the end, and taken to have kept what it had: {names}"] if lost else []
    return replace(visits, nodes=nodes, lost=lost, departures=departures, notes=(*visits.notes, *notes))


def _numbers(texts: Sequence[str]) -> Floats | None:
    """Return the numbers that all these texts are; None if one is not, or is too large for floats to tell apart."""
    try:
        values = np.array([float(text) for text in texts])
    except ValueError:
        return None
    return values if np.all(np.abs(values) < LARGEST_EXACT) else None  # NaN is not


def _codes(texts: Sequence[str]) -> Ints:
    """Return a number for each text, the same for equal texts, from 0 in the order in which they first come."""
    code = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    return np.array([code[text] for text in texts], dtype=np.int64)


def _order_of_numbers(values: Floats) -> VisitOrder:
    """Return the order of versions that are numbers: `values`, ascending, each once, which is known wholly."""
    ranks = np.arange(values.size)
    places = ranks.astype(float)
    return VisitOrder(ranks, places, places, values if np.all(values == np.rint(values)) else None)


def _order_of_texts(seen: dict[str, tuple[Floats, Ints]], source: str, first_seen: Floats) -> VisitOrder:
    """Return the order of versions that are texts, by what nodes had one after another, and when.

    `seen` has the visits of each node: their times, and the numbers of the versions. A node's next version is newer
    than the one before (1), and what any node has was at the source by then. `first_seen` is when any node first had
    each version.
    """
    times, codes = seen[source]
    at_source = np.array(list(dict.fromkeys(codes.tolist())), dtype=np.int64)
    place, last_seen = np.full(first_seen.size, -1), np.zeros(at_source.size)
    place[at_source] = np.arange(at_source.size)
    np.maximum.at(last_seen, place[codes], times)
    others = np.flatnonzero(place < 0).tolist()
    steps = {
        (a, b) for _, had in seen.values() for a, b in zip(had[:-1].tolist(), had[1:].tolist(), strict=True) if a != b
    }
    # By (1), what is before each.
    ordered = _sort_versions(first_seen, steps)
    low = np.where(place < 0, -0.5, place)
    for v, before in _neighbours_before([(b, a) for a, b in steps], ordered):
        if place[v] < 0:
            low[v] = max(low[v], *(math.floor(low[u]) + 0.5 for u in before))
    # By (2), the first version of the source that is no older; unless clocks differ, so that (1) says otherwise.
    bound = np.searchsorted(np.maximum.accumulate(last_seen), first_seen)
    below = {(v, int(at_source[bound[v]])) for v in others if low[v] < bound[v] < at_source.size}
    ordered = _sort_versions(first_seen, steps | below)
    high = np.where(place < 0, bound - 0.5, place)
    for v, after in _neighbours_before(steps, ordered[::-1]):
        if place[v] < 0:
            high[v] = min(high[v], *(math.ceil(high[u]) - 0.5 for u in after))
    ranks = np.empty(first_seen.size, dtype=np.int64)
    ranks[ordered] = np.arange(ranks.size)
    return VisitOrder(ranks, low, high, None)


def _sort_versions(first_seen: Floats, pairs: set[tuple[int, int]]) -> list[int]:
    """Return the numbers of all versions by when they were first seen, but the first of each pair before the second.

    Where pairs contradict one another, some do not hold.
    """
    first = first_seen.tolist()
    after: dict[int, list[int]] = {}
    waiting = [0] * len(first)
    for a, b in pairs:
        after.setdefault(a, []).append(b)
        waiting[b] += 1
    free = [(time, v) for v, time in enumerate(first) if not waiting[v]]
    heapify(free)
    left = iter(sorted((time, v) for v, time in enumerate(first)))
    ordered: dict[int, None] = {}
    while len(ordered) < len(first):
        _, v = heappop(free) if free else next(left)
        if v in ordered:
            continue
        ordered[v] = None
        for u in after.get(v, ()):
            waiting[u] -= 1
            if not waiting[u]:
                heappush(free, (first[u], u))
    return list(ordered)


def _neighbours_before(pairs: Iterable[tuple[int, int]], ordered: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield versions in the order of `ordered`, each with those that come before it there, and after it in a pair.

    Versions without any are left out.
    """
    place = {v: i for i, v in enumerate(ordered)}
    earlier: dict[int, list[int]] = {}
    for a, b in pairs:
        if place[b] < place[a]:
            earlier.setdefault(a, []).append(b)
    yield from ((v, earlier[v]) for v in ordered if v in earlier)


def _doubt_notes(
    seen: dict[str, tuple[Floats, Ints]], source: str, order: VisitOrder, first_seen: Floats
) -> Iterator[str]:
    """Yield notes, as texts, on visits that contradict what the bounds assume: clocks agree, no node goes back.

    `seen` has the visits of each node: their times, and the numbers of the versions. `first_seen` is when any node
    first had each version.
    """
    times, codes = seen[source]
    # The last visit that found the source with a version that is certainly older.
    last = np.searchsorted(np.maximum.accumulate(order.low[codes]), order.low) - 1
    early = int(np.count_nonzero((last >= 0) & (first_seen < times[np.maximum(last, 0)])))
    if early:
        words = f"{count_text(early, 'version')} came to a replica while the source was still seen without"
        yield f"{words}: clocks differ, and the truth may lie outside the bounds"
    for name, (_, had) in seen.items():
        fell = np.diff(order.ranks[had]) < 0
        if back := int(np.count_nonzero(fell)):
            words = f"{name}: {count_text(back, 'visit')} found an older version than the one before"
            # Where every other change is one back, several servers answer to one name.
            cause = ", as of several servers" if back >= FLAPPING and 3 * back >= np.count_nonzero(np.diff(had)) else ""
            yield f"{words}{cause}: the truth may lie outside the bounds"

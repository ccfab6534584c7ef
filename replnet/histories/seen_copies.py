"""What visits see of updates and of copies: when each was first seen, and the last visit that found it missing.

Whatever happens between two visits comes at some instant after the first of them (`before`) and until the second
(`seen`). `middle`, half way, stands for it where one instant is wanted. In a record of changes both are the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from replnet.histories.visits import Visits
from replnet.laws import Floats, Ints


@dataclass(frozen=True, eq=False)
class Sightings:
    """Events that visits saw: event i came after before[i], minus infinity if no visit came before it, and by seen[i].

    Both are the same where each event was recorded when it came.
    """

    before: Floats
    seen: Floats

    @cached_property
    def middle(self) -> Floats:
        """The instants half way from `before` to `seen`, in order; `seen` where nothing was visited before."""
        return np.where(np.isfinite(self.before), (self.before + self.seen) / 2, self.seen)

    @property
    def between_visits(self) -> Floats:
        """The middles of the events that came between two visits, and not before the first."""
        return self.middle[np.isfinite(self.before)]


@final
@dataclass(frozen=True, eq=False)
class SeenUpdates(Sightings):
    """The updates of the source in order, counted from 1: each came after `before`, and by `seen`.

    `seen` is when any node was first seen with it, and `before` the last visit of the source that found it missing,
    minus infinity if there is none.
    """

    def next_after(self, number: Ints) -> Floats:
        """Return the middle of the first update that a copy with each `number` of updates misses; infinite for none."""
        return np.append(self.middle, np.inf)[number]


@final
@dataclass(frozen=True, eq=False)
class SeenCopies(Sightings):
    """The copies that a replica held in turn, each newer than the one before: copy i has number[i] updates.

    It came after before[i] and by seen[i], and was there until the next; the last was still there at `last_visit`. The
    first came before the record began, and has minus infinity as `before`, but in a record of changes, in which
    `before` and `seen` are the same. `went_back` is a count of visits: those that found an older version than one
    before.
    """

    number: Ints
    last_visit: float
    went_back: int = 0

    @property
    def until(self) -> Floats:
        """The instants at which copies were replaced, half way between visits; the last visit for the last one."""
        return np.append(self.middle[1:], self.last_visit)

    def first_with(self, update: Ints, instants: Floats) -> Floats:
        """Return the element of `instants`, one for each copy, of the first copy that has each `update`.

        It is infinite for updates that never came.
        """
        return np.append(instants, np.inf)[np.searchsorted(self.number, update, side="left")]


def see_updates(visits: Visits) -> SeenUpdates:
    """Return the updates of the source as the visits saw them, in the order of `visits.order.ranks`.

    An update counts as seen when any node is first seen with it, or with a later one.
    """
    seen = np.minimum.accumulate(visits.first_seen[np.argsort(visits.order.ranks)][::-1])[::-1][1:]
    if visits.complete:
        return SeenUpdates(seen, seen)
    times, codes = visits.nodes[visits.source]
    highest = np.maximum.accumulate(visits.order.ranks[codes])
    place = np.searchsorted(highest, np.arange(1, seen.size + 1), side="left")
    return SeenUpdates(np.minimum(np.append(-np.inf, times)[place], seen), seen)


def see_copies(visits: Visits, name: str) -> SeenCopies:
    """Return the copies of the replica `name` as the visits saw them; a copy older than the one before is left out.

    In a record of changes every download counts as a copy, also if it has as many updates as the one before.
    """
    times, codes = visits.nodes[name]
    highest = np.maximum.accumulate(visits.order.ranks[codes])
    newer = np.flatnonzero(np.diff(times) > 0 if visits.complete else np.diff(highest) > 0) + 1
    if name in visits.lost:
        newer = newer[newer < times.size - 1]
    at = np.append(0, newer)
    before = times[at] if visits.complete else np.append(-np.inf, times[newer - 1])
    went_back = int(np.count_nonzero(visits.order.ranks[codes] < highest))
    return SeenCopies(before, times[at], highest[at], float(times[-1]), went_back)

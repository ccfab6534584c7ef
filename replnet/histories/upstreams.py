"""Which replicas pull from another replica, and not from the source, as far as visits tell.

With n the number of updates that a replica B has from an arrival on, seen at b and still missing at the visit before b,
and A another replica, B pulls from A only if, at every arrival,

    A had n at some time between these two visits of B                                                  (1)

A replica that pulls from the source may seem to do so as well, since A may be quick or the clocks of the two in step.
So it is also asked that either

    B often got what the source had replaced long before, by more than its pulls ever take                (2)
    or A pulls by no clock                                                                              (3)

and that, if the waits of B for its updates were dealt out at random among all arrivals, B would have been before A so
often that (1) is no chance.                                                                            (4)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, final

import numpy as np

from replnet.histories.locked_clocks import clock
from replnet.histories.seen_copies import SeenCopies, SeenUpdates
from replnet.laws import Flags, Floats, Ints

FEWEST_ARRIVALS = 8  # of a replica that is said to pull from another one
MOST_CONTRARY = 0.02  # of the arrivals, for clocks that are off and visits that were mixed up
LEAST_MATCH = 0.9  # share of arrivals with (1)
CHANCE = 1e-5  # of seeing (1) without a chain, (4)
FEWEST_OLD = 3  # arrivals with (2)


@final
class _Arrivals(NamedTuple):
    """The arrivals of new copies at a replica: each came after `before` and by `seen`, and has `number` updates.

    `waits` has the longest time that an arrival may have taken from when the newest of these updates was first seen.
    """

    before: Floats
    seen: Floats
    number: Ints
    waits: Floats


def upstreams(updates: SeenUpdates, copies: Mapping[str, SeenCopies], visit_gap: float) -> dict[str, str]:
    """Return the replica from which each replica pulls, by name; those that seem to pull from the source are left out.

    `copies` are those of all replicas, by name, and `visit_gap` is the usual time between two visits of a node.
    """
    arrivals = {name: _arrivals(updates, held) for name, held in copies.items()}
    by_clock = {name: _keeps_clock(held, visit_gap) for name, held in copies.items()}
    pairs = {}
    for name, arrived in arrivals.items():
        if arrived.number.size < FEWEST_ARRIVALS:
            continue
        matches = {
            other: _match(updates, arrived, held, by_clock[other])
            for other, held in copies.items()
            if other != name and arrivals[other].number.size >= FEWEST_ARRIVALS
        }
        if matches and max(matches.values()) >= LEAST_MATCH:
            pairs[name] = max(matches, key=lambda other: (matches[other], arrivals[other].waits.mean()))
    # Of two that seem to pull from each other, none is known to.
    return {name: other for name, other in pairs.items() if pairs.get(other) != name}


def _arrivals(updates: SeenUpdates, held: SeenCopies) -> _Arrivals:
    """Return the arrivals of new copies at a replica, all but its first copy."""
    new = np.flatnonzero(np.diff(held.number) > 0) + 1
    number = held.number[new]
    return _Arrivals(held.before[new], held.seen[new], number, held.seen[new] - updates.seen[number - 1])


def _keeps_clock(held: SeenCopies, visit_gap: float) -> bool:
    """Whether the copies of a replica arrive by a clock whose period is well above the time between visits."""
    return held.middle.size > FEWEST_ARRIVALS and clock(held.middle[1:], 4 * visit_gap) is not None


def _match(updates: SeenUpdates, arrived: _Arrivals, other: SeenCopies, by_clock: bool) -> float:
    """Return the share of arrivals with (1); 0 if the arrivals do not say that the replica pulls from the `other` one.

    `arrived` are the arrivals at the replica, and `other` the copies of the other one; `by_clock` says whether that
    pulls by a clock.
    """
    inside = (arrived.before >= other.seen[0]) & (arrived.seen <= other.last_visit)
    if np.count_nonzero(inside) < FEWEST_ARRIVALS:
        return 0.0
    before, seen, number, waits = (column[inside] for column in arrived)
    contrary = number > _number_by(other, seen)
    if contrary.mean() > MOST_CONTRARY:
        return 0.0
    if by_clock and np.count_nonzero(_is_old(updates, before, number, waits)) < FEWEST_OLD:
        return 0.0
    missing = other.first_with(number, other.before)
    missing = np.where(np.isfinite(missing), missing, other.last_visit)
    if _chance_of_no_contrary(waits, missing - updates.seen[number - 1], int(contrary.sum())) > CHANCE:
        return 0.0
    return float(np.mean(~contrary & (number >= _number_at(other, before))))


def _number_at(held: SeenCopies, instants: Floats) -> Ints:
    """Return how many updates a replica was last seen with at these instants, all of them from its first visit on."""
    return held.number[np.searchsorted(held.seen, instants, side="right") - 1]


def _number_by(held: SeenCopies, instants: Floats) -> Ints:
    """Return how many updates a replica had at most at these instants: as many as at its first visit from then on."""
    return held.number[np.searchsorted(held.before, instants, side="left") - 1]


def _is_old(updates: SeenUpdates, before: Floats, number: Ints, waits: Floats) -> Flags:
    """Return a mask of the arrivals with (2): what came was replaced by more than the least of `waits` before it came.

    An arrival came after `before`, and brought `number` updates.
    """
    newest = np.searchsorted(updates.seen, before - max(float(waits.min()), 0.0), side="right")
    return np.asarray(newest > number)


def _chance_of_no_contrary(waits: Floats, others: Floats, contrary: int) -> float:
    """Return the chance that a replica is certainly before another in no more than `contrary` arrivals, (4).

    `waits` are the longest that its updates may have waited for it, and `others` the shortest for the other one, an
    element for each arrival.
    """
    from scipy.special import bdtr

    ascending = np.sort(others)
    share = 1 - float(np.searchsorted(ascending, waits, side="right").mean()) / others.size
    return float(bdtr(contrary, waits.size, share))

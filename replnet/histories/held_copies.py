"""How stale a copy was, from what a node held when: stretches of the copy, added up between given instants.

A node that has from time t on what left its source at S misses the updates in (S, t'] at any later t', until it gets
another copy (measure/stretches). What visits or files say of a node becomes such stretches.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from replnet.laws import Floats
from replnet.measure import Stretches, Updates, metric

STALENESS_AGE, MISSING_UPDATES = (metric(name).question for name in ("staleness_age", "missing_updates"))


@final
class StalenessSums(NamedTuple):
    """Integrals over time, in arrays with an element per span of time: not yet divided by the length of the span.

    `stale` is the time in which a copy was stale, `ages` the integral of its staleness age, and `missing` that of how
    many updates it missed.
    """

    stale: Floats
    ages: Floats
    missing: Floats

    def means(self, length: float) -> dict[str, float]:
        """Return the means over time, by metric: staleness (a share of time), staleness_age and missing_updates.

        Each is the sum of its integrals over all spans, divided by `length`, how long the spans are together.
        """
        stale, ages, missing = (float(amount.sum()) / length for amount in self)
        return {"staleness": stale, "staleness_age": ages, "missing_updates": missing}


def within(times: Floats, start: float, end: float) -> Floats:
    """Return those of the instants `times` that lie from `start` to `end`, both included, in their order."""
    return times[(times >= start) & (times <= end)]


def spans(edges: Floats, *instants: Floats) -> Floats:
    """Return the edges of the spans into which `instants` divide the time from the first of `edges` to the last.

    The edges are among them; all ascend.
    """
    return np.unique(np.concatenate([edges, *(within(times, edges[0], edges[-1]) for times in instants)]))


def stretches_of(times: Floats, departures: Floats, updates: Floats, edges: Floats) -> Stretches:
    """Return the stretches of a copy from the first of `edges` to the last, none of which goes on across an edge.

    From times[i] on the node held what left its source at departures[i], and the source changed at `updates`. All
    ascend, and the first of `times` must not be after the first edge.
    """
    assert times[0] <= edges[0], "no copy at the start"
    ends = spans(edges, times)
    return stretches_between(ends, departures[np.searchsorted(times, ends[:-1], side="right") - 1], updates)


def stretches_between(edges: Floats, departures: Floats, updates: Floats) -> Stretches:
    """Return stretches between neighbours of `edges`, in the i-th of which a node held what left at departures[i].

    All are ascending instants but the departures, which may come in any order; the source changed at `updates`.
    """
    return Stretches(np.zeros(departures.size, np.int64), edges[:-1], edges[1:], departures, Updates.of(updates))


def add_between(edges: Floats, begins: Floats, amounts: Floats) -> Floats:
    """Return, for each span between neighbouring `edges`, the sum of those `amounts` whose `begins` lie in it.

    amounts[i] belongs to the instant begins[i]; no instant may come before the first edge or from the last on.
    """
    place = np.searchsorted(edges, begins, side="right") - 1
    return np.asarray(np.bincount(place, amounts, edges.size - 1), dtype=float)


def sums_between(edges: Floats, stretches: Stretches) -> StalenessSums:
    """Return the integrals of how stale copies were over each span between neighbouring `edges`.

    No edge may lie inside one of the `stretches`.
    """
    amounts = stretches.stale, stretches.cost(STALENESS_AGE), stretches.cost(MISSING_UPDATES)
    return StalenessSums(*(add_between(edges, stretches.begin, amount) for amount in amounts))

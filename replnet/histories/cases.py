"""What nodes may have had over time, as far as visits tell: three cases, and how stale replicas were in each.

If clocks agree and no node goes back, with s the version of the source and c that of a replica, at any time

    s is no older than what any node was seen with by then, and no newer than what the source has next       (1)
    c is no older than what the replica was last seen with, and no newer than what it has next               (2)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from replnet.histories.held_copies import STALENESS_AGE, StalenessSums, add_between, spans, stretches_between
from replnet.histories.visits import Visits
from replnet.laws import Floats
from replnet.measure import Stretches, length_below

VersionChoice = Callable[[Floats, Floats], Floats]  # chooses between the versions of a node at a visit and at the next


@final
class Steps(NamedTuple):
    """A function of time that is values[i] from times[i] until times[i + 1]; the last value lasts for ever."""

    times: Floats
    values: Floats

    @classmethod
    def of(cls, times: Floats, values: Floats) -> Steps:
        """Return the function that is values[i] from times[i] on, without the times at which it stays the same.

        The times ascend.
        """
        changes = np.append(True, values[1:] != values[:-1])
        return cls(times[changes], values[changes])

    def at(self, instants: Floats) -> Floats:
        """Return the values of the function at these instants, none of which may come before the first step."""
        return np.asarray(self.values[np.searchsorted(self.times, instants, side="right") - 1])


@final
class Case(NamedTuple):
    """The versions that the `source` and its replicas (`copies`, by name) may have had over time, as numbers.

    A newer version has a larger number. If `counted`, numbers differ by the updates in between; else any number of
    updates may lie between two versions.
    """

    source: Steps
    copies: dict[str, Steps]
    counted: bool = True

    def stretches(self, name: str, edges: Floats) -> Stretches:
        """Return the stretches of the replica `name` between neighbouring `edges`: all steps of it and of the source.

        The departure of a copy is the instant at which the source got its last version that is no newer, minus infinity
        if it never had one.
        """
        versions = self.copies[name].at(edges[:-1])
        departures = np.append(-np.inf, self.source.times)[np.searchsorted(self.source.values, versions, side="right")]
        return stretches_between(edges, departures, self.source.times)


@final
class Cases(NamedTuple):
    """Three cases of what versions all nodes had over time, as far as visits tell.

    They are: every node as it was last seen (`measured`), replicas as fresh as they can have been (`least`), and as
    stale (`most`).
    """

    measured: Case
    least: Case
    most: Case


def cases_of(visits: Visits) -> Cases:
    """Return the three cases that agree with the visits: as last seen, and replicas as fresh and as stale as possible.

    All three are the same if there is a visit at every change.
    """
    order = visits.order
    measured = _case(visits, order.ranks.astype(float), order.ranks.astype(float), _last)
    if visits.complete:
        return Cases(measured, measured, measured)
    least = _case(visits, order.low, order.high, _newest)
    scale = order.low if order.whole is None else order.whole
    times, codes = visits.nodes[visits.source]
    before = np.nextafter(visits.first_seen.min(), -np.inf)  # nobody saw when the source got what it had at first
    ahead = _newest_of(np.append(before, times[:-1]), scale[codes])
    return Cases(measured, least, Case(ahead, _copies(visits, scale, _oldest), order.whole is not None))


def _case(visits: Visits, low: Floats, high: Floats, choose: VersionChoice) -> Case:
    """Return the case in which the source always has the newest version that any node was seen with by then.

    `low` and `high` have a number for each version, of which the source's are from `low`, and those of replicas from
    `high`. Between two visits a replica has what `choose` makes of the numbers at the first and at the second.
    """
    seen = np.argsort(visits.first_seen, kind="stable")
    source = _newest_of(np.append(-np.inf, visits.first_seen[seen]), np.append(-np.inf, low[seen]))
    return Case(source, _copies(visits, high, choose))


def _newest_of(times: Floats, versions: Floats) -> Steps:
    """Return the newest version so far as a function of time, given `versions` and the `times` at which each came.

    The times ascend, and several may be the same.
    """
    is_last = np.append(times[1:] > times[:-1], True)
    return Steps.of(times[is_last], np.maximum.accumulate(versions)[is_last])


def _copies(visits: Visits, scale: Floats, choose: VersionChoice) -> dict[str, Steps]:
    """Return the versions of the replicas over time, by name, as numbers: version i has the number scale[i].

    From each visit to the next, a replica has what `choose` makes of the numbers at the first and at the second.
    """
    paths = {}
    for name in visits.replicas:
        times, codes = visits.nodes[name]
        values = scale[codes]
        paths[name] = Steps.of(times, choose(values, np.append(values[1:], values[-1])))
    return paths


def _last(before: Floats, after: Floats) -> Floats:
    """Return `before`, the versions at visits, whatever `after`, those at the visits that come next."""
    return before


_newest, _oldest = np.maximum, np.minimum


def staleness_of(case: Case, name: str, cuts: Floats) -> StalenessSums:
    """Return the integrals of staleness, staleness age and missing updates of the replica `name` between cuts.

    `cuts` are ascending instants. If the case does not count updates, missing updates are infinite where the replica is
    stale; the staleness age is infinite where it has a version from before the first that the source was seen with.
    """
    edges = spans(cuts, case.source.times, case.copies[name].times)
    stretches = case.stretches(name, edges)
    copy_version, source_version = case.copies[name].at(edges[:-1]), case.source.at(edges[:-1])
    ages = np.where(copy_version < case.source.values[0], np.inf, stretches.cost(STALENESS_AGE))
    count = np.floor(source_version) - np.floor(copy_version) if case.counted else np.inf
    missing = stretches.stale * np.where(stretches.stale > 0, np.maximum(count, 1.0), 0.0)
    return StalenessSums(*(add_between(cuts, edges[:-1], amount) for amount in (stretches.stale, ages, missing)))


def stale_counts(case: Case, cuts: Floats) -> Floats:
    """Return for how long exactly 0, 1, ..., all replicas were stale at once, between neighbouring cuts.

    The array has a row for each number of stale replicas, and a column for each span between the ascending instants
    `cuts`.
    """
    edges = spans(cuts, case.source.times, *(copy.times for copy in case.copies.values()))
    stale = np.sum([case.stretches(name, edges).stale > 0 for name in case.copies], axis=0)
    lengths = np.diff(edges)
    counts = range(len(case.copies) + 1)
    return np.array([add_between(cuts, edges[:-1], np.where(stale == count, lengths, 0.0)) for count in counts])


def staleness_quantiles_of(case: Case, name: str, start: float, end: float, levels: Floats) -> Floats:
    """Return, for each level, what the staleness age of a replica did not exceed for that share of time.

    The staleness age is 0 while the replica `name` is fresh, and infinite where it has a version from before the first
    that the source was seen with. The time is that from `start` to `end`, and `levels` are from 0 to 1.
    """
    edges = spans(np.array([start, end]), case.source.times, case.copies[name].times)
    stretches = case.stretches(name, edges)
    undated = case.copies[name].at(edges[:-1]) < case.source.values[0]
    has_age = (stretches.stale > 0) & ~undated
    missed = stretches.first_missed_update[has_age]
    low, high = np.maximum(stretches.begin[has_age] - missed, 0.0), stretches.end[has_age] - missed
    fresh = float(end - start - stretches.stale.sum())
    ages = np.unique(np.concatenate([[0.0], low, high]))
    below = fresh + length_below(low, high, ages)
    wanted = levels * (end - start)
    # The last of equal values of `below`, between which there is no time, is not wanted: the least age is.
    first = np.append(True, np.diff(below) > 0)
    values = np.interp(wanted, below[first], ages[first], left=0.0)
    return np.asarray(np.where(wanted > below[-1] * (1 + 1e-12), np.inf, values))

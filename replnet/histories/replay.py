"""Replay of two recorded histories: how stale a replica was at every instant, exactly.

A download at d brings every update up to and including d, so that from then on the replica has what left the source at
d (Staleness II-C). How stale that is are sums over stretches (measure/stretches), and no approximation.

Ages A_U, A_D are the times since the last update and the last download. Turning one history around on a circle as long
as the window keeps its intervals and loses what it had to do with the other, so the share of turns with a statistic as
large as the one seen is the chance of that under independent ages                                          (1)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from replnet.histories.held_copies import StalenessSums, spans, stretches_of, sums_between, within
from replnet.laws import Floats
from replnet.measure import length_below

# A function of updates, downloads, and the start and the end of a window, that returns a number or an array.
Statistic = Callable[[Floats, Floats, float, float], Any]

TURNS = 199
LEVELS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])  # quantiles at which ages are compared


def replay(updates: Floats, downloads: Floats, edges: Floats) -> StalenessSums:
    """Return the integrals of how stale a copy was over each span between neighbouring `edges`, ascending instants.

    Both histories are ascending instants. A download brings all updates up to its own instant; the first one must not
    come after the first edge.
    """
    return sums_between(edges, stretches_of(downloads, downloads, updates, edges))


def waits(updates: Floats, downloads: Floats, start: float, end: float) -> Floats:
    """Return the time from each update in [start, end] to the download that brought it, if one did by `end`.

    Both histories are ascending instants. An update always makes the next poll one that finds a change. So these are
    what was left of a polling interval when updates came, even where polls that found nothing were not recorded.
    """
    inside = within(updates, start, end)
    caught = np.append(downloads, np.inf)[np.searchsorted(downloads, inside, side="left")]
    return (caught - inside)[caught <= end]


def count_empty_intervals(updates: Floats, downloads: Floats, start: float, end: float) -> float:
    """Return the number (as a float) of intervals between successive downloads in [start, end] in which no update came.

    Both histories are ascending instants.
    """
    inside = within(downloads, start, end)
    return float(np.count_nonzero(np.diff(np.searchsorted(updates, inside, side="right")) == 0))


def _last(times: Floats, at: Floats) -> Floats:
    """Return, for each instant in `at`, the last of `times` at or before it.

    `times` ascend, and the first must not come after any instant in `at`.
    """
    return times[np.searchsorted(times, at, side="right") - 1]


def age_shares(updates: Floats, downloads: Floats, start: float, end: float, x: Floats, y: Floats) -> Floats:
    """Return an array of the shares of [start, end] in which downloads are at most x[i] old and updates at most y[j].

    The age of a history is the time since its last event. Both are ascending instants that begin by `start`.
    """
    edges = spans(np.array([start, end]), updates, downloads)
    low, high = edges[:-1], edges[1:]
    last_update, last_download = _last(updates, low), _last(downloads, low)
    shares = np.empty((x.size, y.size))
    for i, most in enumerate(x):
        upto = np.minimum(high, last_download + most)
        for j, other in enumerate(y):
            shares[i, j] = np.maximum(np.minimum(upto, last_update + other) - low, 0.0).sum()
    return np.asarray(shares / (end - start))


def age_quantiles(times: Floats, start: float, end: float) -> Floats:
    """Return the 10, 30, 50, 70 and 90 % quantiles of the time since the last of `times`, over all of [start, end].

    They are exact, as the distribution of that age is a polygon. `times` ascend, and begin by `start`.
    """
    edges = spans(np.array([start, end]), times)
    low, high = edges[:-1], edges[1:]
    last = _last(times, low)
    ends = np.sort(np.concatenate([low - last, high - last]))
    # Time with age below each of them: the sum over stretches of ages (low, high) of what of them lies below.
    covered = length_below(low - last, high - last, ends)
    return np.asarray(np.interp(LEVELS * covered[-1], covered, ends))


def _joint_ages(updates: Floats, downloads: Floats, start: float, end: float) -> tuple[Floats, Floats]:
    """Return shares of [start, end] by the ages of both histories, and the five quantiles of the age of downloads.

    An age is the time since the last event. shares[i, j] is that of the time in which the age of downloads is up to its
    i-th quantile and that of updates up to its j-th, of 5 quantiles each; a sixth row and column are for any age.
    """
    x, y = age_quantiles(downloads, start, end), age_quantiles(updates, start, end)
    return age_shares(updates, downloads, start, end, np.append(x, np.inf), np.append(y, np.inf)), x


def age_dependence(updates: Floats, downloads: Floats, start: float, end: float) -> float:
    """Return how far the ages of two histories are from being independent, over the time from `start` to `end`.

    It is the largest difference, 0 to 1, between P(A_D <= x, A_U <= y) and P(A_D <= x) P(A_U <= y), where A_D and A_U
    are the times since the last download and the last update, at 5 quantiles x and y of each (Staleness eq. 30).
    """
    joint, _ = _joint_ages(updates, downloads, start, end)
    return float(np.abs(joint[:-1, :-1] - joint[:-1, -1:] * joint[-1:, :-1]).max())


def conditional_age_shares(updates: Floats, downloads: Floats, start: float, end: float) -> tuple[Floats, Floats]:
    """Return P(A_D <= x | A_U in a class), an array by x and class, and the five x.

    A_D and A_U are the times since the last download and the last update, in [start, end]. The x are quantiles of A_D,
    and the six classes lie between quantiles of A_U.
    """
    joint, x = _joint_ages(updates, downloads, start, end)
    classes = np.diff(joint, axis=1, prepend=0.0)
    return np.asarray(classes[:-1] / classes[-1]), x


def time_average_gap(updates: Floats, downloads: Floats, start: float, end: float) -> float:
    """Return how far the ages of downloads that updates see are off those at any time between `start` and `end`.

    Both histories are ascending instants, and an age is the time since the last download. At each of 5 quantiles of the
    ages at any time, the shares of smaller ages are compared; the largest difference is returned, from 0 to 1.
    """
    x = age_quantiles(downloads, start, end)
    inside = updates[(updates > start) & (updates < end)]
    seen = inside - downloads[np.searchsorted(downloads, inside, side="left") - 1]
    shares = np.searchsorted(np.sort(seen), x, side="right") / max(inside.size, 1)
    return float(np.abs(shares - LEVELS).max())


def statistics_of_turns(
    statistic: Statistic, updates: Floats, downloads: Floats, start: float, end: float, rng: np.random.Generator
) -> tuple[Any, Floats]:
    """Return a statistic of two histories, and an array of it for downloads that are shifted around at random.

    `statistic` is a function of updates, downloads, start and end. The histories go from `start` to `end`, where they
    close to a circle: what leaves at the end comes in at the start, (1). The 199 shifts are drawn by `rng`.
    """
    length = end - start
    around = updates[(updates >= start) & (updates < end)]
    around = np.concatenate([around - length, around])
    downloads_in_window = downloads[(downloads >= start) & (downloads < end)] - start

    def at(shift: float) -> Any:
        turned_downloads = np.sort((downloads_in_window + shift) % length) + start
        return statistic(around, np.concatenate([turned_downloads - length, turned_downloads]), start, end)

    return at(0.0), np.array([at(shift) for shift in rng.uniform(0, length, TURNS)])

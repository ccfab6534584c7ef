"""The compiled loop of `schedules`: elements change, and are synchronised at given instants.

At t the copy of an element is as of its last synchronisation s <= t. With u the first
change after s, the copy is fresh on [s, u) and has age t - u from then on, so over
[a, b) between two synchronisations, inside the horizon,

    fresh time   min(max(u, a), b) - a                                            (1)
    age          ((b - u)^2 - (max(u, a) - u)^2) / 2   if u < b, else 0           (2)
"""

from __future__ import annotations

from numba import njit


@njit(cache=True)
def watch(horizon, syncs, sync_ends, residual, intervals, interval_ends, fresh, age, changes, short):
    """Adds (1) and (2) up per element; element i is synchronised at syncs[.. : sync_ends[i]], the first before zero.

    It changes `residual[i]` after that, and then at the intervals of intervals[.. : interval_ends[i]].
    `changes[i]` counts those in the horizon; `short[i]` tells if the intervals ended before it.
    """
    s = j = 0
    for i in range(sync_ends.size):
        last, end = sync_ends[i], interval_ends[i]
        u, free, aged, count, missing = syncs[s] + residual[i], 0.0, 0.0, 0, False
        while s < last:
            t = syncs[s]
            s += 1
            b = min(syncs[s], horizon) if s < last else horizon
            a = max(t, 0.0)
            while u <= t and j < end:
                count += u >= 0.0
                u += intervals[j]
                j += 1
            missing |= u <= t
            stale = min(max(u, a), b)
            free += stale - a
            if u < b:
                aged += ((b - u) ** 2 - (stale - u) ** 2) / 2
        while u < horizon and j < end:
            count += u >= 0.0
            u += intervals[j]
            j += 1
        fresh[i], age[i], changes[i], short[i] = free / horizon, aged / horizon, count, missing or u < horizon
        j = end

"""The compiled loop over what refreshes are worth."""

from __future__ import annotations

from replnet.compiler import njit


@njit(cache=True)
def fresh_time(horizon, changes, change_age, begin, refreshes, refresh_age, out):
    """out[k]: for how long of [0, horizon) the copy of source k was fresh.

    changes[k] ascends beyond the horizon; refreshes of k are refreshes[begin[k] : begin[k + 1]]. The ages
    are those of the last change and the last refresh before time zero. Of the two at one instant the
    refresh is the later. A copy that goes stale at x is fresh in [t, x); a refresh moves x on.
    """
    for k in range(out.size):
        x = min(changes[k, 0], horizon) if change_age[k] >= refresh_age[k] else 0.0
        fresh, c = x, 0
        for q in range(begin[k], begin[k + 1]):
            t = refreshes[q]
            while changes[k, c] <= t:
                c += 1
            new = min(changes[k, c], horizon)
            fresh += new - t - max(x - t, 0.0)
            x = new
        out[k] = fresh

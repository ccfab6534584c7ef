"""The compiled loops behind metrics of staleness: when copies change, and the stretches in which they stay the same.

A stretch is (begin, end, node, left): from begin to end the node was up and held what had left the source at `left`.
It ends where something fresher comes, or where the node goes down or comes back.
"""

from __future__ import annotations

from replnet.compiler import njit


@njit(cache=True)
def stretches(brought, turns, since, held, up, nothing, found):
    """The stretches that end with one of the rows `brought`, or with one of the `turns`, both in order of time.

    Brought is (at, node, left), turns are (at, node, down, empties); at equal instants the turn comes first.
    `since`, `held` and `up` are of every node; `nothing` is held by who has no copy. Returns the number found.
    """
    at, node, left = brought
    turn_at, turn_node, down, empties = turns
    begins, ends, who, what = found
    n = z = 0
    for q in range(at.size + 1):
        while z < turn_at.size and (q == at.size or turn_at[z] <= at[q]):
            i, t = turn_node[z], turn_at[z]
            now = nothing if down[z] and empties[z] else held[i]
            if down[z] == up[i] or now != held[i]:
                if up[i] and held[i] > nothing and since[i] < t:
                    begins[n], ends[n], who[n], what[n] = since[i], t, i, held[i]
                    n += 1
                since[i], held[i], up[i] = t, now, not down[z]
            z += 1
        if q < at.size and left[q] > held[node[q]]:
            i, t = node[q], at[q]
            if up[i] and held[i] > nothing and since[i] < t:
                begins[n], ends[n], who[n], what[n] = since[i], t, i, held[i]
                n += 1
            since[i], held[i] = t, left[q]
    return n

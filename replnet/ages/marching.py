"""Equations of ages that are solved forward: from one panel to the next, which grow as solutions become smooth."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from replnet.deadline import require_time
from replnet.laws import Array

GROWTH = 1.7  # factor from the width of a panel to that of the next


def march(
    solve: Callable[[list[float], float], bool],
    stops: Sequence[float] | Array,
    width: float,
    ended: Callable[[float], bool],
    *,
    even: bool = False,
) -> Array:
    """Return the edges of the panels over which an equation was solved, from 0 to the last of `stops`.

    It ends earlier where `ended` says so of the last edge. `solve` gets the edges so far and the end of the next panel,
    and returns whether it has solved and kept that panel; if not, the next try is half as wide. Panels grow from
    `width` on, and end at the ascending `stops`, the last of which may be infinite. If `even`, a panel before the one
    that ends at a stop is at most as wide as that, so that no sliver is left.
    """
    edges = [0.0]
    while edges[-1] < stops[-1] and not ended(edges[-1]):
        require_time()
        start = edges[-1]
        stop = float(stops[int(np.searchsorted(stops, start, side="right"))])
        room = stop - start
        end = stop if room <= width else start + (min(width, room / 2) if even else width)
        wide = end - start
        if solve(edges, end):
            edges.append(end)
            width = max(width if wide < width else 0.0, wide) * GROWTH
        else:
            width = wide / 2
    return np.asarray(edges)

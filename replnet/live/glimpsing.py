"""How a run in virtual time is going, for those who watch it: as glimpses, like those of a live run."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from replnet.engines import Path
from replnet.live import Glimpse, Watch
from replnet.measure import ratio

if TYPE_CHECKING:
    from replnet.run import Replications

SECONDS_BETWEEN = 0.2  # glimpses, as adding up all replications takes a moment


def glimpse_sender(watch: Watch) -> Callable[[Replications[Path]], None]:
    """Return a function that takes the replications of a run so far, and calls `watch` with a Glimpse of them.

    It does so at most every SECONDS_BETWEEN seconds until all that were planned have come, and then each time. Time and
    horizon of the Glimpse are those of all replications together, one after another, and its messages and slip are 0.
    """
    due = time.monotonic()

    def send(series: Replications[Path]) -> None:
        """Call `watch` with freshness by group and summed counts of these replications, unless it was just called."""
        nonlocal due
        paths = series.paths
        whole = max(series.first, len(paths))
        if time.monotonic() < due and len(paths) < whole:
            return
        groups = [group for group, metric in paths[0].shares if metric == "freshness"]
        pairs = np.array([[path.shares[group, "freshness"] for group in groups] for path in paths])
        amounts, wholes = pairs.sum(axis=0).T
        with np.errstate(invalid="ignore", divide="ignore"):
            fresh = amounts / wholes
        widths = np.array([ratio(pairs[:, i, 0], pairs[:, i, 1]).half_width for i in range(len(groups))])
        updates, downloads, polls, queries = np.array([path.counts for path in paths]).sum(axis=0).tolist()
        counts = (updates, downloads, polls, queries)
        now, horizon = len(paths) * series.length, whole * series.length
        watch(Glimpse(now, horizon, tuple(groups), fresh, counts, 0, 0.0, half_width=widths))
        due = time.monotonic() + SECONDS_BETWEEN

    return send

"""What there is of a run so far, for those who watch it: as glimpses, like those of a run on the wall clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from replnet.engines.path import Path
from replnet.live import Glimpse, Watch

if TYPE_CHECKING:
    from replnet.study.replications import Replications

EVERY = 0.2  # seconds between glimpses, as adding up all replications takes a moment


def glimpsing(made: Replications[Path], watch: Watch) -> Callable[[Sequence[Path]], None]:
    """Takes the replications so far; time is that of all of them together, one after another."""
    due = time.monotonic()

    def look(paths: Sequence[Path]) -> None:
        nonlocal due
        whole = max(made.first, len(paths))
        if time.monotonic() < due and len(paths) < whole:
            return
        groups = [group for group, metric in paths[0].shares if metric == "freshness"]
        pairs = np.array([[path.shares[group, "freshness"] for group in groups] for path in paths]).sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            fresh = pairs[:, 0] / pairs[:, 1]
        updates, downloads, polls, queries = np.array([path.counts for path in paths]).sum(axis=0).tolist()
        counts = (updates, downloads, polls, queries)
        watch(Glimpse(len(paths) * made.length, whole * made.length, tuple(groups), fresh, counts, 0, 0.0))
        due = time.monotonic() + EVERY

    return look

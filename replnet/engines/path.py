"""What one emulated path of a network yields, whichever engine made it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Path:
    """Per group: the share of copy-time that was fresh, and what clients got."""

    fresh: Floats  # NaN for groups without copies
    answers: npt.NDArray[np.int64]
    good: Floats  # answers that were fresh, or their expected number
    counts: tuple[int, int, int, int]  # updates, downloads, polls, queries in [0, horizon)
    copies: Floats  # what every node holds at the end, a row per source
    depth: float  # how far back the start was looked up
    unproven: int  # copies at time zero that may differ from the stationary ones

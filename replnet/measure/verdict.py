"""Measured beside predicted: z, and a verdict per cell and over all cells.

Cells are judged together by Holm's procedure: with m cells in ascending order of
their p-values, cell i differs while p_i < FAMILY / (m - i), i = 0, 1, ...; the
first that does not ends the row. So if every prediction is right, the chance
that any cell is called different is at most FAMILY, whatever m.

An exact prediction is tested as it stands. One with a stated accuracy claims
that the truth lies within it; only what lies beyond counts against it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from replnet.measure.estimate import Estimate

FAMILY = 0.01
POWER = 0.9  # chance to call a difference one, of the least that is said to be visible
RESOLUTION = 0.02  # half-width above which an interval is wider than the question
ROUNDING = 1e-9  # of integrals over a path, where nothing random is left


@dataclass(frozen=True)
class Comparison:
    """One measured value and what was predicted for it, with the accuracy the prediction claims.

    `scale` is what the width of the interval is held against: 1 for shares.
    """

    estimate: Estimate
    predicted: float | None
    accuracy: float = 0.0
    scale: float = 1.0

    @property
    def beyond(self) -> float:
        """How far the measured value lies from what the prediction allows."""
        assert self.predicted is not None
        off = self.estimate.value - self.predicted
        return math.copysign(max(abs(off) - self.accuracy - ROUNDING, 0.0), off)

    @property
    def z(self) -> float | None:
        """Standard errors between measured and predicted, or None where there is no error or prediction."""
        if self.predicted is None or not self.estimate.error > 0:
            return None
        return (self.estimate.value - self.predicted) / self.estimate.error

    @property
    def p_value(self) -> float:
        if self.beyond == 0:
            return 1.0
        if self.estimate.error == 0:
            return self._chance_of_all_alike
        return self.estimate.chance(self.beyond)

    @property
    def _chance_of_all_alike(self) -> float:
        """At most, that every replication shows nothing of a share, or all of it: the mean bounds that of each."""
        assert self.predicted is not None
        near = self.predicted + math.copysign(self.accuracy, self.beyond)
        each = {0.0: 1 - near, 1.0: near}.get(self.estimate.value, 0.0) if self.scale == 1 else 0.0
        return min(max(each, 0.0), 1.0) ** self.estimate.replications

    def open_question(self, resolution: float) -> bool:
        alike = self.estimate.error == 0 and self.predicted is not None and self.beyond != 0
        return alike or not self.estimate.half_width <= resolution * abs(self.scale)


def verdicts(cells: Sequence[Comparison], resolution: float = RESOLUTION) -> list[str]:
    """`agree`, `differ` or `unresolved` per cell; an empty word where nothing is predicted."""
    judged = [
        (c.p_value, at) for at, c in enumerate(cells) if c.predicted is not None and not math.isnan(c.estimate.error)
    ]
    different: set[int] = set()
    for rank, (p, at) in enumerate(sorted(judged)):
        if p >= FAMILY / (len(judged) - rank):
            break
        different.add(at)
    return [_word(cell, at in different, resolution) for at, cell in enumerate(cells)]


def visible(cells: Sequence[Comparison]) -> list[float]:
    """Per cell, how far off a prediction has to be for nine such tables of ten to call it different, or NaN."""
    from scipy.special import stdtrit

    judged = sum(c.predicted is not None and c.estimate.error > 0 for c in cells)

    def least(c: Comparison) -> float:
        if c.predicted is None or not c.estimate.error > 0:
            return math.nan
        freedom = c.estimate.replications - 1
        called, reached = stdtrit(freedom, 1 - FAMILY / judged / 2), stdtrit(freedom, POWER)
        return float(c.accuracy + c.estimate.error * (called + reached))

    return [least(c) for c in cells]


def _word(cell: Comparison, different: bool, resolution: float) -> str:
    if cell.predicted is None:
        return ""
    if different:
        return "differ"
    return "unresolved" if cell.open_question(resolution) else "agree"


def overall(words: Sequence[str]) -> str:
    """The worst of them."""
    for word in ("differ", "unresolved", "agree"):
        if word in words:
            return word
    return ""

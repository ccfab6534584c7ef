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
POWER = 0.9  # chance that an error as large as the least visible one is called a difference
RESOLUTION = 0.02  # half-width above which an interval is too wide for an `agree`
ROUNDING = 1e-9  # of integrals over a path, where nothing random is left


@dataclass(frozen=True)
class Comparison:
    """A measured value beside the predicted one (None without a prediction), with the accuracy that this claims.

    `accuracy` is the largest error that the prediction may have, in units of the value, 0 if it is exact. The
    half-width of the interval is judged as a share of `scale`, the value; for shares `scale` is None, and it is judged
    as it is.
    """

    estimate: Estimate
    predicted: float | None
    accuracy: float = 0.0
    scale: float | None = None

    @property
    def beyond(self) -> float:
        """The measured minus the predicted value, nearer to 0 by accuracy and ROUNDING; 0 if it is within these."""
        assert self.predicted is not None
        off = self.estimate.value - self.predicted
        return math.copysign(max(abs(off) - self.accuracy - ROUNDING, 0.0), off)

    @property
    def z(self) -> float | None:
        """The measured minus the predicted value, in standard errors; None without an error above 0 or a prediction.

        The accuracy of the prediction is not taken off.
        """
        if self.predicted is None or not self.estimate.error > 0:
            return None
        return (self.estimate.value - self.predicted) / self.estimate.error

    @property
    def p_value(self) -> float:
        """The chance, if the prediction is right within its accuracy, of a measured value that is so far off.

        It is 1 if the measured value is within the accuracy, and an upper bound if all replications measured the same.
        """
        if self.beyond == 0:
            return 1.0
        if self.estimate.error == 0:
            return self._chance_of_all_alike
        return self.estimate.chance(self.beyond)

    @property
    def _chance_of_all_alike(self) -> float:
        """An upper bound of the chance, if the prediction is right, that all replications measure what these did.

        It is for measurements without scatter. If all are a share of 0 (or 1), the chance of that in one replication is
        at most one minus the predicted share (or that share), at the end of its accuracy that is nearer to the measured
        value, and this is that to the power of their number. For any other value it is 0, as nothing random is left of
        it.
        """
        assert self.predicted is not None
        near = self.predicted + math.copysign(self.accuracy, self.beyond)
        each = {0.0: 1 - near, 1.0: near}.get(self.estimate.value, 0.0) if self.scale is None else 0.0
        return min(max(each, 0.0), 1.0) ** self.estimate.replications

    def is_open(self, resolution: float) -> bool:
        """Whether the interval is too wide to agree, or has no width although the value is off the prediction.

        It is too wide if its half-width is above `resolution`, times `scale` if that is not None.
        """
        alike = self.estimate.error == 0 and self.predicted is not None and self.beyond != 0
        widest = resolution * (1.0 if self.scale is None else abs(self.scale))
        return alike or not self.estimate.half_width <= widest


def verdicts(cells: Sequence[Comparison], resolution: float = RESOLUTION) -> list[str]:
    """Return a list of verdicts on the cells: `agree`, `differ` or `unresolved`, or empty where nothing is predicted.

    They are judged together: if all predictions are right, the chance that any is called different is at most FAMILY.
    To agree, an interval must have a half-width of at most `resolution` times the scale of its comparison.
    """
    ranked = sorted(
        (c.p_value, number)
        for number, c in enumerate(cells)
        if c.predicted is not None and not math.isnan(c.estimate.error)
    )
    different: set[int] = set()
    for rank, (p, number) in enumerate(ranked):
        if p >= FAMILY / (len(ranked) - rank):
            break
        different.add(number)
    return [_word(cell, number in different, resolution) for number, cell in enumerate(cells)]


def visible_errors(cells: Sequence[Comparison]) -> list[float]:
    """Return, for every cell, the least error of its prediction that would be called different with a chance of POWER.

    Cells are judged together, as by `verdicts`. The error is in units of the value, and NaN for a cell without a
    prediction or an interval.
    """
    from scipy.special import stdtrit

    judged = sum(c.predicted is not None and c.estimate.error > 0 for c in cells)

    def least(c: Comparison) -> float:
        """Return the least visible error of one cell, in units of its value; NaN if it is not judged."""
        if c.predicted is None or not c.estimate.error > 0:
            return math.nan
        freedom = c.estimate.replications - 1
        threshold, margin = stdtrit(freedom, 1 - FAMILY / judged / 2), stdtrit(freedom, POWER)
        return float(c.accuracy + c.estimate.error * (threshold + margin))

    return [least(c) for c in cells]


def _word(cell: Comparison, different: bool, resolution: float) -> str:
    """Return the verdict on a cell, which is `different` or not: `differ`, `agree` or `unresolved`.

    It is empty without a prediction, and `unresolved` if the half-width is above `resolution` times the scale of the
    cell.
    """
    if cell.predicted is None:
        return ""
    if different:
        return "differ"
    return "unresolved" if cell.is_open(resolution) else "agree"


def worst_verdict(words: Sequence[str]) -> str:
    """Return the worst of these verdicts: `differ`, then `unresolved`, then `agree`; empty if there is none."""
    for word in ("differ", "unresolved", "agree"):
        if word in words:
            return word
    return ""

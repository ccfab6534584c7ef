"""Everything that one recorded history says: laws, tail, correlation, rhythm, and the price of the Poisson formula."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from replnet.histories.audit import Check, alone
from replnet.histories.fitting import Fits, Sample, fit_laws, p_value
from replnet.histories.history import Beat, History, beat, correlation, decay, hourly, resolution
from replnet.histories.tails import Tail, tail_index
from replnet.histories.waste import TARGETS, Need, Point, curve, needs

Floats = NDArray[np.float64]

LAGS = 200


@final
@dataclass(frozen=True, eq=False)
class Study:
    """One history, looked at from all sides."""

    history: History
    fits: Fits
    chances: dict[str, float]  # of the best fit and of the exponential
    tail: Tail | None
    rho: Floats  # correlation of intervals by lag, from 1
    exponent: float  # b of rho(h) = c h^-b, NaN where there is none to see
    hours: NDArray[np.int64] | None  # events in each hour of the day
    kept: Beat | None
    checks: tuple[Check, ...]
    points: tuple[Point, ...]
    needs: tuple[Need, ...]

    @property
    def hurst(self) -> float:
        """1 - b / 2: above one half, correlation that never quite dies."""
        return 1 - self.exponent / 2


def study(history: History, targets: Iterable[float] = TARGETS, seed: int = 1) -> Study:
    """The laws of the intervals of `history`, and what they leave out."""
    gaps, rng = history.intervals, np.random.default_rng(seed)
    asked = needs(history, targets)  # first, as it refuses targets
    try:
        fits, sample = fit_laws(gaps), Sample.of(gaps, resolution(history.times))
    except ValueError as error:
        raise ValueError(f"{history.name}: {error}") from None
    tested = dict.fromkeys([fits.best[0].family, "exponential"])
    chances = {fit.family: p_value(fit, sample, rng) for fit in fits.best if fit.family in tested}
    rho = correlation(gaps, min(LAGS, gaps.size // 4))
    return Study(
        history, fits, chances, tail_index(gaps, rng), rho, decay(rho, gaps.size),
        hourly(history.times) if history.dated else None, beat(gaps),
        tuple(alone("updates", np.unique(history.times), history.dated, rng)), curve(history), asked,
    )  # fmt: skip

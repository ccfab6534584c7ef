"""One recorded history: its laws, tail, correlation and rhythm, and the price of the Poisson formula.

The price is that of Staleness VI-B, Fig. 9(d), 10. A replica downloads every T, at rate
lambda = 1 / T. With mu the rate of the updates, the staleness is

    measured     the share of the record after an update and before the next download, by replaying it    (1)
    empirical    1 - lambda integral from 0 to T of P(A_U > x), with A_U from the recorded intervals      (2)
    Poisson      1 - lambda (1 - exp(-mu / lambda)) / mu                                                  (3)

(1) depends on the phase of the first download, so it is replayed for PHASES of them.
The mean over all phases is (2) but for the ends of the record, as an even phase makes
the ages independent; what one phase is off by is due to phase-lock, rhythm and drift.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from replnet.ages import direct, rate_for
from replnet.histories.assumptions import Check, check_history
from replnet.histories.fitting import Fit, Sample, Tail, fit_laws, p_value, tail_index
from replnet.histories.held_copies import stretches_of
from replnet.histories.history import History, beat, correlation, decay, hourly, resolution
from replnet.histories.trace_import import HistorySource, history_of
from replnet.laws import Constant, Empirical, Exponential, Floats, Law
from replnet.run import TabularResult
from replnet.text import FieldError, real, sequence, whole

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, float]

LAGS = 200
PHASES = 16
RATE_REACH = 30.0  # from the update rate divided by it to the update rate times it
RATE_COUNT = 13  # rates of downloads in the curve
FEWEST_DOWNLOADS = 10  # in a record, at the lowest rate
RATE_TOLERANCE = 1e-3  # relative, of a rate by replay
TARGETS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.9)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TraceFit(TabularResult):
    """The result of fitting laws to the intervals of one `history`, and of looking at what laws leave out.

    It has the `fits` of families of laws, the best first, and why other families have none (`left_out`); the `tail`;
    the `correlation` of intervals by lag from 1 on, and the exponent by which it falls; the events by hour of the day
    (`hours`, None without dates); the `beat` (None if there is none); the `checks` of assumptions; and rows on what
    constant downloads give: the `staleness` at several rates, and the rates that targets of staleness need (`needs`).
    """

    history: History
    fits: list[Fit]  # the best first; it and the exponential have a p-value
    left_out: dict[str, str]  # why no law of a family fits
    tail: Tail | None
    correlation: Floats  # rho of intervals by lag, from 1
    correlation_exponent: float  # b of rho(h) = c h^-b, NaN where there is none to see
    hours: NDArray[np.int64] | None  # events in each hour of the day
    beat: dict[str, float] | None
    checks: list[Check]
    staleness: list[Row]  # under constant downloads of many rates
    needs: list[Row]

    @property
    def table(self) -> pd.DataFrame:
        """The fitted laws as a DataFrame, the best first: law, log-likelihood, AIC, distance and p-value."""
        import pandas as pd

        columns = ["law", "log_likelihood", "aic", "distance", "p_value"]
        rows = [(str(fit.law), fit.log_likelihood, fit.aic, fit.distance, fit.p_value) for fit in self.fits]
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(columns[1:], float))

    def _words(self) -> str:
        return f"{self.history.name}: {self.history.times.size:,} events"


def fit(history: HistorySource, targets: Iterable[float] = TARGETS, seed: int = 1) -> TraceFit:
    """Fit laws to the intervals of a history, a file or times, and describe what laws leave out.

    `targets` are stalenesses for which the needed rates of downloads are computed; `seed` is that of resampling. Raises
    a ValueError if no law can be fitted, or a target is not between 0 and 1.

    >>> import numpy as np
    >>> result = rn.fit(np.random.default_rng(1).exponential(2.0, 1000).cumsum())
    >>> result.history.times.size, len(result.fits) > 5
    (1000, True)
    """
    history = history_of(history)
    gaps, rng = history.intervals, np.random.default_rng(whole("seed", seed))
    rates_for_targets = needed_rates(history, targets)  # first, as it refuses targets
    try:
        (fits, left_out), sample = fit_laws(gaps), Sample.of(gaps, resolution(history.times))
    except FieldError as error:
        raise FieldError(f"{history.name}: {error.field}", error.wrong, error.right) from None
    tested = (fits[0].family, "exponential")
    rho = correlation(gaps, min(LAGS, gaps.size // 4))
    return TraceFit(
        history=history,
        fits=[replace(fit, p_value=p_value(fit, sample, rng)) if fit.family in tested else fit for fit in fits],
        left_out=left_out,
        tail=tail_index(gaps, rng),
        correlation=rho,
        correlation_exponent=decay(rho, gaps.size),
        hours=hourly(history.times) if history.dated else None,
        beat=beat(gaps),
        checks=list(check_history("updates", np.unique(history.times), history.dated, rng)),
        staleness=staleness_curve(history),
        needs=rates_for_targets,
    )


def staleness_curve(updates: History, rates: Iterable[float] | None = None) -> list[Row]:
    """Return a row for each rate of constant downloads: the staleness that the recorded updates give, and two formulas.

    The keys are rate; measured, low and high, the mean, least and largest staleness in a replay over all phases of the
    downloads; empirical and poisson, formulas for updates with the recorded intervals and for Poisson updates. Unless
    given, rates are spread evenly in logarithms about the update rate, as far down as the record is long.
    """
    empirical, poisson = Empirical(updates.intervals), Exponential(rate=updates.rate)
    if rates is None:
        lowest = max(updates.rate / RATE_REACH, FEWEST_DOWNLOADS / (updates.end - updates.start))
        rates = np.geomspace(lowest, updates.rate * RATE_REACH, RATE_COUNT).tolist()
    rows = []
    for rate in rates:
        shares = staleness_by_phase(updates, rate)
        measured = {"measured": float(shares.mean()), "low": float(shares.min()), "high": float(shares.max())}
        rows.append(
            {"rate": rate, **measured, "empirical": _staleness(rate, empirical), "poisson": _staleness(rate, poisson)}
        )
    return rows


def needed_rates(updates: History, targets: Iterable[float] = TARGETS) -> list[Row]:
    """Return a row for each target: the rates of constant downloads at which the staleness is the `target`.

    The keys are target; measured, by replaying the record, NaN where it is too short; empirical and poisson, by
    formulas for updates with the recorded intervals and for Poisson updates; and `waste`, how many times too many
    downloads the Poisson formula asks for. Raises FieldError for a target that is not between 0 and 1.
    """
    empirical, poisson = Empirical(updates.intervals), Exponential(rate=updates.rate)
    rows = []
    values = sequence("targets", targets) if targets != [] else []
    for target in (real("target", target) for target in values):
        if not 0 < target < 1:
            raise FieldError("target", f"{target:g} is no staleness to aim at", "above 0 and below 1")
        by_record, by_poisson = (
            rate_for(1 - target, lambda rate, law=law: 1 - _staleness(rate, law), start=updates.rate)  # type: ignore[misc]
            for law in (empirical, poisson)
        )
        rates = {"measured": _rate_by_replay(updates, target), "empirical": by_record, "poisson": by_poisson}
        rows.append({"target": target, **rates, "waste": by_poisson / by_record})
    return rows


def staleness_by_phase(updates: History, rate: float) -> Floats:
    """Return an array of the staleness, 0 to 1, under constant downloads of this rate, for each of 16 even phases.

    It is the share of the recorded time in which a copy that is downloaded so is stale.
    """
    period, length = 1 / rate, updates.end - updates.start
    every = np.asarray(updates.start + period * np.arange(-1, math.ceil(length / period) + 1), dtype=float)
    window = np.array([updates.start, updates.end])
    phases = [every + period * phase / PHASES for phase in range(PHASES)]
    stale = [stretches_of(downloads, downloads, updates.times, window).stale.sum() for downloads in phases]
    return np.array(stale) / length


def _rate_by_replay(updates: History, target: float) -> float:
    """Return the rate of constant downloads at which the staleness of a replay is `target`, averaged over 16 phases.

    It is at most 0.1 % too high. NaN if the record is too short to tell.
    """

    def stale(rate: float) -> float:
        """Return the staleness of a replay at a rate of downloads, averaged over phases."""
        return float(staleness_by_phase(updates, rate).mean())

    low = high = updates.rate
    lowest, highest = 2 / (updates.end - updates.start), updates.rate * 1e3
    while stale(low) <= target:
        low, high = low / 2, low
        if low < lowest:
            return math.nan
    while stale(high) > target:
        low, high = high, high * 2
        if high > highest:
            return math.nan
    while high > low * (1 + RATE_TOLERANCE):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if stale(middle) > target else (low, middle)
    return high


def _staleness(rate: float, law: Law) -> float:
    """Return the staleness under constant downloads at `rate`, if updates are a renewal process of this law."""
    return 1 - direct(Constant(rate=rate)).freshness(law).value

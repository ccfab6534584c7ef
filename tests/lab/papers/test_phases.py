"""What paths keep for good where constant intervals meet constant intervals (Staleness V-C)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from paper import values

from replnet.ages.information_age import direct
from replnet.ages.penalties import staleness
from replnet.lab.named_formulas import compute
from replnet.lab.papers.phases import phase_lock, queries_in_phase
from replnet.laws import Constant, Exponential, Pareto
from replnet.laws.law import span_ratio
from replnet.text.errors import InputError

PAIRS = [(5, 5), (5, 10), (5, 2.5), (5, 3), (5, 3.1), (5, 4), (4, 6), (0.3, 0.1), (7, 25)]


@pytest.mark.parametrize(("updates", "downloads"), PAIRS)
def test_staleness_phase_by_phase(updates, downloads):
    """Every download in turn, until the next, in 12 rounds of all places and from phases all over the first place."""
    (lowest, mean, highest), p = (one for _, _, one in phase_lock(updates, downloads)), span_ratio(downloads, updates)
    assert p is not None
    phases = (np.arange(40) + 0.5) / 40 * updates / p.denominator
    ages = (phases[:, None] + np.arange(12 * p.denominator) * downloads) % updates
    inside = (np.maximum(downloads - (updates - ages), 0) / downloads).mean(axis=1)
    assert lowest <= min(inside)
    assert max(inside) <= highest
    assert inside.mean() == pytest.approx(mean, rel=1e-9)
    # Piecewise linear: the ends are half a step beyond the first and the last.
    assert min(inside) - lowest == pytest.approx((highest - lowest) / 80, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(("updates", "downloads"), [*PAIRS, (5, math.pi), (1, math.sqrt(2))])
def test_the_mean_over_phases_is_that_of_independent_ages(updates, downloads):
    found = values("phase-lock", updates=updates, downloads=downloads)
    known = staleness(direct(Constant(period=downloads)), Constant(period=updates)).value
    assert found["mean", "staleness"] == pytest.approx(known, rel=1e-9)


def test_an_irrational_ratio_has_no_phase():
    assert len(set(values("phase-lock", updates=5, downloads=math.pi).values())) == 1
    assert [*values("phase-lock", updates=5, downloads=5).values()] == [0, 0.5, 1]
    with pytest.raises(InputError, match="updates: 0 is not"):
        compute("phase-lock", updates=0, downloads=1)


@pytest.mark.parametrize("updates", [Exponential(rate=1), Pareto(3, rate=2), Constant(period=0.7)])
@pytest.mark.parametrize("queries", [1, 2, 0.5, 0.4, 7 / 3])
def test_queries_phase_by_phase(updates, queries):
    """Every query in turn, from phases all over the first place."""
    lowest, mean, highest = (value for _, _, value in queries_in_phase(updates, 1.0, queries))
    q = Constant(period=queries).period
    places = span_ratio(q, 1.0).denominator
    phases = (np.arange(400) + 0.5) / 400 / places
    # Half a step of rounding keeps ages that are 0 up to rounding from being 1.
    ages = (phases[:, None] + np.arange(12 * places) * q + 1e-9) % 1
    seen = updates.age.tail(ages).mean(axis=1)
    assert lowest - 1e-6 <= seen.min() <= seen.max() <= highest + 1e-6
    assert (seen[0], seen[-1]) == pytest.approx((highest, lowest), abs=5e-3)
    assert seen.mean() == pytest.approx(mean, abs=1e-4)


def test_queries_out_of_phase_see_time_averages():
    values = [value for _, _, value in queries_in_phase(Exponential(rate=1), 1.0, math.sqrt(2))]
    assert values == pytest.approx([1 - math.exp(-1)] * 3, abs=1e-9)

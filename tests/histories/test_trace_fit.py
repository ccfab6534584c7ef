"""What the Poisson formula costs where updates are recorded."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import history

from replnet.ages.information_age import direct
from replnet.ages.penalties import staleness
from replnet.histories.history import History
from replnet.histories.trace_fit import PHASES, needed_rates, staleness_by_phase, staleness_curve
from replnet.laws import Constant, Empirical, Pareto


@settings(max_examples=15)
@given(st.lists(st.integers(1, 8), min_size=3, max_size=8), st.integers(1, 4))
def test_replays_are_walks_second_by_second(gaps, period):
    """Downloads every 16 * period seconds, so that phases are whole seconds."""
    times = np.cumsum([0, *gaps]) * 16
    step = PHASES * period
    for phase, share in enumerate(staleness_by_phase(History(times, "u"), 1 / step)):
        stale = 0
        for t in range(times[0], times[-1]):
            last = t - (t - times[0] - phase * period) % step
            stale += any(last < u <= t for u in times)
        assert share == pytest.approx(stale / (times[-1] - times[0]), abs=1e-12)


def test_the_mean_over_phases_is_the_empirical_law():
    """But for the ends of the record: 3,000 intervals, 16 phases."""
    updates = history(np.random.default_rng(10), Pareto(1.4, rate=1), 3000)
    law = Empirical(updates.intervals)
    for point in staleness_curve(updates):
        assert point["low"] <= point["measured"] <= point["high"]
        assert point["measured"] == pytest.approx(point["empirical"], abs=0.02)
        assert point["empirical"] == pytest.approx(staleness(direct(Constant(rate=point["rate"])), law).value, abs=1e-9)
        ratio = point["rate"] / updates.rate
        assert point["poisson"] == pytest.approx(1 - ratio * -math.expm1(-1 / ratio), abs=1e-9)


def test_bursty_updates_need_less_than_poisson_says():
    updates = history(np.random.default_rng(11), Pareto(1.4, rate=1), 3000)
    needs, law = needed_rates(updates, (0.2, 0.5, 0.9)), Empirical(updates.intervals)
    for need in needs:
        fresh = direct(Constant(rate=need["empirical"])).freshness(law).value
        assert 1 - fresh == pytest.approx(need["target"], abs=1e-9)
        assert staleness_by_phase(updates, need["measured"]).mean() == pytest.approx(need["target"], abs=2e-3)
        assert need["measured"] == pytest.approx(need["empirical"], rel=0.1)
    assert 1.2 < needs[0]["waste"] < needs[1]["waste"] < needs[2]["waste"]


def test_regular_updates_need_more_than_poisson_says():
    """Constant updates at rate 1: staleness is 1 / (2 T) for T < 1, so 0.2 needs a rate of 2.5; Poisson says 2.15."""
    (need,) = needed_rates(History(np.arange(1000.0), "u"), [0.2])
    assert need["empirical"] == pytest.approx(2.5, rel=1e-6)
    assert need["poisson"] == pytest.approx(2.1545, rel=1e-3)
    assert need["waste"] < 1


@pytest.mark.parametrize("target", [0.0, 1.0, math.nan])
def test_targets_are_shares(target):
    with pytest.raises(ValueError, match="target"):
        needed_rates(History(np.arange(100.0), "u"), [target])

"""Laws fitted to intervals: the likeliest, how far off, and how heavy the tail; what the Poisson formula costs."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import history
from scipy.stats import binom, kstest

from replnet.ages.information_age import direct
from replnet.ages.penalties import staleness
from replnet.histories.fitting import (
    FAMILIES,
    NoFitError,
    Sample,
    distance,
    fit_family,
    fit_laws,
    log_density,
    p_value,
    tail_index,
)
from replnet.histories.history import History
from replnet.histories.trace_fit import PHASES, needed_rates, staleness_by_phase, staleness_curve
from replnet.laws import Constant, Empirical, Exponential, Gamma, Hyperexponential, Lognormal, Pareto, Weibull
from replnet.testing import FALSE_ALARM

LAWS = [
    Exponential(rate=2),
    Pareto(1.4, scale=0.93),
    Weibull(0.6, rate=2),
    Weibull(3.0, rate=0.1),
    Gamma(0.4, rate=2),
    Gamma(5.0, rate=2),
    Lognormal(1.5, rate=2),
    Hyperexponential([0.8, 0.2], [10, 0.5]),
]


def drawn(law, n, seed=1):
    return np.asarray(law.draw(np.random.default_rng(seed).standard_exponential(n)))


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_densities_are_what_tails_lose(law):
    """Integrated over cells by Simpson's rule, of error h^4: the difference of the tail at their ends."""
    x = np.geomspace(law.isf(0.9), law.isf(0.01), 2001)
    middle = (x[1:] + x[:-1]) / 2
    density = [np.exp(log_density(law, at)) for at in (x[:-1], middle, x[1:])]
    lost = np.diff(x) / 6 * (density[0] + 4 * density[1] + density[2])
    assert lost == pytest.approx(law.tail(x[:-1]) - law.tail(x[1:]), rel=1e-9)


def nearby(law, step):
    """Laws of the family with one parameter a little off."""
    for factor in (1 - step, 1 + step):
        if isinstance(law, Hyperexponential):
            for place in range(len(law.rates)):
                factors = np.where(np.arange(len(law.rates)) == place, factor, 1.0)
                yield Hyperexponential(law.weights, list(law.rates * factors))
                yield Hyperexponential(list(law.weights * factors), law.rates)
        elif isinstance(law, Exponential):
            yield Exponential(mean=law.mean * factor)
        else:
            shape = next(getattr(law, name) for name in ("alpha", "shape", "sigma") if hasattr(law, name))
            yield type(law)(shape * factor, scale=law.scale)
            yield type(law)(shape, scale=law.scale * factor)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_no_law_of_a_family_is_likelier(law):
    """Neither a neighbour of the fitted one nor the true one, which is not much worse: twice the gain is chi-squared.

    It has 1 to 3 degrees, and 36 is exceeded once in 1e7.
    """
    intervals = drawn(law, 500)
    sample, (fits, _) = Sample.of(intervals), fit_laws(intervals)
    for fit in fits:
        # Expectation and maximisation crawls the last bit of the way.
        short = 1e-3 if "hyper" in fit.family else 1e-6
        for other in nearby(fit.law, 1e-3):
            likelihood = float(sample.counts @ log_density(other, sample.values))
            assert likelihood <= fit.log_likelihood + short, (fit.family, other)
    name = type(law).__name__.lower() + (" 2" if isinstance(law, Hyperexponential) else "")
    fitted = fit_family(name, sample)
    assert -1e-3 <= fitted.log_likelihood - float(log_density(law, intervals).sum()) < 18
    assert fits[0].aic <= fitted.aic


@settings(max_examples=50)
@given(st.lists(st.integers(1, 50), min_size=10, max_size=60).filter(lambda x: len(set(x)) > 1))
def test_distance_is_kolmogorovs(values):
    sample = Sample.of(np.array(values, float))
    law = Exponential(mean=7)
    # With ties kstest steps from value to value, as the empirical F does at the end of each run.
    assert distance(law, sample) == pytest.approx(kstest(values, lambda x: 1 - np.exp(-x / 7)).statistic, abs=1e-12)


@settings(max_examples=60)
@given(
    st.lists(st.floats(1e-3, 1e6), min_size=10, max_size=40).filter(lambda x: max(x) > 1.00001 * min(x)),
    st.sampled_from([1e-6, 1.0, 86_400.0]),
)
def test_any_record_can_be_fitted_in_any_unit(values, unit):
    fits, left_out = fit_laws(np.array(values) * unit)
    families = {one.family for one in fits}
    assert families | set(left_out) == set(FAMILIES)
    assert all(math.isfinite(one.aic) and 0 <= one.distance <= 1 for one in fits)
    assert "exponential" in families


def test_a_light_tail_is_no_pareto():
    with pytest.raises(NoFitError, match="no heavier than exponential"):
        fit_family("pareto", Sample.of(drawn(Gamma(5.0, rate=2), 500)))
    _, left_out = fit_laws(drawn(Gamma(5.0, rate=2), 500))
    assert set(left_out) == {"pareto", "hyperexponential 2", "hyperexponential 3"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.zeros(20), "finite and above 0"),
        (np.append(np.ones(20), np.nan), "finite and above 0"),
    ],
)
def test_records_that_nothing_fits(values, words):
    with pytest.raises(ValueError, match=words):
        fit_laws(values)


def weibull_sample(rng):
    return "weibull", Sample.of(np.asarray(Weibull(0.6, rate=2).draw(rng.standard_exponential(150))))


def decimal_sample(rng, mean):
    """A Poisson record of 800 events with one decimal."""
    times = np.unique(np.round(np.cumsum(rng.exponential(mean, 800)), 1))
    return "exponential", Sample.of(np.diff(times), 0.1)


@pytest.mark.parametrize("made", [weibull_sample, partial(decimal_sample, mean=1.0), partial(decimal_sample, mean=0.3)])
def test_distances_of_the_true_family_are_no_surprise(made):
    """60 samples: p-values below 0.1 come within chance, and 1 of 2 is above one half or so."""
    chances = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        family, sample = made(rng)
        chances.append(p_value(fit_family(family, sample), sample, rng))
    assert sum(p < 0.1 for p in chances) <= binom.isf(FALSE_ALARM, 60, 0.1)
    assert sum(p > 0.4 for p in chances) >= binom.ppf(FALSE_ALARM, 60, 0.5)


def test_the_wrong_family_is_a_surprise():
    """300 Pareto(1.4) intervals are no exponential ones: the distance is 0.25 where 0.07 is usual."""
    sample = Sample.of(drawn(Pareto(1.4, rate=1), 300))
    assert p_value(fit_family("exponential", sample), sample, np.random.default_rng(1)) == 0.01


@pytest.mark.parametrize("alpha", [0.8, 2.5])
def test_tail_indices_are_covered(alpha):
    """The 95 % interval covers the index in 30 records of 400; resampling misses a little more, 10 % is allowed."""
    tails = [tail_index(drawn(Pareto(alpha, scale=1), 400, seed), np.random.default_rng(seed)) for seed in range(30)]
    assert sum(tail.low <= alpha <= tail.high for tail in tails) >= binom.ppf(FALSE_ALARM, 30, 0.9)


def test_what_the_index_says():
    rng = np.random.default_rng(1)
    heavy = tail_index(drawn(Pareto(1.4, rate=1), 20_000), rng)
    assert heavy.verdict.startswith("infinite variance")
    assert 1 < heavy.low < 1.4 < heavy.high < 2
    for law, n, words in (
        (Pareto(0.5, scale=1), 5000, "infinite mean"),
        (Exponential(rate=1), 5000, "finite variance"),
        (Pareto(2.2, rate=1), 1000, "an infinite variance cannot be excluded"),
        (Lognormal(2.0, rate=1), 5000, "infinite variance, unless the tail is lognormal, which fits as well"),
        (Lognormal(3.0, rate=1), 20_000, "a lognormal tail is likelier than a power"),
    ):
        assert tail_index(drawn(law, n), rng).verdict.startswith(words), law


def test_a_clock_has_no_tail():
    rng = np.random.default_rng(2)
    daily = 86_400 * rng.integers(1, 3, 2000, endpoint=False) + rng.integers(0, 60, 2000)
    assert tail_index(np.where(rng.random(2000) < 0.05, 10 * 86_400, daily), rng) is None
    assert tail_index(np.arange(1.0, 50), rng) is None


# What the Poisson formula costs where updates are recorded.


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

"""Change rates from what visits see, beside what is known of them by hand and by chance."""

from __future__ import annotations

import math

import numpy as np
import pytest
from recorded import history
from scipy.optimize import minimize_scalar
from scipy.stats import binom

import replnet as rn
from replnet.histories.change_rate import RATE_ESTIMATORS, Sightings, change_rate, sightings_of
from replnet.laws import Exponential
from replnet.testing import assert_mean
from replnet.text.errors import FieldError


def saw(lengths, changed, since=None) -> Sightings:
    lengths, changed = np.array(lengths, dtype=float), np.array(changed, dtype=bool)
    return Sightings(lengths, changed, lengths if since is None else np.array(since, dtype=float))


def test_what_visits_see():
    seen = sightings_of(np.array([0.0, 1.0, 1.5, 4.0, 9.0]), np.array([1.0, 2.0, 3.0, 4.0, 8.0]))
    np.testing.assert_array_equal(seen.lengths, [1, 1, 1, 4])
    # The change at 1 was there for the visit at 1, so the next one sees that of 1.5 alone.
    np.testing.assert_array_equal(seen.changed, [True, False, True, False])
    np.testing.assert_array_equal(seen.since, [0.5, 1, 0, 4])


def rates(sightings):
    return {name: estimator(sightings) for name, estimator in RATE_ESTIMATORS.items()}


def test_four_changes_in_four_months_of_daily_visits_are_one_a_month():
    """Sync 6.1: February 17th to June 24th, 127 days."""
    by_name = rates(saw(np.ones(127), np.arange(127) % 31 == 30))
    assert [round(1 / by_name[name]) for name in ("changes seen", "bias-reduced")] == [32, 31]


def test_estimators_by_hand():
    assert rates(saw([1, 1, 1, 1], [1, 0, 1, 0], [0.5, 1, 0.25, 1])) == pytest.approx({
        "changes seen": 0.5,
        "bias-reduced": math.log(4.5 / 2.5),
        "maximum likelihood": math.log(2),
        "last modified": 2 / 2.75,
        "last modified, bias-reduced": (1 + 0.5 / math.log(2)) / 2.75,
    })  # fmt: skip
    every = rates(saw([1, 1], [1, 1], [0.5, 0.5]))
    assert (every["maximum likelihood"], every["last modified, bias-reduced"]) == (math.inf, 1)
    assert set(rates(saw([1, 2], [0, 0])).values()) == {0}


def test_the_likeliest_rate_of_irregular_visits():
    lengths, changed = np.array([6.0, 4.0, 3.0, 20.0, 0.1, 11.0]), np.array([1, 1, 0, 1, 0, 0], bool)

    def less_likely(log_z):
        z = math.exp(log_z)
        return z * lengths[~changed].sum() - np.log(-np.expm1(-z * lengths[changed])).sum()

    best = minimize_scalar(less_likely, bounds=(-10, 5), method="bounded", options={"xatol": 1e-10})
    assert RATE_ESTIMATORS["maximum likelihood"](saw(lengths, changed)) == pytest.approx(math.exp(best.x), rel=1e-7)


@pytest.mark.parametrize("r", [0.1, 0.7, 2.0])
def test_intervals_of_changes_seen_cover_as_they_say(r):
    """Exactly, by the chances of every number of changes seen in 60 visits."""
    n, covered = 60, 0.0
    for x in range(n + 1):
        # Visits at 1, 2, ...: change k + 1/2 is seen by visit k + 1; those at both ends are not visited.
        times = np.concatenate([[0.0], np.arange(x) + 1.5, [n + 2.0]])
        found = {one.estimator: one for one in change_rate(times, np.arange(n + 1) + 1.0).estimates}
        assert found["changes seen"].rate == pytest.approx(x / n)
        covered += binom.pmf(x, n, -math.expm1(-r)) * (found["bias-reduced"].low <= r <= found["bias-reduced"].high)
        assert found["changes seen"].low <= x / n <= found["changes seen"].high
    assert 0.93 <= covered <= 0.975


@pytest.mark.parametrize("visits", ["constant(rate=1)", "constant(rate=3)"])
def test_biases_of_windows_are_those_of_the_formulas(visits):
    """Five rows of 95 % known to 0.06: all cover at 99.9 %, by 1.7 times their width, of fixed seeds."""
    result = change_rate(history(np.random.default_rng(5), Exponential(rate=1), 20_000), visits, window=10)
    for row in result.estimates:
        if row.estimator != "maximum likelihood":
            assert row.bias.half_width < 0.06
            assert abs(row.bias.value - row.predicted_bias) < 1.7 * row.bias.half_width, row


def test_what_irregular_visits_see_has_no_bias_by_formula():
    found = change_rate(history(np.random.default_rng(6), Exponential(rate=1), 5_000), Exponential(rate=2))
    assert [one.estimator for one in found.estimates] == ["changes seen", "maximum likelihood", "last modified"]
    assert all(math.isnan(one.predicted_bias) for one in found.estimates)
    assert "not equally far apart" in found.notes[0]
    # Of a change and a visit, as memoryless, the visit comes first with chance 2/3: a third of visits see a change.
    assert_mean(np.repeat([0.0, 1.0], [found.visits - found.changed, found.changed]), 1 / 3, resolution=0.09)
    for one in found.estimates[1:]:
        assert one.low <= found.rate <= one.high


def test_a_record_is_seen_by_visits_within_it():
    times = np.arange(100.0)
    found = rn.change_rate(times, np.arange(-10.25, 120.0, 0.5))
    assert found.rate == pytest.approx(1, rel=0.02)
    assert (found.visits, found.changed) == (197, 98)
    assert found.notes[0].startswith("63 visits before the first change or after the last")


@pytest.mark.parametrize(
    ("visits", "window", "said"),
    [
        ("constant(period=1000)", 20, "0 between the first change and the last|1 between"),
        ("constant(rate=1e9)", 20, "at most 10,000,000"),
        ("alternating(values=[1, 3])", 20, "not independent"),
        ("constant(rate=1)", 0, "window: 0"),
        (np.arange(100.0), 20, "instant of a change"),
    ],
)
def test_what_cannot_be_estimated_is_refused(visits, window, said):
    with pytest.raises(FieldError, match=said):
        change_rate(np.arange(100.0), visits, window)


def test_visits_of_a_record_of_dates_come_in_seconds_whatever_it_is_counted_in(tmp_path):
    path = tmp_path / "dates.csv"
    hours = np.random.default_rng(1).exponential(2.0, 300).cumsum()
    path.write_text("\n".join(f"{1.7e9 + 3600 * hour:.0f}" for hour in hours))
    seconds, in_hours = (change_rate(path, rn.trace(file=path, unit=unit)) for unit in ("s", "h"))
    assert in_hours.visits == seconds.visits > 100
    assert in_hours.distance == pytest.approx(seconds.distance, rel=1e-9)

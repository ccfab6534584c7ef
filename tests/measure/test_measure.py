"""Estimates from replications, and verdicts over many cells."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import replace

import numpy as np
import programs
import pytest

from replnet.ages.prediction import Prediction
from replnet.measure.estimate import FEWEST_REPLICATIONS, Estimate, estimate_difference, paired_difference, ratio
from replnet.measure.row import Row, judge_rows
from replnet.measure.verdict import FAMILY, Comparison, verdicts, visible_errors, worst_verdict
from replnet.testing import assert_mean


def estimate(value: float, error: float, doubt: str = "") -> Estimate:
    return Estimate(value, error, 32, doubt=doubt)


OF_MANY = """
import numpy as np
from replnet.ages.prediction import Prediction
from replnet.measure.estimate import ratio
print([ratio(np.random.default_rng(seed).random(40_000), np.ones(40_000)).error.hex() for seed in range(20)])
"""


def test_the_error_does_not_depend_on_the_number_of_threads():
    """To the last bit, of many replications; a machine with one CPU cannot tell."""
    printed = [
        programs.run([sys.executable, "-c", OF_MANY], check=True, env={**os.environ, "OPENBLAS_NUM_THREADS": threads})
        for threads in ("1", "2")
    ]
    assert printed[0].stdout == printed[1].stdout != ""


def test_the_interval_is_students():
    values = np.arange(32.0) / 32
    found = ratio(values, np.ones(32))
    assert found.value == pytest.approx(values.mean(), abs=1e-15)
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(32), rel=1e-12)
    assert found.half_width == pytest.approx(2.0395134 * found.error, rel=1e-6)  # t with 31 degrees of freedom
    assert (found.low + found.high) / 2 == pytest.approx(found.value)


def test_the_interval_reaches_further_to_the_side_of_the_tail_and_no_less_far_than_students():
    """Where the skewness is more than two of its standard errors sqrt(6 / 32); below that it is tilted as a whole."""
    values = np.array([0.0] * 28 + [1.0, 2.0, 3.0, 10.0])
    much, mirrored = ratio(values, np.ones(32)), ratio(-values, np.ones(32))
    assert much.skew > 3
    assert much.high - much.value > 2 * (much.value - much.low)
    assert (mirrored.low, mirrored.high) == pytest.approx((-much.high, -much.low))
    assert much.value - much.low == pytest.approx(2.0395134 * much.error, rel=1e-6)
    some = replace(much, skew=0.8)
    assert 2.0395134 * some.error > 1.05 * (some.value - some.low)
    assert some.high - some.value > 1.05 * 2.0395134 * some.error
    for one in (much, mirrored, some, replace(some, skew=-0.8)):
        # Both ends are where a prediction would begin to be doubted.
        assert [one.chance(one.value - end) for end in (one.low, one.high)] == pytest.approx([0.05, 0.05])


def test_a_ratio_weighs_replications_by_what_they_saw():
    amounts, wholes = np.array([1.0, 30.0] * 16), np.array([10.0, 40.0] * 16)
    assert ratio(amounts, wholes).value == 31 / 50
    proportional = ratio(0.3 * wholes, wholes)
    assert proportional.error == pytest.approx(0, abs=1e-15)


def test_no_interval_without_trust():
    few = ratio(np.ones(FEWEST_REPLICATIONS - 1), np.ones(FEWEST_REPLICATIONS - 1))
    assert math.isnan(few.error)
    assert "replications" in few.doubt
    assert math.isnan(ratio(np.ones(32), np.ones(32), doubt="infinite variance").error)
    nothing = ratio(np.zeros(32), np.zeros(32))
    assert math.isnan(nothing.value)
    assert nothing.doubt


def test_the_difference_of_ratios_on_the_same_paths_is_narrow():
    """Both scatter by 0.3 from path to path, and one from the other by 0.001."""
    rng = np.random.default_rng(1)
    wholes = rng.uniform(5, 15, 40)
    theirs = wholes * rng.uniform(0, 1, 40)
    ours = theirs + wholes * (0.01 + 0.001 * rng.standard_normal(40))
    gap = paired_difference((ours, wholes), (theirs, wholes))
    one, other = ratio(ours, wholes), ratio(theirs, wholes)
    assert estimate_difference(one, other, paired=True).error == pytest.approx(gap.error, rel=1e-9)
    assert estimate_difference(one, other, paired=False).error == pytest.approx(math.hypot(one.error, other.error))
    assert estimate_difference(one, one, paired=True).error == 0
    assert math.isclose(gap.value, one.value - other.value, rel_tol=1e-9)
    assert gap.low < 0.01 < gap.high
    assert gap.half_width < 0.001 < 0.05 < one.half_width
    # Of independent paths, the error is as if nothing were known of how they are alike.
    gap = paired_difference((ours, wholes), (np.roll(theirs, 1), np.roll(wholes, 1)))
    assert 0.7 < gap.error / math.hypot(one.error, other.error) < 1.4
    same = paired_difference((ours, wholes), (ours, wholes))
    assert (same.value, same.error, same.replications) == (0.0, 0.0, 40)
    assert math.isnan(paired_difference((ours[:9], wholes[:9]), (theirs[:9], wholes[:9])).error)


@pytest.mark.parametrize(
    ("verdict", "value", "error", "about"),
    [
        ("agree", 0.5, 0.001, {"predicted": 0.502}),
        ("differ", 0.5, 0.001, {"predicted": 0.51}),
        ("", 0.5, 0.001, {"predicted": None}),
        # A stated accuracy counts for the prediction.
        ("agree", 0.5, 0.001, {"predicted": 0.51, "accuracy": 0.009}),
        ("differ", 0.5, 0.001, {"predicted": 0.51, "accuracy": 0.002}),
        # An interval wider than the question leaves it open: 0.02, of values that are no shares times the value.
        ("unresolved", 0.5, 0.1, {"predicted": 0.55}),
        ("agree", 50, 0.1, {"predicted": 50.1, "scale": 50}),
        ("unresolved", 0.5, math.nan, {"predicted": 0.5}),
        # What never happened in 32 replications may yet be rare; 0.9931 ** 32 is 0.8.
        ("unresolved", 1.0, 0.0, {"predicted": 0.9931}),
        ("differ", 0.0, 0.0, {"predicted": 0.5}),
        ("agree", 1.0, 0.0, {"predicted": 1.0}),
        ("agree", 1.0, 0.0, {"predicted": 0.98, "accuracy": 0.03}),
        # Where nothing random is left a value must be right, also that of a rate of 1, which is no share.
        ("differ", 0.3, 0.0, {"predicted": 0.5}),
        ("agree", 0.0, 0.0, {"predicted": 0.0}),
        ("differ", 1.0, 0.0, {"predicted": 0.9931, "scale": 1.0}),
    ],
)
def test_one_cell(verdict, value, error, about):
    assert verdicts([Comparison(estimate(value, error), **about)]) == [verdict]


def test_a_value_measured_as_1_is_judged_as_a_share_if_it_is_one():
    predicted = Prediction(0.9931, "exact")
    rows = [Row("level 1", metric, predicted, estimate(1.0, 0.0)) for metric in ("freshness", "download_rate")]
    assert [row.verdict for row in judge_rows(rows[:1], 0.02)] == ["unresolved"]
    assert [row.verdict for row in judge_rows(rows[1:], 0.02)] == ["differ"]


def test_a_distance_in_standard_errors():
    far, always = Comparison(estimate(0.5, 0.001), 0.51), Comparison(estimate(1.0, 0.0), 0.9931)
    assert far.z == pytest.approx(-10)
    assert verdicts([Comparison(estimate(0.5, 0.1), 0.55)], resolution=0.3) == ["agree"]
    assert always.p_value == pytest.approx(0.9931**32)
    assert Comparison(estimate(0.5, 0.001), None).z is None


def test_holm_asks_more_of_each_when_there_are_many():
    # p of z = 3.2 with 31 degrees of freedom is 0.0032: below FAMILY alone, above a hundredth of it.
    odd = Comparison(estimate(0.5 + 3.2 * 0.001, 0.001), 0.5)
    assert 0.003 < odd.p_value < 0.0035 < FAMILY
    assert verdicts([odd]) == ["differ"]
    calm = [Comparison(estimate(0.5, 0.001), 0.5)] * 99
    assert verdicts([odd, *calm]) == ["agree"] * 100


def test_holm_goes_on_after_the_first():
    """The second-smallest p-value is compared with FAMILY / (m - 1), not with FAMILY / m."""
    cells = [Comparison(estimate(0.5 + z * 0.001, 0.001), 0.5) for z in (5.0, 2.8)]
    assert FAMILY / 2 < cells[1].p_value < FAMILY
    assert verdicts(cells) == ["differ", "differ"]


def test_chance_alone_rarely_makes_a_difference():
    """200 tables of 50 right cells: at most FAMILY of them may show one; 12 or more has chance below 1e-6."""
    z = np.random.default_rng(1).standard_t(31, size=(200, 50))
    tables = [[Comparison(estimate(0.5 + 0.001 * x, 0.001), 0.5) for x in row] for row in z]
    assert sum("differ" in verdicts(cells) for cells in tables) < 12


@pytest.mark.parametrize(
    ("words", "worst"),
    [(["agree", "differ"], "differ"), (["agree", "unresolved", ""], "unresolved"), (["agree"], "agree"), ([""], "")],
)
def test_the_worst_word_is_the_verdict(words, worst):
    assert worst_verdict(words) == worst


def test_what_is_visible_is_seen_in_nine_tables_of_ten():
    """Tables of three cells, one of them off by as much as is visible."""
    rng, seen = np.random.default_rng(6), []
    for means in rng.standard_normal((8000, 3)):
        spread = math.sqrt(rng.chisquare(31) / 31)
        cells = [Comparison(estimate(mean, spread), 0.0, off) for mean, off in zip(means, (0, 0, 0.5), strict=True)]
        off, *_ = visible_errors([Comparison(estimate(0, 1.0), 0.0), *cells[1:]])
        seen.append(verdicts([Comparison(estimate(means[0] + off, spread), 0.0), *cells[1:]])[0] == "differ")
    assert_mean(seen, 0.9, resolution=0.05)
    alone, within = (visible_errors([Comparison(estimate(0.5, 1.0), 0.5, accuracy)])[0] for accuracy in (0, 2))
    assert within == pytest.approx(2 + alone)
    nothing = [Comparison(estimate(0.5, 0.1), None), Comparison(estimate(0.5, math.nan, "heavy"), 0.5)]
    assert np.isnan(visible_errors(nothing)).all()


def pairs(rng, n, more):
    """Ratios of two runs whose replications have much in common, the second with more of them."""
    wholes = rng.uniform(0.5, 1.5, n + more)
    common = rng.normal(0, 0.1, n + more)
    ours, theirs = (wholes * (mean + common + rng.normal(0, 0.03, n + more)) for mean in (0.5, 0.6))
    return ratio(ours[:n], wholes[:n]), ratio(theirs, wholes)


@pytest.mark.parametrize("more", [0, 100])
def test_their_intervals_cover(more):
    """The share of 95 % intervals that hold what they are about; some replications have no partner."""
    rng = np.random.default_rng(2)
    found = [estimate_difference(*pairs(rng, 40, more), paired=True) for _ in range(4000)]
    assert_mean([one.low < -0.1 < one.high for one in found], 0.95, resolution=0.06)

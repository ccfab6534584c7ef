"""Schedules really executed: their shape exactly, what they measure by hand, and against Sync's formulas."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from replnet.engines.sync.schedules import ORDERS, Schedule, intervals, picks, rounds, schedule
from replnet.engines.sync.upkeep import execute
from replnet.laws import Constant, Exponential, FieldError, Gamma, Pareto
from replnet.measure.estimate import ratio
from replnet.theory.information_age import direct
from replnet.theory.sync_allocation import Allocation, Elements, optimal, proportional, uniform
from replnet.theory.sync_order import FIXED, RANDOM, PurelyRandom, RandomOrder

FALSE_ALARM = 1e-6  # chance that one comparison fails correct code, by Student's law
REPLICATIONS = 40


def assert_agrees(samples, expected: float, *, resolution: float) -> None:
    """Fail if the mean over replications is not `expected`, or if an error of `resolution` could pass.

    Samples are means over hundreds of elements, so Student's law is theirs to all that matters here.
    """
    from scipy.special import stdtrit

    samples = np.asarray(samples, dtype=float)
    estimate = ratio(samples, np.ones(samples.size))
    allowed = estimate.error * stdtrit(samples.size - 1, 1 - FALSE_ALARM / 2)
    assert allowed <= resolution / 2, f"{samples.size} replications resolve {2 * allowed:.2g}, not {resolution}"
    assert abs(estimate.value - expected) <= allowed


# ---- schedules


def test_rounds_in_fixed_order():
    made = rounds(4, 2.0, 11.0, seed=1)
    np.testing.assert_array_equal(made.elements[:9], [0, 1, 2, 3, 0, 1, 2, 3, 0])
    np.testing.assert_allclose(np.diff(made.times), 0.5, rtol=1e-12)
    assert -4 <= made.times[0] <= -2
    assert 10.5 <= made.times[-1] < 11


def test_rounds_in_random_order():
    made = rounds(5, 1.0, 200.0, seed=1, shuffled=True)
    np.testing.assert_allclose(np.diff(made.times), 0.2, rtol=1e-9)
    whole = made.elements[: made.elements.size // 5 * 5].reshape(-1, 5)
    np.testing.assert_array_equal(np.sort(whole, axis=1), np.tile(np.arange(5), (len(whole), 1)))
    assert len({tuple(row) for row in whole.tolist()}) > 60  # of 120, in 200 rounds


def test_permutations_are_even():
    """24 orders of 4 elements in 24,000 rounds: chi-square, 23 degrees; beyond 74 with chance 3e-7."""
    made = rounds(4, 1.0, 24_000.0, seed=5, shuffled=True)
    whole = made.elements[:96_000].reshape(-1, 4) @ [64, 16, 4, 1]
    counts = np.unique(whole, return_counts=True)[1]
    assert counts.size == 24
    assert ((counts - 1000.0) ** 2 / 1000).sum() < 74


def test_picks_follow_the_frequencies():
    """Counts of 30,000 picks: beyond 5 standard deviations with chance 6e-7 each; sees errors of 5 % of the rarest."""
    made = picks(np.array([1.0, 0.0, 3.0, 6.0]), 3000.0, seed=2)
    np.testing.assert_allclose(np.diff(made.times), 0.1, rtol=1e-8)
    counts = np.bincount(made.elements[made.times >= 0], minlength=4)
    assert counts.sum() == pytest.approx(30_000, abs=1)
    chance = np.array([0.1, 0.0, 0.3, 0.6])
    assert (np.abs(counts - 30_000 * chance) <= 5 * np.sqrt(30_000 * chance * (1 - chance))).all()
    assert set(made.elements[made.times < 0]) == {0, 2, 3}


@pytest.mark.parametrize("scattered", [False, True])
def test_intervals(scattered):
    often = np.array([0.5, 0.0, 4.0])
    made = intervals(often, 40.0, seed=3, scattered=scattered)
    assert not (made.elements == 1).any()
    for i in (0, 2):
        gaps = np.diff(made.times[made.elements == i]) * often[i]
        if not scattered:
            np.testing.assert_allclose(gaps, 1, rtol=1e-9)
        else:
            assert 0 <= gaps.min() < gaps.max() <= 2
        assert made.times[made.elements == i][0] <= 0
        assert abs(np.sum(made.times[made.elements == i] >= 0) - 40 * often[i]) <= 1


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("frequencies", [np.ones(7), np.array([0.3, 1.0, 0.0, 2.0])], ids=["alike", "own"])
def test_everything_is_synchronised_before_time_zero(order, frequencies):
    for replication in range(20):
        made = schedule(order, frequencies, 3.0, 11, replication)
        assert set(made.elements[made.times <= 0]) == set(np.flatnonzero(frequencies))
        assert made.times[-1] < 3


def test_seeds_and_replications():
    one, same = (schedule("random", np.ones(9), 5.0, 4, 2) for _ in range(2))
    np.testing.assert_array_equal(one.times, same.times)
    np.testing.assert_array_equal(one.elements, same.elements)
    for other in (schedule("random", np.ones(9), 5.0, 4, 3), schedule("random", np.ones(9), 5.0, 5, 2)):
        assert one.times[0] != other.times[0]


def test_a_longer_horizon_goes_on():
    for order in ORDERS:
        short, long = (schedule(order, np.ones(6), horizon, 8) for horizon in (4.0, 9.0))
        np.testing.assert_array_equal(short.times, long.times[: short.times.size])
        np.testing.assert_array_equal(short.elements, long.elements[: short.times.size])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: schedule("sorted", np.ones(2), 1.0, 0), "order: 'sorted'"),
        (lambda: schedule("fixed", np.zeros(2), 1.0, 0), "frequencies: nothing"),
        (lambda: schedule("fixed", np.array([1.0, -1.0]), 1.0, 0), "frequencies: a number below 0"),
        (lambda: schedule("purely random", np.ones(2), 0.0, 0), "horizon: 0.0"),
        (lambda: schedule("random", np.ones(1000), 1e9, 0), "frequencies: .* synchronisations"),
        (lambda: Schedule(np.array([1.0, 0.0]), np.array([0, 0]), 1, 2.0), "times: not in order"),
        (lambda: Schedule(np.array([0.0]), np.array([1]), 1, 2.0), "elements: an element that is not there"),
        (lambda: execute(Schedule(np.array([0.5]), np.array([0]), 1, 2.0), np.ones(1), 0), "before time zero"),
        (lambda: execute(rounds(2, 1.0, 2.0, 0), np.ones(1), 0), "rates: 1 for 2"),
        (lambda: execute(rounds(2, 1.0, 2.0, 0), -np.ones(2), 0), "rates: a rate that is negative"),
    ],
)
def test_errors_name_the_field(make, says):
    with pytest.raises(FieldError, match=says):
        make()


# ---- measurement


def by_hand(syncs, changes, horizon: float) -> tuple[float, float]:
    """Freshness and mean age of one element from instants, midpoint by midpoint between all of them."""
    edges = np.unique(np.clip([0.0, horizon, *syncs, *changes], 0.0, horizon))
    fresh = aged = 0.0
    for low, high in pairwise(edges):
        middle = (low + high) / 2
        last = max(s for s in syncs if s <= middle)
        missed = [u for u in changes if last < u <= middle]
        if missed:
            aged += (middle - min(missed)) * (high - low)
        else:
            fresh += high - low
    return fresh / horizon, aged / horizon


def test_measured_as_by_hand():
    """The kernel beside its plain twin."""
    from replnet.engines.sync.kernels import watch

    rng = np.random.default_rng(7)
    for _ in range(50):
        horizon = 5.0
        syncs = [np.append(-rng.exponential(), np.sort(rng.uniform(0, horizon, rng.integers(0, 8)))) for _ in range(3)]
        waits = [rng.exponential(0.7, 40) for _ in range(3)]
        first = rng.exponential(0.7, 3)
        fresh, age, count, short = np.empty(3), np.empty(3), np.empty(3, np.int64), np.empty(3, np.bool_)
        ends, wait_ends = np.cumsum([s.size for s in syncs]), np.array([40, 80, 120])
        watch(horizon, np.concatenate(syncs), ends, first, np.concatenate(waits), wait_ends, fresh, age, count, short)
        for i in range(3):
            changes = syncs[i][0] + first[i] + np.append(0, np.cumsum(waits[i]))
            assert (fresh[i], age[i]) == pytest.approx(by_hand(syncs[i], changes, horizon), rel=1e-12)
            assert count[i] == ((changes >= 0) & (changes < horizon)).sum()
            assert not short[i]


def test_a_shortage_of_intervals_is_noticed():
    from replnet.engines.sync.kernels import watch

    out = np.empty(1), np.empty(1), np.empty(1, np.int64), np.empty(1, np.bool_)
    watch(5.0, np.array([-1.0, 2.0]), np.array([2]), np.array([1.5]), np.array([1.0, 1.0]), np.array([2]), *out)
    assert out[3][0]
    watch(5.0, np.array([-1.0, 2.0]), np.array([2]), np.array([1.5]), np.array([1.0, 9.0]), np.array([2]), *out)
    assert not out[3][0]


def test_what_never_changes_and_what_is_never_synchronised():
    made = intervals(np.array([1.0, 0.0, 0.0, 1.0]), 50.0, seed=1)
    kept = execute(made, np.array([0.0, 0.0, 1.0, 1.0]), seed=1)
    np.testing.assert_array_equal(kept.fresh[:3], [1, 1, 0])
    np.testing.assert_array_equal(kept.age[:3], [0, 0, math.inf])
    assert 0 < kept.fresh[3] < 1
    np.testing.assert_array_equal(kept.changes[:3], 0)
    assert kept.synchronisations == (made.times >= 0).sum()


def test_blocks_do_not_matter(monkeypatch):
    """Heavy tails too, whose intervals come out short and are drawn again."""
    made = picks(np.linspace(0.1, 3, 30), 200.0, seed=6)
    rates = np.linspace(0, 5, 30)
    for law in (Exponential(rate=1.0), Pareto(1.2, rate=3.0)):
        whole = execute(made, rates, 6, changes=law)
        monkeypatch.setattr("replnet.engines.sync.upkeep.BLOCK", 500)
        parts = execute(made, rates, 6, changes=law)
        monkeypatch.undo()
        np.testing.assert_array_equal(whole.fresh, parts.fresh)
        np.testing.assert_array_equal(whole.age, parts.age)
        np.testing.assert_array_equal(whole.changes, parts.changes)


# ---- measured against predicted

COUNT = 400


def measured(order, frequencies, rates, horizon, seed, changes=None) -> tuple[np.ndarray, np.ndarray]:
    """Mean freshness and age over elements, per replication."""
    law = {} if changes is None else {"changes": changes}
    paths = [
        execute(schedule(order, frequencies, horizon, seed, k), rates, seed, k, **law) for k in range(REPLICATIONS)
    ]
    return np.array([p.fresh.mean() for p in paths]), np.array([p.age.mean() for p in paths])


@pytest.mark.parametrize("r", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("order", ORDERS)
def test_table_2(order, r):
    """All elements alike, with the formulas for so many elements (sync-r1, sync-r1-vs-random, sync-r1-age at r = 1)."""
    expected = {"fixed": FIXED, "random": RandomOrder(COUNT), "purely random": PurelyRandom(1 / COUNT)}[order]
    fresh, age = measured(order, np.ones(COUNT), np.full(COUNT, r), 100.0, seed=int(10 * r))
    assert_agrees(fresh, float(expected.freshness_at(r)), resolution=0.007)
    assert_agrees(age, float(expected.age_at(r)), resolution=0.02)


@pytest.mark.parametrize("order", ["fixed", "random"])
@pytest.mark.parametrize("policy", [uniform, proportional, optimal])
def test_allocations(order, policy):
    """Gamma rates under the three policies, in both orders that have a limit without a step."""
    elements = Elements.following(Gamma(shape=2.0, mean=1.0), COUNT)
    plan = policy(elements, 1.0, FIXED if order == "fixed" else RANDOM)
    fresh, age = measured(order, plan.frequencies, elements.rates, 100.0, seed=21)
    assert_agrees(fresh, plan.freshness.value, resolution=0.007)
    if math.isinf(plan.age.value):
        assert np.isinf(age).all()
    else:
        assert_agrees(age, plan.age.value, resolution=0.05)


def test_own_chances_when_purely_random():
    """Every element has a share of its own, and so a formula of its own."""
    rates, often = np.linspace(0.2, 3, COUNT), np.linspace(0.4, 2, COUNT)
    each = [PurelyRandom(float(f / often.sum())) for f in often]
    fresh, age = measured("purely random", often, rates, 100.0, seed=22)
    wanted = np.mean([o.freshness(a, f) for o, a, f in zip(each, rates, often, strict=True)])
    assert_agrees(fresh, float(wanted), resolution=0.007)
    wanted = np.mean([o.age(a, f) for o, a, f in zip(each, rates, often, strict=True)])
    assert_agrees(age, float(wanted), resolution=0.02)


def youngest(elements: Elements, frequency: float) -> Allocation:
    return optimal(elements, frequency, goal="age")


def test_table_6():
    """Sync Fig. 12 with heights that fit the text: pages by the hundred, 30-day months, days as units."""
    often = 1 / np.array([1.0, 7.0, 30.0, 120.0, 365.0])
    elements = Elements.listed(np.repeat(often, [92, 60, 64, 64, 120]))
    for policy in (uniform, proportional, optimal, youngest):
        plan = policy(elements, 1 / 30)
        fresh, age = measured("fixed", plan.frequencies, elements.rates, 3000.0, seed=23)
        assert_agrees(fresh, plan.freshness.value, resolution=0.01)
        if policy is not optimal:  # which gives up what changes daily
            assert_agrees(age / plan.age.value, 1.0, resolution=0.1)


@pytest.mark.parametrize(
    "changes", [Constant(rate=1.0), Gamma(shape=0.5, rate=1.0), Gamma(shape=4.0, rate=1.0)], ids=str
)
def test_changes_that_are_not_poisson(changes):
    """Freshness under any law of changes is that of a single hop with constant downloads; the rate scales the law.

    Where both are constant an element keeps its phases, over which the elements average.
    """
    fresh, _ = measured("fixed", np.full(COUNT, 2.0), np.full(COUNT, 1.5), 60.0, 24, changes)
    law = type(changes)(rate=1.5) if isinstance(changes, Constant) else Gamma(shape=changes.shape, rate=1.5)
    assert_agrees(fresh, direct(Constant(rate=2.0)).freshness(law).value, resolution=0.01)

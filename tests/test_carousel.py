"""The deterministic schedule against its definition, and crawls that are emulated against predictions."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from replnet.engines.crawl.carousel import Carousel
from replnet.engines.crawl.kernels import fresh_time
from replnet.engines.crawl.pages import Draws, Renewing, Round, crawl
from replnet.engines.crawl.refreshes import CHUNK, chunks, renewals
from replnet.laws import FieldError, constant, exponential, pareto, uniform
from replnet.laws.streams import PURPOSES, seed_words
from replnet.theory.crawl_policies import order_freshness
from replnet.theory.crawling import (
    Pages,
    fixed_freshness,
    optimal_random,
    optimal_slotted,
    random_freshness,
    slotted_freshness,
)
from replnet.theory.information_age import direct

FALSE_ALARM = 1e-6


def earliest_deadline_first(weights: list[int], slots: int) -> list[int]:
    """The plain twin: slot by slot, in whole numbers."""
    total, turns, order = sum(weights), [0] * len(weights), []
    for slot in range(1, slots + 1):
        begun = [k for k, w in enumerate(weights) if w and turns[k] * total < slot * w]
        last = {k: -((turns[k] + 1) * total // -weights[k]) for k in begun}
        chosen = min(begun, key=lambda k: (last[k], k))
        turns[chosen] += 1
        order.append(chosen)
    return order


def farthest(order: list[int], rates: list[Fraction]) -> Fraction:
    """The largest distance of any page's turns from its target, at any prefix; exact."""
    total, turns, largest = sum(rates), [0] * len(rates), Fraction(0)
    for slot, page in enumerate(order, 1):
        turns[page] += 1
        largest = max(largest, *(abs(count - slot * rate / total) for count, rate in zip(turns, rates, strict=True)))
    return largest


whole = st.lists(st.integers(0, 50), min_size=1, max_size=12).filter(any)
real = st.lists(st.one_of(st.just(0.0), st.floats(1e-9, 1e9)), min_size=1, max_size=12).filter(any)


@given(rates=whole, slots=st.integers(1, 200))
@settings(deadline=None)
def test_every_prefix_is_within_one_of_the_target(rates, slots):
    assert farthest(Carousel(rates).take(slots).tolist(), [Fraction(rate) for rate in rates]) < 1


@given(rates=real, slots=st.integers(1, 200))
@settings(deadline=None)
def test_every_prefix_is_within_one_of_the_target_for_any_rates(rates, slots):
    """Shares are rounded to 2^-61."""
    order = Carousel(rates).take(slots).tolist()
    assert farthest(order, [Fraction(rate) for rate in rates]) < 1 + Fraction(slots, 2**60)


@given(rates=whole, slots=st.integers(1, 200))
@settings(deadline=None)
def test_the_order_is_that_of_earliest_deadlines(rates, slots):
    assert Carousel(rates).take(slots).tolist() == earliest_deadline_first(rates, slots)


@given(rates=real, cuts=st.lists(st.integers(1, 60), min_size=1, max_size=6))
@settings(deadline=None)
def test_how_it_is_taken_makes_no_difference(rates, cuts):
    whole, parts = Carousel(rates), Carousel(rates)
    assert whole.take(sum(cuts)).tolist() == [page for cut in cuts for page in parts.take(cut).tolist()]


def test_long_schedules_do_not_drift():
    """Ten million slots, looked at in stretches: 1/3 and 1/7 are no floats."""
    rates = np.array([1 / 3, 1 / 7, 1 - 1 / 3 - 1 / 7, 1e-7])
    carousel, turns = Carousel(rates), np.zeros(4)
    for _ in range(100):
        turns += np.bincount(carousel.take(100_000), minlength=4)
        assert np.abs(turns - carousel.now * rates / rates.sum()).max() < 1


def test_many_pages_in_blocks():
    """A hundred thousand pages of which a third never come; a sort key of three digits."""
    rates = np.maximum(np.random.default_rng(1).random(100_000) - 1 / 3, 0)
    carousel, turns = Carousel(rates), np.zeros(rates.size)
    for block in islice(carousel.blocks(), 5):
        turns += np.bincount(block, minlength=rates.size)
        assert np.abs(turns - carousel.now * rates / rates.sum()).max() < 1
    assert not turns[rates == 0].any()


def test_a_rare_page_does_come():
    """Its first deadline is beyond all others by a factor of 10^8."""
    order = Carousel([1e-8, 1.0]).take(1000)
    assert order.sum() == 1000
    assert Carousel([0.0, 3.0, 0.0]).take(3).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Carousel([1, -1]), "rates[1]: -1 is not a rate"),
        (lambda: Carousel([np.nan]), "rates[0]: nan is not a rate"),
        (lambda: Carousel([0, 0]), "rates: they add up to 0"),
        (lambda: Carousel([1e308, 1e308]), "rates: they add up to inf"),
        (lambda: Carousel([]), "rates: not a plain list of numbers"),
        (lambda: Carousel([1]).take(0), "slots: 0 is out of range"),
        (lambda: run(Draws(np.array([0.5, 0.4]), 1.0)), "refreshes.shares: they add up to 0.9"),
        (lambda: run(Round(np.array([0, 2]), 1.0)), "refreshes.order: not a list of pages"),
        (lambda: run(Round(np.array([0, 1]), 0.0)), "refreshes.slot: 0.0 is not above 0"),
        (lambda: run(Renewing(constant(rate=1), np.array([1.0]))), "refreshes.rates: 1 numbers for 2 pages"),
        (lambda: crawl(exponential(rate=1), [1], [-1], EVERY, horizon=1, seed=1, replications=1), "utilities: not a"),
        (
            lambda: crawl(exponential(rate=1), [1], [0], EVERY, horizon=1, seed=1, replications=1),
            "utilities: all are 0",
        ),
        (lambda: crawl(exponential(rate=1), [1], [1], EVERY, horizon=0, seed=1, replications=1), "horizon: 0 is not"),
        (lambda: crawl(exponential(rate=1), [1], [1], EVERY, horizon=1, seed=1, replications=0), "replications: 0 is"),
    ],
)
def test_errors_name_the_field(make, words):
    with pytest.raises(FieldError) as caught:
        make()
    assert str(caught.value).startswith(words)


EVERY = Renewing(constant(rate=1), np.array([1.0]))


def run(refreshes):
    return crawl(exponential(rate=1), [1, 1], [1, 1], refreshes, horizon=1.0, seed=1, replications=1)


# ---- emulated crawls


def plain_fresh_time(horizon, changes, change_age, refreshes, refresh_age):
    """The twin of the kernel, interval by interval: fresh from a refresh to the next change."""
    past = [(-change_age, 0), (-refresh_age, 1)]
    events = [(t, 0) for t in changes if t < horizon] + [(t, 1) for t in refreshes]
    time, fresh, total = 0.0, sorted(past)[-1][1], 0.0
    for t, kind in [*sorted(events), (horizon, 0)]:
        total += (t - time) * fresh
        time, fresh = t, kind
    return total


def test_the_kernel_does_as_its_plain_twin():
    rng = np.random.default_rng(5)
    for _ in range(100):
        n, horizon = int(rng.integers(1, 5)), 10.0
        # On a lattice, so that changes and refreshes meet.
        changes = np.cumsum(rng.integers(1, 5, (n, 40)), axis=1) / 4
        changes[:, -1] = 99
        refreshes = [np.unique(rng.integers(1, 40, rng.integers(0, 9))) / 4 for _ in range(n)]
        ages = rng.integers(0, 4, (2, n)).astype(float)
        begin, out = np.concatenate([[0], np.cumsum([r.size for r in refreshes])]), np.empty(n)
        fresh_time(horizon, changes, ages[0], begin, np.concatenate(refreshes), ages[1], out)
        expected = [plain_fresh_time(horizon, changes[k], ages[0, k], refreshes[k], ages[1, k]) for k in range(n)]
        assert out.tolist() == pytest.approx(expected, abs=1e-12)


def pages(size: int = 300) -> Pages:
    rng = np.random.default_rng(size)
    u, d = rng.random(size), rng.random(size)
    u[0], d[1], d[2] = 0, 0, 20
    return Pages(u, d)


def assert_crawled(refreshes, expected, *, resolution, changes=None, of=None, horizon=20.0):
    """Weighted freshness over 300 replications of `horizon`, each a mean over hundreds of independent pages.

    So Student's law holds for their mean, and right code fails with chance 1e-6; what is wrong by
    `resolution` is seen with chance above 0.999.
    """
    of = of or pages()
    law = changes or exponential(rate=3)
    found = crawl(law, of.changes, of.utilities, refreshes, horizon=horizon, seed=7, replications=300).fresh
    error = found.std(ddof=1) / np.sqrt(found.size)
    allowed = error * stdtrit(found.size - 1, 1 - FALSE_ALARM / 2)
    assert allowed + 3.2 * error <= resolution, f"{found.size} replications resolve {allowed + 3.2 * error:.2g}"
    assert abs(found.mean() - expected) <= allowed


BUDGET = 30.0


def test_random_refreshes_are_as_fresh_as_equation_5_says():
    rates = optimal_random(pages(), BUDGET).rates
    assert_crawled(Renewing(exponential(rate=1), rates), random_freshness(pages(), rates), resolution=0.006)


def test_fixed_intervals_are_as_fresh_as_equation_6_says():
    rates = optimal_random(pages(), BUDGET).rates
    assert_crawled(Renewing(constant(rate=1), rates), fixed_freshness(pages(), rates), resolution=0.006)


@pytest.mark.parametrize("horizon", [0.5, 20.0])
def test_the_carousel_is_as_fresh_as_its_intervals_say(horizon):
    """From time zero on, however short the horizon is beside the round."""
    order = Carousel(optimal_random(pages(), BUDGET).rates).take(3000)
    expected = order_freshness(pages(), order, 1 / BUDGET)
    assert_crawled(Round(order, 1 / BUDGET), expected, horizon=horizon, resolution=0.012)


def test_an_uneven_order_is_as_fresh_as_its_intervals_say():
    """Two slots of every page in a row, then none for long."""
    order = np.repeat(np.arange(300), 2)
    expected = order_freshness(pages(), order, 0.01)
    assert expected < fixed_freshness(pages(), np.full(300, 100 / 300)) - 0.05
    assert_crawled(Round(order, 0.01), expected, resolution=0.006)


def test_draws_in_slots_are_as_fresh_as_equation_3_says_over_a_slot():
    """Few pages and many changes in a slot, where continuous time is another thing."""
    few = Pages([1.0, 2.0, 3.0], [2.0, 1.0, 0.5])
    shares = optimal_slotted(few).rates
    found = slotted_freshness(few, shares)
    assert abs(found - random_freshness(few, shares)) > 0.05
    assert_crawled(Draws(shares, 1.0), found, of=few, horizon=500.0, resolution=0.01)


def test_changes_of_another_law():
    """Alike pages, so that the age of one download says it: Pareto changes, uniform intervals of refreshes."""
    changes, downloads = pareto(alpha=3, rate=1), uniform(low=0, high=1)
    alike = Pages(np.ones(300), np.ones(300))
    expected = direct(downloads).freshness(changes).value
    assert_crawled(Renewing(downloads, np.full(300, 2.0)), expected, of=alike, changes=changes, resolution=0.006)


def test_pages_without_changes_or_refreshes():
    """What never changes is fresh, refreshed or not; what changes and is never refreshed is not."""
    rates, law = np.array([0.0, 1.0, 0.0]), exponential(rate=1)
    found = crawl(law, [0, 0, 1], [1, 1, 1], Renewing(law, rates), horizon=5.0, seed=1, replications=3)
    assert found.fresh == pytest.approx(2 / 3, abs=1e-15)
    assert random_freshness(Pages([1, 1, 1], [0, 0, 1]), rates) == pytest.approx(2 / 3, abs=1e-15)


def test_a_page_does_not_depend_on_the_others():
    """Its stream is named by its number: more pages behind it change nothing."""
    law, run = exponential(rate=1), seed_words(3, 0)
    some, more = np.arange(3), np.arange(5)
    first = renewals(law, np.full(3, 2.0), run, some, PURPOSES["updates"], 9.0)
    second = renewals(law, np.full(5, 2.0), run, more, PURPOSES["updates"], 9.0)
    assert first.age.tolist() == second.age[:3].tolist()
    assert all(row.min() > 9 for row in (first.rows[:, -1], second.rows[:, -1]))
    known = min(first.rows.shape[1], second.rows.shape[1])
    assert first.rows[:, :known].tolist() == second.rows[:3, :known].tolist()


def test_chunks_are_all_pages_once_and_little_waste():
    rates = np.random.default_rng(1).pareto(0.5, 30_000)
    horizon, seen = 100.0, []
    for chunk in chunks(rates, horizon):
        seen += chunk.tolist()
        assert chunk.size == 1 or horizon * rates[chunk].max() * chunk.size <= 2 * CHUNK
    assert sorted(seen) == list(range(rates.size))

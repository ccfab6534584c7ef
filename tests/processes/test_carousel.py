"""The deterministic schedule against its definition."""

from __future__ import annotations

from fractions import Fraction
from itertools import takewhile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replnet.processes.carousel import Carousel
from replnet.text.errors import FieldError


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


@given(rates=real, slots=st.integers(1, 200))
def test_every_prefix_is_within_one_of_the_target(rates, slots):
    """Shares are rounded to 2^-61."""
    order = Carousel(rates).take(slots).tolist()
    assert farthest(order, [Fraction(rate) for rate in rates]) < 1 + Fraction(slots, 2**60)


@given(rates=whole, slots=st.integers(1, 200))
def test_the_order_is_that_of_earliest_deadlines(rates, slots):
    assert Carousel(rates).take(slots).tolist() == earliest_deadline_first(rates, slots)


@given(rates=real, cuts=st.lists(st.integers(1, 60), min_size=1, max_size=6))
def test_how_it_is_taken_makes_no_difference(rates, cuts):
    whole, parts = Carousel(rates), Carousel(rates)
    assert whole.take(sum(cuts)).tolist() == [page for cut in cuts for page in parts.take(cut).tolist()]


THIRDS = np.array([1 / 3, 1 / 7, 1 - 1 / 3 - 1 / 7, 1e-7])
MANY = np.maximum(np.random.default_rng(1).random(100_000) - 1 / 3, 0)


@pytest.mark.parametrize(("rates", "slots"), [(THIRDS, 10_000_000), (MANY, 300_000)])
def test_long_schedules_do_not_drift(rates, slots):
    """1/3 and 1/7 are no floats; of very many pages a third never come, and take a sort key of three digits."""
    carousel, turns = Carousel(rates), np.zeros(rates.size)
    for block in takewhile(lambda _: carousel.now < slots, carousel.blocks()):
        turns += np.bincount(block, minlength=rates.size)
        assert np.abs(turns - carousel.now * rates / rates.sum()).max() < 1
    assert not turns[rates == 0].any()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Carousel([1, -1]), "rates[2]: -1 is not a rate"),
        (lambda: Carousel([np.nan]), "rates[1]: nan is not a rate"),
        (lambda: Carousel([0, 0]), "rates: they add up to 0"),
        (lambda: Carousel([1e308, 1e308]), "rates: they add up to inf"),
        (lambda: Carousel([]), "rates: not a plain list of numbers"),
        (lambda: Carousel([1]).take(0), "slots: 0 is out of range"),
    ],
)
def test_errors_name_the_field(make, words):
    with pytest.raises(FieldError) as caught:
        make()
    assert str(caught.value).startswith(words)

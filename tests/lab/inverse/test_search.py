"""The least amount that meets a demand, and the cheapest of several, against what is known in closed form."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.ages.roots import UnreachableError
from replnet.lab.inverse.search import cheapest_amounts, find_peak, least_amount

COSTS = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=4)


@given(st.floats(1e-4, 1e4), st.floats(1e-2, 1e2))
def test_the_least_amount_meets_the_margin_and_hardly_more(edge, start):
    found = least_amount(lambda x: math.log(x / edge), start)
    assert edge <= found <= edge * (1 + 1e-4)


def test_the_least_amount_of_steps_and_where_there_is_none():
    assert least_amount(lambda x: 1.0 if x >= 7 else -1.0) == pytest.approx(7, rel=1e-4)
    assert least_amount(lambda x: x - 7 if x > 5 else -math.inf) == pytest.approx(7, rel=1e-4)
    with pytest.raises(UnreachableError):
        least_amount(lambda x: -1 / x)
    assert least_amount(lambda x: x) == 0


@pytest.mark.parametrize("start", [-2.0, 0.0, 0.3, 1.0, 9.0])
@pytest.mark.parametrize(
    "value", [lambda x: -((x - 0.7) ** 2), lambda x: -abs(x - 0.7), lambda x: -math.cosh(5 * (x - 0.7))]
)
def test_a_climb_ends_at_the_peak(value, start):
    assert find_peak(value, start, -2.0, 9.0) == pytest.approx(0.7, abs=0.05)


def test_it_goes_to_the_edge_where_that_is_highest_and_up_a_step_and_stays_on_level_ground():
    assert [find_peak(lambda x: x, start, -2.0, 9.0) for start in (-2.0, 0.5, 9.0)] == [9] * 3
    assert find_peak(lambda x: 1.0, 0.5, -2.0, 9.0) == 0.5
    assert 0.5 < find_peak(lambda x: float(x > 0.52), 0.5, -2.0, 9.0) < 9


def losses(amounts):
    """A loss of 1 / x for each amount; what is allowed is 1 in all."""
    return 1 - sum(1 / x if x else math.inf for x in amounts)


def cost(costs, amounts):
    return sum(w * x for w, x in zip(costs, amounts, strict=True))


def water_filled(costs, limits):
    """The least cost with losses of 1: x_i = min(c_i, s / sqrt(w_i)), by bisection of s."""
    low, high = 0.0, 1e9
    for _ in range(200):
        s = (low + high) / 2
        filled = [min(c, s / math.sqrt(w)) for w, c in zip(costs, limits, strict=True)]
        low, high = (low, s) if losses(filled) >= 0 else (s, high)
    return cost(costs, [min(c, high / math.sqrt(w)) for w, c in zip(costs, limits, strict=True)])


@settings(max_examples=60)
@given(COSTS, st.booleans(), st.data())
def test_the_cheapest_amounts(costs, coarse, data):
    """Without limits (sum of the roots)^2, and with them by the same rule for those that are not at theirs."""
    limits = data.draw(st.lists(st.floats(1.5, 60) | st.just(math.inf), min_size=len(costs), max_size=len(costs)))
    ray = data.draw(st.lists(st.floats(1e-1, 1e1), min_size=len(costs), max_size=len(costs)))
    if losses(limits) < 1e-6:
        return
    found = cheapest_amounts(losses, costs, limits, tuple(ray), coarse)
    assert losses(found) >= 0
    assert all(x <= c for x, c in zip(found, limits, strict=True))
    assert cost(costs, found) <= water_filled(costs, limits) * 1.003


def test_what_begins_at_its_limit_and_needs_less_gets_less():
    """At its limit the first would do alone."""
    found = cheapest_amounts(losses, (1.0, 4.0), (50.0, math.inf), (math.inf, 1.0), False)
    assert found == (pytest.approx(3, rel=0.02), pytest.approx(1.5, rel=0.02))


def test_a_coarse_look_finds_the_higher_of_two_peaks():
    """Either amount alone will do, the second at a tenth of the cost; in between there is little of both."""

    def margin(amounts):
        return max(amounts[0], 10 * amounts[1]) + 0.001 * min(amounts) - 1

    near = cheapest_amounts(margin, (1.0, 1.0), (math.inf, math.inf), (1.0, 0.001), False)
    far = cheapest_amounts(margin, (1.0, 1.0), (math.inf, math.inf), (1.0, 0.001), True)
    assert sum(near) == pytest.approx(1, rel=0.01)
    assert sum(far) == pytest.approx(0.1, rel=0.01)


def test_amounts_that_are_not_needed_are_none():
    assert cheapest_amounts(lambda amounts: 1.0, (1.0, 2.0), (9.0, 9.0), (1.0, 1.0), False) == (0, 0)
    with pytest.raises(UnreachableError):
        cheapest_amounts(losses, (1.0, 2.0), (1.0, 1.0), (1.0, 1.0), False)

"""Roots of increasing functions, brackets of them, and the rates that meet a target."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replnet.ages.roots import bisect_edge, bracket, crossing, rate_for


@given(st.floats(-50, 50), st.floats(-50, 50))
def test_a_bracket_has_the_root_inside(root, start):
    low, high = bracket(lambda x: x - root, start)
    assert low[0] < root <= high[0]
    assert (low[1], high[1]) == (low[0] - root, high[0] - root)


def test_a_bracket_ends_where_it_is_told():
    low, high = bracket(lambda x: -1.0, 0.0, 1.0, 4.0, 20.0)
    assert (low, high) == ((19, -1), (23, -1))  # steps of 1, 2, 4, 4, ...


@pytest.mark.parametrize(
    "f",
    [lambda x: x**3 - 2, math.expm1, lambda x: math.atan(x - 1), lambda x: -1.0 if x < 0.7 else 1.0, lambda x: x**21],
)
def test_a_bracket_is_closed_around_the_root(f):
    low, high = crossing(f, (-3.0, f(-3.0)), (4.0, f(4.0)))
    assert low[1] < 0 <= high[1]
    assert high[0] - low[0] <= 1e-11 or high[1] == 0


def test_infinite_values_are_bisected():
    _, high = crossing(lambda x: -math.inf if x < 2 else x, (0.0, -math.inf), (5.0, 5.0))
    assert high[0] == pytest.approx(2, rel=1e-11)


@given(st.floats(1e-3, 1e3), st.floats(1e-2, 1e2))
def test_the_rate_that_meets_a_target(rate, start):
    assert rate_for(0.5, lambda x: x / (x + rate), start=start) == pytest.approx(rate, rel=1e-10)
    assert rate_for(0.5, lambda x: 0.6 + x / (x + rate) / 3, start=start) == 0


@pytest.mark.parametrize("close", [0.0, 1e-3])
@given(st.floats(1e-3, 1e3), st.floats(1.01, 1e3))
def test_an_edge_is_between_neighbours_or_close(close, edge, factor):
    low = bisect_edge(edge / factor, edge * factor, lambda x: x <= edge, close)
    high = bisect_edge(edge * factor, edge / factor, lambda x: x >= edge, close)
    assert edge / (1 + close) * (1 - 1e-15) <= low <= edge <= high <= edge * (1 + close) * (1 + 1e-15)
    assert bisect_edge(1, int(edge) + 5, lambda n: n <= edge + 1) == int(edge + 1)

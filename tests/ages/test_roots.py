"""The edge between numbers that are fine and those that are not."""

from __future__ import annotations

import pytest

from replnet.ages.roots import narrowed


@pytest.mark.parametrize("edge", [1, 2, 17, 99])
def test_whole_numbers_are_closed_in_on_exactly_and_from_either_side(edge):
    assert narrowed(100, 0, lambda n: n >= edge) == edge
    assert narrowed(0, 100, lambda n: n < edge) == edge - 1


@pytest.mark.parametrize("edge", [0.002, 1.0, 700.0])
def test_other_numbers_are_fine_and_within_a_factor_of_the_edge(edge):
    found = narrowed(1e3, 1e-3, lambda x: x >= edge, 1e-6)
    assert edge <= found <= edge * (1 + 1e-6)
    tried = []
    assert narrowed(1.0, 0.9, lambda x: tried.append(x) or True, 1.0) == 1.0
    assert tried == []

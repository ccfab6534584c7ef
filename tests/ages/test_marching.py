"""Panels that grow: where they end."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.ages.marching import march


@pytest.mark.parametrize(
    ("stops", "even", "expected"),
    [
        ([3.0, np.inf], False, [0, 1, 2.7, 3, 7.913, 16.2651]),
        ([3.0, 12.0], True, [0, 1, 2, 3, 7.5, 12]),
    ],
)
def test_panels_grow_and_end_at_stops(stops, even, expected):
    edges = march(lambda *_: True, stops, 1.0, lambda x: x > 10, even=even)
    assert edges == pytest.approx(expected)


def test_a_panel_that_is_not_solved_is_halved():
    tried = []

    def solve(edges, end):
        tried.append((edges[-1], end))
        return end - edges[-1] <= 0.3

    assert march(solve, [1.0], 1.0, lambda x: False)[:3] == pytest.approx([0, 0.25, 0.4625])
    assert np.array(tried[:5]) == pytest.approx(np.array([(0, 1), (0, 0.5), (0, 0.25), (0.25, 0.675), (0.25, 0.4625)]))

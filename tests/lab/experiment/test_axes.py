"""Axes: ranges, lists and labels."""

from __future__ import annotations

import math

import pytest
from error_tables import read_table

from replnet.lab.experiment.axes import axis
from replnet.text.errors import FieldsError
from replnet.text.ranges import points_of

RANGES = read_table(__file__, "ranges.yaml")


@pytest.mark.parametrize(("text", "expected"), RANGES["values"].items())
def test_ranges(text, expected):
    assert [(type(x), x) for x in points_of(text)] == [(type(x), x) for x in expected]


@pytest.mark.parametrize(("text", "wrong"), RANGES["errors"].items())
def test_ranges_that_are_none(text, wrong):
    with pytest.raises(FieldsError) as caught:
        points_of(text)
    assert [said for _, said, _ in caught.value.faults] == [f"'{text}' {wrong}"]


def test_axes():
    found = axis("k", ["5:7", 1, "recent", 2.5])
    assert found.values == found.meanings == (5, 6, 7, 1, "recent", 2.5)
    assert found.places == ((0,), (0,), (0,), (1,), (2,), (3,))
    assert found.index(2.5 + 1e-12) == 5
    assert found.index("2.5") is None
    long = axis("k", "10:500:30log").values
    assert (len(long), long[0], long[-1], {type(x) for x in long}) == (30, 10, 500, {int})
    assert axis("k", "pareto(alpha=3, rate=2)").values == ("pareto(alpha=3, rate=2)",)
    named = axis("polls", {"P": "pareto(alpha=3, rate=${nu})", "C": 3})
    assert (named.values, named.meanings) == (("P", "C"), ("pareto(alpha=3, rate=${nu})", 3))
    for wrong in ([], {}, [1, 1], [1, "1:3"], [None], None, [math.nan], [math.inf], [[1]], {"a": [1]}, [""], 10**301):
        with pytest.raises(FieldsError):
            axis("k", wrong)

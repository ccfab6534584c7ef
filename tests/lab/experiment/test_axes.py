"""Axes: ranges, lists and labels."""

from __future__ import annotations

import math

import pytest

from replnet.lab.experiment.axes import axis
from replnet.text.errors import FieldsError
from replnet.text.ranges import points_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:9", [1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("1:8:8", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("0:10:3", [0, 5, 10]),
        ("1:8:3", [1.0, 4.5, 8.0]),
        ("0:1:11", [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
        ("-1:1:3", [-1, 0, 1]),
        ("0.5:2.5:3", [0.5, 1.5, 2.5]),
        ("1:1000:4log", [1, 10, 100, 1000]),
        ("1:4:10log", [1, 2, 3, 4]),
        ("0.1:10:3log", [0.1, 1.0, 10.0]),
        ("1:1e4:3 log", [1, 100, 10000]),
        ("0.5:1:3log", [0.5, 0.707107, 1.0]),
        (" 1 : 3 ", [1, 2, 3]),
    ],
)
def test_ranges(text, expected):
    found = points_of(text)
    assert [(type(x), x) for x in found] == [(type(x), x) for x in expected]


def test_a_long_logarithmic_range():
    found = points_of("10:500:30log")
    assert len(found) == 30
    assert (found[0], found[-1]) == (10, 500)
    assert found == sorted(set(found))
    assert {type(x) for x in found} == {int}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("9:1", "'9:1' does not rise"),
        ("1:9:1", "'1:9:1' has 1 points"),
        ("1:2.5", "'1:2.5' has ends that are not whole"),
        ("0:5:3log", "'0:5:3log' starts at 0"),
        ("1:9:x", "'1:9:x' is not a range"),
        ("1:9:log", "'1:9:log' is not a range"),
        ("1:10000000", "'1:10000000' has 10,000,000 points"),
        ("1:9:9:9", "'1:9:9:9' is not a range"),
    ],
)
def test_ranges_that_are_none(text, wrong):
    with pytest.raises(FieldsError) as caught:
        points_of(text)
    assert [said for _, said, _ in caught.value.faults] == [wrong]


def test_axes():
    found = axis("k", ["5:7", 1, "recent", 2.5])
    assert found.values == found.meanings == (5, 6, 7, 1, "recent", 2.5)
    assert found.places == ((0,), (0,), (0,), (1,), (2,), (3,))
    assert found.index(2.5 + 1e-12) == 5
    assert found.index("2.5") is None
    assert axis("k", "pareto(alpha=3, rate=2)").values == ("pareto(alpha=3, rate=2)",)
    named = axis("polls", {"P": "pareto(alpha=3, rate=${nu})", "C": 3})
    assert (named.values, named.meanings) == (("P", "C"), ("pareto(alpha=3, rate=${nu})", 3))
    for wrong in ([], {}, [1, 1], [1, "1:3"], [None], None, [math.nan], [math.inf], [[1]], {"a": [1]}, [""], 10**301):
        with pytest.raises(FieldsError):
            axis("k", wrong)

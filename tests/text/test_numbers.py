"""Numbers as text, with as many digits as are known, and tables as CSV that a spreadsheet takes as data."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from error_tables import read_table

from replnet.text import numbers

NAN = math.nan


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (0.49874, 0.49645, 0.50103, "0.4987"),
        (1865.4, 1842.0, 1889.0, "1865"),
        (0.5, 0.5, 0.5, "0.50000"),
        (12345.678, NAN, NAN, "12346"),
        (-0.00001, -0.001, 0.001, "0.0000"),
        (-0.25, -0.3, -0.2, "−0.250"),
        (0.0, NAN, NAN, "0"),
        (1.5e-12, NAN, NAN, "1.500e−12"),
        (3e12, NAN, NAN, "3.000e+12"),
    ],
)
def test_values_with_intervals(value, low, high, shown):
    assert numbers.decimal_text(value, numbers.places(value, low, high)) == shown


TEXTS = read_table(__file__, "numbers.yaml")  # by function: arguments, and what is shown of them


@pytest.mark.parametrize("function", TEXTS)
def test_values_as_text(function):
    for value, shown in TEXTS[function]:
        result = getattr(numbers, function)(value)
        assert (result, type(result)) == (shown, type(shown)), value
    assert [numbers.text(value) for value in (pd.NA, pd.NaT)] == ["", ""]
    assert not numbers.is_number(pd.NA)


def test_rounding():
    assert [numbers.round_to(1234.5, 2, up) for up in (None, True, False)] == [1200, 1300, 1200]
    assert [numbers.round_to(0.0996, 2, up) for up in (None, True, False)] == [0.1, 0.1, 0.099]
    assert [numbers.round_to(0.25, 2, up) for up in (None, True, False)] == [0.25] * 3


def test_counts_and_durations():
    assert numbers.decimal_text(NAN, 3) == ""
    assert [numbers.count_text(count, "cell") for count in (1, 1200)] == ["1 cell", "1,200 cells"]
    lengths = {
        90: "1.5 min",
        60: "1 min",
        86_400: "1 day",
        86_400 * 3: "3 days",
        31_557_600: "1 year",
        0.25: "0.25 s",
        1: "1 s",
    }
    assert {length: numbers.duration(length, dated=True) for length in lengths} == lengths
    assert numbers.duration(1234.5678, dated=False) == "1234.6"


def test_a_table_as_csv():
    table = pd.DataFrame({"=k": [1, 2], "note": ["-x", None], "z": [-0.5, NAN]})
    assert numbers.csv_text(table) == "'=k,note,z\n1,'-x,-0.5\n2,,\n"

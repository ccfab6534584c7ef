"""Numbers as text, with as many digits as are known, and tables as CSV that a spreadsheet takes as data."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from replnet.text.numbers import (
    as_cell,
    axis_text,
    brief,
    count_text,
    csv_text,
    decimal_text,
    duration,
    finite_or_nan,
    places,
    span,
    standard_errors_text,
    text,
    value_text,
)  # fmt: skip


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (0.49874, 0.49645, 0.50103, "0.4987"),
        (1865.4, 1842.0, 1889.0, "1865"),
        (123456.7, 100000.0, 150000.0, "123457"),
        (0.5, math.nan, math.nan, "0.50000"),
        (0.5, 0.5, 0.5, "0.50000"),
        (12345.678, math.nan, math.nan, "12346"),
        (-0.00001, -0.001, 0.001, "0.0000"),
        (-0.25, -0.3, -0.2, "−0.250"),
        (0.0, math.nan, math.nan, "0"),
        (1.5e-12, math.nan, math.nan, "1.500e−12"),
        (3e12, math.nan, math.nan, "3.000e+12"),
    ],
)
def test_rounding(value, low, high, shown):
    assert decimal_text(value, places(value, low, high)) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1, "1"), (1.0, "1"), (0.1, "0.1"), (-2.5, "−2.5"), (1e6, "1000000"), (1 / 3, "0.333333"), (True, "True"),
        (None, ""), (math.nan, ""), (pd.NA, ""), (pd.NaT, ""), ("a\x00b", "a\ufffdb"), (math.inf, "inf"),
        (1e-7, "1e−07"),
    ],
)  # fmt: skip
def test_values_as_text(value, shown):
    assert text(value) == shown


@pytest.mark.parametrize("value", [None, "1", True, math.inf, -math.inf, pd.NA, math.nan])
def test_what_is_no_number_is_nan(value):
    assert math.isnan(finite_or_nan(value))


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (value_text(None), ""), (value_text(0.1), "0.10000"), (value_text(-9.5), "-9.50000"),
        (value_text(0.00012345), "0.000123"), (value_text(-3e-7), "-3e-07"), (value_text(1e-15), "0.00000"),
        (value_text(1234.56789), "1,234.57"),
        (brief(None), ""), (brief(1 / 3), "0.33333"),
        (standard_errors_text(None), ""), (standard_errors_text(1.234), "+1.23"),
        (span(89.4), "89 s"), (span(90), "2 min"), (span(5399), "90 min"), (span(5400), "1.5 h"),
        (axis_text(None), ""), (axis_text(1 / 3), "0.333333"), (axis_text(1_000_000), "1000000"), (axis_text("a"), "a"),
        (count_text(1, "cell"), "1 cell"), (count_text(1200, "cell"), "1,200 cells"),
    ],
)  # fmt: skip
def test_what_a_terminal_shows(shown, words):
    assert shown == words


def test_durations_read_well():
    assert duration(90, True) == "1.5 min"
    assert duration(86_400 * 3, True) == "3 days"
    assert duration(0.25, True) == "0.25 s"
    assert duration(1234.5678, False) == "1234.6"


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+1", "'=1+1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("+1+cmd", "'+1+cmd"),
        ("-a", "'-a"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\\r=1"),
        ("\n=1", "'\n=1"),
        ("-1.5e3", "-1.5e3"),
        ("+2", "+2"),
        ("level 1", "level 1"),
        ("'=1", "'=1"),
        (-1.5, -1.5),
        (None, None),
        (True, True),
    ],
)
def test_no_cell_is_a_formula_and_numbers_stay_numbers(value, cell):
    assert as_cell(value) == cell


def test_a_table_as_csv():
    table = pd.DataFrame({"=k": [1, 2], "note": ["-x", None], "z": [-0.5, float("nan")]})
    assert csv_text(table) == "'=k,note,z\n1,'-x,-0.5\n2,,\n"

"""Tables as CSV that a spreadsheet takes as data."""

from __future__ import annotations

import pandas as pd
import pytest

from replnet.text.csv_table import as_cell, csv_text


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

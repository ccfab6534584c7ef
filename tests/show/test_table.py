"""Tables: every kind of cell as a terminal, a page in Markdown and the browser show it."""

from __future__ import annotations

import math

import pytest

from replnet.show import Table, badness, result_table

ROW = {
    "group": "cluster", "metric": "freshness", "measured": 0.5, "ci_low": 0.45, "ci_high": 0.55, "predicted": 1234.5678,
    "z": -0.126, "verdict": "agree", "kind": "limit", "source": "P2P eq. 8", "accuracy": 0.0123, "k": 0.1, "note": "",
    "printed": 0.7, "printed_verdict": "contradicts", "expected": math.nan, "expected_verdict": "",
}  # fmt: skip


def test_every_kind_of_cell_is_written():
    table = result_table([ROW, {"group": "a|b\x1b", "predicted": None, "accuracy": 1.0}], ["k"], {"cell": [1, "2"]})
    assert table.without_empty_columns.lines == [
        ["cell", "k", "group", "metric", "measured", "95 % interval", "predicted", "z", "verdict", "kind", "source",
         "printed", "against print", "prediction"],
        ["1", "0.1", "cluster", "freshness", "0.50000", "0.45000 .. 0.55000", "1,234.57 ± 0.012", "-0.13", "agree",
         "limit", "P2P eq. 8", "0.7", "contradicts", "limit, P2P eq. 8"],
        ["2", "", "a|b\\x1b", *[""] * 11],
    ]  # fmt: skip
    assert table.select(("z", "group")).text() == "z      group\n-----  -------\n-0.13  cluster\n       a|b\\x1b"
    assert table.select(("z", "group")).markdown.splitlines()[1:] == [
        "| ----- | -------- |", "| -0.13 | cluster  |", r"|       | a\|b\x1b |"
    ]  # fmt: skip
    assert table.select(("k", "95 % interval", "predicted", "verdict", "against print", "z")).records == [
        {"k": 0.1, "95 % interval": "0.45000 .. 0.55000", "predicted": 1234.6, "verdict": "✓ agree",
         "against print": "≠ contradicts", "z": -0.126},
        dict.fromkeys(("k", "95 % interval", "predicted", "verdict", "against print", "z")),
    ]  # fmt: skip
    assert table.select(("k", "95 % interval", "predicted", "prediction")).csv.splitlines() == [
        "k,95 % interval low,95 % interval high,predicted,predicted accuracy,prediction kind,prediction source",
        "0.1,0.45,0.55,1234.5678,0.0123,limit,P2P eq. 8",
        ",,,,,,",
    ]
    assert Table(["a", "b"], []).without_empty_columns.columns == ()
    assert Table(["a", "b"], [["", 0]]).without_empty_columns.columns == ("b",)


@pytest.mark.parametrize(
    ("value", "accuracy", "shown"),
    [(0.5, 4e-6, "0.50000"), (0.5, 6e-6, "0.50000 ± 6e-06"), (2e6, 4e-1, "2e+06"), (2e6, 2.0, "2e+06 ± 2")],
)
def test_an_accuracy_below_the_last_digit_shown_is_left_out(value, accuracy, shown):
    table = result_table([{"predicted": value, "accuracy": accuracy}])
    assert table.select(["predicted"]).lines[1] == [shown]


def test_bad_rows_come_first():
    rows = [{"verdict": "agree", "z": 1}, {"z": -2}, {"verdict": "unresolved"}, {"verdict": "failed", "z": math.nan},
            {"verdict": "differ", "z": 4.0}]  # fmt: skip
    assert [rows.index(row) for row in sorted(rows, key=badness)] == [3, 4, 2, 1, 0]

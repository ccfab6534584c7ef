"""Tables of a section: digits, columns, remarks, and the worst rows first."""

from __future__ import annotations

import math

from report_sections import cells, row, section

from replnet.show.report.page import in_notebook


def test_numbers_have_the_digits_their_interval_supports():
    rows = [
        row(k=1, measured=0.123456, ci_low=0.12, ci_high=0.126, predicted=0.1298765, z=-0.125),
        row(k=2, measured=1865.4321, ci_low=1800.0, ci_high=1930.0, predicted=1870.49, z=2.0, metric="rate"),
    ]
    assert cells(in_notebook(section(rows))) == [
        ["k", "metric", "measured", "95 % interval", "predicted", "z", "verdict"],
        ["1", "freshness", "0.1235", "0.1200 – 0.1260", "0.1299", "−0.12", "✓ agree"],
        ["2", "rate", "1865^~~~~", "1800 – 1930^~~~~", "1870^~~~~", "2.00", "✓ agree"],
    ]


def test_what_is_empty_is_left_out_and_what_is_the_same_said_once():
    markup = in_notebook(section([row(k=1, note="", printed=math.nan, accuracy=5e-9), row(k=2, z=math.nan)]))
    assert cells(markup)[0] == ["k", "measured", "95 % interval", "predicted", "z", "verdict"]
    assert "group: cluster · metric: freshness · prediction: exact, P2P eq. 8" in markup
    assert cells(markup)[2][4] == ""
    lines = cells(in_notebook(section([row(k=1, accuracy=5e-9), row(k=2, accuracy=0.0021)])))
    assert [line[4] for line in lines] == ["accuracy", "", "0.0021"]


def test_long_words_stand_below_the_table_once():
    why = "no formula: for recent selection: the list of the source makes peers depend on their downloads"
    rows = [row(k=1), *(row(k=k, kind="limit", source="renewal equation of a large cluster", note=why) for k in (2, 3))]
    markup = in_notebook(section(rows))
    assert [line[-2:] for line in cells(markup)] == [
        ["prediction", "note"],
        ["exact, P2P eq. 8", ""],
        ["limit [1]", "[2]"],
        ["limit [1]", "[2]"],
    ]
    assert f"<ol><li>limit, renewal equation of a large cluster</li><li>{why}</li></ol>" in markup


def test_long_tables_show_the_worst_rows_before_the_fold():
    rows = [row(k=k, z=0.01 * k) for k in range(100)]
    rows[3] |= {"verdict": "differ", "z": 5.0}
    rows[7] |= {"verdict": "unresolved", "z": math.nan}
    rows[8] |= {"z": -4.0}
    before, after = in_notebook(section(rows)).split("<details>")
    assert [line[0] for line in cells(before)] == ["k", "3", "7", "8", "99", "98", "97", "96", "95"]
    assert [line[0] for line in cells(after)] == ["k", *map(str, range(100))]
    assert "The 8 rows furthest from their prediction, of 100." in before
    assert "<summary>All 100 rows</summary>" in after


def test_very_long_tables_are_cut():
    markup = in_notebook(section([row(k=k) for k in range(1200)]))
    assert "The first 1,000 of 1,200 rows" in markup
    assert len(cells(markup)) == 2 + 8 + 1000


def test_a_table_of_predictions_has_no_worst_rows():
    rows = [{"k": k, "group": "a", "metric": "freshness", "predicted": k / 7} for k in range(30)]
    assert cells(in_notebook(section(rows)))[:2] == [["k", "predicted"], ["0", "0^~~~~~"]]
    assert "furthest" not in in_notebook(section(rows))

"""Numbers, cells and tables as they are printed."""

from __future__ import annotations

import json

from replnet.cli.output import EMULATED, SWEPT, cells, print_table, write

ROW = {
    "group": "cluster", "metric": "freshness", "measured": 0.5, "ci_low": 0.45, "ci_high": 0.55, "predicted": 1234.5678,
    "z": -0.126, "verdict": "agree", "kind": "limit", "source": "P2P eq. 8", "accuracy": 0.0123,
}  # fmt: skip


def test_cells_of_a_row_with_and_without_what_a_paper_prints():
    shown = cells(ROW)
    assert [shown[head] for head in EMULATED] == [
        "cluster", "freshness", "0.50000", "0.45000 .. 0.55000", "1,234.57 ± 0.012", "-0.13", "agree",
        "limit, P2P eq. 8",
    ]  # fmt: skip
    assert [shown[head] for head in SWEPT[-4:]] == ["", "", "", ""]
    stated = {"printed": 0.7, "printed_verdict": "contradicts", "expected": None, "expected_verdict": ""}
    bare = {**dict.fromkeys(("measured", "ci_low", "ci_high", "predicted", "z", "accuracy")), "kind": "", **stated}
    shown = cells(ROW | bare)
    assert [shown[head] for head in SWEPT] == [
        "cluster", "freshness", "", "", "", "", "agree", "0.7", "contradicts", "", "",
    ]  # fmt: skip
    assert shown["prediction"] == ""


def test_one_object_rows_or_a_table(capsys):
    for form, out in (
        ("json", '{\n "b": [\n  1\n ]\n}\n'),
        ("csv", "b,a\n1,'=x\n"),
        ("table", "here\n"),
        ("markdown", "here\n"),
    ):
        write(form, lambda: {"b": [1]}, ["b", "a"], [{"a": "=x", "b": 1}], lambda: print("here"))
        assert capsys.readouterr().out == out
    write("json", lambda: {"b": 1}, [], [], lambda: None, indent=2)
    assert json.loads(capsys.readouterr().out) == {"b": 1}


def test_verdicts_are_coloured_where_they_are_values(capsys, monkeypatch):
    """Colours themselves are left out where nobody looks; what is asked for is seen at `style`."""
    painted = []
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("click.style", lambda cell, fg: painted.append((cell, fg)) or cell)
    print_table(["agree", "verdict"], [["x", "differ"], ["y", "unresolved"]])
    assert painted == [("differ", "red"), ("unresolved", "yellow")]
    print_table(["verdict"], [["differ"]], "markdown")
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(["verdict"], [["differ"]])
    assert len(painted) == 2
    assert print_table([], []) is None
    assert capsys.readouterr().out.endswith("differ\n\n\n")

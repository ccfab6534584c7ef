"""Numbers, cells and tables as they are printed."""

from __future__ import annotations

import json

import pytest
from command_line import replnet

from replnet.cli import output
from replnet.cli.output import EMULATED, SWEPT, cells, echo_note, print_table, write

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
    assert capsys.readouterr().out.endswith("differ\n")


def test_an_accuracy_below_the_last_digit_shown_is_left_out():
    for value, accuracy, shown in (
        (0.5, 4e-6, "0.50000"), (0.5, 6e-6, "0.50000 ± 6e-06"), (2e6, 4e-1, "2e+06"), (2e6, 2.0, "2e+06 ± 2")
    ):  # fmt: skip
        assert cells(ROW | {"predicted": value, "accuracy": accuracy})["predicted"] == shown


@pytest.fixture
def wide(monkeypatch):
    """A terminal of so many letters."""

    def make(letters: int | None) -> None:
        monkeypatch.setattr(output, "terminal_width", lambda err=False: letters)

    return make


def test_a_table_that_fits_is_as_wide_as_what_is_in_it(wide, capsys):
    wide(9)
    print_table(["a", "words"], [["1", "of it"]])
    assert capsys.readouterr().out == "a  words\n-  -----\n1  of it\n"


def test_words_are_wrapped_and_numbers_never(wide, capsys):
    wide(30)
    print_table(["value", "95 % interval", "where from"], [["1,234.57 ± 0.012", "0.1 .. 0.2", "P2P eq. 8; Sync 2"]])
    assert capsys.readouterr().out.splitlines() == [
        "value             95 %        where",
        "                  interval    from",
        "----------------  ----------  -----",
        "1,234.57 ± 0.012  0.1 .. 0.2  P2P",
        "                              eq.",
        "                              8;",
        "                              Sync",
        "                              2",
    ]


@pytest.mark.parametrize("letters", [80, 100, 120])
def test_a_run_fits_the_terminal(wide, letters):
    wide(letters)
    shown = replnet("run", "cascade", "--horizon", "2000", "--measure", "lag").stdout
    assert max(map(len, shown.splitlines())) <= letters
    assert ("exact, P2P eq. 28: freshness of level 2, level 3, level 4" in shown) == (letters < 120)
    wide(None)
    whole = replnet("run", "cascade", "--horizon", "2000", "--measure", "lag").stdout
    numbers = [[word for word in text.partition("array")[0].split() if "0." in word] for text in (shown, whole)]
    assert numbers[0] == numbers[1] != []


def test_notes_are_wrapped_below_their_begin(wide, capsys):
    wide(30)
    echo_note("cluster: no formula: answers that wait in line", "  ")
    assert capsys.readouterr().out == "  cluster: no formula: answers\n    that wait in line\n"

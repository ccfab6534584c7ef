"""Data and tables as they are printed, on terminals of every width and elsewhere."""

from __future__ import annotations

import sys

import pytest
from command_line import replnet

from replnet.cli import output
from replnet.cli.output import echo_note, print_table, write, write_forecast
from replnet.lab.sweeps import Forecast
from replnet.show import Table


@pytest.mark.parametrize(
    ("form", "out"), [("json", '{\n "b": [\n  1\n ]\n}\n'), ("csv", "b,a\n1,'=x\n"), ("table", "here\n")]
)
def test_results_are_one_object_rows_or_a_table(form, out, capsys):
    write(form, lambda: {"b": [1]}, ["b", "a"], [{"a": "=x", "b": 1}], lambda: print("here"))
    assert capsys.readouterr().out == out


@pytest.fixture
def wide(monkeypatch):
    """A terminal of so many letters, None for none."""

    def make(letters: int | None) -> None:
        monkeypatch.setattr(output, "terminal_width", lambda err=False: letters)

    return make


@pytest.mark.parametrize(("environment", "painted"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_verdicts_have_colours_where_they_are_values(wide, capsys, monkeypatch, environment, painted):
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    wide(40)
    print_table(Table(["names", "verdict"], [["[b]x", "differ"], ["y", "unresolved"]]))
    red, yellow = ("\x1b[31mdiffer\x1b[0m", "\x1b[33munresolved\x1b[0m") if painted else ("differ", "unresolved")
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert (lines[0], *lines[2:]) == ("names  verdict", f"[b]x   {red}", f"y      {yellow}")


def test_words_are_wrapped_and_numbers_and_long_words_never(wide, capsys):
    wide(30)
    heads = ["value", "95 % interval", "where from"]
    print_table(
        Table(heads, [["1,234.57 ± 0.012", "0.1 .. 0.2", "P2P eq. 8; Sync 2"]], ["the rest is a note of words"])
    )
    assert capsys.readouterr().out.splitlines() == [
        "value             95 %        where",
        "                  interval    from",
        "----------------  ----------  -----",
        "1,234.57 ± 0.012  0.1 .. 0.2  P2P",
        "                              eq.",
        "                              8;",
        "                              Sync",
        "                              2",
        "  the rest is a note of words",
    ]
    wide(None)
    print_table(Table(heads[:1], [["a" * 200]], ["note"]))
    assert capsys.readouterr().out == f"value\n{'-' * 200}\n{'a' * 200}\n  note\n"


@pytest.mark.parametrize("letters", [80, 120])
def test_a_run_fits_the_terminal(wide, letters):
    run = ("run", "cascade", "--horizon", "2000", "--measure", "lag")
    wide(letters)
    shown = replnet(*run).stdout
    assert max(map(len, shown.splitlines())) <= letters
    assert ("exact, P2P eq. 28: freshness of level 2, level 3, level 4" in shown) == (letters < 120)
    wide(None)
    whole = replnet(*run).stdout
    numbers = [[word for word in text.partition("array")[0].split() if "0." in word] for text in (shown, whole)]
    assert numbers[0] == numbers[1] != []
    assert "\x1b" not in whole


def test_a_note_that_rows_share_is_printed_once():
    assert replnet("predict", "load", "--measure", "lag").stdout.count("no formula: answers that wait in line") == 1


def test_notes_are_wrapped_below_their_begin(wide, capsys):
    wide(30)
    echo_note("cluster: no formula: answers that wait in line", "  ")
    assert capsys.readouterr().out == "  cluster: no formula: answers\n    that wait in line\n"


@pytest.mark.parametrize(
    ("workers", "words"),
    [
        (None, ""),
        (1, ""),
        (2, ", about 30 s on 2 workers"),
        (6, ", about 30 s on 2 workers (6 workers wanted, and 2 CPUs here)"),
    ],
)
def test_a_forecast_counts_no_more_workers_than_there_are_cpus(workers, words, monkeypatch, capsys):
    monkeypatch.setattr("replnet.workers.cores", lambda: 2)
    write_forecast(Forecast(4, 0, 1e6, 60.0, 10**8, 4), "a glance", workers)
    assert f"\ntime: about 60 s on one CPU{words}\n" in capsys.readouterr().out

"""What is shown while something takes long: lines now and then, and pictures on a terminal."""

from __future__ import annotations

import io
import sys
import threading
from collections import deque
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from replnet.cli import main, progress
from replnet.lab import experiment
from replnet.lab.experiment import subjects
from replnet.lab.experiment.cells import Cell
from replnet.lab.sweeps.finished import Sweep
from replnet.lab.sweeps.sweep import SweepGlimpse
from replnet.live import Glimpse, Outage
from replnet.live.clocks import Standstill
from replnet.run.settings import Settings

forecasts, networks = import_module("replnet.lab.sweeps.forecast"), import_module("replnet.network")
LOST = Outage(1, ("a", "b"), "died", 2.0)
SETTINGS = Settings(None, "sampled", 1, None, None, None, 0.02)
CELL = Cell("key", {"k": 2, "select": "recent"}, {}, SETTINGS)
ROW = {
    "group": "cluster", "metric": "freshness", "measured": 0.5032, "error": 0.001, "replications": 32, "doubt": "",
    "predicted": 0.5, "accuracy": None, "kind": "exact", "source": "", "note": "",
}  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def on_a_terminal(monkeypatch) -> Terminal:
    """What stands in the place of stderr from now on; pytest puts its own there before it calls a test."""
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


@pytest.fixture
def elsewhere(monkeypatch):
    """Lines come only when something makes them come at once."""
    monkeypatch.setattr(progress, "SECONDS_BEFORE_FIRST_LINE", 3600.0)


def picture(drawn) -> str:
    from rich.console import Console

    console = Console(width=160, record=True, file=io.StringIO())
    console.print(drawn)
    return console.export_text()


@pytest.mark.parametrize(
    ("arguments", "module", "name"),
    [
        (["predict", "cascade"], networks, "load"),
        (["run", "cascade"], networks, "load"),
        (["network", "cascade"], networks, "load"),
        (["sweep", "p2p/fig3"], experiment, "load_experiment"),
        (["sweep", "p2p/fig3", "--workers", "0"], subjects, "emulate_whole"),
        (["sweep", "p2p/fig3", "--dry-run"], forecasts, "_look"),
        (["report", "nowhere"], Sweep, "read"),
    ],
)
def test_a_long_silence_is_broken(monkeypatch, arguments, module, name):
    """What never ends unless something was said about it does end."""
    spoken = threading.Event()

    def endless(*_, **__):
        assert spoken.wait(60), "not a word"
        raise ValueError("enough")

    monkeypatch.setattr(progress, "SECONDS_BEFORE_FIRST_LINE", 0.01)
    monkeypatch.setattr(progress, "echo", lambda *_, **__: spoken.set())
    monkeypatch.setattr(module, name, endless)
    monkeypatch.setattr(sys, "argv", ["replnet", *arguments])
    with pytest.raises(SystemExit):
        main()
    assert spoken.is_set()


def test_lines_come_now_and_then_with_what_was_reported_last(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE_FIRST_LINE", 0.01)
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.01)
    said, third = [], threading.Event()

    def echo(words, err):
        assert err
        said.append(words)
        if len(said) == 2:
            tell(0.5, "half of it")
        if said[-1].endswith("half of it"):
            third.set()

    monkeypatch.setattr(progress, "echo", echo)
    with progress.progress() as tell:
        assert third.wait(60)
    assert said[:3] == ["0 s: starting", "0 s: starting", "0 s: half of it"]


# ---- A sweep

BEGUN = SweepGlimpse(0, 3, 0, 0.0, False)
DONE = replace(BEGUN, done=1, seconds=4.0, cell=CELL, record={"rows": [ROW]})
FAILED = replace(BEGUN, done=1, seconds=4.0, cell=CELL, failure="out of memory")


@pytest.mark.parametrize(
    ("glimpses", "words"),
    [
        ([BEGUN], "fig: 0 of 3 cells"),
        ([replace(BEGUN, longer=True)], "fig: 0 of 3 cells that differed, four times longer"),
        (
            [DONE],
            "fig: 1 of 3 cells; 0.25 a second; 8 s left; "
            "farthest from its prediction z = +3.20 (k = 2, select = recent, cluster freshness)",
        ),
        ([FAILED], "fig: 1 of 3 cells; 0.25 a second; 8 s left; 1 failed, last k = 2, select = recent: out of memory"),
        ([replace(DONE, done=3, record={"rows": []})], "fig: 3 of 3 cells; 0.75 a second"),
    ],
)
def test_words_say_how_far_a_sweep_is_and_what_stands_out(glimpses, words):
    seen = progress.SweepView("fig", BEGUN)
    for glimpse in glimpses:
        seen.add(glimpse)
    assert seen.words() == words


def test_a_sweep_on_ray_says_what_it_waits_for_until_its_first_cell():
    seen = progress.SweepView("fig", BEGUN, on_ray=True)
    assert seen.words().endswith("; waiting for Ray to start workers, and for the first cell")
    seen.add(DONE)
    assert "waiting" not in seen.words()


def test_a_sweep_on_a_terminal_is_a_table_of_its_last_rows():
    seen = progress.SweepView("fig\x1b", BEGUN)
    for _ in range(20):
        seen.add(DONE)
    words, bar, *shown = [line.split() for line in picture(seen.picture()).splitlines()]
    assert set(bar[0]) <= {*"━╸╺"}
    assert words[0] == "fig\\x1b:"
    assert shown == [["cell", "group", "metric", "measured", "predicted", "z"]] + progress.LATEST_ROWS_SHOWN * [
        ["2,", "recent", "cluster", "freshness", "0.5032", "0.5", "+3.20"]
    ]


# ---- A live run


def seen(now=5.0, messages=100, lost=(), stood=()) -> Glimpse:
    shares = np.array([0.5, np.nan])
    return Glimpse(now, 20.0, ("level 1", "clients"), shares, (1, 10, 0, 5), messages, 0.002, lost, stood)


@pytest.mark.parametrize(
    ("glimpse", "rates", "words"),
    [
        (seen(lost=(LOST,)), (1200.4, 16.0),
         "t = 5 of 20 (25%); 1,200 messages/s, 16 events/s; wakes 0.002 late on average; "
         "host 1 died: lost from t = 2 to the end"),
        (seen(now=-0.3, stood=(Standstill("the driver", 2.0, 20.1),)), (0.0, 0.0),
         "t = 0 of 20 (0%); 0 messages/s, 0 events/s; wakes 0.002 late on average; "
         "the driver stood still for 20.1 s at t = 2"),
    ],
)  # fmt: skip
def test_words_say_how_far_how_fast_how_late_and_what_failed(glimpse, rates, words):
    assert "; ".join(progress.live_words(glimpse, rates)) == words
    assert progress.fresh_groups(glimpse) == [("level 1", 0.5)]  # others have no copies


def test_rates_are_of_the_time_between_two_looks():
    marks = deque(maxlen=2)
    assert progress.rates(marks, 10.0, seen(messages=100)) == (0.0, 0.0)
    assert progress.rates(marks, 10.2, seen(messages=150)) == (0.0, 0.0)  # too soon to tell
    assert progress.rates(marks, 12.0, seen(messages=300)) == (100.0, 0.0)
    assert progress.rates(marks, 12.2, seen(messages=900)) == (100.0, 0.0)
    assert progress.rates(marks, 13.0, seen(messages=400)) == (100.0, 0.0)


def test_lines_of_a_live_run_come_when_there_is_something_to_say(monkeypatch):
    monkeypatch.setattr(progress, "SECONDS_BEFORE_FIRST_LINE", 0.01)
    said, spoken = [], threading.Event()
    monkeypatch.setattr(progress, "echo", lambda words, err: (said.append(words), spoken.set()))
    line = "; ".join([*progress.live_words(LOST_RUN, (0.0, 0.0)), "fresh: level 1 0.500"])
    with progress.show_live_run() as (look, tell):
        assert spoken.wait(60)
        assert said[0].endswith(" s: waiting for Ray")
        tell(0.0, "waiting for 2 hosts")
        assert said[-1].endswith(" s: waiting for 2 hosts")
        look(LOST_RUN)
        assert said[-1] == line


LOST_RUN = seen(lost=(LOST,))


@contextmanager
def show_states():
    """A live run whose states alone are shown."""
    with progress.show_live_run() as (look, _):
        yield look


@pytest.mark.parametrize(
    ("show", "glimpses", "told", "words"),
    [
        (lambda: progress.show_sweep("fig"), [BEGUN, DONE, FAILED], [False, False, True],
         "1 failed, last k = 2, select = recent: out of memory\n"),
        (show_states, [seen(), seen(), LOST_RUN, LOST_RUN], [False, False, True, False],
         "; host 1 died: lost from t = 2 to the end; fresh: level 1 0.500\n"),
    ],
    ids=["sweep", "live run"],
)  # fmt: skip
def test_what_fails_is_told_at_once_and_once(show, glimpses, told, words, elsewhere, capsys):
    said = []
    with show() as look:
        for glimpse in glimpses:
            look(glimpse)
            said.append(capsys.readouterr().err)
    assert [bool(one) for one in said] == told
    assert said[2].endswith(words)


# ---- On a terminal


@pytest.mark.parametrize(
    ("show", "feed", "parts"),
    [
        (progress.progress, lambda tell: tell(0.25, "a quarter of it"), ("starting", "a quarter of it")),
        (lambda: progress.show_sweep("fig"), lambda look: look(DONE), ("1 of 3 cells",)),
        (show_states, lambda look: look(seen(lost=(LOST,))),
         ("t = 5 of 20 (25%) · 0 messages/s", "level 1", "0.500", "host 1 died: lost from t = 2")),
    ],
    ids=["bar", "sweep", "live run"],
)  # fmt: skip
def test_a_picture_that_changes_is_shown(show, feed, parts, monkeypatch):
    terminal = on_a_terminal(monkeypatch)
    with show() as tell:
        feed(tell)
    assert [part for part in parts if part not in terminal.getvalue()] == []


def test_a_terminal_says_what_a_live_run_waits_for(monkeypatch):
    pictures = []
    monkeypatch.setattr(progress, "live_display", lambda shown, words: nullcontext(lambda: pictures.append(shown)))
    with progress.show_live_run() as (_, tell):
        tell(0.0, "waiting for 2 hosts")
        assert pictures[0]() == "waiting for 2 hosts"

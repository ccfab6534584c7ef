"""What is shown while a live run goes."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
from test_cli import replnet

from replnet.cli import watch
from replnet.cli.main import FINE
from replnet.live import Glimpse, Outage
from replnet.live.clocks import Standstill

LOST = Outage(1, ("a", "b"), "died", 2.0)


def glimpse(now: float = 5.0, messages: int = 100, lost: tuple[Outage, ...] = ()) -> Glimpse:
    shares = np.array([0.5, np.nan])
    return Glimpse(now, 20.0, ("level 1", "clients"), shares, (1, 10, 0, 5), messages, 0.002, lost)


def test_words_say_how_far_how_fast_how_late_and_what_failed():
    assert watch.words(glimpse(lost=(LOST,)), (1200.4, 16.0)) == [
        "t = 5 of 20 (25%)",
        "1,200 messages/s, 16 events/s",
        "wakes 0.002 late on average",
        "host 1 died: lost from t = 2 to the end",
    ]
    stood = replace(glimpse(), stood=(Standstill("the driver", 2.0, 20.1),))
    assert watch.words(stood, (0.0, 0.0))[3:] == ["the driver stood still for 20.1 s at t = 2"]


def test_a_run_that_has_not_begun_is_at_zero():
    assert watch.words(glimpse(now=-0.3), (0.0, 0.0))[0] == "t = 0 of 20 (0%)"


def test_groups_without_copies_have_no_freshness():
    assert list(watch.freshness(glimpse())) == [("level 1", 0.5)]


def test_rates_are_of_the_time_between_two_looks():
    pace = watch.Pace()
    assert pace.look(glimpse(messages=100), 10.0) == (0.0, 0.0)
    assert pace.look(glimpse(messages=150), 10.2) == (0.0, 0.0)  # too soon to tell
    assert pace.look(glimpse(messages=300), 12.0) == (100.0, 0.0)


def test_elsewhere_lines_come_now_and_then_and_when_something_fails(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 3.0, 4.0, 5.0, 6.0])
    monkeypatch.setattr(watch.time, "monotonic", lambda: next(clock))
    lines = watch._Lines()
    said = []
    for seen in (glimpse(), glimpse(), glimpse(), glimpse(lost=(LOST,)), glimpse(lost=(LOST,))):
        lines.look(seen)
        said.append(capsys.readouterr().err)
    assert [bool(words) for words in said] == [False, True, False, True, False]
    assert "fresh: level 1 0.500" in said[1]
    assert "host 1 died" in said[3]


def test_on_a_terminal_it_is_a_picture():
    from rich.console import Console

    console = Console(width=100, record=True, file=io.StringIO())
    console.print(watch.picture(glimpse(lost=(LOST,)), watch.Pace()))
    shown = console.export_text()
    assert "t = 5 of 20 (25%)" in shown
    assert "level 1" in shown
    assert "0.500" in shown
    assert "host 1 died" in shown


@pytest.mark.ray
def test_the_demo_shows_all_three():
    done = replnet("demo")
    assert done.returncode == FINE, done.stderr
    assert "emulated (array)" in done.stdout
    assert "for real (Ray)" in done.stdout
    assert "messages between nodes in" in done.stdout

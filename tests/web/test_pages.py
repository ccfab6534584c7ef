"""The pages in a real browser: on a phone and on a screen, light and dark, by keyboard, with nothing from elsewhere."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import CHROMIUM, Browser
from command_line import SMALL

import replnet as rn
from replnet.engines.watcher import NodeStates
from replnet.live import Glimpse
from replnet.web.live_record import recording

pytest.importorskip("nicegui", reason="the pages need NiceGUI (pip install 'replnet[ui]')")
if CHROMIUM is None:
    pytest.skip("there is no Chromium to look at the pages with", allow_module_level=True)

pytestmark = pytest.mark.browser
SIZES = [(390, False), (390, True), (1280, False), (1280, True)]
SLIDER = 'document.querySelector(\'.q-slider[aria-label="{0}"] [tabindex="0"]\')'


class Pages:
    """`replnet ui` in a process of its own."""

    def __init__(self, *what: object) -> None:
        # Of a job in the background, Ctrl-C would be ignored.
        start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from replnet.cli import main"
        command = [sys.executable, "-c", f"{start}; main()", "ui", *map(str, what), "--port", "0", "--no-open"]
        # NiceGUI is another one where it finds itself in a test.
        others = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self._process = subprocess.Popen(command, **pipes, text=True, env=others)
        assert self._process.stderr
        found = re.search(r"http://\S+", self._process.stderr.readline())
        assert found, self._process.stderr.read()
        self.start = found[0]
        self.base = self.start[: self.start.index("/", len("http://"))]

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()

    def interrupt(self) -> tuple[int, str, str]:
        """Ctrl-C: the exit code, and what was printed."""
        self._process.send_signal(signal.SIGINT)
        out, err = self._process.communicate(timeout=30)
        return self._process.returncode, out, err


@pytest.fixture
def serve() -> Iterator[Callable[..., Pages]]:
    """Starts `replnet ui`, which ends with the test."""
    started: list[Pages] = []

    def start(*what: object) -> Pages:
        started.append(Pages(*what))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    made = Browser(tmp_path_factory.mktemp("browser"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("runs")
    (place / "small.yaml").write_text(SMALL)
    rn.sweep(place / "small.yaml", place / "run", workers=0)
    rn.emulate("cascade", horizon=640.0, trace=place / "events.parquet")
    return place


def check(browser: Browser, pages: Pages, words: str) -> None:
    """Nothing overflows, complains or comes from elsewhere, and letters stand out, at every size."""
    for width, dark in SIZES:
        browser.size(width, dark=dark)
        browser.wait_text(words)
        browser.wait(f"document.body.classList.contains('body--dark') === {str(dark).lower()}")
        browser.wait(f"document.documentElement.scrollWidth <= {width}")  # once charts have found their size
        ink, paper = (browser.run(f"getComputedStyle(document.body).{name}") for name in ("color", "backgroundColor"))
        light = [sum(map(int, re.findall(r"\d+", one)[:3])) / 3 for one in (ink, paper)]
        assert (light[0] > light[1] + 150) if dark else (light[0] + 150 < light[1])
    browser.size(1280)
    assert browser.errors == []
    assert {re.match(r"\w+://([^/]+)", one)[1] for one in browser.asked if not one.startswith("data:")} == {
        pages.base.removeprefix("http://")
    }


def test_a_network_is_explored(browser, serve):
    pages = serve("cascade", "-s", "depth=2")
    browser.begin(pages.start)
    browser.wait_text("Predicted and emulated.")
    browser.wait_text("replnet run cascade -s depth=2")
    check(browser, pages, "Predicted and emulated.")
    assert "token" not in browser.run("location.href")

    browser.run(SLIDER.format("depth") + ".focus()")
    browser.press("ArrowRight", 3)
    browser.wait_text("level 5")
    browser.wait_text("replnet run cascade -s depth=5")
    browser.wait("location.search.includes('depth%3D5')")
    browser.open(browser.run("location.href"))  # as a reload does
    browser.wait_text("replnet run cascade -s depth=5")
    browser.wait_text("Predicted and emulated.")

    browser.open(f"{pages.base}/?network=cooperative&s=peers%3D12")
    browser.wait_text("12 is not below replicas = 10")
    code, out, err = pages.interrupt()
    assert (code, out, err.strip()) == (0, "", "")


def test_a_sweep_is_read(browser, serve, run):
    pages = serve(run / "run")
    browser.begin(pages.start)
    browser.wait_text("2 of 2 cells are finished")
    check(browser, pages, "more downloads are better")
    assert browser.run("document.querySelectorAll('.rn-chart svg').length") == 1
    first = "document.querySelector('tbody tr td:nth-child(2)').innerText"
    assert browser.run(first) == "1"
    browser.run("[...document.querySelectorAll('.rn-sort')].find(one => one.innerText === 'rate').focus()")
    browser.press("Enter")
    browser.wait("document.querySelector('th.sorted') && document.activeElement.innerText === 'rate'")
    browser.press("Enter")
    browser.wait(f"{first} === '2'")
    browser.run("document.querySelector('a.rn-link').focus()")
    browser.press("Enter")
    browser.wait_text("What was run")
    browser.wait_text("exponential(rate=2)")


def test_a_run_is_watched(browser, serve, run):
    pages = serve(run / "events.parquet")
    browser.begin(pages.start)
    browser.wait_text("of 81 fresh")
    check(browser, pages, "of 81 fresh")
    browser.run(SLIDER.format("Time") + ".focus()")
    # However quickly they come, every key counts: from 500 thousandths of the time.
    browser.press("ArrowRight", 20)
    end = "document.querySelector('.rn-play').innerText.split(' of ')[1]"
    browser.wait(f"Math.round(1000 * new URLSearchParams(location.search).get('at') / {end}) === 520")
    said = browser.run("document.querySelector('.rn-play').innerText")
    browser.open(browser.run("location.href"))
    browser.wait(f"(document.querySelector('.rn-play') || {{}}).innerText === {said!r}")
    browser.run("[...document.querySelectorAll('button')].find(one => one.innerText.includes('Run')).click()")
    browser.wait("location.search.includes('run=')")
    browser.wait_text("cluster:")
    assert browser.errors == []


def test_a_run_is_shown_while_it_happens(serve, browser, tmp_path):
    """Its curves grow with the record; the predicted ones, the network and what is late stand beside them."""
    network = rn.cascade(
        depth=2, branching=2, updates="exponential(rate=1)", downloads="exponential(rate=1)", bandwidth=10,
        faults=[{"crash": "1", "at": 2, "lasts": 5}],
    )  # fmt: skip
    held, waiting = np.array([0, 1, 1, 1, 1, 1, 0]), np.array([3.0, 0, 0, 0, 0, 0, 0])

    def seen(now: float, messages: int, slip: float, fresh: tuple[int, ...]) -> Glimpse:
        states = NodeStates(held, np.array([0, *fresh, 0]), waiting)
        shares = np.array([0.5, 0.25])
        return Glimpse(now, 10.0, ("level 1", "level 2"), shares, (1, 2, 3, 0), messages, slip, states=states)

    file = tmp_path / "run.glimpses"
    with recording(file, network, "live") as look:
        for step in range(1, 4):
            look(seen(step, 40 * step, 0.01, (0, 0, 0, 0, 0)))
        pages = serve(file)
        browser.begin(pages.start)
        browser.wait_text("t = 3 of 10 (30%)")
        browser.wait("document.querySelectorAll('.rn-chart svg').length === 4")
        browser.wait_text("1 down from 2 to 3")
        fresh = "[...document.querySelectorAll('.rn-chart')][1].querySelectorAll('path[fill=\"#2a8fd0\"]').length"
        assert browser.run(fresh) == 0
        look(seen(4.0, 200, 0.5, (1, 1, 0, 0, 1)))
        browser.wait_text("200 messages · wakes 0.5 late")
        browser.wait_text("1 down from 2 to 4")
        browser.wait(f"{fresh} === 3")
    browser.wait_text("Over.")
    check(browser, pages, "Over.")

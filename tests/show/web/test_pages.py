"""The pages in a real browser: on a phone and on a screen, light and dark, by keyboard, with nothing from elsewhere."""

from __future__ import annotations

import http.server
import json
import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import programs
import pytest
from browser import CHROMIUM, Browser
from command_line import SMALL
from pages import Pages

import replnet as rn
from replnet.engines.nodes.measure_nodes import NodeStates
from replnet.live import Glimpse
from replnet.show.web.live_record import RunNames, record_run

pytest.importorskip("nicegui", reason="the pages need NiceGUI (pip install 'replnet[ui]')")
if CHROMIUM is None:
    pytest.skip("there is no Chromium to look at the pages with", allow_module_level=True)

pytestmark = pytest.mark.browser
SIZES = [(390, False), (390, True), (1280, False), (1280, True)]
SLIDER = 'document.querySelector(\'.q-slider[aria-label="{0}"] [tabindex="0"]\')'


@pytest.fixture
def serve() -> Iterator[Callable[..., Pages]]:
    """Starts `replnet ui`, which ends with the test."""
    started: list[Pages] = []

    def start(*what: object, **how: Path) -> Pages:
        started.append(Pages(*what, **how))
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


def choose(browser: Browser, name: str, option: str) -> None:
    """Choose an option of the first list of this name."""
    browser.run(f"{box(name)}.closest('.q-select').click()")
    item = f"[...document.querySelectorAll('.q-menu .q-item')].find(one => one.innerText.trim() === {option!r})"
    browser.wait(item)
    browser.run(f"{item}.click()")


def test_a_network_is_explored(browser, serve, tmp_path):
    pages = serve("cascade", "-s", "depth=2")
    browser.begin(pages.start)
    browser.wait_text("Predicted and emulated.")
    browser.wait_text("replnet run cascade -s depth=2")
    check(browser, pages, "Predicted and emulated.")
    assert "token" not in browser.run("location.href")

    browser.run(SLIDER.format("levels") + ".focus()")
    browser.press("ArrowRight", 3)
    browser.wait_text("level 5")
    browser.wait_text("replnet run cascade -s depth=5")
    browser.wait("location.search.includes('depth%3D5')")
    browser.open(browser.run("location.href"))  # as a reload does
    browser.wait_text("replnet run cascade -s depth=5")
    browser.wait_text("Predicted and emulated.")

    browser.open(f"{pages.base}/?network=cooperative&s=peers%3D12")
    browser.wait_text("12 is not below replicas = 10")
    enter(browser, "peers per poll", "trace(file=/etc/passwd)")
    browser.wait_text("/etc/passwd is not open here")
    assert "root:" not in browser.run("document.body.innerText")
    enter(browser, "peers per poll", "1")
    (tmp_path / "record.csv").write_text("0\n1\n2\n")
    enter(browser, "updates", f"trace(file={tmp_path}/record.csv)")
    browser.wait_text("record.csv is not open here")
    choose(browser, "family", "constant")
    browser.wait_text("'updates=constant(period=2)'")  # the example, and not the rate of the record
    code, out, err = pages.interrupt()
    assert (code, out, err.strip()) == (0, "", "")


BOX = """[...document.querySelectorAll('.q-field')].find(
    field => field.querySelector('.q-field__label')?.innerText === {0})?.querySelector('input')"""


def box(name: str) -> str:
    return f"({BOX.format(json.dumps(name))})"


def begin_to_type(browser: Browser, name: str, text: str) -> None:
    """In the place of what is in a box."""
    browser.wait(box(name))
    browser.run(f"{box(name)}.focus()")
    browser.run(f"{box(name)}.select()")
    browser.type(text)


def enter(browser: Browser, name: str, text: str) -> None:
    begin_to_type(browser, name, text)
    browser.press("Enter")


@pytest.mark.parametrize("key", ["Enter", "Tab"])
def test_what_is_typed_is_taken_however_soon_a_key_follows(browser, serve, key):
    browser.begin(serve("cooperative").start)
    command = "replnet run cooperative"
    for name, text, given in (
        ("replicas", "25", "replicas=25"),
        ("rate of polls", " 7 ", "polls.rate=7"),
        ("updates", "pareto(alpha=3, rate=2)", "'updates=pareto(alpha=3, rate=2)'"),
        ("alpha of updates", "4", "updates.alpha=4"),
    ):
        begin_to_type(browser, name, text)
        browser.press(key)
        command += f" -s {given}"
        browser.wait_text(command)
        browser.wait(f"{box(name)}.value === {json.dumps(text.strip())}")
    browser.wait(f"{box('updates')}.value === 'pareto(rate=2, alpha=4)'")
    begin_to_type(browser, "wanted freshness", "0.5")
    browser.press(key)
    browser.wait("location.search.includes('target=0.5')")
    assert browser.errors == []


def test_what_is_typed_at_full_speed_is_taken_twenty_times(browser, serve):
    """Nobody waits for the page: the answers to what was typed before come while the next text is being typed."""
    browser.begin(serve("cooperative").start)
    browser.wait(box("rate of updates"))
    last = {}
    for turn in range(20):
        name, key = [("replicas", "replicas"), ("rate of polls", "polls.rate"), ("rate of updates", "updates.rate")][
            turn % 3
        ]
        last.pop(key, None)
        last[key] = str(100 + 7 * turn)
        begin_to_type(browser, name, last[key])
        browser.press(("Enter", "Tab")[turn % 2])
        assert browser.run(f"{box(name)}.value") == last[key]
    browser.wait_text(" ".join(["replnet run cooperative", *(f"-s {key}={text}" for key, text in last.items())]))
    assert browser.errors == []


def test_a_metric_is_drawn_over_the_field_that_is_moved(browser, serve):
    """With undo, and with another variant beside it, by keys alone."""
    browser.begin(serve("cascade", "-s", "depth=2").start)
    browser.wait_text("Predicted and emulated.")
    about = "document.querySelector('.rn-main .rn-chart')?.getAttribute('aria-label')"
    browser.wait(f"{about} === 'Predicted and measured freshness over rate of downloads'")
    press_button(browser, "Keep this one")
    browser.run(SLIDER.format("rate of updates") + ".focus()")
    browser.press("ArrowRight", 3)
    browser.wait(f"{about} === 'Predicted and measured freshness over rate of updates'")
    browser.wait_text("Kept: replnet run cascade -s depth=2")
    cells = "[...document.querySelectorAll('.rn-sort')].map(one => one.innerText)"
    browser.wait(f"{cells}.includes('change')")
    browser.wait("location.search.includes('kept=depth')")
    choose(browser, "metric", "lag")
    browser.wait(f"{about} === 'Predicted and measured lag over rate of updates'")
    browser.wait("[...document.querySelectorAll('tbody td')].some(one => one.innerText === 'lag')")
    browser.wait("location.search.includes('metric=lag')")
    browser.open(browser.run("location.href"))
    browser.wait(f"{about} === 'Predicted and measured lag over rate of updates'")
    browser.wait_text("Kept: replnet run cascade -s depth=2")
    press_button(browser, "Swap with the kept one")
    browser.wait_text("Kept: replnet run cascade -s depth=2 -s updates.rate=2.22")
    press_button(browser, "Undo")
    browser.wait(f"{box('rate of updates')}.value === '2.22'")
    press_button(browser, "Reset")
    browser.wait(f"{box('rate of updates')}.value === '2'")
    press_button(browser, "Forget the kept one")
    browser.wait("!document.body.innerText.includes('Kept:')")
    assert browser.errors == []


def press_button(browser: Browser, words: str) -> None:
    """Press the button with these words by the keyboard, once it can be pressed."""
    button = f"[...document.querySelectorAll('button')].find(one => !one.disabled && one.innerText.endsWith({words!r}))"
    browser.wait(button)
    browser.run(f"{button}.focus()")
    browser.press("Enter")


def test_errors_stand_at_their_fields(browser, serve):
    browser.begin(serve("cooperative").start)
    browser.wait_text("Predicted and emulated.")
    marked = "[...document.querySelectorAll('.q-field--error')].map(one => one.innerText.replace(/\\s+/g, ' ').trim())"
    for name, text, words in (
        ("peers per poll", "12", "12 is not below replicas = 10 (0 to 9)"),
        ("peers per poll", "abc", "'abc' is not a number"),
        ("rate of polls", "-1", "-1 is not above 0"),
        ("updates", "foo(rate=1)", "unknown family 'foo'"),
        ("wanted freshness", "much", "'much' is no number (a freshness such as 0.9)"),
    ):
        enter(browser, name, text)
        browser.wait_text(words)
        (shown,) = browser.run(marked)
        assert name in shown
        assert "-s" not in shown
        if name == "wanted freshness":
            enter(browser, name, "0.9")
        else:
            press_button(browser, "Reset")
        browser.wait(f"{marked}.length === 0")
        browser.wait_text("Predicted")
    assert browser.errors == []


def test_what_is_being_typed_stays_whatever_else_changes(browser, serve):
    """Another field is shown in the same box, then fields come and go around it."""
    browser.begin(serve("cooperative").start)
    enter(browser, "rate of updates", "3")
    begin_to_type(browser, "updates", "exponential(ra")
    browser.wait_text("replnet run cooperative -s updates.rate=3")
    browser.type("te=5)")
    browser.press("Enter")
    browser.wait_text("replnet run cooperative -s 'updates=exponential(rate=5)'")
    browser.wait(f"{box('rate of updates')}.value === '5'")

    enter(browser, "updates", "weibull(shape=0.6, rate=1)")
    begin_to_type(browser, "polls", "const")
    browser.wait(box("shape of updates"))
    browser.type("ant(rate=6)")
    browser.press("Tab")
    browser.wait_text("-s 'polls=constant(rate=6)'")
    labels = browser.run("[...document.querySelectorAll('.q-field__label')].map(one => one.innerText)")
    fields = ["which peers", "updates", "family", "shape of updates", "rate of updates", "downloads"]
    assert labels[6:12] == fields
    assert browser.run(SLIDER.format("rate of polls") + ".closest('.q-slider').getAttribute('aria-valuenow')") == "112"
    assert browser.errors == []


def test_all_that_shows_a_field_shows_the_same(browser, serve):
    browser.begin(serve("cooperative").start)
    enter(browser, "polls", "constant(rate=128)")
    now = "document.querySelector('.q-slider[aria-label=\"rate of polls\"]').getAttribute('aria-valuenow')"
    browser.wait(f"{now} === '200'")
    browser.wait("[...document.querySelectorAll('.q-field')].some(one => one.innerText.match(/family\\s+constant/))")
    browser.run(SLIDER.format("rate of polls") + ".focus()")
    browser.press("ArrowLeft")
    browser.wait(f"{box('polls')}.value === 'constant(rate=124)' && {box('rate of polls')}.value === '124'")
    enter(browser, "replicas", "500")
    ends = "document.querySelector('.q-slider[aria-label=\"replicas\"]').getAttribute('aria-valuemax')"
    browser.wait(f"{ends} === '5000'")
    assert browser.errors == []


EVIL = [
    'x" onanimationstart="document.title = 1" style="animation: q-spin 1s" y="',
    'x" :class="(document.title = 2)" y="',
    "x' :title='document.title = 3' y='",
    '<img src=x onerror="document.title = 4">',
    "</script><script>document.title = 5</script>",
    "{{ constructor.constructor('document.title = 6')() }}",
    "`+(document.title = 7)+`",
    "javascript:document.title=8//",
]


def test_names_are_names_whatever_they_look_like(browser, serve, tmp_path):
    nodes = {name: {"downloads": "exponential(rate=2)", "group": f"group {name}"} for name in EVIL}
    links = [{"from": "s", "to": name} for name in EVIL]
    data = {"kind": "graph", "nodes": {"s": {"updates": "exponential(rate=1)"}, **nodes}, "links": links}
    evil = tmp_path / "<b onclick=`x`>{{ 7 * 7 }}"
    evil.mkdir()
    (evil / "evil.yaml").write_text(json.dumps(data))
    rn.emulate(evil / "evil.yaml", horizon=64.0, trace=evil / "evil.parquet")
    for opened, words in (("evil.yaml", "Predicted and emulated."), ("evil.parquet", "fresh;")):
        browser.begin(serve(evil / opened).start)
        browser.wait_text(words)
        about = browser.run("[...document.querySelectorAll('.q-slider')].map(one => one.getAttribute('aria-label'))")
        assert set(about) >= {f"{name}: rate of downloads" for name in EVIL if opened == "evil.yaml"}
        point_at_marks(browser)
        assert browser.run("document.title") in [f"{page}: {evil / opened} · replnet" for page in ("Explore", "Watch")]
        assert browser.run("document.querySelectorAll('.rn-page :is(img, script, style, [onerror])').length") == 0
        assert browser.errors == []


def point_at_marks(browser: Browser) -> None:
    """Tooltips of charts come up, one after another."""
    places = browser.run("""[...document.querySelectorAll('.rn-chart path')].map(path => {
        const box = path.getBoundingClientRect();
        return [box.x + box.width / 2, box.y + box.height / 2, box.width];
    }).filter(place => place[2] > 5 && place[2] < 22 && place[1] < innerHeight)""")
    assert places
    for x, y, _ in places[:40]:
        browser.point(x, y)


class Elsewhere(http.server.ThreadingHTTPServer):
    """Another server of this machine, with a page. `asked` are the paths of what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Elsewhere)
        self.base, self.asked = f"http://127.0.0.1:{self.server_port}", list[str]()


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<title>elsewhere</title>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    with Elsewhere() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_what_is_in_a_page_nonetheless_does_not_run(browser, serve, elsewhere):
    """Markup that somebody has put there: the policy forbids it to do anything, and to ask anyone."""
    pages = serve("single")
    browser.begin(pages.start)
    browser.wait_text("Predicted")
    assert browser.errors == []
    browser.run(
        """new Promise(done => {
      const script = document.createElement('script'), frame = document.createElement('iframe');
      script.textContent = 'document.title = 1';
      frame.srcdoc = '<script>parent.document.title = 2</script>';
      document.body.append(script, frame);
      document.body.insertAdjacentHTML('beforeend', `<img src="ELSEWHERE/image" onerror="document.title = 3">
        <a href="javascript:document.title=4" id="link">x</a>
        <form action="ELSEWHERE/form"><button id="button">x</button></form><base href="ELSEWHERE/base/">
        <p style="color: red" onclick="document.title = 5" id="paragraph">x</p>`);
      for (const id of ['link', 'button', 'paragraph']) document.getElementById(id).click();
      fetch('ELSEWHERE/fetch', {mode: 'no-cors'}).catch(() => 0).finally(done);
    })""".replace("ELSEWHERE", elsewhere.base)
    )
    assert browser.run("document.title") == "Explore: single · replnet"
    assert browser.run("document.baseURI").startswith(pages.base)
    assert browser.run("getComputedStyle(document.getElementById('paragraph')).color") != "rgb(255, 0, 0)"
    assert elsewhere.asked == []
    assert all("Content Security Policy" in error for error in browser.errors)
    assert len(browser.errors) >= 8


def test_a_page_of_another_port_gets_nothing(browser, serve, elsewhere):
    """Cookies are shared by all ports of a machine, so a browser sends that of the pages with whatever another asks."""
    pages = serve("single")
    browser.begin(pages.start)
    browser.wait_text("Predicted")
    socket = f"""new Promise(done => {{
        const it = new WebSocket('ws{pages.base[4:]}/_nicegui_ws/socket.io/?EIO=4&transport=websocket');
        it.onopen = () => done('open'), it.onerror = () => done('refused');
    }})"""
    assert browser.run(socket) == "open"
    browser.open(elsewhere.base)
    browser.wait("document.title === 'elsewhere'")
    assert browser.run(socket) == "refused"
    assert (
        browser.run(f"fetch('{pages.base}/', {{credentials: 'include'}}).then(() => 'read', () => 'refused')")
        == "refused"
    )
    for tag, path in (("script", "/static/page.js"), ("img", "/favicon.ico"), ("iframe", "/")):
        browser.run(f"""new Promise(done => {{
            const it = document.createElement('{tag}');
            it.onload = () => done(window.got = '{tag}'), it.onerror = () => done(window.got = 'nothing');
            it.src = '{pages.base}{path}';
            document.body.append(it);
        }})""")
        # A frame is loaded even if it is refused: with a page of the browser's own.
        assert browser.run("window.got") == ("iframe" if tag == "iframe" else "nothing")
    assert any("frame-ancestors" in error for error in browser.errors)


def test_a_sweep_is_read(browser, serve, run, tmp_path):
    pages = serve(run / "run")
    browser.begin(pages.start)
    browser.wait_text("2 of 2 cells are finished")
    check(browser, pages, "more downloads are better")
    assert browser.run("document.querySelectorAll('.rn-chart svg').length") == 1
    point_at_marks(browser)
    first = "document.querySelector('tbody tr td:nth-child(2)').innerText"
    assert browser.run(first) == "1"
    browser.run("[...document.querySelectorAll('.rn-sort')].find(one => one.innerText === 'rate').focus()")
    browser.press("Enter")
    browser.wait("document.querySelector('th.sorted') && document.activeElement.innerText === 'rate'")
    browser.press("Enter")
    browser.wait(f"{first} === '2'")
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    enter(browser, "filter the rows", "Level rate=2")
    browser.wait_text("1 of 2 rows have these words.")
    browser.wait("location.search === '?filter=Level+rate%3D2'")
    browser.open(browser.run("location.href"))
    browser.wait_text("1 of 2 rows have these words.")
    press_button(browser, "Download CSV")
    assert programs.wait_until((tmp_path / "run.csv").exists)
    (row,) = pd.read_csv(tmp_path / "run.csv").to_dict("records")
    assert (row["rate"], row["group"], row["predicted"]) == (2, "level 1", pytest.approx(2 / 3))
    assert row["95 % interval low"] < row["measured"] < row["95 % interval high"]
    browser.run("document.querySelector('a.rn-link').focus()")
    browser.press("Enter")
    browser.wait_text("What was run")
    browser.wait_text("exponential(rate=2)")


def test_a_run_is_watched(browser, serve, run, tmp_path):
    pages = serve(run / "events.parquet", temporary=tmp_path)
    browser.begin(pages.start)
    browser.wait_text("of 81 fresh")
    check(browser, pages, "of 81 fresh")
    browser.run(SLIDER.format("Time") + ".focus()")
    # However quickly they come, every key counts: from 500 thousandths of the time.
    browser.press("ArrowRight", 20)
    end = "parseFloat(document.querySelector('.rn-play').innerText.split(' of ')[1])"
    browser.wait(f"Math.round(1000 * new URLSearchParams(location.search).get('at') / {end}) === 520")
    said = browser.run("document.querySelector('.rn-play').innerText")
    browser.open(browser.run("location.href"))
    browser.wait(f"(document.querySelector('.rn-play') || {{}}).innerText === {said!r}")
    shown = "Number(document.querySelector('.rn-play').innerText.match(/t = (\\S+) of/)[1])"
    browser.run("document.activeElement.blur()")
    begin = browser.run(shown)
    browser.type(".")  # the next pull
    browser.wait(f"{shown} > {begin}")
    browser.type(",,")
    browser.wait(f"{shown} < {begin}")
    browser.type("+")
    browser.wait_text("× 2")
    browser.type(" ")
    browser.wait("document.querySelector('button[aria-label=Pause]')")
    browser.wait(f"{shown} > {begin} + 1")
    browser.type(" ")
    browser.wait("document.querySelector('button[aria-label=Play]')")
    browser.run("[...document.querySelectorAll('button')].find(one => one.innerText.includes('Run')).click()")
    browser.wait("location.search.includes('run=')")
    browser.wait_text("cluster:")
    browser.wait_text("Watch: run 1")
    browser.open(browser.run("location.href"))
    browser.wait_text("cluster:")
    assert browser.errors == []
    pages.end()  # by SIGKILL
    assert list(tmp_path.iterdir()) == []


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

    interrupts = list[int]()
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.append(1))
    names = RunNames("tree", "replnet run tree --ui", os.getpid())
    try:
        with (tmp_path / "record").open("wb") as record, record_run(record, network, "live", 7, names) as look:
            for step in range(1, 4):
                look(seen(step, 40 * step, 0.01, (0, 0, 0, 0, 0)))
            pages = serve("-", record=tmp_path / "record")
            browser.begin(pages.start)
            browser.wait_text("t = 3 of 10 (30%)")
            browser.wait_text("engine live · seed 7")
            browser.wait_text("replnet run tree --ui")
            browser.wait("document.querySelectorAll('.rn-chart svg').length === 4")
            browser.wait_text("1 down from 2 to 3")
            fresh = "[...document.querySelectorAll('.rn-chart')][1].querySelectorAll('path[fill=\"#2a8fd0\"]').length"
            assert browser.run(fresh) == 0
            look(seen(4.0, 200, 0.5, (1, 1, 0, 0, 1)))
            browser.wait_text("200 messages · wakes 0.5 late")
            browser.wait_text("1 down from 2 to 4")
            browser.wait(f"{fresh} === 3")
            press_button(browser, "Stop")
            assert programs.wait_until(lambda: interrupts == [1])
            look.end(rn.emulate(network, horizon=200.0))
    finally:
        signal.signal(signal.SIGINT, before)
    browser.wait_text("Done. Overall:")
    browser.wait("[...document.querySelectorAll('tbody td')].some(one => one.innerText === 'level 2')")
    check(browser, pages, "Done. Overall:")
    assert browser.run("document.title") == "Watch: tree as it runs · replnet"

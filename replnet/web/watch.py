"""The page of a recorded run: how fresh every level was over time, and who was fresh at any instant of it.

A run on the wall clock is shown while it happens; any other is recorded, which takes a moment, and then shown.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, final

from fastapi import Request
from nicegui import run, ui

from replnet.laws.law import Ints
from replnet.live.pool import Failure
from replnet.study.predict import predict
from replnet.web import series
from replnet.web.answers import NetworkQuestion, recorded, shown_live
from replnet.web.desk import Desk
from replnet.web.frame import Opened, address, chart, framed, network_pairs, renamed, slider
from replnet.web.live_record import SUFFIX
from replnet.web.live_view import LiveView
from replnet.web.network_chart import NetworkChart
from replnet.web.outage_bands import band_words
from replnet.web.playback import Playback, playback, replications

BINS, STEPS = 300, 1000  # of the curves, and of the handle
TICK, WHOLE = 0.1, 40.0  # seconds between pictures while it plays, and of the whole of it
PATIENCE = 600.0
LIVE = "live"
ENGINES = {
    "array": "array, the compiled engine", "step": "step, node by node", LIVE: "live, for real, by Ray actors",
}  # fmt: skip


def page(opened: Opened) -> Callable[..., Any]:
    here = tempfile.TemporaryDirectory(prefix="replnet-ui-")  # of runs that are recorded from the page

    def watch(request: Request) -> None:
        asked = request.query_params
        name = asked.get("run")
        file = (opened.trace or opened.record) if name is None else Path(here.name) / Path(name).name
        live = file is not None and file.suffix == SUFFIX
        title = "a run as it happens" if live else name or file or "no run yet"
        with framed("/watch", f"Watch: {title}"):
            if live:
                assert file is not None
                LiveView(file)
            elif file is not None:
                PlaybackView(file, name, _number(asked.get("replication")), _number(asked.get("at")))
            _recording(opened, asked.get("network", opened.network), asked.getlist("s"), Path(here.name))

    return watch


def _number(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _recording(opened: Opened, source: str, overrides: list[str], folder: Path) -> None:
    """What records a run of the network, and then shows it."""
    desk = Desk(PATIENCE)
    given = tuple(overrides or (opened.overrides if source == opened.network else ()))
    with ui.row().classes("items-end"):
        name = ui.input("network", value=source).props("dense")
        engine = ui.select(ENGINES, value="array", label="engine").props("dense options-dense").classes("w-56")
        button = ui.button("Run", icon="fiber_manual_record").props("no-caps outline")
    words = ui.label("").classes("rn-quiet").props("role=status aria-live=polite")

    async def record() -> None:
        button.disable()
        live = engine.value == LIVE
        words.set_text("Ray starts, which takes some seconds …" if live else "Recording …")
        file = Path(tempfile.mkstemp(suffix=SUFFIX if live else ".parquet", dir=folder)[1])
        question = NetworkQuestion(name.value, given if name.value == source else (), 0.9)
        there = address("/watch", ("run", file.name), *network_pairs(name.value, question.overrides))
        if live:
            with below:
                LiveView(file)
            renamed(button.client, there)
        found = await desk.ask(partial(shown_live if live else recorded, engine=engine.value, file=file), question)
        await desk.close()
        button.enable()
        error = found.reason if isinstance(found, Failure) else found["error"]
        words.set_text(error or (found["found"][0] if live else ""))
        if not error and not live:
            ui.navigate.to(there)

    button.on_click(record)
    below = ui.element("div").classes("rn-stack")


@final
class PlaybackView:
    """The curves, the picture and the handle for time of one replication."""

    def __init__(self, file: Path, name: str | None, replication: float | None, at: float | None) -> None:
        self.file, self.name, self.replication = file, name, int(replication or 0)
        self.time, self.start = 0.0, at
        self.shown: Playback | None = None
        self.client = ui.context.client
        self.body = ui.element("div").classes("rn-stack")
        with self.body:
            ui.label("Reading …").classes("rn-quiet")
        ui.timer(0.0, self._read, once=True)

    async def _read(self) -> None:
        found = await run.io_bound(_loaded, self.file, self.replication)
        if found is None:  # the server ends
            return
        self.body.clear()
        with self.body:
            if isinstance(found, ValueError):
                ui.label(str(found)).classes("rn-bad").props("role=alert")
                return
            self.shown, self.network, known, lines = found
            self.time = min(max(self.shown.end / 2 if self.start is None else self.start, 0.0), self.shown.end)
            self._build(self.shown, known, lines)
        self._say(self.shown, self.shown.states(self.time))

    def _build(self, shown: Playback, known: list[int], lines: dict[str, float]) -> None:
        with ui.element("div").classes("rn-play"):
            self.button = ui.button(icon="play_arrow").props('round aria-label="Play"').on_click(self._toggle)
            self.slider = slider("Time", STEPS, self._place, self._dragged)
            self.clock = ui.label("").classes("whitespace-nowrap")
        if len(known) > 1:
            ui.select(known, value=self.replication, label="replication", on_change=self._other).props("dense").classes(
                "w-40"
            )
        middles, levels = shown.levels(BINS)
        curves = {name: shares.tolist() for name, shares in levels.items()}
        times = middles.tolist()
        drawn = series.over_time(times, curves, lines, self.time, shown.bands)
        self.curves = chart(drawn, "Freshness by level over time")
        ui.label(f"Dashed: predicted. {band_words(shown.bands)}").classes("rn-quiet")
        self.now = ui.label("").classes("rn-quiet")
        self.picture = chart(self.network.by_state(*shown.states(self.time), lines), "The network by freshness")
        ui.label(self.network.legend).classes("rn-quiet")
        pace = series.counted(times, {"pulls per unit of time": shown.pace(BINS).tolist()}, shown.bands)
        chart(pace, "Pulls per unit of time")
        self.timer = ui.timer(TICK, self._step, active=False)

    @property
    def _place(self) -> int:
        """Where the handle stands."""
        assert self.shown is not None
        return round(STEPS * self.time / (self.shown.end or 1.0))

    def _dragged(self, place: float) -> None:
        assert self.shown is not None
        self._move(self.shown.end * place / STEPS)

    def _move(self, time: float) -> None:
        shown = self.shown
        assert shown is not None
        self.time = min(max(time, 0.0), shown.end)
        states = shown.states(self.time)
        self._set(self.curves, {"id": "now", "data": series.at_time(self.time)})
        self._set(self.picture, {"id": "nodes", "data": self.network.nodes_data(*states)})
        self._say(shown, states)

    def _say(self, shown: Playback, states: tuple[Ints, Ints]) -> None:
        """In words, and in the address."""
        self.clock.set_text(f"t = {self.time:.4g} of {shown.end:.4g}")
        self.now.set_text(_counts(shown, states))
        if not self.timer.active:
            pairs = [("run", self.name)] if self.name else []
            about = [("replication", str(self.replication)), ("at", f"{self.time:.6g}")]
            renamed(self.client, address("/watch", *pairs, *about))

    @staticmethod
    def _set(which: Any, one: dict[str, Any]) -> None:
        which.run_chart_method("setOption", {"series": [one]})

    def _toggle(self) -> None:
        self.timer.active = not self.timer.active
        self.button.props(f"icon={'pause' if self.timer.active else 'play_arrow'}")
        self.button.props(f"aria-label={'Pause' if self.timer.active else 'Play'}")
        assert self.shown is not None
        self._move(0.0 if self.time >= self.shown.end else self.time)

    def _step(self) -> None:
        assert self.shown is not None
        self._move(self.time + self.shown.end * TICK / WHOLE)
        self.slider.set_value(self._place)
        if self.time >= self.shown.end:
            self._toggle()

    def _other(self, event: Any) -> None:
        pairs = [("run", self.name)] if self.name else []
        ui.navigate.to(address("/watch", *pairs, ("replication", str(event.value))))


def _loaded(file: Path, replication: int) -> tuple[Playback, NetworkChart, list[int], dict[str, float]] | ValueError:
    """A replication, its network, the replications that there are, and what is predicted of the groups."""
    try:
        known = replications(file)
        shown = playback(file, replication)
        rows = predict(shown.network).rows
    except ValueError as error:
        return error
    lines = {row.group: row.predicted for row in rows if row.metric == "freshness" and row.predicted is not None}
    return shown, NetworkChart(shown.network), known, lines


def _counts(shown: Playback, states: tuple[Ints, Ints]) -> str:
    """How many copies of every group are fresh now, in words."""
    held, fresh = states
    sums = [(group, fresh[members].sum(), held[members].sum()) for group, members in shown.groups.items()]
    return "; ".join(f"{group}: {good:,} of {every:,} fresh" for group, good, every in sums)

"""The page Watch: the freshness of every level over the time of a recorded run, and the copies at any instant of it.

A run on the wall clock is shown while it happens; any other is recorded, which takes a moment, and then shown. Runs
that were recorded from the page are kept in memory, so that nothing is left of them whatever ends the server.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
from fastapi import Request
from nicegui import run, ui

from replnet.laws import Ints
from replnet.run import predict
from replnet.show.web import series
from replnet.show.web.answers import NetworkQuestion, record_trace, run_live
from replnet.show.web.desk import LatestOnly
from replnet.show.web.frame import address, chart, page_frame, replace_address, slider, with_attributes
from replnet.show.web.live_record import GlimpseInbox, recorded_name
from replnet.show.web.live_view import LiveView
from replnet.show.web.network_chart import NetworkChart
from replnet.show.web.opened import Opened, RecordReader, network_pairs
from replnet.show.web.outage_bands import describe_bands
from replnet.show.web.playback import Playback, Trace, read_playback, recorded_replications
from replnet.workers import Failure

CURVE_POINTS, SLIDER_STEPS = 300, 1000
SECONDS_BETWEEN_PICTURES, SECONDS_TO_PLAY = 0.1, 40.0  # while a run plays, and for the whole run at speed 1
SPEEDS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
FASTER, SLOWER, LATER, EARLIER, PLAYS = ("+", "="), ("-", "_"), (".",), (",",), (" ",)  # keys
KEYS = (
    "Keys: space plays and pauses; + and - change the speed; , and . go to the pull before and after; arrows move the "
    "slider. The mouse shows the values of the curves, and the names of nodes."
)
LONGEST_WAIT = 600.0  # seconds that a second run waits for the first
UNUSED_TARGET = 0.9  # a question about a network has a target freshness, for which a run has no use
MOST_RUNS_KEPT = 8
LIVE = "live"
ENGINES = {
    "array": "array, the compiled engine", "step": "step, node by node", LIVE: "live, for real, by Ray actors",
}  # fmt: skip

Run: TypeAlias = bytes | GlimpseInbox


def page(opened: Opened) -> Callable[..., Any]:
    """Return the function that builds the page Watch for a request: the run that it names, and a form for another."""
    runs = RecentRuns()

    def watch(request: Request) -> None:
        """Build the page for the run, the replication and the time that the address names."""
        parameters = request.query_params
        name, network = parameters.get("run"), parameters.get("network", opened.network)
        trace = (opened.trace or opened.record) if name is None else runs.get(name)
        if name is None and opened.record is not None and recorded_name(opened.record) in opened.networks:
            network = recorded_name(opened.record)
        with page_frame("/watch", f"Watch: {_title(trace, name, network)}"):
            if isinstance(trace, Path | bytes):
                PlaybackView(trace, name, _number(parameters.get("replication")), _number(parameters.get("at")))
            elif isinstance(trace, GlimpseInbox):
                LiveView(trace.read, trace.stop)
            elif trace is not None:
                LiveView(trace)
            elif name is not None:
                ui.label(f"{name} is not kept any more. Run records another one.").classes("rn-quiet")
            else:
                ui.label("Run records a short run of a network, and plays it back.").classes("rn-quiet")
            RunForm(opened, runs, network, parameters.getlist("s"))

    return watch


def _title(trace: Path | Run | RecordReader | None, name: str | None, network: str) -> str:
    """Return the title of the page: the run called `name` of `network`, the file of a trace, or a run that goes on."""
    if trace is None:
        return name or "no run yet"
    if isinstance(trace, Path):
        return str(trace)
    return f"{recorded_name(trace)} as it runs" if callable(trace) else f"{name} of {network}"


def _number(text: str | None) -> float | None:
    """Return the finite number in a text; None for any other text and for None."""
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@final
class RecentRuns:
    """The latest runs that were recorded from the page, at most eight, by name.

    A run is the bytes of a trace, or, on the wall clock, the inbox to which it sends its record.
    """

    def __init__(self) -> None:
        self._runs, self._count = dict[str, Run](), 0

    def keep(self, run: Run) -> str:
        """Keep a run, drop the oldest one if there are too many, and return the name of the new one."""
        self._count += 1
        name = f"run {self._count}"
        self._runs[name] = run
        for oldest in list(self._runs)[:-MOST_RUNS_KEPT]:
            del self._runs[oldest]
        return name

    def get(self, name: str) -> Run | None:
        """Return the run of this name, or None if it is not kept any more."""
        return self._runs.get(name)


@final
class RunForm:
    """A form that records a run of a network, and then shows it; `runs` keeps what it records.

    `network` is chosen at first, if it is open, and `overrides` (`key=value`) hold for it alone; if there are none, and
    it is the network of the command, those of the command hold.
    """

    def __init__(self, opened: Opened, runs: RecentRuns, network: str, overrides: list[str]) -> None:
        self.opened, self.runs, self.desk = opened, runs, LatestOnly(LONGEST_WAIT)
        self.named = network, tuple(overrides or (opened.overrides if network == opened.network else ()))
        chosen = network if network in opened.networks else opened.network
        with ui.row().classes("rn-bottom"):
            self.network = ui.select(opened.networks, value=chosen, label="network")
            self.engine = ui.select(ENGINES, value="array", label="engine")
            for choice in (self.network, self.engine):
                choice.classes("rn-choice").props("dense options-dense")
            self.button = ui.button("Run", icon="fiber_manual_record").props("no-caps outline").on_click(self._run)
        self.words = ui.label("").classes("rn-quiet").props("role=status aria-live=polite")
        self.below = ui.element("div").classes("rn-stack")

    async def _run(self) -> None:
        """Record a run of the chosen network by the chosen engine, and show it, or say why that cannot be."""
        network, overrides = self.named
        network, overrides = self.network.value, overrides if self.network.value == network else ()
        self.button.disable()
        try:
            question = self.opened.question(network, self.opened.document(network), overrides, UNUSED_TARGET)
            await (self._show_live if self.engine.value == LIVE else self._record)(question)
        except ValueError as error:
            self.words.set_text(str(error))
        self.button.enable()

    async def _record(self, question: NetworkQuestion) -> None:
        """Record a run of the question's network in virtual time, and go to the page of the run; raise a ValueError if
        that fails.
        """
        self.words.set_text("Recording …")
        name = self.runs.keep(await self._ask_once(partial(record_trace, engine=self.engine.value), question))
        ui.navigate.to(_address(name, question))

    async def _show_live(self, question: NetworkQuestion) -> None:
        """Run the question's network on the wall clock, and show the run below the form while it goes on.

        Raise a ValueError if that fails.
        """
        self.words.set_text("Ray starts, which takes some seconds …")
        inbox = GlimpseInbox()
        with self.below:
            LiveView(inbox.read, inbox.stop)
        replace_address(self.button.client, _address(self.runs.keep(inbox), question))
        async with inbox as place:
            self.words.set_text(await self._ask_once(partial(run_live, engine=LIVE, inbox=place), question))

    async def _ask_once(self, work: Callable[[NetworkQuestion], Any], question: NetworkQuestion) -> Any:
        """Return the only item in the answer of `work(question)`, from another process, which ends then.

        Raise a ValueError, with the field and what is wrong, if there is no answer.
        """
        reply = await self.desk.ask(work, question)
        await self.desk.close()
        if isinstance(reply, Failure) or reply["error"]:
            field = "" if isinstance(reply, Failure) else reply["field"]
            words = reply.reason if isinstance(reply, Failure) else reply["error"]
            raise ValueError(f"{field}: {words}".removeprefix(": "))
        return reply["answer"][0]


def _address(name: str, question: NetworkQuestion) -> str:
    """Return the address of the page of a kept run with this name, whose network `question` is about."""
    return address("/watch", ("run", name), *network_pairs(question.source, question.overrides))


@final
class PlaybackView:
    """The view of one replication: the curves, the network at an instant, and a slider for the time.

    `name` is that of a kept run, None for the trace of the command. `replication` is 0 if it is None, and `time`, the
    instant to begin with, the middle of the run.
    """

    def __init__(self, trace: Trace, name: str | None, replication: float | None, time: float | None) -> None:
        self.trace, self.name, self.replication = trace, name, int(replication or 0)
        self.time, self.start = 0.0, time
        self.playback: Playback | None = None
        self.client = ui.context.client
        self.body = ui.element("div").classes("rn-stack")
        with self.body:
            ui.label("Reading …").classes("rn-quiet")
        ui.timer(0.0, self._read, once=True)

    async def _read(self) -> None:
        """Read the replication, and build the view, or say why it cannot be read."""
        loaded = await run.io_bound(_load_replication, self.trace, self.replication)
        if loaded is None:  # the server ends
            return
        self.body.clear()
        with self.body:
            if isinstance(loaded, ValueError):
                ui.label(str(loaded)).classes("rn-bad").props("role=alert")
                return
            self.playback, self.network, replications, lines = loaded
            self.time = min(max(self.playback.end / 2 if self.start is None else self.start, 0.0), self.playback.end)
            self._build(self.playback, replications, lines)
        self._show_time(self.playback, self.playback.copies_at(self.time))

    def _build(self, playback: Playback, replications: list[int], lines: dict[str, float]) -> None:
        """Put the slider, the choice of a replication, the curves and the network on the page.

        `replications` are the numbers to choose from, and `lines` is the predicted freshness of each group.
        """
        with ui.element("div").classes("rn-play"):
            self.button = ui.button(icon="play_arrow").props("round aria-label=Play").on_click(self._toggle)
            self.slider = slider("Time", SLIDER_STEPS, self._position, self._go_to_position)
            self.clock = ui.label("").classes("rn-line")
            speeds = {speed: f"× {speed:g}" for speed in SPEEDS}
            self.speed = ui.select(speeds, value=1.0, label="speed").props("dense options-dense").classes("rn-speed")
        ui.label(KEYS).classes("rn-quiet")
        ui.keyboard(self._take_key)
        if len(replications) > 1:
            choice = ui.select(
                replications, value=self.replication, label="replication", on_change=self._go_to_replication
            )
            choice.props("dense").classes("rn-choice")
        middles, freshness = playback.freshness_by_group(CURVE_POINTS)
        curves = {name: shares.tolist() for name, shares in freshness.items()}
        times = middles.tolist()
        options = series.over_time(times, curves, lines, self.time, playback.bands)
        self.curves = chart(options, "Freshness by level over time")
        ui.label(f"Dashed: predicted. {describe_bands(playback.bands)}").classes("rn-quiet")
        self.now = ui.label("").classes("rn-quiet")
        self.picture = chart(self.network.by_state(*playback.copies_at(self.time), lines), "The network by freshness")
        ui.label(self.network.legend).classes("rn-quiet")
        pulls = {"pulls per unit of time": playback.pace(CURVE_POINTS).tolist()}
        pace = series.count_curves(times, pulls, playback.bands)
        chart(pace, "Pulls per unit of time")
        self.timer = ui.timer(SECONDS_BETWEEN_PICTURES, self._step, active=False)

    @property
    def _position(self) -> int:
        """The position of the slider, a whole number from 0 to 1000, for the time that is shown."""
        assert self.playback is not None
        return round(SLIDER_STEPS * self.time / (self.playback.end or 1.0))

    def _go_to_position(self, position: float) -> None:
        """Show the network at the time that a position of the slider, from 0 to 1000, stands for."""
        assert self.playback is not None
        self._move(self.playback.end * position / SLIDER_STEPS)

    def _move(self, time: float) -> None:
        """Show the network, and the line in the curves, at a time, moved to that of the run if it lies outside."""
        playback = self.playback
        assert playback is not None
        self.time = min(max(time, 0.0), playback.end)
        states = playback.copies_at(self.time)
        self._set(self.curves, {"id": "now", "data": series.time_line(self.time)})
        self._set(self.picture, {"id": "nodes", "data": self.network.nodes_data(*states)})
        self._show_time(playback, states)

    def _show_time(self, playback: Playback, states: tuple[Ints, Ints]) -> None:
        """Show the time in words and, unless the run plays, in the address.

        `states` are the numbers of copies, and of fresh copies, of every node at that time.
        """
        self.clock.set_text(f"t = {self.time:.6g} of {playback.end:.4g}")
        self.now.set_text(_counts(playback, states))
        if not self.timer.active:
            pairs = [("run", self.name)] if self.name else []
            about = [("replication", str(self.replication)), ("at", f"{self.time:.6g}")]
            replace_address(self.client, address("/watch", *pairs, *about))

    @staticmethod
    def _set(chart: Any, changes: dict[str, Any]) -> None:
        """Change one series of a chart in the browser: `changes` has its id and the options that are new."""
        chart.run_chart_method("setOption", {"series": [changes]})

    def _toggle(self) -> None:
        """Start to play, from the beginning if the run is at its end; or pause."""
        self.timer.active = not self.timer.active
        icon, about = ("pause", "Pause") if self.timer.active else ("play_arrow", "Play")
        with_attributes(self.button, icon=icon, aria_label=about)
        assert self.playback is not None
        self._move(0.0 if self.time >= self.playback.end else self.time)

    def _take_key(self, event: Any) -> None:
        """Play, pause, change the speed or go to another pull, as the key that is pressed says."""
        key = event.key.name
        if not event.action.keydown or event.modifiers.ctrl or event.modifiers.alt or event.modifiers.meta:
            return
        if key in PLAYS and not event.action.repeat:
            self._toggle()
        elif key in FASTER + SLOWER:
            place = SPEEDS.index(self.speed.value) + (1 if key in FASTER else -1)
            self.speed.set_value(SPEEDS[min(max(place, 0), len(SPEEDS) - 1)])
        elif key in LATER + EARLIER:
            self._go_to_pull(later=key in LATER)

    def _go_to_pull(self, later: bool) -> None:
        """Show the network at the next pull, or if `later` is False at the one before; stay if there is none."""
        assert self.playback is not None
        pulls = self.playback.pulls
        at = int(np.searchsorted(pulls, self.time, "right" if later else "left")) - (not later)
        if 0 <= at < pulls.size:
            self._move(float(pulls[at]))
            self.slider.set_value(self._position)

    def _step(self) -> None:
        """Show the network one picture later, at the chosen speed, and stop at the end of the run."""
        assert self.playback is not None
        self._move(self.time + self.speed.value * self.playback.end * SECONDS_BETWEEN_PICTURES / SECONDS_TO_PLAY)
        self.slider.set_value(self._position)
        if self.time >= self.playback.end:
            self._toggle()

    def _go_to_replication(self, event: Any) -> None:
        """Go to the page of the replication that the user chooses."""
        pairs = [("run", self.name)] if self.name else []
        ui.navigate.to(address("/watch", *pairs, ("replication", str(event.value))))


def _load_replication(
    trace: Trace, replication: int
) -> tuple[Playback, NetworkChart, list[int], dict[str, float]] | ValueError:
    """Return the playback of a replication, its network's chart, the numbers of all replications, and the predictions.

    Predictions are of freshness, by group. Return the error, instead of raising it, if the trace cannot be read.
    """
    try:
        replications = recorded_replications(trace)
        playback = read_playback(trace, replication)
        rows = predict(playback.network).rows
    except ValueError as error:
        return error
    lines = {row.group: row.predicted for row in rows if row.metric == "freshness" and row.predicted is not None}
    return playback, NetworkChart(playback.network), replications, lines


def _counts(playback: Playback, states: tuple[Ints, Ints]) -> str:
    """Return text with the number of copies and of fresh copies of every group.

    `states` are both numbers for every node, at some instant.
    """
    held, fresh = states
    sums = [(group, fresh[members].sum(), held[members].sum()) for group, members in playback.groups.items()]
    return "; ".join(f"{group}: {fresh_count:,} of {copy_count:,} fresh" for group, fresh_count, copy_count in sums)

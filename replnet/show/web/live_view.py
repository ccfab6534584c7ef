"""The part of the page Watch that shows a run while it goes on: growing curves, how busy it is, and the network."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np
from nicegui import run, ui

from replnet.network import Network
from replnet.run import predict
from replnet.show import result_table
from replnet.show.web import series
from replnet.show.web.frame import chart, copyable_text, fill_table, redraw, table
from replnet.show.web.live_record import LiveRecord
from replnet.show.web.network_chart import NetworkChart
from replnet.show.web.opened import RecordReader
from replnet.show.web.outage_bands import Band, describe_bands, planned_bands, planned_outages

SECONDS_BETWEEN_LOOKS = 1.0  # seconds between looks: drawing takes CPU time from a run that needs all of it
LEGEND = "Solid: measured since time zero. Dashed: predicted, with messages that take no longer than the network says."
INTERVALS = "Shaded: 95 % intervals, once there are 30 replications."
TABLE_COLUMNS = ("group", "metric", "measured", "95 % interval", "predicted", "z", "verdict", "note")
NOW, SO_FAR = "as of now, in the first replication", "by the freshness of its level so far"


@final
class LiveView:
    """The view of one run while it goes on; `reader` returns the bytes of the run's record from an offset on.

    `stop` ends the run with what there is; if it is None, so does an interrupt of the process that the record names,
    provided that it is the one that has started these pages.
    """

    def __init__(self, reader: RecordReader, stop: Callable[[], None] | None = None) -> None:
        self.record, self._end = LiveRecord(reader), stop
        self.lines, self.live = dict[str, float](), False
        self.planned = list[Band]()  # what is to go wrong
        self.network: NetworkChart | None = None
        self.facts = ui.label("").classes("rn-quiet")
        with ui.element("div").classes("rn-tools"):
            self.words = ui.label("Starting …").props("role=status aria-live=off")
            self.button = ui.button("Stop", icon="stop", on_click=self._stop).props("no-caps outline dense")
            self.button.classes("rn-button").set_visibility(False)
        self.bar = ui.linear_progress(0.0, show_value=False).props('aria-label="Share of the run" instant-feedback')
        self.table = table("Rows of the run")
        self.body = ui.element("div").classes("rn-stack")
        with ui.element("div").classes("rn-stack") as self.origin:
            self.command = copyable_text("Command", "")
        self.origin.set_visibility(False)
        self.charts: tuple[Any, Any, Any, Any] | None = None
        self.timer = ui.timer(SECONDS_BETWEEN_LOOKS, self._look, immediate=True)

    async def _look(self) -> None:
        """Read the lines that are new in the record, and show them; look no more once the run is over."""
        record = self.record
        is_child = self._is_child
        new = await run.io_bound(record.update)
        if not new:
            if self._owner is not None and not is_child:
                record.lost = True
                self.words.set_text(record.words)
                self._finish()
            return
        self.words.set_text(record.words)
        self._show_names()
        if self.charts is None and record.about is not None and record.latest is not None:
            await self._build()
        if record.latest is not None:
            self.bar.set_value(record.latest["now"] / record.latest["horizon"])
            self._draw()
        if record.result is not None:
            fill_table(self.table, result_table(record.result["rows"]).select(TABLE_COLUMNS))
        if record.over:
            self._finish()

    @property
    def _owner(self) -> int | None:
        """The number of the process that the record names as that of the run; None if it names none."""
        return None if self.record.about is None else self.record.about.get("process")

    @property
    def _is_child(self) -> bool:
        """Whether the process of the run is still there, and the one that has started these pages."""
        return self._owner == os.getppid()

    def _show_names(self) -> None:
        """Show the engine, the seed and the command that the record names, and a button if the run can be ended."""
        about = self.record.about
        if about is None:
            return
        self.facts.set_text(f"engine {about['engine']} · seed {about['seed']}")
        self.command.set_text(about.get("command", ""))
        self.origin.set_visibility(bool(about.get("command")))
        self.button.set_visibility(self._end is not None or self._is_child)

    def _stop(self) -> None:
        """End the run with what there is: by `stop` if that was given, else by an interrupt of its process."""
        self.button.disable()
        if self._end is not None:
            self._end()
        elif self._owner is not None and self._is_child:
            os.kill(self._owner, signal.SIGINT)

    def _finish(self) -> None:
        """Hide the button and read the record no more."""
        self.button.set_visibility(False)
        self.timer.deactivate()

    async def _build(self) -> None:
        """Put the charts on the page, empty at first, for the network that the record names; none if the server ends
        meanwhile.
        """
        assert self.record.about is not None
        self.live = self.record.about["engine"] == "live"
        prepared = await run.io_bound(self._prepare)
        if prepared is None:  # the server ends
            return
        network, self.lines, self.planned, limited = prepared
        self.network = network
        with self.body:
            fresh = chart(series.over_time([0.0], {}, {}, None), "Freshness by level so far, as the run goes")
            self.legend = ui.label(LEGEND).classes("rn-quiet")
            places = chart(network.by_share({}, {}), "The network by freshness")
            ui.label(f"{network.legend} · {NOW if self.live else SO_FAR}").classes("rn-quiet")
            pace = chart(series.pace([], [], []), "Messages per unit of time, and how late wakes were")
            pace.set_visibility(self.live)
            queues = chart(series.queues([], {}), "Messages in line at a node with limits")
            words = ui.label("Messages in line at a node with limits.").classes("rn-quiet")
            for element in (queues, words):
                element.set_visibility(self.live and limited)
        self.charts = fresh, places, pace, queues

    def _prepare(self) -> tuple[NetworkChart, dict[str, float], list[Band], bool]:
        """Return what stays the same while the run goes on, and takes a moment to compute.

        It is (the chart of the network, predicted freshness by group, planned bands, whether bandwidth is limited).
        """
        about, latest = self.record.about, self.record.latest
        assert about is not None
        assert latest is not None
        network = Network.from_data(about["network"])
        rows = [row for row in predict(network).rows if row.metric == "freshness"]
        lines = {row.group: row.predicted for row in rows if row.predicted is not None}
        planned = list[Band]()
        if self.live:
            outages = planned_outages(network, about["seed"], 0, latest["horizon"])
            planned = planned_bands(network, outages, latest["horizon"])
        return NetworkChart(network), lines, planned, network.topology.bandwidth is not None

    def _draw(self) -> None:
        """Draw the charts as of the latest glimpse; do nothing before there are charts and points to draw."""
        record = self.record
        assert record.latest is not None
        if self.charts is None or not record.times:
            return
        fresh, places, pace, queues = self.charts
        times, now = record.times, record.latest["now"]
        bands = [band._replace(end=min(band.end, now)) for band in self.planned if band.begin < now] + record.bands()
        widths = record.half_widths()
        redraw(fresh, series.over_time(times, record.curves(), self.lines, None, bands, widths))
        self.legend.set_text(" ".join(filter(None, [LEGEND, INTERVALS if widths else "", describe_bands(bands)])))
        if self.live:
            redraw(pace, series.pace(times, *record.pace()))
            redraw(queues, series.queues(times, record.lines()))
        redraw(places, self._places(record.latest))

    def _places(self, latest: Mapping[str, Any]) -> series.Options:
        """Return the chart of the network as of the glimpse `latest`, by node if the glimpse has nodes,
        else by group.
        """
        assert self.network is not None
        if "nodes" in latest:
            held, fresh = (np.array(latest["nodes"][name]) for name in ("held", "fresh"))
            return self.network.by_state(held, fresh, self.lines, latest["nodes"]["waiting"])
        shares = {group: fresh / held for group, (held, fresh) in latest.get("copies", {}).items()}
        return self.network.by_share(shares or latest["fresh"], self.lines)

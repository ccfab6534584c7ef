"""The part of the page Watch that shows a run while it goes on: growing curves, how busy it is, and the network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, final

import numpy as np
from nicegui import run, ui

from replnet.network import Network
from replnet.run import predict
from replnet.show.web import series
from replnet.show.web.frame import chart, redraw
from replnet.show.web.live_record import LiveRecord
from replnet.show.web.network_chart import NetworkChart
from replnet.show.web.opened import RecordReader
from replnet.show.web.outage_bands import Band, describe_bands, planned_bands, planned_outages

SECONDS_BETWEEN_LOOKS = 1.0  # seconds between looks: drawing takes CPU time from a run that needs all of it
LEGEND = "Solid: measured since time zero. Dashed: predicted, with messages that take no longer than the network says."
NOW, SO_FAR = "as of now, in the first replication", "by the freshness of its level so far"


@final
class LiveView:
    """The view of one run while it goes on; `reader` returns the bytes of the run's record from an offset on."""

    def __init__(self, reader: RecordReader) -> None:
        self.record = LiveRecord(reader)
        self.lines, self.live = dict[str, float](), False
        self.planned = list[Band]()  # what is to go wrong
        self.network: NetworkChart | None = None
        self.words = ui.label("Starting …").props("role=status aria-live=off")
        self.bar = ui.linear_progress(0.0, show_value=False).props('aria-label="Share of the run" instant-feedback')
        self.body = ui.element("div").classes("rn-stack")
        self.charts: tuple[Any, Any, Any, Any] | None = None
        self.timer = ui.timer(SECONDS_BETWEEN_LOOKS, self._look, immediate=True)

    async def _look(self) -> None:
        """Read the lines that are new in the record, and show them; look no more once the run is over."""
        record = self.record
        new = await run.io_bound(record.update)
        if not new:
            return
        self.words.set_text(record.words)
        if self.charts is None and record.about is not None and record.latest is not None:
            await self._build()
        if record.latest is not None:
            self.bar.set_value(record.latest["now"] / record.latest["horizon"])
            self._draw()
        if record.over:
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
            fresh = chart(series.over_time([0.0], {}, {}, 0.0), "Freshness by level so far, as the run goes")
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
        redraw(fresh, series.over_time(times, record.curves(), self.lines, times[-1], bands))
        self.legend.set_text(f"{LEGEND} {describe_bands(bands)}")
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

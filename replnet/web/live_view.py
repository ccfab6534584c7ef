"""What the page Watch shows of a run while it happens: curves that grow, how busy it is, and the network."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, final

import numpy as np
from nicegui import run, ui

from replnet.network.network import Network
from replnet.study.predict import predict
from replnet.web import series
from replnet.web.frame import chart, drawn
from replnet.web.live_record import LiveRecord
from replnet.web.network_chart import NetworkChart
from replnet.web.outage_bands import Band, band_words, planned_bands, planned_outages

EVERY = 1.0  # seconds between looks: drawing takes CPU time from a run that needs all of it
LEGEND = "Solid: measured since time zero. Dashed: predicted, with messages that take no longer than the network says."
NOW, SO_FAR = "as of now, in the first replication", "by the freshness of its level so far"


@final
class LiveView:
    """One run, from its record."""

    def __init__(self, file: Path) -> None:
        self.record = LiveRecord(file)
        self.lines, self.live = dict[str, float](), False
        self.planned = list[Band]()  # what is to go wrong
        self.network: NetworkChart | None = None
        self.words = ui.label("Starting …").props("role=status aria-live=off")
        self.bar = ui.linear_progress(0.0, show_value=False).props('aria-label="Share of the run" instant-feedback')
        self.body = ui.element("div").classes("rn-stack")
        self.charts: tuple[Any, Any, Any, Any] | None = None
        self.timer = ui.timer(EVERY, self._look, immediate=True)

    async def _look(self) -> None:
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
        assert self.record.about is not None
        self.live = self.record.about["engine"] == "live"
        found = await run.io_bound(self._prepared)
        if found is None:  # the server ends
            return
        network, self.lines, self.planned, limited = found
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
            for one in (queues, words):
                one.set_visibility(self.live and limited)
        self.charts = fresh, places, pace, queues

    def _prepared(self) -> tuple[NetworkChart, dict[str, float], list[Band], bool]:
        """What takes a moment, and does not change while the run goes on."""
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
        record = self.record
        assert record.latest is not None
        if self.charts is None or not record.times:
            return
        fresh, places, pace, queues = self.charts
        times, now = record.times, record.latest["now"]
        bands = [one._replace(end=min(one.end, now)) for one in self.planned if one.begin < now] + record.bands()
        drawn(fresh, series.over_time(times, record.curves(), self.lines, times[-1], bands))
        self.legend.set_text(f"{LEGEND} {band_words(bands)}")
        if self.live:
            drawn(pace, series.pace(times, *record.pace()))
            drawn(queues, series.queues(times, record.lines()))
        drawn(places, self._places(record.latest))

    def _places(self, latest: Mapping[str, Any]) -> series.Options:
        assert self.network is not None
        if "nodes" in latest:
            held, fresh = (np.array(latest["nodes"][name]) for name in ("held", "fresh"))
            return self.network.by_state(held, fresh, self.lines, latest["nodes"]["waiting"])
        shares = {group: fresh / held for group, (held, fresh) in latest.get("copies", {}).items()}
        return self.network.by_share(shares or latest["fresh"], self.lines)

"""What the page Watch shows of a run while it happens: curves that grow, how busy it is, and the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any, final

from nicegui import run, ui

from replnet.network.network import Network
from replnet.network.pictures.layout import layout
from replnet.study.predict import predict
from replnet.web import series
from replnet.web.frame import chart, drawn
from replnet.web.live_record import LiveRecord

EVERY = 0.5  # seconds between looks
LEGEND = "Solid: measured since time zero. Dashed: predicted, with messages that take no longer than the network says."


@final
class LiveView:
    """One run, from its record."""

    def __init__(self, file: Path) -> None:
        self.record = LiveRecord(file)
        self.lines, self.live = dict[str, float](), False
        self.words = ui.label("Starting …").props("role=status aria-live=off")
        self.bar = ui.linear_progress(0.0, show_value=False).props('aria-label="Share of the run" instant-feedback')
        self.body = ui.element("div").classes("rn-stack")
        self.charts: tuple[Any, Any, Any] | None = None
        self.timer = ui.timer(EVERY, self._look, immediate=True)

    async def _look(self) -> None:
        record = self.record
        new = await run.io_bound(record.update)
        if not new:
            return
        self.words.set_text(record.words)
        if self.charts is None and record.about is not None:
            self.live = record.about["engine"] == "live"
            await self._build(Network.from_data(record.about["network"]))
        if record.latest is not None:
            self.bar.set_value(record.latest["now"] / record.latest["horizon"])
            self._draw()
        if record.over:
            self.timer.deactivate()

    async def _build(self, network: Network) -> None:
        found = await run.io_bound(predict, network)
        rows = found.rows if found else ()
        self.lines = {row.group: row.predicted for row in rows if row.metric == "freshness" and row.predicted}
        self.graph = network.graph
        self.plan = layout(self.graph)
        with self.body:
            fresh = chart(series.over_time([0.0], {}, {}, 0.0), "Freshness by level so far, as the run goes")
            ui.label(LEGEND).classes("rn-quiet")
            pace = chart(series.pace([], [], []), "Messages per unit of time, and how late wakes were")
            pace.set_visibility(self.live)
            places = chart(series.by_share(self.plan, self.graph, {}), "The network by freshness so far")
            more = f"   {self.plan.left_out:,} more nodes are not drawn." if self.plan.left_out else ""
            ui.label(f"Coloured by how fresh its level was so far; squares are sources.{more}").classes("rn-quiet")
        self.charts = fresh, pace, places

    def _draw(self) -> None:
        record = self.record
        assert record.latest is not None
        if self.charts is None or not record.times:
            return
        fresh, pace, places = self.charts
        times = record.times
        drawn(fresh, series.over_time(times, record.curves(), self.lines, times[-1]))
        if self.live:
            drawn(pace, series.pace(times, *record.pace()))
        drawn(places, series.by_share(self.plan, self.graph, record.latest["fresh"]))

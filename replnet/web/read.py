"""The pages of a sweep: its table and its curves while it grows and when it is done, and a page for each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, final

from fastapi import Request
from nicegui import run, ui

from replnet.live.pool import Failure
from replnet.text.yaml_writer import yaml_text
from replnet.web.desk import Desk
from replnet.web.frame import Opened, chart, copied, drawn, framed, table, tabled
from replnet.web.sweep_view import cell_view, stamp, sweep_view

EVERY = 2.0  # seconds between looks at the directory
PATIENCE = 60.0


def page(opened: Opened) -> Callable[..., Any]:
    def read() -> None:
        if opened.folder is None:
            with framed("/read", "Read"):
                ui.label("No sweep is open. Begin with its directory: replnet ui DIR").classes("rn-quiet")
            return
        with framed("/read", f"Read: {opened.folder}"):
            Reader(opened.folder)

    return read


def cell_page(opened: Opened) -> Callable[..., Any]:
    def cell(request: Request) -> None:
        with framed("/read", f"Read: {opened.folder}"):
            ui.link("All cells", "/read").classes("rn-link")
            body = ui.element("div").classes("rn-stack")

        async def fill() -> None:
            found = await _asked(Desk(PATIENCE), cell_view, (opened.folder, request.query_params.get("key", "")))
            with body:
                _cell(found)

        if opened.folder is not None:
            ui.timer(0.0, fill, once=True)

    return cell


def _cell(found: dict[str, Any]) -> None:
    if found["error"]:
        ui.label(found["error"]).classes("rn-bad").props("role=alert")
        return
    ui.label(found["title"]).classes("text-lg")
    _lines(found["words"])
    tabled(table("Rows of the cell"), found["rows"], found["columns"])
    copied("What was run", yaml_text({**found["subject"], "run": found["settings"]}))


@final
class Reader:
    """A page that looks at the directory again and again, and shows what has changed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.busy = folder, False
        self.seen: Any = None
        self.desk, self.charts = Desk(PATIENCE), list[Any]()
        self.title = ui.label("Reading …").classes("text-lg")
        self.progress = ui.linear_progress(0.0, show_value=False).props('aria-label="Finished cells" instant-feedback')
        self.words = ui.element("div").classes("rn-stack").props("role=status aria-live=polite")
        self.figures = ui.element("div").classes("rn-stack")
        self.table = table("Rows of the sweep")
        self.few = ui.label("").classes("rn-quiet")
        ui.context.client.on_delete(self.desk.close)
        ui.timer(EVERY, self._look, immediate=True)

    async def _look(self) -> None:
        now = await run.io_bound(stamp, self.folder)
        if self.busy or now == self.seen:
            return
        self.busy = True
        try:
            found = await _asked(self.desk, sweep_view, self.folder)
        finally:
            self.busy = False
        self.seen = now
        self._show(found)

    def _show(self, found: dict[str, Any]) -> None:
        self.words.clear()
        if found["error"]:
            self.title.set_text("This cannot be read:")
            with self.words:
                ui.label(found["error"]).classes("rn-bad").props("role=alert")
            return
        self.title.set_text(found["title"])
        self.progress.set_value(found["share"])
        with self.words:
            for one in found["words"]:
                ui.label(one).classes("rn-bad" if found["failed"] else "rn-quiet")
            if found["verdict"]:
                ui.label(found["verdict"])
            _lines(found["claims"])
        self._draw(found)
        tabled(self.table, found["rows"], found["columns"])
        left = found["count"] - len(found["rows"])
        self.few.set_text(f"The {len(found['rows']):,} rows that matter most; {left:,} more agree." if left else "")

    def _draw(self, found: dict[str, Any]) -> None:
        """As many charts as there are panels; those that are there stay."""
        if len(self.charts) != len(found["charts"]):
            self.figures.clear()
            with self.figures:
                _lines(filter(None, [found["legend"]]))
                self.charts = [_figure(title, options) for title, options in found["charts"]]
            return
        for one, (_, options) in zip(self.charts, found["charts"], strict=True):
            drawn(one, options)


def _figure(title: str, options: dict[str, Any]) -> Any:
    if title:
        ui.label(title).classes("font-medium")
    return chart(options, f"Predicted and measured {title}".strip())


def _lines(words: Iterable[str]) -> None:
    for one in words:
        ui.label(one).classes("rn-quiet")


async def _asked(desk: Desk, work: Callable[..., Any], job: Any) -> dict[str, Any]:
    found = await desk.ask(work, job)
    return {"error": found.reason} if isinstance(found, Failure) else found

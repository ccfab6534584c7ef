"""The pages of a sweep: its table and its curves while it grows and when it is done, and a page for each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, final

from fastapi import Request
from nicegui import background_tasks, run, ui

from replnet.show import Table
from replnet.show.web.desk import LatestOnly
from replnet.show.web.field_controls import TextBox
from replnet.show.web.frame import (
    address,
    chart,
    copyable_text,
    csv_button,
    fill_table,
    page_frame,
    redraw,
    replace_address,
    table,
)
from replnet.show.web.opened import Opened
from replnet.show.web.sweep_view import cell_view, directory_stamp, matching_rows, sweep_view
from replnet.text import yaml_text
from replnet.workers import Failure

SECONDS_BETWEEN_LOOKS = 2.0  # seconds between looks at the directory
LONGEST_WAIT = 60.0  # seconds for which a sweep, or a cell, may take to be read
FILTER_HINT = "words that all occur in a row, such as: differ 'level 1' rate=2"


def page(opened: Opened) -> Callable[..., Any]:
    """Return the function that builds the page Read, of the sweep that the command has opened."""

    def read(request: Request) -> None:
        """Build the page Read, with the filter that the address names, or with how a sweep is opened if none is."""
        if opened.folder is None:
            with page_frame("/read", "Read"):
                ui.label("No sweep is open. Begin with its directory: replnet ui DIR").classes("rn-quiet")
            return
        with page_frame("/read", f"Read: {opened.folder}"):
            Reader(opened.folder, request.query_params.get("filter", ""))

    return read


def cell_page(opened: Opened) -> Callable[..., Any]:
    """Return the function that builds the page of one cell, whose key is in the address of the request."""

    def cell(request: Request) -> None:
        """Build the page of the cell, without content if no sweep is open."""
        with page_frame("/read", f"Cell of {opened.folder}"):
            ui.link("All cells", "/read").classes("rn-link")
            body = ui.element("div").classes("rn-stack")

        async def fill() -> None:
            """Read the cell in another process, and show it."""
            view = await _as_view(
                LatestOnly(LONGEST_WAIT), cell_view, (opened.folder, request.query_params.get("key", ""))
            )
            with body:
                _cell(view)

        if opened.folder is not None:
            ui.timer(0.0, fill, once=True)

    return cell


def _cell(view: dict[str, Any]) -> None:
    """Show a cell, as `sweep_view.cell_view` returns it: its title, words, rows and run, or the error if it has one."""
    if view["error"]:
        ui.label(view["error"]).classes("rn-bad").props("role=alert")
        return
    ui.label(view["title"]).classes("rn-heading")
    _lines(view["words"])
    fill_table(table("Rows of the cell"), view["table"])
    if view["table"].rows:
        csv_button("cell", lambda: view["table"]).classes("rn-button rn-start")
    copyable_text("What was run", yaml_text({**view["subject"], "run": view["settings"]}))


@final
class Reader:
    """A page that looks at the directory of a sweep again and again, and shows what has changed.

    `words` filter the rows of its table at first.
    """

    def __init__(self, folder: Path, words: str = "") -> None:
        self.folder, self.filter, self.busy = folder, words, False
        self.rows, self.shown, self.links, self.omitted = Table((), ()), Table((), ()), list[str](), 0
        self.seen: Any = None
        self.desk, self.charts = LatestOnly(LONGEST_WAIT), list[Any]()
        self.title = ui.label("Reading …").classes("rn-heading")
        self.progress = ui.linear_progress(0.0, show_value=False).props('aria-label="Finished cells" instant-feedback')
        self.words = ui.element("div").classes("rn-stack").props("role=status aria-live=polite")
        self.figures = ui.element("div").classes("rn-stack")
        with ui.element("div").classes("rn-tools") as self.tools:
            self.box = TextBox("filter the rows", words, self._set_filter, FILTER_HINT, eager=True)
            self.box.classes("rn-filter")
            csv_button(folder.name or "sweep", lambda: self.shown).classes("rn-button")
        self.tools.set_visibility(False)
        self.table = table("Rows of the sweep")
        self.client = ui.context.client
        self.few = ui.label("").classes("rn-quiet")
        ui.context.client.on_delete(self.desk.close)
        ui.timer(SECONDS_BETWEEN_LOOKS, self._look, immediate=True)

    async def _look(self) -> None:
        """Read the sweep in another process and show it, if its directory has changed and it is not just being read."""
        changed_stamp = await run.io_bound(directory_stamp, self.folder)
        if self.busy or changed_stamp == self.seen:
            return
        self.busy = True
        try:
            view = await _as_view(self.desk, sweep_view, self.folder)
        finally:
            self.busy = False
        self.seen = changed_stamp
        self._show(view)

    def _show(self, view: dict[str, Any]) -> None:
        """Show a sweep, as `sweep_view.sweep_view` returns it: words, charts and table, or the error if it has one."""
        self.words.clear()
        if view["error"]:
            self.title.set_text("This cannot be read:")
            with self.words:
                ui.label(view["error"]).classes("rn-bad").props("role=alert")
            return
        self.title.set_text(view["title"])
        self.progress.set_value(view["share"])
        with self.words:
            for text in view["words"]:
                ui.label(text).classes("rn-bad" if view["failed"] else "rn-quiet")
            if view["verdict"]:
                ui.label(view["verdict"])
            _lines(view["claims"])
        self._draw(view)
        self.rows, self.links, self.omitted = view["table"], view["links"], view["count"] - len(view["table"].rows)
        self.tools.set_visibility(bool(self.rows.rows))
        self._fill()

    def _set_filter(self, words: str) -> None:
        """Show the rows in which all of these words occur, in a moment, and put the words into the address."""
        self.filter = words
        replace_address(self.client, address("/read", *([("filter", words)] if words else [])))
        background_tasks.create_lazy(self._fill_later(), name=f"filter {id(self)}")

    async def _fill_later(self) -> None:
        """Fill the table, in the background, where only the latest of several calls counts."""
        self._fill()

    def _fill(self) -> None:
        """Fill the table with the rows that have the words of the filter, and say how many of all rows these are."""
        self.shown, links = matching_rows(self.rows, self.links, self.filter)
        fill_table(self.table, self.shown, links)
        count = len(self.rows.rows)
        few = f"The {count:,} rows that matter most; {self.omitted:,} more agree." if self.omitted else ""
        passed = f"{len(self.shown.rows):,} of {count:,} rows have these words." if self.filter else ""
        self.few.set_text(" ".join(filter(None, [passed, few])))

    def _draw(self, view: dict[str, Any]) -> None:
        """Draw a chart for each panel of a sweep, as `sweep_view.sweep_view` returns it, in the present charts if their
        number is right.
        """
        if len(self.charts) != len(view["charts"]):
            self.figures.clear()
            with self.figures:
                _lines(filter(None, [view["legend"]]))
                self.charts = [_figure(title, options) for title, options in view["charts"]]
            return
        for existing, (_, options) in zip(self.charts, view["charts"], strict=True):
            redraw(existing, options)


def _figure(title: str, options: dict[str, Any]) -> Any:
    """Add a chart with these options of ECharts to the page, below its title if that is not empty; return the chart."""
    if title:
        ui.label(title).classes("rn-subtitle")
    return chart(options, f"Predicted and measured {title}".strip())


def _lines(texts: Iterable[str]) -> None:
    """Add a quiet line for each text."""
    for text in texts:
        ui.label(text).classes("rn-quiet")


async def _as_view(desk: LatestOnly, work: Callable[..., Any], job: Any) -> dict[str, Any]:
    """Return what `work(job)` returns, computed in the process of `desk`; {"error": the reason} if that fails."""
    answer = await desk.ask(work, job)
    return {"error": answer.reason} if isinstance(answer, Failure) else answer

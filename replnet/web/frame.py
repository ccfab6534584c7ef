"""What all pages have in common: what was opened, addresses, the head of a page, text to copy."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final
from urllib.parse import urlencode

from nicegui import ui

from replnet.web.series import columns

Pair = tuple[str, str]

PAGE = 15  # rows of a table
SOON = 0.03  # seconds for which a slider may move on before it is answered

# A head that the keyboard reaches: what it does by itself on a click, it does on Enter too.
HEAD = '<q-th :props="props"><button type="button" class="rn-sort">{{ props.col.label }}</button></q-th>'
# Sorting makes the heads anew, after a while; the one that was pressed gets the focus back, unless another has it.
REFOCUS = """<script>document.addEventListener('click', event => {
  const head = event.target.closest('.rn-sort'), table = head?.closest('table'), words = head?.innerText;
  const again = left => {
    if (document.activeElement === document.body)
      [...table.querySelectorAll('.rn-sort')].find(one => one.innerText === words)?.focus();
    if (left) setTimeout(again, 50, left - 1);
  };
  if (head) again(20);
});</script>"""
LINK = '<q-td :props="props"><a class="rn-link" :href="props.row.link">{{ props.value }}</a></q-td>'


@final
@dataclass(frozen=True)
class Opened:
    """What `replnet ui` was given: a network with overrides, and perhaps the directory of a sweep, a trace, or the
    record of a run that goes on."""

    network: str
    overrides: tuple[str, ...] = ()
    folder: Path | None = None
    trace: Path | None = None
    record: Path | None = None

    @property
    def start(self) -> tuple[str, list[Pair]]:
        """The page to begin with."""
        if self.trace is not None or self.record is not None:
            return "/watch", []
        if self.folder is not None:
            return "/read", []
        return "/", network_pairs(self.network, self.overrides)


def network_pairs(network: str, overrides: Iterable[str]) -> list[Pair]:
    """A network in an address."""
    return [("network", network), *(("s", one) for one in overrides)]


def address(path: str, *pairs: Pair) -> str:
    return f"{path}?{urlencode(pairs)}" if pairs else path


def renamed(client: Any, address: str) -> None:
    """The page has another address now; a reload shows the same."""
    client.run_javascript(f"history.replaceState({{}}, '', {json.dumps(address)})")


@contextmanager
def framed(path: str, heading: str, classes: str = "") -> Iterator[None]:
    """A page with its head; what is made inside stands below it."""
    ui.add_css(Path(__file__).with_name("page.css").read_text())
    ui.add_body_html(REFOCUS)
    with ui.element("header").classes("rn-head"):
        ui.html("<b>replnet</b>", sanitize=False)
        with ui.element("nav").props("aria-label=Pages").classes("flex gap-4"):
            for name, to in (("Explore", "/"), ("Watch", "/watch"), ("Read", "/read")):
                link = ui.link(name, to)
                if to == path:
                    link.props("aria-current=page")
    with ui.element("div").classes(f"rn-page {classes}"):
        with ui.element("div").classes("rn-stack").style("grid-column: 1 / -1"):
            ui.label(heading).props("role=heading aria-level=1").classes("text-xl font-semibold")
        yield


def chart(options: dict[str, Any], about: str) -> Any:
    """A chart with words for those who do not see it."""
    made = ui.echart(options, renderer="svg").classes("rn-chart")
    made.props["aria-label"] = about
    return made


def drawn(chart: Any, options: dict[str, Any]) -> None:
    """A chart shows something else."""
    chart.options.clear()
    chart.options.update(options)
    chart.update()


def slider(about: str, high: float, place: float, moved: Callable[[float], None], low: float = 0) -> Any:
    """A slider by whole steps, which tells where it was moved."""
    made = ui.slider(min=low, max=high, step=1, value=place).props(f'aria-label="{about}"')
    # It stands where the browser has moved it. What comes back from here is late, and would undo the next key.
    made.LOOPBACK = made.props["loopback"] = False
    made.on("update:model-value", lambda event: moved(event.args), throttle=SOON)
    return made


def table(about: str) -> Any:
    """A table that is sorted by its heads and scrolls by itself; its column `cell` leads to the `link` of a row."""
    with ui.element("div").classes("rn-scroll").props(f'tabindex=0 role=region aria-label="{about}"'):
        made = ui.table(columns=[], rows=[], pagination=PAGE).classes("w-full").props("dense flat")
    made.set_visibility(False)
    made.add_slot("header-cell", HEAD)
    made.add_slot("body-cell-cell", LINK)
    return made


def tabled(table: Any, rows: list[dict[str, Any]], names: Any) -> None:
    """A table has other rows, with those of the columns in which something is; it is seen if there are any."""
    table.columns = columns(rows, names)
    table.rows = [{"id": at, **row} for at, row in enumerate(rows)]
    table.set_visibility(bool(rows))
    table.props(add="hide-pagination") if len(rows) <= PAGE else table.props(remove="hide-pagination")


def copied(title: str, text: str) -> Any:
    """A text with a button that copies it; returns what changes it."""
    with ui.element("div").classes("rn-stack"):
        with ui.row().classes("items-center w-full justify-between"):
            ui.label(title).classes("font-medium")
            button = ui.button("Copy", icon="content_copy").props(f'flat dense no-caps aria-label="Copy {title}"')
        shown = ui.element("pre").classes("rn-code").props(f'tabindex=0 aria-label="{title}"')
        with shown:
            words = ui.label(text)

    def copy() -> None:
        ui.clipboard.write(words.text)
        ui.notify("Copied")

    button.on_click(copy)
    return words

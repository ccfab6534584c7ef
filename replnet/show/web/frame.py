"""The frame of all pages and what stands in it: addresses, the head of a page, charts, tables, text to copy.

What a user has named reaches a browser as a value, of an attribute or of a text, and as nothing else: markup, styles
and scripts are constants of this package, or files that it ships.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any
from urllib.parse import urlencode

from nicegui import ui

from replnet.show import Table
from replnet.show.web.opened import Pair

ROWS_PER_PAGE = 15  # rows of a table
SLIDER_THROTTLE = 0.03  # seconds at least between two positions that a moving slider sends

# The head of a column as a button, so that the keyboard reaches it: Enter sorts as a click does.
HEADER_CELL = '<q-th :props="props"><button type="button" class="rn-sort">{{ props.col.label }}</button></q-th>'
LINK_CELL = '<q-td :props="props"><a class="rn-link" :href="props.row.link">{{ props.value }}</a></q-td>'


def address(path: str, *pairs: Pair) -> str:
    """Return the address of the page at `path`, with a query of these (name, value) pairs if there are any."""
    return f"{path}?{urlencode(pairs)}" if pairs else path


def replace_address(client: Any, address: str) -> None:
    """Show another address for the page in the browser of `client`, without loading it, so that a reload shows the
    same.
    """
    with client:
        ui.navigate.history.replace(address)


def with_attributes(element: Any, **attributes: str) -> Any:
    """Set attributes of an element, with hyphens for the underscores in their names, and return the element.

    NiceGUI's `props` reads a text, in which a value could go on as another attribute; here a value stays a value.
    """
    for name, value in attributes.items():
        element.props[name.replace("_", "-")] = value
    return element


@contextmanager
def page_frame(path: str, heading: str) -> Iterator[Any]:
    """Begin a page with its navigation, in which the page at `path` is the current one, with a heading, and with the
    same words as its title; yield the element for its content.
    """
    ui.page_title(f"{heading} · replnet")
    with ui.element("header").classes("rn-head"):
        with ui.element("b"):
            ui.label("replnet")
        with ui.element("nav").props("aria-label=Pages"):
            for name, target in (("Explore", "/"), ("Watch", "/watch"), ("Read", "/read")):
                link = ui.link(name, target)
                if target == path:
                    link.props("aria-current=page")
    with ui.element("div").classes("rn-page") as body:
        with ui.element("div").classes("rn-stack rn-title"):
            ui.label(heading).props("role=heading aria-level=1")
        yield body


def chart(options: dict[str, Any], about: str) -> Any:
    """Add a chart with these `options` of ECharts to the page, and return it.

    `about` describes it for users who do not see it.
    """
    return ui.echart(_with_description(options, about), renderer="svg").classes("rn-chart")


def redraw(chart: Any, options: dict[str, Any], about: str = "") -> None:
    """Show other options of ECharts in a chart, in place of all that it has.

    `about` describes it for users who do not see it; if it is empty, the description stays.
    """
    new = _with_description(options, about or chart.options["aria"]["label"]["description"])
    chart.options.clear()
    chart.options.update(new)
    chart.update()


def _with_description(options: dict[str, Any], about: str) -> dict[str, Any]:
    """Return the options of a chart with a description, which ECharts makes its name for users who do not see it."""
    return {**options, "aria": {"enabled": True, "label": {"description": about}}}


def slider(about: str, high: float, position: float, on_move: Callable[[float], None], low: float = 0) -> Any:
    """Add a slider that moves by ones from `low` to `high` and stands at `position`, and return it.

    `about` names it for users who do not see it, and `on_move` is called with each new position.
    """
    control = with_attributes(ui.slider(min=low, max=high, step=1, value=position), aria_label=about)
    # It stands where the browser has moved it: a position that the server sent back would come late, and undo the
    # next key.
    control.LOOPBACK = control.props["loopback"] = False
    control.on("update:model-value", lambda event: on_move(event.args), throttle=SLIDER_THROTTLE)
    return control


def table(about: str) -> Any:
    """Add a sortable table, hidden until it has rows, and return it; `about` names it for users who do not see it.

    Cells in its column named "cell" lead to the address `link` of their row.
    """
    with with_attributes(ui.element("div").classes("rn-scroll").props("tabindex=0 role=region"), aria_label=about):
        grid = ui.table(columns=[], rows=[], pagination=ROWS_PER_PAGE).classes("rn-wide").props("dense flat")
    grid.set_visibility(False)
    grid.add_slot("header-cell", HEADER_CELL)
    grid.add_slot("body-cell-cell", LINK_CELL)
    return grid


def fill_table(grid: Any, table: Table, links: Sequence[str] = ()) -> None:
    """Show a table in a `grid` of the page, without columns that are empty; hide the grid if there are no rows.

    `links` are the addresses to which the cells of its column "cell" lead, row by row, if it has one.
    """
    wide = {"note": "white-space: normal; min-width: 18rem"}
    grid.columns = [
        {"name": title, "label": title, "field": title, "align": "left", "sortable": True, "style": wide.get(title, "")}
        for title in table.without_empty_columns.columns
    ]
    records = zip_longest(table.records, links)
    grid.rows = [{"id": number, **record, "link": link} for number, (record, link) in enumerate(records)]
    grid.set_visibility(bool(table.rows))
    is_short = len(table.rows) <= ROWS_PER_PAGE
    grid.props(add="hide-pagination") if is_short else grid.props(remove="hide-pagination")


def csv_button(name: str, table: Callable[[], Table]) -> Any:
    """Add a button that downloads a table as CSV, and return it.

    `name` is that of the file without its ending, and `table` returns the table as it is then.
    """

    def download() -> None:
        """Send the table to the browser, as a file."""
        ui.download.content(table().csv.encode(errors="replace"), f"{name}.csv", "text/csv")

    return ui.button("Download CSV", icon="download", on_click=download).props("outline dense no-caps")


def copyable_text(title: str, text: str) -> Any:
    """Add a text with a title and a button that copies it; return the label that holds it, to change the text."""
    with ui.element("div").classes("rn-stack"):
        with ui.row().classes("rn-ends"):
            ui.label(title).classes("rn-subtitle")
            button = ui.button("Copy", icon="content_copy").props("flat dense no-caps")
            with_attributes(button, aria_label=f"Copy {title}")
        with with_attributes(ui.element("pre").classes("rn-code").props("tabindex=0"), aria_label=title):
            label = ui.label(text)

    def copy() -> None:
        """Copy the text as it is now to the user's clipboard."""
        ui.clipboard.write(label.text)
        ui.notify("Copied")

    button.on_click(copy)
    return label

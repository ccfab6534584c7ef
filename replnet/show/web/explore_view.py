"""What the page of a network shows: its tools, the chart of a metric over a field, and the numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

from nicegui import ui

from replnet.show import Table, result_table
from replnet.show.web import series
from replnet.show.web.controls import Control
from replnet.show.web.field_curve import Variant, field_chart, left_out
from replnet.show.web.frame import address, chart, copyable_text, fill_table, redraw, table
from replnet.show.web.opened import network_pairs
from replnet.show.web.series import Row

TABLE_COLUMNS = ("group", "metric", "predicted", "measured", "95 % interval", "verdict", "note")
KEPT_COLUMNS = ("group", "metric", "predicted", "kept", "change", "measured", "95 % interval", "verdict", "note")
MARKS = "Lines: predicted. ◇: predicted for this network; in it, filled: measured, with its 95 % interval."


@final
class ExploreTools:
    """The choices of a network, of a metric and of the field below the curve, and buttons for drafts of the network.

    `on_metric` and `on_over` are called with the name of the metric, and the key of the field, that the user chooses.
    """

    def __init__(
        self, networks: list[str], source: str, on_metric: Callable[[str], None], on_over: Callable[[str], None]
    ) -> None:
        self._metric, self._over = "", ""

        def choose_metric(event: Any) -> None:
            """Pass on a metric that the user chooses, and none that the server sets."""
            if event.value != self._metric:
                on_metric(event.value)

        def choose_field(event: Any) -> None:
            """Pass on a field that the user chooses, and none that the server sets."""
            if event.value and event.value != self._over:
                on_over(event.value)

        with ui.element("section").classes("rn-tools").props("aria-label=View") as self._place:
            network = ui.select(
                networks, value=source, label="network",
                on_change=lambda event: ui.navigate.to(address("/", *network_pairs(event.value, []))),
            )  # fmt: skip
            self._metrics = ui.select({}, label="metric", on_change=choose_metric)
            self._fields = ui.select({}, label="over the field", on_change=choose_field)
        for choice in (network, self._metrics, self._fields):
            choice.classes("rn-choice").props("dense options-dense")
        self._buttons = list[Any]()

    def add_buttons(self, actions: Mapping[str, Callable[[], None]]) -> None:
        """Add a button for each of `actions`, which are functions without arguments by the words on the button."""
        with self._place:
            self._buttons += [
                ui.button(words, on_click=act).props("no-caps outline dense").classes("rn-button")
                for words, act in actions.items()
            ]

    def show_metrics(self, names: Sequence[str], chosen: str) -> None:
        """Show the metrics to choose from, of which `chosen` is the one that is drawn."""
        self._metric = chosen
        self._metrics.set_options({name: name.replace("_", " ") for name in names}, value=chosen)

    def show_fields(self, labels: Mapping[str, str], chosen: str) -> None:
        """Show the fields to choose from, as labels by key, and the key `chosen` of the one below the curve.

        There is none if that is empty.
        """
        self._over = chosen
        self._fields.set_options(dict(labels), value=chosen if chosen in labels else None)

    def show_buttons(self, usable: Sequence[bool], has_kept: bool) -> None:
        """Enable those of the first buttons that are `usable`, in their order; show the others only if `has_kept`."""
        for button, can_be in zip(self._buttons, usable, strict=False):
            button.set_enabled(can_be)
        for button in self._buttons[len(usable) :]:
            button.set_visibility(has_kept)


@final
class ExploreView:
    """The line of the status, the chart, and the numbers of a network; `watch` is the address of the page Watch."""

    def __init__(self, watch: str) -> None:
        with ui.element("section").classes("rn-stack rn-main rn-sticky").props("aria-label=Curve"):
            self.status = ui.label("").classes("rn-quiet").props("role=status aria-live=polite")
            self._error = ui.label("").classes("rn-bad").props("role=alert")
            self._chart = chart(series.by_group([]), "Predicted and measured")
        # There are no numbers before there is a network that can be.
        self._numbers = ui.element("section").classes("rn-stack rn-main").props("aria-label=Numbers")
        self._numbers.set_visibility(False)
        with self._numbers:
            self._legend = ui.label("").classes("rn-quiet")
            self.reference = ui.label("").classes("rn-quiet")
            self.sizes = [ui.label("").classes("rn-quiet") for _ in range(2)]
            self._table = table("Rows")
            self.command, self.yaml = copyable_text("Command", ""), copyable_text("YAML", "")
            self.watch = ui.link("Watch a run of it", watch).classes("rn-link")

    def say(self, words: str, error: str = "") -> None:
        """Show `words` as the status, and below them what is wrong; nothing if `error` is empty."""
        self.status.set_text(words)
        self._error.set_text(error)

    def draw(self, metric: str, field: Control | None, now: Variant, reference: Variant | None) -> None:
        """Draw the metric over the field, or by group if there is none, and fill the table.

        `now` is the network as it is, and `reference` the variant that is compared with it, if there is one.
        """
        self._numbers.set_visibility(True)
        about = f"Predicted and measured {metric.replace('_', ' ')}"
        if field is None:
            redraw(self._chart, series.by_group(now.rows, metric), about)
            self._legend.set_text("")
        else:
            redraw(self._chart, field_chart(field, metric, now, reference), f"{about} over {field.label}")
            dashed = "" if reference is None else "Dashed: the kept one."
            self._legend.set_text(" ".join(filter(None, [MARKS, dashed, left_out(metric, now)])))
        fill_table(self._table, _rows_table(now.rows, None if reference is None else reference.rows))


def _rows_table(rows: Sequence[Row], reference: Sequence[Row] | None) -> Table:
    """Return the table of rows, as dictionaries; with rows of another network, `reference`, also the change since.

    The change is that of the predicted value, None where one of the two is missing.
    """
    if reference is None:
        return result_table(rows).select(TABLE_COLUMNS)
    before = {(row["group"], row["metric"]): row["predicted"] for row in reference}
    values = [before.get((row["group"], row["metric"])) for row in rows]
    changes = [
        None if value is None or row["predicted"] is None else row["predicted"] - value
        for row, value in zip(rows, values, strict=True)
    ]
    return result_table(rows, more={"kept": values, "change": changes}).select(KEPT_COLUMNS)

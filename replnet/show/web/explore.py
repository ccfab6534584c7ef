"""The page of a network: fields to move, predictions that follow at once, and emulated points behind them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from functools import partial
from typing import Any, final

from fastapi import Request
from nicegui import background_tasks, ui

from replnet.show import result_table
from replnet.show.web import controls, series
from replnet.show.web.answers import NetworkQuestion, best_size, emulate_rows, predict_rows, smallest_size
from replnet.show.web.controls import Control
from replnet.show.web.desk import LatestOnly
from replnet.show.web.field_controls import Field, FieldPanel
from replnet.show.web.frame import (
    address,
    chart,
    copyable_text,
    fill_table,
    page_frame,
    redraw,
    replace_address,
    table,
    with_attributes,
)
from replnet.show.web.opened import Opened, network_pairs
from replnet.text import FieldError
from replnet.workers import Failure

SETTLING_TIME = 0.3  # seconds without a change after which it is worth to emulate
SLOW_AFTER = 0.1  # seconds after which a prediction is called slow
PREDICTION_PATIENCE = 2.0  # seconds that a new question waits for the answer to an old one
RUN_LENGTHS = (0.05, 1.0)  # of the runs that emulate a network, one after another, as shares of the usual length
TABLE_COLUMNS = ("group", "metric", "predicted", "measured", "95 % interval", "verdict", "note")


def page(opened: Opened) -> Callable[..., Any]:
    """Return the function that builds the page Explore in place, for a request; its networks are those that the command
    has opened.
    """

    def explore(request: Request) -> None:
        """Build the page of the network, with the overrides and the target, that the address names."""
        parameters = request.query_params
        source, target = parameters.get("network", opened.network), parameters.get("target", "0.9")
        overrides = parameters.getlist("s") if "network" in parameters else opened.overrides
        with page_frame("/", f"Explore: {source}") as body:
            body.classes("two")
            try:
                explorer = Explorer(opened, source, controls.read_assignments(overrides), _share(target))
                explorer.build()
            except ValueError as error:
                ui.label(str(error)).classes("rn-bad").props("role=alert")
                start = source if source in opened.networks else opened.network
                ui.link("Begin with the network as it is", address("/", *network_pairs(start, [])))

    return explore


@final
class Explorer:
    """The page of a network: controls for its fields, its predicted and emulated freshness, its command and YAML.

    `source` is the network's file or shipped name, `assignments` are the texts of changed fields by key, and `target`
    is the freshness that the user wants. Raises a ValueError if these make no network that is open.
    """

    def __init__(self, opened: Opened, source: str, assignments: dict[str, str], target: float) -> None:
        self.opened, self.source, self.assignments, self.target = opened, source, assignments, target
        self.document = opened.document(source)
        self.question = self._current_question()
        self.controls = controls.controls(self.document, assignments)
        # A run may begin with compiling, which must not be given up.
        self.desks = {name: LatestOnly(PREDICTION_PATIENCE) for name in ("predict", "size", "best")} | {
            "emulate": LatestOnly(120.0)
        }
        self.change = 0

    # ---- What is on the page

    def build(self) -> None:
        """Put the controls, the chart and the numbers on the page, and ask for the first prediction."""
        with ui.element("section").classes("rn-stack rn-side").props("aria-label=Fields"):
            ui.select(
                self.opened.networks, value=self.source, label="network",
                on_change=lambda event: ui.navigate.to(address("/", *network_pairs(event.value, []))),
            ).classes("rn-wide").props("dense options-dense")  # fmt: skip
            self.wanted = Field(self._target, self._set_target)
            self.panel = FieldPanel(self._set, self._set_family)
            self.panel.show(self.controls)
        with ui.element("section").classes("rn-stack rn-main rn-sticky").props("aria-label=Freshness"):
            self.status = ui.label("").classes("rn-quiet").props("role=status aria-live=polite")
            self.error = ui.label("").classes("rn-bad").props("role=alert")
            self.chart = chart(series.by_group([]), "Freshness by group, predicted and measured")
        # There are no numbers before there is a network that can be.
        self.numbers = ui.element("section").classes("rn-stack rn-main").props("aria-label=Numbers")
        self.numbers.set_visibility(False)
        with self.numbers:
            self.sizes = [ui.label("").classes("rn-quiet") for _ in range(2)]
            self.table = table("Rows")
            self.command, self.yaml = copyable_text("Command", ""), copyable_text("YAML", "")
            self.watch = ui.link("Watch a run of it", self._address("/watch")).classes("rn-link")
        self.client = ui.context.client
        self.client.on_delete(self._leave)
        ui.timer(0.0, self._answer, once=True)

    @property
    def _target(self) -> Control:
        """The control of the freshness that the user wants."""
        return Control("target", "number", self.target, "the freshness that is wanted", 0.0, 1.0)

    # ---- What the user does

    def _set_target(self, text: str) -> None:
        """Set the wanted freshness to the number in `text` and ask again, or show what is wrong with the text."""
        try:
            self.target = _share(text)
        except ValueError as error:
            self._fail(str(error))
            return
        self.wanted.show(self._target)
        self._update_question()

    def _set(self, key: str, text: str) -> None:
        """Set the field at `key` to a text that the user gives, show the fields that the network has now, and ask
        again; or show what is wrong with it.
        """
        self.assignments = controls.assign(self.assignments, key, text)
        try:
            self.controls = controls.controls(self.document, self.assignments)
            self.panel.show(self.controls)
            self._update_question()
        except ValueError as error:
            self._fail(str(error))

    def _set_family(self, key: str, family: str) -> None:
        """Give the law at `key` another family, at its present rate.

        The rate is that of the family's example if the network as it is reads files that are not open, or the present
        law has no rate that the family can have.
        """
        try:
            self._current_question()
            text = next(str(control.value) for control in self.controls if (control.key, control.kind) == (key, "law"))
        except ValueError:
            text = ""
        self._set(key, controls.family_text(text, family))

    def _update_question(self) -> None:
        """Ask about the fields as they are now, in the background, and let the link to the page Watch lead to a run of
        them.

        Raise a ValueError if the network reads files that are not open.
        """
        self.question = self._current_question()
        with_attributes(self.watch, href=self._address("/watch"))
        background_tasks.create_lazy(self._answer(), name=f"answer {id(self)}")

    # ---- What follows

    def _current_question(self) -> NetworkQuestion:
        """Return the question about the network as it is now; raise a ValueError if it reads files that are
        not open.
        """
        texts = controls.override_texts(self.assignments)
        return self.opened.question(self.source, self.document, texts, self.target)

    def _address(self, path: str) -> str:
        """Return the address of the page at `path` for the network, and the wanted freshness, as they are now."""
        return address(path, *network_pairs(self.source, self.question.overrides), ("target", f"{self.target:.6g}"))

    async def _answer(self) -> None:
        """Show the prediction for the network as it is now, or what is wrong with it; then start, in the background,
        the answers that take longer.
        """
        self.change += 1
        change, question = self.change, self.question
        late = asyncio.get_running_loop().call_later(SLOW_AFTER, self._say_slow, change)
        reply = _as_reply(await self.desks["predict"].ask(predict_rows, question))
        late.cancel()
        if change != self.change or reply is None:
            return
        if reply["error"]:
            self._fail(reply["error"])
            return
        for size in self.sizes:
            size.set_text("")
        self._show("Predicted.", reply["answer"])
        background_tasks.create(self._answer_later(change, question), name=f"later {id(self)} {change}")

    async def _answer_later(self, change: int, question: NetworkQuestion) -> None:
        """Wait until the fields have settled; then show the command and the YAML, find both sizes, and emulate.

        Do nothing if the fields have changed since change number `change`, when they were those of `question`.
        """
        await asyncio.sleep(SETTLING_TIME)
        if change != self.change:
            return
        self._show_command()
        await asyncio.gather(
            self._answer_size(change, question, 0, self.desks["size"], smallest_size),
            self._answer_size(change, question, 1, self.desks["best"], best_size),
            self._emulate(change, question),
        )

    async def _answer_size(
        self, change: int, question: NetworkQuestion, at: int, desk: LatestOnly, work: Callable[..., Any]
    ) -> None:
        """Let `work`, in the process of `desk`, answer `question`, and show the sentence in the label `self.sizes[at]`.

        The answer is dropped if the fields have changed since change number `change`.
        """
        late = asyncio.get_running_loop().call_later(1.0, self.sizes[at].set_text, "Looking for the size …")
        reply = _as_reply(await desk.ask(work, question))
        late.cancel()
        if change == self.change and reply is not None:
            self.sizes[at].set_text(reply["error"] or " ".join(reply["answer"]))

    async def _emulate(self, change: int, question: NetworkQuestion) -> None:
        """Emulate a short and then a full run, and show the rows of each, or what is wrong; stop if the fields have
        changed since change number `change`.
        """
        for share in RUN_LENGTHS:
            self.status.set_text("Predicted; emulating …")
            reply = _as_reply(await self.desks["emulate"].ask(partial(emulate_rows, share=share), question))
            if change != self.change or reply is None:
                return
            if reply["error"]:
                self._fail(reply["error"])
                return
            self._show("Predicted and emulated.", reply["answer"])

    # ---- Showing it

    def _show(self, words: str, rows: list[dict[str, Any]]) -> None:
        """Show rows, as dictionaries, in the chart and in the table, and `words` in the line of the status; clear the
        error.
        """
        self.error.set_text("")
        self.numbers.set_visibility(True)
        self.status.set_text(words)
        redraw(self.chart, series.by_group(rows))
        fill_table(self.table, result_table(rows).select(TABLE_COLUMNS))

    def _say_slow(self, change: int) -> None:
        """Say that the prediction takes longer, unless the fields have changed since `change`."""
        if change == self.change:
            self.status.set_text("Predicting; this one takes longer …")

    def _show_command(self) -> None:
        """Show the command, the YAML and, in the browser, the address of the network as it is now."""
        self.command.set_text(controls.command(self.source, self.assignments))
        self.yaml.set_text(controls.yaml_of(self.document, self.assignments))
        replace_address(self.client, self._address("/"))

    def _fail(self, words: str) -> None:
        """Show `words` as what is wrong with the network; answers that are still computed will be dropped."""
        self.change += 1
        self.status.set_text("This network cannot be:")
        self.error.set_text(words)

    async def _leave(self) -> None:
        """End the processes that answer, as the browser has left the page."""
        self.change += 1
        for desk in self.desks.values():
            await desk.close()


def _as_reply(answer: Any) -> dict[str, Any] | None:
    """Return a Failure as {"answer": [], "error": its reason}, and any other answer, or None, as it came."""
    return {"answer": [], "error": answer.reason} if isinstance(answer, Failure) else answer


def _share(text: str) -> float:
    """Return the freshness in the text, moved into 0.01 to 0.99, as 0 and 1 are never reached; raise a FieldError if it
    is no number.
    """
    try:
        share = float(text)
    except ValueError:
        share = math.nan
    if math.isnan(share):
        raise FieldError("target", f"{text!r} is no number", "a freshness such as 0.9")
    return min(max(share, 0.01), 0.99)

"""The page of a network: fields to move, predictions that follow at once, and emulated points behind them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, final

from fastapi import Request
from nicegui import background_tasks, ui

from replnet.live.pool import Failure
from replnet.text.documents import shipped_names
from replnet.web import controls, series
from replnet.web.answers import NetworkQuestion, best_size, emulated, predicted, sized
from replnet.web.controls import Control
from replnet.web.desk import Desk
from replnet.web.frame import (
    Opened,
    address,
    chart,
    copied,
    drawn,
    framed,
    network_pairs,
    renamed,
    slider,
    table,
    tabled,
)

SETTLED = 0.3  # seconds without a change after which it is worth to emulate
QUICK = 0.1  # seconds after which a prediction is called slow
PATIENCE = 2.0  # seconds that a new question waits for the answer to an old one
LENGTHS = (0.05, 1.0)  # of runs, one after another, as shares of the usual length
COLUMNS = ("group", "metric", "predicted", "measured", "interval", "verdict", "note")


def page(opened: Opened) -> Callable[..., Any]:
    def explore(request: Request) -> None:
        asked = request.query_params
        source, target = asked.get("network", opened.network), asked.get("target", "0.9")
        given = asked.getlist("s") if "network" in asked else opened.overrides
        with framed("/", f"Explore: {source}", "two"):
            try:
                explorer = Explorer(source, controls.read_assignments(given), min(max(float(target), 0.01), 0.99))
                explorer.build()
            except ValueError as error:
                ui.label(str(error)).classes("rn-bad").props("role=alert")
                ui.link("Begin with the network as it is", address("/", *network_pairs(source, [])))

    return explore


@final
class Explorer:
    """One page: what the network is now, and what is shown of it."""

    def __init__(self, source: str, assignments: dict[str, str], target: float) -> None:
        self.source, self.assignments, self.target = source, assignments, target
        self.document = controls.document_of(source)
        self.controls = controls.controls(self.document, assignments)
        # A run may begin with compiling, which must not be given up.
        self.desks = {name: Desk(PATIENCE) for name in ("predict", "size", "best")} | {"emulate": Desk(120.0)}
        self.change, self.inputs = 0, dict[str, Any]()

    # ---- What is on the page

    def build(self) -> None:
        with ui.element("section").classes("rn-stack rn-side").props("aria-label=Fields"):
            names = shipped_names()
            choices = names if self.source in names else [self.source, *names]
            ui.select(
                choices, value=self.source, label="network",
                on_change=lambda event: ui.navigate.to(address("/", *network_pairs(event.value, []))),
            ).classes("w-full").props("dense options-dense")  # fmt: skip
            wanted = Control("target", "number", self.target, "the freshness that is wanted", 0.0, 1.0)
            self._field(wanted, self._set_target)
            self.panel = ui.element("div").classes("rn-stack")
            self._panel()
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
            self.command, self.yaml = copied("Command", ""), copied("YAML", "")
            self.watch = ui.link("Watch a run of it", "/watch").classes("rn-link")
        self.client = ui.context.client
        self.client.on_delete(self._leave)
        ui.timer(0.0, self._answer, once=True)

    def _panel(self) -> None:
        """The fields of the file, and below them the ones that it leaves out."""
        self.panel.clear()
        with self.panel:
            for control in (one for one in self.controls if not one.usual):
                self._field(control, partial(self._set, control.key))
            usual = [one for one in self.controls if one.usual]
            with ui.expansion("More fields").classes("w-full").props("dense"), ui.element("div").classes("rn-stack"):
                for control in usual:
                    self._field(control, partial(self._set, control.key))

    def _field(self, control: Control, change: Callable[[str], None]) -> None:
        """A box for the value, and what suits its type beside it."""
        inner = "inner" if "." in control.key else ""
        text = "" if control.value is None else _text(control.value)
        with ui.element("div").classes(f"rn-field {inner}"), ui.element("div").classes("row"):
            if control.kind == "choice":
                ui.select(list(control.options), value=control.value, label=control.key,
                          on_change=lambda event: change(event.value)).props("dense options-dense")  # fmt: skip
                return
            box = ui.input(control.key, value=text).props("dense debounce=400").tooltip(control.about)
            self.inputs[control.key] = box
            box.on("change", lambda: change(box.value.strip()))
            if control.kind == "law":
                family = text.partition("(")[0]
                options = list(control.options) if family in control.options else [family, *control.options]
                ui.select(
                    options, value=family, label="family",
                    on_change=lambda event: change(controls.family_text(box.value, event.value)),
                ).props("dense options-dense")  # fmt: skip
            elif control.kind in ("number", "whole"):
                self._slider(control, box, change)

    def _slider(self, control: Control, box: Any, change: Callable[[str], None]) -> None:
        low, high = control.places

        def moved(place: float) -> None:
            text = _text(control.at(place))
            box.value = text
            change(text)

        slider(control.key, high, control.place(), moved, low)

    # ---- What the user does

    def _set_target(self, text: str) -> None:
        try:
            self.target = min(max(float(text), 0.01), 0.99)
        except ValueError:
            return
        self._changed()

    def _set(self, key: str, text: str) -> None:
        self.assignments = controls.assigned(self.assignments, key, text)
        try:
            anew = controls.controls(self.document, self.assignments)
        except ValueError as error:
            self._fail(str(error))
            return
        new = [(one.key, one.kind) for one in anew] != [(one.key, one.kind) for one in self.controls]
        self.controls = anew
        if new:  # what is moved keeps its place otherwise, and the focus
            self._panel()
        else:
            self._refresh_laws(key)
        self._changed()

    def _refresh_laws(self, key: str) -> None:
        """The text of a law shows its parameters, too."""
        for one in self.controls:
            if one.key in self.inputs and (key.startswith(f"{one.key}.") or one.key.startswith(f"{key}.")):
                self.inputs[one.key].value = "" if one.value is None else _text(one.value)

    def _changed(self) -> None:
        background_tasks.create_lazy(self._answer(), name=f"answer {id(self)}")

    # ---- What follows

    @property
    def question(self) -> NetworkQuestion:
        return NetworkQuestion(self.source, tuple(controls.spelled(self.assignments)), self.target)

    async def _answer(self) -> None:
        """The prediction now, and what takes longer when nothing has changed for a while."""
        self.change += 1
        mine, question = self.change, self.question
        late = asyncio.get_running_loop().call_later(QUICK, self._say_slow, mine)
        found = _found(await self.desks["predict"].ask(predicted, question))
        late.cancel()
        if mine != self.change or found is None:
            return
        if found["error"]:
            self._fail(found["error"])
            return
        for size in self.sizes:
            size.set_text("")
        self._show("Predicted.", found["found"])
        background_tasks.create(self._answer_later(mine, question), name=f"later {id(self)} {mine}")

    async def _answer_later(self, mine: int, question: NetworkQuestion) -> None:
        await asyncio.sleep(SETTLED)
        if mine != self.change:
            return
        self._say_same(question)
        await asyncio.gather(
            self._sizes(mine, question, 0, self.desks["size"], sized),
            self._sizes(mine, question, 1, self.desks["best"], best_size),
            self._emulate(mine, question),
        )

    async def _sizes(self, mine: int, question: NetworkQuestion, at: int, desk: Desk, work: Callable[..., Any]) -> None:
        late = asyncio.get_running_loop().call_later(1.0, self.sizes[at].set_text, "Looking for the size …")
        found = _found(await desk.ask(work, question))
        late.cancel()
        if mine == self.change and found is not None:
            self.sizes[at].set_text(found["error"] or " ".join(found["found"]))

    async def _emulate(self, mine: int, question: NetworkQuestion) -> None:
        for share in LENGTHS:
            self.status.set_text("Predicted; emulating …")
            found = _found(await self.desks["emulate"].ask(partial(emulated, share=share), question))
            if mine != self.change or found is None:
                return
            if found["error"]:
                self._fail(found["error"])
                return
            self._show("Predicted and emulated.", found["found"])

    # ---- Showing it

    def _show(self, words: str, rows: list[dict[str, Any]]) -> None:
        self.error.set_text("")
        self.numbers.set_visibility(True)
        self.status.set_text(words)
        drawn(self.chart, series.by_group(rows))
        tabled(self.table, [series.cells(row) for row in rows], COLUMNS)

    def _say_slow(self, mine: int) -> None:
        if mine == self.change:
            self.status.set_text("Predicting; this one takes longer …")

    def _say_same(self, question: NetworkQuestion) -> None:
        """The address, the command and the file of the same network."""
        self.command.set_text(controls.command(self.source, self.assignments))
        self.yaml.set_text(controls.yaml_of(self.document, self.assignments))
        pairs = [*network_pairs(self.source, question.overrides), ("target", _text(self.target))]
        self.watch.props(f'href="{address("/watch", *pairs)}"')
        renamed(self.client, address("/", *pairs))

    def _fail(self, words: str) -> None:
        self.change += 1
        self.status.set_text("This network cannot be:")
        self.error.set_text(words)

    async def _leave(self) -> None:
        self.change += 1
        for desk in self.desks.values():
            await desk.close()


def _found(answer: Any) -> dict[str, Any] | None:
    return {"found": [], "error": answer.reason} if isinstance(answer, Failure) else answer


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

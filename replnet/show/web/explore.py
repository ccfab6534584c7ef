"""The page of a network: fields to move, predictions that follow at once, and emulated points behind them."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from functools import partial
from typing import Any, final

from fastapi import Request
from nicegui import background_tasks, ui

from replnet.measure import METRICS, PLAIN_METRICS
from replnet.show.web import controls
from replnet.show.web.answers import (
    NetworkQuestion,
    best_size,
    curve_rows,
    emulate_rows,
    fault,
    predict_rows,
    smallest_size,
)
from replnet.show.web.controls import Control
from replnet.show.web.desk import LatestOnly
from replnet.show.web.drafts import Draft, Drafts
from replnet.show.web.explore_view import ExploreTools, ExploreView
from replnet.show.web.field_controls import Field, FieldPanel
from replnet.show.web.field_curve import MOST_POINTS, Points, Variant
from replnet.show.web.frame import (
    address,
    page_frame,
    replace_address,
    with_attributes,
)
from replnet.show.web.opened import Opened, network_pairs
from replnet.text import FieldError
from replnet.workers import Failure

SETTLING_TIME = 0.3  # seconds without a change after which it is worth to emulate
SLOW_AFTER = 0.1  # seconds after which a prediction is called slow
PREDICTION_PATIENCE = 2.0  # seconds that a new question waits for the answer to an old one
CURVE_STRIDES = (8, 4, 2, 1)  # between the points of a curve, as it gets finer
CURVE_PATIENCE = 3.0  # seconds after which a curve does not get finer, as that takes longer still
RUN_LENGTHS = (0.05, 1.0)  # of the runs that emulate a network, one after another, as shares of the usual length
DEFAULT_METRIC = "freshness"
FIRST_CHOICES = ("downloads.rate", "polls.rate")  # of the field below the curve, before the user moves one


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
                now = Draft(controls.read_assignments(overrides), _share(target))
                reference = [
                    Draft(controls.read_assignments(list(filter(None, parameters.getlist("kept")))), now.target)
                ]
                drafts = Drafts(now, _start(opened, source), reference[0] if "kept" in parameters else None)
                metric = _metric(parameters.get("metric", DEFAULT_METRIC))
                explorer = Explorer(opened, source, drafts, metric, parameters.get("over", ""))
                explorer.build()
            except ValueError as error:
                ui.label(str(error)).classes("rn-bad").props("role=alert")
                start = source if source in opened.networks else opened.network
                ui.link("Begin with the network as it is", address("/", *network_pairs(start, [])))

    return explore


def _start(opened: Opened, source: str) -> Draft:
    """Return the draft to which a reset goes back: the network as its file has it, or as the command has opened it."""
    overrides = opened.overrides if source == opened.network else ()
    return Draft(controls.read_assignments(overrides), 0.9)


def _metric(name: str) -> str:
    """Return the name of a metric as it is; raise a FieldError if a page can show none of this name."""
    if name not in METRICS and name not in PLAIN_METRICS:
        raise FieldError("metric", f"{name!r} is not known", "one of " + ", ".join((*METRICS, *PLAIN_METRICS)))
    return name


@final
class Explorer:
    """The page of a network: controls for its fields, a metric over one of them, its numbers, its command and YAML.

    `source` is the network's file or shipped name, `drafts` what the user makes of it, `metric` what is drawn, and
    `over` the key of the field below the curve, empty for a suitable one. Raises a ValueError if these make no network
    that is open.
    """

    def __init__(self, opened: Opened, source: str, drafts: Drafts, metric: str, over: str) -> None:
        self.opened, self.source, self.drafts, self.metric, self.over = opened, source, drafts, metric, over
        self.document = opened.document(source)
        self.question = self._current_question()
        if drafts.reference is not None:
            self._question_of(drafts.reference)
        self.controls = controls.controls(self.document, drafts.now.assignments)
        # A run may begin with compiling, which must not be given up.
        self.desks = {name: LatestOnly(PREDICTION_PATIENCE) for name in ("predict", "curve", "kept", "size", "best")}
        self.desks["emulate"] = LatestOnly(120.0)
        self.change, self.last_key = 0, ""
        self.rows, self.reference_rows = list[dict[str, Any]](), list[dict[str, Any]]()
        # The points of the curves, of the network and of the kept one, and what they are the curves of.
        self.curves, self.curves_of = tuple[Points, Points](((), ())), object()

    # ---- What is on the page

    def build(self) -> None:
        """Put the controls, the chart and the numbers on the page, and ask for the first prediction."""
        self.tools = ExploreTools(self.opened.networks, self.source, self._set_metric, self._set_over)
        self.tools.add_buttons(
            {
                "Undo": partial(self._act, self.drafts.undo),
                "Reset": partial(self._act, self.drafts.reset),
                "Keep this one": self._keep,
                "Swap with the kept one": partial(self._act, self.drafts.swap),
                "Forget the kept one": partial(self._act, self.drafts.forget),
            }
        )
        self._show_tools()
        with ui.element("section").classes("rn-stack rn-side").props("aria-label=Fields"):
            self.wanted = Field(self._target, self._set_target)
            self.panel = FieldPanel(self._set, self._set_family)
            self.panel.show(self.controls)
        self.view = ExploreView(self._address("/watch"))
        self.client = ui.context.client
        self.client.on_delete(self._leave)
        ui.timer(0.0, self._answer, once=True)
        ui.timer(0.0, self._answer_reference, once=True)

    @property
    def _target(self) -> Control:
        """The control of the freshness that the user wants, from 0 to 1."""
        about = "the freshness that is wanted, from which sizes are computed"
        return Control("target", "number", self.drafts.now.target, about, "wanted freshness", 0.0, 1.0)

    @property
    def _field(self) -> Control | None:
        """The control of the field below the curve; None if no field is a number."""
        numbers = {control.key: control for control in self.controls if control.kind in ("number", "whole")}
        choices = {key: control for key, control in numbers.items() if control.number is not None}
        first = next((key for key in FIRST_CHOICES if key in choices), next(iter(choices), ""))
        return numbers.get(self.over) or numbers.get(first)

    # ---- What the user does

    def _set_target(self, text: str) -> None:
        """Set the wanted freshness to the number in `text` and ask again, or show what is wrong with the text."""
        self.last_key = "target"
        try:
            self.drafts.change(self.drafts.now._replace(target=_share(text)), "target", time.monotonic())
        except ValueError as error:
            self._fail(*fault(error))
            return
        self._show_draft()

    def _set(self, key: str, text: str) -> None:
        """Set the field at `key` to a text that the user gives, show the fields that the network has now, and ask
        again; or show what is wrong with it.
        """
        assignments = controls.assign(self.drafts.now.assignments, key, text)
        self.drafts.change(self.drafts.now._replace(assignments=assignments), key, time.monotonic())
        self.last_key = key
        if any(control.key == key and control.number is not None for control in self.controls):
            self.over = key
        self._show_draft()

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

    def _set_metric(self, name: str) -> None:
        """Draw another metric, and ask for the values of it in the current draft and the kept one."""
        self.metric = name
        self._show_draft()
        background_tasks.create(self._answer_reference(), name=f"kept {id(self)}")

    def _set_over(self, key: str) -> None:
        """Draw the metric over the field at `key`, and ask for its values there."""
        self.over = key
        self._show_draft()

    def _keep(self) -> None:
        """Keep the current draft as the reference; do nothing if its network reads files that are not open."""
        try:
            self._current_question()
        except ValueError:
            return
        self._act(self.drafts.keep)

    def _act(self, act: Callable[[], None]) -> None:
        """Change the drafts by `act`, a method of theirs, and show the current one and the kept one."""
        reference = self.drafts.reference
        act()
        self.last_key = ""
        self._show_draft()
        if self.drafts.reference != reference:
            background_tasks.create(self._answer_reference(), name=f"kept {id(self)}")

    # ---- What follows

    def _show_draft(self) -> None:
        """Show the fields and the tools of the current draft, and ask about it; or show what is wrong with it."""
        try:
            self.controls = controls.controls(self.document, self.drafts.now.assignments)
            self.panel.show(self.controls)
            self.wanted.show(self._target)
            self._show_tools()
            self.question = self._current_question()
        except ValueError as error:
            self._show_tools()
            self._fail(*fault(error))
            return
        with_attributes(self.view.watch, href=self._address("/watch"))
        background_tasks.create_lazy(self._answer(), name=f"answer {id(self)}")

    def _current_question(self) -> NetworkQuestion:
        """Return the question about the current draft; raise a ValueError if it reads files that are not open."""
        return self._question_of(self.drafts.now)

    def _question_of(self, draft: Draft) -> NetworkQuestion:
        """Return the question about a draft of the network; raise a ValueError if it reads files that are not open."""
        texts = controls.override_texts(draft.assignments)
        question = self.opened.question(self.source, self.document, texts, draft.target)
        return question._replace(metric=self.metric)

    def _address(self, path: str) -> str:
        """Return the address of the page at `path` for the current network and the wanted freshness.

        That of this page, "/", also has the metric, the field below the curve, and the kept draft.
        """
        pairs = [*network_pairs(self.source, self.question.overrides), ("target", f"{self.question.target:.6g}")]
        if path == "/":
            pairs += [("metric", self.metric)] if self.metric != DEFAULT_METRIC else []
            pairs += [("over", self.over)] if self.over else []
            if self.drafts.reference is not None:
                pairs += [("kept", text) for text in controls.override_texts(self.drafts.reference.assignments) or [""]]
        return address(path, *pairs)

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
            self._fail(reply.get("field", ""), reply["error"])
            return
        for size in self.view.sizes:
            size.set_text("")
        self._show("Predicted.", reply["answer"])
        background_tasks.create(self._answer_later(change, question), name=f"later {id(self)} {change}")
        # On its own, as this must end before the next change is answered.
        background_tasks.create(self._answer_curve(question), name=f"curve {id(self)} {change}")

    async def _answer_curve(self, question: NetworkQuestion) -> None:
        """Compute the curves, at first of few points and then of more, and draw them; stop once others are wanted.

        Do nothing if those that there are, or are being computed, are the same ones, as while the point moves on them.
        """
        field = self._field
        if field is None:
            return
        questions = [question, *([self._question_of(self.drafts.reference)] if self.drafts.reference else [])]
        others = tuple(tuple(_without(field.key, each.overrides)) for each in questions)
        wanted = (self.metric, field.key, field.low, field.high, others)
        if wanted == self.curves_of:
            return
        self.curves, self.curves_of = ((), ()), wanted
        values, points = field.values(MOST_POINTS), [dict[float, Any]() for _ in questions]
        for stride in CURVE_STRIDES:
            more, begin = [value for value in values[::stride] if value not in points[0]], time.monotonic()
            work = partial(curve_rows, key=field.key, values=more)
            reply = _as_reply(await self.desks["curve"].ask(work, questions)) if more else {"answer": (), "error": ""}
            if wanted != self.curves_of or reply is None:
                return
            for of_one, new in zip(points, reply["answer"], strict=False):
                of_one.update(new)
            drawn = [[(x, groups) for x, groups in sorted(of_one.items()) if groups] for of_one in points]
            self.curves = drawn[0], drawn[-1] if len(drawn) > 1 else []
            self._draw()
            # The first few have to wait for a process that starts.
            if reply["error"] or (stride != CURVE_STRIDES[0] and time.monotonic() - begin > CURVE_PATIENCE):
                return

    async def _answer_reference(self) -> None:
        """Predict the kept draft, if there is one, and show its numbers beside those of the network as it is."""
        draft, self.reference_rows = self.drafts.reference, []
        if draft is not None:
            reply = _as_reply(await self.desks["kept"].ask(predict_rows, self._question_of(draft)))
            if reply is None or draft != self.drafts.reference:
                return
            self.reference_rows = reply["answer"]
        if self.rows:
            self._draw()

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
        """Let `work`, in the process of `desk`, answer `question`, and show the sentence in label `at` of the sizes.

        The answer is dropped if the fields have changed since change number `change`.
        """
        late = asyncio.get_running_loop().call_later(1.0, self.view.sizes[at].set_text, "Looking for the size …")
        reply = _as_reply(await desk.ask(work, question))
        late.cancel()
        if change == self.change and reply is not None:
            self.view.sizes[at].set_text(reply["error"] or " ".join(reply["answer"]))

    async def _emulate(self, change: int, question: NetworkQuestion) -> None:
        """Emulate a short and then a full run, and show the rows of each, or what is wrong; stop if the fields have
        changed since change number `change`.
        """
        for share in RUN_LENGTHS:
            self.view.status.set_text("Predicted; emulating …")
            reply = _as_reply(await self.desks["emulate"].ask(partial(emulate_rows, share=share), question))
            if change != self.change or reply is None:
                return
            if reply["error"]:
                self._fail(reply.get("field", ""), reply["error"])
                return
            self._show("Predicted and emulated.", reply["answer"])

    # ---- Showing it

    def _show(self, words: str, rows: list[dict[str, Any]]) -> None:
        """Show rows, as dictionaries, in the chart and in the table, and `words` in the line of the status; clear the
        error.
        """
        self.panel.mark("", "")
        self.wanted.mark("")
        self.rows = rows
        self.view.say(words)
        self._show_tools()
        self._draw()

    def _draw(self) -> None:
        """Draw the chart and fill the table from the latest rows and curves of the current draft and the kept one."""
        field, reference = self._field, self.drafts.reference
        now = Variant(self.rows, self.curves[0], field.number if field else None)
        beside = (
            Variant(self.reference_rows, self.curves[1], self._reference_value(field))
            if reference is not None
            else None
        )
        self.view.draw(self.metric, field, now, beside)
        self.view.reference.set_text(
            f"Kept: {controls.command(self.source, reference.assignments)}" if reference else ""
        )

    def _reference_value(self, field: Control | None) -> float | None:
        """Return the value of a field in the kept draft; None if there is no such field, or its value is no number."""
        assert self.drafts.reference is not None
        try:
            others = controls.controls(self.document, self.drafts.reference.assignments)
        except ValueError:
            return None
        return next((control.number for control in others if field and control.key == field.key), None)

    def _show_tools(self) -> None:
        """Show the metrics and the fields to choose from, and which of the buttons can be pressed."""
        field = self._field
        fields = {control.key: control.label for control in self.controls if control.number is not None}
        names = (self.metric, DEFAULT_METRIC, *(row["metric"] for row in self.rows), *PLAIN_METRICS)
        self.tools.show_metrics(list(dict.fromkeys(names)), self.metric)
        self.tools.show_fields(fields, field.key if field is not None else "")
        has_kept = self.drafts.reference is not None
        self.tools.show_buttons((self.drafts.can_undo, not self.drafts.is_start, True), has_kept)

    def _say_slow(self, change: int) -> None:
        """Say that the prediction takes longer, unless the fields have changed since change number `change`."""
        if change == self.change:
            self.view.status.set_text("Predicting; this one takes longer …")

    def _show_command(self) -> None:
        """Show the command, the YAML and, in the browser, the address of the network as it is now."""
        self.view.command.set_text(controls.command(self.source, self.drafts.now.assignments))
        self.view.yaml.set_text(controls.yaml_of(self.document, self.drafts.now.assignments))
        replace_address(self.client, self._address("/"))

    def _fail(self, key: str, words: str) -> None:
        """Show `words` as what is wrong with the field at `key`, there if it is on the page, else at the field that was
        changed last, else by the chart; answers that are still computed will be dropped.
        """
        self.change += 1
        at_target = key == "target" == self.last_key
        self.wanted.mark(words if at_target else "")
        marked = at_target or self.panel.mark(key, words) or self.panel.mark(self.last_key, words)
        sentence = "This network cannot be: see the field that is marked." if marked else "This cannot be:"
        self.view.say(sentence, "" if marked else f"{key}: {words}".removeprefix(": "))

    async def _leave(self) -> None:
        """End the processes that answer, as the browser has left the page."""
        self.change += 1
        for desk in self.desks.values():
            await desk.close()


def _without(key: str, overrides: tuple[str, ...]) -> list[str]:
    """Return the overrides `key=value` without those of the field at `key`."""
    return [text for text in overrides if text.partition("=")[0] != key]


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

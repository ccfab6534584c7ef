"""The fields of a network on a page: a box for each, a slider or a choice beside it, and their order.

Whatever changes a field, a box, a slider or another field, all of them show the same. A field that is already there
stays where it is, with the focus and what is being typed: others come and go around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, final

from nicegui import ui
from nicegui.element import Element

from replnet.show.web.controls import Control
from replnet.show.web.frame import slider, with_attributes

Change = Callable[[str], None]


@final
class TextBox(Element, component="static/text_box.js"):
    """A box for a text; `on_text` is called with the text, without spaces at its ends, on Enter and when the focus
    leaves the box.

    `label` names it, and `hint` is shown below it while it has the focus. If it is `eager`, `on_text` is called at
    every key.
    """

    def __init__(self, label: str, text: str, on_text: Change, hint: str = "", eager: bool = False) -> None:
        super().__init__()
        self.props["label"], self.props["text"], self.props["serial"] = label, text, 0
        self.props["hint"], self.props["error"], self.props["eager"] = hint, "", eager
        self._on_text = on_text
        self.on("told", self._hear)

    @property
    def text(self) -> str:
        """The text in the box, as far as the server knows."""
        return str(self.props["text"])

    def show(self, text: str) -> None:
        """Show a text, unless the user is typing another one."""
        if text != self.text:
            self.props["text"] = text
            self.props["serial"] += 1
            self.update()

    def complain(self, error: str) -> None:
        """Show below the box what is wrong with its text; nothing if `error` is empty."""
        if error != self.props["error"]:
            self.props["error"] = error
            self.update()

    def _hear(self, event: Any) -> None:
        """Take the changed text, `event.args`, from the browser, and call `on_text` with it, without spaces at its
        ends.
        """
        self.props["text"] = text = str(event.args)
        self._on_text(text.strip())
        if self.text == text != text.strip() and not self.props["eager"]:
            self.show(text.strip())


@final
class Field:
    """The box, and the slider or the choice, of one control.

    `change` is called with the text that a user gives the field, `choose` with the family that a user gives a law; only
    fields of laws need `choose`.
    """

    def __init__(self, control: Control, change: Change, choose: Change | None = None) -> None:
        self.control, self._change = control, change
        self._box: TextBox | None = None
        self._choice: Any = None
        self._slider: Any = None
        self._position = 0.0
        self.element = ui.element("div").classes("rn-field")
        if "." in control.key:
            self.element.classes("inner")
        hint = f"{control.key}: {control.about}"
        with self.element, ui.element("div").classes("row"):
            if control.kind == "choice":
                with self._choose(control.label, control.label, control.options, control.value, change):
                    ui.tooltip(hint)
                return
            with TextBox(control.label, _text(control.value), change, hint) as self._box:
                ui.tooltip(hint)
            if control.kind == "law":
                assert choose is not None
                self._choose("family", f"family of {control.label}", _families(control), _family(control), choose)
            elif control.kind in ("number", "whole"):
                (low, high), self._position = control.slider_ends, control.position()
                self._slider = slider(control.label, high, self._position, self._take_position, low)

    def show(self, control: Control) -> None:
        """Show the value, the options and the range of `control`, which is the field's control as it is now."""
        before, self.control = self.control, control
        if self._box is not None:
            self._box.show(_text(control.value))
        if control.kind == "choice":
            self._choice.set_options(list(control.options), value=control.value)
        elif control.kind == "law":
            self._choice.set_options(_families(control), value=_family(control))
        elif self._slider is not None:
            low, high = control.slider_ends
            if before.slider_ends != (low, high):
                self._slider.props["min"], self._slider.props["max"] = low, high
            if (
                control.position() != self._position
            ):  # the user may have moved it on from where the browser last said it is
                self._position = control.position()
                self._slider.set_value(self._position)

    def mark(self, error: str) -> None:
        """Show at the field what is wrong with it; nothing if `error` is empty."""
        if self._box is not None:
            self._box.complain(error)
        else:
            self._choice.props["error"], self._choice.props["error-message"] = bool(error), error
            self._choice.update()

    def _choose(self, label: str, about: str, options: Sequence[str], value: Any, change: Change) -> Any:
        """Add a box to choose one of `options` from, with a label and `value` chosen at first; return it.

        `about` names it for users who do not see what stands around it. `change` is called with an option that the user
        chooses, not with one that the server sets.
        """

        def pass_on(event: Any) -> None:
            if event.value != (_family(self.control) if self.control.kind == "law" else self.control.value):
                change(event.value)

        self._choice = ui.select(list(options), value=value, label=label, on_change=pass_on)
        with_attributes(self._choice.props("dense options-dense hide-bottom-space"), aria_label=about)
        return self._choice

    def _take_position(self, position: float) -> None:
        """Set the field to the value at the position to which the user has moved the slider."""
        self._position = position
        self._change(_text(self.control.value_at(position)))


@final
class FieldPanel:
    """The fields of a network on a page: those that its file sets, and below them, folded, those that it leaves out."""

    def __init__(self, change: Callable[[str, str], None], choose: Callable[[str, str], None]) -> None:
        """Make an empty panel; `change` is called with a field's key and text, `choose` with a law's key and family."""
        self._change, self._choose = change, choose
        self._fields: dict[tuple[str, str], Field] = {}
        self._marked: Field | None = None
        self._main = ui.element("div").classes("rn-stack")
        with ui.expansion("More fields").classes("rn-wide").props("dense") as self._expansion:
            self._more = ui.element("div").classes("rn-stack")

    def show(self, controls: Sequence[Control]) -> None:
        """Show a field for each of these controls, in their order, and remove all others; fields that stay keep their
        place and their focus.
        """
        gone = self._fields.keys() - {(control.key, control.kind) for control in controls}
        for name in gone:
            self._fields.pop(name).element.delete()
        first, before = not self._fields, None
        for control in controls:
            field = self._fields.get((control.key, control.kind))
            if field is None:
                field = self._add(control)
                if not first:
                    _put_after(before, field.element)
            elif field.control != control:
                field.show(control)
            before = field.element

    def mark(self, key: str, error: str) -> bool:
        """Show at the field at `key`, or at the one that this is a part of, what is wrong with it; at no other.

        Return whether there is such a field. An empty `error` marks none.
        """
        if self._marked is not None and not self._marked.element.is_deleted:
            self._marked.mark("")
        fields = {name: field for (name, _), field in self._fields.items()}
        while key and key not in fields:
            key = key.rpartition(".")[0]
        self._marked = fields.get(key) if error else None
        if self._marked is None:
            return False
        self._marked.mark(error)
        if self._marked.control.usual:
            self._expansion.open()
        return True

    def _add(self, control: Control) -> Field:
        """Make a field for the control, the last of those that the file sets, or of those that it leaves out; return
        it.
        """
        with self._more if control.usual else self._main:
            field = Field(control, partial(self._change, control.key), partial(self._choose, control.key))
        self._fields[control.key, control.kind] = field
        return field


def _put_after(before: Element | None, element: Element) -> None:
    """Move an element of a page to the place behind the element `before`; if that is None, to the first place of its
    own container.
    """
    slot = (before or element).parent_slot
    assert slot is not None
    element.move(slot.parent, 0 if before is None else slot.children.index(before) + 1)


def _families(control: Control) -> list[str]:
    """Return the names of the law families to choose from, that of the law itself first if it is none of
    the options.
    """
    family = _family(control)
    return list(control.options) if family in control.options else [family, *control.options]


def _family(control: Control) -> str:
    """Return the name of the family of a control's law: what stands before the parenthesis in its text."""
    return _text(control.value).partition("(")[0]


def _text(value: Any) -> str:
    """Return the text of a value in a box: empty for None, six digits of a float."""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)

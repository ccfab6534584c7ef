"""Controls for the fields of a network in the browser, and the way back from them to YAML and to a command.

Which fields there are, of what type and within what bounds, is read from the JSON Schema of the specification. What a
user changes is kept as assignments, a text by key, exactly as `-s key=value` has them: so a page, a command and a file
say the same thing by the same words.
"""

from __future__ import annotations

import inspect
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal, final

from replnet.laws import at_rate, law, law_families
from replnet.network import KINDS, LAW_SCHEMA
from replnet.text import (
    SPEED,
    Document,
    call_of,
    file_error,
    override,
    records_of,
    with_absolute_files,
    yaml_text,
)

Schema = Mapping[str, Any]
Assignments = Mapping[str, str]
"""Values as texts by the key of the field, such as {"updates.rate": "2"}, in the order in which the user set them."""

# A slider reaches from 1/32 to 32 times a rate, and up to 10, or from there on to ten times a whole number.
RATE_REACH, LARGE_NUMBER = 32.0, 10
SLIDER_STEPS = 200
START_OF_UNSET = 10.0  # the value that a slider assumes for a number that is not set
MOST_CONTROLS = 80  # of one network
LABELS = {  # of fields whose names in a file do not say it to everybody
    "depth": "levels", "branching": "replicas per upstream", "peers": "peers per poll", "select": "which peers",
    "ask": "replicas per query", "two_way": "polls hand over both ways", "unit": "unit of time",
    "queue": "longest line of messages", "charge": "what bandwidth is spent on", "start": "copies at time zero",
    "bandwidth": "bandwidth of a node", "delay": "delay of a message", "budget": "downloads in all",
    "allocate": "how the budget is shared", "up": "time without the fault", "down": "time with the fault",
    "lasts": "how long it lasts", "at": "when it begins", "lose": "share of messages lost", "crash": "nodes that crash",
}  # fmt: skip
LISTS = {"tiers": "tier ", "faults": "fault ", "links": "link ", "nodes": ""}  # what stands before a number or a name


@final
@dataclass(frozen=True)
class Control:
    """A field of a network that can be changed on a page, with the kind of control that suits its type.

    `key` is where the field is, such as "updates.rate"; the control of a law is followed by those of its parameters.
    `value` is None where the network does not set the field; in a control of a number it is a text if that is what the
    user gave. `about` describes the field, and `label` is its name in words, such as "rate of updates". `low` and
    `high` are the values at the ends of a slider, `options` those of a choice or the families of a law, and `usual`
    says that the field is not in the file and has its default.
    """

    key: str
    kind: Literal["number", "whole", "choice", "law", "text"]
    value: Any
    about: str = ""
    label: str = ""
    low: float = 0.0  # of a slider
    high: float = 0.0
    options: tuple[str, ...] = ()
    usual: bool = False  # the field is not in the file, and has its default

    @property
    def slider_ends(self) -> tuple[float, float]:
        """The lowest and the highest position of the slider: the bounds of a whole number, or 0 and 200."""
        return (self.low, self.high) if self.kind == "whole" else (0, SLIDER_STEPS)

    @property
    def logarithmic(self) -> bool:
        """Whether equal distances on the slider are equal ratios of the value."""
        return self.kind == "number" and self.low > 0

    def value_at(self, position: float) -> float | int:
        """Return the value at a position of the slider: a whole number for a field of kind "whole", else a number of
        three digits, as nobody means more.
        """
        if self.kind == "whole":
            return round(position)
        share = min(max(position / SLIDER_STEPS, 0.0), 1.0)
        if self.logarithmic:
            return float(f"{self.low * (self.high / self.low) ** share:.3g}")
        return float(f"{self.low + (self.high - self.low) * share:.3g}")

    @property
    def number(self) -> float | None:
        """The value of a field that is a number, with a slider; None if it has no value, or one that is no number."""
        is_number = self.kind in ("number", "whole") and isinstance(self.value, int | float)
        return float(self.value) if is_number else None

    def values(self, count: int) -> list[float | int]:
        """Return at most `count` values of a number from one end of its slider to the other, in order and without
        repetition: evenly over the positions of the slider.
        """
        low, high = self.slider_ends
        positions = [low + (high - low) * at / (count - 1) for at in range(count)]
        return sorted(set(map(self.value_at, positions)))

    def position(self) -> float:
        """Return the position of the slider, within `slider_ends`, that shows the value: at an end if the value is
        beyond it, the lowest if the value is no number.
        """
        value = min(max(self.low if self.number is None else self.number, self.low), self.high)
        if self.kind == "whole":
            return value
        if self.logarithmic:
            return round(SLIDER_STEPS * math.log(value / self.low) / math.log(self.high / self.low))
        return round(SLIDER_STEPS * (value - self.low) / (self.high - self.low or 1.0))


def controls(document: Document, assignments: Assignments) -> list[Control]:
    """Return the controls of the network of a document, at most the first 80, with the values that it has under the
    assignments.

    The sliders have the ranges that suit the document, so that they do not stretch while they are moved. Raise a
    ValueError if an assignment does not fit, or the document is no network.
    """
    now = list(_controls(override(document, override_texts(assignments)).data))[:MOST_CONTROLS]
    if not assignments:
        return now
    before = {control.key: control for control in controls(document, {})}
    result = [_with_old_range(control, before.get(control.key)) for control in now]
    for key in assignments.keys() & before.keys() - {control.key for control in now}:
        places = [at for at, control in enumerate(result) if key.rpartition(".")[0] == control.key]
        if places and before[key].kind in ("number", "whole"):  # a law's parameter that is no number that it can have
            result.insert(places[0] + 1, replace(before[key], value=assignments[key]))
    return result


def assign(assignments: Assignments, key: str, text: str) -> dict[str, str]:
    """Return the assignments with `key` set to `text`, instead of those of the same field or of fields inside it."""
    others = {name: value for name, value in assignments.items() if name != key and not name.startswith(f"{key}.")}
    return {**others, key: text}


def override_texts(assignments: Assignments) -> list[str]:
    """Return the assignments as `key=text`, the form that the option -s takes."""
    return [f"{key}={text}" for key, text in assignments.items()]


def read_assignments(texts: Sequence[str]) -> dict[str, str]:
    """Return the assignments in texts of the form `key=value`, from an address or a command line.

    Spaces around keys and values are dropped; a text without = gives its key an empty value.
    """
    pairs = (text.partition("=") for text in texts)
    return {key.strip(): value.strip() for key, _, value in pairs}


def command(source: str, assignments: Assignments) -> str:
    """Return the shell command that runs the network of `source`, a file or a shipped name, with these assignments."""
    options = [word for text in override_texts(assignments) for word in ("-s", text)]
    return shlex.join(["replnet", "run", source, *options])


def yaml_of(document: Document, assignments: Assignments) -> str:
    """Return the YAML of the network of a document with these assignments, paths in it made absolute."""
    root = with_absolute_files(document.root, document.directory, ("network",))
    return yaml_text(override(replace(document, root=root), override_texts(assignments)).data)


def family_text(text: str, family: str) -> str:
    """Return the text of a law of the family named `family` with the rate of the law `text`.

    Return the family's example as it is if `text` is no law, if its unit is not that of the network, or if no such law
    has that rate; and for a family that is read from a record, as its example names no file of the user.
    """
    example = law_families()[family][1]
    if records_of(example):
        return example
    try:
        before = law(text)
        # A record of dates counts in seconds, and not in the unit of its network.
        return str(at_rate(law(example), before.rate)) if before.unit is None else example
    except ValueError:
        return example


# ---- From the schema


def _with_old_range(control: Control, before: Control | None) -> Control:
    """Return the control with the slider range of `before`, its control without assignments, if its value is within
    that.

    Return it as it is if `before` is None or of another kind, or the control has no value. A text in the place of a
    number becomes the value of `before`, so that the field stays what it is while somebody corrects it.
    """
    if before is not None and before.kind in ("number", "whole") and control.kind == "text":
        return replace(before, value=control.value)
    if before is None or before.kind != control.kind or control.value is None:
        return control
    inside = before.low <= float(control.value) <= before.high if control.kind in ("number", "whole") else True
    return replace(control, low=before.low, high=before.high) if inside else control


def _controls(data: Mapping[str, Any]) -> Iterator[Control]:
    """Yield the controls of the network with the fields `data`; raise DocumentError if its kind is none of KINDS."""
    kind = data.get("kind")
    if kind not in KINDS:
        raise file_error("", "is no network", f"kind: {', '.join(KINDS)}")
    schema = _schema(kind)
    yield from _object_controls(schema, data, (), schema.get("$defs", {}))


@cache
def _schema(kind: str) -> Schema:
    """Return the JSON Schema of the networks of a kind, a key of KINDS."""
    return KINDS[kind].model_json_schema()


def _object_controls(schema: Schema, data: Mapping[str, Any], path: tuple[str, ...], defs: Schema) -> Iterator[Control]:
    """Yield the controls of all fields that `schema` names of an object, whether `data` sets them or leaves them out.

    The keys in `path` lead to the object in the network, and `defs` has the schemas that are referred to by name.
    """
    for name, about in _ordered_fields(schema["properties"], data):
        yield from _field_controls(about, data.get(name, about.get("default")), (*path, name), defs, name not in data)


def _ordered_fields(fields: Schema, data: Mapping[str, Any]) -> list[tuple[str, Schema]]:
    """Return (name, schema) of each field: first the fields that `data` sets, in its order, then those that it leaves
    out.

    `fields` has the schema of each field by name.
    """
    names = [name for name in data if name in fields]
    return [(name, fields[name]) for name in [*names, *(name for name in fields if name not in data)]]


def _field_controls(schema: Schema, value: Any, path: tuple[str, ...], defs: Schema, usual: bool) -> Iterator[Control]:
    """Yield the control of the field with this schema and value, or, of an object or a list, the controls of what is
    inside it.

    The keys in `path` lead to the field in the network, `defs` has the schemas that are referred to by name, and
    `usual` says that the field has its default. The name, the title and the kind of a network, and long values, have no
    control.
    """
    chosen, key = _matching_schema(schema, value, defs), ".".join(path)
    about = {"about": schema.get("description", chosen.get("description", "")), "usual": usual, "label": _label(path)}
    inner = _children(chosen, value)
    if inner is not None:
        for name, below, item in inner:
            if item is not None:
                yield from _field_controls(below, item, (*path, name), defs, usual)
    elif path[-1] == "kind" or path in (("name",), ("title",)):
        return  # what a network is and is called is not moved
    elif "enum" in chosen or chosen.get("type") == "boolean":
        options = tuple(map(str, chosen.get("enum", ("false", "true"))))
        yield Control(key, "choice", str(value).lower() if isinstance(value, bool) else value, options=options, **about)
    elif chosen.get("type") in ("integer", "number") and not isinstance(value, str):
        yield _with_range(Control(key, "whole" if chosen["type"] == "integer" else "number", value, **about), chosen)
    elif chosen.get("type") == LAW_SCHEMA["type"]:
        yield Control(key, "law", value, options=tuple(sorted(law_families())), **about)
        yield from _law_controls(path, value, usual)
    elif not (isinstance(value, list | Mapping) and value):  # what is long is edited in the file
        yield Control(key, "text", str(value) if value else None, **about)


def _label(path: tuple[str, ...], before: str = "") -> str:
    """Return the label of the field to which the keys in `path` lead: its name in words, with the words `before` it.

    What it is a part of stands in front, as in "tier 2: peers per poll".
    """
    is_item = path[0] in LISTS and len(path) > 2
    heads = [LISTS[path[0]] + path[1], *path[2:-1]] if is_item else path[:-1]
    last = LABELS.get(path[-1], path[-1].replace("_", " "))
    return ": ".join([*heads, before + last])


def _matching_schema(schema: Schema, value: Any, defs: Schema) -> Schema:
    """Return the alternative of a schema that `value` matches, the first if none does; empty for a mapping of no known
    kind.

    A reference is replaced by the schema that it names in `defs`.
    """
    if "$ref" in schema:
        return _matching_schema(defs[schema["$ref"].rpartition("/")[2]], value, defs)
    if "discriminator" in schema and isinstance(value, Mapping):
        chosen = schema["discriminator"]["mapping"].get(value.get("kind"))
        return _matching_schema({"$ref": chosen}, value, defs) if chosen else {}
    choices = [_matching_schema(choice, value, defs) for choice in schema.get("anyOf", ())]
    choices = [choice for choice in choices if choice.get("type") != "null"]
    return next((choice for choice in choices if _is_instance(choice, value)), choices[0]) if choices else schema


def _is_instance(schema: Schema, value: Any) -> bool:
    """Whether `value` is of a type, and one of the values, that a schema without references allows."""
    classes: dict[str, Any] = {"integer": int, "number": (int, float), "string": str, "array": list, "object": Mapping}
    types = schema.get("type", ())
    names = (types,) if isinstance(types, str) else types
    return any(isinstance(value, classes.get(name, ())) for name in names) and value in schema.get("enum", [value])


def _children(schema: Schema, value: Any) -> list[tuple[str, Schema, Any]] | None:
    """Return (name, schema, value) for each field of a mapping, or (number from 1, schema, value) for each item of a
    list.

    Items of a list that have nothing to change are left out. Return None if the schema gives the value no children.
    """
    if isinstance(value, Mapping) and "properties" in schema:
        fields = _ordered_fields(schema["properties"], value)
        return [(name, schema_below, value.get(name, schema_below.get("default"))) for name, schema_below in fields]
    schema_below = schema.get("additionalProperties")
    if isinstance(value, Mapping) and isinstance(schema_below, Mapping):
        return [(name, schema_below, item) for name, item in value.items() if isinstance(item, Mapping)]
    if isinstance(value, list) and value and "items" in schema and not isinstance(value[0], int | float):
        return [(str(at), schema["items"], item) for at, item in enumerate(value, 1) if _has_controls(item)]
    return None


def _has_controls(item: Any) -> bool:
    """Whether an item of a list is a mapping or the text of a law, and so has fields or parameters that can
    be changed.
    """
    return isinstance(item, Mapping) or (isinstance(item, str) and call_of(item) is not None)


def _with_range(control: Control, schema: Schema) -> Control:
    """Return the control of a number with the range of its slider.

    A number has the bounds of its schema, or, without an upper one, reaches from 1/RATE_REACH to RATE_REACH times its
    value; a whole number goes up to ten times its value if the schema allows that.
    """
    low = schema.get("minimum", schema.get("ge", schema.get("exclusiveMinimum", schema.get("gt", 0))))
    high = schema.get("maximum", schema.get("le", schema.get("exclusiveMaximum", schema.get("lt", math.inf))))
    now = START_OF_UNSET if control.value is None else control.value
    if control.kind == "whole":
        return replace(control, low=low, high=min(high, LARGE_NUMBER * now if now >= LARGE_NUMBER else LARGE_NUMBER))
    if high < math.inf:
        return replace(control, low=low, high=high)
    return replace(control, low=now / RATE_REACH, high=now * RATE_REACH) if now else replace(control, low=0.0, high=1.0)


def _law_controls(path: tuple[str, ...], text: Any, usual: bool) -> Iterator[Control]:
    """Yield the controls of those parameters of a law, written as `text`, that are named and positive numbers.

    The keys in `path` lead to the law in the network, and `usual` says that the law is a default. There are none if
    `text` is not the text of a law.
    """
    call = call_of(text) if isinstance(text, str) else None
    maker = law_families().get(call.value.lower(), (None, ""))[0] if call is not None else None
    if call is None or maker is None:
        return
    signature = inspect.signature(maker).parameters
    for part in call.parts:
        try:
            value = float(part.parts[0].source) if part.kind == "named" else math.nan
        except ValueError:
            continue
        if not 0 < value < math.inf:
            continue
        annotation = signature[part.value].annotation if part.value in signature else ""
        whole = annotation in (int, "int")
        about = "events per unit of time" if part.value == "rate" else f"{part.value} of {call.value}"
        label = _label(path, f"{part.value} of ")
        kind: Literal["number", "whole"] = "whole" if whole else "number"
        control = Control(".".join((*path, part.value)), kind, value, about, label, usual=usual)
        ratio = RATE_REACH if part.value in SPEED else RATE_REACH / 4
        low, high = (1, max(LARGE_NUMBER, 2 * value)) if whole else (value / ratio, value * ratio)
        yield replace(control, value=int(value) if whole else value, low=low, high=high)

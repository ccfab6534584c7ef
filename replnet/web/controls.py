"""From the fields of a network to what can be moved in the browser, and back to YAML and a command.

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

from replnet.laws import law
from replnet.laws.fields import LAW_SCHEMA
from replnet.laws.law import FAMILIES
from replnet.laws.text import at_rate
from replnet.network.network import file_of
from replnet.network.specification import KINDS
from replnet.text.documents import Document, file_error, read_yaml
from replnet.text.overrides import SPEED, anchored, call_of, override
from replnet.text.yaml_writer import yaml_text

Schema = Mapping[str, Any]
Assignments = Mapping[str, str]
"""Texts by key, in the order in which they were given."""

WIDER, MANY = 32.0, 10  # a slider reaches from 1/32 to 32 times a rate, and to 10 or ten times a number
STEPS = 200  # of a slider
UNSET = 10.0  # where the slider of a number starts that is not set
MOST = 80  # controls of one network


@final
@dataclass(frozen=True)
class Control:
    """A field that can be changed, by what suits its type.

    A law has controls of its parameters after it. `value` is None where the network does not set the field.
    """

    key: str
    kind: Literal["number", "whole", "choice", "law", "text"]
    value: Any
    about: str = ""
    low: float = 0.0  # of a slider
    high: float = 0.0
    options: tuple[str, ...] = ()
    usual: bool = False  # the field is not in the file, and is as in most networks

    @property
    def places(self) -> tuple[float, float]:
        """The ends of the slider, which moves by ones: the whole numbers themselves, or from 0 to STEPS."""
        return (self.low, self.high) if self.kind == "whole" else (0, STEPS)

    @property
    def logarithmic(self) -> bool:
        """Whether equal ways on the slider are equal ratios."""
        return self.kind == "number" and self.low > 0

    def at(self, place: float) -> float | int:
        """The value at a place of the slider; to three digits, as nobody means more."""
        if self.kind == "whole":
            return round(place)
        share = min(max(place / STEPS, 0.0), 1.0)
        if self.logarithmic:
            return float(f"{self.low * (self.high / self.low) ** share:.3g}")
        return float(f"{self.low + (self.high - self.low) * share:.3g}")

    def place(self) -> float:
        """Where the slider stands."""
        value = min(max(float(self.low if self.value is None else self.value), self.low), self.high)
        if self.kind == "whole":
            return value
        if self.logarithmic:
            return round(STEPS * math.log(value / self.low) / math.log(self.high / self.low))
        return round(STEPS * (value - self.low) / (self.high - self.low or 1.0))


def document_of(source: str) -> Document:
    """The file of a network, or of one that comes with replnet."""
    return read_yaml(file_of(source))


def controls(document: Document, assignments: Assignments) -> list[Control]:
    """What can be changed of the network of a document, as it is under the assignments.

    Sliders are as long as suits the document, so that they do not stretch while they are moved.
    """
    now = list(_controls(override(document, spelled(assignments)).data))[:MOST]
    if not assignments:
        return now
    before = {one.key: one for one in controls(document, {})}
    return [_alongside(one, before.get(one.key)) for one in now]


def assigned(assignments: Assignments, key: str, text: str) -> dict[str, str]:
    """With one more, which replaces all that was said of the field and of what is in it."""
    kept = {name: value for name, value in assignments.items() if name != key and not name.startswith(f"{key}.")}
    return {**kept, key: text}


def spelled(assignments: Assignments) -> list[str]:
    """As `-s` takes them."""
    return [f"{key}={text}" for key, text in assignments.items()]


def read_assignments(texts: Sequence[str]) -> dict[str, str]:
    """Those of an address or a command line."""
    pairs = (text.partition("=") for text in texts)
    return {key.strip(): value.strip() for key, _, value in pairs}


def command(source: str, assignments: Assignments) -> str:
    """What to type for the same network."""
    options = [word for one in spelled(assignments) for word in ("-s", one)]
    return shlex.join(["replnet", "run", source, *options])


def yaml_of(document: Document, assignments: Assignments) -> str:
    """A file of the same network."""
    root = anchored(document.root, document.directory, ("network",))
    return yaml_text(override(replace(document, root=root), spelled(assignments)).data)


def family_text(text: str, family: str) -> str:
    """A law of another family, as often per unit of time as the one before where that can be."""
    example = FAMILIES[family][1]
    try:
        return str(at_rate(law(example), law(text).rate))
    except ValueError:
        return example


# ---- From the schema


def _alongside(now: Control, before: Control | None) -> Control:
    if before is None or before.kind != now.kind or now.value is None:
        return now
    inside = before.low <= float(now.value) <= before.high if now.kind in ("number", "whole") else True
    return replace(now, low=before.low, high=before.high) if inside else now


def _controls(data: Mapping[str, Any]) -> Iterator[Control]:
    kind = data.get("kind")
    if kind not in KINDS:
        raise file_error("", "is no network", f"kind: {', '.join(KINDS)}")
    schema = _schema(kind)
    yield from _of_object(schema, data, (), schema.get("$defs", {}))


@cache
def _schema(kind: str) -> Schema:
    return KINDS[kind].model_json_schema()


def _of_object(schema: Schema, data: Mapping[str, Any], path: tuple[str, ...], defs: Schema) -> Iterator[Control]:
    for name, about in _in_order(schema["properties"], data):
        yield from _of_field(about, data.get(name, about.get("default")), (*path, name), defs, name not in data)


def _in_order(fields: Schema, data: Mapping[str, Any]) -> list[tuple[str, Schema]]:
    """What is said first, as it is said, and then what is left out."""
    said = [name for name in data if name in fields]
    return [(name, fields[name]) for name in [*said, *(name for name in fields if name not in data)]]


def _of_field(schema: Schema, value: Any, path: tuple[str, ...], defs: Schema, usual: bool) -> Iterator[Control]:
    chosen, key = _fitting(schema, value, defs), ".".join(path)
    about = {"about": schema.get("description", chosen.get("description", "")), "usual": usual}
    inner = _inner(chosen, value)
    if inner is not None:
        for name, below, item in inner:
            if item is not None:
                yield from _of_field(below, item, (*path, name), defs, usual)
    elif path[-1] == "kind" or path in (("name",), ("title",)):
        return  # what a network is and is called is not moved
    elif "enum" in chosen or chosen.get("type") == "boolean":
        options = tuple(map(str, chosen.get("enum", ("false", "true"))))
        yield Control(key, "choice", str(value).lower() if isinstance(value, bool) else value, options=options, **about)
    elif chosen.get("type") in ("integer", "number") and not isinstance(value, str):
        yield _number(Control(key, "whole" if chosen["type"] == "integer" else "number", value, **about), chosen)
    elif chosen.get("type") == LAW_SCHEMA["type"]:
        yield Control(key, "law", value, options=tuple(sorted(FAMILIES)), **about)
        yield from _parameters(path, value, usual)
    elif not (isinstance(value, list | Mapping) and value):  # what is long is edited in the file
        yield Control(key, "text", str(value) if value else None, **about)


def _fitting(schema: Schema, value: Any, defs: Schema) -> Schema:
    """The alternative of a schema that a value is of; references are followed."""
    if "$ref" in schema:
        return _fitting(defs[schema["$ref"].rpartition("/")[2]], value, defs)
    if "discriminator" in schema and isinstance(value, Mapping):
        chosen = schema["discriminator"]["mapping"].get(value.get("kind"))
        return _fitting({"$ref": chosen}, value, defs) if chosen else {}
    ways = [_fitting(one, value, defs) for one in schema.get("anyOf", ())]
    ways = [one for one in ways if one.get("type") != "null"]
    return next((one for one in ways if _is_of(one, value)), ways[0]) if ways else schema


def _is_of(schema: Schema, value: Any) -> bool:
    kinds: dict[str, Any] = {"integer": int, "number": (int, float), "string": str, "array": list, "object": Mapping}
    types = schema.get("type", ())
    named = (types,) if isinstance(types, str) else types
    return any(isinstance(value, kinds.get(one, ())) for one in named) and value in schema.get("enum", [value])


def _inner(schema: Schema, value: Any) -> list[tuple[str, Schema, Any]] | None:
    """What is inside a mapping or a list: name or number, schema and value of each; None where nothing is."""
    if isinstance(value, Mapping) and "properties" in schema:
        fields = _in_order(schema["properties"], value)
        return [(name, below, value.get(name, below.get("default"))) for name, below in fields]
    below = schema.get("additionalProperties")
    if isinstance(value, Mapping) and isinstance(below, Mapping):
        return [(name, below, item) for name, item in value.items() if isinstance(item, Mapping)]
    if isinstance(value, list) and value and "items" in schema and not isinstance(value[0], int | float):
        return [(str(at), schema["items"], item) for at, item in enumerate(value, 1) if _is_open(item)]
    return None


def _is_open(item: Any) -> bool:
    """Whether an item of a list has something to move: its fields, or the parameters of a law."""
    return isinstance(item, Mapping) or (isinstance(item, str) and call_of(item) is not None)


def _number(control: Control, schema: Schema) -> Control:
    least = schema.get("minimum", schema.get("ge", schema.get("exclusiveMinimum", schema.get("gt", 0))))
    most = schema.get("maximum", schema.get("le", schema.get("exclusiveMaximum", schema.get("lt", math.inf))))
    now = UNSET if control.value is None else control.value
    if control.kind == "whole":
        return replace(control, low=least, high=min(most, MANY * now if now >= MANY else MANY))
    if most < math.inf:
        return replace(control, low=least, high=most)
    return replace(control, low=now / WIDER, high=now * WIDER) if now else replace(control, low=0.0, high=1.0)


def _parameters(path: tuple[str, ...], text: Any, usual: bool) -> Iterator[Control]:
    """Of a law, those that are numbers and named."""
    call = call_of(text) if isinstance(text, str) else None
    maker = FAMILIES.get(call.value.lower(), (None, ""))[0] if call is not None else None
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
        one = Control(".".join((*path, part.value)), "whole" if whole else "number", value, about, usual=usual)
        reach = WIDER if part.value in SPEED else WIDER / 4
        low, high = (1, max(MANY, 2 * value)) if whole else (value / reach, value * reach)
        yield replace(one, value=int(value) if whole else value, low=low, high=high)

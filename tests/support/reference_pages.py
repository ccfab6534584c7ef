"""Pages of the reference that are made from the code: of Python, and of the fields of files.

Each has a head that is written by hand, up to MARK, and all below it is made anew by `python tests/test_site.py`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from site_pages import PAGES

import replnet as rn
from replnet.lab.experiment import sections
from replnet.lab.sweeps import Sweep
from replnet.measure import Row
from replnet.network import KINDS
from replnet.run import Emulated, Predicted

MARK = "<!-- Made from the code by `python tests/test_site.py`: what is below is not written by hand. -->\n"
FIELDS = "| field | default | what it is |\n| --- | --- | --- |\n"
WIDTH = 100  # characters of a signature that stands on one line

PARTS = {
    "Networks": "replnet.network",
    "Laws and processes": "replnet.laws",
    "Predictions": "replnet.run",
    "Runs and formulas": "replnet.lab",
    "Sweeps": "replnet.lab.sweeps",
    "Sizes and designs": "replnet.lab.inverse",
    "Papers": "replnet.show.report",
    "Recorded processes": "replnet.histories",
    "Errors": "replnet.text",
}
RETURNED = {"rn.Law": rn.Law, "rn.Network": rn.Network, "Predicted": Predicted, "Emulated": Emulated, "Sweep": Sweep,
            "Row": Row}  # fmt: skip
SECTIONS = ("Sections", "Run", "Printed", "Expected", "Claim", "Erratum", "Figure")


def first_paragraph(thing: Any) -> str:
    """Return the first sentences of a docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def plain(default: Any) -> str:
    """Return a default value as text, of a function its name."""
    return default.__name__ if inspect.isfunction(default) else repr(default)


def signature(name: str, function: Callable[..., Any]) -> str:
    """Return how a function is called, with types and defaults, on one line or one line for each argument."""
    own = inspect.signature(function)
    words, star = [], False
    for parameter in own.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            words.append("*")
        star |= parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        kind = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
        default = "" if parameter.default is parameter.empty else f" = {plain(parameter.default)}"
        words.append(f"{stars}{parameter.name}{kind}{default}")
    returned = "" if own.return_annotation in (own.empty, "None") else f" -> {own.return_annotation}"
    line = f"{name}({', '.join(words)}){returned}"
    if len(line) <= WIDTH:
        return line
    return "".join([f"{name}(\n", *(f"    {word},\n" for word in words), f"){returned}"])


def fields(function: Callable[..., Any]) -> Iterator[str]:
    """Yield a table of the fields that a docstring describes; nothing if it describes none."""
    text = (inspect.getdoc(function) or "").partition("\nFields:\n")[2]
    parameters = inspect.signature(function).parameters
    if described := re.findall(r"^    (\w+): (.*)$", text, re.MULTILINE):
        yield FIELDS
        for name, words in described:
            default = parameters[name].default
            shown = "" if default is inspect.Parameter.empty else f"`{plain(default)}`"
            yield f"| `{name}` | {shown} | {cell(words)} |\n"
        yield "\n"


def cell(text: str) -> str:
    """Return a text as it may stand in a table."""
    return " ".join(text.split()).replace("|", "\\|")


def members(kind: type) -> Iterator[str]:
    """Yield a table of the public properties, fields and methods of a class, those of its bases among them."""
    yield "| member | what it is |\n| --- | --- |\n"
    own = {name: value for base in reversed(kind.__mro__[:-1]) for name, value in vars(base).items()}
    for name, value in sorted(own.items()):
        function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        is_method = inspect.isfunction(function)
        described = function if is_method else getattr(value, "fget", getattr(value, "func", None))
        if not name.startswith("_") and described is not None and inspect.getdoc(described):
            brackets = f"({', '.join(arguments(function))})" if is_method else ""
            yield f"| `.{name}{brackets}` | {cell(first_paragraph(described))} |\n"
    yield "\n"


def arguments(method: Callable[..., Any]) -> Iterator[str]:
    """Yield the arguments of a method with their defaults, without its object or class."""
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        default = "" if parameter.default is parameter.empty else f"={plain(parameter.default)}"
        yield cell(f"{parameter.name}{default}")


def paragraphs(thing: Any) -> str:
    """Return a docstring without its examples and its list of fields."""
    return re.split(r"\n\n(?:>>>|Fields:\n)", inspect.getdoc(thing) or "")[0].strip()


def python_page() -> Iterator[str]:
    """Yield the reference of Python: every name of the front door, and the members of what it returns."""
    for title, home in PARTS.items():
        yield f"## {title}\n\n"
        for name in sorted(rn._HOMES[home]):
            if name != "Law" and name != "Network":
                thing = getattr(rn, name)
                is_error = inspect.isclass(thing) and issubclass(thing, Exception)
                call = f"rn.{name}" if is_error else signature(f"rn.{name}", thing)
                yield f"### `rn.{name}`\n\n```text\n{call}\n```\n\n{paragraphs(thing)}\n\n"
                yield from fields(thing)
    yield "## What they return\n\n"
    for name, kind in RETURNED.items():
        yield f"### `{name}`\n\n{paragraphs(kind)}\n\n"
        yield from members(kind)


def model_table(model: Any, hidden: Iterable[str] = ()) -> Iterator[str]:
    """Yield a table of the fields of a pydantic model, without those that are `hidden`."""
    yield FIELDS
    for name, field in model.model_fields.items():
        if name not in hidden:
            default = "" if field.is_required() or field.default_factory else f"`{plain(field.default)}`"
            yield f"| `{field.alias or name}` | {default} | {cell(field.description or '')} |\n"
    yield "\n"


def fields_page() -> Iterator[str]:
    """Yield the reference of files: the fields of every kind of network, and of the sections of an experiment."""
    common = set.intersection(*(set(model.model_fields) for model in KINDS.values())) - {"kind"}
    yield "## Fields of every network\n\n"
    some = KINDS["single"]
    yield from model_table(some, set(some.model_fields) - common)
    for kind, model in KINDS.items():
        yield f"## `kind: {kind}`\n\n{first_paragraph(model)}\n\n"
        yield from model_table(model, common | {"kind"})
    for name in SECTIONS:
        model = getattr(sections, name)
        yield f"## Experiment: {name.lower()}\n\n{first_paragraph(model)}\n\n"
        yield from model_table(model)


MADE = {"reference/python.md": python_page, "reference/fields.md": fields_page}


def made(name: str) -> str:
    """Return a page as it has to be: its head as it is, and the rest from the code."""
    head, mark, _ = (PAGES / name).read_text().partition(MARK)
    assert mark, f"{name} has no mark"
    return f"{head}{mark}\n{''.join(MADE[name]()).rstrip()}\n"

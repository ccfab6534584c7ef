"""`-s key=value`: one field of a document replaced from the command line.

peers=3                     a field
tiers.1.replicas=5          an item of a list, counted from 1
polls.rate=4                a parameter inside the text of a law
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from replnet.text.checks import FieldError
from replnet.text.documents import Document, Mark, Node, collection, node_of
from replnet.text.errors import InputError, Problem, field_name
from replnet.text.file_names import anchored
from replnet.text.grammar import LAW, number, parse
from replnet.text.grammar import Node as Call
from replnet.text.yaml_reader import compose

# One of these sets how fast a law is; a new one takes the place of the old one.
SPEED = frozenset({"rate", "mean", "period", "scale"})


def override(document: Document, assignments: Iterable[str]) -> Document:
    """The document with every `key=value` applied in turn."""
    problems: list[Problem] = []
    for assignment in assignments:
        try:
            document = _apply(document, assignment)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return document


def _apply(document: Document, assignment: str) -> Document:
    origin = f"-s {assignment}"
    key, equals, text = assignment.partition("=")
    key = key.strip()
    if not equals or not all(key.split(".")):
        raise InputError([Problem(origin, None, None, "-s", "is not key=value", "such as -s peers=3")])
    value = value_of(text, origin)
    root = _put(document.root, tuple(key.split(".")), value, text.strip(), (), origin)
    return replace(document, root=root)


def put(document: Document, key: str, new: Node) -> Document:
    """The document with `new` at the dotted `key`, which may lead to a parameter inside the text of a law."""
    value = new.plain()
    text = number(value) if isinstance(value, float) else str(value)
    return replace(document, root=_put(document.root, tuple(key.split(".")), new, text, (), key))


def value_of(text: str, origin: str) -> Node:
    """What `text` means in YAML, as given by `origin`; files count from the working directory."""
    try:
        node = compose(f"value: {text}", origin)
    except InputError as error:
        wrong = error.problems[0].wrong
        raise InputError([Problem(origin, None, None, "-s", wrong, _as_in_yaml(text))]) from None
    assert isinstance(node.value, dict)
    return anchored(node_of(node.value["value"].plain(), Mark(None, None, origin)), Path())


def _as_in_yaml(text: str) -> str:
    listed = text.lstrip().startswith("[") and "(" in text
    return "laws in a list that have brackets of their own in quotes" if listed else "a value as in YAML"


def _put(node: Node, keys: tuple[str, ...], new: Node, text: str, path: tuple[str | int, ...], origin: str) -> Node:
    """`node` with `new` at `keys`; `path` is the way that led here."""
    if not keys:
        return new
    mark = Mark(None, None, origin)
    if isinstance(node.value, dict):
        # Names of nodes may hold dots themselves: the longest one that is there wins.
        taken = next((n for n in range(len(keys), 0, -1) if ".".join(keys[:n]) in node.value), 1)
        key, rest = ".".join(keys[:taken]), keys[taken:]
        child = node.value.get(key, Node({}, mark, mark) if rest else new)
        below = _put(child, rest, new, text, (*path, key), origin)
        return collection({**node.value, key: below}, node.mark, node.key)
    if isinstance(node.value, list):
        index = _index(keys[0], len(node.value), path, origin)
        below = _put(node.value[index], keys[1:], new, text, (*path, index), origin)
        return collection([*node.value[:index], below, *node.value[index + 1 :]], node.mark, node.key)
    call = call_of(node.value) if isinstance(node.value, str) else None
    if call is not None and call.kind == "call" and len(keys) == 1:
        return Node(with_parameter(call, keys[0], text), new.mark, new.mark)
    if node.value is None:
        return _put(Node({}, mark, mark), keys, new, text, path, origin)
    raise _fault(path, origin, f"has no field {'.'.join(keys)}", f"-s {field_name(path)}=...")


def _index(key: str, length: int, path: tuple[str | int, ...], origin: str) -> int:
    if key.isascii() and key.isdigit() and 1 <= int(key[:9]) <= length:
        return int(key) - 1
    raise _fault(path, origin, f"has no item {key}", f"1 to {length}, counted from 1" if length else "an empty list")


def _fault(path: tuple[str | int, ...], origin: str, wrong: str, right: str) -> InputError:
    return InputError([Problem(origin, None, None, field_name(path), wrong, right)])


def call_of(text: str) -> Call | None:
    """The call that the text of a law is, or its name alone; None of any other text."""
    try:
        found = parse(text, LAW)
    except FieldError:
        return None
    return found if found.kind in ("call", "name") and found.value.isidentifier() else None


def with_parameter(call: Call, name: str, text: str) -> str:
    """The text of a law with one parameter set."""
    replaced = SPEED if name in SPEED else {name}
    kept = [part.source for part in call.parts if part.kind != "named" or part.value not in replaced]
    return f"{call.value}({', '.join([*kept, f'{name}={text}'])})"

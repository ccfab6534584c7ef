"""`-s key=value`: one field of a document replaced from the command line; texts of laws with something replaced.

peers=3                     a field
tiers.1.replicas=5          an item of a list, counted from 1
polls.rate=4                a parameter inside the text of a law
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from replnet.text.documents import Document, Mark, YamlNode, mapped, node_of
from replnet.text.errors import FieldError, InputError, Problem, field_name, input_error
from replnet.text.grammar import LAW, number, parse, quoted
from replnet.text.grammar import Term as Call
from replnet.text.yaml_reader import compose

# One of these sets how fast a law is; a new one takes the place of the old one.
SPEED = frozenset({"rate", "mean", "period", "scale"})


def override(document: Document, assignments: Iterable[str]) -> Document:
    """The document with every `key=value` applied in turn."""
    problems: list[Problem] = []
    for assignment in assignments:
        origin = f"-s {assignment}"
        key, equals, text = assignment.partition("=")
        keys = tuple(key.strip().split("."))
        try:
            if not equals or not all(keys):
                raise input_error(origin, "-s", "is not key=value", "such as -s peers=3")
            root = _put(document.root, keys, value_of(text, origin), text.strip(), (), origin)
            document = replace(document, root=root)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return document


def put(document: Document, key: str, new: YamlNode) -> Document:
    """The document with `new` at the dotted `key`, which may lead to a parameter inside the text of a law."""
    value = new.plain()
    text = number(value) if isinstance(value, float) else str(value)
    return replace(document, root=_put(document.root, tuple(key.split(".")), new, text, (), key))


def value_of(text: str, origin: str) -> YamlNode:
    """What `text` means in YAML, as given by `origin`; files count from the working directory."""
    try:
        node = compose(f"value: {text}", origin)
    except InputError as error:
        listed = text.lstrip().startswith("[") and "(" in text
        right = "laws in a list that have brackets of their own in quotes" if listed else "a value as in YAML"
        raise input_error(origin, "-s", error.problems[0].wrong, right) from None
    assert isinstance(node.value, dict)
    return anchored(node_of(node.value["value"].plain(), Mark(None, None, origin)), Path())


def _put(
    node: YamlNode, keys: tuple[str, ...], new: YamlNode, text: str, path: tuple[str | int, ...], origin: str
) -> YamlNode:
    """`node` with `new` at `keys`; `path` is the way that led here."""
    if not keys:
        return new
    mark = Mark(None, None, origin)
    if isinstance(node.value, dict):
        # Names of nodes may hold dots themselves: the longest one that is there wins.
        taken = next((n for n in range(len(keys), 0, -1) if ".".join(keys[:n]) in node.value), 1)
        key, rest = ".".join(keys[:taken]), keys[taken:]
        child = node.value.get(key, YamlNode({}, mark, mark) if rest else new)
        below = _put(child, rest, new, text, (*path, key), origin)
        return YamlNode({**node.value, key: below}, node.mark, node.key)
    if isinstance(node.value, list):
        key, length = keys[0], len(node.value)
        if not (key.isascii() and key.isdigit() and 1 <= int(key[:9]) <= length):
            right = f"1 to {length}, counted from 1" if length else "an empty list"
            raise input_error(origin, field_name(path), f"has no item {key}", right)
        index = int(key) - 1
        below = _put(node.value[index], keys[1:], new, text, (*path, index), origin)
        return YamlNode([*node.value[:index], below, *node.value[index + 1 :]], node.mark, node.key)
    call = call_of(node.value) if isinstance(node.value, str) else None
    if call is not None and call.kind == "call" and len(keys) == 1:
        return YamlNode(with_parameter(call, keys[0], text), new.mark, new.mark)
    if node.value is None:
        return _put(YamlNode({}, mark, mark), keys, new, text, path, origin)
    raise input_error(origin, field_name(path), f"has no field {'.'.join(keys)}", f"-s {field_name(path)}=...")


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


def anchored(root: YamlNode, folder: Path, at: tuple[str | int, ...] = ()) -> YamlNode:
    """`root`, found at `at` in its document, with names of files that count from `folder` made absolute.

    So the document means the same wherever it is kept.
    """

    def change(node: YamlNode, path: tuple[str | int, ...]) -> YamlNode:
        if not isinstance(node.value, str):
            return node
        if path[-2:] == ("trace", "file") or (*at, *path) == ("network", "file"):
            return replace(node, value=str((folder / node.value).resolve()))
        return replace(node, value=_absolute(node.value, folder)) if "trace" in node.value.lower() else node

    return mapped(root, change)


def _absolute(text: str, folder: Path) -> str:
    """The text of a law with the files of its traces made absolute."""
    try:
        tree = parse(text, LAW)
    except FieldError:  # said where the law is read
        return text
    for call in reversed(list(tree.walk())):  # from the end, so that places before stay as they are
        if call.kind == "call" and call.value.lower() == "trace" and call.parts:
            # It is named, or the first argument.
            named = [part.parts[0] for part in call.parts if (part.kind, part.value) == ("named", "file")]
            file = (named or call.parts)[0]
            if file.kind in ("name", "text"):
                path = quoted(str((folder / file.value).resolve()))
                text = f"{text[: file.begin]}{path}{text[file.end :]}"
    return text

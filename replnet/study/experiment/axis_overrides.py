"""`-s key=value`, `--zip a,b` and `--quick` applied to an experiment.

    -s B=30              a named value          -s run.precision=0.01    a setting
    -s k=1,3,9           an axis                -s polls.rate=1:8:8      any field of the network, here as an axis

A list or a range makes an axis of what was a value or a field.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from replnet.study.experiment.axes import is_range
from replnet.study.experiment.checks import RUN
from replnet.text.documents import Document, Mark, Node, collection, node_of
from replnet.text.errors import InputError, Problem
from replnet.text.overrides import value_of

WHOLE = ("measure", "groups")  # sections that may be replaced as they are
MERGED = ("run", "vary", "values", "set")


def quickened(document: Document) -> Document:
    """The experiment with what its section `quick` says in the place of what the others say."""
    quick = document.root.child("quick")
    if quick is None or not isinstance(quick.value, dict):
        return document
    document = placed(document, ("quick",), None)
    for section in MERGED:
        for name, node in _fields(quick.child(section)).items():
            document = placed(document, (section, name), node)
    return document


def overridden(document: Document, assignments: Iterable[str], zips: Iterable[str]) -> tuple[Document, bool]:
    """With every `key=value` applied; and whether that is another experiment, not only other values of its axes."""
    problems: list[Problem] = []
    another = False
    for assignment in assignments:
        try:
            document, differs = _applied(document, assignment)
            another |= differs
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    for names in zips:
        mark = Mark(None, None, f"--zip {names}")
        node = node_of([name.strip() for name in names.split(",")], mark)
        given = document.root.child("zip")
        there = given.value if given is not None and isinstance(given.value, list) else []
        document = placed(document, ("zip",), collection([*there, node], given.mark if given else mark))
    return document, another


def _applied(document: Document, assignment: str) -> tuple[Document, bool]:
    origin = f"-s {assignment}"
    key, equals, text = assignment.partition("=")
    key, text = key.strip().removeprefix("network."), text.strip()
    if not equals or not all(key.split(".")):
        raise InputError([Problem(origin, None, None, "-s", "is not key=value", "such as -s k=1,3,9")])
    axis, node = _meant(text, origin)
    listed = axis or isinstance(node.value, list)
    if key in WHOLE:
        return placed(document, (key,), node), False
    if key in _fields(document.root.child("vary")):
        return placed(document, ("vary", key), node), False
    home = "values" if key in _fields(document.root.child("values")) else "set"
    if home == "set" and key.startswith(RUN):
        return placed(document, ("vary", key) if listed else ("run", key.removeprefix(RUN)), node), False
    if axis or (listed and home == "values"):  # a field may be a list
        return placed(placed(document, (home, key), None), ("vary", key), node), True
    return placed(document, (home, key), node), True


def _meant(text: str, origin: str) -> tuple[bool, Node]:
    """Whether a text is that of an axis, and its value."""
    parts = _at_commas(text)
    if len(parts) > 1:
        values = [value_of(part.strip(), origin) for part in parts]
        return True, collection(values, Mark(None, None, origin), Mark(None, None, origin))
    return is_range(text), value_of(text, origin)


def _at_commas(text: str) -> list[str]:
    """The parts of a text between its commas outside brackets, each any value of YAML."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def _fields(node: Node | None) -> dict[str, Node]:
    return node.value if node is not None and isinstance(node.value, dict) else {}


def placed(document: Document, path: tuple[str, ...], node: Node | None) -> Document:
    """With `node` at a path, in the place of what is there; without that if there is no node."""
    return replace(document, root=_placed(document.root, path, node, document.root.mark))


def _placed(parent: Node | None, path: tuple[str, ...], node: Node | None, mark: Mark) -> Node:
    fields = _fields(parent)
    below = _placed(fields.get(path[0]), path[1:], node, mark) if path[1:] else node
    kept = {key: one for key, one in {**fields, path[0]: below}.items() if one is not None}
    return collection(kept, parent.mark, parent.key) if parent else collection(kept, mark, mark)

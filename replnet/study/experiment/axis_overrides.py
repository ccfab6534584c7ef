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
from replnet.text.documents import Document, Mark, Node, node_of
from replnet.text.errors import InputError, Problem
from replnet.text.overrides import value_of

WHOLE = ("measure", "groups")  # sections that may be replaced as they are
MERGED = ("run", "vary", "values", "set")


def quickened(document: Document) -> Document:
    """The experiment with what its section `quick` says in the place of what the others say."""
    assert isinstance(document.root.value, dict)
    quick = document.root.value.get("quick")
    if quick is None or not isinstance(quick.value, dict):
        return document
    document = with_section(document, "quick", None)
    for section in MERGED:
        changed = quick.child(section)
        for name, node in changed.value.items() if changed is not None and isinstance(changed.value, dict) else ():
            document = with_field(document, section, name, node)
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
        document = with_section(document, "zip", Node([*there, node], given.mark if given else mark))
    return document, another


def _applied(document: Document, assignment: str) -> tuple[Document, bool]:
    origin = f"-s {assignment}"
    key, equals, text = assignment.partition("=")
    key, text = key.strip().removeprefix("network."), text.strip()
    if not equals or not all(key.split(".")):
        raise InputError([Problem(origin, None, None, "-s", "is not key=value", "such as -s k=1,3,9")])
    axis, node = _meant(text, origin)
    if key in WHOLE:
        return with_section(document, key, node), False
    if key in _names(document, "vary"):
        return with_field(document, "vary", key, node), False
    listed = axis or isinstance(node.value, list)
    for section, name in (("values", key), ("run", key.removeprefix(RUN))):
        if key in _names(document, section) if section == "values" else key.startswith(RUN):
            if not listed:
                return with_field(document, section, name, node), section == "values"
            if section == "values":
                document = with_field(document, section, name, None)
            return with_field(document, "vary", key, node), section == "values"
    if axis:
        document = with_field(document, "set", key, None)
    return with_field(document, "vary" if axis else "set", key, node), True


def _meant(text: str, origin: str) -> tuple[bool, Node]:
    """Whether a text is that of an axis, and its value."""
    parts = _at_commas(text)
    if len(parts) > 1:
        values = [value_of(part.strip(), origin) for part in parts]
        return True, Node(values, Mark(None, None, origin), Mark(None, None, origin))
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


def _names(document: Document, section: str) -> dict[str, Node]:
    node = document.root.child(section)
    return node.value if node is not None and isinstance(node.value, dict) else {}


def with_field(document: Document, section: str, name: str, node: Node | None) -> Document:
    """With `node` as a field of a section, in its place if it is there; without the field if there is no node."""
    fields = {**_names(document, section), name: node}
    given = document.root.child(section)
    mark = given.mark if given is not None else document.root.mark
    kept = {key: below for key, below in fields.items() if below is not None}
    return with_section(document, section, Node(kept, mark, given.key if given is not None else mark))


def with_section(document: Document, section: str, node: Node | None) -> Document:
    """With `node` in the place of a section; without the section if there is no node."""
    assert isinstance(document.root.value, dict)
    kept = {key: below for key, below in {**document.root.value, section: node}.items() if below is not None}
    return replace(document, root=Node(kept, document.root.mark))

"""All that is wrong with an experiment, at once: what is wrong in one place does not hide what is wrong in another.

Sections that cannot be read, and statements with a fault, are left out, and a number takes the place of every axis and
named value that has a fault or is not there; then the rest is looked at, down to the first cell. What would not be
wrong but for such a number is not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from replnet.study.experiment.cells import Cells, Names, texts
from replnet.study.experiment.checks import faults
from replnet.study.experiment.sections import STATEMENTS, Sections
from replnet.text.arithmetic import expression, template
from replnet.text.documents import Document, YamlNode
from replnet.text.errors import FieldError, InputError, Problem, field_name
from replnet.text.grammar import canonical
from replnet.text.validation import checked, located

SAID = ("title", "claim", "paper", "measure", "groups", "printed", "expected", "claims", "errata", "figure")
APART = {*SAID, "run", "quick", "zip", "set"}  # the others can be checked without these
DEFINING = ("vary", "values")  # where names get what they stand for
PLACEHOLDER = 1
METRICS = ("metric", "argmax", "rises", "falls", "lies", "y")
SPEAK_OF = {"measure": METRICS, "errata": ("erratum",)}  # fields that refer to a section


def sections_of(document: Document) -> Sections:
    """The sections of a document, each of which is right by itself; or all that is wrong."""
    try:
        return checked(Sections, document.data, document)
    except InputError as error:
        raise InputError([*error.problems, *_elsewhere(document, error.problems)]) from None


def require_sound(document: Document, sections: Sections, doubtful: Iterable[str] = ()) -> None:
    """That nothing is wrong between the sections, nor in the first cell, which stands for mistakes that are in all.

    Names that are `doubtful` stand for nothing in particular.
    """
    names, doubtful = Names(sections), {*doubtful}
    found = [*faults(sections, names)]
    told = [one for one in map(located(document), found) if not _follows(one, document, doubtful)]
    places = [path for path, *_ in found]
    unsure = doubtful | names.unknown | {str(path[1]) for path in places if path[0] in DEFINING and len(path) > 1}
    without = {str(path[0]) for path in places if path[0] in ("zip", "set")}
    rest = _with_numbers(_left(document, without), unsure - doubtful)
    try:
        if rest is not document:
            sections = checked(Sections, rest.data, rest)
        Cells(rest, sections, Names(sections)).made(most=1)
    except InputError as error:
        told += (one for one in error.problems if one not in told and not _follows(one, document, unsure))
    if told:
        raise InputError(told)


def _elsewhere(document: Document, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """What else is wrong, as far as that can be told without what these problems are about."""
    faulty = {_section(problem) for problem in problems}
    if faulty & (Sections.model_fields.keys() - APART - {*DEFINING}):
        return ()
    doubtful = {_defined(document, problem) for problem in problems if _section(problem) in DEFINING}
    if None in doubtful:  # what is wrong is the section as a whole
        return ()
    unsure = {name for name in doubtful if name}
    bad = {problem.field.partition("]")[0] for problem in problems}
    kept = {section: _sound(document, section, bad) for section in faulty & {*STATEMENTS}}
    out = faulty - {*DEFINING, *kept} | ({"zip"} if unsure else set())  # whose axes are of one length
    silent = {field for section in faulty for field in SPEAK_OF.get(section, ())}
    rest = _with_numbers(_left(document, out, kept), unsure)
    try:
        require_sound(rest, checked(Sections, rest.data, rest), unsure)
    except InputError as more:
        told = (one for one in more.problems if one.field.rpartition(".")[2] not in silent)
        return tuple(replace(one, field=_renamed(one.field, kept)) for one in told)
    return ()


def _section(problem: Problem) -> str:
    return re.split(r"[.\[]", problem.field)[0]


def _defined(document: Document, problem: Problem) -> str | None:
    """The axis or named value that a problem is about."""
    section = _section(problem)
    names = [name for name in _fields(document, section) if _at(problem, f"{section}.{name}")]
    return max(names, key=len, default=None)  # names may have dots in them


def _at(problem: Problem, field: str) -> bool:
    """Whether it is about the field, or what is in it."""
    return problem.field == field or problem.field.startswith((f"{field}.", f"{field}["))


def _fields(document: Document, section: str) -> Mapping[str, YamlNode]:
    node = document.root.child(section)
    return node.value if node is not None and isinstance(node.value, dict) else {}


# ---- Documents without what is wrong


def _sound(document: Document, section: str, bad: Iterable[str]) -> list[int]:
    """The places of statements without a fault."""
    node = document.root.child(section)
    items = node.value if node is not None and isinstance(node.value, list) else []
    return [at for at in range(len(items)) if f"{section}[{at + 1}" not in bad]


def _renamed(field: str, kept: Mapping[str, list[int]]) -> str:
    """With the place of a statement as it is where none is left out."""
    section, _, rest = field.partition("[")
    if section not in kept or not rest:
        return field
    place, _, rest = rest.partition("]")
    return f"{section}[{kept[section][int(place) - 1] + 1}]{rest}"


def _left(document: Document, out: Iterable[str], kept: Mapping[str, list[int]] | None = None) -> Document:
    """Without the sections `out`, and of others only the statements `kept`; with a title."""
    assert isinstance(document.root.value, dict)
    out, root = {*out}, document.root
    if not out and not kept:
        return document
    fields = {name: node for name, node in document.root.value.items() if name not in out}
    for section, places in (kept or {}).items():
        node = fields[section]
        assert isinstance(node.value, list)
        fields[section] = replace(node, value=[node.value[at] for at in places])
    return replace(document, root=replace(root, value={"title": YamlNode("-", root.mark), **fields}))


def _with_numbers(document: Document, names: Iterable[str]) -> Document:
    """With a number in the place of what these names stand for."""
    for name in names:
        section = next((one for one in DEFINING if name in _fields(document, one)), "values")
        mark = document.root.mark
        fields = {**_fields(document, section), name: YamlNode(PLACEHOLDER, mark, mark)}
        given = document.root.child(section)
        node = replace(given, value=fields) if given else YamlNode(fields, mark, mark)
        assert isinstance(document.root.value, dict)
        document = replace(document, root=replace(document.root, value={**document.root.value, section: node}))
    return document


# ---- What follows from a name that stands for nothing


def _follows(problem: Problem, document: Document, doubtful: set[str]) -> bool:
    """Whether it might not be one if these names stood for something else."""
    if not doubtful:
        return False
    if any(re.search(rf"(^|[.]){re.escape(name)}($|[.\[])", problem.field) for name in doubtful):
        return True
    names = _closed(document, {canonical(name) for name in doubtful})
    return any(
        _at(problem, field_name(path)) and names & _mentioned(text, template) for path, text in texts(document.data)
    )


def _closed(document: Document, names: set[str]) -> set[str]:
    """With all named values that depend on them."""
    values = {canonical(name): node.plain() for name, node in _fields(document, "values").items()}
    while more := {name for name, value in values.items() if names & _mentioned(value, expression)} - names:
        names = names | more
    return names


def _mentioned(text: Any, read: Any) -> frozenset[str]:
    try:
        return frozenset(read(text).names) if isinstance(text, str) else frozenset()
    except FieldError:
        return frozenset()

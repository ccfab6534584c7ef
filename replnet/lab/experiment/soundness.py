"""All that is wrong with an experiment, at once: what is wrong in one place does not hide what is wrong in another.

Sections that cannot be read, and statements with a fault, are left out, and a number takes the place of every axis and
named value that has a fault or is not there; then the rest is looked at, down to the first cell. Problems
that only such a number may cause are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from replnet.lab.experiment.cells import CellMaker, Names, templates_in
from replnet.lab.experiment.checks import find_faults
from replnet.lab.experiment.sections import STATEMENTS, Sections
from replnet.text import (
    Document,
    DocumentError,
    FieldError,
    Problem,
    YamlNode,
    canonical,
    expression,
    field_name,
    problem_at,
    template,
    validate,
)

DESCRIBING = ("title", "claim", "paper", "measure", "groups", "printed", "expected", "claims", "errata", "figure")
INDEPENDENT = {*DESCRIBING, "run", "quick", "zip", "set"}  # sections without which the others can be checked
NAMING = ("vary", "values")  # sections that define names
PLACEHOLDER = 1
METRIC_FIELDS = ("metric", "argmax", "rises", "falls", "lies", "y")
REFERRING_FIELDS = {"measure": METRIC_FIELDS, "errata": ("erratum",)}  # by section, the fields that refer to it


def sections_of(document: Document) -> Sections:
    """Return the sections of a document, each right by itself; raise DocumentError if one is not.

    The error has all problems of the sections, and those between sections that show in spite of these.
    """
    try:
        return validate(Sections, document.data, document)
    except DocumentError as error:
        raise DocumentError([*error.problems, *_other_problems(document, error.problems)]) from None


def require_sound(document: Document, sections: Sections, doubtful: Iterable[str] = ()) -> None:
    """Raise DocumentError if something is wrong between the sections, or in the first cell, which stands for all.

    Left out are problems that may come from the names in `doubtful`, whose values are mere placeholders.
    """
    names, doubtful = Names(sections), {*doubtful}
    faults = [*find_faults(sections, names)]
    problems = [
        problem for problem in map(problem_at(document), faults) if not _may_follow(problem, document, doubtful)
    ]
    places = [path for path, *_ in faults]
    unsure = doubtful | names.unknown | {str(path[1]) for path in places if path[0] in NAMING and len(path) > 1}
    without = {str(path[0]) for path in places if path[0] in ("zip", "set")}
    rest = _put_placeholders(_leave_out(document, without), unsure - doubtful)
    try:
        if rest is not document:
            sections = validate(Sections, rest.data, rest)
        CellMaker(rest, sections, Names(sections)).make(most=1)
    except DocumentError as error:
        problems += (
            problem
            for problem in error.problems
            if problem not in problems and not _may_follow(problem, document, unsure)
        )
    if problems:
        raise DocumentError(problems)


def _other_problems(document: Document, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return what is wrong in a document beside `problems`, as far as that shows without the places they are about.

    It is empty if a problem is in the subject, or in all of the axes or named values, without which nothing shows.
    """
    faulty = {_section_of(problem) for problem in problems}
    if faulty & (Sections.model_fields.keys() - INDEPENDENT - {*NAMING}):
        return ()
    doubtful = {_name_of(document, problem) for problem in problems if _section_of(problem) in NAMING}
    if None in doubtful:  # the section as a whole is wrong
        return ()
    unsure = {name for name in doubtful if name}
    bad = {problem.field.partition("]")[0] for problem in problems}
    nodes = {section: node for section in STATEMENTS if (node := document.root.child(section))}
    lists = {section: node.value for section, node in nodes.items() if isinstance(node.value, list)}
    sound = {section: _numbers_without_fault(section, len(lists[section]), bad) for section in faulty & lists.keys()}
    out = faulty - {*NAMING, *sound} | ({"zip"} if unsure else set())  # as its axes must be of one length
    unclear = {field for section in faulty for field in REFERRING_FIELDS.get(section, ())}
    rest = _put_placeholders(_leave_out(document, out, sound), unsure)
    try:
        require_sound(rest, validate(Sections, rest.data, rest), unsure)
    except DocumentError as more:
        others = (other for other in more.problems if other.field.rpartition(".")[2] not in unclear)
        return tuple(replace(other, field=_original_field(other.field, sound)) for other in others)
    return ()


def _section_of(problem: Problem) -> str:
    """Return the name of the section that a problem is in."""
    return re.split(r"[.\[]", problem.field)[0]


def _name_of(document: Document, problem: Problem) -> str | None:
    """Return the name of the axis or named value that a problem is about; None if it is about all of its section."""
    section = _section_of(problem)
    names = [name for name in document.fields(section) if _is_in(problem, f"{section}.{name}")]
    return max(names, key=len, default=None)  # names may have dots in them


def _is_in(problem: Problem, field: str) -> bool:
    """Whether a problem is about a field, such as values.k, or about something in it."""
    return problem.field == field or problem.field.startswith((f"{field}.", f"{field}["))


# ---- Documents without their faulty parts


def _numbers_without_fault(section: str, count: int, bad: Iterable[str]) -> list[int]:
    """Return the numbers, from 0, of the `count` statements of a section that have no fault.

    `bad` are the places of faulty ones, such as "claims[2", whose numbers are from 1.
    """
    return [at for at in range(count) if f"{section}[{at + 1}" not in bad]


def _original_field(field: str, sound: Mapping[str, list[int]]) -> str:
    """Return the field of a problem with the number that its statement has among all of its section, from 1.

    `sound` are the numbers, from 0, of those that were looked at, by section.
    """
    section, _, rest = field.partition("[")
    if section not in sound or not rest:
        return field
    place, _, rest = rest.partition("]")
    return f"{section}[{sound[section][int(place) - 1] + 1}]{rest}"


def _leave_out(document: Document, out: Iterable[str], sound: Mapping[str, list[int]] | None = None) -> Document:
    """Return the document without the sections `out`, and with only those statements of a section that `sound` numbers.

    The numbers are from 0, by section; a section that `sound` does not have keeps all. A title is supplied if it was
    left out.
    """
    for section in out:
        document = document.replace_node((section,), None)
    for section, places in (sound or {}).items():
        node = document.fields()[section]
        assert isinstance(node.value, list)
        document = document.replace_node((section,), replace(node, value=[node.value[at] for at in places]))
    if "title" not in document.fields():
        document = document.replace_node(("title",), YamlNode("-", document.root.mark))
    return document


def _put_placeholders(document: Document, names: Iterable[str]) -> Document:
    """Return the document with the number 1 as the value of each axis or named value in `names`.

    A name that is neither becomes a named value.
    """
    mark = document.root.mark
    for name in names:
        section = next((defining for defining in NAMING if name in document.fields(defining)), "values")
        document = document.replace_node((section, name), YamlNode(PLACEHOLDER, mark, mark))
    return document


# ---- Problems that an undefined name may cause


def _may_follow(problem: Problem, document: Document, doubtful: set[str]) -> bool:
    """Whether a problem may vanish once the `doubtful` names stand for something: it is in one, or in a text that
    mentions one, directly or through named values.
    """
    if not doubtful:
        return False
    if any(re.search(rf"(^|[.]){re.escape(name)}($|[.\[])", problem.field) for name in doubtful):
        return True
    names = _with_dependents(document, {canonical(name) for name in doubtful})
    return any(
        _is_in(problem, field_name(path)) and names & _names_in(text, template)
        for path, text in templates_in(document.data)
    )


def _with_dependents(document: Document, names: set[str]) -> set[str]:
    """Return these names, and those of all named values of the document that depend on them, directly or not."""
    values = {canonical(name): node.plain() for name, node in document.fields("values").items()}
    while more := {name for name, value in values.items() if names & _names_in(value, expression)} - names:
        names = names | more
    return names


def _names_in(text: Any, parse: Any) -> frozenset[str]:
    """Return the names that a text mentions, as `parse` reads it; none if it is not a text, or cannot be read."""
    try:
        return frozenset(parse(text).names) if isinstance(text, str) else frozenset()
    except FieldError:
        return frozenset()

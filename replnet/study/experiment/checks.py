"""What can be said of an experiment before its cells are made: names, axes, prints, claims and figures; and its groups.

Whatever is said of cells refers to axes, metrics, errata and groups of other sections. `_references` lists what a
statement refers to, and CHECKS has what must be true of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from replnet.measure.metrics import is_beyond
from replnet.measure.row import AT, COMPARED, TIME
from replnet.study.experiment.axes import MOST, Axis, count, groups_of
from replnet.study.experiment.cells import Names, texts
from replnet.study.experiment.sections import GROUP, RUN, STATEMENTS, Claim, Figure, Run, Sections, StatedValue
from replnet.study.experiment.subjects import Subject
from replnet.text.arithmetic import VALUES, template
from replnet.text.errors import shown, suggestion
from replnet.text.grammar import canonical
from replnet.text.ranges import Place
from replnet.text.validation import Fault

RESERVED = {*COMPARED, "printed", "printed_verdict", "expected", "expected_verdict"}


def faults(sections: Sections, names: Names) -> Iterator[Fault]:
    """Everything that is wrong between the sections."""
    yield from names.faults
    yield from _named(sections)
    yield from _fields(sections, names.used)
    yield from _zips(sections)
    if (total := count(tuple(sections.vary.values()), sections.zip)) > MOST:
        yield ("vary",), f"makes {total:,} cells", f"at most {MOST:,}", True
    for i, metric in enumerate(sections.measure):
        yield from _metric(metric, sections, ("measure", i))
    for section in STATEMENTS:
        for i, statement in enumerate(getattr(sections, section)):
            yield from mismatches(statement, sections, (section, i))
    if sections.figure is not None:
        yield from mismatches(sections.figure, sections, ("figure",))
    for section in ("vary", "values") if sections.quick else ():
        known = getattr(sections, section)
        for name in getattr(sections.quick, section):
            if name not in known:
                yield ("quick", section, name), f"{shown(name)} is not in {section}", suggestion(name, known), True


def _named(sections: Sections) -> Iterator[Fault]:
    for section in ("values", "vary"):
        for name in getattr(sections, section):
            path = (section, name)
            if name in VALUES.functions:
                yield path, "is the name of a function", "another name", True
            elif section == "values" and not canonical(name).isidentifier():
                yield path, "is not a name that an expression can hold", "letters, digits and _", True
            elif section == "vary" and name in RESERVED:
                yield path, "is a column of every table", "another name", True
    for section in ("values", "set"):
        for name in getattr(sections, section):
            if name in sections.vary:
                yield (section, name), "is an axis too", f"one of {section} and vary", True


def _fields(sections: Sections, used: set[str]) -> Iterator[Fault]:
    """Axes that are neither names nor fields, or both; overrides of fields that are not there."""
    subject, given = sections.subject, getattr(sections, sections.subject.section)
    fields = subject.fields(sections.kind)
    for name in sections.vary:
        path = ("vary", name)
        if name.startswith(RUN):
            if (setting := name.removeprefix(RUN)) not in Run.model_fields:
                yield path, "is not a setting", suggestion(setting, Run.model_fields), True
        elif name in used:
            says = any(canonical(name) in template(text).names for _, text in texts(given.get(name)))
            if fields and name in fields and name not in sections.set and not says:
                wrong = f"is a name in ${{ }}, and a field of {subject.words} that does not mention it"
                yield path, wrong, f"{name}: ${{{name}}} in {subject.section}, or another name for the axis", True
        elif fields is not None and name.split(".")[0] not in fields | RESERVED:
            yield path, f"is in no ${{ }}, and is no field of {subject.words}", suggestion(name, fields), True
    for name in sections.set:
        if fields is not None and name.split(".")[0] not in fields | sections.vary.keys():
            yield ("set", name), f"is no field of {subject.words}", suggestion(name, fields), True


def _zips(sections: Sections) -> Iterator[Fault]:
    seen: set[str] = set()
    for i, names in enumerate(sections.zip):
        if len(names) < 2:
            yield ("zip", i), "has nothing to move together", "two axes or more", False
        for j, name in enumerate(names):
            if name not in sections.vary:
                yield ("zip", i, j), f"{name} is not an axis", suggestion(name, sections.vary), False
            elif name in seen:
                yield ("zip", i, j), f"{name} is zipped twice", "each axis once", False
            seen.add(name)
        sizes = {name: len(sections.vary[name].values) for name in names if name in sections.vary}
        if len(set(sizes.values())) > 1:
            wrong = ", ".join(f"{name} has {size} values" for name, size in sizes.items())
            yield ("zip", i), wrong, "axes of one length", False


# ---- What statements refer to


def mismatches(of: StatedValue | Claim | Figure, sections: Sections, path: Place) -> Iterator[Fault]:
    """Why something that is said of cells is about none of them."""
    for what, place, value in _references(of, path):
        if what in CHECKS:
            yield from CHECKS[what](value, sections, place)


def _references(of: StatedValue | Claim | Figure, path: Place) -> Iterator[tuple[str, Place, Any]]:
    """What it is that is referred to, where, and by which words."""
    for field, value in of:
        place = (*path, field.rstrip("_"))
        if value is None:
            continue
        if field in ("argmax", "rises", "falls", "lies", "metric", "y"):
            yield "metric", place, value
        elif field in ("over", "x", "series", "panel"):
            yield "axis", place, value
        elif field in ("group", "erratum"):
            yield field, place, value
        elif isinstance(value, Mapping):  # `at` of a value, `where` of a claim
            yield "cells", place, value
        elif field == "order":
            yield from (("cells", (*place, i), at) for i, at in enumerate(value))
        elif field == "is_" and isinstance(of, Claim):
            yield from (("group", place, name) for name in value if of.over == GROUP)
            yield "values", place, (of.over, value)


def _metric(metric: str, sections: Sections, path: Place) -> Iterator[Fault]:
    follow = sections.subject.metrics(sections.kind)
    if follow and metric not in follow:
        yield path, f"{metric} does not follow from this formula", ", ".join(follow), False
    elif path[-1] == "y" and any(one.startswith(f"{metric}{AT}") for one in sections.measure):
        pass  # measured at times, which are to the right
    elif metric not in sections.measure and (sections.measure or is_beyond(metric)):
        right = f"one of measure: {', '.join(sections.measure)}" if sections.measure else f"measure: {metric}"
        yield path, f"{metric} is not measured", right, False


def _axis(name: str, sections: Sections, path: Place) -> Iterator[Fault]:
    timed = name == TIME and any(AT in metric for metric in sections.measure)
    if name != GROUP and name not in sections.vary and not timed:
        yield path, f"{name} is not an axis", suggestion(name, {*sections.vary, GROUP}), False


def _erratum(name: str, sections: Sections, path: Place) -> Iterator[Fault]:
    if name not in sections.errata:
        right = suggestion(name, sections.errata) if sections.errata else "errata: {NAME: {kind: ..., text: ...}}"
        yield path, f"{name} is not in errata", right, False


def _values(along: tuple[str, tuple[Any, ...]], sections: Sections, path: Place) -> Iterator[Fault]:
    axis, values = sections.vary.get(along[0]), along[1]
    if axis and all(axis.index(value) is None for value in values):
        yield path, f"no cell has {axis.name} = {' or '.join(map(str, values))}", _listed(axis), False


def _cells(at: Mapping[str, Any], sections: Sections, path: Place) -> Iterator[Fault]:
    """Why no cell has these values."""
    wrong = False
    for name, value in at.items():
        if name == GROUP and path[-1] != "at":
            continue
        axis = sections.vary.get(name)
        wrong |= axis is None or axis.index(value) is None
        if axis is None:
            yield (*path, name), f"{name} is not an axis", suggestion(name, sections.vary), True
        elif axis.index(value) is None:
            yield (*path, name), f"no cell has {name} = {value}", _listed(axis), False
    for group in () if wrong else groups_of(tuple(sections.vary.values()), sections.zip):
        chosen = [axis for axis in group if axis.name in at]
        if len({axis.index(at[axis.name]) for axis in chosen}) > 1:
            words = ", ".join(f"{axis.name} = {at[axis.name]}" for axis in chosen)
            yield path, f"no cell has {words}", "values that move together", False


def _listed(axis: Axis) -> str:
    return ", ".join(map(str, axis.values[:10])) + (", ..." if len(axis.values) > 10 else "")


Check = Callable[[Any, Sections, Place], Iterator[Fault]]
CHECKS: dict[str, Check] = {"metric": _metric, "axis": _axis, "erratum": _erratum, "values": _values, "cells": _cells}


# ---- Groups


def unknown_groups(sections: Sections, subjects: Iterable[Subject]) -> Iterator[Fault]:
    """Groups that are asked for or spoken of, and that no cell has or the table does not keep."""
    named: list[tuple[Place, Any]] = [(("groups", i), name) for i, name in enumerate(sections.groups)]
    for section in STATEMENTS:
        for i, statement in enumerate(getattr(sections, section)):
            for what, path, value in _references(statement, (section, i)):
                if what == "group":
                    named.append((path, value))
                elif what == "cells" and GROUP in value:
                    named.append(((*path, GROUP), value[GROUP]))
    there: set[str] = set().union(*(subject.groups for subject in subjects)) if named else set()
    for path, name in named:
        if name not in there:
            yield path, f"no cell has a group {name}", suggestion(str(name), there), False
        elif sections.groups and name not in sections.groups:
            yield path, f"{name} is not kept", f"one of groups: {', '.join(sections.groups)}", False

"""Faults of an experiment that show before its cells are made: in names, axes, printed values, claims and figures; and
in groups, which follow from its cells.

Whatever is said of cells refers to axes, metrics, errata and groups of other sections. `_references` lists what a
statement refers to, and CHECKS has what must be true of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from replnet.lab.experiment.axes import MOST_POINTS, Axis, axes_moving_together, count_points
from replnet.lab.experiment.cells import Cell, Names, templates_in
from replnet.lab.experiment.sections import GROUP, RUN, STATEMENTS, Claim, Figure, Run, Sections, StatedValue
from replnet.lab.experiment.subjects import Subject
from replnet.measure import AT, COMPARED, TIME, is_metric_on_request
from replnet.text import VALUES, Fault, Place, canonical, short_repr, suggestion, template

RESERVED = {*COMPARED, "printed", "printed_verdict", "expected", "expected_verdict"}


def find_faults(sections: Sections, names: Names) -> Iterator[Fault]:
    """Yield a fault for whatever is wrong between the sections of an experiment, down to what statements refer to.

    A fault is a path, what is wrong, what would be right, and whether the key there is meant and not its value. `names`
    are the axes and named values of the sections.
    """
    yield from names.faults
    yield from _check_names(sections)
    yield from _check_fields(sections, names.used)
    yield from _check_zips(sections)
    if (total := count_points(tuple(sections.vary.values()), sections.zip)) > MOST_POINTS:
        yield ("vary",), f"makes {total:,} cells", f"at most {MOST_POINTS:,}", True
    for i, metric in enumerate(sections.measure):
        yield from _check_metric(metric, sections, ("measure", i))
    yield from _check_estimator(sections)
    for section in STATEMENTS:
        for i, statement in enumerate(getattr(sections, section)):
            yield from mismatches(statement, sections, (section, i))
    if sections.figure is not None:
        yield from mismatches(sections.figure, sections, ("figure",))
    for section in ("vary", "values") if sections.quick else ():
        defined = getattr(sections, section)
        for name in getattr(sections.quick, section):
            if name not in defined:
                yield (
                    ("quick", section, name),
                    f"{short_repr(name)} is not in {section}",
                    suggestion(name, defined),
                    True,
                )


def _check_names(sections: Sections) -> Iterator[Fault]:
    """Yield a fault for each axis, named value or override whose name is taken or is none that an expression can hold.

    Names are taken by functions, by columns of tables, and by axes.
    """
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


def _check_fields(sections: Sections, used: set[str]) -> Iterator[Fault]:
    """Yield faults for axes that are neither a name in ${ } nor a field of the subject or of `run`, and for those that
    are both; and for overrides in `set` that are no field of the subject.

    `used` are the names that expressions mention.
    """
    subject, section = sections.subject, getattr(sections, sections.subject.section)
    fields = subject.fields(sections.kind)
    for name in sections.vary:
        path = ("vary", name)
        if name.startswith(RUN):
            if (setting := name.removeprefix(RUN)) not in Run.model_fields:
                yield path, "is not a setting", suggestion(setting, Run.model_fields), True
        elif name in used:
            mentions = any(canonical(name) in template(text).names for _, text in templates_in(section.get(name)))
            if fields and name in fields and name not in sections.set and not mentions:
                wrong = f"is a name in ${{ }}, and a field of {subject.words} that does not mention it"
                yield path, wrong, f"{name}: ${{{name}}} in {subject.section}, or another name for the axis", True
        elif fields is not None and name.split(".")[0] not in fields | RESERVED:
            yield path, f"is in no ${{ }}, and is no field of {subject.words}", suggestion(name, fields), True
    for name in sections.set:
        if fields is not None and name.split(".")[0] not in fields | sections.vary.keys():
            yield ("set", name), f"is no field of {subject.words}", suggestion(name, fields), True


def _check_zips(sections: Sections) -> Iterator[Fault]:
    """Yield faults for lists in the section `zip` with fewer than two names, with names that are no axes or are in two
    lists, or with axes of different lengths.
    """
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


def _check_estimator(sections: Sections) -> Iterator[Fault]:
    """Yield a fault for each place where the cells of a network get the estimator `conditional`, if one of the metrics
    to keep can only be measured against the updates that happened.
    """
    metric = next(filter(is_metric_on_request, sections.measure), None)
    if metric is None or sections.subject.section != "network":
        return
    path: Place = ("run", "estimator")
    places = [path] if sections.run.estimator == "conditional" else []
    if axis := sections.vary.get(".".join(map(str, path))):
        pairs = zip(axis.meanings, axis.places, strict=True)
        places = [("vary", axis.name, *place) for meaning, place in pairs if meaning == "conditional"]
    for place in places:
        yield place, f"conditional does not measure {metric}", "sampled, or measure: [freshness]", False


# ---- What statements refer to


def mismatches(statement: StatedValue | Claim | Figure, sections: Sections, path: Place) -> Iterator[Fault]:
    """Yield a fault for each axis, value, metric or erratum that a statement or figure names and that does not exist.

    `path` is the place of the statement in the file.
    """
    for kind, place, value in _references(statement, path):
        if kind in CHECKS:
            yield from CHECKS[kind](value, sections, place)


def _references(statement: StatedValue | Claim | Figure, path: Place) -> Iterator[tuple[str, Place, Any]]:
    """Yield what a statement or figure at `path` refers to, each as its kind, its place and what is there.

    The kinds are metric, axis, group, erratum, cells (values by axis) and values (an axis and values of it).
    """
    for field, value in statement:
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
        elif field == "is_" and isinstance(statement, Claim):
            yield from (("group", place, name) for name in value if statement.over == GROUP)
            yield "values", place, (statement.over, value)


def _check_metric(metric: str, sections: Sections, path: Place) -> Iterator[Fault]:
    """Yield a fault at `path` if a metric is not measured, or does not follow from the formula of the cells.

    The metric upwards in a figure may also be one that is measured at times alone.
    """
    follow = sections.subject.metrics(sections.kind)
    if follow and metric not in follow:
        yield path, f"{metric} does not follow from this formula", ", ".join(follow), False
    elif path[-1] == "y" and any(timed.startswith(f"{metric}{AT}") for timed in sections.measure):
        pass  # the metric is measured at times, and these are the axis of the figure
    elif metric not in sections.measure and (sections.measure or is_metric_on_request(metric)):
        right = f"one of measure: {', '.join(sections.measure)}" if sections.measure else f"measure: {metric}"
        yield path, f"{metric} is not measured", right, False


def _check_axis(name: str, sections: Sections, path: Place) -> Iterator[Fault]:
    """Yield a fault at `path` if `name` is no axis of the experiment; `group` is one, and `time` may be."""
    timed = name == TIME and any(AT in metric for metric in sections.measure)
    if name != GROUP and name not in sections.vary and not timed:
        yield path, f"{name} is not an axis", suggestion(name, {*sections.vary, GROUP}), False


def _check_erratum(name: str, sections: Sections, path: Place) -> Iterator[Fault]:
    """Yield a fault at `path` if the errata do not have this name."""
    if name not in sections.errata:
        right = suggestion(name, sections.errata) if sections.errata else "errata: {NAME: {kind: ..., text: ...}}"
        yield path, f"{name} is not in errata", right, False


def _check_values(along: tuple[str, tuple[Any, ...]], sections: Sections, path: Place) -> Iterator[Fault]:
    """Yield a fault at `path` if no cell has any of the values; `along` is the name of their axis, and the values."""
    axis, values = sections.vary.get(along[0]), along[1]
    if axis and all(axis.index(value) is None for value in values):
        yield path, f"no cell has {axis.name} = {' or '.join(map(str, values))}", _values_in_words(axis), False


def _check_cells(at: Mapping[str, Any], sections: Sections, path: Place) -> Iterator[Fault]:
    """Yield faults below `path` if no cell has the values `at`, which are given by axis.

    There is a fault for each axis or value that does not exist, and if all do, one for values that never meet in a
    cell.
    """
    wrong = False
    for name, value in at.items():
        if name == GROUP and path[-1] != "at":
            continue
        axis = sections.vary.get(name)
        wrong |= axis is None or axis.index(value) is None
        if axis is None:
            yield (*path, name), f"{name} is not an axis", suggestion(name, sections.vary), True
        elif axis.index(value) is None:
            yield (*path, name), f"no cell has {name} = {value}", _values_in_words(axis), False
    for group in () if wrong else axes_moving_together(tuple(sections.vary.values()), sections.zip):
        chosen = [axis for axis in group if axis.name in at]
        if len({axis.index(at[axis.name]) for axis in chosen}) > 1:
            words = ", ".join(f"{axis.name} = {at[axis.name]}" for axis in chosen)
            yield path, f"no cell has {words}", "values that move together", False


def _values_in_words(axis: Axis) -> str:
    """Return the values of an axis as a text, the first ten if there are more."""
    return ", ".join(map(str, axis.values[:10])) + (", ..." if len(axis.values) > 10 else "")


Check = Callable[[Any, Sections, Place], Iterator[Fault]]
CHECKS: dict[str, Check] = {
    "metric": _check_metric,
    "axis": _check_axis,
    "erratum": _check_erratum,
    "values": _check_values,
    "cells": _check_cells,
}


# ---- What only the cells show


def idle_axes(sections: Sections, cells: Sequence[Cell]) -> Iterator[Fault]:
    """Yield a fault for each axis of several values that makes no difference anywhere, so that cells are copies.

    `cells` are all cells, in the order of the axes. Axes that move together are looked at together. There are no faults
    if fields are only set to single values.
    """
    words, stride = sections.subject.words, len(cells)
    varied = [name for name in sections.vary if "." in name and not name.startswith(RUN)]
    if sections.set and not varied:
        return  # a field that is set to one value may well take the place of an axis
    fields = [*sections.set, *varied]
    for group in axes_moving_together(tuple(sections.vary.values()), sections.zip):
        size = len(group[0].values)
        stride //= size
        pairs = ((i, i + stride) for i in range(len(cells)) if i // stride % size < size - 1)
        if size > 1 and all(cells[i].key == cells[j].key for i, j in pairs):
            name = group[0].name
            others = " and ".join(field for field in fields if field != name)
            wrong = f"changes nothing in {words}" + (f" beside {others}" if others else "")
            yield (
                ("vary", name),
                wrong,
                f"one value of {name}" + (", or no other field in its place" if others else ""),
                True,
            )


# ---- Groups


def unknown_groups(sections: Sections, subjects: Iterable[Subject]) -> Iterator[Fault]:
    """Yield a fault for each group that a section names and that no cell has, or that the table does not keep.

    `subjects` are those of all cells; they know the groups of their rows.
    """
    references: list[tuple[Place, Any]] = [(("groups", i), name) for i, name in enumerate(sections.groups)]
    for section in STATEMENTS:
        for i, statement in enumerate(getattr(sections, section)):
            for kind, path, value in _references(statement, (section, i)):
                if kind == "group":
                    references.append((path, value))
                elif kind == "cells" and GROUP in value:
                    references.append(((*path, GROUP), value[GROUP]))
    groups: set[str] = set().union(*(subject.groups for subject in subjects)) if references else set()
    for path, name in references:
        if name not in groups:
            yield path, f"no cell has a group {name}", suggestion(str(name), groups), False
        elif sections.groups and name not in sections.groups:
            yield path, f"{name} is not among the groups to keep", f"one of groups: {', '.join(sections.groups)}", False

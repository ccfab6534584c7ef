"""What can be said of an experiment before any of its cells is made: names, axes, prints, claims and figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from replnet.measure.metrics import is_beyond
from replnet.network.specification import KINDS
from replnet.papers.formula import Formula, formulas
from replnet.study.experiment.axes import MOST, Axis, Place, count, groups_of
from replnet.study.experiment.expressions import VALUES, template
from replnet.study.experiment.models import GROUP, SUBJECTS, Quick, Run
from replnet.study.experiment.names import names_of, texts, unknown
from replnet.study.experiment.sections import Sections
from replnet.study.experiment.statements import Claim, StatedValue
from replnet.study.experiment.system_fields import Optimise
from replnet.text.checks import FieldError
from replnet.text.errors import shown, suggestion
from replnet.text.grammar import canonical
from replnet.text.validation import Fault

COLUMNS = (
    "metric",
    "measured",
    "predicted",
    "printed",
    "expected",
    "z",
    "verdict",
    "kind",
    "source",
    "accuracy",
    "note",
)
RESERVED = {GROUP, *COLUMNS}
STATEMENTS = ("printed", "expected", "claims")  # the sections that say something of cells
RUN = "run."  # starts the name of an axis that is a setting


def faults(sections: Sections) -> Iterator[Fault]:
    """Everything that is wrong between the sections."""
    axes = tuple(sections.vary.values())
    _, wrong = names_of(axes, sections.values)
    yield from wrong
    yield from _named(sections)
    yield from _templates(sections)
    yield from _fields(sections)
    yield from _zips(sections)
    if (total := count(axes, sections.zip)) > MOST:
        yield ("vary",), f"makes {total:,} cells", f"at most {MOST:,}", True
    for i, metric in enumerate(sections.measure):
        yield from _metric(metric, sections, ("measure", i))
    for section in STATEMENTS:
        for i, statement in enumerate(getattr(sections, section)):
            yield from mismatches(statement, sections, (section, i))
    yield from _figure(sections)
    if sections.quick is not None:
        yield from _quick(sections, sections.quick)


def _named(sections: Sections) -> Iterator[Fault]:
    for section, names in (("values", sections.values), ("vary", sections.vary)):
        for name in names:
            path = (section, name)
            if name in VALUES.functions:
                yield path, "is the name of a function", "another name", True
            elif section == "values" and not canonical(name).isidentifier():
                yield path, "is not a name that an expression can hold", "letters, digits and _", True
            elif section == "vary" and name in RESERVED:
                yield path, "is a column of every table", "another name", True
    for name in sections.values:
        if name in sections.vary:
            yield ("values", name), "is an axis too", "one of values and vary", True
    for name in sections.set:
        if name in sections.vary:
            yield ("set", name), "is an axis too", "one of set and vary", True


def _templates(sections: Sections) -> Iterator[Fault]:
    """Texts of the network that name what is not there."""
    known = {canonical(name): name for name in (*sections.vary, *sections.values)}
    for path, text in _holes(sections):
        try:
            for name in sorted(template(text).names - known.keys()):
                yield path, *unknown(name, known), False
        except FieldError as error:
            yield path, error.wrong, error.right, False


def _holes(sections: Sections) -> Iterator[tuple[Place, str]]:
    for section in (subject(sections), "set"):
        yield from texts(getattr(sections, section), (section,))


def subject(sections: Sections) -> str:
    """The section that the cells are made from."""
    return next(name for name in SUBJECTS if getattr(sections, name) is not None)


def mentioned(sections: Sections) -> set[str]:
    """The names that appear in an expression, spelled as they are defined."""
    names, _ = names_of(tuple(sections.vary.values()), sections.values)
    found = set[str]().union(*(getattr(value, "names", ()) for value in names.values.values()))
    meanings = (meaning for axis in names.axes for meaning in axis.meanings)
    for text in [*(text for _, text in _holes(sections)), *(text for _, text in texts(list(meanings)))]:
        try:
            found |= template(text).names
        except FieldError:
            continue  # said elsewhere
    return {name for name in (*sections.vary, *sections.values) if canonical(name) in found}


def _fields(sections: Sections) -> Iterator[Fault]:
    """Axes that are neither names nor fields, or both; overrides of fields that are not there."""
    used, fields = mentioned(sections), fields_of(sections)
    what = subject(sections)
    for name in sections.vary:
        if name.startswith(RUN):
            if (setting := name.removeprefix(RUN)) not in Run.model_fields:
                yield ("vary", name), "is not a setting", suggestion(setting, Run.model_fields), True
        elif name in used:
            if fields and name in fields and name not in sections.set and not _says(sections, name):
                right = f"{name}: ${{{name}}} in {what}, or another name for the axis"
                yield (
                    ("vary", name),
                    f"is a name in ${{ }}, and a field of {_words(what)} that does not mention it",
                    right,
                    True,
                )
        elif fields is not None and name.split(".")[0] not in fields | RESERVED:
            wrong = f"is in no ${{ }}, and is no field of {_words(what)}"
            yield ("vary", name), wrong, suggestion(name, fields), True
    for name in sections.set:
        if fields is not None and name.split(".")[0] not in fields | sections.vary.keys():
            yield ("set", name), f"is no field of {_words(what)}", suggestion(name, fields), True


def _words(section: str) -> str:
    return "the network" if section == "network" else section


def fields_of(sections: Sections) -> set[str] | None:
    """The fields that the network may have, if its kind is known."""
    if sections.optimise is not None:
        return set(Optimise.model_fields)
    if sections.formula is not None:
        formula = formula_of(sections)
        return None if formula is None else set(formula.model.model_fields)
    kind = sections.set.get("kind", sections.network.get("kind"))
    if "kind" in sections.vary or not isinstance(kind, str) or kind not in KINDS:
        return None
    return set(KINDS[kind].model_fields)


def formula_of(sections: Sections) -> Formula | None:
    """The formula that all cells share, if its name is known."""
    name = sections.set.get("name", (sections.formula or {}).get("name"))
    return formulas().get(name) if isinstance(name, str) and "name" not in sections.vary else None


def _says(sections: Sections, name: str) -> bool:
    """Whether the field `name` of the network mentions the axis `name`."""
    field = getattr(sections, subject(sections)).get(name)
    return any(canonical(name) in template(text).names for _, text in texts(field))


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


def mismatches(of: StatedValue | Claim, sections: Sections, path: Place) -> Iterator[Fault]:
    """Why something that is said of cells is about none of them."""
    if of.erratum is not None and of.erratum not in sections.errata:
        right = suggestion(of.erratum, sections.errata) if sections.errata else "errata: {NAME: {kind: ..., text: ...}}"
        yield (*path, "erratum"), f"{of.erratum} is not in errata", right, False
    if isinstance(of, StatedValue):
        yield from _selects(of.at, sections, (*path, "at"), groups=False)
        yield from _metric(of.metric, sections, (*path, "metric"))
        return
    yield from _selects(of.where, sections, (*path, "where"))
    for i, at in enumerate(of.order or ()):
        yield from _selects(at, sections, (*path, "order", i))
    for field in ("argmax", "rises", "falls", "lies", "metric"):
        yield from _metric(getattr(of, field), sections, (*path, field))
    if of.over is not None:
        yield from _axis(of.over, sections, (*path, "over"))
        axis = sections.vary.get(of.over)
        if axis and of.is_ and all(axis.index(value) is None for value in of.is_):
            yield (*path, "is"), f"no cell has {axis.name} = {' or '.join(map(str, of.is_))}", _listed(axis), False


def _selects(at: Mapping[str, Any], sections: Sections, path: Place, *, groups: bool = True) -> Iterator[Fault]:
    """Why no cell has these values."""
    wrong = False
    for name, value in at.items():
        if name == GROUP and groups:
            continue
        if name not in sections.vary:
            yield (*path, name), f"{name} is not an axis", suggestion(name, sections.vary), True
            wrong = True
        elif sections.vary[name].index(value) is None:
            yield (*path, name), f"no cell has {name} = {value}", _listed(sections.vary[name]), False
            wrong = True
    for group in () if wrong else groups_of(tuple(sections.vary.values()), sections.zip):
        chosen = [axis for axis in group if axis.name in at]
        if len({axis.index(at[axis.name]) for axis in chosen}) > 1:
            words = ", ".join(f"{axis.name} = {at[axis.name]}" for axis in chosen)
            yield path, f"no cell has {words}", "values that move together", False


def _listed(axis: Axis) -> str:
    return ", ".join(map(str, axis.values[:10])) + (", ..." if len(axis.values) > 10 else "")


def _metric(metric: str | None, sections: Sections, path: Place) -> Iterator[Fault]:
    formula = formula_of(sections)
    if metric is not None and formula is not None and metric not in formula.metrics:
        yield path, f"{metric} does not follow from this formula", ", ".join(formula.metrics), False
    elif metric is not None and metric not in sections.measure and (sections.measure or is_beyond(metric)):
        right = f"one of measure: {', '.join(sections.measure)}" if sections.measure else f"measure: {metric}"
        yield path, f"{metric} is not measured", right, False


def _axis(name: str, sections: Sections, path: Place) -> Iterator[Fault]:
    if name != GROUP and name not in sections.vary:
        yield path, f"{name} is not an axis", suggestion(name, {*sections.vary, GROUP}), False


def _figure(sections: Sections) -> Iterator[Fault]:
    if sections.figure is not None:
        for part in ("x", "series", "panel"):
            name = getattr(sections.figure, part)
            if name is not None:
                yield from _axis(name, sections, ("figure", part))
        yield from _metric(sections.figure.y, sections, ("figure", "y"))


def _quick(sections: Sections, quick: Quick) -> Iterator[Fault]:
    for section, names in (("vary", sections.vary), ("values", sections.values)):
        for name in getattr(quick, section):
            if name not in names:
                yield ("quick", section, name), f"{shown(name)} is not in {section}", suggestion(name, names), True

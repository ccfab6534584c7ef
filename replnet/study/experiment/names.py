"""Named values and axes: what depends on what, and what each is at a point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, final

from replnet.study.experiment.axes import Place, Point
from replnet.study.experiment.expressions import LARGEST, Expression, Scalar, expression, is_template, template
from replnet.study.experiment.sections import Sections
from replnet.text.checks import FieldError
from replnet.text.errors import FieldsError, shown, suggestion
from replnet.text.grammar import canonical
from replnet.text.validation import Fault


@final
class Names:
    """Axes and named values in an order in which each needs only those before it.

    `used` are those that an expression mentions, as they are defined; `faults` are texts that are no expressions,
    unknown names, and cycles.
    """

    def __init__(self, sections: Sections) -> None:
        self._axes, self._values = sections.vary, dict[str, Any]()
        self.used, self.faults = set[str](), list[Fault]()
        known = {canonical(name): name for name in (*sections.vary, *sections.values)}
        needs: dict[Any, set[str]] = {name: set() for name in known.values()}
        for path, text, read in _expressions(sections):
            try:
                found = read(text)
            except FieldError as error:
                self.faults.append((path, error.wrong, error.right, False))
                continue
            if path[0] == "values":
                self._values[str(path[1])] = found
            wanted: frozenset[str] = getattr(found, "names", frozenset())
            # Not as differences of sets, which would go through all that is known.
            self.faults += [(path, *_unknown(name, known), False) for name in sorted(wanted) if name not in known]
            named = {known[name] for name in wanted if name in known}
            self.used |= named
            if path[0] in ("values", "vary"):
                needs[path[1]] |= named
        self.order, cycles = _ordered(needs)
        for cycle in cycles:
            path = ("vary" if cycle[0] in sections.vary else "values", cycle[0])
            wrong = f"depends on itself: {' -> '.join(cycle)}"
            self.faults.append((path, wrong, "an expression over other names", False))

    def at(self, point: Point) -> dict[str, Scalar]:
        """What every name stands for; raises FieldsError at the name that stands for nothing."""
        known = dict[str, Scalar]()
        for name in self.order:
            path: Place = ("values", name)
            try:
                if name in self._axes:
                    axis, i = self._axes[name], point[name]
                    path = ("vary", name, *axis.places[i])
                    meaning = axis.meanings[i]
                    known[canonical(name)] = template(str(meaning)).value(known) if is_template(meaning) else meaning
                else:
                    value = self._values[name]
                    known[canonical(name)] = value.value(known) if isinstance(value, Expression) else value
            except FieldError as error:
                raise FieldsError([(path, error.wrong, error.right)]) from None
        return known


def texts(data: Any, path: Place = ()) -> Iterator[tuple[Place, str]]:
    """The texts with ${ } in plain data, and where they stand."""
    if isinstance(data, Mapping | list | tuple):
        for key, below in data.items() if isinstance(data, Mapping) else enumerate(data):
            yield from texts(below, (*path, key))
    elif is_template(data):
        yield path, data


def _expressions(sections: Sections) -> Iterator[tuple[Place, Any, Callable[[Any], Any]]]:
    """Whatever may mention names, where it stands, and what reads it."""
    for name, value in sections.values.items():
        yield ("values", name), value, _formula
    for axis in sections.vary.values():
        for meaning, place in zip(axis.meanings, axis.places, strict=True):
            if is_template(meaning):
                yield ("vary", axis.name, *place), meaning, template
    for section in (sections.subject.section, "set"):
        yield from ((*found, template) for found in texts(getattr(sections, section), (section,)))


def _formula(value: object) -> int | float | Expression:
    """A named value as the file gives it: a number, or the text of an expression."""
    if isinstance(value, str):
        return expression(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError("", f"{shown(value)} is not a value", "a number, or an expression such as 4 / k")
    if not abs(value) <= LARGEST:  # NaN is not either
        raise FieldError("", f"{shown(value)} is not finite", "a number of at most 1e300")
    return value


def _unknown(name: str, known: Mapping[str, str]) -> tuple[str, str]:
    right = suggestion(name, known.values(), "a name of values or vary, such as")
    return f"{name} is unknown", right if known else "a name that values or vary defines"


def _ordered(needs: Mapping[str, set[str]]) -> tuple[list[str], list[list[str]]]:
    """Names after those they need, and the cycles that prevent it. Without recursion: chains may be long."""
    done: dict[str, None] = {}
    cycles: list[list[str]] = []
    for start in needs:
        way: dict[str, None] = {} if start in done else {start: None}
        while way:
            name = next(reversed(way))
            missing = sorted(need for need in needs[name] if need not in done)
            back = next((need for need in missing if need in way), None)
            if back is not None:
                names = list(way)
                cycles.append([*names[names.index(back) :], back])
            if missing and back is None:
                way[missing[0]] = None
            else:
                done[name] = way.pop(name)
    return list(done), cycles

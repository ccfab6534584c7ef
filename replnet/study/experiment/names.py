"""Named values and axes: what depends on what, and what each is at a point."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from replnet.study.experiment.axes import Axis, Place, Point
from replnet.text.arithmetic import LARGEST, Expression, Scalar, expression, is_template, template
from replnet.text.errors import FieldError, FieldsError, shown, suggestion
from replnet.text.grammar import canonical
from replnet.text.validation import Fault

Formula = int | float | Expression


def formula(value: object) -> Formula:
    """A named value as the file gives it: a number, or the text of an expression."""
    if isinstance(value, str):
        return expression(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError("", f"{shown(value)} is not a value", "a number, or an expression such as 4 / k")
    if not abs(value) <= LARGEST:  # NaN is not either
        raise FieldError("", f"{shown(value)} is not finite", "a number of at most 1e300")
    return value


def texts(data: Any, path: Place = ()) -> Iterator[tuple[Place, str]]:
    """The texts with ${ } in plain data, and where they stand."""
    if isinstance(data, Mapping):
        for key, below in data.items():
            yield from texts(below, (*path, key))
    elif isinstance(data, list | tuple):
        for i, below in enumerate(data):
            yield from texts(below, (*path, i))
    elif is_template(data):
        yield path, data


@final
@dataclass(frozen=True)
class Names:
    """Axes and named values in an order in which each needs only those before it."""

    axes: tuple[Axis, ...]
    values: Mapping[str, Formula]
    order: tuple[str, ...]

    def at(self, point: Point) -> dict[str, Scalar]:
        """What every name stands for; raises FieldsError at the name that stands for nothing."""
        by_name, known = {axis.name: axis for axis in self.axes}, dict[str, Scalar]()
        for name in self.order:
            path: Place = ("values", name)
            try:
                if name in by_name:
                    axis, i = by_name[name], point[name]
                    path = ("vary", name, *axis.places[i])
                    meaning = axis.meanings[i]
                    known[canonical(name)] = template(str(meaning)).value(known) if is_template(meaning) else meaning
                else:
                    value = self.values[name]
                    known[canonical(name)] = value.value(known) if isinstance(value, Expression) else value
            except FieldError as error:
                raise FieldsError([(path, error.wrong, error.right)]) from None
        return known


def names_of(axes: Sequence[Axis], values: Mapping[str, Any]) -> tuple[Names, list[Fault]]:
    """The names of an experiment, and what is wrong with them: expressions that are none, unknown names, cycles."""
    faults: list[Fault] = []
    formulas: dict[str, Formula] = {}
    needs: dict[str, set[str]] = {axis.name: set() for axis in axes}
    known = {canonical(name): name for name in (*needs, *values)}

    def needed(path: Place, by: str, wanted: frozenset[str]) -> None:
        # Not as a difference of sets, which would go through all that is known.
        faults.extend((path, *unknown(name, known), False) for name in sorted(wanted) if name not in known)
        needs.setdefault(by, set()).update(known[name] for name in wanted if name in known)

    for name, value in values.items():
        try:
            formulas[name] = formula(value)
        except FieldError as error:
            faults.append((("values", name), error.wrong, error.right, False))
            continue
        needed(("values", name), name, getattr(formulas[name], "names", frozenset()))
    for axis in axes:
        for meaning, place in zip(axis.meanings, axis.places, strict=True):
            try:
                if is_template(meaning):
                    needed(("vary", axis.name, *place), axis.name, template(str(meaning)).names)
            except FieldError as error:
                faults.append((("vary", axis.name, *place), error.wrong, error.right, False))
    order, cycles = _ordered(needs)
    section = {axis.name: "vary" for axis in axes}
    for cycle in cycles:
        path = (section.get(cycle[0], "values"), cycle[0])
        faults.append((path, f"depends on itself: {' -> '.join(cycle)}", "an expression over other names", False))
    return Names(tuple(axes), formulas, tuple(order)), faults


def unknown(name: str, known: Mapping[str, str]) -> tuple[str, str]:
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
            missing = sorted(need for need in needs.get(name, ()) if need not in done)
            back = next((need for need in missing if need in way), None)
            if back is not None:
                names = list(way)
                cycles.append([*names[names.index(back) :], back])
            if missing and back is None:
                way[missing[0]] = None
            else:
                done[name] = way.pop(name)
    return list(done), cycles

"""The cells of an experiment: named values at a point of the axes, and the checked subject that follows, with its
settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, final

from replnet.measure.metrics import is_beyond
from replnet.study.experiment.axes import Point, points
from replnet.study.experiment.sections import RUN, Run, Sections
from replnet.study.experiment.subjects import Settings, Subject
from replnet.study.store import durable
from replnet.text.arithmetic import LARGEST, Expression, Scalar, expression, is_template, template
from replnet.text.documents import Document, YamlNode, mapped
from replnet.text.errors import FieldError, FieldsError, InputError, Problem, shown, suggestion
from replnet.text.grammar import canonical
from replnet.text.overrides import put
from replnet.text.ranges import Place
from replnet.text.validation import Fault, checked

HANDFUL = 5  # bad cells after which no more are made


# ---- Named values


@final
class Names:
    """Axes and named values in an order in which each needs only those before it.

    `used` are those that an expression mentions, as they are defined, and `unknown` those that are nowhere defined;
    `faults` are texts that are no expressions, unknown names, and cycles.
    """

    def __init__(self, sections: Sections) -> None:
        self._axes, self._values = sections.vary, dict[str, Any]()
        self.used, self.unknown, self.faults = set[str](), set[str](), list[Fault]()
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
            for name in sorted(one for one in wanted if one not in known):
                right = suggestion(name, known.values(), "a name of values or vary, such as")
                right = right if known else "a name that values or vary defines"
                self.faults.append((path, f"{name} is unknown", right, False))
                self.unknown.add(name)
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
            value: Any = self._values.get(name)
            if axis := self._axes.get(name):
                path, value = ("vary", name, *axis.places[point[name]]), axis.meanings[point[name]]
                value = template(value) if is_template(value) else value
            try:
                known[canonical(name)] = value.value(known) if hasattr(value, "value") else value
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


# ---- Cells


@final
@dataclass(frozen=True)
class Cell:
    """What is run at a point of the axes; cells with equal keys have equal results.

    A cell that differs from its prediction is run `longer`, to see whether it still does.
    """

    key: str
    values: dict[str, Scalar]
    subject: Subject
    settings: Settings
    longer: bool = False

    @property
    def record(self) -> str:
        """The key of its record."""
        return key_of_longer(self.key) if self.longer else self.key

    @property
    def words(self) -> str:
        """Where it is on the axes."""
        return ", ".join(f"{name} = {value}" for name, value in self.values.items())


def key_of(subject: Subject, settings: Settings) -> str:
    """The hash of all that a result depends on."""
    return durable.digest(durable.canonical({subject.section: subject.data, "settings": asdict(settings)}))


def key_of_longer(key: str) -> str:
    """The key of the longer run of a cell."""
    return durable.digest(f"{key} longer")


def settings_of(run: Run, measure: Iterable[str] = ()) -> Settings:
    """Of the metrics to keep, those that are measured only if they are asked for are part of how a cell is run."""
    return Settings(**run.model_dump(), measure=tuple(filter(is_beyond, measure)))


@final
class Cells:
    """Makes the cells of checked sections, which `document` gives."""

    def __init__(self, document: Document, sections: Sections, names: Names) -> None:
        self._document, self._sections, self._names = document, sections, names
        self._axes = tuple(sections.vary.values())
        self._settings = settings_of(sections.run, sections.measure)
        varied = [name for name in sections.vary if name not in names.used]
        self._run = [("vary", name) for name in varied if name.startswith(RUN)]
        overridden = [("set", name) for name in sections.set]
        overridden += [("vary", name) for name in varied if not name.startswith(RUN)]
        # The whole before its parts: polls, then polls.rate.
        self._overrides = sorted(overridden, key=lambda path: path[1].count("."))

    def made(self, most: int | None = None) -> list[Cell]:
        """In the order of the axes, the last one fastest; an InputError after a handful that cannot be."""
        cells: list[Cell] = []
        bad: list[tuple[Point, InputError]] = []
        for point in islice(points(self._axes, self._sections.zip), most):
            try:
                cells.append(self._at(point))
            except InputError as error:
                bad.append((point, error))
                if len(bad) == HANDFUL:
                    break
        if bad:
            raise InputError(self._told(bad))
        return cells

    def _at(self, point: Point) -> Cell:
        try:
            names = self._names.at(point)
        except FieldsError as error:
            raise InputError(self._document.problem(*fault) for fault in error.faults) from None
        settings = self._settings
        if self._run:
            document = self._filled("run", self._run, point, names)
            settings = settings_of(checked(Run, document.data, document), self._sections.measure)
        subject = self._sections.subject
        made = subject.checked(self._filled(subject.section, self._overrides, point, names))
        values = {axis.name: axis.values[point[axis.name]] for axis in self._axes}
        return Cell(key_of(made, settings), values, made, settings)

    def _filled(
        self, section: str, overrides: Iterable[tuple[str, str]], point: Point, names: Mapping[str, Scalar]
    ) -> Document:
        """A section with its expressions evaluated and its fields overridden."""
        problems: list[Problem] = []

        def fill(node: YamlNode, path: Place) -> YamlNode:
            if not is_template(node.value):
                return node
            try:
                return replace(node, value=template(str(node.value)).value(names))
            except FieldError as error:
                problems.append(self._document.problem(path, error.wrong, error.right))
                return node

        root = self._document.root
        given = root.child(section) or YamlNode({}, root.mark)
        document = replace(self._document, root=mapped(given, fill, (section,)), prefix=(section,))
        for home, name in overrides:
            node, field = self._document.at(home, name).root, name
            if home == "vary":
                place = self._document.at(home, name, *self._sections.vary[name].places[point[name]]).root
                node, field = YamlNode(names[name], place.mark, place.key), name.removeprefix(RUN)
            try:
                document = put(document, field, mapped(node, fill, (home, name)))
            except InputError as error:
                problems += (self._document.problem((home, name), p.wrong, p.right) for p in error.problems)
        if problems:
            raise InputError(problems)
        return document

    def _told(self, bad: list[tuple[Point, InputError]]) -> Iterator[Problem]:
        """Each place once, with the values of its cell unless the cell farthest from it has the same problem."""
        last = {axis.name: len(axis.values) - 1 for axis in self._axes}
        everywhere: tuple[Problem, ...] = ()
        if last != bad[0][0]:
            try:
                self._at(last)
            except InputError as other:
                everywhere = other.problems
        seen: set[tuple[str | None, int | None, int | None, str]] = set()
        for point, error in bad:
            words = ", ".join(f"{axis.name} = {axis.values[point[axis.name]]}" for axis in self._axes)
            for problem in error.problems:
                place = (problem.file, problem.line, problem.column, problem.field)
                if place not in seen:
                    said = problem.wrong if not words or problem in everywhere else f"{problem.wrong}, where {words}"
                    yield replace(problem, wrong=said)
                seen.add(place)

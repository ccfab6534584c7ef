"""The cells of an experiment: named values at a point of the axes, and the checked subject that follows, with its
settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, final

from replnet.lab.experiment.axes import Point, points
from replnet.lab.experiment.sections import RUN, Run, Sections
from replnet.lab.experiment.subjects import Subject
from replnet.measure import is_metric_on_request
from replnet.run import Settings
from replnet.store import durable
from replnet.text import (
    LARGEST_VALUE,
    Document,
    DocumentError,
    Expression,
    Fault,
    FieldError,
    FieldsError,
    Place,
    Problem,
    Scalar,
    YamlNode,
    canonical,
    expression,
    is_template,
    map_scalars,
    put,
    short_repr,
    suggestion,
    template,
    validate,
)

MOST_BAD_CELLS = 5  # bad cells after which no more are made


# ---- Named values


@final
class Names:
    """The axes and named values of an experiment, in an order in which each needs only those before it.

    `order` lists them so, `used` are those that expressions mention, and `unknown` the names that are mentioned and
    that nothing defines. `faults` are the texts that are no expressions, the unknown names and the cycles, each as its
    path, what is wrong, what would be right, and False.
    """

    def __init__(self, sections: Sections) -> None:
        self._axes, self._values = sections.vary, dict[str, Any]()
        self.used, self.unknown, self.faults = set[str](), set[str](), list[Fault]()
        defined = {canonical(name): name for name in (*sections.vary, *sections.values)}
        needs: dict[Any, set[str]] = {name: set() for name in defined.values()}
        for path, text, parse in _expressions(sections):
            try:
                parsed = parse(text)
            except FieldError as error:
                self.faults.append((path, error.wrong, error.right, False))
                continue
            if path[0] == "values":
                self._values[str(path[1])] = parsed
            mentions: frozenset[str] = getattr(parsed, "names", frozenset())
            # A difference of sets would go through all defined names.
            for name in sorted(mention for mention in mentions if mention not in defined):
                right = suggestion(name, defined.values(), "a name of values or vary, such as")
                right = right if defined else "a name that values or vary defines"
                self.faults.append((path, f"{name} is unknown", right, False))
                self.unknown.add(name)
            names = {defined[name] for name in mentions if name in defined}
            self.used |= names
            if path[0] in ("values", "vary"):
                needs[path[1]] |= names
        self.order, cycles = _sort_by_needs(needs)
        for cycle in cycles:
            path = ("vary" if cycle[0] in sections.vary else "values", cycle[0])
            wrong = f"depends on itself: {' -> '.join(cycle)}"
            self.faults.append((path, wrong, "an expression over other names", False))

    def at(self, point: Point) -> dict[str, Scalar]:
        """Return the values of all axes and named values at a point of the axes, by name as expressions write it.

        An axis has the meaning of its value there, its expression evaluated, and not a label.

        Raises FieldsError at an expression that has no value there.
        """
        values = dict[str, Scalar]()
        for name in self.order:
            path: Place = ("values", name)
            value: Any = self._values.get(name)
            if axis := self._axes.get(name):
                path, value = ("vary", name, *axis.places[point[name]]), axis.meanings[point[name]]
                value = template(value) if is_template(value) else value
            try:
                values[canonical(name)] = value.value(values) if hasattr(value, "value") else value
            except FieldError as error:
                raise FieldsError([(path, error.wrong, error.right)]) from None
        return values


def templates_in(data: Any, path: Place = ()) -> Iterator[tuple[Place, str]]:
    """Yield a pair for every text with ${ } in plain data: its path, which begins with `path`, and the text."""
    if isinstance(data, Mapping | list | tuple):
        for key, part in data.items() if isinstance(data, Mapping) else enumerate(data):
            yield from templates_in(part, (*path, key))
    elif is_template(data):
        yield path, data


def _expressions(sections: Sections) -> Iterator[tuple[Place, Any, Callable[[Any], Any]]]:
    """Yield a triple for every text of the sections that may mention names: its path, the text, and its parser."""
    for name, value in sections.values.items():
        yield ("values", name), value, _parse_value
    for axis in sections.vary.values():
        for meaning, place in zip(axis.meanings, axis.places, strict=True):
            if is_template(meaning):
                yield ("vary", axis.name, *place), meaning, template
    for section in (sections.subject.section, "set"):
        yield from (
            (*place_and_text, template) for place_and_text in templates_in(getattr(sections, section), (section,))
        )


def _parse_value(value: object) -> int | float | Expression:
    """Return a named value as the file gives it: a number, or the expression that a text is.

    Raises FieldError for anything else.
    """
    if isinstance(value, str):
        return expression(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise FieldError("", f"{short_repr(value)} is not a value", "a number, or an expression such as 4 / k")
    if not abs(value) <= LARGEST_VALUE:  # which refuses NaN too
        raise FieldError("", f"{short_repr(value)} is not finite", "a number of at most 1e300")
    return value


def _sort_by_needs(needs: Mapping[str, set[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the names, each after those that it needs, and the cycles in which names need one another.

    `needs` has by name the names that it needs. A cycle begins and ends with the same name, and its names are returned,
    too. There is no recursion, as chains of names may be long.
    """
    done: dict[str, None] = {}
    cycles: list[list[str]] = []
    for start in needs:
        chain: dict[str, None] = {} if start in done else {start: None}
        while chain:
            name = next(reversed(chain))
            missing = sorted(need for need in needs[name] if need not in done)
            back = next((need for need in missing if need in chain), None)
            if back is not None:
                names = list(chain)
                cycles.append([*names[names.index(back) :], back])
            if missing and back is None:
                chain[missing[0]] = None
            else:
                done[name] = chain.pop(name)
    return list(done), cycles


# ---- Cells


@final
@dataclass(frozen=True)
class Cell:
    """A combination of the axes: the `subject` it is about, the `settings` it is run by, and its `values` by axis.

    Cells with equal keys have equal results: `key` is a hash of subject and settings. A cell that differs from its
    prediction is made again with `longer`, and then runs four times as long, to see whether it still differs.
    """

    key: str
    values: dict[str, Scalar]
    subject: Subject
    settings: Settings
    longer: bool = False

    @property
    def record_key(self) -> str:
        """The key under which the cell's record is stored; a longer run has one of its own."""
        return key_of_longer(self.key) if self.longer else self.key

    @property
    def words(self) -> str:
        """The cell's values of the axes as a text, such as k = 3, B = 30."""
        return ", ".join(f"{name} = {value}" for name, value in self.values.items())


def key_of(subject: Subject, settings: Settings) -> str:
    """Return the key of a cell: a hash, as text, of all that its result depends on, its subject and settings."""
    return durable.digest(durable.canonical_json({subject.section: subject.data, "settings": settings.of_cell()}))


def key_of_longer(key: str) -> str:
    """Return the key under which the longer run of a cell is stored, whose own key is `key`."""
    return durable.digest(f"{key} longer")


def settings_of(run: Run, measure: Iterable[str] = ()) -> Settings:
    """Return the settings of a cell from the section `run` of its file.

    `measure` are the metrics to keep, of which only those that are measured on request alone become part of the
    settings.
    """
    return Settings(**run.model_dump(), measure=tuple(filter(is_metric_on_request, measure)))


@final
class CellMaker:
    """A maker of cells, from the document of an experiment, the sections that were read from it, and its names."""

    def __init__(self, document: Document, sections: Sections, names: Names) -> None:
        self._document, self._sections, self._names = document, sections, names
        self._axes = tuple(sections.vary.values())
        self._settings = settings_of(sections.run, sections.measure)
        varied = [name for name in sections.vary if name not in names.used]
        self._run = [("vary", name) for name in varied if name.startswith(RUN)]
        overridden = [("set", name) for name in sections.set]
        overridden += [("vary", name) for name in varied if not name.startswith(RUN)]
        # A field comes before the fields inside it: polls, then polls.rate.
        self._overrides = sorted(overridden, key=lambda path: path[1].count("."))

    def make(self, most: int | None = None) -> list[Cell]:
        """Return all cells, or the first `most`, in the order of the axes, the last axis fastest.

        Raises DocumentError, without any cells, if one cannot be made; it tells what is wrong in the first five such.
        """
        cells: list[Cell] = []
        bad: list[tuple[Point, DocumentError]] = []
        for point in islice(points(self._axes, self._sections.zip), most):
            try:
                cells.append(self._make_at(point))
            except DocumentError as error:
                bad.append((point, error))
                if len(bad) == MOST_BAD_CELLS:
                    break
        if bad:
            raise DocumentError(self._problems_at(bad))
        return cells

    def _make_at(self, point: Point) -> Cell:
        """Return the cell at a point; raise DocumentError if something in it is wrong."""
        try:
            names = self._names.at(point)
        except FieldsError as error:
            raise DocumentError(self._document.problem(*fault) for fault in error.faults) from None
        settings = self._settings
        if self._run:
            document = self._fill_in("run", self._run, point, names)
            settings = settings_of(validate(Run, document.data, document), self._sections.measure)
        subject_class = self._sections.subject
        subject = subject_class.from_document(self._fill_in(subject_class.section, self._overrides, point, names))
        values = {axis.name: axis.values[point[axis.name]] for axis in self._axes}
        return Cell(key_of(subject, settings), values, subject, settings)

    def _fill_in(
        self, section: str, overrides: Iterable[tuple[str, str]], point: Point, names: Mapping[str, Scalar]
    ) -> Document:
        """Return a document with one section, as it is at a point: its expressions evaluated, its fields overridden.

        `names` has the values of axes and named values there. `overrides` are pairs: the section that has the value,
        `set` or `vary`, and the dotted name of the field. Raises DocumentError with all that is wrong in it.
        """
        problems: list[Problem] = []

        def fill(node: YamlNode, path: Place) -> YamlNode:
            """Return the node with the value of its expression, or as it is if it has none or one that is wrong.

            What is wrong is added to `problems`.
            """
            if not is_template(node.value):
                return node
            try:
                return replace(node, value=template(str(node.value)).value(names))
            except FieldError as error:
                problems.append(self._document.problem(path, error.wrong, error.right))
                return node

        root = self._document.root
        node_of_section = root.child(section) or YamlNode({}, root.mark)
        document = replace(self._document, root=map_scalars(node_of_section, fill, (section,)), prefix=(section,))
        for home, name in overrides:
            node, field = self._document.at(home, name).root, name
            if home == "vary":
                place = self._document.at(home, name, *self._sections.vary[name].places[point[name]]).root
                node, field = YamlNode(names[name], place.mark, place.key), name.removeprefix(RUN)
            try:
                document = put(document, field, map_scalars(node, fill, (home, name)))
            except DocumentError as error:
                problems += (self._document.problem((home, name), p.wrong, p.right) for p in error.problems)
        if problems:
            raise DocumentError(problems)
        return document

    def _problems_at(self, bad: list[tuple[Point, DocumentError]]) -> Iterator[Problem]:
        """Yield the problems of `bad` points, which come with their errors; only the first problem at each place.

        Each names the values of the axes there, unless the very last cell has the same problem, which then
        does not depend on the axes.
        """
        last = {axis.name: len(axis.values) - 1 for axis in self._axes}
        everywhere: tuple[Problem, ...] = ()
        if last != bad[0][0]:
            try:
                self._make_at(last)
            except DocumentError as other:
                everywhere = other.problems
        seen: set[tuple[str | None, int | None, int | None, str]] = set()
        for point, error in bad:
            words = ", ".join(f"{axis.name} = {axis.values[point[axis.name]]}" for axis in self._axes)
            for problem in error.problems:
                place = (problem.file, problem.line, problem.column, problem.field)
                if place not in seen:
                    wrong = problem.wrong if not words or problem in everywhere else f"{problem.wrong}, where {words}"
                    yield replace(problem, wrong=wrong)
                seen.add(place)

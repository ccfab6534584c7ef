"""The cells of an experiment: a checked subject, with its settings, per point of the axes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, final

from replnet.measure.metrics import is_beyond
from replnet.study.experiment.axes import Place, Point, points
from replnet.study.experiment.checks import RUN
from replnet.study.experiment.expressions import Scalar, is_template, template
from replnet.study.experiment.names import Names
from replnet.study.experiment.sections import Run, Sections
from replnet.study.experiment.subjects import Settings, Subject
from replnet.text.checks import FieldError
from replnet.text.documents import Document, Node, collection, mapped
from replnet.text.errors import FieldsError, InputError, Problem
from replnet.text.overrides import put
from replnet.text.validation import checked

HANDFUL = 5  # bad cells after which no more are made


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
    data = {subject.section: subject.data, "settings": asdict(settings)}
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def key_of_longer(key: str) -> str:
    """The key of the longer run of a cell."""
    return hashlib.sha256(f"{key} longer".encode()).hexdigest()


def settings_of(run: Run, measure: Iterable[str] = ()) -> Settings:
    """Of the metrics to keep, those that are measured only if they are asked for are part of how a cell is run."""
    return Settings(**run.model_dump(), measure=tuple(filter(is_beyond, measure)))


@final
class Cells:
    """Makes the cells of checked sections, which `document` gives."""

    def __init__(self, document: Document, sections: Sections, names: Names) -> None:
        self._document, self._sections, self._names = document, sections, names
        self._axes = tuple(sections.vary.values())
        self._section = sections.subject.section
        self._settings = settings_of(sections.run, sections.measure)
        varied = [name for name in sections.vary if name not in names.used]
        self._run_axes = [name for name in varied if name.startswith(RUN)]
        overridden = [("set", name) for name in sections.set]
        overridden += [("vary", name) for name in varied if name not in self._run_axes]
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
        settings = self._settings_at(point) if self._run_axes else self._settings
        subject = self._sections.subject.checked(self._filled(point, names))
        values = {axis.name: axis.values[point[axis.name]] for axis in self._axes}
        return Cell(key_of(subject, settings), values, subject, settings)

    def _filled(self, point: Point, names: dict[str, Scalar]) -> Document:
        """What the subject is made from, with its expressions evaluated and its fields overridden."""
        problems: list[Problem] = []

        def fill(node: Node, path: Place) -> Node:
            if not is_template(node.value):
                return node
            try:
                return replace(node, value=template(str(node.value)).value(names))
            except FieldError as error:
                problems.append(self._document.problem(path, error.wrong, error.right))
                return node

        document = self._document.at(self._section)
        document = replace(document, root=mapped(document.root, fill, (self._section,)))
        for path in self._overrides:
            node = self._document.at(*path).root if path[0] == "set" else self._given(path[1], point, names[path[1]])
            try:
                document = put(document, path[1], mapped(node, fill, path))
            except InputError as error:
                problems += (self._document.problem(path, p.wrong, p.right) for p in error.problems)
        if problems:
            raise InputError(problems)
        return document

    def _settings_at(self, point: Point) -> Settings:
        root = self._document.root
        run = root.child("run") or collection({}, root.mark)
        document = replace(self._document, root=run, prefix=("run",))
        for name in self._run_axes:
            axis = self._sections.vary[name]
            document = put(document, name.removeprefix(RUN), self._given(name, point, axis.meanings[point[name]]))
        return settings_of(checked(Run, document.data, document), self._sections.measure)

    def _given(self, name: str, point: Point, value: Any) -> Node:
        """A value of an axis, where the file gives it."""
        node = self._document.at("vary", name, *self._sections.vary[name].places[point[name]]).root
        return Node(value, node.mark, node.key)

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

"""The cells of an experiment: one checked network, or what stands in its place, with its settings, per point."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, final

from replnet.measure.metrics import is_beyond
from replnet.network.network import Network
from replnet.papers.formula import arguments
from replnet.study.experiment.axes import Place, Point, points
from replnet.study.experiment.checks import RUN, mentioned, subject
from replnet.study.experiment.expressions import Scalar, is_template, template
from replnet.study.experiment.models import Run
from replnet.study.experiment.names import names_of
from replnet.study.experiment.sections import Sections
from replnet.study.experiment.system_fields import Optimise
from replnet.text.checks import FieldError
from replnet.text.documents import Document, Node, collection, mapped
from replnet.text.errors import FieldsError, InputError, Problem
from replnet.text.overrides import put
from replnet.text.validation import checked

HANDFUL = 5  # bad cells after which no more are made


@final
@dataclass(frozen=True)
class Settings:
    """How a cell is run: the arguments of emulate; the fastest engine that fits if `engine` is None."""

    engine: str | None
    estimator: str
    seed: int
    horizon: float | None
    precision: float | None
    replications: int | None
    resolution: float
    measure: tuple[str, ...] = ()


@final
@dataclass(frozen=True)
class Cell:
    """A network to run, a system to optimise or a formula, as plain data; cells with equal keys have equal results."""

    key: str
    values: dict[str, Scalar]
    network: dict[str, Any]
    settings: Settings
    optimise: dict[str, Any] | None = None
    formula: dict[str, Any] | None = None


def key_of(what: Mapping[str, Any], settings: Settings) -> str:
    """The hash of all that a result depends on."""
    data = {**what, "settings": asdict(settings)}
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def settings_of(run: Run, measure: Iterable[str] = ()) -> Settings:
    """Of the metrics to keep, those that are measured only if they are asked for are part of how a cell is run."""
    return Settings(**run.model_dump(), measure=tuple(filter(is_beyond, measure)))


@final
class Cells:
    """Makes the cells of checked sections, which `document` gives."""

    def __init__(self, document: Document, sections: Sections) -> None:
        self._document, self._sections = document, sections
        self._axes = tuple(sections.vary.values())
        self._names, _ = names_of(self._axes, sections.values)
        self._subject = document.at(subject(sections))
        self._settings = settings_of(sections.run, sections.measure)
        used = mentioned(sections)
        varied = [axis.name for axis in self._axes if axis.name not in used]
        self._run_axes = [name for name in varied if name.startswith(RUN)]
        overridden = [*(("set", name) for name in sections.set), *(("vary", name) for name in varied)]
        # The whole before its parts: polls, then polls.rate.
        self._overrides = sorted(
            (path for path in overridden if path[1] not in self._run_axes), key=lambda path: path[1].count(".")
        )

    def all(self) -> list[Cell]:
        """In the order of the axes, the last one fastest; an InputError after a handful that cannot be."""
        cells: list[Cell] = []
        bad: list[tuple[Point, InputError]] = []
        for point in points(self._axes, self._sections.zip):
            try:
                cells.append(self.at(point))
            except InputError as error:
                bad.append((point, error))
                if len(bad) == HANDFUL:
                    break
        if bad:
            raise InputError(self._told(bad))
        return cells

    def first(self) -> Cell:
        """As an example of all."""
        point = next(points(self._axes, self._sections.zip))
        try:
            return self.at(point)
        except InputError as error:
            raise InputError(self._told([(point, error)])) from None

    def at(self, point: Point) -> Cell:
        names = self._known(point)
        document = self._filled(point, names)
        values = {axis.name: axis.values[point[axis.name]] for axis in self._axes}
        settings = self._settings_at(point) if self._run_axes else self._settings
        if self._sections.optimise is not None:
            plan = checked(Optimise, document.data, document).model_dump(mode="json", exclude_none=True)
            return Cell(key_of({"optimise": plan}, settings), values, {}, settings, plan)
        if self._sections.formula is not None:
            given = arguments(document.data, document).model_dump(mode="json", exclude_none=True)
            return Cell(key_of({"formula": given}, settings), values, {}, settings, formula=given)
        network = Network.from_data(document.data, document).data()
        return Cell(key_of({"network": network}, settings), values, network, settings)

    def _known(self, point: Point) -> dict[str, Scalar]:
        try:
            return self._names.at(point)
        except FieldsError as error:
            raise InputError(self._document.problem(*fault) for fault in error.faults) from None

    def _filled(self, point: Point, names: Mapping[str, Scalar]) -> Document:
        """The network, or the system, with its expressions evaluated and its fields overridden."""
        problems: list[Problem] = []

        def fill(node: Node, path: Place) -> Node:
            if not is_template(node.value):
                return node
            try:
                return replace(node, value=template(str(node.value)).value(names))
            except FieldError as error:
                problems.append(self._document.problem(path, error.wrong, error.right))
                return node

        section = subject(self._sections)
        document = replace(self._subject, root=mapped(self._subject.root, fill, (section,)))
        for path in self._overrides:
            try:
                document = put(document, path[1], mapped(self._override(path, point, names), fill, path))
            except InputError as error:
                problems += (self._document.problem(path, p.wrong, p.right) for p in error.problems)
        if problems:
            raise InputError(problems)
        return document

    def _override(self, path: tuple[str, str], point: Point, names: Mapping[str, Scalar]) -> Node:
        if path[0] == "set":
            return self._document.at(*path).root
        axis = self._sections.vary[path[1]]
        node = self._document.at(*path, *axis.places[point[axis.name]]).root
        return Node(names[axis.name], node.mark, node.key)

    def _settings_at(self, point: Point) -> Settings:
        root = self._document.root
        run = root.child("run") or collection({}, root.mark)
        document = replace(self._document, root=run, prefix=("run",))
        for name in self._run_axes:
            axis, i = self._sections.vary[name], point[name]
            node = self._document.at("vary", name, *axis.places[i]).root
            document = put(document, name.removeprefix(RUN), Node(axis.meanings[i], node.mark, node.key))
        return settings_of(checked(Run, document.data, document), self._sections.measure)

    def _told(self, bad: list[tuple[Point, InputError]]) -> Iterator[Problem]:
        """Each place once, with the values of its cell unless the cell farthest from it has the same problem."""
        last = {axis.name: len(axis.values) - 1 for axis in self._axes}
        everywhere: tuple[Problem, ...] = ()
        if last != bad[0][0]:
            try:
                self.at(last)
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

"""Experiments: YAML files, or plain data, as checked objects that know their cells.

Overrides are applied to the document before it is checked, so that whatever is wrong has its place in them:

    -s B=30              a named value          -s run.precision=0.01    a setting
    -s k=1,3,9           an axis                -s polls.rate=1:8:8      any field of the network, here as an axis

A list or a range makes an axis of what was a value or a field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

from replnet.lab.experiment.axes import Axis
from replnet.lab.experiment.cells import Cell, CellMaker, Names, settings_of
from replnet.lab.experiment.checks import find_faults, idle_axes, mismatches, unknown_groups
from replnet.lab.experiment.sections import RUN, STATEMENTS, Claim, Erratum, Expected, Figure, Printed, Sections
from replnet.lab.experiment.soundness import DESCRIBING, require_sound, sections_of
from replnet.network import EXPERIMENT_FIELDS, document_of
from replnet.run import Settings
from replnet.text import (
    Document,
    DocumentError,
    Mark,
    Problem,
    YamlNode,
    file_error,
    folders,
    is_range,
    node_of,
    problem_at,
    read_yaml,
    shipped,
    shipped_names,
    suggestion,
    value_of,
    with_absolute_files,
)

REPLACED_WHOLE = ("measure", "groups")  # sections that an override replaces as a whole
MERGED_BY_FIELD = ("run", "vary", "values", "set")  # sections of which `quick` replaces single fields

Request = tuple[Document, tuple[str, ...], tuple[str, ...]]
"""A document, its overrides, and axes to move together."""


@final
@dataclass(frozen=True, eq=False)
class Experiment:
    """A checked experiment, which knows its cells: what its file says, section by section, with its axes by themselves.

    `zips` are the names of axes that move together, `settings` those of every cell that no axis changes, and `data` is
    the whole file as plain data, from which `from_data` makes the same experiment.
    """

    name: str
    title: str
    claim: str | None
    paper: str | None
    axes: tuple[Axis, ...]
    zips: tuple[tuple[str, ...], ...]
    settings: Settings
    measure: tuple[str, ...]
    groups: tuple[str, ...]
    printed: tuple[Printed, ...]
    expected: tuple[Expected, ...]
    claims: tuple[Claim, ...]
    errata: Mapping[str, Erratum]
    figure: Figure | None
    data: dict[str, Any] = field(repr=False)
    _document: Document = field(repr=False)
    _sections: Sections = field(repr=False)
    _request: Request = field(repr=False)

    def cells(self) -> list[Cell]:
        """Return all cells, each with a checked subject, the last axis fastest.

        Raises DocumentError if one cannot be made, a group is named that no cell has, or an axis changes nothing.
        """
        return list(self._cells)

    @cached_property
    def _cells(self) -> tuple[Cell, ...]:
        """The cells, made once; reading it raises DocumentError if one cannot be made, a group is unknown, or an axis
        of a file changes nothing.
        """
        cells = CellMaker(self._document, self._sections, Names(self._sections)).make()
        wrong = [*unknown_groups(self._sections, (cell.subject for cell in cells))]
        if self._document.name:  # plain data may be those of a run that is kept, which stays readable
            wrong += idle_axes(self._sections, cells)
        if wrong:
            raise DocumentError(map(problem_at(self._document), wrong))
        return tuple(cells)

    def quick(self) -> Experiment:
        """Return the experiment with its section `quick` merged over the others, before its own overrides and zips are
        applied. Statements about cells or metrics that it then lacks are left out.
        """
        return _make_experiment(self._request, quick=True)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Experiment:
        """Return the experiment of plain data such as `data`; relative file names count from the working directory.

        Raises DocumentError with all that is wrong.
        """
        return _make_experiment((_insert_network(Document("", node_of(data, Mark(None, None)), ())), (), ()))


def load_experiment(source: str | Path, overrides: Iterable[str] = (), zips: Iterable[str] = ()) -> Experiment:
    """Return the experiment of a YAML file, or of one that ships with replnet by its name.

    `overrides` are `key=value` as after -s, `zips` lists of axes such as `a,b`. Raises DocumentError with all that is
    wrong.
    """
    path = Path(source)
    if not path.is_file():
        path = shipped(str(source), "experiments") or path
    if not path.exists():
        names = shipped_names("experiments")
        right = f"a file, or an experiment that comes with replnet: {suggestion(str(source), names)}"
        if shipped(str(source)):
            raise file_error(str(source), "is a network, and no experiment", f"replnet run {source}")
        raise file_error(str(source), "does not exist", right)
    document = read_yaml(path)
    if "kind" in document.fields() and document.fields().keys().isdisjoint(EXPERIMENT_FIELDS):
        raise file_error(document.name, "is a network, and no experiment", f"replnet run {source}")
    document = _insert_network(document)
    if document.root.child("name") is None:
        document = document.replace_node(("name",), YamlNode(_name(path), document.root.mark))
    return _make_experiment((document, tuple(overrides), tuple(zips)))


def _name(path: Path) -> str:
    """Return the name of the experiment in a file: p2p/fig3 if it ships with replnet, else that of the file.

    The name of a file is without its ending.
    """
    for folder in folders("experiments"):
        if path.resolve().is_relative_to(folder):
            return path.resolve().relative_to(folder).with_suffix("").as_posix()
    return path.stem


def _insert_network(document: Document) -> Document:
    """Return the document with the fields of its network in the place of their name, if the file has only that.

    The name is a file, or a network that ships with replnet. Raises DocumentError if there is none.
    """
    node = document.root.child("network")
    if node is None or not isinstance(node.value, str):
        return document
    path = document.directory / node.value
    if not path.is_file():
        path = shipped(node.value) or path
    if not path.is_file():
        right = f"fields, a file, or a network that comes with replnet: {suggestion(node.value, shipped_names())}"
        raise DocumentError([document.problem(("network",), f"{path} does not exist", right)])
    network = document_of(path)
    root = replace(
        _in_file(with_absolute_files(network.root, network.directory, ("network",)), network.name), key=node.key
    )
    return replace(document.replace_node(("network",), root), others={network.name: network.lines})


def _in_file(node: YamlNode, name: str) -> YamlNode:
    """Return the node, and all nodes below it, with places that say that they are in the file `name`."""
    mark, key = node.mark._replace(origin=name), node.key._replace(origin=name) if node.key else None
    if isinstance(node.value, dict):
        return YamlNode({field: _in_file(child, name) for field, child in node.value.items()}, mark, key)
    if isinstance(node.value, list):
        return YamlNode([_in_file(child, name) for child in node.value], mark, key)
    return replace(node, mark=mark, key=key)


# ---- Checked


def _make_experiment(request: Request, quick: bool = False) -> Experiment:
    """Return the experiment that a request describes, checked, with its section `quick` in force if `quick` is True.

    A request is a document, its overrides and lists of axes to move together. Raises DocumentError with all that is
    wrong.
    """
    document, overrides, zips = request
    document, is_another = apply_overrides(apply_quick(document) if quick else document, overrides, zips)
    document = replace(document, root=with_absolute_files(document.root, document.directory, document.prefix))
    if overrides or zips:  # they come after `quick`, so that section is of no more use
        document = document.replace_node(("quick",), None)
    sections = sections_of(document)
    if is_another:  # what a paper prints is about its own experiment; claims without an erratum may hold here too
        document = _filter_statements(
            document, sections, lambda section, of: section == "claims" and of.erratum is None
        )
        document = document.replace_node(("errata",), None)
        sections = sections_of(document)
    if quick or overrides:
        document, sections = _drop_mismatches(document, sections)
    require_sound(document, sections)
    if not overrides and not quick and sections.quick is not None:
        fast = apply_quick(document)
        fast, fewer = _drop_mismatches(fast, sections_of(fast))
        if wrong := [*map(problem_at(fast), find_faults(fewer, Names(fewer)))]:
            raise DocumentError(wrong)
    return Experiment(
        name=sections.name or "experiment",
        **{name: getattr(sections, name) for name in DESCRIBING},
        axes=tuple(sections.vary.values()),
        zips=sections.zip,
        settings=settings_of(sections.run, sections.measure),
        data=document.data,
        _document=document,
        _sections=sections,
        _request=request,
    )


def _drop_mismatches(document: Document, sections: Sections) -> tuple[Document, Sections]:
    """Return the document and its sections, without the statements about axes, values, metrics or errata that it
    lacks.
    """
    document = _filter_statements(document, sections, lambda section, of: not any(mismatches(of, sections, (section,))))
    return document, sections_of(document)


def _filter_statements(document: Document, sections: Sections, keep: Callable[[str, Any], bool]) -> Document:
    """Return the document with only those statements for which `keep(section, statement)` is true.

    Statements are the entries of `printed`, `expected` and `claims`. `sections` are those of the document.
    """
    for section in STATEMENTS:
        node = document.root.child(section)
        if node is not None and isinstance(node.value, list):
            pairs = zip(node.value, getattr(sections, section), strict=True)
            nodes = [child for child, statement in pairs if keep(section, statement)]
            document = document.replace_node((section,), YamlNode(nodes, node.mark, node.key))
    return document


# ---- Overrides


def apply_quick(document: Document) -> Document:
    """Return the document with its section `quick` merged over the others, field by field, and without that section.

    A document without such a section is returned as it is.
    """
    quick = document.root.child("quick")
    if quick is None or not isinstance(quick.value, dict):
        return document
    merged = document.replace_node(("quick",), None)
    for section in MERGED_BY_FIELD:
        for name, node in document.fields("quick", section).items():
            merged = merged.replace_node((section, name), node)
    return merged


def apply_overrides(document: Document, assignments: Iterable[str], zips: Iterable[str]) -> tuple[Document, bool]:
    """Return the document with every `key=value` applied and axes zipped, and whether that is another experiment.

    It is not if only the values of its axes, or how it is run, have changed. `zips` are lists of axes such as `a,b`.
    Raises DocumentError with all that is wrong.
    """
    problems: list[Problem] = []
    is_another = False
    for assignment in assignments:
        try:
            document, differs = _apply(document, assignment)
            is_another |= differs
        except DocumentError as error:
            problems += error.problems
    if problems:
        raise DocumentError(problems)
    for names in zips:
        mark = Mark(None, None, f"--zip {names}")
        node = node_of([name.strip() for name in names.split(",")], mark)
        section = document.root.child("zip")
        before = section.value if section is not None and isinstance(section.value, list) else []
        document = document.replace_node(("zip",), YamlNode([*before, node], section.mark if section else mark))
    return document, is_another


def _apply(document: Document, assignment: str) -> tuple[Document, bool]:
    """Return the document with one `key=value` applied, and whether that is another experiment.

    It is not if only the values of an axis, or how it is run, have changed. Raises DocumentError if the text is not of
    this form.
    """
    origin = f"-s {assignment}"
    key, equals, text = assignment.partition("=")
    key, text = key.strip().removeprefix("network."), text.strip()
    if not equals or not all(key.split(".")):
        raise DocumentError([Problem(origin, None, None, "-s", "is not key=value", "such as -s k=1,3,9")])
    is_axis, node = _parse_override(text, origin)
    is_list = is_axis or isinstance(node.value, list)
    if key in REPLACED_WHOLE:
        return document.replace_node((key,), node), False
    if key in document.fields("vary"):
        return document.replace_node(("vary", key), node), False
    section = "values" if key in document.fields("values") else "set"
    if section == "set" and key.startswith(RUN):
        return document.replace_node(("vary", key) if is_list else ("run", key.removeprefix(RUN)), node), False
    if is_axis or (is_list and section == "values"):  # a field may be a list
        return document.replace_node((section, key), None).replace_node(("vary", key), node), True
    return document.replace_node((section, key), node), True


def _parse_override(text: str, origin: str) -> tuple[bool, YamlNode]:
    """Return whether the text of an override describes an axis, and its value as a node.

    It does if it is a range, or values between commas. `origin` is the place that messages give.
    """
    parts = _split_at_commas(text)
    if len(parts) > 1:
        values = [value_of(part.strip(), origin) for part in parts]
        return True, YamlNode(values, Mark(None, None, origin), Mark(None, None, origin))
    return is_range(text), value_of(text, origin)


def _split_at_commas(text: str) -> list[str]:
    """Return the parts of a text between its commas outside brackets, each any value of YAML; empty ones are left
    out.
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]

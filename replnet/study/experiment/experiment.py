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

from replnet.study.experiment.axes import Axis
from replnet.study.experiment.cells import Cell, Cells, Names, settings_of
from replnet.study.experiment.checks import faults, mismatches, unknown_groups
from replnet.study.experiment.sections import RUN, STATEMENTS, Claim, Erratum, Expected, Figure, Printed, Sections
from replnet.study.experiment.soundness import SAID, require_sound, sections_of
from replnet.study.experiment.subjects import Settings
from replnet.text.documents import (
    Document,
    Mark,
    YamlNode,
    file_error,
    folders,
    node_of,
    read_yaml,
    shipped,
    shipped_names,
)
from replnet.text.errors import InputError, Problem, suggestion
from replnet.text.overrides import anchored, value_of
from replnet.text.ranges import is_range
from replnet.text.validation import located

WHOLE = ("measure", "groups")  # sections that an override replaces as they are
MERGED = ("run", "vary", "values", "set")  # and those of which `quick` replaces fields

Asked = tuple[Document, tuple[str, ...], tuple[str, ...]]
"""A document, its overrides, and axes to move together."""


@final
@dataclass(frozen=True, eq=False)
class Experiment:
    """A checked experiment; `data` is plain and gives the same experiment again."""

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
    _asked: Asked = field(repr=False)

    def cells(self) -> list[Cell]:
        """All cells, each with a checked subject, the last axis fastest."""
        return list(self._cells)

    @cached_property
    def _cells(self) -> tuple[Cell, ...]:
        cells = Cells(self._document, self._sections, Names(self._sections)).made()
        if wrong := list(unknown_groups(self._sections, (cell.subject for cell in cells))):
            raise InputError(map(located(self._document), wrong))
        return tuple(cells)

    def quick(self) -> Experiment:
        """With what the section `quick` says merged over the rest; -s and --zip still come last."""
        return _made(self._asked, quick=True)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Experiment:
        """The experiment of plain data such as `data`; relative file names count from the working directory."""
        return _made((_complete(Document("", node_of(data, Mark(None, None)), ())), (), ()))


def load_experiment(source: str | Path, overrides: Iterable[str] = (), zips: Iterable[str] = ()) -> Experiment:
    """The experiment of a YAML file, or of one that ships with replnet by its name.

    `overrides` are `key=value` as after -s, `zips` lists of axes such as `a,b`.
    """
    path = Path(source)
    if not path.is_file():
        path = shipped(str(source), "experiments") or path
    if not path.exists():
        known = shipped_names("experiments")
        right = f"a file, or an experiment that comes with replnet: {suggestion(str(source), known)}"
        if shipped(str(source)):
            raise file_error(str(source), "is a network, and no experiment", f"replnet run {source}")
        raise file_error(str(source), "does not exist", right)
    document = _complete(read_yaml(path))
    if document.root.child("name") is None:
        document = placed(document, ("name",), YamlNode(_name(path), document.root.mark))
    return _made((document, tuple(overrides), tuple(zips)))


def _name(path: Path) -> str:
    """p2p/fig3 for one that ships with replnet, else the name of the file."""
    for folder in folders("experiments"):
        if path.resolve().is_relative_to(folder):
            return path.resolve().relative_to(folder).with_suffix("").as_posix()
    return path.stem


def _complete(document: Document) -> Document:
    """With the fields of the network in the place of its name."""
    node = document.root.child("network")
    if node is None or not isinstance(node.value, str):
        return document
    path = document.directory / node.value
    if not path.is_file():
        path = shipped(node.value) or path
    if not path.is_file():
        right = f"fields, a file, or a network that comes with replnet: {suggestion(node.value, shipped_names())}"
        raise InputError([document.problem(("network",), f"{path} does not exist", right)])
    own = read_yaml(path)
    root = replace(_from_file(anchored(own.root, own.directory, ("network",)), own.name), key=node.key)
    return replace(placed(document, ("network",), root), others={own.name: own.lines})


def _from_file(node: YamlNode, name: str) -> YamlNode:
    """A node whose place is in another file."""
    mark, key = node.mark._replace(origin=name), node.key._replace(origin=name) if node.key else None
    if isinstance(node.value, dict):
        return YamlNode({field: _from_file(below, name) for field, below in node.value.items()}, mark, key)
    if isinstance(node.value, list):
        return YamlNode([_from_file(below, name) for below in node.value], mark, key)
    return replace(node, mark=mark, key=key)


# ---- Checked


def _made(asked: Asked, quick: bool = False) -> Experiment:
    document, overrides, zips = asked
    document, another = overridden(quickened(document) if quick else document, overrides, zips)
    document = replace(document, root=anchored(document.root, document.directory, document.prefix))
    if overrides or zips:  # which come after `quick`, so that it is of no more use
        document = placed(document, ("quick",), None)
    sections = sections_of(document)
    if another:  # what a paper prints is about its own experiment, other claims may hold here too
        document = _kept(document, sections, lambda section, of: section == "claims" and of.erratum is None)
        document = placed(document, ("errata",), None)
        sections = sections_of(document)
    if quick or overrides:
        document, sections = _fitting(document, sections)
    require_sound(document, sections)
    if not overrides and not quick and sections.quick is not None:
        fast = quickened(document)
        fast, fewer = _fitting(fast, sections_of(fast))
        if wrong := [*map(located(fast), faults(fewer, Names(fewer)))]:
            raise InputError(wrong)
    return Experiment(
        name=sections.name or "experiment",
        **{name: getattr(sections, name) for name in SAID},
        axes=tuple(sections.vary.values()),
        zips=sections.zip,
        settings=settings_of(sections.run, sections.measure),
        data=document.data,
        _document=document,
        _sections=sections,
        _asked=asked,
    )


def _fitting(document: Document, sections: Sections) -> tuple[Document, Sections]:
    """Without what is said of cells that are no longer there."""
    document = _kept(document, sections, lambda section, of: not any(mismatches(of, sections, (section,))))
    return document, sections_of(document)


def _kept(document: Document, sections: Sections, keep: Callable[[str, Any], bool]) -> Document:
    """With the statements that `keep` approves of, by their section."""
    for section in STATEMENTS:
        node = document.root.child(section)
        if node is not None and isinstance(node.value, list):
            said = zip(node.value, getattr(sections, section), strict=True)
            kept = [item for item, of in said if keep(section, of)]
            document = placed(document, (section,), YamlNode(kept, node.mark, node.key))
    return document


# ---- Overrides


def quickened(document: Document) -> Document:
    """The experiment with what its section `quick` says in the place of what the others say."""
    quick = document.root.child("quick")
    if quick is None or not isinstance(quick.value, dict):
        return document
    document = placed(document, ("quick",), None)
    for section in MERGED:
        for name, node in _fields(quick.child(section)).items():
            document = placed(document, (section, name), node)
    return document


def overridden(document: Document, assignments: Iterable[str], zips: Iterable[str]) -> tuple[Document, bool]:
    """With every `key=value` applied; and whether that is another experiment, not only other values of its axes."""
    problems: list[Problem] = []
    another = False
    for assignment in assignments:
        try:
            document, differs = _applied(document, assignment)
            another |= differs
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    for names in zips:
        mark = Mark(None, None, f"--zip {names}")
        node = node_of([name.strip() for name in names.split(",")], mark)
        given = document.root.child("zip")
        there = given.value if given is not None and isinstance(given.value, list) else []
        document = placed(document, ("zip",), YamlNode([*there, node], given.mark if given else mark))
    return document, another


def _applied(document: Document, assignment: str) -> tuple[Document, bool]:
    origin = f"-s {assignment}"
    key, equals, text = assignment.partition("=")
    key, text = key.strip().removeprefix("network."), text.strip()
    if not equals or not all(key.split(".")):
        raise InputError([Problem(origin, None, None, "-s", "is not key=value", "such as -s k=1,3,9")])
    axis, node = _meant(text, origin)
    listed = axis or isinstance(node.value, list)
    if key in WHOLE:
        return placed(document, (key,), node), False
    if key in _fields(document.root.child("vary")):
        return placed(document, ("vary", key), node), False
    home = "values" if key in _fields(document.root.child("values")) else "set"
    if home == "set" and key.startswith(RUN):
        return placed(document, ("vary", key) if listed else ("run", key.removeprefix(RUN)), node), False
    if axis or (listed and home == "values"):  # a field may be a list
        return placed(placed(document, (home, key), None), ("vary", key), node), True
    return placed(document, (home, key), node), True


def _meant(text: str, origin: str) -> tuple[bool, YamlNode]:
    """Whether a text is that of an axis, and its value."""
    parts = _at_commas(text)
    if len(parts) > 1:
        values = [value_of(part.strip(), origin) for part in parts]
        return True, YamlNode(values, Mark(None, None, origin), Mark(None, None, origin))
    return is_range(text), value_of(text, origin)


def _at_commas(text: str) -> list[str]:
    """The parts of a text between its commas outside brackets, each any value of YAML."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def _fields(node: YamlNode | None) -> dict[str, YamlNode]:
    return node.value if node is not None and isinstance(node.value, dict) else {}


def placed(document: Document, path: tuple[str, ...], node: YamlNode | None) -> Document:
    """With `node` at a path, in the place of what is there; without that if there is no node."""
    return replace(document, root=_placed(document.root, path, node, document.root.mark))


def _placed(parent: YamlNode | None, path: tuple[str, ...], node: YamlNode | None, mark: Mark) -> YamlNode:
    fields = _fields(parent)
    below = _placed(fields.get(path[0]), path[1:], node, mark) if path[1:] else node
    kept = {key: one for key, one in {**fields, path[0]: below}.items() if one is not None}
    return YamlNode(kept, parent.mark, parent.key) if parent else YamlNode(kept, mark, mark)

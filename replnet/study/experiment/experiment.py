"""Experiments: YAML files, or plain data, as checked objects that know their cells."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, final

from replnet.study.experiment.axes import Axis
from replnet.study.experiment.axis_overrides import overridden, quickened, with_section
from replnet.study.experiment.cells import Cell, Cells, Settings, settings_of
from replnet.study.experiment.checks import STATEMENTS, faults, mismatches
from replnet.study.experiment.groups import unknown_groups
from replnet.study.experiment.models import Figure
from replnet.study.experiment.sections import Sections
from replnet.study.experiment.statements import Claim, Erratum, Expected, Printed
from replnet.text.documents import (
    Document,
    Mark,
    Node,
    file_error,
    folders,
    node_of,
    read_yaml,
    shipped,
    shipped_names,
)
from replnet.text.errors import InputError, Problem, suggestion
from replnet.text.overrides import anchored
from replnet.text.validation import checked, located

# A fault in one of these does not keep the others from being checked.
APART = {"title", "claim", "paper", "run", "quick", "measure", "groups", *STATEMENTS, "errata", "figure"}


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
    _asked: _Asked = field(repr=False)

    def cells(self) -> list[Cell]:
        """All cells, each with a checked network, the last axis fastest."""
        return list(self._cells)

    @cached_property
    def _cells(self) -> tuple[Cell, ...]:
        cells = Cells(self._document, self._sections).all()
        if wrong := list(unknown_groups(self._sections, cells)):
            raise InputError(map(located(self._document), wrong))
        return tuple(cells)

    def quick(self) -> Experiment:
        """With what the section `quick` says merged over the rest; -s and --zip still come last."""
        return _made(replace(self._asked, quick=True))

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Experiment:
        """The experiment of plain data such as `data`; relative file names count from the working directory."""
        return _made(_Asked(_complete(Document("", node_of(data, Mark(None, None)), ()))))


@final
@dataclass(frozen=True)
class _Asked:
    """What an experiment is made from."""

    document: Document
    overrides: tuple[str, ...] = ()
    zips: tuple[str, ...] = ()
    quick: bool = False


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
        raise file_error(str(source), "does not exist", right)
    document = _complete(read_yaml(path))
    if document.root.child("name") is None:
        document = with_section(document, "name", Node(_name(path), document.root.mark))
    return _made(_Asked(document, tuple(overrides), tuple(zips)))


def _name(path: Path) -> str:
    """p2p/fig3 for one that ships with replnet, else the name of the file."""
    for folder in folders("experiments"):
        if path.resolve().is_relative_to(folder):
            return path.resolve().relative_to(folder).with_suffix("").as_posix()
    return path.stem


def _made(asked: _Asked) -> Experiment:
    document = quickened(asked.document) if asked.quick else asked.document
    document, another = overridden(document, asked.overrides, asked.zips)
    document = replace(document, root=anchored(document.root, document.directory, document.prefix))
    if asked.overrides or asked.zips:  # which come after `quick`, so that it is of no more use
        document = with_section(document, "quick", None)
    sections = _sections(document)
    if another:  # what a paper prints is about its own experiment
        document = _without_the_paper(document, sections)
        sections = _sections(document)
    if asked.quick or asked.overrides:
        document = _fitting(document, sections)
        sections = _sections(document)
    problems = [*map(located(document), faults(sections))]
    if not problems and not asked.overrides and not asked.quick and sections.quick is not None:
        fast = quickened(document)
        problems += map(located(fast), faults(_sections(_fitting(fast, _sections(fast)))))
    _require(problems, document, sections)
    return Experiment(
        name=sections.name or "experiment",
        title=sections.title,
        claim=sections.claim,
        paper=sections.paper,
        axes=tuple(sections.vary.values()),
        zips=sections.zip,
        settings=settings_of(sections.run, sections.measure),
        measure=sections.measure,
        groups=sections.groups,
        printed=sections.printed,
        expected=sections.expected,
        claims=sections.claims,
        errata=sections.errata,
        figure=sections.figure,
        data=document.data,
        _document=document,
        _sections=sections,
        _asked=asked,
    )


def _sections(document: Document) -> Sections:
    try:
        return checked(Sections, document.data, document)
    except InputError as error:
        raise InputError([*error.problems, *_elsewhere(document, error)]) from None


def _elsewhere(document: Document, error: InputError) -> tuple[Problem, ...]:
    """What else is wrong, as far as that can be told without the sections that `error` is about."""
    assert isinstance(document.root.value, dict)
    faulty = {re.split(r"[.\[]", problem.field)[0] for problem in error.problems}
    if faulty & (Sections.model_fields.keys() - APART):
        return ()
    faulty |= {*STATEMENTS} if "errata" in faulty else set()  # which name errata
    sound = {key: node for key, node in document.root.value.items() if key not in faulty}
    rest = replace(document, root=Node({"title": Node("-", document.root.mark), **sound}, document.root.mark))
    try:
        sections = checked(Sections, rest.data, rest)
        _require([*map(located(rest), faults(sections))], rest, sections)
    except InputError as more:
        return more.problems
    return ()


def _require(problems: list[Problem], document: Document, sections: Sections) -> None:
    """No problems, neither these nor in the first cell, which stands for mistakes that are in all."""
    if all(re.split(r"[.\[]", problem.field)[0] in APART for problem in problems):
        try:
            Cells(document, sections).first()
        except InputError as error:
            problems = [*problems, *error.problems]
    if problems:
        raise InputError(problems)


def _fitting(document: Document, sections: Sections) -> Document:
    """Without what is said of cells that are no longer there."""
    return _kept(document, sections, lambda section, of: not any(mismatches(of, sections, (section,))))


def _without_the_paper(document: Document, sections: Sections) -> Document:
    """Without values beside those of the cells, and without mistakes; other claims may hold here too."""
    document = _kept(document, sections, lambda section, of: section == "claims" and of.erratum is None)
    return with_section(document, "errata", None)


def _kept(document: Document, sections: Sections, keep: Callable[[str, Any], bool]) -> Document:
    """With the statements that `keep` approves of, by their section."""
    for section in STATEMENTS:
        node = document.root.child(section)
        if node is not None and isinstance(node.value, list):
            said = zip(node.value, getattr(sections, section), strict=True)
            kept = [item for item, of in said if keep(section, of)]
            document = with_section(document, section, Node(kept, node.mark, node.key))
    return document


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
    return replace(with_section(document, "network", root), others={own.name: own.lines})


def _from_file(node: Node, name: str) -> Node:
    """A node whose place is in another file."""
    mark, key = node.mark._replace(origin=name), node.key._replace(origin=name) if node.key else None
    if isinstance(node.value, dict):
        return Node({field: _from_file(below, name) for field, below in node.value.items()}, mark, key)
    if isinstance(node.value, list):
        return Node([_from_file(below, name) for below in node.value], mark, key)
    return replace(node, mark=mark, key=key)

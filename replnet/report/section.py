"""What a report is made of: one section per experiment, as plain as the figure and the page need it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

from replnet.study.sweeps.statements import Expectation, ShownErratum

LOGS = frozenset({"x", "y"})


@final
@dataclass(frozen=True, eq=False)
class FigureSpec:
    """One metric over one column of the table; series in colours, panels side by side.

    `curve` holds predicted points on a finer grid: the column x, those of series
    and panel where there are some, and `predicted`.
    """

    x: str
    y: str
    series: str | None = None
    panel: str | None = None
    log: Collection[str] = ()
    curve: Any = None

    def __post_init__(self) -> None:
        if not set(self.log) <= LOGS:
            raise ValueError(f"log: {sorted(self.log)} is not a choice of axes (x, y, or both)")

    @property
    def columns(self) -> list[str]:
        return [name for name in (self.x, self.series, self.panel) if name is not None]


@final
@dataclass(frozen=True)
class ClaimResult:
    """Whether a claim of a paper holds on measured and on predicted values; None where it could not be checked."""

    text: str
    measured: bool | None = None
    predicted: bool | None = None
    detail: str = ""
    erratum: str = ""  # the name of the mistake that it is, if it fails

    @property
    def holds(self) -> bool | None:
        """False as soon as one of them is, True if nothing speaks against it and something for it."""
        known = [one for one in (self.measured, self.predicted) if one is not None]
        return all(known) if known else None


@final
@dataclass(frozen=True, eq=False)
class Section:
    """An experiment and its finished table: axes, group, metric, measured, predicted, printed, verdicts."""

    name: str
    title: str
    table: Any
    axes: tuple[str, ...]
    verdict: str
    claim: str = ""
    paper: str = ""
    figure: FigureSpec | None = None
    claims: tuple[ClaimResult, ...] = ()
    errata: tuple[ShownErratum, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    progress: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("name: a section without a name has no files (a word, such as p2p/fig3)")
        asked = [*self.axes, *(self.figure.columns if self.figure else ())]
        missing = [name for name in asked if len(self.table) and name not in self.table.columns]
        if missing:
            raise ValueError(f"{self.name}: {missing[0]} is not a column of the table (one of {list(self.table)})")

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table, one mapping each, column to value."""
        rows: list[dict[str, Any]] = self.table.to_dict("records")
        return rows

    @property
    def cells(self) -> int:
        """Emulated networks: rows that differ in the axes."""
        if not self.axes or not len(self.table):
            return min(1, len(self.table))
        return len(self.table[list(self.axes)].drop_duplicates())

    def count(self, column: str) -> dict[str, int]:
        """How often each word stands in a column of verdicts, the bad ones first."""
        words = [word for word in self.table[column] if isinstance(word, str) and word] if column in self.table else []
        order = ("differ", "unresolved", "agree")
        known = sorted(set(words), key=lambda word: (order.index(word) if word in order else -1, word))
        return {word: words.count(word) for word in known}

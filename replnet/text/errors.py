"""What is wrong with an input, where it stands, and what would be right."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import final

LONGEST_TEXT = 400  # characters of one message, so that a file cannot fill the screen
LONGEST_LINE = 100  # characters of a source line
MOST_SHOWN = 50  # problems


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. Lines and columns count from 1; `file` may be an override such as `-s peers=3`."""

    file: str | None
    line: int | None
    column: int | None
    field: str
    wrong: str
    right: str
    source: str | None = None  # the text of the line

    def __str__(self) -> str:
        place = [str(part) for part in (self.file, self.line, self.column) if part is not None]
        head = ": ".join([*([":".join(place)] if place else []), self.field, self.wrong])
        message = f"{printable(head, LONGEST_TEXT)} ({printable(self.right, LONGEST_TEXT)})"
        return message if self.source is None or self.column is None else f"{message}\n{self._excerpt()}"

    def _excerpt(self) -> str:
        assert self.source is not None
        assert self.column is not None
        # A long line is cut on the left too, so that the caret stays in sight.
        start = max(0, self.column - 1 - LONGEST_LINE // 2) if len(self.source) > LONGEST_LINE else 0
        shown = printable(self.source[start:].replace("\t", " "), LONGEST_LINE)
        return f"    {shown.rstrip()}\n    {' ' * (self.column - 1 - start)}^"

    @property
    def order(self) -> tuple[str, int, int]:
        return (self.file or "", self.line or 0, self.column or 0)


@final
class InputError(ValueError):
    """Every problem of an input at once, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(sorted(problems, key=lambda problem: problem.order))
        more = [f"... and {len(self.problems) - MOST_SHOWN} more"] if len(self.problems) > MOST_SHOWN else []
        super().__init__("\n".join([*map(str, self.problems[:MOST_SHOWN]), *more]))


@final
class FieldsError(ValueError):
    """Several faults below one field, each a path from that field, what is wrong and what would be right."""

    def __init__(self, faults: Iterable[tuple[tuple[str | int, ...], str, str]]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{field_name(path)}: {wrong} ({right})" for path, wrong, right in self.faults))


def printable(text: str, longest: int) -> str:
    """`text` on one line without control characters, cut to `longest`."""
    text = text if len(text) <= longest else text[: longest - 3] + "..."
    return escaped(text)


def escaped(text: str, keep: str = "") -> str:
    """`text` with all characters that are not printed, but for those to keep, written out as in Python."""
    return text if text.isprintable() else "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


def shown(value: object) -> str:
    """A value inside a message."""
    return printable(repr(value), 60)


def field_name(path: Sequence[str | int]) -> str:
    """("downloads", 1, "alpha") is downloads[2].alpha: places in a list count from 1, as levels and tiers do."""
    name = ""
    for part in path:
        name += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def suggestion(name: str, known: Iterable[str], otherwise: str = "one of") -> str:
    """The nearest known name, or all of them."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names[:10_000], n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"{otherwise} {listed}" if names else "nothing is known here"

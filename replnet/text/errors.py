"""What is wrong with an input, where it stands, and what would be right; numbers that are refused by such an error.

A `FieldError` is raised where a value enters, knows its field and nothing of files; what reads a
document makes a `Problem` of it, which knows the place, and collects all of them in one `InputError`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import final

LONGEST_TEXT = 400  # characters of one message, so that a file cannot fill the screen
LONGEST_LINE = 100  # characters of a source line
MOST_SHOWN = 50  # problems

# Squares and cubes of numbers in this range are still floats.
SMALLEST, LARGEST = 1e-100, 1e100


@final
class FieldError(ValueError):
    """A value that cannot stand in `field`."""

    def __init__(self, field: str, wrong: str, right: str) -> None:
        super().__init__(f"{field}: {wrong} ({right})")
        self.field, self.wrong, self.right = field, wrong, right

    def __reduce__(self) -> tuple[type[FieldError], tuple[str, str, str]]:
        # Pickled by default are the arguments of ValueError, which are not those of this.
        return type(self), (self.field, self.wrong, self.right)


@final
class FieldsError(ValueError):
    """Several faults below one field, each a path from that field, what is wrong and what would be right."""

    def __init__(self, faults: Iterable[tuple[tuple[str | int, ...], str, str]]) -> None:
        self.faults = tuple(faults)
        super().__init__("; ".join(f"{field_name(path)}: {wrong} ({right})" for path, wrong, right in self.faults))


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
        if self.source is None or self.column is None:
            return message
        # A long line is cut on the left too, so that the caret stays in sight.
        start = max(0, self.column - 1 - LONGEST_LINE // 2) if len(self.source) > LONGEST_LINE else 0
        excerpt = printable(self.source[start:].replace("\t", " "), LONGEST_LINE)
        return f"{message}\n    {excerpt.rstrip()}\n    {' ' * (self.column - 1 - start)}^"


@final
class InputError(ValueError):
    """Every problem of an input at once, in the order of the file."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        found = sorted(problems, key=lambda problem: (problem.file or "", problem.line or 0, problem.column or 0))
        self.problems: tuple[Problem, ...] = tuple(found)
        more = [f"... and {len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
        super().__init__("\n".join([*map(str, found[:MOST_SHOWN]), *more]))


def input_error(file: str | None, field: str, wrong: str, right: str) -> InputError:
    """Of a single problem, which has no line."""
    return InputError([Problem(file, None, None, field, wrong, right)])


def printable(text: str, longest: int) -> str:
    """`text` on one line without control characters, cut to `longest`."""
    return escaped(text if len(text) <= longest else text[: longest - 3] + "...")


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
    import difflib

    names = sorted(known)
    near = difflib.get_close_matches(name, names[:10_000], n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]}?"
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"{otherwise} {listed}" if names else "nothing is known here"


def finite(field: str, value: object) -> float:
    """`value` as a float that is a number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise FieldError(field, f"{value!r} is not a number", "a number such as 2 or 1e-3")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FieldError(field, f"{value!r} is not finite", "a finite number")
    return number


def positive(field: str, value: object) -> float:
    """`value` as a float above zero."""
    number = finite(field, value)
    if number <= 0:
        raise FieldError(field, f"{value!r} is not above 0", "a number above 0")
    if not SMALLEST <= number <= LARGEST:
        raise FieldError(field, f"{value!r} is out of range", f"a number from {SMALLEST:g} to {LARGEST:g}")
    return number


def many(field: str, values: object) -> tuple[float, ...]:
    """A list of numbers above zero."""
    return tuple(positive(f"{field}[{place}]", value) for place, value in enumerate(sequence(field, values)))


def sequence(field: str, values: object) -> list[object]:
    """The members of a list that has some."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise FieldError(field, f"{values!r} is not a list", "a list such as [1, 2.5]")
    members = list(values)
    if not members:
        raise FieldError(field, "an empty list", "at least one number")
    return members


def one_of(**given: object) -> tuple[str, float]:
    """The one field that is set among alternatives such as rate=, mean=, scale=."""
    present = [(name, value) for name, value in given.items() if value is not None]
    if len(present) != 1:
        field = present[1][0] if present else next(iter(given))
        wrong = "given together with " + present[0][0] if present else "missing"
        raise FieldError(field, wrong, f"exactly one of {' or '.join(given)}")
    return present[0][0], positive(*present[0])


def scale_of(unit_mean: float, /, **given: object) -> float:
    """The factor that gives a law of mean `unit_mean` the rate= or mean= asked for, or the factor itself."""
    name, value = one_of(**given)
    if name == "rate":
        return 1 / value / unit_mean
    return value / unit_mean if name == "mean" else value

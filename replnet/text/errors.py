"""Errors of inputs: what is wrong, where, and what would be right; checks of numbers that raise such errors.

Each is an `InputError`. A `FieldError` is raised where a value enters, and knows its field but no files. The reader of
a document turns it into a `Problem`, which has a place too, and collects all problems in one `DocumentError`.
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import final

LONGEST_TEXT = 400  # characters of one message, so that a file cannot fill the screen
LONGEST_LINE = 100  # characters of a source line
MOST_SHOWN = 50  # problems
MOST_ITEMS = 4  # of a list, in an outline

# Squares and cubes of numbers in this range are still floats.
SMALLEST, LARGEST = 1e-100, 1e100


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """An error of an input: its place, the field, what is `wrong` with it, and what would be `right`.

    The place is file, line and column, each None if there is none; lines and columns count from 1, and `file` may be an
    override such as `-s peers=3`. `source` is the text of the line, to be shown. Its str is the message for the user.
    """

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


class InputError(ValueError):
    """The error of an input that is wrong, whatever its kind; its message says what is wrong and what would be right.

    `problems` has its parts one by one, where it says which fields are wrong.
    """

    problems: tuple[Problem, ...] = ()

    def __init__(self, message: str) -> None:
        super().__init__(message)


@final
class FieldError(InputError):
    """The error of a value that `field` cannot have: `wrong` says what is wrong, `right` what would be right.

    All three are texts, of which the message is made; `field` may be empty where the reader of the value names it.
    """

    def __init__(self, field: str, wrong: str, right: str) -> None:
        super().__init__(f"{field}: {wrong} ({right})")
        self.field, self.wrong, self.right = field, wrong, right
        self.problems = (Problem(None, None, None, field, wrong, right),)

    def __reduce__(self) -> tuple[type[FieldError], tuple[str, str, str]]:
        # Pickled by default are the arguments of ValueError, which are not those of this.
        return type(self), (self.field, self.wrong, self.right)


@final
class FieldsError(InputError):
    """The error of several faults below one field; each of `faults` is (path, what is wrong, what would be right).

    A path has the keys and indices that lead from the field to the fault.
    """

    def __init__(self, faults: Iterable[tuple[tuple[str | int, ...], str, str]]) -> None:
        self.faults = tuple(faults)
        named = [(field_name(path), wrong, right) for path, wrong, right in self.faults]
        super().__init__("; ".join(f"{field}: {wrong} ({right})" for field, wrong, right in named))
        self.problems = tuple(Problem(None, None, None, *texts) for texts in named)

    def __reduce__(self) -> tuple[type[FieldsError], tuple[object]]:
        return type(self), (self.faults,)


@final
class DocumentError(InputError):
    """The error with all problems of an input, sorted by file, line and column; its message shows the first 50.

    Unless they are `complete`, as reading ended before the end of the input, the message says that there may be more.
    """

    def __init__(self, problems: Iterable[Problem], complete: bool = True) -> None:
        ordered = sorted(problems, key=lambda problem: (problem.file or "", problem.line or 0, problem.column or 0))
        self.problems: tuple[Problem, ...] = tuple(ordered)
        self._complete = complete
        count = f"{'' if complete else 'at least '}{len(ordered) - MOST_SHOWN:,}"
        remainder = [f"... and {count} more"] if len(ordered) > MOST_SHOWN else []
        super().__init__("\n".join([*map(str, ordered[:MOST_SHOWN]), *remainder]))

    def __reduce__(self) -> tuple[type[DocumentError], tuple[object, ...]]:
        return type(self), (self.problems, self._complete)


def input_error(file: str | None, field: str, wrong: str, right: str) -> DocumentError:
    """Return the error of a single problem of a file, or of none in particular if `file` is None; it has no line.

    `wrong` says what is wrong with `field`, and `right` what would be right.
    """
    return DocumentError([Problem(file, None, None, field, wrong, right)])


def printable(text: str, longest: int) -> str:
    """Return `text` on one line: cut to `longest` characters, of which unprintable ones are then written out.

    They are written as in Python, which takes up to 10 characters for one, so the result may be longer.
    """
    return escape_unprintable(text if len(text) <= longest else text[: longest - 3] + "...")


def escape_unprintable(text: str, keep: str = "") -> str:
    """Return `text` with unprintable characters, but for those in `keep`, written out as in Python.

    So a line feed becomes a backslash and an n; letters of any language stay.
    """
    return text if text.isprintable() else "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


def short_repr(value: object) -> str:
    """Return the repr of a value, cut to 60 characters, for a message."""
    return printable(repr(value), 60)


def outline(value: object) -> str:
    """Return the repr of a value, cut to a few items of each list and mapping in it, so that it fits on a line."""
    shape = reprlib.Repr()
    shape.maxlist = shape.maxtuple = shape.maxdict = shape.maxset = MOST_ITEMS
    shape.maxstring = shape.maxother = shape.maxlong = LONGEST_LINE
    return printable(shape.repr(value), LONGEST_TEXT)


def field_name(path: Sequence[str | int]) -> str:
    """Return the name of a path: ("downloads", 1, "alpha") is downloads[2].alpha; places in lists count from 1."""
    name = ""
    for part in path:
        name += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if name else part
    return name


def suggestion(name: str, choices: Iterable[str], otherwise: str = "one of") -> str:
    """Return what would be right in place of the unknown `name`: "did you mean X?" for the nearest of the choices.

    If none is near it is a list of the first 20, in order, which begins with `otherwise`.
    """
    import difflib

    names = sorted(choices)
    similar = difflib.get_close_matches(name, names[:10_000], n=1, cutoff=0.6) if name else []
    if similar:
        return f"did you mean {similar[0]}?"
    first_names = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"{otherwise} {first_names}" if names else "nothing is known here"


def real(field: str, value: object, right: str = "a number such as 2 or 1e-3") -> float:
    """Return the number `value` as a float, infinite if it is too large for one.

    Raises FieldError for `field` for anything else than a number, also for a boolean or the text of a number; `right`
    is what the error says would be right. NaN and infinity pass.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise FieldError(field, f"{short_repr(value)} is not a number", right)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]  # as Real is not declared to have it


def finite(field: str, value: object) -> float:
    """Return `value` as a finite float; raise FieldError for `field` for anything else, also for a boolean."""
    number = real(field, value)
    if not math.isfinite(number):
        raise FieldError(field, f"{short_repr(value)} is not finite", "a finite number")
    return number


def positive(field: str, value: object) -> float:
    """Return `value` as a float from 1e-100 to 1e100; raise FieldError for `field` for anything else."""
    number = finite(field, value)
    if number <= 0:
        raise FieldError(field, f"{short_repr(value)} is not above 0", "a number above 0")
    return squarable(field, number)


def squarable(field: str, number: float) -> float:
    """Return a number unchanged; raise FieldError for `field` unless it is from 1e-100 to 1e100.

    Squares and cubes of such numbers are floats too.
    """
    if not SMALLEST <= number <= LARGEST:
        raise FieldError(field, f"{number!r} is out of range", f"a number from {SMALLEST:g} to {LARGEST:g}")
    return number


def whole(field: str, value: object, least: int = 0) -> int:
    """Return `value` as an int; raise FieldError for `field` unless it is a whole number of `least` or more.

    A boolean is none.
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise FieldError(field, f"{short_repr(value)} is not a whole number of {least} or more", f"such as {least + 1}")
    return int(value)


def file_path(field: str, value: object) -> Path:
    """Return the name of a file or a folder, a text or a path object, as a Path, without a look at the disk.

    Raise FieldError for `field` for anything else.
    """
    if not isinstance(value, str | PathLike):
        raise FieldError(field, f"{short_repr(value)} is no name of a file or a folder", "a text or a path")
    return Path(value)


def require_callable(field: str, value: object) -> None:
    """Raise FieldError for `field` unless `value` is None or can be called."""
    if value is not None and not callable(value):
        raise FieldError(field, f"{short_repr(value)} cannot be called", "a function")


def many(field: str, values: object) -> tuple[float, ...]:
    """Return a list of numbers from 1e-100 to 1e100 as a tuple of floats.

    Raises FieldError, with `field` and the place in the list, for anything else, also for an empty list.
    """
    return tuple(positive(field_name((field, place)), value) for place, value in enumerate(sequence(field, values)))


def sequence(field: str, values: object) -> list[object]:
    """Return the members of an iterable that is no text or mapping, as a list.

    Raises FieldError for `field` if `values` is anything else, or empty.
    """
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise FieldError(field, f"{values!r} is not a list", "a list such as [1, 2.5]")
    members = list(values)
    if not members:
        raise FieldError(field, "an empty list", "at least one number")
    return members


def one_of(**alternatives: object) -> tuple[str, float]:
    """Return the name and the value of the single alternative, such as rate=, mean= or scale=, that is not None.

    Raises FieldError if none is set, or several, or if the value is not a positive number.
    """
    present = [(name, value) for name, value in alternatives.items() if value is not None]
    if len(present) != 1:
        field = present[1][0] if present else next(iter(alternatives))
        wrong = "given together with " + present[0][0] if present else "missing"
        raise FieldError(field, wrong, f"exactly one of {' or '.join(alternatives)}")
    return present[0][0], positive(*present[0])


def scale_of(unit_mean: float, /, **alternatives: object) -> float:
    """Return the scale of a law that has the mean `unit_mean` at scale 1, from one of rate=, mean= or the scale itself.

    Raises FieldError unless exactly one of the alternatives is a positive number, and the others are None.
    """
    name, value = one_of(**alternatives)
    if name == "rate":
        return 1 / value / unit_mean
    return value / unit_mean if name == "mean" else value

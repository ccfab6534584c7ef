"""Ranges of numbers.

    1:9                every whole number from 1 to 9
    1:8:8              8 points from 1 to 8, equally far apart
    10:500:30log       30 points from 10 to 500, equal factors apart

Whole numbers stay whole where the steps allow it, and on a logarithmic range with whole ends, where they are rounded
and each is kept once. Other points of a logarithmic range are rounded to six digits.
"""

from __future__ import annotations

import re
from fractions import Fraction

from replnet.text.errors import FieldsError, short_repr
from replnet.text.numbers import round_to

MOST_VALUES = 100_000  # of a range
RANGES = "from:to, from:to:count or from:to:count followed by log, such as 1:9 or 10:500:30log"

_NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?"
RANGE = re.compile(rf"({_NUMBER})\s*:\s*({_NUMBER})(?:\s*:\s*([0-9]{{1,9}})\s*(log)?)?")
LIKE_A_RANGE = re.compile(r"[-+.]?[0-9][^\s(]*\s*:.*")

Place = tuple[str | int, ...]
"""The path of a value below the field that is read."""


def is_range(text: str) -> bool:
    """Whether a text has the form of a range, such as 1:9, 1:8:8 or 10:500:30log."""
    return RANGE.fullmatch(text.strip()) is not None


def points_of(text: str, place: Place = ()) -> list[int | float]:
    """Return the 2 to 100,000 points of a range such as 1:9, 1:8:8 or 10:500:30log, ascending and without duplicates.

    Its parts are the first and the last point, and their number, which may be left out if both are whole; with log,
    steps are equal factors. Points are whole where all steps are, or if steps are equal factors between whole ends,
    where they are rounded. Raises FieldsError if the text is no such range; `place` is its path below the field that is
    read, which the error names.
    """
    match = RANGE.fullmatch(text.strip())
    require(match is not None, place, f"{short_repr(text)} is not a range", RANGES)
    assert match is not None
    low, high = Fraction(match[1]), Fraction(match[2])
    has_whole_ends = low.denominator == high.denominator == 1
    right = f"{text.strip()}:10, a count"
    require(low < high, place, f"{short_repr(text)} does not rise", "from below to")
    require(match[3] is not None or has_whole_ends, place, f"{short_repr(text)} has ends that are not whole", right)
    count = int(match[3]) if match[3] is not None else int(high - low) + 1
    require(2 <= count <= MOST_VALUES, place, f"{short_repr(text)} has {count:,} points", f"2 to {MOST_VALUES:,}")
    if not match[4]:
        steps = [low + (high - low) * i / (count - 1) for i in range(count)]
        return [int(step) for step in steps] if all(s.denominator == 1 for s in steps) else [*map(float, steps)]
    require(low > 0, place, f"{short_repr(text)} starts at {match[1]}", "above 0 where steps are logarithmic")
    first, last = float(low), float(high)
    inner = [first * (last / first) ** (i / (count - 1)) for i in range(1, count - 1)]
    if has_whole_ends:
        return list(dict.fromkeys(round(step) for step in (first, *inner, last)))
    return list(dict.fromkeys([first, *(round_to(step, 6) for step in inner), last]))


def require(holds: bool, place: Place, wrong: str, right: str) -> None:
    """Raise FieldsError, unless `holds`, with what is wrong and what would be right at this place.

    `place` has the keys and indices that lead to the value from the field that is read.
    """
    if not holds:
        raise FieldsError([(place, wrong, right)])

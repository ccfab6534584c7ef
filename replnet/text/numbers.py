"""Numbers and other values as text, alike in every table, page and picture; tables as CSV.

A terminal gets plain characters: three figures below a thousandth, five decimals below 10, six figures from there on.
A page gets as many digits as are known: an interval of half-width h supports those of h's first two figures; with
h = 0.0029, four decimals.

A spreadsheet calculates, and may run, what begins like a formula. Names, titles and notes come from files
of others, so in CSV a text that begins so gets an apostrophe before it, as spreadsheets themselves write text;
what is a number stays one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields
from functools import cache
from numbers import Real
from typing import Any, TextIO

from replnet.text.errors import escape_unprintable
from replnet.text.units import convert_times

NEGLIGIBLE, SMALL = 1e-12, 1e-3  # between these, five decimals would show too little; below there is only rounding
DIGITS = 5  # of a number without an interval
MOST_PLACES = 9
SPANS = ((365.25 * 86_400, "years"), (86_400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))
SINGULARS, WHOLE_WORDS = {"years": "year", "days": "day"}, {"h": "hour", "min": "minute", "s": "second"}
SECONDS_IN_A_MINUTE = 60.0


def finite_or_nan(value: Any) -> float:
    """Return a value as a float, or NaN if it is no finite number; True, False and texts are none."""
    if type(value) is float:  # nearly always, and tables are long
        return value if math.isfinite(value) else math.nan
    if isinstance(value, bool) or not isinstance(value, Real):
        return math.nan
    number = float(value)
    return number if math.isfinite(number) else math.nan


def is_number(value: Any) -> bool:
    """Whether a value is a finite number; True, False and texts are none."""
    return not math.isnan(finite_or_nan(value))


def equal_fields(one: Any, other: object) -> bool:
    """Whether the dataclass `one` equals another object in class and in all fields that are to be compared.

    A NaN object counts as equal to itself, as it did in a dataclass's own == until Python 3.13.
    """
    names = [field.name for field in fields(one) if field.compare]
    return type(one) is type(other) and [getattr(one, name) for name in names] == [
        getattr(other, name) for name in names
    ]


def round_to(value: float, digits: int, up: bool | None = None) -> float:
    """Return a number rounded to so many significant digits: to the nearest if `up` is None, else up, or down if False.

    Unless `up` is None, the number must be above 0.
    """
    nearest = float(f"{value:.{digits}g}")
    if up is None or nearest == value or (nearest > value) == up:
        return nearest
    unit = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    return float(f"{nearest + (unit if up else -unit):.{digits}g}")


# In a terminal


def value_text(value: float | None) -> str:
    """Return the text of a measured or predicted value for a terminal; empty for None.

    It has three figures below 0.001 in size, five decimals below 10, and six figures from there on; what is below 1e-12
    counts as rounding and is shown as 0.00000.
    """
    if value is None:
        return ""
    if NEGLIGIBLE < abs(value) < SMALL:
        return f"{value:.3g}"
    return f"{value:.5f}" if abs(value) < 10 else f"{value:,.6g}"


def brief(value: float | None) -> str:
    """Return a text of a value with five figures, for pictures that change; empty for None."""
    return "" if value is None else f"{value:.5g}"


def standard_errors_text(z: float | None) -> str:
    """Return the text of z, the number of standard errors between measured and predicted, with sign; empty for None."""
    return "" if z is None else f"{z:+.2f}"


def axis_text(value: Any) -> str:
    """Return the text of an axis value, or of a value that a paper prints: six figures of a float; empty for None."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def span(seconds: float) -> str:
    """Return the text of a time to wait, in seconds, minutes, hours, days or years as suits it: 89 s, 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    size, unit = SPANS[2] if seconds < 2 * SPANS[1][0] else SPANS[1] if seconds < 2 * SPANS[0][0] else SPANS[0]
    return f"{seconds / size:,.{0 if seconds / size >= 100 else 1}f} {unit}"


def count_text(count: int, word: str) -> str:
    """Return the text of a count with the word, in the singular, for what is counted: 1 cell, 1,200 cells."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def duration(length: float, dated: bool) -> str:
    """Return the text of a length of time: if `dated`, it is in seconds, and shown in a unit from seconds to years.

    If not `dated`, or if the length is not finite, it is a plain number with five figures.
    """
    if not dated or not math.isfinite(length):
        return f"{length:.5g}"
    size, unit = next((size_and_unit for size_and_unit in SPANS if length >= size_and_unit[0]), SPANS[-1])
    number = f"{length / size:.4g}"
    return f"{number} {SINGULARS.get(unit, unit) if number == '1' else unit}"


def interval_words(rate: float, unit: str | None) -> str:
    """Return a rate per `unit`, such as h, as people tell it if it is below one a minute: every 2 h.

    "" for other rates, and if there is no unit (None).
    """
    if unit is None or not 0 < rate < math.inf:
        return ""
    seconds = convert_times(1 / rate, unit, "s")
    if seconds < SECONDS_IN_A_MINUTE or math.isclose(seconds, SECONDS_IN_A_MINUTE):
        return ""
    number, _, name = duration(seconds, True).partition(" ")
    return f"every {WHOLE_WORDS.get(name, name)}" if number == "1" else f"every {number} {name}"


# On a page or in a picture


def text(value: Any) -> str:
    """Return the text of an axis value or a table cell on a page; empty for None, NaN and the like.

    A number that is not whole has six figures, and a whole one up to 15. Characters that HTML may not hold are
    replaced.
    """
    if isinstance(value, str):
        return clean(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return ""
    if isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
        return "" if math.isnan(number) else minus(f"{number:.{DIGITS + 1}g}" if number % 1 else f"{number:.15g}")
    return clean(str(value))


def clean(words: str) -> str:
    """Return the text with a replacement character for every one that neither HTML nor SVG may hold."""
    return _unprintable().sub("\ufffd", words)


@cache  # and not as the module is read: it takes milliseconds, and few programs make a page
def _unprintable() -> re.Pattern[str]:
    """Return the pattern of characters that XML may not hold."""
    return re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, section 2.2


def minus(number: str) -> str:
    """Return a number's text with a minus as wide as a plus, and without minus before zero."""
    return number.replace("-", "−") if not number.startswith("-0") or float(number) else number[1:]


def places(value: float, low: float = math.nan, high: float = math.nan) -> int:
    """Return the number of decimals, at most 9, to show of a value with the interval from `low` to `high`.

    These are two figures of its half-width; five figures of the value if there is no interval (NaN).
    """
    half = (high - low) / 2
    if half > 0:
        decimals = 1 - math.floor(math.log10(half))
    elif value:
        decimals = DIGITS - 1 - math.floor(math.log10(abs(value)))
    else:
        decimals = 0
    return min(MOST_PLACES, max(0, decimals))


def decimal_text(value: float, decimals: int) -> str:
    """Return the text of a value with so many decimals; empty for NaN.

    It is in scientific notation, with three decimals, from 1e9 in size on and, unless it is 0, below 1e-8.
    """
    if math.isnan(value):
        return ""
    if abs(value) >= 1e9 or 0 < abs(value) < 10 ** (1 - MOST_PLACES):
        return minus(f"{value:.3e}")
    return minus(f"{value:.{decimals}f}")


FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_csv(to: TextIO, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Write a table with these column names and rows to the file `to` as CSV; texts like formulas get an apostrophe."""
    import csv

    out = csv.writer(to, lineterminator="\n")
    out.writerow([as_cell(name) for name in columns])
    out.writerows([as_cell(value) for value in row] for row in rows)


def csv_text(table: Any) -> str:
    """Return a DataFrame as CSV, without its index; texts like formulas get an apostrophe."""
    texts = table.select_dtypes(["object", "string"])
    safe = table.assign(**{name: texts[name].map(as_cell) for name in texts})
    return str(safe.rename(columns=as_cell).to_csv(index=False, lineterminator="\n"))


def as_cell(value: object) -> object:
    """Return a value for CSV: texts that begin like a formula get an apostrophe, and control characters are escaped.

    A text that is a number alone gets none, and what is no text is returned as it is.
    """
    if not isinstance(value, str):
        return value
    marked = "'" + value if value.startswith(FORMULA_STARTS) and not _is_number(value) else value
    return escape_unprintable(marked, keep="\n\t")


def _is_number(text: str) -> bool:
    """Whether a text is a number alone, without space around it."""
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()

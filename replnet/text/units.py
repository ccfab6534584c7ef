"""Times and rates with a unit: `5min`, `20ms`, `3/h`.

Units are only for input: everything else is in the one unit in which the network counts time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from replnet.text.errors import FieldError

if TYPE_CHECKING:  # costs start-up
    import numpy as np
    from numpy.typing import NDArray

    Times = TypeVar("Times", float, NDArray[np.float64])

MICROSECONDS = {
    "us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000,
    "w": 604_800_000_000,
}  # fmt: skip
WORDS = dict(zip(MICROSECONDS, ["microsecond", "millisecond", "second", "minute", "hour", "day", "week"], strict=True))
# Arguments of laws that are times, and rates.
TIME_ARGUMENTS = frozenset({"mean", "means", "period", "scale", "loc", "low", "high", "values", "intervals", "window"})
RATE_ARGUMENTS = frozenset({"rate", "rates"})

_QUANTITY = re.compile(
    r"(?<!\w)(?P<name>\w++)\s*+="  # nothing is given back, or long texts that are none take for ever
    r"|(?<![\w.$/}\-])(?P<number>(?>\d+(?:\.\d*)?|\.\d+)(?>(?:[eE][-+]?\d+)?)) ?(?P<per>/ ?)?"
    rf"(?P<unit>{'|'.join(MICROSECONDS)})(?![\w./({{])"
)


def without_units(text: str, unit: str | None) -> str:
    """Return the text of a law with times and rates that have a unit of their own replaced by plain numbers in `unit`.

    Raises FieldError for a unit where none can be, or for any if `unit` is None, as the network has none.

    >>> without_units("windowed(rate=3/h, window=30min, period=1d)", "h")
    'windowed(rate=3, window=0.5, period=24)'
    """
    pieces, end, name = list[str](), 0, ""
    for match in _QUANTITY.finditer(text):
        if match["name"]:
            name = match["name"]
            continue
        _check_dimension(name, match)
        pieces += [text[end : match.start()], f"{_convert_match(match, unit):.17g}"]
        end = match.end()
    return "".join([*pieces, text[end:]])


def in_unit(value: Any, unit: str | None, name: str) -> Any:
    """Return the number in `unit` of a text such as `5min` or `3/h`, or any other value as it is.

    `name` is the argument that the value is for, which tells whether a time or a rate is right. Raises FieldError if
    the text is the wrong one, or has a unit while `unit` is None, as the network has none.
    """
    match = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match["name"]:
        return value
    _check_dimension(name, match)
    return _convert_match(match, unit)


def dimension_of(text: str) -> str:
    """Return "time" for a text such as 5min, "rate" for one such as 3/h, and "" for all others, plain numbers too."""
    match = _QUANTITY.fullmatch(text.strip())
    return "" if match is None or match["name"] else "rate" if match["per"] else "time"


def rate_in(value: Any, unit: str | None, field: str) -> Any:
    """Return the rate per `unit` of a text such as `100/h` or `3`, or a value that is no text as it is.

    Raises FieldError for `field` if the text is no rate, or has a unit while `unit` is None.
    """
    return _quantity_in(value, unit, field, "rate", "is no rate", "a number, or one with a unit such as 100/h")


def time_in(value: Any, unit: str | None, field: str) -> Any:
    """Return the time in `unit` of a text such as `2h` or `3`, or a value that is no text as it is.

    Raises FieldError for `field` if the text is no time, or has a unit while `unit` is None.
    """
    return _quantity_in(value, unit, field, "mean", "is no time", "a number, or one with a unit such as 2h")


def _quantity_in(value: Any, unit: str | None, field: str, name: str, wrong: str, right: str) -> Any:
    """Return the number in `unit` of a text, with a unit or without, or a value that is no text as it is.

    `name` is an argument of laws that tells whether a time (mean) or a rate (rate) is right. Raises FieldError for
    `field`, which says what is `wrong` with a text that is no number and what would be `right`.
    """
    if not isinstance(value, str):
        return value
    try:
        return float(in_unit(value, unit, name))
    except FieldError as error:
        raise FieldError(field, error.wrong, error.right) from None
    except ValueError:
        raise FieldError(field, f"{value!r} {wrong}", right) from None


def convert_times(times: Times, old_unit: str, unit: str) -> Times:
    """Return times, a number or an array in the unit `old_unit`, in `unit`; both are short names such as min.

    >>> convert_times(90.0, "min", "h")
    1.5
    """
    return times * MICROSECONDS[old_unit] / MICROSECONDS[unit]


def name_units(text: str, unit: str | None) -> str:
    """Return `text` with the word for `unit`, such as hour for h, in place of "unit of time".

    If the unit is None the text is returned as it is.
    """
    return (
        text if unit is None else text.replace("unit of time", WORDS[unit]).replace("units of time", WORDS[unit] + "s")
    )


def _check_dimension(name: str, match: re.Match[str]) -> None:
    """Raise FieldError if the argument `name` cannot have the quantity in `match`, a time or a rate, as its value.

    Without a name, it may be either.
    """
    if name in RATE_ARGUMENTS and not match["per"]:
        raise FieldError(name, f"{match[0]} is a time", f"so many in a unit of time, such as 3/{match['unit']}")
    if name in TIME_ARGUMENTS and match["per"]:
        raise FieldError(name, f"{match[0]} is a rate", f"a time, such as 3{match['unit']}")
    if name and name not in TIME_ARGUMENTS | RATE_ARGUMENTS:
        raise FieldError(name, f"{match[0]} has a unit", f"a number, {match['number']}")


def _convert_match(match: re.Match[str], unit: str | None) -> float:
    """Return the number in `unit` of a time or rate in a match; raise FieldError if the unit is None."""
    if unit is None:
        wrong = f"{match[0]} has a unit, but the network has none for its times"
        raise FieldError("", wrong, f"unit: {match['unit']} beside it, for all numbers without one and all results")
    number, own_unit = float(match["number"]), match["unit"]
    return convert_times(number, unit, own_unit) if match["per"] else convert_times(number, own_unit, unit)

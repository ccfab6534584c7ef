"""Times and rates with a unit: `5min`, `20ms`, `3/h`.

A unit goes no further than the text that has it: all else is in the one unit that the network counts time in.
"""

from __future__ import annotations

import re
from typing import Any

from replnet.text.errors import FieldError

MICROSECONDS = {
    "us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000,
    "w": 604_800_000_000,
}  # fmt: skip
WORDS = dict(zip(MICROSECONDS, ["microsecond", "millisecond", "second", "minute", "hour", "day", "week"], strict=True))
# Arguments of laws that are times, and rates.
TIMES = frozenset({"mean", "means", "period", "scale", "loc", "low", "high", "values", "intervals", "window"})
RATES = frozenset({"rate", "rates"})

_QUANTITY = re.compile(
    r"(?<!\w)(?P<name>\w++)\s*+="  # nothing is given back, or long texts that are none take for ever
    r"|(?<![\w.$/}\-])(?P<number>(?>\d+(?:\.\d*)?|\.\d+)(?>(?:[eE][-+]?\d+)?)) ?(?P<per>/ ?)?"
    rf"(?P<unit>{'|'.join(MICROSECONDS)})(?![\w./({{])"
)


def plain(text: str, unit: str | None) -> str:
    """The text with numbers in this unit in the place of times and rates with a unit of their own.

    >>> plain("windowed(rate=3/h, window=30min, period=1d)", "h")
    'windowed(rate=3, window=0.5, period=24)'
    """
    parts, at, name = list[str](), 0, ""
    for found in _QUANTITY.finditer(text):
        if found["name"]:
            name = found["name"]
            continue
        _require(name, found)
        parts += [text[at : found.start()], f"{_converted(found, unit):.17g}"]
        at = found.end()
    return "".join([*parts, text[at:]])


def in_unit(value: Any, unit: str | None, name: str) -> Any:
    """The number in this unit that a text such as `5min` is, or `3/h`, for an argument; any other value as it is."""
    found = _QUANTITY.fullmatch(value.strip()) if isinstance(value, str) else None
    if found is None or found["name"]:
        return value
    _require(name, found)
    return _converted(found, unit)


def time_in(value: Any, unit: str | None, field: str) -> Any:
    """The time in this unit that a text such as `2h` in `field` is; whatever is no text as it is."""
    if not isinstance(value, str):
        return value
    try:
        return float(in_unit(value, unit, "mean"))
    except FieldError as error:
        raise FieldError(field, error.wrong, error.right) from None
    except ValueError:
        raise FieldError(field, f"{value!r} is no time", "a number, or one with a unit such as 2h") from None


def named(text: str, unit: str | None) -> str:
    """What is said of units of time, of this one."""
    return (
        text if unit is None else text.replace("unit of time", WORDS[unit]).replace("units of time", WORDS[unit] + "s")
    )


def _require(name: str, found: re.Match[str]) -> None:
    """What an argument is to be, if it has a name."""
    if name in RATES and not found["per"]:
        raise FieldError(name, f"{found[0]} is a time", f"so many in a unit of time, such as 3/{found['unit']}")
    if name in TIMES and found["per"]:
        raise FieldError(name, f"{found[0]} is a rate", f"a time, such as 3{found['unit']}")
    if name and name not in TIMES | RATES:
        raise FieldError(name, f"{found[0]} has a unit", f"a number, {found['number']}")


def _converted(found: re.Match[str], unit: str | None) -> float:
    if unit is None:
        wrong = f"{found[0]} has a unit, and the network says none that it counts time in"
        raise FieldError("", wrong, f"unit: {found['unit']} beside it, for all numbers without one and all results")
    number, own, whole = float(found["number"]), MICROSECONDS[found["unit"]], MICROSECONDS[unit]
    return number * whole / own if found["per"] else number * own / whole

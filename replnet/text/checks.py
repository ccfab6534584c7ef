"""Numbers that enter a law: refused with the field's name and what would be right."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real

# Squares and cubes of numbers in this range are still floats.
SMALLEST, LARGEST = 1e-100, 1e100


class FieldError(ValueError):
    """A value that cannot stand in `field`."""

    def __init__(self, field: str, wrong: str, right: str) -> None:
        super().__init__(f"{field}: {wrong} ({right})")
        self.field, self.wrong, self.right = field, wrong, right

    def __reduce__(self) -> tuple[type[FieldError], tuple[str, str, str]]:
        # Pickled by default are the arguments of ValueError, which are not those of this.
        return type(self), (self.field, self.wrong, self.right)


def positive(field: str, value: object) -> float:
    """`value` as a float above zero."""
    number = finite(field, value)
    if number <= 0:
        raise FieldError(field, f"{value!r} is not above 0", "a number above 0")
    if not SMALLEST <= number <= LARGEST:
        raise FieldError(field, f"{value!r} is out of range", f"a number from {SMALLEST:g} to {LARGEST:g}")
    return number


def finite(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise FieldError(field, f"{value!r} is not a number", "a number such as 2 or 1e-3")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise FieldError(field, f"{value!r} is not finite", "a finite number")
    return number


def one_of(**given: object) -> tuple[str, float]:
    """The one field that is set among alternatives such as rate=, mean=, scale=."""
    names = " or ".join(given)
    present = [(name, value) for name, value in given.items() if value is not None]
    if len(present) != 1:
        field = present[1][0] if present else next(iter(given))
        wrong = "given together with " + present[0][0] if present else "missing"
        raise FieldError(field, wrong, f"exactly one of {names}")
    name, value = present[0]
    return name, positive(name, value)


def scale_of(unit_mean: float, *, rate: object = None, mean: object = None, scale: object = None) -> float:
    """The factor that gives a law of mean `unit_mean` the rate, mean or scale asked for."""
    name, value = one_of(rate=rate, mean=mean, scale=scale)
    if name == "scale":
        return value
    return (1 / value if name == "rate" else value) / unit_mean


def many(field: str, values: object) -> tuple[float, ...]:
    """A list of numbers above zero."""
    return tuple(positive(f"{field}[{place}]", value) for place, value in enumerate(sequence(field, values)))


def sequence(field: str, values: object) -> list[object]:
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise FieldError(field, f"{values!r} is not a list", "a list such as [1, 2.5]")
    members = list(values)
    if not members:
        raise FieldError(field, "an empty list", "at least one number")
    return members

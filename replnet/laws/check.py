"""Numbers that enter a law: refused with the field's name and what would be right."""

from __future__ import annotations

import math
from numbers import Real


class FieldError(ValueError):
    """A value that cannot stand in `field`."""

    def __init__(self, field: str, wrong: str, right: str) -> None:
        super().__init__(f"{field}: {wrong} ({right})")
        self.field, self.wrong, self.right = field, wrong, right


def positive(field: str, value: object) -> float:
    """`value` as a float above zero."""
    number = finite(field, value)
    if number <= 0:
        raise FieldError(field, f"{value!r} is not above 0", "a number above 0")
    return number


def finite(field: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise FieldError(field, f"{value!r} is not a number", "a number such as 2 or 1e-3")
    number = float(value)
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

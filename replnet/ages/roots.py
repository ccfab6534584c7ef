"""Roots of increasing functions, and edges up to which something holds: rates that meet a target, sizes, prices."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from replnet.laws import Law
from replnet.text import FieldError, InputError

Number = TypeVar("Number", int, float)
Family = Callable[[float], Law]  # from a rate to the law of that rate
End = tuple[float, float]  # a point, and the value of the function there

ROOT_TOLERANCE = 1e-11  # how far above 0 (or its target) a function counts as having just reached it
BRACKET_WIDTH = 1e-12  # relative width of a bracket that is closed
STEPS = 200
FIRST_STEP, LARGEST_STEP = math.log(1.2), math.log(16.0)  # of the logarithm of a rate
FARTHEST = math.log(1e6)  # distance from the start at which a target counts as out of reach


class UnreachableError(InputError):
    """The error that no rate meets a target; `tried` is the largest rate that was tried, infinite if none was."""

    def __init__(self, message: str, tried: float = math.inf) -> None:
        super().__init__(message)
        self.tried = tried


def bracket(
    f: Callable[[float], float], start: float, step: float = 1.0, largest: float = math.inf, farthest: float = math.inf
) -> tuple[End, End]:
    """Return two neighbouring points around the root of an increasing f: f is negative at the first, not at the second.

    Each comes as a pair of the point and the value of f there. The search sets out from `start`, with steps that double
    from `step` up to `largest`. If there is no root within about `farthest` of `start`, they are the last two points
    tried, in ascending order.
    """
    near = start, f(start)
    way = 1 if near[1] < 0 else -1
    while True:
        x = near[0] + way * step
        far = x, f(x)
        if (far[1] < 0) != (near[1] < 0) or abs(x - start) > farthest:
            return (near, far) if way > 0 else (far, near)
        near, step = far, min(2 * step, largest)


def crossing(
    f: Callable[[float], float], low: End, high: End, *, close: float = BRACKET_WIDTH, enough: float = 0.0
) -> tuple[End, End]:
    """Return a narrower bracket around the root of an increasing f, by the Illinois variant of false position.

    The ends of a bracket, `low` and `high` at first, are pairs of a point and the value of f there, negative at the
    first end only. The search ends when the bracket is at most `close` wide (as a share of ends beyond 1), when f is at
    most `enough` at the second end, or after 200 steps.
    """
    f_low, f_high, last = low[1], high[1], 0
    for step in range(STEPS):
        a, b = low[0], high[0]
        width = close * max(1.0, abs(a), abs(b))
        if b - a <= width or high[1] <= enough:
            break
        # A halving in between keeps flat stretches from being slow.
        share = f_low / (f_low - f_high) if step % 4 != 3 and math.isfinite(f_low - f_high) else 0.5
        # A step past the root closes the bracket where plain interpolation creeps towards it.
        middle = min(max(a + (b - a) * share + width / 4, a + width / 4), b - width / 4)
        value = f(middle)
        if value < 0:
            low, f_low, f_high, last = (middle, value), value, (f_high / 2 if last < 0 else f_high), -1
        else:
            high, f_high, f_low, last = (middle, value), value, (f_low / 2 if last > 0 else f_low), 1
    return low, high


def least_amount(
    f: Callable[[float], float],
    start: float = 1.0,
    *,
    step: float = 1.0,
    largest: float = math.inf,
    farthest: float = math.inf,
    close: float = BRACKET_WIDTH,
    enough: float = 0.0,
) -> float:
    """Return the least positive amount at which an increasing f is 0 or more; 0 if it is at the smallest one tried.

    It is searched by its logarithm, for which all but `start`, where the search begins, are as in `bracket` and
    `crossing`. Raises UnreachableError if f is negative at the largest amount tried.
    """

    def by_logarithm(y: float) -> float:
        return f(math.exp(y))

    low, high = bracket(by_logarithm, math.log(start), step, largest, farthest)
    if high[1] < 0:
        tried = math.exp(high[0])
        raise UnreachableError(f"not met by {tried:g}", tried)
    return math.exp(crossing(by_logarithm, low, high, close=close, enough=enough)[1][0]) if low[1] < 0 else 0.0


def rate_for(target: float, freshness: Callable[[float], float], *, start: float = 1.0, what: str = "rate") -> float:
    """Return the smallest rate at which the increasing function `freshness` meets `target`.

    The search sets out from the rate `start`, and goes up to a factor of about a million from it; 0 is returned if the
    smallest rate tried still meets the target. Raises UnreachableError if the largest one does not; `what` names the
    rate in that message. Raises FieldError if the target is not between 0 and 1.
    """
    if not 0 < target < 1:
        raise FieldError("target", f"{target:g} is no freshness to aim at", "above 0 and below 1")
    steps = {"step": FIRST_STEP, "largest": LARGEST_STEP, "farthest": FARTHEST}
    try:
        return least_amount(lambda rate: freshness(rate) - target, start, **steps, enough=ROOT_TOLERANCE)
    except UnreachableError as error:
        reached = f"{what} {error.tried:g} reaches {freshness(error.tried):.6g}"
        raise UnreachableError(f"freshness {target:g} cannot be met: {reached}", error.tried) from None


def bisect_edge(inside: Number, outside: Number, fine: Callable[[Number], bool], close: float = 0.0) -> Number:
    """Return the value next to `outside` for which `fine` holds, as it does for `inside` and does not for `outside`.

    Either may be the larger. The span between them is halved: of whole numbers until they are neighbours, of other
    numbers, above 0, in logarithms, until the ends differ by at most the share `close`, or are neighbouring floats.
    """
    whole = isinstance(inside, int)
    while whole or max(inside / outside, outside / inside) > 1 + close:
        middle: Any = (inside + outside) // 2 if whole else math.sqrt(inside * outside)
        if middle in (inside, outside):
            break
        inside, outside = (middle, outside) if fine(middle) else (inside, middle)
    return inside

"""The rate that meets a target: roots of increasing functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

from replnet.laws.law import Law

Number = TypeVar("Number", int, float)
Family = Callable[[float], Law]  # a rate, to the law of that rate

SAME = 1e-11  # relative width of a bracket that is closed, and freshness that meets a target
FIRST_STEP, LARGEST_STEP = 1.2, 16.0
FARTHEST = 1e6  # from the start, where a target counts as out of reach


class UnreachableError(ValueError):
    """No rate meets the target."""


def rate_for(target: float, freshness: Callable[[float], float], *, start: float = 1.0, what: str = "rate") -> float:
    """The smallest rate at which the increasing `freshness` of it meets `target`.

    Raises UnreachableError if no rate does, 0 if freshness meets the target without any.
    """
    if not 0 < target < 1:
        raise ValueError(f"target {target:g}: a freshness is above 0 and below 1")
    if freshness(start) < target:
        low, high = _bracket(lambda rate: freshness(rate) >= target, start, 1)
        if high > start * FARTHEST:
            raise UnreachableError(f"freshness {target:g} cannot be met: {what} {low:g} reaches {freshness(low):.6g}")
    else:
        high, low = _bracket(lambda rate: freshness(rate) < target, start, -1)
        if low * FARTHEST < start:
            return 0.0
    return increasing_root(lambda rate: freshness(rate) - target, low, high)


def _bracket(past: Callable[[float], bool], start: float, direction: int) -> tuple[float, float]:
    """Neighbouring rates, the second `past` the target or too far away, by growing steps."""
    factor, near, far = FIRST_STEP, start, start * FIRST_STEP**direction
    while not past(far):
        factor = min(factor**2, LARGEST_STEP)
        near, far = far, far * factor**direction
        if max(near / start, start / near) > FARTHEST:
            break
    return near, far


def increasing_root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where f, negative at `low` and not at `high`, crosses zero, by the Illinois variant of false position.

    In logarithms, as rates differ by factors. The answer is from the side where f is not negative.
    """
    a, b = math.log(low), math.log(high)
    at_a, at_b = f(low), f(high)
    value_b, last = at_b, 0
    for step in range(200):
        if b - a <= SAME or value_b <= SAME:
            break
        # A halving in between keeps flat stretches from being slow.
        middle = (a + b) / 2 if step % 4 == 3 else a + (b - a) * at_a / (at_a - at_b)
        # A step past the root closes the bracket where plain interpolation creeps towards it.
        middle = min(max(middle + SAME / 4, a + SAME / 4), b - SAME / 4)
        value = f(math.exp(middle))
        if value < 0:
            a, at_a = middle, value
            at_b = at_b / 2 if last == -1 else at_b
            last = -1
        else:
            b, at_b, value_b = middle, value, value
            at_a = at_a / 2 if last == 1 else at_a
            last = 1
    return math.exp(b)


def narrowed(inside: Number, outside: Number, fine: Callable[[Number], bool], close: float = 0.0) -> Number:
    """The number next to the edge between one that is fine and one that is not, on the side where they are fine.

    Whole numbers are halved until they are neighbours, others in logarithms until they are `close`, relatively.
    """
    whole = isinstance(inside, int)
    while abs(outside - inside) > 1 if whole else max(inside / outside, outside / inside) > 1 + close:
        middle: Any = (inside + outside) // 2 if whole else math.sqrt(inside * outside)
        inside, outside = (middle, outside) if fine(middle) else (inside, middle)
    return inside

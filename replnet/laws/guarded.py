"""Laws that others wrote: examined before they come in, and guarded for as long as they are asked.

A law of a plug-in, of a user's program or of SciPy may break any promise of `Law`, and what it then
gives is not always an error: a renewal that does not advance, a table of NaN, a verdict on another
law. So it enters through `admitted`, which examines it (soundness.py), and stands behind a `Guarded`,
which looks at all that it gives afterwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, final

import numpy as np

from replnet.laws.law import OLDEST, Array, Law
from replnet.laws.numeric import Age
from replnet.laws.scipy_law import Scipy
from replnet.laws.soundness import examine
from replnet.text.errors import FieldError

ROUNDING = 1e-9  # by which a probability may miss the range from 0 to 1
UNDERFLOW = 1e-3  # the share of draws that may be too short for a float
HOME = "replnet.laws."

Promise = Callable[[Array], Array]  # where what a member gives is right


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Guarded(Law):
    """`law`, with an error that says which member gave what where, if it is nothing that a law gives."""

    law: Law

    def __eq__(self, other: object) -> bool:
        return bool(self.law == (other.law if isinstance(other, Guarded) else other))

    def __hash__(self) -> int:
        return hash(self.law)

    def __str__(self) -> str:
        return _name(self.law)

    @property
    def mean(self) -> float:
        return self._number("mean", "a number above 0")

    @property
    def second_moment(self) -> float:
        return self._number("second_moment", "E[X^2], above 0, or infinite")

    @property
    def age(self) -> Law:
        given = self._asked("age")
        if isinstance(given, Age) and given.law == self.law:
            return Age(self)
        if not isinstance(given, Law):
            raise self.wrong(f"age is {given!r}", "a law, such as replnet.laws.Age(self)")
        return given if _trusted(given) else Guarded(given)

    @property
    def breaks(self) -> tuple[float, ...]:
        given = self._asked("breaks")
        if not isinstance(given, tuple) or not all(_is_number(edge) and 0 < edge < math.inf for edge in given):
            raise self.wrong(f"breaks is {given!r}", "a tuple of finite numbers above 0")
        return tuple(map(float, given))

    @property
    def span(self) -> float | None:
        return None if self._asked("span") is None else self._number("span", "None, or a number above 0")

    def tail(self, x: Array) -> Array:
        return self._probability("tail", x)

    def cdf(self, x: Array) -> Array:
        return self._probability("cdf", x)

    def hazard(self, x: Array) -> Array:
        return self._given("hazard", (x,), lambda gives: gives >= 0, "0 or more")

    def excess(self, x: Array) -> Array:
        high = self.mean * (1 + ROUNDING)
        return self._given("excess", (x,), lambda gives: (gives >= 0) & (gives <= high), f"from 0 to mean = {high:g}")

    def integrated_tail(self, x: Array) -> Array:
        low = -ROUNDING * min(self.mean, 1.0)
        return np.maximum(self._given("integrated_tail", (x,), lambda gives: gives >= low, "from 0 to x"), 0.0)

    def isf(self, q: Array) -> Array:
        return self._interval("isf", q, np.greater(q, 0), np.less(q, 1 - UNDERFLOW))

    def quantile(self, p: Array) -> Array:
        return self._interval("quantile", p, np.less(p, 1), np.greater(p, UNDERFLOW))

    def solve(self, e: Array) -> Array:
        return self._interval("solve", e, np.isfinite(e), np.greater(e, UNDERFLOW))

    def draw(self, e: Array) -> Array:
        return self._interval("draw", np.asarray(e, dtype=float, order="C"), np.isfinite(e), np.greater(e, UNDERFLOW))

    def covering(self, age: Array, e: Array) -> Array:
        finite = (np.asarray(age) < OLDEST) & np.isfinite(e)
        right = "a finite interval, not below the age"
        return self._given("covering", (age, e), lambda gives: (gives >= age) & (np.isfinite(gives) | ~finite), right)

    def wrong(self, what: str, right: str) -> FieldError:
        """The error of a law that does not keep what `Law` promises."""
        return FieldError("law", f"{self} is no law of intervals: {what}", right)

    def _number(self, member: str, right: str) -> float:
        given = self._asked(member)
        if not _is_number(given) or not given > 0:
            raise self.wrong(f"{member} is {given!r}", right)
        return float(given)

    def _probability(self, member: str, x: Array) -> Array:
        def right(gives: Array) -> Array:
            return (gives >= -ROUNDING) & (gives <= 1 + ROUNDING)

        return np.clip(self._given(member, (x,), right, "from 0 to 1"), 0.0, 1.0)

    def _interval(self, member: str, at: Array, finite: Array, above: Array) -> Array:
        """Zero only where a short interval may round to it, infinite only at the end of the support."""

        def right(gives: Array) -> Array:
            return ((gives > 0) | ((gives == 0) & ~above)) & ((gives < math.inf) | ~finite)

        return self._given(member, (at,), right, "a finite interval above 0")

    def _given(self, member: str, at: tuple[Array, ...], right: Promise, hint: str) -> Array:
        """What a member gives at these points: as many floats as there are points, all of them right."""
        points = np.broadcast_arrays(*at)
        shape = points[0].shape

        def name(place: int) -> str:
            return f"{member} at {' and '.join(f'{float(x.flat[place]):.12g}' for x in points if x.size)}"

        gives = np.asarray(self._asked(member, at, name(0)))
        if gives.dtype.kind not in "fiu":
            some = gives.flat[0] if gives.size else gives.dtype
            raise self.wrong(f"{name(0)} is {some}", "a real number, as a float")
        if gives.shape != shape:
            wrong = f"{member} of an array of shape {shape} has the shape {gives.shape}"
            raise self.wrong(wrong, "what goes in shaped comes out shaped")
        floats = gives.astype(float, copy=False)
        with np.errstate(all="ignore"):
            # Where there is no question there is no wrong answer.
            bad = np.flatnonzero(~(right(floats) | np.any([np.isnan(x) for x in points], axis=0)))
        if bad.size:
            raise self.wrong(f"{name(int(bad[0]))} is {floats.flat[bad[0]]:g}", hint)
        return floats[()]

    def _asked(self, member: str, at: tuple[Array, ...] = (), name: str = "") -> Any:
        """A member of the law, or what it gives at these points."""
        try:
            with np.errstate(all="ignore"):
                found = getattr(self.law, member)
                return found(*at) if at else found
        except Exception as error:  # whatever a stranger's law raises
            wrong = f"{name or member} raises {type(error).__name__}: {error}"
            raise self.wrong(wrong, "a member of a law answers, for a number and for arrays") from error


def admitted(field: str, given: object, right: str = "a law such as pareto(alpha=3, rate=2)") -> Law:
    """`given` if it is a law that can be relied on: ours, or a stranger's that passed its examination, guarded."""
    if not isinstance(given, Law):
        raise FieldError(field, f"{given!r} is not a law", right)
    if isinstance(given, Guarded) or _trusted(given):
        return given
    try:
        hash(given)
    except TypeError as error:
        wrong = f"{_name(given)} cannot be hashed: {error}"
        raise FieldError("law", wrong, "equal laws have equal hashes, as those of frozen dataclasses") from error
    return _examined(given)


def _trusted(law: Law) -> bool:
    """Is it ours, and of our own making?"""
    return type(law).__module__.startswith(HOME) and not isinstance(law, Scipy)


def _name(law: Law) -> str:
    """How a law writes itself, or its name if it does not say."""
    try:
        return str(law)
    except Exception:  # one without a text of its own, among others
        return f"{type(law).__name__}()"


@lru_cache(maxsize=256)
def _examined(law: Law) -> Guarded:
    guarded = Guarded(law)
    examine(guarded)
    return guarded


def _is_number(given: object) -> bool:
    return isinstance(given, Real) and not isinstance(given, bool) and not math.isnan(given)

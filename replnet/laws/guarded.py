"""Laws that others wrote: examined before they come in, and guarded for as long as they are asked.

A law of a plug-in, of a user's program or of SciPy may break any promise of `Law`, and what it then
gives is not always an error: a renewal that does not advance, a table of NaN, a verdict on another
law. So it enters through `admit`, which examines it, and stands behind a `Guarded`, which looks at
all that it gives afterwards.

The examination asks its members at a few thousand points and holds them against its tail. With T the
tail, which falls from 1 at zero, and all else following from it,

    integral of T from a to b  lies between  (b - a) T(b) and (b - a) T(a),                (1)

for any law, smooth or not, so `integrated_tail` and `excess` are held to (1) between neighbouring
points, and `second_moment` / 2, the integral of `excess`, to the same with E[(X - x)+] for T. What
inverts the tail is held to

    T(x+) <= q <= T(x-),        q = exp(-e) for `draw` and `solve`,                        (2)

at evenly spread q, so that its error is the distance of Kolmogorov between draws and law. Points are
those draws themselves, and octaves around the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from typing import Any, final

import numpy as np

from replnet.laws.law import OLDEST, Array, Floats, Law
from replnet.laws.numeric import Age
from replnet.laws.scipy_law import Scipy
from replnet.text.errors import LARGEST, SMALLEST, FieldError

ROUNDING = 1e-9  # by which a probability may miss the range from 0 to 1
UNDERFLOW = 1e-3  # the share of draws that may be too short for a float
HOME = "replnet.laws."

STRATA = 2000
EQUAL = 1e-6  # relative error of numbers that are to be the same
FOLLOWS = 1e-4  # Kolmogorov's distance between draws and tail; far out, a hundredth of the tail
NOTHING = 1e-9  # a probability that rounding may make of 0
NEARBY = 1e-9  # relative: around a jump, x is on either side of it
SLOWEST = 1e6  # the excess over x T(x), which is 1 / (alpha - 1) under a power tail
OCTAVES = np.arange(-30, 41)
AGES, AFTER = 8, 40  # ages, and waits at each, at which `covering` is asked


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
        return self._bounded("tail", x, 1.0, ROUNDING, "from 0 to 1")

    def cdf(self, x: Array) -> Array:
        return self._bounded("cdf", x, 1.0, ROUNDING, "from 0 to 1")

    def hazard(self, x: Array) -> Array:
        return self._bounded("hazard", x, math.inf, 0.0, "0 or more")

    def excess(self, x: Array) -> Array:
        high = self.mean * (1 + ROUNDING)
        return self._bounded("excess", x, high, 0.0, f"from 0 to mean = {high:g}")

    def integrated_tail(self, x: Array) -> Array:
        return self._bounded("integrated_tail", x, math.inf, ROUNDING * min(self.mean, 1.0), "from 0 to x")

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

    def _bounded(self, member: str, x: Array, high: float, slack: float, hint: str) -> Array:
        """From 0 to `high`, which rounding may miss by `slack`."""
        gives = self._given(member, (x,), lambda gives: (gives >= -slack) & (gives <= high + slack), hint)
        return np.clip(gives, 0.0, high)

    def _interval(self, member: str, at: Array, finite: Array, above: Array) -> Array:
        """Zero only where a short interval may round to it, infinite only at the end of the support."""

        def right(gives: Array) -> Array:
            return ((gives > 0) | ((gives == 0) & ~above)) & ((gives < math.inf) | ~finite)

        return self._given(member, (at,), right, "a finite interval above 0")

    def _given(self, member: str, at: tuple[Array, ...], right: Callable[[Array], Array], hint: str) -> Array:
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


def admit(field: str, given: object, right: str = "a law such as pareto(alpha=3, rate=2)") -> Law:
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


def examine(law: Guarded) -> None:
    """Raise what is wrong with a law; nothing if nothing is."""
    _invertible(law)
    e = -np.log((np.arange(STRATA) + 0.5) / STRATA)
    # All that a uniform of 53 bits gives.
    e = np.sort(np.concatenate([e, np.geomspace(1.2e-16, 36.7, 40)]))
    mean = law.mean
    if not (SMALLEST <= mean <= LARGEST or mean == math.inf):
        raise law.wrong(f"mean is {mean!r}", f"a number from {SMALLEST:g} to {LARGEST:g}")
    second, _ = law.second_moment, law.breaks
    drawn = law.draw(e)
    scale = mean if math.isfinite(mean) else float(np.median(drawn))
    x = np.unique(np.concatenate([[0.0], np.ldexp(scale, OCTAVES), drawn]))
    tail = _falling(law, x, mean)
    _inverses(law, e, drawn)
    for member, form, formula in (
        ("cdf", 1 - law.cdf(x), "1 - tail"),
        ("hazard", np.exp(-law.hazard(x)), "-log(tail)"),
    ):
        for a in _worst(np.abs(form - tail) - EQUAL):
            wrong = f"{member} at {x[a]:g} is {float(getattr(law, member)(x[a])):.6g}, where the tail is {tail[a]:.6g}"
            raise law.wrong(wrong, formula)
    excess = _integrals(law, x, tail, mean)
    _moment(law, x, tail, excess, second)
    _covers(law, drawn)
    span = law.span
    if span is not None and np.any(np.abs(drawn / span - np.rint(drawn / span)) > EQUAL * np.maximum(drawn / span, 1)):
        raise law.wrong(f"span is {span:g}, but not all draws are multiples of it", "None")
    if math.isfinite(mean):
        _age(law, x, excess, e)


def _invertible(law: Guarded) -> None:
    """Its inverses lead to numbers, and end where the tail does."""
    kind = type(law.law)
    if kind.isf is Law.isf and kind.solve is Law.solve:
        raise law.wrong("it has neither isf nor solve", "one of the two, the inverse of its tail")
    end = float(law.isf(0.0))
    if math.isfinite(end) and law.tail(end) > NOTHING:
        wrong = f"isf at 0 is {end:g}, where the tail is {float(law.tail(end)):g}"
        raise law.wrong(wrong, "the end of its support, or infinite")


def _worst(off: Floats) -> list[int]:
    """Where it is above 0 by most; nowhere if it is not."""
    worst = int(np.argmax(off))
    return [worst] if off.flat[worst] > 0 else []


def _falling(law: Guarded, x: Floats, mean: float) -> Floats:
    """The tail at ascending points."""
    tail = np.asarray(law.tail(x))
    if tail[0] < 1 - NOTHING:
        raise law.wrong(f"tail at 0 is {tail[0]:g}", "1, as no interval has length 0")
    one, many = law.tail(float(x[-2])), law.tail(x[-6:].reshape(2, 3))
    if abs(one - tail[-2]) > NOTHING or np.any(abs(many.ravel() - tail[-6:]) > NOTHING):
        raise law.wrong("tail of a number and of arrays with it differ", "the same at the same x")
    rises = np.flatnonzero(np.diff(tail) > NOTHING)
    if rises.size:
        a, b = rises[0], rises[0] + 1
        wrong = f"tail rises from {tail[a]:g} at {x[a]:g} to {tail[b]:g} at {x[b]:g}"
        raise law.wrong(wrong, "a tail falls from 1 to 0")
    heavy = np.flatnonzero(tail * x > mean * (1 + EQUAL) + NOTHING * x)
    if heavy.size:
        a = heavy[-1]
        wrong = f"tail at {x[a]:g} is {tail[a]:g}, more than mean / x = {mean / x[a]:g}"
        raise law.wrong(wrong, "a tail that falls to 0, and the mean that goes with it")
    return tail


def _inverses(law: Guarded, e: Floats, drawn: Floats) -> None:
    q, p = np.exp(-e), -np.expm1(-e)
    for member, at, given in (
        ("draw", e, drawn),
        ("solve", e, law.solve(e)),
        ("isf", q, law.isf(q)),
        ("quantile", p, law.quantile(p)),
    ):
        _follows(law, member, at, np.asarray(given), q)


def _follows(law: Guarded, member: str, at: Floats, x: Floats, q: Floats) -> None:
    """(2)."""
    allowed = np.minimum(FOLLOWS, q / 100) + NOTHING
    after, before = law.tail(x * (1 + NEARBY)), law.tail(x * (1 - NEARBY))
    off = np.maximum(after - q, q - before) - allowed
    for worst in _worst(off):
        where, found = float(at.flat[worst]), float(x.flat[worst])
        wrong = f"{member} at {where:.6g} is {found:.6g}, where the tail is {float(law.tail(found)):.6g}"
        raise law.wrong(wrong, f"the x where the tail is {q.flat[worst]:.6g}")


def _integrals(law: Guarded, x: Floats, tail: Floats, mean: float) -> Floats:
    """The excess at ascending points."""
    before, beyond = np.asarray(law.integrated_tail(x)), np.asarray(law.excess(x))
    if math.isfinite(mean):
        if abs(beyond[0] - mean) > EQUAL * mean:
            wrong = f"mean is {mean:.6g}, but excess at 0 is {beyond[0]:.6g}"
            raise law.wrong(wrong, "the same, the integral of the tail")
        _within(law, "excess", x, -beyond, tail)
        if beyond[-1] > EQUAL * mean + SLOWEST * x[-1] * tail[-1]:
            wrong = f"excess at {x[-1]:g} is {beyond[-1]:g}, where the tail is {tail[-1]:g}"
            raise law.wrong(wrong, "an excess that falls to 0, and the mean that goes with it")
    _within(law, "integrated_tail", x, before, tail)
    for a in _worst(np.abs(before + beyond - mean) - EQUAL * mean) if math.isfinite(mean) else ():
        wrong = f"integrated_tail and excess at {x[a]:g} add up to {before[a] + beyond[a]:.6g}"
        raise law.wrong(wrong, f"the mean, {mean:.6g}")
    return beyond


def _within(law: Guarded, member: str, x: Floats, integral: Floats, tail: Floats) -> None:
    """(1)."""
    grows, width = np.diff(integral), np.diff(x)
    allowed = EQUAL * np.maximum(np.abs(integral[1:]), np.abs(integral[:-1])) + NOTHING * np.median(x)
    off = np.maximum(grows - width * tail[:-1], width * tail[1:] - grows) - allowed
    for a in _worst(off):
        low, high = width[a] * tail[a + 1], width[a] * tail[a]
        wrong = f"{member} changes by {abs(grows[a]):.6g} from {x[a]:g} to {x[a + 1]:g}"
        raise law.wrong(wrong, f"the integral of its tail, from {low:.6g} to {high:.6g}")


def _moment(law: Guarded, x: Floats, tail: Floats, excess: Floats, second: float) -> None:
    if not np.isfinite(excess).all():
        return
    low, high = (2 * float(np.sum(np.diff(x) * part)) for part in (excess[1:], excess[:-1]))
    # Only where the tail has vanished is nothing left beyond the last point.
    high = high if tail[-1] == 0 else math.inf
    if not low * (1 - EQUAL) <= second <= high * (1 + EQUAL):
        raise law.wrong(f"second_moment is {second:g}", f"twice the integral of its excess, from {low:g} to {high:g}")


def _covers(law: Guarded, drawn: Floats) -> None:
    ages = 0.999 * drawn[:: drawn.size // AGES][:, None]
    waits = -np.log((np.arange(AFTER) + 0.5) / AFTER)[None, :]
    ages = ages[law.tail(ages[:, 0]) > 0]
    q = law.tail(ages) * np.exp(-waits)
    found = np.asarray(law.covering(ages, waits))
    _follows(law, "covering at an age and", np.broadcast_to(waits, found.shape), found, np.asarray(q))


def _age(law: Guarded, x: Floats, excess: Floats, e: Floats) -> None:
    age = law.age
    mean = law.second_moment / (2 * law.mean)
    if not (age.mean == mean or abs(age.mean - mean) <= EQUAL * mean):
        raise law.wrong(f"mean of its age is {age.mean:g}", f"second_moment / (2 mean) = {mean:g}")
    for a in _worst(np.abs(age.tail(x) - excess / law.mean) - EQUAL):
        wrong = f"tail of its age at {x[a]:g} is {float(age.tail(x[a])):.6g}"
        raise law.wrong(wrong, f"excess / mean = {excess[a] / law.mean:.6g}")
    if isinstance(age, Guarded):  # a stranger's too
        _invertible(age)
        _inverses(age, e, np.asarray(age.draw(e)))

"""Laws that others wrote: examined before use, and checked at every answer.

A law of a plug-in, of a user's program or of SciPy may break any promise of `Law`, and what it then
gives is not always an error: a renewal that does not advance, a table of NaN, a verdict on another
law. So it enters through `check_law`, which examines it and wraps it in a `CheckedLaw`, which checks
all its answers from then on.

The examination evaluates its members at a few thousand points and compares them with its tail. With T
the tail, which falls from 1 at zero, and from which all else follows,

    integral of T from a to b  lies between  (b - a) T(b) and (b - a) T(a),                (1)

for any law, smooth or not, so `integrated_tail` and `excess` must keep (1) between neighbouring
points, and `second_moment` / 2, the integral of `excess`, the same with E[(X - x)+] for T. The members
that invert the tail must keep

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
from replnet.text import LARGEST, SMALLEST, FieldError

ROUNDING = 1e-9  # the most by which a probability may leave the range from 0 to 1
UNDERFLOW = 1e-3  # the share of draws that may be too short for a float
OWN_PARTS = ("replnet.laws.", "replnet.processes.")

DRAWS_EXAMINED = 2000
RELATIVE_ERROR = 1e-6  # of numbers that must be equal
TAIL_ERROR = 1e-4  # Kolmogorov's distance between draws and tail; far out, a hundredth of the tail
NEGLIGIBLE = 1e-9  # a probability that rounding may make of 0
JUMP_WIDTH = 1e-9  # relative: a tail may jump within so much of x
LARGEST_EXCESS_RATIO = 1e6  # of the excess to x T(x), which is 1 / (alpha - 1) under a power tail
OCTAVES_EXAMINED = np.arange(-30, 41)
AGES_EXAMINED, WAITS_PER_AGE = 8, 40  # at which `covering` is examined


@final
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class CheckedLaw(Law):
    """A wrapper of `law` that raises FieldError, with member and place, for any answer that a law cannot give."""

    law: Law

    def __eq__(self, other: object) -> bool:
        return bool(self.law == (other.law if isinstance(other, CheckedLaw) else other))

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
        age = self._answer("age")
        if isinstance(age, Age) and age.law == self.law:
            return Age(self)
        if not isinstance(age, Law):
            raise self.wrong(f"age is {age!r}", "a law, such as replnet.laws.Age(self)")
        return age if _is_own(age) else CheckedLaw(age)

    @property
    def breaks(self) -> tuple[float, ...]:
        breaks = self._answer("breaks")
        if not isinstance(breaks, tuple) or not all(_is_number(edge) and 0 < edge < math.inf for edge in breaks):
            raise self.wrong(f"breaks is {breaks!r}", "a tuple of finite numbers above 0")
        return tuple(map(float, breaks))

    @property
    def span(self) -> float | None:
        return None if self._answer("span") is None else self._number("span", "None, or a number above 0")

    @property
    def unit(self) -> str | None:
        return self.law.unit

    def counted_in(self, unit: str) -> Law:
        law = self.law.counted_in(unit)
        return self if law is self.law else CheckedLaw(law)

    def tail(self, x: Array) -> Array:
        return self._values_in_range("tail", x, 1.0, ROUNDING, "from 0 to 1")

    def cdf(self, x: Array) -> Array:
        return self._values_in_range("cdf", x, 1.0, ROUNDING, "from 0 to 1")

    def hazard(self, x: Array) -> Array:
        return self._values_in_range("hazard", x, math.inf, 0.0, "0 or more")

    def excess(self, x: Array) -> Array:
        high = self.mean * (1 + ROUNDING)
        return self._values_in_range("excess", x, high, 0.0, f"from 0 to mean = {high:g}")

    def integrated_tail(self, x: Array) -> Array:
        return self._values_in_range("integrated_tail", x, math.inf, ROUNDING * min(self.mean, 1.0), "from 0 to x")

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
        return self._checked_values(
            "covering", (age, e), lambda gives: (gives >= age) & (np.isfinite(gives) | ~finite), right
        )

    def wrong(self, fault: str, right: str) -> FieldError:
        """Return a FieldError about the law: `fault` says which promise it breaks, `right` what would be right."""
        return FieldError("law", f"{self} is no law of intervals: {fault}", right)

    def _number(self, member: str, right: str) -> float:
        """Return a member of the law, such as mean, that must be a number above 0.

        Raises FieldError if it is none, with `right` for what would be right.
        """
        value = self._answer(member)
        if not _is_number(value) or not value > 0:
            raise self.wrong(f"{member} is {value!r}", right)
        return float(value)

    def _values_in_range(self, member: str, x: Array, high: float, slack: float, hint: str) -> Array:
        """Return the values of a member at x, cut to [0, high], which they may leave by rounding, up to `slack`.

        Raises FieldError if one is further off, with `hint` for what would be right.
        """
        values = self._checked_values(member, (x,), lambda values: (values >= -slack) & (values <= high + slack), hint)
        return np.clip(values, 0.0, high)

    def _interval(self, member: str, points: Array, is_finite: Array, is_above_zero: Array) -> Array:
        """Return the intervals that a member gives at these points, if all are possible; raise FieldError if not.

        An interval may be infinite only where `is_finite` is false, at the end of the support, and zero only where
        `is_above_zero` is false, as a short interval may round to zero there.
        """

        def right(values: Array) -> Array:
            return ((values > 0) | ((values == 0) & ~is_above_zero)) & ((values < math.inf) | ~is_finite)

        return self._checked_values(member, (points,), right, "a finite interval above 0")

    def _checked_values(
        self, member: str, arguments: tuple[Array, ...], right: Callable[[Array], Array], hint: str
    ) -> Array:
        """Return the values of a member at these arguments, one float for each point.

        `right` maps all values to a mask of the right ones, and `hint` says what a right value is. Raises FieldError
        with the first wrong one, or if these are no real numbers or of another shape. NaN as an argument allows any
        value.
        """
        points = np.broadcast_arrays(*arguments)
        shape = points[0].shape

        def name(place: int) -> str:
            return f"{member} at {' and '.join(f'{float(x.flat[place]):.12g}' for x in points if x.size)}"

        values = np.asarray(self._answer(member, arguments, name(0)))
        if values.dtype.kind not in "fiu":
            example = values.flat[0] if values.size else values.dtype
            raise self.wrong(f"{name(0)} is {example}", "a real number, as a float")
        if values.shape != shape:
            wrong = f"{member} of an array of shape {shape} has the shape {values.shape}"
            raise self.wrong(wrong, "what goes in shaped comes out shaped")
        floats = values.astype(float, copy=False)
        with np.errstate(all="ignore"):
            # Where there is no question there is no wrong answer.
            bad = np.flatnonzero(~(right(floats) | np.any([np.isnan(x) for x in points], axis=0)))
        if bad.size:
            raise self.wrong(f"{name(int(bad[0]))} is {floats.flat[bad[0]]:g}", hint)
        return floats[()]

    def _answer(self, member: str, arguments: tuple[Array, ...] = (), name: str = "") -> Any:
        """Return a member of the law, or its values at these arguments, as the law itself gives them.

        If the law raises anything, raises FieldError instead, which names `name`, or else the member.
        """
        try:
            with np.errstate(all="ignore"):
                answer = getattr(self.law, member)
                return answer(*arguments) if arguments else answer
        except Exception as error:  # whatever a stranger's law raises
            wrong = f"{name or member} raises {type(error).__name__}: {error}"
            raise self.wrong(wrong, "a member of a law answers, for a number and for arrays") from error


def check_law(field: str, value: object, right: str = "a law such as pareto(alpha=3, rate=2)") -> Law:
    """Return `value` if it is a law of this package, and any other law in a CheckedLaw that has been examined.

    `field` and `right` are the field and what would be right in the error for a value that is no law. Raises FieldError
    too if the law cannot be hashed, or breaks a promise.
    """
    if not isinstance(value, Law):
        raise FieldError(field, f"{value!r} is not a law", right)
    if isinstance(value, CheckedLaw) or _is_own(value):
        return value
    try:
        hash(value)
    except TypeError as error:
        wrong = f"{_name(value)} cannot be hashed: {error}"
        raise FieldError("law", wrong, "equal laws have equal hashes, as those of frozen dataclasses") from error
    return _examine_and_wrap(value)


def _is_own(law: Law) -> bool:
    """Whether a law is one of our own, and no distribution of SciPy."""
    return type(law).__module__.startswith(OWN_PARTS) and not isinstance(law, Scipy)


def _name(law: Law) -> str:
    """Return the text of a law, or the name of its class if the law cannot write itself."""
    try:
        return str(law)
    except Exception:  # one without a text of its own, among others
        return f"{type(law).__name__}()"


@lru_cache(maxsize=256)
def _examine_and_wrap(law: Law) -> CheckedLaw:
    """Return a CheckedLaw of `law`, which is examined once; raise FieldError if it does not pass."""
    checked = CheckedLaw(law)
    examine(checked)
    return checked


def _is_number(value: object) -> bool:
    """Whether a value is a real number, and not NaN."""
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def examine(law: CheckedLaw) -> None:
    """Raise FieldError if any answer of the law, at a few thousand points, does not fit its tail."""
    _check_inverses_exist(law)
    e = -np.log((np.arange(DRAWS_EXAMINED) + 0.5) / DRAWS_EXAMINED)
    # All that a uniform of 53 bits gives.
    e = np.sort(np.concatenate([e, np.geomspace(1.2e-16, 36.7, 40)]))
    mean = law.mean
    if not (SMALLEST <= mean <= LARGEST or mean == math.inf):
        raise law.wrong(f"mean is {mean!r}", f"a number from {SMALLEST:g} to {LARGEST:g}")
    second, _ = law.second_moment, law.breaks
    drawn = law.draw(e)
    scale = mean if math.isfinite(mean) else float(np.median(drawn))
    x = np.unique(np.concatenate([[0.0], np.ldexp(scale, OCTAVES_EXAMINED), drawn]))
    tail = _check_tail(law, x, mean)
    _check_inverses(law, e, drawn)
    for member, form, formula in (
        ("cdf", 1 - law.cdf(x), "1 - tail"),
        ("hazard", np.exp(-law.hazard(x)), "-log(tail)"),
    ):
        for a in _worst_place(np.abs(form - tail) - RELATIVE_ERROR):
            wrong = f"{member} at {x[a]:g} is {float(getattr(law, member)(x[a])):.6g}, where the tail is {tail[a]:.6g}"
            raise law.wrong(wrong, formula)
    excess = _check_integrals(law, x, tail, mean)
    _check_second_moment(law, x, tail, excess, second)
    _check_cover(law, drawn)
    span = law.span
    if span is not None and np.any(
        np.abs(drawn / span - np.rint(drawn / span)) > RELATIVE_ERROR * np.maximum(drawn / span, 1)
    ):
        raise law.wrong(f"span is {span:g}, but not all draws are multiples of it", "None")
    if math.isfinite(mean):
        _check_age(law, x, excess, e)


def _check_inverses_exist(law: CheckedLaw) -> None:
    """Raise FieldError unless the law has an inverse of its tail, which ends where the tail does."""
    kind = type(law.law)
    if kind.isf is Law.isf and kind.solve is Law.solve:
        raise law.wrong("it has neither isf nor solve", "one of the two, the inverse of its tail")
    end = float(law.isf(0.0))
    if math.isfinite(end) and law.tail(end) > NEGLIGIBLE:
        wrong = f"isf at 0 is {end:g}, where the tail is {float(law.tail(end)):g}"
        raise law.wrong(wrong, "the end of its support, or infinite")


def _worst_place(violation: Floats) -> list[int]:
    """Return the flat index of the largest element, in a list, or an empty list if no element is above 0."""
    worst = int(np.argmax(violation))
    return [worst] if violation.flat[worst] > 0 else []


def _check_tail(law: CheckedLaw, x: Floats, mean: float) -> Floats:
    """Return the law's tail at the ascending points x, the first of which is 0.

    Raises FieldError unless it falls from 1, is the same for a number as for arrays, and fits `mean`.
    """
    tail = np.asarray(law.tail(x))
    if tail[0] < 1 - NEGLIGIBLE:
        raise law.wrong(f"tail at 0 is {tail[0]:g}", "1, as no interval has length 0")
    single, several_values = law.tail(float(x[-2])), law.tail(x[-6:].reshape(2, 3))
    if abs(single - tail[-2]) > NEGLIGIBLE or np.any(abs(several_values.ravel() - tail[-6:]) > NEGLIGIBLE):
        raise law.wrong("tail of a number and of arrays with it differ", "the same at the same x")
    rises = np.flatnonzero(np.diff(tail) > NEGLIGIBLE)
    if rises.size:
        a, b = rises[0], rises[0] + 1
        wrong = f"tail rises from {tail[a]:g} at {x[a]:g} to {tail[b]:g} at {x[b]:g}"
        raise law.wrong(wrong, "a tail falls from 1 to 0")
    heavy = np.flatnonzero(tail * x > mean * (1 + RELATIVE_ERROR) + NEGLIGIBLE * x)
    if heavy.size:
        a = heavy[-1]
        wrong = f"tail at {x[a]:g} is {tail[a]:g}, more than mean / x = {mean / x[a]:g}"
        raise law.wrong(wrong, "a tail that falls to 0, and the mean that goes with it")
    return tail


def _check_inverses(law: CheckedLaw, e: Floats, drawn: Floats) -> None:
    """Raise FieldError unless the law's draw, solve, isf and quantile all fit its tail.

    They are taken at the hazards e, and `drawn` has the law's draws there.
    """
    q, p = np.exp(-e), -np.expm1(-e)
    for member, arguments, intervals in (
        ("draw", e, drawn),
        ("solve", e, law.solve(e)),
        ("isf", q, law.isf(q)),
        ("quantile", p, law.quantile(p)),
    ):
        _check_against_tail(law, member, arguments, np.asarray(intervals), q)


def _check_against_tail(law: CheckedLaw, member: str, arguments: Floats, x: Floats, q: Floats) -> None:
    """Raise FieldError unless the tail falls past q at x, the intervals that `member` gives at `arguments`.

    All three are arrays of one shape. At a jump, q must lie between the tails on both sides; it may miss them by 1e-4,
    or by a hundredth of q if that is less.
    """
    allowed = np.minimum(TAIL_ERROR, q / 100) + NEGLIGIBLE
    after, before = law.tail(x * (1 + JUMP_WIDTH)), law.tail(x * (1 - JUMP_WIDTH))
    violation = np.maximum(after - q, q - before) - allowed
    for place in _worst_place(violation):
        argument, interval = float(arguments.flat[place]), float(x.flat[place])
        wrong = f"{member} at {argument:.6g} is {interval:.6g}, where the tail is {float(law.tail(interval)):.6g}"
        raise law.wrong(wrong, f"the x where the tail is {q.flat[place]:.6g}")


def _check_integrals(law: CheckedLaw, x: Floats, tail: Floats, mean: float) -> Floats:
    """Return the law's excess at the ascending points x, from 0 on.

    Raises FieldError unless it and the integrated tail fit `tail`, the tail there, and the mean.
    """
    integrated, excess = np.asarray(law.integrated_tail(x)), np.asarray(law.excess(x))
    if math.isfinite(mean):
        if abs(excess[0] - mean) > RELATIVE_ERROR * mean:
            wrong = f"mean is {mean:.6g}, but excess at 0 is {excess[0]:.6g}"
            raise law.wrong(wrong, "the same, the integral of the tail")
        _check_increments(law, "excess", x, -excess, tail)
        if excess[-1] > RELATIVE_ERROR * mean + LARGEST_EXCESS_RATIO * x[-1] * tail[-1]:
            wrong = f"excess at {x[-1]:g} is {excess[-1]:g}, where the tail is {tail[-1]:g}"
            raise law.wrong(wrong, "an excess that falls to 0, and the mean that goes with it")
    _check_increments(law, "integrated_tail", x, integrated, tail)
    for a in _worst_place(np.abs(integrated + excess - mean) - RELATIVE_ERROR * mean) if math.isfinite(mean) else ():
        wrong = f"integrated_tail and excess at {x[a]:g} add up to {integrated[a] + excess[a]:.6g}"
        raise law.wrong(wrong, f"the mean, {mean:.6g}")
    return excess


def _check_increments(law: CheckedLaw, member: str, x: Floats, integral: Floats, tail: Floats) -> None:
    """Raise FieldError unless `integral`, from one point x to the next, changes as an integral of the tail there must.

    A change is at least the width times the tail at the end, and at most the width times that at the begin. `member`
    names the integral in the error.
    """
    grows, width = np.diff(integral), np.diff(x)
    allowed = RELATIVE_ERROR * np.maximum(np.abs(integral[1:]), np.abs(integral[:-1])) + NEGLIGIBLE * np.median(x)
    violation = np.maximum(grows - width * tail[:-1], width * tail[1:] - grows) - allowed
    for a in _worst_place(violation):
        low, high = width[a] * tail[a + 1], width[a] * tail[a]
        wrong = f"{member} changes by {abs(grows[a]):.6g} from {x[a]:g} to {x[a + 1]:g}"
        raise law.wrong(wrong, f"the integral of its tail, from {low:.6g} to {high:.6g}")


def _check_second_moment(law: CheckedLaw, x: Floats, tail: Floats, excess: Floats, second: float) -> None:
    """Raise FieldError unless the second moment `second` can be twice the integral of the excess.

    That is bounded by the values of `excess` at the ascending points x, at which `tail` is the law's tail. An infinite
    excess is not checked.
    """
    if not np.isfinite(excess).all():
        return
    low, high = (2 * float(np.sum(np.diff(x) * part)) for part in (excess[1:], excess[:-1]))
    # Only where the tail has vanished is nothing left beyond the last point.
    high = high if tail[-1] == 0 else math.inf
    if not low * (1 - RELATIVE_ERROR) <= second <= high * (1 + RELATIVE_ERROR):
        raise law.wrong(f"second_moment is {second:g}", f"twice the integral of its excess, from {low:g} to {high:g}")


def _check_cover(law: CheckedLaw, drawn: Floats) -> None:
    """Raise FieldError unless the intervals that the law gives to cover an age fit its tail.

    The ages are just below some of its draws, `drawn`.
    """
    ages = 0.999 * drawn[:: drawn.size // AGES_EXAMINED][:, None]
    waits = -np.log((np.arange(WAITS_PER_AGE) + 0.5) / WAITS_PER_AGE)[None, :]
    ages = ages[law.tail(ages[:, 0]) > 0]
    q = law.tail(ages) * np.exp(-waits)
    intervals = np.asarray(law.covering(ages, waits))
    _check_against_tail(
        law, "covering at an age and", np.broadcast_to(waits, intervals.shape), intervals, np.asarray(q)
    )


def _check_age(law: CheckedLaw, x: Floats, excess: Floats, e: Floats) -> None:
    """Raise FieldError unless the law of the age has the mean and the tail that follow from the law's own.

    x are points, at which `excess` is the law's. If its class is not of this package, its inverses at the hazards e are
    checked too.
    """
    age = law.age
    mean = law.second_moment / (2 * law.mean)
    if not (age.mean == mean or abs(age.mean - mean) <= RELATIVE_ERROR * mean):
        raise law.wrong(f"mean of its age is {age.mean:g}", f"second_moment / (2 mean) = {mean:g}")
    for a in _worst_place(np.abs(age.tail(x) - excess / law.mean) - RELATIVE_ERROR):
        wrong = f"tail of its age at {x[a]:g} is {float(age.tail(x[a])):.6g}"
        raise law.wrong(wrong, f"excess / mean = {excess[a] / law.mean:.6g}")
    if isinstance(age, CheckedLaw):  # a stranger's too
        _check_inverses_exist(age)
        _check_inverses(age, e, np.asarray(age.draw(e)))

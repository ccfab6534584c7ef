"""Weight functions w, the cost of an age, and their repeated integrals (Staleness II-C, eq. 24).

    w1 = w,   w2(x) = integral of w from 0 to x,   w3(x) = integral of w2 from 0 to x          (1)

    weight         w2                           w3
    x^n            x^(n+1) / (n+1)              x^(n+2) / ((n+1) (n+2))
    1/(1+x)        log(1+x)                     (1+x) log(1+x) - x
    log(1+x)       (1+x) log(1+x) - x           (1+x)^2 log(1+x) / 2 - x/2 - 3 x^2 / 4
    threshold(t)   (x - t)+                     (x - t)+^2 / 2

The threshold is 1 from t on, and a constant is x^0. Any other expression of x is
integrated as a piecewise polynomial that is right to about 12 digits on every panel,
so (1) keeps at least 10 digits relative to itself, jumps and bends included.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from replnet.ages.curve import GrowingCurve
from replnet.laws import Array, Curve, fit_curve, panel_points
from replnet.text import FieldError, Function, compile_function, finite, number_text

FIELD = "weight"
STEP = 4.0  # factor from a panel to the next: powers keep 12 digits across it
SMALL = 0.05  # where closed forms lose digits to cancellation and their series takes over
TERMS = np.arange(2, 14)
GRADED = 2.0**-24  # share of the scale where panels towards a singular 0 end
DIGITS = 1e-12  # error of a panel of an expression, relative to its largest value
FAINT = 1e-3  # share of the largest value below age 1: smaller values are resolved no further
GRID = np.append(0.0, 2.0 ** np.arange(-60, 61))  # where expressions are checked
FAR = 1e300

Edges = Callable[[float, float], Array]


@final
@dataclass(frozen=True)
class Weight:
    """A non-negative weight function w of ages from 0 on, the cost of an age, with its repeated integrals.

    `orders` are w, its integral from 0, and the integral of that. `edges(upto, scale)` are points on (0, upto) between
    which w is smooth enough for quadrature of ages of about `scale`, `limit` is w at infinity, and `start` the age from
    which on w is 1 if it is 0 before, else None. A measure (`is_measure`) never decreases (Staleness V-B).
    """

    text: str
    orders: tuple[Function, Function, Function] = field(compare=False, repr=False)
    edges: Edges = field(compare=False, repr=False)
    limit: float
    is_measure: bool = True
    start: float | None = None

    def __str__(self) -> str:
        return self.text

    def __call__(self, x: Array) -> Array:
        """Return w(x), the cost of an age x, at every x of an array."""
        return self.orders[0](x)

    def integral(self, x: Array) -> Array:
        """Return the integral of w from 0 to x, at every x."""
        return self.orders[1](x)

    def second_integral(self, x: Array) -> Array:
        """Return the integral over y, from 0 to x, of the integral of w from 0 to y, at every x."""
        return self.orders[2](x)


def geometric_points(upto: float, start: float, step: float = STEP) -> Array:
    """Return the points start, start * step, start * step^2, ... that are below `upto`; empty if `start` is not."""
    if start >= upto:
        return np.empty(0)
    points = start * step ** np.arange(math.ceil(math.log(upto / start, step)))
    return np.asarray(points[points < upto])  # rounding of the logarithm may have added `upto` itself


def power(n: float = 0.0) -> Weight:
    """Return the weight x^n, which is the constant 1 for n = 0; raise FieldError if n is negative or not finite."""
    if finite("exponent", n) < 0:
        raise FieldError("exponent", f"{n:g} makes a weight infinite at 0", "0 or more")
    plain = n == int(n) < 12
    return Weight(
        {0.0: "1", 1.0: "x"}.get(n) or f"x^{number_text(n)}",
        (
            lambda x: np.power(np.asarray(x, dtype=float), n),
            lambda x: np.power(np.asarray(x, dtype=float), n + 1) / (n + 1),
            lambda x: np.power(np.asarray(x, dtype=float), n + 2) / ((n + 1) * (n + 2)),
        ),
        lambda upto, scale: np.empty(0) if plain else geometric_points(upto, scale * GRADED),
        limit=math.inf if n else 1.0,
        start=None if n else 0.0,
    )


def threshold(start: float) -> Weight:
    """Return the weight that is 1 from age `start` on, and 0 before; raise FieldError if it is negative or infinite."""
    if finite("threshold", start) < 0:
        raise FieldError("threshold", f"{start:g} is negative", "an age of 0 or more")
    return Weight(
        f"threshold({number_text(start)})",
        (
            lambda x: np.where(np.asarray(x) >= start, 1.0, 0.0),
            lambda x: np.maximum(np.asarray(x) - start, 0.0),
            lambda x: np.maximum(np.asarray(x) - start, 0.0) ** 2 / 2,
        ),
        lambda upto, scale: np.array([start] if 0 < start < upto else []),
        limit=1.0,
        start=start,
    )


def _log_integral(x: Array) -> Array:
    """Return (1+x) log(1+x) - x at every x, the integral of log(1+x) from 0, with all digits at small x."""
    x = np.asarray(x, dtype=float)
    value = np.asarray((1 + x) * np.log1p(x) - x)
    small = x[x < SMALL][:, None]
    value[x < SMALL] = ((-small) ** TERMS / (TERMS * (TERMS - 1))).sum(axis=-1)
    return value[()]


def _log_second_integral(x: Array) -> Array:
    """Return (1+x)^2 log(1+x) / 2 - x/2 - 3 x^2 / 4 at every x, the second integral of log(1+x) from 0."""
    x = np.asarray(x, dtype=float)
    value = np.asarray((1 + x) ** 2 * np.log1p(x) / 2 - x / 2 - 0.75 * x**2)
    small = x[x < SMALL][:, None]
    value[x < SMALL] = ((-small) ** TERMS * small / ((TERMS + 1) * TERMS * (TERMS - 1))).sum(axis=-1)
    return value[()]


def _from_half(upto: float, scale: float) -> Array:
    """Return points from 1/2 to below `upto` between which 1/(1+x) and log(1+x) are smooth, whatever the scale."""
    return geometric_points(upto, 0.5)


ONE, AGE = power(0.0), power(1.0)
RECIPROCAL = Weight(
    "1/(1+x)",
    (lambda x: 1 / (1 + np.asarray(x, dtype=float)), np.log1p, _log_integral),
    _from_half,
    limit=0.0,
    is_measure=False,
)
LOGARITHM = Weight("log(1+x)", (np.log1p, _log_integral, _log_second_integral), _from_half, limit=math.inf)


def expression(text: str) -> Weight:
    """Return the weight function that an arithmetic expression of x writes down, with its integrals.

    Raises FieldError if it cannot be read, is infinite at 0, or is negative or undefined at some age.
    """
    return _from_function(compile_function(text, FIELD), text, FIELD)


def weight_of(function: Callable[[Any], Any], name: str, text: str) -> Weight:
    """Return a function of an age as a weight function with its integrals; it may take arrays of ages or only numbers.

    `name` is what errors call the function, and `text` that of the weight, which no other has. Raises FieldError if the
    function fails, or if it is infinite at 0, negative or undefined at some age.
    """

    def at(x: float) -> float:
        try:
            return float(function(x))
        except OverflowError:
            return math.inf
        except Exception as error:  # whatever a function of others raises
            wrong = f"{name} fails at an age of {x:g}: {type(error).__name__}: {error}"
            raise FieldError("measure", wrong, "a number at every age of 0 or more") from None

    def one_by_one(x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return np.array([at(age) for age in x.ravel().tolist()], dtype=float).reshape(x.shape)

    def at_once(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function(np.asarray(x, dtype=float)), dtype=float)

    on_grid = one_by_one(GRID)
    try:
        takes_arrays = np.array_equal(at_once(GRID), on_grid, equal_nan=True)
    except Exception:  # whatever a function of numbers raises for an array
        takes_arrays = False
    return _from_function(at_once if takes_arrays else one_by_one, text, "measure", name)


def _from_function(w: Function, text: str, subject: str, name: str | None = None) -> Weight:
    """Return the weight w, a function from arrays to arrays of floats, with its integrals; its text is `text`.

    Raises FieldError, which names `subject`, if it is infinite at 0, or is negative or undefined at some age. `name` is
    what the error calls it, by default its text.
    """
    subject_text = repr(text) if name is None else name
    on_grid = np.asarray(w(GRID))
    if (wrong := np.isnan(on_grid) | (on_grid < 0)).any():
        x = float(GRID[wrong][0])
        raise FieldError(subject, f"{subject_text} is not a cost at x = {x:g}", "a number of 0 or more at every age")
    if not np.isfinite(on_grid[0]):
        raise FieldError(subject, f"{subject_text} is infinite at 0", "a weight that is finite there")
    near, far = (float(w(x)) for x in (FAR**0.5, FAR))
    # What still moves over 150 powers of ten grows without bound, or vanishes.
    settles = math.isfinite(near) and abs(far - near) <= 1e-9 * near
    limit = far if settles else math.inf if far > near or math.isinf(near) else 0.0
    growing_curve = GrowingCurve(
        lambda upto: relative_fit(w, np.array([0.0, *geometric_points(upto, GRID[1], 2.0), upto]))
    )

    def curve(x: Array) -> Curve:
        return growing_curve.cover(max(float(np.max(x, initial=0.0)), 1.0))

    def integrate(x: Array, times: int) -> Array:
        whole = curve(x)
        last = whole.edges[-1]  # before the largest x where w overflows
        for _ in range(times):
            whole = whole.antiderivative()
        return np.where(np.asarray(x) > last, math.inf, whole(x))[()]

    def edges(upto: float, scale: float) -> Array:
        points = curve(upto).edges
        return points[(points > scale * GRADED) & (points < upto)]

    orders = (w, lambda x: integrate(x, 1), lambda x: integrate(x, 2))
    with np.errstate(invalid="ignore"):  # where it overflows
        rises = bool((np.diff(on_grid) >= 0).all())
    return Weight(text, orders, edges, limit, is_measure=rises)


def relative_fit(f: Function, edges: Array) -> Curve:
    """Return `f` as a piecewise polynomial that is right to about 12 digits on each panel, but for tiny values near 0.

    `edges` are the first panels, which are halved where need be; the curve ends before the first on which f overflows.
    """
    whole = np.isfinite(f(panel_points(edges[:-1], edges[1:]))).all(axis=1)
    edges = edges[: len(whole) + 1 if whole.all() else int(np.argmin(whole)) + 1]
    sizes = np.abs(f(panel_points(edges[:-1], edges[1:]))).max(axis=1)
    # Smaller values near 0 may be differences of larger ones, and what is rounding must not be resolved.
    sizes = np.maximum(sizes, FAINT * sizes[edges[:-1] < 1].max())
    sizes[sizes == 0] = 1.0

    def panel(x: Array) -> Array:
        # Around a jump panels shrink to rounding, so that points of the last may be its end.
        return np.minimum(np.searchsorted(edges, x, side="right") - 1, len(sizes) - 1)

    curve = fit_curve(lambda x: f(x) / sizes[panel(x)], edges, tolerance=DIGITS)
    return Curve(curve.edges, curve.powers * sizes[panel(curve.edges[:-1])], 0.0)


NAMED = {
    **dict.fromkeys(("1", "constant"), ONE),
    **dict.fromkeys(("1/(1+x)", "1/(x+1)"), RECIPROCAL),
    **dict.fromkeys(("log(1+x)", "log(x+1)", "log1p(x)"), LOGARITHM),
}
_POWER = re.compile(r"x(?:(?:\^|\*\*)\(?(\d+(?:\.\d*)?(?:e-?\d+)?)\)?)?")
_THRESHOLD = re.compile(r"threshold\((.*)\)")


def weight(text: str | float | Weight) -> Weight:
    """Return the weight function that `text` names, such as x^2, log(1+x), threshold(2) or any expression of x.

    A weight function is returned as it is, and forms with known integrals give these exactly. Raises FieldError if the
    text gives no weight.
    """
    if isinstance(text, Weight):
        return text
    plain = re.sub(r"\s+", "", str(text))
    if plain in NAMED:
        return NAMED[plain]
    if match := _POWER.fullmatch(plain):
        return power(float(match[1] or 1))
    if match := _THRESHOLD.fullmatch(plain):
        try:
            start = float(match[1])
        except ValueError as error:
            raise FieldError(FIELD, f"{match[1]!r} is not an age", "threshold(2), for example") from error
        return threshold(start)
    return expression(str(text).strip())

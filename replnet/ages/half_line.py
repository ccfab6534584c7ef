"""The law of an information age X on the whole half line, and integrals against it.

Freshness needs the tail H(x) = P(X > x) only where updates have not yet come. A
penalty weighs what is far out by w, so here H goes on as far as floats do:

    pull from the source     H is the law's own formula, with all its digits
    independent sum          the curve of H, and from where it is small
                             sum over summands of H_i(x - means of the others)        (1)
    freshest of several      the curve, then the product of theirs
    anything else            the curve, then the power that its end follows           (2)

(1) is what heavy tails do: one summand is long and the others are as usual. Both
(1) and (2) are scaled to meet the curve, and how much that takes says how wrong
they may be.

An integral of x^(k-1) f(x), f = w H, exists iff the integral of exp(k t) f over
t = log x does. With s(t) the slope of log(x^k f), this is so if

    s is a constant below 0, or t s(t) < -1 in the end (Raabe),                       (3)

judged at the largest x that floats allow. What lies past the last panel is a power
of x by then, or nearly: with r = -s it is

    x f(x) / r (1 - r' / r^2),  up to a share of 3 (r' / r^2)^2.                      (4)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, final

import numpy as np

from replnet.ages.curve import clean_edges, panel_integrals
from replnet.ages.information_age import ROUGH, Best, Delayed, InformationAge, PullAge, Sum, resolution
from replnet.ages.panels import resolving_edges
from replnet.laws import Array, Law
from replnet.text import Function

OCTAVES = 120  # factors of 2 from the mean to the last panel: 36 powers of ten
STEP = 4.0  # between panels where a tail is a power
SMALLEST, LARGEST = 1e-290, 1e290  # sizes whose logarithms are taken
LIGHT, HEAVY = 1e-13, 1e-6  # tails where the curve ends: at the first if that is not far, else at the second
NOT_FAR = 64.0  # the curve goes on to LIGHT if that is at most so many times as far as HEAVY
NOTHING = 1e-9  # a tail at the end of the curve below which the rest is neglected
SHORT = 1e-160  # a tail that is above this and nothing an octave later is lighter than exponential
FLAT = 1e-9  # slopes that are rounding
ATTRIBUTE = "_half_line"  # where an age keeps its law on the half line


@final
@dataclass(frozen=True, slots=True, eq=False)
class HalfLine:
    """The law of an age on all of [0, infinity): `tail` P(age > x) and `density`, as functions of arrays of x.

    Both are smooth on panels between `edges`, and given by formulas from the age `far` on. `off` is how far these may
    be off, as a share of the value, and `error` how far the tail may be off before. `scale` is an age of the size of
    usual ones.
    """

    tail: Function
    density: Function
    edges: Array
    scale: float
    far: float = math.inf
    off: float = 0.0  # how far the formula is off where it takes over, as a share
    error: float = 0.0  # of the tail before that


class Integral(NamedTuple):
    """The `value` of an integral, and a bound on its absolute `error`, 0 or more."""

    value: float
    error: float


def half_line_law(copy: InformationAge) -> HalfLine:
    """Return the law of an age on the half line, from age 0 to infinity; it is computed once and kept on `copy`."""
    attributes = vars(copy)
    if ATTRIBUTE not in attributes:
        attributes[ATTRIBUTE] = _law_of_pull(copy) if isinstance(copy, PullAge) else _extrapolate(copy)
    law: HalfLine = attributes[ATTRIBUTE]
    return law


def _law_of_pull(copy: PullAge) -> HalfLine:
    """Return the law, on the half line, of the age of a copy pulled from the source, by formulas alone."""
    law = copy.downloads
    return HalfLine(copy.tail, lambda x: law.rate * law.tail(x), law_edges(law), law.mean)


@lru_cache(maxsize=128)
def law_edges(law: Law) -> Array:
    """Return edges of panels, from 0, on which a law's tail and that of its age are smooth; the arrays are cached.

    The last edge is the law's longest interval, or where the tail of its age is about 1e-290.
    """
    octaves = law.mean * STEP ** np.arange(-4, OCTAVES // 2)
    octaves = octaves[law.rate * law.excess(octaves) > SMALLEST]
    reach = min(float(law.isf(0.0)), float(octaves[-1]) * STEP)
    return clean_edges(np.concatenate([resolving_edges(law, reach), octaves]), reach)


def _extrapolate(copy: InformationAge) -> HalfLine:
    """Return the law, on the half line, of an age that is not a plain pull from the source.

    It is the curve of its tail, and past the end of that a formula for its summands or rivals, or else a power of x.
    """
    scale = min(copy.scales.marks)
    octaves = scale * 2.0 ** np.arange(1000)
    with np.errstate(all="ignore"):
        bound = copy.bound(octaves)
    light, heavy = (float(octaves[np.argmax(bound <= level)]) for level in (LIGHT, HEAVY))
    horizon = light if light <= NOT_FAR * heavy else heavy
    curve, slope = copy.tail_curve(horizon), copy.density_curve(horizon)
    horizon = min(horizon, float(curve.edges[-1]))
    height = float(curve(horizon * (1 - 1e-12)))
    beyond, off = _beyond(copy, curve, horizon, height)

    def tail(x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return np.where(x < horizon, np.clip(curve(np.minimum(x, horizon)), 0.0, 1.0), beyond(np.maximum(x, horizon)))

    def density(x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        out = np.maximum(x, horizon)
        return np.where(x < horizon, slope(np.minimum(x, horizon)), beyond(out) * _steepness(beyond, out) / out)

    edges = np.concatenate([curve.edges, slope.edges])
    far = horizon * STEP ** np.arange(OCTAVES // 2)
    last = max(1, int(np.sum(tail(far) > SMALLEST)))
    edges = clean_edges(np.concatenate([edges[edges < horizon], far[:last]]), float(far[last - 1]))
    return HalfLine(tail, density, edges, scale, horizon, off, 10 * min(ROUGH, resolution(curve.edges)))


def _beyond(copy: InformationAge, curve: Function, horizon: float, height: float) -> tuple[Function, float]:
    """Return the tail P(age > x) past its `curve` as a function of x, and how far it may be off there, as a share.

    `height` is the curve's value at its end, `horizon`, which the function meets; if that is below 1e-9, the function
    is 0.
    """
    if height <= NOTHING:
        return np.zeros_like, 0.0
    formula = _formula(copy)
    if formula is None:
        near = float(curve(horizon / STEP))
        power = math.log(near / height) / math.log(STEP)
        before = math.log(float(curve(horizon / STEP**2)) / near) / math.log(STEP)
        return lambda x: height * np.power(x / horizon, -power), abs(power - before) / power
    ratio = height / float(formula(np.asarray(horizon)))
    return lambda x: ratio * formula(x), abs(ratio - 1)


def _formula(copy: InformationAge) -> Function | None:
    """Return P(age > x) for large x, up to a constant factor, as a function of x made of the tails of other ages.

    There is one for sums, the freshest of several copies and delays; None for any other age.
    """
    if isinstance(copy, Sum):
        leaves = [half_line_law(leaf) for leaf in copy.summands]
        means = [mean_age(leaf) for leaf in copy.summands]
        usual = math.fsum(mean for mean in means if math.isfinite(mean))
        # The others' means shift a long one; heavy ones without a mean do not settle.
        shifts = [usual - mean if math.isfinite(mean) else usual for mean in means]
        return lambda x: sum(leaf.tail(np.maximum(x - shift, 0.0)) for leaf, shift in zip(leaves, shifts, strict=True))
    if isinstance(copy, Best):
        tails = [half_line_law(rival).tail for rival in copy.copies]
        return lambda x: math.prod(tail(x) for tail in tails)
    if isinstance(copy, Delayed):
        inner, delay = half_line_law(copy.copy), copy.delay
        return lambda x: inner.tail(np.maximum(x - delay, 0.0))
    return None


def _steepness(f: Function, x: Array) -> Array:
    """Return -d log f / d log x at every x of an array, by differences, or 0 where f is 0; x is above 0."""
    low, high = f(x * (1 - 1e-4)), f(x * (1 + 1e-4))
    with np.errstate(all="ignore"):
        slope = np.log(low / high) / math.log((1 + 1e-4) / (1 - 1e-4))
    return np.where((low > 0) & (high > 0), slope, 0.0)


def mean_age(copy: InformationAge) -> float:
    """Return the mean of the information age of a copy, in units of time; infinite if its tail is too heavy."""
    if isinstance(copy, PullAge):
        return copy.downloads.second_moment / (2 * copy.downloads.mean)
    law = half_line_law(copy)
    return integral_to_infinity(law.tail, law.edges, law).value if exists(law, np.ones_like, 1) else math.inf


def exists(law: HalfLine, w: Function, k: int) -> bool:
    """Whether the integral of x^(k-1) w(x) P(X > x) over the half line is finite, judged by how it falls far out.

    `law` is that of the age X, and w the weight function.
    """
    with np.errstate(all="ignore"):
        octaves = law.scale * 2.0 ** np.arange(0, 950)
        heights, weights = law.tail(octaves), w(octaves)
    usable = (heights > SMALLEST) & (weights < LARGEST)
    last = int(np.argmin(usable)) - 1 if not usable.all() else len(octaves) - 1
    if last < 0 or weights[last] == 0 or (last + 1 < len(octaves) and heights[last + 1] == 0 < SHORT < heights[last]):
        return True

    def slope(x: float) -> float:
        near = x * (1 - 1e-3)
        (h, h_near), (v, v_near) = law.tail(np.array([x, near])), w(np.array([x, near]))
        return k + (math.log(h / h_near) + math.log(v / v_near)) / -math.log1p(-1e-3)

    far, t = slope(float(octaves[last])), last * math.log(2)
    if far > -FLAT or last < 8:
        return far < -FLAT
    halfway = slope(float(octaves[last // 2]))
    return t * far < -1 - FLAT or far < 0.75 * halfway


def integral_to_infinity(f: Function, edges: Array, law: HalfLine) -> Integral:
    """Return the integral of f from 0 to infinity, with a bound on its error.

    f must be a multiple of the tail or density of `law`, and smooth on the panels between `edges`; past the last of
    these it is taken as nearly a power of x.
    """
    parts = panel_integrals(f, edges)
    value, uncertain = float(parts.sum()), float(parts[edges[:-1] >= law.far].sum()) * law.off
    points = float(edges[-1]) / STEP ** np.arange(3)
    last = f(points) * points
    if not 1e-18 * abs(value) < last[0] < last[1]:
        return Integral(value, uncertain)
    near, before = np.log(last[1:] / last[:-1]) / math.log(STEP)
    bend = float(near - before) / math.log(STEP)
    power = float(near) + bend * math.log(STEP) / 2
    rest = float(last[0]) / power
    correction = bend / power**2
    return Integral(value + rest * (1 - correction), uncertain + rest * (law.off + 3 * correction**2))

"""The law of the information age X of a copy, and what topologies do to it.

    pull           X = A_D                    the age of the downloads           P2P eq. 6
    pull from a copy    X = A_D + X_upstream       independent sum                P2P eq. 28
    ask several    X = min of theirs          product of tails                   P2P VII
    late replies   X = X + delay              shift                              P2P eq. 27

All are held by their tail H(x) = P(X > x). With g the density of the age of an
interval and G its tail, and in the same notation for updates U,

    sum            H(x) = H_1(x) + integral over a in (0, x) of f_1(a) H_2(x - a)          (1)
    sum, atoms     the same by parts, when D takes finitely many values d with weights w:
                   H(x) = G_D(x) + rate sum_d w_d [I(x) - I(x - d)],  I' = H_2            (2)
    freshness      p = E[G_U(X)] = 1 - integral of g_U(x) H(x) dx                P2P eq. 28 (3)

The order of the summands does not matter, and X need not come from laws: a
cluster's tail is as good as any other, so clusters can be tiers of a cascade.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import final

import numpy as np

from replnet.ages.curve import RESOLVED, Curve, Extended, clean_edges, convolve, fit, panel_integrals
from replnet.ages.panels import Scales, atoms_of, jumps, resolving_edges, thinned
from replnet.ages.prediction import Basis, NoFormulaError, Prediction, joined
from replnet.laws.families import Exponential
from replnet.laws.law import Array, Law

NEGLIGIBLE = 1e-10  # what the part of (3) beyond the horizon may amount to
LEFT_OUT = 1e-6  # and what it amounts to where even 900 octaves do not reach it
ROUGH = 1e-7  # resolution where a tail has more bends than are worth resolving
MANY = 800  # panels of such a tail

DIRECT = Basis("exact", "P2P eq. 8", "updates and downloads independent of one another and stationary")
CASCADE = Basis("exact", "P2P eq. 28", "levels independent of one another")
REDUNDANT = Basis("exact", "P2P VII-A", "asked copies independent of one another")
DELAY = Basis("exact", "P2P eq. 27", "constant reply delay")


class InformationAge(ABC):
    """A law on [0, infinity) that knows its tail and what it rests on."""

    @property
    @abstractmethod
    def basis(self) -> Basis: ...

    @property
    def scales(self) -> Scales:
        return Scales()

    @property
    def summands(self) -> tuple[InformationAge, ...]:
        """The independent ages that this is the sum of."""
        return (self,)

    @property
    def latest(self) -> InformationAge:
        """The longest that the age may be in law, where this is not exact and bounds are known; else itself."""
        return self

    def tail(self, x: Array) -> Array:
        """P(X > x). An age has a formula for this or for `tail_curve`."""
        return self.tail_curve(float(np.max(x, initial=0.0)) or 1.0)(x)

    def bound(self, x: Array) -> Array:
        """An upper bound of the tail that costs nothing, to find where it is negligible."""
        return self.tail(x)

    def tail_curve(self, horizon: float) -> Curve:
        """The tail on [0, horizon]."""
        edges = self.scales.edges(horizon)
        return fit(self.tail, edges, tolerance=resolution(edges))

    def density_curve(self, horizon: float) -> Curve:
        return self.tail_curve(horizon).derivative().times(-1)

    def laplace(self, rate: float) -> float:
        """E[exp(-rate X)]: the freshness under exponential updates."""
        return quadrature(self, Exponential(rate=rate))

    def freshness(self, updates: Law) -> Prediction:
        """(3), by the shorter way that exponential updates allow where there is one (P2P eq. 29)."""
        updates.require_finite_mean()
        value = self.laplace(updates.rate) if isinstance(updates, Exponential) else quadrature(self, updates)
        return Prediction.of(value, self.basis)


def resolution(edges: Array) -> float:
    return RESOLVED if len(edges) <= 100 else ROUGH


def horizon_of(copy: InformationAge, updates: Law) -> float:
    """Where the rest of (3) is negligible, at the latest the longest update interval."""
    for octaves in (70, 900):
        x = updates.mean * 2.0 ** np.arange(-30, octaves)
        with np.errstate(all="ignore"):
            rest = np.nan_to_num(updates.rate * updates.excess(x) * copy.bound(x))
        negligible = rest <= NEGLIGIBLE
        if negligible.any():
            return min(float(x[np.argmax(negligible)]), float(updates.isf(0.0)))
    if rest[-1] > LEFT_OUT:
        raise NoFormulaError(f"ages that may exceed {x[-1]:.0e}, those of {updates} and of its copies")
    return min(float(x[-1]), float(updates.isf(0.0)))


def quadrature(copy: InformationAge, updates: Law) -> float:
    """(3) on the union of the panels of both factors."""
    horizon = horizon_of(copy, updates)
    curve = copy.tail_curve(horizon)
    edges, tail = [curve.edges, resolving_edges(updates, horizon)], curve.__call__
    if isinstance(copy, PullAge):  # as it is, with all its bends
        edges, tail = [*edges, jumps(copy.downloads)], copy.tail
    stale = panel_integrals(lambda x: updates.tail(x) * tail(x), clean_edges(np.concatenate(edges), horizon)).sum()
    return min(max(1 - float(updates.rate * stale), 0.0), 1.0)


@final
@dataclass(frozen=True, eq=False)
class PullAge(InformationAge):
    """X = A_D: downloads straight from what never ages."""

    downloads: Law

    basis = DIRECT

    def __post_init__(self) -> None:
        self.downloads.require_finite_mean()

    def tail(self, x: Array) -> Array:
        return self.downloads.rate * self.downloads.excess(x)

    @cached_property
    def scales(self) -> Scales:
        return Scales.of(self.downloads)

    def laplace(self, rate: float) -> float:
        return _transform(self.downloads, rate)

    def density_curve(self, horizon: float) -> Curve:
        edges = clean_edges([*self.scales.breaks, *self.scales.marks], horizon)
        return fit(self.downloads.tail, edges, tolerance=1e-12).times(self.downloads.rate)


@lru_cache(maxsize=1024)
def _transform(downloads: Law, rate: float) -> float:
    """E[exp(-rate A)] of the age of the downloads."""
    if isinstance(downloads, Exponential):
        return downloads.rate / (downloads.rate + rate)
    return quadrature(PullAge(downloads), Exponential(rate=rate))


@final
@dataclass(frozen=True, eq=False)
class Sum(InformationAge):
    """X = own + upstream, independent."""

    own: InformationAge
    upstream: InformationAge

    @property
    def basis(self) -> Basis:
        return joined([*(leaf.basis for leaf in self.summands), CASCADE])

    @cached_property
    def summands(self) -> tuple[InformationAge, ...]:
        return (*self.own.summands, *self.upstream.summands)

    @cached_property
    def latest(self) -> InformationAge:
        parts = [leaf.latest for leaf in self.summands]
        return self if parts == [*self.summands] else reduce(pull, parts)

    def __post_init__(self) -> None:
        _ = self.summands  # now, level by level, as chains may be longer than the stack

    def bound(self, x: Array) -> Array:
        share = np.asarray(x) / len(self.summands)
        return np.minimum(sum(leaf.bound(share) for leaf in self.summands), 1.0)

    @cached_property
    def scales(self) -> Scales:
        own, upstream = self.own.scales, self.upstream.scales
        sums = np.add.outer([0.0, *own.breaks], [0.0, *upstream.breaks])
        return Scales(thinned(sums.ravel()), (*own.marks, *upstream.marks))

    def tail_curve(self, horizon: float) -> Curve:
        # Shared by the levels of a cascade, which ask for one another's curves.
        return self._extended.upto(horizon)

    @cached_property
    def _extended(self) -> Extended:
        return Extended(self._curve)

    def _curve(self, horizon: float) -> Curve:
        """(1), or (2) where the own law has many atoms."""
        upstream = self.upstream.tail_curve(horizon)
        edges = self.scales.edges(horizon)
        if isinstance(self.own, PullAge) and (atoms := atoms_of(self.own.downloads)):
            own, rate, whole = self.own, self.own.downloads.rate, upstream.antiderivative()
            return fit(lambda x: own.tail(x) + rate * atoms.differences(whole, x), edges, tolerance=ROUGH, most=MANY)
        density, tail = self.own.density_curve(horizon), self.own.tail_curve(horizon)
        parts = (density.along, density.edges, upstream.along, upstream.edges)
        return fit(lambda x: tail(x) + convolve(*parts, x), edges, tolerance=resolution(edges))

    def laplace(self, rate: float) -> float:
        """A product over the summands (P2P eq. 29)."""
        return math.prod(leaf.laplace(rate) for leaf in self.summands)


@final
@dataclass(frozen=True, eq=False)
class Best(InformationAge):
    """X = the smallest of independent ages."""

    copies: tuple[InformationAge, ...]
    rests_on: Basis = REDUNDANT

    @property
    def basis(self) -> Basis:
        return joined([*(copy.basis for copy in self.copies), self.rests_on])

    @cached_property
    def latest(self) -> InformationAge:
        parts = tuple(copy.latest for copy in self.copies)
        return self if parts == self.copies else Best(parts, self.rests_on)

    @cached_property
    def _powers(self) -> dict[InformationAge, int]:
        # The same copy k times is its tail to the power k.
        return {copy: self.copies.count(copy) for copy in dict.fromkeys(self.copies)}

    def tail(self, x: Array) -> Array:
        return math.prod(copy.tail(x) ** count for copy, count in self._powers.items())

    def bound(self, x: Array) -> Array:
        return math.prod(copy.bound(x) ** count for copy, count in self._powers.items())

    @cached_property
    def scales(self) -> Scales:
        own = [copy.scales for copy in self._powers]
        marks = [min(one.marks) / len(self.copies) for one in own] + [point for one in own for point in one.marks]
        return Scales(thinned(point for one in own for point in one.breaks), tuple(marks))


@final
@dataclass(frozen=True, eq=False)
class Delayed(InformationAge):
    """X = age + delay: every reply is `delay` old when it arrives."""

    copy: InformationAge
    delay: float

    @property
    def basis(self) -> Basis:
        return joined([self.copy.basis, DELAY])

    @cached_property
    def latest(self) -> InformationAge:
        return self if self.copy.latest is self.copy else Delayed(self.copy.latest, self.delay)

    def tail(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return np.where(x < self.delay, 1.0, self.copy.tail(np.maximum(x - self.delay, 0.0)))

    def bound(self, x: Array) -> Array:
        x = np.asarray(x, dtype=float)
        return np.where(x < self.delay, 1.0, self.copy.bound(np.maximum(x - self.delay, 0.0)))

    @property
    def scales(self) -> Scales:
        breaks, marks = (tuple(self.delay + point for point in points) for points in self.copy.scales)
        return Scales((self.delay, *breaks), marks)

    def laplace(self, rate: float) -> float:
        return math.exp(-rate * self.delay) * self.copy.laplace(rate)


@final
@dataclass(frozen=True, eq=False)
class Never(InformationAge):
    """A copy that nothing reaches: infinitely old."""

    basis = Basis("exact", "no path from the source", "")

    def tail(self, x: Array) -> Array:
        return np.ones_like(np.asarray(x, dtype=float))

    def freshness(self, updates: Law) -> Prediction:
        return Prediction.of(0.0, self.basis)


direct = PullAge  # the age of a copy that is pulled from the source (P2P eq. 6, 8), exact
never = Never


def pull(upstream: InformationAge, own: Law | InformationAge) -> InformationAge:
    """The age of a copy pulled from a copy (P2P eq. 28). Exact.

    `own` is the law of the downloads, or the age of a cluster's copies relative to its upstream.
    """
    own = PullAge(own) if isinstance(own, Law) else own
    if isinstance(upstream, Never) or isinstance(own, Never):
        return Never()
    # (1) takes a density of `own`: a law gives it exactly, other ages by differentiation.
    swap = isinstance(upstream, PullAge) and not isinstance(own, PullAge)
    return Sum(upstream, own) if swap else Sum(own, upstream)


def best_of(copies: Sequence[InformationAge], rests_on: Basis = REDUNDANT) -> InformationAge:
    """The age of the freshest of independent copies (P2P VII-A). Exact if they are independent.

    Copies that share part of their path are not: say so in `rests_on`.
    """
    assert copies, "best of nothing"
    reached = tuple(copy for copy in copies if not isinstance(copy, Never))
    if not reached:
        return Never()
    return reached[0] if len(reached) == 1 else Best(reached, rests_on)


def delayed(copy: InformationAge, delay: float) -> InformationAge:
    """The age when replies take a constant time (P2P eq. 27 at y = delay). Exact."""
    assert delay >= 0, delay
    return copy if delay == 0 or isinstance(copy, Never) else Delayed(copy, delay)

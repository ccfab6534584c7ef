"""The law of the information age X of a copy, and what topologies do to it.

    pull from the source   X = A_D                 the age of the downloads    P2P eq. 6
    pull from a copy       X = A_D + X_upstream    independent sum             P2P eq. 28
    ask several            X = min of theirs       product of tails            P2P VII
    late replies           X = X + delay           shift                       P2P eq. 27

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

from replnet.ages.curve import GrowingCurve, clean_edges, convolve, panel_integrals
from replnet.ages.panels import Scales, atoms_of, jumps, resolving_edges, thin_out
from replnet.ages.prediction import Basis, NoFormulaError, Prediction, joint_basis
from replnet.laws import RESOLVED, Array, Curve, Exponential, Law, fit_curve

NEGLIGIBLE = 1e-10  # size of the part of (3) beyond the horizon
MOST_LEFT_OUT = 1e-6  # the same, if even 900 octaves do not make it NEGLIGIBLE
ROUGH = 1e-7  # resolution where a tail has more bends than are worth resolving
MOST_ROUGH_PANELS = 800  # panels of such a tail

MOST_SUBSETS = 2_000  # subsets of replicas that a query averages over one by one

DIRECT = Basis("exact", "P2P eq. 8", "updates and downloads independent of one another and stationary")
CASCADE = Basis("exact", "P2P eq. 28", "levels independent of one another")
REDUNDANT = Basis("exact", "P2P VII-A", "asked copies independent of one another")
APART = Basis("exact", "Staleness VI-D", "replicas independent of one another")
SUBSETS = Basis("exact", "Staleness VI-E", "any replicas are as likely to be asked")
SOURCES = Basis("exact", "Staleness VI-C", "sources independent of one another")
DELAY = Basis("exact", "P2P eq. 27", "constant reply delay")


class InformationAge(ABC):
    """An abstract law of the information age X: the time since a copy's data left the source.

    It gives the tail P(X > x), the density, the freshness of the copy, and the basis of its formula.
    """

    @property
    @abstractmethod
    def basis(self) -> Basis:
        """The basis of the formula of the age."""

    @property
    def scales(self) -> Scales:
        """The ages where P(X > x) jumps or bends, as far as known, and ages that mark the scales on which it falls."""
        return Scales()

    @property
    def summands(self) -> tuple[InformationAge, ...]:
        """The independent ages that this age is the sum of; the age alone if it is no sum."""
        return (self,)

    @property
    def latest(self) -> InformationAge:
        """The oldest that the copy may be in truth, as a law, if this age is a lower bound; else the age itself."""
        return self

    @property
    def chance_of_copy(self) -> float:
        """The chance that there is a copy at all; without one, the age is infinite."""
        return 1.0

    @property
    def of_copies(self) -> InformationAge:
        """The law of the age given that there is a copy; the age itself if there always is one."""
        return self

    def tail(self, x: Array) -> Array:
        """Return P(X > x) at every x of an array.

        A subclass defines this method or `tail_curve`; each falls back on the other.
        """
        return self.tail_curve(float(np.max(x, initial=0.0)) or 1.0)(x)

    def bound(self, x: Array) -> Array:
        """Return an upper bound of the tail P(X > x) at every x of an array, which is quick to compute."""
        return self.tail(x)

    def tail_curve(self, horizon: float) -> Curve:
        """Return the tail P(X > x) of the age X as a piecewise polynomial on [0, horizon], or further.

        It may end before `horizon`, where the tail has vanished.
        """
        edges = self.scales.edges(horizon)
        return fit_curve(self.tail, edges, tolerance=resolution(edges))

    def density_curve(self, horizon: float) -> Curve:
        """Return the density of the age X as a piecewise polynomial on [0, horizon], or further.

        It may end before `horizon`, where the tail has vanished.
        """
        return self.tail_curve(horizon).derivative().times(-1)

    def laplace(self, rate: float) -> float:
        """Return E[exp(-rate X)], X being the age: the freshness, 0 to 1, under exponential updates of this rate."""
        return quadrature(self, Exponential(rate=rate))

    def freshness(self, updates: Law) -> Prediction:
        """Predict the share of time in which the copy is fresh, P(X < time since the last update).

        `updates` is the law of the source's update intervals; exponential ones take a shorter way (P2P eq. 29). Raises
        FieldError if their mean is infinite, and NoFormulaError if ages are too heavy-tailed to integrate.
        """
        updates.require_finite_mean()
        value = self.laplace(updates.rate) if isinstance(updates, Exponential) else quadrature(self, updates)
        return Prediction.of(value, self.basis)


def resolution(edges: Array) -> float:
    """Return the absolute error allowed in a curve fitted from `edges`: 1e-11, or 1e-7 for more than 100 edges."""
    return RESOLVED if len(edges) <= 100 else ROUGH


def horizon_of(copy: InformationAge, updates: Law) -> float:
    """Return the age up to which a copy's staleness is integrated: what lies beyond contributes less than 1e-10.

    `updates` is the law of the source's update intervals, and the age returned is at most the longest of these. Raises
    NoFormulaError if more than 1e-6 is left at the largest age that is tried, as tails are too heavy.
    """
    for octaves in (70, 900):
        x = updates.mean * 2.0 ** np.arange(-30, octaves)
        with np.errstate(all="ignore"):
            rest = np.nan_to_num(updates.rate * updates.excess(x) * copy.bound(x))
        negligible = rest <= NEGLIGIBLE
        if negligible.any():
            return min(float(x[np.argmax(negligible)]), float(updates.isf(0.0)))
    if rest[-1] > MOST_LEFT_OUT:
        raise NoFormulaError(f"ages that may exceed {x[-1]:.0e}, those of {updates} and of its copies")
    return min(float(x[-1]), float(updates.isf(0.0)))


def quadrature(copy: InformationAge, updates: Law) -> float:
    """Return the freshness of a copy, 1 - integral of g_U(x) P(X > x) dx, by quadrature; a share of time from 0 to 1.

    X is the copy's age, and g_U the density of the time since the last update, with update intervals of law `updates`.
    Raises NoFormulaError if tails are too heavy to integrate.
    """
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
    """The age of a copy that is pulled from the source itself: the time since the last download.

    `downloads` is the law of the intervals between downloads. Raises FieldError if their mean is infinite.
    """

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
        return fit_curve(self.downloads.tail, edges, tolerance=1e-12).times(self.downloads.rate)


@lru_cache(maxsize=1024)
def _transform(downloads: Law, rate: float) -> float:
    """Return E[exp(-rate A)], with A the time since the last download, seen at a random time; results are cached."""
    if isinstance(downloads, Exponential):
        return downloads.rate / (downloads.rate + rate)
    return quadrature(PullAge(downloads), Exponential(rate=rate))


@final
@dataclass(frozen=True, eq=False)
class Sum(InformationAge):
    """The age of a copy of a copy: its age relative to the copy above (`own`), plus the age of that one (`upstream`).

    The two are independent.
    """

    own: InformationAge
    upstream: InformationAge

    @property
    def basis(self) -> Basis:
        return joint_basis([*(leaf.basis for leaf in self.summands), CASCADE])

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
        own_scales, upstream_scales = self.own.scales, self.upstream.scales
        sums = np.add.outer([0.0, *own_scales.breaks], [0.0, *upstream_scales.breaks])
        return Scales(thin_out(sums.ravel()), (*own_scales.marks, *upstream_scales.marks))

    def tail_curve(self, horizon: float) -> Curve:
        # Shared by the levels of a cascade, which ask for one another's curves.
        return self._growing_curve.cover(horizon)

    @cached_property
    def _growing_curve(self) -> GrowingCurve:
        return GrowingCurve(self._curve)

    def _curve(self, horizon: float) -> Curve:
        """Return the tail of the sum on [0, horizon] as a curve, by convolution of the two ages.

        If `own` is a pull whose intervals take more than 64 values, it is a sum over these values instead, fitted less
        finely.
        """
        upstream = self.upstream.tail_curve(horizon)
        edges = self.scales.edges(horizon)
        if isinstance(self.own, PullAge) and (atoms := atoms_of(self.own.downloads)):
            own_age, rate, whole = self.own, self.own.downloads.rate, upstream.antiderivative()
            return fit_curve(
                lambda x: own_age.tail(x) + rate * atoms.differences(whole, x),
                edges,
                tolerance=ROUGH,
                most=MOST_ROUGH_PANELS,
            )
        density, tail = self.own.density_curve(horizon), self.own.tail_curve(horizon)
        parts = (density.along, density.edges, upstream.along, upstream.edges)
        return fit_curve(lambda x: tail(x) + convolve(*parts, x), edges, tolerance=resolution(edges))

    def laplace(self, rate: float) -> float:
        """Return the product of the transforms of the summands (P2P eq. 29)."""
        return math.prod(leaf.laplace(rate) for leaf in self.summands)


@final
@dataclass(frozen=True, eq=False)
class Best(InformationAge):
    """The age of the freshest of several copies: the smallest of their independent ages, `copies`.

    `rests_on` is the basis on which they are taken as independent.
    """

    copies: tuple[InformationAge, ...]
    rests_on: Basis = REDUNDANT

    @property
    def basis(self) -> Basis:
        return joint_basis([*(copy.basis for copy in self.copies), self.rests_on])

    @cached_property
    def latest(self) -> InformationAge:
        parts = tuple(copy.latest for copy in self.copies)
        return self if parts == self.copies else Best(parts, self.rests_on)

    @cached_property
    def _powers(self) -> dict[InformationAge, int]:
        """The distinct ages, with the number of copies that have each."""
        # The same copy k times is its tail to the power k.
        return {copy: self.copies.count(copy) for copy in dict.fromkeys(self.copies)}

    def tail(self, x: Array) -> Array:
        return math.prod(copy.tail(x) ** count for copy, count in self._powers.items())

    def bound(self, x: Array) -> Array:
        return math.prod(copy.bound(x) ** count for copy, count in self._powers.items())

    @cached_property
    def scales(self) -> Scales:
        return Scales.of_smallest([copy.scales for copy in self._powers], len(self.copies))


@final
@dataclass(frozen=True, eq=False)
class Delayed(InformationAge):
    """The age X + delay, with X the age `copy`: every reply is `delay` old when it arrives."""

    copy: InformationAge
    delay: float

    @property
    def basis(self) -> Basis:
        return joint_basis([self.copy.basis, DELAY])

    @cached_property
    def latest(self) -> InformationAge:
        return self if self.copy.latest is self.copy else Delayed(self.copy.latest, self.delay)

    @property
    def chance_of_copy(self) -> float:
        return self.copy.chance_of_copy

    @cached_property
    def of_copies(self) -> InformationAge:
        return self if self.copy.of_copies is self.copy else Delayed(self.copy.of_copies, self.delay)

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
    """The age of a copy that nothing reaches, which is infinite."""

    basis = Basis("exact", "no path from the source", "")
    chance_of_copy = 0.0

    def tail(self, x: Array) -> Array:
        return np.ones_like(np.asarray(x, dtype=float))

    def freshness(self, updates: Law) -> Prediction:
        return Prediction.of(0.0, self.basis)


direct = PullAge  # the age of a copy that is pulled from the source (P2P eq. 6, 8), exact
never = Never


def pull(upstream: InformationAge, own: Law | InformationAge) -> InformationAge:
    """Return the age of a copy that is pulled from a copy of age `upstream` (P2P eq. 28).

    `own` is the law of the download intervals, or the age of a cluster's copies relative to its upstream. The age is
    their independent sum, exact if both are, and infinite if nothing reaches one of the two.
    """
    own = PullAge(own) if isinstance(own, Law) else own
    if isinstance(upstream, Never) or isinstance(own, Never):
        return Never()
    # (1) takes a density of `own`: a law gives it exactly, other ages by differentiation.
    swap = isinstance(upstream, PullAge) and not isinstance(own, PullAge)
    return Sum(upstream, own) if swap else Sum(own, upstream)


def best_of(copies: Sequence[InformationAge], rests_on: Basis = REDUNDANT) -> InformationAge:
    """Return the age of the freshest of one or more independent copies (P2P VII-A). Exact if they are independent.

    Copies that nothing reaches are left out; if there are no others, the age is infinite. Copies that share part of
    their path are not independent: say so in `rests_on`, the basis that is added to those of the copies.
    """
    assert copies, "best of nothing"
    existing = tuple(copy for copy in copies if not isinstance(copy, Never))
    if not existing:
        return Never()
    return existing[0] if len(existing) == 1 else Best(existing, rests_on)


def with_delay(copy: InformationAge, delay: float) -> InformationAge:
    """Return the age of a copy whose replies take the constant time `delay`, 0 or more: that of `copy`, plus `delay`.

    It is exact if the age `copy` is (P2P eq. 27 at y = delay).
    """
    assert delay >= 0, delay
    return copy if delay == 0 or isinstance(copy, Never) else Delayed(copy, delay)

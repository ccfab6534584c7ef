"""Staleness of a copy beyond fresh or not (Staleness II-IV, Sync 2.1), for any information age X.

With A_U the age of the updates, mu their rate, g_U = mu (1 - F_U) its density and H
the tail of X,

    K(x) = P(X - A_U > x) = integral of g_U(y) H(x + y) dy                                      (1)
    staleness          p = K(0)                                                 eq. 36
    law of the lag     F_L(x) = 1 - K(x) / p                                    eq. 38, Thm 5
    currency           c(tau) = 1 - K(tau)                                      eq. 41
    source penalty     E[w(X - A_U); X > A_U] = E[v(X)]                         eq. 42, 49
    update penalty     mu E[w2(X)] = mu integral of w(x) H(x) dx                eq. 50
    missing updates    mu E[X], the same with w = 1                             eq. 54

The paper has X = A_D, a copy of the source; nothing in its proofs needs more than an X
that does not depend on the update age, so the formulas hold for cascades, clusters and
the freshest of several as well. v is the expected cost of a copy of a given age,

    v(x) = E[w(x - A_U); A_U < x] = integral over y in (0, x) of g_U(y) w(x - y) dy             (2)

and, where U takes many values, as a record does, by parts a sum,

    v(x) = mu (w2(x) - E[w2((x - U)+)]).                                                        (3)

The same with w2 in the place of w is V, the integral of v. For X = A_D whose D takes
finitely many values d,

    source penalty = lambda E[V(D)]        update penalty = lambda mu E[w3(D)]                  (4)

Ages of Sync 2.1: the age of a stale copy is the time since the first change it
missed, the source penalty with w = x, or read as the time since the last change of
the element, E[A_U; X > A_U]; the age of its data whether or not it changed is E[X].

Whether a penalty exists depends on X alone: the source penalty needs E[w(X)], the
update penalty E[w2(X)] (Definition 5). Where that is infinite so is the prediction,
which says why; so Pareto downloads with alpha <= 2 miss infinitely many updates.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from replnet.ages.curve import GAUSS, clean_edges, convolve
from replnet.ages.half_line import HalfLine, Integral, exists, half_line, integrated, law_edges
from replnet.ages.information_age import InformationAge, Never, PullAge
from replnet.ages.panels import FEW, GROUPS, resolving_edges, values_of
from replnet.ages.prediction import Basis, Prediction, joined
from replnet.ages.weights import AGE, ONE, Weight, weight
from replnet.laws.law import Array, Law
from replnet.text.errors import FieldError, finite

INDEPENDENT = "update age independent of the copy's age"
STALENESS = Basis("exact", "Staleness eq. 36", INDEPENDENT)
CURRENCY = Basis("exact", "Staleness eq. 41", INDEPENDENT)
SOURCE = Basis("exact", "Staleness eq. 42", INDEPENDENT)
UPDATE = Basis("exact", "Staleness eq. 50", INDEPENDENT)
MISSING = Basis("exact", "Staleness eq. 54", INDEPENDENT)
FIRST_MISSED = Basis("exact", "Sync Definition 2; Staleness eq. 42", INDEPENDENT)
LAST_CHANGE = Basis("exact", "Sync Definition 2, by the last change", INDEPENDENT)
DATA = Basis("exact", "mean information age", "")
OLDER = Basis("exact", "law of the information age", "")
THERE = Basis("exact", "a copy at all times", "")

NEVER = "infinite because nothing reaches the copy"
HEAVY = "infinite because {} is: ages have too heavy a tail"
SETTLED, CLOSE = (2.0**30, 2.0**60, math.inf), 1e-10  # where heavy tails may be powers, and the error that says so
ROUNDING = 1e-9  # share of an integral below which its error is not stated
BLOCK = 20_000  # panels of (2) at once
MOST_TERMS = 1 << 20  # of (3); where there are more, values are taken in groups
COARSE = 1e-5  # what groups may cost, as a share: 5e-6 was the most seen in records of 40,000 intervals


# ---- Of a copy whose information age is known


def staleness(copy: InformationAge, updates: Law) -> Prediction:
    """The share of time in which the copy is stale, eq. 36."""
    return _source(copy, updates, ONE, STALENESS)


def currency(copy: InformationAge, updates: Law, lag: float) -> Prediction:
    """The share of time in which the copy is fresh or stale by less than `lag`, eq. 41."""
    if finite("lag", lag) < 0:
        raise FieldError("lag", f"{lag:g} is negative", "0 or more")
    late = _chance(copy, CURRENCY, _lags_beyond(copy, updates, lag))
    return replace(late, value=1 - late.value)


def lag_tail(copy: InformationAge, updates: Law, x: float) -> float:
    """1 - F_L of Thm 5: the chance that a stale copy has been stale for longer than x. As exact as X is."""
    return _lags_beyond(copy, updates, x).value / _lags_beyond(copy, updates, 0.0).value


def source_penalty(copy: InformationAge, updates: Law, by: Weight | str) -> Prediction:
    """The mean cost of the time since the copy became stale, eq. 42; 0 while it is fresh."""
    return _source(copy, updates, weight(by), SOURCE)


def update_penalty(copy: InformationAge, updates: Law, by: Weight | str) -> Prediction:
    """The mean summed cost of the ages of all updates that the copy misses, eq. 50."""
    return _update(copy, updates, weight(by), UPDATE)


def missing_updates(copy: InformationAge, updates: Law) -> Prediction:
    """E[M], by how many updates the copy is behind, eq. 54."""
    return _update(copy, updates, ONE, MISSING)


def since_first_missed(copy: InformationAge, updates: Law) -> Prediction:
    """The age of Sync 2.1: 0 if fresh, else the time since the first change that the copy missed."""
    return _source(copy, updates, AGE, FIRST_MISSED)


def since_last_change(copy: InformationAge, updates: Law) -> Prediction:
    """The age of Sync 2.1 read the other way: 0 if fresh, else the time since the last change."""
    if isinstance(copy, Never):
        return Prediction.of(updates.second_moment / (2 * updates.mean), joined([copy.basis, LAST_CHANGE]))
    law = half_line(copy)
    if math.isinf(updates.second_moment) and not exists(law, lambda y: y * updates.rate * updates.tail(y), 1):
        return _infinite(copy, LAST_CHANGE, HEAVY.format("E[A_U; X > A_U]"))
    edges = _product_edges(law, updates, 0.0)
    found = integrated(lambda y: y * updates.rate * updates.tail(y) * law.tail(y), edges, law)
    return _found(copy, LAST_CHANGE, found)


def data_age(copy: InformationAge) -> Prediction:
    """E[X]: how long ago the copy's data left the source, changed since or not."""
    return _mean_weight(copy, DATA, ONE, 1.0, "E[X]")


def older(copy: InformationAge, x: float) -> Prediction:
    """P(X > x), the chance that the data left the source more than x ago."""
    if isinstance(copy, Never):
        return Prediction.of(1.0, copy.basis)
    law = half_line(copy)
    return _found(copy, OLDER, Integral(float(law.tail(np.array([x]))[0]), law.error))


def younger(copy: InformationAge, x: float) -> Prediction:
    """P(X <= x)"""
    late = older(copy, x)
    return replace(late, value=1 - late.value)


def there(copy: InformationAge, _: Law) -> Prediction:
    """The chance that there is a copy."""
    return Prediction.of(1.0, THERE)


# ---- What a copy of a given age is expected to cost


def charge(updates: Law, by: Weight, x: Array, order: int = 1) -> Array:
    """v of (2) at every point of an array, or with order 2 its integral."""
    x = np.asarray(x, dtype=float)
    atoms, upto = values_of(updates), float(x.max(initial=0.0))
    if atoms and len(atoms.values) > FEW:
        atoms = atoms.grouped(GROUPS) if _too_many(updates, x.size) else atoms
        return updates.rate * atoms.differences(by.orders[order], x)
    if not upto > 0:
        return np.zeros_like(x)
    w, own, mirrored = by.orders[order - 1], resolving_edges(updates, upto), by.edges(upto, min(upto, updates.mean))
    step = max(1, BLOCK // (own.size + mirrored.size + 2))
    blocks = np.split(x, range(step, x.size, step))
    cost = [convolve(lambda y, _: updates.tail(y), own, lambda y, _: w(y), mirrored, block) for block in blocks]
    return updates.rate * np.concatenate(cost)


def _too_many(updates: Law, points: int) -> bool:
    """Whether the charge at so many points takes groups of values."""
    atoms = values_of(updates)
    return atoms is not None and len(atoms.values) > FEW and points * len(atoms.values) > MOST_TERMS


# ---- Integrals


def _source(copy: InformationAge, updates: Law, w: Weight, basis: Basis) -> Prediction:
    updates.require_finite_mean()
    if w.start is not None:
        return _chance(copy, basis, _lags_beyond(copy, updates, w.start))
    if isinstance(copy, Never):
        return Prediction.of(w.limit, joined([copy.basis, basis])) if w.limit < math.inf else _infinite(copy, basis)
    law = half_line(copy)
    if not exists(law, w, 0):
        return _infinite(copy, basis, HEAVY.format(f"E[w(X)], w = {w},"))
    return _found(copy, basis, _mean_charge(copy, law, updates, w))


def _mean_charge(copy: InformationAge, law: HalfLine, updates: Law, w: Weight) -> Integral:
    """E[v(X)], by (4) where it is a sum."""
    if isinstance(copy, PullAge) and (atoms := values_of(copy.downloads)):
        coarse = _too_many(updates, len(atoms.values))
        atoms = atoms.grouped(GROUPS) if coarse else atoms
        value = float(copy.downloads.rate * (atoms.weights @ charge(updates, w, atoms.values, 2)))
        return Integral(value, COARSE * value * coarse)
    found = Integral(math.nan, math.inf)
    for upto in sorted({min(float(law.edges[-1]), law.scale * far) for far in SETTLED}):
        edges = clean_edges(np.concatenate([law.edges, resolving_edges(updates, upto), w.edges(upto, law.scale)]), upto)
        found = integrated(lambda x: law.density(x) * charge(updates, w, x), edges, law)
        if found.error <= CLOSE * found.value:
            break
    at = np.array([min(law.far, float(law.edges[-1]))])
    grouped = COARSE * found.value * _too_many(updates, GAUSS * len(law.edges))
    return Integral(found.value, found.error + grouped + law.error * float(charge(updates, w, at)[0]))


def _update(copy: InformationAge, updates: Law, w: Weight, basis: Basis) -> Prediction:
    updates.require_finite_mean()
    return _mean_weight(copy, basis, w, updates.rate, f"E[w2(X)], w = {w},")


def _mean_weight(copy: InformationAge, basis: Basis, w: Weight, rate: float, words: str) -> Prediction:
    """So many times E[w2(X)], by (4) where it is a sum."""
    if isinstance(copy, Never):
        return _infinite(copy, basis)
    law = half_line(copy)
    if not exists(law, w, 1):
        return _infinite(copy, basis, HEAVY.format(words))
    if isinstance(copy, PullAge) and (atoms := values_of(copy.downloads)):
        value = float(copy.downloads.rate * (atoms.weights @ w.second_integral(atoms.values)))
        return _found(copy, basis, Integral(rate * value, 0.0))
    upto = float(law.edges[-1])
    edges = clean_edges(np.concatenate([law.edges, w.edges(upto, law.scale)]), upto)
    found = integrated(lambda x: w(x) * law.tail(x), edges, law)
    error = found.error + law.error * float(w.integral(min(law.far, upto)))
    return _found(copy, basis, Integral(rate * found.value, rate * error))


def _product_edges(law: HalfLine, updates: Law, x: float) -> Array:
    """Panels for y on which g_U(y) and H(x + y) are smooth."""
    own = law_edges(updates)
    upto = min(float(own[-1]), float(law.edges[-1]) - x)
    return clean_edges(np.concatenate([own, law.edges - x]), upto) if upto > 0 else np.zeros(1)


def _lags_beyond(copy: InformationAge, updates: Law, x: float) -> Integral:
    """K of (1)."""
    updates.require_finite_mean()
    if isinstance(copy, Never):
        return Integral(1.0, 0.0)
    law = half_line(copy)
    edges = _product_edges(law, updates, x)
    if len(edges) < 2:
        return Integral(0.0, 0.0)
    found = integrated(lambda y: updates.rate * updates.tail(y) * law.tail(x + y), edges, law)
    return Integral(min(found.value, 1.0), found.error + law.error)


# ---- What is said of them


def _found(copy: InformationAge, basis: Basis, found: Integral, uncertain: float | None = None) -> Prediction:
    """`uncertain` is that of which the accuracy of the copy's own law is a share, if not the value."""
    whole, value = joined([copy.basis, basis]), found.value
    stated = found.error if found.error > ROUNDING * abs(value) else 0.0
    accuracy = (value if uncertain is None else uncertain) * whole.accuracy + stated
    return Prediction(value, whole.kind, whole.source, whole.assumes, accuracy)


def _chance(copy: InformationAge, basis: Basis, late: Integral) -> Prediction:
    """A share of time in which the copy is late; what the copy's own law leaves open is a share of the rest."""
    return _found(copy, basis, late, uncertain=1 - late.value)


def _infinite(copy: InformationAge, basis: Basis, why: str = NEVER) -> Prediction:
    whole = joined([copy.basis, basis])
    return Prediction(math.inf, whole.kind, whole.source, f"{whole.assumes}; {why}" if whole.assumes else why)

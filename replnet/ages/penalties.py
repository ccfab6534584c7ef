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
from replnet.ages.half_line import HalfLine, Integral, exists, half_line_law, integral_to_infinity, law_edges
from replnet.ages.information_age import InformationAge, Never, PullAge
from replnet.ages.panels import FEW, GROUPS, resolving_edges, values_of
from replnet.ages.prediction import Basis, Prediction, joint_basis
from replnet.ages.weights import AGE, ONE, Weight, weight
from replnet.laws import Array, Law
from replnet.text import FieldError, finite

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
HELD = Basis("exact", "a copy at all times", "")

NEVER = "infinite because nothing reaches the copy"
HEAVY = "infinite because {} is: ages have too heavy a tail"
FAR_ENDS, SMALL_ERROR = (2.0**30, 2.0**60, math.inf), 1e-10  # ends of integrals to try, and the error that suffices
ROUNDING = 1e-9  # share of an integral below which its error is not stated
BLOCK = 20_000  # panels of (2) that are integrated at once
MOST_TERMS = 1 << 20  # terms of (3); where there are more, values are taken in groups
COARSE = 1e-5  # error by groups, as a share: 5e-6 was the most seen in records of 40,000 intervals


# ---- Predictions for a copy whose information age is known


def staleness(copy: InformationAge, updates: Law) -> Prediction:
    """Predict the share of time in which a copy of this age is stale (Staleness eq. 36).

    `updates` is the law of the source's update intervals; raises FieldError if their mean is infinite.
    """
    return _predict_source_penalty(copy, updates, ONE, STALENESS)


def currency(copy: InformationAge, updates: Law, lag: float) -> Prediction:
    """Predict the share of time in which the copy is fresh, or stale for at most `lag` (Staleness eq. 41).

    `updates` is the law of the source's update intervals. Raises FieldError if the lag is negative or not finite.
    """
    if finite("lag", lag) < 0:
        raise FieldError("lag", f"{lag:g} is negative", "0 or more")
    late = _chance(copy, CURRENCY, _lags_beyond(copy, updates, lag))
    return replace(late, value=1 - late.value)


def lag_tail(copy: InformationAge, updates: Law, x: float) -> float:
    """Return the chance that a copy, seen when it is stale, has been stale for longer than a time x (Staleness Thm 5).

    `updates` is the law of the source's update intervals. The chance is as exact as the law of the copy's age.
    """
    return _lags_beyond(copy, updates, x).value / _lags_beyond(copy, updates, 0.0).value


def source_penalty(copy: InformationAge, updates: Law, by: Weight | str) -> Prediction:
    """Predict the mean over time of w(t), the cost of a copy that became stale t ago; a fresh one costs 0.

    `by` is the weight function w, or its text, such as x^2, and `updates` the law of the source's update intervals
    (Staleness eq. 42). The value is infinite, with the reason in `assumes`, if ages have too heavy a tail for w. Raises
    FieldError if the text is no weight.
    """
    return _predict_source_penalty(copy, updates, weight(by), SOURCE)


def update_penalty(copy: InformationAge, updates: Law, by: Weight | str) -> Prediction:
    """Predict the mean over time of the sum of w(age) over all updates that the copy misses (Staleness eq. 50).

    `by` is the weight function w, or its text, such as x^2; the age of an update is the time since it. `updates` is the
    law of the source's update intervals. The value is infinite, with the reason in `assumes`, if ages have too heavy a
    tail for w. Raises FieldError if the text is no weight.
    """
    return _predict_update_penalty(copy, updates, weight(by), UPDATE)


def missing_updates(copy: InformationAge, updates: Law) -> Prediction:
    """Predict the mean number of updates by which a copy of this age is behind its source (Staleness eq. 54).

    `updates` is the law of the source's update intervals. The value is infinite, with the reason in `assumes`, if the
    mean age is.
    """
    return _predict_update_penalty(copy, updates, ONE, MISSING)


def since_first_missed(copy: InformationAge, updates: Law) -> Prediction:
    """Predict the mean time since the first update that the copy missed, taken as 0 while it is fresh.

    This is the age of Sync Definition 2. `updates` is the law of the source's update intervals. The value may be
    infinite, with the reason in `assumes`.
    """
    return _predict_source_penalty(copy, updates, AGE, FIRST_MISSED)


def since_last_change(copy: InformationAge, updates: Law) -> Prediction:
    """Predict the mean time since the source's last update, taken as 0 while the copy is fresh.

    This is the age of Sync Definition 2, read the other way. `updates` is the law of the source's update intervals. The
    value may be infinite, with the reason in `assumes`.
    """
    if isinstance(copy, Never):
        return Prediction.of(updates.second_moment / (2 * updates.mean), joint_basis([copy.basis, LAST_CHANGE]))
    law = half_line_law(copy)
    if math.isinf(updates.second_moment) and not exists(law, lambda y: y * updates.rate * updates.tail(y), 1):
        return _infinite(copy, LAST_CHANGE, HEAVY.format("E[A_U; X > A_U]"))
    edges = _product_edges(law, updates, 0.0)
    integral = integral_to_infinity(lambda y: y * updates.rate * updates.tail(y) * law.tail(y), edges, law)
    return _from_integral(copy, LAST_CHANGE, integral)


def data_age(copy: InformationAge) -> Prediction:
    """Predict E[X], the mean time since the copy's data left the source, whether or not they have changed there since.

    The value is infinite, with the reason in `assumes`, if nothing reaches the copy or ages have too heavy a tail.
    """
    return _mean_weight(copy, DATA, ONE, 1.0, "E[X]")


def older(copy: InformationAge, x: float) -> Prediction:
    """Predict P(X > x), the share of time in which the copy's data left the source more than x ago."""
    if isinstance(copy, Never):
        return Prediction.of(1.0, copy.basis)
    law = half_line_law(copy)
    return _from_integral(copy, OLDER, Integral(float(law.tail(np.array([x]))[0]), law.error))


def younger(copy: InformationAge, x: float) -> Prediction:
    """Predict P(X <= x), the share of time in which the copy's data left the source at most x ago."""
    late = older(copy, x)
    return replace(late, value=1 - late.value)


def held_share(copy: InformationAge, _: Law) -> Prediction:
    """Predict the share of time in which there is a copy: always 1, as the formulas here assume a copy at all times."""
    return Prediction.of(1.0, HELD)


# ---- The expected cost of a copy of a given age


def expected_cost(updates: Law, by: Weight, x: Array, order: int = 1) -> Array:
    """Return the expected cost v of copies of the ages in the array x: w(t) if stale for a time t, 0 if fresh.

    `by` is the weight function w, and `updates` the law of the source's update intervals. With `order` 2, the integral
    of v from 0 to x is returned instead.
    """
    x = np.asarray(x, dtype=float)
    atoms, upto = values_of(updates), float(x.max(initial=0.0))
    if atoms and len(atoms.values) > FEW:
        atoms = atoms.in_groups(GROUPS) if _too_many(updates, x.size) else atoms
        return updates.rate * atoms.differences(by.orders[order], x)
    if not upto > 0:
        return np.zeros_like(x)
    w, edges, mirrored = by.orders[order - 1], resolving_edges(updates, upto), by.edges(upto, min(upto, updates.mean))
    step = max(1, BLOCK // (edges.size + mirrored.size + 2))
    blocks = np.split(x, range(step, x.size, step))
    cost = [convolve(lambda y, _: updates.tail(y), edges, lambda y, _: w(y), mirrored, block) for block in blocks]
    return updates.rate * np.concatenate(cost)


def _too_many(updates: Law, points: int) -> bool:
    """Whether expected costs at so many `points` take too many terms to sum over all values of the update intervals.

    If so, neighbouring values are taken as one. False for laws that do not take more than 64 separate values.
    """
    atoms = values_of(updates)
    return atoms is not None and len(atoms.values) > FEW and points * len(atoms.values) > MOST_TERMS


# ---- Integrals


def _predict_source_penalty(copy: InformationAge, updates: Law, w: Weight, basis: Basis) -> Prediction:
    """Predict the mean cost w(t) of a copy that became stale t ago, where a fresh one costs 0.

    `basis` is that of the formula, to which the copy's own is added. An infinite value says why in `assumes`.
    """
    updates.require_finite_mean()
    if w.start is not None:
        return _chance(copy, basis, _lags_beyond(copy, updates, w.start))
    if isinstance(copy, Never):
        return (
            Prediction.of(w.limit, joint_basis([copy.basis, basis])) if w.limit < math.inf else _infinite(copy, basis)
        )
    law = half_line_law(copy)
    if not exists(law, w, 0):
        return _infinite(copy, basis, HEAVY.format(f"E[w(X)], w = {w},"))
    return _from_integral(copy, basis, _mean_cost(copy, law, updates, w))


def _mean_cost(copy: InformationAge, law: HalfLine, updates: Law, w: Weight) -> Integral:
    """Return the mean, over the copy's age, of the expected cost of a copy of that age, with a bound on its error.

    `law` is the law of the copy's age on the half line, and w the cost of the time since it became stale.
    """
    if isinstance(copy, PullAge) and (atoms := values_of(copy.downloads)):
        coarse = _too_many(updates, len(atoms.values))
        atoms = atoms.in_groups(GROUPS) if coarse else atoms
        value = float(copy.downloads.rate * (atoms.weights @ expected_cost(updates, w, atoms.values, 2)))
        return Integral(value, COARSE * value * coarse)
    result = Integral(math.nan, math.inf)
    for upto in sorted({min(float(law.edges[-1]), law.scale * far) for far in FAR_ENDS}):
        edges = clean_edges(np.concatenate([law.edges, resolving_edges(updates, upto), w.edges(upto, law.scale)]), upto)
        result = integral_to_infinity(lambda x: law.density(x) * expected_cost(updates, w, x), edges, law)
        if result.error <= SMALL_ERROR * result.value:
            break
    at = np.array([min(law.far, float(law.edges[-1]))])
    grouped = COARSE * result.value * _too_many(updates, GAUSS * len(law.edges))
    return Integral(result.value, result.error + grouped + law.error * float(expected_cost(updates, w, at)[0]))


def _predict_update_penalty(copy: InformationAge, updates: Law, w: Weight, basis: Basis) -> Prediction:
    """Predict the mean over time of the sum of w(age) over all updates that the copy misses.

    `basis` is that of the formula, to which the copy's own is added. An infinite value says why in `assumes`.
    """
    updates.require_finite_mean()
    return _mean_weight(copy, basis, w, updates.rate, f"E[w2(X)], w = {w},")


def _mean_weight(copy: InformationAge, basis: Basis, w: Weight, rate: float, name: str) -> Prediction:
    """Predict `rate` times the mean of the integral of w from 0 to the copy's age.

    `basis` is that of the formula, to which the copy's own is added. If the value is infinite, `assumes` says so, and
    `name` stands there for the mean.
    """
    if isinstance(copy, Never):
        return _infinite(copy, basis)
    law = half_line_law(copy)
    if not exists(law, w, 1):
        return _infinite(copy, basis, HEAVY.format(name))
    if isinstance(copy, PullAge) and (atoms := values_of(copy.downloads)):
        value = float(copy.downloads.rate * (atoms.weights @ w.second_integral(atoms.values)))
        return _from_integral(copy, basis, Integral(rate * value, 0.0))
    upto = float(law.edges[-1])
    edges = clean_edges(np.concatenate([law.edges, w.edges(upto, law.scale)]), upto)
    integral = integral_to_infinity(lambda x: w(x) * law.tail(x), edges, law)
    error = integral.error + law.error * float(w.integral(min(law.far, upto)))
    return _from_integral(copy, basis, Integral(rate * integral.value, rate * error))


def _product_edges(law: HalfLine, updates: Law, x: float) -> Array:
    """Return edges of panels for y on which g_U(y) and H(x + y) are smooth; a single 0 if H has ended at x.

    g_U is the density of the time since the last update, and H the tail of the copy's age, whose law is `law`.
    """
    update_edges = law_edges(updates)
    upto = min(float(update_edges[-1]), float(law.edges[-1]) - x)
    return clean_edges(np.concatenate([update_edges, law.edges - x]), upto) if upto > 0 else np.zeros(1)


def _lags_beyond(copy: InformationAge, updates: Law, x: float) -> Integral:
    """Return the chance that, at a random time, the copy has been stale for longer than x, with an error bound.

    `updates` is the law of the source's update intervals; raises FieldError if their mean is infinite.
    """
    updates.require_finite_mean()
    if isinstance(copy, Never):
        return Integral(1.0, 0.0)
    law = half_line_law(copy)
    edges = _product_edges(law, updates, x)
    if len(edges) < 2:
        return Integral(0.0, 0.0)
    integral = integral_to_infinity(lambda y: updates.rate * updates.tail(y) * law.tail(x + y), edges, law)
    return Integral(min(integral.value, 1.0), integral.error + law.error)


# ---- From integrals to predictions


def _from_integral(
    copy: InformationAge, basis: Basis, integral: Integral, uncertain: float | None = None
) -> Prediction:
    """Return the value of an integral as a prediction that rests on the basis of the copy's age and on `basis`.

    Its accuracy is the integral's error, plus the accuracy of both bases, a share, times `uncertain` (None: times the
    value).
    """
    whole, value = joint_basis([copy.basis, basis]), integral.value
    stated = integral.error if integral.error > ROUNDING * abs(value) else 0.0
    accuracy = (value if uncertain is None else uncertain) * whole.accuracy + stated
    return Prediction(value, whole.kind, whole.source, whole.assumes, accuracy)


def _chance(copy: InformationAge, basis: Basis, late: Integral) -> Prediction:
    """Return the share of time `late`, in which a copy is late, as a prediction.

    It rests on the basis of the copy's age and on `basis`, whose accuracy counts as a share of the rest of the time, 1
    - `late`.
    """
    return _from_integral(copy, basis, late, uncertain=1 - late.value)


def _infinite(copy: InformationAge, basis: Basis, why: str = NEVER) -> Prediction:
    """Return the prediction of an infinite value, with the reason `why` at the end of what it assumes."""
    whole = joint_basis([copy.basis, basis])
    return Prediction(math.inf, whole.kind, whole.source, f"{whole.assumes}; {why}" if whole.assumes else why)

"""How long a copy stays fresh, and what is left of that (P2P V-B).

With X the information age of any copy, U the updates, G_U the tail of the
update age and g_U its density,

    r(y) = P(fresh, and for y more) = E[G_U(X + y)]                            P2P eq. 24 (1)
    ON residual R_V:  P(R_V > y) = r(y) / r(0)                                 P2P eq. 16 (2)
    ON duration V:    P(V > y) = E[g_U(X + y)] / E[g_U(X)],  E[V] = p / E[g_U(X)]   P2P eq. 19 (3)

P2P derives (2) and (3) for one hop; they hold at every level, since an ON
period ends only with an update. (1) by parts is

    r(y) = G_U(y) - integral over x of g_U(x + y) P(X > x) dx.                 (4)
"""

from __future__ import annotations

import numpy as np

from replnet.ages.curve import Curve, clean_edges, panel_integrals
from replnet.ages.information_age import InformationAge, horizon_of
from replnet.ages.panels import resolving_edges
from replnet.ages.prediction import Prediction
from replnet.laws.law import Array, Law


def residual(copy: InformationAge, updates: Law, y: Array) -> Array:
    """r(y) of (1), P2P eq. 24. Exact for cascades, else as good as the age is."""
    return _at_each(y, lambda one: _residual(copy, updates, one))


def on_residual_tail(copy: InformationAge, updates: Law, y: Array) -> Array:
    """P(R_V > y) of (2), 1 - G_V of P2P eq. 16. Exact for cascades."""
    return residual(copy, updates, y) / _residual(copy, updates, 0.0)


def on_duration_tail(copy: InformationAge, updates: Law, y: Array) -> Array:
    """P(V > y) of (3), 1 - F_V of P2P V-B. Exact for cascades."""
    return _at_each(y, lambda one: _update_density(copy, updates, one)) / _update_density(copy, updates, 0.0)


def mean_on_duration(copy: InformationAge, updates: Law) -> Prediction:
    """E[V] of (3), P2P eq. 19: how long a copy stays fresh once it is. Exact for cascades."""
    fresh = copy.freshness(updates)
    value = fresh.value / _update_density(copy, updates, 0.0)
    return Prediction(value, fresh.kind, "P2P eq. 19; " + fresh.source, fresh.assumes, value * copy.basis.accuracy)


def _at_each(y: Array, value: Array) -> Array:
    points = np.asarray(y, dtype=float)
    return np.array([value(one) for one in points.ravel()]).reshape(points.shape)


def _panels(copy: InformationAge, updates: Law, y: float) -> tuple[Curve, Array]:
    """The tail of X, and panels on which its product with functions of x + y is smooth."""
    horizon = horizon_of(copy, updates)
    curve = copy.tail_curve(horizon)
    shifted = resolving_edges(updates, horizon + y) - y
    return curve, clean_edges(np.concatenate([curve.edges, shifted]), horizon)


def _residual(copy: InformationAge, updates: Law, y: float) -> float:
    """(4)."""
    curve, edges = _panels(copy, updates, y)
    lost = updates.rate * float(panel_integrals(lambda x: updates.tail(x + y) * curve(x), edges).sum())
    return max(float(updates.rate * updates.excess(y)) - lost, 0.0)


def _update_density(copy: InformationAge, updates: Law, y: float) -> float:
    """E[g_U(X + y)]."""
    curve, edges = _panels(copy, updates, y)
    density = copy.density_curve(float(curve.edges[-1]))
    edges = clean_edges(np.concatenate([edges, density.edges]), float(edges[-1]))
    return updates.rate * float(panel_integrals(lambda x: updates.tail(x + y) * density(x), edges).sum())

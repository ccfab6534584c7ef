"""How long a copy stays fresh, and stale, for any information age X (P2P V-B).

With G_U the tail of the age of the updates and g_U its density,

    r(y) = P(fresh, and for y more) = E[G_U(X + y)]                            P2P eq. 24 (1)
    ON residual R_V:  P(R_V > y) = r(y) / r(0)                                 P2P eq. 16 (2)
    ON duration V:    P(V > y) = E[g_U(X + y)] / E[g_U(X)],  E[V] = p / E[g_U(X)]   P2P eq. 19 (3)
    OFF duration W:   E[W] = (1 - p) / E[g_U(X)]                                          (4)

P2P derives (2) and (3) for one hop; they hold at every level, since an ON period ends only with an update, and an OFF
period begins with it, so that both come as often, E[g_U(X)] times per unit of time. (1) by parts is

    r(y) = G_U(y) - integral over x of g_U(x + y) P(X > x) dx.                 (5)
"""

from __future__ import annotations

import numpy as np

from replnet.ages.curve import clean_edges, panel_integrals
from replnet.ages.information_age import InformationAge, Never, horizon_of
from replnet.ages.panels import resolving_edges
from replnet.ages.penalties import INDEPENDENT
from replnet.ages.prediction import Basis, Prediction, joined
from replnet.laws.law import Array, Law

SPELL = Basis("exact", "P2P eq. 16, 19", INDEPENDENT)


def residual(copy: InformationAge, updates: Law, y: float) -> float:
    """r(y) of (1), by (5). Exact for cascades, else as good as the age is."""
    if isinstance(copy, Never):
        return 0.0
    horizon = horizon_of(copy, updates)
    tail = copy.tail_curve(horizon)
    edges = _shifted_panels(updates, y, tail.edges, horizon)
    lost = updates.rate * float(panel_integrals(lambda x: updates.tail(x + y) * tail(x), edges).sum())
    return max(float(updates.rate * updates.excess(y)) - lost, 0.0)


def update_density(copy: InformationAge, updates: Law, y: float) -> float:
    """E[g_U(X + y)] of (3): how often copies become stale that were fresh for longer than y."""
    if isinstance(copy, Never):
        return 0.0
    horizon = horizon_of(copy, updates)
    tail, density = copy.tail_curve(horizon), copy.density_curve(horizon)
    edges = _shifted_panels(updates, y, np.append(tail.edges, density.edges), horizon)
    return updates.rate * float(panel_integrals(lambda x: updates.tail(x + y) * density(x), edges).sum())


def _shifted_panels(updates: Law, y: float, edges: Array, horizon: float) -> Array:
    return clean_edges(np.append(edges, resolving_edges(updates, horizon + y) - y), horizon)


def still(copy: InformationAge, updates: Law, y: float) -> Prediction:
    """r(y) with what it rests on."""
    return _resting(copy, residual(copy, updates, y))


def turns(copy: InformationAge, updates: Law, y: float = 0.0) -> Prediction:
    """How often copies become stale, after more than y of being fresh, with what that rests on."""
    return _resting(copy, update_density(copy, updates, y))


def _resting(copy: InformationAge, value: float) -> Prediction:
    return Prediction.of(value, joined([copy.basis, SPELL]))

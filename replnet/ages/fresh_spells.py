"""How long a copy stays fresh, and stale, for any information age X (P2P V-B).

With G_U the tail of the age of the updates and g_U its density,

    r(y) = P(fresh, and for y more) = E[G_U(X + y)]                            P2P eq. 24 (1)
    ON residual R_V:  P(R_V > y) = r(y) / r(0)                                 P2P eq. 16 (2)
    ON duration V:    P(V > y) = E[g_U(X + y)] / E[g_U(X)],  E[V] = p / E[g_U(X)]   P2P eq. 19 (3)
    OFF duration W:   E[W] = (1 - p) / E[g_U(X)]                                          (4)
    for copies pulled from the source: P(W > y) = k(y) / k(0),                            (6)
                      k(y) = integral of g_U(x) f_X(x + y) dx

P2P derives (2) and (3) for one hop; they hold at every level, since an ON period ends only with an update, and an OFF
period begins with it, so that both come as often, E[g_U(X)] times per unit of time. (1) by parts is

    r(y) = G_U(y) - integral over x of g_U(x + y) P(X > x) dx.                 (5)

k is the density of the time since the first missed update (Staleness eq. 38), which in a spell that one pull from the
source ends rises from 0 to W: at y it is as often as spells reach y. Copies of copies may get a fresher one in a spell
and stay stale.
"""

from __future__ import annotations

import numpy as np

from replnet.ages.curve import clean_edges, panel_integrals
from replnet.ages.information_age import InformationAge, Never, PullAge, horizon_of
from replnet.ages.panels import resolving_edges
from replnet.ages.penalties import INDEPENDENT
from replnet.ages.prediction import Basis, NoFormulaError, Prediction, joint_basis
from replnet.laws import Array, Law

SPELL = Basis("exact", "P2P eq. 16, 19", INDEPENDENT)


def residual(copy: InformationAge, updates: Law, y: float) -> float:
    """Return the chance that, at a random time, a copy of this age is fresh and stays so for more than y.

    `updates` is the law of the source's update intervals. The chance is E[G_U(X + y)], with X the age of the copy and
    G_U the tail of the time since the last update; 0 if nothing reaches the copy. It is exact for cascades, else as
    good as the law of the age is. Raises NoFormulaError if tails are too heavy to integrate.
    """
    if isinstance(copy, Never):
        return 0.0
    horizon = horizon_of(copy, updates)
    tail = copy.tail_curve(horizon)
    edges = _shifted_panels(updates, y, tail.edges, horizon)
    lost = updates.rate * float(panel_integrals(lambda x: updates.tail(x + y) * tail(x), edges).sum())
    return max(float(updates.rate * updates.excess(y)) - lost, 0.0)


def update_density(copy: InformationAge, updates: Law, y: float) -> float:
    """Return how often, per unit of time, a copy of this age becomes stale after it was fresh for longer than y.

    `updates` is the law of the source's update intervals. The rate is E[g_U(X + y)], with X the age of the copy and g_U
    the density of the time since the last update; 0 if nothing reaches the copy. Raises NoFormulaError if tails are too
    heavy to integrate.
    """
    if isinstance(copy, Never):
        return 0.0
    horizon = horizon_of(copy, updates)
    tail, density = copy.tail_curve(horizon), copy.density_curve(horizon)
    edges = _shifted_panels(updates, y, np.append(tail.edges, density.edges), horizon)
    return updates.rate * float(panel_integrals(lambda x: updates.tail(x + y) * density(x), edges).sum())


def stale_spell_rate(copy: InformationAge, updates: Law, y: float) -> Prediction:
    """Predict how many stale spells longer than y a copy that is pulled from the source has per unit of time.

    `updates` is the law of the source's update intervals. Raises NoFormulaError for any other copy, such as a copy of a
    copy.
    """
    if not isinstance(copy, PullAge):
        raise NoFormulaError("how long copies stay stale that do not come directly from a source")
    horizon, downloads = horizon_of(copy, updates), copy.downloads
    edges = np.append(resolving_edges(updates, horizon), resolving_edges(downloads, horizon + y) - y)
    inside = panel_integrals(lambda x: updates.tail(x) * downloads.tail(x + y), clean_edges(edges, horizon))
    return _predict(copy, float(updates.rate * downloads.rate * inside.sum()))


def _shifted_panels(updates: Law, y: float, edges: Array, horizon: float) -> Array:
    """Return edges of panels on [0, horizon], on each of which P(update interval > x + y) is smooth as a function of x.

    `edges` are those of other functions, and are included, so that products with these are smooth too.
    """
    return clean_edges(np.append(edges, resolving_edges(updates, horizon + y) - y), horizon)


def remaining_freshness(copy: InformationAge, updates: Law, y: float) -> Prediction:
    """Predict the share of time in which a copy of this age is fresh and stays so for more than a time y.

    `updates` is the law of the source's update intervals. Raises NoFormulaError if tails are too heavy to integrate.
    """
    return _predict(copy, residual(copy, updates, y))


def stale_rate(copy: InformationAge, updates: Law, y: float = 0.0) -> Prediction:
    """Predict how often, per unit of time, a copy of this age becomes stale after it was fresh for more than y.

    `updates` is the law of the source's update intervals; with y = 0 all stale spells are counted. It is 0 if nothing
    reaches the copy. Raises NoFormulaError if tails are too heavy to integrate.
    """
    return _predict(copy, update_density(copy, updates, y))


def _predict(copy: InformationAge, value: float) -> Prediction:
    """Return `value`, a number about the fresh and stale spells of a copy, as a prediction.

    It rests on the formula of the copy's age and on that of the spells.
    """
    return Prediction.of(value, joint_basis([copy.basis, SPELL]))

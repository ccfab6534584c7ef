"""A cluster with Poisson downloads and polls: exact, for any number of replicas.

After an instant at the source every replica lacks what happened there. With j
of the m replicas having it, the next one gets it at rate

    b_j = (m - j)(lambda + nu h_j),   h_j = 1 - C(m-1-j, k) / C(m-1, k),       (1)

h_j being the chance that k distinct random peers include one of the j. Let N(x)
count those that have it x later, and psi(j) = j/m, or 1 - C(m-j, a) / C(m, a)
when a client asks a distinct replicas and keeps the best. Then

    P(X <= x) = E[psi(N(x))],                                                  (2)
    E[exp(-mu X)] = sum over j of (psi(j) - psi(j-1)) prod_{i<j} b_i/(b_i+mu), (3)

and (3) is the freshness under exponential updates. The paper has no formula for
clusters and simulates them; this follows from its model (P2P VI-A).

N at time x is N after a Poisson(beta x) number of steps of the chain that moves
up with chance b_j / beta, beta = max b (uniformisation), so with c_n =
1 - E[psi] after n steps,

    H(x) = sum over n of c_n (beta x)^n exp(-beta x) / n!,                     (4)

positive terms only. Where the rates are so unequal that this takes too many
steps, (3) at complex mu is inverted instead (Abate and Whitt 2006, Euler).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from replnet.ages.curve import Curve, clean_edges, fit
from replnet.ages.information_age import InformationAge
from replnet.ages.panels import spread_out
from replnet.ages.prediction import Basis
from replnet.laws.law import Array

CHAIN = Basis("exact", "pure-birth chain of P2P VI-A", "Poisson downloads and polls, distinct random peers")
VANISHED = 1e-13
MOST_STEPS = 100_000  # of (4), about a second
EULER_TERMS = 15  # 1e-8 for smooth functions, rounding included


def missing_all(population: int, chosen: int, marked: Array) -> Array:
    """Chance that `chosen` distinct of a population include none of the marked, C(n-j, k) / C(n, k)."""
    drawn = np.arange(chosen)[:, None]
    return np.prod(np.maximum(population - marked - drawn, 0) / (population - drawn), axis=0)


def birth_rates(replicas: int, downloads: float, polls: float, peers: int) -> Array:
    """b_0 ... b_{m-1} of (1)."""
    have = np.arange(replicas, dtype=float)
    return (replicas - have) * (downloads + polls * (1 - missing_all(replicas - 1, peers, have)))


def stopped_means(rates: Array, lacking: Array) -> Array:
    """c_0, c_1, ... of (4), until they vanish."""
    up = np.append(rates / rates.max(), 0.0)
    state = np.zeros(len(lacking))
    state[0] = 1.0
    means = [1.0]
    while means[-1] > VANISHED:
        moved = state * up
        state -= moved
        state[1:] += moved[:-1]
        means.append(float(lacking @ state))
    return np.asarray(means)


def poisson_mixture(means: Array, expected: Array) -> Array:
    """(4) with beta x = `expected`; terms further than nine deviations from it are below 1e-16."""
    logs = np.cumsum(np.log(np.maximum(np.arange(len(means) + 1), 1), dtype=np.longdouble)).astype(float)
    mixed = np.empty(len(expected))
    for start in range(0, len(expected), 16):
        center = expected[start : start + 16, None]
        reach = int(9 * math.sqrt(center.max())) + 25
        n = np.floor(center).astype(int) + np.arange(-reach, reach + 1)
        known = (n >= 0) & (n < len(means))
        n = np.clip(n, 0, len(means) - 1)
        chance = np.exp(n * np.log(np.maximum(center, 1e-300)) - center - logs[n])
        mixed[start : start + 16] = np.sum(np.where(known, chance * means[n], 0.0), axis=1)
    return mixed


def euler_weights(terms: int) -> tuple[Array, Array]:
    """Nodes and weights with f(x) = sum weights Re F(nodes / x) / x, after Abate and Whitt."""
    k = np.arange(2 * terms + 1)
    binomial = np.array([math.comb(terms, i) for i in range(terms + 1)]) / 2.0**terms
    xi = np.ones(2 * terms + 1)
    xi[0] = 0.5
    xi[terms:] = 1 - np.concatenate([[0.0], np.cumsum(binomial[:-1])])
    nodes = terms * math.log(10) / 3 + 1j * np.pi * k
    return nodes, 10 ** (terms / 3) * np.where(k % 2, -1.0, 1.0) * xi


@final
@dataclass(frozen=True, eq=False)
class Chain(InformationAge):
    """The age of what a client gets that asks `ask` of the replicas; (2)."""

    replicas: int
    downloads: float  # rates
    polls: float
    peers: int
    ask: int = 1

    @property
    def basis(self) -> Basis:
        return CHAIN

    @cached_property
    def rates(self) -> Array:
        return birth_rates(self.replicas, self.downloads, self.polls, self.peers)

    @cached_property
    def lacking(self) -> Array:
        """1 - psi of (2)."""
        return missing_all(self.replicas, self.ask, np.arange(self.replicas + 1, dtype=float))

    @cached_property
    def reach(self) -> float:
        """Where the tail is surely below VANISHED: Chernoff's bound of the time until all have it."""
        s = self.rates.min() / 2
        return float((-math.log(VANISHED) - np.log1p(-s / self.rates).sum()) / s)

    @property
    def breaks(self) -> tuple[float, ...]:
        return ()

    @property
    def marks(self) -> tuple[float, ...]:
        return (0.3 / (self.downloads + self.polls), self.reach / 30, self.reach / 3)

    def bound(self, x: Array) -> Array:
        return np.exp(-self.downloads * np.asarray(x)) * (np.asarray(x) < self.reach)

    def tail(self, x: Array) -> Array:
        return self._curve(x)

    def tail_curve(self, horizon: float) -> Curve:
        return self._curve

    @cached_property
    def _curve(self) -> Curve:
        edges = clean_edges(np.array(spread_out(self.marks, self.reach)), self.reach)
        if self.rates.max() * self.reach > MOST_STEPS or self.replicas > 5_000:
            return fit(self.by_inversion, edges, tolerance=1e-8, beyond=0.0)
        means, fastest = stopped_means(self.rates, self.lacking), self.rates.max()
        return fit(lambda x: poisson_mixture(means, fastest * x), edges, beyond=0.0)

    def by_inversion(self, x: Array) -> Array:
        """The tail by numerical inversion of its transform, (1 - E[exp(-s X)]) / s."""
        nodes, weights = euler_weights(EULER_TERMS)
        values = np.empty(len(x))
        for i, at in enumerate(x):
            s = nodes / at
            transform = np.array([(1 - self._transform(one)) / one for one in s])
            values[i] = weights @ transform.real / at
        return np.clip(values, 0.0, 1.0)

    def _transform(self, s: complex) -> complex:
        gains: Array = -np.diff(self.lacking)
        return complex(gains @ np.cumprod(self.rates / (self.rates + s)))

    def laplace(self, rate: float) -> float:
        """(3)."""
        return self._transform(rate).real

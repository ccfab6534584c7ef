"""Clusters with Poisson polls: exact, for any number of replicas.

After an instant at the source every replica lacks what happened there. A replica that
lacks it made no download since, which is all that is known about its downloads, so it
makes one at the hazard of their age,

    a(x) = rate (1 - F_D(x)) / G(x),   G(x) = P(A_D > x),                      (1)

independently of the others. With j of the m replicas having it x later, the next one
gets it at rate

    b_j = (m - j)(a(x) + nu h_j),   h_j = 1 - C(m-1-j, k) / C(m-1, k),         (2)

h_j being the chance that k distinct random peers include one of the j. Let N(x)
count those that have it, and psi(j) = j/m, or 1 - C(m-j, a) / C(m, a) when a client
asks a distinct replicas and keeps the best. Then

    P(X <= x) = E[psi(N(x))].                                                  (3)

The paper has no formula for clusters and simulates them; this follows from its model
(P2P VI-A). With Poisson downloads a is constant, lambda, and

    E[exp(-mu X)] = sum over j of (psi(j) - psi(j-1)) prod_{i<j} b_i/(b_i+mu), (4)

the freshness under exponential updates. N at time x is N after a Poisson(beta x)
number of steps of the chain that moves up with chance b_j / beta, beta = max b
(uniformisation), so with c_n = 1 - E[psi] after n steps,

    H(x) = sum over n of c_n (beta x)^n exp(-beta x) / n!,                     (5)

positive terms only. Where the rates are so unequal that this takes too many
steps, (4) at complex mu is inverted instead (Abate and Whitt 2006, Euler). With
any other downloads the m + 1 equations of N are integrated panel by panel.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import final

import numpy as np

from replnet.ages.information_age import InformationAge
from replnet.ages.marching import march
from replnet.ages.panels import FEW, Scales
from replnet.ages.prediction import Basis, TooLongError
from replnet.laws import Array, Curve, Law, fit_curve, panel_points, resolution_error, to_powers

CHAIN = Basis("exact", "pure-birth chain of P2P VI-A", "Poisson downloads and polls, distinct random peers")
DOWNLOAD_CHAIN = Basis(
    "exact",
    "birth chain with download hazards, P2P VI-A",
    "renewal downloads, Poisson polls, distinct random peers",
)
VANISHED = 1e-13
MOST_STEPS = 100_000  # steps of (5), about a second
LARGE = 5_000  # replicas, above which (4) is inverted
EULER_TERMS = 15  # 1e-8 for smooth functions, rounding included
INTEGRATED, ROUGH = 1e-9, 1e-6  # resolution of integrated chains; the second is for recorded laws, with many jumps
FAINT = 1e-10  # tail at which integration ends
CUT = 1e-8  # tail of the age at `end`; what comes after is shorter than its square root
NARROWEST = 1e-9  # width of a panel, in mean intervals, at which it is taken even if not resolved
MOST_SLOPES = 50_000  # evaluations of the equations in a panel; ordinary ones take up to 1,500


@dataclass(frozen=True, eq=False)
class Cluster(InformationAge):
    """The abstract age of the freshest of `ask` copies, chosen at random among those of a cluster's replicas.

    Each of the `replicas` pulls from the source at intervals of law `downloads`, and from `peers` random others at
    intervals of law `polls`.
    """

    replicas: int
    downloads: Law
    polls: Law
    peers: int
    ask: int = 1

    @property
    def scales(self) -> Scales:
        scales = Scales.of(self.downloads)
        return Scales(scales.breaks, (*scales.marks[:3], 0.3 * self.polls.mean))

    def alone(self, x: Array) -> Array:
        """Return, at every x, the chance that a replica's own last download is longer ago than x."""
        return self.downloads.rate * self.downloads.excess(x)

    def bound(self, x: Array) -> Array:
        return self.alone(x) ** self.ask

    @cached_property
    def chance_missed(self) -> Array:
        """The chances that a client asks none of the j replicas that know of something new, by j from 0 to all."""
        return missing_all(self.replicas, self.ask, np.arange(self.replicas + 1, dtype=float))


def missing_all(population: int, chosen: int, marked: Array) -> Array:
    """Return the chance that `chosen` distinct random members of a population are all unmarked.

    `population` is its size. `marked` is an array of how many members may be marked; the result has a chance for each
    entry of it.
    """
    drawn = np.arange(chosen)[:, None]
    return np.prod(np.maximum(population - marked - drawn, 0) / (population - drawn), axis=0)


def birth_rates(replicas: int, downloads: float, polls: float, peers: int) -> Array:
    """Return the rates at which one more replica learns of something new, for 0 to all but one that know of it.

    The array has `replicas` entries. A replica learns of it by a download, at rate `downloads`, or by a poll, at rate
    `polls`, if one of the `peers` other replicas asked, drawn at random, knows of it.
    """
    have = np.arange(replicas, dtype=float)
    return (replicas - have) * (downloads + polls * (1 - missing_all(replicas - 1, peers, have)))


# ---- Poisson downloads


@final
class Chain(Cluster):
    """The exact age of the freshest of `ask` copies in a cluster whose downloads and polls are both Poisson.

    It is computed from a chain: the number of replicas that know of something new, which grows one by one.
    """

    basis = CHAIN

    @cached_property
    def rates(self) -> Array:
        """The rates at which one more replica learns of something new, for 0 to all but one that know of it."""
        return birth_rates(self.replicas, self.downloads.rate, self.polls.rate, self.peers)

    @cached_property
    def reach(self) -> float:
        """An age above which P(age > x) is below 1e-13, by Chernoff's bound of the time until all replicas know."""
        s = self.rates.min() / 2
        return float((-math.log(VANISHED) - np.log1p(-s / self.rates).sum()) / s)

    @property
    def scales(self) -> Scales:
        return Scales(marks=(0.3 / (self.downloads.rate + self.polls.rate), self.reach / 30, self.reach / 3))

    def tail_curve(self, horizon: float) -> Curve:
        return self._curve

    @cached_property
    def _curve(self) -> Curve:
        edges = self.scales.edges(self.reach)
        if self.rates.max() * self.reach > MOST_STEPS or self.replicas > LARGE:
            return fit_curve(self.by_inversion, edges, tolerance=1e-8, beyond=0.0)
        means, fastest = stopped_means(self.rates, self.chance_missed), self.rates.max()
        return fit_curve(lambda x: poisson_mixture(means, fastest * x), edges, beyond=0.0)

    def by_inversion(self, x: Array) -> Array:
        """Return P(X > x) at every x of an array, all above 0, by numerical inversion of (1 - E[exp(-s X)]) / s.

        X is the age, and the chances are within about 1e-8.
        """
        nodes, weights = euler_weights(EULER_TERMS)
        transforms = [[(1 - self._transform(s)) / s for s in nodes / at] for at in x]
        return np.clip(np.real(transforms) @ weights / x, 0.0, 1.0)

    def _transform(self, s: complex) -> complex:
        """Return E[exp(-s X)], X being the age, at a complex s."""
        return complex(-np.diff(self.chance_missed) @ np.cumprod(self.rates / (self.rates + s)))

    def laplace(self, rate: float) -> float:
        """Return E[exp(-rate X)], X being the age, from the rates at which replicas learn of something new."""
        return self._transform(rate).real


def stopped_means(rates: Array, chance_missed: Array) -> Array:
    """Return the chances that a client misses something new after 0, 1, ... steps of a chain, until they vanish.

    The chain is the number of replicas that know of it: it sets out from 0, has its steps at the largest of `rates`,
    and in each goes up by one with a chance in proportion to its own rate. `chance_missed` is the chance that a client
    asks none of those that know, by their number.
    """
    up = np.append(rates / rates.max(), 0.0)
    state = np.zeros(len(chance_missed))
    state[0] = 1.0
    means = [1.0]
    while means[-1] > VANISHED:
        moved = state * up
        state -= moved
        state[1:] += moved[:-1]
        means.append(float(chance_missed @ state))
    return np.asarray(means)


def poisson_mixture(means: Array, expected: Array) -> Array:
    """Return, for each number in the array `expected`, the mean of means[N] with N Poisson of that expectation.

    `means` is taken as 0 past its end. Terms further than nine deviations from the expectation are left out, below
    1e-16.
    """
    logs = np.cumsum(np.log(np.maximum(np.arange(len(means) + 1), 1), dtype=np.longdouble)).astype(float)
    mixed = np.empty(len(expected))
    for start in range(0, len(expected), 16):
        center = expected[start : start + 16, None]
        reach = int(9 * math.sqrt(center.max())) + 25
        n = np.floor(center).astype(int) + np.arange(-reach, reach + 1)
        is_given = (n >= 0) & (n < len(means))
        n = np.clip(n, 0, len(means) - 1)
        chance = np.exp(n * np.log(np.maximum(center, 1e-300)) - center - logs[n])
        mixed[start : start + 16] = np.sum(np.where(is_given, chance * means[n], 0.0), axis=1)
    return mixed


def euler_weights(terms: int) -> tuple[Array, Array]:
    """Return nodes and weights with f(x) = sum weights Re F(nodes / x) / x, F being the Laplace transform of f.

    There are 2 `terms` + 1 of each, after Abate and Whitt.
    """
    k = np.arange(2 * terms + 1)
    binomial = np.array([math.comb(terms, i) for i in range(terms + 1)]) / 2.0**terms
    xi = np.ones(2 * terms + 1)
    xi[0] = 0.5
    xi[terms:] = 1 - np.concatenate([[0.0], np.cumsum(binomial[:-1])])
    nodes = terms * math.log(10) / 3 + 1j * np.pi * k
    return nodes, 10 ** (terms / 3) * np.where(k % 2, -1.0, 1.0) * xi


# ---- Downloads of any law


@final
class DownloadChain(Cluster):
    """The age of the freshest of `ask` copies in a cluster with Poisson polls and any downloads.

    It comes from the differential equations of the number of replicas that know of something new.
    """

    basis = DOWNLOAD_CHAIN

    def tail_curve(self, horizon: float) -> Curve:
        return self._curve

    @property
    def resolution(self) -> float:
        """The error allowed in P(age > x) on a panel: 1e-9, or 1e-6 if the law of downloads has more than 64 bends."""
        return INTEGRATED if len(self.downloads.breaks) <= FEW else ROUGH

    def hazard(self, x: float) -> float:
        """Return the rate at which a replica's last download is met at x ago, going backwards, if none came since.

        It is the hazard rate, at x, of the time since a replica's last download.
        """
        return float(self.downloads.tail(x)) / max(float(self.downloads.excess(x)), 1e-300)

    @cached_property
    def _curve(self) -> Curve:
        state, tails = np.eye(1, self.replicas + 1)[0], list[Array]()
        # Before the longest download interval, where the hazard has no bound any more.
        last = float(self.downloads.isf(0.0))
        last = float(self.downloads.age.isf(CUT)) if last < math.inf else last
        narrowest = NARROWEST * self.downloads.mean

        def solve(edges: list[float], end: float) -> bool:
            nonlocal state
            width = end - edges[-1]
            values, after = self._integrate_panel(state, edges[-1], width)
            if width > narrowest and float(resolution_error(values)) > self.resolution:
                return False
            tails.append(to_powers(values))
            state = after
            return True

        def is_faint(x: float) -> bool:
            return not (state @ self.chance_missed > FAINT and self.alone(x) > FAINT)

        width = 1 / (self.replicas * (self.downloads.rate + self.polls.rate))
        edges = march(solve, [*(x for x in self.scales.breaks if x < last), last], width, is_faint)
        return Curve(edges, np.column_stack(tails), 0.0)

    def _integrate_panel(self, state: Array, start: float, width: float) -> tuple[Array, Array]:
        """Return P(age > x) at the points x of the panel from `start` to `start` + `width`, and the state at its end.

        A state has the chances that 0, 1, ... replicas know of something new; `state` is that at the panel's start.
        Raises TooLongError if the equations take minutes, and FloatingPointError if they cannot be solved.
        """
        # Not solve_ivp, whose LSODA keeps some kB of each call for ever (SciPy 1.17).
        from scipy.integrate import ODEintWarning, odeint

        polled = np.append(birth_rates(self.replicas, 0.0, self.polls.rate, self.peers), 0.0)
        alone = np.arange(self.replicas, -1, -1.0)
        inside, slopes = (start, start + width * (1 - 1e-13)), count()

        def flow(x: float, p: Array) -> Array:
            if next(slopes) > MOST_SLOPES:
                raise TooLongError("intervals so long beside others that the equations of a cluster take minutes")
            # Hazards jump at the ends of panels: what counts is the value inside.
            moved = p * (alone * self.hazard(min(max(x, inside[0]), inside[1])) + polled)
            change = -moved
            change[1:] += moved[:-1]
            return change

        stops = [start, *panel_points(start, start + width), start + width]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ODEintWarning)  # a failure raises below
            states, about = odeint(
                flow,
                state,
                stops,
                tfirst=True,
                ml=1,
                mu=0,
                rtol=self.resolution / 10,
                atol=self.resolution / 1e4,
                tcrit=stops[-1:],
                mxstep=MOST_SLOPES,
                full_output=True,
            )
        if about["message"] != "Integration successful.":
            raise FloatingPointError(about["message"])
        return (states @ self.chance_missed)[1:-1], states[-1]

"""Clusters event by event, forwards in time, and random clusters to try formulas on; shares only laws with replnet."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import numpy as np
from numba import njit

from replnet.laws import (
    Constant,
    Empirical,
    Exponential,
    Gamma,
    Hyperexponential,
    Lattice,
    Lognormal,
    Pareto,
    Uniform,
    Weibull,
)
from replnet.laws.law import Law

SETTLE = 16.0  # what came before is stale for sure: updates are exponential(rate=1)


def events(law: Law, count: int, until: float, chance: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The instants in [0, until] of `count` processes in equilibrium, and whose they are."""
    owner, now = np.arange(count), law.age.draw(chance.standard_exponential(count))
    owners, times = [], []
    while owner.size:
        owner, now = owner[now <= until], now[now <= until]
        owners.append(owner)
        times.append(now)
        now = now + law.draw(chance.standard_exponential(owner.size))
    return np.concatenate(owners), np.concatenate(times)


@njit
def walk(when, who, poll, replications, replicas, peers, ask, until, chance):
    """By replication the mean over [SETTLE, until] of exp(-age of the best of the first `ask` copies).

    Events come replication by replication; replica i of replication r is i + r * replicas.
    """
    found, e = np.empty(replications), 0
    for r in range(replications):
        left, deck = np.full(replicas, -1e300), np.arange(replicas - 1)
        best, last, total = -1e300, SETTLE, 0.0
        while e < len(when) and who[e] // replicas == r:
            now, i = when[e], who[e] % replicas
            if now > SETTLE and i < ask:
                total += math.exp(best - last) - math.exp(best - now)
                last = now
            if poll[e]:
                for n in range(peers):
                    other = n + int(chance.random() * (replicas - 1 - n))
                    deck[n], deck[other] = deck[other], deck[n]
                    left[i] = max(left[i], left[deck[n] + (deck[n] >= i)])
            else:
                left[i] = now
            if i < ask:
                best = max(best, left[i])
            e += 1
        found[r] = (total + math.exp(best - last) - math.exp(best - until)) / (until - SETTLE)
    return found


@dataclass(frozen=True)
class Cluster:
    """What a case is about; updates are exponential(rate=1)."""

    replicas: int
    downloads: Law
    polls: Law
    peers: int = 1
    ask: int = 1

    def simulated(self, seed: int, most: float, replications: int = 400) -> np.ndarray:
        """The freshness in each of independent replications, with some `most` events in all where that leaves 50."""
        chance, m = np.random.default_rng(seed), self.replicas
        rate = m * (self.downloads.rate + self.polls.rate)
        # Fewer where so many would be too short.
        replications = int(max(min(replications, most / rate / (SETTLE + 4)), 50))
        until = SETTLE + min(max(most / replications / rate - SETTLE, 4.0), 1000.0)
        downloaded, at = events(self.downloads, m * replications, until, chance)
        polled, when = events(self.polls, m * replications, until, chance)
        who, when = np.concatenate([downloaded, polled]), np.concatenate([at, when])
        order = np.lexsort([when, who // m])
        poll = np.arange(len(when)) >= len(downloaded)
        return walk(when[order], who[order], poll[order], replications, m, self.peers, self.ask, until, chance)


def random_law(choose: random.Random, rate: float) -> Law:
    """A law of one of all families at this rate, tame or not."""
    fast, often = choose.choice([4, 15, 100]) * rate, choose.choice([0.8, 0.9, 0.99])
    some = np.random.default_rng(choose.randrange(1000)).lognormal(0, 1.5, choose.choice([30, 3000]))
    values, weights = choose.choice([([1, 2], [7, 3]), ([0.1, 5], [9, 1]), ([1, 1.5, 7], [5, 3, 2])])
    mean = np.average(values, weights=weights)
    families = [
        lambda: Exponential(rate=rate),
        lambda: Constant(rate=rate),
        lambda: Uniform(low=0.5 / rate, high=1.5 / rate),
        lambda: Uniform(low=0, high=2 / rate),
        lambda: Weibull(choose.choice([0.3, 0.5, 2]), rate=rate),
        lambda: Pareto(choose.choice([1.4, 2, 3]), rate=rate),
        lambda: Gamma(choose.choice([0.1, 0.3, 3]), rate=rate),
        lambda: Lognormal(choose.choice([0.5, 1.5, 2.5]), rate=rate),
        lambda: Hyperexponential([often, 1 - often], [fast, (1 - often) / (1 / rate - often / fast)]),
        lambda: Lattice([value / mean / rate for value in values], weights),
        lambda: Empirical(some / some.mean() / rate),
    ]
    return choose.choice(families)()


def random_cluster(seed: int, least: int = 2, most: int = 40) -> Cluster:
    """Mostly of at most ten replicas, where `most` allows it, with 0.05 to 20 polls per download."""
    choose = random.Random(seed)
    replicas = choose.randint(least, max(least, 10 if choose.random() < 0.75 and least < 10 else most))
    peers = min(choose.choice([1, 1, 1, 2, choose.randint(1, 12)]), replicas - 1)
    ask = 1 if choose.random() < 0.7 else choose.randint(1, min(replicas, 4))
    downloads = 10 ** choose.uniform(-1.5, 0.7)
    polls = downloads * 0.05 * 400 ** choose.random()
    return Cluster(replicas, random_law(choose, downloads), random_law(choose, polls), peers, ask)

"""Histories of sources and replicas that are made here, visits of them, and what they had: instant by instant.

A history is drawn from its number alone. It differs from others in how the source changes, how many replicas pull how
often from it or from one another, what versions look like, and how often who is visited.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import fmean

import numpy as np
import pandas as pd

VERSIONS = ("counts", "dates", "decimals", "texts")
BEFORE = -60.0  # histories begin that long before they are visited


@dataclass
class MadeHistory:
    """When the source changed, and from when on replicas had which of its changes, counted from 1."""

    updates: list[float]
    copies: dict[str, tuple[list[float], list[int]]]
    visits: pd.DataFrame  # time, node, version

    def version(self, node: str, t: float) -> int:
        if node == "source":
            return bisect_right(self.updates, t)
        times, versions = self.copies[node]
        return versions[bisect_right(times, t) - 1]

    def truth(self, start: float, end: float) -> dict[tuple[str, str], float]:
        """By group and metric, from instant to instant at which anything happens."""
        inside = {t for t in self.updates if start < t < end}
        inside |= {t for times, _ in self.copies.values() for t in times if start < t < end}
        cuts = sorted({start, end, *inside})
        sums: dict[tuple[str, str], float] = {}

        def add(group: str, metric: str, amount: float) -> None:
            sums[group, metric] = sums.get((group, metric), 0.0) + amount / (end - start)

        for a, b in pairwise(cuts):
            there, fresh = self.version("source", a), []
            for name in self.copies:
                has = self.version(name, a)
                fresh.append(has == there)
                add(name, "freshness", (b - a) * fresh[-1])
                add(name, "missing_updates", (b - a) * (there - has))
                add(name, "staleness_age", 0.0 if fresh[-1] else (b - a) * ((a + b) / 2 - self.updates[has]))
            for ask in (2, 3):
                if ask <= len(fresh):
                    served = fmean(any(some) for some in combinations(fresh, ask))
                    add(f"clients who ask {ask}", "freshness", (b - a) * served)
        for name in self.copies:
            if sums[name, "freshness"] < 1 - 1e-12:
                sums[name, "lag"] = sums[name, "staleness_age"] / (1 - sums[name, "freshness"])
        return sums


def made_history(number: int, updates: int = 60) -> MadeHistory:
    """Return the history of this number, of about so many updates at rate 1 while it is visited."""
    rng = np.random.default_rng(number)
    span = float(updates)
    changes: list[float] = []
    while sum(t > 0 for t in changes) < updates / 4:
        changes = _instants(rng, 1.0, span, rng.choice(["even", "poisson", "heavy", "bursts"]))
    copies: dict[str, tuple[list[float], list[int]]] = {}
    for i in range(rng.integers(1, 5)):
        pulls = _instants(rng, float(rng.choice([0.2, 1.0, 5.0])), span, rng.choice(["even", "poisson"]))
        upstream = rng.choice(["source", *copies]) if rng.random() < 0.4 else "source"
        copies[f"m{i}"] = _pulled(changes, copies, str(upstream), pulls)
    history = MadeHistory(changes, copies, pd.DataFrame())
    names = _names(rng, VERSIONS[number % len(VERSIONS)], len(changes))
    rows = [(t, node, names[history.version(node, t)]) for t, node in _visits(rng, ["source", *copies], span)]
    history.visits = pd.DataFrame(rows, columns=["time", "node", "version"])
    return history


def _instants(rng: np.random.Generator, rate: float, span: float, kind: str) -> list[float]:
    count = int(3 * (span - BEFORE) * rate) + 20
    if kind == "even":
        gaps = np.full(count, 1 / rate)
    elif kind == "heavy":
        gaps = (rng.pareto(1.5, count) + 0.01) / 2 / rate
    else:
        gaps = rng.exponential(1 / rate, count)
    if kind == "bursts":
        gaps = np.where(rng.random(count) < 0.8, 0.1, 4.6) * gaps
    times = BEFORE + rng.random() / rate + np.cumsum(gaps)
    return times[times < span].tolist()


def _pulled(
    changes: list[float], copies: dict[str, tuple[list[float], list[int]]], upstream: str, pulls: list[float]
) -> tuple[list[float], list[int]]:
    times, versions = [2 * BEFORE], [0]
    for t in pulls:
        if upstream == "source":
            has = bisect_right(changes, t)
        else:
            their_times, their_versions = copies[upstream]
            has = their_versions[bisect_right(their_times, t) - 1]
        if has > versions[-1]:
            times.append(t)
            versions.append(has)
    return times, versions


def _names(rng: np.random.Generator, kind: str, count: int) -> list[object]:
    """Return what visits find of versions 0, 1, ..."""
    if kind == "counts":
        return list(range(5, count + 6))
    if kind == "dates":
        return (20_260_000 + np.cumsum(rng.integers(1, 40, count + 1))).tolist()
    if kind == "decimals":
        return np.round(np.cumsum(rng.uniform(0.01, 1, count + 1)), 3).tolist()
    salt = str(rng.random())
    return [hashlib.sha256(f"{salt} {i}".encode()).hexdigest()[:12] + "x" for i in range(count + 1)]


def _visits(rng: np.random.Generator, nodes: list[str], span: float) -> list[tuple[float, str]]:
    """Visits of all nodes in rounds, or of each at its own times, from a fifth as often as updates to ten times."""
    rates = [0.2, 1.0, 3.0, 10.0]
    if rng.random() < 0.3:
        rounds = np.sort(rng.uniform(0, span, int(span * rng.choice(rates))))
        return [(t, node) for t in rounds.tolist() for node in rng.permutation(nodes).tolist()]
    own = {node: rng.uniform(0, span, max(3, int(span * rng.choice(rates)))) for node in nodes}
    return sorted((t, node) for node, times in own.items() for t in times.tolist())

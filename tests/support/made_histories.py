"""Histories of sources and replicas that are made here, visits of them, and what they had: instant by instant.

A history is drawn from its number alone. It differs from others in how the source changes, how many replicas pull how
often from it or from one another, what versions look like, and how often who is visited.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
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

    def version(self, node: str, t: float) -> int:
        """Return how many changes of the source a node has at an instant."""
        if node == "source":
            return bisect_right(self.updates, t)
        times, versions = self.copies[node]
        return versions[bisect_right(times, t) - 1]

    def visited(self, visits: Iterable[tuple[float, str]], names: Sequence[object] | None = None) -> pd.DataFrame:
        """Return what these visits of nodes find: time, node, and version, by its name if there are `names`."""
        rows = [(t, node, self.version(node, t)) for t, node in visits]
        if names is not None:
            rows = [(t, node, names[version]) for t, node, version in rows]
        return pd.DataFrame(rows, columns=["time", "node", "version"])

    def truth(self, start: float, end: float) -> dict[tuple[str, str], float]:
        """Return every metric by group and name, from instant to instant at which anything happens."""
        happens = [self.updates, *(times for times, _ in self.copies.values())]
        cuts = sorted({start, end, *(t for times in happens for t in times if start < t < end)})
        sums: dict[tuple[str, str], float] = defaultdict(float)
        for a, b in pairwise(cuts):
            length, newest, fresh = (b - a) / (end - start), self.version("source", a), []
            for name in self.copies:
                version = self.version(name, a)
                fresh.append(version == newest)
                sums[name, "freshness"] += length * fresh[-1]
                sums[name, "missing_updates"] += length * (newest - version)
                sums[name, "staleness_age"] += 0.0 if fresh[-1] else length * ((a + b) / 2 - self.updates[version])
            for ask in (2, 3):
                if ask <= len(fresh):
                    served = fmean(any(answers) for answers in combinations(fresh, ask))
                    sums[f"clients who ask {ask}", "freshness"] += length * served
        for name in self.copies:
            for level in (0.5, 0.95):
                sums[name, f"staleness_quantile({level})"] = self.quantile(name, level, cuts)
            if sums[name, "freshness"] < 1 - 1e-12:
                sums[name, "lag"] = sums[name, "staleness_age"] / (1 - sums[name, "freshness"])
        return sums

    def quantile(self, name: str, level: float, cuts: Sequence[float]) -> float:
        """Return what the staleness age does not exceed for a share of time, if nothing happens between the cuts."""
        a, b = np.array(cuts[:-1]), np.array(cuts[1:])
        first = np.array([([*self.updates, np.inf])[self.version(name, t)] for t in cuts[:-1]])
        low, high = np.maximum(a - first, 0.0), np.maximum(b - first, 0.0)  # nothing is missed up to `first`

        def share_below(x: float) -> float:
            return float((b - a - np.clip(high - np.maximum(low, x), 0.0, None)).sum()) / (cuts[-1] - cuts[0])

        least, most = 0.0, float(high.max())
        if share_below(0.0) >= level:
            return 0.0
        for _ in range(80):
            middle = (least + most) / 2
            least, most = (least, middle) if share_below(middle) >= level else (middle, most)
        return most


def made_history(number: int, updates: int = 60) -> tuple[MadeHistory, pd.DataFrame]:
    """Return the history of this number, of about so many updates at rate 1 while it is visited, and the visits."""
    rng = np.random.default_rng(number)
    span = float(updates)
    changes: list[float] = []
    while sum(t > 0 for t in changes) < updates / 4:
        changes = _instants(rng, 1.0, span, rng.choice(["even", "poisson", "heavy", "bursts"]))
    history = MadeHistory(changes, {})
    for i in range(rng.integers(1, 5)):
        pulls = _instants(rng, float(rng.choice([0.2, 1.0, 5.0])), span, rng.choice(["even", "poisson"]))
        upstream = rng.choice(["source", *history.copies]) if rng.random() < 0.4 else "source"
        history.copies[f"m{i}"] = pulled(history, str(upstream), pulls)
    names = _names(rng, VERSIONS[number % len(VERSIONS)], len(changes))
    return history, history.visited(_visits(rng, ["source", *history.copies], span), names)


def pulled(history: MadeHistory, upstream: str, pulls: Iterable[float]) -> tuple[list[float], list[int]]:
    """Return when a replica that pulls so got which versions; it begins with none, long before."""
    times, versions = [2 * BEFORE], [0]
    for t in pulls:
        if (version := history.version(upstream, t)) > versions[-1]:
            times.append(t)
            versions.append(version)
    return times, versions


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

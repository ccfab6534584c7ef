"""What copies and answers cost while they are behind, from the definitions (Staleness II-C; Sync 2.1).

A copy that left its source at S and is held over [a, b) misses the updates u in (S, t] at t; f is the first of them.
A stretch costs the integral of a cost over [a, b); an answer costs what that is at its instant.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import numpy as np

Floats = np.ndarray
# Weights by how they are written: w, and its integral from 0.
WEIGHTS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "1": (np.ones_like, lambda x: x),
    "x": (lambda x: x, lambda x: x**2 / 2),
    "x^2": (lambda x: x**2, lambda x: x**3 / 3),
    "1/(1+x)": (lambda x: 1 / (1 + x), np.log1p),
}
SHORT = {
    "freshness": "freshness",
    "staleness": "source_penalty(1)",
    "staleness_age": "source_penalty(x)",
    "lag": "source_penalty(x)",
    "missing_updates": "update_penalty(1)",
}


class Stretches:
    """Rows of (a, b, S), or of (t, S) for answers, of one source with these updates."""

    def __init__(self, rows: Floats, updates: Floats) -> None:
        self.answers = rows.shape[1] == 2
        self.a, self.b, self.left = rows[:, 0], rows[:, -2], rows[:, -1]
        self.updates = updates
        self.first = np.searchsorted(updates, self.left, side="right")
        self.end = np.searchsorted(updates, self.b, side="right" if self.answers else "left")
        self.f = np.append(updates, math.inf)[self.first]
        # A copy from before all: the warm-up is long enough that hardly any is left, and they do cost something.
        self.whole = float(len(rows) if self.answers else (self.b - self.a).sum())

    def at(self, now: Floats) -> Floats:
        """When what is held at these instants left its source; NaN where nothing is."""
        if not self.a.size:
            return np.full(now.size, math.nan)
        place = np.searchsorted(self.a, now, side="right") - 1
        return np.where((place >= 0) & (now < self.b[place]), self.left[place], math.nan)

    def source(self, weight: str) -> float:
        """Of w(t - f) while stale."""
        w, integral = WEIGHTS[weight]
        stale = self.f <= self.b
        f, a, b = self.f[stale], self.a[stale], self.b[stale]
        return float(w(b - f).sum() if self.answers else (integral(b - f) - integral(np.maximum(a, f) - f)).sum())

    def every(self, weight: str) -> float:
        """Of w(t - u), summed over the updates u that are missed at t."""
        w, integral = WEIGHTS[weight]
        number = np.maximum(self.end - self.first, 0)
        row = np.repeat(np.arange(number.size), number)
        u = self.updates[np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number) + self.first[row]]
        if self.answers:
            return float(w(self.b[row] - u).sum())
        return float((integral(self.b[row] - u) - integral(np.maximum(self.a[row] - u, 0.0))).sum())

    def within(self, lag: float) -> float:
        """Of 1 while fresh or stale by less than `lag`."""
        if self.answers:
            return float((self.b - self.f < lag).sum()) if lag else float((self.f > self.b).sum())
        return float((np.clip(self.f + lag, self.a, self.b) - self.a).sum())


def shares(metric: str, of: Stretches) -> tuple[float, float]:
    """The amount of a metric, and the whole that it is a share of."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", SHORT.get(metric, metric))
    assert found is not None
    name, argument = found[1], found[2]
    whole = of.source("1") if metric == "lag" else of.whole
    match name:
        case "freshness":
            return of.within(0.0), whole
        case "currency":
            return of.within(float(argument)), whole
        case "source_penalty":
            return of.source(argument), whole
        case "update_penalty":
            return of.every(argument), whole
    raise ValueError(f"{metric} is not simulated")

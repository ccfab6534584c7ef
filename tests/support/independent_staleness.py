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
    "log(1+x)": (np.log1p, lambda x: (1 + x) * np.log1p(x) - x),
    "threshold(0.3)": (lambda x: (x >= 0.3).astype(float), lambda x: np.maximum(x - 0.3, 0.0)),
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
        row, which = self._missed()
        u = self.updates[which]
        if self.answers:
            return float(w(self.b[row] - u).sum())
        return float((integral(self.b[row] - u) - integral(np.maximum(self.a[row] - u, 0.0))).sum())

    def change_age(self) -> float:
        """Of t - u, with u the last of the updates that are missed at t."""
        row, which = self._missed()
        u, following = self.updates[which], np.append(self.updates, math.inf)[which + 1]
        if self.answers:
            return float((self.b[row] - u)[which + 1 == self.end[row]].sum())
        a, b = (np.clip(t[row], u, following) - u for t in (self.a, self.b))
        return float((b**2 - a**2).sum() / 2)

    def information_age(self) -> float:
        """Of t - S."""
        if self.answers:
            return float((self.b - self.left).sum())
        return float(((self.b - self.left) ** 2 - (self.a - self.left) ** 2).sum() / 2)

    def _missed(self) -> tuple[Floats, Floats]:
        """Every update that a row misses at its end: the row, and the place of the update."""
        number = np.maximum(self.end - self.first, 0)
        row = np.repeat(np.arange(number.size), number)
        return row, np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number) + self.first[row]

    def within(self, lag: float) -> float:
        """Of 1 while fresh or stale by less than `lag`."""
        if self.answers:
            return float((self.b - self.f < lag).sum()) if lag else float((self.f > self.b).sum())
        return float((np.clip(self.f + lag, self.a, self.b) - self.a).sum())

    def older(self, age: float) -> float:
        """Of 1 where the data left its source longer ago."""
        if self.answers:
            return float((self.b - self.left > age).sum())
        return float((self.b - np.clip(self.left + age, self.a, self.b)).sum())

    def spells(self) -> Floats:
        """From when to when copies were fresh, and whether an update ended it, in rows."""
        found: list[list[float]] = []
        for a, b, f in zip(self.a.tolist(), self.b.tolist(), self.f.tolist(), strict=True):
            if f <= a:
                continue
            if found and found[-1][1] == a and not found[-1][2]:
                found[-1][1:] = [min(b, f), float(f < b)]
            else:
                found.append([a, min(b, f), float(f < b)])
        return np.array(found).reshape(-1, 3)

    def stale_spells(self) -> Floats:
        """From when to when copies were stale, and whether a fresh one ended it, in rows."""
        found: list[list[float]] = []
        for a, b, f in zip(self.a.tolist(), self.b.tolist(), self.f.tolist(), strict=True):
            if found and f >= a:
                found[-1][2] = 1.0
            if found and f < a and not found[-1][2]:
                found[-1][1] = b
            elif f < b:
                found.append([max(a, f), b, 0.0])
        return np.array(found).reshape(-1, 3)

    def spell_share(self, name: str, lasted: float) -> tuple[float, float]:
        """Of spells that ended, or of fresh time, later than `lasted`: what had lasted for so long."""
        begin, end, over = (self.stale_spells() if name.startswith("stale") else self.spells()).T
        ended = (over > 0) & (end >= lasted)
        if name == "fresh_residual":
            whole = np.maximum(end - np.maximum(begin, lasted), 0)
            return float(np.maximum(end - begin - lasted, 0).sum()), float(whole.sum())
        return float((ended & (end - begin > lasted)).sum()), float(ended.sum())


def at_time(metric: str, of: Stretches, time: float) -> tuple[float, float]:
    """Of the copy that there is then."""
    there = (of.a <= time) & (time < of.b)
    if metric == "availability":
        return float(there.sum()), 1.0
    return shares(metric, Stretches(np.stack([np.full(int(there.sum()), time), of.left[there]], axis=1), of.updates))


LIMITS = {"1": 1.0, "1/(1+x)": 0.0, "threshold(0.3)": 1.0}  # of weights that have one


def without_copy(metric: str) -> tuple[float, float]:
    """What there being no copy at all costs, and whether that counts: time since then and ages have no mean."""
    found = re.fullmatch(r"(\w+)(?:\((.*)\))?", SHORT.get(metric, metric))
    assert found is not None
    if found[1] in ("freshness", "currency"):
        return 0.0, 1.0
    if found[1] in ("older", "availability"):
        return 1.0, 1.0
    if found[1] == "source_penalty" and found[2] in LIMITS:
        return LIMITS[found[2]], 1.0
    return 0.0, 0.0


def shares(metric: str, of: Stretches) -> tuple[float, float]:
    """The amount of a metric, and the whole that it is a share of."""
    always, at, time = metric.partition(" at ")
    if at:
        return (0.0, 0.0) if of.answers else at_time(always, of, float(time))
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
        case "older":
            return of.older(float(argument)), whole
        case "change_age":
            return of.change_age(), whole
        case "information_age":
            return of.information_age(), whole
        case "fresh_residual" if of.answers:
            soon = of.b + float(argument)  # of what is asked so late that nobody knows nothing is said
            fresh = (of.f > of.b) & (soon < max(of.b.max(initial=0.0), of.updates.max(initial=0.0)))
            return float((fresh & (of.f > soon)).sum()), float(fresh.sum())
        case "fresh_spell" | "stale_spell" | "fresh_spell_beyond" | "stale_spell_beyond" | "fresh_residual":
            if of.answers:
                return 0.0, 0.0
            if argument is not None:
                return of.spell_share(name, float(argument))
            fresh = of.within(0.0)
            return fresh if name == "fresh_spell" else whole - fresh, of.spell_share("fresh_spell", 0.0)[1]
    raise ValueError(f"{metric} is not simulated")

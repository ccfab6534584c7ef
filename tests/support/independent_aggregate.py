"""Copies of many sources within a budget, simulated from the papers' definitions (Sync 4, App. B; Crawl; Staleness VI).

Orders of M sources at rates f_i, B together, as one sequence of slots 1 / B apart where sources take turns:

    fixed           round and round in one order; where rates differ, every source at constant intervals of its own
    random          every round in a new order; where rates differ, every source at a random point of each 1 / f_i
    purely random   source i in any slot with probability f_i / B
    carousel        turn n of source i in slots floor((n - 1) B / f_i) + 1 ... ceil(n B / f_i), of those open whichever
                    closes first (Tijdeman's chairman assignment)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from independent_processes import Floats, instants
from independent_staleness import Stretches

import replnet as rn


class Aggregate:
    """When sources change, and when each replica downloads each of them, over [-warm, length)."""

    def __init__(self, data: dict[str, Any], length: float, warm: float, rng: np.random.Generator) -> None:
        self.data, self.length, self.start, self.rng = data, length, -warm, rng
        updates = data.get("updates", "exponential(rate=1)")
        lists = [data[name] for name in ("rates", "weights", "allocate", "updates") if isinstance(data.get(name), list)]
        self.count = data.get("sources") or len(lists[0])
        shapes = updates if isinstance(updates, list) else [updates] * self.count
        shapes = shapes * self.count if len(shapes) == 1 else shapes
        self.rates = data.get("rates") or [rn.law(shape).rate for shape in shapes]
        self.weights = np.array(data.get("weights") or [1.0] * self.count, dtype=float)
        self.replicas, self.ask = data.get("replicas", 1), data.get("ask", 1)
        self.downloads = self._allocated(data["allocate"])
        self.updates = [self._stretched(shape, rate) for shape, rate in zip(shapes, self.rates, strict=True)]
        self.refreshes = self._refreshes()  # by replica and source

    def _allocated(self, how: Any) -> list[float]:
        if isinstance(how, list):
            return how
        share = {"uniform": np.ones(self.count), "proportional": np.array(self.rates), "weights": self.weights}[how]
        return list(self.data["budget"] * share / share.sum())

    def _stretched(self, shape: str, rate: float) -> Floats:
        if not rate:
            return np.empty(0)
        unit = 1 / rate / rn.law(shape).mean
        return unit * instants(shape, self.start / unit, self.length / unit, self.rng)

    def _refreshes(self) -> list[list[Floats]]:
        order, rates = self.data.get("order", "independent"), self.downloads
        if order != "independent":
            return [[np.array(times) for times in self._ordered(order, rates)]]
        law = self.data.get("downloads", "constant(rate=1)")
        if self.data.get("share") == "independently":
            return [[self._stretched(law, f / self.replicas) for f in rates] for _ in range(self.replicas)]
        together = [(self._stretched(law, f), int(self.rng.integers(self.replicas))) for f in rates]
        return [
            [times[(i + at) % self.replicas :: self.replicas] for times, at in together] for i in range(self.replicas)
        ]

    def _ordered(self, order: str, rates: list[float]) -> list[Iterable[float]]:
        alike = max(rates) - min(rates) < 1e-12
        if not alike and order == "fixed":
            return [self._stretched("constant(rate=1)", f) for f in rates]
        if not alike and order == "random":
            return [self._scattered(f) for f in rates]
        budget, found = sum(rates), [[] for _ in rates]
        slots, now = self._slots(order, rates), self.start + self.rng.random() / budget
        while now < self.length:
            found[next(slots)].append(now)
            now += 1 / budget
        return found

    def _scattered(self, rate: float) -> Floats:
        if not rate:
            return np.empty(0)
        n = int((self.length - self.start) * rate) + 3
        times = self.start + (np.arange(-1, n - 1) + self.rng.random() + self.rng.random(n)) / rate
        return times[times < self.length]

    def _slots(self, order: str, rates: list[float]) -> Iterator[int]:
        m, rng = self.count, self.rng
        if order == "purely random":
            while True:
                yield int(rng.choice(m, p=np.array(rates) / sum(rates)))
        if order == "carousel":
            slots = _carousel([Fraction(f).limit_denominator(10**6) for f in rates])
            for _ in range(int(rng.integers(4000))):
                next(slots)
            yield from slots
        row = list(range(m))
        for _ in range(int(rng.integers(m))):
            row.append(row.pop(0))
        first = int(rng.integers(m)) if order == "random" else 0
        while True:
            yield from (row if order == "fixed" else rng.permutation(m).tolist()[first:])
            first = 0


def together(copies: list[Stretches], enough: int) -> float:
    """How long so many of them were fresh at the same time."""
    turns = [(float(a), 1) for held in copies for a, f in zip(held.a, held.f, strict=True) if f > a]
    turns += [
        (float(min(f, b)), -1) for held in copies for a, b, f in zip(held.a, held.b, held.f, strict=True) if f > a
    ]
    total = last = number = 0.0
    for when, step in sorted(turns):
        total += (when - last) * (number >= enough)
        last, number = when, number + step
    return total


def _carousel(rates: list[Fraction]) -> Iterator[int]:
    whole, had, slot = sum(rates), [0] * len(rates), 0
    while True:
        slot += 1
        # Turn had + 1 is open from the slot after had / p on, and closes at (had + 1) / p.
        open_now = [i for i, f in enumerate(rates) if f and had[i] * whole / f < slot]
        at = min(open_now, key=lambda i: math.ceil((had[i] + 1) * whole / rates[i]))
        had[at] += 1
        yield at

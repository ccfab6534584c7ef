"""How values that are 0 or more spread: mean and largest exact, quantiles within one percent.

Values fall into buckets whose edges grow by a constant factor, so a spread of
any number of values is small, and two of them add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final

PER_E = 50.0  # buckets per factor e: each is 2 % wide, and its middle within 1 % of all in it


@final
@dataclass
class Spread:
    count: int = 0
    total: float = 0.0
    largest: float = 0.0
    _buckets: dict[int, int] = field(default_factory=dict)

    def add(self, value: float) -> None:
        self.count += 1
        if value <= 0.0:
            return  # clocks of two machines may disagree about what came first
        self.total += value
        if value > self.largest:
            self.largest = value
        bucket = math.floor(math.log(value) * PER_E)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    def merge(self, other: Spread) -> None:
        self.count += other.count
        self.total += other.total
        self.largest = max(self.largest, other.largest)
        for bucket, n in other._buckets.items():
            self._buckets[bucket] = self._buckets.get(bucket, 0) + n

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def quantile(self, p: float) -> float:
        """Not below a share p of the values."""
        rank = p * self.count - (self.count - sum(self._buckets.values()))
        if rank <= 0:
            return 0.0
        for bucket in sorted(self._buckets):
            rank -= self._buckets[bucket]
            if rank <= 0:
                return min(math.exp((bucket + 0.5) / PER_E), self.largest)
        return self.largest


def merged(spreads: Iterable[Spread]) -> Spread:
    whole = Spread()
    for spread in spreads:
        whole.merge(spread)
    return whole

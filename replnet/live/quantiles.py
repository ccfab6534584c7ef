"""The spread of values that are 0 or more: mean and largest exact, quantiles within one percent.

Values fall into buckets whose edges grow by a constant factor, so a spread of
any number of values is small, and two of them add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import final

import numpy as np

BATCH = 1024  # values that are collected before they are counted
BUCKETS_PER_E = 50.0  # per factor e: a bucket is 2 % wide, and its middle within 1 % of all values in it


@final
class Spread:
    """The number, mean, largest and quantiles of values that were added one by one.

    The sum takes values below 0 as 0; quantiles are right within one percent.
    """

    def __init__(self) -> None:
        self._count, self._total, self._largest, self._buckets = 0, 0.0, 0.0, dict[int, int]()
        self._new: list[float] = []

    def add(self, value: float) -> None:
        """Add a value; one below 0 counts as 0."""
        self._new.append(value)
        if len(self._new) >= BATCH:
            self._settle()

    def _settle(self) -> None:
        """Count the values that were added since the last call in their buckets, and forget them."""
        new = np.array(self._new)
        self._count += new.size
        self._new.clear()
        above = new[new > 0.0]  # clocks of two machines may disagree about what came first
        self._total += float(above.sum())
        self._largest = max(self._largest, float(above.max(initial=0.0)))
        buckets, numbers = np.unique(np.floor(np.log(above) * BUCKETS_PER_E).astype(np.int64), return_counts=True)
        self._add(dict(zip(buckets.tolist(), numbers.tolist(), strict=True)))

    def _add(self, buckets: dict[int, int]) -> None:
        """Add numbers of values to the counts of the buckets; `buckets` has them by the number of the bucket."""
        for bucket, n in buckets.items():
            self._buckets[bucket] = self._buckets.get(bucket, 0) + n

    def merge(self, other: Spread) -> None:
        """Add the values of another spread, which keeps them."""
        self._settle()
        other._settle()
        self._count += other._count
        self._total += other._total
        self._largest = max(self._largest, other._largest)
        self._add(other._buckets)

    @property
    def count(self) -> int:
        """The number of values."""
        return self._count + len(self._new)

    @property
    def largest(self) -> float:
        """The largest value, 0 without any."""
        self._settle()
        return self._largest

    @property
    def mean(self) -> float:
        """The mean of the values, 0 without any."""
        self._settle()
        return self._total / self._count if self._count else 0.0

    def quantile(self, p: float) -> float:
        """Return the value that a share `p`, from 0 to 1, of the values do not exceed, within 1 %; 0 without any."""
        self._settle()
        rank = p * self._count - (self._count - sum(self._buckets.values()))
        if rank <= 0:
            return 0.0
        for bucket in sorted(self._buckets):
            rank -= self._buckets[bucket]
            if rank <= 0:
                return min(math.exp((bucket + 0.5) / BUCKETS_PER_E), self._largest)
        return self._largest


def merge_spreads(spreads: Iterable[Spread]) -> Spread:
    """Return a new spread of the values in all of these spreads, which keep them."""
    whole = Spread()
    for spread in spreads:
        whole.merge(spread)
    return whole

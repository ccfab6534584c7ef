"""Lines at nodes whose bandwidth is limited (beyond the papers, which count messages and not their waiting).

A node that sends B messages per unit of time is asked for batches of n at rates r. Its
load is rho = sum r n / B. With Poisson arrivals the line is that of M/G/1, of which

    E[wait] = sum r (n / B)^2 / (2 (1 - rho)),    rho < 1                    (1)

(Pollaczek and Khinchine), which is what a query finds, as Poisson arrivals see averages
over time, and messages leave in the order of arrival, those of replicas among them.
At rho > 1 the line is never empty, so a share 1 - 1 / rho is turned away.

A line of K places overflows with a chance of about exp(-theta K) where theta, the largest
decay of the line, solves sum r (exp(theta n) - 1) = B theta.              (2)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from replnet.theory.prediction import Basis, Prediction

POLLACZEK_KHINCHINE = Basis("exact", "Pollaczek and Khinchine", "Poisson arrivals, a line that does not overflow")
COUNTING = Basis("exact", "counting messages", "a line that does not overflow, or is never empty")
NEVER = 1e-6  # chance of an overflow that is neglected
BISECTIONS = 60


@final
@dataclass(frozen=True, slots=True)
class Line:
    """Batches (rate, messages) that a node of this bandwidth is asked for."""

    bandwidth: float
    batches: Sequence[tuple[float, float]]

    @property
    def load(self) -> float:
        return sum(rate * n for rate, n in self.batches) / self.bandwidth

    @property
    def wait(self) -> Prediction:
        """(1)."""
        assert self.load < 1
        work = sum(rate * (n / self.bandwidth) ** 2 for rate, n in self.batches)
        return Prediction.of(work / (2 * (1 - self.load)), POLLACZEK_KHINCHINE)

    def overflows(self, places: int) -> bool:
        """Whether it may do so, going by (2)."""
        return self.load >= 1 or self._decay * places < -math.log(NEVER)

    @property
    def _decay(self) -> float:
        """theta of (2), by bisection; what is beyond 1 does not matter."""
        low, high = 0.0, 1.0
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            if self.batches and self._excess(middle) > 0:
                high = middle
            else:
                low = middle
        return low

    def _excess(self, theta: float) -> float:
        growth = (rate * math.expm1(min(theta * n, 700.0)) for rate, n in self.batches if rate)
        return sum(growth) - self.bandwidth * theta

    @property
    def rejected(self) -> Prediction:
        """Beyond what can be sent."""
        return Prediction.of(max(1 - 1 / self.load, 0.0) if self.load else 0.0, COUNTING)

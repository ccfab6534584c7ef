"""Constant updates under constant downloads, by the phase at which they meet (Staleness V-C).

With periods u and d the age of the updates at the downloads goes round the circle of
length u in steps of d. If d / u = p / q in lowest terms it visits q places for good, at
even distances u / q, and where they lie is the phase phi in (0, u / q). A copy downloaded
at age r is stale for (d - (u - r))+ until the next download, so

    staleness at phi    (1 / q d) sum over j < q of (d - u + phi + j u / q)+            (1)
    highest - lowest    min(d, u) / (q d)                                               (2)

and the mean over phi is that of independent ages, eq. 36. For irrational d / u places are
everywhere alike (eq. 65), which is (1) as q grows. The paper says when there is a lock;
(1) and (2), how much it matters, are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from replnet.laws.law import span_ratio
from replnet.text.errors import positive


@final
@dataclass(frozen=True, slots=True)
class Phases:
    """Staleness over phases."""

    lowest: float
    mean: float
    highest: float


def over_phases(updates: float, downloads: float) -> Phases:
    """(1) at its lowest and highest, and their mean, from the two periods."""
    u, d = positive("updates", updates), positive("downloads", downloads)
    # Over all phases, the part of (0, d) after an update that is equally likely to be anywhere in (0, u).
    mean = d / (2 * u) if d < u else 1 - u / (2 * d)
    together = span_ratio(d, u)
    if together is None:
        return Phases(mean, mean, mean)
    q = together.denominator
    lowest = sum(max(d - u + j * u / q, 0.0) for j in range(q)) / (q * d)
    return Phases(lowest, mean, lowest + min(d, u) / (q * d))

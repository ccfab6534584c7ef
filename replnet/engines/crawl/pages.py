"""A crawler at work: pages really change, copies are really refreshed, fresh time is added up.

Pages do not act on one another, so each is followed by itself from time zero, at which
both its processes are in equilibrium: the copy is fresh if its last refresh came after
the page's last change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt

from replnet.engines.crawl.kernels import fresh_time
from replnet.engines.crawl.refreshes import Draws, Floats, Renewing, Round, chunks, numbers, renewals
from replnet.laws.base import Law
from replnet.laws.check import FieldError, positive
from replnet.laws.streams import PURPOSES, Words, seed_words

__all__ = ["Crawl", "Draws", "Renewing", "Round", "crawl"]

Refreshes = Renewing | Round | Draws


@final
@dataclass(frozen=True, slots=True, eq=False)
class Crawl:
    """What the replications yielded."""

    fresh: Floats  # weighted freshness, an entry per replication
    events: int  # changes and refreshes


def crawl(
    changes: Law,
    rates: npt.ArrayLike,
    utilities: npt.ArrayLike,
    refreshes: Refreshes,
    *,
    horizon: float,
    seed: int,
    replications: int,
) -> Crawl:
    """Page i changes at intervals of `changes`, stretched to rates[i], and counts utilities[i]."""
    worth = numbers("utilities", utilities)
    moving = numbers("rates", rates, worth.size)
    if not worth.any():
        raise FieldError("utilities", "all are 0", "at least one page that is worth something")
    refreshes.check(worth.size)
    horizon = positive("horizon", horizon)
    if replications < 1:
        raise FieldError("replications", f"{replications} is not above 0", "1 or more")
    yielded, events = np.empty(replications), 0
    for replication in range(replications):
        fresh, more = _replication(changes, moving, refreshes, horizon, seed_words(seed, replication))
        yielded[replication] = worth @ fresh / (worth.sum() * horizon)
        events += more
    return Crawl(yielded, events)


def _replication(changes: Law, rates: Floats, refreshes: Refreshes, horizon: float, run: Words) -> tuple[Floats, int]:
    """The fresh time of every page, and the number of events."""
    refreshed = refreshes.listed(run, horizon, rates.size)
    fresh, events = np.empty(rates.size), refreshed.instants.size
    for pages in chunks(rates, horizon):
        updates = renewals(changes, rates[pages], run, pages, PURPOSES["updates"], horizon)
        copies, of_chunk = refreshed.of(pages), np.empty(pages.size)
        fresh_time(horizon, updates.rows, updates.age, copies.begin, copies.instants, copies.age, of_chunk)
        fresh[pages] = of_chunk
        events += int((updates.rows < horizon).sum())
    return fresh, events

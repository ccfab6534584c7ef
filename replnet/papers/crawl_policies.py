"""What the optimal crawl is compared with, and what an order of refreshes is worth (Crawl, Fig. 1).

Every policy is a rate per page for a given budget. The paper derandomises its rates: the
pages go round in a fixed order in which each comes at its rate, but not at fixed intervals.
With x the intervals of a page in such an order, T in all,

    its freshness = sum (1 - exp(-d x)) / d / T,                                   (1)

which is Crawl eq. 6 if all x are equal and less otherwise, by Jensen. The paper
prints eq. 6 only.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from replnet.laws.families import Exponential
from replnet.papers.crawl_fixed import optimal_fixed
from replnet.papers.crawling import Floats, Pages, optimal_random
from replnet.papers.many_copies import Changes, Intervals
from replnet.text.errors import FieldError, positive

Policy = Callable[[Pages, float], Floats]


def uniform(pages: Pages, budget: float) -> Floats:
    """All pages alike."""
    return np.full(pages.size, positive("budget", budget) / pages.size)


def proportional_to_changes(pages: Pages, budget: float) -> Floats:
    """The proportional policy of Sync; all alike where no page changes."""
    return _in_proportion(pages.changes, positive("budget", budget))


def proportional_to_utility(pages: Pages, budget: float) -> Floats:
    return _in_proportion(pages.utilities, positive("budget", budget))


def change_directed(pages: Pages, budget: float) -> Floats:
    """What would be best at fixed intervals if all pages were worth the same (Sync 5.3)."""
    return optimal_fixed(Pages(np.ones(pages.size), pages.changes), budget).rates


POLICIES: dict[str, Policy] = {
    "new algorithm": lambda pages, budget: optimal_random(pages, budget).rates,
    "optimum": lambda pages, budget: optimal_fixed(pages, budget).rates,
    "change rate directed": change_directed,
    "utility proportional": proportional_to_utility,
    "change rate proportional": proportional_to_changes,
    "uniform": uniform,
}


def order_freshness(pages: Pages, order: npt.ArrayLike, slot: float) -> float:
    """Weighted freshness if the pages in `order` are refreshed one per `slot`, round and round, (1). Exact."""
    copies = Intervals.ordered(pages.size, _order(pages, order), positive("slot", slot))
    poisson = Changes([(Exponential(rate=1.0), np.arange(pages.size))], pages.changes)
    return float(pages.utilities @ copies.freshness(poisson)) / float(pages.utilities.sum())


def _order(pages: Pages, order: npt.ArrayLike) -> npt.NDArray[np.int64]:
    turns = np.asarray(order)
    if turns.ndim != 1 or turns.dtype.kind not in "iu" or turns.size == 0:
        raise FieldError("order", "not a plain list of pages", "numbers of pages, such as [0, 1, 0, 2]")
    if turns.min() < 0 or turns.max() >= pages.size:
        raise FieldError("order", f"names pages {turns.min()} to {turns.max()}", f"pages from 0 to {pages.size - 1}")
    return turns.astype(np.int64, copy=False)


def _in_proportion(weights: Floats, budget: float) -> Floats:
    total = float(weights.sum())
    return weights * (budget / total) if total > 0 else np.full(weights.size, budget / weights.size)

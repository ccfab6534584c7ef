"""The best refresh rates at fixed intervals, solved numerically (Crawl eq. 6, Sync 5.3).

With r = d / f, the expected number of changes between refreshes at rate f,

    d/df of u F = (u / d) (1 - (1 + r) exp(-r)) = m   for every page with f > 0,    (1)

and f = 0 where u / d <= m. So f follows from the multiplier m by inverting a
function of r, and m from the budget, in which the sum of the f decreases.

Close to m = u / d the rate vanishes as slowly as 1 / log(1 / (1 - m d / u)), so m itself cannot
say small rates: a budget of a thousandth of d asks for m within e^-1000 of u / d. With M the
largest u / d and h = M d / u - 1, write m = M / (1 + exp(t)). Then

    1 - m d / u = (exp(t) - h) / (1 + exp(t)) = (1 + r) exp(-r),                    (2)

whose logarithm is exact for the pages with h = 0 at any t. Where the left side is above
one half, its complement m d / u gives r to all digits instead.

Two values of t that no float separates may still differ in their rates, by pages that
are at the threshold. Rates between theirs are then as good: in all of them only pages
at the threshold differ, whose marginal gain is m to the last digit.

Neither paper has a formula; both say "numerically solved".
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from replnet.papers.crawling import Allocation, Floats, Pages
from replnet.text.errors import positive

NEWTON = 8  # steps; from its start Newton's method takes five to the last digit for every c above log 2
ROUNDS = 400  # halvings would need 64 from the first bracket
SAME = 1e-14  # relative difference of totals that are equal


def optimal_fixed(pages: Pages, budget: float) -> Allocation:
    """The rates with the largest `fixed_freshness` for a total rate of `budget`.

    Numerical: within 1e-12 of the largest freshness.
    """
    budget = positive("budget", budget)
    rates = np.zeros(pages.size)
    gaining = np.flatnonzero((pages.utilities > 0) & (pages.changes > 0))
    if gaining.size == 0:
        return Allocation(rates, 0.0)
    changes = pages.changes[gaining]
    worth = pages.utilities[gaining] / changes
    most = float(worth.max())
    behind = (most - worth) / worth
    rates[gaining], t = _spent(lambda t: changes / _changes_between(behind, t), budget, float(changes.sum()))
    return Allocation(rates, most / (1 + float(np.exp(min(t, 700.0)))))


def _changes_between(behind: Floats, t: float) -> Floats:
    """r of (2), infinite where the page is not refreshed."""
    from scipy.special import gammaincinv

    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        left = t + np.log1p(-behind * np.exp(min(-t, 700.0))) - np.logaddexp(0.0, t)
    left = np.where(np.isnan(left), -np.inf, left)
    r = np.full(behind.size, np.inf)
    rare, often = np.flatnonzero((left <= -np.log(2)) & np.isfinite(left)), np.flatnonzero(left > -np.log(2))
    r[rare] = _large(-left[rare])
    # 1 - (1 + r) exp(-r) is the incomplete gamma function of shape 2.
    r[often] = gammaincinv(2.0, (1 + behind[often]) * np.exp(-np.logaddexp(0.0, t)))
    return r


def _large(c: Floats) -> Floats:
    """The r with r - log(1 + r) = c, by Newton's method from above, where it is convex."""
    r = c + np.sqrt(2 * c)
    for _ in range(NEWTON):
        r = r - (r - np.log1p(r) - c) * (1 + r) / r
    return r


def _spent(rates_at: Callable[[float], Floats], budget: float, size: float) -> tuple[Floats, float]:
    """The rates that spend `budget`, and their t; rates increase with t."""
    low, high, step = 0.0, 0.0, 1.0
    at_low = at_high = rates_at(0.0)
    while at_low.sum() > budget:
        high, at_high = low, at_low
        # A small budget asks for r = size / budget at least, and t is about -r.
        low, step = min(low - step, -size / budget if step > 1 else 0.0), 2 * step
        at_low = rates_at(low)
    while at_high.sum() < budget:
        low, at_low = high, at_high
        high, step = high + step, 2 * step
        at_high = rates_at(high)
    for turn in range(ROUNDS):
        below, above = float(at_low.sum()), float(at_high.sum())
        if above - below <= SAME * budget or high - low <= 2 * np.spacing(max(abs(low), abs(high))):
            break
        # The chord gains digits fast; a halving in between keeps one of its ends from standing still.
        share = 0.5 if turn % 2 else min(max((budget - below) / (above - below), 0.01), 0.99)
        middle = low + share * (high - low)
        at_middle = rates_at(middle)
        if at_middle.sum() < budget:
            low, at_low = middle, at_middle
        else:
            high, at_high = middle, at_middle
    share = (budget - below) / (above - below) if above > below else 0.0
    return at_low + share * (at_high - at_low), low + share * (high - low)

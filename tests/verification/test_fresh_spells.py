"""How long copies stay fresh (P2P V-B, Fig. 7), by the equations and from the instants of processes alone."""

from __future__ import annotations

import numpy as np
import pytest
from paper import FAMILIES

import replnet as rn
from replnet.ages.information_age import direct
from replnet.lab.papers.p2p import mean_on_duration, on_duration_tail, on_residual_tail
from replnet.measure.estimate import Estimate, ratio
from replnet.measure.verdict import Comparison, verdicts
from replnet.processes.renewal import Renewals
from replnet.processes.streams import name_words, seed_words

pytestmark = pytest.mark.verification

PARETO, EXPONENTIAL, CONSTANT = FAMILIES.values()


REMAINING = np.array([0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0])


class Cycles:
    """Update intervals [begin, end) that reach into [0, horizon), and the first download in each."""

    def __init__(self, updates, downloads, horizon):
        self.begin, self.end, self.horizon = updates[:-1], updates[1:], horizon
        self.fresh = np.append(downloads, np.inf)[np.searchsorted(downloads, self.begin)]

    def share_left(self, begin, y):
        """Time in [0, horizon) that lies in [begin, end) and more than y before the end."""
        return float(np.clip(np.minimum(self.end - y, self.horizon) - np.maximum(begin, 0), 0, None).sum())

    def durations(self):
        """ON durations that begin in [0, horizon)."""
        begun = (self.fresh >= 0) & (self.fresh < np.minimum(self.end, self.horizon))
        return self.end[begun] - self.fresh[begun]


def cycles(updates, downloads, pairs, horizon):
    """Independent stationary pairs of processes, from their instants alone."""
    which = np.repeat([0, 1], pairs)
    names = name_words([f"pair {i % pairs}" for i in range(2 * pairs)])
    of = Renewals([updates, downloads], which, seed_words(7, 0), names, which)
    parts = [-of.age[:, None]]
    while of.now < horizon:
        window = of.window(horizon)
        parts.append([window.of(p).copy() for p in range(2 * pairs)])
    parts.append(of.next_instants()[:, None])
    lines = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
    return [Cycles(lines[i], lines[pairs + i], horizon) for i in range(pairs)]


def assert_estimates(estimates: list[Estimate], expected, *, half_width):
    """All are as expected (right code fails with chance 0.01, by Holm), each known to its half-width (95 %)."""
    cells = [Comparison(estimate, float(value)) for estimate, value in zip(estimates, expected, strict=True)]
    assert [e.half_width <= half_width for e in estimates] == [True] * len(estimates)
    assert verdicts(cells) == ["agree"] * len(cells)


def measured_tails(paths: list[Cycles]):
    """P(R_V > y) over all fresh time and P(R_U > y) over all time, for y in REMAINING."""
    fresh = np.array([[path.share_left(path.fresh, y) for path in paths] for y in [0.0, *REMAINING]])
    whole = np.array([[path.share_left(path.begin, y) for path in paths] for y in [0.0, *REMAINING]])
    return [[ratio(left, tails[0]) for left in tails[1:]] for tails in (fresh, whole)]


@pytest.fixture(scope="module")
def figure_7():
    """Pareto(3, scale 1) updates and exponential(2) downloads."""
    return cycles(rn.pareto(alpha=3, scale=1), EXPONENTIAL(2), pairs=100, horizon=20_000)


def at_each(tail, copy, updates) -> np.ndarray:
    return np.array([tail(copy, updates, y) for y in REMAINING.tolist()])


def test_figure_7a(figure_7):
    """G_V of eq. 16 over every fresh moment of 100 paths. Half-width 0.0015."""
    updates, copy = rn.pareto(alpha=3, scale=1), direct(EXPONENTIAL(2))
    assert_estimates(measured_tails(figure_7)[0], at_each(on_residual_tail, copy, updates), half_width=0.0015)


def test_on_durations(figure_7):
    """F_V and E[V] of eq. 19 over every ON duration. Half-widths 0.001 and 0.002."""
    updates, copy = rn.pareto(alpha=3, scale=1), direct(EXPONENTIAL(2))
    lasted = [path.durations() for path in figure_7]
    count = np.array([float(v.size) for v in lasted])
    tails = [ratio(np.array([float((v > y).sum()) for v in lasted]), count) for y in REMAINING]
    assert_estimates(tails, at_each(on_duration_tail, copy, updates), half_width=0.001)
    mean = ratio(np.array([v.sum() for v in lasted]), count)
    assert_estimates([mean], [mean_on_duration(copy, updates).value], half_width=0.002)


def test_figure_7b(figure_7):
    """R_V is heavier than R_U for Pareto updates, predicted and measured at every y. Half-width 0.0015."""
    updates, copy = rn.pareto(alpha=3, scale=1), direct(EXPONENTIAL(2))
    of_fresh, of_updates = measured_tails(figure_7)
    assert_estimates(of_updates, updates.age.tail(REMAINING), half_width=0.0015)
    assert (at_each(on_residual_tail, copy, updates) > updates.age.tail(REMAINING)).all()
    assert [v.low > u.high for v, u in zip(of_fresh, of_updates, strict=True)] == [True] * REMAINING.size


@pytest.mark.parametrize("name", ["exponential", "constant"])
def test_residuals_of_other_updates(name):
    """P2P V-B: R_V is R_U for exponential updates (eq. 18), lighter for those new better than used.

    Half-width 0.002.
    """
    updates, copy = FAMILIES[name](0.5), direct(EXPONENTIAL(2))
    paths = cycles(updates, EXPONENTIAL(2), pairs=100, horizon=5_000)
    of_fresh, of_updates = measured_tails(paths)
    predicted, all_time = at_each(on_residual_tail, copy, updates), updates.age.tail(REMAINING)
    if name == "exponential":
        assert predicted == pytest.approx(all_time, abs=1e-9)
        assert_estimates(of_fresh, predicted, half_width=0.002)
    else:
        short = updates.mean > REMAINING  # nothing lasts longer
        assert (predicted[short] < all_time[short]).all()
        assert predicted[~short] == pytest.approx(0, abs=1e-9)
        assert_estimates(of_fresh, predicted, half_width=0.002)
        assert all(v.high < u.low for v, u, s in zip(of_fresh, of_updates, short, strict=True) if s)

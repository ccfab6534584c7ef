"""Outages of one replication: who is down from when to when, exactly as planned, whatever else runs."""

from __future__ import annotations

import numpy as np
import pytest
from paths import task

import replnet as rn
from replnet.engines.array import array
from replnet.engines.outages import Outages, _draw_spans, _merge_spans
from replnet.engines.plan import plan
from replnet.processes.streams import name_words, seed_words
from replnet.testing import assert_mean

E1 = "exponential(rate=1)"
CHURN = {"up": "exponential(mean=5)", "down": "exponential(mean=2)"}


def tree(*faults, **fields):
    usual = {"depth": 1, "branching": 10, "updates": E1, "downloads": E1}
    return rn.cascade(**{**usual, **fields}, faults=list(faults))


class TestSchedule:
    """Paths of ten units of time, by `array`; other tests hold `step` against it."""

    def path(self, network, sampled=True):
        return array.run_path(task(network, 1, 10.0, sampled))

    def test_a_crash_takes_exactly_its_time(self):
        path = self.path(tree({"crash": "level 1", "at": 4, "lasts": 2.5, "copy": "kept"}))
        assert path.shares["level 1", "availability"] == pytest.approx((75.0, 100.0))

    def test_no_message_passes_a_cut(self):
        """From the cut on, nobody gets anything that left the source after it."""
        network = tree({"cut": ["source", "level 1"], "at": 0}, updates="constant(period=3)")
        path = self.path(network, False)
        assert (path.copies[0, 1:] < 0).all()
        assert path.counts[1] > 50  # they went on trying


def test_the_same_outages_are_met_whatever_else_runs():
    crash = {"crash": "level 1", **CHURN}
    plans = [plan(tree(crash, branching=n)) for n in (3, 30)]
    ends = [Outages(p, seed_words(5, 0), 10.0, 100.0).by_node[p.names.index("2")] for p in plans]
    assert np.array_equal(*ends)


def test_alternating_times_do_not_depend_on_how_far_they_are_looked_up():
    laws = rn.pareto(alpha=3, mean=5), rn.uniform(low=0, high=4)
    for seed in range(200):
        near, far = (_draw_spans(laws, seed_words(seed, 0), name_words(["x"]), d, h) for d, h in ((20, 20), (99, 300)))
        assert (np.diff(near.ravel()) >= 0).all()
        far = far[(far[:, 1] > -20) & (far[:, 0] < 20)]
        assert np.allclose(near, far, rtol=0, atol=1e-9)


def test_alternating_times_are_stationary():
    laws = rn.pareto(alpha=3, mean=5), rn.uniform(low=0, high=4)
    runs = [_draw_spans(laws, seed_words(seed, 1), name_words(["y"]), 20.0, 31.0) for seed in range(3000)]
    for begin, end in ((-20.0, -19.0), (0.0, 0.5), (30.0, 31.0)):
        times = [np.clip(np.minimum(of[:, 1], end) - np.maximum(of[:, 0], begin), 0, None).sum() for of in runs]
        assert_mean(np.array(times) / (end - begin), 2 / 7, resolution=0.12)


def test_spans_that_touch_are_one_and_empty_if_one_does():
    spans = [(5.0, 6.0, False), (0.0, 2.0, False), (1.0, 3.0, True), (3.0, 4.0, False)]
    assert _merge_spans(spans) == [(0.0, 4.0, True), (5.0, 6.0, False)]

"""Runs that are shared with other processes: the same results, to the last bit."""

from __future__ import annotations

import pytest

import replnet as rn

NETWORK = rn.cascade(depth=3, branching=2, updates="exponential(rate=1)", downloads="exponential(rate=2)")
SOURCES = rn.aggregate(sources=40, budget=40.0, updates="exponential(rate=1)", delay=0.1)


def rows(result):
    return [row.record() for row in result.rows]


@pytest.mark.parametrize(
    ("network", "how"),
    [
        (NETWORK, {"horizon": 1e6, "replications": 40}),
        (NETWORK, {"precision": 0.002, "estimator": "conditional"}),
        (SOURCES, {"horizon": 5e3, "replications": 100, "measure": ["lag", "staleness"]}),
        (SOURCES, {"horizon": 100.0, "replications": 40, "engine": "step"}),
    ],
)
def test_the_results_are_the_same_for_any_number_of_workers(network, how):
    alone = rn.emulate(network, workers=0, **how)
    for workers in (2, None):
        shared = rn.emulate(network, workers=workers, **how)
        assert rows(shared) == rows(alone)
        assert (shared.events, shared.replications) == (alone.events, alone.replications)


def test_what_is_interrupted_keeps_the_replications_up_to_the_first_that_lacks():
    def progress(share, words):
        if share >= 0.1:
            raise KeyboardInterrupt

    result = rn.emulate(NETWORK, horizon=8e6, replications=200, workers=2, progress=progress)
    assert result.incomplete == f"interrupted after {result.replications} replications"
    assert result.replications >= 20
    again = rn.emulate(NETWORK, horizon=4e4 * result.replications, replications=result.replications, workers=0)
    assert rows(again) == rows(result)


def test_a_budget_ends_a_run_with_what_there_is():
    for workers in (0, 2):
        result = rn.emulate(NETWORK, precision=1e-6, budget=2, workers=workers)
        assert result.incomplete == f"out of time after {result.replications} replications"
        assert result.rows


class OwnLaw(type(rn.exponential(rate=1))):
    """A law of a program."""


def test_a_law_of_the_program_itself_is_the_same_elsewhere():
    network = rn.single(updates=OwnLaw(rate=1.0), downloads="exponential(rate=1)")
    how = {"horizon": 2e7, "replications": 40, "confirm": False}
    assert rows(rn.emulate(network, workers=2, **how)) == rows(rn.emulate(network, workers=0, **how))

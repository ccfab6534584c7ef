"""Runs that are spread over processes: the same results, to the last bit."""

from __future__ import annotations

import pytest

import replnet as rn
from replnet.study import replications

NETWORK = rn.cascade(depth=3, branching=2, updates="exponential(rate=1)", downloads="exponential(rate=2)")
SOURCES = rn.aggregate(sources=40, budget=40.0, updates="exponential(rate=1)", delay=0.1)


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Whatever is left after the second range is spread, in small groups."""
    monkeypatch.setattr(replications, "WORTH", 0.0)
    monkeypatch.setattr(replications, "GROUP", 1e-9)


def rows(found):
    return [row.record() for row in found.rows]


@pytest.mark.parametrize(
    ("network", "how"),
    [
        (NETWORK, {"horizon": 4e6, "replications": 40}),
        (NETWORK, {"horizon": 4e4, "precision": 0.002, "estimator": "conditional"}),
        (SOURCES, {"horizon": 500.0, "measure": ["lag", "staleness"]}),
        (SOURCES, {"horizon": 60.0, "engine": "step"}),
    ],
)
def test_the_results_are_the_same_for_any_number_of_workers(network, how):
    alone = rn.emulate(network, workers=0, **how)
    for workers in (2, 3):
        found = rn.emulate(network, workers=workers, **how)
        assert rows(found) == rows(alone)
        assert (found.events, found.replications) == (alone.events, alone.replications)


def test_what_is_interrupted_keeps_the_replications_up_to_the_first_that_lacks():
    said = []

    def progress(share, words):
        said.append(share)
        if share > 0.5:
            raise KeyboardInterrupt

    found = rn.emulate(NETWORK, horizon=4e6, replications=40, workers=2, progress=progress)
    assert found.incomplete.startswith("interrupted after")
    assert 20 <= found.replications < 40
    again = rn.emulate(NETWORK, horizon=4e6 / 40 * found.replications, replications=found.replications, workers=0)
    assert rows(again) == rows(found)


def test_a_budget_ends_a_run_with_what_there_is():
    for workers in (0, 2):
        found = rn.emulate(NETWORK, precision=1e-6, budget=0.2, workers=workers)
        assert found.incomplete == f"out of time after {found.replications} replications"
        assert found.rows


def test_a_law_of_the_program_itself_stays_in_it(monkeypatch):
    """Other processes could not read it."""
    from replnet.study import emulate

    law = type("Mine", (type(rn.exponential(rate=1)),), {"__module__": "__main__"})
    assert emulate._portable(NETWORK)
    mine = rn.single(updates=law(rate=1.0), downloads="exponential(rate=1)")
    assert not emulate._portable(mine)

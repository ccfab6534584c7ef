"""Replications side by side are those that `array` makes one by one."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.engines import abreast, array, start
from replnet.engines.plan import plan
from replnet.engines.program import Program
from replnet.experiment.emulate import emulate
from replnet.network.network import Network

HEAVY = "pareto(alpha=1.5, rate=1)"
NETWORKS = {
    "cluster": {"kind": "cooperative", "replicas": 7, "peers": 2, "polls": "constant(rate=2)"},
    "heavy cluster": {"kind": "cooperative", "replicas": 5, "downloads": HEAVY, "polls": HEAVY},
    "tree": {"kind": "cascade", "depth": 3, "branching": 2, "downloads": "pareto(alpha=1.7, rate=1)"},
    "locked": {"kind": "single", "updates": "constant(rate=1)", "downloads": "constant(rate=3)"},
    "tiers": {
        "kind": "compose",
        "tiers": [
            {"kind": "cooperative", "replicas": 3, "downloads": "exponential(rate=1)", "polls": "exponential(rate=2)"},
            {"kind": "cascade", "depth": 2, "downloads": ["weibull(shape=0.6, rate=2)", "constant(rate=1)"]},
        ],
    },
}  # fmt: skip
SIZES = (5, 2)  # of passes


def program(name: str) -> Program:
    fields = NETWORKS[name]
    laws = {"updates": "exponential(rate=1)"} | ({} if "tiers" in fields else {"downloads": "exponential(rate=1)"})
    return Program(plan(Network.from_data({**laws, **fields})), sampled=False)


@pytest.mark.parametrize("name", NETWORKS)
def test_same_copies_one_by_one(name):
    of, horizon = program(name), 30.0
    assert abreast.suits(of)
    alone = [array.run_path(of, 3, r, horizon) for r in range(sum(SIZES))]
    together = [
        path
        for first, size in zip((0, SIZES[0]), SIZES, strict=True)
        for path in abreast.run_paths(of, 3, range(first, first + size), horizon)
    ]
    all_at_once = abreast.run_paths(of, 3, range(sum(SIZES)), horizon)
    assert [path.fresh.tobytes() for path in together] == [path.fresh.tobytes() for path in all_at_once]
    replicas = np.flatnonzero(of.plan.reached[0])
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one.copies[0, replicas], other.copies[0, replicas])
        # Here the sums are by window, so they are of the same numbers in another order.
        np.testing.assert_allclose(other.fresh, one.fresh, rtol=1e-12)
        assert other.counts[1:3] == one.counts[1:3]
        assert one.unproven == other.unproven == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"faults": [{"crash": "replica 1", "at": 1, "lasts": 1}]},
        {"delay": 0.1},
        {"clients": {"ask": 2, "queries": "exponential(rate=1)"}},
        {"select": "recent"},
    ],
)
def test_what_shares_no_source_runs_alone(fields):
    cluster = {"kind": "cooperative", "replicas": 3, "peers": 2, "updates": "exponential(rate=1)"}
    laws = {"downloads": "exponential(rate=1)", "polls": "exponential(rate=1)"}
    compiled = plan(Network.from_data({**cluster, **laws, **fields}))
    assert not abreast.suits(Program(compiled, sampled=False))


def test_sampled_runs_alone():
    assert not abreast.suits(Program(program("cluster").plan, sampled=True))


def test_who_needs_more_past_looks_for_it_alone(monkeypatch):
    of, horizon = program("heavy cluster"), 10.0
    monkeypatch.setattr(start, "MOST_EVENTS", 4 * 16 * of.plan.quiet * of.plan.asking)
    made = abreast.run_paths(of, 3, range(4), horizon)
    alone = [array.run_path(of, 3, r, horizon) for r in range(4)]
    assert len({path.depth for path in made}) > 1
    assert [path.copies[0, 1:].tolist() for path in made] == [path.copies[0, 1:].tolist() for path in alone]


def test_a_run_is_made_of_full_passes_and_a_rest(monkeypatch):
    network = Network.from_data(
        {"kind": "single", "updates": "exponential(rate=1)", "downloads": "exponential(rate=1)"}
    )
    monkeypatch.setattr(abreast, "SLICE", 3.5 * (100 / 7 + 4))
    seen = []

    def passes(of, seed, some, horizon):
        seen.append(some)
        return [array.run_path(of, seed, one, horizon) for one in some]

    monkeypatch.setattr(abreast, "run_paths", passes)
    result = emulate(network, seed=1, horizon=100, replications=7, estimator="conditional", confirm=False)
    assert seen == [range(3), range(3, 6), range(6, 7)]
    assert result.replications == 7

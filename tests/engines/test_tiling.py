"""Replications side by side are those that `array` makes one by one, and so are parts that exchange nothing."""

from __future__ import annotations

import numpy as np
import pytest

from replnet.engines import array, start
from replnet.engines.plan import Plan, plan
from replnet.engines.tiling import Tiling
from replnet.network.network import Network
from replnet.study.emulate import emulate

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


def compiled(name: str) -> Plan:
    fields = NETWORKS[name]
    laws = {"updates": "exponential(rate=1)"} | ({} if "tiers" in fields else {"downloads": "exponential(rate=1)"})
    return plan(Network.from_data({**laws, **fields}))


@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_same_one_by_one(name, sampled):
    """To the last bit: a sum does not depend on who else is in the pass."""
    of, horizon = compiled(name), 30.0
    alone = [array.run_path(of, 3, r, horizon, sampled) for r in range(sum(SIZES))]
    together = [
        path
        for first, size in zip((0, SIZES[0]), SIZES, strict=True)
        for path in array.run_paths(Tiling(of, size, sampled), 3, range(first, first + size), horizon)
    ]
    for one, other in zip(alone, together, strict=True):
        # How stale a copy is to the sampled estimator depends on how far the past was looked up; that it is, does not.
        held, theirs = (np.maximum(path.copies, 0) if sampled else path.copies for path in (one, other))
        assert np.array_equal(held[:, 1:], theirs[:, 1:])
        assert one.fresh.tobytes() == other.fresh.tobytes()
        assert one.counts == other.counts
        assert one.unproven == other.unproven == 0


def test_windows_make_no_difference(monkeypatch):
    of = compiled("cluster")
    alone = [array.run_path(of, 3, 0, 300.0, sampled) for sampled in (True, False)]
    monkeypatch.setattr(array, "WINDOW", 64)
    monkeypatch.setattr(array, "MOST", 256)
    for one, sampled in zip(alone, (True, False), strict=True):
        other = array.run_path(of, 3, 0, 300.0, sampled)
        assert one.fresh.tobytes() == other.fresh.tobytes()


def test_coarse_buckets_make_no_difference(monkeypatch):
    of = compiled("tiers")
    alone = array.run_path(of, 3, 0, 300.0, False)
    monkeypatch.setattr("replnet.engines.pulls.SLICE", 100)
    assert alone.fresh.tobytes() == array.run_path(of, 3, 0, 300.0, False).fresh.tobytes()


@pytest.mark.parametrize(
    "fields",
    [
        {"faults": [{"crash": "replica 1", "at": 1, "lasts": 1}]},
        {"delay": 0.1},
        {"clients": {"ask": 2, "queries": "exponential(rate=1)"}},
        {"select": "recent"},
    ],
)
def test_what_takes_more_than_an_instant_runs_alone(fields):
    cluster = {"kind": "cooperative", "replicas": 3, "peers": 2, "updates": "exponential(rate=1)"}
    laws = {"downloads": "exponential(rate=1)", "polls": "exponential(rate=1)"}
    of = plan(Network.from_data({**cluster, **laws, **fields}))
    assert array.runner(of, 1, 1.0, sampled=False)[1] == 1


def test_who_needs_more_past_looks_for_it_alone(monkeypatch):
    of, horizon = compiled("heavy cluster"), 10.0
    monkeypatch.setattr(start, "MOST_EVENTS", 4 * 16 * of.quiet * of.asking)
    made = array.run_paths(Tiling(of, 4, False), 3, range(4), horizon)
    alone = [array.run_path(of, 3, r, horizon, False) for r in range(4)]
    assert len({path.depth for path in made}) > 1
    assert [path.copies[0, 1:].tolist() for path in made] == [path.copies[0, 1:].tolist() for path in alone]


def test_a_run_is_made_of_full_passes_and_a_rest(monkeypatch):
    network = Network.from_data(
        {"kind": "single", "updates": "exponential(rate=1)", "downloads": "exponential(rate=1)"}
    )
    monkeypatch.setattr(array, "SLICE", 3.5 * (100 / 7 + 4))
    seen, really = [], array.run_paths

    def passes(tiling, seed, some, horizon):
        seen.append(some)
        return really(tiling, seed, some, horizon)

    monkeypatch.setattr(array, "run_paths", passes)
    result = emulate(network, seed=1, horizon=100, replications=7, estimator="conditional", confirm=False)
    assert seen == [range(3), range(3, 6), range(6, 7)]
    assert result.replications == 7


def test_what_no_chain_of_asking_connects_is_apart():
    graph = {
        "a": {"role": "source", "updates": "exponential(rate=1)"},
        "b": {"role": "source", "updates": "exponential(rate=2)"},
        "x": {"role": "replica", "downloads": "exponential(rate=1)"},
        "y": {"role": "replica", "downloads": "exponential(rate=1)"},
        "z": {"role": "replica", "downloads": "exponential(rate=1)"},
        "client": {"role": "client", "queries": "exponential(rate=1)", "ask": 1},
    }
    links = ["a -> x", "b -> y", "y -> client"]
    of = Tiling(plan(Network.from_data({"kind": "graph", "nodes": graph, "links": links})), 2, True)
    assert of.component.tolist() == [0, 1, 0, 1, 2, 1]
    assert of.layers.source.tolist() == [0, 1, 12, 6, 7, 12]  # z hears of nobody
    assert of.layers.row.tolist() == [0, 1, -1, 2, 3, -1]
    together = Tiling(plan(Network.from_data({"kind": "graph", "nodes": graph, "links": [*links, "a -> y"]})), 1, True)
    assert together.component.tolist() == [0, 0, 0, 0, 1, 0]
    assert together.layer.tolist() == [0, 1]

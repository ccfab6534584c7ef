"""Replications side by side are those that `array` makes one by one, and so are parts that exchange nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from networks import networks, plain
from paths import assert_close, task

import replnet as rn
from replnet.engines import start
from replnet.engines.array import array
from replnet.engines.array.layout import Layout
from replnet.engines.path import Path, Task
from replnet.engines.plan import plan
from replnet.lab import emulate
from replnet.network.network import Network
from replnet.network.topology import REPLICA

E1 = "exponential(rate=1)"
CLUSTER = rn.cooperative(replicas=7, peers=2, updates=E1, downloads=E1, polls="constant(rate=2)")
TIERS = rn.compose(
    updates=E1,
    tiers=[
        {"kind": "cooperative", "replicas": 3, "downloads": E1, "polls": "exponential(rate=2)"},
        {"kind": "cascade", "depth": 2, "downloads": ["weibull(shape=0.6, rate=2)", "constant(rate=1)"]},
    ],
)


def side_by_side(of: Task, count: int) -> list[Path]:
    return array.make_runner(of)[0](range(count))


def assert_alike(of: Task, ours: Path, theirs: Path) -> None:
    """To the last bit, but for what is asked besides: of that, windows may add up the same terms in another order."""
    if of.questions:
        assert_close(ours.shares, theirs.shares)
    else:
        assert ours.shares == theirs.shares
    assert ours.counts == theirs.counts
    replicas = of.plan.topology.role == REPLICA
    # How stale a copy is to the sampled estimator depends on how far the past was looked up; that it is, does not.
    held, others = (np.maximum(path.copies, 0) if of.sampled else path.copies for path in (ours, theirs))
    assert np.array_equal(held[:, replicas], others[:, replicas])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    network=plain(networks("cascade", "cluster", "tiers", "forest", "aggregate", "starved", "tiers of many")),
    seed=st.integers(0, 2**32), sampled=st.booleans(), asked=st.booleans(),
)  # fmt: skip
def test_any_network_is_the_same_one_by_one(network, seed, sampled, asked):
    of = task(network, seed, 8.0, sampled, ["missing_updates"] if asked and sampled else ())
    assume(array.make_runner(of)[1] > 1)
    for r, path in enumerate(side_by_side(of, 3)):
        assert_alike(of, path, array.run_path(of, r))


@pytest.mark.parametrize(
    ("module", "name", "size"),
    [
        ("array", "WINDOW", 64),
        ("array", "MOST_EVENTS", 256),
        ("pulls", "PULLS_PER_SORT", 100),
        ("array", "MOST_PULLS_AT_ONCE", 50),
    ],
)
@pytest.mark.parametrize("sampled", [True, False])
@pytest.mark.parametrize("which", [CLUSTER, TIERS], ids=["cluster", "tiers"])
def test_the_size_of_windows_and_buckets_makes_no_difference(which, sampled, module, name, size, monkeypatch):
    of = task(which, 3, 300.0, sampled)
    alone = array.run_path(of)
    monkeypatch.setattr(f"replnet.engines.array.{module}.{name}", size)
    assert_alike(of, alone, array.run_path(of))


@pytest.mark.parametrize(
    "fields",
    [
        {"faults": [{"crash": "replica 1", "at": 1, "lasts": 1}]},
        {"delay": 0.1},
        {"clients": {"ask": 2, "queries": E1}},
        {"select": "recent"},
    ],
)
def test_what_takes_more_than_an_instant_runs_alone(fields):
    cluster = {"kind": "cooperative", "replicas": 3, "peers": 2, "updates": E1, "downloads": E1, "polls": E1}
    assert array.make_runner(task(Network.from_data({**cluster, **fields}), 1, 1.0, False))[1] == 1


def test_who_needs_more_past_looks_for_it_alone(monkeypatch):
    heavy = dict.fromkeys(("downloads", "polls"), "pareto(alpha=1.5, rate=1)")
    of = task(rn.cooperative(replicas=5, updates=E1, **heavy), 3, 10.0, False)
    monkeypatch.setattr(start, "MOST_EVENTS", 4 * 16 * of.plan.longest_pull_gap * of.plan.pull_rate)
    made = side_by_side(of, 4)
    alone = [array.run_path(of, r) for r in range(4)]
    assert len({path.depth for path in made}) > 1
    assert [path.copies[0, 1:].tolist() for path in made] == [path.copies[0, 1:].tolist() for path in alone]


def test_a_run_is_made_of_full_passes_and_a_rest(monkeypatch):
    monkeypatch.setattr(array, "PULLS_PER_SORT", 3.5 * (100 / 7 + 4))
    seen, really = [], array.make_runner

    def counted(of):
        run, together = really(of)
        return lambda some: (seen.append(some), run(some))[1], together

    monkeypatch.setattr("replnet.engines.array.make_runner", counted)
    network = rn.single(updates=E1, downloads=E1)
    result = emulate(network, seed=1, horizon=100, replications=7, estimator="conditional", confirm=False)
    assert seen == [range(3), range(3, 6), range(6, 7)]
    assert result.replications == 7


def test_what_no_chain_of_asking_connects_is_apart():
    nodes = {
        "a": {"role": "source", "updates": E1},
        "b": {"role": "source", "updates": "exponential(rate=2)"},
        "x": {"role": "replica", "downloads": E1},
        "y": {"role": "replica", "downloads": E1},
        "z": {"role": "replica", "downloads": E1},
        "client": {"role": "client", "queries": E1, "ask": 1},
    }
    links = ["a -> x", "b -> y", "y -> client"]

    def layout(count: int, *more: str) -> Layout:
        return Layout(plan(Network.from_data({"kind": "graph", "nodes": nodes, "links": [*links, *more]})), count, True)

    def apart(of: Layout) -> list[set[str]]:
        """The names that have a place in each component."""
        places = zip(of.places.node.tolist(), of.places.component.tolist(), strict=True)
        found: list[set[str]] = [set() for _ in range(of.component_count)]
        for node, component in places:
            found[component].add(of.plan.names[node])
        return found

    assert apart(layout(2)) == [{"a", "x"}, {"b", "y", "client"}, {"z"}]
    assert layout(2).slot_count == 6
    # A replica that only asks has a place with each of its sources; one that is asked ties them together.
    assert apart(layout(1, "b -> x")) == [{"a", "x"}, {"b", "x", "y", "client"}, {"z"}]
    tied = layout(1, "a -> y")
    assert apart(tied) == [{"a", "b", "x", "y", "client"}, {"z"}]
    assert tied.source_layer.tolist() == [0, 1]

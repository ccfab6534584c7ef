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
from replnet.engines.path import Path, Task
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


KINDS = ("cascade", "cluster", "tiers", "forest", "aggregate", "starved", "tiers of many")


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
    network=plain(networks(*KINDS)) | networks(*KINDS),
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


def test_who_needs_more_past_looks_for_it_alone(monkeypatch):
    heavy = dict.fromkeys(("downloads", "polls"), "pareto(alpha=1.5, rate=1)")
    of = task(rn.cooperative(replicas=5, updates=E1, **heavy), 3, 10.0, False)
    monkeypatch.setattr(start, "MOST_EVENTS", 4 * 16 * of.plan.longest_pull_gap * of.plan.pull_rate)
    made = side_by_side(of, 4)
    alone = [array.run_path(of, r) for r in range(4)]
    assert len({path.depth for path in made}) > 1
    assert [path.copies[0, 1:].tolist() for path in made] == [path.copies[0, 1:].tolist() for path in alone]

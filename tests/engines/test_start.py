"""How deep a past is looked up: as far as it takes, and no further for what may never come."""

from __future__ import annotations

import math

import pytest
from paths import assert_same, both, task

import replnet as rn
from replnet.engines.plan import plan
from replnet.engines.start import depths, look_back_further, look_back_limit

E1 = "exponential(rate=1)"


@pytest.mark.parametrize("queue", [1, 2])
def test_what_never_comes_is_not_waited_for(queue):
    """Of two pulls at once the second finds no room in a queue of 1."""
    data = {"kind": "graph", "bandwidth": 2, "queue": queue, "links": ["s -> a", "q -> a"]}
    data["nodes"] = {"s": {"updates": E1}, "q": {"updates": E1}, "a": {"downloads": E1}}
    compiled = plan(rn.Network.from_data(data))
    assert list(depths(compiled, 0.5, 0.0, False))[-1] * compiled.pull_rate < 1e4
    assert list(depths(compiled, 9e3, 0.0, True))[-1] == 9e3  # an update that long ago does come
    of = task(compiled.topology, 1, 20.0, False)
    ours, theirs = both(of)
    assert_same(of, ours, theirs)
    assert ours.unproven == (queue == 1)
    for engine in ("array", "step"):
        *_, deepest = look_back_further(compiled, 1.0, 20.0, engine, True)
        assert deepest * compiled.pull_rate < 1e4


@pytest.mark.parametrize(
    ("about", "times"),
    [
        ({"downloads": E1}, 1),
        ({"downloads": "pareto(alpha=1.8, rate=1)"}, 1e3),  # 1e-4 ** (-1 / 0.8) against -log(1e-4)
        ({"downloads": E1, "faults": [{"lose": 0.9}]}, 50),
        (
            {"downloads": E1, "faults": [{"crash": "replicas", "up": E1, "down": "exponential(mean=50)"}]},
            51**2,
        ),
        ({"downloads": [E1] * 5}, 4.9),
    ],
)
def test_a_past_is_as_deep_as_what_comes_at_last_may_need(about, times):
    """Slow pulls, losses, long outages and long chains each have the time that they take."""
    base, kind = rn.single(updates=E1, downloads=E1, bandwidth=100), rn.single
    if isinstance(about["downloads"], list):
        kind, about = rn.cascade, {**about, "depth": 5}
    network = kind(updates=E1, bandwidth=100, **about)
    assert look_back_limit(plan(network)) >= times * look_back_limit(plan(base))


def test_nothing_ends_the_wait_for_what_comes_for_sure():
    assert look_back_limit(plan(rn.single(updates=E1, downloads=E1))) == math.inf

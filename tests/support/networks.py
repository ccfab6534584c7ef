"""Networks small enough for `step`: one of every kind by name, and strategies of those that `any_network` draws."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from any_network import KINDS, Choose, Data, drawn_network, network_of_several_sources
from any_network import troubled as troubled_data
from hypothesis import strategies as st

import replnet as rn

NAMED = {
    "tree": rn.cascade(depth=3, branching=2, updates="exponential(rate=2)", downloads="exponential(rate=2)"),
    "cluster": rn.cooperative(
        replicas=10, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="exponential(rate=4)",
    ),
    "recent": rn.cooperative(
        replicas=10, peers=3, select="recent", updates="exponential(rate=1)", downloads="exponential(rate=1)",
        polls="constant(rate=4)",
    ),
    "redundant": rn.redundant(
        replicas=10, ask=3, updates="exponential(rate=1)", downloads="constant(rate=1)", queries="exponential(rate=5)"
    ),
}  # fmt: skip

DELAYS = (0.0, 0.0, 0.05, 0.4)
PLAIN = ("cascade", "cluster", "redundant", "tiers", "graph")


def _drawn(make: Callable[[Choose], Any]) -> st.SearchStrategy[Any]:
    """What `make` draws by a way to choose."""
    return st.composite(lambda draw: make(lambda options: draw(st.sampled_from(list(options)))))()


def networks(*kinds: str, delays: tuple[float, ...] = DELAYS) -> st.SearchStrategy[rn.Network]:
    """Networks of some of `any_network.KINDS`, in which nothing goes wrong and every message takes as long."""

    def drawn(choose: Choose) -> rn.Network:
        data = everywhere(KINDS[choose(kinds or PLAIN)](choose), _without_limits)
        return rn.Network.from_data({**data, "delay": choose(delays)})

    return _drawn(drawn)


def troubled(*kinds: str) -> st.SearchStrategy[rn.Network]:
    """Networks of some of `any_network.KINDS`, with limits on bandwidth and with what may go wrong."""
    return _drawn(lambda choose: rn.Network.from_data(troubled_data(choose, KINDS[choose(kinds or PLAIN)](choose))))


graphs = partial(networks, "graph")


def anything() -> st.SearchStrategy[rn.Network]:
    """Whatever a specification can say, of every kind; not every engine takes it."""
    return _drawn(drawn_network)


def of_several_sources() -> st.SearchStrategy[rn.Network]:
    """Replicas that hear of different sources, or of none, and clients that ask some of all of these."""
    return _drawn(network_of_several_sources)


def everywhere(data: Any, change: Callable[[Data], Data]) -> Any:
    """The data of a network in which every mapping, however deep, is replaced by what `change` makes of it."""
    if isinstance(data, list | tuple):
        return [everywhere(one, change) for one in data]
    if not isinstance(data, dict):
        return data
    return change({key: everywhere(one, change) for key, one in data.items()})


def _without_limits(data: Data) -> Data:
    return {key: one for key, one in data.items() if key not in ("bandwidth", "delay")}


def both_ways(data: Data) -> Data:
    """The data of a network, in which polls go both ways."""
    return everywhere(
        data, lambda one: one | ({"two_way": True} if one.get("kind") in ("cooperative", "graph") else {})
    )


def _of_random_peers(data: Data) -> Data:
    return data | {key: value for key, value in (("select", "random"), ("delay", 0.0)) if key in data}


def plain(of: st.SearchStrategy[rn.Network]) -> st.SearchStrategy[rn.Network]:
    """Networks of this kind, in which all peers are random and all messages arrive at once."""
    return of.map(lambda network: rn.Network.from_data(everywhere(network.data(), _of_random_peers)))


def two_way(of: st.SearchStrategy[rn.Network]) -> st.SearchStrategy[rn.Network]:
    """Networks of this kind, in which polls go both ways."""
    return of.map(lambda network: rn.Network.from_data(both_ways(network.data())))

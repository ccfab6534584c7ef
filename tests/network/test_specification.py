"""What a specification may say of any network: it comes back from its data, and what is of another kind is refused."""

from __future__ import annotations

import pytest
from any_network import features
from hypothesis import given, settings
from networks import anything

import replnet as rn


@settings(max_examples=30, deadline=None, derandomize=True)
@given(network=anything())
def test_plain_data_give_the_same_network_again(network):
    again = rn.Network.from_data(network.data())
    assert again.data() == network.data()
    assert features(again) == features(network)


E1 = "exponential(rate=1)"
PLAIN = {
    "single": {"updates": E1, "downloads": E1},
    "aggregate": {"rates": [1, 2], "budget": 3},
}


@pytest.mark.parametrize(
    ("kind", "field", "value"),
    [
        ("single", "links", ["a -> b"]),
        ("single", "polls", E1),
        ("single", "order", "fixed"),
        ("single", "tiers", []),
        ("aggregate", "clients", {"queries": E1}),
        ("aggregate", "polls", E1),
        ("aggregate", "updates", "alternating(values=[1, 3])"),
        ("aggregate", "downloads", "diurnal(rate=1, swing=0.5, period=3)"),
    ],
)
def test_what_is_refused_is(kind, field, value):
    with pytest.raises(ValueError, match=field):
        rn.Network.from_data({"kind": kind, **PLAIN[kind], field: value})

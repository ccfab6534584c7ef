"""What cells are about: groups that are named without a graph."""

from __future__ import annotations

from hypothesis import given, settings
from networks import networks

from replnet.lab.experiment.subjects import groups_of


@settings(max_examples=60, deadline=None)
@given(networks())
def test_groups_are_those_of_the_graph(network):
    there = {about["group"] for _, about in network.graph.nodes(data=True) if about["role"] != "source"}
    found = groups_of(network.data())
    assert found >= there
    if network.kind != "graph":
        assert found == there

"""The functions that make networks have the parameters that their specifications have, with the same defaults."""

from __future__ import annotations

import inspect

import pytest

import replnet as rn
from replnet.network.specification import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_the_fields_of_the_kind(kind):
    fields = {name: about for name, about in KINDS[kind].model_fields.items() if name != "kind"}
    parameters = dict(inspect.signature(getattr(rn, kind)).parameters)
    assert (parameters.pop("source", None) is not None) == (kind == "graph")
    assert parameters.keys() == fields.keys()
    for name, parameter in parameters.items():
        required = parameter.default is inspect.Parameter.empty
        assert required == fields[name].is_required(), name
        if not required and (kind, name) not in {("aggregate", "updates"), ("graph", "nodes")}:
            assert parameter.default == fields[name].default, name
        assert f"{name}: {fields[name].description}" in getattr(rn, kind).__doc__


def test_defaults_that_are_written_otherwise():
    """A law is written as a text, and no nodes as None."""
    written = inspect.signature(rn.aggregate).parameters["updates"].default
    assert rn.aggregate(rates=[1, 2], budget=1, updates=written) == rn.aggregate(rates=[1, 2], budget=1)
    with pytest.raises(rn.InputError, match="nodes"):
        rn.graph()


def test_the_depth_of_a_tree_follows_from_its_branching():
    laws = {"updates": "exponential(rate=1)", "downloads": ["constant(rate=1)", "constant(rate=2)"]}
    tree = rn.cascade(branching=[10, 3], clients={"ask": 30, "queries": "constant(rate=1)"}, **laws)
    assert (tree.spec.depth, tree.size) == (2, 1 + 10 + 30 + 1)
    assert rn.cascade(2, [3, 3], **laws).graph.edges == rn.cascade(2, 3, **laws).graph.edges
    predicted = [{row.group: row.predicted for row in rn.predict(rn.cascade(2, b, **laws)).rows} for b in (3, [10, 1])]
    assert predicted[0] == predicted[1]


def test_fields_in_their_order_and_by_name():
    by_name = rn.cascade(depth=2, branching=3, updates="exponential(rate=1)", downloads="constant(rate=1)")
    assert rn.cascade(2, 3, updates="exponential(rate=1)", downloads="constant(rate=1)") == by_name
    with pytest.raises(rn.InputError, match=r"dept: unknown field \(did you mean depth\?\)"):
        rn.cascade(dept=3)
    with pytest.raises(rn.InputError, match="takes"):
        rn.single(*["exponential(rate=1)"] * 40)

"""What shapes say of messages and of who answers them, counted from the nodes of their networks."""

from __future__ import annotations

from collections import Counter

import pytest

import replnet as rn
from replnet.lab.inverse.architectures import CandidateNetwork, Needs, architectures

E1 = "exponential(rate=1)"
NEEDS = Needs(E1, 7, 21.0, 50.0)
SHAPES = [(name, shape) for name, shapes in architectures(NEEDS).items() for shape in shapes()]


def rates_of(shape):
    return tuple(3.0 + 0.5 * i for i in range(len(shape.pulls)))


def test_messages_and_answers_are_those_of_the_network():
    for name, shape in SHAPES:
        built = CandidateNetwork(shape, NEEDS.source, rn.law(E1), rates_of(shape), ())
        graph, messages, heard = built.network.graph, 0.0, Counter()
        for node, about in graph.nodes(data=True):
            above = [up for up, _, kind in graph.in_edges(node, data="kind") if kind == "download"]
            messages += about["downloads"].rate if "downloads" in about else 0
            messages += about["polls"].rate * about["peers"] if "polls" in about else 0
            for up in above:
                heard[up] += about["downloads"].rate / len(above)
            if "polls" in about:
                heard["replica 1"] += about["polls"].rate * about["peers"] / NEEDS.replicas  # as often as anyone
        asked = int(name[-1]) if name.startswith("clients") else 1
        assert built.messages == pytest.approx(messages + asked * NEEDS.queries), name
        served = asked * NEEDS.queries / NEEDS.replicas + (heard["replica 1"] if name.startswith("cluster") else 0.0)
        assert built.answers["source"] == pytest.approx(heard["source"]), name
        assert built.answers["replica"] == pytest.approx(served), name
        assert built.busiest == pytest.approx(max(served, *heard.values())), name


def test_at_their_limits_nodes_answer_as_much_as_they_may():
    for _, shape in SHAPES:
        limits = shape.limits(NEEDS.limit)
        if min(limits) > 0:
            answers = CandidateNetwork(shape, NEEDS.source, rn.law(E1), limits, limits).answers
            assert [answers[pulls.ask] for pulls in shape.pulls] == pytest.approx([NEEDS.limit] * len(limits))


def test_there_is_a_shape_for_every_number_of_nodes_that_spares_somebody_a_child():
    ten = architectures(Needs(E1, 10, 0.0, 1.0))
    one = [[own.name for own in shape.pulls] for shape in ten["a tier above"]()]
    assert [names[0] for names in one] == [f"{n} x tier 1" for n in (1, 2, 3, 4, 5, 10)]
    assert {names[-1] for names in one} == {"replicas"}
    two = [(own.pulls[0].name, own.pulls[1].name) for own in ten["two tiers above"]()]
    assert ("2 x tier 1", "4 x tier 2") in two
    assert ("3 x tier 1", "4 x tier 2") not in two  # where somebody still has two
    assert len(two) == len(set(two))


@pytest.mark.parametrize(("pulls", "metric"), [(E1, "freshness"), ("constant(rate=1)", "lag")])
def test_a_thin_network_gives_the_same(pulls, metric):
    for name, shape in SHAPES:
        if name.startswith("cluster") and pulls != E1:
            continue  # where it is the same network
        laws = [str(rn.law(pulls.replace("rate=1", f"rate={rate}"))) for rate in rates_of(shape)]
        both = [
            rn.predict(rn.Network.from_data({"updates": E1} | data), metric).about(metric, shape.group)[0].predicted
            for data in (shape.specify(laws), shape.thin(laws))
        ]
        assert both[0] == pytest.approx(both[1], rel=1e-9)

"""Sets of nodes that are alike taken together: against all sets of nodes, and against the chain of a cluster."""

from __future__ import annotations

from itertools import combinations

import pytest
from all_sets import RATES, by_all_sets, contact_networks, kinds
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.ages.clusters.cluster import cluster
from replnet.ages.overlays.contacts import NodePull
from replnet.ages.overlays.informed_sets import (
    MOST_SETS,
    TooManySetsError,
    set_ages,
    start_from_choice,
    start_from_kind,
)
from replnet.laws import law


@settings(max_examples=80)
@given(contact_networks(), RATES, st.data())
def test_any_choice_of_nodes_is_as_fresh_as_all_sets_say(network, mu, data):
    hit, contacts = network
    asked = data.draw(st.lists(st.integers(0, hit.size - 1), unique=True, min_size=1))
    ask = data.draw(st.integers(1, len(asked)))
    known, found = by_all_sets(hit, contacts, mu), kinds(hit, contacts, [frozenset(asked)])
    if not {found.of[i] for i in asked} <= found.reachable():
        return
    (age,) = set_ages(found, [start_from_choice(found, asked, ask)])
    some = list(combinations(asked, ask))
    expected = sum(known[frozenset(one)] for one in some) / len(some)
    assert age.laplace(mu) == pytest.approx(expected, abs=1e-9)
    updates = law(f"exponential(rate={mu})")
    assert age.tail_curve(1.0).edges[-1] > 0
    assert 1 - mu * float(age.tail_curve(1.0).antiderivative().beyond) <= expected + 1e-9
    assert age.freshness(updates).value == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(("replicas", "peers", "ask"), [(10, 1, 1), (60, 3, 2), (8, 7, 3)])
def test_members_of_a_cluster_are_one_kind(replicas, peers, ask):
    pool = frozenset(range(replicas))
    found = kinds([1.0] * replicas, {i: [NodePull(2.0, pool, peers)] for i in pool})
    (age,) = set_ages(found, [{(ask,): 1.0}])
    known = cluster(replicas, law("exponential(rate=1)"), law("exponential(rate=2)"), peers, ask=ask)
    assert found.sizes == [replicas]
    assert age.laplace(1.3) == pytest.approx(known.laplace(1.3), abs=1e-12)
    assert float(age.tail(0.4)) == pytest.approx(float(known.tail(0.4)), abs=1e-9)


def test_peers_who_are_drawn_with_links_are_one_kind_too():
    everyone = frozenset(range(30))
    found = kinds([1.0] * 30, {i: [NodePull(2.0, everyone - {i})] for i in everyone})
    assert found.sizes == [30]


def test_who_has_nothing_but_by_way_of_another_adds_no_sets():
    """A chain of fifty nodes has as many sets that matter."""
    found = kinds([1.0] + [0.0] * 49, {i: [NodePull(60.0, frozenset({i - 1}))] if i else [] for i in range(50)})
    (age,) = set_ages(found, [start_from_kind(found, found.of[49])])
    assert age.laplace(1.0) == pytest.approx(1 / 2 * (60 / 61) ** 49)


@pytest.mark.parametrize("rate", [3.0, 5.0])
def test_too_many_sets_are_refused(rate):
    """Also where it is known from other rates."""
    nodes = frozenset(range(MOST_SETS.bit_length() + 1))
    found = kinds([rate + i for i in nodes], {i: [NodePull(rate, nodes)] for i in nodes})
    assert len(found.sizes) == len(nodes)
    with pytest.raises(TooManySetsError):
        set_ages(found, [start_from_kind(found, 2)])

"""Pairs of neighbours: bounds on any graph, exact on forests, with and without delays."""

from __future__ import annotations

from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from all_sets import RATES, by_all_sets, contact_networks, kinds
from hypothesis import given, settings

from replnet.ages.information_age import direct, pull, with_delay
from replnet.ages.overlays import spreading
from replnet.ages.overlays.contacts import NodePull, group_nodes
from replnet.ages.overlays.spreading import MOST_MESSAGES, pair_ages, pair_ages_together
from replnet.ages.prediction import NoFormulaError
from replnet.laws import law


@pytest.mark.parametrize("branches", [spreading.MOST_BRANCHES, 0])  # own trees, or one of the shortest ways
@settings(max_examples=80)
@given(contact_networks(), RATES)
def test_bounds_hold_on_any_graph(branches, network, mu):
    hit, contacts = network
    known, found = by_all_sets(hit, contacts, mu), kinds(hit, contacts)
    with patch.object(spreading, "MOST_BRANCHES", branches):
        ages = pair_ages(found)
    for i in range(hit.size):
        if found.of[i] in ages:
            age, truth = ages[found.of[i]], known[frozenset({i})]
            assert age.latest.laplace(mu) <= truth + 1e-7
            assert truth <= age.laplace(mu) + 1e-7
            if age.latest is age:
                assert age.laplace(mu) == pytest.approx(truth, abs=1e-7)


@settings(max_examples=20)
@given(contact_networks(), RATES)
def test_sets_that_are_solved_together_are_what_each_is_alone(network, mu):
    found = kinds(*network)
    ages = pair_ages(found)
    sets = list(combinations(ages, 2))
    together = pair_ages_together(found, ages, sets)
    for pair in sets:
        alone = pair_ages_together(found, ages, [pair])[pair]
        for one, other in zip(together[pair], alone, strict=True):
            assert one.latest.laplace(mu) == pytest.approx(other.latest.laplace(mu), abs=1e-9)


@pytest.mark.parametrize("fast", [1.0, 1e3])
def test_a_chain_with_delays_is_a_sum_of_ages(fast):
    rates, delays = [2.0, fast, 0.5, 3.0], [0.3, 0.0, 0.05, 1.1]
    contacts = {i: [NodePull(rates[i], frozenset({i - 1}), 1, delays[i])] if i else [] for i in range(4)}
    found = group_nodes({0: ((rates[0], delays[0]),)}, contacts)
    ages, known = pair_ages(found), None
    for i in range(4):
        own = law(f"exponential(rate={rates[i]})")
        known = with_delay(direct(own) if known is None else pull(known, own), delays[i])
        age = ages[found.of[i]]
        x = np.array([0.01, 0.4, 1.0, 3.0, 9.0])
        assert age.latest is age
        assert age.laplace(0.7) == pytest.approx(known.laplace(0.7), abs=1e-7)
        assert age.tail(x) == pytest.approx(known.tail(x), abs=1e-6)


def test_polls_both_ways_along_a_path_are_of_no_use_and_do_no_harm():
    """What a node hears from one that heard it from itself is nothing new, with delays as without."""
    one_way = {0: [], 1: [NodePull(2.0, frozenset({0}), 1, 0.2)]}
    both = one_way | {0: [NodePull(5.0, frozenset({1}), 1, 0.2)]}
    hits = {0: ((1.0, 0.0),)}
    alone, with_back = group_nodes(hits, one_way), group_nodes(hits, both)
    lonely, other = (pair_ages(found)[found.of[1]].laplace(1.0) for found in (alone, with_back))
    assert other == pytest.approx(lonely, abs=1e-8)


def test_very_many_contacts_are_refused_at_once():
    nodes = frozenset(range(int(MOST_MESSAGES**0.5) + 1))
    found = kinds([1.0] * len(nodes), {i: [NodePull(1.0 + i, nodes)] for i in nodes})
    with pytest.raises(NoFormulaError, match="contacts of nodes that are unlike"):
        pair_ages(found)

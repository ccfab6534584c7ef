"""The freshest of several copies that share ways: against sums over all choices, and against sets of nodes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from all_sets import by_all_sets
from hypothesis import given, settings
from hypothesis import strategies as st

from replnet.ages.freshest_of import ChoiceAges, forest_parts, freshest_of
from replnet.ages.information_age import best_of, direct
from replnet.ages.overlays.contacts import NodePull
from replnet.laws import law

LAWS = ["exponential(rate=1)", "constant(rate=2)", "pareto(alpha=3, rate=1)", "uniform(low=0, high=1)"]


@pytest.mark.parametrize("ask", [1, 2, 3, 4])
def test_choices_among_unlike_copies_are_a_mean_over_all_of_them(ask):
    ages = [direct(law(text)) for text in LAWS]
    found = freshest_of([ChoiceAges(1, (((1, age),),)) for age in ages], ask)
    x = np.linspace(0.01, 3, 20)
    expected = np.mean([best_of(some).tail(x) for some in combinations(ages, ask)], axis=0)
    assert found.tail(x) == pytest.approx(expected, abs=1e-12)
    assert (found.bound(x) >= expected - 1e-12).all()
    updates = law("pareto(alpha=3, rate=1)")
    expected = np.mean([best_of(some).freshness(updates).value for some in combinations(ages, ask)])
    assert found.freshness(updates).value == pytest.approx(expected, abs=1e-9)


@st.composite
def trees(draw):
    size = draw(st.integers(1, 6))
    return {i: draw(st.integers(-1, i - 1)) for i in range(size)}


@settings(max_examples=60)
@given(trees(), st.data())
def test_any_nodes_of_a_tree_may_be_asked(above, data):
    rates = [data.draw(st.sampled_from([0.5, 1.0, 3.0])) for _ in above]
    asked = data.draw(st.lists(st.sampled_from(sorted(above)), unique=True, min_size=1))
    ask = data.draw(st.integers(1, len(asked)))
    hit = [rate if above[i] < 0 else 0.0 for i, rate in enumerate(rates)]
    contacts = {i: [NodePull(rates[i], frozenset({up}))] if up >= 0 else [] for i, up in above.items()}
    known = by_all_sets(hit, contacts, 0.7)
    own = {rate: direct(law(f"exponential(rate={rate})")) for rate in rates}
    needed, waiting = {}, [*asked]
    while waiting:  # upstreams of who is asked, and nobody else
        i = waiting.pop()
        needed[i] = above[i]
        waiting += [above[i]] if above[i] >= 0 else []
    age = freshest_of(forest_parts(needed, {i: own[rates[i]] for i in needed}, asked, ask), ask)
    expected = np.mean([known[frozenset(some)] for some in combinations(asked, ask)])
    assert age.freshness(law("exponential(rate=0.7)")).value == pytest.approx(expected, abs=1e-8)


def test_branches_that_are_alike_are_one_part():
    own = direct(law("exponential(rate=1)"))
    above = {0: -1} | {i: (i - 1) // 3 for i in range(1, 40)}
    (part,) = forest_parts(above, dict.fromkeys(above, own), range(13, 40), 2)
    ((_, age),) = part.ways[1]
    assert part.size == 27
    assert [many for _, many in age.upstream.parts or age.own.parts] == [3]

"""Polls along links: against the chain of all sets of nodes, solved from the largest set down."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import replnet as rn
from replnet.laws import law
from replnet.predictions.overlay import _Epidemic


def exactly(size, hit, contacts, mu):
    """Freshness under Poisson updates of rate mu.

    Backwards in time the nodes from whom a copy could come grow from A to A and l at the rates of A's contacts with l,
    until one of them meets the source. With V(A) the mean of e^(-mu x) over the time x until then, per 1 / mu,
    (mu + hits of A + contacts out of A) V(A) = 1 + sum over contacts of V(A and l); freshness is 1 - mu V({i}).
    """
    value = {}
    for n in range(size, 0, -1):
        for some in combinations(range(size), n):
            out = [
                (rate, tuple(sorted({*some, to}))) for (i, to), rate in contacts.items() if i in some and to not in some
            ]
            total = mu + sum(hit[i] for i in some) + sum(rate for rate, _ in out)
            value[some] = (1 + sum(rate * value[more] for rate, more in out)) / total
    return np.array([1 - mu * value[i,] for i in range(size)])


RATES = st.sampled_from([0.1, 0.5, 1.0, 4.0])
GRAPHS = st.integers(2, 6).flatmap(
    lambda n: st.tuples(
        st.lists(st.sampled_from([0.0, 0.2, 1.0]), min_size=n, max_size=n),
        st.dictionaries(
            st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] != pair[1]),
            RATES, min_size=1, max_size=12,
        ),
    )
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(GRAPHS, RATES)
def test_bounds_hold_and_pairs_are_near_on_any_graph(graph, mu):
    hit, contacts = graph
    size = len(hit)
    known = exactly(size, hit, contacts, mu)
    epidemic = _Epidemic(size, np.array(hit), contacts)
    fresh, most, least = epidemic.freshness(law(f"exponential(rate={mu})"))
    assert (least <= known + 1e-6).all()
    assert (known <= most + 1e-6).all()
    if epidemic.forest:
        assert fresh == pytest.approx(known, abs=1e-6)
    assert np.abs(fresh - known).max() < 0.05


def path(**more):
    nodes = {"source": {"role": "source", "updates": "exponential(rate=1)"}, **{f"r{i}": more for i in range(4)}}
    links = [{"from": "source", "to": "r0"}, *(
        {"from": f"r{i}", "to": f"r{j}", "kind": "peer"} for i in range(4) for j in (i - 1, i + 1) if 0 <= j < 4
    )]  # fmt: skip
    nodes["r0"] = {**more, "downloads": "exponential(rate=2)"}
    return rn.graph(nodes=nodes, links=links)


def test_a_path_is_exact_and_measured():
    found = rn.emulate(path(polls="exponential(rate=3)", peers=1), horizon=4e5, seed=2)
    assert found.rows
    for row in found.rows:
        assert (row.kind, row.source, row.verdict) == ("exact", "pairs of neighbours", "agree"), row


@pytest.mark.parametrize("links", [["s -> a", "a -> b", "b -> a"], ["s -> a", "s -> b", "a -> c", "b -> c"]])
def test_downloads_that_go_round_or_choose_among_upstreams_are_pulls_like_others(links):
    about = {"downloads": "exponential(rate=2)"}
    nodes = {"s": {"role": "source", "updates": "exponential(rate=1)"}, "a": about, "b": about}
    if "a -> c" in links:
        nodes["c"] = {**about, "ask": 1}
    for row in rn.emulate(rn.graph(nodes=nodes, links=links), horizon=1e5, seed=1).rows:
        assert (row.kind, row.verdict) == ("exact", "agree")


@pytest.mark.parametrize("updates", ["constant(period=1)", "pareto(alpha=3, rate=1)", "uniform(low=0.5, high=1.5)"])
def test_updates_may_have_any_law(updates):
    network = rn.load("overlay", [f"nodes.source.updates={updates}"])
    found = rn.emulate(network, horizon=20_000.0, seed=3)
    for row in found.rows:
        assert row.kind == "approximation"
        assert row.verdict == "agree"
        assert abs(row.measured - row.predicted) < 0.01


@pytest.mark.parametrize(
    ("overrides", "why"),
    [
        (["polls=constant(rate=2)"], "polls along links at intervals that are not exponential"),
        (["peers=2"], "polls of several peers along links"),
        (["delay=0.1"], "polls along links that take time"),
    ],
)
def test_what_is_not_of_this_kind_has_no_formula(overrides, why):
    (row,) = rn.predict(rn.load("overlay", overrides)).rows
    assert row.predicted is None
    assert row.note.startswith(f"no formula: {why}")

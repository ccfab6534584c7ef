"""Freshness where nodes ask one another at Poisson instants, from all sets of nodes; and random such networks."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from replnet.ages.overlays.contacts import NodeKinds, NodePull, group_nodes

RATES = st.sampled_from([0.1, 0.5, 1.0, 4.0])


def by_all_sets(hit, contacts, mu):
    """How fresh the freshest copy in every set of nodes is under Poisson updates of rate mu.

    Backwards in time the nodes from whom a copy could come grow from A to A and B at the rate at which A asks B, until
    one of them meets the source. With V(A) the mean of e^(-mu x) over the time x until then, per 1 / mu,
    (mu + hits of A + contacts out of A) V(A) = 1 + sum over contacts of V(A and B); freshness is 1 - mu V(A).
    """
    value, size = {}, len(hit)
    for n in range(size, 0, -1):
        for some in map(frozenset, combinations(range(size), n)):
            out = [
                (one.rate / len(choices), some | set(asked))
                for i in some
                for one in contacts[i]
                for choices in [list(combinations(sorted(one.among - {i}), one.ask))]
                for asked in choices
                if not some.issuperset(asked)
            ]
            total = mu + sum(hit[i] for i in some) + sum(rate for rate, _ in out)
            value[some] = (1 + sum(rate * value[more] for rate, more in out)) / total
    return {some: 1 - mu * v for some, v in value.items()}


def kinds(hit, contacts, apart=()) -> NodeKinds:
    return group_nodes({i: ((rate, 0.0),) for i, rate in enumerate(hit) if rate}, contacts, apart)


@st.composite
def contact_networks(draw: st.DrawFn, single: bool = False):
    """How often each of some nodes meets the source, and whom they ask; of some several at a time."""
    size = draw(st.integers(2, 6))
    hit = draw(st.lists(st.sampled_from([0.0, 0.2, 1.0]), min_size=size, max_size=size))
    contacts = {}
    for i in range(size):
        lists = st.lists(st.sets(st.integers(0, size - 1), min_size=1), max_size=2, unique_by=frozenset)
        contacts[i] = []
        for among in draw(lists):
            others = len(among - {i})
            if others:
                ask = 1 if single else draw(st.integers(1, others))
                contacts[i].append(NodePull(draw(RATES), frozenset(among), ask))
    return np.array(hit), contacts

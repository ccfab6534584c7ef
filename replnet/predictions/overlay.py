"""Polls along the links of any graph, where all pulls are Poisson: freshness node by node (beyond P2P VI).

A node has nothing younger than x if neither it, nor anyone from whom its data could have come within x, has met the
source meanwhile. That is an epidemic (of the SI kind): at first all nodes are susceptible, node i is infected by the
source at rate s_i, and by every infected j that it pulls from at rate b_ij. So with S_i(x) = P(X_i > x) the chance to
be susceptible still, P_ij that i and j both are, and so on,

    S_i' = -s_i S_i - sum_j b_ij (S_i - P_ij)                                                            (1)
    P_ij' = -(s_i + s_j) P_ij - sum_{m != j} b_im (P_ij - P_ijm) - sum_{m != i} b_jm (P_ij - P_ijm).     (2)

(2) ends with P_ijm = P_ij P_im / S_i for m next to i: a susceptible i keeps j and m apart if no other way joins them.
So this is exact where the links are a forest, and an approximation elsewhere, which lies between two bounds. That nodes
are susceptible is positively associated, P_ij >= S_i S_j, with which (1) has the least S and the most freshness. And as
P_ijm <= min(P_ij, P_im), (2) with that in its place has the largest P, and (1) with these the largest S.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from replnet.ages.prediction import Basis, NoFormulaError, Prediction
from replnet.laws.families import Exponential
from replnet.laws.law import Floats, Ints, Law
from replnet.network.topology import QUERIES
from replnet.predictions.pull_graph import Asker, PullGraph

PAIRS = "pairs of neighbours"
ASSUMES = "Poisson downloads and polls, one peer a poll"
EXACT, CLOSE = Basis("exact", PAIRS, ASSUMES), Basis("approximation", PAIRS, ASSUMES)
MOST_TRIPLES = 5_000_000  # (pair, neighbour of one of it)
SETTLED = 1e-9  # freshness that is left to tell
NEAR, TINY = 1e-8, 1e-11  # relative and absolute tolerance of the integration
STEPS = 200  # stretches of time after which that is to be so


def overlay(graph: PullGraph, row: int, updates: Law) -> list[Prediction]:
    """How fresh every node's copy of one source is; raises NoFormulaError where pulls are not of this kind."""
    if graph.strict or graph.topology.delay or graph.topology.delays:
        raise NoFormulaError("polls along links that take time, or may come to nothing")
    if not all(one.law is None or not one.recent for one in graph.askers):
        raise NoFormulaError("recent contacts along links")
    hit, contacts = _rates(graph, row)
    epidemic = _Epidemic(graph.topology.size, hit, contacts)
    fresh, most, least = epidemic.freshness(updates)
    basis = EXACT if epidemic.forest else CLOSE
    off = np.zeros_like(fresh) if epidemic.forest else np.maximum(most - fresh, fresh - least)
    of, both = Prediction.of(0.0, basis), np.stack([fresh, np.maximum(off, 0.0)], axis=1).tolist()
    return [replace(of, value=value, accuracy=far) for value, far in both]


def _rates(graph: PullGraph, row: int) -> tuple[Floats, dict[tuple[int, int], float]]:
    """How often every node meets the source, and every other node."""
    hit, contacts = np.zeros(graph.topology.size), dict[tuple[int, int], float]()
    for asker in graph.askers:
        if asker.purpose == QUERIES or not asker.ask:
            continue
        rate, others = _rate(asker), asker.candidates.tolist()
        if graph.sources[row] in others:
            if asker.ask < len(others):
                raise NoFormulaError("pulls along links that choose between a source and replicas")
            hit[asker.node] += rate
        elif asker.ask > 1:
            raise NoFormulaError("polls of several peers along links")
        else:
            for other in others:
                if other not in graph.sources:
                    key = asker.node, other
                    contacts[key] = contacts.get(key, 0.0) + rate / len(others)
    return hit, contacts


def _rate(asker: Asker) -> float:
    if not isinstance(asker.law, Exponential):
        raise NoFormulaError("polls along links at intervals that are not exponential")
    return asker.law.rate


class _Epidemic:
    """(1) and (2), with all that they need as flat arrays."""

    def __init__(self, size: int, hit: Floats, contacts: dict[tuple[int, int], float]) -> None:
        self._hit, self._size = hit, size
        pairs = {pair: at for at, pair in enumerate(dict.fromkeys((min(key), max(key)) for key in contacts))}
        self._a, self._b = np.array(list(pairs), np.int64).reshape(-1, 2).T
        self._who, self._whom = np.array(list(contacts), np.int64).reshape(-1, 2).T
        self._often = np.array(list(contacts.values()))
        self._pair = np.array([pairs[min(key), max(key)] for key in contacts], np.int64)
        self._triple_pair, self._triple_contact = self._triples()

    def _triples(self) -> tuple[Ints, Ints]:
        """For every pair the contacts of one of it with a third."""
        order = np.argsort(self._who, kind="stable")
        begin = np.searchsorted(self._who[order], np.arange(self._size + 1))
        found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        count = 0
        for one, other in ((self._a, self._b), (self._b, self._a)):
            sizes = begin[one + 1] - begin[one]
            count += int(sizes.sum())
            if count > MOST_TRIPLES:
                raise NoFormulaError(f"more than {MOST_TRIPLES:,} neighbours of pairs of neighbours")
            pair = np.repeat(np.arange(one.size), sizes)
            contact = order[np.arange(pair.size) - np.repeat(np.cumsum(sizes) - sizes - begin[one], sizes)]
            third = self._whom[contact] != other[pair]
            found.append((pair[third], contact[third]))
        pair, contact = (np.concatenate(column) for column in zip(*found, strict=True))
        return pair, contact

    @property
    def forest(self) -> bool:
        """Whether there is one way at most between any two nodes."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        links = coo_array((np.ones(self._a.size), (self._a, self._b)), shape=(self._size, self._size))
        return bool(self._a.size == self._size - connected_components(links, directed=False)[0])

    def freshness(self, updates: Law) -> tuple[Floats, Floats, Floats]:
        """By (2) as it is closed, and the most and the least that it may be."""
        from scipy.integrate import solve_ivp

        n, e, age = self._size, self._a.size, updates.age
        state = np.concatenate([np.ones(n), np.ones(e), np.ones(n), np.ones(n), np.ones(e), np.zeros(3 * n)])
        reached, end, breaks = self._reached, 0.0, [x for x in updates.breaks if x > 0]
        stride = min(updates.mean, 1 / max(float(self._hit.sum()), 1e-300))
        for _ in range(STEPS):
            begin, end = end, min([x for x in breaks if x > end + 1e-12 * x] + [end + stride])
            within = end - TINY * (end - begin)  # where the tail jumps, the stretch before the jump is meant

            def slope(x: float, y: Floats, within: float = within) -> Floats:
                return self._slope(y, float(updates.tail(min(x, within))))

            found = solve_ivp(slope, (begin, end), state, method="DOP853", rtol=NEAR, atol=TINY)
            state, stride = found.y[:, -1], stride * 1.5
            left = max(float(state[at : at + n][reached].max(initial=0.0)) for at in (0, n + e, 2 * n + e))
            if left * float(age.tail(end)) < SETTLED:
                break
        stale = state[-3 * n :].reshape(3, n) / updates.mean
        beyond = float(age.tail(end)) * np.stack([state[:n], state[n + e : 2 * n + e], state[2 * n + e : 3 * n + e]])
        fresh = np.clip(1 - stale - beyond, 0.0, 1.0)
        return fresh[0], fresh[1], fresh[2]

    @property
    def _reached(self) -> Ints:
        """Nodes that something may come to."""
        there = self._hit > 0
        while (more := self._who[there[self._whom] & ~there[self._who]]).size:
            there[more] = True
        return np.flatnonzero(there)

    def _slope(self, state: Floats, tail: float) -> Floats:
        """Of S and P as they are closed, of the least S, of the largest S and P, and of the time that each is stale."""
        n, e, hit = self._size, self._a.size, self._hit
        s, p, low, high, g, _ = np.split(state, np.cumsum([n, e, n, n, e]))
        who, pair, often = self._who, self._pair, self._often
        t, c = self._triple_pair, self._triple_contact
        both = hit[self._a] + hit[self._b]
        both_of = np.divide(p[pair], s[who], out=np.ones(pair.size), where=s[who] > TINY)
        apart = 1 - np.clip(both_of, 0.0, 1.0)  # that j is infected where i is not
        down = -both * p - p * np.bincount(t, (often * apart)[c], e)
        up = -both * g - np.bincount(t, often[c] * np.maximum(g[t] - g[pair[c]], 0.0), e)
        return np.concatenate(
            [
                -hit * s - np.bincount(who, often * (s[who] - p[pair]), n),
                down,
                -hit * low - np.bincount(who, often * low[who] * (1 - low[self._whom]), n),
                -hit * high - np.bincount(who, often * np.maximum(high[who] - g[pair], 0.0), n),
                up,
                tail * s, tail * low, tail * high,
            ]
        )  # fmt: skip

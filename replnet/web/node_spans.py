"""Stretches of time, each of a node: when a copy was there, when it was fresh, when the node was down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.laws.law import Floats, Ints


@final
@dataclass(frozen=True, eq=False)
class NodeSpans:
    """Stretches of time: of which node, from when to when."""

    node: Ints
    begin: Floats
    end: Floats

    def of(self, nodes: Ints) -> NodeSpans:
        """Those of some nodes."""
        mine = np.isin(self.node, nodes)
        return NodeSpans(self.node[mine], self.begin[mine], self.end[mine])

    def without(self, others: NodeSpans) -> NodeSpans:
        """What is left of them beside those of the same nodes, of which none overlap."""
        apart: dict[int, list[tuple[float, float]]] = {}
        for node, begin, end in sorted(zip(*(column.tolist() for column in others._columns), strict=True)):
            apart.setdefault(node, []).append((begin, end))
        cut = np.isin(self.node, others.node)
        rows = list[tuple[int, float, float]]()
        for node, begin, end in zip(*(column[cut].tolist() for column in self._columns), strict=True):
            for down, up in apart[node]:
                if begin < up and down < end:
                    rows.append((node, begin, down))
                    begin = up
            rows.append((node, begin, end))
        rows = [row for row in rows if row[1] < row[2]]
        node, begin, end = np.array(rows, float).reshape(-1, 3).T
        kept = (column[~cut] for column in self._columns)
        return NodeSpans(*map(np.concatenate, zip(kept, (node.astype(np.int64), begin, end), strict=True)))

    @property
    def _columns(self) -> tuple[Ints, Floats, Floats]:
        return self.node, self.begin, self.end

    def until(self, times: Floats) -> Floats:
        """Their lengths added up until each of these times."""
        return _since(self.begin, times) - _since(self.end, times)

    def at(self, time: float, nodes: int) -> Ints:
        """How many of each node's there are at a time."""
        now = (self.begin <= time) & (time < self.end)
        return np.bincount(self.node[now], minlength=nodes)


def _since(begins: Floats, times: Floats) -> Floats:
    """The times since these instants, added up, at each of `times`."""
    order = np.sort(begins)
    sums = np.concatenate([[0.0], np.cumsum(order)])
    count = np.searchsorted(order, times, side="right")
    return np.asarray(count * times - sums[count])

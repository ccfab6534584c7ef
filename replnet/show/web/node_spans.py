"""Time spans of nodes: when they held a copy, when the copy was fresh, when they were down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from replnet.laws import Floats, Ints
from replnet.measure import length_below


@final
@dataclass(frozen=True, eq=False)
class NodeSpans:
    """Time spans in three columns: the number of a node, the begin of its span, and the end. A node may
    have several.
    """

    node: Ints
    begin: Floats
    end: Floats

    def of_nodes(self, nodes: Ints) -> NodeSpans:
        """Return those of these spans that are of the nodes with these numbers."""
        rows = np.isin(self.node, nodes)
        return NodeSpans(self.node[rows], self.begin[rows], self.end[rows])

    def minus(self, others: NodeSpans) -> NodeSpans:
        """Return these spans without the times that the same node has in `others`, whose spans must not overlap."""
        others_of: dict[int, list[tuple[float, float]]] = {}
        for node, begin, end in sorted(zip(*(column.tolist() for column in others._columns), strict=True)):
            others_of.setdefault(node, []).append((begin, end))
        cut = np.isin(self.node, others.node)
        rows = list[tuple[int, float, float]]()
        for node, begin, end in zip(*(column[cut].tolist() for column in self._columns), strict=True):
            for down, up in others_of[node]:
                if begin < up and down < end:
                    rows.append((node, begin, down))
                    begin = up
            rows.append((node, begin, end))
        rows = [row for row in rows if row[1] < row[2]]
        node, begin, end = np.array(rows, float).reshape(-1, 3).T
        uncut = (column[~cut] for column in self._columns)
        return NodeSpans(*map(np.concatenate, zip(uncut, (node.astype(np.int64), begin, end), strict=True)))

    @property
    def _columns(self) -> tuple[Ints, Floats, Floats]:
        """The columns `node`, `begin` and `end`."""
        return self.node, self.begin, self.end

    def total_until(self, times: Floats) -> Floats:
        """Return the total length of all spans of all nodes up to each of `times`, in an array like `times`."""
        return length_below(self.begin, self.end, times)

    def count_at(self, time: float, nodes: int) -> Ints:
        """Return how many spans contain the instant `time`, their begin included and their end not, for each node from
        0 to `nodes` - 1.
        """
        now = (self.begin <= time) & (time < self.end)
        return np.bincount(self.node[now], minlength=nodes)

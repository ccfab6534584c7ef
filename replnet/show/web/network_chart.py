"""The chart of a network that shows where copies are fresh: node by node, or, if there are very many, group by group.

Shapes say what colours say: sources are squares, what is fresh a filled dot, what is stale a hollow triangle, and what
lies between a diamond. Of groups the length of a bar says it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from replnet.laws import Ints
from replnet.network import CLIENT, REPLICA, ROLES, SOURCE, Network
from replnet.show import EITHER_QUIET, EITHER_SERIES
from replnet.show.pictures import layout
from replnet.show.web.live_record import MOST_NODES
from replnet.show.web.series import (
    MOST_GROUPS_ON_AXIS,
    TOOLTIP,
    Options,
    chart_with_axes,
    number_or_none,
)

MOST_LINKS = 600
LARGE_SYMBOLS_BELOW = 60  # nodes
# The share of fresh copies up to which a node is drawn as stale, and that from which it is drawn as fresh: where the
# copies of a node are counted, and where a node is drawn by the freshness of its group.
STATE_LIMITS, SHARE_LIMITS = (0.0, 1.0), (1 / 3, 2 / 3)


@final
class NetworkChart:
    """The chart of one network: `by_node` if it has a symbol for each node, else a bar for each group."""

    def __init__(self, network: Network) -> None:
        self._topology, self.by_node = network.topology, network.size <= MOST_NODES
        if self.by_node:
            self._plan = layout(network.graph)
            self._frame = self._empty_chart()

    @property
    def legend(self) -> str:
        """A line of text about the meaning of the symbols, or of the bars."""
        if not self.by_node:
            return "Bars: the share of copies that are fresh · ◇ predicted · in brackets: how many nodes"
        more = f" · {self._plan.left_out:,} more nodes are not drawn" if self._plan.left_out else ""
        return f"■ source · ● fresh · △ stale · ◆ in between · dotted: no copy, or down · small: client{more}"

    def by_state(self, held: Ints, fresh: Ints, predicted: Mapping[str, float], waiting: Sequence[int] = ()) -> Options:
        """Return the ECharts options for a network whose nodes hold `held` copies, `fresh` of them fresh, both by node.

        `predicted` is the freshness of each group, shown if the chart has a bar for each; `waiting` is the number of
        messages in line at each node, empty if that is not known.
        """
        if self.by_node:
            return self._with_nodes(self._marks(held, fresh, waiting))
        return self._bars(self._shares(held, fresh), predicted)

    def by_share(self, shares: Mapping[str, float], predicted: Mapping[str, float]) -> Options:
        """Return the ECharts options for a network whose groups have these shares of fresh copies, none for a group
        without copies.

        `predicted` is the freshness of each group, shown if the chart has a bar for each.
        """
        if not self.by_node:
            return self._bars(shares, predicted)
        marks, groups = [], (*self._topology.groups, "source")  # the last is that of number -1
        for i, group in enumerate(self._topology.group.tolist()):
            share = shares.get(groups[group])
            words = f"{groups[group]}, {share:.3f} fresh" if share is not None else groups[group]
            marks.append(self._mark(i, share, words, SHARE_LIMITS))
        return self._with_nodes([mark for mark in marks if mark])

    def _shares(self, held: Ints, fresh: Ints) -> dict[str, float]:
        """Return the share of fresh copies among all copies of each group that has any; `held` and `fresh` count both
        by node.
        """
        group, groups = self._topology.group, self._topology.groups
        copy_counts, fresh_counts = (
            np.bincount(group[group >= 0], counts[group >= 0], len(groups)) for counts in (held, fresh)
        )
        triples = zip(groups, fresh_counts.tolist(), copy_counts.tolist(), strict=True)
        return {name: fresh_count / copy_count for name, fresh_count, copy_count in triples if copy_count}

    def nodes_data(self, held: Ints, fresh: Ints) -> list[Any]:
        """Return what changes in the chart while time goes on: the symbols of the nodes, or the lengths of the bars.

        `held` is the number of copies of each node, and `fresh` how many of these are fresh.
        """
        return self._marks(held, fresh) if self.by_node else self._lengths(self._shares(held, fresh))

    def _marks(self, held: Ints, fresh: Ints, waiting: Sequence[int] = ()) -> list[Options]:
        """Return the symbols of the nodes that are drawn, with words about their copies and their messages in line.

        `held` is the number of copies of each node, and `fresh` how many of these are fresh; `waiting` is the number of
        messages in line at each, empty if that is not known.
        """
        marks = []
        no_copy = ["no copy" if role == REPLICA else ROLES[role] for role in self._topology.role.tolist()]
        for i, (copies, fresh_copies) in enumerate(zip(held.tolist(), fresh.tolist(), strict=True)):
            words = (
                f"{fresh_copies} of {copies} copies fresh"
                if copies > 1
                else ("stale", "fresh")[fresh_copies]
                if copies
                else no_copy[i]
            )
            line = f", {waiting[i]:,} messages in line" if waiting and waiting[i] else ""
            marks.append(self._mark(i, fresh_copies / copies if copies else None, words + line, STATE_LIMITS))
        return [mark for mark in marks if mark]

    def _mark(self, i: int, share: float | None, words: str, limits: tuple[float, float]) -> Options | None:
        """Return the symbol of node i, whose share of fresh copies is `share` (None: no copy); None if the node is not
        drawn.

        `words` are shown at its name. Up to the lower of the `limits` the node is drawn as stale, from the upper one on
        as fresh.
        """
        name, role = self._topology.names[i], self._topology.role[i]
        if name not in self._plan.places:
            return None
        size = 13 if len(self._plan.places) < LARGE_SYMBOLS_BELOW else 9
        symbol, style = _symbol_and_style(share, *limits)
        if role == SOURCE:
            symbol, style = "rect", {"color": EITHER_QUIET}
        elif role == CLIENT and share is None:
            size = 5
        node: Options = {"id": name, "name": f"{name}: {words}", "value": [*self._plan.places[name]], "symbol": symbol}
        return node | {"itemStyle": style, "symbolSize": size}

    def _empty_chart(self) -> tuple[Options, Options]:
        """Return the ECharts options of a chart without nodes, and those of the series of its links."""
        places = self._plan.places
        pairs = [(a, b) for a, b in self._topology.graph.edges if a in places and b in places][:MOST_LINKS]
        links: Options = {"type": "lines", "coordinateSystem": "cartesian2d", "silent": True}
        links |= {"lineStyle": {"color": EITHER_QUIET, "opacity": 0.45, "width": 1}}
        links["data"] = [{"coords": [places[a], places[b]]} for a, b in pairs]
        hidden = {"type": "value", "show": False, "min": -0.03, "max": 1.03}
        tip = {**TOOLTIP, "formatter": "{b}"}
        grid = {"left": 16, "right": 16, "top": 16, "bottom": 16}
        options: Options = {"animation": False, "aria": {"enabled": True}, "tooltip": tip, "grid": grid}
        return options | {"xAxis": hidden, "yAxis": hidden}, links

    def _with_nodes(self, marks: list[Options]) -> Options:
        """Return the ECharts options of the chart with these symbols as its nodes."""
        options, links = self._frame
        return options | {
            "series": [links, {"id": "nodes", "type": "scatter", "cursor": "default", "z": 3, "data": marks}]
        }

    def _bars(self, shares: Mapping[str, float], predicted: Mapping[str, float]) -> Options:
        """Return the ECharts options of a chart with a bar for each group, in the order in which data flows.

        `shares` are the lengths of the bars and `predicted` the places of diamonds, both by group; a group that is
        missing in them has none.
        """
        names, words = [*self._sizes], [f"{name} ({size:,})" for name, size in self._sizes.items()]
        bars: Options = {"id": "nodes", "name": "fresh", "type": "bar", "barMaxWidth": 26, "showBackground": True}
        bars |= {"itemStyle": {"color": EITHER_SERIES[0]}}
        bars["data"] = self._lengths(shares)
        hollow = {"color": "transparent", "borderColor": EITHER_SERIES[1], "borderWidth": 2}
        marks: Options = {"name": "predicted", "type": "scatter", "symbol": "diamond", "symbolSize": 13, "z": 3}
        marks |= {
            "itemStyle": hollow,
            "data": [[number_or_none(predicted.get(name)), at] for at, name in enumerate(names)],
        }
        x = {"type": "value", "min": 0, "max": 1, "name": "fresh"}
        options = chart_with_axes(x, {"type": "category", "data": words, "inverse": True}, [bars, marks])
        return options | {"grid": options["grid"] | {"left": 16, "top": 30, "containLabel": True}}

    def _lengths(self, shares: Mapping[str, float]) -> list[float | None]:
        """Return the length of each bar, the group's share to three decimals; None for a group that `shares` does not
        have.
        """
        return [round(shares[name], 3) if name in shares else None for name in self._sizes]

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """The number of nodes of each group that has a bar, by its name."""
        topology = self._topology
        counts = np.bincount(topology.group[topology.group >= 0], minlength=len(topology.groups))
        groups = [pair for pair in zip(topology.groups, counts.tolist(), strict=True) if pair[1]]
        return dict(groups[:MOST_GROUPS_ON_AXIS])


def _symbol_and_style(share: float | None, low: float, high: float) -> tuple[str, Options]:
    """Return the symbol and the style of a node of whose copies this share is fresh; None if it has no copy.

    It is drawn as stale up to the share `low`, as fresh from `high` on, and else as in between.
    """
    if share is None:
        return "circle", {
            "color": "transparent",
            "borderColor": EITHER_QUIET,
            "borderType": "dotted",
            "borderWidth": 1.5,
        }
    if share >= high:
        return "circle", {"color": EITHER_SERIES[0]}
    if share <= low:
        return "triangle", {"color": "transparent", "borderColor": EITHER_SERIES[1], "borderWidth": 2}
    return "diamond", {"color": EITHER_SERIES[2]}

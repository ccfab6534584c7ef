"""A network and who is fresh in it: node by node, or of very many nodes group by group.

Shapes say what colours say: sources are squares, what is fresh a filled dot, what is stale a hollow triangle, and what
lies between a diamond. Of groups the length of a bar says it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np

from replnet.laws.law import Ints
from replnet.network.network import Network
from replnet.network.pictures.positions import layout
from replnet.network.topology import CLIENT, REPLICA, ROLES, SOURCE
from replnet.web.live_record import MOST_NODES
from replnet.web.series import COLOURS, MOST_GROUPS, QUIET, Options, base, shown

MOST_LINKS = 600
FEW = 60  # nodes that are drawn large
ALL, MOSTLY = (0.0, 1.0), (1 / 3, 2 / 3)  # the shares up to which nodes are drawn as stale, and from which as fresh


@final
class NetworkChart:
    """What does not change of it while the run goes on."""

    def __init__(self, network: Network) -> None:
        self._topology, self.each = network.topology, network.size <= MOST_NODES
        if self.each:
            self._plan = layout(network.graph)
            self._frame = self._without_nodes()

    @property
    def legend(self) -> str:
        if not self.each:
            return "Bars: the share of copies that are fresh · ◇ predicted · in brackets: how many nodes"
        more = f" · {self._plan.left_out:,} more nodes are not drawn" if self._plan.left_out else ""
        return f"■ source · ● fresh · △ stale · ◆ in between · dotted: no copy, or down · small: client{more}"

    def by_state(self, held: Ints, fresh: Ints, predicted: Mapping[str, float], waiting: Sequence[int] = ()) -> Options:
        """Who has a fresh copy now; `waiting`: messages in the line of each node."""
        if self.each:
            return self._drawn(self._marks(held, fresh, waiting))
        return self._bars(self._shares(held, fresh), predicted)

    def by_share(self, shares: Mapping[str, float], predicted: Mapping[str, float]) -> Options:
        """How fresh the group of each node is."""
        if not self.each:
            return self._bars(shares, predicted)
        marks, groups = [], (*self._topology.groups, "source")  # the last is that of number -1
        for i, group in enumerate(self._topology.group.tolist()):
            share = shares.get(groups[group])
            words = f"{groups[group]}, {share:.3f} fresh" if share is not None else groups[group]
            marks.append(self._mark(i, share, words, MOSTLY))
        return self._drawn([mark for mark in marks if mark])

    def _shares(self, held: Ints, fresh: Ints) -> dict[str, float]:
        """By group, of the copies that there are, those that are fresh."""
        group, groups = self._topology.group, self._topology.groups
        copies, good = (np.bincount(group[group >= 0], each[group >= 0], len(groups)) for each in (held, fresh))
        both = zip(groups, good.tolist(), copies.tolist(), strict=True)
        return {name: some / every for name, some, every in both if every}

    def nodes_data(self, held: Ints, fresh: Ints) -> list[Any]:
        """What alone changes of the chart while time goes on."""
        return self._marks(held, fresh) if self.each else self._lengths(self._shares(held, fresh))

    def _marks(self, held: Ints, fresh: Ints, waiting: Sequence[int] = ()) -> list[Options]:
        found = []
        nothing = ["no copy" if role == REPLICA else ROLES[role] for role in self._topology.role.tolist()]
        for i, (there, good) in enumerate(zip(held.tolist(), fresh.tolist(), strict=True)):
            words = (
                f"{good} of {there} copies fresh" if there > 1 else ("stale", "fresh")[good] if there else nothing[i]
            )
            line = f", {waiting[i]:,} messages in line" if waiting and waiting[i] else ""
            found.append(self._mark(i, good / there if there else None, words + line, ALL))
        return [mark for mark in found if mark]

    def _mark(self, i: int, share: float | None, words: str, ends: tuple[float, float]) -> Options | None:
        name, role = self._topology.names[i], self._topology.role[i]
        if name not in self._plan.places:
            return None
        size = 13 if len(self._plan.places) < FEW else 9
        symbol, style = _look(share, *ends)
        if role == SOURCE:
            symbol, style = "rect", {"color": QUIET}
        elif role == CLIENT and share is None:
            size = 5
        node: Options = {"id": name, "name": f"{name}: {words}", "value": [*self._plan.places[name]], "symbol": symbol}
        return node | {"itemStyle": style, "symbolSize": size}

    def _without_nodes(self) -> tuple[Options, Options]:
        """A chart without nodes, and its links."""
        places = self._plan.places
        pairs = [(a, b) for a, b in self._topology.graph.edges if a in places and b in places][:MOST_LINKS]
        links: Options = {"type": "lines", "coordinateSystem": "cartesian2d", "silent": True}
        links |= {"lineStyle": {"color": QUIET, "opacity": 0.45, "width": 1}}
        links["data"] = [{"coords": [places[a], places[b]]} for a, b in pairs]
        hidden = {"type": "value", "show": False, "min": -0.03, "max": 1.03}
        tip = {"trigger": "item", "confine": True, "formatter": "{b}"}
        grid = {"left": 16, "right": 16, "top": 16, "bottom": 16}
        made: Options = {"animation": False, "aria": {"enabled": True}, "tooltip": tip, "grid": grid}
        return made | {"xAxis": hidden, "yAxis": hidden}, links

    def _drawn(self, marks: list[Options]) -> Options:
        made, links = self._frame
        return made | {
            "series": [links, {"id": "nodes", "type": "scatter", "cursor": "default", "z": 3, "data": marks}]
        }

    def _bars(self, shares: Mapping[str, float], predicted: Mapping[str, float]) -> Options:
        """A bar for each group, in the order in which data flows."""
        names, words = [*self._sizes], [f"{name} ({size:,})" for name, size in self._sizes.items()]
        bars: Options = {"id": "nodes", "name": "fresh", "type": "bar", "barMaxWidth": 26, "showBackground": True}
        bars |= {"itemStyle": {"color": COLOURS[0]}}
        bars["data"] = self._lengths(shares)
        hollow = {"color": "transparent", "borderColor": COLOURS[1], "borderWidth": 2}
        marks: Options = {"name": "predicted", "type": "scatter", "symbol": "diamond", "symbolSize": 13, "z": 3}
        marks |= {"itemStyle": hollow, "data": [[shown(predicted.get(name)), at] for at, name in enumerate(names)]}
        x = {"type": "value", "min": 0, "max": 1, "name": "fresh"}
        made = base(x, {"type": "category", "data": words, "inverse": True}, [bars, marks])
        return made | {"grid": made["grid"] | {"left": 16, "top": 30, "containLabel": True}}

    def _lengths(self, shares: Mapping[str, float]) -> list[float | None]:
        return [round(shares[name], 3) if name in shares else None for name in self._sizes]

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """The groups that are shown, and how many nodes each has."""
        topology = self._topology
        many = np.bincount(topology.group[topology.group >= 0], minlength=len(topology.groups))
        found = [pair for pair in zip(topology.groups, many.tolist(), strict=True) if pair[1]]
        return dict(found[:MOST_GROUPS])


def _look(share: float | None, low: float, high: float) -> tuple[str, Options]:
    """The symbol and the style of what is fresh to this share; None: there is no copy."""
    if share is None:
        return "circle", {"color": "transparent", "borderColor": QUIET, "borderType": "dotted", "borderWidth": 1.5}
    if share >= high:
        return "circle", {"color": COLOURS[0]}
    if share <= low:
        return "triangle", {"color": "transparent", "borderColor": COLOURS[1], "borderWidth": 2}
    return "diamond", {"color": COLOURS[2]}

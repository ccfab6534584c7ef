"""The graph seen as trees, and these as rows of nodes in which what does not fit is drawn as one.

All nodes of a level stand in one row, or none: where a level has more than a row can show, every subtree from there on
becomes a crowd, as wide as it is large. So do leaves that are alike and many.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

Point = tuple[float, float]

MOST_DOTS = 4_000  # nodes of crowds that are drawn one by one
CROWD = 29  # leaves that are alike, side by side: more than a row has names for
MOST_IN_ROW = 100
MOST_LEVELS = 12  # above crowds
MOST_BANDS = 6
WIDE, GAP, BAND = 13.0, 0.95, 0.22  # inches: of a picture, between rows, of a band


@final
@dataclass(frozen=True, slots=True)
class Forest:
    """Every replica below the first upstream that data reaches it through.

    Roots are the sources, at level 0, and then what no source reaches, at level 1.
    """

    roots: list[str]
    below: dict[str, list[str]]
    level: dict[str, int]

    def sizes(self) -> dict[str, int]:
        """Nodes below each, not counting itself."""
        sizes: dict[str, int] = {}
        for name in sorted(self.level, key=lambda name: -self.level[name]):
            sizes[name] = sum(1 + sizes[child] for child in self.below[name])
        return sizes

    @property
    def depth(self) -> int:
        return max(self.level.values())


def forest(graph: Any) -> Forest:
    """The trees of sources and replicas."""
    roles = {name: role for name, role in graph.nodes(data="role") if role != "client"}
    found = Forest([], {name: [] for name in roles}, {})
    # All sources at once, so that a replica of several stands at its shortest distance.
    _grow(graph, found, [name for name, role in roles.items() if role == "source"], 0)
    for name in roles:
        if name not in found.level:
            _grow(graph, found, [name], 1)
    return found


def _grow(graph: Any, found: Forest, roots: list[str], level: int) -> None:
    found.roots.extend(roots)
    found.level.update(dict.fromkeys(roots, level))
    queue = deque(roots)
    while queue:
        name = queue.popleft()
        for child, edge in graph.adj[name].items():
            if edge["kind"] == "download" and child in found.below and child not in found.level:
                found.level[child] = found.level[name] + 1
                found.below[name].append(child)
                queue.append(child)


@final
@dataclass(frozen=True, slots=True, eq=False)
class NodeCrowd:
    """Nodes drawn as one: those that are alike as a box of dots, or a subtree as a band for each of its levels."""

    names: tuple[str, ...]
    box: tuple[float, float, float, float]  # left, low, right, high
    bands: tuple[tuple[str, int], ...] = ()  # of a subtree: the group of each level, and how many nodes it has

    @property
    def top(self) -> Point:
        return ((self.box[0] + self.box[2]) / 2, self.box[3])

    @property
    def bottom(self) -> Point:
        return ((self.box[0] + self.box[2]) / 2, self.box[1])


@final
@dataclass(slots=True)
class _Unit:
    """A node with what hangs below it, or a crowd; sizes and places in inches."""

    names: Sequence[str]
    below: list[_Unit] = field(default_factory=list)
    bands: tuple[tuple[str, int], ...] = ()
    together: bool = False
    wide: float = 0.0
    high: float = 0.0
    x: float = 0.0
    columns: int = 1


def rows(graph: Any, trees: Forest, clients: list[str]) -> tuple[dict[str, Point], list[NodeCrowd]]:
    """The places of nodes and the crowds of a picture, in inches; data flows down."""
    lines = _in_lines(graph, trees)
    tops = lines[0]
    asking = _alike(graph, {}, clients)
    lines += [asking] if asking else []
    _measure([unit for line in lines for unit in line], max(map(len, lines)))
    trunk = sum(_across(unit) for unit in tops)
    across = 0.0
    for unit in tops:
        across = _place(unit, across)
    # Lines of their own are spread below or above the trees.
    for line in lines:
        if not any(unit.x for unit in line):
            room = max(trunk, sum(unit.wide for unit in line))
            spare, across = (room - sum(unit.wide for unit in line)) / len(line), (trunk - room) / 2
            for unit in line:
                unit.x, across = across + (unit.wide + spare) / 2, across + unit.wide + spare
    return _drawn(lines)


def _in_lines(graph: Any, trees: Forest) -> list[list[_Unit]]:
    """Units by level, the first with the others below them; or sources, and replicas that ask them all."""
    parents = [len(graph.pred[name]) for name, level in trees.level.items() if level]
    if len(trees.roots) > 1 and trees.depth == 1 and min(parents) >= len(trees.roots):
        levels = [[name for name, at in trees.level.items() if at == level] for level in (0, 1)]
        return [_alike(graph, {}, names) for names in levels]
    tops = _alike(graph, trees.below, trees.roots)
    lines = [tops if len(tops) <= MOST_IN_ROW else [_subtree(graph, trees, trees.roots)]]
    while True:
        for unit in lines[-1]:
            unit.below = [] if unit.together else _alike(graph, trees.below, trees.below[unit.names[0]])
        following = [one for unit in lines[-1] for one in unit.below]
        if not following:
            return lines
        if len(following) > MOST_IN_ROW or (len(lines) > MOST_LEVELS and trees.depth > len(lines) + 1):
            for unit in lines[-1]:
                unit.below = [_subtree(graph, trees, trees.below[unit.names[0]])] if unit.below else []
            return [*lines, [one for unit in lines[-1] for one in unit.below]]
        lines.append(following)


def _alike(graph: Any, below: dict[str, list[str]], names: Iterable[str]) -> list[_Unit]:
    """Many leaves of one group and pool as a crowd each, and nodes by themselves."""
    kinds: dict[object, list[str]] = defaultdict(list)
    for name in names:
        node = graph.nodes[name]
        kinds[name if below.get(name) else (node["role"], node["group"], node.get("pool"))].append(name)
    found = []
    for some in kinds.values():
        found += [_Unit(some, together=True)] if len(some) >= CROWD else [_Unit([name]) for name in some]
    return found


def _subtree(graph: Any, trees: Forest, tops: Sequence[str]) -> _Unit:
    """What begins with these nodes as bands of a few levels each; a band counts the nodes of a level of it."""
    levels, row = [], list(tops)
    while row:
        levels.append(row)
        row = [child for name in row for child in trees.below[name]]
    deep = math.ceil(len(levels) / MOST_BANDS)
    parts = [levels[at : at + deep] for at in range(0, len(levels), deep)]
    bands = tuple((_group(graph, part[0]), round(sum(map(len, part)) / len(part))) for part in parts)
    return _Unit([name for level in levels for name in level], bands=bands, together=True)


def _group(graph: Any, names: Iterable[str]) -> str:
    """The group of most of them."""
    return str(Counter(graph.nodes[name]["group"] for name in names).most_common(1)[0][0])


def _measure(units: Sequence[_Unit], in_line: int) -> None:
    """How wide and high each is by itself, where so many stand in one line."""
    dots = sum(len(unit.names) for unit in units if unit.together and not unit.bands)
    hidden = sum(len(unit.names) for unit in units if unit.bands)
    pitch = min(0.16, max(0.05, math.sqrt(24 / max(dots, 1))))
    for unit in units:
        count = len(unit.names)
        if unit.bands:
            most = max(count for _, count in unit.bands)
            unit.wide, unit.high = min(2.5, 0.2 * most, max(0.13, WIDE * count / hidden)), BAND * len(unit.bands)
        elif unit.together:
            shown = math.ceil(count * min(1.0, MOST_DOTS / dots))
            room = max(3, int((WIDE - 0.3) * count / dots / pitch))
            unit.columns = min(math.ceil(math.sqrt(1.6 * shown)), room)
            unit.wide, unit.high = unit.columns * pitch + 0.1, math.ceil(shown / unit.columns) * pitch + 0.1
        else:
            unit.wide = min(0.8, max(0.14, 8 / in_line))


def _across(unit: _Unit) -> float:
    """How wide it is with what hangs below it."""
    return max(unit.wide * (1.1 if unit.together else 1.0), sum(map(_across, unit.below)))


def _place(unit: _Unit, left: float) -> float:
    """From left to right; a parent above the middle of what hangs below it. Returns where the next one begins."""
    room, own = _across(unit), sum(map(_across, unit.below))
    at = left + (room - own) / 2
    for child in unit.below:
        at = _place(child, at)
    unit.x = (unit.below[0].x + unit.below[-1].x) / 2 if unit.below else left + room / 2
    return left + room


def _drawn(lines: list[list[_Unit]]) -> tuple[dict[str, Point], list[NodeCrowd]]:
    """Rows below one another, each as high as its highest crowd."""
    places: dict[str, Point] = {}
    crowds: list[NodeCrowd] = []
    dots = sum(len(unit.names) for line in lines for unit in line if unit.together and not unit.bands)
    y = 0.0
    for line in lines:
        for unit in line:
            left, right = unit.x - unit.wide / 2, unit.x + unit.wide / 2
            if not unit.together:
                places[unit.names[0]] = (unit.x, y)
                continue
            crowds.append(NodeCrowd(tuple(unit.names), (left, y - unit.high, right, y), unit.bands))
            if not unit.bands and dots <= MOST_DOTS:
                high = math.ceil(len(unit.names) / unit.columns)
                for at, name in enumerate(unit.names):
                    row, column = divmod(at, unit.columns)
                    across = left + 0.05 + (column + 0.5) * (unit.wide - 0.1) / unit.columns
                    places[name] = (across, y - 0.05 - (row + 0.5) * (unit.high - 0.1) / high)
        y -= max(unit.high for unit in line) + GAP
    return places, crowds

"""The trees of a graph, and these as rows of nodes; nodes that do not fit into a row are drawn as one crowd.

All nodes of a level stand in one row, or none: where a level has more than a row can show, every subtree from there on
becomes a crowd, as wide as it is large. Many leaves of one group and pool become a crowd as well.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

Point = tuple[float, float]

MOST_DOTS = 4_000  # nodes of crowds that are drawn one by one
SMALLEST_CROWD = 29  # leaves of one group and pool: one more than a row has names for
MOST_IN_ROW = 100
MOST_LEVELS = 12  # above crowds
MOST_BANDS = 6
WIDTH, ROW_GAP, BAND_HEIGHT = 13.0, 0.95, 0.22  # in inches; the width is that of a picture


@final
@dataclass(frozen=True, slots=True)
class Forest:
    """The trees of a graph: the parent of a replica is the upstream on a shortest way of downloads from the roots to
    it.

    `roots` are the sources, at level 0, and then replicas that data does not reach by downloads, at level 1; `below`
    has the children of every node, and `level` its level.
    """

    roots: list[str]
    below: dict[str, list[str]]
    level: dict[str, int]

    def sizes(self) -> dict[str, int]:
        """Return by node the number of all nodes below it in its tree, itself not counted."""
        sizes: dict[str, int] = {}
        for name in sorted(self.level, key=lambda name: -self.level[name]):
            sizes[name] = sum(1 + sizes[child] for child in self.below[name])
        return sizes

    @property
    def depth(self) -> int:
        """The number of the lowest level."""
        return max(self.level.values())


def forest(graph: Any) -> Forest:
    """Return the trees of the sources and replicas in the graph of a network, along its downloads, without clients."""
    roles = {name: role for name, role in graph.nodes(data="role") if role != "client"}
    trees = Forest([], {name: [] for name in roles}, {})
    # All sources at once, so that a replica of several stands at its shortest distance.
    _grow(graph, trees, [name for name, role in roles.items() if role == "source"], 0)
    for name in roles:
        if name not in trees.level:
            _grow(graph, trees, [name], 1)
    return trees


def _grow(graph: Any, trees: Forest, roots: list[str], level: int) -> None:
    """Add to `trees` these roots, at `level`, and all nodes that downloads carry data to from them, breadth first.

    Nodes that have a level already stay where they are.
    """
    trees.roots.extend(roots)
    trees.level.update(dict.fromkeys(roots, level))
    queue = deque(roots)
    while queue:
        name = queue.popleft()
        for child, edge in graph.adj[name].items():
            if edge["kind"] == "download" and child in trees.below and child not in trees.level:
                trees.level[child] = trees.level[name] + 1
                trees.below[name].append(child)
                queue.append(child)


@final
@dataclass(frozen=True, slots=True, eq=False)
class NodeCrowd:
    """Nodes drawn as one: similar leaves as a box of dots, or a subtree as bands, each for one or more of its levels.

    `names` are the nodes, `box` is left, low, right and high in the unit of the picture, and `bands` has, from the top,
    a group and a number of nodes; it is empty for leaves.
    """

    names: tuple[str, ...]
    box: tuple[float, float, float, float]  # left, low, right, high
    bands: tuple[tuple[str, int], ...] = ()  # of a subtree: the group and the number of nodes of each level

    @property
    def top(self) -> Point:
        """The middle of the upper side of the box."""
        return ((self.box[0] + self.box[2]) / 2, self.box[3])

    @property
    def bottom(self) -> Point:
        """The middle of the lower side of the box."""
        return ((self.box[0] + self.box[2]) / 2, self.box[1])


@final
@dataclass(slots=True)
class _Unit:
    """A node with the units below it, or a crowd of several nodes (`together`): leaves as dots, or a subtree as bands.

    `bands` has, from the top, a group and a number of nodes for every one or more levels; only a subtree has any.
    `wide` and `high` are its size, and `x` its middle, in inches; `columns` is the number of columns of a crowd's dots.
    """

    names: Sequence[str]
    below: list[_Unit] = field(default_factory=list)
    bands: tuple[tuple[str, int], ...] = ()
    together: bool = False
    wide: float = 0.0
    high: float = 0.0
    x: float = 0.0
    columns: int = 1


def rows(graph: Any, trees: Forest, clients: list[str]) -> tuple[dict[str, Point], list[NodeCrowd]]:
    """Return a picture in rows: the place of every node that is drawn by itself or as a dot, and the crowds, in inches.

    Rows stand one below another in the direction in which data flows, the first at y = 0 and the others below 0.
    `trees` are those of the graph, and the names `clients` are the last row.
    """
    lines = _in_lines(graph, trees)
    tops = lines[0]
    asking = _units(graph, {}, clients)
    lines += [asking] if asking else []
    _measure([unit for line in lines for unit in line], max(map(len, lines)))
    trunk = sum(_tree_width(unit) for unit in tops)
    left = 0.0
    for unit in tops:
        left = _place(unit, left)
    # Lines without links to the trees are spread evenly over their width.
    for line in lines:
        if not any(unit.x for unit in line):
            room = max(trunk, sum(unit.wide for unit in line))
            spare, left = (room - sum(unit.wide for unit in line)) / len(line), (trunk - room) / 2
            for unit in line:
                unit.x, left = left + (unit.wide + spare) / 2, left + unit.wide + spare
    return _places_and_crowds(lines)


def _in_lines(graph: Any, trees: Forest) -> list[list[_Unit]]:
    """Return the units of each row, from the top down, each with the units below it.

    Replicas that all ask every source stand in one row below the sources, without links to these as their parents.
    """
    parents = [len(graph.pred[name]) for name, level in trees.level.items() if level]
    if len(trees.roots) > 1 and trees.depth == 1 and min(parents) >= len(trees.roots):
        levels = [[name for name, at in trees.level.items() if at == level] for level in (0, 1)]
        return [_units(graph, {}, names) for names in levels]
    tops = _units(graph, trees.below, trees.roots)
    lines = [tops if len(tops) <= MOST_IN_ROW else [_subtree(graph, trees, trees.roots)]]
    while True:
        for unit in lines[-1]:
            unit.below = [] if unit.together else _units(graph, trees.below, trees.below[unit.names[0]])
        following = [child for unit in lines[-1] for child in unit.below]
        if not following:
            return lines
        if len(following) > MOST_IN_ROW or (len(lines) > MOST_LEVELS and trees.depth > len(lines) + 1):
            for unit in lines[-1]:
                unit.below = [_subtree(graph, trees, trees.below[unit.names[0]])] if unit.below else []
            return [*lines, [child for unit in lines[-1] for child in unit.below]]
        lines.append(following)


def _units(graph: Any, below: dict[str, list[str]], names: Iterable[str]) -> list[_Unit]:
    """Return a crowd for leaves of one role, group and pool if they are 29 or more, and a unit for every other name.

    `below` has the children of a node; one that has none there is a leaf.
    """
    kinds: dict[object, list[str]] = defaultdict(list)
    for name in names:
        node = graph.nodes[name]
        kinds[name if below.get(name) else (node["role"], node["group"], node.get("pool"))].append(name)
    units = []
    for members in kinds.values():
        units += (
            [_Unit(members, together=True)] if len(members) >= SMALLEST_CROWD else [_Unit([name]) for name in members]
        )
    return units


def _subtree(graph: Any, trees: Forest, tops: Sequence[str]) -> _Unit:
    """Return the trees whose roots are `tops` as one crowd of bands, each for a level, or several if they are many.

    A band has the group of most nodes in its first level, and the mean number of nodes in its levels.
    """
    levels, row = [], list(tops)
    while row:
        levels.append(row)
        row = [child for name in row for child in trees.below[name]]
    deep = math.ceil(len(levels) / MOST_BANDS)
    parts = [levels[at : at + deep] for at in range(0, len(levels), deep)]
    bands = tuple((_group(graph, part[0]), round(sum(map(len, part)) / len(part))) for part in parts)
    return _Unit([name for level in levels for name in level], bands=bands, together=True)


def _group(graph: Any, names: Iterable[str]) -> str:
    """Return the group that most of these nodes are in."""
    return str(Counter(graph.nodes[name]["group"] for name in names).most_common(1)[0][0])


def _measure(units: Sequence[_Unit], in_line: int) -> None:
    """Set the width of every unit in inches, and of crowds also the height, and the number of columns of their dots.

    `in_line` is the number of units in the longest row.
    """
    dots = sum(len(unit.names) for unit in units if unit.together and not unit.bands)
    hidden = sum(len(unit.names) for unit in units if unit.bands)
    pitch = min(0.16, max(0.05, math.sqrt(24 / max(dots, 1))))
    for unit in units:
        count = len(unit.names)
        if unit.bands:
            most = max(count for _, count in unit.bands)
            unit.wide, unit.high = (
                min(2.5, 0.2 * most, max(0.13, WIDTH * count / hidden)),
                BAND_HEIGHT * len(unit.bands),
            )
        elif unit.together:
            dots_shown = math.ceil(count * min(1.0, MOST_DOTS / dots))
            most_columns = max(3, int((WIDTH - 0.3) * count / dots / pitch))
            unit.columns = min(math.ceil(math.sqrt(1.6 * dots_shown)), most_columns)
            unit.wide, unit.high = unit.columns * pitch + 0.1, math.ceil(dots_shown / unit.columns) * pitch + 0.1
        else:
            unit.wide = min(0.8, max(0.14, 8 / in_line))


def _tree_width(unit: _Unit) -> float:
    """Return the inches that a unit takes together with all units below it: the larger of its width and theirs."""
    return max(unit.wide * (1.1 if unit.together else 1.0), sum(map(_tree_width, unit.below)))


def _place(unit: _Unit, left: float) -> float:
    """Set x of a unit and of those below it, from `left` to the right, each above the middle of its children.

    Return the right end of the room that they take, in inches.
    """
    room, below = _tree_width(unit), sum(map(_tree_width, unit.below))
    at = left + (room - below) / 2
    for child in unit.below:
        at = _place(child, at)
    unit.x = (unit.below[0].x + unit.below[-1].x) / 2 if unit.below else left + room / 2
    return left + room


def _places_and_crowds(lines: list[list[_Unit]]) -> tuple[dict[str, Point], list[NodeCrowd]]:
    """Return the place of every node that is drawn by itself or as a dot, and the crowds, in inches.

    Each of `lines` is a row of units. Rows stand below one another, the first at y = 0, each as high as its highest
    crowd.
    """
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
                    x = left + 0.05 + (column + 0.5) * (unit.wide - 0.1) / unit.columns
                    places[name] = (x, y - 0.05 - (row + 0.5) * (unit.high - 0.1) / high)
        y -= max(unit.high for unit in line) + ROW_GAP
    return places, crowds

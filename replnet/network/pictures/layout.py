"""The graph seen as trees, where the nodes of a picture stand, and which are left out of it."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, final

Point = tuple[float, float]

MOST_NODES = 200  # drawn as they are
FEWER = 120  # drawn of a larger network
MOST_LEVELS = 12
MOST_CLIENTS = 12


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


def forest(graph: Any, kept: Collection[str] | None = None) -> Forest:
    """The trees of sources and replicas, or of those that are kept."""
    roles = {name: role for name, role in graph.nodes(data="role") if role != "client"}
    if kept is not None:
        roles = {name: role for name, role in roles.items() if name in kept}
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
@dataclass(frozen=True, slots=True)
class Layout:
    places: dict[str, Point]  # in [0, 1] x [0, 1]
    round: bool  # replicas on a circle around their source
    left_out: int


def layout(graph: Any) -> Layout:
    clients = [name for name, role in graph.nodes(data="role") if role == "client"][:MOST_CLIENTS]
    trees = forest(graph)
    if len(trees.level) > MOST_NODES or trees.depth > MOST_LEVELS:
        trees = forest(graph, _some(trees))
    replicas = [name for name in trees.level if graph.nodes[name]["role"] == "replica"]
    polling = sum("polls" in graph.nodes[name] for name in replicas)
    sources, flat = len(trees.level) - len(replicas), trees.depth <= 1
    # One source, and replicas that poll one another.
    is_round = flat and sources <= 1 and 2 * polling >= len(replicas) > 2
    parents = [len(graph.pred[name]) for name, level in trees.level.items() if level]
    if len(trees.roots) > 1 and trees.depth == 1 and min(parents) >= len(trees.roots):
        places = _two_rows(trees, 0.5 if clients else 0.0)
    elif is_round:
        places = _circle(trees, 0.2 if clients else 0.0)
    else:
        places = _rows(trees, trees.depth + bool(clients))
    for index, name in enumerate(clients):
        places[name] = ((index + 1) / (len(clients) + 1), 0.0)
    return Layout(places, is_round, graph.number_of_nodes() - len(places))


def _some(trees: Forest) -> set[str]:
    """The first few below every node, of as many levels as can be told apart; as many nodes as fit."""
    best: set[str] = set()
    for width in (1, 2, 3, 4, 6, 8, 12, 20, 40, 80):
        kept: set[str] = set()
        row = trees.roots[: max(2, width)]
        for _ in range(MOST_LEVELS + 1):
            kept.update(row)
            row = [child for name in row for child in trees.below[name][:width]]
            if len(kept) + len(row) > FEWER:
                break
        # Depth before width: the widest picture that still has every level of the narrowest.
        if best and max(map(trees.level.__getitem__, kept)) < max(map(trees.level.__getitem__, best)):
            break
        best = kept
    return best


def _two_rows(trees: Forest, low: float) -> dict[str, Point]:
    """Sources above the replicas that pull from all of them, each row as wide as the picture."""
    places: dict[str, Point] = {}
    for level, y in ((0, 1.0), (1, low)):
        row = [name for name, at in trees.level.items() if at == level]
        places |= {name: ((index + 0.5) / len(row), y) for index, name in enumerate(row)}
    return places


def _circle(trees: Forest, low: float) -> dict[str, Point]:
    """Roots in the middle, the rest around."""
    radius = (1 - low) / 2
    sources = [root for root in trees.roots if trees.below[root]]
    around = [name for name in trees.level if name not in sources]
    places = dict.fromkeys(sources, (0.5, (1 + low) / 2))
    for index, name in enumerate(around):
        angle = 2 * math.pi * index / len(around)
        places[name] = (0.5 + radius * math.sin(angle), low + radius * (1 + math.cos(angle)))
    return places


def _rows(trees: Forest, rows: int) -> dict[str, Point]:
    """Levels from top to bottom; parents above the middle of what hangs below them."""
    across: dict[str, float] = {}
    next_leaf = 0.0
    for root in trees.roots:
        order, stack = [], [root]
        while stack:
            order.append(stack.pop())
            stack += trees.below[order[-1]]
        # Parents come before children, and right before left: backwards it is the other way round.
        for name in reversed(order):
            if below := trees.below[name]:
                across[name] = (across[below[0]] + across[below[-1]]) / 2
            else:
                across[name], next_leaf = next_leaf, next_leaf + 1
        next_leaf += 0.5
    widest = max(across.values())
    return {name: (x / widest if widest else 0.5, 1 - trees.level[name] / max(rows, 1)) for name, x in across.items()}

"""Where the nodes of a picture stand, and which are left out of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, final

from replnet.network.pictures.forest import Forest, forest

Point = tuple[float, float]

MOST_NODES = 200  # drawn as they are
FEWER = 120  # drawn of a larger network
MOST_LEVELS = 12
MOST_CLIENTS = 12


@final
@dataclass(frozen=True, slots=True)
class Layout:
    places: dict[str, Point]  # in [0, 1] x [0, 1]
    round: bool  # replicas on a circle around their source
    left_out: int


def layout(graph: Any) -> Layout:
    clients = [name for name, role in graph.nodes(data="role") if role == "client"][:MOST_CLIENTS]
    trees = forest(graph)
    total = graph.number_of_nodes()
    if len(trees.level) > MOST_NODES or max(trees.level.values()) > MOST_LEVELS:
        trees = forest(graph, _some(trees))
    round_ = _is_round(graph, trees)
    if _is_shared(graph, trees):
        places = _two_rows(trees, bool(clients))
    else:
        places = _circle(trees, bool(clients)) if round_ else _rows(trees, bool(clients))
    for index, name in enumerate(clients):
        places[name] = ((index + 1) / (len(clients) + 1), 0.0)
    return Layout(places, round_, total - len(places))


def _some(trees: Forest) -> frozenset[str]:
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
    return frozenset(best)


def _is_round(graph: Any, trees: Forest) -> bool:
    """One source, replicas that poll one another, and nothing below them."""
    replicas = [name for name in trees.level if graph.nodes[name]["role"] == "replica"]
    polling = [name for name in replicas if "polls" in graph.nodes[name]]
    sources = len(trees.level) - len(replicas)
    return sources <= 1 and 2 * len(polling) >= len(replicas) > 2 and max(trees.level.values()) <= 1


def _is_shared(graph: Any, trees: Forest) -> bool:
    """Several sources, and replicas that pull from all of them."""
    parents = [len(graph.pred[name]) for name, level in trees.level.items() if level]
    return len(trees.roots) > 1 and max(trees.level.values()) == 1 and min(parents) >= len(trees.roots)


def _two_rows(trees: Forest, clients: bool) -> dict[str, Point]:
    """Sources above replicas, each row as wide as the picture."""
    low, places = (0.5 if clients else 0.0), dict[str, Point]()
    for level, y in ((0, 1.0), (1, low)):
        row = [name for name, at in trees.level.items() if at == level]
        places |= {name: ((index + 0.5) / len(row), y) for index, name in enumerate(row)}
    return places


def _circle(trees: Forest, clients: bool) -> dict[str, Point]:
    """Roots in the middle, the rest around."""
    low = 0.2 if clients else 0.0
    radius = (1 - low) / 2
    sources = [root for root in trees.roots if trees.below[root]]
    around = [name for name in trees.level if name not in sources]
    places = dict.fromkeys(sources, (0.5, (1 + low) / 2))
    for index, name in enumerate(around):
        angle = 2 * math.pi * index / len(around)
        places[name] = (0.5 + radius * math.sin(angle), low + radius * (1 + math.cos(angle)))
    return places


def _rows(trees: Forest, clients: bool) -> dict[str, Point]:
    """Levels from top to bottom; parents above the middle of what hangs below them."""
    across: dict[str, float] = {}
    next_leaf = 0.0
    for root in trees.roots:
        for name in _children_first(trees, root):
            below = trees.below[name]
            if below:
                across[name] = (across[below[0]] + across[below[-1]]) / 2
            else:
                across[name], next_leaf = next_leaf, next_leaf + 1
        next_leaf += 0.5
    widest = max(across.values()) or 1.0
    single = max(across.values()) == 0
    rows = max(trees.level.values()) + (1 if clients else 0)
    return {name: (0.5 if single else x / widest, 1 - trees.level[name] / max(rows, 1)) for name, x in across.items()}


def _children_first(trees: Forest, root: str) -> list[str]:
    order, stack = [], [root]
    while stack:
        name = stack.pop()
        order.append(name)
        stack += trees.below[name]
    # Parents come before children, and right before left: backwards it is the other way round.
    return order[::-1]

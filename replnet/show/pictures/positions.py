"""Where the nodes of a picture stand.

Places are shares of the width and height of the picture, from 0 to 1; its `size` is in inches.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

from replnet.show.pictures.forest import MOST_IN_ROW, Forest, NodeCrowd, Point, forest, rows
from replnet.show.pictures.structure import spread

MOST_ON_CIRCLE = 60
MOST_MAPPED = 20_000  # nodes of a map
LARGEST_SIZE = (16.0, 9.0)  # inches
Shape = Literal["rows", "circle", "map"]  # data flows down the rows; the source of a circle is in its middle


@final
@dataclass(frozen=True, slots=True)
class Placement:
    """The places of nodes, (x, y) by name, and crowds in a picture, its shape, and its size in inches, width and
    height.

    Places are shares of the width and the height of the picture, from 0 to 1, counted from the lower left corner.
    `left_out` is the number of nodes without a place of their own.
    """

    places: dict[str, Point]
    shape: Shape
    size: Point
    crowds: tuple[NodeCrowd, ...] = ()
    left_out: int = 0  # number of nodes without a place of their own

    @property
    def in_inches(self) -> Placement:
        """This placement with the places of nodes and the boxes of crowds in inches, from the lower left corner."""
        wide, high = self.size
        places = {name: (x * wide, y * high) for name, (x, y) in self.places.items()}
        boxes = [(a * wide, b * high, c * wide, d * high) for a, b, c, d in (crowd.box for crowd in self.crowds)]
        crowds = tuple(replace(crowd, box=box) for crowd, box in zip(self.crowds, boxes, strict=True))
        return replace(self, places=places, crowds=crowds)


def layout(graph: Any) -> Placement:
    """Return where the nodes of a graph stand: at their positions if more than half of the replicas have one.

    Else they stand on a map of its structure if it has links of peers, or is large and no tree; else in its trees.
    """
    positions = {name: place for name, place in graph.nodes(data="position") if place is not None}
    roles = dict(graph.nodes(data="role"))
    replicas = [name for name, role in roles.items() if role == "replica"]
    if 2 * sum(name in positions for name in replicas) > len(replicas):
        return map_of(graph, positions)
    linked = [(a, b) for a, b, kind in graph.edges(data="kind") if kind == "peer"]
    if not linked:
        trees = forest(graph)
        if not is_large_mesh(graph, trees):
            return without_map(graph, trees)
        linked = [(a, b) for a, b in graph.edges if roles[a] == roles[b] == "replica"]
    if len(roles) > MOST_MAPPED:
        return without_map(graph, forest(graph))
    import networkx as nx

    return map_of(graph, spread(nx.Graph(linked)))


def is_large_mesh(graph: Any, trees: Forest) -> bool:
    """Whether a graph has more than 100 nodes without its clients, and over a quarter of them have further upstreams.

    These are upstreams other than the parent in `trees`, the trees of the graph.
    """
    extra = [len(graph.pred[name]) > 1 for name, level in trees.level.items() if level > 1]
    return len(trees.level) > MOST_IN_ROW and 4 * sum(extra) > len(trees.level)


def map_of(graph: Any, positions: dict[str, Point]) -> Placement:
    """Return a placement by these positions, (x, y) by node in any unit, scaled alike both ways.

    A replica without a position goes to the middle of its neighbours that have one; sources without one stand in a row
    on top, and other nodes in a row below.
    """
    low, high = (tuple(edge(axis) for axis in zip(*positions.values(), strict=True)) for edge in (min, max))
    wide, tall = (max(b - a, 1e-9) for a, b in zip(low, high, strict=True))
    room = 2.0 + 0.9 * math.sqrt(len(positions))
    scale = min(min(room * 1.5, LARGEST_SIZE[0] - 3) / wide, min(room, LARGEST_SIZE[1] - 2) / tall)
    # Maps of few nodes get a size at which they can be read.
    width, height = max(wide * scale, 3.0), max(tall * scale, 3.0)
    places = {
        name: (
            (width - wide * scale) / 2 + (x - low[0]) * scale,
            (height - tall * scale) / 2 + (y - low[1]) * scale,
        )
        for name, (x, y) in positions.items()
        if name in graph
    }
    rows: dict[float, list[str]] = {}
    near: dict[str, Point] = {}
    for name, role in graph.nodes(data="role"):
        if name not in places:
            around = [places[other] for other in (*graph.pred[name], *graph.adj[name]) if other in places]
            if role == "replica" and around:
                near[name] = (sum(x for x, _ in around) / len(around), sum(y for _, y in around) / len(around))
            else:
                rows.setdefault(height + 0.7 if role == "source" else -0.7, []).append(name)
    places |= near
    for y, names in rows.items():
        places |= {name: ((at + 0.5) * width / len(names), y) for at, name in enumerate(names)}
    return in_shares(separate_nodes(places), "map")


def separate_nodes(places: dict[str, Point]) -> dict[str, Point]:
    """Return the places, in inches, with nodes that lie within about 0.01 of one another moved onto rings around them.

    The rings have a radius of 0.1; other places are as they were.
    """
    at: dict[Point, list[str]] = {}
    for name, (x, y) in places.items():
        at.setdefault((round(x, 2), round(y, 2)), []).append(name)
    parts = dict(places)
    for names in at.values():
        for turn, name in enumerate(names if len(names) > 1 else ()):
            angle, (x, y) = 2 * math.pi * turn / len(names), places[name]
            parts[name] = (x + 0.1 * math.cos(angle), y + 0.1 * math.sin(angle))
    return parts


def in_shares(places: dict[str, Point], shape: Shape, crowds: Sequence[NodeCrowd] = (), left_out: int = 0) -> Placement:
    """Return the placement of nodes and crowds whose places are in inches, turned into shares of what they take up.

    The size is what they take up, at most 16 by 9 inches. `left_out` is the number of nodes without a place.
    """
    corners = [corner for crowd in crowds for corner in (crowd.box[:2], crowd.box[2:])]
    xs, ys = zip(*places.values(), *corners, strict=True)
    (left, width), (low, height) = ((min(axis), max(axis) - min(axis)) for axis in (xs, ys))

    def share(point: Sequence[float]) -> Point:
        x, y = point
        return (x - left) / width if width else 0.5, (y - low) / height if height else 0.5

    boxed = tuple(replace(crowd, box=(*share(crowd.box[:2]), *share(crowd.box[2:]))) for crowd in crowds)
    size = min(width, LARGEST_SIZE[0]), min(height, LARGEST_SIZE[1])
    return Placement({name: share(at) for name, at in places.items()}, shape, size, boxed, left_out)


def without_map(graph: Any, trees: Forest) -> Placement:
    """Return a placement of a graph without positions: a small cluster around its source, else its trees in rows."""
    replicas = [name for name in trees.level if graph.nodes[name]["role"] == "replica"]
    polling = sum("polls" in graph.nodes[name] for name in replicas)
    clients = [name for name, role in graph.nodes(data="role") if role == "client"]
    sources = len(trees.level) - len(replicas)
    # One source, and replicas that poll one another.
    if trees.depth <= 1 and sources <= 1 and 2 * polling >= len(replicas) > 2 and len(replicas) <= MOST_ON_CIRCLE:
        places = _circle(trees)
        places |= {name: (0.7 * (at - (len(clients) - 1) / 2), -3.0) for at, name in enumerate(clients)}
        return in_shares(places, "circle")
    places, crowds = rows(graph, trees, clients)
    return in_shares(places, "rows", crowds, graph.number_of_nodes() - len(places))


def _circle(trees: Forest) -> dict[str, Point]:
    """Return places by node, in inches: roots that feed others in the middle, others on a circle around them."""
    sources = [root for root in trees.roots if trees.below[root]]
    around = [name for name in trees.level if name not in sources]
    places: dict[str, Point] = dict.fromkeys(sources, (0.0, 0.0))
    for index, name in enumerate(around):
        angle = 2 * math.pi * index / len(around)
        places[name] = (2.4 * math.sin(angle), 2.4 * math.cos(angle))
    return places

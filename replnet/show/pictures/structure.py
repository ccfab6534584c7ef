"""Places for the nodes of a graph without coordinates that show its structure.

Nodes lie as far from one another as links lie between them, as nearly as a plane allows: of all places the ones
whose stress is least,

    stress = sum over pairs of ((distance in the plane) / (links between them) - 1)^2                            (1)

It falls with every step of a majorisation (Gansner, Koren, North 2004). The steps begin from the two main axes of the
distances to some nodes (Brandes, Pich 2006), and of graphs too large for all pairs these axes are the whole of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from replnet.laws import Floats

MOST_PAIRED = 1_000  # nodes up to which the stress counts all pairs
PIVOTS = 60
MOST_STEPS, SMALLEST_MOVE = 80, 1e-3  # steps end when nodes move less than this on average, in links


def spread(graph: Any, apart: float = 1.0) -> dict[Any, tuple[float, float]]:
    """Return (x, y) by node of an undirected graph, so that distances are about the numbers of links between nodes.

    Connected parts stand in rows, largest first, each row below the one before. `apart` is the distance between parts,
    in links.
    """
    import networkx as nx

    parts = sorted(nx.connected_components(graph), key=len, reverse=True)
    order = {name: i for i, name in enumerate(graph)}
    shapes = [(part, _part(graph, part)) for part in (sorted(part, key=order.__getitem__) for part in parts)]
    widest = max((np.ptp(at[:, 0]) for _, at in shapes), default=0.0)
    widest = max(widest, (sum((np.ptp(at, axis=0) + apart).prod() for _, at in shapes) * 1.6) ** 0.5)
    places: dict[Any, tuple[float, float]] = {}
    x = y = high = 0.0
    for part, at in shapes:
        wide, tall = np.ptp(at, axis=0)
        if x and x + wide > widest:
            x, y, high = 0.0, y - high - apart, 0.0
        at = at - [at[:, 0].min() - x, at[:, 1].max() - y]
        places.update((name, (float(a), float(b))) for name, (a, b) in zip(part, at, strict=True))
        x, high = x + wide + apart, max(high, tall)
    return places


def _part(graph: Any, names: Sequence[Any]) -> Floats:
    """Return the places of nodes that are connected, a row (x, y) each, turned so that the longer extent is horizontal.

    `names` are the nodes, in the order of rows; places are in links.
    """
    import networkx as nx
    from scipy.sparse.csgraph import shortest_path

    step = 1 + len(names) // PIVOTS
    pivots = range(0, len(names), step) if len(names) > MOST_PAIRED else range(len(names))
    links = shortest_path(nx.to_scipy_sparse_array(graph, names), unweighted=True, indices=pivots)
    if len(names) > MOST_PAIRED:
        return _main_axes(links)
    return _turn(_reduce_stress(_main_axes(links[::step]), links))


def _turn(at: Floats) -> Floats:
    """Return places, a row (x, y) each, moved to have mean zero and turned so that they differ most horizontally."""
    at = at - at.mean(axis=0)
    _, axes = np.linalg.eigh(at.T @ at)
    return np.asarray(at @ axes[:, ::-1])


def _main_axes(rows: Floats) -> Floats:
    """Return places, a row (x, y) for each node, from the distances of all nodes (columns) to some of them (rows).

    They are laid along the two directions in which distances differ most.
    """
    if rows.shape[1] < 2:
        return np.zeros((rows.shape[1], 2))
    squares = rows**2
    centred = -(squares - squares.mean(axis=0) - squares.mean(axis=1, keepdims=True) + squares.mean()) / 2
    _, axes = np.linalg.eigh(centred @ centred.T)
    at = (axes[:, :-3:-1].T @ centred).T
    at = at if at.shape[1] == 2 else np.column_stack([at, np.zeros(len(at))])
    # Scaled to the distance between the first pivot and its farthest node.
    return np.asarray(at * (rows[0].max() / max(np.ptp(at[:, 0]), 1e-9)))


def _reduce_stress(at: Floats, links: Floats) -> Floats:
    """Return places whose distances come closer to the numbers of links between nodes, by steps that begin at `at`.

    `at` has a row (x, y) for each node, and `links` the number of links for each pair. What falls with every step is
    the stress: the sum over pairs of (distance / links - 1)^2.
    """
    # Nodes at the same distances from all pivots begin on a small spiral; otherwise they would stay on one point.
    turn = np.arange(len(at)) * 2.4
    at = at + 1e-3 * np.sqrt(np.arange(len(at)) + 1)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    with np.errstate(divide="ignore"):
        weights = np.where(links > 0, links**-2.0, 0.0)
    solved = np.linalg.inv(np.diag(weights.sum(axis=1)) - weights + 1 / len(at))
    wanted = weights * links
    for _ in range(MOST_STEPS):
        lengths = np.hypot(*(column[:, None] - column for column in at.T))
        pull = wanted / np.maximum(lengths, 1e-9)
        before, at = at, solved @ (pull.sum(axis=1)[:, None] * at - pull @ at)
        if np.abs(at - before).mean() < SMALLEST_MOVE:
            break
    return at

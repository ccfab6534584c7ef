"""The graph seen as trees: every replica below the first upstream that data reaches it through."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, final


@final
@dataclass(frozen=True, slots=True)
class Forest:
    """Roots are the sources, at level 0, and then what no source reaches, at level 1."""

    roots: list[str]
    below: dict[str, list[str]]
    level: dict[str, int]

    def sizes(self) -> dict[str, int]:
        """Nodes below each, not counting itself."""
        sizes: dict[str, int] = {}
        for name in sorted(self.level, key=lambda name: -self.level[name]):
            sizes[name] = sum(1 + sizes[child] for child in self.below[name])
        return sizes


def forest(graph: Any, kept: frozenset[str] | None = None) -> Forest:
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

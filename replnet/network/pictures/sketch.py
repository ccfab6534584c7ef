"""The topology as text: the first branch in full, what stands beside it counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

from replnet.network.pictures.forest import Forest, forest

MOST_LINES = 40
MOST_SIBLINGS = 6
MOST_NAMES = 4
DEEPEST = 6


def sketch(graph: Any) -> str:
    """Trees of at most about forty lines, and the clients."""
    trees = forest(graph)
    view = _View(graph, trees, trees.sizes(), len(trees.level) <= MOST_LINES)
    lines: list[str] = []
    for index, root in enumerate(trees.roots if view.whole else trees.roots[:MOST_SIBLINGS]):
        lines += view.tree(root, view.whole or index == 0, 0)
    hidden = 0 if view.whole else len(trees.roots) - MOST_SIBLINGS
    if hidden > 0:
        lines.append(f"... {hidden:,} more")
    return "\n".join([*lines, *view.clients()])


@final
@dataclass(slots=True)
class _View:
    graph: Any
    trees: Forest
    sizes: dict[str, int]
    whole: bool  # few enough nodes to show them all
    said: set[str] = field(default_factory=set)  # what is the same for many nodes is said once

    def tree(self, name: str, opened: bool, depth: int) -> list[str]:
        if not opened:
            below = self.sizes[name]
            return [name + (f"  ({below:,} below)" if below else "")]
        lines = [f"{name}  {self._about(name)}".rstrip()]
        blocks = self._blocks(name, depth)
        for index, block in enumerate(blocks):
            last = index == len(blocks) - 1
            lines.append(("└─ " if last else "├─ ") + block[0])
            lines += [("   " if last else "│  ") + line for line in block[1:]]
        return lines

    def _blocks(self, name: str, depth: int) -> list[list[str]]:
        """The lines of every child."""
        children = self.trees.below[name]
        if self.whole:
            return [self.tree(child, True, depth + 1) for child in children]
        if depth == DEEPEST and children:
            return [[f"... {self.sizes[name]:,} more below"]]
        count = len(children) if len(children) <= MOST_SIBLINGS else MOST_SIBLINGS - 1
        blocks = [self.tree(child, index == 0, depth + 1) for index, child in enumerate(children[:count])]
        return blocks if count == len(children) else [*blocks, [f"... {len(children) - count:,} more"]]

    def _about(self, name: str) -> str:
        node = self.graph.nodes[name]
        laws = [f"{process} {node[process]}" for process in ("updates", "downloads") if process in node]
        if "polls" in node:
            laws.append(f"polls {node['polls']}{self._peers(name, node)}")
        if node["role"] == "replica" and self.trees.level[name] == 1 and name in self.trees.roots:
            laws.append("no source above")
        text = self._once(", ".join(laws))
        others = [other for other in self._above(name, "download") if name not in self.trees.below[other]]
        return f"{text}  (also from {_names(others)})".lstrip() if others else text

    def _peers(self, name: str, node: dict[str, Any]) -> str:
        pool = node.get("pool")
        if pool is None:
            return f" of {node['peers']} {node['select']} among {len(self._above(name, 'peer'))} linked"
        members = self.graph.graph["pools"][pool]
        others = len(members) - (name in members)
        return f" of {node['peers']} {node['select']} among {others:,} {'other' if others == 1 else 'others'}"

    def _above(self, name: str, kind: str) -> list[str]:
        return [other for other, edge in self.graph.pred[name].items() if edge["kind"] == kind]

    def _once(self, text: str) -> str:
        if text in self.said:
            return ""
        self.said.add(text)
        return text

    def clients(self) -> list[str]:
        names = [name for name, role in self.graph.nodes(data="role") if role == "client"]
        lines = []
        for name in names[:MOST_NAMES]:
            node = self.graph.nodes[name]
            pool = node.get("pool")
            asked = self.graph.graph["pools"][pool] if pool else self._above(name, "query")
            lines.append(f"{name}  queries {node['queries']} to {node['ask']} of {_names(asked)}")
        return lines if len(names) <= MOST_NAMES else [*lines, f"... {len(names) - MOST_NAMES:,} more clients"]


def _names(names: list[str]) -> str:
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{names[0]}, {names[1]}, ... {names[-1]} ({len(names):,})"

"""A network in a few lines of text."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replnet.network.network import Network

PROCESSES = ("updates", "downloads", "polls", "queries")
MOST_LAWS = 3  # of one process in one group


def describe(network: Network) -> str:
    graph = network.graph
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _, attributes in graph.nodes(data=True):
        groups[attributes["group"]].append(attributes)
    counts = ", ".join(_counted(len(names), word) for word, names in _roles(network) if names)
    head = network.name if network.name == network.kind else f"{network.name} ({network.kind})"
    lines = [f"{head}: {counts}"]
    if network.spec.title:
        lines.append(network.spec.title)
    width = max(map(len, groups))
    size = max(len(f"{len(members):,}") for members in groups.values())
    for group, members in groups.items():
        lines.append(f"  {group:<{width}}  {len(members):>{size},}  {'; '.join(_laws(members)) or 'passive'}")
    if graph.graph["delay"]:
        lines.append(f"  every message takes {graph.graph['delay']}")
    lines += [f"  {fault}" for fault in graph.graph["faults"]]
    lines.append(f"  events per unit of time: {_rates(groups)}")
    return "\n".join(lines)


def _roles(network: Network) -> list[tuple[str, list[str]]]:
    return [("source", network.sources), ("replica", network.replicas), ("client", network.clients)]


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" + ("s" if count != 1 else "")


def _laws(members: list[dict[str, Any]]) -> list[str]:
    said = []
    for process in PROCESSES:
        # Nodes of a group mostly share their laws: the first of each is enough.
        laws = dict.fromkeys(_said(process, node) for node in members if process in node)
        some = list(laws)[:MOST_LAWS] + ([f"and {len(laws) - MOST_LAWS} more"] if len(laws) > MOST_LAWS else [])
        if laws:
            said.append(f"{process} {' or '.join(some)}")
    bandwidths = sorted({node["bandwidth"] for node in members if "bandwidth" in node})
    if bandwidths:
        said.append("bandwidth " + " or ".join(f"{bandwidth:g}" for bandwidth in bandwidths[:MOST_LAWS]))
    return said


def _said(process: str, node: dict[str, Any]) -> str:
    law = str(node[process])
    if process == "polls":
        return f"{law} of {_counted(node['peers'], node['select'] + ' peer')}"
    if process == "queries":
        return f"{law} of {_counted(node['ask'], 'replica')}"
    return law + (f" from {node['ask']} at a time" if node.get("ask") else "")


def _rates(groups: dict[str, list[dict[str, Any]]]) -> str:
    rates: dict[str, float] = defaultdict(float)
    for members in groups.values():
        for node in members:
            for process in PROCESSES:
                if process in node:
                    rates[process] += node[process].rate
    parts = ", ".join(f"{process} {rate:,.6g}" for process, rate in rates.items())
    return f"{sum(rates.values()):,.6g} ({parts})"

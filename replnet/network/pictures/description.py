"""A network in a few lines of text."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from replnet.network.aggregate import Aggregate
from replnet.network.memory_check import memory_said

if TYPE_CHECKING:
    from replnet.network.network import Network

PROCESSES = ("updates", "downloads", "polls", "queries")
MOST_LAWS = 3  # of one process in one group


def describe(network: Network) -> str:
    if isinstance(network.spec, Aggregate):
        return _aggregate(network.name, network.spec)
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
    if said := memory_said(network.size):
        lines.append(f"  {said}")
    return "\n".join(lines)


def _aggregate(name: str, spec: Aggregate) -> str:
    """Without a graph, which for many sources would take longer than all else."""
    from replnet.network.sources import sources

    of = sources(spec)
    counts = f"{_counted(of.size, 'source')}, {_counted(spec.replicas, 'replica')}"
    lines = [f"{name}: {counts}" if name == spec.kind else f"{name} ({spec.kind}): {counts}"]
    lines += [spec.title] if spec.title else []
    laws = list(dict.fromkeys(map(str, spec.updates if spec.rates is None else of.shapes)))
    shapes = " or ".join(laws[:MOST_LAWS]) + (f" and {len(laws) - MOST_LAWS} more" if len(laws) > MOST_LAWS else "")
    updates = f"updates {shapes}" if spec.rates is None else f"updates of the shape {shapes}"
    rates = f", rates from {of.rates.min():.4g} to {of.rates.max():.4g}"
    weights = "" if spec.weights is None else f", weights up to {of.weights.max() * of.size:.4g} times the mean"
    budget = spec.budget if isinstance(spec.allocate, str) else sum(spec.allocate)
    between = f" (intervals of the shape {spec.downloads or 'constant'})" if spec.order == "independent" else ""
    allocate = spec.allocate if isinstance(spec.allocate, str) else "as listed"
    lines.append(f"  sources   {updates}{rates}{weights}")
    order = f"order {spec.order}{between}"
    lines.append(f"  copies    downloads {budget:,.6g} per unit of time, {order}, allocation {allocate}")
    if spec.replicas > 1:
        share = "in turns" if spec.share == "turns" else "independently of one another"
        lines.append(f"  clients   ask {_counted(spec.ask, 'replica')}; replicas download {share}")
    rate = of.rates.sum()
    lines.append(f"  events per unit of time: {rate + budget:,.6g} (updates {rate:,.6g}, downloads {budget:,.6g})")
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

"""A network as text: in a few lines, and its topology with the first branch in full, the others counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from replnet.network.aggregate import Aggregate
from replnet.network.build import takes
from replnet.network.pictures.forest import Forest, forest
from replnet.network.topology import ROLES
from replnet.text.numbers import counted
from replnet.text.units import named

if TYPE_CHECKING:
    from replnet.network.network import Network

Node = dict[str, Any]

PROCESSES = ("updates", "downloads", "polls", "queries")
MOST_LAWS = 3  # of one process in one group
MOST_LINES = 40  # of a sketch that shows every node
MOST_SIBLINGS, DEEPEST = 6, 6  # of a sketch that does not
MOST_NAMES = 4


def describe(network: Network) -> str:
    if isinstance(network.spec, Aggregate):
        return _aggregate(network.name, network.spec)
    topology = network.topology
    groups: dict[str, list[tuple[Node, int]]] = defaultdict(list)  # nodes that are alike, and how many
    roles = dict.fromkeys(ROLES, 0)
    for group, role, node, count in topology.kinds():
        groups[group].append((node, count))
        roles[role] += count
    counts = ", ".join(counted(count, role) for role, count in roles.items() if count)
    head = network.name if network.name == network.kind else f"{network.name} ({network.kind})"
    lines = [f"{head}: {counts}"]
    if network.spec.title:
        lines.append(network.spec.title)
    width = max(map(len, groups))
    sizes = {group: sum(count for _, count in members) for group, members in groups.items()}
    size = max(len(f"{count:,}") for count in sizes.values())
    for group, members in groups.items():
        laws = "; ".join(_laws([node for node, _ in members])) or "passive"
        lines.append(f"  {group:<{width}}  {sizes[group]:>{size},}  {laws}")
    if topology.about["delay"]:
        lines.append(f"  every message takes {topology.about['delay']}")
    lines += [f"  {fault}" for fault in topology.about["faults"]]
    rates: dict[str, float] = defaultdict(float)
    for node, count in (one for members in groups.values() for one in members):
        for process in PROCESSES:
            if process in node:
                rates[process] += count * node[process].rate
    lines.append(_events(rates, network.unit))
    if said := takes(network):
        lines.append(f"  {said}")
    return "\n".join(lines)


def _aggregate(name: str, spec: Aggregate) -> str:
    """Without a graph, which for many sources would take longer than all else."""
    from replnet.network.sources import sources

    of = sources(spec)
    counts = f"{counted(of.size, 'source')}, {counted(spec.replicas, 'replica')}"
    lines = [f"{name}: {counts}" if name == spec.kind else f"{name} ({spec.kind}): {counts}"]
    lines += [spec.title] if spec.title else []
    shapes = _some(map(str, spec.updates if spec.rates is None else of.shapes))
    updates = f"updates {shapes}" if spec.rates is None else f"updates of the shape {shapes}"
    rates = f", rates from {of.rates.min():.4g} to {of.rates.max():.4g}"
    weights = "" if spec.weights is None else f", weights up to {of.weights.max() * of.size:.4g} times the mean"
    budget = spec.budget if isinstance(spec.allocate, str) else sum(spec.allocate)
    between = f" (intervals of the shape {spec.downloads or 'constant'})" if spec.order == "independent" else ""
    allocate = spec.allocate if isinstance(spec.allocate, str) else "as listed"
    lines.append(f"  sources   {updates}{rates}{weights}")
    order = f"order {spec.order}{between}"
    lines.append(
        f"  copies    downloads {budget:,.6g} per {named('unit of time', spec.unit)}, {order}, allocation {allocate}"
    )
    if spec.replicas > 1:
        share = "in turns" if spec.share == "turns" else "independently of one another"
        lines.append(f"  clients   ask {counted(spec.ask, 'replica')}; replicas download {share}")
    lines.append(_events({"updates": of.rates.sum(), "downloads": budget}, spec.unit))
    return "\n".join(lines)


def _events(rates: dict[str, Any], unit: str | None) -> str:
    parts = ", ".join(f"{process} {rate:,.6g}" for process, rate in rates.items())
    return f"  events per {named('unit of time', unit)}: {sum(rates.values()):,.6g} ({parts})"


def _laws(members: list[Node]) -> list[str]:
    """What the nodes of a group do, process by process."""
    said = {name: _some(_law(name, node) for node in members if name in node) for name in PROCESSES}
    bandwidths = sorted({node["bandwidth"] for node in members if "bandwidth" in node})
    said["bandwidth"] = _some(f"{bandwidth:g}" for bandwidth in bandwidths)
    return [f"{name} {laws}" for name, laws in said.items() if laws]


def _some(laws: Iterable[str]) -> str:
    """The first few different ones; nodes of a group mostly share theirs."""
    known = list(dict.fromkeys(laws))
    more = f" and {len(known) - MOST_LAWS} more" if len(known) > MOST_LAWS else ""
    return " or ".join(known[:MOST_LAWS]) + more


def _law(process: str, node: Node) -> str:
    law = str(node[process])
    if process == "polls":
        return f"{law} of {counted(node['peers'], node['select'] + ' peer')}"
    if process == "queries":
        return f"{law} of {counted(node['ask'], 'replica')}"
    return law + (f" from {node['ask']} at a time" if node.get("ask") else "")


def sketch(graph: Any) -> str:
    """Trees of at most about forty lines, and the clients."""
    trees = forest(graph)
    sizes, whole = trees.sizes(), len(trees.level) <= MOST_LINES
    said = set[str]()  # what is the same for many nodes is said once

    def block(name: str, is_open: bool, depth: int = 0) -> list[str]:
        """The lines of a node, with those of what hangs below it if it is open."""
        if not is_open:
            return [name + (f"  ({sizes[name]:,} below)" if sizes[name] else "")]
        laws, others = _processes(graph, trees, name), _others_above(graph, trees, name)
        lines = ["  ".join(filter(None, [name, "" if laws in said else laws, others]))]
        said.add(laws)
        children = trees.below[name]
        kept = children if whole or len(children) <= MOST_SIBLINGS else children[: MOST_SIBLINGS - 1]
        if depth == DEEPEST and children and not whole:
            blocks = [[f"... {sizes[name]:,} more below"]]
        else:
            blocks = [block(child, whole or i == 0, depth + 1) for i, child in enumerate(kept)]
            blocks += [[f"... {len(children) - len(kept):,} more"]] if len(kept) < len(children) else []
        for i, (first, *rest) in enumerate(blocks, 1):
            lines.append(("└─ " if i == len(blocks) else "├─ ") + first)
            lines += [("   " if i == len(blocks) else "│  ") + line for line in rest]
        return lines

    roots = trees.roots if whole else trees.roots[:MOST_SIBLINGS]
    lines = [line for i, root in enumerate(roots) for line in block(root, whole or i == 0)]
    if len(roots) < len(trees.roots):
        lines.append(f"... {len(trees.roots) - len(roots):,} more")
    return "\n".join([*lines, *_clients(graph)])


def _processes(graph: Any, trees: Forest, name: str) -> str:
    """The laws of a source or a replica, and whom it polls."""
    node = graph.nodes[name]
    said = [f"{process} {node[process]}" for process in ("updates", "downloads") if process in node]
    if "polls" in node:
        if node.get("pool"):
            members = graph.graph["pools"][node["pool"]]
            others = len(members) - (name in members)
            among = f"{others:,} {'other' if others == 1 else 'others'}"
        else:
            among = f"{len(_above(graph, name, 'peer'))} linked"
        both = ", both ways" if node.get("two_way") else ""
        said.append(f"polls {node['polls']} of {node['peers']} {node['select']} among {among}{both}")
    if node["role"] == "replica" and name in trees.roots:
        said.append("by polls alone" if "polls" in node else "no source above")
    return ", ".join(said)


def _others_above(graph: Any, trees: Forest, name: str) -> str:
    """The upstreams of a replica beside the one that it hangs below."""
    others = [other for other in _above(graph, name, "download") if name not in trees.below[other]]
    return f"(also from {_names(others)})" if others else ""


def _above(graph: Any, name: str, kind: str) -> list[str]:
    return [other for other, edge in graph.pred[name].items() if edge["kind"] == kind]


def _clients(graph: Any) -> list[str]:
    names = [name for name, role in graph.nodes(data="role") if role == "client"]
    lines = []
    for name in names[:MOST_NAMES]:
        node = graph.nodes[name]
        asked = graph.graph["pools"][node["pool"]] if node.get("pool") else _above(graph, name, "query")
        lines.append(f"{name}  queries {node['queries']} to {node['ask']} of {_names(asked)}")
    return lines if len(names) <= MOST_NAMES else [*lines, f"... {len(names) - MOST_NAMES:,} more clients"]


def _names(names: list[str]) -> str:
    if len(names) <= MOST_NAMES:
        return ", ".join(names)
    return f"{names[0]}, {names[1]}, ... {names[-1]} ({len(names):,})"

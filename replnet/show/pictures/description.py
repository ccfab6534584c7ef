"""A network as text: in a few lines, and its topology with the first branch in full, the others counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from replnet.network import ROLES, Aggregate, resources_note
from replnet.show.pictures.forest import Forest, forest
from replnet.text import count_text, interval_words, name_units

if TYPE_CHECKING:
    from replnet.network import Network

Node = dict[str, Any]  # attributes

PROCESSES = ("updates", "downloads", "polls", "queries")
MOST_LAWS = 3  # shown of one process in one group
MOST_LINES = 40  # nodes up to which a sketch shows all of them
MOST_SIBLINGS, DEEPEST_LEVEL = 6, 6  # shown in sketches of larger networks
MOST_NAMES_LISTED = 4


def describe(network: Network) -> str:
    """Return a description of a network in a few lines: its groups with their laws, and its events per unit of time."""
    if isinstance(network.spec, Aggregate):
        return _aggregate(network.name, network.spec)
    topology = network.topology
    groups: dict[str, list[tuple[Node, int]]] = defaultdict(list)  # nodes that are alike, and how many
    roles = dict.fromkeys(ROLES, 0)
    for group, role, node, count in topology.node_kinds():
        groups[group].append((node, count))
        roles[role] += count
    counts = ", ".join(count_text(count, role) for role, count in roles.items() if count)
    head = network.name if network.name == network.kind else f"{network.name} ({network.kind})"
    lines = [f"{head}: {counts}"]
    if network.spec.title:
        lines.append(network.spec.title)
    width = max(map(len, groups))
    sizes = {group: sum(count for _, count in members) for group, members in groups.items()}
    size = max(len(f"{count:,}") for count in sizes.values())
    for group, members in groups.items():
        laws = "; ".join(_laws([node for node, _ in members], network.unit)) or "passive"
        lines.append(f"  {group:<{width}}  {sizes[group]:>{size},}  {laws}")
    if topology.about["delay"]:
        lines.append(f"  every message takes {topology.about['delay']}")
    lines += [f"  {fault}" for fault in topology.about["faults"]]
    rates: dict[str, float] = defaultdict(float)
    for node, count in (member for members in groups.values() for member in members):
        for process in PROCESSES:
            if process in node:
                rates[process] += count * node[process].rate
    lines.append(_events(rates, network.unit))
    if note := resources_note(network):
        lines.append(f"  {note}")
    return "\n".join(lines)


def _aggregate(name: str, spec: Aggregate) -> str:
    """Return the description of an aggregate called `name`.

    It does without the graph, which takes long to build for many sources.
    """
    from replnet.network import sources_of

    sources = sources_of(spec)
    counts = f"{count_text(sources.size, 'source')}, {count_text(spec.replicas, 'replica')}"
    lines = [f"{name}: {counts}" if name == spec.kind else f"{name} ({spec.kind}): {counts}"]
    lines += [spec.title] if spec.title else []
    shapes = _list_laws(map(str, spec.updates if spec.rates is None else sources.shapes))
    updates = f"updates {shapes}" if spec.rates is None else f"updates of the shape {shapes}"
    slowest, fastest = float(sources.rates.min()), float(sources.rates.max())
    rates = f", rates from {_rate(slowest, spec.unit)} to {_rate(fastest, spec.unit)}"
    weights = (
        "" if spec.weights is None else f", weights up to {sources.weights.max() * sources.size:.4g} times the mean"
    )
    budget = spec.budget if isinstance(spec.allocate, str) else sum(spec.allocate)
    between = f" (intervals of the shape {spec.downloads or 'constant'})" if spec.order == "independent" else ""
    allocate = spec.allocate if isinstance(spec.allocate, str) else "as listed"
    lines.append(f"  sources   {updates}{rates}{weights}")
    order = f"order {spec.order}{between}"
    lines.append(
        f"  copies    downloads {budget:,.6g} per {name_units('unit of time', spec.unit)}, {order}, "
        f"allocation {allocate}"
    )
    if spec.replicas > 1:
        share = "in turns" if spec.share == "turns" else "independently of one another"
        lines.append(f"  clients   ask {count_text(spec.ask, 'replica')}; replicas download {share}")
    lines.append(_events({"updates": sources.rates.sum(), "downloads": budget}, spec.unit))
    return "\n".join(lines)


def _rate(rate: float, unit: str | None) -> str:
    """Return a rate as text, and in brackets how often that is if it is below one a minute and time has a `unit`."""
    words = interval_words(rate, unit)
    return f"{rate:.4g} ({words})" if words else f"{rate:.4g}"


def _events(rates: dict[str, Any], unit: str | None) -> str:
    """Return a line with the events per unit of time, in all and by process; `rates` has those of all nodes by process.

    `unit` is the unit of time, None if it has no name.
    """
    parts = ", ".join(f"{process} {rate:,.6g}" for process, rate in rates.items())
    return f"  events per {name_units('unit of time', unit)}: {sum(rates.values()):,.6g} ({parts})"


def _laws(members: list[Node], unit: str | None) -> list[str]:
    """Return a text for each process that nodes, given as attributes, have, with its laws; one for bandwidths, if
    any.

    `unit` is the unit of time, None if it has no name.
    """
    texts = {name: _list_laws(_law(name, node, unit) for node in members if name in node) for name in PROCESSES}
    bandwidths = sorted({node["bandwidth"] for node in members if "bandwidth" in node})
    texts["bandwidth"] = _list_laws(f"{bandwidth:g}" for bandwidth in bandwidths)
    return [f"{name} {laws}" for name, laws in texts.items() if laws]


def _list_laws(laws: Iterable[str]) -> str:
    """Return the first three distinct laws as a text, and how many others there are; empty if there are none."""
    distinct = list(dict.fromkeys(laws))
    more = f" and {len(distinct) - MOST_LAWS} more" if len(distinct) > MOST_LAWS else ""
    return " or ".join(distinct[:MOST_LAWS]) + more


def _law(process: str, node: Node, unit: str | None) -> str:
    """Return the law of a process of a node as text; of pulls that choose among nodes, with how many each asks.

    Of a law below one event a minute, if time has a `unit`, the mean interval follows in words.
    """
    law = str(node[process])
    if words := interval_words(node[process].rate, unit):
        law += f" ({words})" if law.startswith("constant(") else f" ({words} on average)"
    if process == "polls":
        return f"{law} of {count_text(node['peers'], node['select'] + ' peer')}"
    if process == "queries":
        return f"{law} of {count_text(node['ask'], 'replica')}"
    return law + (f" from {node['ask']} at a time" if node.get("ask") else "")


def sketch(graph: Any) -> str:
    """Return the trees of a network's graph as text, and below them its clients; of a large one the first branch in
    full.

    Where nodes are left out, a line says how many.
    """
    trees = forest(graph)
    sizes, whole = trees.sizes(), len(trees.level) <= MOST_LINES
    laws_written = set[str]()  # the same laws are written for the first node only

    def block(name: str, is_open: bool, depth: int = 0) -> list[str]:
        """Return the lines of a node, and if it is open those of its subtree; `depth` is its distance from the root.

        A node that is not open has one line, with the number of nodes below it.
        """
        if not is_open:
            return [name + (f"  ({sizes[name]:,} below)" if sizes[name] else "")]
        laws, others = _processes(graph, trees, name), _others_above(graph, trees, name)
        lines = ["  ".join(filter(None, [name, "" if laws in laws_written else laws, others]))]
        laws_written.add(laws)
        children = trees.below[name]
        children_shown = children if whole or len(children) <= MOST_SIBLINGS else children[: MOST_SIBLINGS - 1]
        if depth == DEEPEST_LEVEL and children and not whole:
            blocks = [[f"... {sizes[name]:,} more below"]]
        else:
            blocks = [block(child, whole or i == 0, depth + 1) for i, child in enumerate(children_shown)]
            blocks += (
                [[f"... {len(children) - len(children_shown):,} more"]] if len(children_shown) < len(children) else []
            )
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
    """Return as text the laws of a source or a replica, and how many nodes it polls among how many."""
    node = graph.nodes[name]
    texts = [f"{process} {node[process]}" for process in ("updates", "downloads") if process in node]
    if "polls" in node:
        if node.get("pool"):
            members = graph.graph["pools"][node["pool"]]
            others = len(members) - (name in members)
            among = f"{others:,} {'other' if others == 1 else 'others'}"
        else:
            among = f"{len(_above(graph, name, 'peer'))} linked"
        both_ways = ", both ways" if node.get("two_way") else ""
        texts.append(f"polls {node['polls']} of {node['peers']} {node['select']} among {among}{both_ways}")
    if node["role"] == "replica" and name in trees.roots:
        texts.append("by polls alone" if "polls" in node else "no source above")
    return ", ".join(texts)


def _others_above(graph: Any, trees: Forest, name: str) -> str:
    """Return as text the upstreams of a replica other than its parent in the tree; empty if there are none."""
    others = [other for other in _above(graph, name, "download") if name not in trees.below[other]]
    return f"(also from {_names(others)})" if others else ""


def _above(graph: Any, name: str, kind: str) -> list[str]:
    """Return the nodes at the upstream end of links to the node `name`; `kind` is download, peer or query."""
    return [other for other, edge in graph.pred[name].items() if edge["kind"] == kind]


def _clients(graph: Any) -> list[str]:
    """Return a line for each of the first four clients: its queries and the nodes that it asks; and one for the others.

    Without clients there are no lines.
    """
    names = [name for name, role in graph.nodes(data="role") if role == "client"]
    lines = []
    for name in names[:MOST_NAMES_LISTED]:
        node = graph.nodes[name]
        candidates = graph.graph["pools"][node["pool"]] if node.get("pool") else _above(graph, name, "query")
        lines.append(f"{name}  queries {node['queries']} to {node['ask']} of {_names(candidates)}")
    return (
        lines if len(names) <= MOST_NAMES_LISTED else [*lines, f"... {len(names) - MOST_NAMES_LISTED:,} more clients"]
    )


def _names(names: list[str]) -> str:
    """Return names as text: all if they are at most four, else the first two, the last and how many there are in
    all.
    """
    if len(names) <= MOST_NAMES_LISTED:
        return ", ".join(names)
    return f"{names[0]}, {names[1]}, ... {names[-1]} ({len(names):,})"

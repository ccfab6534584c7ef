"""The groups that tables of an experiment have, from specifications alone: graphs need not be built to spell them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from replnet.papers.formula import formulas
from replnet.study.aggregates.system import MOST_SHOWN
from replnet.study.experiment.axes import Place
from replnet.study.experiment.cells import Cell
from replnet.study.experiment.models import GROUP
from replnet.study.experiment.sections import Sections
from replnet.text.errors import suggestion
from replnet.text.validation import Fault


def groups_of(network: Mapping[str, Any]) -> set[str]:
    """All that the network of this data may have, and for a graph perhaps more."""
    found = {"clients"} if network["kind"] in ("redundant", "graph") or "clients" in network else set()
    if network["kind"] == "compose":
        return found.union(*(_of_tier(number, tier) for number, tier in enumerate(network["tiers"], 1)))
    if network["kind"] == "graph":
        nodes = network["nodes"]
        named = {node["group"] for node in nodes.values() if "group" in node}
        return found | named | {"by polls", "unreached"} | {f"level {i}" for i in range(1, len(nodes) + 1)}
    if network["kind"] == "aggregate":
        lists = (network[name] for name in ("updates", "rates", "weights", "allocate") if name in network)
        count = network.get("sources") or max((len(one) for one in lists if isinstance(one, list | tuple)), default=1)
        shown = {f"source {i}" for i in range(1, int(count) + 1)} if count <= MOST_SHOWN else set()
        return shown | {"copies"} | ({"clients"} if network.get("replicas", 1) > 1 else set())
    if network["kind"] == "cooperative":
        return found | {"cluster"}
    return found | {f"level {i}" for i in range(1, network.get("depth", 1) + 1)}


def _of_tier(number: int, tier: Mapping[str, Any]) -> set[str]:
    depth = tier.get("depth", 1)
    return {f"tier {number}"} if depth == 1 else {f"tier {number} level {i}" for i in range(1, depth + 1)}


def unknown_groups(sections: Sections, cells: Iterable[Cell]) -> Iterator[Fault]:
    """Groups that are asked for or spoken of, and that no cell has or the table does not keep."""
    named = list(_named(sections))
    if not named:
        return
    kept = set(sections.groups)
    there: set[str] = set()
    for cell in cells:
        if cell.formula:
            there.update(formulas()[cell.formula["name"]].groups)
        else:
            there |= {"independent", cell.optimise["system"]} if cell.optimise else groups_of(cell.network)
    for path, name in named:
        if name not in there:
            yield path, f"no cell has a group {name}", suggestion(str(name), there), False
        elif kept and name not in kept:
            yield path, f"{name} is not kept", f"one of groups: {', '.join(sections.groups)}", False


def _named(sections: Sections) -> Iterator[tuple[Place, Any]]:
    for i, name in enumerate(sections.groups):
        yield ("groups", i), name
    for section in ("printed", "expected"):
        for i, value in enumerate(getattr(sections, section)):
            yield (section, i, "group"), value.group
    for i, claim in enumerate(sections.claims):
        for path, at in ((("where",), claim.where), *((("order", j), at) for j, at in enumerate(claim.order or ()))):
            if GROUP in at:
                yield ("claims", i, *path, GROUP), at[GROUP]
        if claim.over == GROUP:
            yield from ((("claims", i, "is"), name) for name in claim.is_ or ())

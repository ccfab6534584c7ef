"""The nodes of a cluster, one by one: what they have, and whether replnet has to travel with the job.

A node without replnet, or with other sources of it, gets those of this process with
the job. What else it lacks cannot travel, and is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from replnet.live import node_probe
from replnet.live.node_probe import Probed, digest
from replnet.live.outcome import Unreachable
from replnet.text.errors import printable

LIBRARIES = ("numpy", "numba", "scipy", "networkx", "pandas", "pydantic", "ruamel.yaml")
PACKAGE = Path(__file__).parents[1]
PATIENCE = 30.0  # seconds for all nodes to say what they have
LONGEST = 300  # characters of what Ray says of a failure


@final
@dataclass(frozen=True)
class ClusterNode:
    """One node, as Ray knows it and as it describes itself."""

    id: str
    address: str
    cpus: float
    memory: float  # bytes
    found: Probed | None = None
    silence: str = ""  # why it does not describe itself

    def __str__(self) -> str:
        return f"node {self.address} ({self.id[:6]})"  # several nodes of one machine share its address

    @property
    def up_to_date(self) -> bool:
        """Whether it has the sources of replnet that run here."""
        return self.found is not None and self.found.replnet == digest(PACKAGE)

    @property
    def unfit(self) -> str:
        """Why replnet cannot run there, if it cannot."""
        if self.found is None:
            return self.silence if self.cpus else ""
        missing = ", ".join(self.found.missing)
        return f"lacks {missing} (pip install replnet there)" if missing else ""


def alive() -> list[ClusterNode]:
    """All nodes of the cluster that this process has joined."""
    import ray

    known: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    about = [(node["NodeID"], node["NodeManagerAddress"], node["Resources"]) for node in known if node["Alive"]]
    return [ClusterNode(id, at, has.get("CPU", 0.0), has.get("memory", 0.0)) for id, at, has in about]


def described(nodes: Sequence[ClusterNode]) -> list[ClusterNode]:
    """The same nodes; those with CPUs, which are for jobs, with what they say of themselves."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.cloudpickle.register_pickle_by_value(node_probe)  # type: ignore[no-untyped-call]
    try:
        task = ray.remote(num_cpus=0, max_retries=0)(node_probe.probe)
        asked = {
            node.id: task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)).remote(
                list(LIBRARIES)
            )
            for node in nodes
            if node.cpus
        }
    finally:
        ray.cloudpickle.unregister_pickle_by_value(node_probe)  # type: ignore[no-untyped-call]
    ready = ray.wait([*asked.values()], num_returns=len(asked), timeout=PATIENCE)[0] if asked else []
    return [_described(node, asked[node.id], asked[node.id] in ready) if node.cpus else node for node in nodes]


def _described(node: ClusterNode, asked: Any, ready: bool) -> ClusterNode:
    import ray

    if not ready:
        ray.cancel(asked, force=True)
        return replace(node, silence=f"starts no process within {PATIENCE:g} s")
    try:
        return replace(node, found=Probed(*ray.get(asked, timeout=PATIENCE)))
    except ray.exceptions.RayError as error:
        return replace(node, silence=f"starts no process: {cause(error)}")


def require_fit(nodes: Sequence[ClusterNode]) -> None:
    """Raises Unreachable unless replnet can run on every node with CPUs, of which there are some."""
    if not any(node.cpus for node in nodes):
        raise Unreachable("no node of the cluster has a CPU for jobs (a node that is started without --num-cpus=0)")
    if unfit := [f"{node} {node.unfit}" for node in nodes if node.unfit]:
        raise Unreachable("; ".join(unfit))


def code_for(nodes: Sequence[ClusterNode]) -> dict[str, Any]:
    """The environment of a job in which all these nodes run this replnet; empty if they do anyway."""
    if all(node.up_to_date for node in nodes if node.cpus):
        return {}
    return {"py_modules": [str(PACKAGE)], "excludes": ["__pycache__"]}


def cause(error: Exception) -> str:
    """Ray tells a long story: its last line, without the advice; of too little memory its first, the rest is advice."""
    lines = str(error).strip().splitlines() or [""]
    line = lines[0 if type(error).__name__ == "OutOfMemoryError" else -1]
    return printable(f"{type(error).__name__}: {line.split(' Some common causes')[0].strip()}", LONGEST)

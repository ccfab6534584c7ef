"""The nodes of a cluster, one by one: what they have, and whether replnet has to travel with the job.

A node without replnet, or with other sources of it, gets those of this process with
the job. What else it lacks cannot travel, and is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from replnet.live import node_probe
from replnet.live.node_probe import Probed, digest
from replnet.live.result import Unreachable
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
            return self.silence
        missing = ", ".join(self.found.missing)
        return f"lacks {missing} (pip install replnet there)" if missing else ""


def alive() -> list[ClusterNode]:
    """All nodes of the cluster that this process has joined."""
    import ray

    known: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    about = [(node["NodeID"], node["NodeManagerAddress"], node["Resources"]) for node in known if node["Alive"]]
    return [ClusterNode(id, at, has.get("CPU", 0.0), has.get("memory", 0.0)) for id, at, has in about]


def described(nodes: Sequence[ClusterNode]) -> list[ClusterNode]:
    """The same nodes with what they say of themselves."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.cloudpickle.register_pickle_by_value(node_probe)
    try:
        task = ray.remote(num_cpus=0, max_retries=0)(node_probe.probe)
        places = [NodeAffinitySchedulingStrategy(node_id=node.id, soft=False) for node in nodes]
        asked = [task.options(scheduling_strategy=place).remote(list(LIBRARIES)) for place in places]
    finally:
        ray.cloudpickle.unregister_pickle_by_value(node_probe)
    ready, _ = ray.wait(asked, num_returns=len(asked), timeout=PATIENCE) if asked else ([], [])
    found = []
    for node, ref in zip(nodes, asked, strict=True):
        probed, silence = None, f"starts no process within {PATIENCE:g} s"
        if ref in ready:
            try:
                probed, silence = Probed(*ray.get(ref, timeout=PATIENCE)), ""
            except ray.exceptions.RayError as error:
                silence = f"starts no process: {cause(error)}"
        else:
            ray.cancel(ref, force=True)
        found.append(ClusterNode(node.id, node.address, node.cpus, node.memory, probed, silence))
    return found


def code_for_cluster() -> dict[str, Any]:
    """The environment that a job needs so that every node with CPUs runs this replnet; empty if they do anyway."""
    nodes = described([node for node in alive() if node.cpus])
    if not nodes:
        raise Unreachable("no node of the cluster has a CPU for jobs (ray start without --num-cpus=0 on one of them)")
    if unfit := [f"{node} {node.unfit}" for node in nodes if node.unfit]:
        raise Unreachable("; ".join(unfit))
    if all(node.up_to_date for node in nodes):
        return {}
    return {"py_modules": [str(PACKAGE)], "excludes": ["__pycache__"]}


def cause(error: Exception) -> str:
    """Ray tells a long story: its last line, without the advice; of too little memory its first, the rest is advice."""
    lines = str(error).strip().splitlines() or [""]
    line = lines[0 if type(error).__name__ == "OutOfMemoryError" else -1]
    return printable(f"{type(error).__name__}: {line.split(' Some common causes')[0].strip()}", LONGEST)

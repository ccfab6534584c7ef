"""The nodes of a cluster: the software that they have, and whether replnet has to travel with the job.

A node without replnet, or with other sources of it, gets those of this process with
the job. What else it lacks cannot travel, and is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from replnet.text import printable
from replnet.workers import node_probe
from replnet.workers.node_probe import NodeSoftware, digest

LIBRARIES = ("numpy", "numba", "scipy", "networkx", "pandas", "pydantic", "ruamel.yaml")
PACKAGE = Path(__file__).parents[1]
PROBE_SECONDS = 30.0  # for all nodes to answer which software they have
NO_CPUS = "no node of the cluster has a CPU for jobs (a node that is started without --num-cpus=0)"
LONGEST_CAUSE = 300  # characters of Ray's words on a failure


class RayUnreachableError(ConnectionError):
    """An error: Ray could not be started or joined, or starts no process on a node; the text says why."""


@final
@dataclass(frozen=True)
class ClusterNode:
    """A node of a cluster: its id, address, CPUs and memory in bytes as Ray says, and its software.

    `software` is its own answer, and None if it was not asked or did not answer; then `silence` says why, and is empty
    if it was not asked.
    """

    id: str
    address: str
    cpus: float
    memory: float  # bytes
    software: NodeSoftware | None = None
    silence: str = ""  # why it does not answer

    def __str__(self) -> str:
        return f"node {self.address} ({self.id[:6]})"  # several nodes of one machine share its address

    @property
    def up_to_date(self) -> bool:
        """Whether it has the same sources of replnet as this process; False if its software is unknown."""
        return self.software is not None and self.software.replnet == digest(PACKAGE)

    @property
    def unfit(self) -> str:
        """The reason why replnet cannot run there; empty if it can, or if the node has no CPUs and gets no jobs."""
        if self.software is None:
            return self.silence if self.cpus else ""
        missing = ", ".join(self.software.missing)
        return f"lacks {missing} (pip install replnet there)" if missing else ""


def alive_nodes() -> list[ClusterNode]:
    """Return the nodes that are alive in the cluster that this process has joined, without their software."""
    import ray

    descriptions: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    nodes = [(node["NodeID"], node["NodeManagerAddress"], node["Resources"]) for node in descriptions if node["Alive"]]
    return [ClusterNode(id, at, has.get("CPU", 0.0), has.get("memory", 0.0)) for id, at, has in nodes]


def probe_nodes(nodes: Sequence[ClusterNode]) -> list[ClusterNode]:
    """Return these nodes with their software, or with the reason why they do not answer within PROBE_SECONDS.

    Nodes without a CPU get no jobs, and so are returned as they are.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.cloudpickle.register_pickle_by_value(node_probe)  # type: ignore[no-untyped-call]
    try:
        task = ray.remote(num_cpus=0, max_retries=0)(node_probe.probe)
        answers = {
            node.id: task.options(scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)).remote(
                list(LIBRARIES)
            )
            for node in nodes
            if node.cpus
        }
    finally:
        ray.cloudpickle.unregister_pickle_by_value(node_probe)  # type: ignore[no-untyped-call]
    ready = ray.wait([*answers.values()], num_returns=len(answers), timeout=PROBE_SECONDS)[0] if answers else []
    return [_probe_answer(node, answers[node.id], answers[node.id] in ready) if node.cpus else node for node in nodes]


def _probe_answer(node: ClusterNode, answer: Any, ready: bool) -> ClusterNode:
    """Return a node with its software, or with the reason why it does not answer.

    `answer` is the reference that Ray gave for the result, and `ready` says whether that is there; if not, it is
    cancelled.
    """
    import ray

    if not ready:
        ray.cancel(answer, force=True)
        return replace(node, silence=f"starts no process within {PROBE_SECONDS:g} s")
    try:
        return replace(node, software=NodeSoftware(*ray.get(answer, timeout=PROBE_SECONDS)))
    except ray.exceptions.RayError as error:
        return replace(node, silence=f"starts no process: {short_cause(error)}")


def require_fit(nodes: Sequence[ClusterNode]) -> None:
    """Raise RayUnreachableError unless some node has CPUs, and replnet can run on every node that has."""
    if not any(node.cpus for node in nodes):
        raise RayUnreachableError(NO_CPUS)
    if unfit := [f"{node} {node.unfit}" for node in nodes if node.unfit]:
        raise RayUnreachableError("; ".join(unfit))


def code_for(nodes: Sequence[ClusterNode]) -> dict[str, Any]:
    """Return Ray's `runtime_env` by which a job takes this replnet to the nodes of a cluster.

    It is empty if all nodes with CPUs have the same sources as this process.
    """
    if all(node.up_to_date for node in nodes if node.cpus):
        return {}
    return {"py_modules": [str(PACKAGE)], "excludes": ["__pycache__"]}


def short_cause(error: Exception) -> str:
    """Return the cause of an error in Ray's long text, on one line of at most 300 characters.

    It is the error's class and the last line without advice, or the first line if memory ran out.
    """
    lines = str(error).strip().splitlines() or [""]
    line = lines[0 if type(error).__name__ == "OutOfMemoryError" else -1]
    return printable(f"{type(error).__name__}: {line.split(' Some common causes')[0].strip()}", LONGEST_CAUSE)

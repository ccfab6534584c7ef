"""A check of an existing cluster: whether replnet can run on each node, how far clocks are off, what messages cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from replnet.live.clocks import Offset
from replnet.live.driver import message_costs
from replnet.live.ray_hosts import RayTransport
from replnet.live.supervisor import clock_offset
from replnet.live.time_scale import Costs
from replnet.live.transport import START_SECONDS, start_hosts
from replnet.workers import ClusterNode, join_cluster


@final
@dataclass(frozen=True)
class CheckedNode:
    """A node of a cluster with its measurements, both None if replnet cannot run there.

    `offset` is that of its clock from the clock of this process, and `costs` are those of messages between it and the
    first node of the cluster that can run replnet.
    """

    node: ClusterNode
    offset: Offset | None = None  # of its clock, from that of this process
    costs: Costs | None = None  # of messages between it and the first node that can run replnet


def check_cluster(address: str) -> list[CheckedNode]:
    """Return the nodes of the Ray cluster at this address with their measurements, nodes that cannot run replnet first.

    Raise RayUnreachableError if there is no cluster, LiveLost if a process on a node does not start or answer.
    """
    with join_cluster(address, fit=False) as nodes:
        able = [node for node in nodes if node.cpus and not node.unfit]
        if not able:
            return [CheckedNode(node) for node in nodes]
        with start_hosts(RayTransport([node.id for node in able]), len(able)) as hosts:
            hosts.call("hello", patience=START_SECONDS)
            hosts.call("meet", [(hosts.addresses,)] * len(hosts))
            measured = [
                CheckedNode(node, clock_offset(hosts, host), message_costs(hosts, [(0, host)]))
                for host, node in enumerate(able)
            ]
    return [*(CheckedNode(node) for node in nodes if node not in able), *measured]

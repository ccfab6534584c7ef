"""A cluster that is there, node by node: whether replnet can run on it, how far clocks are off, what messages cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from replnet.live import ray_cluster
from replnet.live.clocks import Offset
from replnet.live.cluster_nodes import ClusterNode
from replnet.live.driver import message_costs
from replnet.live.supervisor import clock_offset
from replnet.live.time_scale import Costs


@final
@dataclass(frozen=True)
class CheckedNode:
    """What is found of one node; nothing is measured where nothing can run."""

    node: ClusterNode
    offset: Offset | None = None  # of its clock, from that of this process
    costs: Costs | None = None  # of messages to it from the first node that can run replnet, and back


def check_cluster(address: str) -> list[CheckedNode]:
    with ray_cluster.joined(address, fit=False) as nodes:
        able = [node for node in nodes if node.cpus and not node.unfit]
        with ray_cluster.started(len(able), [node.id for node in able]) as hosts:
            hosts.call("hello", patience=ray_cluster.START)
            hosts.call("meet", [(hosts.peers(),)] * len(hosts))
            measured = [
                CheckedNode(node, clock_offset(hosts, host), message_costs(hosts, [(0, host)]))
                for host, node in enumerate(able)
            ]
    return [*(CheckedNode(node) for node in nodes if node not in able), *measured]

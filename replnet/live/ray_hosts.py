"""Hosts as actors of a Ray cluster. Actors have no global names, so runs side by side do not meet."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, final

from replnet.live import transport
from replnet.live.actor import HostActor
from replnet.live.transport import HostLostError, Transport
from replnet.workers import alive_nodes, cpus, short_cause, why_unreachable


@final
class RayAddress:
    """The address of a host in Ray, whose `deliver` and `deliver_echo` hand it a batch of bytes without waiting.

    Nothing comes back from a delivery to it, not even an error.
    """

    def __init__(self, actor: Any) -> None:
        self._actor = actor
        self.deliver = actor.deliver.options(num_returns=0).remote
        self.deliver_echo = actor.deliver_echo.options(num_returns=0).remote

    def __reduce__(self) -> tuple[type[RayAddress], tuple[Any]]:
        return RayAddress, (self._actor,)


@final
class RayTransport(Transport):
    """Actors in the Ray cluster that this process has joined, a process for each host.

    The first is on the first of these `nodes`, given by id, and so on; without any, hosts are put on the least loaded
    ones.
    """

    def __init__(self, nodes: Sequence[str] = ()) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.clock, self.cpus = time, cpus()
        self._ray: Any = ray
        self._bound = NodeAffinitySchedulingStrategy
        # A call that gets lost on its way is made again, but no process that dies is started again.
        self._kind: Any = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=-1)(HostActor)
        self._given = nodes
        self._nodes: dict[int, str] = {}  # of the cluster, by host
        self._actors: dict[int, Any] = {}

    def start(self, host: int) -> tuple[RayAddress, str]:
        """Start an actor for a host; return its address, and the first letters of the id of the node that it is on.

        If it had one before, that is killed, and the new one is on another node if there is one. Raise HostLostError if
        no node is alive.
        """
        if host in self._actors:
            self.end(host)
            node = self._least_loaded_node(self._nodes[host])
        else:
            node = self._given[host] if self._given else self._least_loaded_node("")
        # Bound to a node, as Ray might start several on one and none on another.
        strategy = self._bound(node_id=node, soft=False)
        self._nodes[host], self._actors[host] = node, self._kind.options(scheduling_strategy=strategy).remote()
        return RayAddress(self._actors[host]), node[:6]

    def _least_loaded_node(self, avoided: str) -> str:
        """Return the id of the node of the Ray cluster with the fewest hosts of this run per CPU.

        It is another than `avoided` if there is one. Raise HostLostError if no node is alive.
        """
        nodes = alive_nodes()
        if not nodes:
            raise HostLostError("no node of the Ray cluster is alive")
        candidates = [node for node in nodes if node.cpus] or nodes
        others = [node for node in candidates if node.id != avoided] or candidates
        used = list(self._nodes.values())
        return min(others, key=lambda node: (used.count(node.id) + 1) / max(node.cpus, 1e-3)).id

    def end(self, host: int) -> None:
        """Kill the actor of a host, which must have been started; it does not start again by itself."""
        self._ray.kill(self._actors[host], no_restart=True)

    def ask(self, host: int, method: str, *arguments: Any) -> Any:
        """Call a method of a host without waiting; return the Ray reference of the answer."""
        return getattr(self._actors[host], method).remote(*arguments)

    def ready(self, refs: list[Any], patience: float) -> list[Any]:
        """Wait for all answers, up to `patience` seconds; return the references of those that came or never will."""
        return list(self._ray.wait(refs, num_returns=len(refs), timeout=max(patience, 0.0))[0]) if refs else []

    def answer(self, ref: Any) -> Any:
        """Return the answer to a call that is ready; raise HostLostError if its host is lost or its work failed."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref, timeout=transport.ANSWER_SECONDS)
        except errors.GetTimeoutError:
            raise HostLostError(f"did not answer for {transport.ANSWER_SECONDS:g} s") from None
        except errors.RayTaskError as error:
            words = f"failed: {str(error).strip().splitlines()[-1]}"
            raise HostLostError(words, short_cause(error), work_failed=True) from error
        except errors.RayError as error:
            how = "could not be reached" if isinstance(error, errors.ActorUnavailableError) else "died"
            raise HostLostError(f"{how} ({type(error).__name__})", short_cause(error)) from error

    def share(self, value: Any) -> Any:
        """Put a large value into Ray's store; return its Ray reference, which calls take in its place."""
        return self._ray.put(value)

    def why_unreachable(self) -> str:
        """Return why the control service of the cluster cannot be reached, empty if it can."""
        return why_unreachable()

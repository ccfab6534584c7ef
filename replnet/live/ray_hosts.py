"""The host actors of a run in a Ray cluster, and calls to them. Every wait has an end.

Actors have no global names, so runs side by side do not meet.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

from replnet.live.actor import HostActor
from replnet.live.outcome import LiveLost
from replnet.workers import alive_nodes, short_cause

ANSWER_SECONDS = 10.0  # after which a running host counts as silent
LEAST_SECONDS = 1.0  # for an answer, even if the time for all is over
START_SECONDS = 50.0  # for processes to start, so that an error comes within a minute


class Lost(Exception):  # noqa: N818
    """The error that a host died or fell silent; the text says how."""


class Failed(Exception):  # noqa: N818
    """The error that the work of a host raised an error; the text says which."""


@final
class Hosts:
    """The host actors of a run, and calls to them, each with a time limit."""

    def __init__(self, n: int, nodes: Sequence[str] = ()) -> None:
        """Start `n` hosts, the first on the first of these nodes of the cluster (by id) and so on; without nodes, on
        the least loaded ones.

        Raise LiveLost if no node is alive.
        """
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray: Any = ray
        self._bound = NodeAffinitySchedulingStrategy
        # A call that gets lost on its way is made again, but no process that dies is started again.
        self._kind: Any = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=-1)(HostActor)
        self._nodes: list[str] = []  # of the cluster, by host
        self._actors: list[Any] = []
        self.incarnations = [0] * n
        for h in range(n):
            try:
                self._nodes.append(nodes[h] if nodes else self._node(""))
            except Lost as why:
                raise LiveLost((str(why),)) from why
            self._actors.append(self._start(self._nodes[-1]))

    def _node(self, avoided: str) -> str:
        """Return the id of the node of the cluster with the fewest hosts per CPU, another than `avoided` if there is
        one.

        Raise Lost if no node is alive.
        """
        nodes = alive_nodes()
        if not nodes:
            raise Lost("no node of the Ray cluster is alive")
        candidates = [node for node in nodes if node.cpus] or nodes
        others = [node for node in candidates if node.id != avoided] or candidates
        return min(others, key=lambda node: (self._nodes.count(node.id) + 1) / max(node.cpus, 1e-3)).id

    def _start(self, node: str) -> Any:
        """Start an actor on the node with this id, as Ray might start several on one and none on another; return its
        handle.
        """
        return self._kind.options(scheduling_strategy=self._bound(node_id=node, soft=False)).remote()

    def __len__(self) -> int:
        return len(self._actors)

    def share(self, value: Any) -> Any:
        """Put a large value where several calls can take it as an argument; return its Ray reference."""
        return self._ray.put(value)

    def call(
        self, method: str, arguments: Sequence[Sequence[Any]] | None = None, patience: float | None = None
    ) -> list[Any]:
        """Call a method of every host, and return the answers by the number of the host; raise LiveLost if a host is
        lost.

        `arguments` has a tuple for each host, and is None for a method without arguments. `patience` is the time for
        all answers in seconds; None: ANSWER_SECONDS.
        """
        arguments = [()] * len(self) if arguments is None else arguments
        return self.call_some(method, dict(enumerate(arguments)), patience)

    def call_some(self, method: str, arguments: dict[int, Sequence[Any]], patience: float | None = None) -> list[Any]:
        """Call a method of some hosts, and return the answers in the order of `arguments`; raise LiveLost if one of
        these is lost.

        `arguments` has those of the call by the number of the host. `patience` is the time for all answers in seconds;
        None: ANSWER_SECONDS.
        """
        patience = ANSWER_SECONDS if patience is None else patience
        end = time.monotonic() + patience
        refs = {h: self.ask(h, method, *values) for h, values in arguments.items()}
        answers = []
        for h, ref in refs.items():
            try:
                # However late it is: this process may have stood still while the answer came.
                if not self.ready([ref], max(end - time.monotonic(), LEAST_SECONDS)):
                    raise Lost(f"did not answer for {patience:g} s")
                answers.append(self.answer(ref))
            except (Lost, Failed) as error:
                why = (
                    f": {short_cause(error.__cause__)}"
                    if isinstance(error.__cause__, self._ray.exceptions.RayError)
                    else ""
                )
                where = f"host {h} of {len(self)} on node {self._nodes[h][:6]}"
                raise LiveLost((f"{where} {error}{why}",)) from error
        return answers

    def ask(self, host: int, method: str, *arguments: Any) -> Any:
        """Call a method of a host without waiting; return the Ray reference of the answer."""
        return getattr(self._actors[host], method).remote(*arguments)

    def ready(self, refs: list[Any], patience: float) -> list[Any]:
        """Wait for all answers, up to `patience` seconds; return the references of those that came or never will."""
        return list(self._ray.wait(refs, num_returns=len(refs), timeout=max(patience, 0.0))[0]) if refs else []

    def answer(self, ref: Any) -> Any:
        """Return the answer to a call that is ready; raise Lost if its host died or is silent, Failed if the method
        raised an error.
        """
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref, timeout=ANSWER_SECONDS)
        except errors.GetTimeoutError:
            raise Lost(f"did not answer for {ANSWER_SECONDS:g} s") from None
        except errors.RayTaskError as error:
            raise Failed(f"failed: {str(error).strip().splitlines()[-1]}") from error
        except errors.ActorUnavailableError as error:
            raise Lost(f"could not be reached ({type(error).__name__})") from error
        except errors.RayError as error:
            raise Lost(f"died ({type(error).__name__})") from error

    def peers(self) -> list[Any]:
        """Return the Ray handles of all hosts, by number, by which they reach one another."""
        return list(self._actors)

    def end(self, host: int) -> None:
        """Kill the process of the host with this number, which does not start again by itself."""
        self._ray.kill(self._actors[host], no_restart=True)

    def replace(self, host: int) -> None:
        """Kill the process of a host that was lost, and start another one as its next incarnation.

        It is on another node of the Ray cluster if there is one. Raise Lost if no node is alive.
        """
        self.end(host)
        self._nodes[host] = self._node(self._nodes[host])
        self._actors[host] = self._start(self._nodes[host])
        self.incarnations[host] += 1

    def kill(self) -> None:
        """Kill the processes of all hosts."""
        for actor in self._actors:
            self._ray.kill(actor, no_restart=True)


@contextmanager
def start_hosts(n: int, nodes: Sequence[str] = ()) -> Iterator[Hosts]:
    """Start `n` host actors, on these nodes of the cluster (by id) if any are given; yield them, and kill them when the
    block ends.
    """
    hosts = Hosts(n, nodes)
    try:
        yield hosts
    finally:
        hosts.kill()

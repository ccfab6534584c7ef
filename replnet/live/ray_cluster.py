"""Ray: the one module that knows it.

A cluster that is started here is stopped here; one that was there is left as it
is. Nothing in it has a global name, so runs side by side do not meet. Every wait
has an end.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

from replnet.live.actor import HostActor
from replnet.live.result import LiveLost, Unreachable
from replnet.text.extras import require_extra

STORE = 128 << 20  # bytes of Ray's object store, which holds little here
ANSWER = 10.0  # seconds after which a host that runs counts as silent
KNOCK = 5.0  # seconds for a cluster to answer at all
MOMENT = 1.0  # seconds that an answer has in any case
START = 90.0  # seconds for processes to start


@contextmanager
def joined(address: str | None = None) -> Iterator[None]:
    """A Ray cluster: the one this process is in, else the one at `address` or RAY_ADDRESS, else a local one."""
    require_extra("ray", "Ray")
    import ray

    if ray.is_initialized():
        yield
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _knock(address)
    environment = dict(os.environ)
    try:
        with _private_files(), _undisturbed():
            _init(address)
        with _silence():
            try:
                yield
            finally:
                ray.shutdown()
    finally:
        ray.shutdown()
        for name in os.environ.keys() - environment.keys():
            if name.startswith("RAY_"):
                del os.environ[name]


@contextmanager
def ray_meanwhile(address: str | None = None) -> Iterator[Callable[[], None]]:
    """A cluster is joined while the block goes on; what it is given waits until that is done."""
    up, over, failed = threading.Event(), threading.Event(), list[Exception]()

    def stay() -> None:
        try:
            with joined(address):
                up.set()
                over.wait()
        except Exception as error:
            failed.append(error)
            up.set()

    def wait() -> None:
        if not up.wait(START):
            raise Unreachable(f"Ray did not start within {START:g} s")
        if failed:
            raise failed[0]

    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    try:
        yield wait
    finally:
        over.set()
        thread.join(START)


@contextmanager
def _private_files() -> Iterator[None]:
    """Ray would write its token for all to read."""
    umask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(umask)


@contextmanager
def noted() -> Iterator[threading.Event]:
    """Ctrl-C, or SIGTERM where that means the same, interrupts nothing in the block unless it comes twice."""
    came = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def note(number: int, frame: Any) -> None:
        came.set()
        again()

    def again() -> None:
        for one, handler in before.items():
            signal.signal(one, handler)

    ends = (one for one in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(one) is signal.default_int_handler)
    before = {one: signal.signal(one, note) for one in ends}
    try:
        yield came
    finally:
        again()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: half a Ray cannot be stopped in order."""
    with noted() as came:
        yield
    if came.is_set():
        raise KeyboardInterrupt


@contextmanager
def _silence() -> Iterator[None]:
    """What Ray itself has to say it prints on stdout, and no setting prevents it; what matters is raised anyway."""
    from ray._private import worker

    said: bool = getattr(worker, "_worker_logs_enabled", True)
    worker._worker_logs_enabled = False
    try:
        yield
    finally:
        worker._worker_logs_enabled = said


def _init(address: str) -> None:
    import ray

    local: dict[str, Any] = {"include_dashboard": False, "object_store_memory": STORE} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL, configure_logging=True, **local)
    except Exception as error:
        raise Unreachable(f"Ray at {address}: {str(error).strip().splitlines()[0]}") from error


def _knock(address: str) -> None:
    """Ray itself would wait for many minutes where nobody answers."""
    if "://" in address:
        raise Unreachable(f"Ray at {address}: give the cluster's own address, as host:port")
    host, _, port = address.rpartition(":")
    if not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()
    except OSError as error:
        raise Unreachable(f"Ray at {address}: {error.strerror or error}") from error


def gone() -> str:
    """How Ray's own control service is out of reach, if it is; hosts can live on without it, but not start."""
    import ray

    address = str(ray.get_runtime_context().gcs_address)
    try:
        _knock(address)
    except Unreachable as error:
        return str(error)
    return ""


def cpus() -> float:
    """Of the whole cluster."""
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return resources.get("CPU", 1.0)


class Lost(Exception):  # noqa: N818
    """A host died or fell silent; says how."""


class Failed(Exception):  # noqa: N818
    """What a host was doing raised an error; says which."""


@final
class Hosts:
    """Host actors, and calls to them that end."""

    def __init__(self, n: int) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray: Any = ray
        self._bound = NodeAffinitySchedulingStrategy
        self._kind: Any = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(HostActor)
        self._nodes: list[str] = []  # of the cluster, by host
        self._actors: list[Any] = []
        self.incarnations = [0] * n
        for _ in range(n):
            self._nodes.append(self._node(""))
            self._actors.append(self._start(self._nodes[-1]))

    def _node(self, avoided: str) -> str:
        """The node of the cluster with the fewest hosts per CPU, another than this one if there is one."""
        nodes: list[dict[str, Any]] = self._ray.nodes()
        alive: dict[str, float] = {n["NodeID"]: n["Resources"].get("CPU", 0.0) for n in nodes if n["Alive"]}
        others = [node for node in alive if node != avoided] or list(alive)
        return min(others, key=lambda node: (self._nodes.count(node) + 1) / max(alive[node], 1e-3))

    def _start(self, node: str) -> Any:
        """Bound to the node: left to Ray, several may start on one while another has none."""
        return self._kind.options(scheduling_strategy=self._bound(node_id=node, soft=False)).remote()

    def __len__(self) -> int:
        return len(self._actors)

    def share(self, what: Any) -> Any:
        """Something large for several calls."""
        return self._ray.put(what)

    def call(
        self, method: str, arguments: Sequence[Sequence[Any]] | None = None, patience: float | None = None
    ) -> list[Any]:
        """The same call to every host; the answers in order."""
        arguments = [()] * len(self) if arguments is None else arguments
        return self.some(method, dict(enumerate(arguments)), patience)

    def some(self, method: str, given: dict[int, Sequence[Any]], patience: float | None = None) -> list[Any]:
        """A call to some hosts, none of which may be lost."""
        patience = ANSWER if patience is None else patience
        end = time.monotonic() + patience
        asked = {h: self.ask(h, method, *what) for h, what in given.items()}
        answers = []
        for h, ref in asked.items():
            try:
                # However late it is: this process may have stood still, and the answer be there.
                if not self.ready([ref], max(end - time.monotonic(), MOMENT)):
                    raise Lost(f"did not answer for {patience:g} s")
                answers.append(self.answer(ref))
            except (Lost, Failed) as error:
                raise LiveLost((f"host {h} of {len(self)} {error}",)) from error
        return answers

    def ask(self, host: int, method: str, *what: Any) -> Any:
        """A question whose answer will come, or not."""
        return getattr(self._actors[host], method).remote(*what)

    def ready(self, refs: list[Any], patience: float) -> list[Any]:
        """Those that are answered, or never will be; waits for all, but not longer than `patience`."""
        return list(self._ray.wait(refs, num_returns=len(refs), timeout=max(patience, 0.0))[0]) if refs else []

    def answer(self, ref: Any) -> Any:
        """Of a question that is ready."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref, timeout=ANSWER)
        except errors.GetTimeoutError:
            raise Lost(f"did not answer for {ANSWER:g} s") from None
        except errors.RayTaskError as error:
            raise Failed(f"failed: {str(error).strip().splitlines()[-1]}") from error
        except errors.RayError as error:
            raise Lost(f"died ({type(error).__name__})") from error

    def peers(self) -> list[Any]:
        """For hosts to reach one another."""
        return list(self._actors)

    def end(self, host: int) -> None:
        """Kill its process."""
        self._ray.kill(self._actors[host], no_restart=True)

    def replace(self, host: int) -> None:
        """Another process for a host that was lost, and an end to it in case it was only silent.

        It starts elsewhere where it can: what failed may have been the node.
        """
        self.end(host)
        self._nodes[host] = self._node(self._nodes[host])
        self._actors[host] = self._start(self._nodes[host])
        self.incarnations[host] += 1

    def kill(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor, no_restart=True)


@contextmanager
def started(n: int) -> Iterator[Hosts]:
    """That many host actors, which do not outlive the block."""
    hosts = Hosts(n)
    try:
        yield hosts
    finally:
        hosts.kill()

"""Ray: a cluster that is joined or started, and the hosts in it.

A cluster that is started here is stopped here; one that was there is left as it
is. Nothing in it has a global name, so runs side by side do not meet. Every wait
has an end.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

from replnet.live.actor import HostActor
from replnet.live.cluster_nodes import LONGEST, ClusterNode, alive, cause, code_for, described, require_fit
from replnet.live.outcome import LiveLost, Unreachable
from replnet.text.errors import printable
from replnet.text.extras import require_extra

STORE = 128 << 20  # bytes of Ray's object store, which holds little here
ANSWER = 10.0  # seconds after which a host that runs counts as silent
KNOCK = 5.0  # seconds for a cluster to answer at all
MOMENT = 1.0  # seconds that an answer has in any case
START = 50.0  # seconds for processes to start: within a minute it is said what does not
ASK = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1])"
SIGACTION = 256  # bytes: more than any system has for what it does at a signal
TOKEN = (
    "the cluster wants another token (RAY_AUTH_MODE=token, and its token as RAY_AUTH_TOKEN or in RAY_AUTH_TOKEN_PATH)"
)


@contextmanager
def joined(address: str | None = None, fit: bool = True) -> Iterator[list[ClusterNode]]:
    """A Ray cluster: the one this process is in, else the one at `address` or RAY_ADDRESS, else a local one.

    One that was there gets the code that it lacks, and the block its nodes as they were found. If these are to be
    `fit` to run replnet and one is not, that is raised.
    """
    require_extra("ray", "Ray")
    import ray

    if ray.is_initialized():
        yield []
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _knock(address)
    with _own_signals(), _own_environment():
        try:
            _init(address)
            with _silence():
                try:
                    nodes = described(alive()) if address != "local" else []
                    if fit and nodes:
                        require_fit(nodes)
                    if code := code_for(nodes):
                        ray.shutdown()
                        _init(address, code)
                    yield nodes
                finally:
                    ray.shutdown()
        finally:
            ray.shutdown()


@contextmanager
def _own_environment() -> Iterator[None]:
    """Ray leaves variables behind that would tell the next one where to find this one."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
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
def _own_signals() -> Iterator[None]:
    """Whoever handles SIGTERM does so after the block again: Ray takes their place, prints a trace of machine code or
    hangs in it, and leaves nobody there.
    """
    system, kept = ctypes.CDLL(None), ctypes.create_string_buffer(SIGACTION)
    system.sigaction(signal.SIGTERM, None, kept)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        else:  # Python puts handlers in place from its main thread alone
            system.sigaction(signal.SIGTERM, kept, None)


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


def _init(address: str, code: dict[str, Any] | None = None) -> None:
    """`code` is the environment of all processes of the job."""
    import ray

    own: dict[str, Any] = {"include_dashboard": False, "object_store_memory": STORE} if address == "local" else {}
    own |= {"runtime_env": code} if code else {}
    try:
        with _undisturbed(), _private_files(), _own_signals():
            ray.init(
                address=address, log_to_driver=False, logging_level=logging.CRITICAL, configure_logging=True, **own
            )
    except SystemExit as end:  # Ray's own answer to SIGTERM while it starts, which would look like an end in order
        raise KeyboardInterrupt from end
    except Exception as error:
        raise Unreachable(f"Ray at {address}: {printable(str(error).strip(), LONGEST)}") from error


def _knock(address: str) -> None:
    """Ray itself would wait for minutes, warning all the while, where nobody answers or nobody is let in."""
    if "://" in address:
        raise Unreachable(f"Ray at {address}: give the cluster's own address, as host:port")
    if not address.rpartition(":")[2].isdigit():
        return
    _connect(address)
    try:
        # In a process of its own, since neither its patience nor what it prints can be set.
        asked = subprocess.run([sys.executable, "-c", ASK, address], capture_output=True, text=True, timeout=2 * KNOCK)
    except subprocess.TimeoutExpired:
        raise Unreachable(f"Ray at {address}: what listens there does not answer as Ray does") from None
    if asked.returncode:
        why = (asked.stderr.strip().splitlines() or ["no answer"])[-1]
        raise Unreachable(f"Ray at {address}: {TOKEN if 'AuthenticationError' in why else printable(why, LONGEST)}")


def _connect(address: str) -> None:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK).close()
    except OSError as error:
        raise Unreachable(f"Ray at {address}: {error.strerror or error}") from error


def gone() -> str:
    """How Ray's own control service is out of reach, if it is; hosts can live on without it, but not start."""
    import ray

    address = str(ray.get_runtime_context().gcs_address)
    try:
        _connect(address)
    except Unreachable as error:
        return str(error)
    return ""


def cpus() -> float:
    """Of the whole cluster."""
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return resources.get("CPU", 0.0)


def free_cpus() -> str:
    """How many of the cluster's CPUs nobody uses, in words."""
    import ray

    free: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]
    return f"of {cpus():g} in the cluster {free.get('CPU', 0.0):g} are free"


class Lost(Exception):  # noqa: N818
    """A host died or fell silent; says how."""


class Failed(Exception):  # noqa: N818
    """What a host was doing raised an error; says which."""


@final
class Hosts:
    """Host actors, and calls to them that end."""

    def __init__(self, n: int, nodes: Sequence[str] = ()) -> None:
        """`nodes` of the cluster to start them on, if it matters."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._ray: Any = ray
        self._bound = NodeAffinitySchedulingStrategy
        self._kind: Any = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0)(HostActor)
        self._nodes: list[str] = []  # of the cluster, by host
        self._actors: list[Any] = []
        self.incarnations = [0] * n
        for h in range(n):
            self._nodes.append(nodes[h] if nodes else self._node(""))
            self._actors.append(self._start(self._nodes[-1]))

    def _node(self, avoided: str) -> str:
        """The node of the cluster with the fewest hosts per CPU, another than this one if there is one."""
        nodes = alive()
        there = [node for node in nodes if node.cpus] or nodes
        others = [node for node in there if node.id != avoided] or there
        return min(others, key=lambda node: (self._nodes.count(node.id) + 1) / max(node.cpus, 1e-3)).id

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
                why = (
                    f": {cause(error.__cause__)}" if isinstance(error.__cause__, self._ray.exceptions.RayError) else ""
                )
                where = f"host {h} of {len(self)} on node {self._nodes[h][:6]}"
                raise LiveLost((f"{where} {error}{why}",)) from error
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
def started(n: int, nodes: Sequence[str] = ()) -> Iterator[Hosts]:
    """That many host actors, which do not outlive the block."""
    hosts = Hosts(n, nodes)
    try:
        yield hosts
    finally:
        hosts.kill()

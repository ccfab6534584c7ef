"""Ray: a cluster that is joined or started, and the hosts in it.

A cluster that is started here is stopped here; one that is joined is left as it
is. Actors have no global names, so runs side by side do not meet. Every wait has
an end.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, final

from replnet.live.actor import HostActor
from replnet.live.cluster_nodes import (
    LONGEST_CAUSE,
    ClusterNode,
    alive_nodes,
    code_for,
    probe_nodes,
    require_fit,
    short_cause,
)
from replnet.live.outcome import LiveLost, Unreachable
from replnet.text.errors import printable
from replnet.text.extras import require_extra

STORE_BYTES = 128 << 20  # of Ray's object store, which holds little here
ANSWER_SECONDS = 10.0  # after which a running host counts as silent
KNOCK_SECONDS = 5.0  # for a cluster to answer at all
LEAST_SECONDS = 1.0  # for an answer, even if the time for all is over
START_SECONDS = 50.0  # for processes to start, so that an error comes within a minute
CONNECT_PROGRAM = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1])"
FAILED_CHECK = re.compile(
    r"Check failed: (?:[^A-Z\n]|[A-Z](?=\w*\())*(?P<words>.+)"
)  # the text begins with the condition
SIGACTION_BYTES = 256  # bytes: at least as many as a struct sigaction has on any system
TOKEN_WANTED = (
    "the cluster wants another token (RAY_AUTH_MODE=token, and its token as RAY_AUTH_TOKEN or in RAY_AUTH_TOKEN_PATH)"
)


@contextmanager
def join_cluster(address: str | None = None, fit: bool = True) -> Iterator[list[ClusterNode]]:
    """Join a Ray cluster: the one this process is in, else the one at `address` or RAY_ADDRESS, else start a local one.

    Yields the nodes of a cluster at an address, as they were before it got the code that it lacks. With `fit`, raises
    Unreachable if one of them cannot run replnet.
    """
    require_extra("ray", "Ray")
    import ray

    if ray.is_initialized():
        yield []
        return
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    _require_answer(address)
    with _own_signals(), _own_environment():
        try:
            _init(address)
            with _mute_workers():
                try:
                    nodes = probe_nodes(alive_nodes()) if address != "local" else []
                    if fit and nodes:
                        require_fit(nodes)
                    if code := code_for(nodes):
                        ray.shutdown()
                        _init(address, code)
                    yield nodes
                finally:
                    _shut_down()
        finally:
            _shut_down()


def _shut_down() -> None:
    """Leave the cluster; remove the folder of one that was started here, which Ray would keep for ever."""
    import ray
    from ray._private import worker

    node = worker._global_node
    session = Path(node.get_session_dir_path()) if node is not None and node.head else None
    ray.shutdown()
    if session is None:
        return
    shutil.rmtree(session, ignore_errors=True)
    with suppress(OSError):  # others may have theirs beside it
        latest = session.parent / "session_latest"
        if latest.is_symlink() and not latest.exists():
            latest.unlink()
        session.parent.rmdir()


@contextmanager
def _own_environment() -> Iterator[None]:
    """Remove variables that Ray sets in the block; they would lead the next one to this cluster."""
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            if name.startswith("RAY_"):
                del os.environ[name]


@contextmanager
def ray_meanwhile(address: str | None = None) -> Iterator[Callable[[], None]]:
    """Join a cluster in a thread while the block runs; yields a function that waits until it is joined, or raises."""
    up, over, failed = threading.Event(), threading.Event(), list[Exception]()

    def stay() -> None:
        try:
            with join_cluster(address):
                up.set()
                over.wait()
        except Exception as error:
            failed.append(error)
            up.set()

    def wait() -> None:
        if not up.wait(START_SECONDS):
            raise Unreachable(f"Ray did not start within {START_SECONDS:g} s")
        if failed:
            raise failed[0]

    thread = threading.Thread(target=stay, daemon=True)
    thread.start()
    try:
        yield wait
    finally:
        over.set()
        thread.join(START_SECONDS)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Restore the handler of SIGTERM after the block: Ray replaces it by its own, which prints a trace or hangs."""
    system, handler = ctypes.CDLL(None), ctypes.create_string_buffer(SIGACTION_BYTES)
    system.sigaction(signal.SIGTERM, None, handler)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        else:  # Python sets handlers from its main thread alone
            system.sigaction(signal.SIGTERM, handler, None)


@contextmanager
def _private_files() -> Iterator[None]:
    """Let only this user read files that are written in the block, such as the token of Ray."""
    umask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(umask)


@contextmanager
def delay_interrupts() -> Iterator[threading.Event]:
    """Let Ctrl-C, or SIGTERM if it means the same, only set the event that is yielded; the second interrupts."""
    interrupted = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield interrupted
        return

    def note(number: int, frame: Any) -> None:
        interrupted.set()
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    ends = (
        number for number in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(number) is signal.default_int_handler
    )
    before = {number: signal.signal(number, note) for number in ends}
    try:
        yield interrupted
    finally:
        restore()


@contextmanager
def _hold_back_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait for the end of the block: Ray cannot be stopped in order while it starts."""
    with delay_interrupts() as interrupted:
        yield
    if interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def _mute_workers() -> Iterator[None]:
    """Keep Ray from printing on stdout in the block, which no setting does; what matters is raised anyway."""
    from ray._private import worker

    was_enabled: bool = getattr(worker, "_worker_logs_enabled", True)
    worker._worker_logs_enabled = False
    try:
        yield
    finally:
        worker._worker_logs_enabled = was_enabled


def _init(address: str, code: dict[str, Any] | None = None) -> None:
    """Join or start the cluster at `address`; `code` is the environment of all processes of the job."""
    import ray

    options: dict[str, Any] = (
        {"include_dashboard": False, "object_store_memory": STORE_BYTES} if address == "local" else {}
    )
    options |= {"runtime_env": code} if code else {}
    try:
        with _hold_back_interrupts(), _private_files(), _own_signals():
            ray.init(
                address=address, log_to_driver=False, logging_level=logging.CRITICAL, configure_logging=True, **options
            )
    except SystemExit as end:  # Ray exits so at SIGTERM while it starts, which would look like a regular end
        raise KeyboardInterrupt from end
    except Exception as error:
        raise Unreachable(f"Ray at {address}: {printable(str(error).strip(), LONGEST_CAUSE)}") from error


def _require_answer(address: str) -> None:
    """Raise Unreachable if no cluster answers at this address, or refuses; Ray itself would wait for minutes."""
    if "://" in address:
        raise Unreachable(f"Ray at {address}: give the cluster's own address, as host:port")
    if not address.rpartition(":")[2].isdigit():
        return
    _connect(address)
    try:
        # In a process of its own, as neither Ray's patience nor its output can be set.
        attempt = subprocess.run(
            [sys.executable, "-c", CONNECT_PROGRAM, address], capture_output=True, text=True, timeout=2 * KNOCK_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise Unreachable(f"Ray at {address}: what listens there does not answer as Ray does") from None
    if attempt.returncode:
        why = complaint(attempt.stderr)
        raise Unreachable(
            f"Ray at {address}: {TOKEN_WANTED if 'AuthenticationError' in why else printable(why, LONGEST_CAUSE)}"
        )


def complaint(printed: str) -> str:
    """Return why a program of Ray failed, from what it printed: the words of a failed check, else the last line."""
    if check := FAILED_CHECK.search(printed):
        return check["words"]
    return (printed.strip().splitlines() or ["no answer"])[-1]


def _connect(address: str) -> None:
    """Raise Unreachable if nothing listens at this address."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_SECONDS).close()
    except OSError as error:
        raise Unreachable(f"Ray at {address}: {error.strerror or error}") from error


def why_unreachable() -> str:
    """Return why Ray's control service cannot be reached, empty if it can; without it no new process starts."""
    import ray

    address = str(ray.get_runtime_context().gcs_address)
    try:
        _connect(address)
    except Unreachable as error:
        return str(error)
    return ""


def cpus() -> float:
    """Return the number of CPUs of the whole cluster."""
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return resources.get("CPU", 0.0)


def free_cpus() -> str:
    """Return the number of free CPUs of the cluster, in words."""
    import ray

    free: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]
    return f"of {cpus():g} in the cluster {free.get('CPU', 0.0):g} are free"


class Lost(Exception):  # noqa: N818
    """An error: a host died or fell silent; the text says how."""


class Failed(Exception):  # noqa: N818
    """An error: the work of a host raised one; the text says which."""


@final
class Hosts:
    """The host actors of a run, and calls to them, each with a time limit."""

    def __init__(self, n: int, nodes: Sequence[str] = ()) -> None:
        """Start `n` hosts, on these nodes of the cluster if any are given."""
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
        """Return the node of the cluster with the fewest hosts per CPU, another than `avoided` if there is one."""
        nodes = alive_nodes()
        if not nodes:
            raise Lost("no node of the Ray cluster is alive")
        candidates = [node for node in nodes if node.cpus] or nodes
        others = [node for node in candidates if node.id != avoided] or candidates
        return min(others, key=lambda node: (self._nodes.count(node.id) + 1) / max(node.cpus, 1e-3)).id

    def _start(self, node: str) -> Any:
        """Start an actor on this node; Ray might start several on one node and none on another."""
        return self._kind.options(scheduling_strategy=self._bound(node_id=node, soft=False)).remote()

    def __len__(self) -> int:
        return len(self._actors)

    def share(self, value: Any) -> Any:
        """Put a large value where several calls can take it as an argument; return its reference."""
        return self._ray.put(value)

    def call(
        self, method: str, arguments: Sequence[Sequence[Any]] | None = None, patience: float | None = None
    ) -> list[Any]:
        """Call a method of every host; return the answers in order. `arguments` is a tuple for each host."""
        arguments = [()] * len(self) if arguments is None else arguments
        return self.call_some(method, dict(enumerate(arguments)), patience)

    def call_some(self, method: str, arguments: dict[int, Sequence[Any]], patience: float | None = None) -> list[Any]:
        """Call a method of some hosts and return the answers; raise LiveLost if one of them is lost."""
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
        """Call a method of a host; return the reference of the answer."""
        return getattr(self._actors[host], method).remote(*arguments)

    def ready(self, refs: list[Any], patience: float) -> list[Any]:
        """Wait for all answers, up to `patience` seconds; return the references of those that came or never will."""
        return list(self._ray.wait(refs, num_returns=len(refs), timeout=max(patience, 0.0))[0]) if refs else []

    def answer(self, ref: Any) -> Any:
        """Return the answer to a call that is ready; raise Lost or Failed if there is none."""
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
        """Return the handles by which hosts reach one another."""
        return list(self._actors)

    def end(self, host: int) -> None:
        """Kill the process of a host."""
        self._ray.kill(self._actors[host], no_restart=True)

    def replace(self, host: int) -> None:
        """Start another process for a host that was lost, on another node if there is one; kill the old process."""
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
    """Start `n` host actors, which end with the block."""
    hosts = Hosts(n, nodes)
    try:
        yield hosts
    finally:
        hosts.kill()

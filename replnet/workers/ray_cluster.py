"""Ray: a cluster that is joined or started.

A cluster that is started here is stopped here; one that is joined is left as it
is. Every wait has an end.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from replnet.text import printable, require_extra
from replnet.workers.cluster_nodes import (
    LONGEST_CAUSE,
    ClusterNode,
    RayUnreachableError,
    alive_nodes,
    code_for,
    probe_nodes,
    require_fit,
)

STORE_BYTES = 128 << 20  # of Ray's object store, which holds little here
KNOCK_SECONDS = 5.0  # for a cluster to answer at all
START_SECONDS = 50.0  # for processes to start, so that an error comes within a minute
CONNECT_PROGRAM = "import sys; from ray._raylet import GcsClient; GcsClient(address=sys.argv[1])"
FAILED_CHECK = re.compile(
    r"Check failed: (?:[^A-Z\n]|[A-Z](?=\w*\())*(?P<words>.+)"
)  # the text begins with the condition
NO_TOKEN = "Token authentication is enabled but"  # Ray's words where it has none to show
SIGACTION_BYTES = 256  # bytes: at least as many as a struct sigaction has on any system
TOKEN_WANTED = (
    "the cluster wants {} token, which `ray get-auth-token` prints on its head (here RAY_AUTH_MODE=token, and the "
    "token as RAY_AUTH_TOKEN or in the file RAY_AUTH_TOKEN_PATH)"
)


@contextmanager
def join_cluster(address: str | None = None, fit: bool = True) -> Iterator[list[ClusterNode]]:
    """Join a Ray cluster for the block: the one this process is in, else one at an address, else a new local one.

    The address is `address`, or RAY_ADDRESS in its place. Yields the nodes of a cluster at an address, as they were
    before it got the code that it lacks, and no nodes otherwise. Raises RayUnreachableError if it cannot be joined,
    or, with `fit`, if one of the nodes cannot run replnet.
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
    """Leave the cluster that this process has joined; do nothing if there is none.

    If it was started here it ends, and its folder, which Ray would keep for ever, is removed.
    """
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
    """Remove, after the block, the environment variables that Ray set in it.

    They would lead the next block to the cluster of this one.
    """
    before = dict(os.environ)
    try:
        yield
    finally:
        for name in os.environ.keys() - before.keys():
            if name.startswith("RAY_"):
                del os.environ[name]


@contextmanager
def ray_meanwhile(address: str | None = None) -> Iterator[Callable[[], None]]:
    """Join a cluster in a thread while the block runs; yield a function that waits until it is joined.

    That is the cluster at `address` as for `join_cluster`. The function raises the error if it cannot be joined, and
    RayUnreachableError if that takes more than START_SECONDS.
    """
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
            raise RayUnreachableError(f"Ray did not start within {START_SECONDS:g} s")
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
    """Create files in the block, such as that of Ray's token, so that only this user may read them."""
    umask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(umask)


@contextmanager
def delay_interrupts() -> Iterator[threading.Event]:
    """Let the first Ctrl-C in the block only set the event that is yielded; a second one interrupts.

    SIGTERM counts as well if the program handles it as Python does Ctrl-C. Outside the main thread the event is never
    set.
    """
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
    """Let Ctrl-C in the block wait for its end, which then raises KeyboardInterrupt.

    Ray cannot be stopped in order while it starts.
    """
    with delay_interrupts() as interrupted:
        yield
    if interrupted.is_set():
        raise KeyboardInterrupt


@contextmanager
def _mute_workers() -> Iterator[None]:
    """Keep Ray from printing on stdout what its workers print during the block; errors are raised anyway."""
    from ray._private import worker

    was_enabled: bool = getattr(worker, "_worker_logs_enabled", True)
    worker._worker_logs_enabled = False
    try:
        yield
    finally:
        worker._worker_logs_enabled = was_enabled


def _init(address: str, code: dict[str, Any] | None = None) -> None:
    """Join the cluster at `address`, or start one if that is `local`; raise RayUnreachableError if that fails.

    `code` is the `runtime_env` of all processes of the job; None if it needs none. Ctrl-C waits until it is done.
    """
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
        raise RayUnreachableError(f"Ray at {address}: {printable(str(error).strip(), LONGEST_CAUSE)}") from error


def _require_answer(address: str) -> None:
    """Raise RayUnreachableError if no cluster answers at this address, or refuses; Ray itself would wait for minutes.

    An address without a port, such as `local`, is not tried.
    """
    if "://" in address:
        raise RayUnreachableError(f"Ray at {address}: give the cluster's own address, as host:port")
    if not address.rpartition(":")[2].isdigit():
        return
    _connect(address)
    try:
        # In a process of its own, as neither Ray's patience nor its output can be set.
        attempt = subprocess.run(
            [sys.executable, "-c", CONNECT_PROGRAM, address], capture_output=True, text=True, timeout=2 * KNOCK_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise RayUnreachableError(f"Ray at {address}: what listens there does not answer as Ray does") from None
    if attempt.returncode:
        raise RayUnreachableError(f"Ray at {address}: {complaint(attempt.stderr)}")


def complaint(printed: str) -> str:
    """Return why a program of Ray failed, from what it `printed`: the words of a failed check, else the last line.

    If the cluster refuses it for want of its token, the words say so, and where the token comes from.
    """
    check = FAILED_CHECK.search(printed)
    why = check["words"] if check else (printed.strip().splitlines() or ["no answer"])[-1]
    if "AuthenticationError" in why:
        return TOKEN_WANTED.format("another" if os.environ.get("RAY_AUTH_MODE", "").lower() == "token" else "a")
    return TOKEN_WANTED.format("a") if NO_TOKEN in why else printable(why, LONGEST_CAUSE)


def _connect(address: str) -> None:
    """Raise RayUnreachableError if nothing listens at this address, host:port, within KNOCK_SECONDS."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=KNOCK_SECONDS).close()
    except OSError as error:
        raise RayUnreachableError(f"Ray at {address}: {error.strerror or error}") from error


def why_unreachable() -> str:
    """Return why the control service of the joined cluster cannot be reached, in words; empty if it can.

    Without that service no new process starts.
    """
    import ray

    address = str(ray.get_runtime_context().gcs_address)
    try:
        _connect(address)
    except RayUnreachableError as error:
        return str(error)
    return ""


def cpus() -> float:
    """Return the number of CPUs of the whole cluster that this process has joined."""
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return resources.get("CPU", 0.0)


def free_cpus() -> str:
    """Return a clause that says how many CPUs of the joined cluster are free: "of 8 in the cluster 2 are free"."""
    import ray

    free: dict[str, float] = ray.available_resources()  # type: ignore[no-untyped-call]
    return f"of {cpus():g} in the cluster {free.get('CPU', 0.0):g} are free"

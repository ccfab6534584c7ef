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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

from replnet.engines.live.actor import HostActor
from replnet.engines.live.result import LiveLost, Unreachable

STORE = 128 << 20  # bytes of Ray's object store, which holds little here
ANSWER = 10.0  # seconds after which a host that runs counts as silent
KNOCK = 5.0  # seconds for a cluster to answer at all
START = 90.0  # seconds for processes to start


@contextmanager
def joined(address: str | None = None) -> Iterator[None]:
    """A Ray cluster: the one this process is in, else the one at `address` or RAY_ADDRESS, else a local one."""
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
            yield
    finally:
        ray.shutdown()
        for name in os.environ.keys() - environment.keys():
            if name.startswith("RAY_"):
                del os.environ[name]


@contextmanager
def _private_files() -> Iterator[None]:
    """Ray would write its token for all to read."""
    umask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(umask)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ctrl-C waits for the end of the block, unless it comes twice: half a Ray cannot be stopped in order."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []

    def note(number: int, frame: Any) -> None:
        came.append(number)
        signal.signal(signal.SIGINT, before)

    before = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came:
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


def cpus() -> float:
    """Of the whole cluster."""
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return resources.get("CPU", 1.0)


@final
class Hosts:
    """Host actors, and calls to them that end."""

    def __init__(self, n: int) -> None:
        import ray

        kind: Any = ray.remote(num_cpus=0, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(HostActor)
        self._ray = ray
        self.actors = [kind.remote() for _ in range(n)]
        self.machines: list[str] = [""] * n
        self.now: float | None = None  # model time, for whoever reads of a loss

    def share(self, what: Any) -> Any:
        """Something large for several calls."""
        return self._ray.put(what)

    def call(
        self, method: str, arguments: Sequence[Sequence[Any]] | None = None, patience: float | None = None
    ) -> list[Any]:
        """The same call to every host; the answers in order."""
        arguments = [()] * len(self.actors) if arguments is None else arguments
        return self.some(method, dict(enumerate(arguments)), patience)

    def some(self, method: str, given: dict[int, Sequence[Any]], patience: float | None = None) -> list[Any]:
        """A call to some hosts."""
        patience = ANSWER if patience is None else patience
        end = time.monotonic() + patience
        asked = {h: getattr(self.actors[h], method).remote(*what) for h, what in given.items()}
        return [self._answer(h, ref, end - time.monotonic(), patience) for h, ref in asked.items()]

    def _answer(self, host: int, ref: Any, left: float, patience: float) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(ref, timeout=max(left, 0.0))
        except errors.GetTimeoutError:
            why = f"did not answer for {patience:g} s"
        except errors.RayTaskError as error:
            why = f"failed: {str(error).strip().splitlines()[-1]}"
        except errors.RayError as error:
            why = f"died ({type(error).__name__})"
        raise LiveLost((f"host {host} of {len(self.actors)} {why}",), self.now)

    def kill(self) -> None:
        for actor in self.actors:
            self._ray.kill(actor, no_restart=True)


@contextmanager
def started(n: int) -> Iterator[Hosts]:
    """That many host actors, which do not outlive the block."""
    hosts = Hosts(n)
    try:
        yield hosts
    finally:
        hosts.kill()

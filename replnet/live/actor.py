"""What runs inside a host's process: a thread that steps it, and calls that bring batches and questions."""

from __future__ import annotations

import gc
import os
import pickle
import queue
import socket
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias, final

from replnet.engines.path import Task
from replnet.engines.step import run_path
from replnet.live.clocks import Heartbeat, machine
from replnet.live.host import Assignment, Host, Logged, Report
from replnet.live.time_scale import GAP, Echo, Echoed, shortest

NAP = 0.2  # seconds after which a thread looks up whether it is to end
REPORT = 0.1  # seconds between reports
SPARE = 50  # a report may take this part of the time
WARMED = 1000  # nodes of a network, of which a short path takes a moment

What: TypeAlias = bytes | Callable[[], None]
"""That a thread is handed: a batch, or something to do between two events."""


@final
@dataclass(frozen=True)
class Status:
    """How a host is doing, and at the end of a run how it did."""

    done: bool  # no wake is left and no query is open
    idle: bool  # no wake is left
    report: bytes  # of a Report, pickled when it was true; empty if there is none yet
    rows: list[Logged]  # of the log up to that report, since the last time
    left: list[list[tuple[int, int, float]]] = field(default_factory=list)  # what its nodes hold at the end
    busy: float = 0.0  # share of the time in which its loop worked
    cpu: float = 0.0  # CPUs that its process used
    stood: list[tuple[float, float]] = field(default_factory=list)  # still, from when in model time, for seconds


@final
class HostActor:
    """All methods but `prepare` and `finish` return at once; what takes time happens in the thread."""

    def __init__(self) -> None:
        self._come: queue.SimpleQueue[What] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._over, self._failed = threading.Event(), ""
        self._peers: list[Any] = []
        self._echo = Echo(self._send)
        self._host: Host | None = None
        self._zero, self._scale = float("inf"), 1.0
        self._busy = self._cpu = self._wall = 0.0
        self._stood: list[tuple[float, float]] = []
        self._report, self._rows, self._reporting = b"", list[Logged](), threading.Lock()

    def hello(self) -> tuple[str, str, int]:
        """Its machine since when, the name of that, and its process there."""
        return machine(), socket.gethostname(), os.getpid()

    def clock(self) -> float:
        return time.monotonic()

    def meet(self, peers: list[Any]) -> None:
        """How to reach the hosts, by number; nothing comes back from a delivery, not even an error."""
        self._peers = [_to(peer) for peer in peers]

    def deliver(self, batch: bytes) -> None:
        self._come.put(batch)

    def _send(self, host: int, batch: bytes) -> None:
        self._peers[host](batch)

    def echo(self) -> None:
        """Send back what comes, until a run begins."""
        self._run(self._echoing)

    def measure(self, me: int, to: int, size: int, seconds: float) -> None:
        """What messages to another host cost, by its echo."""
        self._echo.start(me, to, size, seconds)

    def measured(self) -> Echoed:
        return self._echo.result()

    def prepare(self, task: Task, given: Assignment) -> float:
        """Make the nodes; returns how many seconds that took."""
        if given.incarnation == 0 and task.plan.size <= WARMED:
            # Where replnet has just come to, kernels are yet to be compiled, which must not happen in the run.
            run_path(replace(task, horizon=shortest(task.plan)))
        begun = time.monotonic()
        self._host, self._since = Host(task, given, self._model_time, self._send), given.since
        # The nodes stay: looking through all of them for garbage would stop everything for a while, again and again.
        gc.collect()
        gc.freeze()
        return time.monotonic() - begun

    def begin(self, zero: float, scale: float, met: list[int]) -> None:
        """Model time zero is when this machine's monotonic clock shows `zero`; a unit takes `scale` seconds.

        `met`: the incarnations of the hosts whose handles it has.
        """
        self._end()
        assert self._host is not None
        self._host.mailbox.gap = GAP / scale
        self._zero, self._scale = zero, scale
        for host, incarnation in enumerate(met):
            if incarnation:
                self._host.meet(host, incarnation)
        self._run(self._live)

    def replaced(self, host: int, incarnation: int, peer: Any) -> None:
        """A host has begun anew."""
        self._come.put(partial(self._replace, host, incarnation, peer))

    def _replace(self, host: int, incarnation: int, peer: Any) -> None:
        assert self._host is not None
        if not self._host.mailbox.knows(host, incarnation):
            self._peers[host] = _to(peer)
            self._host.meet(host, incarnation)

    def cut(self, horizon: float) -> None:
        """End at this instant of model time."""
        assert self._host is not None
        self._come.put(partial(self._host.cut, horizon))

    def status(self) -> Status:
        if self._failed:
            raise RuntimeError(self._failed)
        assert self._host is not None
        with self._reporting:
            report, rows, self._rows = self._report, self._rows, []
        return Status(self._host.done, self._host.idle, report, rows)

    def finish(self) -> Status:
        self._end()
        host, elapsed = self._host, max(self._wall, 1e-9)
        assert host is not None
        report, rows = pickle.dumps(host.report(), protocol=5), self._rows + host.rows()
        busy, cpu = self._busy / elapsed, self._cpu / elapsed
        return Status(host.done, host.idle, report, rows, host.left(), busy, cpu, self._stood)

    def _model_time(self) -> float:
        return (time.monotonic() - self._zero) / self._scale

    def _run(self, what: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                what()
            except Exception:
                self._failed = traceback.format_exc(limit=-4)

        self._over.clear()
        self._thread = threading.Thread(target=guarded, daemon=True)
        self._thread.start()

    def _end(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(10)

    def _echoing(self) -> None:
        while not self._over.is_set():
            for what in self._coming(NAP):
                assert isinstance(what, bytes)
                self._echo.receive(what)

    def _live(self) -> None:
        assert self._host is not None
        host, start = self._host, self._zero + self._since * self._scale
        time.sleep(max(start - time.monotonic(), 0))
        cpu, report_at = time.process_time(), start
        heart = Heartbeat(time.monotonic, time.process_time, start)
        while not self._over.is_set():
            if still := heart.beat():
                self._stood.append((self._model_time() - still / self._scale, still))
            begun = time.monotonic()
            due = host.step()
            now = time.monotonic()
            if now > report_at and host.caught_up:
                self._take_down(host.so_far(), host.rows())
                taken, now = now, time.monotonic()
                report_at = now + max(REPORT, SPARE * (now - taken))
            self._busy += now - begun
            for what in self._coming(min(self._zero + due * self._scale - now, NAP)):
                if isinstance(what, bytes):
                    host.mailbox.receive(what)
                else:
                    what()
        self._wall, self._cpu = time.monotonic() - start, time.process_time() - cpu

    def _take_down(self, report: Report, rows: list[Logged]) -> None:
        """Keep it for whoever asks next."""
        pickled = pickle.dumps(report, protocol=5)
        with self._reporting:
            self._report = pickled
            self._rows += rows

    def _coming(self, patience: float) -> list[What]:
        """What is there, or the first to come within `patience` seconds."""
        come: list[What] = []
        try:
            come.append(self._come.get(timeout=patience) if patience > 0 else self._come.get_nowait())
            while True:
                come.append(self._come.get_nowait())
        except queue.Empty:
            return come


def _to(peer: Any) -> Any:
    return peer.deliver.options(num_returns=0).remote

"""The process of a host: a thread that runs its nodes, and calls that bring batches and questions."""

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
from typing import Any, TypeAlias, TypeVar, final

from replnet.engines import Task
from replnet.engines.nodes import run_path
from replnet.live.clocks import Heartbeat, boot_id
from replnet.live.host import Assignment, Host, LogRows, Report
from replnet.live.time_scale import GAP, Echo, Echoed, shortest

NAP_SECONDS = 0.2  # after which a thread looks whether it is to end
REPORT_SECONDS = 0.1  # between reports
REPORT_TIMES = 50  # the time between reports is at least so many times that of making one
Item = TypeVar("Item")
MOST_NODES_WARMED_UP = 1000  # a short path of so many nodes takes a moment

Arrival: TypeAlias = bytes | Callable[[], None]
"""Input of the thread: a batch, or a function to call between two events."""


@final
@dataclass(frozen=True)
class Status:
    """The state of a host: its progress during a run, or its results at the end of one."""

    done: bool  # whether no wake is left and no query is open
    idle: bool  # whether no wake is left
    report: bytes  # the latest Report, pickled; empty if there is none yet
    rows: list[LogRows]  # rows of the log up to that report that were not handed over yet
    left: list[list[tuple[int, int, float]]] = field(
        default_factory=list
    )  # copies at the end, as `Host.copies_left` has them
    busy: float = 0.0  # share of the time in which its loop worked
    cpu: float = 0.0  # CPUs that its process used
    stood: list[tuple[float, float]] = field(default_factory=list)  # standstills: model time, and seconds


@final
class HostActor:
    """A Ray actor with one host. All methods but `prepare`, `begin` and `finish` return at once; a thread does the
    work.

    A call or its answer may get lost and is then repeated: so every method does and returns the same the second time.
    """

    def __init__(self) -> None:
        self._arrivals: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        # Of their own, as the last ones may still be under way when a run begins.
        self._echoes: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._over, self._failed = threading.Event(), ""
        self._peers: list[Any] = []
        self._echo_peers: list[Any] = []
        self._echo = Echo(lambda host, batch: self._echo_peers[host](batch))
        self._host: Host | None = None
        self._zero, self._scale = float("inf"), 1.0
        self._busy = self._cpu = self._wall = 0.0
        self._stood: list[tuple[float, float]] = []
        self._report, self._rows, self._reporting = b"", list[LogRows](), threading.Lock()
        self._forgotten = 0  # blocks of rows that have arrived

    def hello(self) -> tuple[str, str, int]:
        """Return the boot id (empty if there is none) and the name of its machine, and the id of its process."""
        return boot_id(), socket.gethostname(), os.getpid()

    def clock(self) -> float:
        """Return the time of its monotonic clock, in seconds."""
        return time.monotonic()

    def meet(self, peers: list[Any]) -> None:
        """Take the Ray handles of all hosts, by number, itself included, to send batches to.

        Nothing comes back from a delivery to them, not even an error.
        """
        self._peers = [_delivery_to(peer.deliver) for peer in peers]
        self._echo_peers = [_delivery_to(peer.deliver_echo) for peer in peers]

    def deliver(self, batch: bytes) -> None:
        """Hand a batch of a run to the thread."""
        self._arrivals.put(batch)

    def deliver_echo(self, batch: bytes) -> None:
        """Hand a batch of a measurement to the thread."""
        self._echoes.put(batch)

    def _send(self, host: int, batch: bytes) -> None:
        """Deliver a batch of a run to the host with this number."""
        self._peers[host](batch)

    def echo(self) -> None:
        """Start a thread that answers the batches of measurements, until a run begins."""
        self._run(self._echoing)

    def measure(self, me: int, to: int, size: int, seconds: float) -> None:
        """Start to measure what messages to host `to` cost: `size` pulls and their replies go there and back for
        `seconds`.

        `me` is the number of this host.
        """
        self._echo.start(me, to, size, seconds)

    def measurement(self) -> Echoed:
        """Return the result of the latest measurement that this host has started."""
        return self._echo.result()

    def prepare(self, task: Task, assignment: Assignment) -> float:
        """Make the nodes of an assignment; return how many seconds that took.

        Before, a first incarnation runs a short path of a small network in virtual time, so that all code is compiled.
        """
        if assignment.incarnation == 0 and task.plan.size <= MOST_NODES_WARMED_UP:
            # On a machine that is new to replnet kernels are not compiled yet; that must not happen in the run.
            run_path(replace(task, horizon=shortest(task.plan)))
        begun = time.monotonic()
        self._host, self._since = Host(task, assignment, self._model_time, self._send), assignment.since
        # The nodes stay to the end; searching all of them for garbage would stop the host again and again.
        gc.collect()
        gc.freeze()
        return time.monotonic() - begun

    def begin(self, zero: float, scale: float, incarnations: list[int]) -> None:
        """Start the run in a thread: model time zero is when the clock of this machine shows `zero`, and a unit takes
        `scale` seconds.

        `incarnations` are, by number, those of the hosts whose handles this host has.
        """
        self._end()
        assert self._host is not None
        self._host.mailbox.gap = GAP / scale
        self._zero, self._scale = zero, scale
        for host, incarnation in enumerate(incarnations):
            if incarnation:
                self._host.meet(host, incarnation)
        self._run(self._live)

    def meet_successor(self, host: int, incarnation: int, peer: Any) -> None:
        """Take the Ray handle `peer` of a new incarnation of a host, once the thread is between two events."""
        self._arrivals.put(partial(self._replace, host, incarnation, peer))

    def _replace(self, host: int, incarnation: int, peer: Any) -> None:
        """Write to this incarnation of a host, whose Ray handle is `peer`, from now on; do nothing if this host does so
        already.
        """
        assert self._host is not None
        if not self._host.mailbox.knows(host, incarnation):
            self._peers[host] = _delivery_to(peer.deliver)
            self._host.meet(host, incarnation)

    def cut(self, horizon: float) -> None:
        """End the run at this instant of model time."""
        assert self._host is not None
        self._arrivals.put(partial(self._host.cut, horizon))

    def status(self, blocks_heard: int) -> Status:
        """Return the state of the host, with the blocks of log rows after the first `blocks_heard`, which have arrived.

        Raise a RuntimeError with the traceback if the thread has failed.
        """
        if self._failed:
            raise RuntimeError(self._failed)
        assert self._host is not None
        with self._reporting:
            return Status(self._host.done, self._host.idle, self._report, self._rows_after(blocks_heard))

    def _rows_after(self, blocks_heard: int) -> list[LogRows]:
        """Forget the first `blocks_heard` blocks of log rows since the beginning of the run, and return the others."""
        del self._rows[: blocks_heard - self._forgotten]
        self._forgotten = blocks_heard
        return list(self._rows)

    def finish(self, blocks_heard: int) -> Status:
        """End the thread and return the results of the run, with the blocks of log rows after the first
        `blocks_heard`.
        """
        self._end()
        host, elapsed = self._host, max(self._wall, 1e-9)
        assert host is not None
        self._rows += host.rows()
        report, rows = pickle.dumps(host.report(), protocol=5), self._rows_after(blocks_heard)
        busy, cpu = self._busy / elapsed, self._cpu / elapsed
        return Status(host.done, host.idle, report, rows, host.copies_left(), busy, cpu, self._stood)

    def _model_time(self) -> float:
        """Return the present instant of model time; -inf before the run has begun."""
        return (time.monotonic() - self._zero) / self._scale

    def _run(self, work: Callable[[], None]) -> None:
        """Start a thread that does `work`; an error in it is raised by the next `status`."""

        def note_failure() -> None:
            try:
                work()
            except Exception:
                self._failed = traceback.format_exc(limit=-4)

        self._over.clear()
        self._thread = threading.Thread(target=note_failure, daemon=True)
        self._thread.start()

    def _end(self) -> None:
        """Tell the thread to end, and wait up to ten seconds until it has."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(10)

    def _echoing(self) -> None:
        """Answer every batch of a measurement that comes, until the thread is to end."""
        while not self._over.is_set():
            for batch in _take_all(self._echoes, NAP_SECONDS):
                self._echo.receive(batch)

    def _live(self) -> None:
        """Run the nodes from the start of the assignment until the thread is to end."""
        assert self._host is not None
        host, start = self._host, self._zero + self._since * self._scale
        time.sleep(max(start - time.monotonic(), 0))
        cpu, report_at = time.process_time(), start
        heart = Heartbeat(time.monotonic, time.process_time, start)
        while not self._over.is_set():
            if stood := heart.beat():
                self._stood.append((self._model_time() - stood / self._scale, stood))
            begun = time.monotonic()
            due = host.step()
            now = time.monotonic()
            if now > report_at and host.caught_up:
                self._keep_report(host.so_far(), host.rows())
                taken, now = now, time.monotonic()
                report_at = now + max(REPORT_SECONDS, REPORT_TIMES * (now - taken))
            self._busy += now - begun
            for arrival in _take_all(self._arrivals, min(self._zero + due * self._scale - now, NAP_SECONDS)):
                if isinstance(arrival, bytes):
                    host.mailbox.receive(arrival)
                else:
                    arrival()
        self._wall, self._cpu = time.monotonic() - start, time.process_time() - cpu

    def _keep_report(self, report: Report, rows: list[LogRows]) -> None:
        """Keep a report, pickled, as the latest one, and rows of the log up to it, for the next call of `status`."""
        pickled = pickle.dumps(report, protocol=5)
        with self._reporting:
            self._report = pickled
            self._rows += rows


def _take_all(arrivals: queue.SimpleQueue[Item], patience: float) -> list[Item]:
    """Return all that has arrived in a queue; if nothing has, wait up to `patience` seconds for the first arrival.

    The list is empty if nothing comes.
    """
    items: list[Item] = []
    try:
        items.append(arrivals.get(timeout=patience) if patience > 0 else arrivals.get_nowait())
        while True:
            items.append(arrivals.get_nowait())
    except queue.Empty:
        return items


def _delivery_to(method: Any) -> Any:
    """Return a function that calls this method of a Ray actor, and neither waits for an answer nor gets one."""
    return method.options(num_returns=0).remote

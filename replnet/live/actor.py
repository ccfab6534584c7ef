"""The process of a host: a queue of what comes, a thread that takes turns with it, and calls that bring it."""

from __future__ import annotations

import gc
import os
import queue
import socket
import threading
import time
import traceback
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, final

from replnet.engines import Task
from replnet.engines.nodes import run_path
from replnet.live.clocks import WallClock, boot_id
from replnet.live.host import Assignment
from replnet.live.host_run import Arrival, HostRun, Status
from replnet.live.time_scale import Echo, Echoed, shortest

NAP_SECONDS = 0.2  # after which a thread looks whether it is to end
Item = TypeVar("Item")
MOST_NODES_WARMED_UP = 1000  # a short path of so many nodes takes a moment


@final
class HostActor:
    """A process with one host. All methods but `prepare`, `begin` and `finish` return at once; a thread does the work.

    A call or its answer may get lost and is then repeated: so every method does and returns the same the second time.
    Hosts are known by their numbers, from 0.
    """

    def __init__(self, clock: WallClock = time, threaded: bool = True) -> None:
        """`clock` is that of this process. Unless it is `threaded`, its caller has to call `turn` again and again."""
        self._clock, self._threaded = clock, threaded
        self._arrivals: queue.SimpleQueue[Arrival] = queue.SimpleQueue()
        # Of their own, as the last ones may still be under way when a run begins.
        self._echoes: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._over, self._failed = threading.Event(), ""
        self._addresses: list[Any] = []
        self._echo = Echo(lambda host, batch: self._addresses[host].deliver_echo(batch), clock)
        self._run: HostRun | None = None
        self._running = False

    def hello(self) -> tuple[str, str, int]:
        """Return the boot id (empty if there is none) and the host name of its machine, and the id of its process."""
        return boot_id(), socket.gethostname(), os.getpid()

    def clock(self) -> float:
        """Return the time of its monotonic clock, in seconds."""
        return self._clock.monotonic()

    def meet(self, addresses: list[Any]) -> None:
        """Take the addresses of all hosts, by number, itself included, in the place of earlier ones, to send to."""
        self._addresses = list(addresses)

    def deliver(self, batch: bytes) -> None:
        """Take a batch of messages of a run, as bytes, for the next turn."""
        self._arrivals.put(batch)

    def deliver_echo(self, batch: bytes) -> None:
        """Take a batch of messages of a measurement, as bytes, for the next turn."""
        self._echoes.put(batch)

    def _send(self, host: int, batch: bytes) -> None:
        """Deliver a batch of a run to the host with this number."""
        self._addresses[host].deliver(batch)

    def echo(self) -> None:
        """Begin to answer batches of measurements, which goes on until a run begins."""
        self._start_turns()

    def measure(self, me: int, to: int, size: int, seconds: float) -> None:
        """Start to measure what messages to host `to` cost; `me` is the number of this host.

        For `seconds`, `size` pulls and their replies go there and back, again and again.
        """
        self._echo.start(me, to, size, seconds)

    def measurement(self) -> Echoed:
        """Return the result of the latest measurement that this host has started, or of its rounds so far."""
        return self._echo.result()

    def prepare(self, task: Task, assignment: Assignment) -> float:
        """Make the nodes of an assignment; return how many seconds that took.

        Before, and not timed, a first incarnation runs a short path of a network of at most MOST_NODES_WARMED_UP nodes
        in virtual time, so that all code is compiled.
        """
        if assignment.incarnation == 0 and task.plan.size <= MOST_NODES_WARMED_UP:
            # On a machine that is new to replnet kernels are not compiled yet; that must not happen in the run.
            run_path(replace(task, horizon=shortest(task.plan)))
        begun = self._clock.monotonic()
        self._run = HostRun(task, assignment, self._clock, self._send)
        # The nodes stay to the end; searching all of them for garbage would stop the host again and again.
        gc.collect()
        gc.freeze()
        return self._clock.monotonic() - begun

    def begin(self, zero: float, scale: float, incarnations: list[int]) -> None:
        """Start the run: model time zero is when the clock of this machine shows `zero`.

        A unit of model time takes `scale` seconds. `incarnations` are, by number, those of the hosts whose addresses
        this host has. `prepare` must have been called.
        """
        self._end_turns()
        assert self._run is not None
        self._run.begin(zero, scale)
        for host, incarnation in enumerate(incarnations):
            if incarnation:
                self._run.host.meet(host, incarnation)
        self._running = True
        self._start_turns()

    def meet_successor(self, host: int, incarnation: int, address: Any) -> None:
        """Take the address of a new incarnation of another host, between two events.

        Messages that wait to be sent to its predecessor are dropped.
        """
        self._arrivals.put(partial(self._replace, host, incarnation, address))

    def _replace(self, host: int, incarnation: int, address: Any) -> None:
        """Write to this incarnation of a host, at `address`, from now on.

        Nothing happens if this host writes to it, or to a later one, already.
        """
        assert self._run is not None
        if not self._run.host.mailbox.knows(host, incarnation):
            self._addresses[host] = address
            self._run.host.meet(host, incarnation)

    def cut(self, horizon: float) -> None:
        """End the run at the instant `horizon` of model time, earlier than planned."""
        assert self._run is not None
        self._arrivals.put(partial(self._run.host.cut, horizon))

    def status(self, blocks_heard: int) -> Status:
        """Return the state of the host, with blocks of log rows.

        `blocks_heard` is how many blocks have arrived at the caller: these are forgotten, and the later ones returned.
        Raise a RuntimeError with the traceback if a turn has failed.
        """
        if self._failed:
            raise RuntimeError(self._failed)
        assert self._run is not None
        return self._run.status(blocks_heard)

    def finish(self, blocks_heard: int) -> Status:
        """End the turns and return the results of the run, with the last blocks of log rows.

        `blocks_heard` is how many blocks have arrived at the caller: these are forgotten, and the later ones returned.
        """
        self._end_turns()
        assert self._run is not None
        return self._run.finish(blocks_heard)

    def turn(self, patience: float) -> float:
        """Wait up to `patience` seconds for what comes, and act upon it; return the seconds until the next turn is due.

        That is infinite before a run. An error is raised by the next `status`, and ends the turns.
        """
        try:
            if self._run is not None and self._running:
                return self._run.turn(_take_all(self._arrivals, patience))
            for batch in _take_all(self._echoes, patience):
                self._echo.receive(batch)
        except Exception:
            self._failed = traceback.format_exc(limit=-4)
            self._over.set()
        return float("inf")

    def _start_turns(self) -> None:
        """Start a thread that takes turns, if this process is to have one."""

        def take_turns() -> None:
            patience = 0.0
            while not self._over.is_set():
                patience = self.turn(min(patience, NAP_SECONDS))

        self._over.clear()
        if self._threaded:
            self._thread = threading.Thread(target=take_turns, daemon=True)
            self._thread.start()

    def _end_turns(self) -> None:
        """Tell the thread to end, if there is one, and wait up to ten seconds until it has."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(10)


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

"""What runs inside a host's process: a thread that steps it, and calls that bring batches and questions."""

from __future__ import annotations

import os
import queue
import socket
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from replnet.engines.live.bounce import Bounced, Bouncer
from replnet.engines.live.clocks import machine
from replnet.engines.live.host import Floats, Host, Part, Report
from replnet.engines.live.pace import GAP
from replnet.engines.plan import Plan

NAP = 0.2  # seconds after which a thread looks up whether it is to end
GLIMPSE = 0.5  # seconds between looks at freshness


@final
@dataclass(frozen=True)
class Status:
    """How a host is doing."""

    now: float  # model time
    done: bool  # no wake is left and no query is open
    idle: bool  # no wake is left
    counts: tuple[int, ...]
    said: int
    slip: float  # mean
    fresh: tuple[float, Floats] | None  # up to when, and copy-time


@final
class HostActor:
    """All methods return at once; what takes time happens in the thread."""

    def __init__(self) -> None:
        self._batches: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._over, self._failed = threading.Event(), ""
        self._peers: list[Any] = []
        self._bouncer = Bouncer(self._send)
        self._host: Host | None = None
        self._zero, self._scale = float("inf"), 1.0
        self._busy = self._cpu = self._wall = 0.0
        self._fresh: tuple[float, Floats] | None = None

    def hello(self) -> tuple[str, str, int]:
        """Its machine since when, the name of that, and its process there."""
        return machine(), socket.gethostname(), os.getpid()

    def clock(self) -> float:
        return time.monotonic()

    def meet(self, peers: list[Any]) -> None:
        """How to reach the hosts, by number; nothing comes back from a delivery, not even an error."""
        self._peers = [peer.deliver.options(num_returns=0).remote for peer in peers]
        self._run(self._bounce)

    def deliver(self, batch: bytes) -> None:
        self._batches.put(batch)

    def _send(self, host: int, batch: bytes) -> None:
        self._peers[host](batch)

    def bounce(self, me: int, to: int, size: int, seconds: float) -> None:
        self._bouncer.start(me, to, size, seconds)

    def bounced(self) -> Bounced:
        return self._bouncer.result()

    def prepare(self, plan: Plan, part: Part) -> int:
        """Make the nodes; returns how many there are."""
        self._host = Host(plan, part, self._model_time, self._send)
        return part.at.count(part.me)

    def begin(self, zero: float, scale: float, watched: bool) -> None:
        """Model time zero is when this machine's monotonic clock shows `zero`; a unit takes `scale` seconds."""
        self._end()
        assert self._host is not None
        self._host.gap = GAP / scale
        self._zero, self._scale, self._watched = zero, scale, watched
        self._run(self._live)

    def status(self) -> Status:
        if self._failed:
            raise RuntimeError(self._failed)
        assert self._host is not None
        host, so_far = self._host, self._host.seen
        counts, said, slip = tuple(so_far.counts), so_far.said, so_far.slip.mean
        return Status(self._model_time(), host.done, not host.waiting, counts, said, slip, self._fresh)

    def finish(self) -> tuple[Report, float, float]:
        """What it has seen, and the shares of time in which its loop and its CPU worked."""
        self._end()
        assert self._host is not None
        elapsed = max(self._wall, 1e-9)
        return self._host.report(), self._busy / elapsed, self._cpu / elapsed

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

    def _bounce(self) -> None:
        while not self._over.is_set():
            for batch in self._come(NAP):
                self._bouncer.receive(batch)

    def _live(self) -> None:
        assert self._host is not None
        time.sleep(max(self._zero - time.monotonic(), 0))
        host, looked = self._host, self._zero
        cpu = time.process_time()
        while not self._over.is_set():
            begun = time.monotonic()
            due = host.step()
            if self._watched and begun - looked > GLIMPSE:
                looked, self._fresh = begun, host.fresh()
            now = time.monotonic()
            self._busy += now - begun
            for batch in self._come(min(self._zero + due * self._scale - now, NAP)):
                host.receive(batch)
        self._wall, self._cpu = time.monotonic() - self._zero, time.process_time() - cpu

    def _come(self, patience: float) -> list[bytes]:
        """Batches that are there, or the first to come within `patience` seconds."""
        come = []
        try:
            come.append(self._batches.get(timeout=patience) if patience > 0 else self._batches.get_nowait())
            while True:
                come.append(self._batches.get_nowait())
        except queue.Empty:
            return come

"""The run of a host by a clock: turns, in which what is due happens, and what it reports of them."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, final

from replnet.engines import Task
from replnet.live.clocks import Heartbeat, WallClock
from replnet.live.host import Assignment, Host, LogRows, Report
from replnet.live.time_scale import GAP

REPORT_SECONDS = 0.1  # between reports
REPORT_TIMES = 50  # the time between reports is at least so many times that of making one

Arrival: TypeAlias = bytes | Callable[[], None]
"""Input of a host: a batch, or a function to call between two events."""


@final
@dataclass(frozen=True)
class Status:
    """The state of a host: its progress during a run, or its results at the end of one.

    `idle` is whether no wake is left, and `done` whether no query is open either. `report` is the latest Report,
    pickled, empty if there is none yet, and `rows` are blocks of log rows up to it that had not arrived. Only at the
    end there are the copies `left`, as `Host.copies_left` has them, the share `busy` of the time in which its loop
    worked, the CPUs `cpu` that its process used on average, and the standstills `stood`, as (instant of model time,
    seconds).
    """

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
class HostRun:
    """A host, its nodes made for an assignment, and its turns from the start of that on.

    `clock` is that of its process, and `send` carries a batch to the host with a number. `host` is the host itself.
    `turn` may be called in another thread than `status`.
    """

    def __init__(
        self, task: Task, assignment: Assignment, clock: WallClock, send: Callable[[int, bytes], None]
    ) -> None:
        self.host = Host(task, assignment, self._model_time, send)
        self._since, self._clock = assignment.since, clock
        self._zero, self._scale, self._start = float("inf"), 1.0, float("inf")
        self._early = list[Arrival]()  # what has come before the start
        self._heart: Heartbeat | None = None  # beats from the start on
        self._busy = self._cpu_before = self._report_at = 0.0
        self._shares: tuple[float, float] | None = None  # busy, and CPUs used, once the run has ended
        self._stood: list[tuple[float, float]] = []
        self._report, self._rows, self._reporting = b"", list[LogRows](), threading.Lock()
        self._forgotten = 0  # blocks of rows that have arrived

    def begin(self, zero: float, scale: float) -> None:
        """Set the pace: model time zero is when the clock shows `zero`, and a unit takes `scale` seconds.

        The turns begin at the start of the assignment.
        """
        self._zero, self._scale, self._start = zero, scale, zero + self._since * scale
        self._report_at, self.host.mailbox.gap = self._start, GAP / scale

    def _model_time(self) -> float:
        """Return the present instant of model time; -inf before the run has begun."""
        return (self._clock.monotonic() - self._zero) / self._scale

    def turn(self, arrivals: Sequence[Arrival]) -> float:
        """Act upon what has arrived, then let many events that are due happen; return the seconds to the next one.

        The seconds may be below 0 if it is due already. Before the start nothing happens, and arrivals wait for it.
        """
        clock, host = self._clock, self.host
        self._early += arrivals
        if (wait := self._start - clock.monotonic()) > 0:
            return wait
        if self._heart is None:
            self._cpu_before, self._heart = clock.process_time(), Heartbeat(clock, self._start)
        if stood := self._heart.beat():
            self._stood.append((self._model_time() - stood / self._scale, stood))
        begun = clock.monotonic()
        arrived, self._early = self._early, []
        for arrival in arrived:
            if isinstance(arrival, bytes):
                host.receive(arrival)
            else:
                arrival()
        due = host.step()
        now = clock.monotonic()
        if now > self._report_at and host.caught_up:
            self._keep_report(host.so_far(), host.rows())
            taken, now = now, clock.monotonic()
            self._report_at = now + max(REPORT_SECONDS, REPORT_TIMES * (now - taken))
        self._busy += now - begun
        return self._zero + due * self._scale - now

    def _keep_report(self, report: Report, rows: list[LogRows]) -> None:
        """Keep a report, pickled, as the latest one, and rows of the log up to it, for later calls of `status`."""
        pickled = pickle.dumps(report, protocol=5)
        with self._reporting:
            self._report = pickled
            self._rows += rows

    def status(self, blocks_heard: int) -> Status:
        """Return the state of the host, with blocks of log rows.

        `blocks_heard` is how many blocks of the run have arrived at the caller: these are forgotten, and the later ones
        returned.
        """
        with self._reporting:
            return Status(self.host.done, self.host.idle, self._report, self._rows_after(blocks_heard))

    def _rows_after(self, blocks_heard: int) -> list[LogRows]:
        """Forget the first `blocks_heard` blocks of log rows since the beginning of the run; return the later ones."""
        del self._rows[: blocks_heard - self._forgotten]
        self._forgotten = blocks_heard
        return list(self._rows)

    def finish(self, blocks_heard: int) -> Status:
        """Return the results of the run, with the last blocks of log rows. No turn may follow.

        `blocks_heard` is how many blocks of the run have arrived at the caller: these are forgotten, and the later ones
        returned.
        """
        host, clock = self.host, self._clock
        if self._shares is None:
            elapsed = max(clock.monotonic() - self._start, 1e-9)
            self._shares = self._busy / elapsed, (clock.process_time() - self._cpu_before) / elapsed
        self._rows += host.rows()
        report, rows = pickle.dumps(host.report(), protocol=5), self._rows_after(blocks_heard)
        return Status(host.done, host.idle, report, rows, host.copies_left(), *self._shares, self._stood)

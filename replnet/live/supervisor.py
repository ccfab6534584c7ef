"""A run from time zero to its end, as the driver sees it: who has seen what so far, who is lost, who is back.

Every host hands over what it has seen up to some instant, again and again. One
that dies or falls silent is counted up to its last report, and another process
takes its place: the next incarnation of the host, whose nodes start blank at an
instant that is set before, and count from then on. Nothing here waits without
an end: a look takes LOOK seconds, a silent host is given up after ANSWER, a
new process after AGAIN. Where the driver itself stood still, hosts went on by
themselves and what they have seen counts; but the time does not count against
them, since nobody asked them.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, final

import numpy as np

from replnet.engines.step import longest
from replnet.engines.tally import Task
from replnet.live import ray_cluster
from replnet.live.actor import Finished, Status
from replnet.live.clocks import Heartbeat, Offset, Standstill, machine, offset
from replnet.live.host import Logged, Part, Report, amounts, total
from replnet.live.result import Glimpse, LiveLost, Outage

LOOK = 0.2  # seconds between looks at the hosts
GRACE = 2.0  # seconds for answers that are under way at the end, besides the network's own delays
AGAIN = 25.0  # seconds for another process to take the place of one that was lost
MARGIN = 0.1  # seconds from when it is told of its nodes to when they go live, besides the time to make them
MOST_LOSSES = 5  # of one host
CUT = 0.5  # seconds from when a run is cut short to its end, so that all hosts hear of it before
KNOCK = 5.0  # seconds between looks at Ray itself
PLANNED = "was killed as planned"

Watch: TypeAlias = Callable[[Glimpse], None]
Log: TypeAlias = Callable[[list[Logged]], None]
Birth: TypeAlias = Generator[tuple[Any, ...], Any, None]
"""Asks questions of a new process (method and arguments), gets the answers."""


@final
@dataclass
class Seat:
    """One host of a run, whichever process it is at present."""

    part: Part
    made_in: float  # seconds
    machine: str
    offset: Offset
    up: bool = True
    birth: Birth | None = None
    ref: Any = None  # the question that is open
    patience: float = np.inf  # when it counts as unanswered
    give_up: float = np.inf  # when it is too late for another process
    status: Status | None = None
    past: list[Report] = field(default_factory=list)  # of incarnations that are over
    latest: Report | None = None
    finished: Finished | None = None
    outages: list[Outage] = field(default_factory=list)
    killed: bool = False  # as planned, and not heard of since

    @property
    def heard(self) -> float:
        return self.latest.upto if self.latest else self.part.since

    @property
    def reports(self) -> list[Report]:
        return [*self.past, self.latest] if self.latest else self.past

    def take(self, status: Status) -> None:
        if status.report and (self.status is None or status.report != self.status.report):
            self.latest = pickle.loads(status.report)
        self.status = status

    def lose(self, outage: Outage) -> None:
        self.outages.append(outage)
        self.past, self.latest, self.status, self.up = self.reports, None, None, False

    def back(self, part: Part) -> None:
        self.outages[-1] = replace(self.outages[-1], back=part.since)
        self.part, self.up, self.birth = part, True, None


@final
class Lookout:
    def __init__(
        self,
        task: Task,
        hosts: ray_cluster.Hosts,
        seats: list[Seat],
        zero: float,
        scale: float,
        kills: Iterable[tuple[float, int]] = (),
    ) -> None:
        """`zero` by this process's clock; `scale` in seconds per unit of time; `kills`: when to kill which host."""
        self._task, self._hosts, self._zero, self._scale = task, hosts, zero, scale
        self.seats, self.horizon = seats, task.horizon
        self.cut_short = self.unfinished = ""
        self._knocked = self._awake = time.monotonic()
        self._kills = deque(sorted(kills))
        self._heart, self.stood = Heartbeat(time.monotonic, time.process_time, zero), list[Standstill]()

    @property
    def now(self) -> float:
        return (time.monotonic() - self._zero) / self._scale

    @property
    def outages(self) -> tuple[Outage, ...]:
        return tuple(sorted((outage for seat in self.seats for outage in seat.outages), key=lambda o: o.heard))

    def run(self, watch: Watch | None, log: Log | None) -> None:
        """Until all is done, or the time for it is over, or Ctrl-C has cut it short."""
        with ray_cluster.noted() as interrupted:
            while not self._over():
                self._look(log)
                self._kill()
                if watch is not None:
                    watch(self._glimpse())
                if interrupted.is_set() and not self.cut_short:
                    self._cut("interrupted")
            self._finish(log)

    def _beat(self) -> bool:
        """Whether this process stood still just now."""
        still = self._heart.beat()
        if not still:
            return False
        for seat in self.seats:
            seat.patience += still
            seat.give_up += still
        self._awake = time.monotonic()
        # A process that dies later than its node was to would lose what the node has learnt since.
        missed = [kill for kill in self._kills if kill[0] <= self.now]
        for kill in missed:
            self._kills.remove(kill)
        self.stood.append(Standstill("the driver", self.now - still / self._scale, still, spared=len(missed)))
        return True

    def _over(self) -> bool:
        self._beat()
        now, end = time.monotonic(), self._zero + self.horizon * self._scale
        if now < end:
            return False
        up = [seat.status for seat in self.seats if seat.up]
        more = 0.25 * self.horizon * self._scale
        grace = GRACE + min(2 * longest(self._task.plan) * self._scale, more)
        idle = all(status is not None and status.idle for status in up)
        if idle and (now >= end + grace or all(status is not None and status.done for status in up)):
            return True
        if now > max(end, self._awake) + max(more, 5.0):
            due = end - self._zero
            self.unfinished = f"after {now - self._zero:.0f} s wakes that were due by {due:.0f} s were still to come"
        return bool(self.unfinished)

    def _look(self, log: Log | None) -> None:
        begun = time.monotonic()
        left = self._zero + self.horizon * self._scale - begun
        until = begun + (min(LOOK, left) if left > 0 else 0.02)
        for seat in self.seats:
            if seat.up and seat.ref is None:
                self._ask(seat, begun + ray_cluster.ANSWER, "status")
        asked = {seat.ref: seat for seat in self.seats if seat.ref is not None}
        for ref in self._hosts.ready(list(asked), until - begun):
            self._hear(asked[ref], log)
        self._beat()
        for seat in self.seats:
            if seat.ref is not None and time.monotonic() > seat.patience:
                self._lose(seat, f"did not answer for {ray_cluster.ANSWER:g} s")
        if begun - self._knocked > KNOCK:
            self._knock()
        time.sleep(max(until - time.monotonic(), 0.0))

    def _kill(self) -> None:
        """What is planned to crash, does."""
        self._beat()
        while self._kills and self._kills[0][0] <= self.now:
            seat = self.seats[self._kills.popleft()[1]]
            if seat.up:
                seat.killed = True
                self._hosts.end(seat.part.me)

    def _knock(self) -> None:
        self._knocked = time.monotonic()
        if gone := ray_cluster.gone():
            raise LiveLost((gone,), self.now)

    def _ask(self, seat: Seat, patience: float, method: str, *what: Any) -> None:
        seat.ref, seat.patience = self._hosts.ask(seat.part.me, method, *what), patience

    def _hear(self, seat: Seat, log: Log | None) -> None:
        ref, seat.ref = seat.ref, None
        try:
            answer = self._hosts.answer(ref)
        except ray_cluster.Lost as why:
            self._lose(seat, str(why))
            return
        except ray_cluster.Failed as why:
            raise LiveLost((f"host {seat.part.me} of {len(self.seats)} {why}",), self.now) from why
        if seat.birth is not None:
            self._go_on(seat, answer)
            return
        seat.take(answer)
        if log is not None and answer.rows:
            log(answer.rows)

    def _lose(self, seat: Seat, why: str) -> None:
        """A process is lost: the one that ran, or the one that was to replace it."""
        seat.ref = seat.birth = None
        me = seat.part.me
        if seat.up:
            if self.now < 0:
                raise LiveLost((f"host {me} of {len(self.seats)} {why}",))
            planned, seat.killed = seat.killed, False
            seat.lose(self._outage(seat, PLANNED if planned else why))
            seat.give_up = time.monotonic() + AGAIN
        self._knock()
        if self.now >= self.horizon or self.cut_short:
            return
        if sum(outage.why != PLANNED for outage in seat.outages) > MOST_LOSSES:
            self._cut(f"host {me} was lost {len(seat.outages)} times")
        elif time.monotonic() > seat.give_up:
            self._cut(f"host {me} {why}, and no other process took its place within {AGAIN:g} s")
        else:
            seat.birth = self._born_again(seat)
            self._go_on(seat, None)

    def _outage(self, seat: Seat, why: str) -> Outage:
        me = seat.part.me
        nodes = tuple(name for name, host in zip(self._task.plan.names, seat.part.at, strict=True) if host == me)
        return Outage(me, nodes, why, seat.heard)

    def _go_on(self, seat: Seat, answer: Any) -> None:
        assert seat.birth is not None
        try:
            method, *what = seat.birth.send(answer)
        except StopIteration:
            return
        # A process that was killed while it started may never answer: rather another one than all the patience.
        self._ask(seat, min(seat.give_up, time.monotonic() + ray_cluster.ANSWER), method, *what)

    def _born_again(self, seat: Seat) -> Birth:
        """The next incarnation of a host, up to where it runs and all know of it."""
        hosts, me = self._hosts, seat.part.me
        hosts.replace(me)
        boot, seat.machine, _ = yield ("hello",)
        seat.offset = Offset() if boot == machine() and boot else clock_offset(hosts, me)
        yield "meet", hosts.peers()
        since = self.now + (MARGIN + 2 * seat.made_in) / self._scale
        if since >= self.horizon:
            return
        part = seat.part.reborn(hosts.incarnations[me], since, self.horizon)
        yield "prepare", hosts.share(self._task), part
        yield "begin", self._zero + seat.offset.seconds, self._scale, hosts.incarnations
        # Those that are about to be born again hear of it too, or they would write to its predecessor.
        for other in self.seats:
            if other is not seat:
                hosts.ask(other.part.me, "replaced", me, part.incarnation, hosts.peers()[me])
        seat.back(part)

    def _cut(self, why: str) -> None:
        """End soon, at one instant for all."""
        at = self.now + CUT / self._scale
        if at >= self.horizon:
            return
        self.horizon, self.cut_short = at, f"{why} at t = {at:.4g}"
        for seat in self.seats:
            if seat.up:
                self._hosts.ask(seat.part.me, "cut", at)
            else:
                seat.ref = seat.birth = None

    def _finish(self, log: Log | None) -> None:
        """The last of what the hosts have seen; one that is lost even now is counted up to its latest report."""
        asked = {self._hosts.ask(seat.part.me, "finish"): seat for seat in self.seats if seat.up}
        ready = self._hosts.ready(list(asked), 2 * ray_cluster.ANSWER)
        if self._beat():
            ready = self._hosts.ready(list(asked), 2 * ray_cluster.ANSWER)
        for ref, seat in asked.items():
            try:
                if ref not in ready:
                    raise ray_cluster.Lost("did not answer at the end")
                seat.finished = self._hosts.answer(ref)
            except (ray_cluster.Lost, ray_cluster.Failed) as why:
                if seat.heard < self.horizon:
                    seat.lose(self._outage(seat, str(why)))
                continue
            seat.latest = seat.finished.report
            if log is not None and seat.finished.rows:
                log(seat.finished.rows)
        if not any(seat.reports for seat in self.seats):
            raise LiveLost(tuple(str(outage) for outage in self.outages), self.now)

    def _glimpse(self) -> Glimpse:
        reports = [report for seat in self.seats for report in seat.reports]
        found = [of for report in reports for of in report.counted]
        now = min(max(self.now, 0.0), self.horizon)
        groups, counts, shares = self._task.plan.groups, (0, 0, 0, 0), np.full(len(self._task.plan.groups), np.nan)
        if found:
            counts = tuple(total([of.counts for of in found]).tolist())
            made = amounts(self._task, found, now * len(found), degraded=True)
            pairs = np.array([made.get((group, "freshness"), (0.0, 0.0)) for group in groups])
            with np.errstate(invalid="ignore", divide="ignore"):
                shares = pairs[:, 0] / pairs[:, 1]
        said = sum(report.seen.said for report in reports)
        slip = max((report.seen.slip.mean for report in reports), default=0.0)
        return Glimpse(now, self.horizon, groups, shares, counts, said, slip, self.outages, tuple(self.stood))


def clock_offset(hosts: ray_cluster.Hosts, host: int) -> Offset:
    """How far its clock is from this one."""
    return offset(lambda: float(hosts.some("clock", {host: ()})[0]), time.monotonic)

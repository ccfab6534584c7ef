"""A run from time zero to its end: what its hosts have seen so far, which of them are lost, and which are back.

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

from replnet.engines.path import Task
from replnet.engines.step import longest
from replnet.engines.watcher import NodeStates
from replnet.live import ray_cluster
from replnet.live.actor import Status
from replnet.live.clocks import Heartbeat, Offset, Standstill, machine, offset
from replnet.live.host import Assignment, Logged, Report, amounts, total
from replnet.live.outcome import PLANNED, Glimpse, LiveLost, Outage

LOOK = 0.2  # seconds between looks at the hosts
GRACE = 2.0  # seconds for answers that are under way at the end, besides the network's own delays
AGAIN = 25.0  # seconds for another process to take the place of one that was lost
MARGIN = 0.1  # seconds from when it is told of its nodes to when they go live, besides the time to make them
MOST_LOSSES = 5  # of one host
CUT = 0.5  # seconds from when a run is cut short to its end, so that all hosts hear of it before
CHECK = 5.0  # seconds between looks at Ray itself
TRIAL = 3.0  # seconds after which it shows whether a pace can be kept
SLOWER = (3.0, 20.0)  # times, at least and at most, after one that could not be kept
BEHIND = 2.0  # seconds without a report by which a host has not caught up

Watch: TypeAlias = Callable[[Glimpse], None]
Log: TypeAlias = Callable[[list[Logged]], None]
Restart: TypeAlias = Generator[tuple[Any, ...], Any, None]
"""Asks questions of a new process (method and arguments), gets the answers."""


@final
@dataclass
class HostState:
    """One host of a run, whichever process it is at present."""

    given: Assignment
    made_in: float  # seconds
    machine: str
    offset: Offset
    up: bool = True
    restart: Restart | None = None
    ref: Any = None  # the question that is open
    patience: float = np.inf  # when it counts as unanswered
    give_up: float = np.inf  # when it is too late for another process
    status: Status | None = None
    past: list[Report] = field(default_factory=list)  # of incarnations that are over
    latest: Report | None = None
    finished: Status | None = None
    outages: list[Outage] = field(default_factory=list)
    killed: bool = False  # as planned, and not heard of since

    @property
    def heard(self) -> float:
        return self.latest.upto if self.latest else self.given.since

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

    def back(self, given: Assignment) -> None:
        self.outages[-1] = replace(self.outages[-1], back=given.since)
        self.given, self.up, self.restart = given, True, None


@final
class Supervisor:
    def __init__(
        self,
        task: Task,
        hosts: ray_cluster.Hosts,
        states: list[HostState],
        zero: float,
        scale: float,
        kills: Iterable[tuple[float, int]] = (),
    ) -> None:
        """`zero` by this process's clock; `scale` in seconds per unit of time; `kills`: when to kill which host."""
        self._task, self._hosts, self._zero, self._scale = task, hosts, zero, scale
        self.states, self.horizon = states, task.horizon
        self.cut_short = self.unfinished = ""
        self._checked = self._awake = time.monotonic()
        self._kills = deque(sorted(kills))
        self._heart, self.stood = Heartbeat(time.monotonic, time.process_time, zero), list[Standstill]()

    @property
    def now(self) -> float:
        return (time.monotonic() - self._zero) / self._scale

    @property
    def outages(self) -> tuple[Outage, ...]:
        return tuple(sorted((outage for state in self.states for outage in state.outages), key=lambda o: o.heard))

    def run(self, watch: Watch | None, log: Log | None, most_slip: float = np.inf) -> bool:
        """Until all is done, or the time for it is over, or Ctrl-C has cut it short; False if it was too fast.

        It is if after TRIAL seconds the wakes of a host are later than `most_slip` on average; then it ends at once, as
        if it had not been, and nothing was handed to `log`.
        """
        held, trial = list[Logged](), most_slip < np.inf
        with ray_cluster.noted() as interrupted:
            while not self._over():
                self._look(held.extend if trial else log)
                self._kill()
                if trial and time.monotonic() > self._zero + TRIAL:
                    if self._strained(most_slip):
                        return False
                    trial = False
                    if log is not None and held:
                        log(held)
                if watch is not None:
                    watch(self._glimpse())
                if interrupted.is_set() and not self.cut_short:
                    self._cut("interrupted")
            if trial and self._strained(most_slip):
                return False
            if trial and log is not None and held:
                log(held)
            self._finish(log)
        return True

    @property
    def slower(self) -> float:
        """How many times more slowly model time has to pass if this pace was too fast."""
        heard = min(state.heard for state in self.states)
        return float(np.clip(2 * self.now / max(heard, 1e-9), *SLOWER))

    def _strained(self, most_slip: float) -> bool:
        """Whether a host is late, or too busy to say so; what else went wrong is no strain."""
        heard = min(state.heard for state in self.states)
        behind = heard < self.horizon and (self.now - heard) * self._scale > BEHIND
        return (self._glimpse().slip > most_slip or behind) and not self.outages and not self.cut_short

    def _beat(self) -> bool:
        """Whether this process stood still just now."""
        still = self._heart.beat()
        if not still:
            return False
        for state in self.states:
            state.patience += still
            state.give_up += still
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
        up = [state.status for state in self.states if state.up]
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
        for state in self.states:
            if state.up and state.ref is None:
                self._ask(state, begun + ray_cluster.ANSWER, "status")
        asked = {state.ref: state for state in self.states if state.ref is not None}
        for ref in self._hosts.ready(list(asked), until - begun):
            self._hear(asked[ref], log)
        self._beat()
        for state in self.states:
            if state.ref is not None and time.monotonic() > state.patience:
                self._lose(state, f"did not answer for {ray_cluster.ANSWER:g} s")
        if begun - self._checked > CHECK:
            self._check_ray()
        time.sleep(max(until - time.monotonic(), 0.0))

    def _kill(self) -> None:
        """What is planned to crash, does."""
        self._beat()
        while self._kills and self._kills[0][0] <= self.now:
            state = self.states[self._kills.popleft()[1]]
            if state.up:
                state.killed = True
                self._hosts.end(state.given.me)

    def _check_ray(self) -> None:
        self._checked = time.monotonic()
        if gone := ray_cluster.gone():
            raise LiveLost((gone,), self.now)

    def _ask(self, state: HostState, patience: float, method: str, *what: Any) -> None:
        state.ref, state.patience = self._hosts.ask(state.given.me, method, *what), patience

    def _hear(self, state: HostState, log: Log | None) -> None:
        ref, state.ref = state.ref, None
        try:
            answer = self._hosts.answer(ref)
        except ray_cluster.Lost as why:
            self._lose(state, str(why))
            return
        except ray_cluster.Failed as why:
            raise LiveLost((f"host {state.given.me} of {len(self.states)} {why}",), self.now) from why
        if state.restart is not None:
            self._go_on(state, answer)
            return
        state.take(answer)
        if log is not None and answer.rows:
            log(answer.rows)

    def _lose(self, state: HostState, why: str) -> None:
        """A process is lost: the one that ran, or the one that was to replace it."""
        state.ref = state.restart = None
        me = state.given.me
        if state.up:
            if self.now < 0:
                raise LiveLost((f"host {me} of {len(self.states)} {why}",))
            planned, state.killed = state.killed, False
            state.lose(self._outage(state, PLANNED if planned else why))
            state.give_up = time.monotonic() + AGAIN
        self._check_ray()
        if self.now >= self.horizon or self.cut_short:
            return
        if sum(outage.why != PLANNED for outage in state.outages) > MOST_LOSSES:
            self._cut(f"host {me} was lost {len(state.outages)} times")
        elif time.monotonic() > state.give_up:
            self._cut(f"host {me} {why}, and no other process took its place within {AGAIN:g} s")
        else:
            state.restart = self._restarting(state)
            self._go_on(state, None)

    def _outage(self, state: HostState, why: str) -> Outage:
        me = state.given.me
        nodes = tuple(name for name, host in zip(self._task.plan.names, state.given.at, strict=True) if host == me)
        return Outage(me, nodes, why, state.heard)

    def _go_on(self, state: HostState, answer: Any) -> None:
        assert state.restart is not None
        try:
            method, *what = state.restart.send(answer)
        except StopIteration:
            return
        # A process that was killed while it started may never answer: rather another one than all the patience.
        self._ask(state, min(state.give_up, time.monotonic() + ray_cluster.ANSWER), method, *what)

    def _restarting(self, state: HostState) -> Restart:
        """The next incarnation of a host, up to where it runs and all know of it."""
        hosts, me = self._hosts, state.given.me
        hosts.replace(me)
        boot, state.machine, _ = yield ("hello",)
        state.offset = Offset() if boot == machine() and boot else clock_offset(hosts, me)
        yield "meet", hosts.peers()
        since = self.now + (MARGIN + 2 * state.made_in) / self._scale
        if since >= self.horizon:
            return
        given = state.given.restarted(hosts.incarnations[me], since, self.horizon)
        yield "prepare", hosts.share(self._task), given
        yield "begin", self._zero + state.offset.seconds, self._scale, hosts.incarnations
        # Those that are about to begin anew hear of it too, or they would write to its predecessor.
        for other in self.states:
            if other is not state:
                hosts.ask(other.given.me, "replaced", me, given.incarnation, hosts.peers()[me])
        state.back(given)

    def _cut(self, why: str) -> None:
        """End soon, at one instant for all."""
        at = self.now + CUT / self._scale
        if at >= self.horizon:
            return
        self.horizon, self.cut_short = at, f"{why} at t = {at:.4g}"
        for state in self.states:
            if state.up:
                self._hosts.ask(state.given.me, "cut", at)
            else:
                state.ref = state.restart = None

    def _finish(self, log: Log | None) -> None:
        """The last of what the hosts have seen; one that is lost even now is counted up to its latest report."""
        asked = {self._hosts.ask(state.given.me, "finish"): state for state in self.states if state.up}
        ready = self._hosts.ready(list(asked), 2 * ray_cluster.ANSWER)
        if self._beat():
            ready = self._hosts.ready(list(asked), 2 * ray_cluster.ANSWER)
        for ref, state in asked.items():
            try:
                if ref not in ready:
                    raise ray_cluster.Lost("did not answer at the end")
                state.finished = self._hosts.answer(ref)
            except (ray_cluster.Lost, ray_cluster.Failed) as why:
                if state.heard < self.horizon:
                    state.lose(self._outage(state, str(why)))
                continue
            state.latest = pickle.loads(state.finished.report)
            if log is not None and state.finished.rows:
                log(state.finished.rows)
        if not any(state.reports for state in self.states):
            raise LiveLost(tuple(str(outage) for outage in self.outages), self.now)

    def _glimpse(self) -> Glimpse:
        reports = [report for state in self.states for report in state.reports]
        found = [of for report in reports for of in report.tallied]
        now = min(max(self.now, 0.0), self.horizon)
        groups, counts, shares = self._task.plan.groups, (0, 0, 0, 0), np.full(len(self._task.plan.groups), np.nan)
        if found:
            counts = tuple(total([of.counts for of in found]).tolist())
            made = amounts(self._task, found, now * len(found), degraded=True)
            pairs = np.array([made.get((group, "freshness"), (0.0, 0.0)) for group in groups])
            with np.errstate(invalid="ignore", divide="ignore"):
                shares = pairs[:, 0] / pairs[:, 1]
        said = sum(report.statistics.said for report in reports)
        slip = max((report.statistics.slip.mean for report in reports), default=0.0)
        faults = self.outages, tuple(self.stood)
        return Glimpse(now, self.horizon, groups, shares, counts, said, slip, *faults, self._node_states())

    def _node_states(self) -> NodeStates:
        """As of the latest reports; a node whose process is lost has nothing."""
        size = self._task.plan.size
        found = NodeStates(np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size))
        for state in self.states:
            if state.latest:
                for every, own in zip(found, state.latest.states, strict=True):
                    every[state.given.own] = own
        return found


def clock_offset(hosts: ray_cluster.Hosts, host: int) -> Offset:
    """How far its clock is from this one."""
    return offset(lambda: float(hosts.some("clock", {host: ()})[0]), time.monotonic)

"""A run from time zero to its end: reports of its hosts, and restarts of those that are lost.

Every host reports its measurements up to some instant, again and again. One that
dies or falls silent is counted up to its last report, and another process takes
its place: the next incarnation of the host, whose nodes start blank at an instant
that is set before, and count from then on. Every wait has an end: a look takes
LOOK_SECONDS, a silent host is given up after ANSWER_SECONDS, a new process after
RESTART_SECONDS. If the driver itself stood still, hosts went on by themselves and
their measurements count; but that time does not count as silence, as nobody asked
them.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, final

import numpy as np

from replnet.engines import Task
from replnet.engines.nodes import NodeStates, longest_delay
from replnet.live import transport
from replnet.live.clocks import Heartbeat, Offset, Standstill, boot_id, measure_offset
from replnet.live.host import Assignment, LogRows, Report, add_elements, measured_shares
from replnet.live.host_run import Status
from replnet.live.outcome import PLANNED, Glimpse, LiveLost, Outage
from replnet.live.transport import HostLostError, Hosts
from replnet.workers import delay_interrupts

LOOK_SECONDS = 0.2  # between looks at the hosts
GRACE_SECONDS = 2.0  # for answers that are under way at the end, besides the delays of the network
RESTART_SECONDS = 25.0  # for another process to take the place of one that was lost
# Between the assignment of a new process and its start, besides the time to make its nodes: two looks, since the answer
# that its nodes are made is heard in the look after the next at the latest, and only then is it told to begin.
MARGIN_SECONDS = 2 * LOOK_SECONDS
MOST_LOSSES = 5  # of one host
CUT_SECONDS = 0.5  # from when a run is cut short to its end, so that all hosts hear of it before
CHECK_SECONDS = 5.0  # between looks at Ray itself
TRIAL_SECONDS = 3.0  # after which it shows whether a pace can be kept
SLOWER_TIMES = (3.0, 5.0)  # how many times slower the next pace is, at least and at most
SECONDS_BEHIND = 2.0  # without a report, after which a host has not caught up

Watch: TypeAlias = Callable[[Glimpse], None]
Log: TypeAlias = Callable[[list[LogRows]], None]
Restart: TypeAlias = Generator[tuple[Any, ...], Any, None]
"""The steps of a restart: yields calls to a new process (method and arguments), and is sent their answers."""


@final
@dataclass
class HostState:
    """The state of a host in a run as its driver sees it, over all its incarnations.

    `assignment` is the present one, whose nodes were made in `made_in` seconds on this `machine`; `offset` is that of
    its clock. `up` is whether its process runs, and `restart` are the steps of a new one. `ref` is the call whose
    answer is awaited up to the instant `patience`, and a restart has failed after `give_up`, both of the driver's
    clock. `status` is its last one, `rows` the number of blocks of log rows that have come from the process, `past` the
    last reports of earlier incarnations, `latest` that of the present one, and `finished` its status at the end, None
    before. `killed` is whether it was killed as planned and not replaced yet.
    """

    assignment: Assignment
    made_in: float  # seconds
    machine: str
    offset: Offset
    up: bool = True
    restart: Restart | None = None
    ref: Any = None  # of the call whose answer is awaited
    patience: float = np.inf  # the instant after which no answer means that the host is lost
    give_up: float = np.inf  # the instant after which a restart has failed
    status: Status | None = None
    rows: int = 0  # blocks of rows of the log that have come from the process
    past: list[Report] = field(default_factory=list)  # the last reports of earlier incarnations
    latest: Report | None = None
    finished: Status | None = None
    outages: list[Outage] = field(default_factory=list)
    killed: bool = False  # whether it was killed as planned, and has not been replaced yet

    @property
    def heard(self) -> float:
        """The instant of model time up to which the present incarnation has reported; its start without any report."""
        return self.latest.upto if self.latest else self.assignment.since

    @property
    def reports(self) -> list[Report]:
        """The latest reports of all incarnations that have made one, earliest first."""
        return [*self.past, self.latest] if self.latest else self.past

    def take(self, status: Status) -> None:
        """Store a status that has come from the process, with its report if that is new, and count its log blocks."""
        self.rows += len(status.rows)
        if status.report and (self.status is None or status.report != self.status.report):
            self.latest = pickle.loads(status.report)
        self.status = status

    def lose(self, outage: Outage) -> None:
        """Record that the process is lost, with its `outage`; its latest report becomes one of the past."""
        self.outages.append(outage)
        self.past, self.latest, self.status, self.up, self.rows = self.reports, None, None, False, 0

    def back(self, assignment: Assignment) -> None:
        """Record that another process has taken over with this assignment, which ends the latest outage."""
        self.outages[-1] = replace(self.outages[-1], back=assignment.since)
        self.assignment, self.up, self.restart = assignment, True, None


@final
class Supervisor:
    """The run of a network in its hosts: watches them, restarts those that are lost, and ends the run.

    Its `horizon` becomes earlier if the run is cut short; `cut_short` says why. `unfinished` says which wakes were
    still to come when it gave up waiting. Both are empty if all went well. `states` are those of the hosts, by number,
    and `stood` the standstills of this process.
    """

    def __init__(
        self,
        task: Task,
        hosts: Hosts,
        states: list[HostState],
        zero: float,
        scale: float,
        kills: Iterable[tuple[float, int]] = (),
    ) -> None:
        """Take over hosts that begin to run at `zero`, by the clock of this process; `states` are theirs, by number.

        `scale` is in seconds per unit of model time, and `kills` are (instant of model time, host) of processes to be
        killed.
        """
        self._task, self._hosts, self._zero, self._scale = task, hosts, zero, scale
        self._transport, self._clock = hosts.transport, hosts.transport.clock
        self.states, self.horizon = states, task.horizon
        self.cut_short = self.unfinished = ""
        self._checked = self._awake = self._clock.monotonic()
        self._kills = deque(sorted(kills))
        self._heart, self.stood = Heartbeat(self._clock, zero), list[Standstill]()

    @property
    def now(self) -> float:
        """The present instant of model time, below 0 before time zero, and past the horizon at the end."""
        return (self._clock.monotonic() - self._zero) / self._scale

    @property
    def outages(self) -> tuple[Outage, ...]:
        """The outages of all hosts, ordered by the instants up to which they were heard."""
        return tuple(sorted((outage for state in self.states for outage in state.outages), key=lambda o: o.heard))

    def run(self, watch: Watch | None, log: Log | None, most_slip: float = np.inf) -> bool:
        """Watch the run until all events have happened, its time is over or Ctrl-C cuts it short.

        Return whether it is kept, and not too fast: it was too fast if after TRIAL_SECONDS the wakes of a host are
        later than `most_slip` of model time on average; then it ends at once, and nothing was handed to `log`. Else
        `log` gets each block of log rows once, and `watch` a glimpse again and again. Raise LiveLost if the run cannot
        go on.
        """
        rows_held, trial = list[LogRows](), most_slip < np.inf
        with delay_interrupts() as interrupted:
            while not self._over():
                self._look(rows_held.extend if trial else log)
                self._kill()
                if trial and self._clock.monotonic() > self._zero + TRIAL_SECONDS:
                    if self._is_too_fast(most_slip):
                        return False
                    trial = False
                    if log is not None and rows_held:
                        log(rows_held)
                if watch is not None:
                    watch(self._glimpse())
                if interrupted.is_set() and not self.cut_short:
                    self._cut("interrupted")
            if trial and self._is_too_fast(most_slip):
                return False
            if trial and log is not None and rows_held:
                log(rows_held)
            self._finish(log)
        return True

    @property
    def slower(self) -> float:
        """The factor by which model time has to pass more slowly if this pace was too fast, within SLOWER_TIMES."""
        heard = min(state.heard for state in self.states)
        return float(np.clip(2 * self.now / max(heard, 1e-9), *SLOWER_TIMES))

    def _is_too_fast(self, most_slip: float) -> bool:
        """Whether wakes of a host are later than `most_slip` of model time on average, or a host is too busy to report.

        It is not if hosts were lost or the run was cut short.
        """
        heard = min(state.heard for state in self.states)
        behind = heard < self.horizon and (self.now - heard) * self._scale > SECONDS_BEHIND
        return (self._glimpse().slip > most_slip or behind) and not self.outages and not self.cut_short

    def _beat(self) -> bool:
        """Whether this process stood still since the last call.

        If so, this gives hosts that time more to answer, calls off the planned crashes that were due meanwhile, and
        adds to `stood`.
        """
        stood = self._heart.beat()
        if not stood:
            return False
        for state in self.states:
            state.patience += stood
            state.give_up += stood
        self._awake = self._clock.monotonic()
        # A process that is killed late would lose copies that its node got after the planned crash.
        missed = [kill for kill in self._kills if kill[0] <= self.now]
        for kill in missed:
            self._kills.remove(kill)
        self.stood.append(Standstill("the driver", self.now - stood / self._scale, stood, spared=len(missed)))
        return True

    def _over(self) -> bool:
        """Whether the run has ended: all wakes and answers have come, or it is too late for them.

        If wakes are still to come when it ends, `unfinished` says so from then on.
        """
        self._beat()
        now, end = self._clock.monotonic(), self._zero + self.horizon * self._scale
        if now < end:
            return False
        up = [state.status for state in self.states if state.up]
        more = 0.25 * self.horizon * self._scale
        grace = GRACE_SECONDS + min(2 * longest_delay(self._task.plan) * self._scale, more)
        idle = all(status is not None and status.idle for status in up)
        if idle and (now >= end + grace or all(status is not None and status.done for status in up)):
            return True
        if now > max(end, self._awake) + max(more, 5.0):
            due = end - self._zero
            self.unfinished = f"after {now - self._zero:.0f} s wakes that were due by {due:.0f} s were still to come"
        return bool(self.unfinished)

    def _look(self, log: Log | None) -> None:
        """Ask all hosts for their status, and take the answers that come within LOOK_SECONDS, which this takes.

        Hosts that are silent for ANSWER_SECONDS count as lost. Blocks of log rows are handed to `log`, if it is not
        None.
        """
        begun = self._clock.monotonic()
        remaining = self._zero + self.horizon * self._scale - begun
        until = begun + (min(LOOK_SECONDS, remaining) if remaining > 0 else 0.02)
        for state in self.states:
            if state.up and state.ref is None:
                self._ask(state, begun + transport.ANSWER_SECONDS, "status", state.rows)
        states = {state.ref: state for state in self.states if state.ref is not None}
        for ref in self._transport.ready(list(states), until - begun):
            self._hear(states[ref], log)
        self._beat()
        for state in self.states:
            if state.ref is not None and self._clock.monotonic() > state.patience:
                self._lose(state, f"did not answer for {transport.ANSWER_SECONDS:g} s")
        if begun - self._checked > CHECK_SECONDS:
            self._check_ray()
        self._clock.sleep(max(until - self._clock.monotonic(), 0.0))

    def _kill(self) -> None:
        """Kill the processes whose planned crash is due, but for those that are lost already."""
        self._beat()
        while self._kills and self._kills[0][0] <= self.now:
            state = self.states[self._kills.popleft()[1]]
            if state.up:
                state.killed = True
                self._transport.end(state.assignment.me)

    def _check_ray(self) -> None:
        """Raise LiveLost if Ray's control service cannot be reached."""
        self._checked = self._clock.monotonic()
        if reason := self._transport.why_unreachable():
            raise LiveLost((reason,), self.now)

    def _ask(self, state: HostState, patience: float, method: str, *arguments: Any) -> None:
        """Call a method of a host without waiting; its answer counts as missing after the instant `patience`.

        That is an instant of this process's clock.
        """
        state.ref, state.patience = self._transport.ask(state.assignment.me, method, *arguments), patience

    def _hear(self, state: HostState, log: Log | None) -> None:
        """Take the answer of a host that is ready: its status, or the answer to a step of its restart.

        A host that was lost is replaced; raise LiveLost if its work has failed. Blocks of log rows are handed to `log`,
        if it is not None.
        """
        ref, state.ref = state.ref, None
        try:
            answer = self._transport.answer(ref)
        except HostLostError as why:
            if why.work_failed:
                raise LiveLost((f"host {state.assignment.me} of {len(self.states)} {why}",), self.now) from why
            self._lose(state, str(why))
            return
        if state.restart is not None:
            self._go_on(state, answer)
            return
        state.take(answer)
        if log is not None and answer.rows:
            log(answer.rows)

    def _lose(self, state: HostState, why: str) -> None:
        """Record that the process of a host is lost, or the one that was to replace it, as `why` says.

        Start another, or cut the run short if it was lost too often or for too long; near its end do neither. Raise
        LiveLost before time zero.
        """
        state.ref = state.restart = None
        me = state.assignment.me
        if state.up:
            if self.now < 0:
                raise LiveLost((f"host {me} of {len(self.states)} {why}",))
            planned, state.killed = state.killed, False
            state.lose(self._outage(state, PLANNED if planned else why))
            state.give_up = self._clock.monotonic() + RESTART_SECONDS
        self._check_ray()
        if self.now >= self.horizon or self.cut_short:
            return
        if sum(outage.why != PLANNED for outage in state.outages) > MOST_LOSSES:
            self._cut(f"host {me} was lost {len(state.outages)} times")
        elif self._clock.monotonic() > state.give_up:
            self._cut(f"host {me} {why}, and no other process took its place within {RESTART_SECONDS:g} s")
        else:
            state.restart = self._restart_steps(state)
            self._go_on(state, None)

    def _outage(self, state: HostState, why: str) -> Outage:
        """Return the outage of a host whose process is lost: from its latest report on, for the reason `why`."""
        me = state.assignment.me
        nodes = tuple(name for name, host in zip(self._task.plan.names, state.assignment.at, strict=True) if host == me)
        return Outage(me, nodes, why, state.heard)

    def _go_on(self, state: HostState, answer: Any) -> None:
        """Take the next step of a host's restart; `answer` is that to the step before, None for the first."""
        assert state.restart is not None
        try:
            method, *arguments = state.restart.send(answer)
        except StopIteration:
            return
        except HostLostError as why:  # if no node of the cluster is alive
            raise LiveLost((str(why),), self.now) from why
        # A process that was killed while it started may never answer: better to start another one soon.
        self._ask(state, min(state.give_up, self._clock.monotonic() + transport.ANSWER_SECONDS), method, *arguments)

    def _restart_steps(self, state: HostState) -> Restart:
        """Start the next incarnation of a host; yield its calls (method, *arguments), and be sent their answers.

        At the end the other hosts are told of it. If the run would end before it is ready, it stays lost.
        """
        hosts, me = self._hosts, state.assignment.me
        hosts.replace(me)
        boot, state.machine, _ = yield ("hello",)
        state.offset = Offset() if boot == boot_id() and boot else clock_offset(hosts, me)
        yield "meet", hosts.addresses
        since = self.now + (MARGIN_SECONDS + 2 * state.made_in) / self._scale
        if since >= self.horizon:
            return
        successor = state.assignment.successor(hosts.incarnations[me], since, self.horizon)
        yield "prepare", self._transport.share(self._task), successor
        yield "begin", self._zero + state.offset.seconds, self._scale, hosts.incarnations
        # Hosts that are starting anew are told as well, or they would write to its predecessor.
        for other in self.states:
            if other is not state:
                self._transport.ask(
                    other.assignment.me, "meet_successor", me, successor.incarnation, hosts.addresses[me]
                )
        state.back(successor)

    def _cut(self, why: str) -> None:
        """End the run in CUT_SECONDS, at the same instant for all hosts, for the reason `why`.

        Nothing happens if it ends before that anyway.
        """
        at = self.now + CUT_SECONDS / self._scale
        if at >= self.horizon:
            return
        self.horizon, self.cut_short = at, f"{why} at t = {at:.4g}"
        for state in self.states:
            if state.up:
                self._transport.ask(state.assignment.me, "cut", at)
            else:
                state.ref = state.restart = None

    def _finish(self, log: Log | None) -> None:
        """End the run in all hosts and take their last reports; hand the last blocks of log rows to `log`, if any.

        A host that is lost even now is counted up to its latest report. Raise LiveLost if no host has ever reported.
        """
        states = {
            self._transport.ask(state.assignment.me, "finish", state.rows): state for state in self.states if state.up
        }
        ready = self._transport.ready(list(states), 2 * transport.ANSWER_SECONDS)
        if self._beat():
            ready = self._transport.ready(list(states), 2 * transport.ANSWER_SECONDS)
        for ref, state in states.items():
            try:
                if ref not in ready:
                    raise HostLostError("did not answer at the end")
                state.finished = self._transport.answer(ref)
            except HostLostError as why:
                if state.heard < self.horizon:
                    state.lose(self._outage(state, str(why)))
                continue
            state.latest = pickle.loads(state.finished.report)
            if log is not None and state.finished.rows:
                log(state.finished.rows)
        if not any(state.reports for state in self.states):
            raise LiveLost(tuple(str(outage) for outage in self.outages), self.now)

    def _glimpse(self) -> Glimpse:
        """Return the progress of the run, by the latest reports of all hosts."""
        reports = [report for state in self.states for report in state.reports]
        tallies = [of for report in reports for of in report.tallies]
        now = min(max(self.now, 0.0), self.horizon)
        groups, counts, shares = self._task.plan.groups, (0, 0, 0, 0), np.full(len(self._task.plan.groups), np.nan)
        if tallies:
            counts = tuple(add_elements([of.counts for of in tallies]).tolist())
            shares_of_groups = measured_shares(self._task, tallies, now * len(tallies), degraded=True)
            pairs = np.array([shares_of_groups.get((group, "freshness"), (0.0, 0.0)) for group in groups])
            with np.errstate(invalid="ignore", divide="ignore"):
                shares = pairs[:, 0] / pairs[:, 1]
        messages = sum(report.statistics.said for report in reports)
        slip = max((report.statistics.slip.mean for report in reports), default=0.0)
        faults = self.outages, tuple(self.stood)
        return Glimpse(now, self.horizon, groups, shares, counts, messages, slip, *faults, self._node_states())

    def _node_states(self) -> NodeStates:
        """Return the numbers of copies, fresh copies and messages in line of all nodes by the latest reports.

        They are 0 for nodes whose process is lost or has not reported yet.
        """
        size = self._task.plan.size
        result = NodeStates(np.zeros(size, np.int32), np.zeros(size, np.int32), np.zeros(size))
        for state in self.states:
            if state.latest:
                for every, of_host in zip(result, state.latest.states, strict=True):
                    every[state.assignment.own] = of_host
        return result


def clock_offset(hosts: Hosts, host: int) -> Offset:
    """Return the offset of the clock of the host with this number from that of this process.

    Raise LiveLost if it does not answer.
    """
    return measure_offset(lambda: float(hosts.call_some("clock", {host: ()})[0]), hosts.transport.clock.monotonic)

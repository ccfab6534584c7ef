"""The pace of model time: the cost of messages between hosts, a default pace, and whether a run has kept its pace.

With h the cost of a wake or a message inside a host, c that of carrying a message to
another host and b that of a batch, all in seconds of a CPU, and with M wakes and
messages handled per unit of model time, X of them carried, a unit that takes s
seconds loads the CPUs with

    (M h + X c + s B b) / s,    B = sum over pairs of hosts of min(traffic / s, 1 / gap)    (1)

batches per second. The default s is the smallest at which this is SHARE of what there
is, on no host more than that of one CPU, and at which a message that takes L seconds
from host to host is late by one percent of the shortest mean interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, final

import numpy as np

from replnet.engines import Plan
from replnet.engines.nodes import Pull, Replica, Send, TimedMessage
from replnet.laws import Floats
from replnet.live.batches import pack, unpack
from replnet.live.clocks import Standstill, WallClock
from replnet.network import QUERIES

GAP = 0.002  # seconds between batches from one host to another
SHARE = 0.7  # of the CPUs that the default pace uses
LATE_SHARE = 0.01  # of the shortest mean interval by which messages are late at the default pace
MOST_LATE_SHARE = 0.05  # of the shortest mean interval: with a larger mean slip a path is not the planned one
BUSY_SHARE = 0.8  # of the time for which a loop works: beyond that it has no room for a burst
WAKING_SECONDS = 0.0003  # seconds by which a sleeper wakes late
FEW, MANY = 1, 100  # messages in a batch whose cost is measured


@final
@dataclass(frozen=True)
class Costs:
    """The costs of a run, all in seconds.

    `message` and `batch` are CPU seconds per message and per batch carried between hosts, `latency` is the time from
    host to host, and `handling` CPU seconds per wake or message handled.
    """

    message: float
    batch: float
    latency: float
    handling: float = 0.0

    @property
    def rate(self) -> float:
        """Messages per second that one CPU carries and handles in full batches."""
        return 1 / (self.message + self.handling)


class Echoed(NamedTuple):
    """The result of a measurement: mean `seconds` per round (there and back), and what this side did meanwhile.

    `batches` is the number of batches that it handled, coming and going, and `cpu` its CPU seconds.
    """

    seconds: float
    batches: int
    cpu: float


@final
class Echo:
    """A host that exchanges pulls and replies with another one, as in a run; the one that starts measures the time.

    `send` carries a batch to the host with a number, and `clock` is that of this host.
    """

    def __init__(self, send: Callable[[int, bytes], None], clock: WallClock) -> None:
        self._send, self._clock, self._node, self._rounds = send, clock, Replica({}), list[float]()
        self._begun = self._end = self._cpu = 0.0
        self._batches = 0

    def start(self, me: int, to: int, size: int, seconds: float) -> None:
        """Send `size` pulls from host `me`, this one, to host `to`, and begin to measure for `seconds`."""
        self._rounds, self._batches, self._cpu = [], 0, self._clock.process_time()
        self._begun = self._clock.monotonic()
        self._end = self._begun + seconds
        self._send(to, pack((me, 0, 0), [TimedMessage(0, to, me, 0.0, 0.0, 0.0, False, Pull(n)) for n in range(size)]))

    def receive(self, batch: bytes) -> None:
        """Answer a batch; if it closes a round, take the time of the round.

        Once the measurement is over, the batch that closes its last round is not answered.
        """
        (host, _, number), parcels = unpack(batch)
        self._batches += 2
        out = []
        for parcel in parcels:
            commands = self._node.on_message(parcel.sent, parcel.sender, parcel.message)
            back = [command.message for command in commands if isinstance(command, Send)] or [Pull()]
            out += [parcel._replace(to=parcel.sender, sender=parcel.to, message=message) for message in back]
        if number % 2:  # a reply has come back
            now = self._clock.monotonic()
            self._rounds.append(now - self._begun)
            self._begun = now
            if now > self._end:
                return
        self._send(host, pack((parcels[0].to, 0, number + 1), out))

    def result(self) -> Echoed:
        """Return the result of the latest measurement; without any round, the mean is the time since it began."""
        seconds = fmean(self._rounds) if self._rounds else self._clock.monotonic() - self._begun
        return Echoed(seconds, self._batches, self._clock.process_time() - self._cpu)


def costs(few: list[Echoed], many: list[Echoed]) -> Costs:
    """Return the costs of messages, from measurements with FEW and with MANY per batch; `handling` is left 0.

    Each list has a measurement for each pair of hosts, of which the slowest counts. A round has two batches, and its
    messages are handled twice.
    """
    a, b = (max(echo.seconds for echo in echoes) for echoes in (few, many))
    batch = max(echo.cpu / max(echo.batches, 1) for echo in few)
    return Costs(max((b - a) / (2 * (MANY - FEW)), 2e-6), batch, a / 2)


def shortest(plan: Plan) -> float:
    """Return the shortest mean interval, in units of model time, of any process but those of queries; 1 without any."""
    often = plan.rates[plan.processes.purpose != QUERIES]
    return 1 / float(often.max()) if often.size else 1.0


def load(costs: Costs, work: Floats, traffic: Floats, scale: float) -> Floats:
    """Return the load of each host, in CPUs, at `scale` seconds per unit of model time.

    `work` is the wakes and messages that each host handles per unit of model time, and `traffic` a square matrix of the
    messages per unit of model time from host to host; its diagonal is not carried, and costs nothing.
    """
    crossing = traffic * (1 - np.eye(len(traffic)))
    batches = np.minimum(crossing / scale, 1 / GAP)
    carried = batches * costs.batch + crossing / scale * costs.message
    # The cost of a batch is shared by the host that sends it and the host that gets it.
    shared: Floats = (carried.sum(axis=0) + carried.sum(axis=1)) / 2
    return work / scale * costs.handling + shared


def default_scale(plan: Plan, costs: Costs, work: Floats, traffic: Floats, cpus: float) -> float:
    """Return the default number of seconds per unit of model time, rounded up to two digits.

    `work` is the wakes and messages that each host handles per unit of model time, `traffic` the messages per unit of
    model time from host to host, and `cpus` the number of CPUs that all hosts share.
    """
    # Some batches wait for the gap after the one before.
    latency = costs.latency + GAP / 4 if len(traffic) > 1 else WAKING_SECONDS
    scale = latency / (LATE_SHARE * shortest(plan))
    while (loads := load(costs, work, traffic, scale)).max() > SHARE or loads.sum() > SHARE * cpus:
        scale *= 1.1
    return round_up(scale)


def round_up(scale: float) -> float:
    """Return a positive number rounded up to two significant digits."""
    digits = 10.0 ** (math.floor(math.log10(scale)) - 1)
    return float(f"{math.ceil(scale / digits - 1e-9) * digits:.6g}")


@final
@dataclass(frozen=True)
class HostPace:
    """The lateness, the load and the messages of one host in a run, and the times in which it stood still.

    `slip` is the mean by which wakes came late, in model time, `busy` the share of the time in which its loop worked,
    and `messages` their number per second.
    """

    slip: float  # mean, in model time
    busy: float  # share of the time that its loop worked
    messages: float  # per second
    stood: Sequence[Standstill] = ()

    def slip_without_standstills(self, scale: float, seconds: float) -> float:
        """Return the mean slip, in model time, without that of wakes which were due while the host stood still.

        The run took `seconds` at `scale` seconds per unit of model time. In a standstill of s of its T seconds a share
        s / T of all wakes are late by s / 2, and as many again while the host catches up at half its load. As this is
        an estimate, the result may be below 0.
        """
        return self.slip - sum(still.seconds**2 for still in self.stood) / seconds / scale


def judge(plan: Plan, scale: float, hosts: list[HostPace], seconds: float, unfinished: str) -> tuple[str, float | None]:
    """Return why a run of `seconds` is not faithful (empty if it is), and a time scale at which it would be.

    It is faithful if no wakes are missing and the mean slip of the worst host is at most MOST_LATE_SHARE of the
    shortest interval. The time scale, in seconds per unit, is None if the run is faithful or would be if it were
    repeated. `scale` is that of the run, and `unfinished` says that wakes were missing at the end, empty if none were.
    """
    worst = max(range(len(hosts)), key=lambda h: (hosts[h].busy > BUSY_SHARE, hosts[h].slip))
    slip, busy = hosts[worst].slip, hosts[worst].busy
    late = slip / shortest(plan)
    if not unfinished and late <= MOST_LATE_SHARE:
        return "", None
    how = (
        unfinished or f"wakes came {slip:.3g} units of model time late on average, {late:.0%} of the shortest interval"
    )
    stood = [str(standstill) for host in hosts for standstill in host.stood]
    if stood and all(h.slip_without_standstills(scale, seconds) <= MOST_LATE_SHARE * shortest(plan) for h in hosts):
        return f"{how}: {'; '.join(stood)}; the same run again would do", None
    if busy > BUSY_SHARE:
        reason = f"the loop of host {worst} was busy {busy:.0%} of the time"
        factor = busy / SHARE
    else:
        rate = sum(host.messages for host in hosts)
        reason = f"the machine did not keep up with {rate:,.0f} messages per second"
        factor = max(late / LATE_SHARE, 2.0)
    advised = round_up(scale * min(max(factor, 2.0), 20.0))
    return f"{how}: {reason}; a time scale of {advised:g} s would do", advised

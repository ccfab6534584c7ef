"""How fast model time may pass, what messages between two hosts cost, measured, and whether a run has kept up.

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
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple, final

import numpy as np

from replnet.engines.plan import QUERIES, Plan
from replnet.engines.runner import Parcel
from replnet.laws.law import Floats
from replnet.live.batches import pack, unpack
from replnet.live.clocks import Standstill
from replnet.network.nodes import Pull, Replica, Send

GAP = 0.002  # seconds between batches from one host to another
SHARE = 0.7  # of the CPUs, at the default pace
LATE = 0.01  # of the shortest mean interval, the same
STRAINED = 0.05  # of it: a mean slip beyond which a path is no longer the planned one
BUSY = 0.8  # of its time: a loop beyond that has no room for a burst
WAKING = 0.0003  # seconds by which a sleeper wakes late
FASTEST = 1e-4  # seconds per unit of model time
FEW, MANY = 1, 100  # messages in a batch whose cost is measured


@final
@dataclass(frozen=True)
class Costs:
    """Seconds: of a CPU per message that is carried and per batch, from host to host, of a CPU per wake or message."""

    message: float
    batch: float
    latency: float
    handling: float = 0.0

    @property
    def rate(self) -> float:
        """Messages per second that one CPU carries and handles in full batches."""
        return 1 / (self.message + self.handling)


class Echoed(NamedTuple):
    """Of one pair: mean seconds per round, the batches that one side handled, and its seconds of CPU."""

    seconds: float
    batches: int
    cpu: float


@final
class Echo:
    """One of two hosts: pulls go there and replies come back, as in a run, again and again. Who starts measures."""

    def __init__(self, send: Callable[[int, bytes], None]) -> None:
        self._send, self._node, self._rounds = send, Replica({}), list[float]()
        self._begun = self._end = self._cpu = 0.0
        self._batches = 0

    def start(self, me: int, to: int, size: int, seconds: float) -> None:
        self._rounds, self._batches, self._cpu = [], 0, time.process_time()
        self._begun = time.monotonic()
        self._end = self._begun + seconds
        self._send(to, pack((me, 0, 0), [Parcel(0, to, me, 0.0, 0.0, 0.0, False, Pull(n)) for n in range(size)]))

    def receive(self, batch: bytes) -> None:
        (host, _, number), parcels = unpack(batch)
        self._batches += 2
        out = []
        for parcel in parcels:
            commands = self._node.on_message(parcel.sent, parcel.sender, parcel.message)
            back = [command.message for command in commands if isinstance(command, Send)] or [Pull()]
            out += [parcel._replace(to=parcel.sender, sender=parcel.to, message=message) for message in back]
        if number % 2:  # a reply has come back
            now = time.monotonic()
            self._rounds.append(now - self._begun)
            self._begun = now
            if now > self._end:
                return
        self._send(host, pack((parcels[0].to, 0, number + 1), out))

    def result(self) -> Echoed:
        seconds = fmean(self._rounds) if self._rounds else time.monotonic() - self._begun
        return Echoed(seconds, self._batches, time.process_time() - self._cpu)


def costs(few: list[Echoed], many: list[Echoed]) -> Costs:
    """A round has two batches, and its messages are handled twice."""
    a, b = (max(one.seconds for one in found) for found in (few, many))
    batch = max(one.cpu / max(one.batches, 1) for one in few)
    return Costs(max((b - a) / (2 * (MANY - FEW)), 2e-6), batch, a / 2)


def shortest(plan: Plan) -> float:
    """The shortest mean interval of updates, downloads and polls."""
    often = plan.rates[plan.processes.purpose != QUERIES]
    return 1 / float(often.max()) if often.size else 1.0


def load(costs: Costs, work: Floats, traffic: Floats, scale: float) -> Floats:
    """(1) per host: `work` is wakes and messages per unit of model time; the diagonal of `traffic` is not carried."""
    crossing = traffic * (1 - np.eye(len(traffic)))
    batches = np.minimum(crossing / scale, 1 / GAP)
    carried = batches * costs.batch + crossing / scale * costs.message
    # Who sends it and who gets it share its cost.
    shared: Floats = (carried.sum(axis=0) + carried.sum(axis=1)) / 2
    return work / scale * costs.handling + shared


def default_scale(plan: Plan, costs: Costs, work: Floats, traffic: Floats, cpus: float) -> float:
    """Seconds per unit of model time, rounded up to two digits."""
    # A batch now and then waits for the gap after the one before it.
    latency = costs.latency + GAP / 4 if len(traffic) > 1 else WAKING
    scale = max(latency / (LATE * shortest(plan)), FASTEST)
    while (found := load(costs, work, traffic, scale)).max() > SHARE or found.sum() > SHARE * cpus:
        scale *= 1.1
    return round_up(scale)


def round_up(scale: float) -> float:
    digits = 10.0 ** (math.floor(math.log10(scale)) - 1)
    return float(f"{math.ceil(scale / digits - 1e-9) * digits:.6g}")


@final
@dataclass(frozen=True)
class HostPace:
    """How well one host kept up."""

    slip: float  # mean, in model time
    busy: float  # share of the time that its loop worked
    messages: float  # per second
    stood: Sequence[Standstill] = ()

    def without_standing(self, scale: float, seconds: float) -> float:
        """The slip of all wakes but those that were due while it stood still.

        These are a share s / T of all and late by s / 2, and as many again while it catches up at half its load.
        """
        return self.slip - sum(still.seconds**2 for still in self.stood) / seconds / scale


def judge(plan: Plan, scale: float, hosts: list[HostPace], seconds: float, unfinished: str) -> tuple[str, float | None]:
    """Why the run of so many seconds is not faithful, or nothing; and a scale at which it would be."""
    worst = max(range(len(hosts)), key=lambda h: (hosts[h].busy > BUSY, hosts[h].slip))
    slip, busy = hosts[worst].slip, hosts[worst].busy
    late = slip / shortest(plan)
    if not unfinished and late <= STRAINED:
        return "", None
    how = (
        unfinished or f"wakes came {slip:.3g} units of model time late on average, {late:.0%} of the shortest interval"
    )
    stood = [str(still) for host in hosts for still in host.stood]
    if stood and all(h.without_standing(scale, seconds) <= STRAINED * shortest(plan) for h in hosts):
        return f"{how}: {'; '.join(stood)}; the same run again would do", None
    if busy > BUSY:
        what = f"the loop of host {worst} was busy {busy:.0%} of the time"
        factor = busy / SHARE
    else:
        rate = sum(host.messages for host in hosts)
        what = f"the machine did not keep up with {rate:,.0f} messages per second"
        factor = max(late / LATE, 2.0)
    advised = round_up(scale * min(max(factor, 2.0), 20.0))
    return f"{how}: {what}; a time scale of {advised:g} s would do", advised

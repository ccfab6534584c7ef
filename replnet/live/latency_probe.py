"""What messages between two hosts cost: pulls go there and replies come back, as in a run, again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import fmean
from typing import NamedTuple, final

from replnet.engines.runner import Parcel
from replnet.live.batches import pack, unpack
from replnet.live.speed import Costs
from replnet.network.messages import Pull, Send
from replnet.network.nodes import Replica

FEW, MANY = 1, 100  # messages in a batch


class Bounced(NamedTuple):
    """Of one pair: mean seconds per round, the batches that one side handled, and its seconds of CPU."""

    seconds: float
    batches: int
    cpu: float


@final
class Bouncer:
    """One of the two. Whoever starts also measures."""

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

    def result(self) -> Bounced:
        seconds = fmean(self._rounds) if self._rounds else time.monotonic() - self._begun
        return Bounced(seconds, self._batches, time.process_time() - self._cpu)


def costs(few: list[Bounced], many: list[Bounced]) -> Costs:
    """A round has two batches, and its messages are handled twice."""
    a, b = (max(bounced.seconds for bounced in found) for found in (few, many))
    batch = max(bounced.cpu / max(bounced.batches, 1) for bounced in few)
    return Costs(max((b - a) / (2 * (MANY - FEW)), 2e-6), batch, a / 2)

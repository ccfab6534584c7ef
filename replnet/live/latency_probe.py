"""What messages between two hosts cost: pulls go there and replies come back, as in a run, again and again."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import fmean
from typing import NamedTuple, final

from replnet.live.speed import Costs
from replnet.live.wire import body, message, pack, unpack
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
        self._send(to, pack((me, 0, 0), [(0, to, me, float(n), 0.0, 0.0, body(Pull(n))) for n in range(size)]))

    def receive(self, batch: bytes) -> None:
        (host, _, number), parcels = unpack(batch)
        self._batches += 2
        out = []
        for _, to, sender, sent, due, mark, said in parcels:
            commands = self._node.on_message(sent, str(sender), message(said))
            said_back = [body(c.message) for c in commands if isinstance(c, Send)] or [body(Pull())]
            out += [(0, sender, to, sent, due, mark, back) for back in said_back]
        if number % 2:  # a reply has come back
            now = time.monotonic()
            self._rounds.append(now - self._begun)
            self._begun = now
            if now > self._end:
                return
        self._send(host, pack((parcels[0][1], 0, number + 1), out))

    def result(self) -> Bounced:
        seconds = fmean(self._rounds) if self._rounds else time.monotonic() - self._begun
        return Bounced(seconds, self._batches, time.process_time() - self._cpu)


def costs(few: list[Bounced], many: list[Bounced]) -> Costs:
    """A round has two batches, and its messages are handled twice."""
    a, b = (max(bounced.seconds for bounced in found) for found in (few, many))
    batch = max(bounced.cpu / max(bounced.batches, 1) for bounced in few)
    return Costs(max((b - a) / (2 * (MANY - FEW)), 2e-6), batch, a / 2)

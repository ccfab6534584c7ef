"""Hosts of a live run in the memory of one process, on a clock that moves while the driver waits and never else."""

from __future__ import annotations

import math
import signal
from collections.abc import Callable
from typing import Any, final

from replnet.live.actor import NAP_SECONDS, HostActor
from replnet.live.transport import HostLostError, Transport
from replnet.testing import InMemoryTransport


@final
class ProcessClock:
    """The clock of one process: `ahead` of that of the driver, with the CPU time that a test says it has `worked`."""

    def __init__(self, world: MemoryTransport, ahead: float = 0.0) -> None:
        self.world, self.ahead, self.worked = world, ahead, 0.0

    def monotonic(self) -> float:
        return self.world.now + self.ahead

    def process_time(self) -> float:
        return self.worked

    def sleep(self, seconds: float) -> None:
        self.world.wait(seconds)


@final
class _Address:
    """Where a host takes batches, some time after they were sent."""

    def __init__(self, world: MemoryTransport, actor: HostActor) -> None:
        self.deliver = lambda batch: world.mail.send((actor, "deliver"), batch)
        self.deliver_echo = lambda batch: world.mail.send((actor, "deliver_echo"), batch)


@final
class _Call:
    """A call to a host, and its answer once it has been made."""

    def __init__(self, actor: HostActor, method: str, arguments: tuple[Any, ...]) -> None:
        self.actor, self.make = actor, lambda: getattr(actor, method)(*arguments)
        self.answered, self.answer, self.error = False, None, None

    def run(self) -> None:
        """Make the call."""
        self.answered = True
        try:
            self.answer = self.make()
        except Exception as error:
            self.error = HostLostError(f"failed: {str(error).splitlines()[-1]}", str(error), work_failed=True)


@final
class MemoryTransport(Transport):
    """Hosts on one clock; messages take `takes` seconds, and calls to hosts on other machines (`ahead`) 10 ms or so.

    A test may stop hosts, kill them, or keep others from starting or answering, and have the driver stand still.
    """

    def __init__(self, takes: float = 0.0, ahead: float = 0.0) -> None:
        self.now, self.ahead, self.cpus = 100.0, ahead, 2.0
        self.clock = ProcessClock(self)
        self.mail = InMemoryTransport[tuple[HostActor, str], bytes](lambda: self.now, takes)
        self.actors: dict[int, HostActor] = {}
        self.clocks: dict[int, ProcessClock] = {}
        self.why_none_starts = self.service = ""
        self.starts_frozen = False
        self.late: dict[tuple[str, int], float] = {}  # seconds by which a call of this method of a host comes late
        self.deaf = 0.0  # for which the driver stands still at the next answer
        self._due: dict[HostActor, float] = {}  # of those that live, their next turn
        self._frozen: dict[HostActor, float] = {}  # until when they do nothing and answer nothing
        self._stuck = set[HostActor]()  # these answer, and do nothing
        self._backlog = list[_Call]()

    def start(self, host: int) -> tuple[_Address, str]:
        if self.why_none_starts:
            raise HostLostError(self.why_none_starts)
        self.kill(host)
        self.clocks[host] = ProcessClock(self, self.ahead)
        self.actors[host] = HostActor(self.clocks[host], threaded=False)
        self._due[self.actors[host]] = self.now
        if self.starts_frozen:
            self.freeze(host)
        return _Address(self, self.actors[host]), "here"

    def end(self, host: int) -> None:
        self.kill(host)

    def kill(self, host: int) -> None:
        """End the process of a host, if it has one."""
        self._due.pop(self.actors.get(host), None)

    def freeze(self, host: int, seconds: float = float("inf"), worked: float = 0.0) -> None:
        """Let a host do nothing for so long; it has `worked` for some of these seconds on something else."""
        self._frozen[self.actors[host]] = self.now + seconds
        self.clocks[host].worked += worked

    def get_stuck(self, host: int) -> None:
        """Let a host do nothing but answer from now on."""
        self._stuck.add(self.actors[host])

    def ask(self, host: int, method: str, *arguments: Any) -> _Call:
        self.wait(self.late.pop((method, host), 0.005 if self.ahead else 0.0))
        call = _Call(self.actors[host], method, arguments)
        self._backlog.append(call)
        self._make_calls()
        self.wait(0.005 if self.ahead else 0.0)
        if method == "hello" and self.ahead:
            call.answer = ("another boot", *call.answer[1:])
        return call

    def _make_calls(self) -> None:
        """Make all calls to hosts that are not frozen; those to the dead have no answer."""
        waiting, self._backlog = self._backlog, []
        for call in waiting:
            if call.actor not in self._due:
                call.answered, call.error = True, HostLostError("died", "by the test")
            elif self._frozen.get(call.actor, 0.0) > self.now:
                self._backlog.append(call)
            else:
                call.run()
                self._due[call.actor] = self.now

    def ready(self, refs: list[_Call], patience: float) -> list[_Call]:
        if self.deaf:
            self.wait(self.deaf)
            self.deaf = 0.0
            return []
        if not all(call.answered for call in refs):
            self.wait(patience)
        return [call for call in refs if call.answered]

    def answer(self, ref: _Call) -> Any:
        if ref.error:
            raise ref.error
        return ref.answer

    def share(self, value: Any) -> Any:
        return value

    def why_unreachable(self) -> str:
        return self.service

    def wait(self, seconds: float) -> None:
        """Let so many seconds pass, and all that happens in them."""
        end = self.now + seconds
        while (next_at := min([*self._due.values(), self.mail.due], default=end)) <= end:
            self.now = max(self.now, next_at)
            for (actor, method), batch in self.mail.arrived():
                getattr(actor, method)(batch)
                self._due |= {actor: self.now} if actor in self._due else {}
            for actor, due in list(self._due.items()):
                if (thaws := self._frozen.get(actor, 0.0)) > self.now or actor in self._stuck:
                    self._due[actor] = max(thaws, end + NAP_SECONDS)
                elif due <= self.now:
                    patience = min(actor.turn(0.0), NAP_SECONDS)
                    # Later by the least that a clock can show, or it would stand still.
                    self._due[actor] = max(self.now + patience, math.nextafter(self.now, math.inf))
            self._make_calls()
        self.now = end


def once(when: float, deed: Callable[[], None]) -> Callable[[Any], None]:
    """A watch of a run that does one thing at the first glimpse after an instant of model time."""
    left = [deed]

    def watch(glimpse: Any) -> None:
        if glimpse.now >= when and left:
            left.pop()()

    return watch


def press_ctrl_c() -> None:
    """Interrupt this process."""
    signal.raise_signal(signal.SIGINT)

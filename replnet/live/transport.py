"""The hosts of a run as its driver sees them: processes that a transport starts, calls to them, and their answers.

A `Transport` is all that a run needs of what carries it: Ray (`ray_hosts`), or the memory of one process in which a
test turns the clock. Every wait has an end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, final

from replnet.live.clocks import WallClock
from replnet.live.outcome import LiveLost

ANSWER_SECONDS = 10.0  # after which a running host counts as silent
LEAST_SECONDS = 1.0  # for an answer, even if the time for all is over
START_SECONDS = 50.0  # for processes to start, so that an error comes within a minute


@final
class HostLostError(Exception):
    """An error: a host died, fell silent, or failed in its work; the text `how` says so, and `cause` has the details.

    Another process can take the place of a host unless its `work_failed`.
    """

    def __init__(self, how: str, cause: str = "", work_failed: bool = False) -> None:
        super().__init__(how)
        self.cause, self.work_failed = cause, work_failed


class Transport(ABC):
    """The carrier of a run: it starts the processes of hosts, by number, and makes calls to them.

    `clock` is that of the driver, and `cpus` the number of CPUs that all hosts share.
    """

    clock: WallClock
    cpus: float

    @abstractmethod
    def start(self, host: int) -> tuple[Any, str]:
        """Start a process for a host, in the place of the one that it has; raise HostLostError if that is impossible.

        Return its address, whose methods `deliver` and `deliver_echo` hand the host a batch of bytes without waiting,
        and the name of the node that it runs on.
        """

    @abstractmethod
    def end(self, host: int) -> None:
        """Kill the process of a host, which does not start again by itself."""

    @abstractmethod
    def ask(self, host: int, method: str, *arguments: Any) -> Any:
        """Call a method of the HostActor in a host without waiting; return a reference to the answer."""

    @abstractmethod
    def ready(self, refs: list[Any], patience: float) -> list[Any]:
        """Wait for all answers, up to `patience` seconds; return the references of those that came or never will.

        Answers that are still under way are not among them, and can be waited for again.
        """

    @abstractmethod
    def answer(self, ref: Any) -> Any:
        """Return the answer to a call that is ready; raise HostLostError if its host is lost or its work failed."""

    @abstractmethod
    def share(self, value: Any) -> Any:
        """Return a stand-in for a large value, which several calls can take as an argument in its place.

        The host then gets the value itself.
        """

    @abstractmethod
    def why_unreachable(self) -> str:
        """Return why no process can be started any more; empty if processes can."""


@final
class Hosts:
    """The hosts of a run, by number, and calls to them, each with a time limit.

    `addresses` has theirs, and `incarnations` how often each was replaced; `transport` is what carries the calls.
    """

    def __init__(self, transport: Transport, n: int) -> None:
        """Start `n` hosts, numbered from 0; raise LiveLost if that is impossible."""
        self.transport, self.incarnations = transport, [0] * n
        try:
            started = [transport.start(host) for host in range(n)]
        except HostLostError as why:
            raise LiveLost((str(why),)) from why
        self.addresses, self._nodes = ([*column] for column in zip(*started, strict=True))

    def __len__(self) -> int:
        return len(self.incarnations)

    def call(
        self, method: str, arguments: Sequence[Sequence[Any]] | None = None, patience: float | None = None
    ) -> list[Any]:
        """Call a method of every host, and return the answers by the number of the host.

        `arguments` has a tuple for each host, and is None for a method without arguments. `patience` is the time for
        all answers in seconds; None: ANSWER_SECONDS. Raise LiveLost if a host is lost, does not answer in time, or
        fails.
        """
        arguments = [()] * len(self) if arguments is None else arguments
        return self.call_some(method, dict(enumerate(arguments)), patience)

    def call_some(self, method: str, arguments: dict[int, Sequence[Any]], patience: float | None = None) -> list[Any]:
        """Call a method of some hosts, and return the answers in the order of `arguments`.

        `arguments` has those of the call by the number of the host. `patience` is the time for all answers in seconds;
        None: ANSWER_SECONDS. Raise LiveLost if one of these hosts is lost, does not answer in time, or fails.
        """
        transport, patience = self.transport, ANSWER_SECONDS if patience is None else patience
        end = transport.clock.monotonic() + patience
        refs = {h: transport.ask(h, method, *values) for h, values in arguments.items()}
        answers = []
        for h, ref in refs.items():
            try:
                # However late it is: this process may have stood still while the answer came.
                if not transport.ready([ref], max(end - transport.clock.monotonic(), LEAST_SECONDS)):
                    raise HostLostError(f"did not answer for {patience:g} s")
                answers.append(transport.answer(ref))
            except HostLostError as error:
                where = f"host {h} of {len(self)} on node {self._nodes[h]}"
                raise LiveLost((f"{where} {error}" + (f": {error.cause}" if error.cause else ""),)) from error
        return answers

    def replace(self, host: int) -> None:
        """Start another process for a host that was lost, its next incarnation; raise HostLostError if none starts.

        `addresses` and `incarnations` then have those of the new one; other hosts are not told.
        """
        self.addresses[host], self._nodes[host] = self.transport.start(host)
        self.incarnations[host] += 1

    def kill(self) -> None:
        """Kill the processes of all hosts."""
        for host in range(len(self)):
            self.transport.end(host)


@contextmanager
def start_hosts(transport: Transport, n: int) -> Iterator[Hosts]:
    """Start `n` hosts by this transport; yield them, and kill them when the block ends, however it ends.

    Raise LiveLost if they cannot be started.
    """
    hosts = Hosts(transport, n)
    try:
        yield hosts
    finally:
        hosts.kill()

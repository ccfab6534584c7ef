"""The record of a run while it goes on: a line of JSON about the run, one for each glimpse, and one when it is over.

A page that shows the run reads the lines that are new, and neither waits for the other: the run goes on without a
reader, and the reader shows what is there.

A record has no name, so that nothing is left of it whatever ends the two processes: it is a file that was never in a
folder, which the server of the pages has as its standard input, or lines that come over a connection (GlimpseInbox).
"""

from __future__ import annotations

import asyncio
import hmac
import json
import math
import os
import secrets
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from replnet.network import Network
from replnet.show.web.opened import RecordReader
from replnet.show.web.outage_bands import Band
from replnet.text import duration

if TYPE_CHECKING:
    from replnet.engines.nodes import NodeStates
    from replnet.live import Glimpse
    from replnet.run import Emulated

BYTES_AT_ONCE = 1 << 20  # that are read
PACE_SPAN = 10  # points over which messages are counted, as hosts report their counts in turns
MOST_POINTS = 300  # of a curve; when there are more, every second one is dropped
NO_RESULT = "There is no table: the terminal of the run says why."
MOST_NODES = 600  # of a network whose nodes are recorded, and drawn, one by one
STOP = b"stop"  # what an inbox sends to end a run
SOURCES = "sources"  # the name of their group in a record


class RunNames(NamedTuple):
    """Names of a run in its record: the `name` of its network, the `command` that makes it, and the number of its
    `process`, which Ctrl-C ends; None if pages must not end it.
    """

    name: str = ""
    command: str = ""
    process: int | None = None


@contextmanager
def record_run(
    record: IO[bytes],
    network: Network,
    engine: str,
    seed: int = 1,
    names: RunNames | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[RunRecorder]:
    """Write the record of a run to `record`; yield what takes its glimpses, and its result.

    The first line has the network, the engine, the seed and the names; the last, written when the block ends, says that
    the run is over. `clock` returns the time in seconds.
    """
    recorder = RunRecorder(record, network, clock)
    recorder.add({"network": network.data(), "engine": engine, "seed": seed, **(names or RunNames())._asdict()})
    try:
        yield recorder
    finally:
        recorder.add({"over": True})


@final
class RunRecorder:
    """Writer of the record of a run of `network`: called with a glimpse, it adds the line of that.

    `clock` returns the time in seconds. `stops` tells, after each line, whether somebody wants the run to end; Ctrl-C
    is then raised in this process, once.
    """

    def __init__(self, record: IO[bytes], network: Network, clock: Callable[[], float]) -> None:
        self._record, self._lines, self._clock, self._begin = record, _GlimpseLines(network), clock, clock()
        self.stops: Callable[[], bool] = lambda: False

    def __call__(self, glimpse: Glimpse) -> None:
        """Write the line of a glimpse; then raise Ctrl-C in this process, once, if somebody wants the run to end."""
        self.add({**self._lines.line(glimpse), "seconds": self._clock() - self._begin})
        if self.stops():
            self.stops = lambda: False
            signal.raise_signal(signal.SIGINT)

    def end(self, result: Emulated) -> None:
        """Write the line of the result: its rows, its verdict, and why it is incomplete, empty if it is not."""
        self.add({"rows": [row.data() for row in result.rows], "verdict": result.verdict, "why": result.incomplete})

    def add(self, line: Mapping[str, Any]) -> None:
        """Write a line, which is plain data, so that readers can see it at once."""
        self._record.write(json.dumps(line).encode() + b"\n")
        self._record.flush()


def file_reader(descriptor: int) -> RecordReader:
    """Return a function that returns the bytes of an open file from an offset to its end.

    `descriptor` is the number of the open file; reading moves no one's position in it.
    """

    def read(offset: int) -> bytes:
        pieces = list[bytes]()
        while piece := os.pread(descriptor, BYTES_AT_ONCE, offset):
            pieces.append(piece)
            offset += len(piece)
        return b"".join(pieces)

    return read


def recorded_name(reader: RecordReader) -> str:
    """Return the name of the network that a record names in its first line; "a run" as long as it names none.

    `reader` returns the bytes of the record from an offset on.
    """
    first, end, _ = reader(0).partition(b"\n")
    return (json.loads(first).get("name") if end else "") or "a run"


class InboxAddress(NamedTuple):
    """The port of this machine at which an inbox listens, and the key that a sender must send first."""

    port: int
    key: str


@final
class GlimpseInbox:
    """A record of a run in memory, to which another process of this machine sends lines while the run goes on.

    It listens for them within an `async with` block, which yields its address.
    """

    def __init__(self) -> None:
        self._key, self._lines = secrets.token_hex(16), bytearray()
        self._writers: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> InboxAddress:
        self._server = await asyncio.start_server(self._receive, "127.0.0.1", 0)
        return InboxAddress(self._server.sockets[0].getsockname()[1], self._key)

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    def read(self, offset: int) -> bytes:
        """Return the bytes of the record from an offset on, as far as they have come."""
        return bytes(self._lines[offset:])

    def stop(self) -> None:
        """Ask all senders of the record to end the run; they look for that after each line."""
        for writer in self._writers:
            writer.write(STOP)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Append what a connection brings to the record, if it begins with the key; close any other connection."""
        try:
            key = await reader.readuntil()
            if hmac.compare_digest(key.strip(), self._key.encode()):
                self._writers.append(writer)
                while piece := await reader.read(BYTES_AT_ONCE):
                    self._lines += piece
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            pass  # somebody else, or a sender that was killed
        finally:
            writer.close()


@contextmanager
def connect_to_inbox(inbox: InboxAddress) -> Iterator[tuple[IO[bytes], Callable[[], bool]]]:
    """Connect to the inbox at an address; yield a file for the bytes of the record, and a function without arguments.

    What is written to the file goes to the inbox; the function tells whether the inbox wants the run to stop.
    """
    with socket.create_connection(("127.0.0.1", inbox.port)) as connection, connection.makefile("wb") as record:
        record.write(inbox.key.encode() + b"\n")
        yield record, lambda: bool(select.select([connection], [], [], 0)[0] and connection.recv(len(STOP)))


@final
class _GlimpseLines:
    """The lines of a run's record: glimpses of a run of `network` as plain data, one line for each."""

    def __init__(self, network: Network) -> None:
        topology = network.topology
        self._groups, self._records_nodes = (*topology.groups, SOURCES), network.size <= MOST_NODES
        self._group = np.where(topology.group < 0, len(topology.groups), topology.group)
        limits = topology.bandwidth
        self._limited = None if limits is None else np.flatnonzero(np.isfinite(limits))
        self._stalled_since = dict[str, float]()  # by the words about a stall: when a glimpse first had it

    def line(self, glimpse: Glimpse) -> dict[str, Any]:
        """Return the line of a glimpse, as plain data by name.

        It has `now`, `horizon` and `slip` in model time, freshness (`fresh`) and half widths of its intervals by group
        as far as they are known, the numbers of `events` and `messages`, the `faults` so far, and the states of nodes
        if the glimpse has them. A fault is (begin, end or None while it lasts, its label, a sentence about it).
        """
        shares = zip(glimpse.groups, map(float, glimpse.fresh), strict=True)
        losses = [(loss.heard, loss.back, f"{_name_or_count(loss.nodes)} lost", str(loss)) for loss in glimpse.lost]
        stalls = [
            (event.at, self._stalled_since.setdefault(str(event), glimpse.now), f"{event.who} stood still", str(event))
            for event in glimpse.stood
        ]
        return {
            "now": glimpse.now,
            "horizon": glimpse.horizon,
            "fresh": {group: share for group, share in shares if not math.isnan(share)},
            "events": sum(map(int, glimpse.counts)),
            "messages": int(glimpse.messages),
            "slip": float(glimpse.slip),
            "half_width": self._half_widths(glimpse),
            "faults": [*losses, *stalls],
            **(self._states(glimpse.states) if glimpse.states is not None else {}),
        }

    @staticmethod
    def _half_widths(glimpse: Glimpse) -> dict[str, float]:
        """Return half the width of the interval of each group's freshness, by group, without those not known."""
        if glimpse.half_width is None:
            return {}
        pairs = zip(glimpse.groups, map(float, glimpse.half_width), strict=True)
        return {group: width for group, width in pairs if not math.isnan(width)}

    def _states(self, states: NodeStates) -> dict[str, Any]:
        """Return {"copies": {group: (copies, fresh copies)}}, with more if it is known.

        Where bandwidth is limited, "lines" has (mean, largest) of the messages in line at a node that has a limit, by
        group. In a small network, "nodes" has lists node by node: its copies "held", those that are "fresh", and its
        messages "waiting" in line, an empty list without a limit.
        """
        fields: dict[str, Any] = {"copies": self._sums(states.held, states.fresh)}
        if self._limited is not None:
            group_of_limited, waiting = self._group[self._limited], states.waiting[self._limited]
            longest = np.zeros(len(self._groups))
            np.maximum.at(longest, group_of_limited, waiting)
            count, waiting_sum = (np.bincount(group_of_limited, weights, longest.size) for weights in (None, waiting))
            lines = zip(self._groups, count.tolist(), waiting_sum.tolist(), longest.tolist(), strict=True)
            fields["lines"] = {group: (total / nodes, longest) for group, nodes, total, longest in lines if nodes}
        if self._records_nodes:
            waiting = states.waiting.astype(int).tolist() if self._limited is not None else []
            fields["nodes"] = {"held": states.held.tolist(), "fresh": states.fresh.tolist(), "waiting": waiting}
        return fields

    def _sums(self, held: Any, fresh: Any) -> dict[str, tuple[int, int]]:
        """Return (copies, fresh copies) of each group that has copies; `held` and `fresh` have the number of both for
        every node.
        """
        sums = (np.bincount(self._group, counts, len(self._groups)).astype(int).tolist() for counts in (held, fresh))
        return {
            group: (copies, fresh_copies)
            for group, copies, fresh_copies in zip(self._groups, *sums, strict=True)
            if copies
        }


def _name_or_count(names: Sequence[str]) -> str:
    """Return the name of a single node, or the number of nodes, such as "12 nodes", if there are several."""
    return names[0] if len(names) == 1 else f"{len(names):,} nodes"


@final
class LiveRecord:
    """The contents of a record of a run so far: the run, its latest glimpse, and points of its curves.

    `reader` returns the bytes of the record from an offset on. There is nothing before the first `update`. `about` is
    the line with the network, the engine, the seed and the names, `latest` that of the last glimpse, and `result` that
    of the result, each None until it has come. `points` has at most some 300 glimpses evenly over the run. `over` says
    whether the run has ended, and `lost`, which others set, that nobody writes the record any more.
    """

    def __init__(self, reader: RecordReader) -> None:
        self._reader, self._offset = reader, 0
        self.about: Mapping[str, Any] | None = None  # the network, the engine and the seed
        self.latest: Mapping[str, Any] | None = None
        self.result: Mapping[str, Any] | None = None
        self._first: Mapping[str, Any] | None = None  # glimpse, from which on the pace is counted
        self.over = self.lost = False
        self.points: list[Mapping[str, Any]] = []  # glimpses, evenly over the run and not too many
        self._stride, self._count = 1, 0

    def update(self) -> bool:
        """Read the lines that have come to the record since the last call, and return whether there were any."""
        new = self._reader(self._offset)
        lines = new[: new.rfind(b"\n") + 1]
        self._offset += len(lines)
        for line in map(json.loads, lines.splitlines()):
            self._add(line)
        return bool(lines)

    def _add(self, line: Mapping[str, Any]) -> None:
        """Take one line of the record: the run at its beginning, the end of the run, or else a glimpse, which may
        become a point of the curves.

        All points so far are dropped if the time of the glimpse is earlier than that of the one before, as the run has
        then begun anew.
        """
        if "network" in line:
            self.about = line
        elif "rows" in line:
            self.result = line
        elif "over" in line:
            self.over = True
        else:
            if self.latest is not None and line["now"] < self.latest["now"]:
                self.points, self._stride, self._count = [], 1, 0  # begun anew, as time ran too fast for the machine
                self._first = None
            self.latest = line
            if self._first is None and line["now"] > 0:
                self._first = line
            if self._count % self._stride == 0 and line["now"] > 0:
                self.points.append({name: value for name, value in line.items() if name != "nodes"})
            self._count += 1
            if len(self.points) > MOST_POINTS:
                self.points, self._stride = self.points[::2], 2 * self._stride

    @property
    def times(self) -> list[float]:
        """The instants, in model time, of the points of all curves."""
        return [point["now"] for point in self._points]

    def curves(self) -> dict[str, list[float]]:
        """Return the freshness of each group, measured from time zero to each of the `times`; NaN where it is not
        known.
        """
        groups = dict.fromkeys(group for point in self._points for group in point["fresh"])
        return {group: [point["fresh"].get(group, math.nan) for point in self._points] for group in groups}

    def half_widths(self) -> dict[str, list[float]]:
        """Return half the width of the interval of each value of `curves`, by group; NaN where there is none."""
        groups = dict.fromkeys(group for point in self._points for group in point.get("half_width", ()))
        return {group: [point.get("half_width", {}).get(group, math.nan) for point in self._points] for group in groups}

    def pace(self) -> tuple[list[float], list[float]]:
        """Return two lists with an entry for each of the `times`: the messages of all nodes per unit of time shortly
        before, and the mean lateness of wakes so far, in units of time.
        """
        ends = [*[{"now": 0.0, "messages": 0}] * PACE_SPAN, *self._points]
        pairs = zip(ends, ends[PACE_SPAN:], strict=False)
        rates = [
            (later["messages"] - earlier["messages"]) / (later["now"] - earlier["now"] or math.inf)
            for earlier, later in pairs
        ]
        return rates, [point["slip"] for point in self._points]

    def lines(self) -> dict[str, tuple[list[float], list[float]]]:
        """Return, by group with limited bandwidth, two lists: the mean and the largest number of messages in line at a
        node.

        Each list has an entry for each of the `times`; NaN where it is not known.
        """
        groups = dict.fromkeys(group for point in self._points for group in point.get("lines", ()))
        unknown = (math.nan, math.nan)
        pairs = {group: [point.get("lines", {}).get(group, unknown) for point in self._points] for group in groups}
        return {group: ([mean for mean, _ in points], [most for _, most in points]) for group, points in pairs.items()}

    def bands(self) -> list[Band]:
        """Return a band for each time span in which a host was lost or a process stood still, until now if it still is
        so.
        """
        if self.latest is None:
            return []
        now, faults = self.latest["now"], self.latest["faults"]
        return [Band(begin, now if end is None else end, who) for begin, end, who, _ in faults]

    @property
    def _points(self) -> Sequence[Mapping[str, Any]]:
        """The points of the curves, with the latest glimpse as the last of them."""
        last = self.latest if self.points else None
        return [*self.points, last] if last and last["now"] > self.points[-1]["now"] else self.points

    @property
    def words(self) -> str:
        """A line of text about how far the run is, how fast, what went wrong in it so far, and how it ended."""
        if self.latest is None:
            return "Starting …" if not self.over else f"It ended before it began. {NO_RESULT}"
        now = self.latest
        share = min(now["now"] / now["horizon"], 1.0) if now["horizon"] else 1.0
        parts = [f"t = {now['now']:.4g} of {now['horizon']:.4g} ({share:.0%})", f"{now['events']:,} events"]
        parts += self._speed
        if now["messages"]:
            parts += [f"{now['messages']:,} messages", f"wakes {now['slip']:.2g} late on average"]
        return " · ".join([self._state, *parts, *(words for *_, words in now["faults"])])

    @property
    def _state(self) -> str:
        """A sentence on whether the run goes on, or how it ended."""
        if self.lost:
            return "The process of the run is gone, without a result; so far it had come."
        if not self.over:
            return "Running." if self.result is None else "Ending."
        if self.result is None:
            return f"Over. {NO_RESULT}"
        if self.result["why"]:
            return f"Ended early: {self.result['why']}."
        return f"Done. Overall: {self.result['verdict']}." if self.result["verdict"] else "Done."

    @property
    def _speed(self) -> list[str]:
        """Texts with the events per second since the first glimpse and, while the run goes on, the time that is left;
        none as long as that is not known.
        """
        first, now = self._first, self.latest
        if first is None or now is None or not (seconds := now.get("seconds", 0.0) - first.get("seconds", 0.0)) > 0:
            return []
        rate = float(f"{(now['events'] - first['events']) / seconds:.2g}")
        speed = [f"{rate:,.0f} events a second"]
        done, left = now["now"] - first["now"], now["horizon"] - now["now"]
        return (
            speed
            if self.over or self.lost or done <= 0
            else [*speed, f"{duration(float(f'{left * seconds / done:.2g}'), dated=True)} left"]
        )

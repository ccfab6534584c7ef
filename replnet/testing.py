"""Tools for tests of networks, our own and those of users: a clock, chance and messages that a test controls.

    VirtualClock         a clock that a test advances, in place of the module `time`
    scripted_habit       a node's wakes, and the peers that it asks, as listed by the test
    InMemoryTransport    messages that arrive in order, after a fixed time
    assert_mean          an assertion about chance with a stated rate of false alarms

A replica that pulls at t = 1, with messages that take half a unit of time:

>>> from replnet.engines.nodes.nodes import Send
>>> from replnet.engines.nodes.nodes import Replica, Source
>>> clock = VirtualClock()
>>> transport = InMemoryTransport(clock.monotonic, takes=0.5)
>>> nodes = {"s": Source("s", iter([9.0])), "a": Replica({"downloads": scripted_habit(["s"])})}
>>> def carry_out(node, commands):
...     for command in commands:
...         if isinstance(command, Send):
...             transport.send(command.to, (node, command.message))
>>> clock.sleep(1.0)
>>> carry_out("a", nodes["a"].on_wake(clock.now, "downloads"))
>>> while transport.due < float("inf"):
...     clock.sleep(transport.due - clock.now)
...     for to, (sender, message) in transport.arrived():
...         carry_out(to, nodes[to].on_message(clock.now, sender, message))
>>> clock.now, nodes["a"].copies
(2.0, {'s': 1.5})

A law, compared with its formula: the share of exponential intervals that are longer than the mean.

>>> import math
>>> import numpy as np
>>> from replnet import exponential
>>> intervals = exponential(rate=2).draw(np.random.default_rng(1).standard_exponential(100_000))
>>> assert_mean(intervals > 0.5, math.exp(-1), resolution=0.02)
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any, Generic, TypeVar, final

import numpy as np

from replnet.engines.nodes import NodeId, Pull, PullSchedule

FALSE_ALARM = 1e-6  # chance that one assertion fails correct code

Address = TypeVar("Address")
Content = TypeVar("Content")


@final
class VirtualClock:
    """A clock that stands still until a test advances it; it can replace the module `time`.

    `now` is its time, and `worked` the CPU time that the process has used by then: a test sets both.
    `follow` is called after every `sleep`, to let other things happen meanwhile.
    """

    def __init__(self, now: float = 0.0) -> None:
        self.now, self.worked = now, 0.0
        self.follow: Callable[[], None] = lambda: None

    def monotonic(self) -> float:
        """Return the clock's time, `now`, in seconds, in place of time.monotonic."""
        return self.now

    def process_time(self) -> float:
        """Return the CPU time that the process has used, `worked`, in place of time.process_time.

        It is 0 until a test sets it.
        """
        return self.worked

    def sleep(self, seconds: float) -> None:
        """Advance the clock by so many seconds without waiting, then call `follow`, which by default does nothing."""
        self.now += seconds
        self.follow()


def scripted_habit(*asked: Sequence[NodeId], pull: Pull | None = None) -> PullSchedule:
    """Return the schedule of a node that wakes at 1, 2, 3, ... and at each wake asks the nodes of the next of `asked`.

    It sends each of them `pull`, by default a Pull without any request besides the copies. Each of `asked` has the
    nodes of one wake, perhaps none; a wake after the last of them raises StopIteration.
    """
    return PullSchedule((float(i) for i in count(1)), iter(asked), pull or Pull())


@final
class InMemoryTransport(Generic[Address, Content]):
    """A carrier of messages of any kind, in order: a message sent at t arrives at t + `takes`.

    `clock` is a function that returns the time.
    """

    def __init__(self, clock: Callable[[], float], takes: float = 0.0) -> None:
        self.takes = takes
        self._clock = clock
        self._under_way = deque[tuple[float, Address, Content]]()

    def send(self, to: Address, content: Content) -> None:
        """Send `content` to the address `to`; `arrived` yields it once it is due."""
        self._under_way.append((self._clock() + self.takes, to, content))

    @property
    def due(self) -> float:
        """The instant at which the next message arrives; infinite if none is under way."""
        return self._under_way[0][0] if self._under_way else math.inf

    def arrived(self) -> Iterator[tuple[Address, Content]]:
        """Yield (address, content) of every message that has arrived by now, in the order of sending, and drop it."""
        while self.due <= self._clock():
            _, to, content = self._under_way.popleft()
            yield to, content


def radius(samples: Any, low: float, high: float, false_alarm: float = FALSE_ALARM) -> float:
    """Return a half-width around the mean of independent samples in [low, high] that covers the true mean.

    It fails to cover with a chance of at most `false_alarm`, whatever the law of the samples: by the empirical
    Bernstein bound (Maurer and Pontil 2009, theorem 4) for both sides. There must be two samples or more.
    """
    values = np.asarray(samples, dtype=float)
    n, log = values.size, math.log(4 / false_alarm)
    return math.sqrt(2 * float(values.var(ddof=1)) * log / n) + 7 * (high - low) * log / (3 * (n - 1))


def assert_mean(samples: Any, expected: float, *, resolution: float, low: float = 0, high: float = 1) -> None:
    """Raise AssertionError if the mean is not `expected`, or if the samples could not show an error of `resolution`.

    `resolution` is a difference of means in the unit of the samples. These are independent and must lie in [low, high],
    which is asserted too. If the true mean is `expected`, it fails one time in a million at most (`FALSE_ALARM`).
    """
    values = np.asarray(samples, dtype=float)
    assert low <= values.min() <= values.max() <= high, f"samples from {values.min():g} to {values.max():g}"
    allowed = radius(values, low, high)
    assert allowed <= resolution / 2, f"{values.size} samples resolve {2 * allowed:.2g}, not {resolution}"
    mean = float(values.mean())
    assert abs(mean - expected) <= allowed, f"the mean is {mean:.6g}, not {expected:.6g}, give or take {allowed:.2g}"

"""The result of a live run, and the errors by which it ends without one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from replnet.engines import Path
from replnet.engines.nodes import NodeStates
from replnet.laws import Floats
from replnet.live.clocks import Offset, Standstill
from replnet.live.quantiles import Spread

PLANNED = "was killed as planned"


class LiveLost(RuntimeError):  # noqa: N818
    """An error that ends a run without a result: processes died, fell silent or failed, as each text of `lost` says.

    `at` is the instant of model time; None before time zero.
    """

    def __init__(self, lost: tuple[str, ...], at: float | None = None) -> None:
        self.lost, self.at = lost, at
        when = "before time zero" if at is None or at < 0 else f"at {at:.4g} units of model time"
        super().__init__(f"lost {when}: {'; '.join(lost)}")


@final
@dataclass(frozen=True)
class Summary:
    """The mean and quantiles of many values that are 0 or more."""

    count: int
    mean: float
    p50: float
    p99: float
    largest: float

    @classmethod
    def of(cls, spread: Spread) -> Summary:
        """Return the count, the mean, two quantiles and the largest of the values in a spread."""
        return cls(spread.count, spread.mean, spread.quantile(0.5), spread.quantile(0.99), spread.largest)


@final
@dataclass(frozen=True)
class HostSummary:
    """The measurements of one host. Instants and slips are in model time."""

    nodes: int
    machine: str  # its address in the cluster
    slip: Summary  # observed minus planned instants of its wakes
    busy: float  # share of the time in which its loop worked
    cpu: float  # CPUs that its process used, all threads
    said: int  # messages of its nodes
    batches: int  # that it sent to other hosts
    offset: Offset


@final
@dataclass(frozen=True)
class Outage:
    """The outage of a host whose process ended before the run did. Instants are in model time."""

    host: int
    nodes: tuple[str, ...]
    why: str
    heard: float  # up to here it is counted
    back: float | None = None  # from here it counts again, its replicas blank at first; None: it never came back

    @property
    def planned(self) -> bool:
        """Whether the process was killed as planned, and replaced."""
        return self.why == PLANNED and self.back is not None

    def __str__(self) -> str:
        end = "to the end" if self.back is None else f"to {self.back:.4g}"
        return f"host {self.host} {self.why}: lost from t = {self.heard:.4g} {end}"


@final
@dataclass(frozen=True)
class Glimpse:
    """The progress of a run, and the shares that it has measured so far.

    `counts` are updates, downloads, polls and queries, and `messages` those that nodes have sent, over all
    replications.
    """

    now: float  # model time
    horizon: float
    groups: tuple[str, ...]
    fresh: Floats  # freshness by group, since time zero; NaN where there are no copies
    counts: tuple[int, int, int, int]
    messages: int
    slip: float  # the largest mean of a host
    lost: tuple[Outage, ...] = ()  # so far
    stood: tuple[Standstill, ...] = ()  # of the driver, so far
    states: NodeStates | None = None  # of all nodes in the first replication, if one is emulated event by event


@final
@dataclass(frozen=True)
class Live:
    """The result of a live run, whose replications ran at once. Delays, responses and slips are in model time."""

    horizon: float  # of every path: earlier than planned if the run was cut short
    paths: tuple[Path, ...]  # by replication
    delays: Summary  # of replies: arrival minus the instant at which the upstream answered
    late: float  # the mean by which replies took longer than the delays of the network
    group_late: tuple[float, ...]  # the same by the group of the asker; 0 for groups that did not ask
    responses: Summary  # of clients' queries: answer minus the instant at which it was due
    unanswered: int  # queries without an answer
    messages: int
    crossed: int  # messages between hosts
    batches: int
    batches_missing: int  # sent, and not seen to arrive before the end
    duplicates: int
    seconds: float  # from time zero to the end of the run
    time_scale: float  # seconds per unit of model time
    hosts: tuple[HostSummary, ...]
    faithful: bool
    why: str  # the reason if it is not faithful, else empty
    advised: float | None  # a time scale that would do
    rate_measured: float | None = None  # messages per second of one CPU, if the time scale came from it
    total_seconds: float = 0.0  # with start and end
    lost: tuple[Outage, ...] = ()
    stood: tuple[Standstill, ...] = ()
    cut_short: str = ""  # why the run ended before its horizon, if it did

    @property
    def degraded(self) -> bool:
        """Whether any process was lost."""
        return bool(self.lost)

    @property
    def events(self) -> int:
        """The number of wakes in all replications."""
        return sum(sum(path.counts) for path in self.paths)

    @property
    def messages_per_second(self) -> float:
        """The number of messages per second of the wall clock."""
        return self.messages / self.seconds

    @property
    def mean_slip(self) -> float:
        """The mean slip of the wakes of all hosts: by how much they came later than planned, in model time."""
        wakes = sum(host.slip.count for host in self.hosts)
        return sum(host.slip.count * host.slip.mean for host in self.hosts) / max(wakes, 1)

    @property
    def slip(self) -> Summary:
        """The summary of how late wakes came in the host in which they were latest on average."""
        return max((host.slip for host in self.hosts), key=lambda slip: slip.mean)

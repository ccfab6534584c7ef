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

    `at` is the instant of model time when that was found; None before time zero.
    """

    def __init__(self, lost: tuple[str, ...], at: float | None = None) -> None:
        self.lost, self.at = lost, at
        when = "before time zero" if at is None or at < 0 else f"at {at:.4g} units of model time"
        super().__init__(f"lost {when}: {'; '.join(lost)}")


@final
@dataclass(frozen=True)
class Summary:
    """The number, mean, median, 99 % quantile and largest of many values that are 0 or more.

    All but the `count` are in the unit of the values, and 0 without any; quantiles are right within one percent.
    """

    count: int
    mean: float
    p50: float
    p99: float
    largest: float

    @classmethod
    def of(cls, spread: Spread) -> Summary:
        """Return the number, the mean, the quantiles at 0.5 and 0.99 and the largest of the values in a spread."""
        return cls(spread.count, spread.mean, spread.quantile(0.5), spread.quantile(0.99), spread.largest)


@final
@dataclass(frozen=True)
class HostSummary:
    """The measurements of one host, over all its incarnations.

    `nodes` is the number of its nodes, and `machine` the name of its machine. `slip` is how much later than planned its
    wakes came, in model time. `busy` is the share of the time in which its loop worked, and `cpu` the number of CPUs
    that its process used on average, all threads. `said` counts the messages of its nodes, `batches` those sent to
    other hosts, and `offset` is that of its clock.
    """

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
    """The outage of a host, by its number, whose process ended before the run did. Instants are in model time.

    `nodes` are the names of its nodes, and `why` says how it was lost. Up to `heard` it is counted, and again from
    `back` on, its replicas blank at first; `back` is None if it never came back.
    """

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

    `now` and `horizon` are instants of model time. `fresh` has the freshness of every group, by number, since time
    zero, NaN where there are no copies. `counts` are updates, downloads, polls and queries, and `messages` those that
    nodes have sent, over all replications. `slip` is the largest mean lateness of wakes of a host, in model time.
    `half_width` is half the width of the 95 % interval of each of `fresh`, NaN where there is none, and None if it is
    not known. `lost` are the outages and `stood` the standstills of the driver so far, and `states` those of all nodes
    in the first replication, None if nodes are not run one event at a time.
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
    half_width: Floats | None = None  # of the intervals of `fresh`, as far as replications tell


@final
@dataclass(frozen=True)
class Live:
    """The result of a live run, whose replications ran at once. Delays, responses and slips are in model time.

    `delays` are those of replies, from when the upstream answered, `late` is the mean by which they took longer than
    the network's own delays, and `group_late` the same by the number of the asker's group, 0 for groups that did not
    ask. `responses` are those to queries, from when they were due, and `unanswered` queries had no answer. `messages`
    are all, and `crossed` those between hosts, in so many `batches`, of which some are missing and some came again as
    `duplicates`. The run took `seconds` from time zero to its end, `total_seconds` in all, at `time_scale` seconds per
    unit of model time. If it is not `faithful`, `why` says so and `advised` is a time scale that would do.
    `rate_measured` is the messages per second of one CPU that the time scale came from, None if it was given. `lost`
    are outages, `stood` standstills, and `cut_short` says why the run ended before its planned horizon, empty if it did
    not.
    """

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
        """Whether the process of any host was lost, planned crashes among these."""
        return bool(self.lost)

    @property
    def events(self) -> int:
        """The number of wakes in all replications: updates, downloads, polls and queries."""
        return sum(sum(path.counts) for path in self.paths)

    @property
    def messages_per_second(self) -> float:
        """The number of messages of all nodes and replications per second of the wall clock, from time zero on."""
        return self.messages / self.seconds

    @property
    def mean_slip(self) -> float:
        """The mean by which the wakes of all hosts came later than planned, in model time; 0 without any wakes."""
        wakes = sum(host.slip.count for host in self.hosts)
        return sum(host.slip.count * host.slip.mean for host in self.hosts) / max(wakes, 1)

    @property
    def slip(self) -> Summary:
        """The summary of how late wakes came, in model time, in the host in which they were latest on average."""
        return max((host.slip for host in self.hosts), key=lambda slip: slip.mean)

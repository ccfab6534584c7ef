"""One path of a network on the wall clock.

The past is replayed in virtual time, as `step` does; then every host gets what
its nodes have learnt so far, all agree on when time zero is, and the nodes go on
by themselves. The driver only looks on, and gathers what the hosts have seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from replnet.engines.live import bounce, cluster
from replnet.engines.live.actor import Status
from replnet.engines.live.clocks import Offset, machine, offset
from replnet.engines.live.host import Report, parts
from replnet.engines.live.pace import Costs, Kept, default_scale, judge
from replnet.engines.live.placement import place, traffic, work_of
from replnet.engines.live.result import Glimpse, HostSeen, Live, Summary
from replnet.engines.live.spread import Spread
from replnet.engines.path import Path
from replnet.engines.plan import Plan
from replnet.engines.step import Present, Walk, longest, to_zero

MOST_HOSTS = 256  # each is a process of some 60 MB
BOUNCING = 0.15  # seconds per calibration
PAIRS = 4  # of hosts that calibrate at once
LOOK = 0.2  # seconds between looks at the hosts
HANDLED = 3000  # wakes and messages in virtual time, for their cost
GRACE = 2.0  # seconds for answers that are under way at the end, besides the network's own delays

Watch = Callable[[Glimpse], None]


def run_live(
    plan: Plan,
    seed: int,
    horizon: float,
    *,
    sampled: bool = True,
    replication: int = 0,
    hosts: Literal["per-node"] | int | None = None,
    time_scale: float | None = None,
    address: str | None = None,
    watch: Watch | None = None,
) -> Live:
    """Run [0, horizon) of model time at `time_scale` seconds per unit.

    `hosts` processes share the nodes (default: one per CPU). Raises LiveLost if
    one of them dies or falls silent, Unreachable if there is no Ray to run on.
    """
    begun = time.monotonic()
    if not (horizon > 0 and (time_scale is None or time_scale > 0)):
        raise ValueError(f"horizon and time scale are above 0, not {horizon} and {time_scale}")
    if not isinstance(hosts, int | None) and hosts != "per-node":
        raise ValueError(f"hosts: {hosts!r} is neither a whole number nor 'per-node'")
    with cluster.joined(address):
        at = place(plan, _how_many(plan, hosts))
        with cluster.started(max(at) + 1) as actors:
            run = _Run(plan, seed, replication, horizon, sampled, at, actors, watch)
            return run.result(time_scale, begun)


def _how_many(plan: Plan, hosts: Literal["per-node"] | int | None) -> int:
    if hosts is None:
        return max(1, min(int(cluster.cpus()), len(plan.names)))
    n = len(plan.names) if hosts == "per-node" else hosts
    if not 1 <= n <= MOST_HOSTS:
        raise ValueError(f"hosts: {n} processes are not between 1 and {MOST_HOSTS}; pack more nodes into each")
    return n


@final
@dataclass
class _Run:
    plan: Plan
    seed: int
    replication: int
    horizon: float
    sampled: bool
    at: tuple[int, ...]
    hosts: cluster.Hosts
    watch: Watch | None

    def result(self, scale: float | None, begun: float) -> Live:
        walk = to_zero(self.plan, self.seed, self.replication, self.horizon, self.sampled)  # while processes start
        unproven, present = walk.unproven(), walk.present()
        offsets = self._meet()
        self._prepare(present)
        costs = None
        if scale is None:
            costs = self._costs(walk)
            work = np.bincount(self.at, work_of(self.plan)).astype(float)
            scale = default_scale(self.plan, costs, work, traffic(self.plan, self.at), cluster.cpus())
        zero = time.monotonic() + 0.2 + 0.01 * len(offsets)
        self.hosts.call("begin", [(zero + o.seconds, scale, self.watch is not None) for o in offsets])
        unfinished = self._look_on(zero, scale)
        seconds = time.monotonic() - zero
        seen = self.hosts.call("finish", patience=30.0)
        path = self._path([report for report, *_ in seen], walk.depth, unproven)
        return self._live(path, seen, offsets, scale, seconds, begun, unfinished, costs)

    def _meet(self) -> list[Offset]:
        """Wait for all processes; their clocks against this one."""
        hello = self.hosts.call("hello", patience=cluster.START)
        here = machine()
        self.hosts.machines = [name for _, name, _ in hello]
        offsets = [Offset() if boot == here and here else self._offset(h) for h, (boot, *_) in enumerate(hello)]
        self.hosts.call("meet", [(self.hosts.actors,)] * len(offsets))
        return offsets

    def _offset(self, host: int) -> Offset:
        return offset(lambda: float(self.hosts.some("clock", {host: ()})[0]), time.monotonic)

    def _prepare(self, present: Present) -> None:
        common = {
            "seed": self.seed, "replication": self.replication, "horizon": self.horizon, "sampled": self.sampled
        }  # fmt: skip
        plan = self.hosts.share(self.plan)
        given = [(plan, part) for part in parts(self.plan, self.at, present, common)]
        self.hosts.call("prepare", given, cluster.START)

    def _costs(self, walk: Walk) -> Costs:
        """Of messages between neighbouring hosts; a lone host talks to itself."""
        n = len(self.hosts.actors)
        pairs = [(h, h + 1) for h in range(0, n - 1, 2)][:PAIRS] or [(0, 0)]
        found = []
        for size in (bounce.FEW, bounce.MANY):
            self.hosts.some("bounce", {a: (a, b, size, BOUNCING) for a, b in pairs})
            time.sleep(BOUNCING + 0.02)
            found.append(self.hosts.some("bounced", {a: () for a, _ in pairs}))
        carried = bounce.costs(*found)
        return Costs(carried.message + self._handling(walk), carried.batch, carried.latency)

    def _handling(self, walk: Walk) -> float:
        """CPU seconds per wake or message inside a host: those of `step`, which handles the same ones."""
        begun = time.thread_time()
        walk.until(HANDLED / work_of(self.plan).sum())
        return (time.thread_time() - begun) / HANDLED

    def _look_on(self, zero: float, scale: float) -> str:
        """Until all is done; returns what was left undone, if anything."""
        end = zero + self.horizon * scale
        more = 0.25 * self.horizon * scale
        deadline = end + max(more, 5.0)
        grace = GRACE + min(2 * longest(self.plan) * scale, more)
        while True:
            left = end - time.monotonic()
            time.sleep(min(LOOK, left) if left > 0 else 0.02)
            found: list[Status] = self.hosts.call("status")
            self.hosts.now = min(status.now for status in found)
            if self.watch is not None:
                self.watch(self._glimpse(found))
            now = time.monotonic()
            over = now >= end and all(status.idle for status in found)
            if over and (now >= end + grace or all(status.done for status in found)):
                return ""
            if now > deadline:
                return f"after {now - zero:.0f} s wakes that were due by {end - zero:.0f} s were still to come"

    def _glimpse(self, found: list[Status]) -> Glimpse:
        now = min(max(self.hosts.now or 0.0, 0.0), self.horizon)
        counts = np.sum([s.counts for s in found], axis=0).tolist()
        slip = max(s.slip for s in found)
        shares = np.full(len(self.plan.groups), np.nan)
        looks = [s.fresh for s in found if s.fresh is not None]
        if len(looks) == len(found):  # within a moment of one another
            shares = self._shares(sum(fresh for _, fresh in looks), np.mean([at for at, _ in looks]))
        return Glimpse(now, self.horizon, self.plan.groups, shares, tuple(counts), sum(s.said for s in found), slip)

    def _shares(self, fresh: Any, span: Any) -> Any:
        copies = self.plan.copies
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(copies > 0, fresh / (span * copies), np.nan)

    def _path(self, reports: list[Report], depth: float, unproven: int) -> Path:
        copies = np.full((len(self.plan.sources), len(self.plan.names)), -np.inf)
        for report in reports:
            for row, node, left in report.left:
                copies[row, node] = left
        updates, downloads, polls, queries = np.sum([r.seen.counts for r in reports], axis=0).tolist()
        return Path(
            fresh=self._shares(sum(r.fresh for r in reports), self.horizon),
            answers=np.sum([r.answers for r in reports], axis=0),
            good=np.sum([r.good for r in reports], axis=0),
            counts=(updates, downloads, polls, queries),
            copies=copies,
            depth=depth,
            unproven=unproven,
        )

    def _live(
        self,
        path: Path,
        seen: list[tuple[Report, float, float]],
        offsets: list[Offset],
        scale: float,
        seconds: float,
        begun: float,
        unfinished: str,
        costs: Costs | None,
    ) -> Live:
        reports = [report for report, *_ in seen]
        by_group = [_merged([r.seen.delays[g] for r in reports]) for g in range(len(self.plan.groups))]
        kept = [Kept(r.seen.slip.mean, busy, r.seen.said / seconds) for r, busy, _ in seen]
        why, advised = judge(self.plan, scale, kept, unfinished)
        return Live(
            path=path,
            good_when_due=np.sum([r.good_when_due for r in reports], axis=0),
            delays=Summary.of(_merged(by_group)),
            group_delays=tuple(spread.mean for spread in by_group),
            responses=Summary.of(_merged([r.seen.responses for r in reports])),
            unanswered=sum(r.unanswered for r in reports),
            messages=sum(r.seen.said for r in reports),
            crossed=sum(r.seen.crossed for r in reports),
            batches=sum(r.seen.batches for r in reports),
            batches_missing=sum(r.seen.batches - r.taken for r in reports),
            duplicates=sum(r.repeated for r in reports),
            seconds=seconds,
            total_seconds=time.monotonic() - begun,
            time_scale=scale,
            hosts=tuple(self._seen(h, seen[h], offsets[h]) for h in range(len(seen))),
            faithful=not why,
            why=why,
            advised=advised,
            rate_measured=costs.rate if costs else None,
        )

    def _seen(self, host: int, seen: tuple[Report, float, float], offset: Offset) -> HostSeen:
        report, busy, cpu = seen
        return HostSeen(
            nodes=self.at.count(host),
            machine=self.hosts.machines[host],
            slip=Summary.of(report.seen.slip),
            busy=busy,
            cpu=cpu,
            said=report.seen.said,
            batches=report.seen.batches,
            offset=offset,
        )


def _merged(spreads: list[Spread]) -> Spread:
    whole = Spread()
    for spread in spreads:
        whole.merge(spread)
    return whole

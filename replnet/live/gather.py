"""From what the hosts of a run have seen to its result."""

from __future__ import annotations

from typing import Any

import numpy as np

from replnet.engines.plan import Floats, Plan
from replnet.engines.tally import Path, Task
from replnet.live.clocks import Standstill
from replnet.live.host import Counted, Seen, amounts, total
from replnet.live.quantiles import merged
from replnet.live.result import HostSeen, Summary
from replnet.live.speed import Costs, Kept, judge
from replnet.live.supervisor import Lookout, Seat


def gather(
    task: Task, lookout: Lookout, starts: list[tuple[float, int]], scale: float, seconds: float, costs: Costs | None
) -> dict[str, Any]:
    """All of a Live but how long it took with its start; `starts`: the depth of each and what is unproven."""
    plan, seats, outages = task.plan, lookout.seats, lookout.outages
    reports = [report for seat in seats for report in seat.reports]
    seen, found = [report.seen for report in reports], zip(*(report.counted for report in reports), strict=True)
    counted = [list(of) for of in found]
    late = [merged([of.late[g] for of in seen]) for g in range(len(plan.groups))]
    hosts, stood = [_seen(seat) for seat in seats], [_stood(plan, seat) for seat in seats]
    kept = [Kept(h.slip.mean, h.busy, h.said / seconds, still) for h, still in zip(hosts, stood, strict=True)]
    why, advised = judge(plan, scale, kept, seconds, lookout.unfinished)
    degraded, horizon = bool(outages), lookout.horizon
    return {
        "horizon": horizon,
        "paths": tuple(
            _path(task, of, _left(plan, seats, r), *starts[r], degraded, horizon) for r, of in enumerate(counted)
        ),
        "delays": Summary.of(merged([spread for of in seen for spread in of.delays])),
        "late": merged(late).mean,
        "group_late": tuple(spread.mean for spread in late),
        "responses": Summary.of(merged([of.responses for of in seen])),
        "unanswered": sum(one.unanswered for of in counted for one in of),
        "messages": sum(of.said for of in seen),
        "crossed": sum(of.crossed for of in seen),
        "batches": sum(of.batches for of in seen),
        "batches_missing": max(sum(of.batches - of.taken for of in seen), 0),
        "duplicates": sum(of.repeated for of in seen),
        "seconds": seconds,
        "time_scale": scale,
        "hosts": tuple(hosts),
        "faithful": not why,
        "why": why,
        "advised": advised,
        "rate_measured": costs.rate if costs else None,
        "lost": outages,
        "stood": (*lookout.stood, *(one for still in stood for one in still)),
        "cut_short": lookout.cut_short,
    }


def _path(
    task: Task, found: list[Counted], copies: Floats, depth: float, unproven: int, degraded: bool, horizon: float
) -> Path:
    updates, downloads, polls, queries = total([of.counts for of in found]).tolist()
    shares = amounts(task, found, horizon, degraded)
    return Path(shares, (updates, downloads, polls, queries), depth, unproven, copies=copies)


def _left(plan: Plan, seats: list[Seat], replication: int) -> Floats:
    """What every node holds at the end, a row per source; -inf where it holds nothing or is not there."""
    copies = np.full((plan.sources.size, plan.size), -np.inf)
    for seat in seats:
        for row, node, left in seat.finished.left[replication] if seat.finished else []:
            copies[row, node] = left
    return copies


def _seen(seat: Seat) -> HostSeen:
    seen: list[Seen] = [report.seen for report in seat.reports]
    return HostSeen(
        nodes=seat.part.at.count(seat.part.me),
        machine=seat.machine,
        slip=Summary.of(merged([of.slip for of in seen])),
        busy=seat.finished.busy if seat.finished else 0.0,
        cpu=seat.finished.cpu if seat.finished else 0.0,
        said=sum(of.said for of in seen),
        batches=sum(of.batches for of in seen),
        offset=seat.offset,
    )


def _stood(plan: Plan, seat: Seat) -> list[Standstill]:
    me = seat.part.me
    nodes = tuple(name for name, host in zip(plan.names, seat.part.at, strict=True) if host == me)
    return [Standstill(f"host {me}", *when, nodes) for when in (seat.finished.stood if seat.finished else [])]

"""From what the hosts of a run have seen to its result."""

from __future__ import annotations

from typing import Any

import numpy as np

from replnet.engines.path import Path, Shares, answered, there
from replnet.engines.plan import Plan
from replnet.live.clocks import Standstill
from replnet.live.observations import Tallied, total
from replnet.live.quantiles import Spread
from replnet.live.result import Floats, HostSeen, Summary
from replnet.live.speed import Costs, Kept, judge
from replnet.live.supervisor import Lookout, Seat, tallied


def gather(
    plan: Plan, lookout: Lookout, starts: list[tuple[float, int]], scale: float, seconds: float, costs: Costs | None
) -> dict[str, Any]:
    """All of a Live but how long it took with its start; `starts`: the depth of each and what is unproven."""
    seats, outages = lookout.seats, lookout.outages
    reports = [report for seat in seats for report in seat.reports]
    found = tallied(seats)
    late = [merged([r.late[g] for r in reports]) for g in range(len(plan.groups))]
    stood = [still for seat in seats for still in _stood(plan, seat)]
    kept = [Kept(slip(seat).mean, _busy(seat), said(seat) / seconds, _stood(plan, seat)) for seat in seats]
    why, advised = judge(plan, scale, kept, seconds, lookout.unfinished)
    return {
        "horizon": lookout.horizon,
        "paths": tuple(
            _path(plan, of, copies_left(plan, seats, r), *starts[r], bool(outages), lookout.horizon)
            for r, of in enumerate(found)
        ),
        "present": np.array([_share(total([t.present for t in of]), lookout.horizon * plan.copies) for of in found]),
        "good_when_due": np.array([total([t.good_when_due for t in of]) for of in found]),
        "delays": Summary.of(merged([spread for r in reports for spread in r.delays])),
        "late": merged(late).mean,
        "group_late": tuple(spread.mean for spread in late),
        "responses": Summary.of(merged([r.responses for r in reports])),
        "unanswered": sum(t.unanswered for of in found for t in of),
        "messages": sum(r.said for r in reports),
        "crossed": sum(r.crossed for r in reports),
        "batches": sum(r.batches for r in reports),
        "batches_missing": max(sum(r.batches - r.taken for r in reports), 0),
        "duplicates": sum(r.repeated for r in reports),
        "seconds": seconds,
        "time_scale": scale,
        "hosts": tuple(_seen(seat) for seat in seats),
        "faithful": not why,
        "why": why,
        "advised": advised,
        "rate_measured": costs.rate if costs else None,
        "lost": outages,
        "stood": (*lookout.stood, *stood),
        "cut_short": lookout.cut_short,
    }


def _path(
    plan: Plan, found: list[Tallied], copies: Floats, depth: float, unproven: int, degraded: bool, horizon: float
) -> Path:
    updates, downloads, polls, queries = total([t.counts for t in found]).tolist()
    ended = total([t.answers for t in found])
    # What a blank replica answers says nothing of a copy.
    answers = ended - total([t.empty for t in found]) if degraded or plan.strict else ended
    present = total([t.present for t in found])
    _, shares = there(plan, present, horizon * plan.copies - present, horizon, degraded)
    shares |= answered(plan, answers, ended) | added([t.load for t in found])
    return Path(
        fresh=_share(total([t.fresh for t in found]), present),
        answers=answers,
        good=total([t.good for t in found]),
        counts=(updates, downloads, polls, queries),
        copies=copies,
        depth=depth,
        unproven=unproven,
        shares=shares,
    )


def added(parts: list[Shares]) -> Shares:
    """Amounts and wholes of all."""
    keys = dict.fromkeys(key for part in parts for key in part)
    pairs = {key: [part[key] for part in parts if key in part] for key in keys}
    return {key: (sum(a for a, _ in found), sum(w for _, w in found)) for key, found in pairs.items()}


def _share(part: Any, whole: Any) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(whole > 0, part / whole, np.nan))


def copies_left(plan: Plan, seats: list[Seat], replication: int) -> Floats:
    """What every node holds at the end, a row per source; -inf where it holds nothing or is not there."""
    copies = np.full((len(plan.sources), len(plan.names)), -np.inf)
    for seat in seats:
        for row, node, left in seat.finished.left[replication] if seat.finished else []:
            copies[row, node] = left
    return copies


def _seen(seat: Seat) -> HostSeen:
    return HostSeen(
        nodes=seat.part.at.count(seat.part.me),
        machine=seat.machine,
        slip=Summary.of(slip(seat)),
        busy=_busy(seat),
        cpu=seat.finished.cpu if seat.finished else 0.0,
        said=said(seat),
        batches=sum(report.batches for report in seat.reports),
        offset=seat.offset,
    )


def _stood(plan: Plan, seat: Seat) -> list[Standstill]:
    me = seat.part.me
    nodes = tuple(name for name, host in zip(plan.names, seat.part.at, strict=True) if host == me)
    return [Standstill(f"host {me}", *when, nodes) for when in (seat.finished.stood if seat.finished else [])]


def _busy(seat: Seat) -> float:
    return seat.finished.busy if seat.finished else 0.0


def slip(seat: Seat) -> Spread:
    return merged([report.slip for report in seat.reports])


def said(seat: Seat) -> int:
    return sum(report.said for report in seat.reports)


def merged(spreads: list[Spread]) -> Spread:
    whole = Spread()
    for spread in spreads:
        whole.merge(spread)
    return whole

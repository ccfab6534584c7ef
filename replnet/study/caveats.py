"""What the laws of a network say about how far its measured intervals can be trusted."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations_with_replacement
from math import inf

from replnet.engines.plan import QUERIES, UPDATES, Plan, Process
from replnet.laws.law import Law
from replnet.papers.staleness import ratio

FELT = 0.01


def behind(plan: Plan, group: int, row: int = -1) -> list[Process]:
    """Every process on which the copies or answers of a group depend, or what they hold of the source in this row."""
    of_node: dict[int, list[Process]] = {}
    for p in plan.processes:
        of_node.setdefault(p.node, []).append(p)
    seen: set[int] = set()
    lists: set[int] = set()
    waiting = [i for i, g in enumerate(plan.group.tolist()) if g == group]
    while waiting:
        i = waiting.pop()
        if i in seen:
            continue
        seen.add(i)
        for p in of_node.get(i, ()):
            # Members of a pool share one list of candidates, which needs a visit only once.
            if id(p.candidates) not in lists:
                lists.add(id(p.candidates))
                waiting.extend(p.candidates)
    if row >= 0:
        seen = {i for i in seen if i == plan.sources[row] or plan.reached[row, i]}
    return [p for i in sorted(seen) for p in of_node.get(i, ())]


def heavy(processes: Iterable[Process], sampled: bool) -> str:
    """Why no interval can be given, or nothing."""
    laws = dict.fromkeys(p.law for p in processes if p.purpose != QUERIES and (sampled or p.purpose != UPDATES))
    worst = [str(law) for law in laws if law.second_moment == inf]
    return f"no interval: infinite variance of {', '.join(worst)}" if worst else ""


def locked(processes: Iterable[Process], sampled: bool, replications: int) -> str:
    """A note where processes on one lattice keep their phases, so that only replications average over them."""
    timed = [p for p in processes if coarse(p.law) and p.purpose != QUERIES and (sampled or p.purpose != UPDATES)]
    count: dict[object, int] = {}
    for p in timed:
        count[p.law] = count.get(p.law, 0) + 1
    for a, b in combinations_with_replacement(list(count), 2):
        if (a is not b or count[a] > 1) and commensurable(a.span, b.span):  # type: ignore[attr-defined]
            pair = f"{a} and {b} keep" if a is not b else f"processes with {a} keep"
            over = f"averaged over {replications} random ones" if replications > 1 else "this is a random one"
            return f"phase-lock: {pair} their phases; {over}"
    return ""


def coarse(law: Law) -> bool:
    """On a lattice whose step is felt: a record in whole seconds with hours between its events is not."""
    return law.span is not None and law.span > FELT * law.mean


def commensurable(a: float, b: float) -> bool:
    return ratio(a, b) is not None

"""What the laws of a network say about how far its measured intervals can be trusted."""

from __future__ import annotations

from itertools import combinations_with_replacement
from math import inf

import numpy as np

from replnet.engines.plan import QUERIES, UPDATES, Ints, Plan
from replnet.laws.law import Law, coarse, commensurable

MOST_PAIRS = 10  # sources whose two processes are looked at for a common lattice


def behind(plan: Plan, group: int, row: int = -1) -> Ints:
    """Every process on which the copies or answers of a group depend, or what they hold of the source in this row."""
    p, lists = plan.processes, plan.lists
    seen, asked = np.zeros(plan.size, np.bool_), np.zeros(lists.begin.size - 1, np.bool_)
    seen[[i for i in plan.members(group).tolist() if i < plan.size]] = True
    for view in plan.topology.views:
        seen[view.nodes] |= view.group == plan.groups[group]
    before = -1
    while before != (before := int(seen.sum())):
        asked[p.candidates[seen[p.node] & (p.ask > 0)]] = True
        seen[lists.members[np.repeat(asked, lists.sizes)]] = True
    if row >= 0:
        hears = np.zeros(plan.size, np.bool_)
        hears[np.repeat(np.arange(plan.size), plan.heard.sizes)[plan.heard.members == row]] = True
        hears[plan.sources[row]] = True
        seen &= hears
    found = np.flatnonzero(seen[p.node] & (plan.rates > 0) & (plan.clocks.schedule[p.clock] < 0))
    return found[np.lexsort((found, p.node[found]))]


def heavy(plan: Plan, processes: Ints, sampled: bool) -> str:
    """Why no interval can be given, or nothing."""
    laws = _laws(plan, processes, QUERIES, *([] if sampled else [UPDATES]))
    worst = [str(law) for law in laws if law.second_moment == inf]
    return f"no interval: infinite variance of {', '.join(worst)}" if worst else ""


def _laws(plan: Plan, processes: Ints, *without: int) -> list[Law]:
    """The shapes of processes, but for those of some purposes, in their order."""
    p = plan.processes
    some = processes[~np.isin(p.purpose[processes], without)]
    return list(dict.fromkeys(plan.topology.laws[g] for g in dict.fromkeys(plan.clocks.law[p.clock[some]].tolist())))


def pull_laws(plan: Plan, processes: Ints) -> list[Law]:
    """The laws of all that may keep a copy from being renewed."""
    faults = [crash.fault for crash in plan.faults.crashes] + [cut.fault for cut in plan.faults.cuts]
    return [*_laws(plan, processes, QUERIES, UPDATES), *(fault.down for fault in faults if fault.down is not None)]


def locked_sources(plan: Plan, replications: int) -> str:
    """The same of many sources: a note where the changes and the downloads of one keep their phases."""
    many, over = plan.topology.many, f"averaged over {replications} random ones"
    if many.spec.replicas > 1 and many.spec.share == "independently" and coarse(many.downloads):
        return f"phase-lock: downloads by different replicas keep their phases; {over}"
    if not (many.apart and coarse(many.downloads)):
        return ""
    of, often = many.sources, many.frequencies
    for i in range(min(of.size, MOST_PAIRS)):
        shape = of.shapes[of.which[i]]
        if coarse(shape) and of.rates[i] > 0 and often[i] > 0:
            own = shape.span * shape.rate / of.rates[i]
            drawn = many.downloads.span * many.downloads.rate / often[i]
            if commensurable(float(own), float(drawn)):
                return f"phase-lock: changes and downloads keep their phases; {over}"
    return ""


def locked(plan: Plan, processes: Ints, sampled: bool, replications: int) -> str:
    """A note where processes on one lattice keep their phases, so that only replications average over them."""
    if plan.topology.many is not None:
        return locked_sources(plan, replications)
    p, clocks = plan.processes, plan.clocks
    timed = processes[~np.isin(p.purpose[processes], [QUERIES, *([] if sampled else [UPDATES])])]
    kinds = np.column_stack([clocks.law[p.clock[timed]], plan.stretch(timed)])
    kinds, first, count = np.unique(kinds, axis=0, return_index=True, return_counts=True)
    found = []
    for at in np.argsort(first).tolist():
        law = plan.topology.laws[int(kinds[at, 0])]
        if coarse(law):
            found.append((str(law), float(law.span or 0) * kinds[at, 1], int(count[at])))
    for a, b in combinations_with_replacement(range(len(found)), 2):
        (one, span, several), (other, second, _) = found[a], found[b]
        if (a != b or several > 1) and commensurable(span, second):
            pair = f"{one} and {other} keep" if a != b else f"processes with {one} keep"
            over = f"averaged over {replications} random ones" if replications > 1 else "this is a random one"
            return f"phase-lock: {pair} their phases; {over}"
    return ""

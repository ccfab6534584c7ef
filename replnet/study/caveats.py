"""How far measured intervals can be trusted: by the laws of a network, and by a path where they leave it open.

Formulas take the age of a download as independent of that of the update (Staleness eq. 30).
Theorem 11 grants it where one of the two has independent intervals on no lattice; processes that
are on a lattice, or go round in a cycle, are put to the test on the path of the first replication,
played on by the streams that it has. Ages are compared at INSTANTS instants,

    two cycles      each at random within so many rounds that their phases take all values       (1)
    others          each at random within a stretch of SPACING mean intervals of the one that
                    is no cycle, or of the faster, which has forgotten by the next               (2)

where constant intervals are a cycle of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations_with_replacement
from math import inf

import numpy as np

from replnet.engines.plan import DOWNLOADS, QUERIES, UPDATES, Plan
from replnet.laws.families import Constant
from replnet.laws.law import Floats, Ints, Law, coarse, commensurable
from replnet.laws.processes.renewal import Renewals
from replnet.laws.processes.sequences import Cycle
from replnet.laws.processes.streams import Words, seed_words
from replnet.laws.processes.superposition import Union
from replnet.measure.independence import dependence

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


INSTANTS = 4096
ROUNDS, SPACING = 97, 64
LEVEL = 0.01  # how often ages that are independent are called dependent
WINDOW = 1 << 16  # events that are in hand at once


def depends(plan: Plan, group: int, seed: int, row: int = -1) -> str:
    """A note where ages depend on one another on a path of this group (from the source in this row), or nothing."""
    found = [dependence(*_ages(plan, pair, seed)) for pair in _open(plan, group, row)]
    # Each by itself at a level that leaves that of all of them.
    sure = [one for one in found if one.chance < LEVEL / len(found)]
    if not sure:
        return ""
    worst = max(sure, key=lambda one: one.largest)
    return (
        f"on one path ages depend, by up to {worst.largest:.2f} in P(A_D < x | A_U): "
        "the formula is for the mean over paths"
    )


def _open(plan: Plan, group: int, row: int) -> Iterator[tuple[int, int]]:
    """Processes of updates, and of downloads from there, by number: one pair of any two laws that leave it open."""
    p = plan.processes
    if plan.topology.each or not any(map(_regular, _laws(plan, np.arange(plan.sources.size)))):
        return
    seen: set[tuple[Law, Law]] = set()
    of = {int(source): q for q, source in enumerate(plan.sources) if row in (-1, q)}
    for q in behind(plan, group, row).tolist():
        if p.purpose[q] != DOWNLOADS or not _regular(plan.law(q)):
            continue
        for source in set(plan.candidates(q).tolist()) & of.keys():
            laws = plan.law(of[source]), plan.law(q)
            if _regular(laws[0]) and laws not in seen:
                seen.add(laws)
                yield of[source], q


def _regular(law: Law) -> bool:
    """Whether Theorem 11 does not grant independence by this law."""
    if isinstance(law, Union):
        return all(_regular(member) for member, _ in law.marginal.members)
    return coarse(law) or _round(law) > 0


def _round(law: Law) -> float:
    """How long a cycle takes, or 0 where there is none."""
    if isinstance(law, Constant):
        return law.mean
    if isinstance(law, Cycle):
        return float(law.intervals.sum())
    return 0.0


def _ages(plan: Plan, pair: tuple[int, int], seed: int) -> tuple[Floats, Floats]:
    """Of the update and of the download, at the same instants."""
    laws = [plan.law(q) for q in pair]
    rounds = [_round(law) for law in laws]
    if all(rounds):
        stretch = ROUNDS * max(rounds)  # (1)
    else:
        stretch = SPACING * min(law.mean for law, cycle in zip(laws, rounds, strict=True) if not cycle)  # (2)
    at = (np.arange(INSTANTS) + np.random.default_rng([seed, *pair]).random(INSTANTS)) * stretch
    update, download = (_age(plan, q, seed_words(seed, 0), at, cycle) for q, cycle in zip(pair, rounds, strict=True))
    return update, download


def _age(plan: Plan, number: int, run: Words, at: Floats, cycle: float) -> Floats:
    """Of one process at these instants, which ascend."""
    clock = plan.processes.clock[[number]]
    names, purposes = plan.clocks.word[clock], plan.clocks.purpose[clock]
    process = Renewals([plan.law(number)], np.zeros(1, np.int64), run, names, purposes, WINDOW)
    end = cycle or float(at[-1])
    points = [-process.age]
    while process.now < end:
        points.append(process.window(end).of(0).copy())
    events = np.concatenate(points)
    if cycle:
        at = at % cycle
    return np.asarray(at - events[np.searchsorted(events, at, side="right") - 1])

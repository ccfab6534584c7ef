"""Whether updates and downloads meet anew along the paths of a run, looked at where their laws leave that open.

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

import numpy as np
import numpy.typing as npt

from replnet.engines.plan import DOWNLOADS, Plan
from replnet.laws.families import Constant
from replnet.laws.law import Law, coarse
from replnet.laws.processes.renewal import Renewals
from replnet.laws.processes.sequences import Cycle
from replnet.laws.processes.streams import Words, seed_words
from replnet.laws.processes.superposition import Union
from replnet.measure.independence import dependence
from replnet.study.caveats import behind

Floats = npt.NDArray[np.float64]

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
    p, rows = plan.processes, np.arange(plan.sources.size)
    if not any(_regular(law) for law in {plan.law(q) for q in rows.tolist()}) or plan.topology.each:
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

"""A path: what is asked of all replications of a run alike, and what comes of one, by group and metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, final

import numpy as np

from replnet.engines.plan import Plan
from replnet.laws.law import Floats, Ints
from replnet.measure.profile import PLACES
from replnet.measure.stretches import Question

Share = tuple[float, float]
"""An amount, and the whole of which it is a share."""
Shares = dict[tuple[str, str], Share]

MOST_PROFILES = 5_000  # of groups and sources, of which each takes 31 kB

if TYPE_CHECKING:
    from replnet.engines.log import Keep


@final
@dataclass(frozen=True)
class Task:
    """What all replications of a run have in common, whichever engine makes them."""

    plan: Plan
    seed: int
    horizon: float
    sampled: bool = True
    questions: Mapping[str, Question] = field(default_factory=dict)  # by metric, what is asked besides freshness
    names: Mapping[str, tuple[int, int]] | None = None  # the groups and parts that are asked about; None: the groups
    keep: Callable[[int], Keep] | None = None  # takes the log of a replication

    @property
    def rows(self) -> Mapping[str, tuple[int, int]]:
        return self.plan.own_rows if self.names is None else self.names

    @property
    def dated(self) -> bool:
        """Whether it matters when copies left their sources, and not only until when they are fresh."""
        topology = self.plan.topology
        return self.sampled and bool(self.questions or self.keep or topology.together or topology.fresh_start)


@final
@dataclass(frozen=True)
class Path:
    """What one path of a network yields, whichever engine made it."""

    shares: Shares  # by (group or part, metric); freshness among them
    counts: tuple[int, int, int, int]  # updates, downloads, polls, queries in [0, horizon)
    depth: float = 0.0  # how far back the start was looked up
    unproven: int = 0  # copies at time zero that may differ from the stationary ones
    undated: dict[str, float] = field(default_factory=dict)  # by group or part, the share whose age nobody knows
    profiles: dict[tuple[str, str], Floats] = field(default_factory=dict)  # of quantiles, C at the edges of a grid
    copies: Floats | None = None  # what every node holds at the end, a row per source, in networks of few


def joined(parts: Sequence[Path]) -> Path:
    """What parts of a network yield together."""
    keys = parts[0].shares
    amounts = {key: np.sum([path.shares[key] for path in parts], axis=0).tolist() for key in keys}
    undated = {name for path in parts for name in path.undated}
    return Path(
        shares={key: (amount, whole) for key, (amount, whole) in amounts.items()},
        counts=tuple(np.sum([path.counts for path in parts], axis=0).tolist()),
        depth=max(path.depth for path in parts),
        profiles={key: np.sum([path.profiles[key] for path in parts], axis=0) for key in parts[0].profiles},
        unproven=sum(path.unproven for path in parts),
        undated={name: sum(path.undated.get(name, 0.0) for path in parts) / len(parts) for name in undated},
    )


@final
@dataclass(eq=False)
class Sums:
    """What is added up, by cell (Plan.cells); what counts for nothing is in one past all of them."""

    fresh: Floats  # time
    absent: Floats
    good: Floats  # answers
    brought: Ints  # answers that brought a copy, where some do not
    ended: Ints
    whole: Floats  # time, or answers, that could be looked into,
    undated: Floats  # and that could not
    costs: dict[str, Floats]  # by metric
    wholes: dict[str, Floats]  # and of what they are shares
    profiles: dict[str, Floats]  # by metric, n and s by cell and place on a grid (measure/profile.py)

    @classmethod
    def zero(cls, cells: int, questions: Mapping[str, Question]) -> Sums:
        fresh, absent, good, whole, undated = np.zeros((5, cells + 1))
        brought, ended = np.zeros((2, cells + 1), np.int64)
        costs, wholes = ({name: np.zeros(cells + 1) for name in questions} for _ in range(2))
        spread = [name for name, question in questions.items() if question.level is not None]
        if spread and cells > MOST_PROFILES:
            raise ValueError(f"measure: {spread[0]} is for {MOST_PROFILES:,} groups and sources at most, not {cells:,}")
        profiles = {name: np.zeros((2, (cells + 1) * PLACES)) for name in spread}
        return cls(fresh, absent, good, brought, ended, whole, undated, costs, wholes, profiles)

    def plus(self, other: Sums) -> Sums:
        added: dict[str, Any] = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)[:-3]}
        for name in ("costs", "wholes", "profiles"):
            own, more = getattr(self, name), getattr(other, name)
            added[name] = {metric: cost + more[metric] for metric, cost in own.items()}
        return Sums(**added)


def shares(
    plan: Plan,
    sums: Sums,
    horizon: float,
    names: Mapping[str, tuple[int, int]],
    questions: Mapping[str, Question],
    mine: slice = slice(-1),
    degraded: bool = False,
) -> Shares:
    """What sums amount to, by the names of groups and parts; `mine` are the cells of one path.

    Only answers that bring a copy count where pulls may come to nothing, or where hosts were lost.
    """
    copies = np.bincount(plan.cells[1], plan.copies, len(plan.groups)) > 0
    strict = plan.strict or degraded
    asking = set(plan.group[plan.clients].tolist()) if strict else set()
    held = horizon * plan.copies
    there, answers, found = held - sums.absent[mine], (sums.brought if strict else sums.ended)[mine], Shares()
    for name, (g, row) in names.items():
        weight = cell_weights(plan, g, row)
        part, whole = (sums.fresh[mine], there) if copies[g] else (sums.good[mine], answers)
        found[name, "freshness"] = float((weight * part).sum()), float((weight * whole).sum())
        if copies[g] and row < 0 and (plan.faults.crashes or degraded):
            found[name, "availability"] = float((weight * there).sum()), float((weight * held).sum())
        if g in asking and row < 0:
            found[name, "answered"] = float((weight * answers).sum()), float((weight * sums.ended[mine]).sum())
        counts = weight > 0  # what does not count may cost without end
        for metric, question in questions.items() if plan.hears[g] and name not in plan.shown else ():
            if not (copies[g] or question.of_answers):
                continue
            of = (sums.costs[metric][mine], sums.wholes[metric][mine], plan.copies.astype(float))
            cost, over, all_of_them = (float(weight[counts] @ one[counts]) for one in of)
            ways = {"rest": (over - cost, over), "copies": (cost, all_of_them)}
            found[name, metric] = ways.get(question.over, (cost, over))
    return found


def cell_weights(plan: Plan, g: int, row: int) -> Floats:
    """What cells count for a group, or for a group and a source."""
    rows, groups = plan.cells
    return np.asarray(plan.weight * (groups == g) * ((rows == row) | (row < 0)))


def download_rates(plan: Plan, clocks: Ints, spent: Ints, horizon: float) -> Shares:
    """Of sources that have rows of their own, from how many instants each clock had."""
    if not plan.shown:
        return {}
    known, row = plan.fetching
    count = np.zeros(plan.clocks.rate.size)
    count[clocks] = spent
    return rates(plan, np.bincount(row, count[known], plan.sources.size).astype(float), horizon)


def rates(plan: Plan, downloads: Floats, horizon: float) -> Shares:
    """The same from how many downloads every source had."""
    return {(name, "download_rate"): (float(downloads[row]), horizon) for name, (_, row) in plan.shown.items()}

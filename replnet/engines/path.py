"""A path is what happened in one replication: the task that all replications share, the sums over one, its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, final

import numpy as np

from replnet.engines.plan import Plan
from replnet.laws import Floats, Ints
from replnet.measure import PLACES, Question
from replnet.text import FieldError

Share = tuple[float, float]
"""An amount, and the whole of which it is a share."""
Shares = dict[tuple[str, str], Share]
"""Shares by (row of the table, metric)."""

MOST_PROFILES = 5_000  # cells with a profile of ages, which takes 31 kB each

if TYPE_CHECKING:
    from replnet.engines.log import Keep


@final
@dataclass(frozen=True)
class Task:
    """The network, seed, horizon and questions that all replications of a run share, whichever engine runs them.

    `horizon` is the length of a replication in units of time. With `sampled`, a copy is fresh until the first update
    drawn after its departure; without, it counts with the probability that it is fresh, given its departure.
    `questions` are those besides freshness, by metric. `names` has the rows of the table, (group's number, source's
    row) by name; None stands for Plan.default_rows. `keep`, if given, returns the function that takes the log of a
    replication, by its number.
    """

    plan: Plan
    seed: int
    horizon: float
    sampled: bool = True
    questions: Mapping[str, Question] = field(default_factory=dict)  # by metric, besides freshness
    names: Mapping[str, tuple[int, int]] | None = None  # the rows of the table; None: Plan.default_rows
    keep: Callable[[int], Keep] | None = None  # returns the function that takes the log of a replication

    @property
    def rows(self) -> Mapping[str, tuple[int, int]]:
        """The rows of the table: (group's number, source's row) by name, where -1 stands for all sources."""
        return self.plan.default_rows if self.names is None else self.names

    @property
    def needs_departures(self) -> bool:
        """Whether an engine must know when copies left their sources, and not only until when they are fresh."""
        topology = self.plan.topology
        return self.sampled and bool(self.questions or self.keep or topology.any_and_all or topology.fresh_start)


@final
@dataclass(frozen=True)
class Path:
    """The results of one replication, whichever engine ran it.

    `shares` has the metrics, freshness among them, as (amount, whole) by (row of the table, metric). `counts` are the
    updates, downloads, polls and queries in [0, horizon). `depth` is how far before time zero the path begins, and
    `unproven` the number of copies at time zero that may differ from the stationary ones. `unknown_shares` has, by row
    of the table, the share of copies whose age is unknown, and `profiles` the cumulative curves of ages for quantiles
    (measure/profile.py). `copies` are the departures of what every node holds at the end, or when these copies go
    stale, a row per source and a column per node; None in large networks and after joins.
    """

    shares: Shares  # freshness among them
    counts: tuple[int, int, int, int]  # updates, downloads, polls, queries in [0, horizon)
    depth: float = 0.0  # how far before time zero the path begins
    unproven: int = 0  # copies at time zero that may differ from the stationary ones
    unknown_shares: dict[str, float] = field(default_factory=dict)  # by row, the share of copies of unknown age
    profiles: dict[tuple[str, str], Floats] = field(default_factory=dict)  # by row and metric (measure/profile.py)
    copies: Floats | None = None  # what every node holds at the end, a row per source; None in large networks


def join_parts(parts: Sequence[Path]) -> Path:
    """Return the path of a network from the paths of its parts, which exchange nothing.

    Amounts, wholes, counts and profiles add up, the depth is the largest, and shares of unknown age are averaged over
    all parts, 0 where a part has none. It has no final copies.
    """
    keys = parts[0].shares
    amounts = {key: np.sum([path.shares[key] for path in parts], axis=0).tolist() for key in keys}
    names_with_unknown = {name for path in parts for name in path.unknown_shares}
    return Path(
        shares={key: (amount, whole) for key, (amount, whole) in amounts.items()},
        counts=tuple(np.sum([path.counts for path in parts], axis=0).tolist()),
        depth=max(path.depth for path in parts),
        profiles={key: np.sum([path.profiles[key] for path in parts], axis=0) for key in parts[0].profiles},
        unproven=sum(path.unproven for path in parts),
        unknown_shares={
            name: sum(path.unknown_shares.get(name, 0.0) for path in parts) / len(parts) for name in names_with_unknown
        },
    )


@final
@dataclass(eq=False)
class Sums:
    """The sums over a path, by cell: a source and a group (Plan.cells). A last one takes what counts for no cell.

    Arrays have an entry per cell. `fresh` and `absent` are the times with a fresh copy and without a copy, and
    `fresh_answers`, `answered_queries` (those that brought a copy of any source) and `queries` (all that have come to
    their end) are numbers. `known_age` and `unknown_age` are times, or numbers of answers, of copies whose age is known
    or not. By metric, `costs` has what it adds up, `wholes` what these are shares of, and `profiles` the number and the
    sum of ages by cell and place on a grid (measure/profile.py).
    """

    fresh: Floats  # time with a fresh copy
    absent: Floats  # time without a copy
    fresh_answers: Floats
    answered_queries: Ints  # those that brought a copy of any source
    queries: Ints  # all that have come to their end
    known_age: Floats  # time, or answers, of copies whose age is known
    unknown_age: Floats  # time, or answers, of copies whose age is not known
    costs: dict[str, Floats]  # what each metric adds up, by metric
    wholes: dict[str, Floats]  # what the costs are shares of, by metric
    profiles: dict[str, Floats]  # by metric, n and s by cell and place on a grid (measure/profile.py)

    @classmethod
    def zero(cls, cells: int, questions: Mapping[str, Question]) -> Sums:
        """Return sums that are all zero, for so many cells, and for these questions by metric.

        Raises FieldError if a question asks for a quantile and there are more than MOST_PROFILES cells.
        """
        fresh, absent, fresh_answers, known_age, unknown_age = np.zeros((5, cells + 1))
        answered_queries, queries = np.zeros((2, cells + 1), np.int64)
        costs, wholes = ({name: np.zeros(cells + 1) for name in questions} for _ in range(2))
        spread = [name for name, question in questions.items() if question.level is not None]
        if spread and cells > MOST_PROFILES:
            wrong = f"{spread[0]} takes an array for each of {cells:,} groups and sources"
            raise FieldError("measure", wrong, f"at most {MOST_PROFILES:,} of them")
        profiles = {name: np.zeros((2, (cells + 1) * PLACES)) for name in spread}
        return cls(
            fresh, absent, fresh_answers, answered_queries, queries, known_age, unknown_age, costs, wholes, profiles
        )

    def plus(self, other: Sums) -> Sums:
        """Return these sums plus those of another path, or of other nodes, as new sums; both stay as they are."""
        added: dict[str, Any] = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)[:-3]}
        for name in ("costs", "wholes", "profiles"):
            mine_by_metric, others_by_metric = getattr(self, name), getattr(other, name)
            added[name] = {metric: cost + others_by_metric[metric] for metric, cost in mine_by_metric.items()}
        return Sums(**added)


def compute_shares(
    plan: Plan,
    sums: Sums,
    horizon: float,
    names: Mapping[str, tuple[int, int]],
    questions: Mapping[str, Question],
    cells: slice = slice(-1),
    degraded: bool = False,
) -> Shares:
    """Return the metrics that the sums over a path amount to, as (amount, whole) by (row of the table, metric).

    These are freshness, availability where nodes can crash or hosts were lost, answered where queries can fail, and
    those of `questions`, by metric. `names` has, by row of the table, a group's number and a source's row, -1 for all
    sources. `cells` are the cells of one path among those of several, and `degraded` says that hosts of a live run were
    lost. A query is answered if it brings a copy of any source; if no pull can fail and no host was lost, every query
    is. An answer without a copy of a source, and a copy that no source reaches, are stale, and cost what an infinitely
    old copy would, unless that is infinite.
    """
    copies = np.bincount(plan.cells[1], plan.copies, len(plan.groups)) > 0
    may_fail = plan.pulls_may_fail or degraded
    asking_groups = set(plan.group[plan.clients].tolist()) if may_fail else set()
    time_of_copies = horizon * plan.copies
    time_with_copy, shares = time_of_copies - sums.absent[cells], Shares()
    answers = (sums.answered_queries if may_fail else sums.queries)[cells]
    for name, (g, row) in names.items():
        weight = cell_weights(plan, g, row)
        amount, whole = (sums.fresh[cells], time_with_copy) if copies[g] else (sums.fresh_answers[cells], answers)
        shares[name, "freshness"] = float((weight * amount).sum()), float((weight * whole).sum())
        if copies[g] and row < 0 and (plan.faults.crashes or degraded):
            shares[name, "availability"] = (
                float((weight * time_with_copy).sum()),
                float((weight * time_of_copies).sum()),
            )
        if g in asking_groups and row < 0:
            shares[name, "answered"] = float((weight * answers).sum()), float((weight * sums.queries[cells]).sum())
        has_weight = weight > 0  # cells without weight may have infinite costs
        for metric, question in questions.items() if name not in plan.shown_parts else ():
            if not (copies[g] or question.of_answers):
                continue
            cost_without_copy, whole_without_copy = question.without_copy
            unreached = plan.copies_without_source * (horizon if question.at is None else 1.0)
            costs, wholes = sums.costs[metric][cells] + cost_without_copy * unreached, sums.wholes[metric][cells]
            columns = (costs, wholes + whole_without_copy * unreached, plan.copies)
            cost, whole_amount, all_copies = (float(weight[has_weight] @ column[has_weight]) for column in columns)
            by_whole = {"rest": (whole_amount - cost, whole_amount), "copies": (cost, all_copies)}
            shares[name, metric] = by_whole.get(question.over, (cost, whole_amount))
    return shares


def cell_weights(plan: Plan, g: int, row: int) -> Floats:
    """Return the weight of every cell in the table's row for group `g` and the source in `row`, or all sources if -1.

    Cells of other groups or sources have weight 0.
    """
    rows, groups = plan.cells
    return np.asarray(plan.weight * (groups == g) * ((rows == row) | (row < 0)))


def download_rates_from_wakes(plan: Plan, clocks: Ints, spent: Ints, horizon: float) -> Shares:
    """Return the download rates of sources that have a row of their own, as (downloads, horizon).

    Keys are (row of the table, `download_rate`). `spent` counts the wakes in [0, horizon) of each of the clocks with
    the numbers `clocks`.
    """
    if not plan.shown_parts:
        return {}
    download_clocks, row = plan.download_clocks
    count = np.zeros(plan.clocks.rate.size)
    count[clocks] = spent
    return rates_of_downloads(plan, np.bincount(row, count[download_clocks], plan.sources.size).astype(float), horizon)


def rates_of_downloads(plan: Plan, downloads: Floats, horizon: float) -> Shares:
    """Return the download rates of sources that have a row of their own, as (downloads, horizon).

    Keys are (row of the table, `download_rate`). `downloads` has the number of downloads in [0, horizon) by the row of
    the source.
    """
    return {(name, "download_rate"): (float(downloads[row]), horizon) for name, (_, row) in plan.shown_parts.items()}

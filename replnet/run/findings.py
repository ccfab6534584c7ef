"""The results of a network's paths beside what the formulas say: estimates, verdicts and rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import numpy as np

from replnet.ages import Prediction
from replnet.engines import Path, Plan, settling_times
from replnet.laws import Floats, Ints
from replnet.measure import (
    NO_PREDICTION,
    ROUNDING,
    Comparison,
    Estimate,
    Metric,
    Row,
    judge_rows,
    pseudo_values,
    ratio,
    share_note,
)
from replnet.run.caveats import infinite_variance_note, metric_variance_note, phase_lock_note, upstream_processes

LARGEST_COUNT_DEVIATION = 0.5  # of a count that is one of two neighbouring numbers, even if all paths show the same one

Key = tuple[str, str]
"""Group and metric."""


@final
@dataclass(frozen=True)
class Findings:
    """The rows of a result: the estimates from `paths`, judged beside the predictions in `formulas`.

    Freshness is `sampled` if it is measured against the updates that happened, and `resolution` is the widest
    half-width of an interval that can agree. By group, `unjudged` says why it has no interval and no verdict, `notes`
    go beside freshness, and `dependence_notes` beside freshness and `metrics`, whose formulas assume independent ages.
    By (group, metric), `against` replaces the formula as what a row is judged by. `metrics` are those measured on
    request, besides the ones that every path has.
    """

    plan: Plan
    formulas: dict[Key, Prediction]
    paths: Sequence[Path]
    sampled: bool
    resolution: float
    unjudged: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    metrics: Sequence[Metric] = ()
    dependence_notes: dict[str, str] = field(default_factory=dict)
    against: dict[Key, Comparison] = field(default_factory=dict)

    @cached_property
    def keys(self) -> list[Key]:
        """The (group, metric) pairs that were measured, group by group in the order of the table."""
        keys_by_group: dict[str, list[Key]] = {name: [] for name in self.plan.rows}
        for key in self.paths[0].shares:
            keys_by_group.setdefault(key[0], []).append(key)
        return [key for keys in keys_by_group.values() for key in keys]

    @cached_property
    def estimates(self) -> list[Estimate]:
        """The measured values with their intervals, in the order of `keys`."""
        return [self._estimate(*key) for key in self.keys]

    @property
    def precision_estimates(self) -> list[Estimate]:
        """The estimates of freshness, of all rows, whose half-widths a `precision` bounds."""
        return [e for (_, metric), e in zip(self.keys, self.estimates, strict=True) if metric == "freshness"]

    @cached_property
    def _unjudged_rows(self) -> list[Row]:
        """The measured rows beside their predictions, before they have verdicts."""
        return [self._row(key, estimate) for key, estimate in zip(self.keys, self.estimates, strict=True)]

    @cached_property
    def measured(self) -> list[Row]:
        """The measured rows with their verdicts, judged together."""
        return judge_rows(self._unjudged_rows, self.resolution)

    def _estimate(self, group: str, metric: str) -> Estimate:
        """Return the mean of a group's metric over replications, with its interval, or a doubt why it has none.

        The value is infinite if it is so in any replication.
        """
        amounts, wholes = self.amounts(group, metric)
        formula = self.formulas.get((group, metric))
        if not (np.isfinite(amounts).all() and np.isfinite(wholes).all()):
            why = formula.note if formula and formula.kind else "infinite: sources that change are never downloaded"
            return Estimate(math.inf, math.nan, len(self.paths), doubt=why)
        upstream = self._upstream.get(group, np.empty(0, np.int64))
        variance_doubt = infinite_variance_note(self.plan, *self.plan.rows.get(group, (-1, -1)), upstream, self.sampled)
        doubt = self.unjudged.get(group) or variance_doubt or self._metric_doubt(group, metric)
        estimate = ratio(amounts, wholes, doubt=doubt or self._rarity_doubt(metric, formula, amounts, wholes))
        if metric == "download_rate" and formula is not None and formula.value:
            least_error = LARGEST_COUNT_DEVIATION / float(wholes.mean()) / math.sqrt(wholes.size)
            return replace(estimate, error=max(estimate.error, least_error))
        return estimate

    def _rarity_doubt(self, metric: str, formula: Prediction | None, amounts: Floats, wholes: Floats) -> str:
        """Return why any_fresh or all_fresh has no interval, empty if it has: too few replications saw it vary.

        It is empty for any other `metric`, and if the `formula` says that the value is 0 or 1. `amounts` and `wholes`
        have, for each replication, the time for which it held and all the time.
        """
        if metric not in ("any_fresh", "all_fresh") or (formula is not None and formula.value in (0.0, 1.0)):
            return ""
        seen = int((np.minimum(amounts, wholes - amounts) > ROUNDING * wholes).sum())
        return (
            f"no interval: too rare, seen in {seen} of {amounts.size} replications" if 2 * seen < amounts.size else ""
        )

    @property
    def draws(self) -> dict[Key, tuple[Floats, Floats]]:
        """The measurements by (group, metric): two arrays, amounts and wholes, with an element per replication.

        An amount is a part of its whole, such as fresh time of copy time; of a quantile it is a pseudo-value.
        """
        return {key: self.amounts(*key) for key in self.keys}

    def amounts(self, group: str, metric: str) -> tuple[Floats, Floats]:
        """Return two arrays with an element per replication: an amount, and the whole of which it is a part.

        Such are the fresh time and the time with a copy. Of a quantile the amounts are pseudo-values, whose mean is the
        quantile over all replications, and each whole is 1.
        """
        shares = np.array([path.shares[group, metric] for path in self.paths])
        amounts, wholes = shares.T
        level = next((requested.question.level for requested in self.metrics if requested.name == metric), None)
        if level is None or not wholes.any():
            return amounts, wholes
        curves = np.array([path.profiles[group, metric] for path in self.paths])
        return pseudo_values(curves, wholes, level), np.ones(wholes.size)

    def _metric_doubt(self, group: str, metric: str) -> str:
        """Return why a metric that is measured on request has no interval in this group, empty if it has one.

        It is empty for metrics that every run measures.
        """
        requested = next((requested for requested in self.metrics if requested.name == metric), None)
        if requested is None:
            return ""
        if unknown_share := max(path.unknown_shares.get(group, 0.0) for path in self.paths):
            return (
                f"no interval: for up to {unknown_share:.2g} of a replication the age of copies is unknown, "
                "which is left out"
            )
        return metric_variance_note(self.plan, *self.plan.rows[group], self._upstream[group], requested)

    def _share_note(self, group: str, metric: str) -> str:
        """Return a note on the share of answers, or of copies, that the mean is over; empty if it leaves out none."""
        question = next((requested.question for requested in self.metrics if requested.name == metric), None)
        if question is None or not question.over_copies_alone or question.at is not None:
            return ""
        fresh, every = (column.sum() for column in self.amounts(group, "freshness"))
        whole = self.amounts(group, metric)[1].sum()
        copies = whole + fresh if question.over == "stale" else whole
        undated = any(path.unknown_shares.get(group) for path in self.paths)
        if undated or not copies or copies > (1 - ROUNDING) * every:
            return ""
        g, _ = self.plan.rows[group]
        return share_note(copies / every, bool(self.plan.clients[self.plan.group == g].any()))

    @cached_property
    def _upstream(self) -> dict[str, Ints]:
        """The numbers of the processes on which each row of the table that was measured depends, by its name."""
        names = {name for name, _ in self.keys}
        return {
            name: upstream_processes(self.plan, g, row) for name, (g, row) in self.plan.rows.items() if name in names
        }

    def rows(self, measured: bool = True) -> list[Row]:
        """Return the measured rows with their verdicts, then those that are only predicted.

        Without `measured` the first keep their predictions and notes, but have no measured values and no verdicts.
        """
        rows = (
            self.measured
            if measured
            else [replace(row, estimate=_without_value(row), against=None) for row in self._unjudged_rows]
        )
        keys = {(row.group, row.metric) for row in rows}
        return rows + [Row.of(key, prediction) for key, prediction in self.formulas.items() if key not in keys]

    def _row(self, key: Key, estimate: Estimate) -> Row:
        """Return the row of a (group, metric) with its estimate, prediction and notes, but without a verdict.

        Its `against` has no prediction, so that it will not be judged, if the group is unjudged or its queues
        unsettled.
        """
        (group, metric), prediction = key, self.formulas.get(key, NO_PREDICTION)
        unsettled = self._unsettled_note(group, metric)
        notes = [estimate.doubt, unsettled, "" if prediction.known else self._share_note(group, metric)]
        if metric == "freshness":
            notes += [self.notes.get(group, ""), "" if unsettled else self._unproven_note]
        if metric == "freshness" or any(requested.name == metric for requested in self.metrics):
            notes += [
                phase_lock_note(self.plan, self._upstream[group], self.sampled, len(self.paths)),
                self.dependence_notes.get(group, ""),
            ]
        words = "; ".join(dict.fromkeys(note for note in [*notes, prediction.note] if note))
        against = Comparison(estimate, None) if group in self.unjudged or unsettled else self.against.get(key)
        return Row(group, metric, prediction, estimate, words, against=against)

    def _unsettled_note(self, group: str, metric: str) -> str:
        """Return a note that a value is not compared, as queues may still show how they began; empty if it is compared.

        They may if the replayed past of a path is shorter than the time in which the queues of the group, and of the
        nodes whose copies it gets, settle.
        """
        plan = self.plan
        if plan.bandwidth is None or not any(path.unproven for path in self.paths):
            return ""
        g, _ = plan.rows.get(group, (-1, -1))
        members = plan.members(g)[plan.members(g) < plan.size] if g >= 0 else np.array([plan.names.index(group)])
        to_clients = metric == "service_rate" or bool(plan.clients[members].any())
        upstream = self._upstream.get(group, np.empty(0, np.int64))
        nodes = members if metric == "service_rate" else np.union1d(members, plan.processes.node[upstream])
        needed = float(settling_times(plan, to_clients)[nodes].max(initial=0.0))
        depth = min(path.depth for path in self.paths)
        if needed <= depth:
            return ""
        return (
            f"not compared: queues take about {needed:.3g} units of time to forget how they began, "
            f"and the replayed past goes back only {depth:.3g}"
        )

    @property
    def _unproven_note(self) -> str:
        """A note on replications whose start is not proven stationary, empty if there are none."""
        doubtful = [path for path in self.paths if path.unproven]
        if not doubtful:
            return ""
        most, depth = max(path.unproven for path in doubtful), doubtful[0].depth
        return (
            f"start not proven stationary in {len(doubtful)} replications "
            f"(up to {most} copies or queues, back to t = -{depth:.3g})"
        )


def _without_value(row: Row) -> Estimate:
    """Return an estimate of NaN from as many replications as the row's estimate, to hide what was measured."""
    assert row.estimate
    return Estimate(math.nan, math.nan, row.estimate.replications)

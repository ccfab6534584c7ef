"""What paths of a network amount to, beside what the formulas say: estimates, verdicts and rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import final

import numpy as np

from replnet.ages.prediction import Prediction
from replnet.engines.lines import settling
from replnet.engines.path import Path
from replnet.engines.plan import Plan
from replnet.laws.law import Floats, Ints
from replnet.measure.estimate import Estimate, ratio
from replnet.measure.metrics import Metric
from replnet.measure.profile import pseudo_values
from replnet.measure.row import NOTHING, Row, judged
from replnet.measure.verdict import ROUNDING, Comparison
from replnet.study.caveats import behind, heavy, locked, pull_laws

WHOLE = 0.5  # deviation of a count that is one of two neighbouring numbers, at most: paths may all show the same one

Key = tuple[str, str]
"""Group and metric."""


@final
@dataclass(frozen=True)
class Findings:
    """By group, `spoilt` says why it cannot be judged, `said` is what else is to be noted of its freshness, and
    `depends` of all that rests on ages that are independent. `against` has what is to be judged where no
    formula is.

    `asked` are the metrics that paths have besides those that they always do.
    """

    plan: Plan
    formulas: dict[Key, Prediction]
    paths: Sequence[Path]
    sampled: bool
    resolution: float
    spoilt: dict[str, str] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)
    asked: Sequence[Metric] = ()
    depends: dict[str, str] = field(default_factory=dict)
    against: dict[Key, Comparison] = field(default_factory=dict)

    @cached_property
    def keys(self) -> list[Key]:
        """Of all that is measured, group by group."""
        found: dict[str, list[Key]] = {name: [] for name in self.plan.rows}
        for key in self.paths[0].shares:
            found.setdefault(key[0], []).append(key)
        return [key for keys in found.values() for key in keys]

    @cached_property
    def estimates(self) -> list[Estimate]:
        """In the order of `keys`."""
        return [self._estimate(*key) for key in self.keys]

    @property
    def sought(self) -> list[Estimate]:
        """Of freshness, which a precision is about."""
        return [e for (_, metric), e in zip(self.keys, self.estimates, strict=True) if metric == "freshness"]

    @cached_property
    def _raw(self) -> list[Row]:
        return [self._row(*both) for both in zip(self.keys, self.estimates, strict=True)]

    @cached_property
    def measured(self) -> list[Row]:
        """All that is measured, judged together."""
        return judged(self._raw, self.resolution)

    def _estimate(self, group: str, metric: str) -> Estimate:
        amounts, wholes = self.amounts(group, metric)
        formula = self.formulas.get((group, metric))
        if not (np.isfinite(amounts).all() and np.isfinite(wholes).all()):
            why = formula.note if formula and formula.kind else "infinite: sources that change are never downloaded"
            return Estimate(math.inf, math.nan, len(self.paths), doubt=why)
        behind = self._behind.get(group, np.empty(0, np.int64))
        doubt = self.spoilt.get(group) or heavy(self.plan, behind, self.sampled) or self._doubt(group, metric)
        estimate = ratio(amounts, wholes, doubt=doubt or self._rare(metric, formula, amounts, wholes))
        if metric == "download_rate" and formula is not None and formula.value:
            least = WHOLE / float(wholes.mean()) / math.sqrt(wholes.size)
            return replace(estimate, error=max(estimate.error, least))
        return estimate

    def _rare(self, metric: str, formula: Prediction | None, amounts: Floats, wholes: Floats) -> str:
        """Why the spread of what hardly ever happens says little of its mean."""
        if metric not in ("any_fresh", "all_fresh") or (formula is not None and formula.value in (0.0, 1.0)):
            return ""
        seen = int((np.minimum(amounts, wholes - amounts) > ROUNDING * wholes).sum())
        return (
            f"no interval: too rare, seen in {seen} of {amounts.size} replications" if 2 * seen < amounts.size else ""
        )

    @property
    def draws(self) -> dict[Key, tuple[Floats, Floats]]:
        """By what is measured, an amount and the whole of which it is a share, of every replication."""
        return {key: self.amounts(*key) for key in self.keys}

    def amounts(self, group: str, metric: str) -> tuple[Floats, Floats]:
        """By replication, an amount and the whole of which it is a share."""
        shares = np.array([path.shares[group, metric] for path in self.paths])
        amounts, wholes = shares.T
        level = next((one.question.level for one in self.asked if one.name == metric), None)
        if level is None or not wholes.any():
            return amounts, wholes
        curves = np.array([path.profiles[group, metric] for path in self.paths])
        return pseudo_values(curves, wholes, level), np.ones(wholes.size)

    def _doubt(self, group: str, metric: str) -> str:
        """What there is against an interval of one of the metrics that were asked for."""
        asked = next((one for one in self.asked if one.name == metric), None)
        if asked is None:
            return ""
        if lost := max(path.undated.get(group, 0.0) for path in self.paths):
            return (
                f"no interval: of up to {lost:.2g} of a replication nobody knows how old copies were, so it is left out"
            )
        return asked.doubt(pull_laws(self.plan, self._behind[group]))

    @cached_property
    def _behind(self) -> dict[str, Ints]:
        shown = {name for name, _ in self.keys}
        return {name: behind(self.plan, g, row) for name, (g, row) in self.plan.rows.items() if name in shown}

    def rows(self, measured: bool = True) -> list[Row]:
        """All that is measured, unless that is not to be shown, and then what is only predicted."""
        rows = self.measured if measured else [replace(row, estimate=_nothing(row), against=None) for row in self._raw]
        there = {(row.group, row.metric) for row in rows}
        return rows + [Row.of(key, prediction) for key, prediction in self.formulas.items() if key not in there]

    def _row(self, key: Key, estimate: Estimate) -> Row:
        (group, metric), prediction = key, self.formulas.get(key, NOTHING)
        unsettled = self._unsettled(group, metric)
        notes = [estimate.doubt, unsettled]
        if metric == "freshness":
            notes += [self.said.get(group, ""), "" if unsettled else self._unproven]
        if metric == "freshness" or any(one.name == metric for one in self.asked):
            notes += [
                locked(self.plan, self._behind[group], self.sampled, len(self.paths)),
                self.depends.get(group, ""),
            ]
        words = "; ".join(dict.fromkeys(note for note in [*notes, prediction.note] if note))
        against = Comparison(estimate, None) if group in self.spoilt or unsettled else self.against.get(key)
        return Row(group, metric, prediction, estimate, words, against=against)

    def _unsettled(self, group: str, metric: str) -> str:
        """Why there is nothing to compare: lines behind it may still show how they began (lines.py, 3)."""
        plan = self.plan
        if plan.bandwidth is None or not any(path.unproven for path in self.paths):
            return ""
        g, _ = plan.rows.get(group, (-1, -1))
        members = plan.members(g)[plan.members(g) < plan.size] if g >= 0 else np.array([plan.names.index(group)])
        to_clients = metric == "service_rate" or bool(plan.clients[members].any())
        behind = self._behind.get(group, np.empty(0, np.int64))
        nodes = members if metric == "service_rate" else np.union1d(members, plan.processes.node[behind])
        needed = float(settling(plan, to_clients)[nodes].max(initial=0.0))
        depth = min(path.depth for path in self.paths)
        if needed <= depth:
            return ""
        return f"not compared: lines forget how they began in about {needed:.3g}, and the past goes back {depth:.3g}"

    @property
    def _unproven(self) -> str:
        doubtful = [path for path in self.paths if path.unproven]
        if not doubtful:
            return ""
        most, depth = max(path.unproven for path in doubtful), doubtful[0].depth
        return (
            f"start not proven in {len(doubtful)} replications (up to {most} copies or lines, back to t = -{depth:.3g})"
        )


def _nothing(row: Row) -> Estimate:
    """In the place of what is not to be shown."""
    assert row.estimate
    return Estimate(math.nan, math.nan, row.estimate.replications)

"""What paths of an aggregate amount to, beside what the formulas say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from replnet.ages.prediction import Prediction
from replnet.measure.estimate import Estimate, ratio
from replnet.measure.metrics import Metric
from replnet.measure.row import NOTHING, Row, judged
from replnet.network.sources import Floats
from replnet.study.aggregates.paths import Path
from replnet.study.aggregates.system import System
from replnet.study.caveats import coarse, commensurable
from replnet.study.findings import Key

WHOLE = 0.5  # deviation of a count that is one of two neighbouring numbers, at most: paths may all show the same one
MOST_PAIRS = 10  # sources whose two processes are looked at for a common lattice


@final
@dataclass(frozen=True)
class Found:
    """Estimates, verdicts and rows."""

    system: System
    formulas: dict[Key, Prediction]
    asked: Sequence[Metric]
    paths: Sequence[Path]
    resolution: float

    @property
    def keys(self) -> list[Key]:
        return list(self.paths[0].shares)

    @cached_property
    def estimates(self) -> list[Estimate]:
        """In the order of `keys`."""
        return [self._estimate(key) for key in self.keys]

    @cached_property
    def measured(self) -> list[Row]:
        return judged([self._row(*both) for both in zip(self.keys, self.estimates, strict=True)], self.resolution)

    @property
    def sought(self) -> list[Estimate]:
        """Of the mean freshness, which a precision is about."""
        means = {(view.name, "freshness") for view in self.system.views}
        return [e for key, e in zip(self.keys, self.estimates, strict=True) if key in means]

    def _estimate(self, key: Key) -> Estimate:
        shares = np.array([one.shares[key] for one in self.paths])
        formula = self.formulas.get(key)
        if not np.isfinite(shares).all():
            why = formula.note if formula and formula.kind else "infinite: sources that change are never downloaded"
            return Estimate(math.inf, math.nan, len(self.paths), doubt=why)
        amounts, wholes = shares.T
        estimate = ratio(amounts, wholes, doubt=self._doubt(key) or self._rare(key, amounts, wholes))
        if key[1] == "download_rate" and formula is not None and formula.value:
            return replace(estimate, error=max(estimate.error, WHOLE / float(wholes.mean()) / math.sqrt(wholes.size)))
        return estimate

    def _rare(self, key: Key, amounts: Floats, wholes: Floats) -> str:
        """Why the spread of what hardly ever happens says little of its mean."""
        seen, formula = int(((amounts > 0) & (amounts < wholes)).sum()), self.formulas.get(key)
        sure = formula is not None and formula.value in (0.0, 1.0)
        if key[1] not in ("any_fresh", "all_fresh") or sure or 2 * seen >= len(self.paths):
            return ""
        return f"no interval: too rare, seen in {seen} of {len(self.paths)} replications"

    def _doubt(self, key: Key) -> str:
        """Why an interval could not be trusted, or nothing."""
        heavy = [str(law) for law in dict.fromkeys(self.system.laws()) if math.isinf(law.second_moment)]
        if heavy:
            return f"no interval: infinite variance of {', '.join(heavy)}"
        metric = next((one for one in self.asked if one.name == key[1]), None)
        if metric is None:
            return ""
        if lost := max(one.undated.get(key[0], 0.0) for one in self.paths):
            return f"no interval: nobody looked how far {lost:.2g} of the copies were behind, so they are left out"
        return metric.doubt([self.system.downloads] if self.system.spec.order == "independent" else [])

    @property
    def _locked(self) -> str:
        """A note where a source's changes and downloads keep their phases."""
        of, often, spec = self.system.sources, self.system.frequencies, self.system.spec
        over = f"averaged over {len(self.paths)} random ones"
        if spec.replicas > 1 and spec.share == "independently" and coarse(self.system.downloads):
            return f"phase-lock: downloads by different replicas keep their phases; {over}"
        if not (self.system.apart and coarse(self.system.downloads)):
            return ""
        for i in range(min(of.size, MOST_PAIRS)):
            shape = of.shapes[of.which[i]]
            if coarse(shape) and of.rates[i] > 0 and often[i] > 0:
                span, other = shape.span, self.system.downloads.span
                assert span is not None
                assert other is not None
                own, drawn = span * shape.rate / of.rates[i], other * self.system.downloads.rate / often[i]
                if commensurable(float(own), float(drawn)):
                    return f"phase-lock: changes and downloads keep their phases; {over}"
        return ""

    def rows(self) -> list[Row]:
        """All that is measured, then what is only predicted."""
        return self.measured + [Row.of(key, f) for key, f in self.formulas.items() if key not in set(self.keys)]

    def _row(self, key: Key, estimate: Estimate) -> Row:
        prediction = self.formulas.get(key, NOTHING)
        notes = [estimate.doubt, self._locked if key[1] == "freshness" else "", prediction.note]
        return Row(*key, prediction, estimate, "; ".join(dict.fromkeys(note for note in notes if note)))

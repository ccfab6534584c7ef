"""One (group, metric): what was measured, what was predicted, and what to make of it; from the engine to the table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, final

from replnet.ages.prediction import Prediction
from replnet.measure.estimate import Estimate
from replnet.measure.verdict import ROUNDING, Comparison, verdicts
from replnet.text.plugins import load_plugins

AT = " at "  # before the time at which alone a metric is looked at
TIME = "time"  # what a figure has these over

METRICS = {
    "freshness": "share of time (copies) or of answers (clients)",
    "any_fresh": "share of time in which at least one of the sources is fresh",
    "all_fresh": "share of time in which all sources are fresh",
    "download_rate": "downloads of a source per unit of time",
    "availability": "share of time with a copy",
    "answered": "share of queries that brought a copy",
    "service_rate": "queries per unit of time that the group can serve",
    "queueing_delay": "units of time",
    "rejected": "share of messages turned away for lack of bandwidth",
}
"""What there may be rows of, with the unit."""

ON_REQUEST = {
    "staleness": "share of time (copies) or of answers (clients) that miss an update",
    "staleness_age": "units of time since the first missed update, 0 while fresh (Sync 2.1)",
    "change_age": "units of time since the last update, 0 while fresh (Sync 2.1 read by the last change)",
    "information_age": "units of time since the data left the source, fresh or not",
    "missing_updates": "updates that happened since the data left the source",
    "lag": "units of time since the first missed update, over stale time only",
    "currency": "share of time or of answers that is fresh, or stale by less than the lag in brackets",
    "source_penalty": "weight of the time since the first missed update, 0 while fresh",
    "update_penalty": "sum of the weights of the ages of all missed updates",
    "older": "share of time or of answers whose data left the source longer ago than the time in brackets",
    "staleness_quantile": "units of time since the first missed update that a share of time or of answers stays within",
    "age_quantile": "units of time since the data left the source that a share of time or of answers stays within",
    "fresh_spell": "units of time for which a copy stays fresh, once it is",
    "stale_spell": "units of time for which a copy stays stale, once it is",
    "fresh_spell_beyond": "share of the spells in which a copy is fresh that last longer than the time in brackets",
    "fresh_residual": "share of the fresh time after which a copy stays fresh for longer than the time in brackets",
}
"""And of what else where it is asked for (metrics.py), some with an argument in brackets."""

# Judged as they are; others relative to their size.
SHARES = {
    "freshness", "any_fresh", "all_fresh", "availability", "answered", "rejected", "staleness", "currency", "older",
    "fresh_spell_beyond", "fresh_residual",
}  # fmt: skip

PLUGINS = "replnet.metrics"  # the group of entry points of other packages' metrics


@cache
def broken_metrics() -> dict[str, str]:
    """By name, why a metric of another package could not be made known, which all other packages' are."""
    return load_plugins(PLUGINS, ON_REQUEST, "staleness_metric")


def on_request() -> dict[str, str]:
    """ON_REQUEST with the metrics of other packages."""
    broken_metrics()
    return ON_REQUEST


def bare(metric: str) -> str:
    """The name without what stands in brackets, and without the time after AT."""
    return metric.partition(AT)[0].partition("(")[0].strip()


def is_share(metric: str) -> bool:
    name = bare(metric)
    # A metric of another package says what it is as that is loaded.
    return name in SHARES or (name not in METRICS and name in on_request() and name in SHARES)


DIGITS = 4  # of what a single replication adds
NOTHING = Prediction(math.nan)
PREDICTED = ("group", "metric", "predicted", "kind", "source", "accuracy", "note")
COMPARED = (
    "group", "metric", "measured", "ci_low", "ci_high", "predicted", "z", "verdict", "kind", "source", "accuracy",
    "note",
)  # fmt: skip


@final
@dataclass(frozen=True)
class Row:
    """`estimate` is None where nothing was measured, and `prediction` says so itself where nothing is predicted.

    A row is judged by the two, or by `against` in their place.
    """

    group: str
    metric: str
    prediction: Prediction = NOTHING
    estimate: Estimate | None = None
    note: str = ""
    verdict: str = ""
    against: Comparison | None = field(default=None, repr=False)

    @classmethod
    def of(cls, key: tuple[str, str], prediction: Prediction) -> Row:
        """What is only predicted."""
        return cls(*key, prediction, note=prediction.note)

    @property
    def measured(self) -> float | None:
        return _finite(self.estimate.value) if self.estimate else None

    @property
    def ci_low(self) -> float | None:
        return _finite(self.estimate.low) if self.estimate else None

    @property
    def ci_high(self) -> float | None:
        return _finite(self.estimate.high) if self.estimate else None

    @property
    def predicted(self) -> float | None:
        return _finite(self.prediction.value)

    @property
    def kind(self) -> str:
        """Of the prediction: exact, limit or approximation."""
        return str(self.prediction.kind)

    @property
    def source(self) -> str:
        """The equation that the prediction comes from."""
        return self.prediction.source

    @property
    def accuracy(self) -> float | None:
        """Of a limit or an approximation: how far off it may be."""
        return _finite(self.prediction.accuracy) or None

    @property
    def z(self) -> float | None:
        """Standard errors between measured and predicted, where there is more error than rounding."""
        judged = self.comparison
        return _finite(judged.z) if judged and judged.z is not None and judged.estimate.error > ROUNDING else None

    @property
    def comparison(self) -> Comparison | None:
        """What the verdict is about; None where nothing was measured."""
        if self.against or self.estimate is None:
            return self.against
        scale = 1.0 if is_share(self.metric) else self.estimate.value
        return Comparison(self.estimate, self.predicted, self.accuracy or 0.0, scale)

    def data(self, columns: Sequence[str] = COMPARED) -> dict[str, Any]:
        return {name: getattr(self, name) for name in columns}

    def record(self) -> dict[str, Any]:
        """All that it takes to judge the row again, together with those of others, as plain data."""
        estimate = self.estimate
        numbers = ("measured", "error", "skew", "ci_low", "ci_high", "deviations")
        found: dict[str, Any] = {"measured": self.measured, "ci_low": self.ci_low, "ci_high": self.ci_high}
        if estimate:
            found |= {"error": _finite(estimate.error), "skew": _finite(estimate.skew)}
            found |= {"deviations": [float(f"{one:.{DIGITS}g}") for one in estimate.deviations]}
        return {
            "group": self.group,
            "metric": self.metric,
            **{name: found.get(name) for name in numbers},
            "replications": (estimate.replications or None) if estimate else None,
            "doubt": estimate.doubt if estimate else "",
            **self.data(("predicted", "kind", "source", "accuracy", "note")),
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Row:
        def number(name: str) -> float:
            return math.nan if record[name] is None else float(record[name])

        prediction = Prediction(
            number("predicted"), record["kind"], record["source"], accuracy=record["accuracy"] or 0.0
        )
        estimate, count, skew = None, record["replications"], record.get("skew") or 0.0
        if count is not None or record["measured"] is not None:
            deviations = record.get("deviations") or ()
            estimate = Estimate(
                number("measured"), number("error"), count or 0, doubt=record["doubt"], skew=skew, deviations=deviations
            )
        return cls(record["group"], record["metric"], prediction, estimate, record["note"])


def judged(rows: Sequence[Row], resolution: float) -> list[Row]:
    """The rows with their verdicts, all judged together."""
    compared = [row.comparison for row in rows]
    words = iter(verdicts([one for one in compared if one], resolution))
    return [replace(row, verdict=next(words)) if one else row for row, one in zip(rows, compared, strict=True)]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

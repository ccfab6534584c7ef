"""A row of a table, for one group and metric: the measured value, the predicted one, and the verdict on them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, final

from replnet.ages import Prediction
from replnet.measure.estimate import Estimate
from replnet.measure.verdict import ROUNDING, Comparison, verdicts
from replnet.text import load_plugins

AT = " at "  # in the name of a metric, before the only instant at which it is measured
TIME = "time"  # the axis of figures over these instants

METRICS = {
    "freshness": "share of time (copies) or of answers (clients)",
    "any_fresh": "share of time in which at least one of the sources is fresh",
    "all_fresh": "share of time in which all sources are fresh",
    "download_rate": "downloads of a source per unit of time",
    "availability": "share of time with a copy",
    "answered": "share of queries that brought a copy of any source",
    "service_rate": "queries per unit of time that the group can serve",
    "queueing_delay": "units of time",
    "rejected": "share of messages turned away for lack of bandwidth",
}
"""Metrics that are measured in any case, where they have a meaning, with their units."""

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
    "stale_spell_beyond": "share of the spells in which a copy is stale that last longer than the time in brackets",
    "fresh_residual": "share of the fresh time after which a copy stays fresh for longer than the time in brackets",
}
"""Metrics that are measured on request (metrics.py), with their units; some take an argument in brackets."""

# Metrics whose intervals and errors are judged as they are; those of others relative to the value.
SHARES = {
    "freshness", "any_fresh", "all_fresh", "availability", "answered", "rejected", "staleness", "currency", "older",
    "fresh_spell_beyond", "stale_spell_beyond", "fresh_residual",
}  # fmt: skip

PLUGINS = "replnet.metrics"  # the group of entry points of other packages' metrics


@cache
def broken_metrics() -> dict[str, str]:
    """Load the metrics of all other packages, once; return why some could not be loaded, by entry point's name.

    Those that could are added to ON_REQUEST.
    """
    return load_plugins(PLUGINS, ON_REQUEST, "staleness_metric")


def metrics_on_request() -> dict[str, str]:
    """Return the metrics that are measured on request, those of other packages among them: name to unit, in words.

    The first call loads those of other packages.
    """
    broken_metrics()
    return ON_REQUEST


def base_name(metric: str) -> str:
    """Return the name of a metric without its argument in brackets, and without AT and the time after it."""
    return metric.partition(AT)[0].partition("(")[0].strip()


def is_share(metric: str) -> bool:
    """Whether a metric, by its name, is a share between 0 and 1; a name that no metric has is none."""
    name = base_name(metric)
    # Whether a metric of another package is a share is known only once that is loaded.
    return name in SHARES or (name not in METRICS and name in metrics_on_request() and name in SHARES)


def share_note(share: float, of_answers: bool) -> str:
    """Return a note that a mean is over a `share`, of 0 to 1, of the answers if `of_answers`, else of the copies."""
    noun = "answers that bring a copy" if of_answers else "copies that anything reaches"
    return f"over the {100 * share:.3g} % of {noun}"


WIDEST = 0.5  # half-width of a useful prediction, as a share of its value
WIDEST_SHARE, NARROW_SHARE = 0.05, 0.005  # half-widths of shares: too wide above the first, never below the second


def drop_if_rough(metric: str, prediction: Prediction) -> Prediction:
    """Return the prediction, or if its bounds are too wide to be useful one without a value, with a note of the bounds.

    `metric` is the name of what is predicted. The bounds are the value plus and minus the accuracy. They are too wide
    if the accuracy is above WIDEST times the value; for a share also if it is above WIDEST_SHARE, but never if it is at
    most NARROW_SHARE.
    """
    value, share, widest = prediction.value, is_share(metric), WIDEST * abs(prediction.value)
    widest = max(min(widest, WIDEST_SHARE), NARROW_SHARE) if share else max(widest, ROUNDING)
    if not prediction.known or prediction.accuracy <= widest:
        return prediction
    low, high = max(value - prediction.accuracy, 0.0), value + prediction.accuracy
    bounds = f"between {low:.3g} and {min(high, 1.0) if share else high:.3g}"
    return Prediction(math.nan, note=f"no prediction: {metric} is only known to lie {bounds}")


DEVIATION_DIGITS = 4  # significant digits of the deviation of a replication, in records
NO_PREDICTION = Prediction(math.nan)
PREDICTED: tuple[str, ...] = ("group", "metric", "predicted", "kind", "source", "accuracy", "note")
COMPARED: tuple[str, ...] = (
    "group", "metric", "measured", "ci_low", "ci_high", "predicted", "z", "verdict", "kind", "source", "accuracy",
    "note",
)  # fmt: skip


@final
@dataclass(frozen=True)
class Row:
    """A row of a table, for a group and a metric, both by name: the measured value beside the predicted one.

    `estimate` is None if nothing was measured, and `prediction` has no value if nothing is predicted. `verdict` is
    agree, differ or unresolved, or empty if the row has not been judged; it compares the two, or, if it is given, the
    two values of `against`. `note` says in words what else is to be known.
    """

    group: str
    metric: str
    prediction: Prediction = NO_PREDICTION
    estimate: Estimate | None = None
    note: str = ""
    verdict: str = ""
    against: Comparison | None = field(default=None, repr=False)

    @classmethod
    def of(cls, key: tuple[str, str], prediction: Prediction) -> Row:
        """Return the row of a (group, metric) that is only predicted, with the note of its prediction."""
        return cls(*key, prediction, note=prediction.note)

    @property
    def measured(self) -> float | None:
        """The measured value, in the unit of the metric; None if there is none or it is infinite."""
        return _finite(self.estimate.value) if self.estimate else None

    @property
    def ci_low(self) -> float | None:
        """The lower end of the interval around the measured value; None if it has none."""
        return _finite(self.estimate.low) if self.estimate else None

    @property
    def ci_high(self) -> float | None:
        """The upper end of the interval around the measured value; None if it has none."""
        return _finite(self.estimate.high) if self.estimate else None

    @property
    def predicted(self) -> float | None:
        """The predicted value, in the unit of the metric; None if there is none or it is infinite."""
        return _finite(self.prediction.value)

    @property
    def kind(self) -> str:
        """The kind of the prediction, in a word: exact, limit or approximation; empty without a prediction."""
        return str(self.prediction.kind)

    @property
    def source(self) -> str:
        """The paper and equation that the prediction comes from, as a text; empty without a prediction."""
        return self.prediction.source

    @property
    def accuracy(self) -> float | None:
        """The largest error that a limit or an approximation may have, in units of the value.

        It is None if the prediction is exact, has no value, or states no such bound.
        """
        return _finite(self.prediction.accuracy) or None

    @property
    def z(self) -> float | None:
        """The number of standard errors between measured and predicted, above 0 if more was measured.

        It is None if one of the two is missing, or if the error is mere rounding.
        """
        comparison = self.comparison
        if comparison is None or comparison.z is None or not comparison.estimate.error > ROUNDING:
            return None
        return _finite(comparison.z)

    @property
    def comparison(self) -> Comparison | None:
        """The pair of values that the verdict is about: `against` if it is given, else measured and predicted.

        It is None if nothing was measured.
        """
        if self.against or self.estimate is None:
            return self.against
        scale = None if is_share(self.metric) else self.estimate.value
        return Comparison(self.estimate, self.predicted, self.accuracy or 0.0, scale)

    def data(self, columns: Sequence[str] = COMPARED) -> dict[str, Any]:
        """Return the values of these columns, which are names of properties of a row, as plain data by column."""
        return {name: getattr(self, name) for name in columns}

    def record(self) -> dict[str, Any]:
        """Return, as plain data by name, all of a row but its verdict and `against`, so that it can be judged again.

        Numbers that are infinite, NaN or missing are None, and deviations are rounded to DEVIATION_DIGITS.
        """
        estimate = self.estimate
        names = ("measured", "error", "skew", "ci_low", "ci_high", "deviations")
        numbers: dict[str, Any] = {"measured": self.measured, "ci_low": self.ci_low, "ci_high": self.ci_high}
        if estimate:
            numbers |= {"error": _finite(estimate.error), "skew": _finite(estimate.skew)}
            deviations = [float(f"{deviation:.{DEVIATION_DIGITS}g}") for deviation in estimate.deviations]
            numbers |= {"deviations": deviations}
        return {
            "group": self.group,
            "metric": self.metric,
            **{name: numbers.get(name) for name in names},
            "replications": (estimate.replications or None) if estimate else None,
            "doubt": estimate.doubt if estimate else "",
            **self.data(("predicted", "kind", "source", "accuracy", "note")),
        }

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Row:
        """Return the row that `record` made the record of, without a verdict and without `against`."""

        def number(name: str) -> float:
            """Return a number of the record, NaN for None."""
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


def judge_rows(rows: Sequence[Row], resolution: float) -> list[Row]:
    """Return the rows with their verdicts, judged together; rows without a measured value stay as they are.

    A verdict is agree, differ or unresolved, or empty without a prediction. An interval whose half-width is above
    `resolution` (of metrics other than shares, `resolution` times the value) cannot agree.
    """
    comparisons = [row.comparison for row in rows]
    words = iter(verdicts([comparison for comparison in comparisons if comparison], resolution))
    return [
        replace(row, verdict=next(words)) if comparison else row
        for row, comparison in zip(rows, comparisons, strict=True)
    ]


def _finite(value: float) -> float | None:
    """Return the value, or None if it is infinite or NaN."""
    return value if math.isfinite(value) else None

"""What a prediction or an emulation returns: rows, and where they come from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from html import escape
from typing import Any, final

from replnet.measure.estimate import Estimate
from replnet.measure.verdict import Cell, overall, visible


@final
@dataclass(frozen=True)
class Row:
    """One (group, metric): what was measured, what was predicted, and what to make of it."""

    group: str
    metric: str
    measured: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    predicted: float | None = None
    z: float | None = None
    verdict: str = ""
    kind: str = ""  # of the prediction: exact, limit or approximation
    source: str = ""  # the equation it comes from
    accuracy: float | None = None  # of a limit or an approximation: how far off it may be
    note: str = ""

    def __post_init__(self) -> None:
        for name in ("measured", "ci_low", "ci_high", "predicted", "z", "accuracy"):
            value = getattr(self, name)
            if value is not None and not math.isfinite(value):
                object.__setattr__(self, name, None)


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
}
"""And of what else where it is asked for (metrics.py); the last three have an argument in brackets."""

PREDICTED = ("group", "metric", "predicted", "kind", "source", "accuracy", "note")
COMPARED = tuple(f.name for f in fields(Row))


@dataclass(frozen=True)
class Result:
    """Rows in the order of the network's groups."""

    network: Mapping[str, Any]
    rows: tuple[Row, ...]
    provenance: Mapping[str, Any]
    columns: Sequence[str] = PREDICTED

    @cached_property
    def table(self) -> Any:
        """The rows as a DataFrame; what does not exist is NaN or empty."""
        import pandas as pd

        frame = pd.DataFrame([asdict(row) for row in self.rows], columns=list(self.columns))
        numbers = [c for c in ("measured", "ci_low", "ci_high", "predicted", "z", "accuracy") if c in frame]
        frame[numbers] = frame[numbers].astype(float)
        frame.attrs["units"] = METRICS | ON_REQUEST
        return frame

    def about(self, metric: str, group: str | None = None) -> list[Row]:
        """The rows of a metric: of `group`, or of all groups, and of many sources together rather than one by one."""
        rows = [row for row in self.rows if row.metric == metric and group in (None, row.group)]
        if group is None and self.network["kind"] == "aggregate":
            return [row for row in rows if not row.group.startswith("source ")] or rows
        return rows

    def data(self) -> dict[str, Any]:
        """One object of plain data, as `--format json` prints it."""
        rows = [{c: getattr(row, c) for c in self.columns} for row in self.rows]
        return {"network": self.network, **self._about(), "rows": rows, "provenance": dict(self.provenance)}

    def _about(self) -> dict[str, Any]:
        return {}

    def to_json(self) -> str:
        return json.dumps(self.data(), indent=2, allow_nan=False, default=str)

    def _repr_html_(self) -> str:
        title = escape(str(self.network.get("name") or self.network.get("kind")))
        return (
            f"<p><b>{title}</b>{self._caption()}</p>{self.table.to_html(index=False, float_format='%.5g', na_rep='')}"
        )

    def _caption(self) -> str:
        return ""


@final
@dataclass(frozen=True)
class Predicted(Result):
    """What the formulas say."""


@final
@dataclass(frozen=True)
class Emulated(Result):
    """What happened, beside what the formulas say."""

    columns: Sequence[str] = COMPARED
    engine: str = "array"
    estimator: str = "sampled"
    seed: int = 0
    horizon: float = 0.0  # all replications together
    replications: int = 0
    events: int = 0  # updates, downloads and polls
    queries: int = 0
    seconds: float = 0.0
    incomplete: str = ""  # why it ended early, if it did
    estimates: tuple[Estimate, ...] = ()  # behind the rows that were measured, which come first

    @property
    def verdict(self) -> str:
        """`agree`, `differ` or `unresolved` over all rows."""
        return overall([row.verdict for row in self.rows])

    @cached_property
    def visible(self) -> dict[tuple[str, str], float]:
        """By group and metric, the least error that nine such runs of ten would show, as a share of the prediction."""
        measured = list(zip(self.rows, self.estimates, strict=False))
        errors = visible([Cell(estimate, row.predicted, row.accuracy or 0.0) for row, estimate in measured])
        return {
            (row.group, row.metric): error / abs(row.predicted)
            for (row, _), error in zip(measured, errors, strict=True)
            if row.predicted and row.verdict and not math.isnan(error)
        }

    def _about(self) -> dict[str, Any]:
        names = ("engine", "estimator", "seed", "horizon", "replications", "events", "queries", "seconds", "incomplete")
        return {name: getattr(self, name) for name in names} | {"verdict": self.verdict}

    def _caption(self) -> str:
        return escape(
            f" · {self.engine}, {self.estimator}, {self.events:,} events in {self.seconds:.2f} s · {self.verdict}"
        )

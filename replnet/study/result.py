"""What a prediction or an emulation returns: rows, and where they come from: version, commit, seed, machine."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from html import escape
from importlib import import_module, metadata
from os import PathLike
from pathlib import Path
from typing import Any, final

from replnet.deadline import LATE
from replnet.measure.estimate import Estimate
from replnet.measure.row import COMPARED, METRICS, PREDICTED, Row, on_request
from replnet.measure.verdict import overall, visible
from replnet.text.units import named
from replnet.version import __version__

LIBRARIES = ("numpy", "numba", "scipy", "networkx")


def provenance(network: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    text = json.dumps(network, sort_keys=True, default=str)
    return {
        "replnet": __version__,
        "commit": commit(),
        "specification": hashlib.sha256(text.encode()).hexdigest()[:16],
        "python": sys.version.split()[0],
        "machine": f"{platform.system()} {platform.machine()}",
        "instructions": instructions(),
        "libraries": dict(_libraries()),
        **more,
    }


@cache
def instructions() -> str:
    """The sets of instructions of this CPU that NumPy computes with.

    With others the logarithms and powers in a sampled interval may round otherwise, and so the last digits of
    all that follows from it; with the same ones, and the same libraries, every bit is the same.
    """
    import numpy as np

    config: Any = np.show_config(mode="dicts")  # type: ignore[call-overload, unused-ignore]
    sets = config.get("SIMD Extensions", {})
    return " ".join(name for kind in ("baseline", "found") for name in sets.get(kind, ()))


@cache
def _libraries() -> tuple[tuple[str, str], ...]:
    """Looked up once: that takes longer than a small cell."""
    return tuple((name, metadata.version(name)) for name in LIBRARIES)


def commit() -> str | None:
    """The commit of the checkout that this runs from; None where it is installed or there is no git."""
    git = Path(__file__).parents[2] / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        loose = git / head[5:]
        if loose.exists():
            return loose.read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
        return next((line.split()[0] for line in packed if line.endswith(" " + head[5:])), None)
    except OSError:
        return None


class Tabled:
    """What has a table, which may be written."""

    table: Any

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """The table as a file."""
        self.table.to_parquet(path, index=False)


def pictured(what: Tabled, how: str, *more: Any) -> Any:
    """By the report, which stands above this part and is looked up only when somebody wants to see something."""
    return getattr(import_module("replnet.report"), how)(what, *more)


@dataclass(frozen=True)
class Result(Tabled):
    """Rows in the order of the network's groups."""

    network: Mapping[str, Any]
    rows: tuple[Row, ...]
    provenance: Mapping[str, Any]
    columns: Sequence[str] = PREDICTED

    def plot(self, metric: str | None = None) -> Any:
        """A matplotlib Figure of one metric, the first if none is named."""
        return pictured(self, "plot", metric)

    @property
    def unit(self) -> str | None:
        """What its times are counted in, if the network says that."""
        return self.network.get("unit")

    @cached_property
    def table(self) -> Any:
        """The rows as a DataFrame; what does not exist is NaN or empty."""
        import pandas as pd

        frame = pd.DataFrame([row.data(self.columns) for row in self.rows], columns=list(self.columns))
        numbers = [c for c in ("measured", "ci_low", "ci_high", "predicted", "z", "accuracy") if c in frame]
        frame[numbers] = frame[numbers].astype(float)
        frame.attrs["units"] = {metric: named(words, self.unit) for metric, words in (METRICS | on_request()).items()}
        return frame

    def about(self, metric: str, group: str | None = None) -> list[Row]:
        """The rows of a metric: of `group`, or of all groups, and of many sources together rather than one by one."""
        rows = [row for row in self.rows if row.metric == metric and group in (None, row.group)]
        if group is None and self.network["kind"] == "aggregate":
            return [row for row in rows if not row.group.startswith("source ")] or rows
        return rows

    def data(self) -> dict[str, Any]:
        """One object of plain data, as `--format json` prints it."""
        rows = [row.data(self.columns) for row in self.rows]
        return {"network": self.network, **self._about(), "rows": rows, "provenance": dict(self.provenance)}

    def _about(self) -> dict[str, Any]:
        return {}

    def to_json(self) -> str:
        return json.dumps(self.data(), indent=2, allow_nan=False, default=str)

    @property
    def title(self) -> str:
        return str(self.network.get("name") or self.network.get("kind"))

    @property
    def verdict(self) -> str:
        """`agree`, `differ` or `unresolved` over all rows; empty where nothing was measured."""
        return overall([row.verdict for row in self.rows])

    def _repr_html_(self) -> str:
        title = escape(self.title)
        return (
            f"<p><b>{title}</b>{self._caption()}</p>{self.table.to_html(index=False, float_format='%.5g', na_rep='')}"
        )

    def _caption(self) -> str:
        return ""

    def __str__(self) -> str:
        shown = self.table.to_string(index=False, float_format="%.5g", na_rep="")
        return f"{shown}\n{self._caption().removeprefix(' · ')}".rstrip()


@final
@dataclass(frozen=True)
class Predicted(Result):
    """What the formulas say."""

    @property
    def incomplete(self) -> str:
        """Why something that has a formula is not there, if that is so."""
        return LATE if any(row.note.endswith(LATE) for row in self.rows) else ""


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
    # By group and metric, an amount and the whole of which it is a share, of every replication.
    draws: Mapping[tuple[str, str], tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def samples(self) -> Any:
        """What every replication measured, as a DataFrame: a column for each group and metric."""
        return samples(self.draws)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """Behind the rows that were measured, which come first."""
        return tuple(row.estimate for row in self.rows if row.estimate)

    @cached_property
    def visible(self) -> dict[tuple[str, str], float]:
        """By group and metric, the least error that nine such runs of ten would show, as a share of the prediction."""
        measured = [row for row in self.rows if row.estimate]
        errors = visible([one for row in measured if (one := replace(row, against=None).comparison)])
        return {
            (row.group, row.metric): error / abs(row.predicted)
            for row, error in zip(measured, errors, strict=True)
            if row.predicted and row.verdict and not math.isnan(error)
        }

    def _about(self) -> dict[str, Any]:
        names = ("engine", "estimator", "seed", "horizon", "replications", "events", "queries", "seconds", "incomplete")
        return {name: getattr(self, name) for name in names} | {"verdict": self.verdict}

    def _caption(self) -> str:
        return escape(
            f" · {self.engine}, {self.estimator}, {self.events:,} events in {self.seconds:.2f} s · {self.verdict}"
        )


def samples(draws: Mapping[tuple[str, str], tuple[Any, Any]]) -> Any:
    """What every replication measured, as a DataFrame: a column for each group and metric."""
    import pandas as pd

    shares = {key: amounts / wholes for key, (amounts, wholes) in draws.items()}
    frame = pd.DataFrame(shares)
    frame.columns = pd.MultiIndex.from_tuples(shares, names=("group", "metric")) if shares else frame.columns
    frame.index.name = "replication"
    return frame

"""The results of predictions and emulations: rows, and where they come from: version, commit, seed, machine."""

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
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import replnet
from replnet.deadline import OUT_OF_TIME
from replnet.measure import (
    COMPARED,
    METRICS,
    PREDICTED,
    Estimate,
    Row,
    metrics_on_request,
    visible_errors,
    worst_verdict,
)
from replnet.text import name_units
from replnet.version import __version__

if TYPE_CHECKING:
    import pandas as pd

MOST_ROWS_SHOWN, LONGEST_CELL = 20, 50  # of the table of a result at a prompt: rows, and letters in a cell
MOST_ROWS_IN_NOTEBOOK = 200
LIBRARIES = ("numpy", "numba", "scipy", "networkx")


def provenance(network: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return where a result comes from: version, commit, hash of the specification, machine, libraries, and `more`.

    The result is plain data by name. `network` is the specification as plain data; `more` are further fields.
    """
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
    """Return the names of the instruction sets of this CPU that NumPy computes with, divided by blanks.

    With others, logarithms and powers in a sampled interval may round differently, and so may the last digits of all
    that follows from it; with the same ones, and the same libraries, every bit is the same.
    """
    import numpy as np

    config: Any = np.show_config(mode="dicts")  # type: ignore[call-overload, unused-ignore]
    sets = config.get("SIMD Extensions", {})
    return " ".join(name for kind in ("baseline", "found") for name in sets.get(kind, ()))


@cache
def _libraries() -> tuple[tuple[str, str], ...]:
    """Return pairs (name, version) of the libraries that compute, looked up once, as that takes a while."""
    return tuple((name, metadata.version(name)) for name in LIBRARIES)


def commit() -> str | None:
    """Return the hash of the git commit of the checkout that this runs from; None if it is installed or has no git."""
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


class TabularResult:
    """A result whose `table` is a pandas DataFrame, which it shows when it is printed, and which a file can keep.

    In a notebook or at a prompt the table is cut to a screen, printed it is whole.
    """

    table: Any

    def __str__(self) -> str:
        return self._text(None)

    def __repr__(self) -> str:
        return self._text(MOST_ROWS_SHOWN)

    def _repr_html_(self) -> str:
        """Return the table as HTML, for notebooks."""
        html = self.table.to_html(index=False, float_format="%.5g", na_rep="", max_rows=MOST_ROWS_IN_NOTEBOOK)
        above, below = (text and f"<p>{escape(text)}</p>" for text in (self._headline(), self._words()))
        return f"{above}{html}{below}"

    def _headline(self) -> str:
        """Return the answer in words, which stands above the table; empty if that is the table itself."""
        return ""

    def _words(self) -> str:
        """Return what there is to say below the table, in words; empty if nothing."""
        return ""

    def _text(self, rows: int | None) -> str:
        """Return the table as text, cut to so many `rows` and to short cells unless that is None, between its words."""
        longest = None if rows is None else LONGEST_CELL
        cut = {"max_rows": rows, "min_rows": rows, "max_colwidth": longest}
        table = self.table.to_string(index=False, float_format="%.5g", na_rep="", **cut)
        return "\n".join(filter(None, (self._headline(), table, self._words())))

    def to_parquet(self, path: str | PathLike[str]) -> None:
        """Write the table to a Parquet file, over one that is there, without its index."""
        self.table.to_parquet(path, index=False)


@dataclass(frozen=True, repr=False)
class Result(TabularResult):
    """The rows of a network, in the order of its groups, with the network as plain data and where they come from.

    `provenance` is the latter, as plain data by name. `columns` are the names of the columns of its table.
    """

    network: Mapping[str, Any]
    rows: tuple[Row, ...]
    provenance: Mapping[str, Any]
    columns: Sequence[str] = PREDICTED

    def plot(self, metric: str | None = None) -> Any:
        """Return a matplotlib Figure of the rows of one metric, by name; of the first metric if none is named."""
        return replnet.show.plot(self, metric)

    @property
    def unit(self) -> str | None:
        """The unit of its times, such as "s", or None if the network names none."""
        return self.network.get("unit")

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows as a DataFrame with the columns `columns`; values that a row does not have are NaN or empty.

        Its `attrs["units"]` has the unit of every metric, in words.
        """
        import pandas as pd

        frame = pd.DataFrame([row.data(self.columns) for row in self.rows], columns=list(self.columns))
        numbers = [c for c in ("measured", "ci_low", "ci_high", "predicted", "z", "accuracy") if c in frame]
        frame[numbers] = frame[numbers].astype(float)
        frame.attrs["units"] = {
            metric: name_units(words, self.unit) for metric, words in (METRICS | metrics_on_request()).items()
        }
        return frame

    def about(self, metric: str, group: str | None = None) -> list[Row]:
        """Return the rows of a metric, by name: of `group`, or of all groups; empty if there are none.

        Of an aggregate without a group these are the rows of all sources together, if it has any.
        """
        rows = [row for row in self.rows if row.metric == metric and group in (None, row.group)]
        if group is None and self.network["kind"] == "aggregate":
            return [row for row in rows if not row.group.startswith("source ")] or rows
        return rows

    def data(self) -> dict[str, Any]:
        """Return the result as plain data, as `--format json` prints it: its network, rows, provenance and more."""
        rows = [row.data(self.columns) for row in self.rows]
        return {"network": self.network, **self._about(), "rows": rows, "provenance": dict(self.provenance)}

    def _about(self) -> dict[str, Any]:
        """Return the fields of `data` that results of this kind have besides."""
        return {}

    def to_json(self) -> str:
        """Return `data` as a text of JSON."""
        return json.dumps(self.data(), indent=2, allow_nan=False, default=str)

    @property
    def title(self) -> str:
        """The name of the network, or its kind, such as cascade, if it has none."""
        return str(self.network.get("name") or self.network.get("kind"))

    @property
    def verdict(self) -> str:
        """The worst verdict of all rows: `differ`, then `unresolved`, then `agree`; empty if no row has one."""
        return worst_verdict([row.verdict for row in self.rows])

    def _repr_html_(self) -> str:
        """Return the title and the table as HTML, for notebooks."""
        return f"<p><b>{escape(self.title)}</b></p>{super()._repr_html_()}"


@final
@dataclass(frozen=True, repr=False)
class Predicted(Result):
    """The predictions of the formulas for a network: rows without measured values."""

    @property
    def incomplete(self) -> str:
        """The reason why rows that have a formula have no value (time was over), empty if there are none."""
        return OUT_OF_TIME if any(row.note.endswith(OUT_OF_TIME) for row in self.rows) else ""


@final
@dataclass(frozen=True, repr=False)
class Emulated(Result):
    """The measurements of a run, beside the predictions of the formulas.

    `horizon` is the units of time of all replications together, `events` the number of updates, downloads and polls in
    them, `queries` that of queries, and `seconds` the wall-clock time of the run. `incomplete` says why it ended early,
    empty if it did not. `draws` has, by (group, metric), two arrays with an element per replication: amounts, and the
    wholes of which they are shares.
    """

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
    # By group and metric, the amounts of all replications, and the wholes of which they are shares.
    draws: Mapping[tuple[str, str], tuple[Any, Any]] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def samples(self) -> Any:
        """The measurements of every replication, as a DataFrame: a row for each, a column for each group and metric."""
        return samples_frame(self.draws)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """The estimates of the measured rows, which are the first ones."""
        return tuple(row.estimate for row in self.rows if row.estimate)

    @cached_property
    def visible(self) -> dict[tuple[str, str], float]:
        """The smallest errors of predictions that nine such runs of ten would show, by (group, metric).

        An error is a share of the predicted value. Only rows with a verdict and a prediction other than 0 have one.
        """
        measured = [row for row in self.rows if row.estimate]
        errors = visible_errors(
            [comparison for row in measured if (comparison := replace(row, against=None).comparison)]
        )
        return {
            (row.group, row.metric): error / abs(row.predicted)
            for row, error in zip(measured, errors, strict=True)
            if row.predicted and row.verdict and not math.isnan(error)
        }

    def _about(self) -> dict[str, Any]:
        """Return the fields of `data` that a run has besides, by name: how it was made, its counts and its verdict."""
        names = ("engine", "estimator", "seed", "horizon", "replications", "events", "queries", "seconds", "incomplete")
        return {name: getattr(self, name) for name in names} | {"verdict": self.verdict}

    def _words(self) -> str:
        """Return a line with the engine, the estimator, the number of events, the seconds it took, and the verdict."""
        return f"{self.engine}, {self.estimator}, {self.events:,} events in {self.seconds:.2f} s · {self.verdict}"


def samples_frame(draws: Mapping[tuple[str, str], tuple[Any, Any]]) -> Any:
    """Return the measurements of every replication as a DataFrame: a row for each, a column for each (group, metric).

    `draws` has, by group and metric, two arrays: the amounts of all replications, and the wholes of which they are
    shares.
    """
    import pandas as pd

    shares = {key: amounts / wholes for key, (amounts, wholes) in draws.items()}
    frame = pd.DataFrame(shares)
    frame.columns = pd.MultiIndex.from_tuples(shares, names=("group", "metric")) if shares else frame.columns
    frame.index.name = "replication"
    return frame

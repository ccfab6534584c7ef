"""A source and its replicas as they were seen from outside: how fresh each was, and clients who ask several.

A record has a row per visit, with its time, the node that was visited and the version that this had, such as a serial,
a checksum or a date; or a row per change, without versions, where a replica that changes takes what the source has.
Versions are numbers that grow, or any texts, ordered as nodes had them. With s(t) the version of the source and
c(t) that of a replica, both counted,

    staleness        share of time with c < s
    staleness_age    mean time since version c + 1 came to the source, where c < s                     (1)
    missing_updates  mean of s - c

Visits see a change some time after it was. `measured` takes every node to have what it was last seen with; the
truth lies between `least`, where the source changed as late as can be and replicas as early as can be, and `most`,
where it was the other way round. `predicted` is what the waits of the updates say by themselves if pulls come
regardless of updates (audit.py), and of clients who ask k of m replicas what independent replicas would give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from replnet.histories.audit import BATCHES, by_waits, doubt_of, estimates
from replnet.histories.fitting import tail_index
from replnet.histories.history import DATED
from replnet.histories.trace_import import numbers
from replnet.laws import Empirical
from replnet.laws.law import Floats
from replnet.laws.trace import TIME_COLUMNS
from replnet.measure.estimate import Estimate
from replnet.text.errors import FieldError, suggestion

NODES, VERSIONS, SOURCE = ("node", "name", "host", "server", "replica"), ("version", "serial", "etag", "hash"), "source"
ASKED = (2, 3)  # replicas, by clients
COLUMNS = ("group", "metric", "measured", "ci_low", "ci_high", "least", "most", "predicted", "note")

Ranks = NDArray[np.int64]
Steps = tuple[Floats, Ranks]  # instants, and the version from each of them on
Given = str | Path | Any  # a file, or a DataFrame


@final
@dataclass(frozen=True)
class ObservedRow:
    """What was seen of a group, and between what the truth lies."""

    group: str
    metric: str
    estimate: Estimate
    least: float
    most: float
    predicted: float

    def data(self) -> dict[str, Any]:
        own = (
            self.group, self.metric, self.estimate.value, self.estimate.low, self.estimate.high, self.least, self.most,
            self.predicted, self.estimate.doubt,
        )  # fmt: skip
        known = (None if isinstance(one, float) and not math.isfinite(one) else one for one in own)
        return dict(zip(COLUMNS, known, strict=True))


@final
@dataclass(frozen=True)
class Observation:
    """All replicas over the time in which all nodes were seen; `visits` are counts, by node."""

    start: float
    end: float
    changes: int  # of the source
    visits: dict[str, int]
    found: tuple[ObservedRow, ...]
    notes: tuple[str, ...]

    @property
    def dated(self) -> bool:
        return self.start >= DATED

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [row.data() for row in self.found]

    @cached_property
    def table(self) -> Any:
        """The rows as a DataFrame."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(COLUMNS))

    def __str__(self) -> str:
        return str(self.table.to_string(index=False, float_format="%.5g", na_rep=""))


def observe(record: Given, source: str | None = None) -> Observation:
    """A file or DataFrame of visits (columns time, node and version) or of changes (time and node).

    `source` names the node that the others copy; `source` if there is one of that name.

    >>> import pandas as pd
    >>> seen = [(t, "source", t // 10) for t in range(600)] + [(t, "mirror", (t - t % 4) // 10) for t in range(600)]
    >>> found = rn.observe(pd.DataFrame(seen, columns=["time", "node", "version"]))
    >>> row = found.rows[0]
    >>> row["group"], row["metric"], round(row["measured"], 3), round(row["least"], 3), round(row["most"], 3)
    ('mirror', 'freshness', 0.9, 0.801, 0.95)
    """
    name, table = _read(record)
    times, notes = numbers(name, list(_places(name, table["time"])), None)
    order = np.argsort(times, kind="stable")
    times, nodes = times[order], table["node"].to_numpy(dtype=str)[order]
    source = _source(name, nodes, source)
    if "version" in table:
        ranks = _ranked(times, nodes, table["version"].to_numpy(dtype=object)[order])
    else:
        changed = np.unique(times[nodes == source])
        ranks = np.searchsorted(changed, times, side="right").astype(np.int64)
    seen = {one: (times[nodes == one], ranks[nodes == one]) for one in dict.fromkeys(nodes.tolist())}
    return _observed(name, seen, source, "version" in table, notes)


# ---- What was recorded


def _read(record: Given) -> tuple[str, Any]:
    """Its name, and a table with the columns time and node, and perhaps version."""
    import pandas as pd

    name = str(record) if isinstance(record, str | Path) else "record"
    if isinstance(record, str | Path):
        try:
            if Path(record).suffix in (".parquet", ".pq"):
                record = pd.read_parquet(record)
            else:
                with Path(record).open(encoding="utf-8-sig") as file:
                    heads = file.readline()
                mark = next((mark for mark in ",;\t" if mark in heads), ",")
                record = pd.read_csv(record, sep=mark, dtype=str, encoding="utf-8-sig")
        except FileNotFoundError:
            raise FieldError(name, "does not exist", "a file of visits: time, node, version") from None
        except (ValueError, OSError) as error:
            wrong = f"cannot be read: {str(error).splitlines()[0][:80]}"
            raise FieldError(name, wrong, "CSV or Parquet with the columns time, node, version") from None
    lowered = {str(column).lower(): column for column in record.columns}
    found = {}
    for meant, names in (("time", TIME_COLUMNS), ("node", NODES), ("version", VERSIONS)):
        known = next((lowered[one] for one in names if one in lowered), None)
        if known is not None:
            found[meant] = record[known]
        elif meant != "version":
            right = f"one of {', '.join(names)}; and version, where nodes were visited"
            raise FieldError(name, f"has no column {meant}", right)
    table = pd.DataFrame(found)
    if table.isna().any(axis=None):
        at = int(np.flatnonzero(table.isna().any(axis=1))[0])
        raise FieldError(name, f"row {at + 1} lacks {table.columns[table.iloc[at].isna()][0]}", "a value in every cell")
    return name, table


def _places(name: str, values: Any) -> Any:
    return ((f"{name}: row {row}", value) for row, value in enumerate(values.astype(object).tolist(), 1))


def _source(name: str, nodes: NDArray[Any], asked: str | None) -> str:
    known = list(dict.fromkeys(nodes.tolist()))
    found = SOURCE if asked is None else asked
    if found not in known:
        raise FieldError("source", f"{found!r} is no node of {name}", suggestion(found, known))
    if len(known) == 1:
        raise FieldError(name, "has no replica", "rows of a source and of what copies it")
    return found


def _ranked(times: Floats, nodes: NDArray[Any], versions: NDArray[Any]) -> Ranks:
    """Versions counted from 0 in their order."""
    texts = [str(one).strip() for one in versions.tolist()]
    try:
        known = sorted({float(one) for one in texts})
        return np.searchsorted(known, [float(one) for one in texts]).astype(np.int64)
    except ValueError:
        place = {text: rank for rank, text in enumerate(_in_order(times, nodes.tolist(), texts))}
    return np.array([place[one] for one in texts], dtype=np.int64)


def _in_order(times: Floats, nodes: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Texts so that every node had them in that order, and else by when they were first seen."""
    first: dict[str, float] = {}
    after: dict[str, set[str]] = {}
    before: dict[str, set[str]] = {}
    last: dict[str, str] = {}
    for time, node, text in zip(times.tolist(), nodes, texts, strict=True):
        first.setdefault(text, time)
        previous = last.get(node, text)
        if previous != text:
            after.setdefault(previous, set()).add(text)
            before.setdefault(text, set()).add(previous)
        last[node] = text
    free = [(time, text) for text, time in first.items() if not before.get(text)]
    heapify(free)
    found: dict[str, None] = {}
    while len(found) < len(first):
        # Where a node went back to an earlier one there is no such order.
        _, text = heappop(free) if free else min((time, text) for text, time in first.items() if text not in found)
        if text in found:
            continue
        found[text] = None
        for one in after.get(text, ()):
            before[one].discard(text)
            if not before[one]:
                heappush(free, (first[one], one))
    return list(found)


# ---- What it says


def _observed(name: str, seen: dict[str, Steps], source: str, visited: bool, notes: list[str]) -> Observation:
    start = max(times[0] for times, _ in seen.values())
    end = min(times[-1] for times, _ in seen.values())
    if not start < end:
        raise FieldError(name, "its nodes were never seen at the same time", "visits of all nodes over the same time")
    late, early, odd = _changes(seen, source, visited)
    if odd:
        notes = [*notes, f"{odd} versions were at a replica while the source was still seen without: clocks differ"]
    if np.count_nonzero((late > start) & (late <= end)) < 2:
        raise FieldError(name, "the source did not change while all nodes were seen", "2 changes or more")
    cuts = np.linspace(start, end, BATCHES + 1)
    replicas = [one for one in seen if one != source]
    rows: list[ObservedRow] = []
    for one in replicas:
        rows += _of_replica(one, seen[one], late, early, cuts, visited)
    if len(replicas) > 1:
        paths = {one: (late, seen[one]) for one in replicas}
        stale = {row.group: 1 - row.estimate.value for row in rows if row.metric == "freshness"}
        rows += (_of_clients(ask, paths, stale, cuts) for ask in ASKED if ask <= len(replicas))
    changes = int(np.count_nonzero((late > start) & (late <= end)))
    visits = {one: int(np.count_nonzero((times >= start) & (times <= end))) for one, (times, _) in seen.items()}
    return Observation(float(start), float(end), changes, visits, tuple(rows), tuple(notes))


def _changes(seen: dict[str, Steps], source: str, visited: bool) -> tuple[Floats, Floats, int]:
    """When versions 1, 2, ... came to the source at the latest, and at the earliest; and how many came to a replica
    before the source was last seen without."""
    most = max(int(ranks.max()) for _, ranks in seen.values())
    late, early = np.full(most + 1, np.inf), np.full(most + 1, -np.inf)
    for times, ranks in seen.values():
        np.minimum.at(late, ranks, times)
    late = np.minimum.accumulate(late[::-1])[::-1]  # a later version tells as well
    times, ranks = seen[source]
    if not visited:
        return late[1:], late[1:], 0
    np.maximum.at(early, ranks, times)
    early = np.maximum.accumulate(early)[:-1]  # when it was last seen with an earlier one
    odd = early > late[1:]
    return late[1:], np.minimum(early, late[1:]), int(np.count_nonzero(odd))


def _of_replica(name: str, own: Steps, late: Floats, early: Floats, cuts: Floats, visited: bool) -> list[ObservedRow]:
    """Every metric of one replica."""
    times, ranks = own
    following = np.append(ranks[1:], ranks[-1])
    sums = best = worst = _sums(late, own, cuts)
    if visited:
        best = _sums(late, _between(own, np.maximum(ranks, following)), cuts)
        worst = _sums(early, _between(own, np.minimum(ranks, following)), cuts)
    inside = [one[(one >= cuts[0]) & (one <= cuts[-1])] for one in (np.unique(late), times[1:][np.diff(ranks) != 0])]
    tails = [tail_index(np.diff(one), np.random.default_rng(1)) if one.size > 1 else None for one in inside]
    stale, ages, missing = sums
    found = estimates(stale, ages, missing, np.diff(cuts), doubt_of(inside, tails))
    said = _by_waits(late, own, cuts)
    rows = []
    for metric, estimate in found.items():
        rows.append(
            ObservedRow(
                name,
                metric,
                estimate,
                _mean(metric, best, cuts),
                _mean(metric, worst, cuts),
                said.get(metric, math.nan),
            )
        )
    whole = rows[0]
    fresh = ObservedRow(
        name, "freshness", _complement(whole.estimate), 1 - whole.most, 1 - whole.least, 1 - whole.predicted
    )
    return [fresh, *rows[1:]]


def _between(seen: Steps, within: Ranks) -> Steps:
    """At a visit what was seen, and between it and the next one another version."""
    times, ranks = seen
    return np.stack([times, np.nextafter(times, np.inf)]).T.ravel(), np.stack([ranks, within]).T.ravel()


def _mean(metric: str, sums: tuple[Floats, Floats, Floats], cuts: Floats) -> float:
    """NaN for a lag, which is no longer where less is stale."""
    known = dict(zip(("staleness", "staleness_age", "missing_updates"), sums, strict=True))
    return float(known[metric].sum() / (cuts[-1] - cuts[0])) if metric in known else math.nan


def _complement(one: Estimate) -> Estimate:
    """Of a share."""
    return Estimate(1 - one.value, one.error, one.replications, one.confidence, one.doubt, -one.skew)


def _sums(changes: Floats, copy: Steps, cuts: Floats) -> tuple[Floats, Floats, Floats]:
    """(1) over the stretches between `cuts`, not yet divided by their lengths."""
    times, ranks = copy
    ends = np.unique(np.concatenate([changes, times, cuts]))
    ends = ends[(ends >= cuts[0]) & (ends <= cuts[-1])]
    a, b = ends[:-1], ends[1:]
    has = ranks[np.searchsorted(times, a, side="right") - 1]
    there = np.searchsorted(changes, a, side="right")
    missing = np.maximum(there - has, 0)
    since = np.append(changes, np.inf)[np.minimum(has, changes.size)]
    stale = np.where(missing > 0, b - a, 0.0)
    ages = np.where(missing > 0, (b - a) * ((a + b) / 2 - np.where(missing > 0, since, 0.0)), 0.0)
    batches = [_batches(one, a, cuts) for one in (stale, ages, missing * (b - a))]
    return batches[0], batches[1], batches[2]


def _batches(amounts: Floats, begins: Floats, cuts: Floats) -> Floats:
    """Summed between cuts."""
    place = np.searchsorted(cuts, begins, side="right") - 1
    return np.asarray(np.bincount(place, amounts, cuts.size - 1), dtype=float)


def _by_waits(changes: Floats, copy: Steps, cuts: Floats) -> dict[str, float]:
    """What the waits of the updates for the replica say."""
    times, ranks = copy
    highest = np.maximum.accumulate(ranks)
    place = np.searchsorted(highest, np.arange(1, changes.size + 1), side="left")
    came = np.append(times, np.inf)[place]
    inside = (changes >= cuts[0]) & (came <= cuts[-1])
    if np.unique(changes[inside]).size < 3:
        return {}
    return by_waits(Empirical(np.diff(np.unique(changes[inside]))), np.maximum(came - changes, 0.0)[inside])


def _of_clients(ask: int, paths: dict[str, tuple[Floats, Steps]], stale: dict[str, float], cuts: Floats) -> ObservedRow:
    """Freshness of clients who ask so many of the replicas, drawn anew every time; least and most are not told."""
    ends = np.unique(np.concatenate([cuts, *(one for late, (times, _) in paths.values() for one in (late, times))]))
    ends = ends[(ends >= cuts[0]) & (ends <= cuts[-1])]
    a, lengths = ends[:-1], np.diff(ends)
    behind = np.zeros(a.size, dtype=np.int64)
    for late, (times, ranks) in paths.values():
        has = ranks[np.searchsorted(times, a, side="right") - 1]
        behind += np.searchsorted(late, a, side="right") > has
    chosen = math.comb(len(paths), ask)
    none = np.array([math.comb(j, ask) / chosen for j in range(len(paths) + 1)])
    amounts = _batches((1 - none[behind]) * lengths, a, cuts)
    found = estimates(amounts, amounts, amounts, np.diff(cuts), "")["staleness"]
    together = 1 - _symmetric(list(stale.values()), ask) / chosen
    return ObservedRow(f"clients who ask {ask}", "freshness", found, math.nan, math.nan, together)


def _symmetric(values: Sequence[float], k: int) -> float:
    """The sum over all choices of k of their products."""
    sums = [1.0] + [0.0] * k
    for value in values:
        for j in range(k, 0, -1):
            sums[j] += sums[j - 1] * value
    return sums[k]

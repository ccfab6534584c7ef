"""A source and its replicas, observed from outside: how fresh each was, and clients who ask several.

A record has a row per visit, with its time, the node that was visited and the version that the node had, such as a
serial, a checksum or a date; or a row per change, without versions, where a replica that changes takes what the source
has. Versions are numbers that grow, or any texts, in the order of visits.py. With s(t) the version of the source and
c(t) that of a replica, both counted,

    staleness        share of time with c < s
    staleness_age    mean time since version c + 1 came to the source, where c < s                     (1)
    missing_updates  mean of s - c

A record of changes says all of this. Visits see a change some time after it was, so `measured`, which takes every node
to have what it was last seen with, is biased. Bounds hold for this path if clocks agree and no node goes back
(cases.py): `least` is (1) with the oldest s and the newest c, `most` with the newest s, as early as it can be, and the
oldest c. Updates that no visit saw count as well: between two versions that are whole numbers, there are at most as
many as the numbers differ by; between two texts, any number. `predicted` is what the waits of the updates say by
themselves if pulls come regardless of updates (audit.py); for clients who ask k of m replicas, what independent
replicas would give.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, final

import numpy as np

from replnet.histories.audit import BATCHES, batch_estimate, estimates, predictions_by_waits, reason_for_no_interval
from replnet.histories.cases import Cases, cases_of, stale_counts, staleness_of, staleness_quantiles_of
from replnet.histories.data_ages import NOTE_LATE, age_values
from replnet.histories.fitting import tail_index
from replnet.histories.held_copies import within
from replnet.histories.history import are_dates
from replnet.histories.latency import Latencies, latencies
from replnet.histories.reading import fault_causes, fault_times, read_visits
from replnet.histories.reason_words import Circumstances, Reason, failure_notes, reasons_of
from replnet.histories.record_files import RecordSource
from replnet.histories.seen_copies import SeenCopies, SeenUpdates, see_copies, see_updates
from replnet.histories.visits import Visits, keep_lost_replicas
from replnet.laws import Empirical, Floats, Ints
from replnet.measure import Estimate
from replnet.run import TabularResult
from replnet.text import FieldError, duration

if TYPE_CHECKING:
    import pandas as pd

REPLICAS_ASKED = (2, 3)  # by a client
COLUMNS = ("group", "metric", "measured", "ci_low", "ci_high", "least", "most", "predicted", "note")
NOTE_UNSEEN = "no upper bound: updates that no visit saw are missing too, and only whole numbers would tell how many"
NOTE_UNDATED = "no upper bound: nobody saw when the source replaced the version that it had at first"
NOTE_NO_SOURCE = "nobody recorded the source: how old data was, but not whether there was anything newer"
NOTE_NEVER_STALE = "no upper bound: at no time was it stale for certain"
NOTE_NEVER_CAME = "no upper bound: half of the updates had not come by the end of the record"
NOTE_QUANTILE = "no interval: a quantile of one path has none"
LEVELS = {"staleness_quantile(0.5)": 0.5, "staleness_quantile(0.95)": 0.95}
LATENCY = "publication_latency"
ALL_REPLICAS = "all replicas"


@final
@dataclass(frozen=True)
class ObservedRow:
    """The value of a `metric` for a `group`, one replica or clients: a measured `estimate`, bounds and a prediction.

    The true value lies from `least` to `most`, as far as visits tell; `most` is infinite without an upper bound, for
    the reason `unbounded`. `predicted` is NaN if there is no prediction.
    """

    group: str
    metric: str
    estimate: Estimate
    least: float
    most: float
    predicted: float
    unbounded: str = ""

    def data(self) -> dict[str, Any]:
        """Return the row as a dict by the names in COLUMNS, with None for values that are not finite."""
        note = "; ".join(filter(None, (self.estimate.doubt, self.unbounded)))
        fields = (
            self.group, self.metric, self.estimate.value, self.estimate.low, self.estimate.high, self.least, self.most,
            self.predicted, note,
        )  # fmt: skip
        cells = (None if isinstance(field, float) and not math.isfinite(field) else field for field in fields)
        return dict(zip(COLUMNS, cells, strict=True))


@final
@dataclass(frozen=True, repr=False)
class Observation(TabularResult):
    """The freshness of all replicas, over the time in which all nodes were visited and had versions of the source.

    That time is from `start` to `end`; in it, `changes` is the number of changes of the source, and `visits` the number
    of visits by node. `found` has a row for each metric of a replica or of clients, and `notes` are texts on the
    record. By replica, `copies` has what it held in turn, and `reasons` why it was stale, the main reason first;
    `updates` has when the source changed, as far as visits saw. `visit_gap` is the usual time between two visits of a
    node, 0 for a record of changes. If nobody recorded the source, `found` has information ages alone, from the first
    visit of any replica to the last, and there are no changes, copies and reasons.
    """

    start: float
    end: float
    changes: int  # of the source
    visits: dict[str, int]
    found: tuple[ObservedRow, ...]
    notes: tuple[str, ...]
    updates: SeenUpdates
    copies: dict[str, SeenCopies]
    reasons: dict[str, tuple[Reason, ...]]
    visit_gap: float

    @property
    def dated(self) -> bool:
        """Whether the times are seconds since 1970."""
        return are_dates(np.array([self.start, self.end]))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts by the names in COLUMNS, one for each metric of a replica or of clients."""
        return [row.data() for row in self.found]

    @property
    def replicas(self) -> list[str]:
        """The names of the replicas, the least fresh first; empty if nobody recorded the source."""
        freshness = {row.group: row.estimate.value for row in self.found if row.metric == "freshness"}
        return sorted(self.copies, key=lambda name: freshness[name])

    def rows_of(self, group: str) -> dict[str, dict[str, Any]]:
        """Return the rows of a group, a replica or clients, by metric, as dicts by the names in COLUMNS."""
        return {row.metric: row.data() for row in self.found if row.group == group}

    def count_within(self, latency: float) -> int:
        """Return for how many replicas the median publication latency is at most `latency`, in the times' unit."""
        return sum(row.metric == LATENCY and row.group in self.copies and row.estimate.value <= latency
                   for row in self.found)  # fmt: skip

    @cached_property
    def table(self) -> pd.DataFrame:
        """The rows as a DataFrame with COLUMNS, one for each metric of a replica or of clients."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(COLUMNS))


def observe(record: RecordSource, source: str | None = None, *, left: str | None = None) -> Observation:
    """Measure how fresh replicas were from what somebody recorded: a file or a folder, several of them, or a DataFrame.

    Visits have the columns time, node and version, or `left`, the instant at which the data had left the source;
    changes have time and node. Files are told by their content: a history of `replnet watch`, CSV, Parquet, JSON of
    Prometheus or of Arch Linux, the state of mirmon, load times of RSSAC002. `source` names the node that the others
    copy; unless given, it is the one called `source`. It may also be a file with the times of its updates, or
    REPOSITORY:PATH, a path in a git repository; the record is then REPOSITORY:PATH of replicas, and `left` may be a
    regular expression that finds the instant at which the data left the source in their files. If nobody recorded the
    source, there are information ages alone. Raises a FieldError if the nodes were not seen over the same time, or if
    the source had fewer than 2 changes in it.

    >>> import pandas as pd
    >>> seen = [(t, "source", t // 10) for t in range(600)] + [(t, "mirror", (t - t % 4) // 10) for t in range(600)]
    >>> result = rn.observe(pd.DataFrame(seen, columns=["time", "node", "version"]))
    >>> row = result.rows[0]
    >>> row["group"], row["metric"], round(row["measured"], 3), round(row["least"], 3), round(row["most"], 3)
    ('mirror', 'freshness', 0.9, 0.801, 0.95)
    """
    recorded = read_visits(record, source, left)
    if not recorded.source:
        return _observation_of_ages(recorded)
    notes = list[str]()
    visits = keep_lost_replicas(recorded)
    start = max(float(instants[0]) for instants, _ in visits.nodes.values())
    end = min(float(instants[-1]) for instants, _ in visits.nodes.values())
    if not start < end:
        raise FieldError(
            visits.name, "its nodes were never seen at the same time", "visits of all nodes over the same time"
        )
    updates = see_updates(visits)
    changes = updates.seen
    if (
        start < (first_known := _start_of_known_versions(visits)) < (start + end) / 2
        and _between(changes, first_known, end) >= 2
    ):
        words = duration(first_known - start, are_dates(np.array([start, end])))
        notes.append(f"the first {words} are left out, until every replica had a version that the source was seen with")
        start = first_known
    if _between(changes, start, end) < 2:
        raise FieldError(visits.name, "the source did not change while all nodes were seen", "2 changes or more")
    copies = {replica: see_copies(visits, replica) for replica in visits.replicas}
    cuts = np.linspace(start, end, BATCHES + 1)
    rows = (*_rows(visits, updates, copies, cuts), *_age_rows(visits, cuts, are_dates(cuts)))
    around = Circumstances(
        span=(start, end),
        dated=are_dates(np.array([start, end])),
        visit_gap=_visit_gap(recorded),
        changes=_between(changes, start, end),
        faults=fault_times(visits.faults),
        lost=visits.lost,
    )
    notes += _failure_notes(visits, around.dated)
    return Observation(
        start=start,
        end=end,
        changes=around.changes,
        visits={node: within(instants, start, end).size for node, (instants, _) in recorded.nodes.items()},
        found=rows,
        notes=(*notes, *visits.notes),
        updates=updates,
        copies=copies,
        reasons=reasons_of(updates, copies, _freshness(rows), around),
        visit_gap=around.visit_gap,
    )


def _observation_of_ages(visits: Visits) -> Observation:
    """Return the observation of how old the data of replicas was, over all visits, if there is no source."""
    start = min(float(instants[0]) for instants, _ in visits.nodes.values())
    end = max(float(instants[-1]) for instants, _ in visits.nodes.values())
    return Observation(
        start=start,
        end=end,
        changes=0,
        visits={node: instants.size for node, (instants, _) in visits.nodes.items()},
        found=tuple(_age_rows(visits, None, are_dates(np.array([start, end])))),
        notes=(NOTE_NO_SOURCE, *_failure_notes(visits, are_dates(np.array([start, end]))), *visits.notes),
        updates=SeenUpdates(np.array([]), np.array([])),
        copies={},
        reasons={},
        visit_gap=_visit_gap(visits),
    )


def _age_rows(visits: Visits, cuts: Floats | None, dated: bool) -> list[ObservedRow]:
    """Return the rows of information ages, of the replicas that tell departures; see `age_values`."""
    return [ObservedRow(*value, math.nan) for value in age_values(visits, cuts, dated)]


def _failure_notes(visits: Visits, dated: bool) -> Iterator[str]:
    """Return notes on visits that failed, by node: how many, when, and why; with dates if `dated`."""
    answered = {node: instants for node, (instants, _) in visits.nodes.items()}
    return failure_notes(fault_times(visits.faults), answered, fault_causes(visits.faults), dated)


def _visit_gap(visits: Visits) -> float:
    """Return the usual time between two visits of a node: the median of nodes' mean gaps; 0 if no change is missed."""
    if visits.complete:
        return 0.0
    gaps = [(times[-1] - times[0]) / max(times.size - 1, 1) for times, _ in visits.nodes.values()]
    return float(np.median(gaps))


def _freshness(rows: Sequence[ObservedRow]) -> dict[str, tuple[float, float, float]]:
    """Return the freshness of all groups in these rows, by name: as measured, the least and the most."""
    return {row.group: (row.estimate.value, row.least, row.most) for row in rows if row.metric == "freshness"}


def _between(instants: Floats, start: float, end: float) -> int:
    """Return how many instants lie after `start` and until `end`."""
    return int(np.count_nonzero((instants > start) & (instants <= end)))


def _start_of_known_versions(visits: Visits) -> float:
    """Return the first time by which every replica was seen with a version no older than the first that the source had.

    It is infinite if a replica never was.
    """
    low, (_, codes) = visits.order.low, visits.nodes[visits.source]
    instants = []
    for name in visits.replicas:
        times, versions = visits.nodes[name]
        instants.append(float(np.append(times, np.inf)[np.argmax(np.append(low[versions] >= low[codes[0]], True))]))
    return max(instants)


# ---- Rows


def _rows(visits: Visits, updates: SeenUpdates, copies: dict[str, SeenCopies], cuts: Floats) -> list[ObservedRow]:
    """Return a row for every metric of every replica, then one for the freshness of clients who ask 2, and 3, of them.

    There is no row for clients who would ask more replicas than there are. `updates` and `copies`, by replica, are what
    visits saw, and `cuts` the instants between batches of the time that is measured, its begin and end included. The
    last row says how long updates took to come to all replicas, if there are several.
    """
    cases, rows = cases_of(visits), list[ObservedRow]()
    start, end = float(cuts[0]), float(cuts[-1])
    for name in visits.replicas:
        rows += _replica_rows(visits, cases, name, updates.seen, cuts)
        rows += _quantile_rows(cases, name, start, end)
        rows.append(_latency_row(name, latencies(updates, [copies[name]], start, end)))
    replicas = [row.estimate for row in rows if row.metric == "freshness"]
    rows += _client_rows(cases, replicas, cuts)
    if len(replicas) > 1:
        rows.append(_latency_row(ALL_REPLICAS, latencies(updates, list(copies.values()), start, end)))
    return rows


def _quantile_rows(cases: Cases, name: str, start: float, end: float) -> Iterator[ObservedRow]:
    """Yield a row for each quantile of LEVELS of the staleness age of the replica `name` from `start` to `end`."""
    levels = np.array(list(LEVELS.values()))
    values = [staleness_quantiles_of(case, name, start, end, levels).tolist() for case in cases]
    for metric, measured, least, most in zip(LEVELS, *values, strict=True):
        yield ObservedRow(
            name, metric, Estimate(measured, math.nan, 1, doubt=NOTE_QUANTILE), least, most, math.nan,
            "" if math.isfinite(most) else NOTE_UNDATED,
        )  # fmt: skip


def _latency_row(group: str, times: Latencies) -> ObservedRow:
    """Return the row of a group's publication latency, the median over all updates; `times` has that of each update."""
    measured, least, most = times.medians()
    return ObservedRow(
        group, LATENCY, Estimate(measured, math.nan, 1, doubt=NOTE_QUANTILE), least, most, math.nan,
        "" if math.isfinite(most) else NOTE_NEVER_CAME,
    )  # fmt: skip


def _replica_rows(visits: Visits, cases: Cases, name: str, changes: Floats, cuts: Floats) -> list[ObservedRow]:
    """Return the rows of the replica `name`: freshness, staleness_age, lag and missing_updates.

    `cases` are those that agree with the visits, `changes` the instants of the source's changes, and `cuts` those
    between batches of the time that is measured.
    """
    measured, least, most = (staleness_of(case, name, cuts) for case in cases)
    times, codes = visits.nodes[name]
    ranks, length = visits.order.ranks[codes], float(cuts[-1] - cuts[0])
    doubt = NOTE_LATE
    if visits.complete:
        inside = [
            within(instants, cuts[0], cuts[-1]) for instants in (np.unique(changes), times[1:][np.diff(ranks) != 0])
        ]
        tails = [
            tail_index(np.diff(instants), np.random.default_rng(1)) if instants.size > 1 else None
            for instants in inside
        ]
        doubt = reason_for_no_interval(inside, tails)
    estimate_of = estimates(measured, np.diff(cuts), doubt)
    low, high = least.means(length), most.means(length)
    by_waits = _predictions_by_waits(changes, times, ranks, cuts)
    share = estimate_of["staleness"]
    fresh = Estimate(1 - share.value, share.error, share.replications, share.confidence, share.doubt, -share.skew)
    unbounded = {
        "missing_updates": NOTE_UNSEEN,
        "staleness_age": NOTE_UNDATED,
        "lag": NOTE_UNDATED if low["staleness"] else NOTE_NEVER_STALE,
    }
    if visits.complete:
        low["lag"] = high["lag"] = estimate_of["lag"].value
    else:
        low["lag"] = low["staleness_age"] / high["staleness"] if high["staleness"] else math.nan
        high["lag"] = high["staleness_age"] / low["staleness"] if low["staleness"] else math.inf
    return [
        ObservedRow(name, "freshness", fresh, 1 - high["staleness"], 1 - low["staleness"], 1 - by_waits["staleness"]),
        *(
            ObservedRow(
                name, metric, estimate_of[metric], low[metric], high[metric], by_waits.get(metric, math.nan),
                "" if math.isfinite(high[metric]) else unbounded[metric],
            )
            for metric in ("staleness_age", "lag", "missing_updates")
        ),
    ]  # fmt: skip


def _predictions_by_waits(changes: Floats, times: Floats, ranks: Ints, cuts: Floats) -> dict[str, float]:
    """Return predictions from how long updates waited for one replica, by metric, if polls do not depend on them.

    The metrics are staleness, staleness_age and missing_updates. `changes` are the instants of the source's updates; at
    `times` the replica was visited, and had versions of these `ranks` in the order of all. Only updates that came and
    arrived between the first of `cuts` and the last count; if these have fewer than 3 instants, there is staleness
    alone, NaN.
    """
    highest = np.maximum.accumulate(ranks)
    place = np.searchsorted(highest, np.arange(1, changes.size + 1), side="left")
    arrivals = np.append(times, np.inf)[place]
    inside = (changes >= cuts[0]) & (arrivals <= cuts[-1])
    if np.unique(changes[inside]).size < 3:
        return {"staleness": math.nan}
    return predictions_by_waits(
        Empirical(np.diff(np.unique(changes[inside]))), np.maximum(arrivals - changes, 0.0)[inside]
    )


def _client_rows(cases: Cases, replicas: list[Estimate], cuts: Floats) -> Iterator[ObservedRow]:
    """Yield a row of freshness for clients who ask 2, and one for 3, of the replicas and take the freshest answer.

    There is none for more replicas than exist. Replicas are drawn anew every time. `replicas` has the freshness of
    each, from which the value for independent replicas is predicted; `cuts` are the instants between batches of time,
    its begin and end included.
    """
    if len(replicas) < min(REPLICAS_ASKED):
        return
    measured, least, most = (stale_counts(case, cuts) for case in cases)
    doubt = next((estimate.doubt for estimate in replicas if estimate.doubt), "")
    lengths = np.diff(cuts)
    for ask in (ask for ask in REPLICAS_ASKED if ask <= len(replicas)):
        choices = math.comb(len(replicas), ask)
        fresh = np.array([1 - math.comb(stale, ask) / choices for stale in range(len(replicas) + 1)])
        freshness = batch_estimate(fresh @ measured, lengths, doubt)
        # Where replicas are most stale, clients get something fresh least often.
        low, high = (float((fresh @ times).sum() / lengths.sum()) for times in (most, least))
        if_independent = 1 - _symmetric([1 - estimate.value for estimate in replicas], ask) / choices
        yield ObservedRow(f"clients who ask {ask}", "freshness", freshness, low, high, if_independent)


def _symmetric(values: Sequence[float], k: int) -> float:
    """Return the sum, over all choices of k of the values, of the product of the values chosen."""
    sums = [1.0] + [0.0] * k
    for value in values:
        for j in range(k, 0, -1):
            sums[j] += sums[j - 1] * value
    return sums[k]

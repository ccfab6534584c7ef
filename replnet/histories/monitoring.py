"""What monitors of services write: ranges of samples from Prometheus, and load times of root servers (RSSAC002).

Prometheus answers to `query_range` with {"status": "success", "data": {"resultType": "matrix", "result": [...]}}, where
each result is a series: its `metric`, labels by name, and its `values`, pairs of a time in seconds and a text. (Answers
to `query` are of the type vector, with one `value` each.) A value is a version, such as the serial of a zone, or the
instant at which the data left the source: it is an instant if all are times since 1970, in s, ms or us, none later than
its sample.

RSSAC002 has a YAML file per root server and day: `service`, `metric: load-time`, `start-period`, `end-period` and
`time`, by serial the seconds from the NOTIFY to when the zone was served. When the NOTIFY came is not in it. The
serials of a day are put at equal distances: how stale the server was depends on the seconds alone, as long as none of
them reach to the next serial.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from replnet.histories.records import SOURCE, Record, record_of_rows
from replnet.histories.times import UNITS, read_time
from replnet.laws import Floats
from replnet.text import FieldError, read_yaml

PROMETHEUS, LOAD_TIMES = "answer of Prometheus", "load times of RSSAC002"
NODE_LABELS = ("instance", "node", "host", "server", "replica", "mirror", "target")  # which of several is the node
METRIC_NAME = "__name__"
EARLIEST_INSTANT = 631_152_000.0  # 1990, in seconds since 1970
CLOCK_SLACK = 3600.0  # seconds by which an instant may be later than its sample, as clocks differ


# ---- Prometheus


def is_prometheus_answer(data: Any) -> bool:
    """Whether data of JSON is an answer of Prometheus; one that tells of an error is too."""
    return isinstance(data, dict) and "status" in data and ("data" in data or "errorType" in data)


def prometheus_answer(name: str, data: dict[str, Any]) -> Record:
    """Return the samples in an answer of Prometheus; raise a FieldError that names `name` if it has none of any use."""
    if data["status"] != "success":
        raise FieldError(name, f"is an error of Prometheus: {data.get('error')}", "an answer with status success")
    answer = data.get("data")
    kind = answer.get("resultType") if isinstance(answer, dict) else None
    if kind not in ("matrix", "vector"):
        raise FieldError(name, f"is an answer of Prometheus of the type {kind!r}", "matrix, as query_range answers")
    series = answer.get("result") if isinstance(answer, dict) else None
    try:
        labels = [dict(curve["metric"]) for curve in series or ()]
        points = [curve["values"] if kind == "matrix" else [curve["value"]] for curve in series or ()]
        samples = [[(float(time), float(value)) for time, value in pairs] for pairs in points]
    except (TypeError, ValueError, KeyError):
        right = "result: [{metric: {...}, values: [[time, value], ...]}, ...]"
        raise FieldError(name, "has a series of another form", right) from None
    nodes, label_note = _series_nodes(name, labels)
    times, values = (np.array([pair[place] for pairs in samples for pair in pairs]) for place in (0, 1))
    unit = _instant_unit(times, values)
    means = "versions" if unit is None else f"instants at which the data left the source, in {unit} since 1970"
    rows = [
        {"time": time, "node": node} | _sample_cells(value, unit)
        for node, pairs in zip(nodes, samples, strict=True)
        for time, value in pairs
    ]
    return record_of_rows(name, PROMETHEUS, rows, [label_note, f"values are taken as {means}"])


def _series_nodes(name: str, labels: list[dict[str, Any]]) -> tuple[list[str], str]:
    """Return the name of the node of each series, and a note on the label that it is from.

    That label tells all series apart; where none does, it is all of those that differ. Raise a FieldError if there are
    several series with the same labels.
    """
    names = sorted({label for series in labels for label in series})
    counts = {label: len({series.get(label) for series in labels}) for label in names}
    telling = [label for label in names if counts[label] == len(labels)]
    usual = [label for label in NODE_LABELS if label in telling]
    if len(labels) == 1:
        usual = usual or [METRIC_NAME]
    others = [label for label in telling if label != METRIC_NAME]
    if chosen := (usual or others or telling)[:1]:
        (label,) = chosen
        return [str(series.get(label, "")) for series in labels], f"nodes are named by the label {label}"
    differing = [label for label in names if counts[label] > 1]
    nodes = [" ".join(str(series.get(label, "")) for label in differing) for series in labels]
    if len(set(nodes)) < len(nodes):
        raise FieldError(name, "has series with the same labels", "a query whose labels tell nodes apart")
    return nodes, f"nodes are named by the labels {' and '.join(differing)}"


def _instant_unit(times: Floats, values: Floats) -> str | None:
    """Return the unit (s, ms or us) in which the values are times since 1970, each by its sample; None if they are not.

    The `times` of samples are in seconds.
    """
    usual = np.isfinite(values)
    for unit in ("s", "ms", "us"):
        instants = values[usual] * UNITS[unit]
        if usual.any() and np.all((instants >= EARLIEST_INSTANT) & (instants <= times[usual] + CLOCK_SLACK)):
            return unit
    return None


def _sample_cells(value: float, unit: str | None) -> dict[str, Any]:
    """Return the cells of a sample's row, besides time and node: its `version`, its departure `left`, or a `fault`.

    The value is a version if `unit` is None, else the departure in that unit since 1970, which is told in seconds; it
    is a fault if it is no number.
    """
    if not math.isfinite(value):
        return {"fault": f"the sample is {value}"}
    return {"version": f"{value:.17g}"} if unit is None else {"left": value * UNITS[unit]}


# ---- Load times


def is_load_time(text: str) -> bool:
    """Whether a text, the begin of a file or all of it, is YAML of RSSAC002, of any of its metrics."""
    keys = {line.partition(":")[0] for line in text[:4000].splitlines() if not line.startswith((" ", "\t"))}
    return {"service", "metric", "start-period"} <= keys


def load_times(files: Iterable[Path]) -> Record:
    """Return what root servers served when, by their load times in files of RSSAC002.

    The serials of a day are rows of a node `source` too, at equal distances. Raise a FieldError if a file is of another
    metric, or lacks what it should have.
    """
    days = [_load_time_day(file) for file in files]
    serials: dict[tuple[float, float], set[int]] = {}
    for _, _, period, seconds in days:
        serials.setdefault(period, set()).update(seconds)
    published = {
        (period, serial): start + (place + 0.5) * (end - start) / len(of_day)
        for period, of_day in serials.items()
        for place, serial in enumerate(sorted(of_day))
        for start, end in [period]
    }
    rows = [{"time": time, "node": SOURCE, "version": str(serial)} for (_, serial), time in published.items()]
    late = 0
    for _, service, period, seconds in days:
        gap = (period[1] - period[0]) / max(len(serials[period]), 1)
        late += sum(delay > gap for delay in seconds.values())
        rows += [
            {"time": published[period, serial] + delay, "node": service, "version": str(serial)}
            for serial, delay in seconds.items()
        ]
    notes = ["when NOTIFY came is not recorded: the serials of a day are put at equal distances"]
    if late:
        notes.append(f"{late} load times reach to the next serial, where that distance counts")
    record = record_of_rows(days[0][0], LOAD_TIMES, rows, notes)
    return Record(record.name, record.kind, record.table, record.notes, complete=True)


def _load_time_day(file: Path) -> tuple[str, str, tuple[float, float], dict[int, float]]:
    """Return the name of a file of RSSAC002, its service, the begin and end of its day, and the seconds by serial.

    Begin and end are in seconds since 1970. Raise a FieldError if it is of another metric, or lacks or garbles a value.
    """
    name, data = str(file), read_yaml(file).data
    metric = data.get("metric")
    if metric != "load-time":
        raise FieldError(name, f"is the metric {metric!r} of RSSAC002", "load-time, which says when a zone was served")
    lacking = [key for key in ("service", "start-period", "end-period", "time") if not data.get(key)]
    if lacking and lacking != ["time"]:
        raise FieldError(name, f"has no {' and no '.join(lacking)}", "a file of RSSAC002 with all of these")
    period = tuple(read_time(f"{name}: {key}", data[key])[0] for key in ("start-period", "end-period"))
    try:
        seconds = {int(serial): float(delay) for serial, delay in dict(data.get("time") or {}).items()}
    except (TypeError, ValueError):
        raise FieldError(f"{name}: time", "is no seconds by serial", "such as 2026112001: 12") from None
    if any(not 0 <= delay < math.inf for delay in seconds.values()):
        raise FieldError(f"{name}: time", "has a load time below 0", "seconds from the NOTIFY on")
    return name, str(data["service"]), (period[0], period[1]), seconds

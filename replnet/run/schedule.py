"""A schedule of visits: how often each source of an aggregate is downloaded, how fresh its copy is, and when next.

Visits of source i come every d_i = 1 / rate_i, and the first d_i u_i after the start. Sources in the order of their
rates, n = 0, 1, 2, ..., have the phases u = frac((n + 1/2) g), g the golden ratio: any stretch of them is spread evenly
over (0, 1), so that the number of visits in any stretch of time is near its mean. Sources that are visited in rounds
have the slots of the round.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from replnet.laws import Constant, Floats, Law
from replnet.network import Given, ManySources, Network, network_of, whole
from replnet.predictions import source_freshness
from replnet.processes import parse_time
from replnet.text import FieldError, convert_times, in_unit, short_repr

if TYPE_CHECKING:
    import pandas as pd

GOLDEN_RATIO = (math.sqrt(5) - 1) / 2
MOST_LISTED = 50_000_000  # visits of one table
MOST_TIMES = 1000  # next visits of each source


def schedule(
    network: Given, *, visits: int | None = None, until: float | str | None = None, start: float | str = 0.0
) -> pd.DataFrame:
    """Return a table of how often each source of an aggregate is visited within its budget, how fresh it is, and when.

    It has a row per source: its `name`, its `rate` of updates, its `weight`, its `visit_rate` and `visit_interval`,
    the predicted `freshness` of its copy in one replica, and the times of the next visits, `next_1` to `next_N`, where
    N is `visits`, 1 if None. With `until` it has a row per visit up to that time, `time` and `name`, in order of time
    instead. Times count from `start`, a number, or a date if the network has a unit; both may be texts such as 2h.
    Visits are spread evenly, always in the same way. Where they are random there are no times. `attrs` has the budget,
    the mean freshness and why sources are never visited. Raise FieldError for networks without a budget for sources.

    >>> net = rn.aggregate(rates=[1, 2, 20], names=["a", "b", "c"], budget=4, allocate="freshness")
    >>> rn.schedule(net).round(3)[["name", "rate", "visit_rate", "freshness", "next_1"]]
      name  rate  visit_rate  freshness  next_1
    0    a   1.0       1.755      0.762   0.528
    1    b   2.0       2.245      0.662   0.138
    2    c  20.0       0.000      0.000     NaN
    """
    import pandas as pd

    loaded = network_of(network)
    many = _aggregate_of(loaded)
    if visits is not None and until is not None:
        raise FieldError("until", "given together with visits", "one of both: so many of each, or all up to a time")
    try:
        count = 1 if visits is None else whole(1, MOST_TIMES)(visits)
    except FieldError as error:
        raise FieldError("visits", error.wrong, error.right) from None
    if count * many.size > MOST_LISTED:
        wrong = f"{count:,} of each of {many.size:,} sources are too many"
        raise FieldError("visits", wrong, f"at most {max(MOST_LISTED // many.size, 1):,}")
    begin, is_dated = _instant(start, "start", loaded.unit)
    rates, random = _visit_rates(many), _reason_for_no_times(many)
    if random and (visits is not None or until is not None):
        raise FieldError("until" if visits is None else "visits", random, "left out: the table has their rate")
    freshness, mean = source_freshness(loaded.topology)
    names = many.spec.names or [f"source {i + 1}" for i in range(many.size)]
    attrs = {
        "unit": loaded.unit, "sources": many.size, "visited": int((rates > 0).sum()), "budget": float(rates.sum()),
        "allocate": many.spec.allocate if isinstance(many.spec.allocate, str) else "a list",
        "freshness": mean.value if mean.known else None,
        "basis": f"{mean.kind}, {mean.source}" if mean.known else "", "note": mean.note,
        "never": _reasons_for_no_visits(many, rates), "times": random,
    }  # fmt: skip
    if until is not None:
        table = _table_of_visits(many, rates, names, _length(until, begin, is_dated, loaded.unit))
        table["time"] = _as_times(table["time"].to_numpy() + begin, is_dated, loaded.unit)
    else:
        with np.errstate(divide="ignore"):
            intervals = np.where(rates > 0, 1 / rates, np.nan)
        weights = many.spec.weights if isinstance(many.spec.weights, tuple) else many.sources.weights * many.whole
        table = pd.DataFrame(
            {"name": names, "rate": many.sources.rates, "weight": np.array(weights, dtype=float), "visit_rate": rates,
             "visit_interval": intervals, "freshness": freshness}
        )  # fmt: skip
        for number, times in enumerate(_times(many, rates, 0 if random else count), 1):
            table[f"next_{number}"] = _as_times(times + begin, is_dated, loaded.unit)
    table.attrs = attrs
    return table


def _aggregate_of(network: Network) -> ManySources:
    """Return the sources of an aggregate, or of a first tier that is one, with their allocation.

    Raise FieldError if the network is neither.
    """
    many: ManySources | None = network.topology.aggregate if network.kind in ("aggregate", "compose") else None
    if many is None:
        wrong = f"{network.kind} has no budget that is allocated to many sources"
        raise FieldError("kind", wrong, "kind: aggregate, or compose with an aggregate as its first tier")
    return many


def _reason_for_no_times(many: ManySources) -> str:
    """Return why visits have no times that could be told beforehand, in words; empty if they have."""
    if many.spec.replicas > 1 and many.spec.share == "independently":
        return "replicas visit at times of their own, which are random"
    if many.spec.order in ("random", "purely random"):
        return f"visits in {many.spec.order} order come at random times"
    if many.spec.order == "independent" and not isinstance(many.downloads, Constant):
        return f"visits at {_family(many.downloads)} intervals come at random times"
    return ""


def _family(law: Law) -> str:
    """Return the name of the family of a law, such as exponential."""
    return str(law).partition("(")[0]


def _visit_rates(many: ManySources) -> Floats:
    """Return the visits of each source per unit of time, by all replicas together; 0 if it is never visited."""
    if many.spec.order == "carousel" and many.frequencies.any():
        return np.bincount(many.round, minlength=many.size) / (many.round.size * many.slot)
    return many.frequencies


def _reasons_for_no_visits(many: ManySources, rates: Floats) -> dict[str, int]:
    """Return how many sources are never visited for each reason, such as "it never changes"; a source counts once.

    `rates` are those of visits.
    """
    reasons, left = dict[str, int](), rates == 0
    fixed = "the allocation says so"
    for words, holds in (
        ("there is no budget", np.full(many.size, many.spec.budget == 0)),
        (fixed, np.full(many.size, not isinstance(many.spec.allocate, str))),
        ("it never changes", many.sources.rates == 0),
        ("its weight is 0", many.sources.weights == 0),
        ("its turn is too rare for a round of the carousel", many.frequencies > 0),
        ("it changes so often that visits do more good elsewhere", np.ones(many.size, bool)),
    ):
        if count := int((left & holds).sum()):
            reasons[words] = count
        left &= ~holds
    return reasons


# ---- When visits come


def _phases(many: ManySources, rates: Floats) -> Floats:
    """Return when the first visit of each source comes, from 0 to 1, as a share of its interval after the start.

    `rates` are those of visits.
    """
    if many.spec.order == "fixed" and many.equally_often:
        return np.arange(many.size) / many.size
    phases = np.empty(many.size)
    phases[np.argsort(-rates, kind="stable")] = (np.arange(many.size) + 0.5) * GOLDEN_RATIO % 1
    return phases


def _times(many: ManySources, rates: Floats, count: int) -> Iterator[Floats]:
    """Yield the times from the start to the first visit of each source, to the second and so on, `count` of them.

    They are NaN for sources that are never visited.
    """
    visited = np.flatnonzero(rates)
    in_turns = many.spec.order == "carousel" and visited.size > 0
    turns, first, turns_of = _turns(many) if in_turns else (rates, rates, rates)
    phases = rates if in_turns else _phases(many, rates)[visited]
    for number in range(count):
        times = np.full(many.size, np.nan)
        if in_turns:
            lap, turn = np.divmod(number, turns_of[visited])
            times[visited] = (turns[first[visited] + turn] + lap * many.round.size) * many.slot
        else:
            times[visited] = (phases + number) / rates[visited]
        yield times


def _turns(many: ManySources) -> tuple[Any, Any, Any]:
    """Return the slots of a carousel's round, source by source, and where those of each begin, and how many.

    The latter two are arrays with an entry per source.
    """
    count = np.bincount(many.round, minlength=many.size)
    return np.argsort(many.round, kind="stable"), np.cumsum(count) - count, count


def _table_of_visits(many: ManySources, rates: Floats, names: Any, length: float) -> pd.DataFrame:
    """Return a table of all visits before `length` after the start, in order of time: `time` from it, and `name`.

    Raise FieldError if they are too many for a table.
    """
    import pandas as pd

    expected = float(rates.sum()) * length
    if expected > MOST_LISTED:
        right = f"at most {MOST_LISTED:,}, which are over by {length * MOST_LISTED / expected:.4g}"
        raise FieldError("until", f"about {expected:,.3g} visits", right)
    if many.spec.order == "carousel" and rates.any():
        slots = np.arange(math.ceil(length / many.slot - 1e-9))
        times, sources = slots * many.slot, many.round[slots % many.round.size]
    else:
        phases = _phases(many, rates)
        count = np.maximum(np.ceil(length * rates - phases), 0).astype(np.int64)
        sources = np.repeat(np.arange(many.size), count)
        number = np.arange(sources.size) - np.repeat(np.cumsum(count) - count, count)
        times = (phases[sources] + number) / rates[sources]
        order = np.argsort(times, kind="stable")
        times, sources = times[order], sources[order]
    return pd.DataFrame({"time": times, "name": np.asarray(names, dtype=object)[sources]})


# ---- Dates


def _instant(written: Any, field: str, unit: str | None) -> tuple[float, bool]:
    """Return a time in the unit of the network, and whether it is a date, whose time counts from 1970.

    Raise FieldError for `field` if it is neither a number nor a date, or a date while the network has no unit (None).
    """
    try:
        time = parse_time(in_unit(written, unit, "mean"))
    except FieldError as error:
        raise FieldError(field, error.wrong, error.right) from None
    if time is None:
        right = "a number, one with a unit such as 2h, or a date such as 2026-01-01T12:00:00Z"
        raise FieldError(field, f"{short_repr(written)} is no time", right)
    if time.zoned is None:
        return float(time.value), False
    if unit is None:
        raise FieldError(field, "is a date, and the network has no unit for its times", "unit: d, or another")
    return convert_times(float(time.value), "s", unit), True


def _length(until: Any, begin: float, is_dated: bool, unit: str | None) -> float:
    """Return the time from the begin of a table of visits to its end; raise FieldError if that is not later.

    A date is the end itself, any other time counts from the begin.
    """
    end, end_is_dated = _instant(until, "until", unit)
    if end_is_dated and not is_dated:
        raise FieldError("until", "is a date, and the start is none", "a time from the start, or a date in start too")
    length = end - begin if end_is_dated else end
    if not length > 0:
        raise FieldError("until", f"{short_repr(until)} is not after the start", "a later time")
    return length


def _as_times(times: Floats, is_dated: bool, unit: str | None) -> Any:
    """Return times as they are, or if they are dates, in `unit` since 1970, as a DatetimeIndex in UTC, NaT for NaN."""
    import pandas as pd

    if not is_dated:
        return times
    assert unit is not None
    milliseconds = np.floor(convert_times(times, unit, "ms"))
    missing = np.isnan(milliseconds)
    dates = np.where(missing, 0, milliseconds).astype(np.int64).astype("datetime64[ms]")
    dates[missing] = np.datetime64("NaT")
    return pd.DatetimeIndex(dates).tz_localize("UTC")

"""How often each of many elements changes, from a log of visits that saw what they had.

With t the times between the visits of one element, n of them, of which some saw a change, the rate z of Poisson changes
under which just these are likeliest solves

    sum over changed of t / (exp(z t) - 1) = sum over unchanged of t + t' / 2,    t' the mean of t                (1)

but for the last term: half a visit that saw no change, with which z is finite although every visit saw one, and at
equal t it is log((n + 1/2) / (unchanged + 1/2)) / t, the estimator with reduced bias (lab/papers/estimating, 2). As
the left side is convex in z, and at least 1/z - t/2 for each changed visit, Newton's steps from

    z = changed / (t' / 2 + sum over unchanged of t + (sum over changed of t) / 2)                                (2)

grow up to the solution, for all elements at once. An element that no visit saw change may change all the same: its rate
is half a change in the time that it was watched, or it would never be visited again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from replnet.histories.history import are_dates
from replnet.histories.record_files import COLUMN_NAMES, RecordSource, read_records
from replnet.histories.records import is_yes, placed_entries
from replnet.histories.times import times_of_entries
from replnet.laws import Floats, Ints
from replnet.text import MICROSECONDS, FieldError, convert_times, count_text

if TYPE_CHECKING:
    import pandas as pd

MOST_STEPS = 200
SETTLED = 1e-12  # relative step of Newton's that is the last
LONGEST_EXPONENT = 700.0  # of e that is still a float


def change_rates(record: RecordSource, unit: str | None = None) -> pd.DataFrame:
    """Return a table with a row for each element of a log of visits: its `name`, how often it changes, and its weight.

    The record is CSV, Parquet, what `replnet watch` wrote, or a DataFrame: a row per visit with its `time`, the `name`
    (or page, url, node) of the element, and the `version` that it had, such as a checksum, or whether it had `changed`
    since the visit before. Rates are per `unit`, a day if None and times are dates; `weight` is empty, to be filled in.
    Elements with a single visit are left out. `attrs` has the unit, counts and notes. Raise FieldError if the record
    cannot be read, or `unit` is no unit of time.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"time": [0, 1, 2, 3, 4], "name": "/a", "version": [1, 1, 2, 2, 2]})
    >>> rn.change_rates(log).round(3)
      name   rate  weight
    0   /a  0.251     NaN
    """
    import pandas as pd

    if unit is not None and unit not in MICROSECONDS:
        raise FieldError("unit", f"{unit!r} is no unit of time", f"one of {', '.join(MICROSECONDS)}")
    log = read_records(record)
    name, table = log.name, log.table
    column = next((name for name in ("version", "changed") if name in table), None)
    if column is None:
        right = f"what each visit saw: one of {', '.join(COLUMN_NAMES['version'])}, or changed"
        raise FieldError(name, "has no column version or changed", right)
    table = table[table[column].notna()]
    times, time_notes = times_of_entries(name, list(placed_entries(log.name, table, "time")), None)
    notes = [*log.notes, *time_notes]
    is_dated = are_dates(times)
    if unit is not None and not is_dated:
        raise FieldError("unit", f"{unit} is given, and the times of {name} are no dates", "left out")
    unit = unit or ("d" if is_dated else None)
    elements, names = pd.factorize(table["node"].astype(str))
    seen = (
        pd.factorize(table[column])[0] if column == "version" else is_yes(name, table[column].tolist()).astype(np.int64)
    )
    order = np.lexsort((times, elements))
    elements, times, seen = elements[order], times[order], seen[order]
    lengths, is_next = np.diff(times), np.diff(elements) == 0
    changed = np.diff(seen) != 0 if column == "version" else seen[1:] > 0
    if twice := int((is_next & (lengths == 0)).sum()):
        notes.append(f"{count_text(twice, 'visit')} in the instant of another of the same element: not counted")
    counts = is_next & (lengths > 0)
    element, lengths, changed = elements[1:][counts], lengths[counts], changed[counts]
    visits = np.bincount(element, minlength=len(names))
    if not visits.any():
        raise FieldError(name, "has no element with two visits", "visits of the same elements again and again")
    if single := int((visits == 0).sum()):
        notes.append(f"{count_text(single, 'element')} with a single visit: left out")
    hits = np.bincount(element, changed, len(names)).astype(np.int64)
    rates = likeliest_rates(element, lengths, changed, len(names))
    rates = rates if unit is None else rates / convert_times(1.0, "s", unit)
    has_visits = visits > 0
    result = pd.DataFrame(
        {"name": np.asarray(names, dtype=object)[has_visits], "rate": rates[has_visits], "weight": np.nan}
    )
    result.attrs = {
        "unit": unit, "visits": int(times.size), "never": int((hits[has_visits] == 0).sum()),
        "always": int((hits == visits)[has_visits].sum()), "notes": notes,
    }  # fmt: skip
    return result


def likeliest_rates(element: Ints, lengths: Floats, changed: Any, count: int) -> Floats:
    """Return the rate of changes of each of `count` elements, 0 for those without visits, from what visits saw, (1).

    Visits are three arrays: the number of the element, the time since the visit before, and a mask of those that saw a
    change. Rates are per unit of these times.
    """

    def total(values: Any, of: Any = slice(None)) -> Floats:
        """Return the sum of values for each element; there is one value for each visit in `of`, by default for all."""
        return np.asarray(np.bincount(element[of], values, count), dtype=float)

    visits, time = np.bincount(element, minlength=count), total(lengths)
    hit_element, hit_lengths = element[changed], lengths[changed]
    hits = np.bincount(hit_element, minlength=count)
    quiet = total(lengths * ~changed) + 0.5 * time / np.maximum(visits, 1)
    rates = np.divide(hits, quiet + 0.5 * total(hit_lengths, changed), out=np.zeros(count), where=hits > 0)  # (2)
    for _ in range(MOST_STEPS):
        x = np.minimum(rates[hit_element] * hit_lengths, LONGEST_EXPONENT)
        rest = np.expm1(x)
        over = np.bincount(hit_element, hit_lengths / rest, count) - quiet
        slope = np.bincount(hit_element, hit_lengths**2 * (rest + 1) / rest**2, count)
        step = np.divide(over, slope, out=np.zeros(count), where=hits > 0)
        rates = rates + step
        if np.all(np.abs(step) <= SETTLED * rates):
            break
    return np.where(hits > 0, rates, np.divide(0.5, time, out=np.zeros(count), where=time > 0))

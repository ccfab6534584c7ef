"""Times of entries in a record: numbers or dates, made seconds since 1970 where they are dates.

Numbers are seconds since 1970 unless their size or a unit says otherwise; the offsets of dates count.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np

from replnet.laws import Floats
from replnet.processes import parse_numbers, parse_time
from replnet.text import FieldError

Entry = tuple[str, object]  # the place in the source, and the time as it is written there

UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
UNIT_SIZES = (("ns", 1e17), ("us", 1e14), ("ms", 1e11))  # of times since 1970, from 1973 on


def times_of_entries(source: str, entries: Sequence[Entry], unit: str | None) -> tuple[Floats, list[str]]:
    """Return the times of all entries, in their order, and notes on how they were read.

    Dates become seconds since 1970. Numbers are converted to seconds from `unit`, which is told by their size if None.
    Raise a FieldError, which names `source` or an entry, if there are no entries, if one is no time, if dates and
    numbers are mixed, or dates with and without a zone.
    """
    if not entries:
        raise FieldError(source, "has no events", "2 or more")
    times = parse_numbers([written for _, written in entries])
    if times is None:
        read = [read_time(place, written) for place, written in entries]
        zones = {zoned: place for (_, zoned), (place, _) in zip(reversed(read), reversed(entries), strict=True)}
        if True in zones and False in zones:
            raise FieldError(zones[False], "a date without a zone", f"an offset or Z, as at {zones[True]}")
        times = np.array([time for time, _ in read])
        if None not in zones:
            return times, ["dates have no zone: taken as UTC"] if False in zones else []
        if len(zones) > 1:
            numbers = sum(zoned is None for _, zoned in read)
            raise FieldError(source, f"{len(read) - numbers} dates among {numbers} numbers", "one or the other")
    if unit is not None:
        return times * UNITS[unit], []
    middle = float(np.median(np.abs(times)))
    likely_unit = next((name for name, size in UNIT_SIZES if middle >= size), "s")
    notes = [] if likely_unit == "s" else [f"times are taken as {likely_unit} since 1970, by their size"]
    return times * UNITS[likely_unit], notes


def read_time(place: str, written: object) -> tuple[float, bool | None]:
    """Return the time that is `written`, and whether it is a date that says its zone (None for a number).

    A number, or the text of one, is returned as it is, and a date, a text or a datetime, as seconds since 1970. Raise a
    FieldError, which names `place`, if it is no time.
    """
    time = parse_time(written)
    if time is not None:
        return time
    is_number = isinstance(written, int | float) and not isinstance(written, bool)
    text = str(written) if is_number else repr(str(written).strip()[:40])
    wrong = "no time" if isinstance(written, datetime) else f"{text} is not a time"
    raise FieldError(place, wrong, "a number, or an ISO 8601 date such as 2024-05-01T12:00:00Z")

"""Lengths of time, instants and shares as texts for sentences, with two figures or so."""

from __future__ import annotations

from datetime import UTC, datetime

LENGTHS = ((365.25 * 86_400, 2.0, "years"), (86_400.0, 2.0, "days"), (3600.0, 1.0, "h"), (60.0, 1.0, "min"))


def span_text(length: float, dated: bool) -> str:
    """Return a length of time as a text of two figures or so; with a unit if `dated`, when it is in seconds."""
    size, unit = 1.0, "s" if dated else ""
    if dated:
        size, unit = next(
            ((size, unit) for size, least, unit in LENGTHS if length >= 0.996 * least * size), (size, unit)
        )
    value = length / size
    return f"{value:,.0f} {unit}".strip() if value >= 10 else f"{value:.2g} {unit}".strip()


def percent(share: float) -> str:
    """Return a share, from 0 to 1, as text in percent, with two figures where that is below 10 %."""
    return f"{100 * share:.2g} %" if share < 0.0995 else f"{100 * share:.0f} %"


def time_text(time: float, dated: bool) -> str:
    """Return an instant as a text: date, hour and minute in UTC if `dated`, in seconds since 1970, else a number."""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d %H:%M}" if dated else f"{time:.5g}"


def day_text(time: float, dated: bool) -> str:
    """Return an instant as a text: a date in UTC if `dated`, in seconds since 1970, else a number."""
    return f"{datetime.fromtimestamp(time, UTC):%Y-%m-%d}" if dated else f"{time:.5g}"

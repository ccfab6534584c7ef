"""Tables as CSV that a spreadsheet takes as data.

A spreadsheet calculates, and may run, what begins like a formula. Names, titles and notes come from files
of others, so a text that begins so gets an apostrophe before it, as spreadsheets themselves write text;
what is a number stays one.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from replnet.text.errors import escaped

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def write_csv(to: TextIO, columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    out = csv.writer(to, lineterminator="\n")
    out.writerow([as_cell(name) for name in columns])
    out.writerows([as_cell(value) for value in row] for row in rows)


def csv_text(table: Any) -> str:
    """A DataFrame without its index."""
    texts = table.select_dtypes(["object", "string"])
    safe = table.assign(**{name: texts[name].map(as_cell) for name in texts})
    return str(safe.rename(columns=as_cell).to_csv(index=False, lineterminator="\n"))


def as_cell(value: object) -> object:
    """The value; of a text, one that is no formula and whose control characters are written out."""
    if not isinstance(value, str):
        return value
    marked = "'" + value if value.startswith(FORMULA) and not _is_number(value) else value
    return escaped(marked, keep="\n\t")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text == text.strip()

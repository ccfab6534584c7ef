"""The table of a section: rounded to what the intervals support, the worst rows first where there are many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from replnet.report.markup import Html, element, joined
from replnet.report.section import Section
from replnet.text.numbers import finite, fixed, is_number, places, text

LONG = 24  # rows that need no folding
WORST = 8  # shown where the rest is folded away
BRIEF, MOST_REMARKS = 24, 12  # letters of words that stay in their row; longer ones that a list can hold
LINE = 32  # letters of an axis that are not broken
MOST = 1000  # rows of a page; files hold the rest
FIGURE, POINT = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
VERDICTS = {
    "agree": ("good", "✓"),
    "unresolved": ("open", "?"),
    "differ": ("bad", "✗"),
    "failed": ("bad", "✗"),
    "contradicts": ("open", "≠"),
}
AGREEING = {("differ", True): "differs", ("contradicts", False): "contradict"}  # by word, and whether it is one

Row = dict[str, Any]
# Title; n for numbers, w for words that may be long; the text of each row.
Column = tuple[str, str | None, Sequence[str]]


def word(verdict: str) -> Html:
    """A verdict as a sign, a word and a colour."""
    kind, sign = VERDICTS.get(verdict, ("", ""))
    return element("span", f"{sign} {verdict}".strip(), class_=f"word {kind}".strip()) if verdict else Html("")


def counts(words: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {AGREEING.get((one, count == 1), one)}" for one, count in words.items())


def tables(section: Section) -> Html:
    """All rows, or the worst of them before a fold that holds the rest."""
    rows = section.rows
    if not rows:
        return element("p", "No cell is finished.", class_="quiet")
    worst = _worst(rows) if len(rows) > LONG else []
    first = rows[:MOST]
    columns, same = _columns(section, [*first, *worst])
    columns, remarks = _remarks(columns, [*first, *worst])

    def scroll(shown: slice, said: Html) -> Html:
        heads = [element("th", title, scope="col", class_=kind and kind[0]) for title, kind, _ in columns]
        cells = zip(*(cells[shown] for _, _, cells in columns), strict=True)
        kinds = [kind for _, kind, _ in columns]
        body = [
            element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(line, kinds, strict=True)))
            for line in cells
        ]
        caption = [element("caption", said)] if said else []
        head = element("thead", element("tr", *heads))
        table = element("table", *caption, head, element("tbody", *body))
        label = f"Table: {section.title}"
        return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)

    whole = scroll(slice(0, len(first)), same)
    if len(rows) <= LONG:
        return joined([whole, remarks])
    held = f"All {len(rows):,} rows" if len(rows) <= MOST else f"The first {MOST:,} of {len(rows):,} rows"
    summary = element("summary", held)
    if not worst:
        return element("details", summary, whole, remarks)
    said = joined([f"The {len(worst)} rows furthest from their prediction, of {len(rows):,}. ", same])
    return joined([scroll(slice(len(first), None), said), remarks, element("details", summary, whole)])


def _worst(rows: list[Row]) -> list[Row]:
    """Those that differ, those that are open, then by |z|; none where nothing was compared."""
    judged = [row for row in rows if text(row.get("verdict")) or is_number(row.get("z"))]
    order = {"differ": 0, "unresolved": 1}

    def badness(row: Row) -> tuple[int, float]:
        z = abs(finite(row.get("z")))
        return order.get(text(row.get("verdict")), 2), 0.0 if math.isnan(z) else -z

    return sorted(judged, key=badness)[:WORST]


def _columns(section: Section, rows: list[Row]) -> tuple[list[Column], Html]:
    """The columns that hold something; what is the same in all rows is said once, before them."""
    columns, same = [], []
    for title, kind, cells in _possible(section, rows):
        values = set(cells)
        if values <= {""}:
            continue
        if len(values) == 1 and len(rows) > 1 and title in (*section.axes, "group", "metric", "note", "prediction"):
            same.append(f"{title}: {cells[0]}")
        else:
            columns.append((title, kind, cells))
    return columns, joined(same, " · ")


def _possible(section: Section, rows: list[Row]) -> list[Column]:
    """Every column that a table may have."""

    def words(name: str) -> list[str]:
        return [text(row.get(name)) for row in rows]

    known = _decimals(rows)

    def digits(name: str) -> list[str]:
        values = [finite(row.get(name)) for row in rows]
        most = max((decimals for value, decimals in zip(values, known, strict=True) if value == value), default=0)
        return [_aligned(value, decimals, most) for value, decimals in zip(values, known, strict=True)]

    ends = zip(digits("ci_low"), digits("ci_high"), strict=True)
    sources = zip(words("kind"), words("source"), strict=True)
    axes = [(name, words(name)) for name in section.axes]
    return [
        *((name, _kind([row.get(name) for row in rows], cells), cells) for name, cells in axes),
        ("group", None, words("group")),
        ("metric", None, [metric.replace("_", " ") for metric in words("metric")]),
        ("measured", "n", digits("measured")),
        ("95 % interval", "n", [f"{a.rstrip(FIGURE + POINT)} – {b}" if a and b else "" for a, b in ends]),
        ("predicted", "n", digits("predicted")),
        ("z", "n", [fixed(finite(row.get("z")), 2) for row in rows]),
        ("verdict", None, list(map(word, words("verdict")))),
        ("printed", "n", words("printed")),
        ("against print", None, list(map(word, words("printed_verdict")))),
        ("expected", "n", words("expected")),
        ("against expected", None, list(map(word, words("expected_verdict")))),
        ("accuracy", "n", [_beyond_rounding(row.get("accuracy"), one) for row, one in zip(rows, known, strict=True)]),
        ("prediction", "w", [", ".join(filter(None, both)) for both in sources]),
        ("note", "w", words("note")),
    ]


def _beyond_rounding(accuracy: Any, decimals: int) -> str:
    """An accuracy that is more than half a unit of the last decimal that its row shows."""
    return f"{accuracy:#.2g}" if finite(accuracy) > 0.5 * 10.0**-decimals else ""


def _kind(values: list[Any], cells: list[str]) -> str | None:
    if all(map(is_number, values)):
        return "n"
    return "w" if max(map(len, cells)) > LINE else None


def _decimals(rows: list[Row]) -> list[int]:
    """What each interval supports; the same for all of a metric if they differ by no more than one digit."""
    known: list[int | None] = []
    for row in rows:
        low, high = finite(row.get("ci_low")), finite(row.get("ci_high"))
        values = (finite(row.get("measured")), finite(row.get("predicted")))
        known.append(next((places(value, low, high) for value in values if not math.isnan(value)), None))
    metrics = [text(row.get("metric")) for row in rows]
    found: dict[str, set[int]] = {}
    for metric, decimals in zip(metrics, known, strict=True):
        if decimals is not None:
            found.setdefault(metric, set()).add(decimals)
    alike = {metric: min(digits) for metric, digits in found.items() if max(digits) - min(digits) <= 1}
    return [alike.get(metric, decimals or 0) for metric, decimals in zip(metrics, known, strict=True)]


def _aligned(value: float, decimals: int, most: int) -> str:
    """With spaces as wide as the digits that are not known, so that points stand below points."""
    digits = fixed(value, decimals)
    if not digits or "e" in digits or most == decimals:
        return digits
    return digits + ("" if decimals else POINT) + FIGURE * (most - decimals)


def _remarks(columns: list[Column], rows: list[Row]) -> tuple[list[Column], Html]:
    """Long words that rows share become numbers, with the gist of them, and a list that follows the table."""
    remarks: dict[str, int] = {}
    short = []
    for title, kind, cells in columns:
        shared = [one for one in dict.fromkeys(cells) if len(one) > BRIEF] if title in ("prediction", "note") else []
        if 0 < len(shared) <= MOST_REMARKS:
            remarks |= {one: len(remarks) + i for i, one in enumerate(shared, 1) if one not in remarks}
            gists = [text(row.get("kind")) if title == "prediction" else "" for row in rows]
            pairs = zip(cells, gists, strict=True)
            kind, cells = None, [f"{gist} [{remarks[one]}]".strip() if one in remarks else one for one, gist in pairs]
        short.append((title, kind, cells))
    return short, element("ol", *(element("li", one) for one in remarks)) if remarks else Html("")

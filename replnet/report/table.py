"""The table of a section: rounded to what the intervals support, the worst rows first where there are many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, final

from replnet.report.markup import Html, element, joined
from replnet.report.section import Section
from replnet.text.numbers import finite as number
from replnet.text.numbers import fixed, is_number, places, text

LONG = 24  # rows that need no folding
WORST = 8  # shown where the rest is folded away
BRIEF, MOST_REMARKS = 24, 12  # letters of words that stay in their row; longer ones that a list can hold
LINE = 32  # letters of an axis that are not broken
MOST = 1000  # rows of a page; files hold the rest
VERDICTS = {
    "agree": ("good", "✓"),
    "unresolved": ("open", "?"),
    "differ": ("bad", "✗"),
    "failed": ("bad", "✗"),
    "contradicts": ("open", "≠"),
}
AGREEING = {("differ", True): "differs", ("contradicts", False): "contradict"}  # by word, and whether it is one
Row = dict[str, Any]


@final
@dataclass(frozen=True)
class Column:
    """`of` is the text of a row, or markup; `kind` is `n` for numbers, `w` for words whose gist `brief` says."""

    title: str
    of: Callable[[Row], str]
    kind: str | None = None
    brief: Callable[[Row], str] = lambda row: ""


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
    shown = [*rows[:MOST], *worst]
    columns, same = _columns(section, shown)
    columns, remarks = _remarks(columns, shown)
    if len(rows) <= LONG:
        return joined([_scroll(columns, rows, same, section.title), remarks])
    held = f"All {len(rows):,} rows" if len(rows) <= MOST else f"The first {MOST:,} of {len(rows):,} rows"
    summary, whole = element("summary", held), _scroll(columns, rows[:MOST], same, section.title)
    if not worst:
        return element("details", summary, whole, remarks)
    said = joined([f"The {len(worst)} rows furthest from their prediction, of {len(rows):,}. ", same])
    return joined([_scroll(columns, worst, said, section.title), remarks, element("details", summary, whole)])


def _remarks(columns: list[Column], rows: list[Row]) -> tuple[list[Column], Html]:
    """Long words that rows share become numbers, and a list that follows the table."""
    remarks: dict[str, int] = {}
    short = []
    for column in columns:
        shared = column.title in ("prediction", "note")
        words = [one for one in dict.fromkeys(map(column.of, rows)) if len(one) > BRIEF] if shared else []
        if 0 < len(words) <= MOST_REMARKS:
            remarks |= {one: len(remarks) + i for i, one in enumerate(words, 1) if one not in remarks}
            column = replace(column, of=_referring(column, remarks), kind=None)
        short.append(column)
    return short, element("ol", *(element("li", one) for one in remarks)) if remarks else Html("")


def _referring(column: Column, remarks: dict[str, int]) -> Callable[[Row], str]:
    def of(row: Row) -> str:
        words = column.of(row)
        return f"{column.brief(row)} [{remarks[words]}]".strip() if words in remarks else words

    return of


def _worst(rows: list[Row]) -> list[Row]:
    """Those that differ, those that are open, then by |z|; none where nothing was compared."""
    judged = [row for row in rows if text(row.get("verdict")) or is_number(row.get("z"))]
    order = {"differ": 0, "unresolved": 1}

    def badness(row: Row) -> tuple[int, float]:
        z = abs(number(row.get("z")))
        return order.get(text(row.get("verdict")), 2), 0.0 if math.isnan(z) else -z

    return sorted(judged, key=badness)[:WORST]


def _columns(section: Section, rows: list[Row]) -> tuple[list[Column], Html]:
    """The columns that hold something; what is the same in all rows is said once, before them."""
    columns, same = [], []
    for column in _possible(section, rows):
        values = {column.of(row) for row in rows}
        if values <= {""}:
            continue
        if (
            len(values) == 1
            and len(rows) > 1
            and column.title in (*section.axes, "group", "metric", "note", "prediction")
        ):
            same.append(f"{column.title}: {values.pop()}")
        else:
            columns.append(column)
    return columns, joined(same, " · ")


def _possible(section: Section, rows: list[Row]) -> list[Column]:
    decimals = _decimals(rows)

    def digits(name: str) -> Callable[[Row], str]:
        most = max((decimals(row) for row in rows if is_number(row.get(name))), default=0)
        return lambda row: _aligned(number(row.get(name)), decimals(row), most)

    low, high = digits("ci_low"), digits("ci_high")

    def interval(row: Row) -> str:
        both = is_number(row.get("ci_low")) and is_number(row.get("ci_high"))
        return f"{low(row).rstrip(PADS)} – {high(row)}" if both else ""

    return [
        *(Column(name, _plain(name), _kind(name, rows)) for name in section.axes),
        Column("group", _plain("group")),
        Column("metric", lambda row: text(row.get("metric")).replace("_", " ")),
        Column("measured", digits("measured"), "n"),
        Column("95 % interval", interval, "n"),
        Column("predicted", digits("predicted"), "n"),
        Column("z", lambda row: fixed(number(row.get("z")), 2), "n"),
        Column("verdict", lambda row: word(text(row.get("verdict")))),
        Column("printed", _plain("printed"), "n"),
        Column("against print", lambda row: word(text(row.get("printed_verdict")))),
        Column("expected", _plain("expected"), "n"),
        Column("against expected", lambda row: word(text(row.get("expected_verdict")))),
        Column("accuracy", lambda row: f"{accuracy:#.2g}" if is_number(accuracy := row.get("accuracy")) else "", "n"),
        Column("prediction", _source, "w", _plain("kind")),
        Column("note", _plain("note"), "w"),
    ]


def _kind(name: str, rows: list[Row]) -> str | None:
    if all(is_number(row.get(name)) for row in rows):
        return "n"
    return "w" if max(len(text(row.get(name))) for row in rows) > LINE else None


def _plain(name: str) -> Callable[[Row], str]:
    return lambda row: text(row.get(name))


def _source(row: Row) -> str:
    """Kind and equation of a prediction."""
    return ", ".join(filter(None, (text(row.get("kind")), text(row.get("source")))))


def _decimals(rows: list[Row]) -> Callable[[Row], int]:
    """What each interval supports; the same for all of a metric if they differ by no more than one digit."""
    found: dict[str, set[int]] = {}
    for row in rows:
        if (known := _known(row)) is not None:
            found.setdefault(text(row.get("metric")), set()).add(known)
    alike = {metric: min(digits) for metric, digits in found.items() if max(digits) - min(digits) <= 1}
    return lambda row: alike.get(text(row.get("metric")), _known(row) or 0)


def _known(row: Row) -> int | None:
    low, high = number(row.get("ci_low")), number(row.get("ci_high"))
    values = (number(row.get("measured")), number(row.get("predicted")))
    return next((places(value, low, high) for value in values if not math.isnan(value)), None)


FIGURE, POINT = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
PADS = FIGURE + POINT


def _aligned(value: float, decimals: int, most: int) -> str:
    """With spaces as wide as the digits that are not known, so that points stand below points."""
    digits = fixed(value, decimals)
    if not digits or "e" in digits or most == decimals:
        return digits
    return digits + ("" if decimals else POINT) + FIGURE * (most - decimals)


def _scroll(columns: list[Column], rows: Iterable[Row], said: Html, label: str) -> Html:
    head = element("tr", *(element("th", c.title, scope="col", class_=c.kind and c.kind[0]) for c in columns))
    body = [element("tr", *(element("td", c.of(row), class_=c.kind) for c in columns)) for row in rows]
    caption = [element("caption", said)] if said else []
    whole = element("table", *caption, element("thead", head), element("tbody", *body))
    return element("div", whole, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {label}")

"""The table of a section: rounded to what the intervals support, the worst rows first where there are many."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from replnet.show.report.markup import Html, element, join_html
from replnet.show.report.section import Section
from replnet.show.table import badness, cell_text, result_table
from replnet.show.theme import VERDICTS
from replnet.text import decimal_text, finite_or_nan, is_number, places, text

MOST_ROWS_UNFOLDED = 24
WORST_ROWS_SHOWN = 8  # where the rest is folded away
LONGEST_IN_ROW, MOST_REMARKS = 24, 12  # letters; and how many longer remarks a list below the table may have
LONGEST_UNBROKEN = 32  # letters of the value of an axis that is not broken into lines
MOST_ROWS_SHOWN = 1000  # on a page; files hold the rest
FIGURE_SPACE, POINT_SPACE = "\N{FIGURE SPACE}", "\N{PUNCTUATION SPACE}"
INFLECTED = {
    ("differ", True): "differs",
    ("contradicts", False): "contradict",
}  # by verdict, and whether it is of one row

Row = dict[str, Any]
# Title; n for numbers, w for words that may be long; the text of each row.
Column = tuple[str, str | None, Sequence[str]]
LONG_WORDS, IN_PREDICTION = ("prediction", "note"), ("kind", "source")  # titles


def word(verdict: str) -> Html:
    """Return a verdict as an HTML element with a sign, a word and a colour; empty if the verdict is."""
    kind, sign = VERDICTS.get(verdict, ("", ""))
    return element("span", f"{sign} {verdict}".strip(), class_=f"word {kind}".strip()) if verdict else Html("")


def counts(count_of: dict[str, int]) -> str:
    """Return in words how many rows have each verdict, such as 3 agree, 1 differs; `count_of` has the numbers."""
    return ", ".join(
        f"{count:,} {INFLECTED.get((verdict, count == 1), verdict)}" for verdict, count in count_of.items()
    )


def tables(section: Section) -> Html:
    """Return the table of a section as HTML; if it is long, its eight worst rows, and a fold that holds all rows.

    A table is long if it has more than 24 rows. The fold holds the first thousand at most. Remarks that rows share are
    listed below.
    """
    rows = section.rows
    if not rows:
        return element("p", "No cell is finished.", class_="quiet")
    judged = [row for row in rows if text(row.get("verdict")) or is_number(row.get("z"))]
    worst = sorted(judged, key=badness)[:WORST_ROWS_SHOWN] if len(rows) > MOST_ROWS_UNFOLDED else []
    first = rows[:MOST_ROWS_SHOWN]
    columns, common = _filled_columns(section, [*first, *worst])
    columns, remarks = _remarks(columns, [*first, *worst])

    def scroll(rows_shown: slice, caption_words: Html) -> Html:
        """Return a table of the rows in this slice, below its caption, in an element that scrolls by itself."""
        heads = [element("th", title, scope="col", class_=kind and kind[0]) for title, kind, _ in columns]
        cells = zip(*(cells[rows_shown] for _, _, cells in columns), strict=True)
        kinds = [kind for _, kind, _ in columns]
        body = [
            element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(line, kinds, strict=True)))
            for line in cells
        ]
        caption = [element("caption", caption_words)] if caption_words else []
        head = element("thead", element("tr", *heads))
        table = element("table", *caption, head, element("tbody", *body))
        label = f"Table: {section.title}"
        return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=label)

    whole = scroll(slice(0, len(first)), common)
    if len(rows) <= MOST_ROWS_UNFOLDED:
        return join_html([whole, remarks])
    extent = (
        f"All {len(rows):,} rows"
        if len(rows) <= MOST_ROWS_SHOWN
        else f"The first {MOST_ROWS_SHOWN:,} of {len(rows):,} rows"
    )
    summary = element("summary", extent)
    if not worst:
        return element("details", summary, whole, remarks)
    intro = join_html([f"The {len(worst)} rows furthest from their prediction, of {len(rows):,}. ", common])
    return join_html([scroll(slice(len(first), None), intro), remarks, element("details", summary, whole)])


def _filled_columns(section: Section, rows: list[Row]) -> tuple[list[Column], Html]:
    """Return the columns of a table of `rows` that are not empty, and a text of what is the same in all rows.

    The text is for the caption of the table; axes, names, notes and predictions that it says have no column.
    """
    columns, common = [], []
    for title, kind, cells in _all_columns(section, rows):
        values = set(cells)
        if values <= {""}:
            continue
        if len(values) == 1 and len(rows) > 1 and title in (*section.axes, "group", "metric", "note", "prediction"):
            common.append(f"{title}: {cells[0]}")
        else:
            columns.append((title, kind, cells))
    return columns, join_html(common, " · ")


def _all_columns(section: Section, rows: list[Row]) -> Iterator[Column]:
    """Yield every column that a table of `rows` may have, empty or not: title, kind, and the text of each row."""
    table, decimals = result_table(rows, section.axes), _decimals(rows)
    table = table.select(title for title in table.columns if title not in IN_PREDICTION)

    def digits(values: Iterable[Any]) -> list[str]:
        """Return the numbers of a column, rounded to what each row supports and aligned at their points."""
        numbers = [(finite_or_nan(value), count) for value, count in zip(values, decimals, strict=True)]
        most = max((count for number, count in numbers if number == number), default=0)
        return [_align(number, count, most) for number, count in numbers]

    for title, *cells in zip(table.columns, *table.rows, strict=True):
        match table.kinds[title]:
            case "number":
                yield title, "n", digits(cells)
            case "predicted":
                pairs = [cell or (None, None) for cell in cells]
                yield title, "n", digits(value for value, _ in pairs)
                accuracies = zip((accuracy for _, accuracy in pairs), decimals, strict=True)
                yield "accuracy", "n", [_beyond_rounding(accuracy, count) for accuracy, count in accuracies]
            case "interval":
                ends = [digits(end) for end in zip(*(cell or (None, None) for cell in cells), strict=True)]
                yield title, "n", list(map(_span, *ends))
            case "deviation":
                yield title, "n", [decimal_text(finite_or_nan(cell), 2) for cell in cells]
            case "verdict":
                yield title, None, [word(text(cell)) for cell in cells]
            case "value":
                texts = [text(cell) for cell in cells]
                yield title, _kind(cells, texts), texts
            case kind:
                texts = [text(cell_text(cell, kind)) for cell in cells]
                names = [name.replace("_", " ") for name in texts] if title == "metric" else texts
                yield title, "w" if title in LONG_WORDS else None, names


def _span(low: str, high: str) -> str:
    """Return the text of an interval from the texts of its ends; empty if one of these is."""
    return f"{low.rstrip(FIGURE_SPACE + POINT_SPACE)} – {high}" if low and high else ""


def _beyond_rounding(accuracy: Any, decimals: int) -> str:
    """Return an accuracy as text if it exceeds half a unit of the last of the `decimals` shown; else an empty text."""
    return f"{accuracy:#.2g}" if finite_or_nan(accuracy) > 0.5 * 10.0**-decimals else ""


def _kind(values: Sequence[Any], cells: list[str]) -> str | None:
    """Return the kind of column that holds these values: n for numbers, w for long words, None for others.

    A value that is None counts for any kind; `cells` are the texts of all.
    """
    if all(is_number(value) for value in values if value is not None):
        return "n"
    return "w" if max(map(len, cells)) > LONGEST_UNBROKEN else None


def _decimals(rows: list[Row]) -> list[int]:
    """Return, for each row, how many decimals to show: as many as its interval supports.

    Rows of a metric whose numbers differ by at most one all have the fewer. A row without a value has 0, or as many as
    its metric.
    """
    supported: list[int | None] = []
    for row in rows:
        low, high = finite_or_nan(row.get("ci_low")), finite_or_nan(row.get("ci_high"))
        values = (finite_or_nan(row.get("measured")), finite_or_nan(row.get("predicted")))
        supported.append(next((places(value, low, high) for value in values if not math.isnan(value)), None))
    metrics = [text(row.get("metric")) for row in rows]
    decimals_of_metric: dict[str, set[int]] = {}
    for metric, decimals in zip(metrics, supported, strict=True):
        if decimals is not None:
            decimals_of_metric.setdefault(metric, set()).add(decimals)
    alike = {metric: min(counts) for metric, counts in decimals_of_metric.items() if max(counts) - min(counts) <= 1}
    return [alike.get(metric, decimals or 0) for metric, decimals in zip(metrics, supported, strict=True)]


def _align(value: float, decimals: int, most: int) -> str:
    """Return a number with so many decimals as text, padded to the width that it would have with `most` decimals.

    The padding is of spaces as wide as digits, so that the points of all numbers in a column are aligned. NaN gives an
    empty text.
    """
    digits = decimal_text(value, decimals)
    if not digits or "e" in digits or most == decimals:
        return digits
    return digits + ("" if decimals else POINT_SPACE) + FIGURE_SPACE * (most - decimals)


def _remarks(columns: list[Column], rows: list[Row]) -> tuple[list[Column], Html]:
    """Return the columns with long texts about predictions and notes replaced by numbers, and a list of these texts.

    The list is empty if there is nothing to replace, or if that would be too many.
    """
    remarks: dict[str, int] = {}
    short = []
    for title, kind, cells in columns:
        shared = [words for words in dict.fromkeys(cells) if len(words) > LONGEST_IN_ROW] if title in LONG_WORDS else []
        if 0 < len(shared) <= MOST_REMARKS:
            remarks |= {words: len(remarks) + i for i, words in enumerate(shared, 1) if words not in remarks}
            gists = [text(row.get("kind")) if title == "prediction" else "" for row in rows]
            pairs = zip(cells, gists, strict=True)
            kind, cells = (
                None,
                [f"{gist} [{remarks[words]}]".strip() if words in remarks else words for words, gist in pairs],
            )
        short.append((title, kind, cells))
    return short, element("ol", *(element("li", words) for words in remarks)) if remarks else Html("")

"""The report: one HTML page that needs nothing but itself, a section of it for a notebook, and all of it as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from replnet.lab.experiment import Kind
from replnet.lab.sweeps import CheckedClaim, Expectation, ShownErratum, Sweep, claims_in_words, how_many_hold
from replnet.measure import worst_verdict
from replnet.run import COLUMNS, PRINTED, VERDICTS, Result
from replnet.run import KINDS as PREDICTIONS
from replnet.show.pictures import figure_svg, standalone
from replnet.show.report.arrange import Arrangement, arrange
from replnet.show.report.figure import draw_figure, figure_of
from replnet.show.report.html_table import counts, tables, word
from replnet.show.report.markup import Html, element, join_html, style_sheet
from replnet.show.report.section import Section, section_of
from replnet.text import count_text, csv_text, is_number, replacing, text

# Nothing may be fetched or run, whatever a text of an experiment says.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
PAGE_SUFFIXES = (".html", ".htm")  # how the name of a page ends
LONGEST_NAME = 100  # letters of an experiment's name in the names of files, which may have 255
MOST_VALUES_LISTED = 8  # of an axis
COMPARISONS = {
    "verdict": "compared with the prediction:",
    "printed_verdict": "with the printed values:",
    "expected_verdict": "with values that no paper prints:",
}
CLAIM_SIGNS = {True: ("good", "✓ holds"), False: ("bad", "✗ fails"), None: ("", "not checked")}
ERRATUM_KINDS = {  # of the mistakes of papers, in a sentence and as a title
    "rounding": ("of rounding", "Rounding: a last digit that is not right, or rounded values carried on"),
    "equations": (
        "against their own equations",
        "Equations: what does not follow from the paper’s own, or where they are wrong",
    ),
    "simulation": (
        "of simulation",
        "Simulation: what the paper simulated comes out otherwise, predicted and measured",
    ),
    "prose": ("of prose", "Prose: sentences that the paper’s own numbers or equations deny"),
}
assert tuple(ERRATUM_KINDS) == get_args(Kind)


def write(target: str | Path, sections: Sequence[Section], title: str, provenance: Mapping[str, Any]) -> Path:
    """Write the report, and return the path of its page; `provenance` says by name where its numbers come from.

    If `target` is the name of an HTML file, write the page alone; else write report.html, figures/NAME.svg and
    data/NAME.csv into that folder. A file takes the place of an earlier one once it is whole; the page comes last, and
    other files there stay.
    """
    folder = Path(target)
    if folder.suffix.lower() in PAGE_SUFFIXES:
        _write_whole(folder, page(sections, title, provenance))
        return folder
    for name, section in _by_anchor(sections).items():
        _write_whole(folder / "data" / f"{name}.csv", csv_text(section.table))
        if (plan := arrange(section)) is not None:
            _write_whole(
                folder / "figures" / f"{name}.svg", standalone(figure_svg(draw_figure(plan), f"{name}-", section.title))
            )
    report = folder / "report.html"
    _write_whole(report, page(sections, title, provenance))
    return report


def _write_whole(path: Path, content: str) -> None:
    """Write a file, in the place of an earlier one once it is whole, and make its folder if there is none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content.encode(errors="replace"))


def page(sections: Sequence[Section], title: str, provenance: Mapping[str, Any]) -> str:
    """Return the HTML of the whole report; `provenance` says by name where its numbers come from, and may be empty."""
    by_anchor = _by_anchor(sections)
    bodies = [_section_html(section, name, titled=section.title != title) for name, section in by_anchor.items()]
    contents = [_link(name, section.title) for name, section in by_anchor.items()]
    last = []
    if len(sections) > 1 and any(section.errata for section in sections):
        last.append(_all_errata_html({name: section.errata for name, section in by_anchor.items()}))
        contents.append(_link("errata", "Errata of the papers"))
    if provenance:
        origin = element("h2", "Where these numbers come from")
        last.append(element("section", origin, facts(provenance), id="provenance"))
        contents.append(_link("provenance", "Where these numbers come from"))
    main = element("main", _summary(by_anchor, title), *bodies, *last, class_="sheet")
    body = element("body", element("nav", *contents, aria_label="Contents"), main, class_="rn")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        style_sheet(body),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def in_notebook(section: Section) -> str:
    """Return the section as HTML for a notebook: one <div> with the style sheet and all of the section."""
    (name,) = _by_anchor([section])
    body = _section_html(section, name)
    return element("div", style_sheet(body), body, class_="rn")


def _by_anchor(sections: Sequence[Section]) -> dict[str, Section]:
    """Return the sections, in their order, by names that are fit for files and anchors, which follow from their
    names.
    """
    return dict(zip(file_names([section.name for section in sections]), sections, strict=True))


def file_names(names: Sequence[str]) -> list[str]:
    """Return names fit for files and anchors, one for each of `names`, none twice even without regard to capitals.

    They have ASCII letters, digits, dots, hyphens and underscores; "section" stands for a name of which nothing is
    left.
    """
    result: list[str] = []
    for name in names:
        letters = [c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in name[:LONGEST_NAME]]
        stem = "".join(letters).strip(".-") or "section"
        taken = {other.lower() for other in result}  # some file systems do not tell capitals apart
        tries = (stem if i == 1 else f"{stem}-{i}" for i in range(1, len(names) + 1))
        result.append(next(candidate for candidate in tries if candidate.lower() not in taken))
    return result


def _link(name: str, words: str) -> Html:
    """Return a link with these words to the element of the page whose id is `name`."""
    return element("a", words, href=f"#{name}")


def _list(items: Iterable[Html], title: str = "") -> list[Html]:
    """Return the elements of a list: a heading, if there is a title, and one with `items`, which are <li> elements.

    If there are no items, there are no elements either.
    """
    rows = list(items)
    return [*([element("h3", title)] if title else []), element("ul", *rows)] if rows else []


def _quiet(words: str, name: str = "span") -> Html:
    """Return an HTML element of the tag `name`, with these words in a quiet colour."""
    return element(name, words, class_="quiet")


# What came out of all of them


def _summary(by_anchor: Mapping[str, Section], title: str) -> Html:
    """Return the head of the report: its title, all results in one sentence, and how to read the tables.

    If there are several sections, a table has a row for each; `by_anchor` has the sections by their ids in the page.
    """
    kinds = {"experiment": None, "cells": "n", "claims": "n", "verdict": None}
    if not any(section.claims for section in by_anchor.values()):
        del kinds["claims"]
    heads = element("tr", *(element("th", head, scope="col", class_=kind) for head, kind in kinds.items()))
    body = element("tbody", *(_summary_row(section, name, "claims" in kinds) for name, section in by_anchor.items()))
    table = element("table", element("thead", heads), body, class_="summary") if len(by_anchor) > 1 else Html("")
    verdict = worst_verdict([section.verdict for section in by_anchor.values()])
    results = join_html([word(verdict), " " if verdict else "", in_words(list(by_anchor.values())), "."])
    return element(
        "header", element("h1", title), element("p", results, class_="lead"), table, _legend(by_anchor.values())
    )


def _legend(sections: Iterable[Section]) -> Html:
    """Return a fold that says what the words in the tables mean.

    Those about printed values are in it only if one of the sections is compared with print.
    """
    has_print = any(section.count(column) for section in sections for column in ("printed_verdict", "expected_verdict"))
    words = COLUMNS | PREDICTIONS | VERDICTS | (PRINTED if has_print else {})
    entries = [join_html([element("dt", name), element("dd", meaning)]) for name, meaning in words.items()]
    return element("details", element("summary", "How to read the tables"), element("dl", *entries), class_="legend")


def in_words(sections: Sequence[Section]) -> str:
    """Return the results of all sections in a sentence: cells, rows by verdict, claims, mistakes of papers by kind."""
    count_of: dict[str, int] = {}
    for section in sections:
        for verdict, count in section.count("verdict").items():
            count_of[verdict] = count_of.get(verdict, 0) + count
    results = [count_text(len(sections), "experiment")] if len(sections) != 1 else []
    results.append(count_text(sum(section.cells for section in sections), "cell"))
    if count_of:
        order = sorted(count_of, key=["agree", "unresolved", "differ", "failed"].index)
        results.append("measured against predicted: " + counts({verdict: count_of[verdict] for verdict in order}))
    if claims := [claim for section in sections for claim in section.claims]:
        results.append(claims_in_words(claims))
    if errata := _distinct_errata(erratum for section in sections for erratum in section.errata):
        results.append(_by_kind(errata))
    return "; ".join(results)


def _summary_row(section: Section, name: str, has_claims: bool) -> Html:
    """Return the row of a section in the summary; `name` is its id in the page.

    `has_claims` says whether the summary has a column for claims.
    """
    more = " · ".join(filter(None, (section.claim, section.paper, section.progress)))
    claims = how_many_hold(section.claims)
    against = f"{len(section.errata)} {'erratum' if len(section.errata) == 1 else 'errata'}" if section.errata else ""
    return element(
        "tr",
        element("td", _link(name, section.title), _quiet(more)),
        element("td", f"{section.cells:,}", class_="n", data_what="cells"),
        element("td", claims, class_="n", data_what="claims hold" if claims else None) if has_claims else "",
        element("td", word(section.verdict), element("span", against, class_="quiet n") if against else ""),
    )


# One of them


def _section_html(section: Section, name: str, titled: bool = True) -> Html:
    """Return the <section> about one experiment, with its figure, claims, mistakes of the paper, table and origin.

    `name` is its id in the page; it bears its title if `titled`.
    """
    marks = [element("span", mark) for mark in (section.name, section.paper) if mark]
    about = element("details", element("summary", "What was run, and where"), facts(section.about))
    return element(
        "section",
        element("div", *marks, word(section.verdict), class_="head"),
        element("h2", section.title) if titled else "",
        element("p", section.claim, class_="claim") if section.claim else "",
        _quiet(_what_ran(section), "p"),
        _figure_html(section, name),
        *_list(map(_claim_html, section.claims), "Claims"),
        _errata_html(section.errata),
        *_list(map(_expectation, section.expectations), "Values that no paper prints"),
        element("h3", "Table"),
        tables(section),
        about if section.about else "",
        id=name,
    )


def _what_ran(section: Section) -> str:
    """Return in words the values of each axis, how many cells that makes, and how many rows have which verdict."""
    parts = []
    for name in section.axes if len(section.table) else ():
        values = list(dict.fromkeys(text(value) for value in section.table[name]))
        listed = values if len(values) <= MOST_VALUES_LISTED else [*values[:3], "…", values[-1]]
        parts.append(f"{name}: {', '.join(listed)}" + (f" ({len(values)} values)" if listed is not values else ""))
    parts.append(section.progress or count_text(section.cells, "cell"))
    for column, comparison in COMPARISONS.items():
        if words := section.count(column):
            parts.append(f"{comparison} {counts(words)}")
    return " · ".join(parts)


def _figure_html(section: Section, name: str) -> Html:
    """Return the figure of a section, in a wide and a narrow version, with its caption; empty if it has no figure.

    `name` is the id of the section, and begins the ids in its pictures.
    """
    plan = arrange(section)
    if plan is None:
        return Html("")
    caption = _caption(plan)
    label = f"{section.title}: {plan.y.replace('_', ' ')} over {plan.x}. {caption}"
    pictures = [
        element("div", Html(figure_svg(draw_figure(plan, kind == "narrow"), f"{name}-{kind}-", label)), class_=kind)
        for kind in ("wide", "narrow")
    ]
    return element("figure", *pictures, element("figcaption", caption))


def _caption(plan: Arrangement) -> str:
    """Return the caption of a figure: what its marks mean, and what it leaves out."""
    sentences = []
    if plan.has("measured"):
        sentences.append("Points: measured" + (", with 95 % intervals." if plan.has("ci_low") else "."))
    if plan.has("predicted"):
        sentences.append("Dashes: predicted." if plan.names else "Lines: predicted.")
    if plan.has("printed"):
        sentences.append("Open diamonds: printed in the paper.")
    return " ".join([*sentences, *(f"{omission[0].upper()}{omission[1:]}." for omission in plan.left_out)])


def _claim_html(claim: CheckedClaim) -> Html:
    """Return an <li> with the text of a claim, whether it holds as measured and as predicted, and remarks on it."""
    sides = []
    for basis, stands in (("measured", claim.measured), ("predicted", claim.predicted)):
        if basis == "measured" and stands is None and claim.predicted is not None and "measured:" not in claim.detail:
            continue  # a claim about formulas alone
        kind, sign_words = CLAIM_SIGNS[stands]
        sides.append(element("span", element("span", sign_words, class_=f"word {kind}".strip()), f" {basis}"))
    remarks = [claim.detail, f"erratum: {claim.erratum}" if claim.erratum and claim.fails else ""]
    return element("li", claim.text, element("div", *sides, *map(_quiet, filter(None, remarks)), class_="verdicts"))


def _expectation(expectation: Expectation) -> Html:
    """Return an <li> about a value expected though no paper prints it: why, how many rows agree, and which do not."""
    met = _quiet(f"{expectation.agree} of {expectation.count} agree")
    return element(
        "li", f"expected: {expectation.reason} ", met, *_list(_quiet(cell, "li") for cell in expectation.others)
    )


# The mistakes of the papers


def _distinct_errata(errata: Iterable[ShownErratum]) -> list[ShownErratum]:
    """Return each mistake once, however many experiments show it; mistakes without a name are all distinct."""
    by_key: dict[str, ShownErratum] = {}
    for erratum in errata:
        by_key.setdefault(erratum.key, erratum)
    return list(by_key.values())


def _by_kind(errata: Sequence[ShownErratum]) -> str:
    """Return in words how many mistakes there are, by kind: 3 errata in what the papers print (2 of rounding, ...)."""
    count = {words: sum(erratum.kind == kind for erratum in errata) for kind, (words, _) in ERRATUM_KINDS.items()}
    parts = ", ".join(f"{number} {words}" for words, number in count.items() if number)
    return f"{len(errata)} {'erratum' if len(errata) == 1 else 'errata'} in what the papers print ({parts})"


def _errata_html(errata: Sequence[ShownErratum]) -> Html:
    """Return a list of the mistakes that one experiment shows, with the cells that show them; empty without any."""
    items = [
        element(
            "li", element("span", erratum.kind, class_="word open"), " ", _erratum_html(erratum),
            *_list(_quiet(cell, "li") for cell in erratum.cells),
        )
        for erratum in errata
    ]  # fmt: skip
    return element("div", *_list(items, "Errata of the paper"), class_="aside") if items else Html("")


def _erratum_html(erratum: ShownErratum) -> Html:
    """Return the text of a mistake as HTML, after its name in bold, if it has one."""
    return join_html([element("strong", erratum.name), f": {erratum.text}"] if erratum.name else [erratum.text])


def _all_errata_html(errata_of: Mapping[str, Sequence[ShownErratum]]) -> Html:
    """Return the <section> with all mistakes by kind, each once, with links to the sections that show it.

    `errata_of` has the mistakes that each section shows, by its id in the page.
    """
    all_errata = _distinct_errata(erratum for errata in errata_of.values() for erratum in errata)

    def links(erratum: ShownErratum) -> Html:
        """Return links to all sections that show this mistake."""
        anchors = [name for name, errata in errata_of.items() if any(erratum.key == other.key for other in errata)]
        return _quiet(join_html([_link(name, name) for name in anchors], ", "))

    pieces = [element("h2", "Errata of the papers"), element("p", f"{_by_kind(all_errata)}.", class_="claim")]
    for kind, (_, title) in ERRATUM_KINDS.items():
        pieces += _list(
            (
                element("li", _erratum_html(erratum), " ", links(erratum))
                for erratum in all_errata
                if erratum.kind == kind
            ),
            title,
        )
    return element("section", *pieces, id="errata")


# Where they come from


def facts(about: Mapping[str, Any]) -> Html:
    """Return names and values as an HTML list (<dl>); a value with parts of its own is outlined.

    Values that are None or empty are left out.
    """
    pairs = [
        join_html([element("dt", text(name)), element("dd", _value_html(value))])
        for name, value in about.items()
        if value is not None and not (isinstance(value, str | Mapping | list | tuple) and not value)
    ]
    return element("dl", *pairs)


def _value_html(value: Any) -> str:
    """Return a value as text, or as HTML: an outline of several lines, if it is a list or a mapping with long
    values.
    """
    if isinstance(value, Mapping) and all(map(_is_brief, value.values())):
        return ", ".join(f"{text(name)} {text(item)}" for name, item in value.items())
    if isinstance(value, Mapping | list | tuple):
        return element("pre", "\n".join(_outline(value)))
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else text(value)


def _is_brief(value: Any) -> bool:
    """Whether a value is a number, or a text of fewer than 12 letters."""
    return is_number(value) or (isinstance(value, str) and len(value) < 12)


def _outline(value: Any) -> list[str]:
    """Return a value as lines of text, its parts indented below one another as in YAML."""
    if isinstance(value, Mapping):
        return [line for name, item in value.items() for line in _under(f"{text(name)}:", _outline(item), item)]
    if isinstance(value, list | tuple):
        if not any(isinstance(item, Mapping | list | tuple) for item in value):
            return [f"[{', '.join(map(text, value))}]"]
        return [f"{'  ' if i else '- '}{line}" for item in value for i, line in enumerate(_outline(item))]
    return [text(value)]


def _under(name: str, lines: list[str], value: Any) -> list[str]:
    """Return the lines of a value together with its name, which stands beside a single line, and above several.

    `lines` are those of the value alone. A mapping always stands below its name.
    """
    if len(lines) == 1 and not isinstance(value, Mapping):
        return [f"{name} {lines[0]}".rstrip()]
    return [name, *(f"  {line}" for line in lines)]


def plot(of: Sweep | Result, metric: str | None = None) -> Any:
    """Return a matplotlib Figure of a metric of a sweep or a result, `of`.

    If `metric` is None, the figure is what the experiment draws, or of the first metric. Raise ValueError if no row has
    the metric, or if there is nothing to draw.
    """
    return figure_of(section_of(of, metric))


def notebook(of: Sweep | Result) -> str:
    """Return the section of a report on a sweep or a result as HTML with its style, for a notebook."""
    return in_notebook(section_of(of))

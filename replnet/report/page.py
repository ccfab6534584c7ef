"""The report: one HTML page that needs nothing but itself, a section of it for a notebook, and all of it as files."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from replnet.measure.verdict import overall
from replnet.report.arrange import Arrangement, arrange
from replnet.report.figure import drawn
from replnet.report.html_table import counts, tables, word
from replnet.report.markup import Html, element, joined, standalone, style_sheet, svg
from replnet.report.section import Section, holds
from replnet.study.experiment.sections import Kind
from replnet.study.legend import COLUMNS, PRINTED, VERDICTS
from replnet.study.legend import KINDS as PREDICTIONS
from replnet.study.sweeps.statements import Checked, Expectation, ShownErratum
from replnet.text.numbers import counted, csv_text, is_number, text

# Nothing may be fetched or run, whatever a text of an experiment says.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
PAGES = (".html", ".htm")  # how the name of a page ends
LONGEST_NAME = 100  # letters of an experiment's name in the names of files, which may have 255
MOST_VALUES = 8  # of an axis, said one by one
COMPARED = {
    "verdict": "compared with the prediction:",
    "printed_verdict": "with the printed values:",
    "expected_verdict": "with values that no paper prints:",
}
HOLDS = {True: ("good", "✓ holds"), False: ("bad", "✗ fails"), None: ("", "not checked")}
KINDS = {  # of the mistakes of papers, in a sentence and as a title
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
assert tuple(KINDS) == get_args(Kind)


def write(target: str | Path, sections: Sequence[Section], title: str, provenance: Mapping[str, Any]) -> Path:
    """Write the page alone, where `target` is the name of an HTML file; else into that folder report.html,
    figures/NAME.svg and data/NAME.csv. Returns the path of the page.

    Every file is whole or not there; the page comes last.
    """
    folder = Path(target)
    if folder.suffix.lower() in PAGES:
        _put(folder, page(sections, title, provenance))
        return folder
    for name, section in _named(sections).items():
        _put(folder / "data" / f"{name}.csv", csv_text(section.table))
        if (plan := arrange(section)) is not None:
            _put(folder / "figures" / f"{name}.svg", standalone(svg(drawn(plan), f"{name}-", section.title)))
    whole = folder / "report.html"
    _put(whole, page(sections, title, provenance))
    return whole


def _put(path: Path, content: str) -> None:
    """Replace the file in one step, so that a reader or an interruption finds the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def page(sections: Sequence[Section], title: str, provenance: Mapping[str, Any]) -> str:
    """The whole report."""
    named = _named(sections)
    bodies = [_section(section, name, titled=section.title != title) for name, section in named.items()]
    contents = [_link(name, section.title) for name, section in named.items()]
    last = []
    if len(sections) > 1 and any(section.errata for section in sections):
        last.append(_all_errata({name: section.errata for name, section in named.items()}))
        contents.append(_link("errata", "Errata of the papers"))
    if provenance:
        origin = element("h2", "Where these numbers come from")
        last.append(element("section", origin, facts(provenance), id="provenance"))
        contents.append(_link("provenance", "Where these numbers come from"))
    main = element("main", _summary(named, title), *bodies, *last, class_="sheet")
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
    """The section as a piece of HTML that brings its style along."""
    (name,) = _named([section])
    body = _section(section, name)
    return element("div", style_sheet(body), body, class_="rn")


def _named(sections: Sequence[Section]) -> dict[str, Section]:
    return dict(zip(file_names([section.name for section in sections]), sections, strict=True))


def file_names(names: Sequence[str]) -> list[str]:
    """Names fit for files and anchors, none twice."""
    found: list[str] = []
    for name in names:
        letters = [c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in name[:LONGEST_NAME]]
        plain = "".join(letters).strip(".-") or "section"
        taken = {one.lower() for one in found}  # some file systems do not tell capitals apart
        tries = (plain if i == 1 else f"{plain}-{i}" for i in range(1, len(names) + 1))
        found.append(next(one for one in tries if one.lower() not in taken))
    return found


def _link(name: str, words: str) -> Html:
    return element("a", words, href=f"#{name}")


def _list(items: Iterable[Html], title: str = "") -> list[Html]:
    """Items below a title, or nothing where there are none."""
    made = list(items)
    return [*([element("h3", title)] if title else []), element("ul", *made)] if made else []


def _quiet(words: str, name: str = "span") -> Html:
    return element(name, words, class_="quiet")


# What came out of all of them


def _summary(named: Mapping[str, Section], title: str) -> Html:
    """The title, what came out in one sentence, and a line for every experiment."""
    kinds = {"experiment": None, "cells": "n", "claims": "n", "verdict": None}
    if not any(section.claims for section in named.values()):
        del kinds["claims"]
    heads = element("tr", *(element("th", head, scope="col", class_=kind) for head, kind in kinds.items()))
    body = element("tbody", *(_line(section, name, "claims" in kinds) for name, section in named.items()))
    table = element("table", element("thead", heads), body, class_="summary") if len(named) > 1 else Html("")
    whole = overall([section.verdict for section in named.values()])
    said = joined([word(whole), " " if whole else "", in_words(list(named.values())), "."])
    return element("header", element("h1", title), element("p", said, class_="lead"), table, _legend(named.values()))


def _legend(sections: Iterable[Section]) -> Html:
    """What the words in the tables mean; those about print only where something is printed."""
    stated = any(section.count(column) for section in sections for column in ("printed_verdict", "expected_verdict"))
    words = COLUMNS | PREDICTIONS | VERDICTS | (PRINTED if stated else {})
    said = [joined([element("dt", name), element("dd", meaning)]) for name, meaning in words.items()]
    return element("details", element("summary", "How to read the tables"), element("dl", *said), class_="legend")


def in_words(sections: Sequence[Section]) -> str:
    """What came out of all of them together: cells, rows by verdict, claims, mistakes of the papers by kind."""
    words: dict[str, int] = {}
    for section in sections:
        for one, count in section.count("verdict").items():
            words[one] = words.get(one, 0) + count
    said = [counted(len(sections), "experiment")] if len(sections) != 1 else []
    said.append(counted(sum(section.cells for section in sections), "cell"))
    if words:
        order = sorted(words, key=["agree", "unresolved", "differ", "failed"].index)
        said.append("measured against predicted: " + counts({one: words[one] for one in order}))
    claims = [claim for section in sections for claim in section.claims]
    if claims:
        wrong = sum(claim.fails and bool(claim.erratum) for claim in claims)
        errata = f", {wrong} of the others {'is' if wrong == 1 else 'are'} known as errata" if wrong else ""
        said.append(f"{sum(map(holds, claims))} of {counted(len(claims), 'claim')} hold{errata}")
    if every := _distinct(one for section in sections for one in section.errata):
        said.append(_by_kind(every))
    return "; ".join(said)


def _line(section: Section, name: str, claimed: bool) -> Html:
    more = " · ".join(filter(None, (section.claim, section.paper, section.progress)))
    claims = f"{sum(map(holds, section.claims))} of {len(section.claims)}" if section.claims else ""
    against = f"{len(section.errata)} {'erratum' if len(section.errata) == 1 else 'errata'}" if section.errata else ""
    return element(
        "tr",
        element("td", _link(name, section.title), _quiet(more)),
        element("td", f"{section.cells:,}", class_="n", data_what="cells"),
        element("td", claims, class_="n", data_what="claims hold" if claims else None) if claimed else "",
        element("td", word(section.verdict), element("span", against, class_="quiet n") if against else ""),
    )


# One of them


def _section(section: Section, name: str, titled: bool = True) -> Html:
    """All that is said of one experiment; without its title where the page has the same."""
    marks = [element("span", one) for one in (section.name, section.paper) if one]
    about = element("details", element("summary", "What was run, and where"), facts(section.about))
    return element(
        "section",
        element("div", *marks, word(section.verdict), class_="head"),
        element("h2", section.title) if titled else "",
        element("p", section.claim, class_="claim") if section.claim else "",
        _quiet(_what_ran(section), "p"),
        _figure(section, name),
        *_list(map(_claim, section.claims), "Claims"),
        _errata(section.errata),
        *_list(map(_expected, section.expectations), "Values that no paper prints"),
        element("h3", "Table"),
        tables(section),
        about if section.about else "",
        id=name,
    )


def _what_ran(section: Section) -> str:
    """What varied, how many cells that makes, and what came out."""
    said = []
    for name in section.axes if len(section.table) else ():
        values = list(dict.fromkeys(text(value) for value in section.table[name]))
        some = values if len(values) <= MOST_VALUES else [*values[:3], "…", values[-1]]
        said.append(f"{name}: {', '.join(some)}" + (f" ({len(values)} values)" if some is not values else ""))
    said.append(section.progress or counted(section.cells, "cell"))
    for column, what in COMPARED.items():
        if words := section.count(column):
            said.append(f"{what} {counts(words)}")
    return " · ".join(said)


def _figure(section: Section, name: str) -> Html:
    plan = arrange(section)
    if plan is None:
        return Html("")
    caption = _caption(plan)
    label = f"{section.title}: {plan.y.replace('_', ' ')} over {plan.x}. {caption}"
    pictures = [
        element("div", svg(drawn(plan, narrow=kind == "narrow"), f"{name}-{kind}-", label), class_=kind)
        for kind in ("wide", "narrow")
    ]
    return element("figure", *pictures, element("figcaption", caption))


def _caption(plan: Arrangement) -> str:
    said = []
    if plan.has("measured"):
        said.append("Points: measured" + (", with 95 % intervals." if plan.has("ci_low") else "."))
    if plan.has("predicted"):
        said.append("Dashes: predicted." if plan.names else "Lines: predicted.")
    if plan.has("printed"):
        said.append("Open diamonds: printed in the paper.")
    return " ".join([*said, *(f"{one[0].upper()}{one[1:]}." for one in plan.left_out)])


def _claim(claim: Checked) -> Html:
    sides = []
    for what, stands in (("measured", claim.measured), ("predicted", claim.predicted)):
        if what == "measured" and stands is None and claim.predicted is not None and "measured:" not in claim.detail:
            continue  # a claim about formulas alone
        kind, says = HOLDS[stands]
        sides.append(element("span", element("span", says, class_=f"word {kind}".strip()), f" {what}"))
    said = [claim.detail, f"erratum: {claim.erratum}" if claim.erratum and claim.fails else ""]
    return element("li", claim.text, element("div", *sides, *map(_quiet, filter(None, said)), class_="verdicts"))


def _expected(one: Expectation) -> Html:
    """What was expected though no paper prints it, why, and what became of it."""
    met = _quiet(f"{one.agree} of {one.count} agree")
    return element("li", f"expected: {one.reason} ", met, *_list(_quiet(cell, "li") for cell in one.others))


# The mistakes of the papers


def _distinct(errata: Iterable[ShownErratum]) -> list[ShownErratum]:
    """Each mistake once, however many experiments show it; those without a name are each their own."""
    found: dict[str, ShownErratum] = {}
    for one in errata:
        found.setdefault(one.key, one)
    return list(found.values())


def _by_kind(errata: Sequence[ShownErratum]) -> str:
    """How many there are, by kind: 3 errata in what the papers print, 2 of rounding and 1 of prose."""
    count = {words: sum(one.kind == kind for one in errata) for kind, (words, _) in KINDS.items()}
    parts = ", ".join(f"{number} {words}" for words, number in count.items() if number)
    return f"{len(errata)} {'erratum' if len(errata) == 1 else 'errata'} in what the papers print ({parts})"


def _errata(errata: Sequence[ShownErratum]) -> Html:
    """The mistakes that one experiment shows, with the cells that show them."""
    items = [
        element(
            "li", element("span", one.kind, class_="word open"), " ", _erratum(one),
            *_list(_quiet(cell, "li") for cell in one.cells),
        )
        for one in errata
    ]  # fmt: skip
    return element("div", *_list(items, "Errata of the paper"), class_="aside") if items else Html("")


def _erratum(one: ShownErratum) -> Html:
    return joined([element("strong", one.name), f": {one.text}"] if one.name else [one.text])


def _all_errata(shown: Mapping[str, Sequence[ShownErratum]]) -> Html:
    """All mistakes by kind, each once, with links to the sections that show it; `shown` is by anchor."""
    every = _distinct(one for errata in shown.values() for one in errata)

    def links(one: ShownErratum) -> Html:
        anchors = [name for name, errata in shown.items() if any(one.key == other.key for other in errata)]
        return _quiet(joined([_link(name, name) for name in anchors], ", "))

    pieces = [element("h2", "Errata of the papers"), element("p", f"{_by_kind(every)}.", class_="claim")]
    for kind, (_, title) in KINDS.items():
        pieces += _list((element("li", _erratum(one), " ", links(one)) for one in every if one.kind == kind), title)
    return element("section", *pieces, id="errata")


# Where they come from


def facts(about: Mapping[str, Any]) -> Html:
    """Names and values; what has parts of its own is outlined."""
    pairs = [
        joined([element("dt", text(name)), element("dd", _value(value))])
        for name, value in about.items()
        if value is not None and not (isinstance(value, str | Mapping | list | tuple) and not value)
    ]
    return element("dl", *pairs)


def _value(value: Any) -> str:
    if isinstance(value, Mapping) and all(map(_is_brief, value.values())):
        return ", ".join(f"{text(name)} {text(one)}" for name, one in value.items())
    if isinstance(value, Mapping | list | tuple):
        return element("pre", "\n".join(_outline(value)))
    return f"{value:,}" if isinstance(value, int) and abs(value) >= 10_000 else text(value)


def _is_brief(value: Any) -> bool:
    return is_number(value) or (isinstance(value, str) and len(value) < 12)


def _outline(value: Any) -> list[str]:
    """The lines of a value, nested as in YAML."""
    if isinstance(value, Mapping):
        return [line for name, one in value.items() for line in _under(f"{text(name)}:", _outline(one), one)]
    if isinstance(value, list | tuple):
        if not any(isinstance(one, Mapping | list | tuple) for one in value):
            return [f"[{', '.join(map(text, value))}]"]
        return [f"{'  ' if i else '- '}{line}" for one in value for i, line in enumerate(_outline(one))]
    return [text(value)]


def _under(name: str, lines: list[str], value: Any) -> list[str]:
    if len(lines) == 1 and not isinstance(value, Mapping):
        return [f"{name} {lines[0]}".rstrip()]
    return [name, *(f"  {line}" for line in lines)]

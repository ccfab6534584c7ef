"""The report: one HTML page that needs nothing but itself, and a section of it for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replnet.measure.verdict import overall
from replnet.report.arrange import Arrangement, arrange
from replnet.report.errata import counted, errata_list, errata_section, expected_list, merged
from replnet.report.figure import drawn
from replnet.report.markup import Html, element, joined
from replnet.report.section import ClaimResult, Section
from replnet.report.style import style_sheet
from replnet.report.svg import drawn_colours, svg
from replnet.report.table import counts, tables, word
from replnet.text.numbers import is_number, text

# Nothing may be fetched or run, whatever a text of an experiment says.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"
LONGEST_NAME = 100  # letters of an experiment's name in the names of files, which may have 255
MOST_VALUES = 8  # of an axis, said one by one
COMPARED = {
    "verdict": "compared with the prediction:",
    "printed_verdict": "with the printed values:",
    "expected_verdict": "with values that no paper prints:",
}
HOLDS = {True: ("good", "✓ holds"), False: ("bad", "✗ fails"), None: ("", "not checked")}


def page(sections: Sequence[Section], title: str, provenance: Mapping[str, Any]) -> str:
    """The whole report."""
    names = _anchors(sections)
    bodies = [_section(section, name) for section, name in zip(sections, names, strict=True)]
    contents = [element("a", section.title, href=f"#{name}") for section, name in zip(sections, names, strict=True)]
    last = []
    if len(sections) > 1 and any(section.errata for section in sections):
        last.append(errata_section({name: section.errata for section, name in zip(sections, names, strict=True)}))
        contents.append(element("a", "Errata of the papers", href="#errata"))
    if provenance:
        origin = element("h2", "Where these numbers come from")
        last.append(element("section", origin, facts(provenance), id="provenance"))
        contents.append(element("a", "Where these numbers come from", href="#provenance"))
    main = element("main", _summary(sections, names, title), *bodies, *last, class_="sheet")
    body = element("body", element("nav", *contents, aria_label="Contents"), main, class_="rn")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(style_sheet(drawn_colours(body)))),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def notebook(section: Section) -> str:
    """The section as a piece of HTML that brings its style along."""
    body = _section(section, _anchors([section])[0])
    return element("div", element("style", Html(style_sheet(drawn_colours(body)))), body, class_="rn")


def _anchors(sections: Sequence[Section]) -> list[str]:
    return file_names([section.name for section in sections])


def file_names(names: Sequence[str]) -> list[str]:
    """Names fit for files and anchors, none twice."""
    found: list[str] = []
    for name in names:
        plain = (
            "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in name[:LONGEST_NAME]).strip(".-")
            or "section"
        )
        taken = {one.lower() for one in found}  # some file systems do not tell capitals apart
        tries = (plain if i == 1 else f"{plain}-{i}" for i in range(1, len(names) + 1))
        found.append(next(one for one in tries if one.lower() not in taken))
    return found


def _summary(sections: Sequence[Section], names: list[str], title: str) -> Html:
    """The title, what came out in one sentence, and a line for every experiment."""
    head = ("experiment", "cells", "claims", "verdict")
    kinds = (None, "n", "n", None)
    titles = element(
        "tr", *(element("th", one, scope="col", class_=kind) for one, kind in zip(head, kinds, strict=True))
    )
    rows = [_line(section, name) for section, name in zip(sections, names, strict=True)]
    body = element("tbody", *rows)
    table = element("table", element("thead", titles), body, class_="summary") if rows else Html("")
    lead = element("p", _verdicts(sections), class_="lead")
    return element("header", element("h1", title), lead, table)


def _verdicts(sections: Sequence[Section]) -> Html:
    whole = overall([section.verdict for section in sections])
    return joined([word(whole), " " if whole else "", in_words(sections), "."])


def in_words(sections: Sequence[Section]) -> str:
    """What came out of all of them together: cells, rows by verdict, claims, mistakes of the papers by kind."""
    cells = sum(section.cells for section in sections)
    words: dict[str, int] = {}
    for section in sections:
        for one, count in section.count("verdict").items():
            words[one] = words.get(one, 0) + count
    said = [_many(len(sections), "experiment"), _many(cells, "cell")]
    if words:
        order = sorted(words, key=["agree", "unresolved", "differ"].index)
        said.append("measured against predicted: " + counts({one: words[one] for one in order}))
    claims = [claim for section in sections for claim in section.claims]
    if claims:
        wrong = sum(claim.holds is False and bool(claim.erratum) for claim in claims)
        errata = f", {wrong} of the others {'is' if wrong == 1 else 'are'} known as errata" if wrong else ""
        said.append(f"{sum(claim.holds is True for claim in claims)} of {_many(len(claims), 'claim')} hold{errata}")
    if errata_ := merged(one for section in sections for one in section.errata):
        said.append(counted(errata_))
    return "; ".join(said)


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _line(section: Section, name: str) -> Html:
    more = " · ".join(filter(None, (section.claim, section.paper, section.progress)))
    link = element("a", section.title, href=f"#{name}")
    holding = [claim.holds for claim in section.claims]
    claims = f"{holding.count(True)} of {len(holding)}" if holding else ""
    against = f"{len(section.errata)} {'erratum' if len(section.errata) == 1 else 'errata'}" if section.errata else ""
    return element(
        "tr",
        element("td", link, element("span", more, class_="quiet")),
        element("td", f"{section.cells:,}", class_="n", data_what="cells"),
        element("td", claims, class_="n", data_what="claims hold" if claims else None),
        element("td", word(section.verdict), element("span", against, class_="quiet n") if against else ""),
    )


def _section(section: Section, name: str) -> Html:
    marks = [element("span", one) for one in (section.name, section.paper) if one]
    head = element("div", *marks, word(section.verdict), class_="head")
    pieces = [head, element("h2", section.title)]
    if section.claim:
        pieces.append(element("p", section.claim, class_="claim"))
    pieces.append(element("p", _what_ran(section), class_="quiet"))
    return element(
        "section",
        *pieces,
        _figure(section, name),
        _claims(section.claims),
        errata_list(section.errata),
        expected_list(section.expectations),
        element("h3", "Table"),
        tables(section),
        _about(section),
        id=name,
    )


def _what_ran(section: Section) -> str:
    """What varied, how many cells that makes, and what came out."""
    axes = []
    for name in section.axes if len(section.table) else ():
        values = list(dict.fromkeys(text(value) for value in section.table[name]))
        some = values if len(values) <= MOST_VALUES else [*values[:3], "…", values[-1]]
        axes.append(f"{name}: {', '.join(some)}" + (f" ({len(values)} values)" if some is not values else ""))
    said = [*axes, section.progress or _many(section.cells, "cell")]
    for column, what in COMPARED.items():
        if words := section.count(column):
            said.append(f"{what} {counts(words)}")
    return " · ".join(said)


def _figure(section: Section, name: str) -> Html:
    plan = arrange(section)
    if plan is None:
        return Html("")
    label = f"{section.title}: {plan.y.replace('_', ' ')} over {plan.x}. {_caption(plan)}"
    pictures = [
        element("div", svg(drawn(plan, narrow=kind == "narrow"), f"{name}-{kind}-", label), class_=kind)
        for kind in ("wide", "narrow")
    ]
    return element("figure", *pictures, element("figcaption", _caption(plan)))


def _caption(plan: Arrangement) -> str:
    said = []
    if plan.has("measured"):
        said.append("Points: measured" + (", with 95 % intervals." if plan.has("low") else "."))
    if plan.has("predicted"):
        said.append("Dashes: predicted." if plan.names else "Lines: predicted.")
    if plan.has("printed"):
        said.append("Open diamonds: printed in the paper.")
    return " ".join([*said, *(f"{one[0].upper()}{one[1:]}." for one in plan.left_out)])


def _claims(claims: Sequence[ClaimResult]) -> Html:
    if not claims:
        return Html("")
    return joined([element("h3", "Claims"), element("ul", *(_claim(claim) for claim in claims))])


def _claim(claim: ClaimResult) -> Html:
    sides = []
    for what, holds in (("measured", claim.measured), ("predicted", claim.predicted)):
        if what == "measured" and holds is None and claim.predicted is not None and "measured:" not in claim.detail:
            continue  # a claim about formulas alone
        kind, says = HOLDS[holds]
        sides.append(element("span", element("span", says, class_=f"word {kind}".strip()), f" {what}"))
    said = [claim.detail, f"erratum: {claim.erratum}" if claim.erratum and claim.holds is False else ""]
    detail = [element("span", one, class_="quiet") for one in said if one]
    return element("li", claim.text, element("div", *sides, *detail, class_="verdicts"))


def _about(section: Section) -> Html:
    if not section.about:
        return Html("")
    return element("details", element("summary", "What was run, and where"), facts(section.about))


def facts(about: Mapping[str, Any]) -> Html:
    """Names and values; what has parts of its own is outlined."""
    pairs = [(name, value) for name, value in about.items() if not _missing(value)]
    return element("dl", *(joined([element("dt", text(name)), element("dd", _value(value))]) for name, value in pairs))


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, str | Mapping | list | tuple) and not value)


def _value(value: Any) -> str:
    if isinstance(value, Mapping) and all(_is_brief(one) for one in value.values()):
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

"""The mistakes of the papers, counted by kind and listed; and the values that no paper prints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from replnet.report.markup import Html, element, joined
from replnet.study.experiment.sections import Kind
from replnet.study.sweeps.statements import Expectation, ShownErratum

KINDS: dict[str, str] = {
    "rounding": "of rounding",
    "equations": "against their own equations",
    "simulation": "of simulation",
    "prose": "of prose",
}
assert tuple(KINDS) == get_args(Kind)
TITLES = {
    "rounding": "Rounding: a last digit that is not right, or rounded values carried on",
    "equations": "Equations: what does not follow from the paper’s own, or where they are wrong",
    "simulation": "Simulation: what the paper simulated comes out otherwise, predicted and measured",
    "prose": "Prose: sentences that the paper’s own numbers or equations deny",
}


def merged(errata: Iterable[ShownErratum]) -> list[ShownErratum]:
    """Each mistake once, however many experiments show it; those without a name are each their own."""
    found: dict[str, ShownErratum] = {}
    for one in errata:
        found.setdefault(one.key, one)
    return list(found.values())


def counted(errata: Sequence[ShownErratum]) -> str:
    """How many there are, by kind: 3 errata in what the papers print, 2 of rounding and 1 of prose."""
    count = {kind: sum(one.kind == kind for one in errata) for kind in KINDS}
    parts = [f"{number} {KINDS[kind]}" for kind, number in count.items() if number]
    what = f"{len(errata)} {'erratum' if len(errata) == 1 else 'errata'} in what the papers print"
    return f"{what} ({', '.join(parts)})"


def errata_list(errata: Sequence[ShownErratum]) -> Html:
    """The mistakes that one experiment shows, with the cells that show them."""
    if not errata:
        return Html("")
    items = [
        element("li", element("span", one.kind, class_="word open"), " ", _said(one), _cells(one)) for one in errata
    ]
    return element("div", element("h3", "Errata of the paper"), element("ul", *items), class_="aside")


def _said(one: ShownErratum) -> Html:
    return joined([element("strong", one.name), f": {one.text}"]) if one.name else joined([one.text])


def _cells(one: ShownErratum) -> Html:
    return element("ul", *(element("li", cell, class_="quiet") for cell in one.cells)) if one.cells else Html("")


def expected_list(expectations: Sequence[Expectation]) -> Html:
    """What was expected though no paper prints it, why, and what became of it."""
    if not expectations:
        return Html("")
    items = []
    for one in expectations:
        met = element("span", f"{one.agree} of {one.count} agree", class_="quiet")
        others = [element("ul", *(element("li", cell, class_="quiet") for cell in one.others))] if one.others else []
        items.append(element("li", f"expected: {one.reason} ", met, *others))
    return joined([element("h3", "Values that no paper prints"), element("ul", *items)])


def errata_section(shown: Mapping[str, Sequence[ShownErratum]]) -> Html:
    """All mistakes by kind, each once, with links to the sections that show it; `shown` is by anchor."""
    every = merged(one for errata in shown.values() for one in errata)
    if not every:
        return Html("")
    pieces = [element("h2", "Errata of the papers"), element("p", f"{counted(every)}.", class_="claim")]
    for kind, title in TITLES.items():
        items = [element("li", _said(one), " ", _links(one, shown)) for one in every if one.kind == kind]
        pieces += [element("h3", title), element("ul", *items)] if items else []
    return element("section", *pieces, id="errata")


def _links(one: ShownErratum, shown: Mapping[str, Sequence[ShownErratum]]) -> Html:
    anchors = [anchor for anchor, errata in shown.items() if any(one.key == other.key for other in errata)]
    return element(
        "span", joined([element("a", anchor, href=f"#{anchor}") for anchor in anchors], ", "), class_="quiet"
    )

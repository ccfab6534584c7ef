"""Markup that cannot be injected into, and pictures that follow the page."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from report_sections import grid, section

from replnet.show.pictures import figure_svg as svg
from replnet.show.pictures import standalone
from replnet.show.report import FigureSpec
from replnet.show.report.figure import figure_of
from replnet.show.report.markup import Html, element
from replnet.show.theme import COLOUR_NAMES, ORDERED, SERIES, THEME


def test_elements_escape_what_is_not_markup():
    assert element("p", "<&", Html("<b>"), class_="\"'", data_what=None) == ('<p class="&quot;&#x27;">&lt;&amp;<b></p>')
    assert element("meta", http_equiv="x", name="n") == '<meta http-equiv="x" name="n">'


@pytest.mark.parametrize("log", ["", "xy"])
def test_pictures_follow_the_page_and_stand_alone(log):
    spec = FigureSpec("k", "freshness", "select", log=log)
    picture = svg(figure_of(section(grid().table, ("k", "select"), figure=spec)), "f-", "label")
    root = ElementTree.fromstring(picture)
    for node in root.iter():
        classes = node.get("class", "").split()
        for key in ("fill", "stroke"):
            if node.get(key, "none") != "none":
                assert f"{key[0]}-{COLOUR_NAMES[node.get(key)]}" in classes  # every colour has its dark twin
        assert "#" not in node.get("style", "")
    for shape in root.iterfind(".//{*}defs/{*}path"):
        assert not {"fill", "stroke", "class"} & set(shape.attrib)  # the page's rules do not reach what a <use> repeats
    alone = ElementTree.fromstring(standalone(picture).encode())
    style = alone[0].text
    assert style.startswith("@media (prefers-color-scheme:dark){")
    assert f".f-series-0{{fill:{THEME['series-0'][1]}}}" in style
    assert ".f-series-2" not in style


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("mode", [0, 1], ids=["light", "dark"])
def test_everything_can_be_seen(mode):
    """WCAG 2.1: 4.5 for text, 3 for what is drawn."""
    colour = {name: pair[mode] for name, pair in THEME.items()}
    for name in ("ink", "quiet", "accent", "good", "open", "bad"):
        assert contrast(colour[name], colour["paper"]) >= 4.5
    for name in ("good", "open", "bad"):
        assert contrast(colour[name], colour[f"{name}-ground"]) >= 4.5
    for pair in SERIES + ORDERED:
        assert contrast(pair[mode], colour["paper"]) >= 3


def test_no_two_names_share_a_colour():
    assert len(COLOUR_NAMES) == len(THEME)
